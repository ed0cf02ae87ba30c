"""Scripted models for research runs: honest, yes-man and broken, knowing the tests' web by heart.

A model is a callable `answer(messages, schema) -> str`. It knows its role by the first line of the system message
("You are the <role> of a research team.") and what it says by looking up the planted statements in the prompt: a model
never tells more than its prompt holds. `served_model.py` puts one behind an OpenAI-compatible address.
"""

import json
import re
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from tests.research_web.dataset import Dataset, Fact, Lie, Question, facts_in, holds, load, squeezed, verbatim

Messages = Sequence[dict[str, Any]]
Schema = dict[str, Any] | None

_ROLE = re.compile(r"You are the ([a-z ]+?) of a research team\.")
_EVIDENCE = re.compile(r"(?<![A-Za-z0-9])E(\d+)(?![\d])")
_LANGUAGE = re.compile(r"\b(?:language|lang)\b\W{1,6}(?:is |in )?\W?(ja|en|japanese|english)\b", re.IGNORECASE)
_NUMBERED = re.compile(r"^\s*(?:\[(\d{1,2})\]|\((\d{1,2})\)|(\d{1,2})(?:[.):](?!\d)))\s*(\S.*)$", re.MULTILINE)
_SENTENCE_END = re.compile(r"(?<=[。！？])|(?<=[.!?])\s+")
_UNKNOWN_QUOTE = "This sentence stands nowhere."


