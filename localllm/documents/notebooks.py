"""Convert Jupyter notebooks to text: numbered cells with shortened outputs; find an edit of a cell in the file."""

from collections.abc import Iterator
from typing import Any

import msgspec

from localllm.base.jsontext import decode_json

_MOST_LINES = 20
_MOST_CHARACTERS = 2_000


class _Output(msgspec.Struct):
    """Text that a cell printed (`text`), data it showed by media type (`data`), or its error (`ename`, `evalue`)."""

    text: str | list[str] = ""
    data: dict[str, Any] = {}
    ename: str = ""
    evalue: str = ""


class _Cell(msgspec.Struct):
    """A cell in nbformat 4. Texts are one string, or a list of lines."""

    cell_type: str
    source: str | list[str] = ""
    execution_count: int | None = None
    outputs: list[_Output] = []


class _Notebook(msgspec.Struct):
    cells: list[_Cell]


def notebook_text(data: bytes) -> str:
    """Return the cells of a notebook (nbformat 4), each under a line that numbers it. Raises ValueError."""
    try:
        notebook = decode_json(data, _Notebook)
    except msgspec.DecodeError as error:  # includes ValidationError
        raise ValueError(str(error)) from error
    return "\n".join(line for number, cell in enumerate(notebook.cells, 1) for line in _cell(number, cell))


def cell_edit(raw: str, old: str, new: str) -> tuple[str, str] | None:
    """Return the lines of the file to replace, and by what, so that `old` becomes `new` in the source of a cell; None
    unless `old` occurs exactly once in all cells. The file is to have a line for each line of a source, as Jupyter
    writes it."""
    found: list[tuple[list[str], str]] = []
    old, new = old.strip("\n"), new.strip("\n")
    for lines in _sources(raw.split("\n")):
        try:
            text = "".join(decode_json(line.strip().removesuffix(",").encode(), str) for line in lines)
        except msgspec.DecodeError:
            continue
        found += [(lines, text)] * text.count(old)
    if not old or len(found) != 1:
        return None
    lines, text = found[0]
    indent = lines[0][: len(lines[0]) - len(lines[0].lstrip())]
    *whole, last = text.replace(old, new).split("\n")
    parts = [*(f"{line}\n" for line in whole), *([last] if last else [])]
    written = [indent + msgspec.json.encode(part).decode() for part in parts]
    return "\n".join(lines), ",\n".join(written)


def _sources(lines: list[str]) -> Iterator[list[str]]:
    """Yield the lines of the file with the source of each cell."""
    first: int | None = None
    for number, line in enumerate(lines):
        mark = line.strip()
        if mark == '"source": [':
            first = number + 1
        elif first is not None and mark in ("]", "],"):
            if number > first:
                yield lines[first:number]
            first = None


def _cell(number: int, cell: _Cell) -> list[str]:
    ran = f" In[{cell.execution_count}]" if cell.execution_count else ""
    lines = [f"--- cell {number}: {cell.cell_type}{ran} ---", _joined(cell.source)]
    for output in cell.outputs:
        lines += [f"--- output of cell {number} ---", _shortened(_output(output))]
    return lines


def _output(output: _Output) -> str:
    """Return the plain text of an output, and the media types of its other forms."""
    if output.ename:
        return f"{output.ename}: {output.evalue}"
    text = _joined(output.text or output.data.get("text/plain", ""))
    others = [f"[{name}]" for name in output.data if name != "text/plain"]
    return "\n".join([*([text] if text else []), *others])


def _joined(text: str | list[str]) -> str:
    return (text if isinstance(text, str) else "".join(text)).rstrip("\n")


def _shortened(text: str) -> str:
    lines = text.split("\n")
    if len(lines) > _MOST_LINES:
        half = _MOST_LINES // 2
        lines = [*lines[:half], f"[… {len(lines) - 2 * half} lines …]", *lines[-half:]]
        text = "\n".join(lines)
    if len(text) > _MOST_CHARACTERS:
        half = _MOST_CHARACTERS // 2
        text = f"{text[:half]}[… {len(text) - 2 * half} characters …]{text[-half:]}"
    return text
