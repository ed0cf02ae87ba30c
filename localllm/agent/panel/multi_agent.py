"""MultiAgentSystem: two advisers and a judge, or the boss, advise a stuck agent."""

import asyncio
import random
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal, NamedTuple

import msgspec

from localllm.agent.panel.asker import Answer, Asked, Asker, Question, free_tokens, role_name
from localllm.agent.panel.dossier import MOST_TOKENS, cut_end, dossier_text
from localllm.agent.panel.members import (
    AGENT_ROLES,
    SECONDS_TO_CHOOSE,
    HealthChecker,
    Members,
    Role,
    choose_best,
    instructions,
    is_same_model,
    name_of,
    server_of,
)
from localllm.agent.panel.records import Consultation, Dossier, MainPrompt
from localllm.agent.panel.verdict import SURE, parts_of, plan_of, plan_without_judge, read_verdict, verdict_schema
from localllm.base.events import AgentEvent, Consulted, Emit, Json, Notice, Opinion, Usage
from localllm.base.i18n import _
from localllm.base.rate_limit import RateLimiter
from localllm.config.schema import Settings
from localllm.llm.client import LLMClient
from localllm.llm.providers.base import Slots
from localllm.llm.tokens import estimate_tokens

_ADVISERS: tuple[Role, ...] = ("conservative", "progressive")
_EARLIER_TOKENS = 1_200


LEAST_FREE = 3_000
"""Minimum free tokens after the main conversation for a question, a thought and an answer."""


class Place(NamedTuple):
    """How members with the main model are asked about a prompt: after it, or with a dossier in the cache slot `slot`,
    if the server has a free one."""

    prompt: MainPrompt
    slot: int | None
    is_behind: bool


