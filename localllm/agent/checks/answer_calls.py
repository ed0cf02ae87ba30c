"""Recover the calls of an answer that only writes out commands or files as text."""

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from uuid import uuid4

import msgspec

from localllm.base.events import Json, ToolCall
from localllm.base.jsontext import encode_json
from localllm.base.lazy_patterns import late_pattern
from localllm.base.regular_files import read_regular

_OPENING = late_pattern(r"[ ]{0,3}(?P<fence>`{3,}+|~{3,}+)[ \t]*+(?P<info>[^`\n]*)")
_SHELLS = frozenset({"bash", "sh", "shell", "zsh", "console", "shell-session", "terminal"})
_SCRIPT_ENDINGS = (".sh", ".bash", ".zsh")
_PLACEHOLDER = late_pattern(
    r"<(?:your|path|file|name|the)[\w /._-]*>|\bpath/to/|\byour[-_]\w+|\.\.\.[ \t]*$|…", re.MULTILINE | re.IGNORECASE
)
_PATH = r"(?:[\w.@+-]+/)*(?:[\w.@+-]+\.[A-Za-z]\w{0,9}|Makefile|Dockerfile|Gemfile|Rakefile)"
_NAME_LINE = late_pattern(
    rf"(?!.{{250}})[\s#>*_-]*(?:(?:file(?:name| path)?|path|ファイル(?:名)?)\s*[:：]\s*)?[`*\"'「]*(?P<path>{_PATH})"
    r"[`*_\"'」]*+\s*+[:：]?[\s*_`]*+",
    re.IGNORECASE,
)
_INFO_NAME = late_pattern(
    rf"(?!.{{250}})(?:[\w+#-]+[\s:]+)?(?:(?:title|file|filename|path)=)?[\"']?(?P<path>{_PATH})[\"']?"
)
_COMMENT_NAME = late_pattern(
    rf"(?!.{{250}})\s*+(?:#|//|--|;|/\*|<!--)\s*+(?:file(?:name)?:\s*+)?(?P<path>{_PATH})\s*+(?:\*/|-->)?\s*+",
    re.IGNORECASE,
)
_NAMED = late_pattern(rf"(?<![\w/.])(?:{_PATH})(?![\w/])", re.ASCII)
_REPLACEMENT = late_pattern(
    r"^<{5,9} ?SEARCH[^\n]*\n(?P<old>(?>(?:(?!={5,9}$|<{5,9} ?SEARCH)[^\n]*\n)*))={5,9}\n"
    r"(?P<new>(?>(?:(?!>{5,9} ?REPLACE|<{5,9} ?SEARCH)[^\n]*\n)*))>{5,9} ?REPLACE[ \t]*$",
    re.MULTILINE,
)
_DIFF = late_pattern(r"^(?:<{5,9} ?SEARCH\b|\*\*\* Begin Patch\b|--- \S.*\n\+\+\+ \S|@@ -\d)", re.MULTILINE)
_WRITES = late_pattern(r"(?i)\b(?:writ(?:e|ing)|creat(?:e|ing)|sav(?:e|ing)|new file)\b|作成し|作り|書き|保存し|新規")
"""Matches a line before the content of a file, also if that is to be run later."""
_RUNS = late_pattern(
    r"(?i)\b(?:run|running|execut(?:e|ing)|start(?:ing)?|launch|invok(?:e|ing)|call)\b|実行|動か|起動|走らせ"
)
"""Matches a line before commands that have to do with a script."""
_INTENDS = late_pattern(
    r"(?i)\b(?:I['’]ll|I will|I['’]m|I am|we['’]ll|we will|let me|let us|let['’]s|here(?:['’]s| is))\b"
    r"|します|ましょう|ました|です"
)
"""Matches a line that says what is done with a script: whatever it is, but for running it, the content follows."""
_LONGEST_LINE = 500
"""Characters before a block that are searched for names."""
_FEWEST_LINES = 5
"""Minimum lines of code under a file's name that count as its content."""

_LARGEST = 1_000_000


