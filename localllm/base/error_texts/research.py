"""E7xxx: research runs and reports; E6xxx: research tasks, schedules and queues."""

from localllm.base.error_texts.text import ErrorText

RESEARCH: dict[str, ErrorText] = {
    "research_no_question": ErrorText("E7001", "The question is empty.", "", "Say what is to be found out."),
    "research_no_run": ErrorText(
        "E7002",
        "There is no research run {id}.",
        "Nothing of it is in {folder}.",
        "localllm history list shows the runs there are.",
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
        "The web is off, and no folder or collection of documents was named.",
        "Leave out --offline, or name a folder (--docs FOLDER) or a collection (--collection NAME).",
    ),
    "research_docs": ErrorText(
        "E7010", "The folder {folder} cannot be searched.", "{reason}.", "Name a folder of documents: --docs FOLDER."
    ),
    "research_link_out": ErrorText(
        "E7071",
        "{folder} leads out of the project, to {target}; nothing was read.",
        "A link that came with the project, or that a command made, could lead to any of your files.",
        "Name {target} itself, if that is what you want to be searched.",
    ),
    "research_docs_unnamed": ErrorText(
        "E7072",
        "{id} is to search documents in {folder}, which you have not named; nothing was read.",
        "It stands in the work folder {work}, in a project, where commands can write.",
        "If it is to be: localllm config set --user research.docs {listed}; or keep the work folder elsewhere.",
    ),
    "research_collection_unnamed": ErrorText(
        "E7073",
        "{id} is to search the collection {name}, which you have not named; nothing was read.",
        "It stands in the work folder {work}, in a project, where commands can write.",
        "If it is to be: localllm config set --user research.collections {listed}; or keep the work folder elsewhere.",
    ),
    "research_chat_off": ErrorText(
        "E7043",
        "There is nothing to search.",
        "The web is off, and no folder of documents is set.",
        "Turn the web on (localllm config set web.enabled true), or name a folder: /research --docs FOLDER QUESTION.",
    ),
    "research_chat_option": ErrorText(
        "E7044",
        "/research has no option “{option}”.",
        "",
        "It has --preset fast, standard or high, --docs FOLDER and --resume ID; they stand before the question.",
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
    "queue_collection": ErrorText(
        "E6049",
        "Run {id} is to search the collection {name}, which this worker may not.",
        "",
        "Name it in research.collections of the worker's settings, if it is there.",
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
    "research_searched": ErrorText(
        "E7011",
        "Run {id} has searched already.",
        "Its queries can only be changed before that.",
        "Go on with it as it is: localllm research --resume {id}.",
    ),
    "research_export_exists": ErrorText(
        "E7012", "{file} is there already.", "", "Give another name, or --force to overwrite it."
    ),
    "research_bounds": ErrorText(
        "E7013",
        "research.{most} ({high}) is less than research.{least} ({low}).",
        "It has to be at least that.",
        "Change one of them: localllm config set research.{most} {low}.",
    ),
    "task_none": ErrorText(
        "E6001", "There is no task {id}.", "It is not in {folder}.", "localllm task list shows those there are."
    ),
    "task_running": ErrorText(
        "E6003",
        "Task {id} is being worked on.",
        "Another process runs it.",
        "Wait until it has ended, or end that process.",
    ),
    "task_damaged": ErrorText(
        "E6004", "The task in {file} cannot be read.", "{reason}.", "Correct the file, or delete it."
    ),
    "task_unsaved": ErrorText(
        "E6005",
        "Task {id} cannot be saved.",
        "{reason}.",
        "See that there is room, and that {folder} can be written to.",
    ),
    "task_every": ErrorText(
        "E6006",
        "“{every}” is no interval.",
        "",
        "Write a number and m, h, d or w: --every 30m, 6h, 1d, 2w; or hourly, daily, weekly.",
    ),
    "task_at": ErrorText(
        "E6007", "“{at}” is no time.", "", 'Write --at 09:30 for the next time it is that, or --at "2026-12-01 09:30".'
    ),
    "task_needs_yes": ErrorText(
        "E6008", "Nobody is there to be asked whether these tasks may be deleted.", "", "Give --yes."
    ),
    "research_undeletable": ErrorText(
        "E7014", "Run {id} cannot be deleted.", "{reason}.", "What is left of it is in {folder}; fix that first."
    ),
    "research_unfinished": ErrorText(
        "E7015",
        "Run {id} has no report yet.",
        "It was stopped before its end.",
        "Go on with it: localllm research --resume {id}",
    ),
    "report_pdf_on_terminal": ErrorText(
        "E7016",
        "A PDF cannot be shown on a terminal.",
        "",
        "Write it into a file: --export report.pdf, or > report.pdf.",
    ),
    "market_no_theme": ErrorText("E7060", "theme: it is empty.", "", 'Say which market: localllm market "THEME".'),
    "market_theme_long": ErrorText(
        "E7061",
        "theme: it has {length} characters; {most} are the most.",
        "",
        "Name the market in a few words; a question is for localllm research.",
    ),
    "market_region": ErrorText(
        "E7062",
        "regions: “{region}” is no region.",
        "There are: {regions}.",
        "Write --regions jp,global, or one of them.",
    ),
    "market_bounds": ErrorText(
        "E7063",
        "{field}: {value} is out of bounds.",
        "",
        "Take a number from {least} to {most}.",
    ),
    "market_no_scan": ErrorText(
        "E7064",
        "There is no market scan {id}.",
        "Nothing of it is in {folder}.",
        "localllm history list --kind market lists the scans there are.",
    ),
    "market_search_dead": ErrorText(
        "E7065",
        "None of the searches of this scan was answered.",
        "{reasons}.",
        "localllm doctor looks at the search engines.",
    ),
    "market_disk": ErrorText(
        "E7066",
        "What a market scan finds cannot be saved in {folder}.",
        "{reason}.",
        "Make room on that disk, or name another folder: --work-dir DIR.",
    ),
    "market_log": ErrorText(
        "E7067",
        "The log of market scans in {folder} cannot be used.",
        "{reason}.",
        "See that there is room, and that the folder can be written to.",
    ),
    "market_log_spare": ErrorText(
        "E7068",
        "This scan could not be written into the database of scans.",
        "{reason}.",
        "It is kept in {file} instead, and listed all the same.",
    ),
    "market_chat_option": ErrorText(
        "E7070",
        "/market has no option “{option}”.",
        "",
        "There are: --regions jp,global and --pages N.",
    ),
    "market_off": ErrorText(
        "E7069",
        "A market scan needs the web, which is off.",
        "Its words and the addresses it reads would leave this machine.",
        "Turn the web on: localllm config set web.enabled true; or leave out --offline.",
    ),
}
