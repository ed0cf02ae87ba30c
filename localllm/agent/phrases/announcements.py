"""Detect answers that end with an announced step, or with a tool call that could not be parsed."""

import builtins
import re
from collections.abc import Iterator
from itertools import chain

from localllm.base.foreign_tools import EDITOR, PATCH, tool_meant

_LONGEST_PROMISE = 800
"""Maximum characters of the answer: beyond it “I will …” more often ends an explanation than announces a step."""

_WORK = """
    add address adjust analyse analyze append apply assemble begin benchmark bisect build bump call change check
    clean collect commit compare compile complete configure confirm connect consult continue convert copy correct create
    cross-check debug declare define delete determine dig disable dive do double-check download draft drop dump edit
    enable ensure examine execute explore expose extend extract fetch figure fill find finish fix format gather generate
    get go grab grep handle hook hunt identify implement import insert inspect install investigate isolate jump lint
    list locate look make measure merge migrate modify move navigate open parse patch peek pin port prepare print probe
    proceed profile pull put query read rebuild re-build recheck re-check recreate redo refactor re-factor register
    reload re-load remove rename reorganize replace reproduce reread re-read rerun re-run reset resolve restart re-start
    restore restructure retest re-test retry re-try revert review rewrite re-write roll run save scaffold scan search
    see set simplify skim sort split start study swap switch tackle take test tidy trace track try turn tweak undo
    uninstall update upgrade use validate verify view wire work wrap write
"""
_ADVERBS = (
    r"(?:(?:now|first|then|next|also|just|quickly|again|immediately|carefully|briefly|finally|simply|actually|instead"
    r"|go ahead and|try to|attempt to|need to|want to|have to|(?:start|begin) (?:off )?(?:by|with) (?=\w+ing\b))\s+)*"
)
_WORD = r"(?P<verb>[a-z]+(?:-[a-z]+)?)\b(?P<rest>[^.!?]*)"

_NO_STEP = r"\s+(?:that|if|whether|with my|it up as)\b"
"""Phrases after a verb of _SAYING that change its meaning: “I should add that …”, “I want to see if you …”."""
_SAYING = frozenset({"add", "see"})
_TAKING = r"\s+(?:a|an|another|one more|the)\s+(?:\w+\s+)?(?:look|peek|step|approach|pass)\b|\s+care of\b"
_DOING_IT = r"\s+(?:that|this|it|so|both|the same|them|these|those|exactly that)\b"

_INTERJECTIONS = (
    r"(?:ok(?:ay)?|alright|all right|sure(?: thing)?|great|good|perfect|right|now|next|first(?:ly)?|then|so|and"
    r"|to do (?:this|that|so)|finally|hm+|ah|oh|oops|wait|actually|well|very well|yes|got it|i see|thanks|thank you"
    r"|understood|noted|no problem|of course|certainly|absolutely|after that|from there|with that(?: done)?|therefore"
    r"|as a (?:first|next|last|final) step|at this point|for now|to (?:begin|start)(?: with)?|instead|also|meanwhile)\b"
)
_INTRODUCTION = (
    r"(?:(?:now that|before|with|since|because|as|given|based on|for|in order to|to|from|because of|first of)"
    r" [^,:;]{3,110},\s+(?=(?:i|let|we)\b))?"
    r"(?:to [^,:;]{3,80}?,?\s+(?=i'll|i will|i'm|i am|let))?"
)
_OPENING = rf"(?i)(?:{_INTERJECTIONS}[,:.!…—-]*\s*)*{_INTRODUCTION}"
"""Prefix stripped before the patterns below are tried; they are also tried without stripping it."""

