"""Find the old name that a request orders to be renamed or replaced, where it still stands in the project.

It counts as a word of its own; a plain word, such as `add`, only where it is to be changed everywhere, and as a call or
in backquotes. Whatever the words of the request, it counts if the definition it names was renamed and is still used.
"""

import re
from collections.abc import Callable, Iterable, Iterator

import msgspec

from localllm.agent.phrases.claimed_files import paths_in
from localllm.agent.phrases.phrase_search import ends_of, has_any, sentences_in
from localllm.base.directory_walk import ProjectListing
from localllm.base.lazy_patterns import late_pattern
from localllm.base.regular_files import read_regular
from localllm.safety.path_names import shown

_QUOTES = "`\"'「」『』"
_NAME = (
    rf"(?:[{_QUOTES}][^{_QUOTES}\n]{{1,60}}[{_QUOTES}]"
    r"|(?a:-{0,2}[A-Za-z_$][\w$-]{0,60}(?:(?:\.|::)\w{1,60}){0,4}))"
)
_OLD, _NEW = rf"(?P<old>{_NAME})`?(?:\(\))?", rf"(?P<new>{_NAME})`?(?:\(\))?(?!\.\w|/)"
_KIND = (
    r"(?:(?:the|all|every|each|any|uses|usages|occurrences|references|calls|instances|mentions|of|to|function|method"
    r"|class|variable|field|column|option|flag|constant|parameter|argument|attribute|property|module|package|type"
    r"|struct|interface|key|table|endpoint|setting|identifier|symbol|name|word|term|string|env|environment) ){0,7}"
)
_RENAMED = late_pattern(
    rf"\b(?:rename|change the name of|replace) {_KIND}{_OLD} "
    r"(?:everywhere |globally |(?:function|method|class|column|field|variable|option|flag|constant|key|table) )?"
    rf"(?:to|into|as|by|with|->|→|=>) {_KIND}{_NEW}",
    re.IGNORECASE,
)
_AND_SO = late_pattern(rf",? (?:and )?{_OLD} (?:to|into|by|with|->|→|=>) {_NEW}")
_KIND_JA = "(?:関数|変数|メソッド|クラス|列|カラム)?"
_RENAMED_JA = late_pattern(
    rf"{_OLD} ?{_KIND_JA}(?:の{_KIND_JA}名前?)?を ?(?:[^。\n「『`]{{0,12}}(?:で|、))?"
    rf"(?:すべて|全て|全部|一括で)? ?{_NEW} ?{_KIND_JA}(?:という\w{{1,6}})?[にへ]"
    r"(?:[^。\n]{0,12}(?:改名|リネーム|置き換え|置換|名前を?変)|(?:すべて|全て|全部)?(?P<loosely>変え|変更し|直し|し)て)"
    rf"|(?P<old2>{_NAME}) ?の{_KIND_JA}名前?を ?(?P<new2>{_NAME}) ?に(?:変更|変え|し)"
)
_EVERYWHERE = late_pattern(
    r"\b(?:everywhere|throughout|globally|across|whole|entire)\b(?! in (?:this|that|`?[\w./-]{1,200}(?:\.\w|/)))"
    r"|\b(?:all|every|each) (?:[\w-]{1,20} ){0,2}(?:us(?:es|ages)|occurrences|references|call(?:er)?s|instances"
    r"|mentions|files?)\b|すべて|全て|全部|全体|あらゆる|一括|至る所|どこでも|全ファイル",
    re.IGNORECASE,
)
_LIMITED = late_pattern(
    r"\b(?:in|inside|within|of|under) (?:the )?(?:(?:file|module|folder|directory) )?"
    r"(?:`?[\w./-]{0,200}(?:/|\.[a-z])|(?:this|that|function|class|method|loop|README|docs?|documentation|tests?"
    r"|comments?|code)\b)|\b(?:only|just|except|but not|don't|do not|without|local|for now)\b"
    r"|だけ|のみ|以外|除[いく]|[\w/-]\.\w{1,5} ?(?:の|内|で|にある)|この(?:ファイル|関数|クラス|モジュール)"
    r"|/ ?[の内で]",
    re.IGNORECASE,
)
"""Matches a place to which a request may be limited."""
_KEPT = late_pattern(
    r"\b(?:alias|deprecat|backward|compat|(?:keep|leave|support) (?:the )?old)|互換|エイリアス|別名|非推奨|残し",
    re.IGNORECASE,
)
"""Matches a request in which the old name is to go on working."""
_STAYS = late_pattern(
    r"\b(?:stays?|kept|keeps?|left|leaves?|leaving|remains?|unchanged|untouched|intention\w*|on purpose|deliberate\w*"
    r"|unrelated|historic\w*|alias|deprecated|not (?:been )?(?:renamed|replaced|changed)"
    r"|did not (?:rename|replace|change|touch)|still (?:stands?|has|have|uses?|contains?|calls?))\b"
    r"|残[しっりる]|そのまま|意図的|互換|無関係|別の|除[いき]|(?:変更|改名|置換|リネーム)し(?:ていま|ていな|ませ|ない)",
    re.IGNORECASE,
)
_GONE = late_pattern(
    r"\b(?:no|none|nothing|zero|never|nowhere|neither|any)\b|残(?:って|り)(?:い|は(?:あり)?)?(?:ません|ない)",
    re.IGNORECASE,
)
_DISTINCT = late_pattern(r"(?<=\w)(?:_|-|\.|::|\d)(?=\w)|\w\d|[a-z][A-Z]|^[-_$]|_$")
_HYPHENED = late_pattern(r"[a-z]+(?:-[a-z]+)+", re.IGNORECASE)
"""Matches names that may be plain words: replace the for-loop with a comprehension."""
_RECORDS = late_pattern(
    r"(?:^|/)(?:change(?:s|log)|history|news|releases?|release[_-]?notes|migrat\w{0,20}|upgrad\w{0,20}|vendor"
    r"|third_party|node_modules|dist|build|target|\.?venv|__pycache__)(?:[./_-]|$)"
    r"|\.(?:lock|log|min\.js|map|orig|bak|rej|patch|diff|csv|tsv|svg)$|lock\.\w{1,5}$",
    re.IGNORECASE,
)
"""Matches paths of what tells of earlier versions, or is not written by hand."""
_LARGEST, _MOST_BYTES = 500_000, 30_000_000
_MOST_SHOWN, _MOST_FOUND = 5, 50


