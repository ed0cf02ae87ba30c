"""Run the commands given as JSON on stdin in one runner, as whoever started this; the outcomes as JSON on stdout."""

import asyncio
import json
import sys
from pathlib import Path

from localllm.sandbox.runner import SandboxRunner


async def main() -> None:
    asked = json.load(sys.stdin)
    project = Path(asked["project"])
    outcomes: list[list[object]] = []
    runner = SandboxRunner(project, state_folder=Path(asked["state"]), levels=(asked["level"],))
    try:
        for command in asked["commands"]:
            done = await runner.run(command, cwd=project, timeout=asked["timeout"])
            outcomes.append([done.stdout, done.stderr, done.return_code, done.timed_out, done.level])
    finally:
        runner.close()
    json.dump(outcomes, sys.stdout)


asyncio.run(main())
