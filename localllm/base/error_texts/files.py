"""E81xx: files that cannot be read as text. The model reads them too."""

from localllm.base.error_texts.text import ErrorText

FILES = {
    "picture_too_large": ErrorText(
        "E8100",
        "{path} is a {form} image of {width} × {height} pixels and {size:,} bytes; the limit is {limit:,} bytes.",
        "",
        "Make a smaller copy with run_command, such as: magick {path} -resize 1600x1600 smaller.png",
    ),
    "pdf_missing": ErrorText(
        "E8101",
        "{path} is a PDF, and the package that reads them is not installed.",
        "",
        "The user can install it: pip install 'localllm[web]'. Or try run_command with pdftotext.",
    ),
    "pdf_encrypted": ErrorText(
        "E8102", "{path} is a password-protected PDF.", "", "Ask the user for a copy without one."
    ),
    "pdf_broken": ErrorText("E8103", "{path} is a damaged PDF that cannot be read."),
    "pdf_slow": ErrorText(
        "E8104", "{path} is a PDF that takes too long to read.", "", "Try run_command with pdftotext."
    ),
    "pdf_pictures": ErrorText(
        "E8105",
        "{path} is a PDF without any text: its pages ({pages}) are pictures (a scan).",
        "",
        "Run text recognition on it first, such as ocrmypdf.",
    ),
    "docx_missing": ErrorText(
        "E8111",
        "{path} is a Word file, and the package that reads them is not installed.",
        "",
        "The user can install it: pip install 'localllm[rag]'. Or try run_command: unzip -p {path} word/document.xml",
    ),
    "docx_broken": ErrorText("E8112", "{path} is a damaged Word file that cannot be read."),
    "docx_slow": ErrorText(
        "E8113", "{path} is a Word file that takes too long to read.", "", "Ask the user for its text."
    ),
    "file_not_editable": ErrorText(
        "E8114",
        "{path} cannot be edited as text ({reason}).",
        "",
        "read_file shows its text. To change it, run a program that can, such as Python with a package for such files.",
    ),
    "workbook_broken": ErrorText("E8107", "{path} is a damaged Excel file that cannot be read."),
    "workbook_slow": ErrorText(
        "E8108",
        "{path} is an Excel file with too much in it to be read here.",
        "",
        "Ask the user for the sheet as CSV.",
    ),
    "workbook_old": ErrorText(
        "E8109",
        "{path} is an Excel file in an old or binary format (.xls, .xlsb).",
        "",
        "Ask the user to save it as .xlsx or CSV. Or try run_command: libreoffice --headless --convert-to xlsx {path}",
    ),
    "workbook_locked": ErrorText(
        "E8110", "{path} is a password-protected Excel file.", "", "Ask the user for a copy without one."
    ),
}
