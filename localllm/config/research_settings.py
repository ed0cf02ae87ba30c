"""Settings of research, market scans, traces and the task queue."""

from typing import Annotated, Literal

from msgspec import Meta

from localllm.config.registry import PROVIDERS
from localllm.config.section import Count, Positive, Section


class ResearchSettings(Section, frozen=True):
    """Research: runs that search, read, check what they write, and end with a report.

    provider: where the model for research is; empty uses the chat's model.
    model: its name on the server.
    work_dir: the folder of reports, tasks and their logs; empty uses your data folder.
    language: the language of the report; auto uses ui.language if it is set, else that of the question.
    query_count: how many queries are made from the question.
    docs: folders of your documents that every run searches like the web.
    collections: names of collections (localllm rag) whose documents every run searches as well.
    min_search: minimum number of sources to look for; the report says if there are fewer.
    max_search: maximum number of sources read in a round.
    min_validation: minimum number of rounds of checking.
    max_validation: maximum number of rounds of checking; 0 writes the report unchecked and says so.
    temperature: sampling temperature for queries and prose; verdicts always use 0.
    max_tokens: maximum length of one answer of the model, in tokens.
    timeout: seconds that one answer of the model may take.
    retry: how often a failed request is repeated.
    cache_ttl: seconds for which a search is kept.
    user_agent: the name it gives when it reads pages; empty uses "localllm (reads pages for one person)".
    browser: use a headless Chromium for pages that scripts build, if this machine has one.
    browser_timeout: seconds for a page in the browser.
    headless: accepted from settings of other programs, without effect: the browser never has a window.
    stealth_mode: accepted from settings of other programs, without effect: bot checks are not evaded.
    max_minutes: minutes that a run may take; 0 means no limit.
    max_run_tokens: tokens of all requests and answers of a run together; 0 means no limit.
    max_pages: pages that a run may read; 0 means no limit.
    respect_robots: do not read pages that the robots.txt of their site forbids.
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
    """The market scan: eight searches on a theme, in Japan and abroad, whose pages are read and checked.

    max_results: maximum number of results of each search.
    pages: pages read for each of the eight purposes; 0 uses only the lists of results.
    search_timeout: seconds for a search.
    max_requests: maximum number of searches per window_ms.
    window_ms: the period of max_requests, in milliseconds.
    sensitive_words: results that contain one of these are left out, as are those with personal data or credentials.
    """

    max_results: Annotated[int, Meta(ge=1, le=100)] = 10
    pages: Annotated[int, Meta(ge=0, le=10)] = 2
    search_timeout: Positive = 5.0
    max_requests: Count = 100
    window_ms: Count = 60_000
    sensitive_words: tuple[str, ...] = ("社外秘", "部外秘", "極秘", "strictly confidential", "internal use only")


class TraceSettings(Section, frozen=True):
    """Spans of research runs, sent to a receiver of OpenTelemetry's protocol (OTLP over HTTP): Jaeger, Langfuse, ….

    enabled: trace every research run, as --trace does for one.
    endpoint: the address of the receiver; empty uses Langfuse if --trace was given and LANGFUSE_PUBLIC_KEY and
        LANGFUSE_SECRET_KEY are set, else http://localhost:4318.
    content: also send the texts of prompts, answers and queries, with personal data masked; otherwise spans only have
        sizes, ids and times.
    """

    enabled: bool = False
    endpoint: str = ""
    content: bool = False


class QueueSettings(Section, frozen=True):
    """Research that is handed to workers through Redis or Valkey (--queue).

    heartbeat: seconds without a sign of life after which a worker counts as dead, and another one gets its task. A
        computer that sleeps or stalls for longer only loses its task to another.
    maintenance: seconds between a worker's searches for tasks of dead workers.
    retries: how often a task is started again after a failure that may be temporary, or after its worker died.
    """

    heartbeat: Annotated[float, Meta(ge=1)] = 30.0
    maintenance: Annotated[float, Meta(ge=0.1)] = 10.0
    retries: Annotated[int, Meta(ge=0)] = 3
