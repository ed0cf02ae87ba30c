"""`/init`: write the project's notes and settings."""

import errno
import os
import secrets
import stat
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import groupby
from pathlib import Path
from typing import Literal, NamedTuple

import msgspec

from localllm.base import i18n
from localllm.base.errors import ConfigurationError, LocalLLMError, SafetyViolationError
from localllm.base.file_lock import FOLDER_PATIENCE, FileLock
from localllm.base.files import atomic_write_at, open_made
from localllm.base.i18n import Phrase, _, sentences
from localllm.base.paths import SETTINGS_FILE, ensure_project_folder, find_storage, project_folder
from localllm.config.editor import write_value
from localllm.config.keys import all_settings
from localllm.config.schema import ProjectSettings
from localllm.memory.document import Document
from localllm.memory.document_texts import Language, in_language
from localllm.memory.memory_file import NAME, MemoryFile
from localllm.memory.project_description import Described, Lines, describe, keep_lines, known_lines, missing
from localllm.memory.section_kinds import SectionKind, heading
from localllm.project.analyzer import analyze_project
from localllm.project.facts import ProjectAnalysis
from localllm.project.report import passed_over, to_sections
from localllm.text.wrapping import wrap

ANALYSIS_SECONDS = 5.0
"""Time limit of an analysis the user waits for."""

Analyse = Callable[[Path], ProjectAnalysis]
"""Analyses the project in a folder. Raises OSError."""


class ProjectNotes(NamedTuple):
    """The text of the file, notes on what the analysis skipped, and the generated lines in it."""

    text: str
    remarks: tuple[str, ...] = ()
    lines: Lines = {}  # noqa: RUF012 - read only


class Notes(NamedTuple):
    """The changes to an existing file: the names of the sections, and messages about it."""

    added: tuple[str, ...] = ()
    refreshed: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()


def analysed(folder: Path, seconds: float = ANALYSIS_SECONDS, exclude: Sequence[str] | None = None) -> ProjectAnalysis:
    """Analyse the project in `folder`, using the cache. `exclude`: as project.exclude_patterns, None for the default.
    Raises OSError. Must not be called in an event loop."""
    left_out = ProjectSettings().exclude_patterns if exclude is None else exclude
    return analyze_project(folder, left_out, cache=find_storage(folder).cache_file("analysis.msgpack"), seconds=seconds)


def project_notes(folder: Path, analyse: Analyse = analysed) -> ProjectNotes:
    """Generate LOCALLLM.md for `folder` in the current language. Raises OSError."""
    language: Language = "ja" if i18n.language() == "ja" else "en"
    analysis = analyse(folder)
    lines = to_sections(analysis, language)
    sections: dict[SectionKind, tuple[str, ...]] = {**lines, "todo": (in_language("todo_hint", language),)}
    parts = ["\n".join((f"## {heading(kind, language)}", "", *some, "")) for kind, some in sections.items()]
    text = f"# {in_language('title', language)}\n\n" + "\n".join(parts)
    return ProjectNotes(text, passed_over(analysis.passed_over, language), lines)


def remember_lines(folder: Path, lines: Lines) -> None:
    """Store which lines of the memory file are generated."""
    keep_lines(_lines_file(folder), lines)


def lacks_notes(folder: Path, name: str = NAME) -> bool:
    """Whether `add_notes`, or creating the file, needs an analysis."""
    try:
        return bool(missing(MemoryFile(folder, name).read()))
    except LocalLLMError:
        return False


def add_notes(folder: Path, name: str = NAME, *, refresh: bool = False, analyse: Analyse = analysed) -> Notes:
    """Add missing sections of an analysis to the project's existing memory file; with `refresh` also update generated
    lines that were not edited.

    An unusable file is left alone, with a message. Raises OSError.
    """
    file, path = MemoryFile(folder, name), _lines_file(folder)
    try:
        document = file.read()
        if not refresh and not missing(document):
            return Notes()
        analysis, language = analyse(folder), document.language
        lines, known = to_sections(analysis, language), known_lines(path)
        drop = not {note.reason for note in analysis.passed_over} & {"files", "seconds", "unread"}
        done = file.edit(lambda document: describe(document, lines, known, refresh=refresh, drop=drop))
    except LocalLLMError as error:
        return Notes(remarks=(sentences(error.what, error.why),))
    touched: Lines = {kind: some for kind, some in lines.items() if kind in (*done.added, *done.refreshed)}
    keep_lines(path, touched, without=done.dropped)
    return _told(done, file.read(), passed_over(analysis.passed_over, _spoken()))