_LET_ME = r"(?:let me|let's|let us|allow me to|(?:it's )?time to|time for me to|now to|on to)"
_I_WILL = (
    r"(?:i will|i'll|i shall|(?:i am|i'm) (?:now )?(?:going to|about to|gonna)|i need to|i've got to|i gotta"
    r"|(?:i have to|i must)(?! use\b)"
    r"|i should|i'd like to|i would like to|i want to|i plan to|i intend to|i can now(?! (?:see|confirm|say|answer)\b)"
    r"|my (?:next (?:step|move|task)|plan|first step) (?:is|will be) to|next,? i'd"
    r"|we(?:'ll| will)(?= (?:now|first|next)\b))"
)
_STEP = rf"(?i)(?:(?P<let>{_LET_ME})|(?P<will>{_I_WILL}))\s+{_ADVERBS}{_WORD}"
_FIRST_WORDS = r"(?i)\b(?:i|let|let's|me|my|now|on|time|we)\b"
"""Words of which every announced step contains one; otherwise the long patterns need not be compiled."""
_LAST_CLAUSE = (
    r"(?i).{8,}?(?:[,;:]|\s[—–-])\s+(?:(?:so|and|then|but|therefore|hence)\s+)*"
    r"(?=(?:let me|let's|let us|i'll|i will|i am going to|i'm going to)\b)"
)
"""Matches what precedes the last clause of a sentence: “…, so I'll look there”."""

_NO_GERUND = (
    r"(?:any|every|no|some)thing|interesting|according|during|following|missing|including|excluding|regarding"
    r"|assuming|considering|string|king|thing|being|having|meaning|warning|pending|using"
)
_DOING = rf"(?i)(?:i am |i'm )?(?:now )?(?!(?:{_NO_GERUND})\b)[a-z]+ing\b(?:[^.!?…:]|\.(?=\w))*(?:\.\.\.|…|:|\bnow\.?)$"
_I_AM_DOING = (
    r"(?i)(?:i am|i'm) (?:now |just |currently )?(?:adding|applying|calling|changing|checking(?! in)|creating"
    r"|editing|executing|fetching|fixing|inspecting|looking (?:at|for|in|into|up|through)|opening"
    r"|reading(?! this as| it as)|running|searching|scanning|updating|verifying|writing)\b(?:[^.!?,;]|\.(?=\w))*\.?$"
)
_LONGEST_FRAGMENT = 12
_NOUN = r"[\w`'./()\[\]-]+"
_NO_VERB = (
    r"(?!\w+ed\b)(?:(?=(?:calls|changes|definitions|dependencies|docs|files|imports|logs|results|settings|tests)\b)"
    r"|(?!\w+s\b))"
)
_FRAGMENT = (
    rf"(?i)(?:adding|applying|calling|changing|checking|creating|deleting|editing|examining|executing"
    r"|fetching|fixing|inspecting|listing|opening|reading|removing|renaming|running|searching(?: for| in| through)?"
    r"|scanning|updating|verifying|writing|looking (?:at|for|in|into|up|through))"
    rf"(?: (?:the|a|an|my|this|that|both|all) {_NOUN}| {_NO_VERB}{_NOUN})"
    rf"(?: {_NO_VERB}{_NOUN})?(?: again| next| first)?\.?$"
)
"""Matches a sentence like “Checking the logs.” With more words it could describe what something does."""
_GOING_ON = (
    r"(?i)(?:(?:continuing|proceeding|moving on|moving|turning|switching(?: over)?|going on|going back|back)"
    r" (?:with|to) (?!you\b)(?![^,.]*\b(?:is|was|will|would|can|has|makes|means|takes)\b)"
    r"|(?:diving|digging|jumping|looking) in(?:to)?\b[^,]*\.?$"
    r"|on to (?!you\b)|now to (?=the\b|`)|on it[.!]?$|working on it[.!]?$|next up\b"
    r"|getting started[.!]?$|here (?:goes|we go)[.!]?$"
    r"|(?:starting|beginning) (?:with|by|from|on) (?!version\b|v?\d|python\b|node\b)[^,;]{2,60}"
    r"(?:[.…]?$|, (?:since|because|as|then|and then)\b))"
)
_WAITING = (
    r"(?i)(?:please )?(?:one (?:moment|second|sec|minute)|(?:just )?a (?:moment|second|minute)"
    r"|hold on(?! to)|hang on(?! to)|bear with me|stand by|please wait"
    r"|give me (?:a|one|just a) (?:moment|second|sec|minute))\b"
    r"(?:,? please)?(?:[.…!]*$|[, ]+(?:while i|to|and i'll|i'll)\b)"
)
_PRESENTING = r"(?i)here(?:'s| is| are) .{0,60}\b(?:i am|i'm|i'll|i will)\b[^?]*:$"

