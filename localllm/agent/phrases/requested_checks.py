"""Recognise in requests, in English and Japanese, that the work is to be tested or run, or tests are to pass."""

import re

from localllm.agent.phrases.phrase_search import ends_of, search_ja, sentences_in
from localllm.agent.phrases.request_phrases import asks_for_change, asks_how, wants_words_ja, wishes_in

_CHECK = (
    r"(?i)\b(?:run (?:the |all |its |your |my )?(?:\w+ )?(?:tests?|checks?|build|program|script|suite)|test (?:it"
    r"|that|this|them|your|everything)\b|(?:verify|confirm|prove|check|ensure|make sure|see)(?: to it)?(?: that| it"
    r"| the| they| all| everything| your)?\b[^.\n]{0,60}\b(?:pass(?:es)?|works?|build(?:s)?|compiles?|runs?|green"
    r"|succeeds?|correct)\b|(?:until|so that|make) (?:all |the |every )?(?:\w+ )?tests? pass|tests? (?:must|should"
    r"|have to|need to) (?:all )?(?:pass|be green))"
)
_CHECK_JA = (
    r"テスト(?:を|も|で)?[^。\n]{0,8}(?:実行|走らせ|回し|通(?:し|る|す)|確認|検証)|(?:動作|動く|通る|成功する"
    r"|パスする|動き)[^。\n]{0,6}(?:確認|検証|確かめ)|テストが(?:すべて|全て)?(?:通る|成功する|パスする)(?:よう"
    r"|まで)|(?:実行|検証)して確(?:認|かめ)"
)
_RUN_AND_TELL_JA = (
    r"^(?![^。\n]{0,40}(?:どう(?:や|す|し)|どのよう))[^。\n]{0,40}?(?:テスト|test)[^。\n]{0,12}?(?:実行し|走らせ|回し)て(?![もい])"
    r"(?:(?!方法|手順|やり方|仕方|コマンド)[^。\n]){0,24}(?:教え|知らせ|報告|まとめ|見せ|説明)"
)
"""Orders tests, though it ends by an order of words: テストを実行して結果を教えて."""
_NO_CHECK = (
    r"(?i)\b(?:do not|don't|no need to|without) (?:\w+ )?(?:run|test|execut|verify|check)|テスト(?:は"
    r"|の実行は)?(?:不要|しない|実行しない)|実行せず"
)


def asks_for_check(request: str) -> bool:
    """Return whether it asks to test or run the work."""
    if forbids_check(request):
        return False
    if any(search_ja(_RUN_AND_TELL_JA, one) for one in sentences_in(request)):
        return True
    if wants_words_ja(ends_of(request)):
        return False
    said = [one for one in sentences_in(wishes_in(request)) if not asks_how(one)]
    return any(re.search(_CHECK, one) or search_ja(_CHECK_JA, one) for one in said)


_RUN = (
    r"(?i)^(?:(?:please|now|then|and|also|just|can you|could you)[,:]? )*"
    r"(?:run|execute|launch|start(?! (?:over|again|anew|afresh|fresh|off|out|with|by|from|on|at|in|to|here|now|\w+ing"
    r"|(?:the |a )?(?:new|next|work|task|plan|step|phase|part|chapter|section)\w*)\b)) (?!me\b|through\b)"
    r"|(?:を|も) ?(?:実行し|起動し|動かし|走らせ)て"
)


def orders_run(request: str) -> bool:
    """Return whether it orders to run a program."""
    return not forbids_check(request) and any(re.search(_RUN, one) for one in sentences_in(ends_of(request)))


def forbids_check(request: str) -> bool:
    """Return whether it forbids running anything."""
    return bool(re.search(_NO_CHECK, ends_of(request)))


