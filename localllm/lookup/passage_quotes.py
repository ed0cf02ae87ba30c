"""Answer from collections of documents: search them, and quote the sentences that share the question's words."""

import re

import msgspec

from localllm.lookup.conversation import Call, Talk
from localllm.text.sentences import split_sentences
from localllm.text.tokenising import terms

_SEARCH = "search_rag_knowledge_base"
_LIST = "list_rag_collections"

_PASSAGES = re.compile(r"<document_passages>\n(.*?)\n</document_passages>", re.DOTALL)
_HEAD = re.compile(r"^(\[[^\[\]\n]+\]) [^\n]*\n", re.MULTILINE)
_MOST_PASSAGES = 3
_MOST_SENTENCES = 3
"""Sentences quoted of the first passage; of the others one each."""
_LEAST_OTHERS = 2
"""Words of the question, not in the sentences quoted so far, for which one more is quoted: it may ask two things."""
_LONGEST = 400
"""Characters of a sentence, as of a table's row or a line of code."""


class _Passage(msgspec.Struct, frozen=True):
    reference: str
    text: str


def is_asked(talk: Talk) -> bool:
    """Return whether the question is one for the collections alone: no other tools are offered, or were used."""
    tools = talk.offered or {call.name for call in talk.calls}
    return bool(tools) and tools <= {_SEARCH, _LIST}


def next_step(talk: Talk) -> tuple[Call, ...] | str:
    """Search for the question; then quote from what was found."""
    if talk.question.startswith("["):  # a remark of the program: the question has no words to search for
        return talk.say("no_passage")
    results = [call.result for call in talk.calls if call.name == _SEARCH and call.result is not None]
    if not results:
        return (Call(_SEARCH, {"query": talk.question}),)
    passages = _passages_in(results[-1])
    if not passages:
        said = results[-1].partition("\n")[0]
        return talk.say("no_passage") if said.startswith(("No passage", "Nothing about")) else said
    quotes = [
        f"- {sentence} {passage.reference}"
        for number, passage in enumerate(passages[:_MOST_PASSAGES])
        for sentence in _sentences(passage.text, talk.question, 1 if number else _MOST_SENTENCES)
    ]
    return "\n".join([talk.say("passages"), "", *quotes])


def _passages_in(result: str) -> list[_Passage]:
    found = _PASSAGES.search(result)
    parts = _HEAD.split(found[1])[1:] if found else []
    return [_Passage(reference, text) for reference, text in zip(parts[::2], parts[1::2], strict=True)]


def _sentences(text: str, question: str, most: int) -> list[str]:
    """Return the sentences that share most words with the question, and one that shares others of its words, in their
    order; the first one if none does."""
    asked = frozenset(terms(question))
    found = [" ".join(text[start:end].split())[:_LONGEST] for start, end in split_sentences(text)]
    found = [one.removeprefix("- ") for one in found if any(map(str.isalnum, one))]
    sentences = [one for one in found if not one.startswith("#")] or found  # headings only where there is nothing else
    shared = [asked & frozenset(terms(one)) for one in sentences]
    best = sorted(range(len(sentences)), key=lambda at: -len(shared[at]))
    chosen = [at for at in best[:most] if 2 * len(shared[at]) > len(shared[best[0]])] or best[:1]
    others = [words.difference(*(shared[at] for at in chosen)) for words in shared]
    second = max(best, key=lambda at: len(others[at]))
    if len(others[second]) >= _LEAST_OTHERS and len(chosen) < most:
        chosen.append(second)
    return [sentences[at] for at in sorted(chosen)]