def _told(done: Described, document: Document, remarks: tuple[str, ...]) -> Notes:
    if done.foreign:
        remarks = (
            *remarks,
            _(
                "Left unchanged, because none of its lines are known to be written by init: {names}. To "
                "have a section rewritten, remove it and run init again.",
                names=_comma().join(_titles(done.foreign, document)),
            ),
        )
    return Notes(_titles(done.added, document), _titles(done.refreshed, document), remarks)


def _titles(kinds: tuple[SectionKind, ...], document: Document) -> tuple[str, ...]:
    return tuple(heading(kind, document.language) for kind in kinds)


def _spoken() -> Language:
    return "ja" if i18n.language() == "ja" else "en"


def _comma() -> str:
    return "、" if _spoken() == "ja" else ", "


def _lines_file(folder: Path) -> Path:
    return project_folder(folder) / "init.json"


_WIDTH = 96

_KEYS: dict[str, Phrase] = {
    "llm.provider": Phrase(
        "Model provider: auto (the first server found), lmstudio, ollama, openai, azure, gemini, gguf, "
        "embedded, scripted."
    ),
    "llm.model": Phrase("The model's name; empty uses the first one available."),
    "llm.context_window": Phrase("Context window in tokens; 0 asks the server."),
    "llm.max_tokens": Phrase("Longest answer, in tokens; 0 leaves it to the server."),
    "llm.temperature": Phrase("Sampling temperature; 0 is the most predictable."),
    "llm.lmstudio.base_url": Phrase("Address of that server."),
    "llm.ollama.base_url": Phrase("Address of that server."),
    "llm.openai.base_url": Phrase(
        "Any OpenAI-compatible server: llama.cpp, vLLM, … One on another machine is better set in your\n"
        "own file: localllm config set --user llm.openai.base_url URL"
    ),
    "llm.azure.endpoint": Phrase("https://NAME.openai.azure.com; its key comes from AZURE_OPENAI_API_KEY."),
    "llm.azure.deployment_name": Phrase("The model's name there; empty uses llm.model."),
    "llm.gemini.base_url": Phrase("Address of Gemini; its key comes from GEMINI_API_KEY."),
    "agent.max_iterations": Phrase("Maximum number of model calls per request."),
    "safety.require_confirmation": Phrase("Ask before anything changes files or runs commands."),
    "safety.auto_backup": Phrase("Keep the earlier version of every file a tool changes, for /undo."),
    "safety.dangerous_commands": Phrase(
        "More commands that always need confirmation, besides rm -rf, format x:, del /s, sudo and chmod 777."
    ),
    "safety.deny": Phrase('Tool calls to refuse, such as ["edit_file(migrations/)", "run_command(git push)"].'),
    "project.include_patterns": Phrase("Files that a listing of the project prefers; empty means all."),
    "project.exclude_patterns": Phrase("Never listed or searched, in addition to what .gitignore lists."),
    "project.memory_file": Phrase("The project's memory: TODOs, decisions, preferences, session records."),
    "ui.language": Phrase("auto, en or ja."),
}


def settings_template() -> str:
    """Return the settings file's template in the current language. It sets nothing: each key shows its default."""
    lines = [
        *_comment(
            Phrase(
                "Settings of this project. Each line shows a default: remove the # to change it, or let\n"
                "“localllm config set KEY VALUE” add it. “localllm config show” lists all settings.\n"
                "API keys do not belong here; they come from the environment (OPENAI_API_KEY, …)."
            )
        )
    ]
    for table, keys in groupby(_KEYS, key=lambda key: key.rpartition(".")[0]):
        lines += ["", f"[{table}]"]
        for key in keys:
            lines += _comment(_KEYS[key])
            lines.append(f"# {key.rpartition('.')[2]} = {write_value(all_settings()[key].default)}")
    lines += ["", "[commands.aliases]", *_comment(Phrase("Your own commands: /review then stands for this request."))]
    lines.append(
        f"# review = {write_value(str(Phrase('Review the uncommitted changes; list problems with file:line.')))}"
    )
    return "\n".join(lines) + "\n"


def _comment(phrase: Phrase) -> Iterator[str]:
    return (f"# {line}" for line in wrap(str(phrase), _WIDTH))


