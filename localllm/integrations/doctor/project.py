"""Checks of the project: settings, folders, LOCALLLM.md and AGENTS.md."""

import errno
import os
import re
from collections.abc import Collection, Iterator
from itertools import islice
from pathlib import Path
from shlex import quote

from localllm.base.directory_walk import walk
from localllm.base.errors import ConfigurationError, LocalLLMError
from localllm.base.i18n import N_, Phrase, _, ngettext, sentences
from localllm.base.paths import data_folder, project_folder, project_name
from localllm.config.loader import LOOKED_AT, RESERVED_VARIABLES, SERVE_TOKEN, Loaded, left_out_notice
from localllm.config.reader import Layer
from localllm.integrations.doctor.inputs import (
    Finding,
    Surroundings,
    nearest_existing,
    note,
    of_error,
    ok,
    problem,
    warning,
)
from localllm.llm.model_profiles import Profile
from localllm.memory.memory_file import MemoryFile
from localllm.memory.project_memory import ProjectMemory
from localllm.project.instructions import read_instructions
from localllm.safety.paths import ProjectRoot
from localllm.safety.rules import closed_to_reading, still_showing, usable_rules
from localllm.sandbox.environment import survey
from localllm.text.sanitising import clean
from localllm.tools.builtin import all_tools

MANY_FILES = 50_000
"""Number of files from which listings and searches are slow."""

_MEGABYTE = 1_000_000
LEAST_SPACE = 50 * _MEGABYTE
"""In bytes; with less, a session or a backup may not fit."""

GOOD_SPACE = 500 * _MEGABYTE

_CONFLICT = re.compile(
    r"^<{7} (?>(?:(?!<{7} |={7}\s).*+\n)*)={7}[^\S\n]*+\n(?>(?:(?!<{7} |>{7} ).*+\n)*)>{7} ", re.MULTILINE
)
"""The two sides of a conflict as git writes them into a file."""


def memory(here: Surroundings) -> Iterator[Finding]:
    """Check whether the memory file is readable and has no conflict; nothing if there is none yet."""
    name = here.loaded.settings.project.memory_file
    if not ProjectMemory(here.project, name).is_there:
        return
    try:
        text = MemoryFile(here.project, name).read().text
    except LocalLLMError as error:
        yield of_error("memory", error)
        return
    if found := _CONFLICT.search(text):
        line = text.count("\n", 0, found.start()) + 1
        yield warning(
            "memory",
            _(
                "{file} has an unmerged conflict (line {line:,}): both sides are read as if valid.",
                file=name,
                line=line,
            ),
            _(
                "Keep what is right and delete the lines <<<<<<<, ======= and >>>>>>>, then: git add {file}",
                file=quote(name),
            ),
        )
    else:
        yield ok(
            "memory",
            ngettext(
                "{file} can be used ({count:,} byte).",
                "{file} can be used ({count:,} bytes).",
                len(text.encode()),
                file=name,
            ),
        )


def instructions(here: Surroundings, profile: Profile) -> Iterator[Finding]:
    """Find instruction files of which the model with this `profile` reads only a part."""
    root = ProjectRoot(here.project)
    closed = closed_to_reading(here.loaded.settings.safety, root.relative)
    for file in read_instructions(here.project, profile.instructions, here.folder, closed):
        if file.is_cut:
            told = {"file": clean(file.path, keep_newlines=False), "count": file.size, "kept": len(file.text)}
            key = (
                N_(
                    "The model reads the first {kept:,} of {count:,} character in {file}.",
                    "The model reads the first {kept:,} of {count:,} characters in {file}.",
                )
                if file.text
                else N_(
                    "{file} ({count:,} character) is not shown to the model: there is no room left for it.",
                    "{file} ({count:,} characters) is not shown to the model: there is no room left for it.",
                )
            )
            yield warning(
                "instructions",
                _(key, **told),
                ngettext(
                    "Shorten it: this model is shown {most:,} character of such files in all.",
                    "Shorten it: this model is shown {most:,} characters of such files in all.",
                    profile.instructions,
                    most=profile.instructions,
                ),
            )


