"""Find what a request orders to be set or added, in words that say it exactly: values, with what they are of; names."""

import re
from collections.abc import Iterator

import msgspec

from localllm.agent.phrases.claimed_files import paths_in
from localllm.agent.phrases.phrase_search import ends_of, sentences_in
from localllm.base.lazy_patterns import late_pattern
from localllm.text.numerals import fold
from localllm.text.quantities import quantities

_MOST = 20
"""Values, or names, of a request."""
_QUOTED = late_pattern(
    r"(?<![\w'])'(?P<a>[^'\n]{1,80})'(?!\w)|\"(?P<b>[^\"\n]{1,80})\"|`(?P<c>[^`\n]{1,80})`"
    r"|「(?P<d>[^」\n]{1,80})」|『(?P<e>[^』\n]{1,80})』|“(?P<f>[^”\n]{1,80})”"
)
_MASK = r"\x02\d{1,2}\x03"
"""Stands for a quotation."""
_OF_MASKS = {2: None, 3: None}
_NO_ORDER = late_pattern(
    r"\b(?:if|unless|when|don't|do not|not|or|without|except|but|(?<!'d )(?<!would )like|as in|same as|until"
    r"|instead of|maybe|perhaps"
    r"|for example|e\.g|such as|so that|should (?:return|raise)|test that|tests? for)\b|\?$"
    r"|場合|なら|れば|たら|ない|ように|以外|例えば|など|または|もしくは|同じ|か[。？?]?$",
    re.IGNORECASE,
)
"""Matches a sentence that orders nothing, or on a condition, or what a program is to do."""
_LEAD = (
    r"^(?:(?:please|also|then|now|and|just|next|finally|(?:can|could|would) you|i want you to"
    r"|in \S{1,60}\.\w{1,5})[,:]? |\d{1,2}[.)] ?|[-*] ){0,4}"
)
_VERBS = (
    r"(?:set|change|raise|lower|increase|decrease|reduce|bump|update|make|switch|turn|adjust"
    r"|upgrade|downgrade|configure|move|rename)"
)
_ARTICLES = r"(?:(?:the|its|my|our|an?|value|of|default|both|constants?|variables?|option|setting|function) ){0,4}"
_NO_KEY = "(?:to|from|in|of|on|for|by|than|at|over|under|about|least|most)"
_PAIR = late_pattern(
    rf"{_LEAD}(?:(?P<verb>{_VERBS})(?: up| down)? )?{_ARTICLES}"
    rf"(?P<key>(?:{_MASK}|[\w$][\w.$-]{{0,40}})(?: (?!{_NO_KEY}\b)[\w-]{{1,30}}){{0,2}}?)"
    r"(?: (?:in|of|on|for) (?:the )?[^\s,]{1,80}(?: file)?)?(?: (?:back )?from [^\s,]{1,40}(?: (?!to\b)\w{1,12})?)?"
    r"(?P<join> to be | to | as (?=\d|\x02)| (?=[-+]?\d|\x02|(?:true|false|on|off)\b))(?P<value>\S.*)$",
    re.IGNORECASE,
)
_SHOULD = late_pattern(
    r"(?:(?:please|i'd like|i would like|i want|we need|i need) )?(?:the )?(?P<key>(?-i:[A-Z][A-Z0-9_]{2,40}))"
    r"(?P<verb>)(?P<join> (?:(?:should|must|needs? to)(?: now)?|to|shall) be )(?P<value>\S.*)$",
    re.IGNORECASE,
)
"""Matches what a constant is to be; of other things it may say what a program is to do."""
_HEADED = late_pattern(rf"{_LEAD}{_VERBS} (?:the )?(?:file )?[^\s,]{{1,80}}$", re.IGNORECASE)
_BELOW = late_pattern(r"(?P<verb>)(?P<key>[\w$][\w.$-]{0,40})(?P<join>:? (?:to )?)(?P<value>[^\s,]{1,60})$")
"""Matches a line below a head: update a.json: port 9000, currency EUR."""
_LEADING = late_pattern(r"(?:please )?in [^\n]{1,120}?,(?= )", re.IGNORECASE)
_PAIR_IN_LIST = late_pattern(r"^\d{1,2}[.)] ?(?P<verb>)(?P<key>[\w$][\w.$-]{0,40})(?P<join>:? )(?P<value>\S.*)$")
_ITEM = late_pattern(r"\d{1,2}[.)]")
_CLAUSES = late_pattern(r", (?:and )?(?:also )?| and (?:also )?| then |; | (?=\d\) )")
_EQUATION = late_pattern(
    rf"(?<![\w(.,=<>!$-])(?P<key>[A-Za-z_][\w.-]{{0,60}}) ?= ?(?!=|>)(?P<value>{_MASK}|[^\s,、。]{{1,60}})"
)
_ONLY_EQUATIONS = late_pattern(r"(?:[A-Za-z_][\w.-]{0,60} ?= ?[^\s,=]{1,60}(?:, ?(?:and )?|$)){1,12}$")
_GIVEN = late_pattern(r"\b(?:for|when|where|with|at|is|explain|what) (?:\w{1,12} )?$", re.IGNORECASE)
_TO_SET = late_pattern(
    rf"{_LEAD}(?:add|set|define|put|insert|append|introduce|change|make|use)\b|(?:追加|設定|定義|変更|変え|加え|足し|にし)",
    re.IGNORECASE,
)
_NUMBERED = frozenset(
    "line lines step page chapter section issue test case item cell row column part point number no day figure table"
    " task version phase level heading python use all every each return returns prints print raise has have".split()
)
"""Words before a number that is a name, not a value."""
_BY_SHARE = frozenset({"reduce", "decrease", "increase", "lower"})
_PRONOUNS = frozenset({"it", "this", "that", "them", "its value", "these", "値", "それ", "これ"})
_ENDS = late_pattern(r"\s*(?:$|[.,;:!)。、]|(?:in|for|on|at|please|too|as well|everywhere|instead|now|wide|high)\b)")
_ORDINAL = late_pattern(r"\d+(?:st|nd|rd|th|[-–/]\w|[A-Za-z]{4,}|:)")
_UNIT = late_pattern(r"(?a:[a-zA-Z%]{0,3})")
_RELATIVE = late_pattern(
    r" ?(?:of|times the|as|characters?|chars|words?|lines?|letters?|digits?|places|decimals?)\b|文字|字|行|語|桁|分の",
    re.IGNORECASE,
)
"""Matches, behind a number, what makes it a share or a size, which need not be written."""
_SHARE = late_pattern(r"(?:twice|thrice|half|double|triple|quadruple|quarter|third)\b", re.IGNORECASE)
"""Matches how much of the value of before is ordered, which no file holds in this word."""
_SWITCH = late_pattern(r"(?:true|false|on|off|yes|no|none|null)\b", re.IGNORECASE)
_WORD = late_pattern(r"[A-Za-z_][^\s,;。、「」（）()]{0,80}")
_DISTINCT = late_pattern(r"\w[._/:@-]\w|\w\d|^_|[a-z][A-Z]")
_KEY_JA = rf"(?:{_MASK}|(?a:[A-Za-z_$][\w.$-]{{0,40}})|[一-龯ァ-ヶー][一-龯ァ-ヶーしりきみいえけれめ]{{0,11}})"
_PAIR_JA = late_pattern(
    rf"(?P<key>{_KEY_JA}) ?(?:の(?:値|数|設定))?[をはも] ?(?:[^。、をは\n]{{0,40}}?(?:で|から|の) ?)?"
    rf"(?P<value>{_MASK}|\d[^をはにへ、。\n]{{0,16}}?|(?a:[A-Za-z_][\w./:@-]{{0,60}})|[一-龯ァ-ヶー]{{1,8}})"
    r" ?(?:[にへ](?=し|変|設定|書き換|直|増|減|上げ|下げ|伸ば|延ば|縮|切り替|、|。|\s*$)|(?=[、]))"
)
_SETS_JA = late_pattern(r"[にへ] ?(?:し|変|設定|書き換|直|増|減|上げ|下げ|伸ば|延ば|縮|切り替|。|\s*$)")
_RELATIVE_JA = late_pattern(r"\d ?(?:文字|字|行|語|桁|分の|倍|割)")
_BY_SHARE_JA = late_pattern(r"(?:減|下げ|縮|増|し(?:て)?[^。\n]{0,6}(?:減|下げ))")
_KINDS = (
    r"(?:functions?|constants?|methods?|class(?:es)?|variables?|options?|flags?|keys?|columns?|fields?|endpoints?"
    r"|settings?|commands?|targets?|helpers?)"
)
_NAME = rf"(?:{_MASK}|(?a:[A-Za-z_$][\w$]{{0,60}}(?![\w$]|\.\w)(?:\(\))?))"
_NUMBERED_NAME = r"(?a:[A-Za-z_]\w{0,40}\d(?!\w|\.\w)(?:\(\))?)"
_NAMES = rf"(?:{_NUMBERED_NAME}(?: to | through |-){_NUMBERED_NAME}|{_NAME})"
_JOINS = r"(?:, (?:and )?| and )"
_ADDED = late_pattern(
    rf"{_LEAD}(?:add|create|implement|write|define|introduce|insert|append)(?: (?:the|an?|new|two|three|four|five|\d"
    rf"|following|empty)){{0,4}}(?P<kind> {_KINDS}(?: (?:named|called))?)? "
    rf"(?P<names>{_NAMES}(?:{_JOINS}{_NAMES}){{0,11}})"
    rf"(?= (?:to|in|into|with|for|that|which|from|and|at|as well|returning)\b|[.,;:]|$| {_KINDS}\b)",
    re.IGNORECASE,
)
_ADDED_JA = late_pattern(
    rf"(?P<names>{_NAME}(?:(?: ?[、と,・] ?| ?から ?|[~-]){_NAME}){{0,11}})(?: ?(?:という|の)[^。、をに\n]{{0,20}})?"
    r"(?: ?まで[^。\n]{0,40}?| ?[、を] ?[^。を\n]{0,40}?)(?:追加|作成|実装|定義|加え|足し|追記|登録|作っ|入れて)"
)
_RANGE = late_pattern(
    r"(?<![\w\x02])(?P<stem>[A-Za-z_]\w{0,40}?)(?P<first>\d{1,3})(?:\(\))?"
    r"(?: to | through |[-–~]| ?から ?)(?P=stem)(?P<last>\d{1,3})"
)
_MOST_IN_RANGE = 30


