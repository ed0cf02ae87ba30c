"""Parse a request's messages: the question, its attachments, the previous answer, and tool calls since."""

import re
from collections.abc import Sequence

import msgspec

from localllm.base.events import Json
from localllm.base.i18n import fill
from localllm.llm.messages import (
    AssistantMessage,
    CompletionRequest,
    Message,
    ToolMessage,
    UserMessage,
    is_summed_up,
    newest_request,
    without_framed,
)
from localllm.lookup import vocabulary
from localllm.lookup.answer_texts import TEXTS
from localllm.lookup.entities import name_in, path_in, quoted_in
from localllm.lookup.terms import japanese_in, terms_of

_SITUATION = re.compile(r"\n*\[Project [^\n]{1,500}?, \d{4}-\d\d-\d\d\. Top level: .*\]\s*$", re.DOTALL)
_NOTES = re.compile(r"(?:\n\n\[(?:Plan mode|Today is )[^\[\]\n]*\])+\s*\Z")
_RAN = re.compile(
    r"^\[The user ran this outside the sandbox: .{1,2000}?\nExit code -?\d{1,5}\. It printed nothing\.\]\n*",
    re.DOTALL | re.MULTILINE,
)
_FILE = re.compile(r'<file path="(?P<path>[^"\n]*)">\n(?P<text>.*?)\n</file>', re.DOTALL)
_PIPED = re.compile(r"<stdin>\n(?P<text>.*?)\n</stdin>", re.DOTALL)
_LONGEST_QUESTION = 1_500

_NAME = re.compile(r"`([A-Za-z_$][\w$.]*)`")
_PLACE = re.compile(r"(?<![\w.@+-])(?<![\w.@+-]/)((?:[\w.@+-]+/)*[\w.@+-]+\.\w+):\d+")


class Call(msgspec.Struct, frozen=True):
    """A tool call; `result` is None until it is executed."""

    name: str
    arguments: dict[str, Json]
    result: str | None = None


class Talk(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that decides the next step. `attached`: paths of attached files; `pasted`: attached text; `earlier`:
    the previous answer, "" for none; `calls`: tool calls for this question."""

    question: str
    attached: tuple[str, ...] = ()
    pasted: str = ""
    earlier: str = ""
    calls: tuple[Call, ...] = ()
    offered: frozenset[str] = frozenset()

    def say(self, key: str, /, **params: object) -> str:
        """Return the engine's text `key` in the language of the question."""
        return fill(TEXTS[key][japanese_in(self.question)], params)


def read_talk(request: CompletionRequest) -> Talk:
    """Parse the conversation of `request` from its last question; a reference in the question is resolved to a name."""
    messages = [_unpacked(message) for message in request.messages]
    asked = [index for index, message in enumerate(messages) if isinstance(message, UserMessage)]
    last = asked[-1] if asked else len(messages)
    text = messages[last].text if asked else ""
    text = without_framed(_RAN.sub("", _SITUATION.sub("", _NOTES.sub("", text))))
    attached = tuple(match["path"] for match in _FILE.finditer(text))
    piped = [match["text"] for match in _PIPED.finditer(text)]
    question, pasted = _question_in(_PIPED.sub("", _FILE.sub("", text)).strip())
    before = [message.text for message in messages[:last] if isinstance(message, AssistantMessage) and message.text]
    talk = Talk(
        question=question,
        attached=attached,
        pasted="\n".join(filter(None, [pasted, *piped])),
        earlier=before[-1] if before else "",
        calls=_calls(messages[last:]),
        offered=frozenset() if request.tool_choice == "none" else frozenset(tool.name for tool in request.tools),
    )
    return msgspec.structs.replace(talk, question=_resolved(talk))


def _unpacked(message: Message) -> Message:
    """Return the message, or the question in it if it summarises an older part of the conversation."""
    if isinstance(message, UserMessage) and is_summed_up(message.text):
        return UserMessage(newest_request(message.text), message.images)
    return message


def _calls(messages: Sequence[Message]) -> tuple[Call, ...]:
    results = {message.call_id: message.text for message in messages if isinstance(message, ToolMessage)}
    return tuple(
        Call(call.name, msgspec.json.decode(call.arguments or "{}", type=dict[str, Json]), results.get(call.id))
        for message in messages
        if isinstance(message, AssistantMessage)
        for call in message.tool_calls
    )


def _question_in(text: str) -> tuple[str, str]:
    """Split a long text into the paragraph that asks (last or first, preferably with a question mark) and the rest."""
    if len(text) <= _LONGEST_QUESTION:
        return text, ""
    paragraphs = [part.strip() for part in re.split(r"\n\s*\n|\n(?=[^\n]*[?？]\s*(?:\n|$))", text) if part.strip()]
    ends = [part for part in (paragraphs[-1], paragraphs[0]) if len(part) <= _LONGEST_QUESTION]
    asking = [part for part in ends if re.search(r"[?？]\s*$", part)]
    question = (asking or ends or [text[:_LONGEST_QUESTION].split("\n", maxsplit=1)[0]])[0]
    return question, text.replace(question, "", 1).strip()


def _resolved(talk: Talk) -> str:
    """Return the question with a reference ("who calls it?") resolved to the subject of the last answer, or to the
    attached file."""
    text, points_back = talk.question, vocabulary.pattern("points back")
    if path_in(text) or name_in(text) or any(len(quoted) > 2 for quoted in quoted_in(text)):
        return text
    if not points_back.search(text) or any(not term.soft for term in terms_of(points_back.sub(" ", text))):
        return text  # another subject: "what licence is it under?"
    name, place = _NAME.search(talk.earlier), _PLACE.search(talk.earlier)
    subject = talk.attached[0] if talk.attached else ""
    if not subject and (match := name if name and not vocabulary.pattern("that file").search(text) else place):
        subject = match[1]
    return points_back.sub(f"`{subject}`", text, count=1) if subject else text
