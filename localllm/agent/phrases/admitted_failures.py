"""Recognise in answers, in English and Japanese, that something fails, also where something else is said to pass."""

import re
from collections.abc import Collection, Iterator

from localllm.agent.phrases.phrase_search import ends_of, has_any, sentences_in
from localllm.base.lazy_patterns import late_pattern

_LINE = late_pattern(r"(?<=[.!?…:;])\s+|(?<=[。！？])|\n+")
_CLAUSE = late_pattern(r"[,;] | but | while | whereas | although |、")
_FAILS_NOW = late_pattern(
    r"(?i)\b(?:fails?|failing|broken)\b|\b(?:is|are) (?:still )?red\b|\b(?:does|do)(?: not|n't) (?:yet )?pass\b"
    r"|失敗して(?:います|いる|おり)|失敗します|失敗のまま|失敗したまま|落ちて(?:います|いる|おり)|落ちます"
    r"|通(?:り|って(?:い|お)り?)ません|通(?:って)?(?:い)?ない|赤(?:です|のまま)"
    r"|[1-9]\d{0,8} ?件(?:[(（][^)）\n]{1,80}[)）])?[がはの]?(?:失敗|不合格|落ち)"
)
_OF_TESTS = late_pattern(r"(?i)test|spec|suite|\bstill\b|\b(?:one|two|three|\d{1,6}) |テスト|まだ|件")
"""What makes a failure one of the tests: a program that fails on some input may be what was mended."""
_NOT_NOW = late_pattern(
    r"(?i)\b(?:if|when|whenever|would|could|should|might|without|no longer|longer|never|none|nothing|no|did not"
    r"|used to|fix(?:ed|es)|was|were|had|until)\b|(?:didn|doesn|don)'t fail|\bnot fail"
    r"|なくなり|れば|たら|場合|でした(?:が|けど)|直し"
)
_ALL = late_pattern(
    r"(?i)\b(?:all|every|everything)\b(?! (?:the )?(?:others?|rest|remaining)\b)(?! but\b)[^.;,\n]{0,40}?"
    r"\b(?:pass(?:es|ed|ing)?|green|succeed(?:s|ed)?)\b"
    r"|(?:すべて|全て|全部|全件|全テスト)[^。、\n]{0,16}(?:成功|通[りっ過]|パス|合格)"
)


def states_failing_test(answer: str) -> bool:
    """Return whether it says of a test that it fails now, and of other tests at most that they pass: not of all."""
    said = sentences_in(answer)
    if any(_ALL.search(one) for one in said):
        return False
    return any(
        _FAILS_NOW.search(clause) and _OF_TESTS.search(clause) and not _NOT_NOW.search(clause)
        for clause in _clauses(said)
    )


_MARKED_FAILING = late_pattern(r"[❌✗✘✖🔴]|\bnot ok\b|\bFAIL(?:ED|URE|S)?\b|\bERROR\b|(?<![A-Za-z])NG(?![A-Za-z])")
_MARKED_PASSING = late_pattern(r"[✅✓✔🟢]|(?i:\bpass|(?<!\bas )\bbefore\b|\bwas\b)|前は?[:：]|でした")
"""Matches what takes a mark of failure back: that it passes, or was so before."""
_PART = late_pattern(r"[,;] | but | while |(?<=[.!?])\s+|[、。！？\n]")


def marks_failing(answer: str, tests: Collection[str], *, may_be_unnamed: bool) -> bool:
    """Return whether a part of it, also of a quoted output, marks one of the tests as failing: ❌ test_x, not ok 4 - x;
    or anything, if it `may_be_unnamed`, in an answer that speaks of tests. Not if it says that all tests pass."""
    marked = [
        one
        for one in _PART.split(ends_of(answer))
        if _MARKED_FAILING.search(one) and not (_MARKED_PASSING.search(one) or _MENDED.search(one))
    ]
    if not marked or any(_ALL.search(one) for one in sentences_in(answer)):
        return False
    if may_be_unnamed and has_any(answer, ("test", "テスト")):
        return True
    return any(re.search(rf"(?<!\w){re.escape(test)}(?!\w)", one) for test in tests for one in marked)


_OF_NAMED = late_pattern(
    r"\b(?:the|that) `?([A-Za-z][\w-]{2,40})`?(?:\(\))?(?:'s)? tests?\b(?! (?:of|for)\b)"
    r"|\btests? (?:of|for) `?([A-Za-z]\w{2,40})"
    r"|([A-Za-z]\w{2,40})`? ?のテスト"
)
"""Matches whose test a request speaks of."""
_NO_NAMES = frozenset(
    "all broken current existing failed failing first flaky integration last new old other red remaining same single"
    " two unit whole the this that".split()
)