_TEMPLATES = Path(__file__).with_name("templates")


class Step(msgspec.Struct, frozen=True):
    """The result for one entry of the folder: made; kept, because it existed; a link, which is left alone; moved, to
    `to`; or `parts` of it added or refreshed. `remarks`: messages about a created file."""

    path: Path
    done: Literal["made", "kept", "link", "moved", "added", "refreshed"]
    to: Path | None = None
    parts: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()


class _Plan(msgspec.Struct, frozen=True):
    """A file to create, and its content; `for_others`: readable by others than the user."""

    name: str
    text: Callable[[Path], str | ProjectNotes]
    for_others: bool = False


_SERVICES = (
    _Plan("compose.yaml", lambda _: _template("compose.yaml")),
    _Plan("searxng/.gitignore", lambda _: "settings.yml\n"),  # it contains a key
    _Plan("searxng/settings.yml", lambda _: _searxng_settings(), for_others=True),  # the container's user
    _Plan("searxng/limiter.toml", lambda _: _template("searxng-limiter.toml"), for_others=True),
)


def present(folder: Path, notes: str = NAME) -> list[Path]:
    """List what `set_up` with `stamp` would move aside."""
    paths = (folder / SETTINGS_FILE, folder / notes, project_folder(folder))
    return [path for path in paths if os.path.lexists(path)]


def set_up(
    folder: Path,
    *,
    notes: str = NAME,
    services: bool = False,
    stamp: str = "",
    refresh: bool = False,
    analyse: Analyse = analysed,
) -> list[Step]:
    """Create missing project files in `folder`, which is created if needed; with `services` also those for SearxNG and
    Valkey. With a `stamp`, existing project files are first renamed to NAME.old-STAMP. `notes` is the configured memory
    file: an existing one gets missing sections of the analysis; with `refresh` its generated lines are updated.

    Raises SafetyViolationError path_outside for `notes`; ConfigurationError for an unwritable folder, or an entry of
    the wrong type. After a failure half-way, renamed files without a replacement get their names back; the others are
    named in the error.
    """
    with _explained(folder):
        if os.path.lexists(folder) and not folder.is_dir():
            raise NotADirectoryError(errno.ENOTDIR, "")
        folder.mkdir(parents=True, exist_ok=True)
        with FileLock(folder, FOLDER_PATIENCE):
            plans = (*_project(folder, notes, analyse), *(_SERVICES if services else ()))
            moved: list[Step] = []
            try:
                if stamp:
                    # One by one, to keep those before a failure.
                    moved.extend(move_aside(path, stamp) for path in present(folder, notes))
                steps = [*moved, *_make_all(folder, plans)]
            except (OSError, ConfigurationError) as error:
                raise _unfinished(folder, error, _bring_back(moved)) from error
            except BaseException:
                _bring_back(moved)
                raise
        # Only now: the memory file's own lock may be the one of this folder.
        return [after for step in steps for after in _with_notes(folder, notes, step, refresh, analyse)]


def _project(folder: Path, notes: str, analyse: Analyse) -> tuple[_Plan, ...]:
    inside = os.path.normpath(notes)
    if os.path.isabs(inside) or inside.startswith("..") or inside == ".":  # noqa: PTH117 - of a text
        raise SafetyViolationError("path_outside", path=notes, root=folder)
    if not (folder / inside).parent.resolve().is_relative_to(folder.resolve()):  # a link on the path
        raise SafetyViolationError("path_outside", path=notes, root=folder)
    return _Plan(SETTINGS_FILE, lambda _: settings_template()), _Plan(inside, lambda it: project_notes(it, analyse))


def _with_notes(folder: Path, notes: str, step: Step, refresh: bool, analyse: Analyse) -> list[Step]:
    """Return the steps, including changes to an existing memory file."""
    if step.done != "kept" or step.path != folder / os.path.normpath(notes):
        return [step]
    found = add_notes(folder, notes, refresh=refresh, analyse=analyse)
    parts: tuple[tuple[Literal["added", "refreshed"], tuple[str, ...]], ...] = (
        ("added", found.added),
        ("refreshed", found.refreshed),
    )
    changed = [Step(step.path, done, parts=names) for done, names in parts if names] or [step]
    return [*changed[:-1], msgspec.structs.replace(changed[-1], remarks=found.remarks)]


