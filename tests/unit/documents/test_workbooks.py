"""The sheets of Excel workbooks, read in this process; the helper process runs the same functions."""

import io
import zipfile

import msgspec
import pytest

from localllm.documents import workbook_process
from localllm.documents.workbook_process import main, number_text
from localllm.documents.workbooks import Sheet, Workbook, column_letters, is_workbook, workbook_text
from tests.support.each import each
from tests.support.workbooks import make_workbook, table

_FORMATS = "\n".join(
    (
        "yyyy\\-mm\\-dd",
        "[$-411]ggge&quot;年&quot;m&quot;月&quot;d&quot;日&quot;",
        "h:mm AM/PM",
        "[h]:mm",
        "0.0%",
        "#,##0 &quot;days&quot;",
        "[Red]0.00E+00",
        "mmm;@",
    )
)


def book_of(data: bytes, room: int = 100_000) -> Workbook:
    return msgspec.convert(main(data, room), Workbook)


def cells_of(rows: str, shared: str = "", formats: str = "", properties: str = "") -> list[list[str]]:
    made = make_workbook({"A": rows}, shared=shared, formats=formats, properties=properties)
    (sheet,) = book_of(made).sheets
    return [cells for _, cells in sheet.rows]


def test_cells_of_every_kind() -> None:
    shared = (
        "<si><t>東京</t><rPh><t>トウキョウ</t></rPh></si>"
        "<si><r><t>bo</t></r><r><t xml:space='preserve'>ld </t></r></si>"
        "<si><t>a_x000D__x005F_x000D_</t></si>"
    )
    row = (
        '<row r="1"><c r="A1" t="s"><v>0</v></c><c r="B1" t="s"><v>1</v></c><c r="C1" t="s"><v>2</v></c>'
        '<c r="E1" t="inlineStr"><is><t>in</t><rPh><t>x</t></rPh></is></c><c r="F1" t="b"><v>1</v></c>'
        '<c r="G1" t="e"><v>#N/A</v></c><c r="H1" t="str"><f>A1</f><v>got</v></c>'
        '<c r="I1"><f>SUM(B2:B9)</f><v>12</v></c>'
        '<c r="J1"><f>B1&amp;"x"</f></c><c r="K1" s="9"/><c r="L1" t="d"><v>2026-10-12T09:30</v></c></row>'
    )
    assert cells_of(row, shared=shared) == [
        ["東京", "bold ", "a\r_x000D_", "", "in", "TRUE", "#N/A", "got", "12", '=B1&"x"', "", "2026-10-12 09:30"]
    ]


def test_numbers_are_shown_by_their_format() -> None:
    values = ["46307", "46307.5", "0.375", "1.5", "0.075", "7", "1234", "46307"]
    row = "".join(f'<c s="{style}"><v>{value}</v></c>' for style, value in enumerate(values, 1))
    assert cells_of(f"<row>{row}</row>", formats=_FORMATS) == [
        ["2026-10-12", "2026-10-12 12:00", "09:00", "36:00", "7.5%", "7", "1234", "2026-10-12"]
    ]


@each(
    ("value", "form", "text"),
    [
        ("1327405672", "", "1327405672"),
        ("0.30000000000000004", "", "0.3"),
        ("1E+21", "", "1e+21"),
        ("-12.50", "", "-12.5"),
        ("1", "date", "1900-01-01"),
        ("59", "date", "1900-02-28"),
        ("61", "date", "1900-03-01"),
        ("2958465", "date", "9999-12-31"),
        ("2958466", "date", "2958466"),
        ("-1", "date", "-1"),
        ("46307.999999", "date", "2026-10-13"),
        ("1.25", "time", "30:00"),
        ("46307.25", "time", "2026-10-12 06:00"),
        ("0.50071", "date", "12:01:01"),
        ("nan", "date", "nan"),
        ("?", "date", "?"),
    ],
)
def test_a_number(value: str, form: str, text: str) -> None:
    assert number_text(value, form) == text


def test_dates_may_count_from_1904() -> None:
    row = '<row><c s="1"><v>44845</v></c></row>'
    assert cells_of(row, formats="d/m/yy", properties='date1904="1"') == [["2026-10-12"]]


