"""Find the commands that programs run in turn, as words or as a text to parse."""

import re
from collections.abc import Callable, Sequence
from itertools import pairwise

import msgspec

from localllm.base.lazy_patterns import late_pattern
from localllm.safety.shell_words import Word

SHELLS = frozenset({"sh", "bash", "dash", "zsh", "ksh", "mksh", "ash", "fish", "rbash", "csh", "tcsh"})
INTERPRETERS: dict[str, tuple[str, ...]] = {
    "python": ("-c",),
    "perl": ("-e", "-E"),
    "ruby": ("-e",),
    "node": ("-e", "--eval", "-p", "--print"),
    "php": ("-r",),
    "lua": ("-e",),
    "luajit": ("-e",),
    "pypy": ("-c",),
    "ipython": ("-c",),
    "nodejs": ("-e", "--eval", "-p", "--print"),
    "rscript": ("-e",),
    "julia": ("-e",),
    "elixir": ("-e",),
    "guile": ("-c",),
    "tclsh": (),
    "expect": ("-c",),
    "groovy": ("-e",),
    "raku": ("-e",),
    "deno": ("eval",),
    "bun": ("-e",),
    "osascript": ("-e",),
}
"""Interpreters of other languages, and the options that take their code."""

READERS = SHELLS | INTERPRETERS.keys() | {"powershell", "pwsh"}
"""Programs that run their standard input if given nothing else."""

_ASSIGNMENT = late_pattern(r"\w+(?:\[.*\])?\+?=", re.DOTALL)
_STRING = late_pattern(
    r"""'''(.*?)'''|\"\"\"(.*?)\"\"\"|'((?:\\.|[^'\\])*)'|"((?:\\.|[^"\\])*)"|`((?:\\.|[^`\\])*)`""", re.DOTALL
)
_GLUED_CODE = late_pattern(r"-[A-Za-z]*?[ceE].+", re.DOTALL)
_LOADER = late_pattern(r"ld(?:[-\d].*)?\.so(?:\..*)?", re.DOTALL)
"""The dynamic loader, which starts programs: `/lib64/ld-linux-x86-64.so.2 PROGRAM`."""

_CALL = late_pattern(r"(?<![\w.])([\w.]++)\s*+\(")
_LISTS = late_pattern(r"\bqw\b|[(){}\[\]|/]")  # delimiters of words in perl and ruby: qw(git push), %x{git push}
_UNKNOWN = Word("", computed=True)
_FIND_OPTIONS = frozenset({"-exec", "-execdir", "-ok", "-okdir", "-x", "--exec", "-X", "--exec-batch"})
_MOST_WORDS = 20_000  # of all commands that one `find` may run


class Seen(msgspec.Struct, frozen=True):
    """What a command runs: commands, texts for a shell, and code in another language that may hold commands.

    `through`: it runs only these, so it need not be judged itself. `opaque`: it runs something that cannot be seen.
    """

    commands: tuple[list[Word], ...] = ()
    texts: tuple[str, ...] = ()
    code: tuple[str, ...] = ()
    through: bool = False
    opaque: bool = False


def look_through(words: Sequence[Word]) -> Seen:
    """Return what `words`, a simple command, runs in turn."""
    first, rest = words[0], list(words[1:])
    if first.computed and not first.ends_known:
        return Seen(opaque=True)
    name = program_of(first)
    if name == "busybox" and rest:
        return Seen((rest,), through=True)
    if name in SHELLS:
        return _shell(rest)
    if name in INTERPRETERS:
        return _interpreter(rest, INTERPRETERS[name])
    if handler := _HANDLERS.get(name):
        return handler(rest)
    if name in _PREFIXES:
        return _prefixed(rest, *_PREFIXES[name])
    return Seen()


def may_be_run_by(words: Sequence[Word]) -> list[list[Word]]:
    """Return guesses at the commands given to a program that runs others, wherever its own options end:
    enough to refuse or to ask, never to allow."""
    name = program_of(words[0])
    if name not in _RUNNERS and name not in _PREFIXES and not _LOADER.fullmatch(name):
        return []
    starts = (at for at in range(1, min(len(words), _MOST_STARTS)) if not words[at].computed)
    return [list(words[at : at + _MOST_OF_GUESS]) for at in starts]