_NOT_NOW = (
    r"(?i)\b(?:let me know|let you|i'll (?:be|wait|leave|stop|keep)|i (?:will|am going to) (?:be|wait|leave|stop|keep)"
    r"|if (?:you|that|this|it|needed|not|so|there)|once"
    r"|after you|when(?:ever)? you|unless|until|would you|should i|shall i|do you|can you|could you|please"
    r"|from now on|next time|in (?:the )?future|going forward|tomorrow|later|feel free|tell me"
    r"|your (?:approval|confirmation|go-ahead|permission)|wait for|instead of|as soon as|whether you"
    r"|depending on|either)\b"
)
_TO_YOU = r"(?i)\b(?:you|your|yourself|enter|type|choose|note|example|e\.g\.)\b"
_LIST = r"\s*(?:[-+•・]|\*(?!\*)|\d{1,3}[.)](?!\d))\s*\S"


def announces_english(text: str, sentences: list[str], *, breaks_off: bool) -> bool:
    """Return whether `text` ends with an announced step;
    `sentences` are those outside code. `breaks_off`: a colon is its very end."""
    last = sentences[-1].replace("’", "'")
    starts = _starts(last)
    if _matches(_WAITING, starts):
        return True
    is_plan = any(re.match(_LIST, line) for line in text.splitlines()) and not last.endswith(":")
    is_promise = not is_plan and len(text) <= _LONGEST_PROMISE
    is_step = (
        any(_matches(pattern, starts) for pattern in _patterns_for(last))
        or (breaks_off and (bool(re.match(_PRESENTING, last)) or not re.search(_TO_YOU, last)))
        or _means_to(last, starts, is_promise=is_promise)
    )
    return is_step and not re.search(_NOT_NOW, last)


def _starts(sentence: str) -> tuple[str, ...]:
    """Return the sentence, and its rest after an opening such as “Okay, now”."""
    opening = re.match(_OPENING, sentence)
    return (sentence, sentence[opening.end() :]) if opening and opening.end() else (sentence,)


def _matches(pattern: str, starts: tuple[str, ...]) -> bool:
    return any(re.match(pattern, start) for start in starts)


def _patterns_for(sentence: str) -> Iterator[str]:
    """Yield the patterns without future tense that may match; most sentences need none of them compiled."""
    yield _GOING_ON
    if sentence.endswith(("...", "…", ":", "now", "now.")):
        yield _DOING
    if re.search(r"(?i)\bi(?:'m| am) ", sentence):
        yield _I_AM_DOING
    if len(sentence.split()) <= _LONGEST_FRAGMENT and "ing " in sentence:
        yield _FRAGMENT


def _means_to(sentence: str, starts: tuple[str, ...], *, is_promise: bool) -> bool:
    """Return whether the sentence, or its last clause, announces work.
    `is_promise`: “I will” counts as much as “let me”."""
    if not re.search(_FIRST_WORDS, sentence):
        return False
    before = re.match(_LAST_CLAUSE, sentence)
    for said in (*starts, sentence[before.end() :] if before else ""):
        found = re.match(_STEP, said)
        if found and (found["let"] or is_promise) and _is_work(found["verb"].lower(), found["rest"]):
            return True
    return False


def _is_work(verb: str, rest: str) -> bool:
    if verb.endswith("ing"):  # “let me start by reading”
        return True
    match verb:
        case "take":
            return bool(re.match(_TAKING, rest))
        case "do":
            return bool(re.match(_DOING_IT, rest))
        case "make":
            return not re.match(r"(?i)\s+(?:sure|it clear)\b.*\bi\b", rest)
        case _:
            return verb in _WORK.split() and not (verb in _SAYING and re.match(_NO_STEP, rest))


# Patterns are compiled on first use, by re itself, and only those of the language in question.
_HALF_CALL = (
    r"(?m)^[ \t]*(?:"
    r"(?:```\w*\s*)?(?:\{\s*\"(?:name|tool|tool_name|function|action)\"\s*:|<\|?(?:tool_|function[_=])|\[TOOL_CALLS?\])"
    r"[\s\S]*|`?\w+\([^\n]*\)`?\s*)\Z"
)
"""Matches an unparsed call at the end: truncated, or of an unknown tool."""

_LAST_CODE = r"(?m)^[ \t]*```(?P<info>[^`\n]*+)(?>(?:\n(?![ \t]*```)[^\n]*)*)(?:\n[ \t]*```)?\s*\Z"
_SHELLS = ("bash", "sh", "shell", "zsh", "console", "powershell")
_FILE_NAME = r"[\w-]\.[a-zA-Z]\w{0,5}\b"
_TOGETHER = r"(?i)\blet(?:'s| us)\b"
"""Commands after this are as often instructions for the user as a step of the model."""

