"""E175x: sessions that lie in the project's folder."""

from localllm.base.i18n.errors.form import Entries

SESSIONS: Entries = {
    "session_unknown": (
        "E1750",
        ("There is no session “{wanted}” in this project.", "", "See which there are: localllm history list."),
        (
            "このプロジェクトにセッション「{wanted}」はありません。",
            "",
            "一覧は localllm history list で確かめてください。",
        ),
    ),
    "session_ambiguous": (
        "E1751",
        ("“{wanted}” means several sessions.", "{names}.", "Give more of its name."),
        ("「{wanted}」に当たるセッションが複数あります。", "{names}。", "もう少し長く指定してください。"),
    ),
    "session_none": (
        "E1752",
        ("There is no session to continue.", "Nothing was said in this project yet.", "Begin one: localllm."),
        (
            "続けるセッションがありません。",
            "このプロジェクトではまだ会話がありません。",
            "localllm で始めてください。",
        ),
    ),
    "session_open": (
        "E1753",
        (
            "The session {id} is open in another program.",
            "Two that write into one conversation would spoil it.",
            "Leave it there, or continue with a copy: /fork in that chat, then /resume here.",
        ),
        (
            "セッション {id} は別のプログラムで開かれています。",
            "ひとつの会話に二つのプログラムが書き込むと壊れます。",
            "そちらを終了するか、そちらのチャットで /fork した控えをここで /resume してください。",
        ),
    ),
    "session_undeletable": (
        "E1763",
        ("The session {id} cannot be deleted.", "{reason}.", "It is still there; fix that first."),
        ("セッション {id} を削除できません。", "{reason}。", "まだ残っています。先に原因を取り除いてください。"),
    ),
    "session_unreadable": (
        "E1754",
        ("The session {id} cannot be read.", "{reason}.", "Begin a new one: localllm."),
        ("セッション {id} を読み込めません。", "{reason}。", "localllm で新しく始めてください。"),
    ),
    "session_is_this": (
        "E1755",
        ("That is the session you are in.", "", ""),
        ("それは今のセッションです。", "", ""),
    ),
    "session_empty": (
        "E1756",
        (
            "Nothing of this session has been kept yet.",
            "Nothing was said so far.",
            "It is kept from your first request on: say something first.",
        ),
        (
            "このセッションの記録はまだありません。",
            "まだ何も話していません。",
            "最初の依頼から保存されます。先に何か話してください。",
        ),
    ),
    "session_unkept": (
        "E1764",
        ("This session is not being kept.", "{reason}.", "Fix that and start again: what is said then is kept."),
        ("このセッションは保存されていません。", "{reason}。", "原因を取り除いて起動し直すと、以後は保存されます。"),
    ),
    "session_unwritable": (
        "E1757",
        ("Cannot write {file}.", "{reason}.", "Check that its folder is there, its permissions, and free space."),
        ("{file} に書き込めません。", "{reason}。", "フォルダがあるか、権限と空き容量を確かめてください。"),
    ),
    "export_exists": (
        "E1758",
        ("{file} is there already.", "", "Give another name, or remove it first."),
        ("{file} はすでにあります。", "", "別の名前を指定するか、先に削除してください。"),
    ),
    "export_unknown": (
        "E1762",
        ("“{wanted}” is no format.", "", "md, html or json; or a file's name that ends so, as {wanted}.md."),
        (
            "「{wanted}」という形式はありません。",
            "",
            "md、html、json か、{wanted}.md のようにその拡張子の付いたファイル名を指定してください。",
        ),
    ),
    "session_nothing_before": (
        "E1761",
        ("Nothing was said before checkpoint {point}.", "", "/clear begins a new conversation."),
        ("チェックポイント {point} より前には何も話していません。", "", "新しい会話は /clear で始められます。"),
    ),
    "history_needs_yes": (
        "E1760",
        ("Nobody is there to be asked whether these sessions may be deleted.", "", "Give --yes."),
        ("削除してよいか尋ねる相手がいません。", "", "--yes を付けてください。"),
    ),
    "session_no_point": (
        "E1759",
        ("The session has no checkpoint “{wanted}”.", "", "See which there are: /rewind."),
        ("このセッションにチェックポイント「{wanted}」はありません。", "", "一覧は /rewind で確かめてください。"),
    ),
}
