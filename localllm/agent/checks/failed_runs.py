"""Compare an answer with the newest run where that has failed, or was never made: it is to say so, in any words.

Not where the user asks why it fails or how something works, nor where the exit code is an answer, as that of grep, or
files were changed since.
"""

from collections.abc import Iterator, Sequence

import msgspec

from localllm.agent.checks.command_kinds import NOT_FOUND, command_kind, kinds_of, outcome, parts_of
from localllm.agent.checks.findings import Finding, short_command
from localllm.agent.checks.selected_tests import failed_tests
from localllm.agent.phrases import request_phrases, requested_checks
from localllm.agent.phrases.admitted_failures import speaks_of_failure
from localllm.agent.phrases.open_requests import wants_words_only
from localllm.agent.phrases.phrase_search import ends_of, sentences_in
from localllm.base.i18n import Phrase
from localllm.base.lazy_patterns import late_pattern
from localllm.llm.messages import arguments_in
from localllm.tools.results import ToolResult

_LONGEST_OUTPUT = 8_000
"""Characters at the end of an output that are looked at."""
_ANSWERERS = frozenset(
    "[ [[ ag cmp dig diff dpkg egrep expr false fgrep fuser getent grep kill killall locate lsof nc nslookup pg_isready"
    " pgrep pidof ping pkill read rg rpm ss test type wait which".split()
)
"""Programs whose exit code answers a question."""
_ASKS_STATE = late_pattern(
    r"\b(?:systemctl|service)\b[^;&|\n]* (?:status|is-\w+)\b|\bcrontab -l\b|\bcommand -v\b"
    r"|\bgit (?:-\S+ )*(?:diff|grep|config)\b"
)
_COMPARES_SUMS = late_pattern(r"sum (?:-\S+ )*(?:-c|--check)\b")
_NOTHING_TO_DO = late_pattern(
    r"(?i)\bnothing (?:added )?to commit\b|\bup[- ]to[- ]date\b|\balready (?:exists|installed)\b"
)
_KNOWS = late_pattern(
    r"(?i)\b(?:fail(?:s|ed|ing|ures?)?|crash\w*|error\w*|traceback|exceptions?|broken|red|doesn't|does not|won't|not)\b"
    r"|\w+(?:Error|Exception)\b|失敗|落ち|エラー|例外|壊れ|通らな|通りません|動かな|動きません|できな|できません"
)
"""Matches a request that itself tells of a failure."""
_ABOUT = late_pattern(
    r"(?i)^(?:(?:and|so|now|but|please|tell me|show me|explain)[,:]? )*"
    r"(?:why|where|who|which (?!version)|how (?!long|many|much|fast|big|large|slow)"
    r"|what (?:do|does|did|are|changed|happen|kind|would|can|should)\b"
    r"|what is (?!the (?:coverage|version|output|result|exit))|explain|describe)"
    r"|\b(?:explain|why)\b|なぜ|どう(?:して|や|す|い|な|動|れば)|どこ|どの|とは|何が|何を|だれ|誰|説明|解説"
)
"""Matches a question about the project that a run only helps to answer."""
_DEEDS = (
    r"(?:run|execute|start|launch|restart|build|compile|lint|deploy|install|download|fetch|generate|convert|migrate"
    r"|check|verify|test|profile|measure|benchmark|pack|print|push|format|typecheck)\b"
)
_ORDERS = late_pattern(
    rf"(?i)\b{_DEEDS}"
    r"|テスト|ビルド|コンパイル|起動|実行|チェック|リント|デプロイ|インストール|ダウンロード|生成|変換|移行|検証|計測|走らせ|動かし|バックアップ"
)
_ORDERED_FIRST = late_pattern(
    rf"(?i)\s*(?:(?:please|now|then|can you|could you)[,:]? )*{_DEEDS}"
    r"|[^。\n]{0,60}(?:実行|起動|ビルド|コンパイル|チェック|検証)し(?:て|ろ)|[^。\n]{0,60}(?:走らせ|動かし|回し)て"
)
"""Matches a request that begins with such an order."""


class Run(msgspec.Struct, frozen=True):
    """The newest command that was to do something, as call number `at`; `is_only`: none has succeeded before."""

    command: str
    code: int
    output: str
    at: int
    is_only: bool
    has_ended: bool = False
    """Whether it did well, but what it has left running in the background ended with it."""


class NewestRun:
    """Records the newest command of a run that was to do something, if it failed."""

    def __init__(self) -> None:
        self.failed: Run | None = None
        self.looked_at = 0
        """The number of the newest other call that has succeeded."""
        self._has_succeeded = False
        self._begun: dict[object, str] = {}

    def note(self, results: Sequence[ToolResult], first: int) -> None:
        """Record the results of an answer's calls, of which the first has a number."""
        for at, result in enumerate(results, first):
            if "return_code" in result.payload:
                self._note_command(result, at)
            elif result.success:
                self.looked_at = at

    def _note_command(self, result: ToolResult, at: int) -> None:
        payload, number = result.payload, result.payload.get("id")
        said = result.arguments.get("command") or arguments_in(result.call.arguments).get("command")
        command = str(said or self._begun.get(number, ""))
        if payload["return_code"] is None:  # it goes on
            self._begun[number], self.failed = command, None
            return
        code, kind = int(payload["return_code"]), command_kind(command)
        output = "\n".join(str(payload.get(name, "")) for name in ("stdout", "stderr", "output"))[-_LONGEST_OUTPUT:]
        has_ended = "\n[Ended with the command: " in f"\n{result.for_model}"
        if kind in ("test", "build"):
            has_failed = not outcome(command, code, output)
        elif code in NOT_FOUND:
            has_failed = True
        elif kind == "reading" and not (code and _COMPARES_SUMS.search(command)):
            self.looked_at = at if result.success else self.looked_at
            return
        else:
            has_failed = code != 0 and not _is_answer(command, code, output)
        if has_failed or has_ended:
            is_only = not self._has_succeeded
            self.failed = Run(command, code, output, at, is_only, has_ended=not has_failed)
        else:
            self.failed, self._has_succeeded = None, True