class Block(msgspec.Struct, frozen=True):
    """A fenced block: the text since the previous one, the fence's info string, and its body."""

    before: str
    info: str
    body: str

    @property
    def is_shell(self) -> bool:
        """Whether it contains commands, and not a script: a file that begins with `#!`, or that the line before it
        names."""
        if self.info.lower() not in _SHELLS or self.body.lstrip().startswith("#!"):
            return False
        named = [path for path in _names_before(self.before) if path.endswith(_SCRIPT_ENDINGS)]
        line = self.before.rstrip().rpartition("\n")[2]
        is_content = self.body.count("\n") + 1 >= _FEWEST_LINES or _WRITES.search(line)
        is_content = is_content or (_INTENDS.search(line) and not _RUNS.search(line))
        return not (is_content and any(not _calls(self.body, path) for path in named))

    @property
    def path(self) -> str:
        """The file it is named as, by the line before it, its info string, or its first line; "" if unnamed."""
        lines = self.before.rstrip().splitlines()
        by_line = _NAME_LINE.fullmatch(lines[-1]) if lines else None
        named = by_line or _INFO_NAME.fullmatch(self.info) or _COMMENT_NAME.fullmatch(self.body.partition("\n")[0])
        return named["path"].removeprefix("./") if named else ""

    @property
    def prose(self) -> str:
        """The text before it, without the line that names the file."""
        lines = self.before.rstrip().splitlines()
        return "\n".join(lines[:-1] if lines and _NAME_LINE.fullmatch(lines[-1]) else lines).strip()


def _calls(commands: str, path: str) -> bool:
    """Return whether one of the commands runs or changes the script at `path`, or writes it."""
    name = re.escape(path.rpartition("/")[2])
    return bool(re.search(rf"(?m)^(?![ \t]*#)[^\n]{{0,300}}(?:[ \t>/]|^){name}(?![\w.-])", commands))


def _names_before(before: str) -> list[str]:
    """Return the files that the line before a block names."""
    return _NAMED.findall(before.rstrip().rpartition("\n")[2][-_LONGEST_LINE:])


def split_blocks(text: str) -> tuple[list[Block], str] | None:
    """Return the fenced blocks of a text and the text after the last; None if one is unclosed."""
    blocks: list[Block] = []
    before: list[str] = []
    body: list[str] = []
    opening: re.Match[str] | None = None
    for line in text.splitlines():
        found = _OPENING.fullmatch(line)
        if opening is None and found:
            opening, body = found, []
        elif opening is None:
            before.append(line)
        elif found and not found["info"] and found["fence"].startswith(opening["fence"]):
            blocks.append(Block("\n".join(before), opening["info"].strip(), "\n".join(body)))
            opening, before = None, []
        else:
            body.append(line)
    return None if opening else (blocks, "\n".join(before).strip())


def holds_change(text: str) -> bool:
    """Return whether a text contains a change to be made: a diff, a replacement, code under a file's name."""
    if _DIFF.search(text):
        return True
    blocks, _rest = split_blocks(text) or ([], "")
    return any(
        (block.path or _names_before(block.before))
        and not block.is_shell
        and block.body.count("\n") + 1 >= _FEWEST_LINES
        for block in blocks
    )


def holds_commands(text: str) -> bool:
    """Return whether a text contains a block of commands."""
    blocks, _rest = split_blocks(text) or ([], "")
    return any(block.is_shell and block.body.strip() for block in blocks)


def ends_with_replacement(text: str) -> bool:
    """Return whether a text ends with a SEARCH/REPLACE block, a form not used to show finished changes."""
    last = max(_REPLACEMENT.finditer(text), key=lambda found: found.end(), default=None)
    return last is not None and not text[last.end() :].strip("`~ \t\n")