_CODE = r"(?m)^```[\s\S]*?^```[ \t]*$"

_TOOLS_IN_TEXT = frozenset(
    ["run_command", "read_file", "search_files", "list_files", "edit_file", "create_file", "write_file", "analyze_code"]
) | {PATCH, EDITOR}
"""Tools whose calls models write into answers.
Not those for which other assistants use everyday words: `commit`, `task`, `fetch`, `done`."""

_ELSEWHERE = frozenset({"browser_action", "insert_content", "use_mcp_tool"})
"""Other assistants' tools without an equivalent here."""

_ONLY_CALL = (
    r"(?is)(?:```[\w-]*[ \t]*\n)?\s*(?:"
    r"\{[^{}]{0,80}\"(?:name|tool|tool_name|function|function_name|action)\"\s*:\s*\"[\w.:/-]{2,60}\"[^{}]{0,120}"
    r"\"(?:arguments|parameters|args|params|input|action_input|tool_input)\"\s*:.*\}"
    r"|<([\w.-]{2,40})>\s*<\w{1,40}>.*</\w{1,40}>"
    r"|action:[ \t]*([\w.-]{2,40})[ \t]*\n\s*action input:.*"
    r"|(?:print\()?([\w.-]{2,40})\([^\n]*\)"
    r"|(?:tool|name|action|function):[ \t]*[\"']?([\w.-]{2,40})[\"']?[ \t]*\n\s*\w{1,40}:.*"
    r")(?:\n```)?"
)
"""Matches an answer that is only a call that cannot be made: of an unknown tool, or in an unknown form. Its fence may
be unclosed. The groups are the tool's name; in JSON it may be any."""

_CALL_BEGINS = r"(?m)^(?:```|\{|<\w)"
_CALLED = r"(?i)\A<([\w.-]{2,40})>|\"(?:name|tool|tool_name|function|action)\"\s*:\s*\"([\w.-]{2,40})\""

_BARE_COMMAND = (
    r"(?:\$ |`)?(?P<command>(?:cd \S+ && )?(?:python3?|py|pytest|npm|npx|node|pnpm|yarn|bun|deno|go|cargo|make|cmake"
    r"|gcc|g\+\+|git|bash|sh|pip3?"
    r"|ls|cat|sed|grep|find|mv|cp|mkdir|touch|uv|ruby|java|mvn|gradle|dotnet|\./[\w./-]+)\s[^。]{1,400}?)`?"
)
"""Matches a line that is a command, after its announcement."""

_NEXT_STEP = r"(?i)the (?:next|first|remaining) step (?:is|will be) to \w"
"""As often advice to the user as the model's own step."""

_BREAKS_OFF = r"[\W_]{0,4}[A-Z][^\s]* +\S+ +\S.*:[*_`\s]*$"
"""Matches a sentence that ends with a colon. No line of code (`def area(a, b):`), no heading of a word or two."""

_JAPANESE_LIST = r"\s*(?:[-+•・]|\*(?!\*)|\d{1,3}[.)、．](?!\d))\s*\S"
_SENTENCE_END = r"(?<=[.!?…:])\s+(?=[A-Z\"'`*(])|(?<=[。！？!?])\s*|\n+"

