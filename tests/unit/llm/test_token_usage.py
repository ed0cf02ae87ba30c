"""What an answer costs, and how it is noticed that a server has dropped part of a prompt."""

from collections.abc import Callable

import pytest

from localllm.base.events import ToolCall, Usage
from localllm.llm.messages import AssistantMessage, Image, ToolMessage, UserMessage
from localllm.llm.providers.base import TextChunk, UsageChunk
from localllm.llm.retry import Stopwatch
from localllm.llm.tokens import Accounting, Exchange, was_cut

LONG = (UserMessage("All work and no play makes Jack a dull boy. " * 800),)  # about 9,800 tokens
ANSWER = AssistantMessage("I see.", (ToolCall("c1", "look", '{"where": "there"}'),))


def clock(*seconds: float) -> Callable[[], float]:
    """Those moments, one after another."""
    moments = iter(seconds)
    return lambda: next(moments)


def exchange(counted: UsageChunk | None, messages: tuple[UserMessage, ...] = LONG) -> Exchange:
    return Exchange("m", messages, (), ANSWER, counted)


def settled(accounting: Accounting, prompt_tokens: int, window: int, *, assumed: bool = False) -> str:
    """The warning."""
    counted = UsageChunk(prompt_tokens, 5)
    return accounting.settle(exchange(counted), Stopwatch(), window, assumed=assumed)[1]


