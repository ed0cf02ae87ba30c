"""What the messages of a request say: the question, what came with it, what came before, and the results so far."""

import re
from collections.abc import Sequence

import msgspec

from localllm.llm.messages import (
    AssistantMessage,
    CompletionRequest,
    Message,
    ToolMessage,
    UserMessage,
    canonical,
    is_summed_up,
    newest_request,
    without_framed,
)
from localllm.lookup.calls import NOT_OFFERED, Call, Result
from localllm.lookup.notes import Notes, read_notes
from localllm.lookup.results import error_key
from localllm.lookup.words import japanese_in, split_identifier, stem

_SITUATION = re.compile(r"\n*\[Project (?P<name>.+?), \d{4}-\d\d-\d\d\. Top level: (?P<top>.*)\]\s*$", re.DOTALL)
_NOTES = re.compile(r"(?:\n\n\[Plan mode[^\[\]\n]*\])+\s*\Z")
_FILE = re.compile(r'<file path="(?P<path>[^"\n]*)">\n(?P<text>.*?)\n</file>', re.DOTALL)
_PIPED = re.compile(r"<stdin>\n(?P<text>.*?)\n</stdin>", re.DOTALL)
_MORE_NAMES = re.compile(r"… \(\d+ in all\)$")
_LONGEST_QUESTION = 1_500


class Attached(msgspec.Struct, frozen=True):
    """A file whose content came with the question."""

    path: str
    text: str


class Project(msgspec.Struct, frozen=True):
    """What is known of the project without a call: its folder's name and what is at its top, folders with a `/`."""

    name: str = ""
    top: tuple[str, ...] = ()
    told: bool = False

    @property
    def name_stems(self) -> frozenset[str]:
        """The stems of its name, which say nothing in a question about it; nor does the name of a package in it."""
        names = [self.name, *(item[:-1] for item in self.top if item.endswith("/") and _same(item[:-1], self.name))]
        return frozenset(stem(word) for name in names for word in (*split_identifier(name), name.lower()))


class Talk(msgspec.Struct, frozen=True, kw_only=True):
    """All that decides the next step. `pasted` is text that is not the question itself: piped in or pasted with it.

    `earlier` is the answer before this question, "" where there is none; `steps`, how often tools were called for this
    question.
    """

    question: str
    attached: tuple[Attached, ...] = ()
    pasted: str = ""
    project: Project = Project()
    notes: Notes = Notes()
    earlier: str = ""
    earlier_question: str = ""
    results: dict[Call, Result] = {}
    offered: frozenset[str] = frozenset()
    steps: int = 0

    @property
    def japanese(self) -> bool:
        """Whether the question is in Japanese, and so the answer."""
        return japanese_in(self.question)

    def result(self, call: Call) -> Result | None:
        """What `call` gave; None where it is still to be made."""
        if call.name not in self.offered:
            return Result("", NOT_OFFERED)
        return self.results.get(call)


def read_talk(request: CompletionRequest) -> Talk:
    """The conversation of `request`, seen from its last question."""
    messages = [_unpacked(message) for message in request.messages]
    asked = [index for index, message in enumerate(messages) if isinstance(message, UserMessage)]
    last = asked[-1] if asked else len(messages)
    said = messages[last].text if asked else ""
    before = messages[:last]
    question, attached, pasted = _take_apart(said)
    return Talk(
        question=question,
        attached=attached,
        pasted=pasted,
        project=_project(messages),
        notes=read_notes(message.text for message in request.messages if isinstance(message, UserMessage)),
        earlier=next((m.text for m in reversed(before) if isinstance(m, AssistantMessage) and m.text), ""),
        earlier_question=next((_take_apart(m.text)[0] for m in reversed(before) if isinstance(m, UserMessage)), ""),
        results=_results(messages[last:]),
        offered=frozenset() if request.tool_choice == "none" else frozenset(tool.name for tool in request.tools),
        steps=sum(isinstance(message, AssistantMessage) for message in messages[last:]),
    )


def _unpacked(message: Message) -> Message:
    """The message; in place of one that stands for an older part of the conversation, what is asked in it."""
    if isinstance(message, UserMessage) and is_summed_up(message.text):
        return UserMessage(newest_request(message.text), message.images)
    return message


def _project(messages: Sequence[Message]) -> Project:
    for message in messages:
        if isinstance(message, UserMessage) and (match := _SITUATION.search(_NOTES.sub("", message.text))):
            listed = _MORE_NAMES.sub("", match["top"])
            top = () if listed == "empty" else tuple(listed.split())
            return Project(match["name"], top, told=True)
    return Project()


def _results(messages: Sequence[Message]) -> dict[Call, Result]:
    asked = {
        call.id: Call(call.name, canonical(call.arguments))
        for message in messages
        if isinstance(message, AssistantMessage)
        for call in message.tool_calls
    }
    return {
        asked[message.call_id]: Result(message.text, error_key(message.text))
        for message in messages
        if isinstance(message, ToolMessage) and message.call_id in asked
    }


def _take_apart(said: str) -> tuple[str, tuple[Attached, ...], str]:
    """The question itself, the files that came with it, and what else did."""
    text = without_framed(_SITUATION.sub("", _NOTES.sub("", said)))
    attached = tuple(Attached(match["path"], match["text"]) for match in _FILE.finditer(text))
    piped = [match["text"] for match in _PIPED.finditer(text)]
    question, pasted = _question_in(_PIPED.sub("", _FILE.sub("", text)).strip())
    return question, attached, "\n".join(filter(None, [pasted, *piped]))


def _question_in(text: str) -> tuple[str, str]:
    """Of a long text the paragraph that asks (the last or the first one, with a question mark if any), and the rest."""
    if len(text) <= _LONGEST_QUESTION:
        return text, ""
    paragraphs = [part.strip() for part in re.split(r"\n\s*\n|\n(?=[^\n]*[?？]\s*(?:\n|$))", text) if part.strip()]
    ends = [part for part in (paragraphs[-1], paragraphs[0]) if len(part) <= _LONGEST_QUESTION]
    asking = [part for part in ends if re.search(r"[?？]\s*$", part)]
    question = (asking or ends or [text[:_LONGEST_QUESTION].split("\n", maxsplit=1)[0]])[0]
    return question, text.replace(question, "", 1).strip()


def _same(folder: str, name: str) -> bool:
    return re.sub(r"[-_. ]", "", folder.lower()) == re.sub(r"[-_. ]", "", name.lower())
