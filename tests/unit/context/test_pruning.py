"""What is left out of results, cut and put aside, and what stands for it."""

import errno

import pytest

from localllm.base.events import ToolCall
from localllm.context.conversation import PUT_ASIDE, Conversation, Spoken
from localllm.context.pruning import (
    LONGEST_LINE,
    cut,
    cut_message,
    file_of,
    longest_gap,
    prune,
    prune_pictures,
    told_of,
    with_calls,
)
from localllm.llm.messages import AssistantMessage, Image, Message, SystemMessage, ToolMessage, UserMessage
from localllm.llm.tokens import estimate_tokens

PNG = Image("image/png", b"picture")
NOTE = "[{count} left out]"


def talk(*messages: Message, spoken: tuple[Spoken, ...] = ()) -> Conversation:
    return Conversation((SystemMessage("s"), UserMessage("u"), *messages), spoken)


def called(name: str, text: str, arguments: str = "{}", images: tuple[Image, ...] = ()) -> list[Message]:
    return [AssistantMessage("", (ToolCall("c", name, arguments),)), ToolMessage("c", name, text, images)]


class TestResults:
    @pytest.mark.parametrize(
        ("tool", "told"),
        [
            *((name, "Call it again") for name in ("read_file", "search_files", "command_output", "git_log")),
            *((name, "It was done") for name in ("create_file", "write_file", "edit_file")),
            *((name, "It was done") for name in ("git_commit", "run_command", "todo")),
        ],
    )
    def test_only_what_changes_nothing_is_to_be_called_again(self, tool: str, told: str) -> None:
        left = prune(talk(*called(tool, "x" * 900)), 9).messages[3].text
        assert told in left
        assert "900 characters" in left

    @pytest.mark.parametrize("tool", ["run_command", "read_file"])
    def test_where_the_whole_was_kept_is_named_with_its_folder(self, tool: str) -> None:
        text = "x" * 900 + "\nThe whole output: /state/a-b/.localllm/tool-output/run-1a.txt\n" + "x" * 900
        left = prune(talk(*called(tool, text)), 9).messages[3].text
        assert "The whole is in /state/a-b/.localllm/tool-output/run-1a.txt: read_file" in left

    def test_one_that_is_hardly_longer_than_what_would_stand_for_it_stays(self) -> None:
        most = int(1.5 * len(prune(talk(*called("look", "x" * 900)), 9).messages[3].text))
        for length, stays in ((most, True), (most + 1, False)):
            before = talk(*called("look", "x" * length))
            assert (prune(before, 9) == before) == stays

    def test_a_compressed_form_stands_below_the_note_and_words_below_that(self) -> None:
        before = talk(*called("read_file", "x" * 900 + "and this"), spoken=(Spoken("and this", 3),))
        left = prune(before, 9, lambda call, text: f"{call.name} {len(text)}").messages[3].text
        note, form, *rest = left.split("\n")
        assert note.endswith("Call it again to see it]")
        assert form == "read_file 908"
        assert rest[-1] == "and this"

    def test_of_two_calls_with_one_id_the_last_one_before_a_result_is_meant(self) -> None:
        messages = [*called("read_file", "a", '{"path": "a"}'), *called("read_file", "b", '{"path": "b"}')]
        asked = [call.arguments for message, call in with_calls(messages) if isinstance(message, ToolMessage)]
        assert asked == ['{"path": "a"}', '{"path": "b"}']

    def test_the_results_of_one_answer_have_each_their_own_call(self) -> None:
        both = AssistantMessage("", (ToolCall("1", "look", '{"at": "a"}'), ToolCall("2", "look", '{"at": "b"}')))
        results = [ToolMessage("2", "look", "b"), ToolMessage("1", "look", "a"), ToolMessage("3", "find", "c")]
        asked = [call for message, call in with_calls([both, *results]) if isinstance(message, ToolMessage)]
        assert [call.arguments for call in asked] == ['{"at": "b"}', '{"at": "a"}', "{}"]
        assert asked[2].name == "find"


class TestPictures:
    @pytest.mark.parametrize(("count", "told"), [(1, "[the picture that"), (2, "[the 2 pictures that")])
    def test_how_many_are_gone_and_how_they_can_be_seen_again(self, count: int, told: str) -> None:
        before = talk(UserMessage("look", (PNG,) * count), *called("read_file", "p", '{"path": "p.png"}', (PNG,)))
        _, _, asked, _, result = prune_pictures(before, 9).messages
        assert told in asked.text
        assert "read_file shows it again" in asked.text
        assert "read_file(path=p.png) shows it again" in result.text
        assert asked.text.startswith("look\n\n[")

    def test_those_from_the_message_on_and_those_of_the_spared_one_stay(self) -> None:
        messages = [message for n in "abc" for message in called("look", n, images=(PNG,))]
        left = prune_pictures(talk(*messages), 7, spare=3).messages
        assert [len(message.images) for message in left if isinstance(message, ToolMessage)] == [1, 0, 1]
        assert [message.text for message in left if isinstance(message, ToolMessage)][::2] == ["a", "c"]


