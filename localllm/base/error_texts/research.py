"""E7xxx: research runs, their reports and what a run cannot do; E6xxx: research tasks and their schedules."""

from localllm.base.error_texts.text import ErrorText

RESEARCH: dict[str, ErrorText] = {
    "research_no_question": ErrorText("E7001", "The question is empty.", "", "Say what is to be found out."),
}
