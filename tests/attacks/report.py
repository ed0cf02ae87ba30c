"""Runs the suite and prints what happened: `python -m tests.attacks.report [LEVEL…] [--only PART] [--json FILE]`."""

import argparse
import json
import time
from collections import Counter
from pathlib import Path

from tests.attacks.running import LEVELS, load_cases, missing, offered, run_case


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("levels", nargs="*", default=list(LEVELS))
    parser.add_argument("--only", default="", help="a part of the case's family/name")
    parser.add_argument("--json", type=Path)
    chosen = parser.parse_args()
    records: list[dict[str, object]] = []
    for level in chosen.levels:
        if why := offered(level):
            print(why)
            continue
        count: Counter[str] = Counter()
        for case in load_cases():
            if chosen.only not in f"{case.family}/{case.name}":
                continue
            if why := missing(case.needs) or (case.off if level == "off" else ""):
                print(f"{level:11} skipped  {case.family}/{case.name}: {why}", flush=True)
                count["skipped"] += 1
                continue
            begun = time.monotonic()
            verdict = run_case(case, level)
            word = "THROUGH" if verdict.through else "held"
            if level == "off":
                word = "succeeds" if verdict.own else "NOTHING"
            elif verdict.answer.get("level") != level:
                word = "ERROR"
            count[word] += 1
            print(f"{level:11} {word:8} {case.family}/{case.name}: {'; '.join(verdict.through)}", flush=True)
            records.append({
                "level": level, "family": case.family, "name": case.name, "promise": case.promise,
                "word": word, "own": verdict.own, "others": verdict.others, "answer": verdict.answer,
                "seconds": time.monotonic() - begun,
            })  # fmt: skip
        print(level, dict(count), flush=True)
    if chosen.json:
        chosen.json.write_text(json.dumps(records, indent=1, default=str))


main()
