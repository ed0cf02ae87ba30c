"""Whether a model's last words announce a step it then did not take, in English and Japanese.

What counts as that is chosen narrowly: asking after a real answer costs the person more than missing an announcement
does. The sentences that are known to be judged rightly, and those that are not, are beside the tests.
"""

import re

_LONGEST_PROMISE = 800
"""Characters: after more than that “I will …” is more often the end of an explanation than the next step."""

# Patterns are compiled at their first use, by re itself: the program starts at once.
_VERBS = (
    r"add(?! that\b)|address|adjust|analy[sz]e|apply|begin by|build|bump|call|change|check|clean|commit|compare"
    "|compile|complete"
    "|configure|confirm|connect|continue|convert|copy|correct|create|cross-check|debug|define|delete|determine|dig"
    "|disable|double-check|download|drop|dump|edit|enable|ensure|examine|execute|explore|extend|extract|fetch"
    "|figure out|find|finish|fix|format|gather|generate|get|go|grep|handle|hook|identify|implement|import|inspect"
    "|install|investigate|lint|list|locate|look|make|measure|merge|migrate|modify|move|open|patch|port|print|proceed"
    "|profile|pull|query|re-?build|re-?factor|register|re-?load|remove|rename|replace|reproduce|re-?read|re-?run"
    "|reset|resolve|re-?start|restore|re-?test|retry|revert|review|re-?write|read|roll back|run|save|scan|search|see"
    "|set|simplify|split|start|swap|switch|take (?:a|another|one more) look|test|trace|track down|try|tweak|undo"
    "|update|use|validate|verify|view|wire|wrap|write"
)
_ADVERBS = r"(?:(?:now|first|then|next|also|just|quickly|again|immediately|go ahead and|start by|begin by|try to)\s+)*"
_OPENING = (
    r"(?:(?:ok(?:ay)?|alright|sure|great|good|perfect|right|now|next|first|then|so|and|to do (?:this|that|so)|finally"
    r"|hmm|got it|i see|understood|of course|certainly|absolutely|to (?:begin|start)(?: with)?)\b[,:.!…—-]*\s*)*"
    r"(?:(?:now that|before|with) [^,:;]{3,80},\s+(?=i'll|i will|i'm|i am|i'd|let))?"
    r"(?:to [^,:;]{3,80}?,?\s+(?=i'll|i will|i'm|i am|let))?"
)
_LET_ME = rf"(?i){_OPENING}(?:let me|let's|let us|(?:it's )?time to)\s+{_ADVERBS}(?:{_VERBS})\b"
_I_WILL = (
    rf"(?i){_OPENING}(?:i will|i'll|(?:i am|i'm) (?:now )?(?:going|about) to|i need to|i should|i'd like to|i want to"
    rf"|my next step is to|we(?:'ll| will)(?= (?:now|first|next)\b))"
    rf"\s+{_ADVERBS}(?:{_VERBS})\b"
)
_DOING = (
    rf"(?i){_OPENING}(?:i am |i'm )?(?:now )?(?:calling|checking|creating|editing|executing|fetching|fixing|inspecting"
    r"|looking|opening|reading|running|scanning|searching|updating|verifying|writing)\b(?:[^.!?]|\.(?=\w))*"
    r"(?:\.\.\.|…|:|\bnow\.?)$"
)
_GOING_ON = (
    rf"(?i){_OPENING}(?:(?:continuing|proceeding|moving on) (?:with|to)\b|on to\b"
    rf"|(?:one moment|(?:just )?a (?:moment|second)|hold on|bear with me)\b[, ]+while i\s+{_ADVERBS}(?:{_VERBS})\b)"
)
_NOT_NOW = (
    r"(?i)\b(?:let me know|let you|i'll (?:be|wait|leave|stop|keep)|if (?:you|that|this|it|needed|not|so|there)|once"
    r"|after you|when(?:ever)? you|unless|until|would you|should i|shall i|do you|can you|could you|please"
    r"|from now on|next time|in (?:the )?future|going forward|tomorrow|later|feel free|tell me"
    r"|your (?:approval|confirmation|go-ahead|permission)|wait for|instead of|as soon as|whether you"
    r"|depending on|either)\b"
)
_HALF_CALL = (
    r"(?m)^[ \t]*(?:"
    r"(?:```\w*\s*)?(?:\{\s*\"(?:name|tool|tool_name|function|action)\"\s*:|<\|?(?:tool_|function[_=])|\[TOOL_CALLS?\])"
    r"[\s\S]*|`?\w+\([^\n]*\)`?\s*)\Z"
)
"""A call at the end that could not be read as one: it was broken off, or no tool is called so."""

