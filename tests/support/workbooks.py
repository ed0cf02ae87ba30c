"""Small Excel workbooks, with the parts that Excel writes."""

import io
import zipfile
from collections.abc import Mapping

_MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006/relationships"


def make_workbook(
    sheets: Mapping[str, str],
    *,
    shared: str = "",
    formats: str = "",
    hidden: tuple[str, ...] = (),
    properties: str = "",
    more: Mapping[str, str] | None = None,
) -> bytes:
    """A workbook of `sheets`: the XML of their rows by name. `shared`: the XML of the shared strings; `formats`: that
    of the number formats, which are the styles from 1 on; `more`: parts that replace others."""
    own = "".join(f'<numFmt numFmtId="{164 + at}" formatCode="{one}"/>' for at, one in enumerate(formats.split("\n")))
    styles = "".join(f'<xf numFmtId="{164 + at}"/>' for at in range(formats.count("\n") + 1))
    states = {name: "hidden" if name in hidden else "visible" for name in sheets}
    listed = "".join(
        f'<sheet name="{name}" sheetId="{number}" state="{states[name]}" r:id="rId{number}"/>'
        for number, name in enumerate(sheets, 1)
    )
    links = "".join(
        f'<Relationship Id="rId{number}" Type="{_OFFICE}/worksheet" Target="worksheets/sheet{number}.xml"/>'
        for number in range(1, len(sheets) + 1)
    )
    parts = {
        "_rels/.rels": f'<Relationships xmlns="{_PACKAGE}"><Relationship Id="rId1" Type="{_OFFICE}/officeDocument" '
        'Target="xl/workbook.xml"/></Relationships>',
        "xl/workbook.xml": f'<workbook xmlns="{_MAIN}" xmlns:r="{_OFFICE}"><workbookPr {properties}/>'
        f"<sheets>{listed}</sheets></workbook>",
        "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{_PACKAGE}">{links}'
        f'<Relationship Id="rIdA" Type="{_OFFICE}/sharedStrings" Target="/xl/sharedStrings.xml"/>'
        f'<Relationship Id="rIdB" Type="{_OFFICE}/styles" Target="styles.xml"/></Relationships>',
        "xl/sharedStrings.xml": f'<sst xmlns="{_MAIN}">{shared}</sst>',
        "xl/styles.xml": f'<styleSheet xmlns="{_MAIN}"><numFmts>{own}</numFmts><cellStyleXfs><xf numFmtId="9"/>'
        f'</cellStyleXfs><cellXfs><xf numFmtId="0"/>{styles}</cellXfs></styleSheet>',
    }
    for number, rows in enumerate(sheets.values(), 1):
        parts[f"xl/worksheets/sheet{number}.xml"] = (
            f'<worksheet xmlns="{_MAIN}"><sheetData>{rows}</sheetData></worksheet>'
        )
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in (parts | dict(more or {})).items():
            archive.writestr(name, text)
    return made.getvalue()


def table(*rows: str) -> str:
    """The XML of rows of text, with cells separated by a comma."""
    lines: list[str] = []
    for number, row in enumerate(rows, 1):
        cells = "".join(
            f'<c r="{chr(ord("A") + at)}{number}" t="inlineStr"><is><t>{cell}</t></is></c>'
            for at, cell in enumerate(row.split(","))
            if cell
        )
        lines.append(f'<row r="{number}">{cells}</row>')
    return "".join(lines)
