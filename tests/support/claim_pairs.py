"""Read the labelled pairs of claim and passages in tests/fixtures/claim_pairs."""

import tomllib
from pathlib import Path
from typing import Any, Literal, NamedTuple

ROOT = Path(__file__).resolve().parent.parent / "fixtures/claim_pairs"
Half = Literal["open", "held", "fresh"]
HALVES: tuple[Half, ...] = ("open", "held")
"""What is read where no half is named. The fresh one was written later and has to be asked for."""
PARTS: tuple[Half, ...] = (*HALVES, "fresh")


class ClaimPair(NamedTuple):
    """A claim, the passages it cites, and whether they support it."""

    half: Half
    label: bool
    languages: str
    """Of the claim and of the passages: `ja-en` is a Japanese claim over an English source."""
    kind: str
    claim: str
    passages: tuple[str, ...]


def claim_pairs(half: Half | None = None) -> list[ClaimPair]:
    """The pairs written by hand, of the half that is named, or of the open and the held one."""
    return [
        ClaimPair(part, label, f"{language}-{source['language']}", kind, claim, tuple(source["passages"]))
        for part, source in _sources(half)
        for label, claims in ((True, source["true"]), (False, source["false"]))
        for language, kind, claim in claims
    ]


def misplaced_citations(half: Half | None = None) -> list[ClaimPair]:
    """True claims that cite another source of the same half and language, which is about something else."""
    sources = _sources(half)
    made: list[ClaimPair] = []
    for at, (part, source) in enumerate(sources):
        there, other = sources[(at + 2) % len(sources)]
        if there != part or other["language"] != source["language"]:
            continue
        for language, _kind, claim in source["true"][:2]:
            languages = f"{language}-{other['language']}"
            made.append(ClaimPair(part, False, languages, "misplaced", claim, tuple(other["passages"])))
    return made


def _sources(half: Half | None) -> list[tuple[Half, dict[str, Any]]]:
    return [
        (part, source)
        for part in (HALVES if half is None else (half,))
        for file in sorted((ROOT / part).glob("*.toml"))
        for source in tomllib.loads(file.read_text("utf-8"))["source"]
    ]