def test_the_text_of_a_workbook_has_its_rows_by_number_under_each_sheet() -> None:
    rows = (
        '<row r="3"><c r="B3"><v>1</v></c></row><row r="5"><c r="A5" t="inlineStr"><is><t>a, "b"\nc</t></is></c></row>'
        '<row r="9"><c r="AA9"><v>2</v></c></row>'
    )
    text = workbook_text(book_of(make_workbook({"売上": rows, "x": "", "y": table("a")}, hidden=("y",))))
    assert text.split("\n") == [
        "--- sheet 1 of 3: 売上 (rows 3-9, columns A-AA) ---",
        "[rows 1-2 are empty]",
        ",1",
        "",
        '"a, ""b""\\nc"',
        "[rows 6-8 are empty]",
        "," * 26 + "2",
        "--- sheet 2 of 3: x (empty) ---",
        "--- sheet 3 of 3: y (hidden, rows 1-1, columns A-A) ---",
        "a",
        "",
    ]


def test_what_has_no_room_is_left_out_and_said() -> None:
    book = book_of(make_workbook({"a": table("one", "two"), "b": table("three")}), room=7)
    assert workbook_text(book).split("\n")[1:3] == ["one", "[the rest is left out: it is too much text]"]


def test_far_columns_cost_room() -> None:
    rows = "".join(f'<row r="{at}"><c r="XFD{at}"><v>1</v></c></row>' for at in range(1, 9))
    book = book_of(make_workbook({"a": rows}), room=40_000)
    assert (book.is_cut, len(book.sheets[0].rows)) == (True, 2)


_BOMB = '<!DOCTYPE a [<!ENTITY b "bbbbbbbb"><!ENTITY c "&b;&b;&b;&b;">]>'


@pytest.mark.parametrize(
    ("data", "trouble"),
    [
        (b"PK\x03\x04 broken", "broken"),
        (make_workbook({"a": table("x")})[:-200], "broken"),
        (make_workbook({"a": ""}, more={"xl/workbook.xml": "<workbook"}), "broken"),
        (make_workbook({"a": ""}, more={"xl/worksheets/sheet1.xml": f"{_BOMB}<worksheet>&c;</worksheet>"}), "broken"),
        (make_workbook({"a": '<row r="0"><c r="A0"><v>1</v></c></row>'}), "broken"),
        (make_workbook({"a": '<row r="1"><c r="B1"><v>1</v></c><c r="A1"><v>1</v></c></row>'}), "broken"),
        (
            make_workbook(
                {"a": ""},
                more={
                    "_rels/.rels": '<Relationships><Relationship Id="r" Type="x/officeDocument" '
                    'Target="xl/workbook.bin"/></Relationships>'
                },
            ),
            "binary",
        ),
    ],
)
def test_what_cannot_be_read(data: bytes, trouble: str) -> None:
    assert book_of(data).trouble == trouble


def test_what_is_unpacked_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workbook_process, "_MOST_UNPACKED", 1_000_000)
    data = make_workbook({"a": " " * 2_000_000})
    assert len(data) < 10_000
    assert book_of(data).trouble == "large"


def test_other_archives_are_no_workbooks() -> None:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        archive.writestr("word/document.xml", "<document/>")
    assert book_of(made.getvalue()).trouble == "broken"


@each(
    ("name", "head", "is_one"),
    [
        ("a.XLSX", b"PK\x03\x04", True),
        ("a.xlsm", b"PK\x03\x04", True),
        ("a.zip", b"PK\x03\x04", False),
        ("a.xls", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", True),
        ("a.xlsx", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", True),
        ("a.doc", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", False),
        ("a.xls", b"<html>", False),
        ("a.xlsx", b"a,b\n", False),
    ],
)
def test_what_is_a_workbook(name: str, head: bytes, is_one: bool) -> None:
    assert is_workbook(name, head) is is_one


def test_columns_have_letters() -> None:
    assert [column_letters(number) for number in (1, 26, 27, 702, 703, 16_384)] == ["A", "Z", "AA", "ZZ", "AAA", "XFD"]
    assert workbook_process.column_number("XFD") == 16_384


def test_a_sheet_of_a_name_with_a_line_break_has_one_line() -> None:
    assert workbook_text(Workbook([Sheet("a\nb", [])])) == "--- sheet 1 of 1: a b (empty) ---\n"