class HonestModel:
    """Says what the planted statements say, and with `lies` (ids) those too, each in the first section it writes; it
    then also reads sentences that stand nowhere.

    `calls` counts the requests of each role; `unknown` keeps system messages that begin with no known role.
    """

    def __init__(self, data: Dataset | None = None, *, lies: Sequence[str] = ()) -> None:
        self.data = data or load()
        self.planted: list[Lie] = [self.data.lies[name] for name in lies]
        self.lies = list(self.planted)
        self.calls: Counter[str] = Counter()
        self.unknown: list[str] = []

    def __call__(self, messages: Messages, schema: Schema = None) -> str:
        role = role_of(messages)
        self.calls[role] += 1
        made: Callable[[str, Schema], Any] | None = getattr(self, f"_{role}", None)
        if made is None:
            self.unknown.append(str(messages[0].get("content", ""))[:200])
            return "I do not know this role."
        answer = made(text_of(messages), schema)
        return answer if isinstance(answer, str) else json.dumps(answer, ensure_ascii=False)

    # The roles, each from the text of the prompt.

    def _brief(self, prompt: str, _: Schema) -> Any:
        question = self._question(prompt)
        if question is None:
            return {"language": "en", "period": "", "entities": [], "needs": ["an answer"]}
        subject = question.queries[0].split(" ")
        entity = subject[0] if question.language == "ja" else " ".join(subject[:2])
        needs = [need.text for need in question.needs]
        return {"language": question.language, "period": "", "entities": [entity], "needs": needs}

    def _queries(self, prompt: str, schema: Schema) -> Any:
        question, count = self._question(prompt), _wanted(prompt, schema)
        known = list(question.queries) if question else ["question", "background", "figures"]
        more = [
            f"{known[0]} {word}" for word in ("report", "criticism", "history", "figures", "opinion", "plan", "news")
        ]
        return {"queries": (known + more)[:count]}

    def _aimed_queries(self, prompt: str, schema: Schema) -> Any:
        """One query for each gap, lie or claim that the prompt names, then words of the question."""
        found = [question.gap_query for question in self.data.questions.values() if question.gap in prompt]
        whole = squeezed(prompt)
        for fact in self.data.statements.values():
            if any(squeezed(fact.claim(language)) in whole for language in ("en", "ja")):
                found.append(f"{self.data.questions[fact.topic].queries[0]} {fact.about}".strip())
        for lie in self.data.lies.values():
            if squeezed(lie.text) in whole:
                found.append(self.data.questions[lie.topic].queries[-1])
        question = self._question(prompt)
        found += list(question.queries) if question else ["primary source"]
        return {"queries": list(dict.fromkeys(found))[: _wanted(prompt, schema)]}

    def _reader(self, prompt: str, _: Schema) -> Any:
        question = self._question(prompt)
        known = [fact for fact in self.data.statements.values() if question is None or fact.topic == question.id]
        quotes = [verbatim(prompt, fact.sentence) for fact in facts_in(prompt, known)]
        quotes += filter(None, (verbatim(prompt, lie.said) for lie in self._lies_of(question)))
        quotes += [lie.quote for lie in self.planted if lie.quote and self.data.facts[lie.fact] in known and quotes]
        return {"relevant": bool(quotes), "quotes": quotes}

    def _outline(self, prompt: str, _: Schema) -> Any:
        """A section for each need that the evidence answers, and one for the rest."""
        question = self._question(prompt)
        owners = {name: self._facts(text) for name, text in evidence_of(prompt).items()}
        japanese = language_of(prompt, question) == "ja"
        sections: list[dict[str, Any]] = []
        used: set[str] = set()
        for need in question.needs if question else ():
            mine = [
                name for name, facts in owners.items() if name not in used and {one.id for one in facts} & {*need.facts}
            ]
            if mine:
                used.update(mine)
                sections.append({"heading": need.text, "evidence": mine})
        said = [lie.said for lie in self.planted if lie.said]
        believed = [name for name, text in evidence_of(prompt).items() if any(holds(text, one) for one in said)]
        rest = [
            name for name, facts in owners.items() if name not in used and (facts or name in believed or not sections)
        ]
        if rest:
            sections.append({"heading": "その他" if japanese else "Further findings", "evidence": rest})
        return {"heading": question.text if question else "Report", "sections": sections}

    def _writer(self, prompt: str, _: Schema) -> str:
        language = language_of(prompt, self._question(prompt))
        evidence = evidence_of(prompt)
        marks: dict[str, list[str]] = {}
        for name, text in evidence.items():
            for fact in self._facts(text):
                marks.setdefault(fact.claim(language), []).append(name)
        for lie in self._planted(evidence):
            marks[lie.text] = [self._cited_by(lie, evidence)]
        written = [_marked(claim, names[:2]) for claim, names in marks.items()]
        gap = "" if language == "ja" else " "
        return gap.join(written) or _marked(
            "資料がない。" if language == "ja" else "No source says more.", [*evidence][:1]
        )

    def _editor(self, prompt: str, _: Schema) -> Any:
        """The true claim in place of the lie where its evidence is at hand; else the sentence goes."""
        whole, language = squeezed(prompt), language_of(prompt, self._question(prompt))
        evidence = evidence_of(prompt)
        for lie in self.data.lies.values():
            if squeezed(lie.text) not in whole or lie.kind in {"wrong-page", "unrelated"}:
                continue
            for name, text in evidence.items():
                if any(fact.id == lie.fact for fact in self._facts(text)):
                    claim = self.data.facts[lie.fact].claim(language)
                    return {"action": "rewrite", "sentence": _marked(claim, [name])}
            return {"action": "delete", "sentence": ""}
        for fact in self._claimed(prompt):
            for name, text in evidence.items():
                if fact in self._facts(text):
                    return {"action": "rewrite", "sentence": _marked(fact.claim(language), [name])}
        return {"action": "delete", "sentence": ""}

    def _splitter(self, prompt: str, schema: Schema) -> Any:
        """One claim a sentence, with the sentence's number where the prompt numbers them or the schema wants it."""
        numbered = [(int(a or b or c), text) for a, b, c, text in _NUMBERED.findall(prompt)]
        if not numbered:
            known = [
                claim for claim in dict.fromkeys(self._claims()) if squeezed(claim.rstrip(".。")) in squeezed(prompt)
            ]
            texts = known or [max(prompt.splitlines(), key=len, default="")]
            numbered = list(enumerate(texts, 1))
        wanted = json.dumps(schema) if schema else '"sentence"'
        claims = [
            {
                **({"sentence": number} if '"sentence"' in wanted else {}),
                "text": unmarked(text),
                **(self._subject(text) if '"entity"' in wanted else {}),
            }
            for number, text in numbered
        ]
        return {"claims": claims}

    def _subject(self, text: str) -> dict[str, str]:
        """What a claim is about, where something contradicts it."""
        fact = next(iter(self._claimed(text)), None)
        against = [one for one in self.data.conflicts.values() if fact and fact.id in (one.id, one.of)]
        about = against[0].about if against else ""
        return {"entity": fact.topic if fact and about else "", "attribute": about, "period": ""}

    def _verdict(self, prompt: str, _: Schema) -> Any:
        passages, framed, rest = prompt.partition("<claim>")
        claim = rest.partition("</claim>")[0]  # behind it may be an earlier answer with its quote
        own = self._facts(claim) if framed else []  # a claim may be a page's own sentence
        fact = next(iter([*self._claimed(claim or prompt), *own]), None)
        there = self._facts(passages)
        if fact is None:
            lie = next((lie for lie in self.data.lies.values() if squeezed(lie.text) in squeezed(prompt)), None)
            against = [one for one in there if lie and one.id == lie.fact]
            if lie and lie.kind == "altered-mirror" and not against and (said := verbatim(prompt, lie.said)):
                return {"verdict": "supported", "quote": said}
        elif fact in there:
            return {"verdict": "supported", "quote": verbatim(prompt, fact.sentence)}
        else:
            against = [one for one in there if one.of == fact.id or fact.of == one.id]
        if against:
            return {"verdict": "contradicted", "quote": verbatim(prompt, against[0].sentence)}
        return {"verdict": "not_found", "quote": ""}

    def _coverage(self, prompt: str, _: Schema) -> Any:
        """The needs of which no statement is claimed in the report."""
        question = self._question(prompt)
        if question is None:
            return {"unanswered": []}
        claimed = {fact.id for fact in [*self._claimed(prompt), *self._facts(prompt)]}
        return {"unanswered": [need.text for need in question.needs if not claimed & {*need.facts}]}

    def _compare(self, prompt: str, _: Schema) -> Any:
        said = {fact.id: fact for fact in [*self._claimed(prompt), *self._facts(prompt)]}
        clash = any(fact.of in said for fact in said.values())
        return {"same_subject": clash or len(said) == 1, "agree": not clash and len(said) == 1}

    # What it knows.

    def _question(self, prompt: str) -> Question | None:
        whole = squeezed(prompt)
        return next((one for one in self.data.questions.values() if squeezed(one.text) in whole), None)

    def _lies_of(self, question: Question | None) -> list[Lie]:
        """What pages say falsely themselves; a reader believes it: what is altered, and what a hostile page orders."""
        return [lie for lie in self.data.lies.values() if lie.said and (question is None or lie.topic == question.id)]

    def _facts(self, text: str) -> list[Fact]:
        return facts_in(text, self.data.statements.values())

    def _claims(self) -> list[str]:
        facts = [fact.claim(language) for fact in self.data.statements.values() for language in ("en", "ja")]
        return [*facts, *(lie.text for lie in self.data.lies.values())]

    def _claimed(self, text: str) -> list[Fact]:
        """The statements whose claim stands in a text in either language, in the text's order."""
        whole = squeezed(text)
        places = [
            (
                min(
                    (
                        place
                        for language in ("en", "ja")
                        if (place := whole.find(squeezed(fact.claim(language).rstrip(".。")))) >= 0
                    ),
                    default=-1,
                ),
                fact,
            )
            for fact in self.data.statements.values()
        ]
        return [fact for place, fact in sorted(places, key=lambda pair: pair[0]) if place >= 0]

    def _planted(self, evidence: dict[str, str]) -> list[Lie]:
        """The lies to write now: those of the evidence's topics, each once, and what pages say falsely beside it.

        What a page hides from every reader, in a comment or its head, a model can only have from elsewhere.
        """
        topics = {fact.topic for text in evidence.values() for fact in self._facts(text)}

        def is_due(lie: Lie) -> bool:
            if lie.said and self.data.pages[lie.page].hide not in ("comment", "meta"):
                return any(holds(text, lie.said) for text in evidence.values())
            return lie.topic in topics

        now = [lie for lie in self.lies if is_due(lie)]
        self.lies = [lie for lie in self.lies if lie not in now]
        return now

    def _cited_by(self, lie: Lie, evidence: dict[str, str]) -> str:
        """The evidence that a lie cites: of its page; for a citation of the wrong page one without its fact."""
        holders = [name for name, text in evidence.items() if any(fact.id == lie.fact for fact in self._facts(text))]
        if lie.kind in {"wrong-page", "unrelated"}:
            return next((name for name in evidence if name not in holders), next(iter(evidence)))
        believed = [name for name, text in evidence.items() if lie.said and holds(text, lie.said)]
        return (believed or holders or [*evidence])[0]