def settings(here: Surroundings) -> Iterator[Finding]:
    """Check files, faults in them, variables that name no setting, and what awaits trust."""
    if here.fault is not None:
        yield of_error("settings", here.fault)
        return
    for remark in here.loaded.remarks:
        yield warning("settings", str(remark), _("Correct the variable's name, or unset it."))
    loaded, safety = here.loaded, here.loaded.settings.safety
    ignored, faulty = loaded.left_out, set[Layer]()
    try:
        safety, faulty_rules = usable_rules(safety, loaded.unchecked, all_tools(), here.project)
        ignored = (*ignored, *faulty_rules)
    except ConfigurationError as error:
        yield of_error("settings", error)
        setting = error.params.get("setting", "safety.rules")
        faulty |= {origin.layer for key, origin in loaded.origins.items() if key == setting}
    for error in ignored:
        faulty.add("project")
        yield warning(
            "settings",
            left_out_notice(error),
            _("Correct localllm.toml; once it is trusted, this keeps the program from starting."),
        )
    yield from _sound_files(loaded, faulty)
    if here.loaded.withheld:
        keys = ", ".join(here.loaded.withheld)
        yield note(
            "trust",
            _("The project's localllm.toml has settings that are not used until you trust it: {keys}.", keys=keys),
            _("Read the file; to trust it: localllm config trust"),
        )
    if unsent := here.loaded.unsent_keys(here.environ):
        yield note(
            "trust",
            _(
                "{variables} is not sent: the project's localllm.toml, which you have not trusted, chooses "
                "the server. To trust it: localllm config trust",
                variables=", ".join(unsent),
            ),
            _("Read the file; to trust it: localllm config trust"),
        )
    if showing := ", ".join(still_showing(safety)):
        yield warning(
            "rules",
            _("safety.deny disables the tool read_file, but {tools} still show what files hold.", tools=showing),
            _(
                "Name what to block: read_file(secrets/) blocks it for every tool and for commands, "
                "read_file(.) all files."
            ),
        )


def _sound_files(loaded: Loaded, faulty: Collection[Layer]) -> Iterator[Finding]:
    """Name the files that were read, without the `faulty` ones, of which a problem or a warning tells."""
    if files := ", ".join(str(file) for layer, file in loaded.files.items() if layer not in faulty):
        yield ok("settings", _("Settings are read from {files}.", files=files))
    elif not (loaded.files or faulty):
        yield ok("settings", _("No settings file: everything is at its default (localllm init creates one)."))


def folders_moved(here: Surroundings) -> Iterator[Finding]:
    """Report variables that move our folders, or name servers, as they are easily forgotten."""
    moved = [name for name in sorted(RESERVED_VARIABLES - {SERVE_TOKEN, LOOKED_AT}) if here.environ.get(name)]
    if moved:
        yield note("settings", _("Folders are set by {variables}.", variables=", ".join(moved)))
    if here.environ.get(LOOKED_AT):
        yield note(
            "settings", _("Model servers are also looked for at the addresses in {variable}.", variable=LOOKED_AT)
        )


def writable(here: Surroundings) -> Iterator[Finding]:
    """Check whether data can be saved."""
    kept = project_folder(here.project)
    if os.path.lexists(kept) and (kept.is_symlink() or not kept.is_dir()):
        reason = Phrase("It is a symbolic link") if kept.is_symlink() else os.strerror(errno.ENOTDIR)
        yield _unkept(here, kept, reason, _("Move {folder} away.", folder=kept))
    elif fault := _fault(here, here.project):
        full = fault == os.strerror(errno.ENOSPC)
        what = _("The project {folder} is not writable: {reason}.", folder=here.project, reason=fault)
        fix = _fix(fault, here.project)
        yield problem("folder", what, fix) if full else warning("folder", what, sentences(fix, _where(here)))
    elif fault := _fault(here, kept):
        yield _unkept(here, kept, fault, _fix(fault, kept))
    else:
        yield ok("folder", _("{folder} is writable.", folder=here.project))
    if fault := _fault(here, here.state):
        what = _("Nothing can be saved in {folder}: {reason}.", folder=here.state, reason=fault)
        yield problem(
            "folder", what, _("Make the folder writable, or name another in {variable}.", variable="LOCALLLM_STATE_DIR")
        )
    if fault := _fault(here, here.config):
        what = _("Your own settings cannot be written in {folder}: {reason}.", folder=here.config, reason=fault)
        yield warning(
            "folder",
            what,
            _("Make the folder writable, or name another in {variable}.", variable="LOCALLLM_CONFIG_DIR"),
        )


