"""What an answer cites from documents is compared with the passages."""

import tomllib
import unicodedata
from pathlib import Path
from typing import Any

import msgspec
import pytest

from localllm.agent.checks.cited_passages import unsupported
from localllm.agent.checks.completion_checks import Finishing
from localllm.agent.history import History
from localllm.agent.middleware import Inject, RunState
from localllm.base.events import ToolCall, Usage
from localllm.llm.messages import AssistantMessage, Completion
from localllm.rag.records import Hit, Place, Scores
from localllm.tools.results import ToolResult
from tests.support.agents import make_tools

REQUEST = "VPNの鍵の期限は？"


def hit(file: str, text: str, first: int = 1, last: int = 2) -> Hit:
    place = Place(first=first, last=last)
    return Hit(collection="c", path=f"/{file}", file=file, text=text, place=place, scores=Scores(1.0))


HITS = [
    hit("資料/vpn.md", "VPNの鍵の有効期限は90日です。延長は情報システム課へ。出社は週二日。"),
    hit("docs/travel.md", "A night costs up to 12,000 yen, at most 3 nights. Passes end on 2026-03-31."),
    hit("docs/fees.md", "The fee is 450 dollars, for 64 GiB."),
    hit("規程.md", "会費は月500円、消費税は10%。手当は1日1,200円。勤務は1日8時間、週5日、9:00-17:30。予算は3億円。"),
]


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("VPNの鍵の有効期限は120日です [資料/vpn.md:1-2]。", [("資料/vpn.md:1-2", "120日")]),
        ("VPNの鍵の有効期限は120日です。[資料/vpn.md:1-2]", [("資料/vpn.md:1-2", "120日")]),
        ("延長は総務課へ。[資料/規程.pdf:3]", [("資料/規程.pdf:3", "")]),
        ("延長は総務課へ。[資料/規程.pdf]", [("資料/規程.pdf", "")]),
        ("出社は週三日です [資料/vpn.md:1-2]。", [("資料/vpn.md:1-2", "三日")]),
        ("A night costs up to 450 dollars [docs/travel.md:1-2].", [("docs/travel.md:1-2", "450 dollars")]),
        ("予算は1億円です [規程.md:1]。", [("規程.md:1-2", "1億円")]),
        ("The budget is one million yen [規程.md:1].", [("規程.md:1-2", "one million yen")]),
    ],
)
def test_what_no_passage_has(answer: str, expected: list[tuple[str, str]]) -> None:
    assert [tuple(one) for one in unsupported(answer, HITS, [], REQUEST)] == expected


@pytest.mark.parametrize(
    "answer",
    [
        "VPNの鍵の有効期限は90日です [資料/vpn.md:1-2]。",
        "The key is valid for 90 days [資料/vpn.md:1].",
        "Three nights cost up to 36,000 yen [docs/travel.md:1-2].",
        "For 5 people it is 12,000 yen each [docs/travel.md:1-2].",
        "Two rules apply [docs/travel.md:1-2]. Line 120 is not cited.",
        "Passes end on 31 March 2026 [docs/travel.md:1].",
        "1日3回まで、半数の人に [資料/vpn.md:1-2]。",
        "The nights are 60 % of the people, so 40 % fewer [docs/travel.md:1-2].",
        "年会費は6,000円、税込みでは月550円、10日で12,000円です [規程.md:1]。",
        "週に40時間、毎日8.5時間です [規程.md:1]。",
        "会員は1割引の450円です [規程.md:1]。",
        "Each has 64 GB [docs/fees.md:1].",
        "It returns 404 [src/app.py:12].",
        "期限は保守を参照 [手引２.md:3]。",
        "期限は別に定める [ガイド.md:3]。",
        "延長は情報システム課へ [資料/vpn.md]。例: [example.org] [Node.js] [手引２.md]",
        "See [README](https://example.org/120) and `a[0]`.",
    ],
)
def test_what_is_there_or_can_be_reckoned_or_was_read(answer: str) -> None:
    known = ["src/app.py (40 lines)", "手引２.md (9 lines)", unicodedata.normalize("NFD", "ガイド.md (9 lines)")]
    assert unsupported(answer, HITS, known, "What do 5 people pay?") == []


RULES = [
    hit("rules.md", "25 days of vacation a year. Receipts within 30 days, reports within 2 months. Meals up to 40 EUR.")
]


