"""The report of a scan: its tables, its chart, what it says of what is missing, and that nothing in it acts."""

import msgspec

from localllm.research.market.market_charts import charts, text_chart
from localllm.research.market.market_records import (
    AgentMetrics,
    Applicability,
    GlobalInsights,
    Insight,
    JapaneseInsights,
    MarketQuerySet,
    MarketResult,
    MarketSummary,
    Missing,
    ScanError,
    SearchResults,
    SourceAddresses,
    Statement,
)
from localllm.research.market.market_report import render


def insight(number: int, text: str, *, supported: bool = True, url: str = "https://a.example/") -> Insight:
    return Insight(
        id=f"I{number}",
        text=text,
        purpose="market_size",
        quote=text,
        source_url=url,
        source_title="A",
        origin="result_list" if number == 2 else "page",
        supported=supported,
        reason="" if supported else "Nowhere.",
    )


FINDINGS = (
    insight(1, "The market was worth 1.2 trillion yen in 2024."),
    insight(2, "It is to be worth 3.5 trillion yen in 2030."),
    insight(3, "<script>alert(1)</script> | *sold* 5 trillion yen in 2035.", url="javascript:alert(1)"),
    insight(4, "It was worth 9 trillion yen in 2040.", supported=False),
)


def result(language: str = "en", findings: tuple[Insight, ...] = FINDINGS) -> MarketResult:
    summary = MarketSummary(
        theme="ferries",
        language="ja" if language == "ja" else "en",
        model="m",
        queries=MarketQuerySet(japanese=(), global_=(), generated_at=""),
        raw_results=SearchResults(japanese=(), global_=(), search_time=0, total_results=9, left_out={"email": 2}),
        insights=JapaneseInsights(),
        global_insights=GlobalInsights(),
        sources=SourceAddresses(japanese=(), global_=()),
        summary="It grows.",
        key_findings=("It grows.",),
        recommendations=("Wait.",),
        findings=findings,
        applicability=(
            Applicability(finding="f", insight="I9", obstacles=(Statement(text="The cost.", basis="judgement"),)),
        ),
        missing=(Missing(purpose="trends", reason="The search found nothing."),),
        generated_at="",
    )
    metrics = AgentMetrics(errors=(ScanError(code="E3014", what="It failed."),))
    return MarketResult(
        session_id="s", execution_id="m-1", theme="ferries", success=True, partial=True, data=summary, metrics=metrics
    )


def test_a_table_has_each_supported_finding_with_its_quote_and_its_source() -> None:
    text = render(result(), "md")
    assert "| I1 | The market was worth 1.2 trillion yen in 2024. |" in text
    assert "<https://a.example/>" in text
    assert "only from the list of results" in text
    table = text.partition("### Market size")[2].partition("Amounts")[0]
    assert "9 trillion" not in table
    assert "9 trillion yen in 2040. — Nowhere." in text
    for said in ("Trends: The search found nothing.", "email 2", "E3014", "Wait.", "The cost.", "Partial"):
        assert said in text


def test_the_report_says_when_and_with_which_model_the_scan_was_made() -> None:
    made = msgspec.structs.replace(result("ja"), started_at="2026-11-24T08:02:15+09:00")
    assert made.data is not None
    named = msgspec.structs.replace(made, data=msgspec.structs.replace(made.data, model="qwen3"))
    assert "> 調査 m-1、2026-11-24 08:02、qwen3" in render(named, "md")
    assert "> 調査 m-1、2026-11-24 08:02" in render(
        msgspec.structs.replace(made, data=msgspec.structs.replace(made.data, model="")), "md"
    )


def test_amounts_of_two_years_make_a_chart() -> None:
    (chart,) = charts(FINDINGS, "ja")
    assert [(bar.year, bar.shown, bar.insight) for bar in chart.bars] == [
        (2024, "1.2兆円", "I1"),
        (2030, "3.5兆円", "I2"),
        (2035, "5兆円", "I3"),
    ]
    lengths = [line.count("█") for line in text_chart(chart)]
    assert lengths == [7, 21, 30]
    assert charts(FINDINGS[:1], "ja") == []
    assert "```text" in render(result(), "md")
    assert render(result(), "html").count("<rect") == 3
    assert "<svg" not in render(result(findings=FINDINGS[:1]), "html")


def test_nothing_in_the_report_acts() -> None:
    page = render(result(), "html")
    assert "<script" not in page
    assert 'href="javascript' not in page
    assert "default-src 'none'" in page
    text = render(result(), "md")
    assert "\\<script\\>" in text
    assert "\\| \\*sold\\*" in text


def test_the_report_is_in_the_language_of_the_scan() -> None:
    text = render(result("ja"), "md")
    assert "# 市場調査：ferries" in text
    assert "## 日本での応用可能性" in text
    assert '<html lang="ja">' in render(result("ja"), "html")


def test_a_failed_scan_has_a_report_that_says_why() -> None:
    failed = MarketResult(
        session_id="s", execution_id="m-1", theme="t", success=False, error=ScanError(code="E1", what="No!", fix="Do.")
    )
    assert "- No!\n- Do." in render(failed, "md")


def test_json_is_read_back_as_it_was() -> None:
    assert msgspec.json.decode(render(result(), "json"), type=MarketResult) == result()
