"""The tool deep_research: a short research run for the agent, which receives the findings with their sources."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from localllm.base.events import Delegated, Notice
from localllm.base.i18n import N_, Phrase, _
from localllm.config.schema import Settings
from localllm.safety.tool_definition import Preview, Risk, Tool, ToolOutput
from localllm.tools.context import ToolContext
from localllm.tools.registry import tool

if TYPE_CHECKING:
    from localllm.app.chat_research import ChatResearch, FinishedRun
    from localllm.research.run_events import Forecast, ResearchEvent

NAME = "deep_research"
PRESET = "fast"
_LONG_MINUTES = 5
"""Minutes from which on the user is asked first."""

_STAGES = {
    "queries": N_("making queries"),
    "search": N_("searching"),
    "process": N_("reading"),
    "draft": N_("writing"),
    "validate": N_("checking"),
    "finalise": N_("the report"),
}


def can_research(settings: Settings) -> bool:
    """Whether there is anything to search: the web, or folders or collections of documents."""
    own = settings.research.docs or settings.research.collections
    return (settings.web.enabled and not settings.offline) or bool(own)


def research_tool(research: "Callable[[], ChatResearch]", estimate: Callable[[str], int]) -> Tool:
    """Create the tool; it calls `research` on use. `estimate` returns the tokens of a text."""

    async def preview(_context: ToolContext, question: str) -> Preview:
        expected = await research().forecast(research().options(PRESET))
        return Preview(summary=f"{NAME} {question}", detail=question, question=_asked(expected), plan=expected)

    @tool(risk=Risk.SAFE, sends=("question",), preview=preview)
    async def deep_research(context: ToolContext, question: str) -> ToolOutput:
        """Research a question thoroughly (minutes): checked findings with sources."""
        from localllm.app.research_findings import findings  # few sessions research

        found = await _run(research(), question, context)
        text = findings(found.state, found.report, estimate)
        return ToolOutput(
            payload={
                "run": found.state.id,
                "report": str(found.report),
                "partial": found.state.partial,
                "sources": len([source for source in found.state.sources if source.state == "read"]),
            },
            for_model=text,
            summary=Phrase("report {id}: {file}", id=found.state.id, file=str(found.report)),
            untrusted=True,
        )

    return deep_research


async def _run(research: "ChatResearch", question: str, context: ToolContext) -> "FinishedRun":
    """Run research and show its stages; always state how to resume it."""
    from localllm.research.run_events import StageBegun

    run = ""

    def tell(text: str) -> None:
        context.emit(Delegated(agent=NAME, event=Notice(text=text)))

    def show(event: "ResearchEvent") -> None:
        nonlocal run
        run = event.run
        if isinstance(event, StageBegun) and event.stage in _STAGES:
            tell(_(_STAGES[event.stage]))

    try:
        return await research.run(question, research.options(PRESET), show, context.is_shunned)
    except BaseException:
        if run:
            tell(_("Saved. To continue: /research --resume {id}", id=run))
        raise


def _asked(expected: "Forecast") -> str | Phrase:
    """Return the question to the user before a run; empty if it is known to be short."""
    if not expected.most_seconds:
        return Phrase(
            "The model is expected to be asked {count} times; how long that takes is not known yet.",
            count=expected.most_requests,
        )
    minutes = round(expected.most_seconds / 60)
    return Phrase("This is expected to take {minutes} minutes.", minutes=minutes) if minutes > _LONG_MINUTES else ""
