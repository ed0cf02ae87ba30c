"""Recognise the files that a request forbids to change, in English and Japanese."""

import re
from collections.abc import Sequence

from localllm.agent.phrases.phrase_search import ends_of, sentences_in
from localllm.base.lazy_patterns import late_pattern

PATH = late_pattern(
    r"[`\"'「『]{0,3}(?<![\w/.@~:])@?(?:\./)?(?P<path>(?:\.?[\w@+-][\w.@+-]{0,99}/){0,9}"
    r"(?:[\w.@+-]{0,99}[\w@+-]\.[A-Za-z]\w{0,9}|\.[A-Za-z][\w-]{1,40}|(?:Make|Docker|Gem|Rake|Proc)file)(?![\w/(]|\.\w)"
    r"|(?:\.?[\w@+-][\w.@+-]{0,99}/){1,9}(?!\w))[`\"'」』]{0,3}",
    re.ASCII,
)
_FOLDER = late_pattern(
    r"(?<![\w./@-])([\w-]{1,60})(?= (?:folder|directory)\b)|(?<![\w./@-])([\w-]{1,60}) ?(?:フォルダー?|ディレクトリ)",
    re.ASCII,
)
"""Matches a folder that is named without its `/`."""
STAND_IN = "\ufffc"  # stands for a path
_MORE = r"(?:,? (?:or|and|nor|&) (?:the )?|, ?(?:the )?|[、・]| ?[とや] ?|及び|および)"
FILES = rf"(?P<files>(?>{STAND_IN}(?:{_MORE}{STAND_IN}){{0,9}}))"
_IN_IT = r"(?:(?:anything|any(?: of the)? files?|(?:the )?files) (?:in|inside|under|below|within) )?"
THE = r"(?:(?:the|my|our|original|existing|files?|folder|directory) ){0,3}"
_BANS = (
    late_pattern(
        r"\b(?:do not|don't|never|without|(?:you|we) (?:must|should|may|can) ?not)"
        rf" (?:(?:ever|even|also|please|try to) )?(?:touch|chang|edit|modify|alter)(?:e|ing)? {_IN_IT}{THE}{FILES}"
        r"(?: (?:itself|themselves|files?|folder|directory|script|at all|please|for now|yet|either|though)){0,2}"
        r"(?=[\W]{0,3}$|[,;:.!)]| (?:and|or|but|while|in the process)\b| [-–—])",
        re.IGNORECASE,
    ),
    late_pattern(
        rf"\b(?:leave|leaving|keep|keeping) {THE}{FILES}"
        r"(?: (?:file|script|folder|directory|exactly|completely|just)){0,2}"
        r" (?:alone|untouched|unchanged|unmodified|as(?: it| they)? (?:is|are|was|were))\b",
        re.IGNORECASE,
    ),
    late_pattern(
        rf"{FILES} (?:must|should|has to|have to|is to|are to) (?:stay|remain|be left|be kept) (?:exactly )?"
        r"(?:alone|untouched|unchanged|unmodified|as (?:it|they))\b",
        re.IGNORECASE,
    ),
    late_pattern(
        rf"{FILES} (?:(?:must|should|may) not|mustn't|shouldn't|(?:is|are) not to) be "
        r"(?:touched|changed|edited|modified|altered)\b",
        re.IGNORECASE,
    ),
    late_pattern(rf"\bnot (?:to |in |on )?{THE}{FILES} itself\b", re.IGNORECASE),
)
NOT_JA = (
    r"(?:ない(?=で|こと|よう|まま|[。、！）」]|$)|ず(?=に|[、。]|$)|ません(?=よう|[。、]|$)"
    r"|ては(?=いけ|なら|だめ|ダメ|駄目)|るな(?=[。、！）」]|$))"
)
_BANS_JA = late_pattern(
    rf"{FILES} ?(?:以下|の中身?|配下|内)?(?:だけ)?(?:には|は|を|に|も)(?:絶対に|一切|決して|まだ|、){{0,2}}"
    rf"(?:(?:触|さわ)(?:ら|れ)?{NOT_JA}|(?:いじら?|変え|書き換え|手を(?:加え|つけ|付け|入れ)){NOT_JA}"
    rf"|(?:変更|編集|修正)(?:は)?(?:[しす]{NOT_JA}|せ?ず(?=に|[、。]|$)|なし(?=で|[、。]|$)|禁止|不可)"
    r"|そのまま(?:に(?!コピー)|で|残|とし|(?=[。、]|$)))"
)
_KEEPS = (
    late_pattern(
        rf"\b(?:do not|don't|never|without) (?:delet|remov|eras)(?:e|ing)? {THE}{FILES}(?! from|\w)",
        re.IGNORECASE,
    ),
    late_pattern(
        rf"\b(?:keep|keeping|leave|leaving|preserve) {THE}{FILES}"
        r"(?: (?:file|in place|there|around|too|as well|as a backup)){0,2}(?=\W{0,3}$|[,;:.!)]| (?:and|but)\b)",
        re.IGNORECASE,
    ),
)
_KEEPS_JA = late_pattern(rf"{FILES} ?(?:は|を|も)(?:消さ{NOT_JA}|(?:削除|消去)(?:は)?[しす]{NOT_JA}|残[しす]|保持)")
_ORIGINAL = late_pattern(
    r"\b(?:keep|keeping|leave|leaving|preserve|without (?:removing|deleting)|(?:do not|don't) (?:delete|remove)) "
    r"(?:the |its )?(?:original|source)s?(?: (?:files?|in place|there|around|intact|too|as well|as a backup)){0,2}"
    r"(?=\W{0,3}$|[,;:.!)]| (?:and|but|where|in)\b)"
    r"|元の?(?:ファイル)?(?:は|を)(?:残し|保持|消さな|消さず|削除しな|削除せず)",
    re.IGNORECASE,
)
"""Matches that what something is made from is to stay."""
_GOES = late_pattern(
    rf"(?<!not )(?<!n't )(?<!never )\b(?:delete|remove|erase|drop|get rid of|rm) {THE}{FILES}", re.IGNORECASE
)
_GOES_JA = late_pattern(rf"{FILES} ?(?:を|は)(?:削除(?!し?な|せず)|消[しす]|消去(?!し?な|せず))")
_ELSEWHERE = late_pattern(r"\b(?:rename|move) (?:it|them)\b|移動|移し|リネーム|改名", re.IGNORECASE)
OF_PROGRAM_JA = r"ように(?:直|変|修正|改|設定)|(?:ない|ず)[^」]{0,6}」と|ずに(?:終わ|済)"
"""Matches what is said of a program that is to be changed, or to be written down, and not to the assistant."""
OPEN = late_pattern(
    rf"{OF_PROGRAM_JA}|"
    r"\b(?:if|unless|why|until|otherwise|except)\b|\?$|場合|なら(?!な)|たら|れば|なぜ|か[。？?]?$|？$",
    re.IGNORECASE,
)
"""Matches what is no plain order, as it depends on something."""