_VERBS_JA = (
    "確認|調査|検索|実行|修正|編集|変更|作成|追加|更新|削除|分析|解析|検証|適用|実装|取得|参照|テスト|チェック|再実行"
    "|レビュー|インストール|コミット|置換|対応|開始|把握"
)
_DOES_JA = (
    rf"(?:(?:{_VERBS_JA})(?:を)?(?:し|いたし|して(?:み|い)|していき|してまいり)"
    r"|読(?:み|んで(?:み|い|いき)|み込み|み込んで(?:み|いき)|み直し)|見(?:て(?:み|い|いき)|直し)?|調べ(?:て(?:み"
    r"|いき))?"
    r"|開(?:き|いて(?:み|い))|探(?:し|して(?:み|い))|直(?:し|して(?:み|い))|書(?:き|き換え|き込み|いて(?:み|い))"
    r"|試(?:し|して(?:み|い))|使(?:い|って(?:み|い))|進(?:め|めていき|み)|行(?:い|っていき)|始め)"
)
_WILL_JA = rf"{_DOES_JA}(?:ます|ましょう|たいと思います)(?:ね)?[。：:…．.！!\s]*$"
_NOW_JA = (
    r"^(?:はい|了解(?:しました|です)|わかりました|承知(?:いた)?しました|では|それでは|じゃあ|まず(?:は)?|次(?:に|は)"
    r"|次のステップとして|すぐに|続いて|続けて|さらに|その後|これから|今から|いまから|ここで|早速|さっそく|最初に"
    r"|はじめに|もう一度|再度|一度"
    r"|引き続き|最後に)[、,。\s]*"
)
_TRYING_JA = r"(?:て(?:み|いき|まいり)ます|ましょう|たいと思います)(?:ね)?[。：:…．.！!\s]*$"
_NOT_NOW_JA = (
    r"ください|でしょうか|ですか|ますか|よろしければ|ご希望|必要(?:で|が|に応じ|なら)|ご(?:指示|連絡|確認)|お知らせ"
    r"|場合|もし|たら|なら|れば|、(?:次に|続いて|最後に|その後)|今後|次回|以降|いつでも|お待ち|後(?:で|ほど)|毎回"
    r"|ことができ"
)
_SEQUENCE_JA = r"^(?:次(?:に|は)|続いて|さらに|その後|最後に)"
_BEGINNING_JA = r"(?:まず|最初に|はじめに)(?!.*ましょう)|は.*(?:[^たい]ます|[うくすつぬむるぐぶ])。?$"
"""Sentences after such ones describe, step by step, what something does."""
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
"""Matches a description of what a program does, as opposed to the model's next step."""
_TOLD_HOW_JA = (
    r"(?:次|以下|下記)の(?:コマンド|方法|手順|ように)で"
    r"|^(?:次|以下|下記|こ)の(?:よう|形)(?:に|で)(?:使|実行し|起動し|呼び出し|利用し|用い|指定し|入力し)"
)
_TOPIC_JA = r"[^で](?:は|が|も)[、,]?[^、。]*を"


_WILL_ZH = (
    r"(?:好的?[，。]|那么[，]?|首先[，]?|接下来[，]?|然后[，]?|现在[，]?|下面[，]?|让){0,2}我(?:们)?"
    r"(?:现在|接下来|马上|先|将|会|要|来|需要|再)+[^。？?！]{0,40}"
    r"(?:修改|创建|运行|编辑|添加|检查|查看|更新|执行|修复|读取|搜索|写入|实现|测试|替换|删除)(?!了)"
)
"""Matches "I am going to change …" in Chinese, to which some models switch in any conversation."""


def announces(text: str, *, is_asked: bool = False) -> bool:
    """Return whether an answer without a call ends with an announced step, or is a call that could not be made.
    `is_asked`: a requested change has not been made, so that a described action counts as intended."""
    if is_only_call(text):
        return True
    said, calls = _without_call(text.strip())
    lines = [line for line in said.splitlines() if line.strip()]
    if not lines or re.match(_JAPANESE_LIST, lines[-1]) or lines[-1].lstrip().startswith(("```", "|", ">", "#")):
        return False
    said = re.sub(_CODE, "", said) if "```" in said else said
    sentences = [part.strip(" *_`\t") for part in re.split(_SENTENCE_END, said) if part.strip(" *_`\t")]
    if not sentences or "?" in sentences[-1] or "？" in sentences[-1]:
        return False
    if any("我" in said and re.match(_WILL_ZH, said) for said in sentences[-2:]) and not re.search(r"[ぁ-ん]", said):
        return True
    if re.search(r"[ぁ-ん]", sentences[-1]):
        return _announces_ja(sentences, calls=calls, is_asked=is_asked)
    if is_asked and re.match(_NEXT_STEP, sentences[-1]):
        return True
    breaks_off = bool(re.match(_BREAKS_OFF, text.rstrip().rpartition("\n")[2]))
    return announces_english(said, sentences, breaks_off=breaks_off)


def _has(text: str, *signs: str) -> bool:
    """Return whether the text contains one of `signs`, of which every alternative of a pattern has one.
    Saves compiling most patterns."""
    return any(sign in text for sign in signs)