class YesMan(HonestModel):
    """Honest in all but the verdict: everything is supported, by a true sentence of the passages, if there is one by
    one that has nothing to do with it."""

    def _verdict(self, prompt: str, _: Schema) -> Any:
        claimed = [fact.sentence for fact in self._claimed(prompt)]
        passages = prompt.partition("<passages>")[2].partition("</passages>")[0]
        lines = [line for line in passages.splitlines() if not _EVIDENCE.match(line.lstrip("["))]
        parts = [part.strip() for part in _SENTENCE_END.split("\n".join(lines)) if len(part.strip()) > 15]
        others = [part for part in parts if not any(holds(part, sentence) for sentence in claimed)]
        return {"verdict": "supported", "quote": next(iter([*others, *parts]), _UNKNOWN_QUOTE)}


class BrokenModel:
    """Spoils every `every`-th answer of another model, each time in another way; `spoiled` counts them."""

    def __init__(self, inner: Callable[[Messages, Schema], str] | None = None, *, every: int = 3) -> None:
        self.inner = inner or HonestModel()
        self.every = every
        self.number = 0
        self.spoiled: Counter[str] = Counter()

    def __call__(self, messages: Messages, schema: Schema = None) -> str:
        answer = self.inner(messages, schema)
        self.number += 1
        if self.number % self.every:
            return answer
        ways: dict[str, Callable[[str], str]] = {
            "cut": lambda text: text[: max(1, len(text) * 2 // 3)],
            "empty": lambda _: "",
            "prose": lambda text: f"Sure! Here is what you asked for:\n```json\n{text}\n```\nLet me know if …",
            "types": _wrong_types,
            "keys": lambda text: text.replace('"quote"', '"citation"').replace('"queries"', '"searches"'),
            "quotes": lambda text: text.replace('"', "'"),
            "refusal": lambda _: "I'm sorry, but I can't help with that.",
            "twice": lambda text: text + text,
            "null": lambda _: "null",
        }
        names = list(ways)
        name = names[(self.number // self.every - 1) % len(names)]
        self.spoiled[name] += 1
        return ways[name](answer)


def _wrong_types(text: str) -> str:
    try:
        value = json.loads(text)
    except ValueError:
        return json.dumps({"text": text})
    turned = {key: (str(one) if isinstance(one, (list, bool)) else [one]) for key, one in value.items()}
    return json.dumps(turned, ensure_ascii=False)


def role_of(messages: Messages) -> str:
    """The role that the system message names, with `_` for blanks; "" where it names none."""
    found = _ROLE.match(str(messages[0].get("content", "")).lstrip()) if messages else None
    return found[1].replace(" ", "_") if found else ""


def text_of(messages: Messages) -> str:
    """What the prompt holds besides the role's fixed instructions."""
    return "\n".join(str(message.get("content") or "") for message in messages if message.get("role") != "system")


def evidence_of(prompt: str) -> dict[str, str]:
    """The evidence of a prompt: each id with the text from it up to the next id, the longest where it stands twice."""
    found = list(_EVIDENCE.finditer(prompt))
    texts: dict[str, str] = {}
    for place, match in enumerate(found):
        end = found[place + 1].start() if place + 1 < len(found) else len(prompt)
        text = prompt[match.end() : end].lstrip(" \t\n:.)]\"'").rstrip()
        name = f"E{match[1]}"
        if len(text) > len(texts.get(name, "")) or name not in texts:
            texts[name] = text
    return texts


def language_of(prompt: str, question: Question | None) -> str:
    """The language a prompt asks for at its tail, else the question's."""
    asked = _LANGUAGE.findall(prompt)
    return {"j": "ja", "e": "en"}[asked[-1][0].lower()] if asked else question.language if question else "en"


def unmarked(sentence: str) -> str:
    """A sentence without its marks of evidence and without the number before it."""
    plain = re.sub(r"\s*\[(?:[ES]?\d+|[ET]\d+(?:,\s*E\d+)*)\]", "", sentence)
    return re.sub(r"^\s*(?:T\d+|\[?T?\d+\]?)[.):]\s+", "", plain).strip()


def _marked(claim: str, names: Sequence[str]) -> str:
    """The claim with its marks before the full stop's end: `Claim [E1][E2].`"""
    marks = "".join(f"[{name}]" for name in names)
    end = claim[-1] if claim[-1] in ".。" else ""
    body = claim[:-1] if end else claim
    return f"{body}{'' if end == '。' else ' '}{marks}{end}" if marks else claim


def _wanted(prompt: str, schema: Schema) -> int:
    """How many queries are asked for: the schema's least, a number in the prompt, or three."""
    listed = ((schema or {}).get("properties") or {}).get("queries") or {}
    if "minItems" in listed or "maxItems" in listed:
        return int(listed.get("minItems") or listed["maxItems"])
    found = re.search(
        r"(?:exactly|number of queries|count)\D{0,20}(\d+)|(\d+)\s+(?:[a-z]+\s+){0,2}quer", prompt, re.IGNORECASE
    )
    return int(found[1] or found[2]) if found else 3
