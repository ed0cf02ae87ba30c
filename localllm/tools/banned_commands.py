"""Recognise commands that do what a request forbids: commit, run a file, or change one."""

import fnmatch
import posixpath
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress

from localllm.base.errors import LocalLLMError
from localllm.base.lazy_patterns import late_pattern
from localllm.safety.command_line import Line
from localllm.safety.nested_commands import READERS, SHELLS, program_of
from localllm.safety.paths import ProjectRoot
from localllm.safety.shell_words import Word

_WITH_VALUE = ("-C", "-c", "--git-dir", "--work-tree")
"""Options of git whose value is the next word."""


_COMMITTING = frozenset("commit revert cherry-pick merge am".split())
_WITHOUT_COMMIT = frozenset("--no-commit -n --abort --quit --skip --ff-only --squash --dry-run".split())
_RECORDING = _COMMITTING | frozenset("add push tag branch update-ref symbolic-ref notes rebase pull".split())
_LISTING = ("-l", "--list", "--contains", "--no-contains", "--merged", "--no-merged", "--points-at", "-n")

_FORCED = frozenset({"-f", "--force", "--discard-changes"})
_STAGED, _WORK_TREE = frozenset({"--staged", "-S"}), frozenset({"--worktree", "-W"})
_ALL_FILES = frozenset({".", "./", ":/", "*", ":"})


def commits(line: Line) -> bool:
    """Return whether a part of it commits by git."""
    return any(
        verb == "commit" or (verb in _COMMITTING and not _WITHOUT_COMMIT.intersection(texts))
        for verb, texts in _git_verbs(line)
    )


def records(line: Line) -> bool:
    """Return whether a part of it changes what git has recorded: commits, branches, tags, the index."""
    for verb, texts in _git_verbs(line):
        if verb in ("branch", "tag", "notes", "symbolic-ref"):
            rest = texts[texts.index(verb) + 1 :]
            is_list = any(text.startswith(_LISTING) for text in rest) or rest[:1] in (["show"], ["list"], ["--short"])
            operands = sum(text[:1] != "-" for text in rest)
            if not is_list and operands > (verb == "symbolic-ref"):
                return True
        elif verb in _RECORDING and not {"--dry-run", "-n"}.intersection(texts):
            return True
    return False


def discards(line: Line) -> bool:
    """Return whether a part of it has git throw away the changes of all files, and none puts them aside before."""
    is_aside = False
    for verb, texts in _git_verbs(line):
        rest = texts[texts.index(verb) + 1 :] if verb else []
        if verb == "stash":
            is_aside = is_aside or rest[:1] in ([], ["push"], ["save"]) or rest[0][:1] == "-"
            if rest[:1] in (["drop"], ["clear"]):
                return True
        elif not is_aside and _discards_all(verb, rest):
            return True
    return False


def _discards_all(verb: str, rest: Sequence[str]) -> bool:
    if verb == "reset":
        return "--hard" in rest
    if verb in ("checkout", "switch") and _FORCED.intersection(rest):
        return True
    is_staged_only = _STAGED.intersection(rest) and not _WORK_TREE.intersection(rest)
    is_of_tree = verb == "checkout" or (verb == "restore" and not is_staged_only)
    return is_of_tree and bool(_ALL_FILES.intersection(rest)) and not _NEW_BRANCH.intersection(rest)


def _git_verbs(line: Line) -> Iterator[tuple[str, list[str]]]:
    """Yield the command of git in each part of the line that is one, and the words of that part."""
    for words in line.commands if "git" in line.text else ():
        if words and program_of(words[0]) == "git":
            texts = [word.text for word in words]
            yield _verb(texts), texts


def _verb(words: Sequence[str]) -> str:
    """Return the command of git, behind its options."""
    rest = iter(words[1:])
    for word in rest:
        if word in _WITH_VALUE:
            next(rest, "")
        elif not word.startswith("-"):
            return word
    return ""


