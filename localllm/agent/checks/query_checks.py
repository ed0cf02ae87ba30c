"""Compare an answer with the newest SQL query of its run: its error, the one number it printed (also rounded, in 万 or
thousands), the rows it changed."""

import re
import unicodedata
from collections.abc import Iterator, Sequence

from localllm.agent.checks.findings import LONGEST_COMMAND, Finding, short_command
from localllm.agent.checks.sql_queries import Query, printed_by, single_number, versions_in
from localllm.agent.phrases import answer_phrases as phrases
from localllm.agent.phrases.phrase_search import without_code
from localllm.base.i18n import Phrase
from localllm.base.lazy_patterns import late_pattern
from localllm.text.sanitising import shorten

_NUMBER = late_pattern(r"(?<![\w.])-?\d{1,3}(?:,\d{3})+(?:\.\d+)?|(?<![\w.])-?\d+(?:\.\d+)?", re.ASCII)
_MARKER = late_pattern(r"^\s*(?:\d{1,2}[.)]\s|#+\s.*$)", re.MULTILINE)
_DATE = late_pattern(
    r"\d{4}[-/]\d{1,2}(?:[-/]\d{1,2})?|(?:\d{4}年)?\d{1,2}月(?:\d{1,2}日)?|\d{4}年|\b\d{1,2}:\d\d\b"
    r"|\b(?:\d{1,2}(?:st|nd|rd|th)? )?(?:January|February|March|April|May|June|July|August|September|October|November"
    r"|December|Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sep|Oct|Nov|Dec)\b\.?(?: \d{1,2}(?!\d))?(?:,? \d{4})?"
)
_DURATION = late_pattern(
    r"(?i)\b\d{1,5} ?(?:d(?:ays?)?|h(?:ours?|rs?)?|m(?:in(?:ute)?s?)?)(?:,? (?:and )?\d{1,2} ?"
    r"(?:h(?:ours?|rs?)?|m(?:in(?:ute)?s?)?|s(?:ec(?:ond)?s?)?)\b){1,3}"
    r"|\d{1,5} ?(?:日|時間|分)(?:と? ?\d{1,2} ?(?:時間|分|秒)){1,3}"
)
"""Matches a duration in several units."""
_ABOUT = r"(?i)(?:\b(?:about|around|roughly|approximately|some|nearly|almost)|~|約|およそ|ほぼ|ざっと) ?"
_REACH = 0.1
"""How far from a number what is said to be about it may be, as a share of it."""
_ASKS_COUNT = late_pattern(
    r"(?i)\bhow many\b|\bcount\b|\bnumber of\b|何[件人行個本台社回]|いくつ|件数|人数|行数|個数|数えて"
)
_SCALES = (1.0, 1e2, 1e3, 1e4, 1e6, 1e8, 1e9, 0.01)
_FACTORS = (2.0, 7.0, 10.0, 12.0, 24.0, 60.0, 100.0, 365.0, 1_000.0, 1_024.0, 3_600.0, 86_400.0)
_MOST_RECKONED = 2_000
_LONGEST = 500_000
_WORDS = (
    r"\b(?:no|none|zero|nothing|not|never)\b|n't\b|ない|ません|なし|無し|ゼロ|零|見つから|該当",
    *(
        rf"(?i)\b(?:{word})\b"
        for word in "one|a|an|once;two|both|twice;three;four;five;six;seven;eight;nine;ten;eleven;twelve".split(";")
    ),
)
"""The first numbers in words."""
_JAPANESE = "〇一二三四五六七八九十"
_CHANGED = late_pattern(r"\bchanges\(\)|total_changes\(\)", re.IGNORECASE)
_NO_ROWS = late_pattern(r"^(?:DELETE|UPDATE) 0$", re.MULTILINE)
_CLAIMS = late_pattern(
    r"(?i)\b(?:deleted|removed|updated|changed|set to|gone)\b"
    r"|(?:削除|更新|変更|消去)(?:しま|され|済|でき)|消しま|変えま"
)
_ALL_ROWS = late_pattern(
    r"(?i)\b(?:empty|clear|truncate|wipe|reset|purge|backfill|every|each|whole|entire|everything)\b"
    r"|\ball (?:the |of the |its )?(?:rows|records|entries|data|content)\b|without where"
    r"|空に|空っぽ|クリア|リセット|初期化|全行|全件|全レコード|全データ|全ての行|すべての行|中身を|一律|それぞれ"
)
"""Matches requests for which every row may be meant."""
_EVERY = late_pattern(r"(?i)\b(?:all|everyone|everybody)\b|(?<![安完])全(?!然|角|体的)|すべて|一括")
_SOME_ROWS = late_pattern(
    r"(?i)\b(?:where|whose|who|which|that|with|without|of|from|older|younger|before|after|over|under|above|below|than"
    r"|only|if|but|except)\b|[<>=]|以上|以下|未満|より|だけ|のみ|場合|以外|除[いき]"
    r"|\ball (?:the |my |our )?(?!existing|remaining)(?:\w{3,20}(?:ed|ing|ive)|old|new|empty|stale|test|open|paid"
    r"|unpaid|duplicate|draft|invalid|spam) \w|(?:された|済みの?|中の|[a-z_] ?の)[^\s、。]{1,8}を(?:全部|全て|すべて)"
)
"""Matches what chooses among them."""


