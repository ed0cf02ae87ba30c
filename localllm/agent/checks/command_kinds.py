"""Classify shell commands by their words: test, build, other program, file operation, or reading."""

import re
from collections.abc import Collection, Iterator, Sequence
from typing import Literal, NamedTuple

from localllm.agent.checks.test_output import LOOKED_AT, has_nothing_to_test, has_result, ran_none
from localllm.base.lazy_patterns import late_pattern

CommandKind = Literal["test", "build", "program", "files", "reading"]

_ORDER: tuple[CommandKind, ...] = ("test", "build", "program", "files", "reading")
"""A command's kind is the first of these found among its parts."""

_PART_ENDS = late_pattern(r"&&|\|\||[;|\n]|(?<![<>&0-9])&(?!>)")
_HERE_DOCUMENT = late_pattern(r"<<-?[ \t]*(['\"]?)(\w{1,40})\1([^\n]*)\n(?:[^\n]*\n)*?[ \t]*\2(?=\n|\Z)")
_BEFORE = late_pattern(
    r"[\s({]*(?:(?:/(?:usr/)?bin/)?(?:ba|da|z)?sh\s+-[a-z]{0,9}c\s+['\"]?"
    r"|(?:[A-Za-z_]\w*=\S*|!|then|do|time|env|nice|command|exec|xvfb-run|timeout(?: -\S+)* \S+"
    r"|(?:npx|bunx|uvx|(?:uv|poetry|pdm|hatch|pipenv|rye|pipx) run|uv tool run|(?:npm|pnpm|yarn|bundle) exec"
    r"|(?:npm|bun) x|(?:pnpm|yarn) dlx)"
    r"(?:\s+(?>(?:-p|--package|--with|--from|--python|--extra|--group|--spec)\s+\S+(?=\s)|-\S*(?=\s)))*)\s+)*"
)
"""Matches what may precede the program's name, as `bash -lc "`; what runs another program may have options."""

_LONGEST_COMMAND = 8_000

_READERS = (
    "[ awk bat basename cal cat cd column cmp comm date df diff dirname du echo env false fd file find grep egrep fgrep"
    " head hexdump hostname id jq less ls lsof md5sum more nl od printenv printf ps pwd readlink realpath rg sha256sum"
    " shellcheck sort stat strings tail test tr tree true type uname uniq wc which whereis whoami xxd yq"
)
_OF_FILES = (
    "apply apt apt-get brew chmod chown conda cp dd git gofmt install ln mkdir mv patch perl pip pip3 rename rm rmdir"
    " rsync sed tar tee touch truncate unzip xargs zip black isort prettier"
)
_GIT_READS = frozenset(
    {"status", "diff", "log", "show", "blame", "grep", "ls-files", "rev-parse", "shortlog", "reflog"}
)
_IN_PLACE = late_pattern(r"\s(?:-[nErsuz]{0,6}i|--in-place)")
_TESTERS = (
    "ava bats busted ctest jest karma mocha nose2 nosetests nox phpunit playwright prove py.test pytest rspec tox"
    " vitest"
)
_COMPILERS = "c++ cc clang clang++ cmake g++ gcc javac kotlinc make meson ninja rustc swiftc tsc"
_RUNNERS = (
    "bazel bun cabal cargo composer dart deno dotnet flutter go gradle gradlew just lein make meson mix mvn mvnw ninja"
    " npm pnpm rake sbt stack swift task yarn zig"
)
_RUNNING = frozenset({"run", "run-script", "exec", "x"})
"""Words of a runner before the name of a program or script."""
_TEST_GOALS = late_pattern(r"(?:test|tests|nextest|check|spec|ci|t)(?:[:_-].*)?|verify|.*[:_-]tests?")
_BUILD_GOALS = late_pattern(r"(?:build|compile|vet|clippy|typecheck|type-check|package|tsc)(?:[:_-].*)?")
_GETTING = frozenset({"install", "i", "add", "ci", "get", "fetch", "init"})
_TEST_FILE = late_pattern(
    r"(?:(?:run[_-]?)?tests?(?:[_.-][\w.-]*)?|[\w.-]*(?:[_.-]tests?|[_.-]spec|[_-]check))\.(?:\w{1,4})(?:::.*)?"
    r"|run[_-]?tests?"
)
_SYNTAX_CHECKS = {"ruby": ("-c", "-wc"), "perl": ("-c", "-wc"), "php": ("-l",), "lua": ("-p",), "luac": ("-p",)}
_PARSERS = frozenset({"py_compile", "node", "ruby", "php", "perl", "bash", "sh", "zsh", "lua"})
"""Programs that check the syntax of a script, which they run without that option."""
PYTHON = late_pattern(r"python[\d.]{0,9}|py")
_TEST_MODULES = frozenset({"pytest", "unittest", "doctest", "nose2", "tox", "nox", "behave"})
_BUILD_MODULES = frozenset({"py_compile", "compileall", "build", "mypy", "pyright"})


