"""Recognize dangerous commands, under any name, and commands that use the network."""

import re
from collections.abc import Sequence
from fnmatch import fnmatchcase

from localllm.base.lazy_patterns import late_pattern
from localllm.safety.shell_words import Word

_MOST_TRIES = 100  # occurrences of a program in one command that are compared with a denied one
_LONGEST_PATTERN = 1_000  # characters of a file name pattern; a longer one may match anything
_DRIVE = late_pattern(r"[a-z]:", re.IGNORECASE)
_ASSIGNMENT = late_pattern(r"\w+(\[.*\])?\+?=", re.DOTALL)

_ALSO: dict[str, tuple[str, ...]] = {
    "rm -rf": (
        *("find -delete", "rimraf", "Remove-Item -Recurse -Force", "trash-empty", "rmtree", "shutil.rmtree"),
        *("fs.rmSync", "fs.rm", "fs.rmdirSync", "FileUtils.rm_rf", "FileUtils.rm_r", "File::Path::rmtree"),
    ),
    "sudo": ("doas", "pkexec", "run0", "su", "gosu", "runuser"),
    "format x:": ("mkfs", "mke2fs", "format.com x:", "Format-Volume"),
    "del /s": ("erase /s", "rd /s", "rmdir /s"),
    "chmod 777": ("chmod 0777", "chmod a+rwx", "chmod ugo+rwx", "chmod a=rwx", "chmod +rwx", "chmod 666", "chmod a+w"),
}
"""Entry → equivalent commands, which the entry covers as well."""

_WITH_WORD_OF_GIT = frozenset(
    ("-C", "-c", "--git-dir", "--work-tree", "--namespace", "--config-env", "--attr-source", "--super-prefix")
)
"""Options of git's own that take the next word."""

_REMOVERS = ("rm", "unlink", "shred")

PRINTERS = frozenset(
    {"echo", "printf", "grep", "egrep", "fgrep", "zgrep", "rg", "ag", "ack", "man", "which", "whatis", "apropos"}
    | {"help", "type", "test", "[", "[[", "cat", "less", "head", "tail", "ls", "alias"}
)
"""Programs that never run their arguments."""

_FETCHERS = frozenset(
    {"curl", "wget", "http", "https", "xh", "ssh", "nc", "ncat", "netcat", "socat", "telnet", "ftp", "lftp", "openssl"}
    | {"lynx", "w3m", "links", "mail", "mutt", "gh", "glab", "kubectl", "aws", "gcloud", "az", "rsh", "mosh"}
)
"""Programs that print what other machines send."""

_NETWORK = (
    _FETCHERS
    | {"scp", "sftp", "rsync", "aria2c", "dig", "nslookup", "host", "ping", "traceroute", "sendmail"}
    | {"pip", "pip3", "pipx", "uv", "poetry", "npm", "npx", "pnpm", "yarn", "bun", "deno", "cargo", "gem", "bundle"}
    | {"go", "apt", "apt-get", "dnf", "yum", "brew", "docker", "podman", "helm", "twine"}
    | {"rclone", "s3cmd", "gpg", "hg", "svn", "conda", "mamba", "composer"}
    | {"psql", "mysql", "mariadb", "redis-cli", "mongosh", "whois"}
)
_NETWORK_WORDS = {
    "git": frozenset({"push", "fetch", "pull", "clone", "ls-remote", "remote", "submodule", "send-email"})
}
_ADDRESS = late_pattern(r"\w://|/dev/(?:tcp|udp)/")
_NETWORK_TEXT = late_pattern(
    r"\w://|/dev/(?:tcp|udp)/|\b(?:socket|urllib|requests|httpx|aiohttp|http\.client|smtplib|fetch)\b", re.IGNORECASE
)


def dangerous_as(words: Sequence[Word], entry: str) -> str:
    """Return the entry of `dangerous_commands`, or its equivalent, that a simple command is; "" if it is none."""
    texts = [word.text for word in words]
    if not texts:
        return ""
    if found := _any_of(words, texts, entry):
        return found
    if entry.split()[:1] != ["rm"] or len(entry.split()) < 2:
        return ""
    if _removes_many(texts):
        return "find -exec rm" if texts[0].rpartition("/")[2] == "find" else "xargs rm"
    if _removes_all(words):
        return "rm *"
    return "git clean -f" if _cleans(words, texts) else ""


def _any_of(words: Sequence[Word], texts: list[str], entry: str) -> str:
    names = _names(words)
    known = (entry, *_ALSO.get(entry.strip().lower(), ()))
    among = (one for one in known if one.strip() and (names is None or _is_among(names, one.split()[0])))
    return next((one for one in among if _is_entry(words, texts, one.split())), "")


def _removes_many(texts: list[str]) -> bool:
    """Return whether it has another command remove whatever that lists: `xargs rm`, `find -exec rm`."""
    named = {text.rpartition("/")[2] for text in texts}
    if not named & set(_REMOVERS):
        return False
    starts = _starts(texts)
    by_list = any(text.rpartition("/")[2] in ("xargs", "parallel") and starts[at] for at, text in enumerate(texts))
    return by_list or (texts[0].rpartition("/")[2] == "find" and bool(_EXECUTING_OPTIONS & set(texts)))


