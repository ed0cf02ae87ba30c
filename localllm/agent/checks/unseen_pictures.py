"""Recognise a question about what a picture shows, and an answer that says that its author does not see it."""

import re
import unicodedata
from collections.abc import Iterable, Iterator

from localllm.agent.checks.findings import Finding
from localllm.agent.checks.run_facts import RunFacts
from localllm.agent.middleware import RunState
from localllm.agent.phrases.answer_phrases import asks_user
from localllm.agent.phrases.phrase_search import ends_of, sentences_in
from localllm.base.directory_walk import ProjectListing
from localllm.base.i18n import Phrase
from localllm.base.lazy_patterns import late_pattern
from localllm.llm.messages import AssistantMessage, ToolMessage, UserMessage
from localllm.safety.path_names import shown
from localllm.tools.tool_system import ToolSystem

_ENDINGS = (".png", ".jpg", ".jpeg", ".gif", ".webp", ".bmp")
"""What the names of pictures end with that `read_file` shows to a model that sees."""

_PLACE = "\ufffc"
"""Stands for the picture's name."""
_SHOWS = r"(?:(?:show|say|depict|display|contain|mean|tell|read|illustrate|represent)s?|looks? like|ha(?:s|ve))"
_ASKS = late_pattern(
    rf"(?i)\bwhat(?:'s| is| are| was| were|\b[^?\n]{{0,40}} (?:is|are|can|does|do))\b[^?\n]{{0,60}}"
    rf"\b(?:in|on|from|of|wrong with)\b[^?\n]{{0,20}}{_PLACE}"
    rf"|\b(?:what|which|how many|who|whose)\b[^?\n]{{0,60}}\b(?:in|on)\b[^?\n]{{0,12}}{_PLACE}"
    rf"|\bwhat\b[^?\n]{{0,40}}{_PLACE}\S{{0,3}} {_SHOWS}\b"
    rf"|\b(?:what you see|(?:description|summary|text) of)\b.{{0,20}}{_PLACE}"
    rf"|\b(?:describ|transcrib|interpret|summari[sz]|analy[sz]|explain|review|caption|read|view|look at|ocr)e? "
    r"(?:out |to me |for me )?(?:(?:all |the |any |this ){1,2}(?:\w+ ){0,2})?"
    rf"(?:(?:in|of|on|from|file) )?[^\w\s]{{0,2}}{_PLACE}"
    rf"|\b(?:alt(?:ernative)? text|captions?)\b[^?\n]{{0,12}}{_PLACE}"
    rf"|^(?:is|are|does|do|has|have)\b[^?\n]{{1,60}} (?:in|on) [^?\n]{{0,12}}{_PLACE}"
    rf"|^do(?:es)? [^?\n]{{0,20}}{_PLACE}\S{{0,2}} {_SHOWS}\b"
)
_PART_JA = (
    r"(?:文字|テキスト|文章|文言|中身|内容|合計|金額|値段|日付|宛名|数字|数値|最大値|最小値|傾向|グラフ|図|表|絵|写真|画面|ボタン|背景"
    r"|メッセージ|エラー|タイトル|見出し|ラベル|色|人物?|顔|どこ|何)"
)
_ASKS_JA = late_pattern(
    rf"{_PLACE}[^\w\s]{{0,2}} ?(?:"
    r"(?:に|には|の中に|の中には|では?)[^。\n]{0,30}(?:写|映|見え|描|書かれ|書いて|載って|出て|いる[?？か]|いますか|ある[?？か]|ありますか)"
    r"|(?:は|って|が|には?)(?:何の(?:図|絵|写真|画像|画面|グラフ|表)|どんな|何を(?:表|示|描|写)|何が(?:写|映|見|描|書)|何と(?:書|い))"
    rf"|の(?:[^。\n]{{0,12}}の)?[^。\n]{{0,8}}{_PART_JA}[^。\n]{{0,40}}(?:[?？]|何|いくら|いくつ|教えて|説明|読|書き起こ|ですか|ますか)"
    r"|(?:を|の)[^を。\n]{0,14}(?:説明|解説|要約|描写|読み取|読んで|文字起こし|書き起こ|見て|分析|解析|OCR|テキスト化|代替テキスト)"
    r"|から[^。\n]{0,20}(?:読み取|分か|わか|言え))"
)
_OF_FILE = late_pattern(
    r"(?i)\bhow (?:do|can|could|should|would|to|large|big|old|wide|tall|heavy)\b|\b(?:where|why|when)\b|\bshould i\b"
    r"|\b(?:embed|insert|includ|convert|resiz|compress|shrink|crop|optimi[sz]|renam|mov|delet|remov|commit|link|us"
    r"|replac|generat|creat|sav|copi|upload|download|load|serv|track|match|mention|produc|render|import)(?:es?|ed|ing|s)?\b"
    r"|\b(?:copy|put|commands?|scripts?|markdown|html|css|tag|code|snippet|file ?names?|name|size|format|type"
    r"|resolution|dimensions?|pixels|bytes|licen[cs]e|path|folder|director\w+|difference|git|attributes?|purpose)\b"
    r"|使(?:う|い|っ|わ|え)|埋め込|貼|挿入|載せ|変換|圧縮|縮小|小さく|大きく|リサイズ|切り抜|名前|移(?:す|し|動)|消(?:す|し)|削除|置(?:く|い|き換え)"
    r"|追加|作(?:る|り|っ|成)|保存|コピー|コミット|サイズ|容量|バイト|形式|拡張子|解像度|ピクセル|方法|やり方|手順|コマンド|スクリプト|タグ"
    r"|HTML|CSS|Markdown|コード|必要|べき|違い|不要|属性|参照|読み込|書き込|出力|生成|ため"
)
"""Matches what is asked of a picture's file, which can be told without looking at it."""