def command_kind(command: str) -> CommandKind:
    """Classify a command by its most significant part."""
    found = {_kind(part) for part in parts_of(command)}
    for kind in _ORDER:
        if kind in found:
            return kind
    return "reading"


def parts_of(command: str) -> Iterator[str]:
    for part in _PART_ENDS.split(_HERE_DOCUMENT.sub(r"\3", command[:_LONGEST_COMMAND])):
        start = _BEFORE.match(part)
        rest = part[start.end() if start else 0 :].strip(" \t)}")
        if rest.strip():  # with \r\n, more may be left of a line
            yield rest


def _kind(part: str) -> CommandKind:
    program, *words = part.split()
    program = _bare(program)
    if PYTHON.fullmatch(program):
        return _python_kind(words)
    if program in _TESTERS.split() or _TEST_FILE.fullmatch(program):
        return "test"
    if program in _RUNNERS.split() and (kind := _goal_kind(words)):
        return kind
    if program in _COMPILERS.split():
        return "build"
    if words and words[0] in _SYNTAX_CHECKS.get(program, ()):
        return "build"
    if program in ("node", "ruby", "php", "perl", "bash", "sh", "zsh", "lua") and words:
        return _script_kind(words)
    if program in _READERS.split() or (program == "sed" and not _IN_PLACE.search(part)):
        return "files" if ">" in part and not re.search(r"[0-9&]>|/dev/null", part) else "reading"
    if program == "git" and _git_command(part) in _GIT_READS and ">" not in part:
        return "reading"
    return "files" if program in _OF_FILES.split() else "program"


def _python_kind(words: list[str]) -> CommandKind:
    module = words[words.index("-m") + 1] if "-m" in words[:-1] else ""
    if module in _TEST_MODULES:
        return "test"
    if module in _BUILD_MODULES:
        return "build"
    if module in ("pip", "venv", "ensurepip", "black", "isort"):
        return "files"
    return _script_kind(words)


def _script_kind(words: list[str]) -> CommandKind:
    if "--test" in words:
        return "test"
    if "--check" in words or words[:1] == ["-n"]:
        return "build"
    script = next((word for word in words if not word.startswith("-")), "")
    return "test" if _TEST_FILE.fullmatch(_bare(script)) else "program"


def _bare(program: str) -> str:
    """Return the name without quotes, folder, registry and version: `jest` for `npm:jest@29`."""
    name = program.strip("'\"").removeprefix("npm:").rpartition("/")[2]
    return name.partition("@")[0]


def _goal_kind(words: list[str]) -> CommandKind | None:
    """Classify by the goal or task passed to a runner."""
    goals = [word for word in words if not word.startswith("-") and "=" not in word]
    if goals[:1] and goals[0] in _GETTING:
        return "files"
    if any(_TEST_GOALS.fullmatch(goal) for goal in goals[:3]) or _run_by_runner(goals) in _TESTERS.split():
        return "test"
    return "build" if any(_BUILD_GOALS.fullmatch(goal) for goal in goals[:3]) else None