_MOST_STARTS, _MOST_OF_GUESS = 16, 40  # words
_NAMES_OF_RUNNERS = (
    "setarch linux i x86_64 uname flock script gdb lldb valgrind perf rr heaptrack start-stop-daemon daemonize "
    "dbus-run-session xvfb-run fakeroot faketime proot catchsegv numactl cgexec systemd-inhibit softlimit chpst "
    "s6-setuidgid gosu su-exec setpriv capsh runuser tini dumb-init rlwrap direnv mise asdf poetry uv pipenv pnpm "
    "npm npx yarn bunx bundle conda mamba nix nix-shell docker podman kubectl tmux screen watchexec nodemon ccache "
    "distcc torsocks proxychains cpulimit trickle eatmydata dotenv op aws-vault sem chronic ts ifne lckdo retry "
    "annotate-output toybox busybox watch hyperfine"
)
_RUNNERS = frozenset(_NAMES_OF_RUNNERS.split())
"""Programs that run another one named in their arguments; how many arguments are their own varies too much. Trailing
version numbers are omitted, see `program_of`."""


def program_of(word: Word) -> str:
    """Return the name of a program without folder, version and extension, in lower case."""
    return re.sub(r"(?<=[a-z])[\d.]+$", "", word.text.rpartition("/")[2].lower().removesuffix(".exe"))


def commands_in_code(code: str) -> tuple[list[list[Word]], list[str]]:
    """Return what code in another language may run: each function it calls, and its quoted texts together, as
    commands; and each quoted text of several words, to be parsed separately."""
    texts = ["".join(groups) for groups in _STRING.findall(code)]
    calls = [[Word(name)] for name in _CALL.findall(code)]
    together = [[Word(text.strip()) for text in texts]] if len(texts) > 1 else []
    return calls + together, [*(text for text in texts if len(text.split()) > 1), _LISTS.sub(" ; ", code)]


_PREFIXES: dict[str, tuple[str, int, bool]] = {
    # name: (short options that take a value, operands before the command, whether only the command is judged)
    "timeout": ("ks", 1, True),
    "nice": ("n", 0, True),
    "ionice": ("cnp", 0, True),
    "nohup": ("", 0, True),
    "setsid": ("", 0, True),
    "stdbuf": ("ioe", 0, True),
    "time": ("fo", 0, True),
    "command": ("", 0, True),
    "builtin": ("", 0, True),
    "exec": ("a", 0, True),
    "coproc": ("", 0, True),
    "chrt": ("TPD", 1, False),
    "taskset": ("", 1, False),
    "prlimit": ("po", 0, False),
    "choom": ("np", 0, False),
    "sudo": ("ughpCTrtDRU", 0, False),
    "doas": ("uC", 0, False),
    "pkexec": ("", 0, False),
    "run0": ("", 0, False),
    "strace": ("eopsPuEaI", 0, False),
    "ltrace": ("eopsu", 0, False),
    "unshare": ("", 0, False),
    "nsenter": ("t", 0, False),
    "chroot": ("", 1, False),
    "caffeinate": ("tw", 0, True),
    "unbuffer": ("", 0, True),
    "systemd-run": ("pu", 0, False),
    "firejail": ("", 0, False),
    "bwrap": ("", 0, False),
    "entr": ("", 0, False),
}


def _after_options(rest: list[Word], valued: str, *, assignments: bool = False) -> list[Word]:
    """Return what follows the options. `valued`: short options whose value is the next word."""
    at = 0
    while at < len(rest):
        text = rest[at].text
        if text == "--":
            return rest[at + 1 :]
        if text.startswith("-") and text != "-":
            at += 2 if len(text) == 2 and text[1] in valued else 1
        elif assignments and _ASSIGNMENT.match(text):
            at += 1
        else:
            break
    return rest[at:]


def _prefixed(rest: list[Word], valued: str, operands: int, through: bool) -> Seen:
    command = _after_options(rest, valued, assignments=not through)[operands:]
    return Seen((command,) if command else (), through=through and bool(command))


def _shell(rest: list[Word]) -> Seen:
    """`bash -c TEXT`; a script file is not read, but one with a computed name is opaque."""
    at, takes_text = 0, False
    while at < len(rest) and rest[at].text[:1] in ("-", "+") and rest[at].text != "-":
        text = rest[at].text
        if not text.startswith("--"):
            takes_text = takes_text or "c" in text[1:]
            at += 1 if text[-1:] in "oO" and len(text) <= 3 else 0
        elif text in ("--rcfile", "--init-file"):
            at += 1
        at += 1
    operand = rest[at] if at < len(rest) else None
    if operand is None:
        return Seen(through=takes_text)
    hidden = operand.computed or operand.text.startswith(("/dev/stdin", "/dev/fd", "/proc/"))
    if takes_text:
        return Seen(texts=(operand.text,), through=not hidden, opaque=hidden)
    return Seen(opaque=hidden)


def _interpreter(rest: list[Word], options: tuple[str, ...]) -> Seen:
    """Code on the command line: its strings may be commands."""
    for at, word in enumerate(rest[:-1]):
        if word.text in options or (re.fullmatch(r"-\w*[ceE]", word.text) and word.text[:2] != "--"):
            return Seen(code=(rest[at + 1].text,), opaque=rest[at + 1].computed)
    if glued := [word for word in rest if _GLUED_CODE.fullmatch(word.text) and word.text[:2] != "--"]:
        return Seen(code=tuple(word.text for word in glued), opaque=any(word.computed for word in glued))
    return Seen(opaque=bool(rest) and rest[0].computed and not rest[0].text)


