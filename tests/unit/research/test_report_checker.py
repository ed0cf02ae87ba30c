"""The checker of reports: a sound one has no defect, each planted one is found."""

import hashlib
import json
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.research_web.report_checker import Stored, check, check_json, main
from tests.support.each import each

TOWER = "The Kita tower opened in May 1998. It is 120 metres tall. Visitors like the view."
NEWS = "塔は１９９８年に開業した。\n高さは120メートルである。"
REPORT = """# The Kita tower

> Question: How tall is the Kita tower?

## Height

The tower \\[Kita\\] opened in 1998 [1][2]. It is 120 m tall [1] (supported in part).

*Confidence: high*

## References

[1] Kita tower
https://a.example/tower
Accessed 2026-11-24

> “The Kita tower opened in May 1998.”
>
> “It is 120 metres tall.”

[2] 塔
https://b.example/kita

> “塔は1998年に開業した。”
"""


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def state() -> dict[str, Any]:
    supported = {"label": "supported", "by": "model", "quote": "The Kita tower opened in May 1998.", "evidence": "E1"}
    return {
        "id": "2026-0001",
        "sources": [
            {"id": "S1", "url": "https://a.example/tower", "state": "read", "text_hash": _hash(TOWER)},
            {"id": "S2", "url": "https://b.example/kita", "state": "read", "text_hash": _hash(NEWS)},
        ],
        "evidence": [
            {"id": "E1", "source": "S1", "start": 0, "end": 34, "text": TOWER[:34]},
            {"id": "E2", "source": "S2", "start": 0, "end": 13, "text": NEWS[:13]},
            {"id": "E3", "source": "S1", "start": 35, "end": 57, "text": TOWER[35:57]},
        ],
        "sections": [
            {
                "heading": "Height",
                "sentences": [
                    {"id": "T1", "text": "The tower [Kita] opened in 1998.", "evidence": ["E1", "E2"]},
                    {"id": "T2", "text": "It is 120 m tall.", "evidence": ["E3"]},
                ],
            }
        ],
        "claims": [
            {"id": "C1", "sentence": "T1", "text": "It opened in 1998.", "evidence": ["E1", "E2"], "verdict": supported}
        ],
        "numbers": {"loops": 1, "claims_checked": 1},
    }


class Made:
    """A run's files: the state, the texts, the report and its metadata, to be spoilt before they are written."""

    def __init__(self) -> None:
        self.state = state()
        self.texts = {_hash(TOWER): TOWER, _hash(NEWS): NEWS}
        self.report = REPORT
        self.meta: dict[str, Any] = {"run_id": "2026-0001", "partial": False, "sources_cited": 2}
        self.meta |= {"loops": 1, "claims_checked": 1, "claims_dropped": 0, "tokens": 0, "searches": 0}

    def write(self, folder: Path) -> Path:
        folder.mkdir(parents=True, exist_ok=True)
        db = sqlite3.connect(folder / "run.sqlite")
        db.execute("PRAGMA synchronous=OFF")
        db.execute("PRAGMA journal_mode=OFF")
        with db:
            db.execute("CREATE TABLE state (one INTEGER PRIMARY KEY, value BLOB)")
            db.execute("CREATE TABLE texts (hash TEXT PRIMARY KEY, text TEXT)")
            db.execute("INSERT INTO state VALUES (1, ?)", (json.dumps(self.state),))
            db.executemany("INSERT INTO texts VALUES (?, ?)", self.texts.items())
        db.close()
        meta = "".join(f"{name}: {json.dumps(value)}\n" for name, value in self.meta.items())
        (folder / "report-2026-0001.meta.yaml").write_text(meta)
        report = folder / "report-2026-0001.md"
        report.write_text(self.report, encoding="utf-8")
        return report


def replaced(old: str, new: str) -> Callable[[Made], None]:
    def spoil(made: Made) -> None:
        assert old in made.report
        made.report = made.report.replace(old, new)

    return spoil


def verdict(**changed: str) -> Callable[[Made], None]:
    def spoil(made: Made) -> None:
        made.state["claims"][0]["verdict"].update(changed)

    return spoil


def claim(text: str) -> Callable[[Made], None]:
    def spoil(made: Made) -> None:
        made.state["claims"][0]["text"] = text

    return spoil


def page_changed(made: Made) -> None:
    made.texts[_hash(TOWER)] = TOWER.replace("120", "210")


def page_gone(made: Made) -> None:
    del made.texts[_hash(NEWS)]


def evidence_moved(made: Made) -> None:
    made.state["evidence"][2]["start"] = 36


def evidence_doubled(made: Made) -> None:
    made.state["evidence"][2]["id"] = "E1"


def said_twice(made: Made) -> None:
    first = made.state["sections"][0]["sentences"][0]
    made.state["sections"].append({"heading": "Again", "sentences": [{**first, "id": "T9"}]})


def not_cited(made: Made) -> None:
    made.state["claims"][0]["evidence"] = ["E2"]


def meta_differs(made: Made) -> None:
    made.meta["claims_checked"] = 7