def _run_by_runner(goals: list[str]) -> str:
    """Return the program that a runner such as yarn runs, if it is one: `yarn jest`, `yarn workspace a run jest`."""
    start = 2 if goals[:1] == ["workspace"] else 0
    start += goals[start : start + 1] != [] and goals[start] in _RUNNING
    return _bare(goals[start]) if goals[start:] else ""


def shows_built(passed: str, failed: str) -> bool:
    """Return whether a build that passed shows that one that failed would pass now: it is the same, or of all."""
    builds, others = set(_builds(passed)), set(_builds(failed))
    if builds & (others | {(name, "") for name, _goal in others}):
        return True
    compiled = {_bare(file).rpartition(".")[0] for name, file in builds if name in _COMPILERS.split()} - {""}
    if others and all(name == "make" and _bare(goal).removesuffix(".o") in compiled for name, goal in others):
        return True
    known = {*_RUNNERS.split()} - {name for name, _goal in others}
    return any(name in known and (not goal or _BUILD_GOALS.fullmatch(goal)) for name, goal in builds)


def shows_parsed(passed: str, failed: str) -> bool:
    """Return whether a program that succeeded shows that a failed check of syntax would pass now: it ran the file."""
    if _HIDES_CODE.search(_QUOTED.sub("", passed)):
        return False
    files = {_bare(goal) for name, goal in _builds(failed) if name in _PARSERS and goal}
    names = "|".join(re.escape(name) for file in files for name in (file, file.rpartition(".")[0]))
    programs = [_bare(part.split()[0]) for part in parts_of(passed) if _kind(part) == "program"]
    return (
        len(files) == 1
        and any(PYTHON.fullmatch(name) or name in _PARSERS | files for name in programs)
        and bool(re.search(rf"(?<![\w-])(?:{names})(?![\w-])", passed))
    )


def _builds(command: str) -> Iterator[tuple[str, str]]:
    """Yield the program and the goal, or the first file, of each build in a line; "" stands for all."""
    from localllm.code.grammars import language_of  # not needed at the start

    for program, *words in (part.partition(">")[0].split() for part in parts_of(command) if _kind(part) == "build"):
        name = words[words.index("-m") + 1] if "-m" in words[:-1] else _bare(program)
        is_goal = late_pattern(r"[A-Za-z][^=]*\Z").match if name in _RUNNERS.split() else language_of
        goals = [word for word in (word.strip("'\"") for word in words) if is_goal(word) and word not in _RUNNING]
        yield name, "" if not goals or goals[0] == "all" or _ANY_FILE.search(goals[0]) else goals[0]


_QUOTED = late_pattern(r"'[^']*'|\"(?:\\.|[^\"\\])*\"|\\.", re.DOTALL)
_JOINT = late_pattern(r"(&&|\|\||;|\n|(?<![<>&0-9])&(?![>&]))")
ENDING = late_pattern(r"\bset -\w*e|\bexit\b")
_COMPUTED = late_pattern(r"\$\(|`|<\(")
_OPENING = frozenset({"for", "while", "until", "if", "case", "select", "function"})
_CLOSING = frozenset({"done", "fi", "esac"})
_INTO_FILE = late_pattern(r"(?<![0-9&])>{1,2}+(?!&)(?!\s*/dev/null)")
_ANY_FILE = late_pattern(r"[*?$]|\bxargs\b|\bgit apply\b|\bpatch\b|\s-exec\b")
"""Matches what names files without writing their names."""
_WRITERS = frozenset(
    "apply black cp dd gofmt install isort ln mv patch perl prettier rename rsync sed tee truncate unzip xargs".split()
)
_GIT_BACK = frozenset("bisect checkout reset restore stash switch".split())
"""Commands of git that restore files from commits."""
_GIT_COMMITTERS = frozenset("am cherry-pick commit merge pull rebase revert".split())
_GIT_WRITERS = _GIT_BACK | _GIT_COMMITTERS | {"apply", "mv", "rm"} - {"commit"}