def _joined(rest: list[Word]) -> Seen:
    """A command line given as several words: `eval`, `watch`."""
    rest = _after_options(rest, "n")
    hidden = any(word.computed for word in rest)
    return Seen(texts=(" ".join(word.text for word in rest),), through=not hidden, opaque=hidden)


def _env(rest: list[Word]) -> Seen:
    for at, word in enumerate(rest):
        if split := re.match(r"-[a-zA-Z]*S|--split-string=?", word.text):
            first, later = (word.text[split.end() :], rest[at + 1 :])
            if not first and later:
                first, later = later[0].text, later[1:]
            text = " ".join([first, *(_quoted(part.text) for part in later)])
            return Seen(texts=(text.replace("\\_", " "),), opaque=any(part.computed for part in rest[at : at + 2]))
        if not (word.text.startswith("-") or _ASSIGNMENT.match(word.text)):
            break
    command = _after_options(rest, "uC", assignments=True)
    plain = not any(_ASSIGNMENT.match(word.text) for word in rest[: len(rest) - len(command)])
    return Seen((command,) if command else (), through=plain and bool(command))


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


def _xargs(rest: list[Word]) -> Seen:
    command = _after_options(rest, "nPILdsaE")
    replaced = next((later.text for word, later in pairwise(rest) if word.text == "-I"), "")
    replaced = next((word.text[2:] for word in rest if word.text.startswith("-I") and word.text != "-I"), replaced)
    if any(word.text == "-i" or word.text.startswith("--replace") for word in rest):
        replaced = "{}"
    if not command:
        return Seen()
    inner = [Word(word.text, computed=True) if replaced and replaced in word.text else word for word in command]
    return Seen((inner if replaced else [*inner, _UNKNOWN],), through=True)


def _parallel(rest: list[Word]) -> Seen:
    command = _after_options(rest, "jNnL")
    text, mark, _ = " ".join(word.text for word in command).partition(":::")
    at = next((at for at, word in enumerate(command) if word.text.startswith(":::")), len(command))
    told = [*command[:at], *([_UNKNOWN] if mark else [])]
    return Seen((told,) if command[:at] else (), texts=(text,), opaque=not command)


def _find(rest: list[Word]) -> Seen:
    commands: list[list[Word]] = []
    end, taken = len(rest), 0
    for at in range(len(rest) - 1, -1, -1):
        if rest[at].text in (";", "+"):
            end = at
        elif rest[at].text in _FIND_OPTIONS and at + 1 < end:
            taken += end - at
            if taken > _MOST_WORDS:  # find -exec -exec -exec …: each may run everything that follows
                return Seen(tuple(commands), opaque=True)
            commands.append([Word(w.text, computed=True) if "{}" in w.text else w for w in rest[at + 1 : end]])
    return Seen(tuple(reversed(commands)))


def _option_text(*options: str) -> Callable[[list[Word]], Seen]:
    """Return a handler for a program with an option whose value is a shell command."""

    def look(rest: list[Word]) -> Seen:
        for word, later in pairwise(rest):
            if word.text in options:
                return Seen(texts=(later.text,), opaque=later.computed)
        values = (
            word.text[2:] if len(option) == 2 else word.text.removeprefix(f"{option}=")  # -Ccommand, --command=command
            for word in rest
            for option in options
            if word.text.startswith(option)
        )
        return Seen(texts=tuple(values))

    return look


def _su(rest: list[Word]) -> Seen:
    return _option_text("-c", "--command")(rest)


def _flock(rest: list[Word]) -> Seen:
    command = _after_options(rest, "wE")[1:]
    if command and command[0].text in ("-c", "--command"):
        return Seen(texts=tuple(word.text for word in command[1:2]))
    return Seen((command,) if command else ())


def _rg(rest: list[Word]) -> Seen:
    """`rg --pre PROGRAM` runs it for each file."""
    commands: list[list[Word]] = []
    for word, later in pairwise([*rest, Word("")]):
        option, given, value = word.text.partition("=")
        if option == "--pre":
            program = Word(value, word.computed) if given else later
            commands.append([program, _UNKNOWN])
    return Seen(tuple(commands))


def _bind(rest: list[Word]) -> Seen:
    """`bind -x '"KEY": COMMAND'`."""
    return Seen(texts=tuple(word.text.rpartition('":')[2] for word in rest if '":' in word.text))


def _trap(rest: list[Word]) -> Seen:
    return Seen(texts=tuple(word.text for word in rest[:1]), opaque=bool(rest) and rest[0].computed)


