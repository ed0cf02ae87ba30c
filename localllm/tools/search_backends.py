"""Two equivalent search engines: ripgrep, and Python in a helper process."""

import asyncio
import marshal
import os
import re
from asyncio.subprocess import PIPE, Process
from collections import Counter
from collections.abc import Sequence
from contextlib import AsyncExitStack, closing
from io import BufferedReader
from typing import Literal, Protocol, cast

import msgspec

from localllm.base.errors import ToolExecutionError
from localllm.base.helper_program import command_line
from localllm.safety.paths import ProjectRoot
from localllm.text.decoding import NotTextError, decode, split_lines, unmarked_utf16
from localllm.tools import regex_worker

LARGEST = 2_000_000
"""Maximum bytes of a file among others that are searched."""
LARGEST_ALONE = 200_000_000
"""Maximum bytes of a file that is searched alone."""

_SHOWN = 300
_SHOWN_BEFORE = 100
_AT_ONCE = 4_000_000  # characters of text per message to the helper process
_SNIFFED = 8_000
_PART = 1_000_000
_MOST_OUTPUT = 20_000_000  # bytes of ripgrep's matching lines, which it writes up to six times as long as they are
_LONGEST_LIFE = 60  # seconds after which the helper process is killed by the system; normally much earlier


class Query(msgspec.Struct, frozen=True):
    """What to look for in each line: a Python regular expression, or plain text."""

    pattern: str
    literal: bool = False
    ignore_case: bool = False


class Hit(msgspec.Struct, frozen=True):
    """A matching line. `line` counts from 1; `text` is the line, a long one truncated around the match."""

    path: str
    line: int
    text: str


Reason = Literal["binary", "encoding", "large", "huge", "unreadable", "name", "closed", "asked"]
"""Why a file is skipped: it is binary, or text in an unknown encoding; too large among others, or even alone; cannot be
opened; its name cannot be shown; a rule closes it."""

Skipped = Counter[str]
"""Number of files skipped for each Reason."""


class Found(msgspec.Struct, frozen=True):
    """The hits in the order of the files, and the files skipped by the engine."""

    hits: list[Hit]
    skipped: Skipped


class Engine(Protocol):
    """Searches batches of files."""

    @property
    def name(self) -> str:
        """The engine's name: ripgrep or python."""
        ...

    async def search(self, paths: Sequence[str], limit: int) -> Found:
        """Return the first `limit` hits in `paths`."""
        ...


class UnsupportedPatternError(Exception):
    """ripgrep does not support the pattern (it has no look-around and no back-references)."""


def load_lines(root: ProjectRoot, path: str) -> "list[str] | Reason":
    """Return the lines of a text file, or the reason why it has none."""
    ((_, data),) = root.read_listed([path], LARGEST + 1)
    return _lines_of(data)


def _lines_of(data: bytes | None) -> "list[str] | Reason":
    if data is None:
        return "unreadable"
    return "large" if len(data) > LARGEST else _decoded(data)


def _next_lines(file: BufferedReader) -> bytes:
    """Read whole lines, some megabytes of them, or one line that is longer."""
    data = file.read(_AT_ONCE)
    return data if data.endswith(b"\n") else data + file.readline(LARGEST_ALONE)


def _decoded(data: bytes) -> "list[str] | Reason":
    try:
        decoded = decode(data)
    except NotTextError as error:
        return error.kind
    text = decoded.text.replace("\n", "\r") if decoded.newline == "\r" else decoded.text
    lines = split_lines(text)
    return [line.rstrip("\r") for line in lines] if "\r" in text else lines


