"""E17xx: LOCALLLM.md as a file. E87xx: what is kept in it."""

from localllm.base.i18n.errors.form import Entries

NOTES: Entries = {
    "memory_unusable": (
        "E1701",
        ("Cannot use {file}.", "{reason}.", "It was left as it is. {fix}"),
        ("{file} を使えません。", "{reason}。", "変更はしていません。{fix}"),
    ),
    "memory_unreachable": (
        "E1702",
        ("Cannot read or write {file}.", "{reason}.", "Nothing was changed; check permissions and free space."),
        ("{file} を読み書きできません。", "{reason}。", "何も変更していません。権限と空き容量を確かめてください。"),
    ),
    "memory_read_only": (
        "E1705",
        (
            "{file} cannot be changed: {reason}.",
            "It is read, but nothing can be written in this project.",
            "To note anything, work in a copy of the project that can be written to.",
        ),
        (
            "{file} を変更できません: {reason}。",
            "読むことはできますが、このプロジェクトには何も書き込めません。",
            "メモするには、書き込めるコピーで作業してください。",
        ),
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
        (
            "There is no “{wanted}” in the notes.",
            "{near}",
            "Give an id or a number of the list, or how the text begins.",
        ),
        ("「{wanted}」は記録にありません。", "{near}", "一覧の ID か番号、または本文の始めを指定してください。"),
    ),
    "memory_vague": (
        "E8707",
        (
            "“{wanted}” is too little to remove something by.",
            "It may mean {names}.",
            "Give the id, or more of the text.",
        ),
        ("「{wanted}」だけでは短すぎて消せません。", "候補: {names}。", "ID か、本文をもう少し長く指定してください。"),
    ),
    "memory_two_priorities": (
        "E8708",
        ("“{text}” has two priorities: {first} and {second}.", "", "Give one of them. Nothing was changed."),
        (
            "「{text}」に優先度が二つあります（{first}と{second}）。",
            "",
            "どちらか一つにしてください。変更はしていません。",
        ),
    ),
    "memory_secret": (
        "E8709",
        (
            "There seems to be a key or a password in “{text}”.",
            "The notes are a file of the project, and the model is told of them. Nothing was kept.",
            "Say where it is kept instead, such as the name of a variable.",
        ),
        (
            "「{text}」にはキーやパスワードが入っているようです。",
            "記録はプロジェクトのファイルに残り、モデルにも渡されます。記録していません。",
            "値そのものでなく、変数名など、その置き場所を書いてください。",
        ),
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
    "memory_too_many": (
        "E8705",
        (
            "That would be {count} TODOs at once.",
            "At most {limit} are put on the list together.",
            "Take a part of it, such as one section.",
        ),
        (
            "一度に {count} 件の TODO になります。",
            "まとめて追加できるのは {limit} 件までです。",
            "一つの節など、一部だけを指定してください。",
        ),
    ),
    "todo_file_unreadable": (
        "E8706",
        (
            "“{file}” cannot be read as a plan.",
            "{reason}.",
            "Name a text file of up to {limit:,} bytes, or write what is to be done itself.",
        ),
        (
            "「{file}」を計画として読めません。",
            "{reason}。",
            "{limit:,} バイトまでのテキストファイルを指定するか、内容を直接書いてください。",
        ),
    ),
    "memory_bad_kind": (
        "E8704",
        ("“{value}” is not possible.", "", "One of: {choices}."),
        ("「{value}」は使えません。", "", "次のどれかです: {choices}。"),
    ),
}
