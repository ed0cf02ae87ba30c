"""What is told of the project: can LOCALLLM.md be used, and does AGENTS.md reach the model whole?"""

import re
from collections.abc import Iterator

from localllm.base.errors import LocalLLMError
from localllm.base.i18n import tr
from localllm.core.project.instructions import read_instructions
from localllm.integrations.doctor.finding import Finding, of_error, ok, warning
from localllm.integrations.doctor.surroundings import Surroundings
from localllm.llm.profiles import Profile
from localllm.memory.memory_file import MemoryFile
from localllm.memory.project_memory import ProjectMemory
from localllm.text.cleaning import clean

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
            "memory", tr("doctor.memory_conflict", file=name, line=line), tr("doctor.memory_conflict_mend", file=name)
        )
    else:
        yield ok("memory", tr("doctor.memory", file=name, count=len(text.encode())))


def instructions(here: Surroundings, profile: Profile) -> Iterator[Finding]:
    """Files of instructions of which a model that is asked by `profile` reads only a part."""
    for file in read_instructions(here.project, profile.instructions, here.folder):
        if file.is_cut:
            told = {"file": clean(file.path, keep_newlines=False), "size": file.size, "kept": len(file.text)}
            key = "doctor.instructions_cut" if file.text else "doctor.instructions_left_out"
            yield warning("instructions", tr(key, **told), tr("doctor.instructions_mend", most=profile.instructions))