def fails_elsewhere(request: str, answer: str) -> bool:
    """Return whether the request is for the test of something it names, and the answer says that another one fails."""
    named = {name.lower() for found in _OF_NAMED.findall(request) for name in found if name} - _NO_NAMES
    if not named or not states_failing_test(answer):
        return False
    failing = [one.lower() for one in _clauses(sentences_in(answer)) if _FAILS_NOW.search(one)]
    return not any(name in one for name in named for one in failing)


def _clauses(sentences: list[str]) -> Iterator[str]:
    for one in sentences:
        yield from _CLAUSE.split(one)


_ASIDE = late_pattern(
    r"(?i)\b(?:if|in case|should you|let me know)\b[^,.;\n]*+"
    r"|[^、。\n]{0,80}?(?:場合|なら|れば|たら)(?:は|、|も)?"
)
"""Matches what is said only for a case."""
_TROUBLE = (
    r"(?:failures?|errors?|problems?|issues?|warnings?|exceptions?|crash\w*|complain\w*|regressions?|violations?"
    r"|findings?|wrong|fail(?:s|ed|ing)?|broken|bugs?|mistakes?|trouble|hiccups?|hitch(?:es)?|faults?|conflicts?)"
)
_TROUBLE_JA = r"(?:失敗|エラー|警告|問題|異常|指摘|不具合|違反|例外|不備|バグ|間違い|誤り|エラー箇所|修正箇所)"
_NO_TROUBLE = late_pattern(
    rf"(?i)\b(?:no|none|without|zero|0|free of|nothing|neither|nor|never|(?:did|do|does|is|was|were|are)(?: not|n't))\b"
    rf"(?:[ -][\w'-]{{1,20}}){{0,4}}?[ -]{_TROUBLE}\b(?:(?:,| or| and| nor)[\w ]{{1,20}}\b{_TROUBLE}\b){{0,4}}"
    r"|\berror-free\b"
    rf"|{_TROUBLE_JA}(?:[はもがのをや、]|など|一切|特に|テスト|件|箇所|点|{_TROUBLE_JA}){{0,8}} ?"
    r"(?:ありませ|な[いくし]|無[いくし]|なかっ|ゼロ|0 ?件|見つかりませ|見当たりませ|検出されませ|見られませ"
    r"|起き(?:てい)?ませ"
    r"|出(?:て(?:い)?)?ませ|発生し(?:てい)?ませ|し(?:て(?:い)?)?ませ)(?:んでした|ん)?|\b0 ?件[のが]?(?:失敗|エラー)"
)
_UNCHANGED = late_pattern(
    r"(?i)\b(?:no|nothing|did not|didn't)\b[^.,;\n]{0,30}\b(?:chang\w+|modif\w+|edit\w*|touch\w*|further|else"
    r"|additional|action)\b[^.,;\n]*+"
    r"|(?:変更|修正|編集|作業|対応|操作)[^。、\n]{0,16}(?:ません(?:でした)?|ない|不要)|必要(?:は)?(?:ありません|ない)"
)
"""Matches that nothing was changed, or nothing is to be done, which says nothing of a run."""
_MENDED = late_pattern(
    r"(?i)^(?![^\n]*(?:\b(?:not|cannot|never|still)\b|n['’]t\b|ません|ない|でき))[^\n]*"
    r"(?:\b(?:fix(?:ed|es)|resolv(?:ed|es)|solv(?:ed|es)|gone|repaired|mended|corrected)\b"
    r"|(?:直し|修正し|解決し|解消し|直り)(?:まし|て|た))"
)
_SAYS_FAILURE = late_pattern(
    r"(?i)\b(?:not|no|never|none|nothing|nowhere|cannot|unable|neither|nope|nicht|kein\w*|pas)\b|n['’]t\b"
    r"|\b(?:fail\w*|fehl\w*|exceptions?|traceback|crash\w*|abort\w*|panic\w*|broke\w*|red|missing|lack\w*|denied"
    r"|refus\w*|reject\w*|wrong|problems?|issues?|warnings?|complain\w*|remarks?|violations?|findings?|unused"
    r"|undefined|unknown|invalid|stop(?:s|ped)|killed|timed out|timeout|mismatch\w*|only|but|however|except|raises?"
    r"|throws?|needs?|requires?|unresolved|uncovered|would|unreachable|skipped|blocked|incomplete|unfinished|overflow"
    r"|already|(?:has|have|had) to|without|dead|absent|bad|limit|cut|lost|late|outdated|obsolete|stale|expired"
    r"|conflict\w*|corrupt\w*|damaged|forbid\w*|prevent\w*|hangs?|hung|stuck|frozen|slow|interrupted|cancell?ed"
    r"|terminated|offline|deprecated|duplicates?|ambiguous|too \w+|in use|occupied|taken|rather than|instead"
    r"|un(?!pack|zip|it)\w{1,20}(?:able|ed|own)|in(?:correct|consistent|compatible|sufficient|accessible)\w*"
    r"|dis(?:abled|connected|crepanc\w+)|mis(?:s(?:es|ed|pel\w+)|configured|takes?|placed|aligned)"
    r"|(?<!as )expected|expects|differs?|ended|remain\w*)\b|\w*(?:error|exception)\w*"
    r"|\bexit(?:s|ed)?(?: with)?(?: code| status)? [1-9]|!="
    r"|\bline \d|行目|:\d{1,6}:\d|終了コード ?[1-9]"
    r"|ません|ない|なかった|なく|(?<![ま必は])ず(?:[、。に]|$)|\bNG|失敗|失败|错误|没有|无法|エラー|例外|異常|問題|警告|指摘|不具合|違反|不足|抜け"
    r"|欠け|落ち|赤|不合格|中断|停止(?:しま|しまし|した|され)|止ま[りっ]|打ち切|タイムアウト|だけ(?!で)|のみ|未[^来]|拒否|無効"
    r"|誤り|対象|必要|いいえ|強制終了|クラッシュ|すでに|既に|期待(?!通り|どおり|した通り|したとおり)|終了して(?:い|しま)"
    r"|切れ|制限|させられ|不[一正可明完適十足要]|使用中|先に|競合|衝突|壊れ|古い|止め|遅[いくす]|ずれ|異な|違[いうっ]|合わ|届か|余分|重複"
)
_SOME_OF = late_pattern(
    r"(?i)\b(\d{1,6}) ?(?:of|out of|/) ?(?:the )?(\d{1,6})\b"
    r"|(\d{1,6}) ?[件個]中(?:[^\d。\n]{0,8}) ?(\d{1,6})"
)
_SOME_IN_WORDS = late_pattern(
    r"(?i)\b(?:one|two|three|four|five|some|half|several) of (?:the |them\b)?|\bmost (?:of the )?tests"
)
_CODE_OF_ERROR = late_pattern(r"\b(?:[A-Z]{1,4}\d{3,5}|[45]\d\d)\b")


