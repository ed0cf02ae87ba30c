#!/usr/bin/env python3
"""Whole research runs on the tests' web with played models: facts that stand, lies that are supported, defects.

.venv/bin/python benchmarks/research_runs.py [--wrong]

The models are played (tests/research_web/played_models.py): they know the tests' web by heart, so these figures measure
the program around a model, not a model. `--wrong` shows the facts that were lost and the lies that are supported.
"""

import asyncio
import sys
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tests.integration.test_research_proof import DATA, MODELS, counted, defects, lying_runs  # noqa: E402
from tests.research_web.tally import Tally  # noqa: E402
from tests.research_web.whole_run import WholeRun  # noqa: E402


async def main() -> None:
    for model in MODELS:
        with TemporaryDirectory() as folder:
            runs = await lying_runs(model, DATA.questions, Path(folder))
            print_counts(model, runs, counted(runs), len(defects(runs)))


def print_counts(model: str, runs: dict[str, WholeRun], count: Tally, wrong: int) -> None:
    """Print what became of facts and lies with one model."""
    states = [run.state for run in runs.values()]
    print(f"\n{model}: {len(runs)} runs")
    print(f"  true facts said {len(count.written)}, standing as supported {len(count.standing)}", end=" ")
    print(f"({len(count.standing) / len(count.written):.1%})")
    print(f"  lies said {len(count.lies)}, seen by rules {len(count.lies & count.seen)}", end=", ")
    print(f"called supported in the end {len(count.supported)} ({len(count.supported) / len(count.lies):.1%})")
    kinds = Counter(DATA.lies[name].kind if name in DATA.lies else "wrong page" for name in count.supported)
    print("  supported by kind:", ", ".join(f"{kind} {times}" for kind, times in sorted(kinds.items())) or "none")
    print(f"  AUROC of the whole check over {len(count.written) + len(count.lies)} claims", end=" ")
    print(f"judged by a played model: {auroc(count):.3f}")
    print(f"  defects of citation in all reports: {wrong}")
    print(f"  quotes dropped {sum(state.numbers.quotes_dropped for state in states)}", end=", ")
    print(f"requests of the model {sum(state.numbers.requests for state in states)}", end=", ")
    print(f"largest {max(run.server.largest for run in runs.values())} tokens", end=", ")
    print(f"parts of a question left open {sum(len(state.unanswered) for state in states)}", end=", ")
    print(f"disagreements shown {sum(len(state.disagreements) for state in states)}")
    if "--wrong" in sys.argv:
        print("  lost:", *(f"\n    {DATA.statements[name].en}" for name in sorted(count.lost)))
        print("  supported:", *(f"\n    {claim.text}" for claim in count.supported.values()))


def auroc(count: Tally) -> float:
    """How often a fact is rated above a lie, where a claim is supported or is not; of equals, half."""
    kept, fooled = len(count.standing) / len(count.written), len(count.supported) / len(count.lies)
    return kept * (1 - fooled) + (kept * fooled + (1 - kept) * (1 - fooled)) / 2


if __name__ == "__main__":
    asyncio.run(main())