class OrderedValue(msgspec.Struct, frozen=True):
    """A value that a request orders to be set: of what, "" if it does not say it in one word, and in which files."""

    key: str
    value: str
    paths: tuple[str, ...] = ()
    is_plain: bool = False
    """Whether it is a word, which may be one of the language."""
    is_new: bool = False
    """Whether it was written as an assignment, in which the key may be new."""


class OrderedName(msgspec.Struct, frozen=True):
    """A name, or a text in quotation marks, that a request orders to be added, or something to be renamed to."""

    name: str
    is_text: bool = False


def ordered_values(request: str) -> list[OrderedValue]:
    """Return the values that a request orders to be set."""
    found: dict[tuple[str, str], OrderedValue] = {}
    headed: tuple[str, ...] | None = None
    for said, quoted in _orders(request):
        pairs = _pairs_ja(said, quoted) if _is_ja(said) else _pairs(said, quoted, headed)
        for one in (*_equations(said, quoted), *pairs):
            found.setdefault((one.key, one.value), one)
        headed = tuple(paths_in(said)) if _HEADED.match(said) else None
    return list(found.values())[:_MOST]


def ordered_names(request: str) -> list[OrderedName]:
    """Return the names that a request orders to be added, or that something is to be renamed to."""
    found: dict[str, OrderedName] = {}
    for said, quoted in _orders(request):
        for one in (*_added(said, quoted), *_new_names(said, quoted)):
            found.setdefault(one.name, one)
    return list(found.values())[:_MOST]


