"""What is said of sub-agents and of what several of them do together: key → (English, Japanese)."""

DELEGATION: dict[str, tuple[str, str]] = {
    "delegate.last_step": (
        "[This is your last step. Do not call a tool: answer now with what you have found.]",
        "[これが最後のステップです。ツールを呼び出さず、見つけたことを今すぐ回答してください。]",
    ),
    "delegate.unfinished": (
        "Not finished after {steps} {steps:?step/steps} ({reason}). What was seen:",
        "{steps} ステップで完了しませんでした（{reason}）。確認したもの:",
    ),
    "delegate.saw_nothing": ("- nothing", "- なし"),
    "delegate.cut": ("[… the rest of the finding is left out]", "[… 結果の残りは省略]"),
    "delegate.started": ("started", "開始"),
    "delegate.done": ("done, {count} {count:?step/steps}", "完了（{count} ステップ）"),
    "delegate.ended": ("ended after {count} {count:?step/steps}: {status}", "{count} ステップで終了: {status}"),
    "delegate.status.done": ("done", "完了"),
    "delegate.status.limit": ("limit reached", "上限に到達"),
    "delegate.status.stuck": ("stuck", "行き詰まり"),
    "delegate.status.refused": ("refused", "拒否"),
    "delegate.status.error": ("error", "エラー"),
    "delegate.status.interrupted": ("interrupted", "中断"),
    "delegate.wants": ("{agent}: {summary}", "{agent}: {summary}"),
    "explore.found": ("found an answer in {count} {count:?step/steps}", "{count} ステップで回答を見つけました"),
    "explore.not_found": ("not found within {count} {count:?step/steps}", "{count} ステップ以内に見つかりませんでした"),
    "coordinate.usage": (
        "/coordinate TASK: what several agents are to do",
        "/coordinate タスク: 複数のエージェントに行わせること",
    ),
    "coordinate.planner": ("split", "分割"),
    "coordinate.plan": (
        "{count} {count:?part, done by one agent:/parts, done by one agent each:}",
        "{count} 個の部分に分け、それぞれを別のエージェントが行います:",
    ),
    "coordinate.part": ("• {title} ({kind})", "• {title}（{kind}）"),
    "coordinate.reads": ("only reads", "読み取りのみ"),
    "coordinate.writes": ("may change files", "ファイルを変更可"),
    "coordinate.untitled": ("part {number}", "部分 {number}"),
    "coordinate.whole": ("the task", "タスク全体"),
    "coordinate.not_split": (
        'That was not JSON of the form {{"subtasks": [{{"title": …, "instructions": …, "writes": …}}]}} with at most 4 parts. Answer with that alone.',
        '{{"subtasks": [{{"title": …, "instructions": …, "writes": …}}]}} という形式のJSON（部分は4個まで）ではありません。それだけを回答してください。',
    ),
    "coordinate.part_of": (
        "[A part of this task, for orientation only; others do the rest: {task}]",
        "[次のタスクの一部です（参考。残りは他の担当者が行います）: {task}]",
    ),
    "coordinate.missing": (
        "[You work in a copy of the project, without what git ignores: {names}. Do not install it anew: where a check"
        " needs it and it cannot be run, say so in your answer.]",
        "[これはプロジェクトのコピーで、git が無視するものはありません: {names}。新たにインストールせず、"
        "それがないと実行できない確認は、その旨を回答に書いてください。]",
    ),
    "coordinate.in_turn": (
        "The parts that change files are done one after another, in the project itself: {reason}",
        "ファイルを変更する部分は、プロジェクト内で順番に行います: {reason}",
    ),
    "coordinate.too_large": (
        "it is too large to copy for each of them.",
        "大きすぎて、それぞれのためにコピーできません。",
    ),
    "coordinate.submodules": (
        "Submodules are empty for the agents that change files: {names}.",
        "ファイルを変更するエージェントからは、サブモジュールは空に見えます: {names}。",
    ),
    "coordinate.not_plain": ("not a plain file", "通常のファイルではありません"),
    "coordinate.apply": (
        "apply what “{agent}” changed (files: {count})",
        "「{agent}」の変更を適用（ファイル数: {count}）",
    ),
    "coordinate.applied": (
        "files changed: {count}, lines: +{added} −{removed}",
        "変更したファイル: {count}、行: +{added} −{removed}",
    ),
    "coordinate.binary": ("Binary file {path} changes", "バイナリファイル {path} が変わります"),
    "coordinate.mode": ("{path}: permissions become {mode}", "{path}: パーミッションが {mode} になります"),
    "coordinate.no_changes": ("It changed no file.", "ファイルは変更していません。"),
    "coordinate.taken": ("Its changes are in the project: {files}.", "変更はプロジェクトに適用済み: {files}。"),
    "coordinate.unfinished": ("the part was not finished", "その部分は完了していません"),
    "coordinate.kept": (
        "The changes of “{agent}” were not applied: {reason}. They are kept in {patch}; “git apply --3way FILE” takes them over.",
        "「{agent}」の変更は適用していません: {reason}。変更は {patch} に残してあり、「git apply --3way ファイル」で適用できます。",
    ),
    "coordinate.the_task": ("The task:", "タスク:"),
    "coordinate.the_reports": ("The reports:", "報告:"),
    "coordinate.limit.steps": (
        "All agents together have asked the model {count} times, twice agent.max_iterations.",
        "全エージェント合わせて {count} 回モデルに問い合わせました（agent.max_iterations の2倍）。",
    ),
    "coordinate.limited": (
        "{reason} The limits of a run hold for all agents together. Not finished: {names}.",
        "{reason}1回の上限は全エージェント合計に適用されます。完了していないもの: {names}。",
    ),
    "coordinate.not_merged": (
        "The reports could not be put together ({reason}); here they are as they are.",
        "報告をまとめられませんでした（{reason}）。そのまま示します。",
    ),
    "coordinate.for_model": (
        "[Several helpers have done this task of the user's: {task}\n\nWhat came of it:\n{answer}]",
        "[利用者の次のタスクを複数の担当者が行いました: {task}\n\n結果:\n{answer}]",
    ),
    "slash.coordinate": (
        "Have several agents do a task at the same time, each a part of it.",
        "タスクを分割し、複数のエージェントに同時に行わせる。",
    ),
}