def speaks_of_failure(answer: str, output: str) -> bool:
    """Return whether it says in any words that something failed, is missing, was found fault with or is not so; or
    repeats the code of an error from the output. Not that there were no errors, nor what it says only for a case."""
    text = _NO_TROUBLE.sub(" ", _UNCHANGED.sub(" ", _ASIDE.sub(" ", ends_of(answer))))
    clauses = [one for said in _LINE.split(text) for one in _CLAUSE.split(said) if not _MENDED.search(one)]
    if any(_SAYS_FAILURE.search(one) or _SOME_IN_WORDS.search(one) for one in clauses):
        return True
    if any(len({number for number in found if number}) > 1 for found in _SOME_OF.findall(text)):
        return True
    return any(code in output for code in _CODE_OF_ERROR.findall(answer))


_MISSING = late_pattern(
    r"No module named '(?P<a>[\w.]{2,80})'|Cannot find (?:module|package) '(?P<b>[@\w./-]{2,80})'"
    r"|(?:^|: )(?P<c>[\w.+-]{2,60}): (?:command )?not found"
)
_SAYS_MISSING = late_pattern(
    r"(?i)\bnot (?:yet |currently )?(?:installed|available|there|found|present)\b"
    r"|n['’]t (?:installed|available|there)\b"
    r"|\bmissing\b|\b(?:lacks?|without|needs?|requires?)\b"
    r"|(?:インストールされて|入って|見つかり|あり)(?:い)?(?:ない|ませ|ず)|未インストール|必要(?:です|があり)"
)


def says_it_is_missing(answer: str, error: str) -> bool:
    """Return whether an answer says that the module or program is missing for which a run ended by this error."""
    found = _MISSING.search(error)
    name = found[found.lastindex or 0].partition(".")[0].lower() if found else ""
    return bool(name) and any(name in one.lower() and _SAYS_MISSING.search(one) for one in sentences_in(answer))