def names_in_ranges(text: str) -> list[str]:
    """Return the names that a text means by its ranges: f2 to f5."""
    found: list[str] = []
    for one in _RANGE.finditer(fold(text).replace("`", "")):
        first, last = int(one["first"]), int(one["last"])
        if 0 < last - first <= _MOST_IN_RANGE:
            found += [f"{one['stem']}{number}" for number in range(first, last + 1)]
    return found


def _orders(request: str) -> Iterator[tuple[str, list[str]]]:
    """Yield the sentences that order something, with a mask for each quotation, and the quotations."""
    for said in map(_with_quotes, sentences_in(ends_of(request).translate(_OF_MASKS))):
        quoted: list[str] = []

        def mask(found: re.Match[str], quoted: list[str] = quoted) -> str:
            quoted.append(found[0])
            return f"\x02{len(quoted) - 1}\x03"

        masked = fold(_QUOTED.sub(mask, said))
        if len(quoted) <= _MOST and not _NO_ORDER.search(masked):
            yield masked, quoted


def _with_quotes(said: str) -> str:
    """Return a sentence with the backquote at its beginning or end that was taken for markup."""
    if said.count("`") % 2 == 0:
        return said
    return f"`{said}" if re.match(r"[\w$.()-]{1,80}`", said) else f"{said}`"