_RUNNERS = READERS | {".", "source", "ts-node", "tsx", "java", "dotnet"}
_WITH_RUN = frozenset({"uv", "deno", "bun", "go", "dart", "pdm", "poetry"})
_CHECKS = frozenset({"-c", "-l", "-e", "-lint", "--check", "--syntax-check", "--help", "--version"})
"""Options by which an interpreter only checks the file behind them, or runs something else."""
_WITH_WORD = frozenset({"-W", "-X", "-I", "-r", "--require", "--import", "--loader", "--with", "--python", "-cp"})
"""Options of some interpreters that take the next word."""
_RUN_OTHERS = frozenset("pytest jest vitest mocha rspec coverage pdb cprofile profile trace streamlit".split())
"""Programs and modules of Python that run the files among their arguments."""
_SERVERS = frozenset("uvicorn gunicorn hypercorn flask fastapi".split())
"""Programs that import the module among their arguments: `uvicorn app:app`, `flask --app app run`."""
_IMPORTED = late_pattern(r"(?:^|[;\n])[ \t]*+(?:import|from)\s++([A-Za-z_][\w.]{0,200})")
_DRY = late_pattern(
    r"dry|no-?op|no-act|simulat|pretend|preview|what-?if|check|plan|(?<!\S)-[a-z]?n(?!\S)", re.IGNORECASE
)


def files_run(line: Line, folder: str, root: ProjectRoot) -> list[str]:
    """Return the canonical paths of the files of the project that it may run, in its `folder` or one it changes to."""
    found: list[str] = []
    known = [tuple(word.text for word in words) for words in line.commands]
    for words, texts in zip(line.commands, known, strict=True):
        is_argument = any(len(one) > len(texts) and one[-len(texts) :] == texts for one in known)  # npx eslint src/a.js
        for file in _files_run(words) if texts else ():
            if not (is_argument and file == texts[0] and not file.startswith((".", "/"))):
                found.append(file)
    if any(len(words) == 1 and program_of(words[0]) in READERS for words in line.commands):
        found += [word.text for word in line.script.reads]  # bash < deploy.sh
    paths: list[str] = []
    for place in [folder, *(posixpath.join(folder, one) for one in line.folders)]:
        for file in _expanded(found, place, root):
            with suppress(LocalLLMError):  # e.g. outside
                paths.append(root.relative(posixpath.join(place, file)))
    return paths


def _expanded(files: Iterable[str], folder: str, root: ProjectRoot) -> Iterator[str]:
    """Yield the files with the matches of those with a `*` or `?` in their last part: `python *.py`."""
    for file in files:
        yield file
        above, _slash, name = file.rpartition("/")
        if ("*" in name or "?" in name) and "*" not in above:
            with suppress(LocalLLMError, OSError):
                there = root.path / root.relative(posixpath.join(folder, above))
                yield from (
                    posixpath.join(above, one) for one in fnmatch.filter([one.name for one in there.iterdir()], name)
                )


def _files_run(words: Sequence[Word]) -> Iterator[str]:
    """Yield the file that a simple command runs, by its own name or by an interpreter; also a word before it that may
    belong to an option."""
    first, *rest = (word.text for word in words)
    program = program_of(words[0])
    if program in _WITH_RUN and rest[:1] == ["run"]:
        del rest[0]
    elif program in _SERVERS:
        for text in rest:
            yield text if text.endswith(".py") else f"{text.partition(':')[0].replace('.', '/')}.py"
        return
    elif program not in _RUNNERS:
        yield from [first] if "/" in first else []
        yield from _operands(rest) if program in _RUN_OTHERS else ()
        return
    operands = 1
    for at, text in enumerate(rest):
        if text[:1] not in ("-", "+"):
            yield text
            operands -= 1
        elif program in SHELLS and text[:2] != "--":
            operands = 0 if {"c", "n"} & set(text) else operands + text.count("o")  # bash -euo pipefail deploy.sh
        elif program == "python" and text in ("-m", "-c"):
            yield from _of_python(text, rest[at + 1 :])
            return
        elif text in _CHECKS:
            return
        else:
            operands += text in _WITH_WORD
        if not operands:
            return


def _of_python(option: str, rest: Sequence[str]) -> Iterator[str]:
    """Yield the files of the module behind `-m`, and of those that the code behind `-c` imports."""
    name, *others = rest or [""]
    for module in [name] if option == "-m" else _IMPORTED.findall(name):
        yield f"{module.replace('.', '/')}.py"
    if option == "-m" and name.lower() in _RUN_OTHERS:
        yield from _operands(others)


def _operands(texts: Iterable[str]) -> Iterator[str]:
    return (text.partition("::")[0] for text in texts if text[:1] != "-")


