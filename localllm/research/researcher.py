"""The entry point of research, for the command line, the chat's tool and tasks."""

import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from localllm.base.errors import LocalLLMError, ResearchError, ResearchUsageError
from localllm.base.events import Json
from localllm.base.jsontext import decode_json, encode_json
from localllm.llm.client import LLMClient
from localllm.research.forecast import forecast
from localllm.research.local_documents import Documents, JoinedDocuments, LocalDocuments, none_closed
from localllm.research.model_calls import Reply, Roles
from localllm.research.note_cache import NoteCache
from localllm.research.options import ResearchOptions
from localllm.research.query_plan import plan_queries
from localllm.research.records import STAGES, ResearchState, Stage
from localllm.research.report.report_files import write_failure
from localllm.research.run_context import Budget, OnEvent, RunContext, Speed, local_now, nobody
from localllm.research.run_events import Forecast, ModelAnswered
from localllm.research.run_store import HISTORY, RUN_ID, RunLock, RunStore, reserve_run, run_folder
from localllm.research.single_stage import rewind
from localllm.research.source_search import tell_queries
from localllm.research.tracing import NoTracer, RunTracer, Tracer
from localllm.research.workflow import run_stage, run_stages
from localllm.web.meta_search import MetaSearch
from localllm.web.page_reader import PageReader

CACHE = "cache"
"""The folder of caches shared by runs, in the data folder."""

if TYPE_CHECKING:
    from localllm.rag.knowledge_base import KnowledgeBase

_RUNS_LOOKED_AT = 5


