"""Check a run's report against what was stored, with nothing of the program: each citation, quote and number.

    python -m tests.research_web.report_checker history/2026-0001/report-2026-0001.md

The report's Markdown and its `.meta.yaml` stand in the run's folder, beside the SQLite file with the state and the
pages' texts under their hashes. What is wrong is printed a line each; the exit code is 1 where anything is.
"""

import hashlib
import json
import re
import sqlite3
import sys
import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

from tests.support.stated_numbers import missing_numbers

_MARK = re.compile(r"(?<!\\)\[(\d{1,4})\](?!\()")
_REFERENCE = re.compile(r"^\[(\d{1,4})\]\s+(.*)$")
_QUOTE = re.compile(r"^>\s*[“「\"](.+)[”」\"]\s*$", re.MULTILINE)
_ESCAPED = re.compile(r"\\([!-/:-@\[-`{-~])")
_URL = re.compile(r"https?://[^\s<>\"'）)]+")


class Defect(NamedTuple):
    """Something that is wrong with a report: of what kind, and where."""

    kind: str
    what: str


class Stored(NamedTuple):
    """What a run has kept: its state as JSON, and the texts of its pages by their hashes."""

    state: dict[str, Any]
    texts: dict[str, str]

    def source(self, name: str) -> dict[str, Any] | None:
        return next((one for one in self.state.get("sources", []) if one["id"] == name), None)

    def evidence(self, name: str) -> dict[str, Any] | None:
        return next((one for one in self.state.get("evidence", []) if one["id"] == name), None)

    def page_of(self, name: str) -> str:
        """The text of the page that evidence is from; empty where anything on the way there is missing."""
        evidence = self.evidence(name) or {}
        source = self.source(evidence.get("source", "")) or {}
        return self.texts.get(source.get("text_hash", ""), "")


class Report(NamedTuple):
    """A report in Markdown: its text up to the references, and each reference as (number, text)."""

    body: list[str]
    references: list[tuple[int, str]]


def check(report: Path) -> list[Defect]:
    """Everything that is wrong with the report in this file."""
    stored = read_store(report.with_name("run.sqlite"))
    read = read_report(report.read_text("utf-8"))
    meta = report.with_name(f"{report.stem}.meta.yaml")
    return [
        *_numbering(read),
        *_cited(read, stored),
        *_quotes(read, stored),
        *_sources(stored),
        *_evidence(stored),
        *_supported(stored),
        *_meta(meta, read, stored),
    ]


def check_json(report: dict[str, Any], stored: Stored) -> list[Defect]:
    """Everything that is wrong with the citations of a report in JSON."""
    references = {one["number"]: one for one in report["references"]}
    defects = [
        *_numbers([one["number"] for one in report["references"]], {one["number"] for one in _citations(report)})
    ]
    for one in _citations(report):
        reference = references.get(one["number"])
        if reference is None:
            continue  # `_numbers` says so
        if {_address(stored, name) for name in one["evidence"]} != {reference["url"]}:
            defects.append(Defect("cites another page", f"{one}"))
        text = plain(stored.texts.get(reference["text_hash"], ""))
        defects += [
            Defect("quote is not in its page", f"[{one['number']}] {part}")
            for part in one["quote"].split(" … ")
            if plain(part) not in text
        ]
    for number, reference in references.items():
        text = plain(stored.texts.get(reference["text_hash"], ""))
        for quote in reference["quotes"]:
            if plain(quote["text"]) not in text:
                defects.append(Defect("quote is not in its page", f"[{number}] {quote['text']}"))
    return defects


def _citations(value: Any) -> Iterator[dict[str, Any]]:
    """All citations anywhere in a report in JSON."""
    if isinstance(value, dict):
        if "citations" in value:
            yield from value["citations"]
        for one in value.values():
            yield from _citations(one)
    elif isinstance(value, list):
        for one in value:
            yield from _citations(one)


