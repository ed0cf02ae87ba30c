"""Recover the calls that an answer writes out in forms that may also be words: Python with a sentence before it, JSON
under another assistant's name for a tool, a label before the arguments, a list of them.

Only where the whole answer is the call, or a sentence of the model's own announces it: a call that is shown to the
user, as in an explanation, is none.
"""

import re
from collections.abc import Callable, Sequence

from localllm.agent.checks.answer_calls import leads_to_call, new_call, split_blocks
from localllm.base.events import Json, ToolCall
from localllm.base.lazy_patterns import late_pattern
from localllm.llm.messages import ToolSpec
from localllm.llm.tool_calling.json_repair import keywords_to_json, object_in
from localllm.llm.tool_calling.text_tool_calls.payloads import Offer, read_calls

_PYTHON = late_pattern(r"(?:print)?\(?(?P<name>[a-z_]{3,40})(?P<arguments>\(.{2,}\))\)?;?", re.DOTALL)
_LABELLED = late_pattern(
    r"(?:(?P<before>[^\n]{0,300})\n+)?[*_#\s]{0,6}(?:tool|function|call|ツール|関数)(?: ?(?:name|call|名))?"
    r"[*_]{0,2} ?[:：][*_]{0,2} ?`?(?P<name>[a-z_]{3,40})`?[*_]{0,2}\s*\n[*_#\s]{0,6}"
    r"(?:arguments?|args|parameters?|params|input|引数|パラメータ)"
    r"[*_]{0,2} ?[:：]?[*_]{0,2}\s*(?:```\w{0,10}\n)?(?P<arguments>\{.{2,}\})\s*(?:```)?",
    re.IGNORECASE | re.DOTALL,
)
_LISTED = late_pattern(
    r"(?:(?P<before>[^\n]{0,300})\n+)?[*_#`\s]{0,6}(?P<name>[a-z]{2,20}_[a-z_]{2,20})[*_`]{0,4}[:：]?[*_]{0,2}\s*\n"
    r"(?P<lines>(?:[ \t]{0,4}[-*•] [^\n]{1,2000}(?:\n|$)){2,12})\s*"
)
_JSON = late_pattern(
    r"(?:(?P<before>[^\n]{0,300})\n+)?(?:```\w{0,10}\n)?[ \t]*(?P<call>\{.{2,}\})\s*(?:```)?", re.DOTALL
)
_LINE = late_pattern(r"[ \t]*[-*•] [*_`]{0,3}(?P<key>[a-z_]{2,40})[*_`]{0,3} ?[:：=][*_]{0,2} ?(?P<value>[^\n]*)")
_QUOTES = ("`", '"', "'")
_CALLS = late_pattern(
    r"(?i)^(?:I|I['’]m|now,? I|next,? I|let me|calling|using|the call)\b|(?:呼び出し|使い|使っ|実行し|呼び)"
)
_TO_USER = late_pattern(
    r"(?i)\b(?:you|your|example|e\.g\.|usage|would|could|should|might|can|if|syntax|looks? like|such as|not)\b"
    r"|n['’]t\b|[?？]|ください|例|でき|場合|なら|れば|形式|書式|構文|ません|ない"
)


def written_calls(text: str, tools: Sequence[ToolSpec], announces: Callable[[str], bool]) -> Sequence[ToolCall]:
    """Return the calls of `tools` that an answer consists of, or ends with after the sentence that `announces` them."""
    offered = {tool.name: tool for tool in tools}
    if call := _in_json(text, tools, announces):
        return [call]
    if not any(name in text for name in offered):
        return ()
    if found := _LABELLED.fullmatch(text.strip()):
        return _checked(found, object_in([found["arguments"]]), offered, announces)
    if found := _LISTED.fullmatch(text.strip()):
        lines = [_LINE.fullmatch(line) for line in found["lines"].strip("\n").splitlines()]
        given = {line["key"]: _unquoted(line["value"].strip()) for line in lines if line}
        return _checked(found, given if all(lines) else None, offered, announces)
    return _in_blocks(text, offered, announces)


def _in_blocks(text: str, offered: dict[str, ToolSpec], announces: Callable[[str], bool]) -> Sequence[ToolCall]:
    """Return the calls in blocks of Python, each of one call."""
    blocks, rest = split_blocks(text) or ([], "")
    calls: list[ToolCall] = []
    for block in blocks if not rest else ():
        found = _PYTHON.fullmatch(block.body.strip())
        tool = offered.get(found["name"]) if found else None
        if not found or tool is None or not _leads(block.before, announces):
            return ()
        places = list(tool.parameters.get("properties", {}))
        arguments = keywords_to_json(found["arguments"].removesuffix(")") + ")", places)
        given = object_in([arguments]) if arguments else None
        if given is None or not _fits(given, tool):
            return ()
        calls.append(new_call(tool.name, **given))
    return calls


def _in_json(text: str, tools: Sequence[ToolSpec], announces: Callable[[str], bool]) -> ToolCall | None:
    """Return the call of one JSON object that has another assistant's name for a tool; one with the tool's own name is
    read by the reader of answers."""
    found = _JSON.fullmatch(text.strip()) if '"name"' in text else None
    if found is None or not _leads(found["before"] or "", announces):
        return None
    offer = Offer(tools)
    calls = read_calls(found["call"], offer, strict=False, closed=True, closes=False) or []
    tool = offer.tool(calls[0].name) if len(calls) == 1 and calls[0].closed else None
    given = object_in([calls[0].arguments]) if tool else None
    if tool is None or given is None or not offer.fits(calls[0].name, given):
        return None
    return new_call(tool.name, **given)


def _checked(
    found: re.Match[str], given: dict[str, Json] | None, offered: dict[str, ToolSpec], announces: Callable[[str], bool]
) -> Sequence[ToolCall]:
    tool = offered.get(found["name"].lower())
    if tool is None or given is None or not _fits(given, tool) or not _leads(found["before"] or "", announces):
        return ()
    return [new_call(tool.name, **given)]


def _fits(given: dict[str, Json], tool: ToolSpec) -> bool:
    """Return whether all required arguments are there, and no others than the tool's."""
    known = tool.parameters.get("properties", {})
    return given.keys() <= set(known) and set(tool.parameters.get("required", [])) <= given.keys()


def _leads(before: str, announces: Callable[[str], bool]) -> bool:
    """Return whether nothing stands before a call but the sentence with which the model makes it."""
    said = before.strip()
    is_to_user = "\n" in said or _TO_USER.search(said)
    return not is_to_user and (bool(_CALLS.search(said)) or leads_to_call(said, announces))


def _unquoted(value: str) -> str:
    is_quoted = len(value) > 1 and value[0] == value[-1] and value[0] in _QUOTES
    return value[1:-1] if is_quoted else value
