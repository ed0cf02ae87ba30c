"""How to install, run, test, …: the commands that README and its like tell."""

import re
from typing import NamedTuple

from localllm.lookup import vocabulary
from localllm.lookup.answers import place, shorten
from localllm.lookup.calls import Plan, search
from localllm.lookup.conversation import Talk
from localllm.lookup.results import Hit, read_hits
from localllm.lookup.wording import say

_FILES = (
    "{/README*,/CONTRIBUTING*,/INSTALL*,/HACKING*,/Makefile,/package.json,/pyproject.toml,/tox.ini,/docs/*install*"
    ",/docs/*contribut*,/docs/intro*,/docs/index*,/justfile,/Taskfile.yml}"
)
_SHOWN = 6
_LONGEST = 100
_SINGLE = frozenset({"make", "pytest", "tox", "nox", "npm", "yarn"})
_PROSE = re.compile(r"[.:] [A-Z]|\b(?:the|and|you|is)\b|[ぁ-ん]{3}")
_SHELL_MARK = re.compile(r"^(?:\$|>|%|-|\*|\d+\.)\s+")


class _Command(NamedTuple):
    """A command and where it stands; `prose`: the line rather speaks of it."""

    path: str
    line: int
    text: str
    prose: bool = False


def howto(talk: Talk) -> Plan:
    """The commands for what is asked, those of README first."""
    patterns = dict(vocabulary.patterns("howto.txt"))
    ways = [heading.removesuffix(" asked") for heading in patterns if heading.endswith(" asked")]
    what = next(way for way in ways if patterns[f"{way} asked"].search(talk.question))
    commands = [line for heading, line in vocabulary.sections("howto.txt") if heading == f"{what} command"]
    scripts = rf"^(?:{what}|check)[A-Za-z-]*:|^[ \t]+\x22(?:{what}|start|dev)[A-Za-z:-]*\x22[ ]?:"
    (result,) = yield (search("|".join([*commands, scripts]), include=_FILES, ignore_case=True, most=120),)
    found = [told for hit in read_hits(result.text).hits if (told := _command_in(hit, patterns[f"{what} command"]))]
    if not found:
        return say(talk.japanese, "no_how", what=what)
    found.sort(key=lambda told: (told.prose, not told.path.lower().startswith("readme")))
    best = [told for told in found if told.prose == found[0].prose]
    different = list({told.text: told for told in reversed(best)}.values())[::-1][:_SHOWN]
    return "\n".join(
        "- " + say(talk.japanese, "how_command", command=told.text, place=place(told.path, told.line))
        for told in different
    )


def _command_in(hit: Hit, command: re.Pattern[str]) -> _Command | None:
    """The command a line tells: of a Makefile its target, of package.json its script, of a text what is quoted."""
    if hit.path.endswith("Makefile") and (target := re.match(r"([\w-]+):", hit.text)):
        return _Command(hit.path, hit.line, f"make {target[1]}")
    if hit.path.endswith(".json") and (script := re.match(r"\s+\"([\w:-]+)\"\s*:\s*\"(.+?)\",?$", hit.text)):
        return _Command(hit.path, hit.line, f"npm run {script[1]}")
    text = hit.text.strip()
    if text.startswith("#") or not command.search(text):
        return None
    quoted: list[str] = [part for part in re.findall(r"`([^`]+)`", text) if command.search(part)]
    told = quoted[0] if quoted else _SHELL_MARK.sub("", text).strip("`")
    if not quoted and " " not in told and told not in _SINGLE:
        return None
    prose = not quoted and (len(told) > _LONGEST or bool(_PROSE.search(told)))
    return _Command(hit.path, hit.line, shorten(told, _LONGEST), prose)
