"""Sessions: what the chat and the command line tell of them, and what is written about them: key → (English, Japanese)."""

SESSIONS: dict[str, tuple[str, str]] = {
    # --- the record in LOCALLLM.md
    "session.changed_files": ("changed {files}", "{files} を変更"),
    # --- resuming
    "session.resumed": ("Going on with {name} ({requests}).", "{name} を再開しました（{requests}）。"),
    "session.last_said": ("Last request: {words}", "最後の依頼: {words}"),
    "session.broken_off": (
        "The last session was broken off (“{request}”). /resume 1 goes on with it.",
        "前回のセッションは途中で途切れました（「{request}」）。/resume 1 で続きから再開できます。",
    ),
    "session.lost_before": (
        "The last run (“{request}”) was broken off before the model was asked.",
        "前回の実行（「{request}」）は、モデルに尋ねる前に途切れました。",
    ),
    "session.lost_answer": (
        "The last run (“{request}”) was broken off while the model was answering: what it had written is lost.",
        "前回の実行（「{request}」）は、モデルが答えている途中で途切れました。書きかけの答えは失われています。",
    ),
    "session.lost_call": (
        "The last run (“{request}”) was broken off while running {call}: whether that was finished is not known.",
        "前回の実行（「{request}」）は {call} の途中で途切れました。最後まで終わったかどうかは分かりません。",
    ),
    "session.lost_calls": (
        "The last run (“{request}”) was broken off before {calls} could run.",
        "前回の実行（「{request}」）は {calls} を実行する前に途切れました。",
    ),
    "session.lost_line": (
        "The log ends in the middle of a line: what was being written then is lost.",
        "記録は行の途中で終わっています。そのとき書いていた内容は失われました。",
    ),
    "session.lost_lines": (
        "{count} {count:?line/lines} of the log cannot be read and {count:?was/were} passed over.",
        "記録のうち {count} 行は読み取れないため飛ばしました。",
    ),
    "session.lost_entries": (
        "{count} {count:?entry of the log does not fit in and was/entries of the log do not fit together and were} passed over.",
        "記録のうち {count} 件は前後が合わないため飛ばしました。",
    ),
    "session.foreign": (
        "Not all of this session is known to be yours, for it lay in the project: what it holds is treated as a stranger's text.",
        "このセッションはプロジェクト内に置かれていたため、すべてがあなたのものとは確認できません。内容は他人の文章として扱います。",
    ),
    "session.not_kept": (
        "This session is not being kept: {reason}. It cannot be resumed later. "
        "Fix that and start again: what is said then is kept.",
        "このセッションは保存されていません: {reason}。あとで再開できません。"
        "原因を取り除いて起動し直すと、以後は保存されます。",
    ),
    "session.interrupted": (
        "[interrupted: the program ended before this was done]",
        "[中断: 終わる前にプログラムが終了しました]",
    ),
    # --- the chat
    "session.none": ("No sessions yet.", "セッションはまだありません。"),
    "session.none_other": ("There is no session but this one.", "今のセッションのほかにはありません。"),
    "session.none_found": ("Nothing was found for “{words}”.", "「{words}」に当たるものはありません。"),
    "session.more": (
        "… and {count} more: /sessions WORDS searches.",
        "… ほか {count} 件。/sessions 語句 で検索できます。",
    ),
    "session.how_to_resume": (
        "/resume NUMBER or the beginning of a name goes on with one.",
        "/resume 番号（または名前の始め）で再開します。",
    ),
    "session.turns": ("{count} {count:?request/requests}", "依頼 {count} 件"),
    "session.this": ("this one", "今のセッション"),
    "session.renamed": ("This session is called “{title}”.", "このセッションの名前は「{title}」です。"),
    "session.unnamed": ("This session has no name now.", "このセッションの名前を消しました。"),
    "session.nameless": (
        "This session has no name. /rename NAME gives it one.",
        "このセッションに名前はありません。/rename 名前 で付けられます。",
    ),
    "session.kept_later": (
        "It is kept, with its name, from your first request on.",
        "最初の依頼から、この名前で保存されます。",
    ),
    "session.forked": (
        "This goes on as {id} now; {old} stays as it was.",
        "ここからは {id} として続けます。{old} はそのまま残ります。",
    ),
    "session.files_stay": (
        "The conversation is that of the checkpoint; the files are as they are now.",
        "会話はチェックポイントの時点のもの、ファイルは今のままです。",
    ),
    "session.exported": ("Written: {file}", "書き出しました: {file}"),
    "session.overwrite": (
        "{file} is there already. Overwrite it? [y/N] ",
        "{file} はすでにあります。上書きしますか？ [y/N] ",
    ),
    "session.left_alone": ("Nothing was written.", "何も書き出していません。"),
    "slash.sessions": (
        "List the sessions of this project; with words, search them.",
        "このプロジェクトのセッションを一覧する。語句を付けると検索する。",
    ),
    "slash.resume": (
        "Go on with an earlier session; without a number or name, list them.",
        "以前のセッションを再開する。番号も名前もなければ一覧する。",
    ),
    "slash.rename": (
        "Give this session a name, or take it away.",
        "このセッションに名前を付ける（なしで取り消し）。名前のあるものは自動では削除されない。",
    ),
    "slash.fork": (
        "Go on in a copy of this session, or of what it was at a checkpoint.",
        "このセッション（番号を付ければそのチェックポイントの時点）の控えで続ける。元のものはそのまま残る。",
    ),
    "slash.export": (
        "Write this session into a file: Markdown, a web page, or JSON.",
        "このセッションを Markdown・ウェブページ・JSON のファイルに書き出す。既存のファイルは上書きしない。",
    ),
    # --- localllm history
    "history.delete_question": (
        "Delete {count} {count:?session/sessions} for good?",
        "{count} 件のセッションを完全に削除しますか？",
    ),
    "history.open": ("It is open in another program", "別のプログラムで開かれています"),
    "history.deleted": ("{count} deleted.", "{count} 件を削除しました。"),
    # --- exports
    "export.title": ("Session {id}", "セッション {id}"),
    "export.person": ("You", "あなた"),
    "export.model": ("Model", "モデル"),
    "export.project": ("Project", "プロジェクト"),
    "export.began": ("Begun", "開始"),
    "export.requests": ("Requests", "依頼"),
    "export.tokens": ("Tokens", "トークン"),
    "export.in_out": ("{read} read, {written} written", "入力 {read}、出力 {written}"),
    "export.thinking": ("Thinking", "思考"),
    "export.left_out": ("… {count} {count:?line/lines} left out", "… {count} 行省略"),
    "export.rewound": ("The conversation was taken back to before this.", "会話をこれより前に戻しました。"),
    "export.restored": ("Taking it back was undone.", "戻したのを取り消しました。"),
    "export.compacted": (
        "The conversation was summed up here to make room.",
        "空きを作るため、ここで会話を要約しました。",
    ),
    "export.resumed": ("Resumed", "再開"),
    "export.torn": (
        "{count} {count:?line/lines} of the log could not be read.",
        "記録の {count} 行は読み取れませんでした。",
    ),
    "export.pictures": ("({count} {count:?picture/pictures})", "（画像 {count} 枚）"),
}
