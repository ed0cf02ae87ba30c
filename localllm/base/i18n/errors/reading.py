"""E8100 to E8119: what cannot be read of a file that is more than plain text. Read by the model as well."""

from localllm.base.i18n.errors.form import Entries

READING: Entries = {
    "picture_too_large": (
        "E8100",
        (
            "{path} is a {form} picture of {width} × {height} pixels and {size:,} bytes; {limit:,} bytes can be shown.",
            "",
            "Make a smaller copy with run_command, such as: magick {path} -resize 1600x1600 smaller.png",
        ),
        (
            "{path} は {form} 画像で（{width} × {height} ピクセル、{size:,} バイト）、{limit:,} バイトを超えるものは見られません。",
            "",
            "run_command で小さい写しを作ってください（例: magick {path} -resize 1600x1600 smaller.png）。",
        ),
    ),
    "pdf_missing": (
        "E8101",
        (
            "{path} is a PDF, and the package that reads them is not installed.",
            "",
            "The user can install it: pip install 'localllm[web]'. Or try run_command with pdftotext.",
        ),
        (
            "{path} は PDF ですが、読むためのパッケージがありません。",
            "",
            "利用者が pip install 'localllm[web]' で入れられます。または run_command の pdftotext を試してください。",
        ),
    ),
    "pdf_encrypted": (
        "E8102",
        ("{path} is a PDF locked with a password.", "", "Ask the user for a copy without one."),
        ("{path} はパスワード付きの PDF です。", "", "パスワードのない写しを利用者に頼んでください。"),
    ),
    "pdf_broken": (
        "E8103",
        ("{path} is a PDF that cannot be read: it is broken.", "", ""),
        ("{path} は壊れていて読めない PDF です。", "", ""),
    ),
    "pdf_slow": (
        "E8104",
        ("{path} is a PDF that takes too long to read.", "", "Try run_command with pdftotext."),
        ("{path} は読むのに時間がかかりすぎる PDF です。", "", "run_command の pdftotext を試してください。"),
    ),
    "pdf_pictures": (
        "E8105",
        (
            "{path} is a PDF of {pages} {pages:?page/pages} without any text: they are pictures (a scan).",
            "",
            "Its text would have to be recognised first, such as with ocrmypdf.",
        ),
        (
            "{path} は {pages} ページの PDF ですが、画像だけで文字がありません（スキャン）。",
            "",
            "先に ocrmypdf などで文字認識する必要があります。",
        ),
    ),
}
