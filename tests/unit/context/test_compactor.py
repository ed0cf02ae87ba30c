"""What a compaction leaves of a conversation: what goes first, what stays as it is, and what is told of it."""

import pytest

from localllm.base.errors import LLMConnectionError
from localllm.base.events import ToolCall, Usage
from localllm.context.budget import NO_MODEL, Budget, Scale
from localllm.context.context_manager import Compacted, Compactor, SmartContextManager, words_fit
from localllm.context.conversation import PUT_ASIDE, Conversation, Spoken
from localllm.context.pruning import Keep, file_of, nothing, was_pruned
from localllm.context.summary import Begins, Summariser, Summary, head_text, is_head, to_nobody
from localllm.llm.client import LLMClient
from localllm.llm.messages import RECORD, AssistantMessage, Image, Message, SystemMessage, ToolMessage, UserMessage
from localllm.llm.overflow import Overflow
from tests.support.agents import scripted

pytestmark = pytest.mark.anyio

SUMMARY = "## Goal\nfind the leak\n## Done\nlooked at the pool"
SHOT = Image("image/png", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + (1280).to_bytes(4) + (720).to_bytes(4))
"""About 1,180 tokens."""


class Summing(Summariser):
    """Says SUMMARY, or why not, and keeps what it was asked."""

    def __init__(self, client: LLMClient, summary: Summary) -> None:
        super().__init__(client)
        self._summary = summary
        self.asked: list[Conversation] = []
        self.wishes: list[str] = []

    async def summarise(
        self, conversation: Conversation, scale: Scale, budget: Budget, wish: str = "", begins: Begins = to_nobody
    ) -> Summary:
        begins()
        self.asked.append(conversation)
        self.wishes.append(wish)
        return self._summary


def client(window: int = 8_192) -> LLMClient:
    return LLMClient(scripted("hello"), model="m", context_window=window)


class Made:
    """A compaction in a window of so many tokens, half of which may be full."""

    def __init__(self, window: int = 8_192, *, summary: Summary | None = None, keep: Keep | None = None) -> None:
        self.scale = Scale(client(window), (), 0.5)
        self.summing = Summing(client(window), summary or Summary(SUMMARY, "", Usage(prompt_tokens=7)))
        self.compactor = Compactor(self.summing, lambda: "[Project p, today]", lambda _: nothing, keep)

    def budget(self, talk: Conversation, factor: float = 1.0) -> Budget:
        return self.scale.budget(talk.messages[0], factor=factor)

    async def of(self, talk: Conversation, *, by_hand: bool = False, factor: float = 1.0, behind: int = 0) -> Compacted:
        made = await self.compactor.compact(
            talk, self.scale, self.budget(talk, factor), by_hand=by_hand, behind=behind, wish="the numbers"
        )
        valid(made.conversation)
        return made


def valid(talk: Conversation) -> None:
    """Every word is where it is said to be, in the messages of a user or tools."""
    for spoken in talk.said:
        message = talk.messages[spoken.message]
        assert spoken.text in message.text
        assert isinstance(message, UserMessage | ToolMessage)
    assert isinstance(talk.messages[1], UserMessage)


def step(number: int, text: str, images: tuple[Image, ...] = (), tool: str = "read_file") -> list[Message]:
    call = ToolCall(f"c{number}", tool, f'{{"file_path": "f{number}.py"}}')
    return [AssistantMessage("", (call,)), ToolMessage(call.id, call.name, text, images)]


def talk_of(*steps: list[Message], images: tuple[Image, ...] = ()) -> Conversation:
    messages = (SystemMessage("system"), UserMessage("find the leak\n\n[Project p]", images))
    return Conversation((*messages, *(one for each in steps for one in each)), (Spoken("find the leak", 1),))


