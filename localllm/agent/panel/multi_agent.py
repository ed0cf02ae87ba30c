"""MultiAgentSystem: two advisers and a judge, or the boss, answer where the agent is stuck."""

import asyncio
import random
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, Literal, NamedTuple

import msgspec

from localllm.agent.panel.dossier import Consultation, Dossier
from localllm.agent.panel.dossier_text import MOST_TOKENS, cut_end, dossier_text
from localllm.agent.panel.members import (
    AGENT_ROLES,
    HealthChecker,
    Members,
    Role,
    choose_best,
    instructions,
    name_of,
    server_of,
)
from localllm.agent.panel.verdict import SURE, parts_of, plan_of, plan_without_judge, read_verdict, verdict_schema
from localllm.base.errors import ConfigurationError, LLMConnectionError, LocalLLMError
from localllm.base.events import AgentEvent, Consulted, Emit, Json, Notice, Opinion, Usage
from localllm.base.i18n import N_, _
from localllm.config.schema import PanelSettings, RoleSettings, Settings
from localllm.llm.client import LLMClient
from localllm.llm.messages import SystemMessage, UserMessage
from localllm.llm.retry import RateLimiter
from localllm.llm.tokens import estimate_tokens

_ROLES = {
    "conservative": N_("conservative"),
    "progressive": N_("progressive"),
    "judge": N_("judge"),
    "boss": N_("boss"),
}

_TO_THINK = 2_000
"""Tokens a model may think before its answer, which servers count with it."""


_MARGIN = 1.15
"""A question may be so much longer than estimated."""

Question = Callable[[int], str]
"""A question in so many tokens."""


class Answer(NamedTuple):
    """What a member said; `opinion` is None for one that did not, and `left_out` says who and why."""

    opinion: Opinion | None
    left_out: str = ""
    usage: Usage = Usage()


