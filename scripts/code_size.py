#!/usr/bin/env python3
"""Count the lines of code of a folder of Python, and how large its files and functions are.

    python scripts/code_size.py [FOLDER]

A line of code holds something besides blanks, comments and docstrings. A line of text holds only words for people or
the model: strings with a blank in them, the calls that mark them for translation, and the names of their fields.
"""

import ast
import io
import statistics
import sys
import tokenize
from collections import Counter, defaultdict
from pathlib import Path

MARKS = {"_", "N_", "ngettext", "Phrase", "Phrases", "Counted", "ErrorText", "code", "what", "why", "fix", "f", "r"}
LAYOUT = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}


def docstring_lines(tree: ast.AST) -> set[int]:
    lines: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            lines |= set(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    return lines


def count(source: str) -> tuple[int, int]:
    """Count a file's lines of code, and those of them that are text alone."""
    left_out = docstring_lines(ast.parse(source))
    tokens: dict[int, list[tokenize.TokenInfo]] = defaultdict(list)
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in LAYOUT:
            for line in range(token.start[0], token.end[0] + 1):
                if line not in left_out:
                    tokens[line].append(token)
    return len(tokens), sum(is_text(line) for line in tokens.values())


def is_text(line: list[tokenize.TokenInfo]) -> bool:
    words = [t for t in line if t.type == tokenize.STRING and " " in t.string.strip("\"'fr ")]
    others = [t for t in line if t.type not in (tokenize.STRING, tokenize.OP)]
    return bool(words) and all(t.type == tokenize.NAME and t.string in MARKS for t in others)


def main() -> None:
    root = Path(sys.argv[1] if len(sys.argv) > 1 else "localllm")
    sources = {path: path.read_text(encoding="utf-8") for path in sorted(root.rglob("*.py"))}
    rooms, code, text, functions = Counter[str](), 0, 0, list[int]()
    lengths = sorted(len(s.splitlines()) for s in sources.values() if s.strip())
    for path, source in sources.items():
        lines, words = count(source)
        code, text = code + lines, text + words
        rooms[path.relative_to(root).parts[0]] += lines - words
        functions += [
            (node.end_lineno or node.lineno) - node.lineno + 1
            for node in ast.walk(ast.parse(source))
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        ]
    functions.sort()
    print(f"files {len(sources)}, not empty {len(lengths)}; physical lines {sum(lengths)}")
    print(f"lines of code {code}, without text {code - text}")
    for name, sizes in (("files", lengths), ("functions", functions)):
        middle, high = statistics.median(sizes), sizes[int(0.95 * len(sizes))]
        print(f"{name}: median {middle:g} lines, 95 % up to {high}, longest {sizes[-1]}")
    print(", ".join(f"{room} {lines}" for room, lines in rooms.most_common()))


if __name__ == "__main__":
    main()
