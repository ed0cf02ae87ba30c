"""Find the commands that programs run in turn, as words or as a text to parse."""

import re
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Literal

import msgspec

from localllm.base.lazy_patterns import late_pattern
from localllm.safety.command_options import ASSIGNMENT, read_options
from localllm.safety.shell_dialects import Reader
from localllm.safety.shell_words import Word

_READERS: dict[str, Reader] = {
    **dict.fromkeys(("bash", "rbash"), "bash"),
    **dict.fromkeys(("sh", "dash", "ash", "ksh", "mksh"), "posix"),
    **dict.fromkeys(("zsh", "fish", "csh", "tcsh"), "other"),
}
SHELLS = frozenset(_READERS)
INTERPRETERS: dict[str, tuple[str, ...]] = {
    "python": ("-c",),
    "perl": ("-e", "-E"),
    "ruby": ("-e",),
    "node": ("-e", "--eval", "-p", "--print"),
    "php": ("-r", "-B", "-R", "--run", "--process-begin", "--process-code", "--process-end"),
    "lua": ("-e",),
    "luajit": ("-e",),
    "pypy": ("-c",),
    "ipython": ("-c",),
    "nodejs": ("-e", "--eval", "-p", "--print"),
    "rscript": ("-e",),
    "julia": ("-e", "-E", "--eval", "--print"),
    "elixir": ("-e", "--eval", "--rpc-eval"),
    "guile": ("-c",),
    "tclsh": (),
    "expect": ("-c",),
    "groovy": ("-e",),
    "raku": ("-e",),
    "deno": ("eval",),
    "bun": ("-e", "-p", "--eval", "--print"),
    "osascript": ("-e",),
}
"""Interpreters of other languages, and the options that take their code."""

READERS = SHELLS | INTERPRETERS.keys() | {"powershell", "pwsh"}
"""Programs that run their standard input if given nothing else."""

_STRING = late_pattern(
    r"""'''(.*?)'''|\"\"\"(.*?)\"\"\"|'((?:\\.|[^'\\])*)'|"((?:\\.|[^"\\])*)"|`((?:\\.|[^`\\])*)`""", re.DOTALL
)
_GLUED_CODE = late_pattern(r"-[A-Za-z]*?[ceE].+", re.DOTALL)
_LOADER = late_pattern(r"ld(?:[-\d].*)?\.so(?:\..*)?|qemu-\w+", re.DOTALL)
"""The dynamic loader, which starts programs (`/lib64/ld-linux-x86-64.so.2 PROGRAM`), and other machines' emulators."""

_CALL = late_pattern(r"(?<![\w.])([\w.]++)\s*+\(")
_LISTS = late_pattern(r"\bqw\b|[(){}\[\]|/]")  # delimiters of words in perl and ruby: qw(git push), %x{git push}
_UNPACKED = late_pattern(r"(?<![\w*./\\])\*{1,2}(?=[^\W\d])")
"""Stars before a name in python and ruby: `[*row, 1]`, `f(**options)`. No shell reads them as a pattern of names."""

_UNKNOWN = Word("", computed=True)
_STREAMS = ("/dev/stdin", "/dev/fd", "/proc/")
_FIND_OPTIONS = frozenset({"-exec", "-execdir", "-ok", "-okdir", "-x", "--exec", "-X", "--exec-batch"})
_MOST_WORDS = 20_000  # of all commands that one `find` may run


class Seen(msgspec.Struct, frozen=True):
    """What a command runs: commands, texts for a shell, and code in another language that may hold commands.

    `reader`: the shell that reads the texts; "same": the one that runs the command. `through`: it runs only these, so
    it need not be judged itself. `opaque`: it runs something that cannot be seen.
    """

    commands: tuple[list[Word], ...] = ()
    texts: tuple[str, ...] = ()
    code: tuple[str, ...] = ()
    reader: Reader | Literal["same"] = "posix"
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
        return _shell(rest, _READERS[name])
    if name in INTERPRETERS:
        return _interpreter(rest, INTERPRETERS[name])
    if handler := _HANDLERS.get(name):
        return handler(rest)
    if name in _PREFIXES:
        return _prefixed(rest, _PREFIXES[name])
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
    "annotate-output toybox busybox watch hyperfine ssh-agent cmake logsave runcon keyctl dtach abduco envdir "
    "cross-env pyenv rbenv nodenv goenv jenv volta fnm hatch pdm rye pixi tox nox doppler infisical docker-compose "
    "podman-compose nerdctl apptainer singularity distrobox toolbox lxc"
)
_RUNNERS = frozenset(_NAMES_OF_RUNNERS.split())
"""Programs that run another one named in their arguments; how many arguments are their own varies too much. Trailing
version numbers are omitted, see `program_of`."""


def reader_of(program: str) -> Reader:
    """Return how a shell reads its texts."""
    return _READERS.get(program, "posix")


def program_of(word: Word) -> str:
    """Return the name of a program without folder, version and extension, in lower case."""
    return re.sub(r"(?<=[a-z])[\d.]+$", "", word.text.rpartition("/")[2].lower().removesuffix(".exe"))


