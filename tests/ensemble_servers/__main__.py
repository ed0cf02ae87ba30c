"""Run loopback workers until standard input ends: `python -m tests.ensemble_servers --servers 10 --delay 0.05`.

Prints their addresses as one line of JSON. Each answers something else, in prose; the first in the form of a review.
"""

import argparse
import json
import random
import sys

from tests.ensemble_servers import OllamaServers, Play

WORDS = """the a cache process network request answer model time memory reads writes keeps holds fast slow new old"""


def _text(number: int, characters: int) -> str:
    """An answer of so many characters, the same for the same number."""
    choice, words = random.Random(number), WORDS.split()
    prose = " ".join(choice.choice(words) for _ in range(characters // 4))[:characters]
    return prose if number else f"## Evaluation\nAll are right.\n\n## Final answer\n{prose}"


def main() -> None:
    """Serve as the command line says."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--servers", type=int, default=3)
    parser.add_argument("--delay", type=float, default=0.05, help="seconds before an answer")
    parser.add_argument("--between", type=float, default=0.0, help="seconds before each further line of one")
    parser.add_argument("--pieces", type=int, default=1, help="lines of a streamed answer")
    parser.add_argument("--characters", type=int, default=1_000, help="length of an answer")
    options = parser.parse_args()
    with OllamaServers() as servers:
        started = [
            servers.add(
                Play(
                    answer=_text(number, options.characters),
                    delay=options.delay,
                    between=options.between,
                    pieces=options.pieces,
                )
            )
            for number in range(options.servers)
        ]
        print(json.dumps([server.url for server in started]), flush=True)
        sys.stdin.read()


if __name__ == "__main__":
    main()