_OF_ALL = frozenset("rm rmdir unlink shred mv truncate tee ln chmod".split())
"""Programs that change each file among their operands."""
_OF_LAST = frozenset({"cp", "install", "rsync"})
_IN_PLACE = {"sed": "efl", "perl": "CDEFIMdemx", "ruby": "CEFIKTWerx"}
"""And the letters among their options behind which the rest of the word is a value."""
_BY_GIT = frozenset(
    "apply am checkout cherry-pick clean merge mv pull rebase reset restore revert rm stash switch".split()
)
_NEW_BRANCH = frozenset({"-b", "-B", "--orphan", "list", "show"})
_DRY_RUNS = frozenset({"--dry-run", "--check", "--stat", "--numstat", "--summary", "--show-current-patch"})
_DRY_BY_LETTER = frozenset({"clean", "rm", "mv"})
_WHOLE = "."
_MOST_LOOKED_UP = 5_000  # names, from each folder that a line enters


def files_changed(line: Line, folder: str, root: ProjectRoot) -> list[str]:
    """Return the canonical paths of the files of the project that it names to be changed: by a redirection, `rm`, `mv`,
    `sed -i` and the like; "." for what git brings back without naming it, and for very many. What a program that it
    runs changes is not known here."""
    places = list(dict.fromkeys((folder, *(posixpath.join(folder, one) for one in line.folders))))
    in_place: list[Word] = []
    named = [word for word in line.script.writes if not word.computed]
    found: list[str] = []
    for words in line.commands:
        texts = [word.text for word in words[1:]]
        program = program_of(words[0]) if words else ""
        operands = [word for word in words[1:] if not word.computed and word.text[:1] != "-"]
        if program in _OF_ALL:
            named += operands
        elif program in _OF_LAST:
            named += operands[-1:]
        elif program in _IN_PLACE and any(_is_in_place(text, _IN_PLACE[program]) for text in texts):
            in_place += operands
        elif program == "git" and (restored := _restored(words)):
            named += restored
        elif (program == "patch" and "--dry-run" not in texts) or (
            program == "git" and _brings_back(_verb([word.text for word in words]), texts)
        ):
            found.append(_WHOLE)
    if len(places) * (len(named) + len(in_place)) > _MOST_LOOKED_UP:
        return [*found, _WHOLE]
    named += [word for word in in_place if any(_exists(root, place, word.text) for place in places)]
    for place in places:
        for word in named:
            with suppress(LocalLLMError):  # e.g. outside, or /dev/null
                found.append(root.relative(posixpath.join(place, word.text)))
    return found


def _exists(root: ProjectRoot, folder: str, word: str) -> bool:
    with suppress(LocalLLMError):  # it is the script of sed: /x/d
        return bool(word) and root.exists(posixpath.join(folder, word))
    return False


def _restored(words: Sequence[Word]) -> list[Word]:
    """Return the files that it has git bring back by their names, maybe with that of a branch: `git restore a.py`."""
    texts = [word.text for word in words]
    if texts[1:2] not in (["checkout"], ["restore"]) or any(word.computed for word in words):
        return []
    if _NEW_BRANCH.intersection(texts) or any(text[:1] == "/" or ".." in text for text in texts):
        return []
    if "--" in texts:
        return list(words[texts.index("--") + 1 :])
    return [word for word in words[2:] if word.text[:1] != "-" and word.text != "HEAD"]


def _brings_back(verb: str, texts: Sequence[str]) -> bool:
    """Return whether this command of git, with these words, changes files."""
    is_dry = any(text in _DRY_RUNS for text in texts) and "--apply" not in texts
    is_dry |= verb in _DRY_BY_LETTER and any(text[:1] == "-" != text[1:2] and "n" in text for text in texts)
    return verb in _BY_GIT and not is_dry and not _NEW_BRANCH.intersection(texts)


def _is_in_place(option: str, with_value: str) -> bool:
    """Return whether it is the option by which a file is changed. `with_value`: see `_IN_PLACE`."""
    if option.startswith("--"):
        return option.startswith("--in-place")
    letters = option[1:] if option[:1] == "-" else ""
    return "i" in letters[: min((letters.find(one) for one in with_value if one in letters), default=len(letters))]


def may_be_dry(line: Line, files: Iterable[str]) -> bool:
    """Return whether what it gives one of the files that it runs, as a word behind it or a variable, may ask for a dry
    run."""
    stems = {posixpath.splitext(posixpath.basename(file))[0] for file in files}
    for words in line.commands:
        texts = [word.text for word in words]
        at = next((at for at, text in enumerate(texts) if stems.intersection(re.split(r"[/.]", text))), len(texts))
        variables = [text for text in texts[:at] if "=" in text] if at < len(texts) or texts[:1] == ["export"] else []
        if _DRY.search(" ".join([*texts[at + 1 :], *variables])):
            return True
    return False
