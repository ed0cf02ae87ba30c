"""Recognise in answers, in English and Japanese, that something fails, also where something else is said to pass."""

from collections.abc import Iterator

from localllm.agent.phrases.phrase_search import sentences_in
from localllm.base.lazy_patterns import late_pattern

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


def _clauses(sentences: list[str]) -> Iterator[str]:
    for one in sentences:
        yield from _CLAUSE.split(one)
