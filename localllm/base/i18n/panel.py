"""What is said of the panel and the boss: key → (English, Japanese)."""

PANEL: dict[str, tuple[str, str]] = {
    "panel.role.conservative": ("conservative", "慎重派"),
    "panel.role.progressive": ("progressive", "積極派"),
    "panel.role.judge": ("judge", "判定役"),
    "panel.role.boss": ("boss", "親分"),
    "panel.left_out": ("{member}: {reason}", "{member}: {reason}"),
    "panel.rate_limited": ("its server may not be asked so soon again", "サーバーの利用回数の制限に達しています"),
    "panel.timed_out": ("no answer within {seconds} s", "{seconds} 秒以内に回答がありませんでした"),
    "panel.said_nothing": ("it said nothing", "何も答えませんでした"),
    "panel.plan.verdict": ("Verdict:", "判断:"),
    "panel.plan.next_action": ("Next:", "次の手順:"),
    "panel.plan.avoid": ("Avoid:", "避けること:"),
    "panel.plan.check": ("Check:", "確認方法:"),
    "panel.plan.unjudged": (
        "Nobody could weigh these opinions; they may contradict each other:",
        "以下の意見を判定できる人がいませんでした。互いに矛盾しているかもしれません:",
    ),
    "panel.unjudged": (
        "Nobody could weigh these opinions; they may contradict each other.",
        "これらの意見を判定できる人がいませんでした。互いに矛盾しているかもしれません。",
    ),
    "panel.asked": (
        "The person asked a panel of other models: “{question}” Its plan, for your information:\n{plan}",
        "利用者が他のモデルの協議に尋ねました: 「{question}」参考として、その結論は次のとおりです:\n{plan}",
    ),
    "boss.asked": (
        "The person asked a more experienced model: “{question}” Its advice, for your information:\n{plan}",
        "利用者が経験豊富なモデルに尋ねました: 「{question}」参考として、その助言は次のとおりです:\n{plan}",
    ),
    "panel.shown": ("Panel", "三賢者の協議"),
    "boss.shown": ("Boss", "親分の助言"),
    "panel.plan": ("Plan", "結論"),
    "panel.confidence": ("confidence {percent} %", "確信度 {percent} %"),
    "panel.was_left_out": ("Left out: {member}", "不参加: {member}"),
    "panel.without": ("without {members}", "{members}は不参加"),
    "panel.nobody": (
        "Nobody could be asked. Start a model's server, or set other models in [agents.panel].",
        "誰にも尋ねられませんでした。モデルサーバーを起動するか、[agents.panel] に別のモデルを設定してください。",
    ),
    "panel.asking": ("asking the panel", "協議に尋ねています"),
    "boss.asking": ("asking the boss", "親分に尋ねています"),
    "panel.usage": (
        "/panel QUESTION: what the panel is to be asked",
        "/panel 質問: 協議に尋ねたいことを書いてください",
    ),
    "boss.usage": ("/boss QUESTION: what the boss is to be asked", "/boss 質問: 親分に尋ねたいことを書いてください"),
    "panel.goes_along": (
        "The agent reads the plan with your next request.",
        "次の依頼のとき、エージェントもこの結論を読みます。",
    ),
    "slash.panel": (
        "Ask two other views and a judge; models of their own in [agents.panel].",
        "二つの異なる見方と判定役に尋ねる（モデルは [agents.panel] で個別に設定可）。",
    ),
    "slash.boss": (
        "Ask the most experienced model; set in [agents.panel.boss].",
        "最も経験豊富なモデルに尋ねる（[agents.panel.boss] で設定）。",
    ),
}