def tokens(count: int) -> str:
    """A text of about so many."""
    return "a b c d e " * (count * 36 // 100)


def pruned(talk: Conversation) -> list[bool]:
    return [was_pruned(message) for message in talk.messages if isinstance(message, ToolMessage)]


class TestWithoutASummary:
    async def test_results_stay_where_it_is_enough_that_old_pictures_go(self) -> None:
        talk = talk_of(*(step(n, f"[shot{n}]" + "x" * 900, (SHOT,)) for n in range(4)))
        made = await Made().of(talk)
        assert (made.how, made.fits) == ("pruned", True)
        assert not any(pruned(made.conversation))
        assert [len(getattr(one, "images", ())) for one in made.conversation.messages[3::2]][-1] == 1
        assert made.before - made.after > 1_000

    async def test_the_picture_of_the_newest_request_stays(self) -> None:
        first = talk_of(step(0, "x", (SHOT,)), images=(SHOT,))
        newest = [UserMessage("and this?", (SHOT,)), *step(1, tokens(800)), *step(2, tokens(800))]
        talk = Conversation((*first.messages, *newest), (*first.spoken, Spoken("and this?", 4)))
        made = await Made().of(talk)
        assert made.how == "pruned"
        asked = [len(one.images) for one in made.conversation.messages if isinstance(one, UserMessage)]
        assert asked == [0, 1]

    async def test_leaving_output_out_has_to_free_some_room(self) -> None:
        made = Made(4_000)
        for said, how in ((1_600, "pruned"), (1_850, "summarised")):
            newest = step(1, "x")
            newest[0] = AssistantMessage(tokens(said), (ToolCall("c1", "read_file", "{}"),))
            talk = talk_of(step(0, tokens(400)), newest)
            assert made.scale.request(talk.messages) > made.budget(talk).most
            assert (await made.of(talk)).how == how, "it would be under the limit in either case"

    async def test_steps_at_the_end_stay_as_they_are_as_far_as_they_fit_beside_a_summary(self) -> None:
        made = Made()
        for count in (2, 5, 8):
            talk = talk_of(step(0, tokens(4_000)), *(step(n, tokens(200)) for n in range(1, count + 1)))
            left = pruned((await made.of(talk)).conversation)
            assert left[0]
            room = made.budget(talk)
            fits = (room.low - room.fixed - room.summary - 60) // 220
            assert left.count(False) == min(count, fits), "what is short is not left out either"
        assert fits < 8

    async def test_before_the_first_answer_there_is_nothing_to_sum_up(self) -> None:
        made = Made(2_000)
        talk = Conversation((SystemMessage("s"), UserMessage("look\n\n" + tokens(3_000))), (Spoken("look", 1),))
        done = await made.of(talk, by_hand=True)
        assert (done.how, done.fits, made.summing.asked) == ("pruned", True, [])
        assert done.conversation.messages[1].text.startswith("look")

    @pytest.mark.parametrize("factor", [1.0, 2.0])
    async def test_tokens_are_told_as_the_server_counts_them(self, factor: float) -> None:
        made, talk = Made(), talk_of(step(0, tokens(6_000)), step(1, "x"))
        done = await made.of(talk, factor=factor)
        assert done.before == int(factor * made.scale.request(talk.messages))
        assert done.after == int(factor * made.scale.request(done.conversation.messages))


class TestASummary:
    async def test_by_hand_it_is_made_though_there_is_room(self) -> None:
        made, talk = Made(), talk_of(step(0, "x"), step(1, "y"))
        done = await made.of(talk, by_hand=True)
        assert (done.how, done.usage, done.why) == ("summarised", Usage(prompt_tokens=7), "")
        assert made.summing.wishes == ["the numbers"]
        _system, head, *rest = done.conversation.messages
        assert head.text.startswith(head_text(["find the leak"], SUMMARY, "[Project p, today]").split("\n</state>")[0])
        assert rest == list(talk.messages[4:]), "the newest step stays"
        assert made.summing.asked == [Conversation(talk.messages[:4], talk.spoken)]

    async def test_the_request_that_is_not_answered_yet_is_marked(self) -> None:
        first, more = talk_of(step(0, "x")), [*step(1, "y"), *step(2, "z")]
        messages = (*first.messages, AssistantMessage("It is found."), UserMessage("and the test?"), *more)
        talk = Conversation(messages, (*first.spoken, Spoken("and the test?", len(first.messages) + 1)))
        done = await Made().of(talk, by_hand=True)
        assert "</said>\n\nOpen now:\n\n<said>\nand the test?\n</said>" in done.conversation.messages[1].text
        again = Conversation((*done.conversation.messages, *step(3, "w")), done.conversation.spoken)
        done = await Made().of(again, by_hand=True)
        assert "</said>\n\nOpen now:\n\n<said>\nand the test?\n</said>" in done.conversation.messages[1].text
        answered = (*done.conversation.messages, AssistantMessage("It is a.py."))
        done = await Made().of(Conversation(answered, done.conversation.spoken), by_hand=True)
        assert "Open now" not in done.conversation.messages[1].text

    async def test_why_there_is_none_and_what_that_cost_is_told(self) -> None:
        summary = Summary("", "it repeats itself", Usage(prompt_tokens=9))
        done = await Made(summary=summary).of(talk_of(step(0, "what it says"), step(1, "y")), by_hand=True)
        assert (done.why, done.usage) == ("it repeats itself", Usage(prompt_tokens=9))
        assert "read_file(file_path=f0.py) → what it says" in done.conversation.messages[1].text

    async def test_what_the_messages_tell_is_no_longer_than_a_summary(self) -> None:
        made = Made(4_096, summary=Summary("", NO_MODEL))
        talk = talk_of(*(step(n, f"{n} " * 60, tool="look") for n in range(60)))
        done = await made.of(talk, by_hand=True)
        state = done.conversation.messages[1].text.partition("<state>")[2].partition("</state>")[0]
        assert 200 < made.scale.text(state) <= made.budget(talk).summary + 5
        assert "f58.py" in state

    async def test_the_programs_record_stands_behind_it_and_is_carried_on(self) -> None:
        made = Made()
        first = await made.of(talk_of(step(0, "Edited.", tool="edit_file"), step(1, "y")), by_hand=True)
        more = Conversation((*first.conversation.messages, *step(2, "z")), first.conversation.spoken)
        second = await made.of(more, by_hand=True)
        for done in (first, second):
            assert f"{SUMMARY}\n\n{RECORD}\nchanged: f0.py\n" in done.conversation.messages[1].text
            assert done.conversation.messages[1].text.count(RECORD) == 1

    async def test_the_record_has_half_as_many_tokens_as_a_summary_at_most(self) -> None:
        made = Made(4_096)
        commands = [step(n, tokens(300), tool="run_command") for n in range(40, 42)]
        talk = talk_of(*(step(n, tokens(300), tool="edit_file") for n in range(40)), *commands, step(99, "y"))
        done = await made.of(talk, by_hand=True)
        record = done.conversation.messages[1].text.partition(RECORD)[2].partition("</state>")[0]
        assert made.scale.text(record) <= made.budget(talk).summary // 2

    async def test_a_new_request_stands_at_its_end_with_its_pictures(self) -> None:
        before = talk_of(step(0, "x"), [AssistantMessage("It leaks.")])
        asked = UserMessage("and now fix it\n\n[Project p]", (SHOT,))
        talk = Conversation((*before.messages, asked), (*before.spoken, Spoken("and now fix it", 5)))
        done = await Made().of(talk, by_hand=True)
        _, head = done.conversation.messages
        assert isinstance(head, UserMessage)
        assert head.images == (SHOT,)
        assert head.text.endswith("[Now the user says:]\n\nand now fix it\n\n[Project p]")
        assert head.text.count("and now fix it") == 1
        assert [spoken.message for spoken in done.conversation.spoken] == [1, 1]

    async def test_words_said_in_the_middle_are_where_their_result_is_now(self) -> None:
        talk = talk_of(step(0, "x"), step(1, "y\n\nlook there"), step(2, "z\n\nand here"))
        spoken = (*talk.spoken, Spoken("look there", 5), Spoken("and here", 7))
        done = await Made().of(Conversation(talk.messages, spoken), by_hand=True)
        assert [one.message for one in done.conversation.spoken] == [1, 1, 3]
        assert len(done.conversation.messages) == 4

    @pytest.mark.parametrize("size", [1_500, 3_000])
    async def test_more_than_fits_is_cut_but_for_the_words(self, size: int) -> None:
        done = await Made(2_000).of(talk_of(step(0, tokens(size)), step(1, tokens(size))))
        assert (done.how, done.fits) == ("summarised", True)
        head, *_, result = done.conversation.messages[1:]
        assert is_head(head)
        assert "find the leak" in head.text
        assert SUMMARY in head.text
        assert "left out to make room" in result.text

    async def test_pictures_that_did_not_come_last_go_before_anything_is_cut(self) -> None:
        talk = talk_of(step(0, "x"), [AssistantMessage("Well.")])
        asked = UserMessage("look at both", (SHOT,))
        more = [asked, *step(1, tokens(900))]
        talk = Conversation((*talk.messages, *more), (*talk.spoken, Spoken("look at both", 5)))
        made = Made(4_096)
        done = await made.of(talk, behind=5)
        assert [len(getattr(one, "images", ())) for one in done.conversation.messages] == [0, 0, 0, 0]
        assert done.conversation.messages[-1] == talk.messages[-1]

    async def test_the_model_is_asked_for_none_where_the_old_words_need_none(self) -> None:
        begun: list[str] = []
        made, talk = Made(), talk_of(step(0, tokens(6_000)), step(1, "x"))
        await made.compactor.compact(talk, made.scale, made.budget(talk), begins=lambda: begun.append("begins"))
        assert (begun, made.summing.asked) == ([], [])
        await made.compactor.compact(
            talk, made.scale, made.budget(talk), by_hand=True, begins=lambda: begun.append("begins")
        )
        assert begun == ["begins"]


def long_talk(count: int = 40, words: int = 60) -> Conversation:
    """One in which the user says more than their share of a small window."""
    texts = [f"part {n}: " + "and look at it, " * (words // 4) for n in range(count)]
    pairs = [message for text in texts for message in (UserMessage(text), AssistantMessage("Well."))]
    spoken = tuple(Spoken(text, 1 + 2 * number) for number, text in enumerate(texts))
    return Conversation((SystemMessage("system"), *pairs), spoken)


class TestWords:
    async def test_old_ones_are_put_aside_and_it_is_told_where(self) -> None:
        files: list[str] = []

        def keep(text: str) -> str:
            files.append(text)
            return "words-1a.txt"

        made, talk = Made(4_096, keep=keep), long_talk()
        aside, behind = made.compactor.with_room(talk, made.scale, made.budget(talk))
        left = sum(made.scale.text(one.text) for one in aside.said)
        assert made.budget(talk).low_words - 80 < left <= made.budget(talk).low_words
        assert aside.said[0] == talk.spoken[0], "the first request"
        assert behind == 1 + max(one.message for one in talk.spoken if one.text in aside.aside)
        done = await made.of(aside, behind=behind)
        assert done.how == "summarised"
        assert done.conversation.aside == aside.aside
        head = done.conversation.messages[1].text
        assert f"{len(aside.aside)} older messages of the user, verbatim: words-1a.txt" in head
        assert files[-1] == file_of(aside.aside)
        assert all(text not in head for text in aside.aside)

    def test_within_their_share_they_stay(self) -> None:
        made, talk = Made(32_768, keep=lambda _: "words.txt"), long_talk(10)
        assert made.compactor.with_room(talk, made.scale, made.budget(talk)) == (talk, 0)

    @pytest.mark.parametrize("keep", [None, "fails"])
    def test_what_cannot_be_kept_stays(self, keep: str | None) -> None:
        def fails(_text: str) -> str:
            raise OSError

        made, talk = Made(4_096, keep=fails if keep else None), long_talk()
        assert made.compactor.with_room(talk, made.scale, made.budget(talk)) == (talk, 0)

    async def test_more_go_where_what_was_made_is_still_too_long(self) -> None:
        made, talk = Made(4_096, keep=lambda _: "words.txt"), long_talk(30, 40)
        call = ToolCall("c9", "look", "{}")
        newest = (UserMessage("go on"), AssistantMessage("so " * 1_000, (call,)), ToolMessage("c9", "look", "x"))
        whole = Conversation((*talk.messages, *newest), (*talk.spoken, Spoken("go on", len(talk.messages))))
        done = await made.of(whole, by_hand=True)
        assert done.fits
        assert 0 < len(done.conversation.aside) < 30
        assert done.conversation.said[-1].text == "go on"
        assert SUMMARY in done.conversation.messages[1].text, "words go before the summary is cut"

    def test_they_fit_beside_what_is_fixed_and_half_a_summary(self) -> None:
        made, budget = Made(), Budget(window=4_096, fixed=600, limit=1_000)
        assert budget.summary == 100
        for room, fits in ((350, True), (351, False)):
            text = next("x" * n for n in range(2_000) if made.scale.text("x" * n) == room)
            talk = Conversation((SystemMessage("s"), UserMessage(text)), (Spoken(text, 1),))
            assert words_fit(talk, made.scale, budget) == fits

    async def test_where_they_do_not_fit_at_all_it_is_told_how_many_there_are(self) -> None:
        manager = SmartContextManager(client(2_000))
        talk = Conversation((SystemMessage("s"), UserMessage("word " * 3_000)), (Spoken("word " * 3_000, 1),))
        assert not manager.words_fit(talk, ())
        with pytest.raises(LLMConnectionError) as raised:
            await manager.compact(talk, ())
        assert raised.value.key == "context_words_too_long"
        assert "2,000" in str(raised.value)


class TestWhatTheServerSays:
    @pytest.mark.parametrize(
        ("overflow", "counted"), [(Overflow(n_prompt_tokens=9_000), 9_000), (Overflow(), 1.1 * 4_096), (None, 0)]
    )
    async def test_of_a_refused_request_its_count_holds(self, overflow: Overflow | None, counted: float) -> None:
        asked = client(4_096)
        talk = talk_of(*(step(n, tokens(700)) for n in range(4)))
        estimated = asked.estimate_prompt(talk.messages)
        made = await SmartContextManager(asked).compact(talk, (), overflow=overflow)
        assert made.before == pytest.approx(counted or estimated, abs=2)
        assert made.after < made.before / 2 if overflow else made.after < made.before


class TestCompressedForms:
    """Files that have to do with what was said last keep their outline when what was read of them is left out."""

    @staticmethod
    def source(name: str) -> str:
        return "".join(f"def {name}_{n}(a):\n" + "    work(a)\n" * 60 for n in range(6))

    async def left(self, request: str, *steps: list[Message], words: tuple[str, ...] = ()) -> list[str]:
        """What stands for what was read, where a form is kept."""
        said = [message for word in words for message in (UserMessage(word), AssistantMessage("Well."))]
        asked = (*said, UserMessage(request))
        messages = (SystemMessage("s"), *asked, *(one for each in steps for one in each), *step(99, "x", tool="look"))
        numbers = [number for number, one in enumerate(messages) if isinstance(one, UserMessage)]
        spoken = tuple(Spoken(messages[number].text, number) for number in numbers)
        made = await SmartContextManager(client(8_192), compact_at=0.5).compact(Conversation(messages, spoken), ())
        assert made.how == "pruned"
        return [one.text for one in made.conversation.messages if "def " in one.text]

    async def test_only_the_three_that_have_most_to_do_with_it(self) -> None:
        names = ["price", "cart", "order", "stock", "user"]
        steps = [step(n, self.source(name)) for n, name in enumerate(names)]
        left = await self.left("fix stock_1, order_2 and price_3", *steps)
        assert [name for name in names if any(f"def {name}_" in text for text in left)] == ["price", "order", "stock"]
        assert all(len(text) < 0.05 * 8_192 * 3.6 for text in left)

    async def test_what_was_read_of_a_file_before_it_changed_keeps_none(self) -> None:
        old, new = self.source("old"), self.source("new")
        again = step(0, old), step(1, self.source("other")), step(0, new)
        left = await self.left("look at f0.py: new_1 and old_1", *again)
        assert any("def new_" in text for text in left)
        assert not any("def old_" in text for text in left)

    async def test_lines_of_a_part_are_those_of_the_file(self) -> None:
        part = "f0.py (lines 501-866 of 900)\n" + self.source("price")
        (text,) = await self.left("fix price_1", step(0, part))
        assert "… lines 5" in text or "… lines 8" in text

    async def test_older_words_count_no_more(self) -> None:
        names = ["price", "cart", "order", "stock"]
        steps = [step(n, self.source(name)) for n, name in enumerate(names)]
        words = ("fix price_1 price_2 price_3", "cart_1 and order_1")
        left = await self.left("and stock_1", *steps, words=words)
        assert not any("def price_" in text for text in left)

    async def test_other_tools_keep_none(self) -> None:
        assert await self.left("fix price_1", step(0, self.source("price"), tool="search_files")) == []


def test_put_aside_is_no_message() -> None:
    talk = Conversation((SystemMessage("s"), UserMessage("b")), (Spoken("a", PUT_ASIDE), Spoken("b", 1)))
    assert ([one.text for one in talk.said], talk.aside, talk.words_in(1)) == (["b"], ["a"], ["b"])


def test_a_file_is_read_once_to_tell_what_it_has_to_do_with_a_request() -> None:
    asked: list[str] = []

    def read(path: str) -> str:
        asked.append(path)
        return "def discount(): ..."

    manager = SmartContextManager(client(), read=read)
    first = manager.calculate_relevance_score("a.py", "the discount")
    manager.calculate_relevance_score("b.py", "the discount")
    assert manager.calculate_relevance_score("a.py", "the discount") <= first
    assert asked == ["a.py", "b.py"]
    unrelated = manager.calculate_relevance_score("a.py", "zzz")
    assert unrelated == 0, "to look at it so is not to look at it in the conversation"
