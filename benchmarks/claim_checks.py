#!/usr/bin/env python3
"""What the mechanics make of labelled pairs of claim and passages: AUROC, rejections by kind, time of one check.

.venv/bin/python benchmarks/claim_checks.py [--wrong]

First the pairs that stand beside the rules' tests, then those of tests/fixtures/claim_pairs, which were written without
knowing the rules, in their halves, and last those of them that somebody gave verdicts on: the verdicts alone, the
mechanics alone, and both as the program puts them together. A verdict marked as played is no measure of a model.
`--wrong` shows each pair that was judged wrongly, of the held and the fresh half none.
"""

import asyncio
import statistics
import sys
import time
import tomllib
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from localllm.research.claims.claim_checks import refuse, support_score  # noqa: E402
from tests.support.claim_pairs import PARTS, Half, claim_pairs, misplaced_citations  # noqa: E402
from tests.support.judged_pairs import Judged, checked, judged_pairs  # noqa: E402

PAIRS = ROOT / "tests/unit/research/claims/pairs"
TODAY = "2026-11-24"
STANDS = {"supported": 1.0, "partial": 0.5}
"""How far a verdict lets a claim stand; any other lets it not."""


def main() -> None:
    pairs = load()
    refused = [refuse(one["claim"], one["passages"], today=TODAY) for one in pairs]
    kinds: dict[str, list[bool]] = defaultdict(list)
    for one, refusal in zip(pairs, refused, strict=True):
        kinds[f"{'true' if one['label'] else 'false'}  {one['file']}  {one.get('kind', '')}"].append(
            refusal is not None
        )
        if "--wrong" in sys.argv and (refusal is not None) == one["label"]:
            print(one["file"], one.get("kind", ""), one["claim"], "<-", refusal or one["passages"])
    for kind, rejections in sorted(kinds.items()):
        print(f"{kind:44} rejected {sum(rejections):4} of {len(rejections):4}")
    for label in (True, False):
        part = [refusal is not None for one, refusal in zip(pairs, refused, strict=True) if one["label"] is label]
        print(
            f"{'true' if label else 'false':5} pairs: rejected {sum(part)} of {len(part)} ({sum(part) / len(part):.1%})"
        )
    areas = scores_auroc(pairs, refused), scores_auroc(pairs, [None] * len(pairs))
    print(f"AUROC, score less refusals: {areas[0]:.3f}   score alone: {areas[1]:.3f}")
    print(f"one check with 3 passages of 600 characters: {milliseconds(pairs):.2f} ms")
    for half in PARTS:
        print_independent(half)
    judged = judged_pairs()
    for judge in dict.fromkeys(one.judge for one in judged):
        print_judged(judge, [one for one in judged if one.judge == judge])


def print_independent(half: Half) -> None:
    """Print of one half of the independent pairs: true ones rejected by language, lies let through by kind, AUROC."""
    written = [*claim_pairs(half), *misplaced_citations(half)]
    pairs = [{**pair._asdict(), "file": half} for pair in written]
    refused = [refuse(pair.claim, pair.passages, today=TODAY) for pair in written]
    print(f"\nindependent pairs, {half} half")
    true: dict[str, list[bool]] = defaultdict(list)
    lies: dict[str, list[bool]] = defaultdict(list)
    for pair, refusal in zip(written, refused, strict=True):
        if pair.label:
            true[pair.languages].append(refusal is not None)
        else:
            lies[pair.kind].append(refusal is None)
        if half == "open" and "--wrong" in sys.argv and (refusal is not None) == pair.label:
            print("  ", pair.label, pair.languages, pair.kind, pair.claim, "<-", refusal or pair.passages)
    for name, counted in (("true pairs rejected", true), ("lies let through", lies)):
        for key, wrong in sorted(counted.items()):
            print(f"  {name:20} {key:10} {sum(wrong):3} of {len(wrong):3} ({sum(wrong) / len(wrong):.1%})")
        whole = [one for wrong in counted.values() for one in wrong]
        print(f"  {name:20} {'all':10} {sum(whole):3} of {len(whole):3} ({sum(whole) / len(whole):.1%})")
    print(f"  AUROC, score less refusals: {scores_auroc(pairs, refused):.3f}")