def _removes_all(words: Sequence[Word]) -> bool:
    """Return whether it removes all files of the folder in which it runs, or of one above: `rm *`, `rm -f ./*`."""
    at = begins_at(words, "rm")
    return at >= 0 and any(word.computed and _is_all(word.text) for word in words[at + 1 :])


def begins_at(words: Sequence[Word], program: str) -> int:
    """Return the first position at which the program may be run; -1 if there is none."""
    if not any(is_program(word, program) for word in words):
        return -1
    starts = _starts([word.text for word in words])
    return next((at for at, word in enumerate(words) if starts[at] and is_program(word, program)), -1)


def _is_all(pattern: str) -> bool:
    folder, _, name = pattern.rpartition("/")
    return folder.strip("./") == "" and (name == "*.*" or ("*" in name and name.strip("*?") == ""))


def _cleans(words: Sequence[Word], texts: list[str]) -> bool:
    """Return whether it has git remove what is not tracked: `git clean -f`, unless it only lists."""
    starts = _starts(texts)
    at = next((at for at, word in enumerate(words) if starts[at] and is_program(word, "git")), len(texts))
    verb = at + 1
    while verb < len(texts) and texts[verb][:1] == "-":
        verb += 2 if texts[verb] in _WITH_WORD_OF_GIT else 1
    if texts[verb : verb + 1] != ["clean"]:
        return False
    is_forced = any("requireforce" in text.lower() or text.startswith("--config-env") for text in texts[:verb])
    is_forced |= any(word.computed for word in words[verb:])
    is_dry = is_value = False
    for text in texts[verb + 1 :]:
        if text == "--" and not is_value:
            break
        name, _, value = text.partition("=")
        letters, exclude, pattern = text[1:].partition("e")
        if is_value or text[:1] != "-":
            is_value = False
        elif text[:2] != "--":
            is_forced |= "f" in letters
            is_dry |= "n" in letters
            is_value = exclude != "" and pattern == ""
        elif name.startswith(("--d", "--no-d")):
            is_dry = name.startswith("--d")
        else:
            is_forced |= name.startswith("--f")
            is_value = name.startswith("--e") and not value
    return is_forced and not is_dry


def _is_entry(words: Sequence[Word], texts: list[str], entry: list[str]) -> bool:
    """Return whether it matches the entry: same program, all flags (in any order or grouping), all words.

    An entry with arguments (`rm -rf`) matches at any place, as after `find -exec`; a bare program (`sudo`)
    only where a command begins, so that `grep sudo` does not match.
    """
    program, *rest = entry
    found = [at for at, word in enumerate(words) if is_program(word, program)]
    if not found:
        return False
    starts = _starts(texts)
    if not rest:
        return any(starts[at] for at in found)
    if texts[0].rpartition("/")[2] in PRINTERS:
        return False
    return has_all(texts[found[0] + 1 :], rest)


def _names(words: Sequence[Word]) -> set[str] | None:
    """Return the possible program names among the words, in lower case; None if a word may be any."""
    if any(word.computed for word in words):
        return None
    return {word.text.rpartition("/")[2].lower() for word in words}


def _is_among(names: set[str], program: str) -> bool:
    """Return whether `is_program` may be true of a word that is not computed and has one of the names."""
    wanted = program.rpartition("/")[2].lower()
    return wanted in names or f"{wanted}.exe" in names or wanted == "mkfs"


def is_program(word: Word, program: str) -> bool:
    """Return whether the word names the program, with or without its folder, or may match it as a glob."""
    name, wanted = word.text.rpartition("/")[2].lower(), program.rpartition("/")[2].lower()
    if wanted == "mkfs" and name.startswith("mkfs."):
        return True
    is_pattern = word.computed and name.strip("*") != "" and bool(re.search(r"[?*\[]", name))
    may_match = is_pattern and (len(name) > _LONGEST_PATTERN or fnmatchcase(wanted, name))
    return name == wanted or name == f"{wanted}.exe" or may_match


def prints_foreign_text(words: Sequence[Word]) -> bool:
    """Return whether the command may print another machine's text: by its purpose, or by an address in it."""
    texts = [word.text for word in words]
    names = [text.rpartition("/")[2].lower().removesuffix(".exe") for text in texts]
    if any(begins and name in _FETCHERS for begins, name in zip(_starts(texts), names, strict=True)):
        return True
    return names[:1] != [] and names[0] not in PRINTERS and any(_ADDRESS.search(text) for text in texts)


def uses_network(words: Sequence[Word]) -> bool:
    """Return whether the command is one that contacts other machines, or names an address."""
    return is_networked(words) or any(_NETWORK_TEXT.search(word.text) for word in words)


def is_networked(words: Sequence[Word]) -> bool:
    """Return whether the command is one that contacts other machines."""
    texts = [word.text for word in words]
    starts = _starts(texts)
    last = {text: at for at, text in enumerate(texts)}
    for at, text in enumerate(texts):
        name = text.rpartition("/")[2].lower()
        after = any(last.get(word, 0) > at for word in _NETWORK_WORDS.get(name, ()))
        if starts[at] and (name in _NETWORK or after):
            return True
    return False