class PythonEngine:
    """Reads and decodes files here and matches them in a helper process, to kill a runaway pattern."""

    name = "python"

    def __init__(self, root: ProjectRoot, query: Query, stack: AsyncExitStack) -> None:
        """`stack` ends the helper process."""
        self._root = root
        self._query = query
        self._stack = stack
        self._helper: Process | None = None

    async def search(self, paths: Sequence[str], limit: int) -> Found:
        """Return the first `limit` hits in `paths`."""
        hits: list[Hit] = []
        skipped: Skipped = Counter()
        remaining = list(paths)
        while remaining and len(hits) < limit:
            part, unread, remaining = await asyncio.to_thread(self._load, remaining)
            skipped += unread
            hits += await self._apply(part, limit) if part else []
        return Found(hits[:limit], skipped)

    def _load(self, paths: list[str]) -> tuple[dict[str, list[str]], Skipped, list[str]]:
        """Load files up to the size of a message. Return their lines, the skipped ones, and the remaining paths."""
        part: dict[str, list[str]] = {}
        skipped: Skipped = Counter()
        size = 0
        with closing(self._root.read_listed(paths, LARGEST + 1)) as files:
            for index, (path, data) in enumerate(files):
                lines = _lines_of(data)
                if isinstance(lines, str):
                    skipped[lines] += 1
                    continue
                part[path] = lines
                size += sum(map(len, lines))
                if size > _AT_ONCE:
                    return part, skipped, paths[index + 1 :]
        return part, skipped, []

    async def search_alone(self, path: str, limit: int) -> Found:
        """Like `search`, for one file up to LARGEST_ALONE bytes, piece by piece; UTF-16 only up to LARGEST."""
        hits: list[Hit] = []
        try:
            file = await asyncio.to_thread(self._root.open_listed, path)
        except OSError:
            return Found([], Counter(unreadable=1))
        with file:
            above, read = 0, 0
            while len(hits) < limit and (data := await asyncio.to_thread(_next_lines, file)):
                lines = await asyncio.to_thread(_decoded, data)
                if isinstance(lines, str) or (read := read + len(data)) > LARGEST_ALONE:
                    return Found(hits, Counter([lines if isinstance(lines, str) else "huge"]))
                found = await self._apply({path: lines}, limit - len(hits))
                hits += [msgspec.structs.replace(hit, line=hit.line + above) for hit in found]
                above += len(lines)
        return Found(hits, Counter())

    async def _apply(self, part: dict[str, list[str]], limit: int) -> list[Hit]:
        try:
            helper = await self._started()
            await _send(helper, (limit, list(part.values())))
            answer = await _receive(helper)
        except (asyncio.IncompleteReadError, ConnectionError) as error:
            reason = "its helper process ended"
            raise ToolExecutionError("tool_crashed", name="search_files", reason=reason) from error
        return [
            Hit(path, index + 1, around(lines[index], start))
            for (path, lines), matches in zip(part.items(), answer, strict=True)
            for index, start in matches
        ]

    async def _started(self) -> Process:
        if self._helper is None:
            command = command_line(regex_worker.serve, seconds=_LONGEST_LIFE)
            self._helper = await _start(command, self._stack, cwd="/")
            pattern = re.escape(self._query.pattern) if self._query.literal else self._query.pattern
            await _send(self._helper, (pattern, int(re.IGNORECASE) if self._query.ignore_case else 0))
        return self._helper