def banned_files(request: str) -> list[str]:
    """Return the files, and the folders with their `/`, that a request forbids to change."""
    return named_by(request, _BANS, _BANS_JA)


def kept_files(request: str) -> list[str]:
    """Return the files that a request forbids to delete, but not to change."""
    if _ELSEWHERE.search(request):
        return []
    said = ends_of(request)
    kept = named_by(request, _KEEPS, _KEEPS_JA)
    if any(_ORIGINAL.search(one) and not OPEN.search(one) for one in sentences_in(said)):
        going = named_by(request, [_GOES], _GOES_JA)
        kept += [match["path"] for match in PATH.finditer(said) if match["path"] not in going]
    return list(dict.fromkeys(kept))


def named_by(request: str, patterns: Sequence[re.Pattern[str]], pattern_ja: re.Pattern[str]) -> list[str]:
    """Return the paths that match FILES of the patterns in plain orders, with STAND_IN for each path."""
    found: dict[str, None] = {}
    for one in sentences_in(ends_of(request).replace(STAND_IN, " ")):  # copied text has it for its pictures
        said = _FOLDER.sub(lambda match: f"{match[1] or match[2]}/", one)
        paths = [match["path"] for match in PATH.finditer(said)]
        if not paths or OPEN.search(said):
            continue
        text = PATH.sub(STAND_IN, said)
        for pattern in patterns if said.isascii() else (*patterns, pattern_ja):
            for match in pattern.finditer(text):
                first = text.count(STAND_IN, 0, match.start("files"))
                found |= dict.fromkeys(paths[first : first + match["files"].count(STAND_IN)])
    return list(found)
