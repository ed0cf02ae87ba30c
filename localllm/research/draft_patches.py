"""Change single sentences of the draft whose claims did not stand; the text is never written anew."""

import msgspec

from localllm.base.i18n import N_
from localllm.research.records import Patch, Section, Sentence
from localllm.research.role_protocol import remark
from localllm.research.run_context import RunContext


async def patch_draft(run: RunContext) -> None:
    """Take out the sentences that say what no source says."""
    state = run.state
    wrong = {
        claim.sentence
        for claim in state.claims
        if claim.verdict and claim.verdict.label in ("contradicted", "not_found")
    }

    def stays(sentence: Sentence) -> bool:
        if sentence.frozen or sentence.id not in wrong:
            return True
        reason = remark(N_("No source says it."))
        state.patches.append(Patch(state.round, sentence.id, sentence.text, "", reason))
        state.numbers.claims_dropped += 1
        return False

    def patched(section: Section) -> Section:
        return msgspec.structs.replace(section, sentences=tuple(filter(stays, section.sentences)))

    state.sections = list(map(patched, state.sections))