def _is_ja(said: str) -> bool:
    return bool(re.search("[ぁ-ん]", said))


def _unmasked(text: str, quoted: list[str]) -> str:
    """Return a text with its quotations, without their marks."""
    return re.sub(
        r"\x02(\d{1,2})\x03", lambda one: quoted[int(one[1])][1:-1] if int(one[1]) < len(quoted) else "", text
    )


def _equations(said: str, quoted: list[str]) -> Iterator[OrderedValue]:
    if "=" not in said or not (_TO_SET.search(said) or _ONLY_EQUATIONS.match(said)):
        return
    for one in _EQUATION.finditer(said):
        if _GIVEN.search(said[: one.start()]):
            continue
        value = _unmasked(one["value"].rstrip(".;:)"), quoted)
        if value and value[0] not in "([{":
            yield OrderedValue(one["key"], value, tuple(paths_in(said)), is_new=True)


def _pairs(said: str, quoted: list[str], headed: tuple[str, ...] | None = None) -> Iterator[OrderedValue]:
    """Yield the values of a sentence. `headed`: the files of an order of which it is the list, None if it is none."""
    verb, leading = "", tuple(paths_in(found[0]) if (found := _LEADING.match(said)) else ())
    pairs: list[tuple[OrderedValue, list[str]]] = []
    for clause in _CLAUSES.split(said):
        loose = _SHOULD.match(clause) or (_BELOW.match(clause) if headed is not None else None)
        match = loose or _PAIR.match(clause) or _PAIR_IN_LIST.match(clause)
        if match is None or "=" in clause:
            if pairs and (more := paths_in(clause)) and " " not in clause.removeprefix("in "):
                pairs[-1][1].extend(more)
            continue
        verb = (match["verb"] or verb or ("set" if loose else "")).lower()
        if match["verb"] is None and not verb and not _ITEM.match(clause):
            continue
        key = _key_of(match["key"], quoted)
        value, is_plain = _value_at(match["value"], quoted, is_file=not _CONSTANT.fullmatch(key))
        if value.endswith("%") and (verb in _BY_SHARE or " of " in match["value"]):
            continue
        is_label = match["join"] == " " and not _NUMBERED.isdisjoint(key.lower().split())
        if not value or (verb == "rename" and key.lower() not in _PRONOUNS) or is_label:
            continue
        one = OrderedValue("" if key.lower() in _PRONOUNS else key, value, is_plain=is_plain or bool(loose))
        pairs.append((one, [path for path in paths_in(clause) if path != value]))
    for number, (one, paths) in enumerate(pairs):
        behind = next((others for _, others in pairs[number:] if others), ())
        before = next((others for _, others in pairs[number::-1] if others), headed or leading)
        yield msgspec.structs.replace(one, paths=tuple(dict.fromkeys(paths or behind or before)))


def _key_of(written: str, quoted: list[str]) -> str:
    return _unmasked(written, quoted).strip("`'\"")


_CONSTANT = late_pattern(r"(?a:[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)*)")


def _value_at(text: str, quoted: list[str], *, is_file: bool = True) -> tuple[str, bool]:
    """Return the value at the beginning of a text, and whether it is a plain word; "" if there is none. `is_file`:
    what looks like the name of a file is one: of a constant it is the value (ALLOWED_HOSTS to example.com)."""
    if mask := re.match(_MASK, text):
        return _unmasked(mask[0], quoted), False
    if _SHARE.match(text):
        return "", False
    if text[0].isdigit() or text[0] in "+-" or text[0].isalpha():
        numbers = [one for one in quantities(text[:60]) if one.span.start == 0]
        if numbers and not _ORDINAL.match(text) and text[:3].lower() != "one":
            unit = _UNIT.match(text, numbers[0].span.end)
            end = unit.end() if unit and text[numbers[0].span.end - 1].isdigit() else numbers[0].span.end
            is_whole = not text[end : end + 1].isalnum() and not _RELATIVE.match(text, end)
            return (text[:end].strip(), False) if is_whole else ("", False)
    switch = _SWITCH.match(text)
    found = switch or _WORD.match(text) or re.match(r"\d[\w.:]*\w", text)
    if found is None or (is_file and paths_in(found[0])) or _ORDINAL.match(text):
        return "", False
    value = found[0].rstrip(".:!)")
    if not switch and not _DISTINCT.search(value):
        return (value, True) if _ENDS.match(text, len(value)) else ("", False)
    return value, False


