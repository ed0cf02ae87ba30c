"""Plays the cases and prints a table, case by level: `python -m tests.attacks.program.report [LEVEL…] [--only …]`."""

import argparse
import json
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.attacks.program.case import LEVELS, Case, load_cases
from tests.attacks.program.player import play
from tests.attacks.running import missing, offered


def judged(case: Case, level: str) -> dict[str, object]:
    """One case at one level: the word for the table, what was found, what the program printed."""
    entry: dict[str, object] = {"family": case.family, "name": case.name, "level": level}
    if why := missing(case.needs) or ("" if level == "none" else offered(level)):
        return entry | {"word": "skipped", "found": [why]}
    try:
        verdict = play(case, level)
    except Exception as error:  # noqa: BLE001 - one broken case must not end the report
        return entry | {"word": "ERROR", "found": [repr(error)]}
    word = ("limit" if level in case.limits else "THROUGH") if verdict.found else "held"
    answer = {name: value for name, value in verdict.answer.items() if name != "servers"}
    return entry | {"word": word, "found": verdict.found, "seconds": verdict.seconds, "answer": answer}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("levels", nargs="*", default=list(LEVELS))
    parser.add_argument("--only", default="", help="a part of the case's family/name")
    parser.add_argument("--honest", action="store_true", help="the honest work: THROUGH is then what it lacks")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--json", type=Path)
    chosen = parser.parse_args()
    cases = [c for c in load_cases("honest" if chosen.honest else "cases") if chosen.only in f"{c.family}/{c.name}"]
    pairs = [(case, level) for case in cases for level in case.played_at if level in chosen.levels]
    for level in {level for _, level in pairs} - {"none"}:
        offered(level)
    records: list[dict[str, object]] = []
    with ThreadPoolExecutor(chosen.jobs) as pool:
        for record in pool.map(lambda pair: judged(*pair), pairs):
            records.append(record)
            found = "; ".join(map(str, record["found"]))  # type: ignore[arg-type]  # it is a list
            print(f"{record['level']:11} {record['word']:8} {record['family']}/{record['name']}: {found}", flush=True)
    print_table(cases, records)
    if chosen.json:
        chosen.json.write_text(json.dumps(records, indent=1, default=str))
    sys.exit(any(record["word"] in ("THROUGH", "ERROR") for record in records))


def print_table(cases: list[Case], records: list[dict[str, object]]) -> None:
    """A line for each case, a column for each level."""
    words = {(record["name"], record["level"]): str(record["word"]) for record in records}
    print("\n" + " " * 62 + "".join(f"{level:12}" for level in LEVELS))
    for case in cases:
        row = "".join(f"{words.get((case.name, level), '-'):12}" for level in LEVELS)
        print(f"{case.family + '/' + case.name:62}{row}")
    print(dict(Counter(words.values())))


if __name__ == "__main__":
    main()