class Renaming(msgspec.Struct, frozen=True):
    """A name that is to be replaced by another, and the pattern of its uses."""

    old: str
    new: str
    pattern: str
    near: tuple[str, ...] = ()
    """Words of which a file with a use has one, in lower case; none if each file may use it."""
    ending: str = ""
    """What the names of the files end with in which it counts; "" for all."""


def ordered_renamings(request: str) -> list[Renaming]:
    """Return what a request orders to be renamed in the whole project; nothing where the old name is to go on working,
    or could not be told from other words."""
    text = ends_of(request)
    if _KEPT.search(text):
        return []
    is_everywhere = bool(_EVERYWHERE.search(text))
    found: list[Renaming] = []
    for said in sentences_in(text):
        for written, other in _pairs(said, is_everywhere=is_everywhere):
            is_limited = _LIMITED.search(said.replace(written, "").replace(other, "")) and not is_everywhere
            old, new = written.strip(_QUOTES), other.strip(_QUOTES)
            is_word = old == written and bool(_HYPHENED.fullmatch(old)) and not re.search("[-_]", new)
            pattern = "" if is_limited or is_word or paths_in(old) else _uses(old, is_everywhere=is_everywhere)
            if pattern and not re.search(_whole(old), new):
                found.append(Renaming(old, new, pattern))
    return found


def renamings_made(request: str, diffs: Iterable[tuple[str, str]]) -> list[Renaming]:
    """Return the definitions that a run has renamed as the request says, whatever its words: it names both, and a diff
    (with the path of its file) takes the old one away and has the new one. Not where the request names a place, or
    the old name is to go on working, nor a method that things of other kinds have as well."""
    text = ends_of(request)
    if _KEPT.search(text):
        return []
    is_everywhere = bool(_EVERYWHERE.search(text))
    words = {*_IDENTIFIER.findall(text)}
    gone: dict[str, str] = {}
    added: dict[str, None] = {}
    owners: list[str] = []
    for path, diff in diffs:
        for match in _DEFINED.finditer(diff):
            name = next(filter(None, match.groups()[1:]))
            is_named = name in words or (not name.isascii() and name in text)
            if is_named and match["sign"] == "-":
                gone.setdefault(name, path)
            elif is_named:
                added[name] = None
        owners += _OWNER.findall(diff)
    old, new = [one for one in gone if one not in added], [one for one in added if one not in gone]
    if len(old) != 1 or len(new) != 1 or old[0] in _SHARED:
        return []
    rest = re.sub("|".join(_whole(one) if one.isascii() else re.escape(one) for one in (old[0], new[0])), "", text)
    if _LIMITED.search(rest) and not is_everywhere:
        return []
    if distinct := _DISTINCT.search(old[0]) and _uses(old[0], is_everywhere=False):
        return [Renaming(old[0], new[0], distinct)]
    stem = gone[old[0]].rpartition("/")[2].partition(".")[0]
    call = rf"(?<![\w$-]){re.escape(old[0])}(?=\()|\bimport\b[^\n]{{0,200}}\b{re.escape(old[0])}\b"
    return [Renaming(old[0], new[0], call, tuple({stem.lower(), *(one.lower() for one in owners)}))]


