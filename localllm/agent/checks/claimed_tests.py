"""Find out whether a test was asked for ("with a test"), or is claimed, and whether any test was written: a file that
may hold tests, or a part of one in any other file (`#[test]`, a doctest)."""

import re
from collections.abc import Callable, Collection, Iterable, Iterator
from typing import Literal

from localllm.agent.checks.findings import Finding
from localllm.agent.checks.run_facts import is_code
from localllm.agent.checks.selected_tests import named_tests
from localllm.agent.phrases import answer_phrases as phrases
from localllm.agent.phrases.claimed_places import orders_work
from localllm.agent.phrases.phrase_search import ends_of, has_any, sentences_in
from localllm.base.directory_walk import ProjectListing
from localllm.base.i18n import Phrase
from localllm.base.lazy_patterns import late_pattern
from localllm.tools.change_history import FileDiff

_OTHER = (
    r"[ -](?:pass|still|now|fail|succe|run|ran\b|are\b|is\b|all\b|it\b|data|mode|suite|runner|framework|command|script"
    r"|env|server|button|page|option|flag|user|account|output|result|target|config|dependenc|helper|utilit|dir|folder"
    r"|plan|report|database|db\b|image|message|string|value|key|coverage|client|api\b|endpoint|route|project|id\b|expect"
    r"|want|need|require|use|found|find|show|check|call|sa(?:y|id)|should"
    r"|must|have to|game|tracker|app\b|tool|section|chapter|form|site|score|statistic|support|harness)"
)
"""What makes another thing of the word before it: a test mode; the tests pass."""
_TESTS = rf"(?<![/_.-])tests?\b(?:[ -]cases?\b)?(?!\w|/|\.\w|-\w|{_OTHER})"
_SOME = r"(?:an?|the|some|unit|regression|new|one|more|few|integration|two|three|proper|matching|its|and)"
_BETWEEN = (
    r"(?:(?!(?:run|ran|runs|running|pass|passes|make|sure|check|until|so|that|which|in|into|to|from|for|by|with|without"
    r"|keep|not|no|don't|if|as|before|after|fix|verify|all|existing|of|about|on)\b)[\w`'-]{1,40},? )"
)
_ASKED = late_pattern(
    rf"(?:\b(?:with|including|plus|and|also)|,) (?!the tests?\b(?! (?:for|of)\b))"
    rf"(?:{_SOME} ){{1,3}}{_TESTS}(?! (?:in|to) )"
    rf"|\b(?:with|including|plus) {_TESTS}(?! ?\w{{1,20}}ing\b)|\band tests (?:for|of)\b"
    rf"|\b(?:add|write|create|include|provide)\b {_BETWEEN}{{0,6}}"
    rf"(?:{_SOME} {_BETWEEN}?{_TESTS}|{_TESTS}(?<=s))",
    re.IGNORECASE,
)
_ASKED_JA = late_pattern(
    r"テスト(?:コード|ケース)?(?:も|を)[^。、\n]{0,8}(?:書[いき]|追加し|作[っり]|作成し|足し|用意し|つけ|付け|加え|含め)"
    r"|テスト(?:コード)?(?:付き|つき|込み)|テストも(?:お願い|頼|追加|[。！!\s]*$)"
)
_NOT_ASKED = late_pattern(
    r"\b(?:no|not|don't|without|never|skip|instead of|need no)\b[^.\n]{0,30}\btests?\b"
    r"|\b(?:fix|repair)(?:s|es|ing)? (?:[\w-]{1,20} ){0,3}tests?\b"
    r"|テスト(?:コード)?(?:は|を)?(?:不要|いらない|要らない|書か|追加せ|追加しない|なし)",
    re.IGNORECASE,
)
_MADE = r"(?:added|wrote|written|created|included)"
_CLAIMED = late_pattern(
    rf"\b{_MADE}\b {_BETWEEN}{{0,8}}(?:with )?(?:(?:{_SOME}|\d{{1,2}}) {_BETWEEN}{{0,2}})?{_TESTS}"
    rf"|{_TESTS} (?:(?:for|of) [^.;\n]{{1,60}} )?(?:was|were|has been|have been) (?:also |now )?{_MADE}\b"
    rf"|\bimplemented\b {_BETWEEN}{{1,8}}with (?:{_SOME} ){{1,3}}{_TESTS}",
    re.IGNORECASE,
)
_CLAIMED_JA = late_pattern(
    r"テスト(?:コード|ケース)?(?:[もを][^。、\n]{0,10}(?:(?:追加|作成|用意)(?:し(?:ました|てい?ま|てあり|ており|た(?=。|$))|済)"
    r"|(?:書き(?:足し)?|作り|加え|足し)(?:ました|終え)|書いて(?:あり|おき))"
    r"|[もがを][^。、\n]{0,10}(?:追加|作成|用意)され(?:ました|てい?ま|た(?=。|$)))"
)
_NOT_CLAIMED = late_pattern(
    r"\b(?:if|when|should|would|will|could|can|may|must|not|cannot|never|neither|nor|no|without|failed|instead|already"
    r"|earlier|before|previously|you|existing|recommend|suggest|next|todo)\b|n't\b|\?$"
    r"|場合|れば|たら|なら|ません|ない|ください|以前|すでに|既に|既存|か[。？]?$",
    re.IGNORECASE,
)
_ADMITTED = late_pattern(
    r"(?:\b(?:no|not|never|without)|n't)\b[^.\n]{0,30}\b(?:writ\w+|add\w*|creat\w+|need\w*|includ\w*)\b[^.\n]{0,30}\btests?\b"
    r"|\btests?\b[^.\n]{0,40}(?:\bnot\b|n't\b)[^.\n]{0,20}\b(?:added|written|created|needed|possible|there)\b"
    r"|\bno (?:new |unit |additional |further |other )?tests?\b(?! (?:was|were|is|are|has been|have been) (?:run|exec))"
    r"|\balready\b[^.\n]{0,60}\btests?\b|\btests?\b[^.\n]{0,60}\b(?:already|missing|left|later)\b"
    r"|\b(?:existing|present) (?:[\w-]{1,20} )?tests? (?:already )?(?:cover|check)"
    r"|テスト[^。\n]{0,30}(?:(?:追加|作成|用意)(?:は)?(?:し|でき)(?:てい)?(?:ません|ない)|書い?(?:てい|け)(?:ません|ない)"
    r"|ありません|不要|省略|既に|すでに|未)|(?:既に|すでに)[^。\n]{0,30}テスト|既存のテスト[^。\n]{0,12}(?:カバー|確認済|検証)",
    re.IGNORECASE,
)
_HOLDS_TESTS = late_pattern(r"test|spec|\.(?:t|bats|feature)$|e2e|cypress|/it/", re.IGNORECASE)
"""Matches paths of what may hold tests: here rather one too many."""
_TEST_ADDED = late_pattern(
    r"^\+(?!\+\+ )(?:test \"|[^\n]{0,300}(?:#\[[^\]\n]{0,60}test|\bfunc (?:Test|Example|Fuzz|Benchmark)|\bdef test"
    r"|\bclass \w{0,60}Test|>>> |@\w{0,20}Test|\b(?:it|test|describe|expect)\(|\bassert|\bunittest\b"
    r"|\b(?:TEST|EXPECT|REQUIRE|CHECK|ASSERT)\w{0,20}\(|\bt\.(?:Run|Error|Fatal)))",
    re.MULTILINE,
)
_IN_FILE = late_pattern(r" (?:in|to|into) (?:the )?[`*\"]{0,3}(?P<path>[\w./-]{1,200}\.\w{1,10})\b", re.ASCII)

