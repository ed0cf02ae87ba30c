"""Checks of the project: settings, folders, LOCALLLM.md and AGENTS.md."""

import errno
import os
import re
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from localllm.base.directory_walk import walk
from localllm.base.errors import LocalLLMError
from localllm.base.i18n import Phrase, tr
from localllm.base.paths import project_folder, project_name
from localllm.config.loader import RESERVED_VARIABLES, left_out_notice
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
from localllm.llm.model_features import Profile
from localllm.memory.memory_file import MemoryFile
from localllm.memory.project_memory import ProjectMemory
from localllm.project.instructions import read_instructions
from localllm.safety.paths import ProjectRoot
from localllm.safety.rules import closed_to_reading, still_showing, usable_rules
from localllm.sandbox.environment import survey
from localllm.text.sanitising import clean
from localllm.tools.builtin import all_tools

_CONFLICT = re.compile(r"^<{7} (?:(?!<{7} |={7}\s).*+\n)*+={7}[^\S\n]*+\n(?:(?!<{7} |>{7} ).*+\n)*+>{7} ", re.MULTILINE)
"""The two sides of a conflict, as git leaves them in a file."""


def memory(here: Surroundings) -> Iterator[Finding]:
    """Whether what is remembered can be read, and is one text; nothing where there is none yet."""
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
            "memory", tr("doctor.memory_conflict", file=name, line=line), tr("doctor.memory_conflict_fix", file=name)
        )
    else:
        yield ok("memory", tr("doctor.memory", file=name, count=len(text.encode())))


def instructions(here: Surroundings, profile: Profile) -> Iterator[Finding]:
    """Files of instructions of which a model that is asked by `profile` reads only a part."""
    root = ProjectRoot(here.project)
    closed = closed_to_reading(here.loaded.settings.safety, root.relative)
    for file in read_instructions(here.project, profile.instructions, here.folder, closed):
        if file.is_cut:
            told = {"file": clean(file.path, keep_newlines=False), "count": file.size, "kept": len(file.text)}
            key = "doctor.instructions_cut" if file.text else "doctor.instructions_left_out"
            yield warning("instructions", tr(key, **told), tr("doctor.instructions_fix", most=profile.instructions))


def settings(here: Surroundings) -> Iterator[Finding]:
    """Files, faults in them, variables that name no setting, and what waits for trust."""
    if here.fault is not None:
        yield of_error("settings", here.fault)
        return
    files = ", ".join(str(file) for file in here.loaded.files.values())
    yield ok("settings", tr("doctor.settings_files", files=files) if files else tr("doctor.settings_none"))
    for remark in here.loaded.remarks:
        yield warning("settings", str(remark), tr("doctor.settings_variable_fix"))
    safety, faulty_rules = usable_rules(here.loaded.settings.safety, here.loaded.unchecked, all_tools())
    for error in (*here.loaded.left_out, *faulty_rules):
        yield warning("settings", left_out_notice(error), tr("doctor.left_out_fix"))
    if here.loaded.withheld:
        keys = ", ".join(here.loaded.withheld)
        yield note("trust", tr("doctor.withheld", keys=keys), tr("doctor.withheld_fix"))
    if unsent := here.loaded.unsent_keys(here.environ):
        yield note("trust", tr("start.keyless", variables=", ".join(unsent)), tr("doctor.withheld_fix"))
    if showing := ", ".join(still_showing(safety)):
        yield warning("rules", tr("doctor.only_read_file", tools=showing), tr("doctor.only_read_file_fix"))


def folders_moved(here: Surroundings) -> Iterator[Finding]:
    """Variables that put our folders elsewhere: easily forgotten."""
    moved = [name for name in sorted(RESERVED_VARIABLES) if here.environ.get(name)]
    if moved:
        yield note("settings", tr("doctor.folders_moved", variables=", ".join(moved)))


MANY_FILES = 50_000
"""Files from which on listings and searches take seconds."""

_MEGABYTE = 1_000_000
LEAST_SPACE = 50 * _MEGABYTE
"""Bytes; with less, a session or a backup may not fit."""