def may_run(words: Sequence[Word], wanted: Sequence[str]) -> bool:
    """Return whether it may be the denied command: its program, its words in order, its flags anywhere.

    Several words match at any place, a bare program only where a command begins; options may stand between.
    A computed word may be any word, or several.
    """
    if not wanted:
        return True
    tries = 0
    last = _last_that_may_be_next(words, wanted[1:])
    for position, (word, starts) in enumerate(zip(words, _starts([word.text for word in words]), strict=True)):
        hidden = word.computed and not word.ends_known
        if hidden and starts and not _ASSIGNMENT.match(word.text):
            return True
        joined = "-".join(wanted[:2])  # `git push` runs git-push
        if wanted[1:] and starts and is_program(word, joined) and _follows(words[position + 1 :], wanted[2:]):
            return True
        if is_program(word, wanted[0]) and (starts or wanted[1:]):
            tries += 1
            if tries > _MOST_TRIES or (position < last and _follows(words[position + 1 :], wanted[1:])):
                return True
    return False


def _last_that_may_be_next(words: Sequence[Word], wanted: Sequence[str]) -> int:
    """Return the last position where `_follows` can match; the rest of a long line need not be searched."""
    name = next((want for want in wanted if not want.startswith("-")), None)
    if name is None:
        return len(words)
    return max((at for at, word in enumerate(words) if word.computed or word.text.endswith(name)), default=-1)


def _follows(words: Sequence[Word], wanted: Sequence[str]) -> bool:
    flags = [want for want in wanted if want.startswith("-")]
    names = [want for want in wanted if not want.startswith("-")]
    was_option = False
    for word in words:
        if not names:
            break
        if word.computed:
            return True
        is_option = word.text.startswith("-")
        if word.text == names[0] or (is_option and word.text.endswith(names[0])):
            del names[0]
        elif not (is_option or was_option):
            return False
        was_option = is_option
    return not names and (any(word.computed for word in words) or all(_has_flag(words, flag) for flag in flags))


def _has_flag(words: Sequence[Word], flag: str) -> bool:
    """Return whether the words contain the flag (long, shortened, short) or the letters of grouped flags."""
    options = [word.text.partition("=")[0] for word in words if word.text.startswith("-")]
    letters = {letter for option in options if option[1:2] != "-" for letter in option[1:]}
    long = [option for option in options if option.startswith("--")]
    if flag.startswith("--"):
        return flag[2:3] in letters or any(flag.startswith(option) for option in long) or flag in options
    return flag in options or set(flag[1:]) <= letters | {option[2:3] for option in long}


_KEYWORDS = frozenset({"if", "then", "elif", "else", "while", "until", "do", "!", "{", "time", "coproc"})
_SHELLS = frozenset({"bash", "sh", "dash", "zsh", "ksh", "fish", "busybox", "eval", "trap", "watch"})
_WRAPPERS = _SHELLS | frozenset(
    {"env", "exec", "command", "builtin", "nohup", "nice", "ionice", "timeout", "xargs", "parallel", "setsid"}
    | {"stdbuf", "strace", "chroot", "sudo", "doas", "su", "cmd", "start"}
)
_EXECUTING_OPTIONS = frozenset({"-exec", "-execdir", "-ok", "-okdir"})


def _starts(words: Sequence[str]) -> list[bool]:
    """Return for each word whether it may be run as a command.

    It may if only keywords, wrappers, assignments, numbers, and options with a value precede it, and after `-exec`.
    """
    starts: list[bool] = []
    open_still, was_option, before = True, False, ""
    for word in words:
        starts.append(open_still or before in _EXECUTING_OPTIONS)
        is_option = word.startswith("-")
        is_wrapper = word.rpartition("/")[2] in _KEYWORDS or word.rpartition("/")[2] in _WRAPPERS
        passes = is_option or was_option or is_wrapper or _ASSIGNMENT.match(word) or word[:1].isdigit()
        open_still = open_still and bool(passes)
        was_option, before = is_option, word
    return starts


def has_all(words: Sequence[str], wanted: Sequence[str]) -> bool:
    """Return whether the words hold all flags wanted, in any order or grouping, and all other words."""
    flags = {letter for word in words if re.fullmatch(r"-\w+", word) for letter in word[1:]}
    long_flags = {word[2:3] for word in words if word.startswith("--")}
    slashes = {letter.lower() for word in words for letter in re.findall(r"/(\w)", word) if word.startswith("/")}
    lowered = [word.lower() for word in words]
    for want in wanted:
        if want.lower() in lowered:
            continue
        if re.fullmatch(r"-[A-Za-z]{1,3}", want):
            if not set(want[1:]) <= flags | long_flags and not {"R" if c == "r" else c for c in want[1:]} <= flags:
                return False
        elif re.fullmatch(r"/\w", want):
            if want[1] not in slashes:
                return False
        elif not (_DRIVE.fullmatch(want) and any(_DRIVE.match(word) for word in words)):
            return False
    return True