@pytest.mark.parametrize(
    ("request_", "answer", "doubted"),
    [
        ("What can I get for 5 days of meals?", "Up to 40 EUR a day, so 5 × 40 = 200 EUR [rules.md:1].", []),
        (
            "What can I get for 5 days of meals?",
            "Up to 40 EUR a day, so 5 × 47 = 235 EUR [rules.md:1].",
            ["47", "235 EUR"],
        ),
        ("I took 18 of my vacation days.", "It is 25 days a year [rules.md:1]. You have 7 days left (25 - 18).", []),
        ("I took 18 of my vacation days.", "It is 25 days a year [rules.md:1]. You have 11 days left.", ["11 days"]),
        ("My budget is 90; can I eat for 2 days?", "40 EUR a day [rules.md:1]. 10 EUR are left.", []),
        ("11月15日の領収書の期限は？", "30日以内なので、12月15日が期限です [rules.md:1]。", []),
        ("11月15日の領収書の期限は？", "30日以内なので、2026年12月14日が期限です [rules.md:1]。", []),
        ("11月15日の領収書の期限は？", "30日以内なので、12月28日が期限です [rules.md:1]。", ["12月28日"]),
        ("I came back on 31 December 2026.", "The report is due by 28 February 2027 [rules.md:1].", []),
        ("I came back on 31 December 2026.", "The report is due by 15 March 2027 [rules.md:1].", ["15 March 2027"]),
    ],
)
def test_what_follows_from_the_request(request_: str, answer: str, doubted: list[str]) -> None:
    assert [one.quantity for one in unsupported(answer, RULES, [], request_)] == doubted


PRICES = [
    hit("price.md", "A pump is 1,250 EUR; 5 % off from 10 pumps. VAT is 19 %. Late payment: 14.6 % a year. 450,000円.")
]


@pytest.mark.parametrize(
    ("answer", "doubted"),
    [
        ("12 × 1,250 EUR = 15,000 EUR. Less 5 % it is 14,250 EUR, with VAT 16,957.50 EUR [price.md:1].", []),
        (
            "12 × 1,250 EUR = 15,000 EUR. Less 5 % it is 14,250 EUR, with VAT 17,957.50 EUR [price.md:1].",
            ["17,957.50 EUR"],
        ),
        ("450,000円 × 14.6% × 30 ÷ 365 = 5,400円です [price.md:1]。", []),
        ("450,000円 × 14.6% × 30 ÷ 365 = 5,900円です [price.md:1]。", ["5,900円"]),
        ("320,000円 × 14.6% × 30 ÷ 365 = 3,840円です [price.md:1]。", ["320,000円", "3,840円"]),
    ],
)
def test_a_calculation_in_several_steps(answer: str, doubted: list[str]) -> None:
    assert [one.quantity for one in unsupported(answer, PRICES, [], "What do 12 cost? 30日遅れたら?")] == doubted


SETS: list[dict[str, Any]] = tomllib.loads(Path(__file__).with_name("uncited_numbers.toml").read_text("utf-8"))["case"]


def doubted(kind: str) -> list[str]:
    """The sentences with a number that is doubted although they have no reference."""
    found: list[str] = []
    for case in SETS:
        hits = [hit(f"{number}.md", text, last=9) for number, text in enumerate(case["passages"])]
        cited = "".join(f"[{one.file}:1]" for one in hits)
        for sentence in case[kind]:
            answer = f"The documents say {cited}.\n{sentence}"
            if unsupported(answer, hits, [], case["request"], case["read"]):
                found.append(sentence)
    return found


def test_numbers_without_a_reference_that_nothing_has_are_doubted_but_not_what_follows() -> None:
    assert [sum(len(case[kind]) for case in SETS) for kind in ("true", "false")] == [113, 31]
    assert doubted("true") == [
        "The allowance for 4 days is 10,000 yen.",
        "The nights and a return ticket cost 65,440 yen together.",
    ]
    found = doubted("false")
    assert "サーバーの費用は月額68,000円になります。" in found
    assert len(found) >= 19, found


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("VPNの鍵は90日有効です [資料/vpn.md:1-2]。更新には71日かかります。", [("", "71日")]),
        ("更新には71日かかります。", []),
        ("VPNの鍵は90日有効です [資料/vpn.md:1-2]。\n```\nsleep(45秒)\n```\n", []),
        ("VPNの鍵は90日有効です [資料/vpn.md:1-2]。更新には71日かかりますか？", []),
        ("VPNの鍵は90日有効です [資料/vpn.md:1-2]。会費は年6,000円です。", []),
    ],
)
def test_a_number_without_a_reference(answer: str, expected: list[tuple[str, str]]) -> None:
    assert [tuple(one) for one in unsupported(answer, HITS, [], REQUEST)] == expected


def test_what_was_read_of_a_cited_file_may_be_told() -> None:
    answer = "At most 45 nights, at 12,000 yen [docs/travel.md:1; docs/travel.md:30]."
    for read, is_told in (("docs/travel.md\nAt most 45 nights.", False), ("docs/fees.md\nAt most 45 nights.", True)):
        assert bool(unsupported(answer, HITS, ["docs/travel.md"], "", [read])) is is_told