class _Segment(NamedTuple):
    """A pipeline of a line: its text, the same without what is quoted, and the operator before it, "in" if it is in a
    loop or a condition."""

    text: str
    plain: str
    operator: str


def segments_of(command: str) -> list[_Segment]:
    """Return the pipelines of a line, in order; empty if they cannot be told apart."""
    text = _HERE_DOCUMENT.sub(r"\3", command[:_LONGEST_COMMAND])
    plain = _QUOTED.sub(lambda found: "_" * len(found[0]), text)
    if _COMPUTED.search(plain):
        return []
    found: list[_Segment] = []
    at, depth, operator = 0, 0, ""
    for number, piece in enumerate(_JOINT.split(plain)):
        whole, at = text[at : at + len(piece)], at + len(piece)
        if number % 2:
            operator = operator if operator in ("&&", "||") and piece == "\n" else piece
        elif piece.strip():
            words = piece.split()
            depth += words[0] in _OPENING
            found.append(_Segment(whole, piece, "in" if depth else operator))
            depth -= words[0] in _CLOSING
            operator = ""
    return found if depth == 0 else []


def kinds_of(plain: str) -> set[CommandKind]:
    return {_kind(part) for part in parts_of(plain)}


def _writes(plain: str) -> bool:
    """Return whether a pipeline has a program that writes files, or writes into one."""
    return bool(_INTO_FILE.search(plain)) or any(map(_is_writer, parts_of(plain)))


def _is_writer(part: str) -> bool:
    match _bare(part.partition(" ")[0]):
        case "git":
            return _git_command(part) in _GIT_WRITERS
        case "find":
            return " -exec" in part
        case name:
            return name in _WRITERS


def changes_files(command: str) -> bool:
    """Return whether a line has a program that writes files that are there, or lays them out anew."""
    return any(_is_writer(part) or _FORMATTER.match(part) for part in parts_of(command))


def _git_command(part: str) -> str:
    words = iter(part.split()[1:])
    for word in words:
        if word in ("-C", "-c"):
            next(words, "")
        elif not word.startswith("-"):
            return word
    return ""


def ran_after_changing(command: str, changed: Collection[str], *, succeeded: bool) -> bool:
    """Return whether a line has run a program after it changed these files, as in `sed -i s/a/b/ x.py && python x.py`:
    so far as it shows which of its commands has changed them."""
    segments = segments_of(command)
    at = next((at for at in range(len(segments) - 1, 0, -1) if "program" in kinds_of(segments[at].plain)), 0)
    if not at or any(one.operator == "&" for one in segments):
        return False
    last, behind = segments[at], segments[at + 1 :]
    if last.operator not in ("&&", ";", "\n") or any(one.operator == "||" for one in behind):
        return False
    if not succeeded and (last.operator == "&&" or ENDING.search(command)):
        return False
    return all(_is_written_in(segments[:at], path) and not _is_written_in(segments[at:], path) for path in changed)


def changed_after_testing(command: str, changed: Collection[str]) -> bool:
    """Return whether a line has changed one of these files after its last test or build: `pytest; sed -i … x.py`."""
    segments = segments_of(command)
    tests = [at for at, one in enumerate(segments) if kinds_of(one.plain) & {"test", "build"}]
    return bool(tests) and any(_is_written_in(segments[tests[-1] + 1 :], path) for path in changed)


def _is_written_in(segments: Sequence[_Segment], path: str) -> bool:
    """Return whether one of the commands writes the file, or files that it does not name."""
    name = path.rpartition("/")[2]
    return any(_writes(one.plain) and (name in one.text or _ANY_FILE.search(one.plain)) for one in segments)


