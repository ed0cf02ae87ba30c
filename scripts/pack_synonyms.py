#!/usr/bin/env python3
"""Make the program's table of synonyms of scripts/synonyms.txt.

It is packed: as text among the modules it would be found for every question about them.

.venv/bin/python scripts/pack_synonyms.py
"""

import gzip
import sys
from pathlib import Path

import msgspec

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from localllm.text.synonyms import JAPANESE, LATIN, Table, stem_of  # noqa: E402 - the folder above has to be known first

PACKED = ROOT / "localllm" / "text" / "synonyms.json.gz"


def main() -> None:
    PACKED.write_bytes(gzip.compress(msgspec.json.encode(table()), mtime=0))


def table() -> Table:
    """The synonyms of each word or phrase, in the order of the lines."""
    latin: dict[str, dict[str, None]] = {}
    japanese: dict[str, dict[str, None]] = {}
    for line in (ROOT / "scripts" / "synonyms.txt").read_text("utf-8").splitlines():
        if not line or line.startswith(("#", "[")):
            continue
        said, _, meant = line.partition(" > ")
        phrases = said.split(", ")
        others = meant.split(", ") if meant else phrases
        for phrase in phrases:
            if JAPANESE.search(phrase):
                japanese.setdefault(phrase, {}).update(dict.fromkeys(other for other in others if other != phrase))
            else:
                stems = _stems(phrase)
                latin.setdefault(stems, {}).update(dict.fromkeys(other for other in others if _stems(other) != stems))
    return Table(
        {phrase: tuple(others) for phrase, others in latin.items()},
        {phrase: tuple(others) for phrase, others in japanese.items()},
        max(map(len, japanese)),
    )


def _stems(phrase: str) -> str:
    return " ".join(map(stem_of, LATIN.findall(phrase)))


if __name__ == "__main__":
    main()
