"""Whether a model's last words announce a step it then did not take, in English and Japanese.

What counts as that is chosen narrowly: asking after a real answer costs the person more than missing an announcement
does. The sentences that are known to be judged rightly, and those that are not, are beside the tests.
"""

import re

from localllm.agents.announcing_english import announces_english

# Patterns are compiled at their first use, by re itself, and only those of the language it is in.
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

_BREAKS_OFF = r"[\W_]{0,4}[A-Z][^\s]* +\S+ +\S.*:[*_`\s]*$"
"""A sentence that ends with a colon; no line of code (`def area(a, b):`), no heading of a word or two."""

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
    breaks_off = bool(re.match(_BREAKS_OFF, text.rstrip().rpartition("\n")[2]))
    return announces_english(said, sentences, breaks_off=breaks_off)


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