_SEEING = r"(?:see|view|look|open|read|analy[sz]e|describe|inspect|interpret|process|display|access|tell|recogni[sz]e)"
_BLIND = late_pattern(
    rf"(?i)\b(?:can(?:no|')t|can not|could ?n[o']t|could not|unable|not able)\b[^.\n]{{0,40}}\b{_SEEING}\b"
    r"|(?:n't|\b(?:no|not|lack|without)) (?:have |yet )?(?:the |an? |any |no )?(?:vision|access|ability|abilities"
    r"|capabilit\w+|way|means|tools?)\b"
    rf"|\b(?:do(?:es)?|did|have|has)(?: not|n't)(?: yet| actually| ever)? (?:see[n]?|support|look(?:ed)?|open(?:ed)?"
    rf"|view(?:ed)?)\b|\bnot (?:been )?supported\b|\b(?:only|just) (?:\w+ )?text\b|\btext[- ](?:only|based)\b"
    r"|\blimited to text\b|\bnot its contents?\b|\b(?:is|are)(?: not|n't) available to me\b"
    r"|(?:見え|見られ|見ることが?でき|読め|読み取れ|開け|扱え"
    r"|(?:認識|確認|解析|表示|対応|判断|処理|判別|閲覧)(?:は|が|には)?(?:でき|して(?:い|お)))(?:ま|り)?(?:せん|ない|ず|なかった)"
    r"|(?:見て|開いて|確認して|読んで)(?:い|お)?(?:り)?(?:ません|ない)|テキスト(?:だけ|しか|のみ)|(?:手段|機能|能力)が?(?:は)?(?:あり|な)"
    r"|わかりかね|分かりかね"
)
"""Matches that the author does not see a picture, and not that something in it cannot be done."""


def findings(
    state: RunState, text: str, tools: ToolSystem, facts: RunFacts, listing: ProjectListing
) -> Iterator[Finding]:
    """Yield the picture of the project that a request asks about, if no call has named it and the model was shown none,
    and the answer does not say so. A command may have looked at it under another name."""
    messages = state.history.messages
    if (
        facts.has_run
        or facts.may_have_changed
        or any("<stdin>" in one.text or one.images for one in messages if isinstance(one, UserMessage | ToolMessage))
    ):
        return
    try:
        names = [one.path for one in listing.entries if one.path.lower().endswith(_ENDINGS)]
    except OSError:
        return
    path = picture_asked_about(state.query, names)
    if not path or asks_user(text) or admits_blindness(text):
        return
    name = path.rpartition("/")[2]
    calls = (call for one in messages if isinstance(one, AssistantMessage) for call in one.tool_calls)
    if any(name in call.arguments for call in calls) or not tools.validate_file_operation(path, "read_file")[0]:
        return
    is_attached = f"@{path}" in state.query or f"＠{path}" in state.query
    reason = (
        Phrase("{path} was not seen: the model cannot see pictures", path=shown(path))
        if is_attached
        else Phrase("{path} was not read", path=shown(path))
    )
    yield Finding("unseen" if is_attached else "not_read", reason, contradicts=False, params={"path": path})


def picture_asked_about(request: str, names: Iterable[str]) -> str:
    """Return which of the pictures with these names a request asks to describe, to read or to judge; "" if none, or if
    it asks for what its file is enough for."""
    plain = unicodedata.normalize("NFC", ends_of(request))
    named = {name: found for name in names if (found := _named(plain, name))}
    for name in sorted(named, key=lambda one: len(named[one]), reverse=True):
        others = plain.replace(named[name], _PLACE)
        if any(_asks_of_content(one) for one in sentences_in(others) if _PLACE in one):
            return name
    return ""


def _named(text: str, name: str) -> str:
    """Return how a text names a picture, by its path or its name alone; "" if it does not."""
    whole = unicodedata.normalize("NFC", name)
    forms = (one for one in (whole, whole.rpartition("/")[2]) if one in text)
    return next((one for one in forms if re.search(rf"(?<![\w./-]){re.escape(one)}(?![\w-])", text, re.ASCII)), "")


def _asks_of_content(said: str) -> bool:
    if _OF_FILE.search(said):
        return False
    return bool(_ASKS.search(said) if said.replace(_PLACE, "").isascii() else _ASKS_JA.search(said))


def admits_blindness(answer: str) -> bool:
    """Return whether an answer says that its author does not, or did not, see a picture."""
    return bool(_BLIND.search(ends_of(answer)))