_IDENTIFIER = late_pattern(r"(?a:[A-Za-z_]\w{1,60})")
_DEFINED = late_pattern(
    r"^(?P<sign>[-+])(?:[ \t]*(?:(?:pub|export|default|async|static|public|private|protected|abstract|final) ){0,4}"
    r"(?:def|function\*?|fn|func(?: ?\([^()\n]{0,80}\))?|class|struct|enum|interface|trait|sub) (\w{2,60})"
    r"|(?:export )?(?:const|let|var|val) (\w{2,60})|(\w{2,60}) ?=(?!=)"
    r"|[ \t]*(?!return|else|await|new|throw)[A-Za-z_][\w<>\[\],*&:]{0,60} \*?(\w{2,60})"
    r"\([^;()\n]{0,200}\)[^;\n]{0,40}$"
    r"|[ \t]+(?:async |static ){0,2}(?!if|for|while|switch|catch)(\w{2,60})\([^;()\n]{0,200}\) ?\{$)",
    re.MULTILINE,
)
"""Matches, in a diff, a definition that is taken away or added."""
_OWNER = late_pattern(r"^[ @+-][^\n]{0,60}?\b(?:class|struct|impl|interface|trait) (\w{3,60})", re.MULTILINE)
_SHARED = frozenset(
    "add all any append apply call check clear close copy count create data delete end exists extend fetch filter"
    " find first flush format get group has index info init insert items join key keys last len length list load"
    " log main map match max min name new next open parse path pop post print process push put read release remove"
    " render replace reset reverse run save search send set setup show size slice sort split start state status"
    " step stop strip sum test text title to update upper value values wait walk write".split()
)
"""Names of methods that things of several kinds have."""


_LETTER = r"[\w.~%:$@-]"
_UNIT = late_pattern(r"\d[ ]?[A-Za-z%°][\w%]{0,5}(?![\w])")
_MOST_PAIRS = 2_000


def replaced_everywhere(request: str, diffs: Iterable[tuple[str, str]]) -> list[Renaming]:
    """Return what a run has replaced in lines that are the same otherwise (35~kHz by 48~kHz, LOG.debug by LOG.info),
    where the request wants it everywhere, names no place, and has what is new of it. A bare number or word, which may
    stand for other things elsewhere, counts only as the whole line."""
    text = ends_of(request)
    if not _EVERYWHERE.search(text) or _KEPT.search(text) or _PLACE.search(text):
        return []
    found: dict[tuple[str, str], str] = {}
    for path, diff in diffs:
        for old_line, new_line in _replaced_lines(diff):
            old, new = _token(old_line, new_line)
            parts = [part for part in re.findall(r"\w+", new) if part not in re.findall(r"\w+", old)]
            if old and parts and all(part in text for part in parts):
                is_clear = len(old) >= _SHORTEST and bool(re.search(r"[^\W\d_]", old)) and not old.isalpha()
                found.setdefault((old if is_clear else old_line.strip(), new), path.rpartition(".")[2])
    return [
        Renaming(old, new, rf"(?<!{_LETTER}){re.escape(old)}(?!\w)", ending=ending)
        for (old, new), ending in found.items()
        if len(old) >= _SHORTEST
    ]


_SHORTEST = 4
_PLACE = late_pattern(
    r"\b(?:in|inside|of|under) (?:the )?`?[\w./-]{0,200}\.[a-z]{1,5}\b"
    r"|\b(?:only|just|except|but|without|don't|do not)\b"
    r"|だけ|のみ|以外|除[いく]|[\w/-]\.\w{1,5} ?(?:の|内|で)",
    re.IGNORECASE,
)


def _replaced_lines(diff: str) -> Iterator[tuple[str, str]]:
    """Yield the lines of a diff that others have replaced one by one."""
    gone: list[str] = []
    new: list[str] = []
    for line in [*diff.splitlines()[:_MOST_PAIRS], " "]:
        if line[:1] == "-" and not new:
            gone.append(line[1:])
        elif line[:1] == "+" and gone:
            new.append(line[1:])
        else:
            if len(gone) == len(new):
                yield from zip(gone, new, strict=True)
            gone, new = [line[1:]] if line[:1] == "-" else [], []


