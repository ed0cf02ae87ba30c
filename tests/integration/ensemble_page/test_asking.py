"""The ensemble's page in a real Chromium: ask, watch the columns fill, read, stop, come back."""

from collections.abc import Iterator
from typing import Any

import msgspec
import pytest
from playwright.sync_api import expect

from localllm.ensemble.records import Question, ReviewStarted, ReviewText, WorkerRetried, WorkerText
from localllm.ensemble.server.options import ServerOptions
from tests.support.ensemble_page import (
    REVIEWER,
    Visit,
    answered,
    begin,
    ended,
    finished,
    names,
    plain_run,
    played,
    silent,
)

FINAL = "It is Paris, which has been the capital of the kingdom since 987."


def gated_run(question: Question) -> list[Any]:
    """Worker B is behind a gate, and so are the two parts of the review."""
    del question
    answers = [answered(0, "It is **Paris**."), answered(1, "Paris, of course."), answered(2, error=silent())]
    return [
        begin(),
        WorkerText(0, "It is **Par"),
        WorkerText(0, "is**."),
        finished(0, "It is **Paris**."),
        WorkerText(2, "It is Ly"),
        finished(2, error=silent(), seconds=60.0),
        "worker",
        WorkerText(1, "Paris, of course."),
        finished(1, "Paris, of course.", seconds=3.25),
        ReviewStarted(REVIEWER),
        ReviewText("## Evaluation\nA and B agree.\n\n## Fin"),
        "review",
        ReviewText("al answer\nIt is Paris, which has been the capital of the kingdom since"),
        "end",
        ReviewText(" 987."),
        ended(answers, FINAL, review_comment="A and B agree."),
    ]


def test_columns_fill_while_a_worker_is_still_at_work(visit: Visit) -> None:
    with played(gated_run) as (server, ensemble):
        visitor = visit(server)
        page = visitor.page
        visitor.ask("What is the capital of France?")
        visitor.wait_column(0, "It is Paris.")
        column = page.locator(".column")
        expect(column.nth(0)).to_have_attribute("data-state", "done")
        expect(column.nth(0).locator("strong")).to_have_text("Paris")
        expect(column.nth(0).locator(".state")).to_have_text("1.5 s")
        expect(column.nth(2)).to_have_attribute("data-state", "failed")
        assert silent().what in visitor.column(2)
        assert "It is Ly" in visitor.column(2)
        expect(column.nth(1)).to_have_attribute("data-state", "waiting")
        expect(page.locator(".card .state")).to_have_text("2 of 3 workers are done")
        assert visitor.answer() == ""
        ensemble.gates["worker"].set()
        visitor.wait_column(1, "Paris, of course.")
        page.locator(".evaluation").get_by_text("A and B agree.").wait_for()
        assert visitor.answer() == ""
        ensemble.gates["review"].set()
        page.locator(".text.answer").get_by_text("It is Paris, which").wait_for()
        assert page.locator(".turn").get_attribute("data-state") == "running"
        ensemble.gates["end"].set()
        visitor.wait()
        expect(page.locator(".text.answer")).to_have_text(FINAL)
        expect(page.locator(".card .time")).to_have_text("12.3 s")
        expect(page.locator(".workers summary")).to_have_text("2 of 3 answered · 1 failed")
        assert ensemble.questions[0].prompt == "What is the capital of France?"
        page.get_by_text("What the reviewer says of the answers").click()
        expect(page.locator(".evaluation")).to_have_text("A and B agree.")


def test_what_was_asked_is_there_after_a_reload_and_in_the_history(visit: Visit) -> None:
    with played(lambda question: plain_run(final=f"About {question.prompt}.")) as (server, _):
        visitor = visit(server)
        page = visitor.page
        visitor.ask("first")
        visitor.wait()
        visitor.reload()
        visitor.wait()
        expect(page.locator(".text.answer")).to_have_text("About first.")
        expect(page.locator(".column strong")).to_have_text("Paris")
        page.click("#new")
        assert page.locator(".turn").count() == 0
        visitor.ask("second\nwith a second line")
        visitor.wait()
        page.click("#history-open")
        expect(page.locator("#history .title")).to_have_text(["second with a second line", "first"])
        page.locator("#history .entry").nth(1).click()
        expect(page.locator(".text.answer")).to_have_text("About first.")
        assert not page.locator("#history").is_visible()