def only_brings_back(command: str) -> bool:
    """Return whether git restores files from commits in a line, and makes no new commit in it."""
    parts = [part for one in segments_of(command) for part in parts_of(one.plain)]
    of_git = {_git_command(part) for part in parts if _bare(part.partition(" ")[0]) == "git"}
    return bool(of_git & _GIT_BACK) and not of_git & _GIT_COMMITTERS


_FORMATTER = late_pattern(
    r"(?:(?:npx|pnpm|yarn|bunx|uvx|uv run|poetry run|python3? -m) )?(?:ruff format|black|isort|yapf|autopep8|prettier"
    r"|gofmt|goimports|go fmt|cargo fmt|rustfmt|clang-format|shfmt|dotnet format|deno fmt|dart format|mix format)\b"
)


_RUNS = ("build", "program", "test")


def only_formats(command: str) -> bool:
    """Return whether a line lays code out anew, and does nothing else that changes it."""
    segments = segments_of(command)
    parts = [part.strip() for one in segments for part in parts_of(one.plain)]
    rest = [part for part in parts if not _FORMATTER.match(part)]
    if len(rest) == len(parts) or any(_INTO_FILE.search(one.plain) for one in segments):
        return False
    return not any(_is_writer(part) or _kind(part) in _RUNS for part in rest)


_HIDES_CODE = late_pattern(r"\||;|\|\||&\s|\n")
FAILED = late_pattern(
    r"^[ \t]*(?:FAILED|FAIL)\b|^not ok \d|^--- FAIL|^# fail [1-9]|\b[1-9]\d* (?:failed|failing|failures?)\b"
    r"|\b(?:failures|errors|failed)[=:] ?[1-9]|\btest result: FAILED|\bBUILD FAILED"
    r"|\b[1-9]\d* errors? (?:in \d|during collection)|\*\*\* \[[^\]\n]*\] Error",
    re.MULTILINE,
)
_NO_PROGRAM = late_pattern(
    # no such program
    r": command not found"
    r"|^(?:\S*/)?(?:sh|bash|env|make)(?:\[\d+\])?: [^\n]{1,200}: (?:not found|No such file or directory)"
    r"|\*\*\* \[[^\]\n]*\] Error 12[67]$|\bNo module named '?(?:pytest|unittest|nose2|tox|nox)\b"
    r"|python[\d.]*: (?:No module named |can't open file )|^Command not found: |^error: Failed to spawn: "
    r"|^error: no such (?:sub)?command\b|\brustup could not choose a version\b|\bCommand \"[^\"\n]{1,200}\" not found"
    r"|\bcould not determine executable to run|\bThis is not the tsc command you are looking for"
    r"|\bcanceled due to missing packages|^unknown shorthand flag: '\w' in -"
    r"|: '[\w-]{1,40}' is not a (?:docker|git) command"
    # it could not be downloaded
    r"|^npm (?:error|ERR!) code (?:EAI_AGAIN|ENOTFOUND|ENOTCACHED|ECONN\w+|ETIMEDOUT|ERR_SOCKET_TIMEOUT|E40[134]|E50\d)"
    r"|^error: failed to (?:get|download|fetch|query)\b|\b(?:Plugin|Dependency)ResolutionException"
    r"|^go: [^\n]{1,500}\bdial tcp\b|\bUnknownHostException: services\.gradle\.org",
    re.MULTILINE | re.IGNORECASE,
)
_LAST_LINES = 12
"""Lines at the end of an output in which it may say that there was no program to run."""

NOT_FOUND = (126, 127)
"""Exit codes of commands that could not be run."""

_MISSING = late_pattern(
    r"^(?:\S*/)?(?:ba|da)?sh: (?:(?:line )?\d+: )?([^\s:]{1,200}): (?:command )?not found\Z", re.MULTILINE
)
"""Matches the end of the output of a chain of commands whose failed one is no program."""


