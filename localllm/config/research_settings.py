"""Settings of research, market scans, traces and the task queue."""

from typing import Annotated, Literal

from msgspec import Meta

from localllm.config.registry import PROVIDERS
from localllm.config.section import Count, Positive, Section


class ResearchSettings(Section, frozen=True):
    """Research: runs that search, read, check what they write, and end with a report.

    provider: where the model is that does it; empty takes the chat's model.
    model: its name on the server.
    work_dir: the folder of reports, tasks and their logs; empty takes your data folder.
    language: of the report; auto takes ui.language.
    query_count: queries made of the question.
    docs: folders of documents of yours that every run searches like the web.
    collections: names of collections (localllm rag) whose documents every run searches as well.
    min_search: sources that are looked for at least; fewer are said in the report.
    max_search: sources that are read at most in a round.
    min_validation: rounds of checking at least.
    max_validation: rounds of checking at most; 0 writes the report unchecked and says so.
    temperature: for queries and prose; verdicts are always given at 0.
    max_tokens: of one answer of the model at most.
    timeout: seconds that one answer of the model may take.
    retry: how often a request that failed is sent again.
    cache_ttl: for how many seconds a search is kept.
    user_agent: what it calls itself when it reads pages; empty takes "localllm (reads pages for one person)".
    browser: read pages that scripts make in a headless Chromium, where this machine has one.
    browser_timeout: seconds for a page in the browser.
    headless: accepted for settings of other programs, and does nothing: the browser never has a window.
    stealth_mode: accepted for settings of other programs, and does nothing: bot checks are not evaded.
    max_minutes: a run may take; 0 means no limit.
    max_run_tokens: tokens of a run's requests and answers together; 0 means no limit.
    max_pages: pages a run may read; 0 means no limit.
    respect_robots: read no page that its site's robots.txt forbids.
    """

    provider: Annotated[str, Meta(extra={"registry": PROVIDERS, "also": ("",)})] = ""
    model: str = ""
    work_dir: str = ""
    language: Literal["auto", "ja", "en"] = "auto"
    query_count: Annotated[int, Meta(ge=1, le=10)] = 3
    docs: tuple[str, ...] = ()
    collections: tuple[str, ...] = ()
    min_search: Annotated[int, Meta(ge=1, le=20)] = 3
    max_search: Annotated[int, Meta(ge=1, le=50)] = 8
    min_validation: Annotated[int, Meta(ge=0, le=10)] = 1
    max_validation: Annotated[int, Meta(ge=0, le=10)] = 3
    temperature: Annotated[float, Meta(ge=0, le=2)] = 0.7
    max_tokens: Annotated[int, Meta(ge=128, le=32768)] = 4096
    timeout: Annotated[float, Meta(ge=10, le=600)] = 120.0
    retry: Annotated[int, Meta(ge=0, le=10)] = 3
    cache_ttl: Annotated[float, Meta(ge=0)] = 3600.0
    user_agent: Annotated[str, Meta(max_length=300, pattern=r"^[ -~]*$")] = ""
    browser: bool = True
    browser_timeout: Annotated[float, Meta(ge=5, le=180)] = 30.0
    headless: bool = True
    stealth_mode: bool = False
    max_minutes: Annotated[float, Meta(ge=0)] = 0.0
    max_run_tokens: Annotated[int, Meta(ge=0)] = 0
    max_pages: Annotated[int, Meta(ge=0)] = 0
    respect_robots: bool = True


class MarketSettings(Section, frozen=True):
    """The market scan: eight searches about a theme in Japan and abroad, their pages read and checked.

    max_results: results of each search.
    pages: read for each of the eight purposes; 0 takes the result lists alone.
    search_timeout: seconds for a search.
    max_requests: searches that may be made in a window.
    window_ms: its milliseconds.
    sensitive_words: results in which one of these stands are left out, as are those with personal data or credentials.
    """

    max_results: Annotated[int, Meta(ge=1, le=100)] = 10
    pages: Annotated[int, Meta(ge=0, le=10)] = 2
    search_timeout: Positive = 5.0
    max_requests: Count = 100
    window_ms: Count = 60_000
    sensitive_words: tuple[str, ...] = ("社外秘", "部外秘", "極秘", "strictly confidential", "internal use only")


class TraceSettings(Section, frozen=True):
    """Spans of research runs, sent to a receiver of OpenTelemetry's protocol (OTLP over HTTP): Jaeger, Langfuse, ….

    enabled: trace every run of research, as --trace does for one.
    endpoint: the address of the receiver; empty takes Langfuse, where --trace was given and LANGFUSE_PUBLIC_KEY and
        LANGFUSE_SECRET_KEY are set, else http://localhost:4318.
    content: send the texts of prompts, answers and queries as well, with personal data masked; else spans have sizes,
        ids and times alone.
    """

    enabled: bool = False
    endpoint: str = ""
    content: bool = False


class QueueSettings(Section, frozen=True):
    """Research that is handed to workers through a Redis or Valkey (--queue).

    heartbeat: after so many seconds without a sign of life a worker counts as dead, and another one gets its task. A
        computer that sleeps or stalls for longer only loses its task to another.
    maintenance: how often, in seconds, a worker looks for those of dead ones.
    retries: how often a task is begun again after a failure that may pass, or after its worker died.
    """

    heartbeat: Annotated[float, Meta(ge=1)] = 30.0
    maintenance: Annotated[float, Meta(ge=0.1)] = 10.0
    retries: Annotated[int, Meta(ge=0)] = 3