class TestCut:
    def test_the_head_is_so_large_and_the_count_is_of_what_is_missing(self) -> None:
        for head in (0.2, 0.5):
            made = cut("x" * 9_000, 500, NOTE, head=head)
            first, note, last = made.split("\n")
            assert len(first) / (len(first) + len(last)) == pytest.approx(head, abs=0.01)
            assert note == f"[{9_000 - len(first) - len(last)} left out]"
            assert 400 < estimate_tokens(made) <= 500

    def test_what_fits_stays(self) -> None:
        text = "a line of it\n" * 20
        assert cut(text, estimate_tokens(text), NOTE) == text
        assert "left out" in cut(text, estimate_tokens(text) - 1, NOTE)

    def test_where_there_is_no_room_for_a_note_the_beginning_stays(self) -> None:
        note = estimate_tokens("[1000 left out]")
        assert "left out]" in cut("x" * 1_000, note, NOTE)
        shorter = cut("x" * 1_000, note - 1, NOTE)
        assert set(shorter) == {"x"}
        assert 0 < estimate_tokens(shorter) < note
        assert cut("x" * 1_000, 0, NOTE) == ""

    def test_lines_of_a_fault_stay_where_they_are_asked_for(self) -> None:
        text = "a line of it\n" * 300 + "a.c:3: error: b is undefined\n" + "a line of it\n" * 300
        assert "a.c:3: error" in cut(text, 200, NOTE, faults=True)
        assert "a.c:3: error" not in cut(text, 200, NOTE)
        assert estimate_tokens(cut(text, 200, NOTE, faults=True)) <= 200

    @pytest.mark.parametrize(("tool", "shown"), [("run_command", True), ("command_output", True), ("read_file", False)])
    def test_of_what_a_command_printed_the_faults_stay(self, tool: str, shown: bool) -> None:
        text = "a line of it\n" * 300 + "a.c:3: error: b is undefined\n" + "a line of it\n" * 300
        assert ("error" in cut_message(talk(*called(tool, text)), 3, 200, estimate_tokens).messages[3].text) == shown

    def test_the_words_in_a_result_stay_and_each_part_beside_them_has_its_room(self) -> None:
        said = "keep " * 300
        text = "before " * 400 + said + "after " * 600
        before = talk(*called("read_file", text), spoken=(Spoken(said, 3),))
        assert longest_gap(before, 3, estimate_tokens) == estimate_tokens("after " * 600)
        made = cut_message(before, 3, 100, estimate_tokens).messages[3].text
        first, found, last = made.partition(said)
        assert found
        assert 80 < estimate_tokens(first) <= 100
        assert 80 < estimate_tokens(last) <= 100
        assert last.endswith("after after ")

    @pytest.mark.parametrize("number", [0, 2])
    def test_of_other_messages_nothing_may_be_cut(self, number: int) -> None:
        before = talk(AssistantMessage("said " * 500))
        assert longest_gap(before, number, estimate_tokens) == 0


class TestWordsAside:
    def test_the_file_has_them_in_their_order_under_their_numbers(self) -> None:
        assert file_of(["first\nof all", "then"]).split("\n\n", 1)[1] == "[1]\nfirst\nof all\n\n[2]\nthen\n"

    @pytest.mark.parametrize(
        ("line", "first"),
        [
            ("ab" + "word " * 400, "ab" + "word " * 119),
            ("a " + "x" * 2_000, "a " + "x" * (LONGEST_LINE - 2)),
            ("x" * LONGEST_LINE, "x" * LONGEST_LINE),
        ],
        ids=["after a space", "no space late enough", "just long enough"],
    )
    def test_long_lines_go_on_in_the_next_one(self, line: str, first: str) -> None:
        written = file_of([line]).partition("[1]\n")[2]
        lines = written.removesuffix("\n").split("\n…")
        assert lines[0] == first
        assert "".join(lines) == line
        assert all(len(one) <= LONGEST_LINE for one in lines)

    def test_where_they_are_is_told(self) -> None:
        kept: list[str] = []

        def keep(text: str) -> str:
            kept.append(text)
            return "words-1a.txt"

        one = Conversation((SystemMessage("s"),), (Spoken("find it", 1), Spoken("look there", PUT_ASIDE)))
        assert told_of(one, keep) == (
            "[An older message of the user, verbatim: words-1a.txt (read_file shows it, search_files with this path "
            "searches it)]"
        )
        assert kept == [file_of(["look there"])]
        assert told_of(Conversation((SystemMessage("s"),), (Spoken("find it", 1),)), keep) == ""

    def test_what_cannot_be_kept_is_told(self) -> None:
        def full(_text: str) -> str:
            raise OSError(errno.ENOSPC, "No space left on device")

        aside = Conversation((SystemMessage("s"),), (Spoken("find\nit", PUT_ASIDE), Spoken("b", PUT_ASIDE)))
        told = told_of(aside, full)
        assert told.startswith("[2 older messages of the user, the first of which begins “find it …” could not be kept")
        assert "No space left on device" in told
