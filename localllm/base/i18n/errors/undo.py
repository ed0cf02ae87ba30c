"""What could not be taken back, and why (of E8xxx)."""

from localllm.base.i18n.errors.form import Entries

UNDO: Entries = {
    "undo_nothing": (
        "E8070",
        ("There is nothing to undo.", "", ""),
        ("取り消す変更がありません。", "", ""),
    ),
    "rewind_unknown": (
        "E8074",
        ("There is no point “{name}” to go back to.", "", "{points}"),
        ("「{name}」という戻り先はありません。", "", "{points}"),
    ),
    "undo_changed_since": (
        "E8071",
        (
            "{path} was changed by someone else after the change to undo; it was left as it is.",
            "",
            "The version from before is kept in {backup}.",
        ),
        (
            "{path} はその変更のあとに別の変更を受けているため、そのままにしました。",
            "",
            "変更前の内容は {backup} にあります。",
        ),
    ),
    "undo_changed_since_made": (
        "E8082",
        (
            "{path} was made by the change to undo, and changed by someone else after it; it was left as it is.",
            "",
            "To take it back all the same, delete the file.",
        ),
        (
            "{path} はその変更で新しく作られ、そのあとに別の変更を受けているため、そのままにしました。",
            "",
            "それでも取り消すなら、ファイルを削除してください。",
        ),
    ),
    "undo_in_the_way": (
        "E8084",
        (
            "{path} cannot come back: {other} stands in its place by now, and was left as it is.",
            "",
            "What was lost is the ref {aside}; rename one of them.",
        ),
        (
            "{path} は戻せません。その場所に {other} があるため、そのままにしました。",
            "",
            "失われた参照は {aside} に置きました。どちらかの名前を変えてください。",
        ),
    ),
    "undo_cannot_keep": (
        "E8072",
        (
            "The present version of {path} cannot be kept in {folder}: {reason}.",
            "Nothing was changed.",
            "Make room there, or set safety.auto_backup = false.",
        ),
        (
            "{path} の現在の内容を {folder} に保存できません: {reason}。",
            "何も変更していません。",
            "空き容量を作るか、safety.auto_backup = false にしてください。",
        ),
    ),
    "undo_no_folder": (
        "E8076",
        (
            "Earlier versions of files cannot be kept in {folder}: {reason}.",
            "Nothing was changed.",
            "Make it a folder that can be written to (LOCALLLM_STATE_DIR names another), or set safety.auto_backup = "
            "false.",
        ),
        (
            "ファイルの以前の版を {folder} に保存できません: {reason}。",
            "何も変更していません。",
            "書き込めるフォルダにするか（LOCALLLM_STATE_DIR で別の場所を指定可）、safety.auto_backup = false にしてください。",
        ),
    ),
    "undo_not_kept": (
        "E8073",
        ("The earlier version of {path} is no longer kept.", "", "It was too old, or there was too much of it."),
        ("{path} の以前の内容はもう保存されていません。", "", "古すぎたか、容量の上限を超えたためです。"),
    ),
    "undo_busy": (
        "E8075",
        ("A file is just being changed; nothing was taken back.", "", "Try again when the change is done."),
        ("ファイルの変更が進行中のため、何も取り消していません。", "", "変更が終わってからもう一度試してください。"),
    ),
}