def commands_in_code(code: str) -> tuple[list[list[Word]], list[str]]:
    """Return what code in another language may run: each function it calls, and its quoted texts together, as
    commands; and each quoted text of several words, to be parsed separately."""
    texts = ["".join(groups) for groups in _STRING.findall(code)]
    calls = [[Word(name)] for name in _CALL.findall(code)]
    together = [[Word(text.strip()) for text in texts]] if len(texts) > 1 else []
    statements = _LISTS.sub(" ; ", unpacking_quoted(code))
    return calls + together, [*(text for text in texts if len(text.split()) > 1), statements]


def unpacking_quoted(code: str) -> str:
    """Return the code with the stars of unpacked names quoted for a shell, which would read them as patterns."""
    return _UNPACKED.sub(lambda stars: "\\*" * len(stars[0]), code)


class _Prefix(msgspec.Struct, frozen=True):
    """A program that runs the command in its arguments, behind `operands` of its own. `harmless`, `others`: its options
    (see `command_options`). `through`: with harmless options alone, only the command need be judged."""

    harmless: str = ""
    others: str = ""
    operands: int = 0
    through: bool = True


_PREFIXES = {
    "timeout": _Prefix("k: s: f p v kill-after: signal: foreground preserve-status verbose", operands=1),
    "nice": _Prefix("n: adjustment: 0 1 2 3 4 5 6 7 8 9"),
    "ionice": _Prefix("c: n: t class: classdata: ignore", "p: P: u: pid: pgid: uid:"),
    "nohup": _Prefix(),
    "setsid": _Prefix("c f w ctty fork wait"),
    "stdbuf": _Prefix("i: o: e: input: output: error:"),
    "time": _Prefix("p f: v q portability format: verbose quiet", "o: a output: append"),
    "command": _Prefix("p v V"),
    "builtin": _Prefix(),
    "exec": _Prefix("c", "a: l"),  # some programs do what the name says by which they are called: `exec -a rm ls`
    "coproc": _Prefix(),
    "caffeinate": _Prefix("d i m s u t: w:"),
    "unbuffer": _Prefix("p"),
    "chrt": _Prefix(others="T: P: D:", operands=1, through=False),
    "taskset": _Prefix(operands=1, through=False),
    "prlimit": _Prefix(others="p: o:", through=False),
    "choom": _Prefix(others="n: p:", through=False),
    "sudo": _Prefix(others="u: g: h: p: C: T: r: t: D: R: U:", through=False),
    "doas": _Prefix(others="u: C:", through=False),
    "pkexec": _Prefix(through=False),
    "run0": _Prefix(through=False),
    "strace": _Prefix(others="e: o: p: s: P: u: E: a: I:", through=False),
    "ltrace": _Prefix(others="e: o: p: s: u:", through=False),
    "unshare": _Prefix(through=False),
    "nsenter": _Prefix(others="t:", through=False),
    "chroot": _Prefix(operands=1, through=False),
    "systemd-run": _Prefix(others="p: u:", through=False),
    "firejail": _Prefix(through=False),
    "bwrap": _Prefix(through=False),
    "entr": _Prefix(through=False),
}


def _prefixed(rest: list[Word], prefix: _Prefix) -> Seen:
    options = read_options(rest, prefix.harmless, prefix.others, assignments=not prefix.through)
    own, command = options.rest[: prefix.operands], options.rest[prefix.operands :]
    is_plain = options.are_harmless and not any(word.computed for word in own)
    return Seen((command,) if command else (), through=prefix.through and is_plain and bool(command))


_LETTERS_OF_SHELLS = frozenset("cefhlnuvxo")  # `-l` reads only what the user's home and the machine hold
_WORDS_OF_SHELLS = frozenset({"--login", "--noprofile", "--norc"})
_MODES = frozenset({"errexit", "noexec", "noglob", "nounset", "pipefail", "verbose", "xtrace"})
"""Options of shells that name no file to run and change nothing about how a text is read; modes for `-o`."""


def _shell(rest: list[Word], reader: Reader) -> Seen:
    """`bash -c TEXT`; a script file is not read, but one with a computed name is opaque."""
    at = 0
    takes_text, is_plain, ends = False, reader != "other", False
    while at < len(rest) and rest[at].text[:1] in ("-", "+") and not ends:
        text = rest[at].text
        at += 1
        ends = text in ("-", "--")
        if text.startswith("--"):
            is_plain = is_plain and (ends or text in _WORDS_OF_SHELLS)
            at += 1 if text in ("--rcfile", "--init-file") else 0
        else:
            takes_text = takes_text or "c" in text
            modes = [word.text for word in rest[at : at + text.count("o") + text.count("O")]]
            is_plain = is_plain and _LETTERS_OF_SHELLS.issuperset(text[1:]) and _MODES.issuperset(modes)
            at += len(modes)
    is_plain = is_plain and not any(word.computed for word in rest[:at])
    operand = rest[at] if at < len(rest) else None
    if operand is None:
        return Seen(through=takes_text and is_plain)
    hidden = operand.computed or operand.text.startswith(_STREAMS)
    if takes_text:
        return Seen(texts=(operand.text,), reader=reader, through=is_plain and not hidden, opaque=hidden)
    return Seen(opaque=hidden)