class RipgrepEngine:
    """Searches with ripgrep. Files that are not clean UTF-8 or UTF-16 are left to `others`."""

    name = "ripgrep"

    def __init__(self, root: ProjectRoot, query: Query, program: str, others: Engine, stack: AsyncExitStack) -> None:
        """`program` is ripgrep's path; `stack` ends its processes."""
        self._root = root
        self._program = program
        self._others = others
        self._stack = stack
        flags = ["--fixed-strings"] * query.literal + ["--ignore-case"] * query.ignore_case
        self._pattern = ["--crlf", *flags, f"--regexp={query.pattern}"]

    async def search(self, paths: Sequence[str], limit: int) -> Found:
        """Return the first `limit` hits in `paths`. Raises UnsupportedPatternError."""
        counts, (odd, unread) = await asyncio.gather(self._count(paths, limit), self._odd(paths))
        legacy, skipped = await asyncio.to_thread(self._sort_out, odd)
        others = await self._others.search(legacy, limit) if legacy else Found([], Counter())
        wanted = _first([path for path in paths if path in counts and path not in odd], counts, limit)
        hits, cut = await self._look(wanted, limit) if wanted else ([], [])
        rest = await self._others.search(cut, limit) if cut else Found([], Counter())
        hits += [*others.hits, *rest.hits]
        order = {path: index for index, path in enumerate(paths)}
        hits.sort(key=lambda hit: (order[hit.path], hit.line))
        return Found(hits[:limit], skipped + others.skipped + rest.skipped + unread)

    async def _odd(self, paths: Sequence[str]) -> tuple[set[str], Skipped]:
        """Return the files that are not clean UTF-8, and the number of unreadable ones. Those have a line that contains
        a NUL, starts a Japanese escape sequence or is invalid (files with a UTF-16 mark are converted)."""
        arguments = [
            "--text",
            "--files-with-matches",
            "--null",
            "--invert-match",
            "--line-regexp",
            r"--regexp=(?:[^\x00\x1b]|\x1b[^$\x00\x1b])*\x1b?",
        ]
        output, complaints = await self._ask(arguments, paths)
        skipped: Skipped = Counter()
        skipped["unreadable"] = sum(_OS_ERROR.search(line) is not None for line in complaints.splitlines())
        return {os.fsdecode(name) for name in output.split(b"\0") if name}, +skipped

    async def _count(self, paths: Sequence[str], limit: int) -> dict[str, int]:
        """Return the number of matching lines in each file with any."""
        arguments = ["--count", "--with-filename", "--null", f"--max-count={limit}", *self._pattern]
        pairs = re.findall(rb"([^\0]+)\0(\d+)\r?\n", await self._run(arguments, paths))
        return {os.fsdecode(name): int(count) for name, count in pairs}

    async def _look(self, paths: Sequence[str], limit: int) -> tuple[list[Hit], list[str]]:
        """Return the hits, and the files whose matching lines are too long for ripgrep's output."""
        output = await self._run(["--json", f"--max-count={limit}", *self._pattern], paths, _MOST_OUTPUT)
        return await asyncio.to_thread(self._read, output, paths)

    def _read(self, output: bytes, paths: Sequence[str]) -> tuple[list[Hit], list[str]]:
        """Return the hits with the current content; those that ripgrep saw differently are dropped. And the files
        of which the output was cut."""
        hits: list[Hit] = []
        read, lines, begun = set[str](), list[str](), 0
        for line in output.splitlines():
            message = _message_in(line)
            if message is None:
                continue
            path, match = message.data.path.text, message.data
            match message.type:
                case "begin":
                    begun, loaded = len(hits), load_lines(self._root, path)
                    lines = [] if isinstance(loaded, str) else loaded
                case "match":
                    seen = match.lines.text.removesuffix("\n").rstrip("\r").removeprefix("\ufeff")
                    if match.line_number <= len(lines) and lines[match.line_number - 1] == seen:
                        hits.append(Hit(path, match.line_number, around(seen, match.start)))
                case "end":
                    read.add(path)
                    begun = len(hits)
                case _:
                    pass
        return hits[:begun], [path for path in paths if path not in read]

    def _sort_out(self, odd: set[str]) -> tuple[list[str], Skipped]:
        """Return those of the odd files that may be text, and the number of definitely binary ones."""
        judged = {path: self._is_binary(path) for path in sorted(odd)}
        skipped: Skipped = Counter()
        skipped.update(reason for reason in judged.values() if reason)
        return [path for path, reason in judged.items() if not reason], skipped

    def _is_binary(self, path: str) -> "Reason | None":
        try:
            with self._root.open_listed(path) as file:
                head = file.read(_SNIFFED)
        except OSError:
            return "unreadable"
        return "binary" if b"\0" in head and not unmarked_utf16(head) else None

    async def _run(self, arguments: Sequence[str], paths: Sequence[str], most: int | None = None) -> bytes:
        """Return ripgrep's output, the first `most` bytes. Raises UnsupportedPatternError for errors other than those
        of files."""
        output, complaint = await self._ask(["--no-messages", *arguments], paths, most)
        if complaint:
            raise UnsupportedPatternError
        return output

    async def _ask(
        self, arguments: Sequence[str], paths: Sequence[str], most: int | None = None
    ) -> tuple[bytes, bytes]:
        """Return ripgrep's output, the first `most` bytes, and, if it failed, its error text."""
        command = (self._program, "--no-config", "--no-ignore", "--hidden", *arguments, "--", *paths)
        process = await _start(command, self._stack, cwd=str(self._root.path))
        if most and process.stdout:
            output = bytearray()
            while len(output) <= most and (part := await process.stdout.read(_PART)):
                output += part
            if len(output) > most:
                await _end(process)
                return bytes(output[:most]), b""
            _, complaint = await process.communicate()
            return bytes(output), b"" if process.returncode in (0, 1) else complaint
        output, complaint = await process.communicate()
        return output, b"" if process.returncode in (0, 1) else complaint


