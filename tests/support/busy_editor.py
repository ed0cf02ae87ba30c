"""One of several assistants that edit the same files at once: `python -m tests.support.busy_editor PROJECT NAME COUNT`.

Each edit adds a line of its own to a file, next to a line that stays; a refused one is made again after reading.
Prints as JSON how many edits were made and the codes of those that were refused.
"""

import asyncio
import json
import sys
from collections import Counter
from pathlib import Path

from tests.support.agents import make_tools

FILES = ("a.txt", "b.txt", "c.txt")
HEAD = "# head\n"


async def _edit(project: Path, name: str, count: int) -> dict[str, object]:
    tools = make_tools(project)
    refused: Counter[str] = Counter()
    for number in range(count):
        file = FILES[number % len(FILES)]
        while True:
            answer = await tools.execute_tool(
                "edit_file", file_path=file, old_string=HEAD, new_string=f"{HEAD}{name} {number}\n"
            )
            if answer["success"]:
                break
            refused[answer["code"]] += 1
            await tools.execute_tool("read_file", file_path=file)
    return {"made": count, "refused": refused}


if __name__ == "__main__":
    print(json.dumps(asyncio.run(_edit(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])))))
