#!/usr/bin/env python3
"""A chat of 120 requests in small windows: the real loop and tools over a loopback server that counts tokens itself and
refuses what is too long. The summary is played by a model that forgets the goal two times in three.

.venv/bin/python benchmarks/long_chat.py [TURNS]
"""

import asyncio
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tests.support.long_chat import Figures, long_chat, plain_count
from tests.support.window_server import count_tokens

WINDOWS = (4_096, 8_192)
TOKENIZERS = {"3.7 bytes": plain_count, "pieces": count_tokens}
"""The second counts half as many tokens again, as if the windows were so much smaller."""


def main() -> None:
    turns = int(sys.argv[1]) if len(sys.argv) > 1 else 120
    print(f"{'tokens':>10} {'window':>6} {'pasted':>6} {'steps':>6} {'refused':>8} {'summaries':>10} ", end="")
    print(f"{'most in 70 steps':>17} {'results cut':>12} {'goal missing':>13} {'state cut':>10} {'largest':>8}")
    for tokens in TOKENIZERS:
        for window in WINDOWS:
            for pasted in (0, 300):
                row(tokens, window, pasted, measured(tokens, window, turns, pasted))


def row(tokens: str, window: int, pasted: int, told: Figures) -> None:
    print(
        f"{tokens:>10} {window:>6,} {pasted:>6} {told.steps:>6} {told.refused:>8} {told.summaries:>10} "
        f"{told.densest(70):>17} "
        f"{told.results_cut:>12} {told.goal_missing:>13} {told.states_cut:>10} {told.largest:>8,}"
    )


def measured(tokens: str, window: int, turns: int, pasted: int) -> Figures:
    with tempfile.TemporaryDirectory() as name:
        chat = long_chat(Path(name), window, turns, pasted=pasted, count=TOKENIZERS[tokens])
        return asyncio.run(chat)


if __name__ == "__main__":
    main()
