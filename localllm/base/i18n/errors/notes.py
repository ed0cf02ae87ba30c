"""E17xx: LOCALLLM.md as a file. E87xx: what is kept in it."""

from localllm.base.i18n.errors.form import Entries

NOTES: Entries = {
    "memory_unusable": (
        "E1701",
        ("Cannot use {file}.", "{reason}.", "It was left as it is. Save it as UTF-8 text, or move it away."),
        (
            "{file} を使えません。",
            "{reason}。",
            "変更はしていません。UTF-8 のテキストで保存し直すか、別の場所に移してください。",
        ),
    ),
    "memory_unreachable": (
        "E1702",
        ("Cannot read or write {file}.", "{reason}.", "Nothing was changed; check permissions and free space."),
        ("{file} を読み書きできません。", "{reason}。", "何も変更していません。権限と空き容量を確かめてください。"),
    ),
    "memory_busy": (
        "E1703",
        ("Cannot change {file} now.", "{reason}.", "Nothing was lost. Try again in a moment."),
        (
            "いまは {file} を変更できません。",
            "{reason}。",
            "失われたものはありません。少し待ってもう一度試してください。",
        ),
    ),
    "memory_layout": (
        "E1704",
        (
            "The section's layout does not allow this change.",
            "{reason}.",
            "Nothing was changed. Edit the file by hand, or put the list right: one item a line, each with “- ”.",
        ),
        (
            "この見出しの書き方では変更できません。",
            "{reason}。",
            "何も変更していません。手で編集するか、一行に一項目、行頭「- 」の形に直してください。",
        ),
    ),
    "memory_unknown": (
        "E8701",
        ("Nothing is kept that “{wanted}” means.", "", "Give an id or a number of the list, or how the text begins."),
        ("「{wanted}」に当たるものはありません。", "", "一覧の ID か番号、または本文の始めを指定してください。"),
    ),
    "memory_ambiguous": (
        "E8702",
        ("“{wanted}” means several.", "{names}.", "Give the id."),
        ("「{wanted}」に当たるものが複数あります。", "{names}。", "ID で指定してください。"),
    ),
    "memory_text_empty": (
        "E8703",
        ("There is nothing to keep.", "The first line of the text has no letter or digit.", "Give a text."),
        ("書き留める内容がありません。", "本文の一行目に文字がありません。", "本文を指定してください。"),
    ),
    "memory_bad_kind": (
        "E8704",
        ("“{value}” is not possible.", "", "One of: {choices}."),
        ("「{value}」は使えません。", "", "次のどれかです: {choices}。"),
    ),
}
