"""Escalate a stuck run: hint, panel, boss, and finally a blocker report."""

from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from enum import IntEnum
from functools import partial
from typing import TYPE_CHECKING

from localllm.agent.completion import FINISH_REASON
from localllm.agent.loop_detection import Loop, LoopDetector, Step
from localllm.agent.middleware import Decision, Inject, Middleware, RunState, Stop
from localllm.agent.panel.records import Advisers, Attempt, Consultation, Dossier
from localllm.agent.system_prompt import remark
from localllm.base.events import Notice
from localllm.base.i18n import N_, Phrase, _
from localllm.llm.messages import Completion
from localllm.tools.results import ToolResult

if TYPE_CHECKING:
    from localllm.agent.blocker_report import Blocker

_PATTERNS = {
    "same_step": N_("the same call gave the same result {count} times: {what}"),
    "same_error": N_("the same call failed with the same error {count} times: {what}"),
    "cycle": N_("the same steps were repeated {count} times: {what}"),
    "failed_edit": N_("{count} edits of {what} did not match the file"),
    "bad_call": N_("{count} calls of {what} were invalid"),
    "monologue": N_("a step was announced but not taken {count} times"),
    "chanting": N_("{count} answers repeated one passage over and over"),
    "thrash": N_("the context window was full again right after a summary, {count} times"),
}

_ATTEMPTS_KEPT = 60
_REFILLS = 3
_RIGHT_AFTER = 2
"""Maximum steps between compactions in which nothing can have been achieved."""

_MOST_CONSULTATIONS = 2
"""Maximum consultations of the panel, and of the boss, in one run."""

_LONGEST_GOAL_ASKED = 600


RunConsultation = Callable[[Callable[[], Awaitable[Decision]]], Awaitable[Decision]]
"""Runs a consultation; returns None if the user speaks meanwhile."""


class Rung(IntEnum):
    """The escalation level of a run."""

    GROUND = 0
    NOTICE = 1
    STEP_BACK = 2
    THREE = 3
    BOSS = 4
    STOP = 5