def _token(old: str, new: str) -> tuple[str, str]:
    """Return the words of two lines in which they differ, with the unit behind a number; "" if there are several."""
    one, other = ([*re.finditer(rf"{_LETTER}+", line)] for line in (old, new))
    if len(one) != len(other):
        return "", ""
    differ = [(a, b) for a, b in zip(one, other, strict=True) if a[0] != b[0]]
    if len({(a[0], b[0]) for a, b in differ}) != 1:
        return "", ""
    first, second = differ[0]
    unit = _UNIT.match(old, first.end() - 1)
    end = unit.end() if unit and first[0][-1:].isdigit() else first.end()
    return old[first.start() : end].rstrip(".:"), second[0].rstrip(".:")


def _pairs(said: str, *, is_everywhere: bool) -> Iterator[tuple[str, str]]:
    match = _RENAMED.search(said)
    if match is None and not said.isascii() and (match := _RENAMED_JA.search(said)):
        old, new = match["old"] or match["old2"], match["new"] or match["new2"]
        is_of_all = is_everywhere and not _OF_PART.search(said[: match.start()])
        if not match["loosely"] or "名" in match[0] or (is_of_all and _style(old) == _style(new) != ""):
            yield old, new
        return
    while match:
        yield match["old"], match["new"]
        match = _AND_SO.match(said, match.end())


_OF_PART = late_pattern(
    r"(?<!全体)(?<!ファイル)(?<!コード)(?<!ソース)(?<!プロジェクト)(?<!リポジトリ)(?<!すべて)(?<!全て)"
    r"の(?:中の)? ?[`「]?$"
)
"""Matches what stands before a name where only some of its uses are meant: ボタンの primary_color を全部変えて."""


def _style(name: str) -> str:
    """Return how the words of a name are joined; "" if it is one word. What is to be something of another style may be
    a setting: LOG_LEVEL を warn_only に変えて."""
    if "_" in name.strip("_"):
        return "UPPER_CASE" if name.isupper() else "snake_case"
    return "camelCase" if re.search("[a-z][A-Z]", name) else ""


def _whole(name: str) -> str:
    """Return the pattern of a name that is no part of another."""
    return rf"(?<!\w){re.escape(name)}(?!\w)"


def _uses(old: str, *, is_everywhere: bool) -> str:
    """Return the pattern of a name's uses: a plain word, which stands for other things as well, as a call or in
    backquotes; "" if it cannot be told."""
    name = re.escape(old)
    if _DISTINCT.search(old) and old.isascii():
        return rf"(?<![\w{'-' if old[0] == '-' else ''}]){name}(?!\w|-\w)"
    if not is_everywhere:
        return ""
    if not old.isascii():
        return name
    if " " in old:
        return _whole(old)
    return rf"(?<![\w.$-]){name}(?=\()|`{name}\b"


def places_of_old(listing: ProjectListing, renaming: Renaming, read: Callable[[str], str | None]) -> list[str]:
    """Return where the old name still stands (`a.py:3`), without lines that hold the new one too: these tell of the
    change. Of a very large project not all. `read` returns the text of a file, None if it may not be read."""
    uses, new, word = re.compile(renaming.pattern), re.compile(_whole(renaming.new)), renaming.old.encode()
    found: list[str] = []
    left = _MOST_BYTES
    try:
        entries = listing.entries
    except OSError:
        return []
    for entry in entries:
        if entry.is_dir or entry.is_link or entry.size > _LARGEST or _RECORDS.search(entry.path):
            continue
        if renaming.ending and not entry.path.endswith(f".{renaming.ending}"):
            continue
        left -= entry.size
        if left < 0 or len(found) > _MOST_FOUND:
            break
        try:
            content = read_regular(listing.root / entry.path, _LARGEST)
        except OSError:  # deleted since, or closed to the user
            continue
        if word not in content or b"\0" in content or (text := read(entry.path)) is None:
            continue
        if renaming.near and not has_any(text, renaming.near):
            continue
        lines = enumerate(text.splitlines(), 1)
        found += [f"{shown(entry.path)}:{at}" for at, line in lines if uses.search(line) and not new.search(line)]
    return found


def listed(places: list[str]) -> str:
    """Return the first of these places."""
    more = f" … ({len(places)})" if len(places) > _MOST_SHOWN else ""
    return ", ".join(places[:_MOST_SHOWN]) + more


def says_why(answer: str, old: str, places: list[str]) -> bool:
    """Return whether an answer says that the old name stays somewhere."""
    names = {old, *(place.rpartition(":")[0].rpartition("/")[2] for place in places)}
    return any(
        _STAYS.search(said.replace(old, "")) and not _GONE.search(said) and any(name in said for name in names)
        for said in sentences_in(answer)
    )