def read_store(file: Path) -> Stored:
    """What a run has kept, read without changing it."""
    with closing(sqlite3.connect(f"file:{file}?mode=ro", uri=True)) as db, db:
        (value,) = db.execute("SELECT value FROM state").fetchone()
        texts = dict(db.execute("SELECT hash, text FROM texts").fetchall())
    db.close()
    return Stored(json.loads(value), texts)


def read_report(text: str) -> Report:
    """Take a report apart. A fenced block is no part of it."""
    lines = re.sub(r"^(```|~~~).*?^\1\s*$", "", text, flags=re.DOTALL | re.MULTILINE).splitlines()
    first = next((place for place, line in enumerate(lines) if _REFERENCE.match(line)), len(lines))
    references: list[tuple[int, str]] = []
    for line in lines[first:]:
        if found := _REFERENCE.match(line):
            references.append((int(found[1]), found[2]))
        else:
            number, so_far = references[-1]
            references[-1] = (number, f"{so_far}\n{line}")
    return Report(lines[:first], references)


def plain(text: str) -> str:
    """A text as letters alone: NFKC, no white space."""
    return "".join(unicodedata.normalize("NFKC", text).split())


def _numbers(numbers: Sequence[int], marks: set[int]) -> Iterator[Defect]:
    """References from 1 on without a hole, each once and cited; each mark has its reference."""
    for number, times in Counter(numbers).items():
        if times > 1:
            yield Defect("reference twice", f"[{number}]")
    if sorted(set(numbers)) != list(range(1, len(set(numbers)) + 1)):
        yield Defect("numbers with a hole", str(numbers))
    for number in sorted(marks - set(numbers)):
        yield Defect("mark without reference", f"[{number}]")
    for number in sorted(set(numbers) - marks):
        yield Defect("reference not cited", f"[{number}]")


def _numbering(report: Report) -> Iterator[Defect]:
    marks = {int(number) for line in report.body for number in _MARK.findall(line)}
    yield from _numbers([number for number, _ in report.references], marks)
    urls = [found[0] for _, text in report.references if (found := _URL.search(text))]
    for url, times in Counter(urls).items():
        if times > 1:
            yield Defect("page referred to twice", url)


def _cited(report: Report, stored: Stored) -> Iterator[Defect]:
    """Each sentence of the draft is in the report once, followed by marks of just the pages of its evidence."""
    urls = dict(report.references)
    whole = "\n".join(report.body)
    sentences = [one for section in stored.state.get("sections", []) for one in section["sentences"]]
    for text, times in Counter(plain(one["text"]) for one in sentences).items():
        if times > 1:
            yield Defect("sentence stands twice", text)
    for sentence in sentences:
        wanted = {_address(stored, name) for name in sentence.get("evidence", [])}
        places = [
            {next((url for url in wanted if url and url in urls.get(mark, "")), "") for mark in marks}
            for marks in marks_of(sentence["text"], whole)
        ]
        if not places:
            yield Defect("sentence is missing", sentence["text"])
        elif wanted not in places:
            yield Defect(
                "cites another page" if any("" in one for one in places) else "citation is missing", sentence["text"]
            )


def _quotes(report: Report, stored: Stored) -> Iterator[Defect]:
    """Each quote below a reference is letter by letter in the stored text of that page; a long one up to its cut."""
    pages = {source["url"]: stored.texts.get(source.get("text_hash", ""), "") for source in stored.state["sources"]}
    for number, text in report.references:
        url = next((url for url in pages if url and url in text), "")
        if not url:
            yield Defect("reference to an unknown page", f"[{number}] {text.splitlines()[0]}")
            continue
        for quote in _QUOTE.findall(_ESCAPED.sub(r"\1", text)):
            if plain(quote.removesuffix("…").strip()) not in plain(pages[url]):
                yield Defect("quote is not in its page", f"[{number}] {quote}")


def _address(stored: Stored, evidence: str) -> str:
    """The address of the page that evidence is from."""
    source = stored.source((stored.evidence(evidence) or {}).get("source", "")) or {}
    return source.get("url", "")