_LAST_CODE = r"(?m)^[ \t]*```[^`]*(?:```)?\s*\Z"
_COMMANDS = r"(?m)^[ \t]*```(?:bash|sh|shell|zsh|console|powershell)\n[^`]*(?:```)?\s*\Z"
_FILE_NAME = r"[\w-]\.[a-zA-Z]\w{0,5}\b"
_TOGETHER = r"(?i)\blet(?:'s| us)\b"
"""Commands after this are as often a lesson for the person as a step of the model's."""

_CODE = r"(?m)^```[\s\S]*?^```[ \t]*$"

_LIST = r"\s*(?:[-+•・]|\*(?!\*)|\d{1,3}[.)、．](?!\d))\s*\S"
_SENTENCE_END = r"(?<=[.!?…:])\s+(?=[A-Z\"'`*(])|(?<=[。！？!?])\s*|\n+"

_VERBS_JA = (
    "確認|調査|検索|実行|修正|編集|変更|作成|追加|更新|削除|分析|解析|検証|適用|実装|取得|参照|テスト|チェック|再実行"
    "|レビュー|インストール|コミット|置換|対応|開始|把握"
)
_DOES_JA = (
    rf"(?:(?:{_VERBS_JA})(?:を)?(?:し|いたし|して(?:み|い)|していき|してまいり)"
    r"|読(?:み|んで(?:み|い|いき)|み込み|み込んで(?:み|いき)|み直し)|見(?:て(?:み|い|いき)|直し)?|調べ(?:て(?:み|いき))?"
    r"|開(?:き|いて(?:み|い))|探(?:し|して(?:み|い))|直(?:し|して(?:み|い))|書(?:き|き換え|き込み|いて(?:み|い))"
    r"|試(?:し|して(?:み|い))|使(?:い|って(?:み|い))|進(?:め|めていき|み)|行(?:い|っていき)|始め)"
)
_WILL_JA = rf"{_DOES_JA}(?:ます|ましょう|たいと思います)(?:ね)?[。：:…．.！!\s]*$"
_NOW_JA = (
    r"^(?:はい|了解(?:しました|です)|わかりました|承知(?:いた)?しました|では|それでは|じゃあ|まず(?:は)?|次(?:に|は)"
    r"|次のステップとして|すぐに|続いて|続けて|さらに|その後|これから|今から|いまから|ここで|早速|さっそく|最初に|はじめに|もう一度|再度|一度"
    r"|引き続き|最後に)[、,。\s]*"
)
_TRYING_JA = r"(?:て(?:み|いき|まいり)ます|ましょう|たいと思います)(?:ね)?[。：:…．.！!\s]*$"
_NOT_NOW_JA = (
    r"ください|でしょうか|ですか|ますか|よろしければ|ご希望|必要(?:で|が|に応じ|なら)|ご(?:指示|連絡|確認)|お知らせ"
    r"|場合|もし|たら|なら|れば|、(?:次に|続いて|最後に|その後)|今後|次回|以降|いつでも|お待ち|後(?:で|ほど)|毎回|ことができ"
)
_SEQUENCE_JA = r"^(?:次(?:に|は)|続いて|さらに|その後|最後に)"
_BEGINNING_JA = r"(?:まず|最初に|はじめに)(?!.*ましょう)|は.*(?:[^たい]ます|[うくすつぬむるぐぶ])。?$"
"""Sentences that follow such ones tell what something does, step by step."""
_TO_FIND_OUT_JA = r"^[^、。]{0,30}(?:調べ|確認す|確かめ|特定す|把握す|見|探|理解す)るため(?:に)?、?"
_PLAIN_JA = (
    rf"(?:(?:{_VERBS_JA})(?:を)?する|読(?:む|み込む)|開く|見る|調べる|探す|直す|書(?:く|き換える)|試す|進める|行う)"
    r"[。：:…．.\s]*$"
)
_HOLD_ON_JA = r"(?:ています|ます)(?:ので|から)、?(?:少々|しばらく|少し)お待ちください[。…\s]*$"
_DONE_JA = r"(?:(?:ました|でした|ている|ています|いません|必要があります|ようです)[。！!]?)$"
_MADE_JA = r"(?:作成|追加|実装|用意|導入|設定|生成)(?:し|いたし)(?:ました|ています)"
_LOOKING_JA = (
    r"(?:(?:確認|検索|調査|検証)し(?:てみ)?|調べ(?:てみ)?|探し(?:てみ)?|開(?:き|いてみ)|見てみ)ます[。：:…\s]*$"
)
_AGAIN_JA = r"もう一度|再度|改めて|やり直"
_THIS_JA = r"^この(?:変更|修正|差分|パッチ|問題|不具合|エラー|バグ|ファイル)を"
_FOUND_JA = r"(?:原因|問題|箇所|場所|誤り).*(?:わかり|分かり|判明し|特定し|見つか|見つけ|でし)"
_MENDING_JA = r"(?:修正し|変更し|対応し|直し)ます[。：:…\s]*$"
_SUBJECT_JA = r"(?<=[一-龠々ァ-ヶーa-zA-Z0-9`」』)）])が"
_GENERAL_JA = (
    r"(?<=[一-龠々ァ-ヶーa-zA-Z0-9`」』)）])[はがも]|[でに][はも](?!う)|[時際前後]に|とき|ごとに|たびに"
    r"|[うくすつぬむるぐぶ]と[、ァ-ヶ一-龠]|[しりきみえけせ]、"
)
"""In a sentence that tells what a program does, not what the model does next."""
_TOPIC_JA = r"[^で](?:は|が|も)[、,]?[^、。]*を"