def test_the_history_is_deleted_one_by_one_and_whole(visit: Visit) -> None:
    with played(lambda question: plain_run(final=question.prompt)) as (server, _):
        visitor = visit(server)
        page = visitor.page
        for text in ("one", "two", "three"):
            visitor.ask(text)
            visitor.wait()
            page.click("#new")
        page.click("#history-open")
        page.locator("#history li").nth(1).locator("button").nth(1).click()
        expect(page.locator("#history .title")).to_have_text(["three", "one"])
        page.click("#history-clear")
        expect(page.locator("#history .title")).to_have_count(2)  # it asks once more
        page.click("#history-clear")
        expect(page.locator("#history .title")).to_have_count(0)
        page.reload()
        page.click("#history-open")
        expect(page.locator("#history-empty")).to_be_visible()


@pytest.mark.parametrize("how", ["Escape", "button"])
def test_stopping_cancels_the_run_and_keeps_what_has_come(visit: Visit, how: str) -> None:
    with played(gated_run) as (server, ensemble):
        visitor = visit(server)
        page = visitor.page
        visitor.ask("?")
        visitor.wait_column(0, "It is Paris.")
        if how == "Escape":
            page.keyboard.press("Escape")
        else:
            page.click("#stop")
        visitor.wait("stopped")
        expect(page.locator(".column").nth(1)).to_have_attribute("data-state", "stopped")
        assert "It is Paris." in visitor.column(0)
        expect(page.locator(".notices")).to_contain_text("You stopped this.")
        expect(page.locator("#send")).to_be_visible()
        while ensemble.closed == 0:
            page.wait_for_timeout(10)
        page.reload()
        visitor.wait("stopped")
        assert "It is Paris." in visitor.column(0)


def test_leaving_the_page_cancels_the_run_and_is_told_afterwards(visit: Visit) -> None:
    with played(gated_run) as (server, ensemble):
        visitor = visit(server)
        visitor.ask("?")
        visitor.wait_column(0, "It is Paris.")
        expect(visitor.page.locator(".column").nth(2)).to_have_attribute("data-state", "failed")
        visitor.page.reload()
        visitor.wait("left")
        assert "It is Paris." in visitor.column(0)
        expect(visitor.page.locator(".column").nth(1)).to_have_attribute("data-state", "unfinished")
        while ensemble.closed == 0:
            visitor.page.wait_for_timeout(10)


def test_a_question_can_be_asked_again(visit: Visit) -> None:
    with played(lambda _: plain_run() if len(asked) > 1 else [begin(), "never"]) as (server, ensemble):
        asked = ensemble.questions
        visitor = visit(server)
        visitor.ask("Once more?")
        visitor.page.locator(".column").nth(2).wait_for()
        visitor.page.keyboard.press("Escape")
        visitor.wait("stopped")
        visitor.page.get_by_role("button", name="Ask again").click()
        visitor.wait()
        assert [one.prompt for one in asked] == ["Once more?"] * 2


def test_a_worker_that_is_asked_again_begins_anew(visit: Visit) -> None:
    answers = [answered(0, "Paris.")]
    run = [begin(1), WorkerText(0, "Ly"), "retry", WorkerRetried(0, silent()), "again", WorkerText(0, "Paris.")]
    with played(lambda _: [*run, finished(0, "Paris."), ended(answers)], count=1) as (server, ensemble):
        visitor = visit(server)
        visitor.ask("?")
        visitor.wait_column(0, "Ly")
        ensemble.gates["retry"].set()
        visitor.wait_column(0, silent().what)
        expect(visitor.page.locator(".column .text")).not_to_contain_text("Ly")
        expect(visitor.page.locator(".column")).to_have_attribute("data-state", "waiting")
        ensemble.gates["again"].set()
        visitor.wait()
        expect(visitor.page.locator(".column .text")).to_have_text("Paris.")


@pytest.mark.parametrize(
    ("written", "told"),
    [("No form " * 20, ("No form " * 20).strip()), ('{"comment": "Fine so far', "Fine so far")],
)
def test_what_the_reviewer_writes_is_seen_in_any_form(visit: Visit, written: str, told: str) -> None:
    answers = [answered(0, "Paris.")]
    run = [begin(1), finished(0, "Paris."), ReviewStarted(REVIEWER), *map(ReviewText, written), "end", ended(answers)]
    with played(lambda _: run, count=1) as (server, ensemble):
        visitor = visit(server)
        visitor.ask("?")
        expect(visitor.page.locator(".evaluation")).to_have_text(told)
        ensemble.gates["end"].set()
        visitor.wait()
        assert visitor.answer() == "It is Paris."