def marks_of(sentence: str, body: str) -> list[set[int]]:
    """The numbers behind a sentence (or before its full stop) at each place of a text where it stands."""
    words = plain(sentence.rstrip(".。!?！？"))
    escapes = {found.start() for found in _ESCAPED.finditer(body)}
    letters = [(sign, place) for place, one in enumerate(body) if place not in escapes for sign in plain(one)]
    whole = "".join(sign for sign, _ in letters)
    found: list[set[int]] = []
    start = whole.find(words) if words else -1
    while start >= 0:
        end = letters[start + len(words) - 1][1] + 1
        behind = re.match(r"[.。!?！？\s]*((?:\s*\[\d{1,4}\])*)[.。!?！？]?((?:\s*\[\d{1,4}\])*)", body[end:])
        found.append({int(number) for number in _MARK.findall(behind[0])} if behind else set())
        start = whole.find(words, start + 1)
    return found


def _sources(stored: Stored) -> Iterator[Defect]:
    """Ids given once, texts under their own hash."""
    for kind in ("sources", "evidence", "claims"):
        for name, times in Counter(one["id"] for one in stored.state.get(kind, [])).items():
            if times > 1:
                yield Defect("id given twice", f"{kind} {name}")
    for name, text in stored.texts.items():
        if hashlib.sha256(text.encode()).hexdigest() != name:
            yield Defect("text under another hash", name)
    for source in stored.state.get("sources", []):
        if source.get("state") == "read" and source.get("text_hash") not in stored.texts:
            yield Defect("text is missing", f"{source['id']} {source['url']}")


def _evidence(stored: Stored) -> Iterator[Defect]:
    """Each piece of evidence is the stored text at its offsets."""
    for one in stored.state.get("evidence", []):
        text = stored.page_of(one["id"])
        if not text or text[one["start"] : one["end"]] != one["text"]:
            yield Defect("evidence is not in its page", f"{one['id']} {one['text'][:80]}")


def _supported(stored: Stored) -> Iterator[Defect]:
    """What is called supported: its evidence is cited, its quote stands there letter by letter, its numbers too."""
    for claim in stored.state.get("claims", []):
        verdict = claim.get("verdict") or {}
        if verdict.get("label") != "supported":
            continue
        said, name, quote = claim["text"], verdict.get("evidence", ""), verdict.get("quote", "")
        if verdict.get("by") != "model":
            yield Defect("supported without a model", said)
        if name not in claim.get("evidence", []):
            yield Defect("rests on what it does not cite", f"{said} {name}")
        page = stored.page_of(name)
        if not quote or plain(quote) not in plain(page):
            yield Defect("quote is not in its page", f"{said} ({quote})")
        near = _around(quote, page) + (stored.source((stored.evidence(name) or {}).get("source", "")) or {}).get(
            "title", ""
        )
        for number in missing_numbers(said, [near]):
            yield Defect("number is not in its page", f"{number.text}: {said} ({quote})")


def _around(quote: str, page: str) -> str:
    """The quote in its page with three hundred characters on each side, where its sentence's neighbours are."""
    place = page.find(quote)
    return page[max(0, place - 300) : place + len(quote) + 300] if place >= 0 else quote


def _meta(file: Path, report: Report, stored: Stored) -> Iterator[Defect]:
    """The metadata are there and say what the state says."""
    if not file.is_file():
        yield Defect("no metadata", file.name)
        return
    lines = [line.partition(": ") for line in file.read_text("utf-8").splitlines()]
    said = {name: json.loads(value) for name, _, value in lines}
    numbers = stored.state.get("numbers", {})
    wanted = {
        "run_id": stored.state["id"],
        "partial": stored.state.get("partial", False),
        "sources_cited": len(report.references),
        **{name: numbers.get(name, 0) for name in ("loops", "claims_checked", "claims_dropped", "tokens", "searches")},
    }
    for name, value in wanted.items():
        if said.get(name) != value:
            yield Defect("metadata differ", f"{name}: {said.get(name)}, not {value}")


def main(arguments: Sequence[str]) -> int:
    defects = [defect for name in arguments for defect in check(Path(name))]
    for defect in defects:
        print(f"{defect.kind}: {defect.what}")
    return 1 if defects else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