def _is_answer(command: str, code: int, output: str) -> bool:
    """Return whether an exit code answers a question, or says that nothing was to be done."""
    if _ASKS_STATE.search(command) or (code == 1 and _NOTHING_TO_DO.search(output)):
        return True
    last = [*parts_of(command)][-1:]
    return (
        bool(last)
        and not _COMPARES_SUMS.search(command)
        and (last[0].split()[0] in _ANSWERERS or kinds_of(last[0]) == {"reading"})
    )


def findings(newest: NewestRun, changed: dict[str, int], request: str, text: str) -> Iterator[Finding]:
    """Yield that the newest run has failed, if the request is for it and the answer says nothing of a failure.
    `changed`: the files changed, each with the number of the call."""
    run = newest.failed
    if (
        run is None
        or any(at > run.at for at in changed.values())
        or not _is_asked_for(run, newest, request, changed, text)
    ):
        return
    if not says_nothing_of_failure(request, text, run.output) or _names_finding(run, text):
        return
    command = short_command(run.command)
    if run.has_ended:
        if _OVER.search(text):
            return
        reason = Phrase("what {command} has started ended with it", command=command)
        yield Finding("run_over", reason, contradicts=True, params={"command": command})
        return
    reason = Phrase("the last run ended by an error ({command})", command=command)
    is_all = not changed or requested_checks.asks_for_check(request) or bool(_ORDERED_FIRST.match(request))
    yield Finding("run_failed", reason, contradicts=is_all, params={"command": command, "code": str(run.code)})


def says_nothing_of_failure(request: str, text: str, output: str = "") -> bool:
    """Return whether an answer in English or Japanese says nothing of a failure, in any words."""
    return not (_is_foreign(request) or _is_foreign(text) or speaks_of_failure(text, output))


def _is_asked_for(run: Run, newest: NewestRun, request: str, changed: dict[str, int], text: str) -> bool:
    """Return whether the user wants to know how a run ends: it is all that was done, or was ordered."""
    request = ends_of(request)
    is_order = request_phrases.asks_for_change(request)
    if wants_words_only(request):
        return False
    if not is_order and (_KNOWS.search(request) or any(map(_ABOUT.search, sentences_in(request)))):
        return False
    kind = command_kind(run.command)
    if run.has_ended:
        return not _ENDS_IT.search(run.command) and bool(_SERVES.search(_PATH.sub(" ", request)))
    if kind == "files" and (not run.is_only or request.rstrip().endswith(("?", "？"))):
        return False
    is_ordered = bool(_ORDERS.search(request)) or requested_checks.asks_for_check(request)
    if changed:
        return kind in ("test", "build") or requested_checks.asks_for_check(request) or _names_program(run, text)
    return is_ordered or newest.looked_at < run.at


_FOREIGN = late_pattern(
    r"[À-ÖØ-öø-ɏͰ-῿가-힣]|(?i:\b(?:der|das|dem|den|eine?|ist|sind|und|bitte|les?|une?|est|sont|una|por|para|il|gli|che)\b)"
)
"""Matches letters and words of languages whose words for a failure are not known."""
_OVER = late_pattern(r"終了[しす済]|終わ[っりる]|止ま[っりる]|停止し")
_HAN, _KANA = late_pattern(r"[一-鿿]"), late_pattern(r"[ぁ-ヿ]")
_SERVES = late_pattern(r"(?i)\b(?:start|launch|serve|run|restart)\b|\bserver\b|起動|立ち上げ|サーバ|走らせ|動かし")
_ENDS_IT = late_pattern(r"\b(?:p?kill|killall)\b")
_PATH = late_pattern(r"[\w./-]{1,200}\.\w{1,8}\b", 256)


def _is_foreign(text: str) -> bool:
    """Return whether a text is neither in English nor in Japanese. Words alone may be either."""
    return bool(_FOREIGN.search(text)) or (len(_HAN.findall(text)) > _FEW and not _KANA.search(text))


_FEW = 3


def _names_program(run: Run, text: str) -> bool:
    """Return whether the answer names a program of the command."""
    programs = {part.split()[0].rpartition("/")[2] for part in parts_of(run.command)}
    modules = run.command.split(" -m ")[1:]
    programs |= {one.split()[0] for one in modules if one.split()}
    return any(len(name) > 2 and name in text for name in programs - {"python3", "python", "node", "bash", "npx"})


_PASSES = late_pattern(r"(?i)\b(?:pass\w*|green|ok|succeed\w*|fixed)\b|成功|通[りっる]|パス|合格")


def _names_finding(run: Run, text: str) -> bool:
    """Return whether the answer names a test that has failed, or a file that a checker has found fault with."""
    if run.code in NOT_FOUND:
        return False
    if command_kind(run.command) == "test":
        told = [one for one in sentences_in(text) if not _PASSES.search(one)]
        return any(name in one for name in failed_tests(run.output) for one in told)
    named = {path for path in _PATH.findall(text) if path not in run.command}
    return any(path in run.output for path in named)
