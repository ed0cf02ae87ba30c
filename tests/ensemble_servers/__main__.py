"""Run loopback workers until standard input ends: `python -m tests.ensemble_servers --servers 10 --delay 0.05`.

Prints their addresses as one line of JSON.
"""

import argparse
import json
import sys

from tests.ensemble_servers import OllamaServers, Play


def main() -> None:
    """Serve as the command line says."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--servers", type=int, default=3)
    parser.add_argument("--delay", type=float, default=0.05, help="seconds before an answer")
    parser.add_argument("--pieces", type=int, default=1, help="lines of a streamed answer")
    parser.add_argument("--characters", type=int, default=1_000, help="length of an answer")
    options = parser.parse_args()
    text = ("The answer is 42, as was to be shown. " * (options.characters // 38 + 1))[: options.characters]
    with OllamaServers() as servers:
        played = Play(answer=text, delay=options.delay, pieces=options.pieces)
        started = [servers.add(played) for _ in range(options.servers)]
        print(json.dumps([server.url for server in started]), flush=True)
        sys.stdin.read()


if __name__ == "__main__":
    main()
