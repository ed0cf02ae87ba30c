"""The helper process of a search: Python cannot interrupt a runaway regular expression, but a process can be killed."""

from typing import Any


def serve() -> None:
    """Answer requests until the input ends; only this function's code is sent to the helper process.

    A message is its length (8 bytes, big-endian) and a marshalled value. The first input is the pattern and the flags
    of `re`; each further one is a limit and a list of files, a file being the list of its lines. The answer is, for
    each file, at most `limit` pairs: the index of a line, and the offset of its first match.
    """
    import marshal
    import re
    import sys

    def receive() -> "Any":  # quoted: the name is not available there
        size = int.from_bytes(sys.stdin.buffer.read(8), "big")
        return marshal.loads(sys.stdin.buffer.read(size)) if size else None  # noqa: S302 - from our own parent

    def search(lines: list[str], limit: int) -> list[tuple[int, int]]:
        found: list[tuple[int, int]] = []
        for index, line in enumerate(lines):
            if match := regex.search(line):
                found.append((index, match.start()))
                if len(found) >= limit:
                    break
        return found

    pattern, flags = receive()
    regex: re.Pattern[str] = re.compile(pattern, flags)
    while message := receive():
        limit, files = message
        answer = marshal.dumps([search(lines, limit) for lines in files])
        sys.stdout.buffer.write(len(answer).to_bytes(8, "big") + answer)
        sys.stdout.buffer.flush()
