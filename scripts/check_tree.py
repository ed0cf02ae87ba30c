#!/usr/bin/env python3
"""Look through all tracked files for what must not be published: paths of a machine, registry addresses, secrets.

Prints `file:line: what: the text` for each finding and exits 1 when there is one.
"""

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

FORBIDDEN = {
    "the path of this checkout": re.compile(rf"(?<![\w.-]){re.escape(str(ROOT))}\b" if len(ROOT.parts) > 2 else "(?!)"),
    "a path of a machine": re.compile(
        r"(?<![\w.}~-])/(?:home|Users)/(?!(?:user|you|me|alice|bob|name|somebody)\b)\w[\w.-]*"
        r"|(?<![\w.}~-])/(?:work|workspaces?|builds|farm)/\w+"
    ),
    "a registry address": re.compile(
        r"https?://[^\s\"'<>]*/simple\b|--(?:extra-)?index-url[ =]\S|--find-links[ =]\S|registry *= *[\"']?https?:"
        r"|files\.pythonhosted\.org"
    ),
    "a secret": re.compile(
        r"-----BEGIN [A-Z ]*PRIVATE KEY-----\s*\w|\bAKIA(?!\w*EXAMPLE)[A-Z0-9]{16}\b"
        r"|\bgh[pousr]_\w{36}|\bgithub_pat_\w{30}"
        r"|\bsk-(?:proj-|ant-)?(?!\w*(?:test|secret|example))\w{24}|\bAIza[\w-]{35}|\bxox[abprs]-\d{6}\S+|\bhf_[A-Za-z]{34}\b"
        r"|https?://[^\s/:@?#\"'{}]+:(?=[^\s@/]*[a-z])(?=[^\s@/]*\d)[^\s/:@\"'{}]{8,}@"
    ),
}


def main() -> None:
    found = [f"{path.relative_to(ROOT)}:{finding}" for path in tracked() for finding in findings(read(path))]
    print("\n".join(found) or "check_tree: nothing found")
    sys.exit(bool(found))


def findings(text: str) -> Iterator[str]:
    """What is wrong with a text, as `line: what: the words`."""
    for number, line in enumerate(text.splitlines(), 1):
        for what, pattern in FORBIDDEN.items():
            if match := pattern.search(line):
                yield f"{number}: {what}: {match[0][:80]}"


def read(path: Path) -> str:
    """The text of a file; nothing for one that is not text."""
    try:
        return path.read_text("utf-8")
    except UnicodeDecodeError:
        return ""


def tracked() -> list[Path]:
    """Every file git tracks, and every one it would offer to add."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    )
    return [ROOT / name for name in listed.stdout.split("\0") if (ROOT / name).is_file()]


if __name__ == "__main__":
    main()