class Ladder(Middleware):
    """The escalation ladder of an agent that goes in circles: each detected loop raises the level by one. In this order
    the model gets a hint and is asked to step back, the panel is asked (and the boss at once if it is unsure, else next
    time), and the run is stopped with a report.

    A new state of a file lowers the level by one, once after each loop: the remedy has helped, but a run that was in
    trouble does not start from the bottom. Without `advisers` their levels are skipped; they see files as returned by
    `read`.
    """

    def __init__(
        self,
        detector: LoopDetector,
        advisers: Advisers | None = None,
        read: Callable[[str], str | None] | None = None,
        unless_spoken: RunConsultation = lambda work: work(),
    ) -> None:
        self.detector = detector
        self.advisers = advisers
        self._read = read
        self._unless_spoken = unless_spoken
        self.begin()

    def begin(self) -> None:
        """Reset the state, at the ground level."""
        self.detector.reset()
        self.rung = Rung.GROUND
        self.attempts: deque[Attempt] = deque(maxlen=_ATTEMPTS_KEPT)
        self._errors: dict[str, None] = {}
        self._three: list[Consultation] = []
        self._boss: list[Consultation] = []
        self._alarm: Loop | None = None
        self._loop: Loop | None = None
        self._may_come_down = False
        self._step = 0
        self._compacted_at = 0
        self._refills = 0
        self._chants = 0
        self._announcements = 0
        self._has_announced = False

    def note_compaction(self, *, was_summed_up: bool = True) -> None:
        """Record a compaction, by a summary or by pruning old output."""
        self.detector.note_compaction()
        if self._compacted_at == self._step or not was_summed_up:
            return
        is_refilled = 0 < self._compacted_at >= self._step - _RIGHT_AFTER
        self._refills = self._refills + 1 if is_refilled else 0
        self._compacted_at = self._step
        if self._refills >= _REFILLS:
            self._alarm = Loop("thrash", self._refills)
            self._refills = 0

    def after_results(self, state: RunState, results: Sequence[ToolResult]) -> None:
        """Record the results."""
        self._step = state.step
        self._has_announced = False
        for result in results:
            self._note(result)
            self.detector.record(step_of(result))
            if self.detector.has_changed_files:
                self._come_down()
            self._alarm = self.detector.look() or self._alarm

    async def before_step(self, state: RunState) -> Decision:
        """Escalate if a loop was detected."""
        self._step = state.step
        loop, self._alarm = self._alarm, None
        return await self._climb(state, loop) if loop else None

    async def after_answer(self, state: RunState, answer: Completion) -> Decision:
        """Respond to an answer that repeated itself, and to repeated announcements without a call."""
        if answer.finish_reason == FINISH_REASON:
            return await self._after_chant(state)
        from localllm.agent.checks.completion_checks import has_announced  # the first request comes before it

        if self._has_announced or not has_announced(state, answer):
            return None
        self._has_announced = True
        self._announcements += 1
        if self._announcements < self.detector.threshold or self.rung >= Rung.STEP_BACK:
            return None  # announcements alone are no reason to consult others
        loop = Loop("monologue", self._announcements)
        self._announcements = 0
        return await self._climb(state, loop)

    def blocker(self, reason: str, goal: str) -> "Blocker":
        """Return the report of what blocks this run so far."""
        from localllm.agent.blocker_report import Blocker  # rarely needed

        return Blocker(
            reason=reason,
            goal=goal,
            attempts=tuple(self.attempts),
            errors=tuple(self._errors),
            advice=tuple(consultation.plan for consultation in self._consultations if consultation.plan),
            pattern=self._loop.pattern if self._loop and self.rung is Rung.STOP else "",
        )

    @property
    def _consultations(self) -> tuple[Consultation, ...]:
        return (*self._three, *self._boss)

    def _note(self, result: ToolResult) -> None:
        self.attempts.append(Attempt(result.call, result.for_model, not result.success))
        if result.error:
            self._errors[result.error.key] = None

    def _come_down(self) -> None:
        self._announcements = 0
        if self._may_come_down and self.rung > Rung.GROUND:
            self.rung = Rung(self.rung - 1)
        self._may_come_down = False

    async def _after_chant(self, state: RunState) -> Decision:
        """Report the first repetition to the model; escalate further ones."""
        self._chants += 1
        if self._chants > 1:
            return await self._climb(state, Loop("chanting", self._chants)) or Inject(remark("chanting"))
        state.emit(Notice(text=_("The answer was cut off: it repeated one passage over and over."), level="warning"))
        return Inject(remark("chanting"))

    async def _climb(self, state: RunState, loop: Loop) -> Decision:
        """Go to the next available level."""
        self._loop = loop
        self._may_come_down = True
        self.rung = self._next()
        said, told = _said(loop), _told(loop)
        match self.rung:
            case Rung.NOTICE:
                state.emit(
                    Notice(text=_("The model is repeating itself and was told so: {loop}.", loop=said), level="warning")
                )
                return Inject(told)
            case Rung.STEP_BACK:
                state.emit(
                    Notice(
                        text=_(
                            "Still going in circles; the model was asked to step back and think again: {loop}.",
                            loop=said,
                        ),
                        level="warning",
                    )
                )
                return Inject(remark("step_back", loop=_within(loop), goal=state.goal[:_LONGEST_GOAL_ASKED]))
            case Rung.THREE | Rung.BOSS if self.advisers:
                return await self._unless_spoken(partial(self._consult, state, loop, self.advisers))
            case _:
                return Stop("stuck", Phrase("Stopped because the model was going in circles: {loop}.", loop=said))

    def _next(self) -> Rung:
        rung = Rung(min(self.rung + 1, Rung.STOP))
        if rung is Rung.THREE and (not self.advisers or len(self._three) >= _MOST_CONSULTATIONS):
            rung = Rung.BOSS
        if rung is Rung.BOSS and (not self.advisers or len(self._boss) >= _MOST_CONSULTATIONS):
            rung = Rung.STOP
        return rung

    async def _consult(self, state: RunState, loop: Loop, advisers: Advisers) -> Decision:
        """Consult the panel, and the boss if it is unsure; or only the boss."""
        from localllm.agent.panel.dossier import make_dossier  # rarely needed

        attempts, messages = tuple(self.attempts), state.history.messages
        dossier = make_dossier(state.goal, _said(loop).english, attempts, messages, read=self._read, tools=state.tools)
        earlier = self._consultations
        given, asks_boss = Consultation(), self.rung is Rung.BOSS
        if not asks_boss:
            given = await self._ask_three(state, loop, dossier, advisers)
            self._three.append(given)
        if not (given.plan and given.is_sure) and len(self._boss) < _MOST_CONSULTATIONS:
            self.rung = Rung.BOSS
            asked = (*earlier, given) if given.plan else earlier
            key = (
                N_("Asking the boss for advice: {loop}.")
                if asks_boss
                else N_("The panel is not sure of its advice; asking the boss.")
            )
            state.emit(Notice(text=_(key, loop=_said(loop)), level="warning"))
            boss = await advisers.ask_boss(dossier, asked, state.emit)
            self._boss.append(boss)
            given = boss if boss.plan else given
        return self._with_plan(state, loop, given)

    async def _ask_three(self, state: RunState, loop: Loop, dossier: Dossier, advisers: Advisers) -> Consultation:
        state.emit(
            Notice(text=_("Still stuck; asking the panel for advice: {loop}.", loop=_said(loop)), level="warning")
        )
        return await advisers.ask_three(dossier, state.emit)

    def _with_plan(self, state: RunState, loop: Loop, given: Consultation) -> Inject:
        """Inject the plan; without one, tell model and user that the agent continues alone."""
        if given.plan:
            return Inject(remark("advice", loop=_said(loop).english, plan=given.plan))
        state.emit(Notice(text=_("No advice is available; the agent continues without it."), level="warning"))
        return Inject(remark("alone", loop=_within(loop)))


def step_of(result: ToolResult) -> Step:
    """Convert a call and its result to the detector's form."""
    return Step(
        tool=result.call.name.strip().lower(),
        arguments=result.call.arguments,
        result=result.for_model,
        error=result.error.key if result.error else "",
        changed=result.changes,
        waits=result.call.name == "command_output" and result.payload.get("running") is True,
    )


def _said(loop: Loop) -> Phrase:
    """Return the loop as a phrase for the user."""
    return Phrase(_PATTERNS[loop.pattern], count=loop.count, what=loop.what)


def _told(loop: Loop) -> str:
    """Return the loop as a remark for the model."""
    return remark(loop.pattern, count=loop.count, what=loop.what)


def _within(loop: Loop) -> str:
    """Return what is told of a loop as a part of another remark, whose brackets are enough."""
    return _told(loop).removeprefix("[").removesuffix("]")