class Asker:
    """Asks `members`. `admits` says whether a client may be asked now as far as its rate goes."""

    def __init__(self, members: Members, settings: PanelSettings, admits: Callable[[LLMClient], bool]) -> None:
        self._members = members
        self._settings = settings
        self._admits = admits
        self._turns: dict[str, asyncio.Lock] = {}

    async def ask(
        self,
        role: Role,
        question: Question,
        emit: Emit,
        *,
        by_hand: bool = False,
        schema: dict[str, Json] | None = None,
    ) -> Answer:
        """What `role` says to `question`. Raises nothing but an interrupt."""
        try:
            client = self._members.client(role)
        except LocalLLMError as error:
            is_setting = isinstance(error, ConfigurationError)  # it stays so until the person has fixed it
            return Answer(None, _left_out(role, "", f"{error.what} {error.fix}" if is_setting else error.what))
        try:
            async with self._turns.setdefault(server_of(client), asyncio.Lock()):
                if not self._admits(client):
                    return Answer(None, _left_out(role, _who(client), _("its server may not be asked so soon again")))
                async with asyncio.timeout(self._settings.timeout):
                    return await self._ask(client, role, question, emit, by_hand=by_hand, schema=schema)
        except TimeoutError:
            reason = _("no answer within {seconds} s", seconds=f"{self._settings.timeout:g}")
        except LocalLLMError as error:
            reason = error.what
        return Answer(None, _left_out(role, _who(client), reason))

    async def _ask(
        self,
        client: LLMClient,
        role: Role,
        question: Question,
        emit: Emit,
        *,
        by_hand: bool,
        schema: dict[str, Json] | None,
    ) -> Answer:
        def tell(notice: str) -> None:
            emit(Notice(text=f"{_(_ROLES[role])}: {notice}", level="warning"))

        await client.get_ready()
        told = instructions(role, by_hand=by_hand)
        messages = (SystemMessage(told), UserMessage(question(self._room(client, told))))
        ask = partial(client.complete, messages, max_tokens=self._settings.max_tokens + _TO_THINK, on_notice=tell)
        try:
            completion = await ask(schema=schema)
        except LLMConnectionError as error:
            if schema is None or error.key != "llm_bad_call":
                raise
            completion = await ask()  # in the middle of its answer the server could not read it: llama.cpp, at times
        text = completion.message.text.strip()
        who = client.answering
        if not text:
            return Answer(None, _left_out(role, _who(who), _("it said nothing")), completion.usage)
        opinion = Opinion(role=role, text=text, provider=who.provider.name, model=who.model)
        return Answer(opinion, usage=completion.usage)

    def _room(self, client: LLMClient, told: str) -> int:
        """Tokens of its window that a question may take."""
        window = client.context_window
        answer = min(self._settings.max_tokens, window // 4)
        return int((window - answer - client.estimate_tokens(told)) / _MARGIN)


def _who(client: LLMClient) -> str:
    """The provider and the model, or, before that is known, the address."""
    return f"{client.provider.name} {client.model or client.provider.address}".strip()


def _left_out(role: Role, who: str, reason: str) -> str:
    name = _(_ROLES[role])
    return _("{member}: {reason}", member=f"{name} ({who})" if who else name, reason=reason.rstrip(".。 "))


_ADVISERS: tuple[Role, ...] = ("conservative", "progressive")
_EARLIER_TOKENS = 1_200
_FEWEST_TO_CHOOSE_FROM = 2
_SECONDS_TO_CHOOSE = 5.0


class MultiAgentSystem:
    """The panel over the settings' `agents.panel`. `client` does the work, and stands for every role that has nothing
    set. `rng` orders the opinions for the judge.

    Implements Advisers; `three_wise_consultation` and `boss_consultation` are the same with plain values.
    """

    def __init__(
        self,
        client: LLMClient,
        settings: Settings,
        root: Path,
        environ: Mapping[str, str],
        *,
        rng: random.Random | None = None,
        health_checker: HealthChecker | None = None,
    ) -> None:
        self.agent_roles: dict[str, str] = {role: instructions(role) for role in AGENT_ROLES}
        self.consultation_history: list[Consulted] = []
        self.rate_limiter: RateLimiter = client.limiter
        self.health_checker = health_checker or HealthChecker()
        self.fallback_providers: list[str] = list(settings.llm.fallback_providers)
        self._settings = settings.agents.panel
        self._members = Members(client, settings, root, environ)
        self._asker = Asker(self._members, self._settings, self._admits)
        self._rng = rng or random.Random()  # noqa: S311 - an order, no secret

    @property
    def llm_clients(self) -> dict[str, LLMClient]:
        """Whom each role asks, by role; without those that have no model."""
        return self._members.clients()

    async def ask_three(self, dossier: Dossier, emit: Emit, *, by_hand: bool = False) -> Consultation:
        """Two opinions, each from a request of its own, and a judge who sees them unnamed and in random order."""
        advised = await asyncio.gather(*(self._advise(role, dossier, emit, by_hand=by_hand) for role in _ADVISERS))
        opinions = [answer.opinion for answer in advised if answer.opinion]
        if not opinions:
            return self._conclude("panel", dossier, advised, None, emit, by_hand=by_hand)
        judged = await self._decide("judge", _for_judge(dossier, self._shuffled(opinions)), emit, by_hand=by_hand)
        return self._conclude("panel", dossier, advised, judged, emit, by_hand=by_hand)

    async def ask_boss(
        self, dossier: Dossier, earlier: Sequence[Consultation], emit: Emit, *, by_hand: bool = False
    ) -> Consultation:
        """The boss, who is shown the dossier and what was advised `earlier`: where the settings name none, the model
        on the panel that is best at reasoning, and of equal ones the one that does the work."""
        await self._appoint_boss()
        decided = await self._decide("boss", _for_boss(dossier, earlier), emit, by_hand=by_hand)
        return self._conclude("boss", dossier, [], decided, emit, by_hand=by_hand)

    async def three_wise_consultation(self, problem: str, context: Mapping[str, Json] | None = None) -> dict[str, Json]:
        """The advice of the three on `problem`: opinions, plan, confidence, is_sure, left_out. Of `context`, `goal` is
        what is wanted; every other entry is shown under its name."""
        return msgspec.to_builtins(await self.ask_three(_dossier_of(problem, context), _to_nobody))

    async def boss_consultation(
        self, complex_problem: str, consultation_history: Sequence[Mapping[str, Json]] | None = None
    ) -> dict[str, Json]:
        """The boss's advice, as in `three_wise_consultation`, who is shown the results in `consultation_history`;
        without one, all that was advised so far."""
        given: Sequence[Any] = self.consultation_history if consultation_history is None else consultation_history
        earlier = [msgspec.convert(_advice(one), Consultation) for one in given]
        return msgspec.to_builtins(await self.ask_boss(_dossier_of(complex_problem, None), earlier, _to_nobody))

    async def health_check_providers(self) -> dict[str, bool]:
        """Whether each server is well, by its provider and address; each is asked once."""
        health = await self.health_checker.check(self._servers(), anew=True)
        return {name: one.status == "healthy" for name, one in health.items()}

    async def select_best_provider(self, task_type: str | None = None) -> str:
        """The server that suits `task_type` (see panel.choosing.TASKS) best, as `health_check_providers` names it: by
        ability, window and latency. Raises as `choose_best` does."""
        servers = self._servers()
        return await choose_best(servers, await self.health_checker.check(servers), task_type or "")

    def apply_rate_limiting(self, provider: str) -> bool:
        """Whether `provider` (its name, or as `health_check_providers` has it) may be asked now, or so soon that a
        member can wait. The request itself takes the turn. Raises KeyError for one that nobody asks."""
        for name, client in self._servers().items():
            if provider in (name, client.provider.name):
                return self._admits(client)
        raise KeyError(provider)

    async def aclose(self) -> None:
        """Close the connections of the roles' own clients."""
        await self._members.aclose()

    async def _appoint_boss(self) -> None:
        """Choose the boss, where there is a choice; a server that does not answer at once is none."""
        self._members.boss = None
        candidates = self._members.candidates()
        if self._settings.boss != RoleSettings() or len(candidates) < _FEWEST_TO_CHOOSE_FROM:
            return
        with suppress(TimeoutError, LLMConnectionError):
            async with asyncio.timeout(_SECONDS_TO_CHOOSE):
                health = await self.health_checker.check(candidates)
                equally_fast = {name: msgspec.structs.replace(one, latency=0.0) for name, one in health.items()}
                self._members.boss = candidates[await choose_best(candidates, equally_fast, "reasoning")]

    async def _advise(self, role: Role, dossier: Dossier, emit: Emit, *, by_hand: bool) -> Answer:
        answer = await self._asker.ask(role, partial(dossier_text, dossier), emit, by_hand=by_hand)
        if answer.opinion is None:
            return answer
        short = cut_end(answer.opinion.text, self._settings.max_tokens)
        return answer._replace(opinion=msgspec.structs.replace(answer.opinion, text=short))

    async def _decide(self, role: Role, question: Question, emit: Emit, *, by_hand: bool) -> Answer:
        return await self._asker.ask(role, question, emit, by_hand=by_hand, schema=verdict_schema())

    def _shuffled(self, opinions: Sequence[Opinion]) -> list[Opinion]:
        return self._rng.sample(opinions, len(opinions))

    def _conclude(
        self,
        kind: Literal["panel", "boss"],
        dossier: Dossier,
        advised: Sequence[Answer],
        decided: Answer | None,
        emit: Emit,
        *,
        by_hand: bool,
    ) -> Consultation:
        """What came of it all, told and kept. `decided` is the judge's or the boss's answer, if there was one."""
        answers = [*advised, *([decided] if decided else [])]
        left_out = tuple(answer.left_out for answer in answers if answer.left_out)
        opinions = [answer.opinion for answer in advised if answer.opinion]
        consultation = _concluded(opinions, decided.opinion if decided else None, left_out)
        event = Consulted(
            kind=kind,
            question=dossier.goal if by_hand else dossier.problem,
            opinions=consultation.opinions,
            plan=consultation.plan,
            confidence=consultation.confidence,
            left_out=left_out,
            by_hand=by_hand,
            usage=sum((answer.usage for answer in answers), Usage()),
            verdict=consultation.verdict,
        )
        self.consultation_history.append(event)
        emit(event)
        return consultation

    def _servers(self) -> dict[str, LLMClient]:
        """A client of each distinct server, the main one first."""
        found: dict[str, LLMClient] = {}
        main = self._members.main
        for client in (*([main] if main.provider.name != "embedded" else []), *self.llm_clients.values()):
            found.setdefault(server_of(client), client)
        return {name_of(client): client for client in found.values()}

    def _admits(self, client: LLMClient) -> bool:
        return self.rate_limiter.delay(client.provider.address) <= self._settings.timeout


def _concluded(opinions: Sequence[Opinion], decided: Opinion | None, left_out: tuple[str, ...]) -> Consultation:
    if decided is None:
        plan = plan_without_judge(opinions) if opinions else ""
        return Consultation(opinions=tuple(opinions), plan=plan, left_out=left_out)
    verdict = read_verdict(decided.text)
    plan = plan_of(verdict)
    said = msgspec.structs.replace(decided, text=verdict.verdict or plan)
    return Consultation(
        opinions=(*opinions, said),
        plan=plan,
        confidence=verdict.confidence,
        is_sure=verdict.confidence >= SURE,
        left_out=left_out,
        verdict=parts_of(verdict),
    )


def _for_judge(dossier: Dossier, opinions: Sequence[Opinion]) -> Question:
    """The dossier with the opinions, which take a third of a small room at most."""

    def text(room: int) -> str:
        share = room // (3 * len(opinions))
        told = [f"## Opinion {letter}\n{cut_end(one.text, share)}" for letter, one in zip("AB", opinions, strict=False)]
        return _with("\n\n".join(told), dossier, room)

    return text


def _for_boss(dossier: Dossier, earlier: Sequence[Consultation]) -> Question:
    """The dossier with the advice given before."""

    def text(room: int) -> str:
        if not (plans := [consultation.plan for consultation in earlier if consultation.plan]):
            return dossier_text(dossier, room)
        share = min(_EARLIER_TOKENS, room // 3) // len(plans)
        told = "\n\n".join(cut_end(plan, share) for plan in plans)
        return _with(f"## Advice given earlier\n{told}", dossier, room)

    return text


def _with(end: str, dossier: Dossier, room: int) -> str:
    return f"{dossier_text(dossier, room - estimate_tokens(end))}\n\n{end}"


def _dossier_of(problem: str, context: Mapping[str, Json] | None) -> Dossier:
    given = dict(context or {})
    goal = str(given.pop("goal", problem))
    room = MOST_TOKENS // 2
    pieces = [f"{name}:\n{value}" for name, value in given.items() if value]
    snippets = tuple(cut_end(piece, room // len(pieces)) for piece in pieces)
    return Dossier(goal=cut_end(goal, room // 2), problem=cut_end(problem, room // 2), snippets=snippets)


def _advice(given: Consulted | Mapping[str, Json]) -> dict[str, Json]:
    """Of a consultation in either form, what the boss is shown."""
    plan = given.plan if isinstance(given, Consulted) else given.get("plan", "")
    return {"plan": plan}


def _to_nobody(_event: AgentEvent) -> None:
    """Nobody watches."""