class MultiAgentSystem:
    """The panel according to the settings' `agents.panel`.
    `client` is the agent's, and used by every role without settings. `rng` orders the opinions for the judge.

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
        self._place: Place | None = None

    @property
    def llm_clients(self) -> dict[str, LLMClient]:
        """The client of each role that has a model."""
        return self._members.clients()

    async def ask_three(self, dossier: Dossier, emit: Emit, *, by_hand: bool = False) -> Consultation:
        """Get two opinions in separate requests, and a judgement of them, anonymous and in random order."""
        dossier, slot = await self._placed(dossier, ("conservative", "progressive", "judge"), emit)
        order = sorted(_ADVISERS, key=self._leaves_main)
        asked = (Asked(role=role, question=dossier_text, dossier=dossier, by_hand=by_hand, slot=slot) for role in order)
        answered = dict(zip(order, await asyncio.gather(*(self._advise(one, emit) for one in asked)), strict=True))
        advised = [answered[role] for role in _ADVISERS]
        opinions = [answer.opinion for answer in advised if answer.opinion]
        if not opinions:
            return self._conclude("panel", dossier, advised, None, emit, by_hand=by_hand)
        question = _for_judge(self._shuffled(opinions))
        judged = await self._decide("judge", question, dossier, emit, by_hand=by_hand, slot=slot)
        return self._conclude("panel", dossier, advised, judged, emit, by_hand=by_hand)

    async def ask_boss(
        self, dossier: Dossier, earlier: Sequence[Consultation], emit: Emit, *, by_hand: bool = False
    ) -> Consultation:
        """Ask the boss about the dossier and the `earlier` advice: if not set, the model on the panel that is best at
        reasoning, in case of a tie the main one."""
        await self._members.appoint_boss(self.health_checker)
        dossier, slot = await self._placed(dossier, ("boss",), emit)
        decided = await self._decide("boss", _for_boss(earlier), dossier, emit, by_hand=by_hand, slot=slot)
        return self._conclude("boss", dossier, [], decided, emit, by_hand=by_hand)

    async def three_wise_consultation(self, problem: str, context: Mapping[str, Json] | None = None) -> dict[str, Json]:
        """Return the panel's advice on `problem`: opinions, plan, confidence, is_sure, left_out.
        In `context`, `goal` is the goal; every other entry is shown under its name."""
        return msgspec.to_builtins(await self.ask_three(_dossier_of(problem, context), _to_nobody))

    async def boss_consultation(
        self, complex_problem: str, consultation_history: Sequence[Mapping[str, Json]] | None = None
    ) -> dict[str, Json]:
        """Return the boss's advice, like `three_wise_consultation`.
        It is given the results in `consultation_history`; by default, all earlier advice."""
        given: Sequence[Any] = self.consultation_history if consultation_history is None else consultation_history
        earlier = [msgspec.convert(_advice(one), Consultation) for one in given]
        return msgspec.to_builtins(await self.ask_boss(_dossier_of(complex_problem, None), earlier, _to_nobody))

    async def health_check_providers(self) -> dict[str, bool]:
        """Return whether each server is healthy, by its provider and address; each is asked once."""
        health = await self.health_checker.check(self._servers(), anew=True)
        return {name: one.status == "healthy" for name, one in health.items()}

    async def select_best_provider(self, task_type: str | None = None) -> str:
        """Return the most suitable server for `task_type`, by ability, window and latency.
        It is named as in `health_check_providers`; the types are `members.TASKS`. Raises like `choose_best`."""
        servers = self._servers()
        return await choose_best(servers, await self.health_checker.check(servers), task_type or "")

    def apply_rate_limiting(self, provider: str) -> bool:
        """Return whether the rate limit allows `provider` now, or soon enough to wait, without consuming the turn.
        `provider` is its name, or as in `health_check_providers`. Raises KeyError for an unused one."""
        for name, client in self._servers().items():
            if provider in (name, client.provider.name):
                return self._admits(client)
        raise KeyError(provider)

    async def aclose(self) -> None:
        """Close the connections of the roles' own clients."""
        await self._members.aclose()

    async def _advise(self, asked: Asked, emit: Emit) -> Answer:
        answer = await self._asker.ask(asked, emit)
        if answer.opinion is None:
            return answer
        short = cut_end(answer.opinion.text, self._settings.max_tokens)
        return answer._replace(opinion=msgspec.structs.replace(answer.opinion, text=short))

    async def _decide(
        self, role: Role, question: Question, dossier: Dossier, emit: Emit, *, by_hand: bool, slot: int | None
    ) -> Answer:
        schema = verdict_schema()
        asked = Asked(role=role, question=question, dossier=dossier, by_hand=by_hand, schema=schema, slot=slot)
        return await self._asker.ask(asked, emit)

    async def _placed(self, dossier: Dossier, roles: Sequence[Role], emit: Emit) -> tuple[Dossier, int | None]:
        """Return the dossier, without the main prompt if nobody is asked after it, and its cache slot. The choice is
        kept until the conversation continues: the latest requests on its server are now the members' own."""
        if (prompt := dossier.main) is None:
            return dossier, None
        if self._place is None or self._place.prompt != prompt:
            self._place = await self._choose_place(prompt)
        if self._place.slot is None:
            self._warn_of_reading_anew(roles, emit)
        placed = dossier if self._place.is_behind else msgspec.structs.replace(dossier, main=None)
        return placed, self._place.slot

    async def _choose_place(self, prompt: MainPrompt) -> Place:
        main, slot = self._members.main, None
        await main.get_ready()
        if isinstance(main.provider, Slots):
            with suppress(TimeoutError):
                async with asyncio.timeout(SECONDS_TO_CHOOSE):
                    slot = await main.provider.free_slot()
        return Place(prompt, slot, slot is None and free_tokens(main, prompt) >= LEAST_FREE)

    def _leaves_main(self, role: Role) -> bool:
        """Return whether `role` does not ask after the main conversation: then it comes last, so that a server with one
        slot has to process the conversation again at most once."""
        client = self.llm_clients.get(role)
        return client is not None and not is_same_model(client, self._members.main)

    def _warn_of_reading_anew(self, roles: Sequence[Role], emit: Emit) -> None:
        """Warn of roles with another model on the main model's server: it may evict the conversation's cache. A service
        on the internet (https) has room for both."""
        main, clients = self._members.main, self.llm_clients
        if main.provider.address.startswith("https://"):
            return
        others = filter(self._leaves_main, roles)
        if names := [role_name(role) for role in others if server_of(clients[role]) == server_of(main)]:
            emit(
                Notice(
                    text=_(
                        "{members}: another model on the same server; the server may have to reread the "
                        "conversation once.",
                        members=", ".join(names),
                    )
                )
            )

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
        """Create, emit and record the consultation. `decided` is the judge's or the boss's answer, if any."""
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
        """Return a client of each distinct server, the main one first."""
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


def _for_judge(opinions: Sequence[Opinion]) -> Question:
    """Format the dossier with the opinions, limited to a third of the room."""

    def text(dossier: Dossier, room: int) -> str:
        share = room // (3 * len(opinions))
        told = [f"## Opinion {letter}\n{cut_end(one.text, share)}" for letter, one in zip("AB", opinions, strict=False)]
        return _with("\n\n".join(told), dossier, room)

    return text


def _for_boss(earlier: Sequence[Consultation]) -> Question:
    """Format the dossier with the earlier advice."""

    def text(dossier: Dossier, room: int) -> str:
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
    """Return what the boss sees of a consultation in either form."""
    plan = given.plan if isinstance(given, Consulted) else given.get("plan", "")
    return {"plan": plan}


def _to_nobody(_event: AgentEvent) -> None:
    """Ignore the event."""