def test_a_reviewer_that_is_asked_again_begins_anew(visit: Visit) -> None:
    answers = [answered(0, "Paris.")]
    first, again = "## Evaluation\nA ranking.\n\n## Final answer\nNone yet\n\n", "## Evaluation\nMerged.\n\n"
    reviews = [ReviewStarted(REVIEWER), ReviewText(first), "again", ReviewStarted(REVIEWER), ReviewText(again), "end"]
    with played(lambda _: [begin(1), finished(0, "Paris."), *reviews, ended(answers)], count=1) as (server, ensemble):
        visitor = visit(server)
        visitor.ask("?")
        expect(visitor.page.locator(".evaluation")).to_have_text("A ranking.")
        ensemble.gates["again"].set()
        expect(visitor.page.locator(".evaluation")).to_have_text("Merged.")
        assert visitor.answer() == ""
        ensemble.gates["end"].set()
        visitor.wait()


def test_what_the_run_says_of_the_answers_is_shown(visit: Visit) -> None:
    workers = names(3)
    runtime = {
        "strategy": "rank",
        "scores": {workers[0]: 8.5, workers[1]: 3},
        "best": workers[0],
        "consensus": {"answer": "paris", "workers": [workers[0], workers[2]], "of": 3},
        "skipped": ["Worker X"],
    }
    answers = [answered(0, "Paris."), answered(1, "Lyon."), answered(2, error=silent())]
    answers[2] = msgspec.structs.replace(answers[2], is_cancelled=True)
    ends = [finished(n, one.text, one.error) for n, one in enumerate(answers)]
    with played(lambda _: [begin(), *ends, ended(answers, runtime=runtime)]) as (server, _):
        visitor = visit(server)
        page = visitor.page
        visitor.ask("?")
        visitor.wait()
        expect(page.locator(".score")).to_have_text(["★ 8.5", "3", ""])
        expect(page.locator(".column").nth(2)).to_have_attribute("data-state", "skipped")
        expect(page.locator(".workers summary")).to_have_text("2 of 3 answered · 1 not waited for")
        facts = page.locator(".facts").inner_text()
        assert "strategy: rank" in facts
        assert "2 of 3 agree" in facts
        assert "not asked: Worker X" in facts


def test_a_failed_reviewer_is_said_beside_the_answer_that_stands_in(visit: Visit) -> None:
    answers = [answered(0, "Paris."), answered(1, error=silent()), answered(2, "Lyon.")]
    run = [begin(), *(finished(n, one.text, one.error) for n, one in enumerate(answers)), ReviewStarted(REVIEWER)]
    runtime = {"strategy": "review", "fallback": names(3)[0]}
    last = ended(answers, "Paris.", reviewer_error=silent(), review_comment="Error: x", runtime=runtime)
    with played(lambda _: [*run, last]) as (server, _):
        visitor = visit(server)
        visitor.ask("?")
        visitor.wait("reviewer_failed")
        assert visitor.answer() == "Paris."
        told = visitor.page.locator(".card").inner_text()
        assert "The reviewer failed" in told
        assert names(3)[0] in told
        assert silent().what in told
        expect(visitor.page.get_by_role("button", name="Ask again")).to_be_visible()


def test_a_run_without_any_answer_is_said(visit: Visit) -> None:
    answers = [answered(n, error=silent()) for n in range(3)]
    run = [begin(), *(finished(n, error=silent()) for n in range(3)), ended(answers, "", review_comment="")]
    with played(lambda _: run) as (server, _):
        visitor = visit(server)
        visitor.ask("?")
        visitor.wait("all_failed")
        assert visitor.answer() == ""
        expect(visitor.page.locator(".notices")).to_contain_text("No worker has answered.")
        expect(visitor.page.locator(".column[data-state=failed]")).to_have_count(3)


CUT = 'event: start\ndata: {"run_id": "r", "strategy": "review", "workers": ["A", "B"], "reviewer": "R"}\n\n'
CUT += 'event: worker_text\ndata: {"worker": 0, "text": "It is Par"}\n\nevent: worker_te'


@pytest.mark.parametrize(
    ("answer", "state", "told"),
    [
        ({"status": 200, "content_type": "text/event-stream", "body": CUT}, "cut", "broke before the answer"),
        ({"status": 200, "content_type": "text/event-stream", "body": CUT + "\n\n: x\n"}, "cut", "broke before"),
        ({"status": 200, "content_type": "text/event-stream", "body": 'data: {"a":\n\n'}, "cut", "broke before"),
        ({"status": 503, "body": "<h1>proxy</h1>"}, "refused", "HTTP 503"),
        (
            {
                "status": 429,
                "headers": {"retry-after": "7"},
                "body": '{"error": {"code": "E1156", "message": "Busy."}}',
            },
            "refused",
            "7 s",
        ),
        (None, "refused", "cannot be reached"),
    ],
)
def test_what_does_not_come_to_its_end_is_told_as_it_is(visit: Visit, answer: Any, state: str, told: str) -> None:
    with played(lambda _: plain_run()) as (server, _):
        visitor = visit(server)
        page = visitor.page
        page.route("**/generate/stream", lambda route: route.fulfill(**answer) if answer else route.abort())
        visitor.ask("?")
        visitor.wait(state)
        expect(page.locator(".notices")).to_contain_text(told)
        if state == "cut" and "Par" in answer["body"]:
            assert visitor.column(0).strip() == "It is Par"
            expect(page.locator(".column[data-state=unfinished]")).to_have_count(2)
        page.unroute("**/generate/stream")
        page.get_by_role("button", name="Ask again").click()
        visitor.wait()


