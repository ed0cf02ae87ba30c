"""The knowledge base: fill, describe, search and delete collections of documents."""

import asyncio
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import UTC, datetime
from difflib import get_close_matches
from pathlib import Path
from types import TracebackType

import msgspec

from localllm.base.errors import KnowledgeBaseUsageError, LLMConnectionError
from localllm.base.hidden_in_home import HIDDEN_LEFT_OUT, is_in_home
from localllm.base.i18n import Phrase
from localllm.base.paths import project_folder
from localllm.config.schema import Settings
from localllm.rag import chunking
from localllm.rag.chat_model import MOST_RERANKED, ChatModel
from localllm.rag.document_files import exclusion, real_roots
from localllm.rag.embedded_store import EmbeddedStore
from localllm.rag.embedder_selection import Selected, embedder_for_ingest, embedder_for_search, fits
from localllm.rag.embedding import Vector
from localllm.rag.ingest import Ingest, is_outdated
from localllm.rag.language_probe import script_of
from localllm.rag.locations import FOLDER, delivered_collections, is_name, project_collections, user_folder
from localllm.rag.manifest import Manifest
from localllm.rag.origins import named_from, origins
from localllm.rag.query import parse_query
from localllm.rag.question_parts import Search, part_floor, split_languages
from localllm.rag.records import Collection, FileRecord, Found, Hit, IngestEvent, IngestReport, OnEvent
from localllm.rag.remarks import another_model, other_version, outdated_files, outdated_hits
from localllm.rag.retrieval import Candidates, Ranked, Weights, find_candidates, merge_neighbours, rank, with_parts
from localllm.rag.shard_lock import ShardLock
from localllm.rag.store import SCHEMA, Store
from localllm.text import tokenising

_NEAREST = 5
"""Nearest passages listed when nothing was found."""
_LONGEST_QUERY = 40_000
"""Characters of a query that count; parsing them takes up to a second."""
_MANY = 20_000
"""Unindexed passages from which on a search takes noticeable time."""


def _none_closed() -> Callable[[str], bool]:
    return lambda _path: False


