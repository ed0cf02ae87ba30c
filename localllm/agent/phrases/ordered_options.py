"""Find the options of a command line that a request orders a program to have."""

import re

from localllm.agent.phrases.phrase_search import ends_of
from localllm.base.lazy_patterns import late_pattern

_VALUE = r"(?-i:[= ](?:[A-Z]{1,12}\b|<\w{1,20}>))?"
_OPTION = r"[`'\"「]{0,2}(?<![\w-])--(?P<name>[a-z][\w-]{1,40})" + _VALUE + r"[`'\"」]{0,2}"
_KIND = r"(?:options?|flags?|switch(?:es)?|arguments?|parameters?)"
_ORDERED = late_pattern(
    rf"\b(?:{_KIND}|takes?|accepts?|supports?|understands?|add|implement|introduce)"
    rf"(?: (?:called|named|also|an?|the|both|two|new|optional|{_KIND})){{0,3}}:? {_OPTION}"
    rf"|{_OPTION.replace('<name>', '<name2>')} {_KIND}\b"
    rf"|{_OPTION.replace('<name>', '<name3>')} ?(?:という|の)?(?:オプション|フラグ|引数|スイッチ)"
    rf"|(?:オプション|フラグ|引数|スイッチ)(?:として)? ?{_OPTION.replace('<name>', '<name4>')}"
    rf"|{_OPTION.replace('<name>', '<name5>')} ?(?:も|を|に(?:も)?) ?(?:付|つけ|追加|対応|受け付け|サポート|実装|用意)",
    re.IGNORECASE,
)
_MORE = late_pattern(rf"(?:, (?:and )?| and | ?[、と,・] ?)(?:an? |the )?{_OPTION}")
_OF_OTHERS = late_pattern(
    r"\b(?:run|running|pass|passing|use|using|call|invoke|execute|start|remove|drop|delete|rename|replace|document"
    r"|describe|explain|don't|not|no|without|if|unless|how|why|what|should)\b|n't\b|\?$"
    r"|実行|削除|外し|外す|消|使って|渡し|改名|説明|ない|場合|なら|れば|たら|か[。？?]?$",
    re.IGNORECASE,
)
"""Matches a sentence in which an option may be one of another program, or one that is to go."""
_ANY = late_pattern(r"--[a-z][\w-]{1,40}", re.IGNORECASE)
_SENTENCE = late_pattern(r"(?<=[.!?;])\s+|(?<=[。！？])|\n")


def ordered_options(request: str) -> list[str]:
    """Return the names of the options, without their hyphens in front."""
    found: dict[str, None] = {}
    for said in _SENTENCE.split(ends_of(request)) if "--" in request else ():
        for match in () if _OF_OTHERS.search(_ANY.sub("", said)) else _ORDERED.finditer(said):
            found |= dict.fromkeys(filter(None, match.groups()))
            end = match.end()
            while more := _MORE.match(said, end):
                found[more["name"]] = None
                end = more.end()
    return list(found)


def has_option(text: str, name: str) -> bool:
    """Return whether a text may give a program an option: its name stands there as a word, other than that of a
    module."""
    word = re.escape(name).replace(r"\-", "[-_]?")
    uses = re.compile(rf"(?<!\w){word}(?!\w|\.\w)", re.IGNORECASE)
    return any(uses.search(line) and not _IMPORT.match(line) for line in text.splitlines())


_IMPORT = late_pattern(r"\s*(?:import|from|use|require|#include)\b")