def findings(query: Query | None, every_row: str, request: str, answer: str, known: Sequence[str]) -> Iterator[Finding]:
    """Yield what an answer says against the newest query. `every_row`: a statement of the run that has changed every
    row of a table; `known`: the texts that the model was given."""
    if every_row and not _means_all(request, every_row) and every_row.lower() not in answer.lower():
        reason = Phrase("“{statement}” had no WHERE: it changed every row", statement=every_row)
        yield Finding("every_row", reason, contradicts=False, params={"statement": every_row})
    if query is None or phrases.admits_failure(answer) or sum(map(len, known)) > _LONGEST:
        return
    if not query.is_sql:
        yield from _of_command(query, request, answer, known)
        return
    said = _numbers(_DURATION.sub(" ", _DATE.sub(" ", _MARKER.sub("", without_code(answer)))))
    if query.error:
        stated = {value for text in known for value, _step in _numbers(text).values()}
        if new := [written for written, (value, _step) in said.items() if value not in stated]:
            reason = Phrase("the query failed, and the answer states {number}", number=new[0])
            params = {"error": shorten(query.error, LONGEST_COMMAND), "number": new[0]}
            yield Finding("query_failed", reason, contradicts=False, params=params)
        return
    printed = single_number(query.output)
    is_change = bool(_CHANGED.search(query.command))
    if (is_change and printed == 0) or (printed is None and _NO_ROWS.search(query.output)):
        if _CLAIMS.search(answer) and not re.search(_WORDS[0], answer, re.IGNORECASE) and "0" not in said:
            reason = Phrase("the answer claims a change, but the statement changed no row")
            yield Finding("no_rows", reason, contradicts=False, params={"command": short_command(query.command)})
    elif printed is not None and (
        new := _other_number(printed, said, answer, known, is_count=bool(_ASKS_COUNT.search(request)))
    ):
        reason = Phrase(
            "the query printed {printed}, and the answer says {number}", printed=f"{printed:,g}", number=new
        )
        yield Finding("other_number", reason, contradicts=False, params={"printed": f"{printed:,g}", "number": new})


def _of_command(query: Query, request: str, answer: str, known: Sequence[str]) -> Iterator[Finding]:
    """Yield the number, or the version, that a short answer has in place of the one that the only command printed."""
    printed = printed_by(query.command, query.output)
    if not printed or len(answer) > _LONGEST_ANSWER or phrases.needs_nothing(answer):
        return
    if printed.count(".") > 1:
        others = [one for one in versions_in(answer) if not (printed.startswith(one) or one.startswith(printed))]
        is_said = len(others) < len(versions_in(answer)) or any(one in text for one in others for text in known)
        new = others[0] if others and not is_said else ""
    elif _ASKS_NUMBER.search(request) or _ASKS_COUNT.search(request):
        said = _numbers(_DURATION.sub(" ", _DATE.sub(" ", _MARKER.sub("", without_code(answer)))))
        is_count = bool(_ASKS_COUNT.search(request)) and not _RECKONED.search(answer)
        number = float(printed.replace(",", ""))
        new = _other_number(number, said, answer, known, is_count=is_count) if len(said) == 1 else ""
    else:
        return
    if new and sum(map(str.isdigit, new)) < _LONG:
        params = {"command": short_command(query.command), "printed": printed, "number": new}
        reason = Phrase("{command} printed {printed}, and the answer says {number}", **params)
        yield Finding("other_output", reason, contradicts=False, params=params)