class Researcher:
    """Run research with one model. `search` and `reader` are None if the web is off; `data_folder` has the history.
    They are not closed here.

    `language` is the default language of the report ("ja" or "en"), or returns it for a question. `tracer` traces the
    runs; None for no trace. `open_store` opens the store in a run's folder. Links in the `project` that lead out of
    it, and documents that `closed` denies, are not read. `caches` has the notes on pages (by default a folder in
    `data_folder`).
    """

    def __init__(
        self,
        client: LLMClient,
        search: MetaSearch | None,
        reader: PageReader | None,
        data_folder: Path,
        options: ResearchOptions,
        on_event: OnEvent = nobody,
        *,
        language: str | Callable[[str], str] = "en",
        today: Callable[[], date] = date.today,
        clock: Callable[[], float] = time.monotonic,
        tracer: Tracer | None = None,
        open_store: Callable[[Path], RunStore] = RunStore,
        knowledge: "KnowledgeBase | None" = None,
        project: Path | None = None,
        closed: Callable[[], Callable[[str], bool]] = none_closed,
        caches: Path | None = None,
    ) -> None:
        self._client = client
        self._search = search
        self._reader = reader
        self._data_folder = data_folder
        self._options = options
        self._on_event = on_event
        self._language = language if options.language == "auto" else options.language
        self._today = today
        self._clock = clock
        self._speed = Speed()
        self._tracer = tracer or NoTracer()
        self._open_store = open_store
        self._knowledge = knowledge
        self._project = project
        self._closed = closed
        self._caches = caches or data_folder / CACHE

    async def forecast(self) -> Forecast:
        """Estimate a run, at the speed of the latest run with this model. Raises LLMConnectionError."""
        model = await self._client.resolve_model()
        return forecast(self._options, self._speed if self._speed.requests else self._earlier_speed(model))

    async def run(self, question: str = "", *, resume: str = "", queries: tuple[str, ...] = ()) -> ResearchState:
        """Answer a question, or resume the run `resume` with its options; `queries` replace the first ones if it has
        not searched yet. Returns the finished state.

        Raises ResearchError, LLMConnectionError (before the run starts). If cancelled, it can be resumed.
        """
        return await self._work(question, resume, lambda run: self._go_on(run, queries))

    async def plan(self, question: str = "", *, resume: str = "") -> ResearchState:
        """Start or resume a run, up to its queries; `run` with its id continues.

        Raises as `run`; ResearchUsageError (research_searched) if it has searched already.
        """

        async def until_search(run: RunContext) -> ResearchState:
            state = run.state
            if state.round or state.next not in (*STAGES[: STAGES.index("search") + 1],):
                raise ResearchUsageError("research_searched", id=state.id)
            return await run_stages(run, until="search")

        return await self._work(question, resume, until_search)

    async def run_alone(self, stage: Stage, question: str = "", *, resume: str = "") -> ResearchState:
        """Run one stage: of a new run, after the stages before it; of an existing run, on its results.

        Raises as `run`.
        """

        async def only_stage(run: RunContext) -> ResearchState:
            if resume:
                rewind(run.state, stage)
            else:
                await run_stages(run, until=stage)
            await run_stage(run, stage)
            run.store.save_state(run.state)
            return run.state

        return await self._work(question, resume, only_stage)

    async def _work(
        self, question: str, resume: str, work: Callable[[RunContext], Awaitable[ResearchState]]
    ) -> ResearchState:
        if not resume and not question.strip():
            raise ResearchUsageError("research_no_question")
        options = self._options
        folder = run_folder(self._data_folder, resume) if resume else None
        if not resume:
            self._check_sources(options)
        model = await self._client.resolve_model()
        if folder is None:
            _name, folder = reserve_run(self._data_folder, self._today().year)
        with RunLock(folder), self._open_store(folder) as store:
            state = self._taken_up(store) if resume else self._begun(store, question)
            state.model = model
            with self._tracer.run(state) as tracer:
                try:
                    return await work(self._context(store, state, tracer))
                except LocalLLMError as error:
                    with suppress(ResearchError):  # on a full disk: report the error that ended the run
                        write_failure(state, folder, error)
                    raise

    async def _go_on(self, run: RunContext, queries: tuple[str, ...]) -> ResearchState:
        state = run.state
        if queries and state.next == "search" and not state.round:
            state.queries = []
            tell_queries(
                run, await plan_queries(state, run.roles, msgspec.structs.replace(run.options, queries=queries))
            )
            run.store.save_state(state)
        return await run_stages(run)

    def _check_sources(self, options: ResearchOptions) -> None:
        if self._search is None and not (options.docs or options.collections):
            raise ResearchUsageError("research_no_sources")
        self._documents(options)

    def _documents(self, options: ResearchOptions) -> Documents | None:
        """Return the sources searched besides the web. Raises ResearchUsageError, KnowledgeBaseUsageError."""
        places: list[Documents] = []
        if options.docs:
            places.append(LocalDocuments(list(map(Path, options.docs)), self._project, self._closed))
        if options.collections and self._knowledge is not None:
            from localllm.research.collection_documents import CollectionDocuments

            places.append(CollectionDocuments(self._knowledge, options.collections))
        return places[0] if len(places) == 1 else JoinedDocuments(places) if places else None

    def _begun(self, store: RunStore, question: str) -> ResearchState:
        state = new_state(
            store.folder.name,
            question,
            self._options,
            language=self._language if isinstance(self._language, str) else self._language(question),
            today=self._today(),
        )
        store.save_state(state)
        return state

    def _taken_up(self, store: RunStore) -> ResearchState:
        state = store.load_state()
        if state is None:
            raise ResearchUsageError("research_no_run", id=store.folder.name, folder=self._data_folder / HISTORY)
        return state

    def _context(self, store: RunStore, state: ResearchState, tracer: RunTracer) -> RunContext:
        options = msgspec.convert(state.options, ResearchOptions) if state.options else self._options
        budget = Budget(options, state.numbers.seconds, clock=self._clock)
        budget.tokens = store.spent().tokens

        def note(reply: Reply) -> None:
            self._speed.note(reply)
            budget.tokens += reply.tokens
            state.numbers.model_seconds += reply.seconds
            left = forecast(options, self._speed, state)
            run.tell(
                ModelAnswered(run=state.id, role=reply.role, tokens=reply.tokens, seconds=reply.seconds, forecast=left)
            )

        def may_ask(writes: bool) -> bool:  # a report needs a text, however late it is
            return budget.allows(writes) or (writes and not state.sections)

        roles = Roles(
            self._client,
            store,
            options,
            today=state.today,
            language=state.language,
            may_ask=may_ask,
            on_reply=note,
            tracer=tracer,
            notes=NoteCache(self._caches) if options.use_cache else None,
        )
        run = RunContext(
            state=state,
            store=store,
            roles=roles,
            options=options,
            language=state.language,
            budget=budget,
            search=self._search if options.use_web else None,
            reader=self._reader,
            documents=self._documents(options),
            on_event=self._on_event,
            speed=self._speed,
            tracer=tracer,
        )
        return run

    def _earlier_speed(self, model: str) -> Speed:
        """Return this model's speed in its latest run."""
        history = self._data_folder / HISTORY
        names = sorted((one.name for one in history.iterdir()), reverse=True) if history.is_dir() else []
        for name in [one for one in names if RUN_ID.fullmatch(one)][:_RUNS_LOOKED_AT]:
            with suppress(ResearchError), RunStore(run_folder(self._data_folder, name)) as store:
                state = store.load_state()
                if state and state.model == model and state.numbers.requests and state.numbers.model_seconds:
                    return Speed(state.numbers.requests, state.numbers.model_seconds)
        return Speed()


def new_state(
    name: str, question: str, options: ResearchOptions, *, language: str, today: date, task: str = ""
) -> ResearchState:
    """Create the state of a new run."""
    return ResearchState(
        id=name,
        question=question.strip(),
        today=today.isoformat(),
        started=local_now(),
        task=task,
        language=language,
        options=decode_json(encode_json(options), dict[str, Json]),
    )