_OF_TESTS = ("test", "テスト")

Want = Literal["asked", "claimed", ""]


_MAKING = (
    "added",
    "wrote",
    "written",
    "created",
    "included",
    "implemented",
    "追加",
    "書",
    "作",
    "用意",
    "加え",
    "足し",
)
"""Every claim contains one of these."""


def test_wanted(request: str, answer: str) -> Want:
    """Return whether a test is claimed by an answer, or else asked for by a request; "" if the answer says that there
    is none, or none is needed, or names one without a claim."""
    said = [one for one in sentences_in(answer) if has_any(one, _OF_TESTS)]
    if any(has_any(one, _MAKING) and _claims(one) for one in said):
        wanted: Want = "claimed"
    elif has_any(request, _OF_TESTS) and _asks(ends_of(request)) and not named_tests(answer):
        wanted = "asked"
    else:
        return ""
    return "" if any(_ADMITTED.search(one) or _names_place(one) for one in said) else wanted


def _names_place(said: str) -> bool:
    """Return whether a test is said to be in a file that holds none: a smoke test in deploy.sh, a load test in
    locustfile.py."""
    found = _CLAIMED.search(said)
    place = _IN_FILE.match(said, found.end()) if found else None
    return place is not None and not may_hold_tests(place["path"])


def _claims(said: str) -> bool:
    is_claimed = _CLAIMED.search(said) or (not said.isascii() and _CLAIMED_JA.search(said))
    return bool(is_claimed) and not _NOT_CLAIMED.search(said)


def _asks(request: str) -> bool:
    return not _NOT_ASKED.search(request) and any(
        _ASKED.search(said) or (not said.isascii() and _ASKED_JA.search(said)) for said in sentences_in(request)
    )


def may_hold_tests(path: str) -> bool:
    """Return whether a file may hold tests, by its path."""
    return bool(_HOLDS_TESTS.search(path))


def adds_test(diffs: Iterable[FileDiff]) -> bool:
    """Return whether a change adds a test, or a part of one, to whatever file, or cannot be looked at."""
    return any(one.reason or _TEST_ADDED.search(one.diff) for one in diffs)


def has_newer(listing: ProjectListing, since: int) -> bool:
    """Return whether code that may hold tests was written since a time (in ns), whatever has written it."""
    try:
        for entry in listing.entries:
            if (
                not (entry.is_dir or entry.is_link)
                and is_code(entry.path)
                and may_hold_tests(entry.path)
                and (listing.root / entry.path).stat().st_mtime_ns >= since
            ):
                return True
    except OSError:
        return True
    return False


def findings(
    request: str, answer: str, paths: Collection[str], diffs: Iterable[FileDiff], has_new: Callable[[], bool]
) -> Iterator[Finding]:
    """Yield that a test was asked for, or is claimed, and none was written. `paths`: the files that were changed, with
    `diffs`; `has_new`: whether other files with tests are newer than the run."""
    wanted = test_wanted(request, answer) if orders_work(request) else ""
    if not wanted or phrases.admits_failure(answer) or any(map(may_hold_tests, paths)):
        return
    if adds_test(diffs) or has_new():
        return
    reason = (
        Phrase("the answer claims a test, but none was written")
        if wanted == "claimed"
        else Phrase("the test that was asked for was not written")
    )
    yield Finding("no_test_written", reason, contradicts=False, params={"why": wanted.replace("asked", "asked for")})