_LONGEST_ANSWER = 200
_LONG = 6  # digits; such a number is looked for in all outputs anyway
_ASKS_NUMBER = late_pattern(
    r"(?i)\bwhat (?:is|are|was|does|do|did|will)\b|\breturns?\b|\bhow (?:long|large|big|much)\b"
    r"|返[すり]|いくら|値は|結果"
)
_RECKONED = late_pattern(
    r"(?i)\b(?:header|excluding|without|minus|less|except|apart|including|plus|with|not counting|besides|half|each)\b"
    r"|ヘッダ|見出し|除[いく]|含[みめ]|引[いく]|以外|うち|半[分数]|合わせ"
)
"""Matches an answer that may tell of a part of what was counted."""


def _other_number(
    printed: float, said: dict[str, tuple[float, float]], answer: str, known: Sequence[str], *, is_count: bool
) -> str:
    """Return a number of the answer that nothing has, where it does not say the one that was printed; else "".
    `is_count`: the request asks for a count, which nothing is reckoned from."""
    if not said or any(_is_nearly(printed, *one) for one in said.values()):
        return ""
    if printed.is_integer() and 0 <= printed < len(_WORDS) and re.search(_WORDS[int(printed)], answer, re.IGNORECASE):
        return ""
    if printed.is_integer() and 0 < printed < len(_JAPANESE) and _JAPANESE[int(printed)] in answer:
        return ""
    if any(
        abs(value - printed) <= abs(printed) * _REACH and re.search(_ABOUT + re.escape(written), answer)
        for written, (value, _step) in said.items()
    ):
        return ""
    stated = {value for text in known for value, _step in _numbers(text).values()}
    new = {written: value for written, (value, _step) in said.items() if value not in stated}
    return next((one for one, value in new.items() if is_count or not _follows(printed, stated, value)), "")


def _numbers(text: str) -> dict[str, tuple[float, float]]:
    """Return the numbers of a text by how they are written, each with half of its last digit's unit."""
    found: dict[str, tuple[float, float]] = {}
    for one in _NUMBER.finditer(unicodedata.normalize("NFKC", text)):
        digits = one[0].replace(",", "")
        decimals = len(digits.partition(".")[2])
        found[one[0]] = (float(digits) if decimals or one.start() == 0 else abs(float(digits)), 0.5 * 10.0**-decimals)
    return found


def _is_nearly(printed: float, value: float, reach: float) -> bool:
    """Return whether a number is the printed one, also rounded, in thousands, in 万, or as a share in percent."""
    for scale in _SCALES:
        is_rounded = scale != 1 or value % 1 > 0
        if abs(abs(printed) - abs(value) * scale) <= (reach * scale if is_rounded else 0):
            return True
    return False


def _follows(printed: float, stated: set[float], value: float) -> bool:
    """Return whether a number follows from the printed one and another in one step that people take."""
    if len(stated) > _MOST_RECKONED:
        return True
    made = (
        result
        for other in (*stated, *_FACTORS)
        for result in (
            printed + other,
            abs(printed - other),
            printed * other,
            printed / other if other else 0.0,
            printed * (1 + other / 100),
            printed * (1 - other / 100),
            printed * other / 100,
            100 * printed / other if other else 0.0,
        )
    )
    return any(abs(result - value) <= 0.51 for result in made)


def _means_all(request: str, statement: str) -> bool:
    """Return whether a request may be about every row of the table."""
    table = re.escape(statement.rsplit(maxsplit=1)[-1].strip("\"'`[]"))
    whole = (
        rf"\ball (?:the |of the )?{table}\b|{table}\s?(?:テーブル)?(?:のデータ|の行)?(?:を|は)?\s?(?:全部|全て|すべて)"
    )
    is_of_every = _EVERY.search(request) and not _SOME_ROWS.search(request)
    return bool(is_of_every or _ALL_ROWS.search(request) or re.search(whole, request, re.IGNORECASE))
