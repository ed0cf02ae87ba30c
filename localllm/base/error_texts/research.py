"""E7xxx: research runs, their reports and what a run cannot do; E6xxx: research tasks and their schedules."""

from localllm.base.error_texts.text import ErrorText

RESEARCH: dict[str, ErrorText] = {
    "research_no_question": ErrorText("E7001", "The question is empty.", "", "Say what is to be found out."),
    "research_no_run": ErrorText(
        "E7002",
        "There is no research run {id}.",
        "Nothing of it is in {folder}.",
        "localllm history lists the runs there are.",
    ),
    "research_disk": ErrorText(
        "E7003",
        "Run {id} cannot be saved.",
        "{reason}.",
        "Make room on the disk of {folder}, then go on: localllm research --resume {id}. What was saved is kept.",
    ),
    "research_busy": ErrorText(
        "E7004",
        "Run {id} is being worked on already.",
        "{who} has it.",
        "Wait until that has ended, or end it; then: localllm research --resume {id}.",
    ),
    "research_damaged": ErrorText(
        "E7005",
        "What was saved of run {id} cannot be read.",
        "{reason} ({file}).",
        "Ask the question anew; if the file is there in a backup, put it back.",
    ),
    "research_no_answer": ErrorText(
        "E7006",
        "The model has not answered within {seconds:g} s.",
        "It was asked {count} {count:?time/times}.",
        "Raise research.timeout, or take a faster or smaller model.",
    ),
    "research_model_stopped": ErrorText(
        "E7007",
        "Run {id} had to stop: {what}",
        "{why}",
        "All that was found is saved. When the model answers again: localllm research --resume {id}.",
    ),
    "research_search_dead": ErrorText(
        "E7008",
        "Nothing could be searched.",
        "{reasons}.",
        "localllm doctor looks at the search engines. Then go on: localllm research --resume {id}.",
    ),
    "research_no_sources": ErrorText(
        "E7009",
        "There is nothing to search.",
        "The web is off, and no folder of documents was named.",
        "Leave out --offline, or name a folder: --docs FOLDER.",
    ),
    "research_docs": ErrorText(
        "E7010", "The folder {folder} cannot be searched.", "{reason}.", "Name a folder of documents: --docs FOLDER."
    ),
    "research_trace_no_package": ErrorText(
        "E7041",
        "The run cannot be traced: the packages of OpenTelemetry are not installed.",
        "",
        "Install them: pip install 'localllm[trace]', or leave out --trace (trace.enabled).",
    ),
    "research_trace_address": ErrorText(
        "E7042",
        "The run cannot be traced: “{address}” is no address of a receiver.",
        "",
        "Set trace.endpoint to one such as http://localhost:4318.",
    ),
    "queue_address": ErrorText(
        "E6041",
        "“{address}” is no address of a queue.",
        "",
        "Name a Redis or Valkey: --queue redis://HOST:6379/0; its password comes from REDIS_PASSWORD.",
    ),
    "queue_no_package": ErrorText(
        "E6042",
        "Nothing can be handed to workers: the packages dramatiq and redis are not installed.",
        "",
        "Install them: pip install 'localllm[queue]'",
    ),
    "queue_server": ErrorText(
        "E6043",
        "The queue at {where} cannot be used.",
        "{reason}.",
        "See that the Redis or Valkey there can be reached and written to; a password comes from REDIS_PASSWORD.",
    ),
    "queue_damaged": ErrorText(
        "E6044",
        "What the queue at {where} holds of a run cannot be read.",
        "{reason}.",
        "Hand the question over anew; asker and workers need the same version of localllm.",
    ),
    "queue_folder": ErrorText(
        "E6045",
        "Run {id} is to search the folder {folder}, which this worker may not.",
        "",
        "Start the worker with --docs and that folder, if it is there.",
    ),
    "queue_given_up": ErrorText(
        "E6046",
        "Run {id} was begun {count} times and never came to its end.",
        "Its workers have died each time.",
        "See their logs; if the machine has too little memory, take a smaller model or fewer workers.",
    ),
    "queue_failed": ErrorText(
        "E6047",
        "Run {id} has failed at the worker {worker}: {code} {what}",
        "",
        "What it had found is in your history. Go on here: localllm research --resume {id}",
    ),
    "queue_gone": ErrorText(
        "E6048",
        "Run {id} is not in the queue at {where} any more.",
        "It was deleted there, or nobody has worked on it for a week.",
        "Go on with it here: localllm research --resume {id}",
    ),
}