DEFECTS: list[tuple[Callable[[Made], None], str]] = [
    (replaced("[2] 塔", "[1] 塔"), "reference twice"),
    (replaced("[2] 塔", "[3] 塔"), "numbers with a hole"),
    (replaced("tall [1]", "tall [7]"), "mark without reference"),
    (replaced("[1][2]", "[1]"), "reference not cited"),
    (replaced("[1][2]", "[1]"), "citation is missing"),
    (replaced("tall [1]", "tall [2]"), "cites another page"),
    (replaced("tall [1]", "tall"), "citation is missing"),
    (replaced("https://b.example/kita", "https://a.example/tower"), "page referred to twice"),
    (replaced("https://b.example/kita", "https://z.example/"), "reference to an unknown page"),
    (replaced("It is 120 m tall", "It is 210 m tall"), "sentence is missing"),
    (replaced("“It is 120 metres tall.”", "“It is 210 metres tall.”"), "quote is not in its page"),
    (replaced("“塔は1998年", "“塔は1989年"), "quote is not in its page"),
    (verdict(quote="The Kita tower opened in June 1998."), "quote is not in its page"),
    (verdict(quote=""), "quote is not in its page"),
    (verdict(by="mechanics"), "supported without a model"),
    (verdict(evidence="E3"), "rests on what it does not cite"),
    (said_twice, "sentence stands twice"),
    (not_cited, "rests on what it does not cite"),
    (claim("It opened in 1989."), "number is not in its page"),
    (claim("塔は昭和63年に開業した。"), "number is not in its page"),
    (page_changed, "text under another hash"),
    (page_changed, "evidence is not in its page"),
    (page_gone, "text is missing"),
    (evidence_moved, "evidence is not in its page"),
    (evidence_doubled, "id given twice"),
    (meta_differs, "metadata differ"),
]


def test_a_sound_report_has_no_defect(tmp_path: Path) -> None:
    report = Made().write(tmp_path)
    assert check(report) == []
    assert main([str(report)]) == 0


def test_a_claim_may_say_it_in_another_language_and_calendar(tmp_path: Path) -> None:
    made = Made()
    claim("塔は平成10年に開業した。")(made)
    assert check(made.write(tmp_path)) == []


@each("number, spoil, kind", [(number, *one) for number, one in enumerate(DEFECTS)])
def test_a_planted_defect_is_found(tmp_path: Path, number: int, spoil: Callable[[Made], None], kind: str) -> None:
    made = Made()
    spoil(made)
    report = made.write(tmp_path / str(number))
    assert kind in {defect.kind for defect in check(report)}
    assert main([str(report)]) == 1


def test_missing_metadata_are_a_defect(tmp_path: Path) -> None:
    report = Made().write(tmp_path)
    report.with_name("report-2026-0001.meta.yaml").unlink()
    assert [defect.kind for defect in check(report)] == ["no metadata"]


def as_json() -> dict[str, Any]:
    def reference(number: int, url: str, text: str, evidence: str, quote: str) -> dict[str, Any]:
        quotes = [{"evidence": evidence, "text": quote}]
        return {"number": number, "url": url, "text_hash": _hash(text), "quotes": quotes}

    tower = reference(1, "https://a.example/tower", TOWER, "E1", TOWER[:34])
    news = reference(2, "https://b.example/kita", NEWS, "E2", "塔は1998年に開業した。")
    cited = [
        {"number": 1, "evidence": ["E1", "E3"], "quote": "The Kita tower opened in May 1998. … It is 120 metres tall."},
        {"number": 2, "evidence": ["E2"], "quote": "塔は1998年に開業した。"},
    ]
    return {"sections": [{"sentences": [{"text": "…", "citations": cited}]}], "references": [tower, news]}


def quote_altered(report: dict[str, Any]) -> None:
    report["sections"][0]["sentences"][0]["citations"][0]["quote"] = "It is 210 metres tall."


def wrong_page(report: dict[str, Any]) -> None:
    report["sections"][0]["sentences"][0]["citations"][1]["evidence"] = ["E1"]


def no_reference(report: dict[str, Any]) -> None:
    del report["references"][1]


def reference_altered(report: dict[str, Any]) -> None:
    report["references"][1]["quotes"][0]["text"] = "塔は1989年に開業した。"


def numbered_twice(report: dict[str, Any]) -> None:
    report["references"][1]["number"] = 1


def test_a_sound_report_in_json_has_no_defect() -> None:
    assert check_json(as_json(), Stored(state(), Made().texts)) == []


@each(
    "spoil, kind",
    [
        (quote_altered, "quote is not in its page"),
        (wrong_page, "cites another page"),
        (no_reference, "mark without reference"),
        (reference_altered, "quote is not in its page"),
        (numbered_twice, "reference twice"),
    ],
)
def test_a_planted_defect_in_json_is_found(spoil: Callable[[dict[str, Any]], None], kind: str) -> None:
    report = as_json()
    spoil(report)
    assert kind in {defect.kind for defect in check_json(report, Stored(state(), Made().texts))}
