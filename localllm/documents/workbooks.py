"""Extract the sheets of an Excel workbook (.xlsx, .xlsm) as rows, in a helper process."""

import csv
import io
from collections.abc import Iterator, Sequence
from typing import Any, Literal

import msgspec

from localllm.base.own_modules import source_of
from localllm.documents.helper_process import DiedError, SlowError, ask

_SECONDS = 60.0
_MOST_TEXT = 20_000_000  # characters

ENDINGS = (".xlsx", ".xlsm", ".xltx", ".xltm")
"""The names of workbooks that can be read."""
OLD_ENDINGS = (".xls", ".xlt", ".xlsb", *ENDINGS)
"""The names of those that cannot, if they are no archives: an .xlsx file with a password is none."""

_OLD = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_LOCKED = "EncryptedPackage".encode("utf-16-le")

Trouble = Literal["broken", "slow", "old", "locked"]


class WorkbookError(Exception):
    """Why there are no sheets: the file is `broken`, reading it was too `slow` or gave too much, it has an `old` (or
    binary) format, or is `locked` by a password."""

    def __init__(self, trouble: Trouble) -> None:
        super().__init__(trouble)
        self.trouble: Trouble = trouble


class Sheet(msgspec.Struct, frozen=True):
    """A sheet: its name, and its filled rows, each with its number and its cells from column A on."""

    name: str
    rows: list[tuple[int, list[str]]]
    is_hidden: bool = False


class Workbook(msgspec.Struct, frozen=True):
    """The sheets in their order; `is_cut`: there is more text than can be read."""

    sheets: list[Sheet] = []
    is_cut: bool = False
    trouble: Literal["", "broken", "binary", "large"] = ""


def is_workbook(name: str, head: bytes) -> bool:
    """Return whether a file with this name and these first bytes is a workbook, whether it can be read or not."""
    is_archive = head.startswith(b"PK\x03\x04")
    return name.lower().endswith(ENDINGS if is_archive else OLD_ENDINGS) and (is_archive or head.startswith(_OLD))


async def read_workbook(data: bytes, seconds: float = _SECONDS) -> Workbook:
    """Read the sheets of a workbook. Raises WorkbookError."""
    if data.startswith(_OLD):
        raise WorkbookError("locked" if _LOCKED in data else "old")
    source = source_of("localllm.documents.workbook_process")
    try:
        sent = len(source).to_bytes(8, "big") + source + data
        found = await ask(serve, "", sent, Workbook, _MOST_TEXT, seconds=seconds)
    except SlowError as error:
        raise WorkbookError("slow") from error
    except DiedError as error:
        raise WorkbookError("broken") from error
    match found.trouble:
        case "":
            return found
        case "binary":
            raise WorkbookError("old")
        case "large":
            raise WorkbookError("slow")
        case _:
            raise WorkbookError("broken")


def workbook_text(book: Workbook) -> str:
    """Write the sheets one after the other as CSV, each under a line with its name and extent. Rows without content
    are noted, so that the numbers of the others can be told."""
    parts = [
        "\n".join([f"--- sheet {number} of {len(book.sheets)}: {_title(sheet)} ---", *_lines(sheet.rows)]) + "\n"
        for number, sheet in enumerate(book.sheets, 1)
        if sheet.rows or not book.is_cut
    ]
    return "".join(parts) + ("[the rest is left out: it is too much text]\n" if book.is_cut else "")


def _title(sheet: Sheet) -> str:
    if sheet.rows:
        widest = max(len(cells) for _, cells in sheet.rows)
        extent = f"rows {sheet.rows[0][0]}-{sheet.rows[-1][0]}, columns A-{column_letters(widest)}"
    else:
        extent = "empty"
    return f"{' '.join(sheet.name.split())} ({'hidden, ' if sheet.is_hidden else ''}{extent})"


def _lines(rows: Sequence[tuple[int, list[str]]]) -> Iterator[str]:
    expected = 1
    for number, cells in rows:
        match number - expected:
            case 0:
                pass
            case 1:
                yield ""
            case _:
                yield f"[rows {expected}-{number - 1} are empty]"
        yield _csv_line(cells)
        expected = number + 1


def _csv_line(cells: Sequence[str]) -> str:
    line = io.StringIO()
    csv.writer(line, lineterminator="").writerow([cell.replace("\n", "\\n") for cell in cells])
    return line.getvalue()


def column_letters(number: int) -> str:
    """Return the name of a column: A for 1, AA for 27."""
    letters = ""
    while number:
        number, rest = divmod(number - 1, 26)
        letters = chr(ord("A") + rest) + letters
    return letters


def serve() -> None:
    """Run in the helper process: run the source that its input begins with on the workbook behind it, print JSON."""
    import json
    import sys
    from contextlib import suppress

    with suppress(ImportError, OSError, ValueError):  # Windows has no limits; macOS rejects this one
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (int(sys.argv[3]), int(sys.argv[3])))
    size = int.from_bytes(sys.stdin.buffer.read(8), "big")
    names: dict[str, object] = {"__name__": "workbook_process"}
    exec(compile(sys.stdin.buffer.read(size), "workbook_process", "exec"), names)  # noqa: S102 - our own
    main: Any = names["main"]
    found = main(sys.stdin.buffer.read(), int(sys.argv[4]))
    sys.stdout.buffer.write(json.dumps(found).encode())