def _pairs_ja(said: str, quoted: list[str]) -> Iterator[OrderedValue]:
    if not _SETS_JA.search(said):
        return
    paths, end = tuple[str, ...](), 0
    for one in _PAIR_JA.finditer(said):
        key, written = _key_of(one["key"], quoted), one["value"].strip()
        paths = tuple(path for path in paths_in(_spaced(said[end : one.end()])) if not _is_object(said, path)) or paths
        end = one.end()
        if paths_in(key) or _RELATIVE_JA.search(written) or ("%" in written and _BY_SHARE_JA.match(said, end)):
            continue
        if written[0].isdigit() or written[0] == "\x02":
            value, is_plain = _unmasked(written, quoted), False
        else:
            value = "" if paths_in(written) else written
            is_plain = not (_DISTINCT.search(value) or _SWITCH.fullmatch(value))
        if value:
            yield OrderedValue("" if key in _PRONOUNS else key, value, paths, is_plain=is_plain)


def _is_object(said: str, path: str) -> bool:
    """Return whether something is done with a file itself: b.py を c.py にコピーして、…"""
    return bool(re.search(rf"{re.escape(path)} ?(?:を|[にへ] ?(?:コピー|バックアップ|複製|保存))", said))


def _spaced(said: str) -> str:
    """Return a Japanese sentence with blanks around what is ASCII in it."""
    return re.sub(r"([ -~]+)", r" \1 ", said)


def _added(said: str, quoted: list[str]) -> Iterator[OrderedName]:
    if (found := (_ADDED_JA.search if _is_ja(said) else _ADDED.match)(said)) is None:
        return
    kind = found.groupdict().get("kind") or ""
    is_kind = kind.endswith(("named", "called")) or (bool(kind) and bool(_DISTINCT_NAME.search(found["names"])))
    yield from (OrderedName(name) for name in names_in_ranges(found["names"]))
    for written in re.findall(_NAME, found["names"]):
        if written[0] == "\x02":
            whole = quoted[int(written[1:-1])]
            text = whole[1:-1].removesuffix("()")
            yield OrderedName(text, is_text=whole[0] != "`" and not re.fullmatch(r"(?a:[A-Za-z_]\w+)", text))
        elif _is_name(written.removesuffix("()"), is_kind=is_kind or written.endswith("()")):
            yield OrderedName(written.removesuffix("()"))


_NO_NAMES = frozenset("a an the and to through for with that which in on of from".split())


def _is_name(word: str, *, is_kind: bool) -> bool:
    if word.lower() in _NO_NAMES:
        return False
    return is_kind or bool(re.search(r"_\w|[a-z][A-Z]|^[a-z]{1,3}\d{1,3}$|^[a-z]$", word))


_DISTINCT_NAME = late_pattern(r"(?a:\w_\w|[a-z][A-Z]|\b[a-z]{1,3}\d{1,3}\b)")
_RENAME = late_pattern(
    rf"\brename (?:(?:the|function|method|class|variable|constant|column|field) )*{_NAME} to (?P<new>{_NAME})"
    rf"(?P<more>(?:(?:, (?:and )?| and ){_NAME} to {_NAME}){{0,9}})(?=[.,; ]|$)",
    re.IGNORECASE,
)
_MORE_NEW = late_pattern(rf" to ({_NAME})")
_RENAME_JA = late_pattern(
    rf"(?a:{_NAME}) ?(?:という\w{{1,8}})?(?:の名前)?を ?(?P<new>(?a:{_NAME}))(?![\w.])"
    r" ?(?:という名前)?[にへ](?=[^。\n]{0,60}(?:改名|リネーム))"
)


def _new_names(said: str, quoted: list[str]) -> Iterator[OrderedName]:
    found = [name for one in _RENAME.finditer(said) for name in (one["new"], *_MORE_NEW.findall(one["more"]))]
    if not said.isascii():
        found += [one["new"] for one in _RENAME_JA.finditer(said)]
    for written in found:
        name = _unmasked(written, quoted).removesuffix("()")
        if re.fullmatch(r"(?a:[A-Za-z_$][\w$]*)", name) and not re.search(rf"{re.escape(name)}\.\w", said):
            yield OrderedName(name)
