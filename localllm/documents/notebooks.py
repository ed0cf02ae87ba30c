"""Convert Jupyter notebooks to text: numbered cells with shortened outputs."""

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