def outcome(command: str, return_code: int, output: str) -> bool | None:
    """Return whether a test or build succeeded, by its exit code; None if nothing was tested, or it could not be run.
    Its output counts if another part of the command may hide the code (`pytest | tail`)."""
    end = output[-LOOKED_AT:]
    is_hidden = bool(_HIDES_CODE.search(command))
    if return_code in NOT_FOUND and _got_past_tests(command, end):
        return True
    if return_code in NOT_FOUND or has_nothing_to_test(end):
        return None
    if ran_none(end) and command_kind(command) != "build":
        return None
    if (return_code or is_hidden) and not has_result(end):
        last = "\n".join([line for line in end.splitlines() if line.strip()][-_LAST_LINES:])
        if _NO_PROGRAM.search(last):
            return None
    return not (return_code or (is_hidden and FAILED.search(end)))


_SCRIPT_ERROR = (
    r"(?!(?:\S{1,100}/)?(?:ba|da|z)?sh: )\S{1,200}: (?:line )?\d{1,6}(?: 行)?: [^\n]{0,300}"
    r"(?:not found|[Ii]llegal option|[Ii]nvalid option|[Ss]yntax error|[Bb]ad substitution|unbound variable"
    r"|parameter not set|コマンドが見つかりません|構文エラー|誤った代入|未割り当ての変数)"
)
"""Matches what sh, dash and bash say of an error in a script; not in the command itself (sh: 1: …)."""
_CRASHED = late_pattern(
    rf"^{_SCRIPT_ERROR}|"
    r"^Traceback \(most recent call last\):|^(?:Uncaught )?(?:\w{1,60}\.){0,9}\w{0,60}(?:Error|Exception)\b(?::| \[)"
    r"|^panic: |\bpanicked at\b|^Exception in thread |\b[Ss]egmentation fault\b|\bcore dumped\b|^PHP Fatal error"
    r"|^(?:\S{1,200}:\d+:){1,3}\d* ?(?:fatal )?error\b|^error(?:\[E\d+\])?: |: undefined method |^\S{1,200}:\d+:\d+: ",
    re.MULTILINE,
)
"""Matches what programs print that end by an error of theirs, or cannot be compiled."""
_ERROR_LINE = late_pattern(
    r"^[ \t]*((?:(?:\w{1,60}\.){0,9}\w{0,60}(?:Error|Exception)\b|panic: |error(?:\[E\d+\])?: |thread '|Exception in "
    rf"|{_SCRIPT_ERROR})[^\n]{{0,200}})",
    re.MULTILINE,
)
_STOPPED = (124, 130, 137, 143, -2, -9, -15)
"""Exit codes of programs that were stopped from outside."""


def crashed(command: str, return_code: int, output: str) -> bool:
    """Return whether a program ended by an error of its own: a traceback, one of a compiler, or of a shell script such
    as an unbound variable. What it prints counts if the exit code may be hidden (`python app.py; ls`)."""
    end = output[-LOOKED_AT:]
    if return_code in _STOPPED or "KeyboardInterrupt" in end or "BrokenPipe" in end:
        return False
    may_have = return_code != 0 or bool(_HIDES_CODE.search(command))
    return may_have and (return_code in (134, 139, -6, -11) or bool(_CRASHED.search(end)))


_OF_PROJECTS = frozenset({*_RUNNERS.split(), *"bash java lua node perl php ruby sh zsh".split()})
"""Programs that run the project's own code, which may be meant to end by an error."""
_NO_TOOLS = frozenset(
    ": . [[ bc cd exit export expr false kill killall let pgrep pidof pkill read set sleep source sudo trap type"
    " unset wait crontab dig dpkg fuser getent locate nc nslookup pg_isready ping rpm service ss systemctl"
    " actionlint ansible-lint bandit biome clang-tidy codespell cppcheck eslint flake8 golangci-lint hadolint htmlhint"
    " jshint markdownlint mypy oxlint pylint pyright rubocop ruff semgrep stylelint tidy vale xmllint yamllint".split()
)
"""Commands of the shell, and programs whose exit code is their answer."""