class TestUsage:
    def test_what_the_server_reports(self) -> None:
        watch = Stopwatch(clock(0, 1, 3, 7, 8))
        watch.start()
        watch.note(TextChunk("a"))
        watch.note(TextChunk("b"))
        usage, _ = Accounting().settle(exchange(UsageChunk(9000, 8, 60)), watch, 16_384, assumed=False)
        assert usage == Usage(
            prompt_tokens=9000,
            completion_tokens=8,
            cached_tokens=60,
            first_token_seconds=2,
            total_seconds=8,
            generation_seconds=4,
        )
        assert usage.tokens_per_second == 2

    def test_the_servers_own_time_is_the_better_one(self) -> None:
        watch = Stopwatch(clock(0, 1, 2, 3))
        watch.note(TextChunk("a"))
        watch.note(TextChunk("b"))
        counted = UsageChunk(9000, 8, generation_seconds=0.5)
        usage, _ = Accounting().settle(exchange(counted), watch, 16_384, assumed=False)
        assert usage.tokens_per_second == 16

    def test_an_answer_in_one_piece_has_no_speed(self) -> None:
        watch = Stopwatch(clock(0, 1, 2))
        watch.note(TextChunk("a"))
        usage, _ = Accounting().settle(exchange(UsageChunk(9000, 8)), watch, 16_384, assumed=False)
        assert (usage.generation_seconds, usage.tokens_per_second) == (0, 0)

    def test_without_a_report_it_is_estimated(self) -> None:
        accounting = Accounting()
        usage, warning = accounting.settle(exchange(None), Stopwatch(), 1, assumed=False)
        assert usage.estimated
        assert usage.prompt_tokens == accounting.estimate_prompt("m", LONG, ())
        assert usage.completion_tokens == accounting.estimate("m", 'I see.{"where": "there"}')
        assert warning == ""

    def test_counts_teach_the_estimates_of_their_own_model(self) -> None:
        accounting = Accounting()
        before = accounting.estimate_prompt("m", LONG, ())
        settled(accounting, before * 3 // 4, 65_536)
        assert accounting.estimate_prompt("m", LONG, ()) < before
        assert accounting.estimate_prompt("n", LONG, ()) == before


class TestDropping:
    @pytest.mark.parametrize("counted", [7_000, 9_800, 14_000])
    @pytest.mark.parametrize("more", [(), (ANSWER, ToolMessage("c1", "look", "there " * 50))])
    def test_a_request_is_never_expected_to_be_shorter_than_estimated(self, counted: int, more: tuple) -> None:
        accounting = Accounting()
        for messages in (LONG, (*LONG, *more)):
            assert accounting.expect_prompt("m", messages, ()) >= accounting.estimate_prompt("m", messages, ())
            settled(accounting, counted, 32_768)
        assert accounting.expect_prompt("m", LONG, ()) >= accounting.estimate_prompt("m", LONG, ())

    def test_a_prompt_longer_than_the_window_was_cut(self) -> None:
        warning = settled(Accounting(), 3_900, 4_096)
        assert "3,900 tokens" in warning
        assert "num_ctx" in warning

    def test_it_is_said_once(self) -> None:
        accounting = Accounting()
        assert settled(accounting, 3_900, 4_096)
        assert settled(accounting, 3_900, 4_096) == ""

    def test_a_cut_prompt_teaches_nothing(self) -> None:
        accounting = Accounting()
        before = accounting.estimate_prompt("m", LONG, ())
        settled(accounting, round(before * 0.55), 8_192)
        assert accounting.estimate_prompt("m", LONG, ()) == before

    def test_a_frugal_tokenizer_is_no_cut(self) -> None:
        assert settled(Accounting(), 6_500, 16_384) == ""

    def test_a_count_below_nothing_is_no_cut(self) -> None:
        assert settled(Accounting(), -7, 4_096) == ""

    def test_a_count_of_the_uncached_part_alone_is_no_cut(self) -> None:
        assert settled(Accounting(), 12, 16_384) == ""

    @pytest.mark.parametrize(
        ("counted", "window", "assumed", "sure", "cut"),
        [
            (4_000, 4_096, False, False, True),  # longer than the window
            (4_090, 8_192, True, False, True),  # nobody knows the window, but it just fits a usual one
            (3_000, 16_384, True, False, False),
            (3_000, 16_384, True, True, True),  # the estimate has proved right before
            (3_000, 16_384, False, False, False),  # the window is known, and all of it would have fitted
            (6_100, 4_096, False, False, False),  # not far below the estimate
        ],
    )
    def test_the_signs(self, counted: int, window: int, assumed: bool, sure: bool, cut: bool) -> None:
        assert was_cut(counted, 10_000, window, assumed=assumed, sure=sure) is cut


class TestEvidentWindow:
    @staticmethod
    def after(*prompts: tuple[int, int], model: str = "m") -> int:
        """The window that is evident after prompts of so many sentences, counted as so many tokens."""
        accounting = Accounting()
        for sentences, counted in prompts:
            messages = (UserMessage("All work and no play makes Jack a dull boy. " * sentences),)  # 12 tokens each
            asked = exchange(UsageChunk(counted, 5), messages)
            accounting.settle(asked, Stopwatch(), 65_536, assumed=False)
        return accounting.evident_window(model)

    def test_prompts_of_different_length_that_fill_the_same_window(self) -> None:
        assert self.after((800, 4_090), (850, 4_096)) == 4_096

    @pytest.mark.parametrize(
        "prompts",
        [
            [(800, 4_090)],  # once is chance
            [(800, 4_090), (800, 4_090)],  # the same again tells nothing new
            [(800, 4_090), (1_200, 4_090)],  # it may be what is new in the prompt that was counted
            [(800, 4_090), (850, 2_040)],  # two edges
            [(800, 3_000), (850, 3_000)],  # no window anybody sets
            [(400, 4_090), (420, 4_096)],  # a count of the whole
            [(800, -5), (850, -5)],
        ],
    )
    def test_where_there_is_no_evidence(self, prompts: list[tuple[int, int]]) -> None:
        assert self.after(*prompts) == 0

    def test_of_another_model_nothing_is_known(self) -> None:
        assert self.after((800, 4_090), (850, 4_096), model="n") == 0

    def test_a_longer_count_proves_it_wrong(self) -> None:
        assert self.after((800, 4_090), (850, 4_096), (900, 9_000)) == 0


def png(width: int, height: int) -> Image:
    """A picture of that size, as far as its first bytes tell."""
    return Image("image/png", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + width.to_bytes(4) + height.to_bytes(4) + bytes(100))


class TestPictures:
    BEFORE = (UserMessage("Look at the screen, and tell me what is wrong with the layout of it. " * 4),)
    SEEN = (*BEFORE, ANSWER, ToolMessage("c1", "look", "[shot.png]", (png(1920, 1080),)))
    MORE = (*SEEN, ANSWER, ToolMessage("c1", "look", "[other.png]", (png(1920, 1080),)))

    def counts(self, accounting: Accounting, *counted: tuple[tuple[UserMessage, ...], int]) -> None:
        for messages, tokens in counted:
            told = Exchange("m", messages, (), ANSWER, UsageChunk(tokens, 5))
            _, warning = accounting.settle(told, Stopwatch(), 32_768, assumed=False)
            assert not warning

    def test_they_have_a_place_in_the_window(self) -> None:
        with_it, without = (
            Accounting().estimate_prompt("m", messages, ())
            for messages in (self.SEEN, (*self.BEFORE, ANSWER, ToolMessage("c1", "look", "[shot.png]")))
        )
        assert with_it - without == 2_645  # 1920 × 1080 in squares of 28 pixels

    def test_the_first_count_tells_what_the_model_makes_of_one(self) -> None:
        accounting = Accounting()
        first = accounting.estimate_prompt("m", self.BEFORE, ())
        new = accounting.estimate_prompt("m", self.SEEN, ()) - first - 2_645
        self.counts(accounting, (self.BEFORE, first), (self.SEEN, first + new + 256))
        expected = accounting.expect_prompt("m", self.MORE, ())
        assert expected == pytest.approx(first + 2 * (new + 256), abs=4)

    def test_a_family_that_takes_few_is_no_sign_of_a_dropped_prompt(self) -> None:
        accounting = Accounting()
        estimate = accounting.estimate_prompt("m", self.SEEN, ())
        self.counts(accounting, (self.SEEN, estimate - 2_645 + 256))
        assert accounting.estimate_prompt("m", self.SEEN, ()) == pytest.approx(estimate - 2_645 + 256, abs=4)

    def test_beside_much_text_they_teach_nothing_and_the_text_learns(self) -> None:
        accounting = Accounting()
        messages = (*LONG, ANSWER, ToolMessage("c1", "look", "[icon.png]", (png(64, 64),)))
        estimate, text = accounting.estimate_prompt("m", messages, ()), accounting.estimate("m", LONG[0].text)
        self.counts(accounting, (messages, int(1.2 * estimate)))
        assert accounting.estimate("m", LONG[0].text) == pytest.approx(1.1 * text, rel=0.01)
        assert (
            accounting.estimate_prompt("m", self.SEEN, ()) - accounting.estimate_prompt("m", self.SEEN[:2], ()) > 2_645
        )

    def test_a_text_that_was_estimated_too_long_hides_no_small_picture(self) -> None:
        accounting, said = Accounting(), "画面の配置のどこがおかしいか見てください。" * 70
        talk = (UserMessage(said, (png(4000, 3000),)),)
        for _ in range(4):
            counted = int(0.7 * len(said) + 14 * len(talk)) + 256
            self.counts(accounting, (talk, counted))
            assert accounting.estimate_prompt("m", talk, ()) < 1.3 * counted
            talk = (*talk, AssistantMessage("はい。"), UserMessage("続けてください。"))