class KnowledgeBase:
    """The user's collections, and those the user made for the project at `root` alone; collections delivered with the
    project are ignored. All methods raise KnowledgeBaseError (E84xx).

    `model` reranks passages if rag.rerank is set. `closed` is called once per search or ingest and returns the check
    whether a rule denies reading an absolute path: such files are neither found nor ingested. `exclude`: the patterns
    for folders in the project; those of `settings` are for all others.
    """

    def __init__(
        self,
        settings: Settings,
        root: Path,
        environ: Mapping[str, str],
        model: ChatModel | None = None,
        closed: Callable[[], Callable[[str], bool]] = _none_closed,
        exclude: Sequence[str] | None = None,
    ) -> None:
        self._settings = settings
        self._model = model if settings.rag.rerank else None
        self._root = root
        self._environ = environ
        self._closed = closed
        others = settings.project.exclude_patterns
        self._exclude = exclusion(root, others if exclude is None else exclude, others)
        self._user = _user_store(settings, environ)
        self._project: Store = EmbeddedStore(project_collections(root, environ), "project")
        self._only: frozenset[str] = frozenset()
        """The names of the collections that are used; empty for all."""
        self._embedders: dict[str, Selected] = {}
        """The embedders of collections, by model name."""

    async def __aenter__(self) -> "KnowledgeBase":
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close connections and shards."""
        for store in (self._user, self._project):
            await asyncio.to_thread(store.close)
        for selected in self._embedders.values():
            if selected.embedder:
                await selected.embedder.aclose()
        self._embedders = {}

    @property
    def folder(self) -> Path:
        """The folder of the user's own collections; it need not exist."""
        return user_folder(self._settings, self._environ)

    def limit_to(self, names: Sequence[str]) -> None:
        """Use these collections only, as if there were no others; all if `names` is empty. Raises
        KnowledgeBaseUsageError for a missing one."""
        self._only = frozenset()
        self._only = frozenset(self._find(name)[1].name for name in names)

    def staleness(self, collection: Collection) -> list[Phrase]:
        """Explain why a collection is not searched as configured now, which of its files have changed since the ingest,
        and the fix. Looks at every file."""
        embedder = collection.embedder
        other = embedder is not None and not fits(self._settings, embedder)
        remarks = [*other_version(collection), *([another_model(collection, None)] if other else [])]
        store, _ = self._find(collection.name)
        known = Manifest(store.manifest(collection.name), collection.name).files().values()
        old = [one.record for one in known if one.record.reason is None and is_outdated(one)]
        if old:
            remarks.append(outdated_files(collection, [one.file for one in old], [one.path for one in old]))
        return remarks

    def collections(self) -> list[Collection]:
        """List all collections by name; one of the project hides one of the user's of the same name. Cheap: reads one
        small file each."""
        return [one for _, one in self._everything()]

    def collection(self, name: str) -> Collection:
        """Return the collection of this name. Raises KnowledgeBaseUsageError."""
        return self._find(name)[1]

    def place(self, name: str) -> str:
        """Return where a collection is stored: its folder, or the server's address."""
        store, collection = self._find(name)
        if collection.home == "server":
            return self._settings.rag.qdrant_url
        return str(store.manifest(collection.name).parent)

    def files(self, name: str) -> list[FileRecord]:
        """List the files of a collection, skipped ones included."""
        store, collection = self._find(name)
        return [known.record for known in Manifest(store.manifest(collection.name), name).files().values()]

    def may_read(self, hit: Hit) -> bool:
        """Whether the file of a hit may be read. A server could name any path, so of its collections only files
        ingested on this machine. Reads the manifest."""
        store, collection = self._find(hit.collection)
        if collection.home != "server":
            return True
        known = Manifest(store.manifest(collection.name), collection.name).files().get(hit.path)
        return known is not None and known.record.reason is None

    def describe(self, name: str, description: str, *, is_own: bool = True) -> Collection:
        """Set the description of a collection; empty lets the next ingest write it. `is_own`: the user wrote it, so
        ingests keep it and models see it as the user's; False if it was derived from documents."""
        store, collection = self._find(name)
        text = " ".join(description.split())
        changed = msgspec.structs.replace(collection, description=text, description_is_own=is_own and bool(text))
        store.save(changed)
        return changed

    def delete(self, name: str) -> Collection:
        """Delete a collection, but not its documents. Returns its last record."""
        store, collection = self._find(name)
        store.delete(collection.name)
        return collection

    async def ingest(
        self,
        paths: Sequence[Path],
        name: str = "",
        on_event: OnEvent | None = None,
        *,
        description: str = "",
        in_project: bool = False,
    ) -> IngestReport:
        """Ingest files and folders into a collection, which is created if missing (`in_project`: for this project
        alone). Unchanged files are skipped, removed ones deleted. An interrupted ingest keeps what it wrote, and the
        next one resumes it."""
        name = self._usable_name(name)
        roots = real_roots(paths, self._root)
        existing = self._named(name)
        known = Manifest(existing[0].manifest(name), name).files() if existing else ()
        for root in roots:
            if not root.exists() and not any(Path(path).is_relative_to(root) for path in known):
                raise KnowledgeBaseUsageError("rag_no_path", path=root)
        store, collection = existing or self._created(name, in_project=in_project)
        with _ingest_lock(store, name, "localllm rag ingest"):
            selected = await self._ingest_embedder(collection)
            made_by = selected.embedder.record if selected.embedder else None
            if not collection.chunks and collection.embedder != made_by:
                collection = msgspec.structs.replace(collection, embedder=made_by)
                await asyncio.to_thread(store.reset, collection)  # also after an interrupted ingest with other settings
            return await self._filled(store, collection, roots, selected, on_event, description)

    async def _filled(
        self,
        store: Store,
        collection: Collection,
        roots: Sequence[Path],
        selected: Selected,
        on_event: OnEvent | None,
        description: str = "",
    ) -> IngestReport:
        """Ingest the files of the roots, then close the embedder."""
        ingest = Ingest(
            store, collection, selected.embedder, exclude=self._exclude, is_closed=self._closed(), on_event=on_event
        )
        try:
            report = await ingest.run(roots)
        finally:
            if selected.embedder:
                await selected.embedder.aclose()
        made, is_described = await self._saved(store, report, description, ingest)
        contents = ingest.contents.listed() if is_described and made.chunks else ""
        report = msgspec.structs.replace(report, contents=contents)
        if report.chunks and made.chunks - made.optimized >= max(_MANY, made.chunks // 5):
            if on_event:
                on_event(IngestEvent(kind="optimizing"))
            made = await self._optimized(store, made)
        hidden = Phrase(HIDDEN_LEFT_OUT) if any(map(is_in_home, roots)) else None
        return msgspec.structs.replace(report, collection=made, remarks=tuple(filter(None, (selected.remark, hidden))))

    async def _ingest_embedder(self, collection: Collection) -> Selected:
        """Select the embedder of an ingest: the configured one for a new collection, otherwise the collection's own."""
        if not collection.chunks:
            return await embedder_for_ingest(self._settings, self._root, self._environ)
        if collection.embedder is None:
            return Selected(None)
        selected = await embedder_for_search(self._settings, self._root, self._environ, collection.embedder)
        return selected if selected.embedder else Selected(None, another_model(collection, selected.remark))

    async def reindex(self, name: str, on_event: OnEvent | None = None) -> IngestReport:
        """Rebuild a collection from its sources with the current settings, such as another embedding model or chunk
        size. It stays unchanged if its files or the embedding model are missing."""
        store, collection = self._find(name)
        name = collection.name
        with _ingest_lock(store, name, "localllm rag reindex"):
            roots = await asyncio.to_thread(origins, store, collection, self._root, self._exclude)
            selected = await embedder_for_ingest(self._settings, self._root, self._environ)
            if collection.embedder and selected.remark:  # keep the vectors when a server is unreachable
                model = collection.embedder.name
                raise KnowledgeBaseUsageError("rag_embedder_unusable", model=model, reason=selected.remark)
            rag = self._settings.rag
            anew = msgspec.structs.replace(
                collection,
                chunk_tokens=rag.chunk_tokens,
                overlap=rag.overlap,
                tokenizer=tokenising.VERSION,
                chunker=chunking.VERSION,
                average_terms=0.0,
                embedder=selected.embedder.record if selected.embedder else None,
                chunks=0,
                files=0,
                skipped=0,
                roots=tuple(map(str, roots)),
            )
            await asyncio.to_thread(store.reset, anew)
            return await self._filled(store, anew, roots, selected, on_event)

    async def optimize(self, name: str) -> Collection:
        """Build the indexes that make a large collection fast to search; searches are not blocked. Takes half a minute
        for 100,000 passages. An ingest that adds many does it by itself."""
        store, collection = self._find(name)
        with _ingest_lock(store, name, "localllm rag optimize"):
            return await self._optimized(store, collection)

    async def _optimized(self, store: Store, collection: Collection) -> Collection:
        await asyncio.to_thread(store.optimize, collection.name)
        made = msgspec.structs.replace(store.collection(collection.name) or collection, optimized=collection.chunks)
        store.save(made)
        return made

    async def search(self, query: str, name: str = "", top_k: int = 0) -> Found:
        """Search one collection or all; best passages first, none if nothing is relevant. `top_k` 0 uses rag.top_k."""
        query = query.strip()[:_LONGEST_QUERY]
        if not query:
            raise KnowledgeBaseUsageError("rag_empty_query")
        if not name and self._settings.rag.collection in (self._only or (self._settings.rag.collection,)):
            name = self._settings.rag.collection
        named = [self._find(name)] if name else self._all()
        count = top_k or self._settings.rag.top_k
        parsed = parse_query(query)
        if not parsed.words:
            raise KnowledgeBaseUsageError("rag_no_terms")
        wanted = max(count, MOST_RERANKED) if self._model else count
        search = Search(query, parsed, wanted, script_of(query), {}, {}, self._closed())
        remarks = [remark for _, one in named for remark in other_version(one)]
        hits, more, nearest = await self._hits(named, search, remarks)
        if self._model and len(hits) > 1:
            hits, remark = await self._model.rerank(query, hits)
            hits, more = hits[:count], [*hits[count:], *more]
            remarks += [remark] if remark else []
        elsewhere: tuple[str, ...] = ()
        if not hits and name:
            others = [(store, one) for store, one in self._everything() if one.name != name]
            there, _more, _nearest = await self._hits(others, search, [])
            elsewhere = tuple(dict.fromkeys(hit.collection for hit in there))
        outdated = await asyncio.to_thread(outdated_hits, named, hits)
        for one, old in outdated:
            files = list(dict.fromkeys(hit.file for hit in old))
            remarks.append(outdated_files(one, files, list(dict.fromkeys(hit.path for hit in old))))
        return Found(
            hits=tuple(hits),
            more=tuple(more),
            searched=tuple(one.name for _, one in named),
            elsewhere=elsewhere,
            nearest=tuple(nearest),
            outdated=tuple(dict.fromkeys(hit.file for _, old in outdated for hit in old)),
            remarks=tuple(dict.fromkeys(remarks)),
        )

    async def _hits(
        self, named: Sequence[tuple[Store, Collection]], search: Search, remarks: list[Phrase]
    ) -> tuple[list[Hit], list[Hit], list[Hit]]:
        """Return the hits, the further ones, and, if there are none, the nearest passages."""
        floor, found = self._settings.rag.floor, await self._candidates(named, search, remarks)
        parts = [(one, await self._candidates(named, one, remarks)) for one in search.parts()]
        ranked = rank(found, search.query, floor)
        ranked = with_parts(
            ranked, [rank(each, one.query, part_floor(one.query, floor)) for one, each in parts], search.top_k
        )
        ranked = ranked or await self._in_one_language(named, search, found)
        if ranked:
            merged = named_from(self._root, merge_neighbours(ranked, len(ranked)))
            return merged[: search.top_k], merged[search.top_k :], []
        return [], [], named_from(self._root, merge_neighbours(rank(found, search.query, 0.0), _NEAREST))

    async def _in_one_language(
        self, named: Sequence[tuple[Store, Collection]], search: Search, found: Sequence[Candidates]
    ) -> list[Ranked]:
        """Rank by the words of one language of the query: passages in that language lack those of the other."""
        for text, script in split_languages(search.text, lambda term: any(one.holding(term) for one in found)):
            part = search.part(text)._replace(script=script)
            ranked = rank(
                await self._candidates(named, part, []), part.query, part_floor(part.query, self._settings.rag.floor)
            )
            if there := [one for one in ranked if script_of(one.payload.text) == script]:
                return there
        return []

    async def _candidates(
        self, named: Sequence[tuple[Store, Collection]], search: Search, remarks: list[Phrase]
    ) -> list[Candidates]:
        """Find the candidates of each collection, without files that a rule closes."""
        rag = self._settings.rag
        found: list[Candidates] = []
        for store, one in named:
            if not one.chunks:
                continue
            vector, remark = await self._query_vector(one, search)
            remarks += [remark] if remark else []
            weights = Weights(0.0, None)
            if one.embedder and vector:
                trust, similar = one.embedder.scripts.get(search.script, 1.0), one.embedder.similar.get(search.script)
                weights = Weights(rag.dense_weight * trust, similar, one.embedder.unrelated.get(search.script, 0.0))
            best = await asyncio.to_thread(_candidates, store, one, search, vector, weights)
            found.append(
                best._replace(points=[each for each in best.points if not search.is_closed(each.payload.path)])
            )
        return found

    async def _query_vector(self, one: Collection, search: Search) -> tuple[Vector | None, Phrase | None]:
        """Embed the query with the collection's model; None if there is none or it does not know the script, with a
        remark if it should be available."""
        if (
            one.embedder is None
            or not one.embedder.scripts.get(search.script, 1.0)
            or not self._settings.rag.dense_weight
        ):
            return None, None
        name = one.embedder.name
        if name not in self._embedders:
            self._embedders[name] = await embedder_for_search(self._settings, self._root, self._environ, one.embedder)
        selected = self._embedders[name]
        if selected.embedder is None:
            return None, another_model(one, selected.remark)
        if name not in search.vectors and name not in search.failed:
            try:
                search.vectors[name] = await selected.embedder.embed_query(search.text)
            except LLMConnectionError as error:
                search.failed[name] = error.what_phrase
        if name in search.failed:
            return None, another_model(one, search.failed[name])
        vector = search.vectors[name]
        return (vector, None) if len(vector) == one.embedder.dimension else (None, another_model(one, None))

    def _everything(self) -> list[tuple[Store, Collection]]:
        found: dict[str, tuple[Store, Collection]] = {}
        for store in (self._user, self._project):
            found |= {one.name: (store, one) for one in store.collections() if one.name in (self._only or (one.name,))}
        return [found[name] for name in sorted(found)]

    def _all(self) -> list[tuple[Store, Collection]]:
        if not (found := self._everything()):
            raise KnowledgeBaseUsageError("rag_no_collections")
        return found

    def _find(self, name: str) -> tuple[Store, Collection]:
        """Return a collection and its store."""
        wanted = unicodedata.normalize("NFC", name)
        everything = self._everything()
        for store, one in everything:
            if one.name == wanted:
                return store, one
        if wanted in delivered_collections(self._root):
            raise KnowledgeBaseUsageError("rag_delivered", name=wanted, folder=project_folder(self._root) / FOLDER)
        if not everything:
            raise KnowledgeBaseUsageError("rag_no_collections")
        names = [one.name for _, one in everything]
        near = next(iter(get_close_matches(wanted, names, n=1)), "")
        hint = Phrase("Did you mean {near}?", near=near) if near else Phrase("Use one of them.")
        raise KnowledgeBaseUsageError("rag_no_collection", name=name, names=", ".join(names), hint=hint)

    def _usable_name(self, name: str) -> str:
        name = unicodedata.normalize("NFC", name or self._settings.rag.collection)
        if not name:
            raise KnowledgeBaseUsageError("rag_no_name")
        if not is_name(name):
            raise KnowledgeBaseUsageError("rag_bad_name", name=name)
        return name

    def _named(self, name: str) -> tuple[Store, Collection] | None:
        """The collection of this name and where it is kept; None if there is none."""
        return next(((store, one) for store, one in self._everything() if one.name == name), None)

    def _created(self, name: str, *, in_project: bool) -> tuple[Store, Collection]:
        """Create a collection of this name, empty."""
        store = self._project if in_project else self._user
        now = _now()
        rag = self._settings.rag
        collection = Collection(
            name=name,
            home="project" if in_project else "server" if self._settings.rag.qdrant_url else "user",
            chunk_tokens=rag.chunk_tokens,
            overlap=rag.overlap,
            tokenizer=tokenising.VERSION,
            chunker=chunking.VERSION,
            schema=SCHEMA,
            created=now,
            updated=now,
        )
        store.create(collection)
        return store, collection

    async def _saved(
        self, store: Store, report: IngestReport, description: str, ingest: Ingest
    ) -> tuple[Collection, bool]:
        """Save the record after an ingest, and return it with whether the description was regenerated: when half of the
        passages are new or some were denied by a rule, unless the user wrote it."""
        collection = msgspec.structs.replace(report.collection, updated=_now())
        is_old = ingest.has_closed or 2 * report.chunks > collection.chunks
        is_described = not description and (
            not collection.description or (not collection.description_is_own and is_old)
        )
        if description:
            collection = msgspec.structs.replace(collection, description=description, description_is_own=True)
        elif is_described:
            await asyncio.to_thread(ingest.note_unchanged)
            collection = msgspec.structs.replace(collection, description=ingest.contents.described())
        store.save(collection)
        return collection, is_described


def _user_store(settings: Settings, environ: Mapping[str, str]) -> Store:
    folder = user_folder(settings, environ)
    if not settings.rag.qdrant_url:
        return EmbeddedStore(folder, "user")
    from localllm.rag.server_store import ServerStore

    return ServerStore(settings.rag.qdrant_url, environ.get("QDRANT_API_KEY", "").strip(), folder)


def _candidates(
    store: Store, collection: Collection, search: Search, vector: Vector | None, weights: Weights
) -> Candidates:
    with store.reading(collection.name) as reader:
        return find_candidates(reader, collection, search.query, vector, weights, search.top_k)


def _ingest_lock(store: Store, name: str, what: str) -> AbstractContextManager[None]:
    """Hold the lock that allows one ingest at a time."""
    return ShardLock(store.manifest(name).parent, name, what, prefix="ingest.").held()


def _now() -> str:
    return datetime.now(UTC).astimezone().isoformat(timespec="seconds")