def _make_all(folder: Path, plans: Sequence[_Plan]) -> Iterator[Step]:
    yield _make_project_folder(folder)
    for plan in plans:
        yield _make(folder, plan)


def _make_project_folder(folder: Path) -> Step:
    """Create the folder of sessions, the one entry that must not be a link, because the program writes to it."""
    there = os.path.lexists(project_folder(folder))
    return Step(ensure_project_folder(folder), "kept" if there else "made")


def _make(folder: Path, plan: _Plan) -> Step:
    path = folder / plan.name
    if path.parent.is_symlink() and path.parent != folder:
        raise _unusable(path.parent, Phrase("It is a symbolic link"))
    if os.path.lexists(path.parent) and not path.parent.is_dir():
        raise _in_the_way(path.parent)
    try:
        mode = path.lstat().st_mode
    except FileNotFoundError:
        made = plan.text(folder)
        notes = made if isinstance(made, ProjectNotes) else ProjectNotes(made)
        data = notes.text.encode("utf-8", "replace")  # a file name may be undecodable
        _create(folder, path, data, mode=0o644 if plan.for_others else None)
        if notes.lines:
            remember_lines(folder, notes.lines)
        return Step(path, "made", remarks=notes.remarks)
    if stat.S_ISLNK(mode):
        return Step(path, "link")
    if not stat.S_ISREG(mode):
        raise _in_the_way(path)
    return Step(path, "kept")


def _create(folder: Path, path: Path, data: bytes, *, mode: int | None = None) -> None:
    """Create a file below `folder`, with its parent folders. Raises FileExistsError if one exists, even as a link. With
    a `mode`, access of others is independent of the umask."""
    root = folder.resolve()
    parent = open_made(root, str(path.parent.resolve().relative_to(root)))
    try:
        atomic_write_at(parent, path.name, data, mode=mode, create_only=True)
        if mode is not None:
            os.fchmod(parent, 0o755)  # not by name, which may be a link by now
    finally:
        os.close(parent)


def _template(name: str) -> str:
    return (_TEMPLATES / name).read_text(encoding="utf-8")


def _searxng_settings() -> str:
    return _template("searxng-settings.yml").replace("@SECRET_KEY@", secrets.token_hex(32))


# --- moving aside


def move_aside(path: Path, stamp: str) -> Step:
    """Rename an entry (a link itself) to an unused name."""
    wanted = path.with_name(f"{path.name}.old-{stamp}")
    target, number = wanted, 1
    while os.path.lexists(target):
        number += 1
        target = wanted.with_name(f"{wanted.name}-{number}")
    path.rename(target)
    return Step(path, "moved", target)


def _bring_back(moved: Sequence[Step]) -> list[Step]:
    """Restore the old names of entries without a replacement; return those that keep a new name."""
    for step in moved:
        if step.to is not None and (not os.path.lexists(step.path) or _is_folder(step.to)):
            with suppress(OSError):  # a folder can only replace an empty one or nothing
                step.to.rename(step.path)
    return [step for step in moved if step.to is not None and os.path.lexists(step.to)]


def _is_folder(path: Path) -> bool:
    return path.is_dir() and not path.is_symlink()


# --- errors


@contextmanager
def _explained(folder: Path) -> Generator[None]:
    try:
        yield
    except TimeoutError as error:
        raise _unusable(folder, Phrase("Another program has its folder locked")) from error
    except OSError as error:
        raise _unusable(folder, os.strerror(error.errno or errno.EIO)) from error


def _unusable(folder: Path, reason: object) -> ConfigurationError:
    return ConfigurationError("workspace_unusable", folder=folder, reason=reason)


def _in_the_way(path: Path) -> ConfigurationError:
    return ConfigurationError("workspace_in_the_way", path=path)


def _unfinished(folder: Path, error: OSError | ConfigurationError, still_moved: Sequence[Step]) -> ConfigurationError:
    """Return the error, extended by the entries that keep a new name."""
    if isinstance(error, OSError):
        error = _unusable(folder, os.strerror(error.errno or errno.EIO))
    if not still_moved:
        return error
    places = ", ".join(f"{step.path.name} → {step.to and step.to.name}" for step in still_moved)
    reason = sentences(error.what, error.why).rstrip(" .。")
    return ConfigurationError("workspace_unfinished", folder=folder, reason=reason, places=places)
