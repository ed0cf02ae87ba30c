#!/usr/bin/env python3
"""What the mechanics make of labelled pairs of claim and passages: AUROC, rejections by kind, time of one check.

.venv/bin/python benchmarks/claim_checks.py [--wrong]

First the pairs that stand beside the rules' tests, then those of tests/fixtures/claim_pairs, which were written without
knowing the rules, in their halves. `--wrong` shows each pair that was judged wrongly, of the held and the fresh half
none.
"""

import statistics
import sys
import time
import tomllib
from collections import defaultdict
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from localllm.research.claim_checks import refuse, support_score  # noqa: E402
from tests.support.claim_pairs import PARTS, Half, claim_pairs, misplaced_citations  # noqa: E402

PAIRS = ROOT / "tests/unit/research/pairs"
TODAY = "2026-11-24"


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
    print(
        f"AUROC, score less refusals: {auroc(pairs, refused):.3f}   score alone: {auroc(pairs, [None] * len(pairs)):.3f}"  # noqa: E501
    )
    print(f"one check with 3 passages of 600 characters: {milliseconds(pairs):.2f} ms")
    for half in PARTS:
        print_independent(half)


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
    print(f"  AUROC, score less refusals: {auroc(pairs, refused):.3f}")


def load() -> list[dict[str, Any]]:
    """All pairs of all files."""
    files = sorted(PAIRS.glob("*.toml"))
    return [{**one, "file": file.stem} for file in files for one in tomllib.loads(file.read_text("utf-8"))["pair"]]


def auroc(pairs: list[dict[str, Any]], refused: list[Any]) -> float:
    """How often a true pair has the higher score of the two, of all pairs of a true and a false one."""
    scores: dict[bool, list[float]] = {True: [], False: []}
    for one, refusal in zip(pairs, refused, strict=True):
        best = max((support_score(one["claim"], passage) for passage in one["passages"]), default=0.0)
        scores[one["label"]].append(best - (refusal is not None))
    wins = sum((a > b) + (a == b) / 2 for a in scores[True] for b in scores[False])
    return wins / (len(scores[True]) * len(scores[False]))


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