_OS_ERROR = re.compile(rb"\(os error \d+\)$")


def around(line: str, start: int) -> str:
    """Truncate a line to 300 characters around the match at `start`."""
    if len(line) <= _SHOWN:
        return line
    begin = max(0, min(start - _SHOWN_BEFORE, len(line) - _SHOWN))
    end = begin + _SHOWN
    return ("…" if begin else "") + line[begin:end] + ("…" if end < len(line) else "")


def _first(paths: list[str], counts: dict[str, int], limit: int) -> list[str]:
    """Return as many of the paths as needed for `limit` hits."""
    wanted: list[str] = []
    for path in paths:
        if limit <= 0:
            break
        wanted.append(path)
        limit -= counts[path]
    return wanted


class _Text(msgspec.Struct, frozen=True):
    text: str = ""


class _Submatch(msgspec.Struct):
    start: int


class _Match(msgspec.Struct):
    """The data of a message in ripgrep's JSON (docs.rs/grep-printer); lines only of a match. Offsets are bytes of
    UTF-8."""

    path: _Text = _Text()
    lines: _Text = _Text()
    line_number: int = 0
    submatches: list[_Submatch] = []

    @property
    def start(self) -> int:
        """The character offset of the first match."""
        offset = self.submatches[0].start if self.submatches else 0
        return len(self.lines.text.encode()[:offset].decode(errors="replace"))


class _Message(msgspec.Struct):
    type: str
    data: _Match


def _message_in(line: bytes) -> _Message | None:
    """Return a message; None for the rest of one that was cut."""
    try:
        return msgspec.json.decode(line, type=_Message)
    except msgspec.DecodeError:
        return None


async def _start(command: Sequence[str], stack: AsyncExitStack, cwd: str) -> Process:
    process = await asyncio.create_subprocess_exec(*command, stdin=PIPE, stdout=PIPE, stderr=PIPE, cwd=cwd, env={})
    stack.push_async_callback(_end, process)
    return process


async def _end(process: Process) -> None:
    if process.returncode is None:
        process.kill()
    if process.stdin:
        process.stdin.close()
    await process.wait()


async def _send(helper: Process, message: tuple[str | int, int | list[list[str]]]) -> None:
    stream = cast("asyncio.StreamWriter", helper.stdin)
    data = marshal.dumps(message)
    stream.write(len(data).to_bytes(8, "big") + data)
    await stream.drain()


async def _receive(helper: Process) -> list[list[tuple[int, int]]]:
    stream = cast("asyncio.StreamReader", helper.stdout)
    size = int.from_bytes(await stream.readexactly(8), "big")
    return marshal.loads(await stream.readexactly(size))  # noqa: S302 - from our own helper process