def announces(text: str) -> bool:
    """Whether an answer without a call ends with the step the model means to take now."""
    said, calls = _without_call(text.strip())
    lines = [line for line in said.splitlines() if line.strip()]
    if not lines or re.match(_LIST, lines[-1]) or lines[-1].lstrip().startswith(("```", "|", ">", "#")):
        return False
    said = re.sub(_CODE, "", said)
    sentences = [part.strip(" *_`\t") for part in re.split(_SENTENCE_END, said) if part.strip(" *_`\t")]
    if not sentences or "?" in sentences[-1] or "？" in sentences[-1]:
        return False
    if re.search(r"[ぁ-ん]", sentences[-1]):
        return _announces_ja(sentences, calls=calls)
    return _announces_en(said, sentences)


def _without_call(text: str) -> tuple[str, bool]:
    """The text before a call that was written into it, or before the commands or the content of a file it was to be
    about, and whether there was any."""
    said = re.sub(_HALF_CALL, "", text).rstrip()
    if said != text:
        return said, True
    said = re.sub(_LAST_CODE, "", text).rstrip()
    last = re.split(_SENTENCE_END, said)[-1]
    is_step = re.search(_COMMANDS, text) or (last.endswith((":", "：")) and re.search(_FILE_NAME, last))
    return (said, True) if said != text and is_step and not re.search(_TOGETHER, last) else (text, False)


def _announces_en(text: str, sentences: list[str]) -> bool:
    last = sentences[-1].replace("’", "'")
    if re.search(_NOT_NOW, last):
        return False
    if any(re.match(pattern, last) for pattern in (_LET_ME, _DOING, _GOING_ON)):
        return True
    is_plan = any(re.match(_LIST, line) for line in text.splitlines()) and not last.endswith(":")
    return bool(re.match(_I_WILL, last)) and not is_plan and len(text) <= _LONGEST_PROMISE


def _announces_ja(sentences: list[str], *, calls: bool) -> bool:
    last = sentences[-1]
    if re.search(_HOLD_ON_JA, last):
        return True
    rest = re.sub(_TO_FIND_OUT_JA, "", last)
    while opening := re.match(_NOW_JA, rest):
        rest = rest[opening.end() :]
    is_said_now = rest != last
    if not re.search(_WILL_JA, last) and not (is_said_now and re.search(_PLAIN_JA, last)):
        return False
    if re.search(_NOT_NOW_JA, rest) or re.search(_TOPIC_JA, rest) or _is_told_in_order(sentences):
        return False
    is_agreed = len(sentences) > 1 and not re.sub(_NOW_JA, "", sentences[-2]) and not re.search(_SUBJECT_JA, last)
    is_begun = last.rstrip().endswith(("：", ":", "…")) or bool(re.search(_TRYING_JA, last))
    return calls or is_agreed or is_said_now or is_begun or _follows_from_what_was_done(sentences)


def _is_told_in_order(sentences: list[str]) -> bool:
    """Whether the last sentence is one of several that tell what something does: first this, then that."""
    return bool(re.match(_SEQUENCE_JA, sentences[-1])) and any(
        re.search(_BEGINNING_JA, said) for said in sentences[:-1]
    )


def _follows_from_what_was_done(sentences: list[str]) -> bool:
    """Whether the last sentence, without a word such as “now” in it, can only be the model's next step: after what it
    has done or found, it looks at something, does something again, or does something to what it was speaking of."""
    before, last = sentences[-2] if len(sentences) > 1 else "", sentences[-1]
    if re.search(_GENERAL_JA, last):
        return False
    if re.search(_THIS_JA, last):
        return True
    if not re.search(_DONE_JA, before) or re.search(_MADE_JA, before):
        return False
    is_mending = re.search(_FOUND_JA, before) and re.search(_MENDING_JA, last)
    return bool(is_mending or re.search(_AGAIN_JA, last) or re.search(_LOOKING_JA, last))