def print_judged(judge: str, judged: Sequence[Judged]) -> None:
    """Print what stands of pairs with a verdict: by the verdicts, by the mechanics, by both as the program does it."""
    settled = asyncio.run(checked(judged))
    refused = [refuse(one.pair.claim, one.pair.passages, today=TODAY) for one in judged]
    labels = [one.pair.label for one in judged]
    pairs = [one.pair._asdict() for one in judged]
    note = " (PLAYED: no model such as users run gave these verdicts)" if judge == "played" else ""
    print(f"\n{len(judged)} pairs judged by {judge}{note}")
    verdicts = [STANDS.get(one.verdict, 0.0) for one in judged]
    both = [STANDS.get(one.label, 0.0) for one in settled]
    print_standing("verdicts alone", labels, [one == 1 for one in verdicts], auroc(labels, verdicts))
    print_standing("mechanics alone", labels, [one is None for one in refused], scores_auroc(pairs, refused))
    print_standing("both", labels, [one == 1 for one in both], auroc(labels, both))
    if "--wrong" not in sys.argv:
        return
    for one, verdict in zip(judged, settled, strict=True):
        if one.pair.half == "open" and (one.verdict, verdict.label).count("supported") != 2 * one.pair.label:
            print("  ", one.pair.label, one.pair.kind, one.pair.claim, "<-", one.answer, verdict)


def print_standing(name: str, labels: Sequence[bool], stands: Sequence[bool], area: float) -> None:
    """Print how many pairs were told apart, which went wrong, and the AUROC."""
    right = sum(one is label for one, label in zip(stands, labels, strict=True))
    lies = sum(one and not label for one, label in zip(stands, labels, strict=True))
    lost = sum(label and not one for one, label in zip(stands, labels, strict=True))
    print(
        f"  {name:16} accuracy {right:3} of {len(labels)} ({right / len(labels):.1%})   AUROC {area:.3f}"
        f"   lies that stand {lies:2} of {labels.count(False)}   true ones that do not {lost:2} of {labels.count(True)}"
    )


def load() -> list[dict[str, Any]]:
    """All pairs of all files."""
    files = sorted(PAIRS.glob("*.toml"))
    return [{**one, "file": file.stem} for file in files for one in tomllib.loads(file.read_text("utf-8"))["pair"]]


def scores_auroc(pairs: Sequence[dict[str, Any]], refused: Sequence[Any]) -> float:
    """The AUROC of the best score of a pair's passages, one less where the pair was refused."""
    scores = [
        max((support_score(one["claim"], passage) for passage in one["passages"]), default=0.0) - (refusal is not None)
        for one, refusal in zip(pairs, refused, strict=True)
    ]
    return auroc([one["label"] for one in pairs], scores)


def auroc(labels: Sequence[bool], scores: Sequence[float]) -> float:
    """How often a true pair has the higher score of the two, of all pairs of a true and a false one."""
    true = [score for score, label in zip(scores, labels, strict=True) if label]
    false = [score for score, label in zip(scores, labels, strict=True) if not label]
    wins = sum((a > b) + (a == b) / 2 for a in true for b in false)
    return wins / (len(true) * len(false))


def milliseconds(pairs: list[dict[str, Any]]) -> float:
    """The median of first checks: each of passages never seen before."""
    times: list[float] = []
    for number, one in enumerate(pairs[:60]):
        passages = [((" ".join(one["passages"]) + f" ({number}-{at}) ") * 10)[:600] for at in range(3)]
        begun = time.perf_counter()
        refuse(one["claim"] + " ", passages, today=TODAY)
        times.append(time.perf_counter() - begun)
    return statistics.median(times) * 1_000


if __name__ == "__main__":
    main()
