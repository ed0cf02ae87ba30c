"""Find what is left of a plan at the end of a run: open items of the model's own list, and steps of one the user
accepted."""

import re
from collections.abc import Collection, Sequence

from localllm.agent.history import History
from localllm.agent.phrases.agreements import is_agreement
from localllm.agent.phrases.claimed_files import is_touched, paths_in
from localllm.agent.phrases.request_phrases import asks_for_change
from localllm.agent.plan_mode import plan_over_note
from localllm.base.lazy_patterns import late_pattern
from localllm.llm.messages import AssistantMessage, UserMessage
from localllm.memory.session_plan import SessionPlan
from localllm.text.sanitising import clean, shorten

_STEP = late_pattern(r"^[ \t#*]{0,8}(\d{1,2})[.)．）][ \t*]{0,4}(\S[^\n]{0,400})", re.MULTILINE)
_IN_CODE = late_pattern(r"^```[^\n]*\n.*?(?:^```|\Z)", re.MULTILINE | re.DOTALL)
_CHANGES = late_pattern(
    r"(?!(?:read|look|run|re-?run|check|verify|test|review|inspect|confirm|open|find|search|if|optional)\b)"
    r"[^\n]{0,400}(?:\b(?:add|writ|creat|updat|chang|edit|implement|remov|renam|replac|fix|modif|extend|refactor|document"
    r"|insert|mov|delet)(?:e|es|s|ing|y|ies)?\b|追加|修正|変更|更新|作成|実装|削除|置換|置き換|編集|書[くき]|移動|改名|リネーム)",
    re.IGNORECASE,
)
_CHANGES_JA = late_pattern(
    r"(?![^\n]{0,200}(?:たら|なら|れば|場合)|任意)[^\n]{0,400}(?:[をに] ?(?:新しく)?"
    r"(?:作|足|置|直|消|移|貼|書き足|変え|加え|付け|差し替え|設け|書き直|切り出|登録|記載|反映)|リンク(?:を ?[張貼])?"
    r"|に(?![^\n]{0,60}依存)[^\n]{0,60}を ?入れ)(?:[るすくりしきいっ]|する)?(?:ます|て)?(?:[。.、,（(：:\s]|$)"
)
"""Matches the step of a plan that ends, or goes on, with an everyday word for a change: build.py に処理を足す。"""
_LEFT = late_pattern(
    r"\b(?:left|remain(?:s|ing)?|later|pending|to[- ]do|next steps?|not (?:yet|done)|still (?:open|need\w*))\b"
    r"|残(?:り|る|って)|未(?:着手|実施|完了|対応)|次に|これから|今後",
    re.IGNORECASE,
)
_NOTED = late_pattern(
    r"\b(?:add|put|note|write|enter|append)\b[^\n]{0,200}\b(?:on|to|in|into|onto) (?:my|the|our|your) "
    r"(?:to[- ]?dos?|tasks?)(?: list)?\b(?! (?:app|page|view|model|class|api|component|comment|test)|[./]\w)"
    r"|(?:TODO|やること|タスク)(?: ?リスト)? ?(?:[にへ][^\n]{0,200}(?:入れ|(?:追加|メモ|登録)[し:：]|加え|足し|書い)"
    r"|を[^\n]{0,20}(?:メモ|登録)し)",
    re.IGNORECASE,
)
"""Matches an order to note something as to be done."""
_WORDS = late_pattern(r"(?a:\w){3,}|[一-龯]{2,}|[ァ-ヶー]{2,}")
_EMPTY_WORDS = frozenset(
    "the and for with from into onto that this these those its all any each every are not but also using new".split()
)
_STEM = 5
_LONGEST = 80
_MOST = 6


def names_rest(answer: str) -> bool:
    """Return whether the answer says that something is still to be done."""
    return bool(_LEFT.search(answer))


def orders_note(request: str) -> bool:
    """Return whether the request orders something to be noted as to be done."""
    return bool(_NOTED.search(request))


def open_items(before: str, plan: SessionPlan, request: str = "", answer: str = "") -> list[str]:
    """Return the open items that were added to the plan since its text was `before`, without those that the request
    ordered to be noted, or that the answer reports on: models often tick nothing. None if all that is left is the one
    in progress, which they seldom tick before the answer."""
    known = {todo.id for todo in SessionPlan(before).system.todos()} if before else set[str]()
    noted = request.casefold() if orders_note(request) else ""
    left = [todo for todo in plan.open_todos() if todo.id not in known and not _has_words_of(noted, todo.text)]
    left = [todo for todo in left if not _reports_on(answer.casefold(), todo.text.casefold())]
    if [todo.state for todo in left] == ["doing"]:
        return []
    return [_short(todo.text) + (" (in progress)" if todo.state == "doing" else "") for todo in left]


def _has_words_of(noted: str, item: str) -> bool:
    return all(word in noted for word in re.findall(r"\w+", item.casefold()))


def _reports_on(answer: str, item: str) -> bool:
    """Return whether half of the words of an item that tell anything stand in an answer, in whatever form, and more
    than its verb."""
    words = [word for word in _WORDS.findall(item) if word not in _EMPTY_WORDS]
    said = [word for word in words if re.search(rf"(?a:(?<!\w)){re.escape(word[:_STEM])}", answer)]
    return len(said) * 2 >= len(words) and any(not _CHANGES.match(word) for word in said)


def accepted_plan(history: History, query: str) -> str:
    """Return the plan that the run's request has accepted: the answer before plan mode ended; empty if none, or if the
    user has left plan mode with a question that asks for no work."""
    if query.rstrip().endswith(("?", "？")) and not (asks_for_change(query) or is_agreement(query)):
        return ""
    messages = history.messages
    for number in range(len(messages) - 1, 0, -1):
        asked, said = messages[number], messages[number - 1]
        if isinstance(asked, UserMessage) and query in asked.text:
            is_accepted = plan_over_note() in asked.text and isinstance(said, AssistantMessage)
            return said.text if is_accepted else ""
    return ""


def open_steps(plan: str, touched: Collection[str]) -> list[str]:
    """Return the steps of a numbered plan that change files of which none was touched. Steps that name no file, or
    only read or run something, cannot be judged."""
    steps = _STEP.findall(_IN_CODE.sub("", plan))
    found: list[str] = []
    for number, step in steps if len(steps) > 1 else ():
        words = step.replace("*", "").replace("`", "")
        paths = paths_in(words)
        if paths and _changes(words) and not any(is_touched(touched, path) for path in paths):
            found.append(_short(f"{number}. {words}"))
    return found


def _changes(step: str) -> bool:
    return bool(_CHANGES.match(step) or (not step.isascii() and _CHANGES_JA.match(step)))


def listed(items: Sequence[str]) -> str:
    """Return the first items in one line."""
    more = f"; +{len(items) - _MOST}" if len(items) > _MOST else ""
    return "; ".join(items[:_MOST]) + more


def _short(text: str) -> str:
    return shorten(clean(text, keep_newlines=False), _LONGEST)
