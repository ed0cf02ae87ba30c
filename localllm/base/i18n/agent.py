"""What the agent says of its run: limits, loops, what blocks it: key → (English, Japanese)."""

AGENT: dict[str, tuple[str, str]] = {
    "agent.limit.calls": (
        "Stopped after {count} tool {count:?call/calls}, the limit of a run (agent.max_tool_calls).",
        "1回の上限（agent.max_tool_calls）の {count} 回のツール呼び出しに達したため止めました。",
    ),
    "agent.limit.tokens": (
        "Stopped after {count:,} {count:?token/tokens}, more than the {limit:,} of a run (agent.token_limit).",
        "1回の上限（agent.token_limit）の {limit:,} トークンを超えたため止めました（{count:,}）。",
    ),
    "agent.limit.steps": (
        "Stopped after {count} {count:?step/steps}, the limit of a run (agent.max_iterations).",
        "1回の上限（agent.max_iterations）の {count} ステップに達したため止めました。",
    ),
    "agent.limit.time": (
        "Stopped after {seconds} s, the time limit of a run (agent.time_limit).",
        "時間の上限（agent.time_limit）の {seconds} 秒に達したため止めました。",
    ),
    "agent.cut": (
        "The answer was cut off at the token limit (llm.max_tokens).",
        "回答はトークン上限（llm.max_tokens）で途切れました。",
    ),
    "agent.filtered": (
        "The server's content filter cut the answer short.",
        "サーバーのコンテンツフィルターにより回答が途切れました。",
    ),
    "agent.loop.same_step": (
        "the same call came {count} times with the same result: {what}",
        "同じ呼び出しと同じ結果が {count} 回: {what}",
    ),
    "agent.loop.same_error": (
        "the same call failed {count} times with the same error: {what}",
        "同じ呼び出しが同じエラーで {count} 回失敗: {what}",
    ),
    "agent.loop.cycle": (
        "the same steps came {count} times in turn: {what}",
        "同じ手順の繰り返しが {count} 回: {what}",
    ),
    "agent.loop.failed_edit": (
        "{count} edits of {what} did not fit",
        "{what} の編集が {count} 回続けて当てはまりません",
    ),
    "agent.loop.bad_call": ("{count} calls of {what} were not valid", "{what} の不正な呼び出しが {count} 回"),
    "agent.loop.monologue": (
        "{count} times a step was announced and not taken",
        "予告だけで実行しない発言が {count} 回",
    ),
    "agent.loop.chanting": (
        "{count} answers said one passage over and over",
        "同じ文を延々と繰り返す回答が {count} 回",
    ),
    "agent.loop.thrash": (
        "the conversation filled its window again {count} times right after it was summed up",
        "要約した直後に会話がまたウィンドウを満たすことが {count} 回続きました",
    ),
    "agent.rung.notice": (
        "The model repeats itself, and was told so: {loop}.",
        "モデルが同じことを繰り返しているため、注意しました: {loop}。",
    ),
    "agent.rung.step_back": (
        "Still in circles; the model was asked to step back and think again: {loop}.",
        "繰り返しが続くため、一歩引いて考え直すよう求めました: {loop}。",
    ),
    "agent.rung.three": (
        "Still stuck; asking the panel for advice: {loop}.",
        "行き詰まったままのため、三賢者に助言を求めます: {loop}。",
    ),
    "agent.rung.boss": (
        "Asking the boss for advice: {loop}.",
        "親分に助言を求めます: {loop}。",
    ),
    "agent.rung.boss_too": (
        "The panel has no sure advice; asking the boss.",
        "三賢者の助言は確かではないため、親分に尋ねます。",
    ),
    "agent.rung.alone": (
        "Nobody could give advice; the agent goes on alone. ({names})",
        "助言を得られないため、エージェントだけで続けます。（{names}）",
    ),
    "agent.rung.chanting": (
        "The answer was broken off: it said one passage over and over.",
        "同じ文を延々と繰り返したため、回答を打ち切りました。",
    ),
    "agent.chanting.cut": ("[broken off: it repeated itself]", "[繰り返しのため打ち切り]"),
    "agent.announced_asked": (
        "It announced a step without taking it: it was asked to.",
        "予告だけで実行しなかったため、実行するよう促しました。",
    ),
    "agent.announced_required": (
        "It announced a step again: it must take one now.",
        "また予告だけだったため、ツールの呼び出しを必須にしました。",
    ),
    "agent.announced": (
        "The model announced a step and did not take it, though it was asked to twice.",
        "モデルは次の手順を予告しましたが、二度促しても実行しませんでした。",
    ),
    "agent.stuck": ("Stopped, because it went round in circles: {loop}.", "堂々巡りのため止めました: {loop}。"),
    "agent.blocker.goal": ("Goal: {goal}", "目標: {goal}"),
    "agent.blocker.tried": ("What was tried:", "試したこと:"),
    "agent.blocker.times": ("{call} ({count} times)", "{call}（{count} 回）"),
    "agent.blocker.nothing": ("nothing has been tried yet", "まだ何も試していません"),
    "agent.blocker.more": ("… and {count} more", "… ほか {count} 件"),
    "agent.blocker.outcome": ("Last result:", "最後の結果:"),
    "agent.blocker.advised": ("What was advised:", "助言の内容:"),
    "agent.blocker.unblock": ("What would help:", "解決につながること:"),
    "agent.unblock.limit": (
        "raise the limit; or, in the chat, say “go on”: the conversation is kept",
        "上限を上げるか、チャットなら「続けて」と伝える（会話は残っています）",
    ),
    "agent.unblock.edit": (
        "make that change by hand, or quote the lines as they should become",
        "その変更を手で行うか、変更後の行をそのまま示す",
    ),
    "agent.unblock.missing": (
        "say where the file is, or what it is called",
        "ファイルの場所か名前を伝える",
    ),
    "agent.unblock.denied": (
        "allow it: answer yes when asked, or with a rule (safety.allow)",
        "許可する（確認に「はい」と答えるか、規則 safety.allow を使う）",
    ),
    "agent.unblock.sandbox": (
        "run the command yourself, or allow the hosts it needs (safety.network_hosts)",
        "コマンドを自分で実行するか、必要な接続先を許可する（safety.network_hosts）",
    ),
    "agent.unblock.command": (
        "look at what the command says: something it needs may have to be fixed or installed by you",
        "コマンドの出力を確かめる（必要なものの修復やインストールが要るかもしれません）",
    ),
    "agent.unblock.model": (
        "another model (/model), one that calls tools more reliably",
        "ツールをより確実に呼び出せる別のモデルを使う（/model）",
    ),
    "agent.unblock.window": (
        "a larger context window, or a smaller task",
        "コンテキストウィンドウを広げるか、作業を小さく分ける",
    ),
    "agent.unblock.ask": (
        "say more exactly what is wanted, or where to look",
        "何をしたいか、どこを見ればよいかをより具体的に伝える",
    ),
    "agent.interrupted": ("[interrupted by the user]", "[利用者が中断しました]"),
    "agent.failed": ("[no answer: {reason}]", "[回答なし: {reason}]"),
    "agent.stopped": ("[stopped: {reason}]", "[停止: {reason}]"),
    "agent.refused": (
        "\n\nNot done, because nobody was there to confirm it: {tools}. It can be allowed in the chat, or with --yes or an allow rule (safety.allow); dangerous commands in the chat alone.",
        "\n\n確認する人がいないため実行していないもの: {tools}。チャットで、または --yes か許可規則（safety.allow）で許可できます（危険なコマンドはチャットのみ）。",
    ),
    "agent.retry": (
        "{what} Asking again in {seconds:.1f} s.",
        "{what} {seconds:.1f} 秒後にもう一度送ります。",
    ),
    "explore.last_step": (
        "[This is your last step. Do not call a tool: answer now with what you have found.]",
        "[これが最後のステップです。ツールを呼び出さず、見つけたことを今すぐ回答してください。]",
    ),
    "explore.unfinished": (
        "Not finished after {steps} {steps:?step/steps} ({reason}). What was seen:",
        "{steps} ステップで完了しませんでした（{reason}）。確認したもの:",
    ),
    "explore.saw_nothing": ("- nothing", "- なし"),
    "explore.cut": ("[… the rest of the finding is left out]", "[… 結果の残りは省略]"),
    "explore.found": ("found an answer in {count} {count:?step/steps}", "{count} ステップで回答を見つけました"),
    "explore.not_found": ("not found within {count} {count:?step/steps}", "{count} ステップ以内に見つかりませんでした"),
}
