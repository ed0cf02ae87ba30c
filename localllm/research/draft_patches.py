"""Change single sentences of the draft after a round of checking; the text is never rewritten as a whole.

A sentence with failed claims is corrected from better evidence, by the editor or by quoting the source, narrowed to its
valid claims, or removed; supported sentences stay. Parts of the question that were open and now have evidence become
new sentences. Each change is logged.
"""

from collections.abc import Sequence

import msgspec

from localllm.base.i18n import N_
from localllm.research.cited_sentences import read_sentences
from localllm.research.claims.claim_checks import best_passages, refuse, support_score
from localllm.research.claims.unsupported_claims import (
    FALSE,
    Judged,
    freeze_supported,
    judged,
    narrowed,
    note_change,
    reason_of,
    standing_of,
)
from localllm.research.draft import own_words, plain_form, write_section
from localllm.research.evidence_lines import evidence_lines, without_origins
from localllm.research.outline import as_heading, best_need
from localllm.research.records import Claim, Evidence, Patch, ResearchState, Section, Sentence
from localllm.research.remark_texts import in_words, remark
from localllm.research.role_answers import TEXT, AnswerUnusable, answer_schema, choice
from localllm.research.run_context import RunContext
from localllm.text.scripts import is_in_language

_EDIT = answer_schema(action=choice("rewrite", "delete"), sentence=TEXT)

_BEST = 5
"""Pieces of evidence shown to the editor besides those the sentence cites."""


async def patch_draft(run: RunContext) -> None:
    """Correct, narrow or remove failed sentences, and add answers to open parts of the question."""
    state = run.state
    freeze_supported(state)
    known = judged(state)
    for place in range(len(state.sections)):
        for sentence in state.sections[place].sentences:
            verdicts = known.get(sentence.id)
            if verdicts and verdicts.failing and not sentence.frozen:
                _replace(state, place, sentence, await _patched(run, state.sections[place], sentence, verdicts))
    await _fill_gaps(run)


async def _patched(run: RunContext, section: Section, sentence: Sentence, known: Judged) -> Sentence | None:
    """Return the replacement of a sentence; None to remove it."""
    state = run.state
    better = await _edited(run, section, sentence, known)
    if better is None and known.standing == "not_found" and not known.standing_claims:
        better = _in_own_words(state, sentence)
    if better is not None:
        note_change(state, sentence, better, reason_of(known.failing))
        state.claims = [claim for claim in state.claims if claim.sentence != sentence.id]
        state.numbers.claims_dropped += len(known.failing)
        return better
    if known.standing in FALSE:
        return narrowed(state, sentence, known)
    return sentence


def _in_own_words(state: ResearchState, sentence: Sentence) -> Sentence | None:
    """Replace a misstated sentence by a quote of the source; None if another valid sentence states or cites it, or it
    is not in the report's language."""
    false = {name for name, verdicts in judged(state).items() if verdicts.standing in FALSE}
    whole = [one for section in state.sections for one in section.sentences if one.id != sentence.id]
    others = [one for one in whole if one.id not in false]
    cited = {name for one in others for name in one.evidence}
    lost = [one for one in state.evidence if one.id in sentence.evidence and one.id not in cited]
    known = {plain_form(one.text) for one in others}
    new = [one for one in own_words(lost) if plain_form(one.text) not in known]
    fit = [one for one in new if is_in_language(one.text, state.language)]
    if not fit:
        return None
    best = max(fit, key=lambda one: support_score(sentence.text, one.text))
    return msgspec.structs.replace(sentence, text=best.text, evidence=best.evidence)


async def _edited(run: RunContext, section: Section, sentence: Sentence, known: Judged) -> Sentence | None:
    """Return the editor's sentence if it passes the rules as an improvement, else None."""
    state = run.state
    about = " ".join([sentence.text, *(claim.text for claim in known.failing)])
    cited = [one for one in state.evidence if one.id in sentence.evidence]
    chosen = list({one.id: one for one in [*best_passages(about, state.evidence, _BEST), *cited]}.values())
    asked = {
        "question": state.question,
        "section": section.heading,
        "sentence": sentence.text,
        "problems": "\n".join(map(_problem, known.failing)),
    }
    room = run.roles.room("editor") - sum(map(run.roles.estimate, asked.values())) - 80
    try:
        answer = await run.roles.ask(
            "editor", {**asked, "evidence": evidence_lines(state, chosen, room, run.roles.estimate)}, _EDIT
        )
    except AnswerUnusable:
        return None
    if answer["action"] == "delete":
        return None
    written = read_sentences(
        without_origins(state, chosen, str(answer["sentence"])), {one.id for one in chosen}
    ).sentences
    if not written or not _is_better(state, written[0], sentence):
        return None
    return msgspec.structs.replace(sentence, text=written[0].text, evidence=written[0].evidence)