_TESTS = r"(?:(?:(?:py|unit|doc|j|vi)?tests?|test_\w{1,80}|build|ci|suite|checks?)\b(?![./]\w))"
_TESTS_TO_FIX = (
    rf"(?i)\b{_TESTS}[^\n]{{0,60}}\b(?:fail(?:s|ed|ing|ures?)?|broken|red|not pass)\b"
    rf"|\b(?:failing|failed|broken|red) (?:[\w-]+ ){{0,3}}?{_TESTS}"
    rf"|\b(?:make|get|until|so that|sure|have) [^\n]{{0,40}}\b{_TESTS}[^\n]{{0,20}}\b(?:pass(?:es)?|green|succeeds?)\b"
    r"|\btests? (?:must|should|have to|need to) (?:all )?(?:pass|be green|succeed)\b"
    r"|\b(?:fix|repair) (?:[\w-]+ ){0,3}?(?:tests?|build|ci)\b"
    r"(?! (?!(?:in|of|for|on|at|by|from|under|with|and|so|that|which|until|now|again|please)\b)[a-z])"
    r"|\b(?:fix|repair) (?:the )?(?:(?:failing|flaky|broken) )?`?test_\w{1,80}\b(?![./]\w)"
    r"|\b(?:does not|doesn't|won't) (?:compile|build)\b"
)
_TESTS_JA = r"(?:テスト|ビルド|コンパイル|pytest|CI) ?"
_FAILS_JA = r"(?:失敗し|落ち|壊れ|こけ)て(?:い)?[るたま]|(?:失敗し|落ち|壊れ|こけ)ま"
_TESTS_TO_FIX_JA = (
    rf"(?i){_TESTS_JA}[^。\n]{{0,16}}(?:{_FAILS_JA}|失敗する|失敗したら|失敗[。、\s]|落ちる|こける|通ら|通りません|赤|できません|できない"
    r"|エラーに|エラーが)"
    rf"|(?:{_FAILS_JA}|失敗した|落ちた|通ら(?:ない|なく))[^。\nをがには場時]{{0,12}}(?:テスト|ビルド)"
    rf"|{_TESTS_JA}(?:が|を)(?:すべて|全て|全部)?(?:通る|通過する|成功する|パスする)(?:よう|まで)"
    rf"|(?:{_TESTS_JA}|test_\w{{1,80}}`? ?)を(?:(?:すべて|全て|全部)?グリーン|直|修正|通し)"
)
_LEFT_FAILING = (
    r"(?i)\b(?:ignor(?:e|ing)|even (?:if|when)|apart from|except|leav(?:e|ing) (?:\w+ ){0,3}fail\w*)\b"
    r"|\bexpected ?failure|無視|失敗しても|失敗は[^。\n]{0,20}(?:触ら|そのまま|対応中|直さ|放置)"
)
"""Matches that failing tests are to be left as they are."""
_MAY_FAIL = (
    rf"{_LEFT_FAILING}|\b(?:when|if|whenever) (?:an?|any) [\w -]{{0,30}}\b(?:test|build|check)\b"
    r"|\b(?:add|write|creat)\w* [^\n]{0,40}\bfail|失敗するテスト[^。\n]{0,8}(?:追加|書|作)"
    r"|失敗する?(?:場合|とき|時)|失敗し(?:たら|た(?:場合|とき|時))(?![^。\n]{0,10}(?:直し|修正))"
)


def asks_for_passing(request: str) -> bool:
    """Return whether files are to be changed so that tests, or the build, no longer fail."""
    return asks_for_change(request) and any(
        (re.search(_TESTS_TO_FIX, said) or search_ja(_TESTS_TO_FIX_JA, said)) and not re.search(_MAY_FAIL, said)
        for said in sentences_in(request)
    )


def knows_of_failing(request: str) -> bool:
    """Return whether it says that failing tests are to be left as they are."""
    return any(re.search(_LEFT_FAILING, said) for said in sentences_in(request))


_WORKING = (
    r"(?i)\b(?:crash(?:es|ed|ing)?|traceback|exception|\w*errors?|works?|runs?|working|fails?)\b"
    r"|落ち|エラー|例外|動[くかき]"
)


def asks_for_working(request: str) -> bool:
    """Return whether a program is to run, or no longer to fail."""
    return asks_for_check(request) or bool(re.search(_WORKING, ends_of(request)))


_OF_TESTS = (
    r"(?i)\b(?:update|change|edit|rewrite|adjust|adapt|correct|write|add|rename|remove|delete|refactor|improve|skip"
    r"|extend|clean up|move|split) (?:[\w-]{1,40} ){0,3}?tests?\b"
    r"|\b(?:skip|xfail|disable|mark) (?:[\w-]{1,40} ){0,3}?`?test_\w|\bexpected ?failure"
    r"|(?:テスト|test_\w{1,60})[^。\n]{0,20}(?:スキップ|無効に|無効化)"
    r"|\btests? (?:is|are|seems?|looks?|must be) (?:wrong|outdated|stale|incorrect|mistaken)|\bexpect|\bassert"
    r"|テスト(?:だけ)?(?:を|も)?(?:更新|変更|書|追加|削除|足)|テスト(?:が|の方が)?(?:間違|古|誤)|期待値"
)


def asks_for_tests(request: str) -> bool:
    """Return whether tests themselves are to be written or changed."""
    return bool(re.search(_OF_TESTS, ends_of(request)))
