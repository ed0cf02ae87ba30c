#!/usr/bin/env python3
"""How well the main text of pages is found, beside other ways to find it.

.venv/bin/python benchmarks/extraction.py [FOLDER]

First, by kind, the pages of page_kinds.py (forums, questions, products, lists; made by a program, so that they tell
whether a kind is read at all, not how the real web fares); then real articles, by kind as well. FOLDER holds
`html/ID.html.gz` and `ground-truth.json` ({ID: {"url", "articleBody"}}), as the repository
scrapinghub/article-extraction-benchmark has them. The score of a page: of the multisets of 4-grams of words of the
truth and of what was found, the share of what was found that is true and of what is true that was found; of the set: F1
of the means of both, and how far it strays by bootstrap. In the pages that are made, a word of Japanese is one letter.
Rules are tuned on the pages whose digest is even; the odd ones tell whether they hold elsewhere.
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
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.page_kinds import samples
from localllm.web.content_blocks import words_of

GRAM = 4
SHORT = 80
"""Characters of a short line."""
COMMENTS = re.compile(r"(?i)(?:id|class)=[\"'][^\"']*(?:comments|commentlist|disqus)")
ROUNDS = 1_000
Extract = Callable[[str, str], str]
Score = tuple[float, float]


def main() -> None:
    """Print a table of kinds and ways, and a line for each way over all articles."""
    print_kinds(made_pages(), "made pages, F1")
    if not sys.argv[1:]:
        print("No labelled pages were named:", __doc__)
        return
    folder = Path(sys.argv[1])
    truth: dict[str, dict[str, str]] = json.loads((folder / "ground-truth.json").read_text())
    packed = {name: (folder / "html" / f"{name}.html.gz").read_bytes() for name in truth}
    pages = {name: gzip.decompress(data).decode(errors="replace") for name, data in packed.items()}
    by_kind: dict[str, dict[str, list[Score]]] = defaultdict(dict)
    print(f"\n{len(pages)} articles, F1 (all, even, odd), precision, recall, seconds a page: median, slowest")
    for name, extract in ways().items():
        scores, seconds = measured(extract, pages, truth)
        halves = [[score for page, score in scores.items() if half_of(page) == side] for side in ("even", "odd")]
        precision, recall = means([*scores.values()])
        print(
            f"{name:24} {f1([*scores.values()]):.4f} ±{strayed([*scores.values()]):.4f}"
            f"  {f1(halves[0]):.4f}  {f1(halves[1]):.4f}  P {precision:.4f} R {recall:.4f}"
            f"  {statistics.median(seconds):.3f} {max(seconds):.3f}"
        )
        for page, found in scores.items():
            by_kind[kind_of(pages[page], truth[page]["articleBody"])].setdefault(name, []).append(found)
    print_kinds(by_kind, "\narticles by kind, F1")


def print_kinds(scores: Mapping[str, Mapping[str, list[Score]]], title: str) -> None:
    """A line for each kind, a column for each way."""
    names = list(next(iter(scores.values())))
    print(f"{title:26}" + "".join(f"{name:>24}" for name in names))
    for kind, of_ways in sorted(scores.items()):
        label = f"{kind} ({len(of_ways[names[0]])})"
        print(f"{label:26}" + "".join(f"{f1(of_ways[name]):>24.3f}" for name in names))


def made_pages() -> dict[str, dict[str, list[Score]]]:
    """The scores of each way for the pages of each kind."""
    found: dict[str, dict[str, list[Score]]] = defaultdict(lambda: defaultdict(list))
    for sample in samples():
        for name, extract in ways().items():
            found[sample.kind][name].append(score(sample.truth, extract(sample.html, ""), words_of))
    return found


def kind_of(html: str, article: str) -> str:
    """The kind of an article, by rule: with comments below it, of short lines (lists, results, questions), or plain."""
    lines = [line for line in article.split("\n") if line.strip()]
    if sum(len(line) < SHORT for line in lines) > len(lines) / 2:
        return "short lines"
    return "comments" if COMMENTS.search(html) else "plain"


def ways() -> dict[str, Extract]:
    """The ways that are compared, those whose packages are here."""
    from localllm.web.main_text import main_text

    found: dict[str, Extract] = {"localllm": lambda html, _url: main_text(html)}
    trafilatura: Any = importlib.import_module("trafilatura")
    found["trafilatura"] = lambda html, _url: trafilatura.extract(html) or ""
    found["trafilatura, no tables"] = lambda html, _url: trafilatura.extract(html, include_tables=False) or ""
    found["readability"] = by_readability
    found["get_text"] = all_text
    return found


def by_readability(html: str, _url: str) -> str:
    """What readability-lxml takes for the article."""
    readability: Any = importlib.import_module("readability")
    lxml_html: Any = importlib.import_module("lxml.html")
    return lxml_html.document_fromstring(readability.Document(html).summary()).text_content()


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


def words(text: str) -> list[str]:
    """The runs of word characters of a text."""
    return re.findall(r"\w+", text)


def score(truth: str, found: str, split: Callable[[str], list[str]] = words) -> Score:
    """Precision and recall of what was found."""
    true, given = grams(split(truth)), grams(split(found))
    both = sum((true & given).values())
    return (both / sum(given.values()) if given else 0.0), (both / sum(true.values()) if true else 1.0)


def grams(found: list[str]) -> Counter[tuple[str, ...]]:
    """The 4-grams of the words of a text; a shorter text is one."""
    if len(found) < GRAM:
        return Counter([tuple(found)] if found else [])
    return Counter(tuple(found[at : at + GRAM]) for at in range(len(found) - GRAM + 1))


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