def _is_better(state: ResearchState, written: Sentence, before: Sentence) -> bool:
    """Whether a sentence is different, in the report's language, not a duplicate, and not rejected by rule."""
    said = {plain_form(one.text) for section in state.sections for one in section.sentences if one.id != before.id}
    form = plain_form(written.text)
    if form in said or (form == plain_form(before.text) and set(written.evidence) == set(before.evidence)):
        return False
    if not is_in_language(written.text, state.language):
        return False
    passages = [state.evidence_named(name).text for name in written.evidence]
    return refuse(written.text, passages, today=state.today) is None


def _problem(claim: Claim) -> str:
    """Describe the fault of a claim for the model."""
    verdict = claim.verdict
    reason = in_words(verdict.reason, "en") if verdict and verdict.reason else ""
    quote = f' The page says: "{verdict.quote}"' if verdict and verdict.quote else ""
    return f"- {claim.text} ({standing_of(claim).replace('_', ' ')}. {reason}{quote})"


def _replace(state: ResearchState, place: int, before: Sentence, after: Sentence | None) -> None:
    """Replace or remove a sentence."""
    section = state.sections[place]
    kept = [after if one is before else one for one in section.sentences]
    sentences = tuple(one for one in kept if one is not None)
    cited = after.evidence if after else ()
    evidence = tuple(dict.fromkeys([*section.evidence, *cited]))
    state.sections[place] = msgspec.structs.replace(section, sentences=sentences, evidence=evidence)


async def _fill_gaps(run: RunContext) -> None:
    """Write sentences on open parts of the question from new evidence."""
    state = run.state
    gaps = list(dict.fromkeys(entry.subject for entry in state.ledger if entry.kind == "gap"))
    sorted_in: dict[str, list[Evidence]] = {gap: [] for gap in gaps}
    for one in _new_evidence(state) if gaps else ():
        sorted_in[best_need(state, gaps, one)].append(one)
    for gap, pieces in sorted_in.items():
        if pieces:
            written = await write_section(run, as_heading(gap), pieces, falls_back=False)
            _add(state, gap, pieces, written)


def _new_evidence(state: ResearchState) -> list[Evidence]:
    """Return this round's uncited evidence: of pages found for a gap, else all of it."""
    cited = {name for section in state.sections for sentence in section.sentences for name in sentence.evidence}
    new = [one for one in state.evidence if one.round == state.round and one.id not in cited]
    aimed = {query.text for query in state.queries if query.round == state.round and query.purpose == "gap"}
    found = [one for one in new if aimed & {*state.source(one.source).queries}]
    return found or new


def _add(state: ResearchState, gap: str, pieces: Sequence[Evidence], written: Sequence[Sentence]) -> None:
    """Add sentences to the section of a part of the question, or to a new one."""
    said = {plain_form(one.text) for section in state.sections for one in section.sentences}
    fresh = [
        msgspec.structs.replace(one, id=state.new_id("T"))
        for one in {plain_form(one.text): one for one in written}.values()
        if plain_form(one.text) not in said
    ]
    if not fresh:
        return
    reason = remark(N_("There is new evidence on this part of the question: {need}"), need=gap)
    state.patches += [Patch(state.round, one.id, "", one.text, reason) for one in fresh]
    heading, ids = as_heading(gap), tuple(one.id for one in pieces)
    for place, section in enumerate(state.sections):
        if plain_form(section.heading) == plain_form(heading):
            evidence = tuple(dict.fromkeys([*section.evidence, *ids]))
            sentences = (*section.sentences, *fresh)
            state.sections[place] = msgspec.structs.replace(section, evidence=evidence, sentences=sentences)
            return
    state.sections.append(Section(heading, ids, tuple(fresh)))
