"""Finish discipline: a model that says what it will do now, and does not do it, is asked to; then made to; then let be.

What counts as such an announcement is chosen narrowly: asking after a real answer costs the person more than missing
an announcement does.
"""

import re
from collections.abc import Sequence

from localllm.agents.middleware import Decision, Inject, Middleware, RunState
from localllm.agents.planning import is_told_to_plan
from localllm.agents.prompting import remark
from localllm.base.events import Notice
from localllm.base.i18n import tr
from localllm.llm.messages import Completion
from localllm.tools.tool_system import ToolResult

_BROKEN_OFF = frozenset({"length", "content_filter", "chanting", "interrupted"})

_LONGEST_PROMISE = 800
"""Characters: after more than that “I will …” is more often the end of an explanation than the next step."""

_LONGEST_BEFORE_PLAN = 200

# Patterns are compiled at their first use, by re itself: the program starts at once.
_VERBS = (
    "add|analy[sz]e|apply|begin by|build|call|change|check|clean|commit|compare|continue|convert|correct|create|debug"
    "|delete|edit|examine|execute|explore|fetch|find|fix|gather|get|go|grep|implement|inspect|install|investigate|list"
    "|locate|look|make|modify|move|open|proceed|pull|query|re-?read|re-?run|re-?write|read|refactor|remove|rename"
    "|replace|reproduce|retry|review|run|save|scan|search|see|set up|start|take a look|test|trace|try|update|use"
    "|validate|verify|view|write"
)
_ADVERBS = r"(?:(?:now|first|then|next|also|just|quickly|again|immediately|go ahead and|start by|begin by|try to)\s+)*"
_OPENING = (
    r"(?:(?:ok(?:ay)?|alright|sure|great|good|perfect|right|now|next|first|then|so|and|to do (?:this|that|so)|finally"
    r"|hmm|got it|i see|understood|of course|certainly|absolutely|to (?:begin|start)(?: with)?)\b[,:.!…—-]*\s*)*"
)
_LET_ME = rf"(?i){_OPENING}(?:let me|let's|let us)\s+{_ADVERBS}(?:{_VERBS})\b"
_I_WILL = (
    rf"(?i){_OPENING}(?:i will|i'll|i am going to|i'm going to|i am about to|i need to|i should)"
    rf"\s+{_ADVERBS}(?:{_VERBS})\b"
)
_DOING = (
    rf"(?i){_OPENING}(?:i am |i'm )?(?:now )?(?:calling|checking|creating|editing|executing|fetching|fixing|inspecting"
    r"|looking|opening|reading|running|scanning|searching|updating|verifying|writing)\b[^.!?]*"
    r"(?:\.\.\.|…|:|\bnow\.?)$"
)
_NOT_NOW = (
    r"(?i)\b(?:let me know|let you|i'll (?:be|wait|leave|stop|keep)|if (?:you|that|this|it|needed|not|so|there)|once"
    r"|after you|when(?:ever)? you|unless|until|would you|should i|shall i|do you|can you|could you|please"
    r"|from now on|next time|in (?:the )?future|going forward|tomorrow|later|feel free|tell me"
    r"|your (?:approval|confirmation|go-ahead|permission)|wait for|instead of|as soon as|whether you"
    r"|depending on|either)\b"
)
_LIST = r"\s*(?:[-*+•・]|\d{1,3}[.)、．])\s*\S"
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
_TOPIC_JA = r"[^で](?:は|が|も)[、,]?[^、。]*を"


def announces(text: str) -> bool:
    """Whether an answer without a call ends with the step the model means to take now."""
    lines = [line for line in text.strip().splitlines() if line.strip()]
    if not lines or re.match(_LIST, lines[-1]) or lines[-1].lstrip().startswith(("```", "|", ">", "#")):
        return False
    sentences = [part.strip(" *_`\t") for part in re.split(_SENTENCE_END, text.strip()) if part.strip(" *_`\t")]
    if not sentences or "?" in sentences[-1] or "？" in sentences[-1]:
        return False
    return _announces_ja(sentences) if re.search(r"[ぁ-ん]", sentences[-1]) else _announces_en(text, sentences)


def _announces_en(text: str, sentences: list[str]) -> bool:
    last = sentences[-1].replace("’", "'")
    if re.search(_NOT_NOW, last):
        return False
    if re.match(_LET_ME, last) or re.match(_DOING, last):
        return True
    is_plan = any(re.match(_LIST, line) for line in text.splitlines()) and not last.endswith(":")
    return bool(re.match(_I_WILL, last)) and not is_plan and len(text) <= _LONGEST_PROMISE


def _announces_ja(sentences: list[str]) -> bool:
    last = sentences[-1]
    if not re.search(_WILL_JA, last) or re.search(_NOT_NOW_JA, last):
        return False
    rest = last
    while opening := re.match(_NOW_JA, rest):
        rest = rest[opening.end() :]
    if re.search(_TOPIC_JA, rest):
        return False
    is_agreed = len(sentences) > 1 and not re.sub(_NOW_JA, "", sentences[-2])
    return is_agreed or rest != last or last.rstrip().endswith(("：", ":", "…")) or bool(re.search(_TRYING_JA, last))


def has_announced(state: RunState, answer: Completion) -> bool:
    """Whether the answer is an announcement, and there are tools to do it with. In plan mode only a short one is: a
    plan ends with what will be done."""
    text = answer.message.text
    is_plan = len(text) > _LONGEST_BEFORE_PLAN and is_told_to_plan(state.history)
    return bool(state.tools) and answer.finish_reason not in _BROKEN_OFF and not is_plan and announces(text)


class Finishing(Middleware):
    """Asks for an announced call, then requires one, then lets the run end with what was said."""

    def __init__(self) -> None:
        self._asked = 0

    def begin(self) -> None:
        """Nothing has been announced."""
        self._asked = 0

    def after_results(self, state: RunState, results: Sequence[ToolResult]) -> None:
        """A call has come."""
        self._asked = 0

    async def after_answer(self, state: RunState, answer: Completion) -> Decision:
        """Ask for the call, where one was announced and there are tools."""
        if not has_announced(state, answer):
            return None
        self._asked += 1
        match self._asked:
            case 1:
                return Inject(remark("announced"))
            case 2:
                return Inject(remark("call_required"), require_call=True)
            case _:
                state.emit(Notice(text=tr("agent.announced"), level="warning"))
                return None