GOOD_SPACE = 500 * _MEGABYTE


def writable(here: Surroundings) -> Iterator[Finding]:
    """Whether what must be kept can be kept."""
    kept = project_folder(here.project)
    if os.path.lexists(kept) and (kept.is_symlink() or not kept.is_dir()):
        reason = Phrase("paths.link") if kept.is_symlink() else os.strerror(errno.ENOTDIR)
        yield _unkept(here, kept, reason, tr("doctor.in_the_way_fix", folder=kept))
    elif fault := _fault(here, here.project):
        full = fault == os.strerror(errno.ENOSPC)
        what = tr("doctor.project_read_only", folder=here.project, reason=fault)
        fix = _fix(fault, here.project)
        yield problem("folder", what, fix) if full else warning("folder", what, f"{fix} {_where(here)}".rstrip())
    elif fault := _fault(here, kept):
        yield _unkept(here, kept, fault, _fix(fault, kept))
    else:
        yield ok("folder", tr("doctor.project_writable", folder=here.project))
    if fault := _fault(here, here.state):
        what = tr("doctor.state_read_only", folder=here.state, reason=fault)
        yield problem("folder", what, tr("doctor.folder_fix", variable="LOCALLLM_STATE_DIR"))
    if fault := _fault(here, here.config):
        what = tr("doctor.config_read_only", folder=here.config, reason=fault)
        yield warning("folder", what, tr("doctor.folder_fix", variable="LOCALLLM_CONFIG_DIR"))


def _unkept(here: Surroundings, folder: Path, reason: object, fix: str) -> Finding:
    """Only what is ours cannot be kept in the project."""
    return warning("folder", tr("doctor.not_kept", folder=folder, reason=reason), f"{fix} {_where(here)}".rstrip())


def _where(here: Surroundings) -> str:
    """Where sessions are kept as long as the project cannot hold them; "" where nothing can."""
    if _fault(here, here.state):
        return ""
    return tr("doctor.kept_in_state", folder=here.state / "projects" / project_name(here.project))


def _fault(here: Surroundings, folder: Path) -> str:
    """Why no file can be made in `folder`, or where it would be made; empty where one can."""
    try:
        here.try_to_write(nearest_existing(folder))
    except OSError as error:
        return os.strerror(error.errno or errno.EIO)
    return ""


def _fix(fault: str, folder: Path) -> str:
    if fault == os.strerror(errno.ENOSPC):
        return tr("doctor.space_fix")
    if fault == os.strerror(errno.EROFS):
        return tr("doctor.read_only_fix")
    return tr("doctor.permission_fix", folder=nearest_existing(folder))


def space(here: Surroundings) -> Iterator[Finding]:
    """Room on the file systems of the project and of what we remember."""
    folders = {
        nearest_existing(folder).stat().st_dev: nearest_existing(folder) for folder in (here.state, here.project)
    }
    for folder in folders.values():
        free = here.free_space(folder)
        room = {"folder": folder, "megabytes": free // _MEGABYTE}
        if free < LEAST_SPACE:
            yield problem("space", tr("doctor.no_space", **room), tr("doctor.space_fix"))
        elif free < GOOD_SPACE:
            yield warning("space", tr("doctor.little_space", **room), tr("doctor.space_fix"))
        else:
            yield ok("space", tr("doctor.space", folder=folder, gigabytes=free / 1e9))


def size(here: Surroundings, most: int = MANY_FILES) -> Iterator[Finding]:
    """How much there is to look through; with more than `most` files it says so."""
    if any(home.is_relative_to(here.project) for home in survey(here.environ, ()).homes):
        yield warning("project", tr("doctor.no_project", folder=here.project), tr("doctor.start_in_project"))
        return
    entries = walk(here.project, exclude=here.loaded.settings.project.exclude_patterns)
    count = sum(1 for _ in islice((entry for entry in entries if not entry.is_dir), most + 1))
    if count > most:
        yield note("project", tr("doctor.many_files", count=most), tr("doctor.many_files_fix"))
    else:
        yield ok("project", tr("doctor.files", count=count, folder=here.project))