def _interpreter(rest: list[Word], options: tuple[str, ...]) -> Seen:
    """Code on the command line: its strings may be commands."""
    code: list[Word] = []
    for word, later in pairwise([*rest, Word("")]):
        name, _equals, value = word.text.partition("=")
        is_long = name.startswith("--")
        if word.text in options or (not is_long and re.fullmatch(r"-\w*[ceE]", word.text)):
            code.append(later)
        elif value and is_long and name in options:
            code.append(Word(value, word.computed))
        elif not is_long and (_GLUED_CODE.fullmatch(word.text) or word.text.startswith(options)):
            code.append(word)
    if code:
        return Seen(code=tuple(word.text for word in code), opaque=any(word.computed for word in code))
    return Seen(opaque=bool(rest) and rest[0].computed and not rest[0].text)


def _eval(rest: list[Word]) -> Seen:
    return _joined(rest, "", "same")


def _watch(rest: list[Word]) -> Seen:
    return _joined(rest, "n: d? t e g b c interval: differences? no-title errexit chgexit beep color", "posix")


def _joined(rest: list[Word], harmless: str, reader: Reader | Literal["same"]) -> Seen:
    """A command line given as several words."""
    options = read_options(rest, harmless)
    hidden = any(word.computed for word in options.rest)
    text = " ".join(word.text for word in options.rest)
    return Seen(texts=(text,), reader=reader, through=options.are_harmless and not hidden, opaque=hidden)


_QUOTING = late_pattern(r"[\\'\"$#]")
_OF_ENV = (
    "i v 0 u: C: ignore-environment null unset: chdir: debug "
    "default-signal? ignore-signal? block-signal? list-signal-handling"
)


def _env(rest: list[Word]) -> Seen:
    """`env NAME=value COMMAND`; the text of `-S` has a grammar of its own, which agrees with the shell's about plain
    words only."""
    if rest and rest[0].text == "-":
        rest = [Word("-i"), *rest[1:]]
    options = read_options(rest, _OF_ENV, "S: split-string: a: argv0: P:", assignments=True)
    if text := next((value for name, value in options.given if name in ("S", "split-string")), ""):
        inner = " ".join([text, *(_quoted(word.text) for word in options.rest)]).replace("\\_", " ")
        before = rest[: len(rest) - len(options.rest)]
        hidden = any(word.computed for word in before) or not text.isprintable() or bool(_QUOTING.search(text))
        return Seen(texts=(inner,), opaque=hidden)
    command = options.rest
    plain = not any(ASSIGNMENT.match(word.text) for word in rest[: len(rest) - len(command)])
    return Seen((command,) if command else (), through=plain and options.are_harmless and bool(command))


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


_OF_XARGS = (
    "0 r t x p o n: P: L: l? I: i? d: s: a: E: e? null no-run-if-empty verbose exit interactive open-tty "
    "max-args: max-procs: max-lines? max-chars: replace? delimiter: arg-file: eof?"
)


def _xargs(rest: list[Word]) -> Seen:
    options = read_options(rest, _OF_XARGS, "process-slot-var:")
    command = options.rest
    marks = [value or "{}" for name, value in options.given if name in ("I", "i", "replace")]
    if not command:
        return Seen()
    inner = [Word(word.text, computed=True) if any(map(word.text.__contains__, marks)) else word for word in command]
    return Seen((inner if marks else [*inner, _UNKNOWN],), through=options.are_harmless)


def _parallel(rest: list[Word]) -> Seen:
    command = read_options(rest, "", "j: N: n: L:").rest
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
    command = read_options(rest, "", "w: E: timeout: conflict-exit-code:").rest[1:]
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
    return Seen(texts=tuple(word.text.rpartition('":')[2] for word in rest if '":' in word.text), reader="same")


def _trap(rest: list[Word]) -> Seen:
    hidden = bool(rest) and rest[0].computed
    return Seen(texts=tuple(word.text for word in rest[:1]), reader="same", opaque=hidden)


def _alias(rest: list[Word]) -> Seen:
    return Seen(texts=tuple(word.text.partition("=")[2] for word in rest), reader="same")


def _source(rest: list[Word]) -> Seen:
    hidden = bool(rest) and (rest[0].computed or rest[0].text.startswith(_STREAMS))
    return Seen(opaque=hidden)


def _remote(rest: list[Word]) -> Seen:
    words = read_options(rest, "", " ".join(f"{letter}:" for letter in "pilFoJLRDeEbcmSWw")).rest
    return Seen(texts=(" ".join(word.text for word in words[1:]),))


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
    "eval": _eval,
    "watch": _watch,
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