def test_a_run_that_breaks_in_the_server_is_told(visit: Visit) -> None:
    class BrokenError(Exception):
        """A fault of the program."""

    def play(_: Question) -> Iterator[Any]:
        yield begin()
        yield WorkerText(0, "It is")
        raise BrokenError

    with played(play) as (server, _):  # type: ignore[arg-type]
        visitor = visit(server)
        visitor.ask("?")
        visitor.wait("refused")
        expect(visitor.page.locator(".notices")).to_contain_text("E1090")
        assert visitor.column(0).strip() == "It is"


def test_a_second_question_belongs_to_the_conversation(visit: Visit) -> None:
    with played(lambda question: plain_run(final=f"{len(question.history)} turns")) as (server, _):
        visitor = visit(server)
        page = visitor.page
        visitor.ask("first")
        visitor.wait()
        visitor.ask("second")
        page.locator(".turn").nth(1).wait_for()
        visitor.wait()
        expect(page.locator(".text.answer")).to_have_text(["0 turns", "2 turns"])
        assert page.locator(".workers").nth(0).get_attribute("open") is None
        visitor.reload()
        visitor.wait()
        visitor.ask("third")
        page.locator(".turn").nth(2).wait_for()
        visitor.wait()
        assert visitor.answer() == "4 turns"
        page.click("#new")
        visitor.ask("elsewhere")
        visitor.wait()
        assert visitor.answer() == "0 turns"
        assert page.locator(".turn .notice:visible").count() == 0


def test_a_server_that_has_forgotten_the_conversation_is_told_of(visit: Visit) -> None:
    with played(lambda _: plain_run()) as (server, _):
        visitor = visit(server)
        visitor.ask("first")
        visitor.wait()
        page = visitor.page

        def without_turns(route: Any) -> None:
            answer = route.fetch()
            route.fulfill(
                response=answer, body=answer.text().replace('"conversation_turns":1', '"conversation_turns":0')
            )

        page.route("**/generate/stream", without_turns)
        visitor.ask("second")
        page.locator(".turn").nth(1).wait_for()
        visitor.wait()
        expect(page.locator(".turn:last-child .notices")).to_contain_text("does not know the earlier part")


def test_a_token_is_asked_for_and_kept_for_the_tab(visit: Visit) -> None:
    options = ServerOptions(token="open-sesame-1234", stop_seconds=0.2)
    with played(lambda _: plain_run(), options=options) as (server, _):
        visitor = visit(server)
        page = visitor.page
        page.fill("#token", "wrong")
        page.keyboard.press("Enter")
        page.locator("#token-wrong").wait_for()
        page.fill("#token", options.token)
        page.keyboard.press("Enter")
        expect(page.locator("#agents li")).to_have_count(4)
        visitor.ask("?")
        visitor.wait()
        visitor.reload()
        expect(page.locator("#agents li")).to_have_count(4)
        assert not page.locator("#token-dialog").is_visible()
        everywhere = "JSON.stringify([Object.entries(localStorage), document.cookie, location.href])"
        assert options.token not in page.evaluate(everywhere)
        other = visitor.open()
        expect(other.locator("#token-dialog")).to_be_visible()
        other.keyboard.press("Escape")
        expect(other.locator("#agents-fault")).to_be_visible()


def test_a_question_without_a_token_is_not_lost(visit: Visit) -> None:
    options = ServerOptions(token="open-sesame-1234", stop_seconds=0.2)
    with played(lambda _: plain_run(), options=options) as (server, _):
        visitor = visit(server)
        page = visitor.page
        page.click("#token-cancel")
        visitor.ask("Is it kept?")
        page.click("#token-cancel")
        visitor.wait("refused")
        expect(page.locator(".turn .question")).to_have_text("Is it kept?")
        page.get_by_role("button", name="Ask again").click()
        page.fill("#token", options.token)
        page.keyboard.press("Enter")
        visitor.wait()
        expect(page.locator("#agents-summary")).to_contain_text("3 workers")
