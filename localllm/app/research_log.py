"""Log research events: RUN for the stages, WEB for searches and pages, LLM for the model's answers."""

from localllm.base import logs
from localllm.research.remark_texts import in_words
from localllm.research.run_events import (
    ClaimChecked,
    Finished,
    ModelAnswered,
    NotesTaken,
    PageRead,
    QueryMade,
    RemarkMade,
    ResearchEvent,
    RoundDone,
    SearchDone,
    StageBegun,
)


def log_event(event: ResearchEvent) -> None:
    """Write an event to the log, in English; the log masks personal data itself."""
    match event:
        case QueryMade() | SearchDone() | PageRead():
            _log_web(event)
        case ModelAnswered():
            logs.of("LLM").debug("%s %s: %d tokens, %.1f s", event.run, event.role, event.tokens, event.seconds)
        case _:
            _log_run(event)


def _log_web(event: QueryMade | SearchDone | PageRead) -> None:
    log, run = logs.of("WEB"), event.run
    match event:
        case QueryMade():
            log.info("%s query (%s): %s", run, event.purpose, event.query)
        case SearchDone():
            log.info("%s searched %d queries: %d found, %d new", run, event.queries, event.found, event.new)
            for failure in event.failures:
                log.warning("%s search failed: %s", run, in_words(failure, "en"))
        case PageRead(problem=problem) if problem is not None:
            log.warning("%s %s not read: %s: %s", run, event.source, event.url, in_words(problem, "en"))
        case PageRead():
            log.info("%s %s read: %s", run, event.source, event.url)


def _log_run(event: ResearchEvent) -> None:
    log, run = logs.of("RUN"), event.run
    match event:
        case StageBegun():
            log.info("%s stage %s, round %d", run, event.stage, event.round)
        case NotesTaken():
            log.debug("%s %s: %d notes, %d dropped", run, event.source, event.evidence, event.dropped)
        case ClaimChecked():
            log.debug("%s claim %s: %s", run, event.label, event.claim)
        case RoundDone():
            log.info("%s round %d done: %d open, goes on: %s", run, event.round, event.open, event.goes_on)
        case RemarkMade(remark=said):
            log.warning("%s %s", run, in_words(said, "en"))
        case Finished():
            log.info("%s finished%s", run, ", partial" if event.partial else "")
        case _:
            pass