def command_in(text: str) -> str:
    """Return the commands a text consists of, or ends with after an introduction. "" if it contains anything else."""
    found = split_blocks(text)
    if found is None or len(found[0]) != 1 or found[1] or not found[0][0].is_shell:
        return ""
    command = found[0][0].body.strip()
    lines = [line for line in command.splitlines() if line.strip()]
    if lines and all(line.lstrip().startswith("$ ") for line in lines):
        command = "\n".join(line.lstrip().removeprefix("$ ") for line in lines)
    elif any(line.lstrip().startswith("$ ") for line in lines):  # with their output
        return ""
    return "" if _PLACEHOLDER.search(command) else command


def calls_in(text: str, root: Path, announces: Callable[[str], bool]) -> Sequence[ToolCall]:
    """Return the calls an answer clearly stands for; empty if it could also be addressed to the user.

    It must consist of commands, replacements or whole files under their names, or end with them after a sentence that
    `announces` them. The new text of an existing file must contain most of the old.
    """
    if "<<<<<<<" in text or "SEARCH" in text:
        return _replacements(text, announces)
    found = split_blocks(text)
    if found is None or not found[0] or found[1]:
        return ()
    blocks = found[0]
    if command := command_in(text):
        return [new_call("run_command", command=command)] if leads_to_call(blocks[0].before, announces) else ()
    files = [_written_file(block, root, announces) for block in blocks]
    return [call for call in files if call] if all(files) else ()


def _replacements(text: str, announces: Callable[[str], bool]) -> Sequence[ToolCall]:
    """Convert SEARCH/REPLACE blocks to calls of edit_file; empty unless all of them name their file."""
    calls: list[ToolCall] = []
    path, at = "", 0
    for found in _REPLACEMENT.finditer(text):
        lines = [
            line for line in text[at : found.start()].splitlines() if line.strip() and not _OPENING.fullmatch(line)
        ]
        named = _NAME_LINE.fullmatch(lines[-1]) if lines else None
        path = named["path"].removeprefix("./") if named else path
        prose = "\n".join(lines[:-1] if named else lines)
        if not path or not found["old"].strip() or not leads_to_call(prose, announces):
            return ()
        old, new = found["old"].removesuffix("\n"), found["new"].removesuffix("\n")
        calls.append(new_call("edit_file", file_path=path, old_string=old, new_string=new))
        at = found.end()
    rest = [line for line in text[at:].splitlines() if line.strip() and not _OPENING.fullmatch(line)]
    return () if rest else calls


def _written_file(block: Block, root: Path, announces: Callable[[str], bool]) -> ToolCall | None:
    path, prose = block.path, block.prose
    named = dict.fromkeys(_NAMED.findall(prose))
    if not path and len(named) == 1:  # “I will create a.py:”
        path = next(iter(named)).removeprefix("./")
    is_plain = bool(path) and not block.is_shell and block.info != "diff" and block.body.strip()
    if not is_plain or not leads_to_call(prose, announces) or not _is_whole(root / path, root, block):
        return None
    return new_call("write_file", file_path=path, content=block.body + "\n")


def _is_whole(file: Path, root: Path, block: Block) -> bool:
    """Return whether the block can be the whole file: a new one, or one with most of its lines."""
    try:
        if not file.resolve().is_relative_to(root.resolve()) or file.is_dir():
            return False
        if not file.exists():
            return True
        if not block.path:
            return False
        text = read_regular(file.resolve(), _LARGEST).decode()
    except (OSError, ValueError, RuntimeError):  # also a link that leads to itself
        return False
    old = {line.strip() for line in text.splitlines()} - {""}
    return len(old & {line.strip() for line in block.body.splitlines()}) * 2 > len(old)


def leads_to_call(prose: str, announces: Callable[[str], bool]) -> bool:
    """Return whether nothing precedes the block except its announcement; “Run this:” addresses the user."""
    said = prose.strip().rstrip(":： 。.")
    return not said or announces(f"{said}。" if re.search(r"[ぁ-ん]\Z", said) else f"{said}.")


def new_call(name: str, /, **arguments: Json) -> ToolCall:
    """Return a call with a new id."""
    return ToolCall(f"call_{uuid4().hex[:12]}", name, encode_json(arguments).decode())