def _unkept(here: Surroundings, folder: Path, reason: object, fix: str) -> Finding:
    """Build the finding that only our own data cannot be saved in the project."""
    return warning(
        "folder",
        _("Long output cannot be kept in {folder}: {reason}.", folder=folder, reason=reason),
        sentences(fix, _where(here)),
    )


def _where(here: Surroundings) -> str:
    """Return where sessions are saved while the project cannot hold them; "" if nowhere."""
    if _fault(here, here.state):
        return ""
    return _(
        "Until then questions are still answered, and long output is kept in {folder}.",
        folder=here.state / "projects" / project_name(here.project),
    )


def _fault(here: Surroundings, folder: Path) -> str:
    """Return why no file can be created in `folder`, or its nearest existing parent; "" if one can."""
    try:
        here.try_to_write(nearest_existing(folder))
    except OSError as error:
        return os.strerror(error.errno or errno.EIO)
    return ""


def _fix(fault: str, folder: Path) -> str:
    if fault == os.strerror(errno.ENOSPC):
        return _(
            "Free some space: du -xh -d1 / | sort -h shows where it went; models (~/.ollama, "
            "~/.lmstudio, ~/.cache) are often the largest."
        )
    if fault == os.strerror(errno.EROFS):
        return _(
            "The file system is mounted read-only: remount it with rw, or work in a copy of the project elsewhere."
        )
    return _(
        "Take ownership of {folder} (ls -ld shows its owner), or work in a copy of the project elsewhere.",
        folder=nearest_existing(folder),
    )


def space(here: Surroundings) -> Iterator[Finding]:
    """Check the free space on the file systems of the project, of our state, and of reports."""
    places = map(nearest_existing, (data_folder(here.environ), here.state, here.project))
    folders = {folder.stat().st_dev: folder for folder in places}
    for folder in folders.values():
        free = here.free_space(folder)
        room = {"folder": folder, "megabytes": free // _MEGABYTE}
        if free < LEAST_SPACE:
            yield problem(
                "space",
                _("The disk is full: {megabytes} MB are free at {folder}.", **room),
                _(
                    "Free some space: du -xh -d1 / | sort -h shows where it went; models (~/.ollama, "
                    "~/.lmstudio, ~/.cache) are often the largest."
                ),
            )
        elif free < GOOD_SPACE:
            yield warning(
                "space",
                _("Only {megabytes} MB are free at {folder}.", **room),
                _(
                    "Free some space: du -xh -d1 / | sort -h shows where it went; models (~/.ollama, "
                    "~/.lmstudio, ~/.cache) are often the largest."
                ),
            )
        else:
            yield ok("space", _("{gigabytes:.1f} GB are free at {folder}.", folder=folder, gigabytes=free / 1e9))


def size(here: Surroundings, most: int = MANY_FILES) -> Iterator[Finding]:
    """Check the size of the project; with more than `most` files it is reported."""
    if survey(here.environ, ()).is_too_wide(here.project):
        yield warning(
            "project",
            _(
                "{folder} holds your home folder or all temporary files: no command is run, and all would be searched.",
                folder=here.project,
            ),
            _("Start localllm in the folder of a project."),
        )
        return
    entries = walk(here.project, exclude=here.loaded.settings.project.exclude_patterns)
    count = sum(1 for _unused in islice((entry for entry in entries if not entry.is_dir), most + 1))
    if count > most:
        yield note(
            "project",
            _("The project has more than {count:,} files: listings and searches take longer.", count=most),
            _("Exclude what need not be read: .gitignore, or localllm config set project.exclude_patterns …"),
        )
    else:
        yield ok(
            "project",
            ngettext("{count:,} file in {folder}.", "{count:,} files in {folder}.", count, folder=here.project),
        )