def tool_failed(command: str, return_code: int, output: str = "") -> bool:
    """Return whether a program that is none of the project, such as sqlite3 or curl, was to do something and failed;
    not if it, or its plugin, is not there."""
    if return_code in (0, *_STOPPED, *NOT_FOUND) or _NO_PROGRAM.search(output[-LOOKED_AT:]):
        return False
    programs = [part.split()[0] for part in parts_of(command) if _kind(part) == "program"]
    named = [name for name in programs if name not in _NO_TOOLS and name[0] != "-"]  # the option of `command -v`
    return bool(named) and not any(
        "/" in name or "=" in name or _bare(name) in _OF_PROJECTS or PYTHON.fullmatch(name) for name in named
    )


def program_failed(command: str, return_code: int) -> bool:
    """Return whether a program has failed, or was not found; not one whose exit code is its answer."""
    programs = [part.split()[0] for part in parts_of(command) if _kind(part) == "program"]
    is_failure = return_code not in (0, *_STOPPED)
    return is_failure and any(name not in _NO_TOOLS and name[0] != "-" for name in programs)


def missing_reason(output: str) -> str:
    """Return the line that says why a test or build could not be run; "" if there was just no such program."""
    lines = [line.strip() for line in output[-LOOKED_AT:].splitlines() if line.strip()][-_LAST_LINES:]
    line = next((line for line in lines if _NO_PROGRAM.search(line)), "")
    return "" if re.search(r"(?i)not found|no such (?:file|program)|見つかりません", line) else line


def error_line(output: str) -> str:
    """Return the last line of an output that names an error; "" if there is none."""
    lines = _ERROR_LINE.findall(output[-LOOKED_AT:])
    return lines[-1].strip() if lines else ""


_COMMITS = late_pattern(
    r"\bgit (?!(?:log|show|status|diff|config|grep|help|branch|blame|rev-list)\b)[^&|;\n]{0,80}?"
    r"(?<![\w.-])(?:commit|merge|rebase|cherry-pick|revert|am|pull)(?![\w.-])(?![^&|;\n]{0,200}--(?:abort|quit))"
)
_COMMITTED = late_pattern(r"^\[[^\]\n]{1,200} [0-9a-f]{7,40}\] ", re.MULTILINE)
_NOT_COMMITTED = late_pattern(
    r"\bnothing (?:added )?to commit\b|^no changes added to commit|^Aborting commit|^(?:fatal|error): "
    r"|^CONFLICT \(|Please tell me who you are",
    re.MULTILINE,
)


def commits(command: str) -> bool:
    """Return whether a command asks git for a commit."""
    return bool(_COMMITS.search(command))


def has_committed(return_code: int, output: str) -> bool:
    """Return whether a command that asked git for a commit got one."""
    if _COMMITTED.search(output):
        return True
    return return_code == 0 and not _NOT_COMMITTED.search(output[-LOOKED_AT:])


def _got_past_tests(command: str, end: str) -> bool:
    """Return whether only a program after the last test was missing: in `pytest && shellcheck a.sh` the test passed."""
    if not (missing := _MISSING.search(end.rstrip())):
        return False
    parts = [part.strip() for part in command.split("&&")]
    names = [part.partition(" ")[0] for part in parts]
    tests = [number for number, part in enumerate(parts) if command_kind(part) in ("test", "build")]
    if not tests or names.count(missing[1]) != 1 or (at := names.index(missing[1])) <= tests[-1]:
        return False
    return not any(_PART_ENDS.search(part) for part in parts[tests[-1] : at])