def _alias(rest: list[Word]) -> Seen:
    return Seen(texts=tuple(word.text.partition("=")[2] for word in rest))


def _source(rest: list[Word]) -> Seen:
    hidden = bool(rest) and (rest[0].computed or rest[0].text.startswith(("/dev/stdin", "/dev/fd", "/proc/")))
    return Seen(opaque=hidden)


def _remote(rest: list[Word]) -> Seen:
    return Seen(texts=(" ".join(word.text for word in _after_options(rest, "pilFoJLRDeEbcmSWw")[1:]),))


def _last_words(rest: list[Word]) -> Seen:
    """`cmd /c TEXT`, `powershell -Command TEXT`."""
    words = [word for word in rest if not re.fullmatch(r"/[a-z]|-\w+", word.text, re.IGNORECASE)]
    encoded = any(word.text.lower().startswith(("-e", "-enc")) for word in rest)
    return Seen(texts=(" ".join(word.text for word in words),), opaque=encoded)


def _code(rest: list[Word]) -> Seen:
    """`awk PROGRAM`: any word may be code."""
    return Seen(code=tuple(word.text for word in rest))


def _git(rest: list[Word]) -> Seen:
    """Return what git runs: program settings, aliases, and the options and commands that take a program."""
    texts: list[str] = []
    names = [word.text for word in rest]
    is_hidden = any(name.startswith("--config-env") for name in names)
    for name, later in pairwise([*names, ""]):
        setting, given, value = name.partition("=")
        if not given and _RUN_BY_GIT.fullmatch(name):  # git config core.pager PROGRAM
            texts.append(_of_alias(name, later))
        elif given and _RUN_BY_GIT.fullmatch(setting):
            texts.append(_of_alias(setting, value))
        elif found := _GIT_OPTION.fullmatch(name):
            texts.append(found[1] or (later if name in ("-x", "--exec", "--extcmd") or "-filter" in name else ""))
        elif name.startswith("!"):
            texts.append(name[1:])
    for before, verb in (("bisect", "run"), ("submodule", "foreach")):
        if before in names and verb in names:
            after = names[names.index(verb) + 1 :]
            texts.append(after[0] if len(after) == 1 else " ".join(map(_quoted, after)))
    return Seen(texts=tuple(filter(None, texts)), opaque=is_hidden)


_RUN_BY_GIT = late_pattern(
    r"alias\..+|pager\..+|core\.(?:pager|editor|sshcommand|fsmonitor|hookspath|askpass|gitproxy)|sequence\.editor"
    r"|diff\.external|gpg\.(?:.+\.)?program|credential\.(?:.+\.)?helper"
    r"|(?:diff|difftool|merge|mergetool|filter|browser|man|remote|submodule)\..+\."
    r"(?:textconv|command|cmd|driver|clean|smudge|process|path|uploadpack|receivepack|update)",
    re.IGNORECASE | re.DOTALL,
)
"""git settings whose value is run."""

_GIT_OPTION = late_pattern(
    r"(?:-x|--exec|--extcmd|--[a-z]+-filter|--open-files-in-pager|-O(?=[^a]))(?:=?(.*))?", re.DOTALL
)
"""Options of git commands whose value is run: `rebase -x`, `difftool -x`, `filter-branch`, `grep -O`."""


def _of_alias(setting: str, value: str) -> str:
    if not setting.lower().startswith("alias."):
        return value
    return value[1:] if value.startswith("!") else f"git {value}" if value else ""


_HANDLERS: dict[str, Callable[[list[Word]], Seen]] = {
    "eval": _joined,
    "watch": _joined,
    "env": _env,
    "xargs": _xargs,
    "parallel": _parallel,
    "find": _find,
    "fd": _find,
    "fdfind": _find,
    "su": _su,
    "runuser": _su,
    "script": _su,
    "flock": _flock,
    "trap": _trap,
    "alias": _alias,
    "source": _source,
    ".": _source,
    "ssh": _remote,
    "cmd": _last_words,
    "powershell": _last_words,
    "pwsh": _last_words,
    "awk": _code,
    "gawk": _code,
    "mawk": _code,
    "nawk": _code,
    "original-awk": _code,
    "goawk": _code,
    "rg": _rg,
    "bind": _bind,
    "mapfile": _option_text("-C"),
    "readarray": _option_text("-C"),
    "compgen": _option_text("-C"),
    "complete": _option_text("-C"),
    "git": _git,
    "tar": _option_text("--checkpoint-action=exec", "--to-command", "-I", "--use-compress-program"),
    "rsync": _option_text("-e", "--rsh"),
    "vim": _option_text("-c"),
    "vi": _option_text("-c"),
    "ex": _option_text("-c"),
    "make": _option_text("--eval"),
    "hyperfine": _code,
}