@pytest.mark.anyio
async def test_the_model_is_told_once_and_then_the_user(tmp_path: Path) -> None:
    finishing = Finishing(make_tools(tmp_path))
    state = RunState(REQUEST, History("s"), lambda _: None)
    payload = {"results": [msgspec.to_builtins(one) for one in HITS]}
    found = ToolCall("c", "search_rag_knowledge_base", "{}")
    finishing.after_results(
        state, [ToolResult(call=found, success=True, payload=payload, for_model="資料/vpn.md", summary="")]
    )
    text = "有効期限は137日です [資料/vpn.md:1-2]。延長は総務課へ。[資料/規程.pdf:3] 手数料は9,800円です。"
    answer = Completion(AssistantMessage(text), "stop", Usage())
    told = await finishing.after_answer(state, answer)
    assert isinstance(told, Inject)
    assert "137日" in told.text
    assert "資料/規程.pdf:3" in told.text
    assert "9,800円 is in no passage found" in told.text
    assert await finishing.after_answer(state, answer) is None
    assert (len(finishing.ending.contradicts), len(finishing.ending.unverified)) == (0, 3)


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("answer", "doubted"),
    [
        ("VPNの鍵の有効期限は137日です（資料/vpn.md）。", "137日"),
        ("The key is valid for 137 days (資料/vpn.md).", "137 days"),
        ("VPNの鍵の有効期限は90日です（資料/vpn.md）。", ""),
        ("VPNの鍵は3か月ごとに更新します。", ""),
    ],
)
@pytest.mark.parametrize("has_run", [False, True])
async def test_numbers_of_an_answer_without_a_reference_are_those_of_the_passages_if_it_has_no_other_source(
    tmp_path: Path, answer: str, doubted: str, has_run: bool
) -> None:
    finishing = Finishing(make_tools(tmp_path))
    state = RunState(REQUEST, History("s"), lambda _: None)
    finishing.begin()
    found, ran = (ToolCall("c", name, "{}") for name in ("search_rag_knowledge_base", "run_command"))
    payload = {"results": [msgspec.to_builtins(one) for one in HITS]}
    results = [ToolResult(call=found, success=True, payload=payload, for_model="", summary="")]
    if has_run:
        output = {"return_code": 0, "stdout": ""}
        results.append(ToolResult(call=ran, success=True, payload=output, for_model="", summary=""))
    finishing.after_results(state, results)
    told = await finishing.after_answer(state, Completion(AssistantMessage(answer), "stop", Usage()))
    assert bool(told) == (bool(doubted) and not has_run)
    assert not isinstance(told, Inject) or f"{doubted} is in no passage found" in told.text


@pytest.mark.anyio
async def test_passages_found_for_an_earlier_request_may_be_cited(tmp_path: Path) -> None:
    finishing = Finishing(make_tools(tmp_path))
    for hits, request, said in ((HITS[:1], REQUEST, "はい。"), (HITS[1:], "How much is that?", "12,000 yen.")):
        state = RunState(request, History("s"), lambda _: None)
        finishing.begin()
        payload = {"results": [msgspec.to_builtins(one) for one in hits]}
        found = ToolCall("c", "search_rag_knowledge_base", "{}")
        finishing.after_results(
            state, [ToolResult(call=found, success=True, payload=payload, for_model="", summary="")]
        )
        await finishing.after_answer(state, Completion(AssistantMessage(said), "stop", Usage()))
    text = "期限は90日です [資料/vpn.md:1-2]。"
    assert await finishing.after_answer(state, Completion(AssistantMessage(text), "stop", Usage())) is None
    assert finishing.ending.unverified == ()


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("answer", "made_up"),
    [
        ("Steel grew by 5.2% and chemicals by 7.1% in 2025.", "5.2%; 7.1%"),
        ("鉄鋼は5.2%、化学は7.1%の増加でした。", "5.2%; 7.1%"),
        ("The documents do not say how much they grew.", ""),
        ("Nothing is said of 2025; such industries usually grow by 3% a year.", ""),
        ("a.md says that steel grew by 0.8%.", ""),
    ],
)
async def test_where_no_search_found_a_passage_numbers_are_made_up(tmp_path: Path, answer: str, made_up: str) -> None:
    finishing = Finishing(make_tools(tmp_path))
    history = History("s")
    state = RunState("How much did steel and chemicals grow in 2025?", history, lambda _: None)
    finishing.begin()
    searched, read = ToolCall("c", "search_rag_knowledge_base", "{}"), ToolCall("d", "read_file", "{}")
    nothing = ToolResult(call=searched, success=True, payload={"results": []}, for_model="No passage", summary="")
    seen = ToolResult(call=read, success=True, payload={}, for_model="Steel: 0.8%", summary="")
    history.add_user(state.query)
    history.add_assistant(AssistantMessage("", (searched, read)))
    for result in (nothing, seen):
        history.add_result(result.call.id, result.for_model)
    finishing.after_results(state, [nothing, seen])
    said = Completion(AssistantMessage(answer), "stop", Usage())
    told = await finishing.after_answer(state, said)
    assert (told.text if isinstance(told, Inject) else "") == (
        f"[The searches found nothing, and this is in nothing that you have read: {made_up}. Look into the files, or "
        "say that the documents do not have it.]"
        if made_up
        else ""
    )
    finishing.begin()
    assert await finishing.after_answer(state, said) is None  # no search in this run
