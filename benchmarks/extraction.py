#!/usr/bin/env python3
"""How well the main text of pages is found, beside other ways to find it.

.venv/bin/python benchmarks/extraction.py FOLDER

FOLDER holds `html/ID.html.gz` and `ground-truth.json` ({ID: {"url", "articleBody"}}), as the repository
scrapinghub/article-extraction-benchmark has them. The score of a page: of the multisets of 4-grams of words of the
truth and of what was found, the share of what was found that is true and of what is true that was found; of the set: F1
of the means of both, and how far it strays by bootstrap. Rules are tuned on the pages whose digest is even; the odd
ones tell whether they hold elsewhere.
"""

import gzip
import hashlib
import importlib
import json
import random
import re
import statistics
import sys
import time
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

GRAM = 4
ROUNDS = 1_000
Extract = Callable[[str, str], str]
Score = tuple[float, float]


def main() -> None:
    """Print a line for each way."""
    if not sys.argv[1:]:
        print("No labelled pages were named:", __doc__)
        return
    folder = Path(sys.argv[1])
    truth: dict[str, dict[str, str]] = json.loads((folder / "ground-truth.json").read_text())
    packed = {name: (folder / "html" / f"{name}.html.gz").read_bytes() for name in truth}
    pages = {name: gzip.decompress(data).decode(errors="replace") for name, data in packed.items()}
    print(f"{len(pages)} pages, F1 (all, even, odd), precision, recall, seconds a page: median, slowest")
    for name, extract in ways().items():
        scores, seconds = measured(extract, pages, truth)
        halves = [[score for page, score in scores.items() if half_of(page) == side] for side in ("even", "odd")]
        precision, recall = means([*scores.values()])
        print(
            f"{name:24} {f1([*scores.values()]):.4f} ±{strayed([*scores.values()]):.4f}"
            f"  {f1(halves[0]):.4f}  {f1(halves[1]):.4f}  P {precision:.4f} R {recall:.4f}"
            f"  {statistics.median(seconds):.3f} {max(seconds):.3f}"
        )


def ways() -> dict[str, Extract]:
    """The ways that are compared, those whose packages are here."""
    from localllm.web.main_text import main_text

    found: dict[str, Extract] = {"localllm": lambda html, _url: main_text(html)}
    trafilatura: Any = importlib.import_module("trafilatura")
    found["trafilatura"] = lambda html, _url: trafilatura.extract(html) or ""
    found["trafilatura, no tables"] = lambda html, _url: trafilatura.extract(html, include_tables=False) or ""
    found["get_text"] = all_text
    return found


def all_text(html: str, _url: str) -> str:
    """All text of a page but for scripts and styles."""
    lxml_html: Any = importlib.import_module("lxml.html")
    tree = lxml_html.document_fromstring(html.encode() if html.strip() else b"<p>")
    for element in [*tree.iter("script", "style")]:
        element.drop_tree()
    return " ".join(tree.itertext())


def measured(
    extract: Extract, pages: Mapping[str, str], truth: Mapping[str, Mapping[str, str]]
) -> tuple[dict[str, Score], list[float]]:
    """Precision and recall of each page, and how long it took."""
    scores: dict[str, Score] = {}
    seconds: list[float] = []
    for name, html in pages.items():
        began = time.perf_counter()
        found = extract(html, truth[name]["url"])
        seconds.append(time.perf_counter() - began)
        scores[name] = score(truth[name]["articleBody"], found)
    return scores, seconds


def score(truth: str, found: str) -> Score:
    """Precision and recall of what was found."""
    true, given = grams(truth), grams(found)
    both = sum((true & given).values())
    return (both / sum(given.values()) if given else 0.0), (both / sum(true.values()) if true else 1.0)


def grams(text: str) -> Counter[tuple[str, ...]]:
    """The 4-grams of words of a text; a shorter text is one."""
    words = re.findall(r"\w+", text)
    if len(words) < GRAM:
        return Counter([tuple(words)] if words else [])
    return Counter(tuple(words[at : at + GRAM]) for at in range(len(words) - GRAM + 1))


def means(scores: list[Score]) -> Score:
    """The means of precision and recall."""
    return statistics.mean(score[0] for score in scores), statistics.mean(score[1] for score in scores)


def f1(scores: list[Score]) -> float:
    """F1 of the means."""
    precision, recall = means(scores)
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0


def strayed(scores: list[Score]) -> float:
    """The standard deviation of F1 when the pages are drawn anew."""
    dice = random.Random(7)
    return statistics.stdev(f1(dice.choices(scores, k=len(scores))) for _ in range(ROUNDS))


def half_of(name: str) -> str:
    """Which half a page belongs to."""
    return ("even", "odd")[hashlib.sha256(name.encode()).digest()[0] % 2]


if __name__ == "__main__":
    main()