def is_only_call(text: str) -> bool:
    """Return whether a text is only a call that could not be made, or ends with one by a known tool name."""
    text = text.strip()
    if _is_call(text):
        return True
    begun = re.search(_CALL_BEGINS, text) if _has(text, "```", "{", "<") else None
    call = text[begun.start() :] if begun else ""
    return _is_call(call) and any(map(_is_tool, chain.from_iterable(re.findall(_CALLED, call))))


def _is_call(text: str) -> bool:
    found = re.fullmatch(_ONLY_CALL, text) if _has(text, "{", "<", "(", ":") else None
    return bool(found and (found.lastindex is None or _is_tool(found[found.lastindex])))


def _is_tool(name: str) -> bool:
    """Return whether models use this name for one of those tools, here or in other assistants."""
    if name in vars(builtins):  # an answer `open("a.txt")` is Python
        return False
    return name.lower() in _TOOLS_IN_TEXT | _ELSEWHERE or tool_meant(name) in _TOOLS_IN_TEXT


def last_command(text: str) -> str:
    """Return the command on the last line of an answer, after the text that announces it. "" if there is none."""
    said, _newline, last = text.strip().rpartition("\n")
    found = re.fullmatch(_BARE_COMMAND, last.strip())
    return found["command"] if found and (not said.strip() or announces(said)) else ""


def _without_call(text: str) -> tuple[str, bool]:
    """Return the text before a call, or commands or file content, written out at the end.
    Also return whether there was any."""
    said = re.sub(_HALF_CALL, "", text).rstrip() if _has(text, "{", "<", "[", "(") else text
    if said != text:
        return said, True
    code = re.search(_LAST_CODE, text) if "```" in text else None
    if not code or len(re.findall(r"(?m)^[ \t]*```", text[: code.start()])) % 2:  # else it is the end of a block
        return text, False
    said = text[: code.start()].rstrip()
    last = re.split(_SENTENCE_END, said)[-1]
    is_step = code["info"].strip().lower() in _SHELLS or re.search(_FILE_NAME, last)
    return (said, True) if is_step and not re.search(_TOGETHER, last) else (text, False)


def _announces_ja(sentences: list[str], *, calls: bool, is_asked: bool) -> bool:
    last = sentences[-1]
    if re.search(_HOLD_ON_JA, last):
        return True
    rest = re.sub(_TO_FIND_OUT_JA, "", last)
    while opening := re.match(_NOW_JA, rest):
        rest = rest[opening.end() :]
    is_said_now = rest != last
    if not re.search(_WILL_JA, last) and not (is_said_now and re.search(_PLAIN_JA, last)):
        return False
    if re.search(_NOT_NOW_JA, rest) or re.search(_TOPIC_JA, rest):
        return False
    if is_asked:
        return True
    if _is_told_in_order(sentences) or re.search(_TOLD_HOW_JA, last):
        return False
    is_agreed = len(sentences) > 1 and not re.sub(_NOW_JA, "", sentences[-2]) and not re.search(_SUBJECT_JA, last)
    is_begun = last.rstrip().endswith(("：", ":", "…")) or bool(re.search(_TRYING_JA, last))
    return calls or is_agreed or is_said_now or is_begun or _follows_from_what_was_done(sentences)


def _is_told_in_order(sentences: list[str]) -> bool:
    """Return whether the last sentence is part of a step-by-step description of what something does."""
    return bool(re.match(_SEQUENCE_JA, sentences[-1])) and any(
        re.search(_BEGINNING_JA, said) for said in sentences[:-1]
    )


def _follows_from_what_was_done(sentences: list[str]) -> bool:
    """Return whether the last sentence, without a word such as “now”, can only be the model's next step: having done or
    found something, it looks at something, repeats something, or acts on what it was speaking of."""
    before, last = sentences[-2] if len(sentences) > 1 else "", sentences[-1]
    if re.search(_GENERAL_JA, last):
        return False
    if re.search(_THIS_JA, last):
        return True
    if not re.search(_DONE_JA, before) or re.search(_MADE_JA, before):
        return False
    is_mending = re.search(_FOUND_JA, before) and re.search(_MENDING_JA, last)
    return bool(is_mending or re.search(_AGAIN_JA, last) or re.search(_LOOKING_JA, last))
