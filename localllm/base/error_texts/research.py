"""E7xxx: research runs and reports; E6xxx: research tasks, schedules and queues."""

from localllm.base.error_texts.text import ErrorText

RESEARCH: dict[str, ErrorText] = {
    "research_no_question": ErrorText("E7001", "The question is empty.", "", "Say what you want to find out."),
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
        "Free space on the disk of {folder}, then continue: localllm research --resume {id}. What was saved is kept.",
    ),
    "research_busy": ErrorText(
        "E7004",
        "Run {id} is already in progress.",
        "{who} is working on it.",
        "Wait for it to finish, or stop it; then: localllm research --resume {id}.",
    ),
    "research_damaged": ErrorText(
        "E7005",
        "The saved state of run {id} cannot be read.",
        "{reason} ({file}).",
        "Ask the question again, or restore the file from a backup.",
    ),
    "research_no_answer": ErrorText(
        "E7006",
        "The model has not answered within {seconds:g} s.",
        "It was asked {count} {count:?time/times}.",
        "Raise research.timeout, or use a faster or smaller model.",
    ),
    "research_model_stopped": ErrorText(
        "E7007",
        "Run {id} had to stop: {what}",
        "{why}",
        "Everything found is saved. Once the model answers again: localllm research --resume {id}.",
    ),
    "research_search_dead": ErrorText(
        "E7008",
        "No search succeeded.",
        "{reasons}.",
        "Check the search engines with localllm doctor. Then continue: localllm research --resume {id}.",
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
        "Name {target} itself if you want it searched.",
    ),
    "research_docs_unnamed": ErrorText(
        "E7072",
        "{id} asks to search documents in {folder}, which you have not named; nothing was read.",
        "That comes from the work folder {work}, which is in a project, where commands can write.",
        "To allow it: localllm config set --user research.docs {listed}; otherwise keep the work folder elsewhere.",
    ),
    "task_unnamed": ErrorText(
        "E7074",
        "The task {id} is not one that you added, as it is now; it was not run.",
        "It lies in the work folder {work}, which is in a project, where commands can write. Your tasks are noted in "
        "{state}, and it is not among them.",
        "Look at it with localllm task show {id}; localllm task run {id} runs it, and lets it run when it is due. If "
        "you added it in a shell with another XDG_STATE_HOME or LOCALLLM_STATE_DIR, set the same here, as localllm "
        "task units does.",
    ),
    "research_collection_unnamed": ErrorText(
        "E7073",
        "{id} asks to search the collection {name}, which you have not named; nothing was read.",
        "That comes from the work folder {work}, which is in a project, where commands can write.",
        "To allow it: localllm config set --user research.collections {listed}; otherwise keep the work "
        "folder elsewhere.",
    ),
    "research_chat_off": ErrorText(
        "E7043",
        "There is nothing to search.",
        "The web is off, and no folder of documents is set.",
        "Turn the web on (/config web.enabled true), or name a folder: /research --docs FOLDER QUESTION.",
    ),
    "research_chat_option": ErrorText(
        "E7044",
        "/research has no option “{option}”.",
        "",
        "It has --preset fast, standard or high, --docs FOLDER and --resume ID; put them before the question.",
    ),
    "research_trace_no_package": ErrorText(
        "E7041",
        "The run cannot be traced: the OpenTelemetry packages are not installed.",
        "",
        "Install them: pip install 'localllm[trace]', or leave out --trace (trace.enabled).",
    ),
    "research_trace_address": ErrorText(
        "E7042",
        "The run cannot be traced: “{address}” is not the address of a receiver.",
        "",
        "Set trace.endpoint to one such as http://localhost:4318.",
    ),
    "queue_address": ErrorText(
        "E6041",
        "“{address}” is not the address of a queue.",
        "",
        "Use a Redis or Valkey server: --queue redis://HOST:6379/0; its password comes from REDIS_PASSWORD.",
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
        "Check that the Redis or Valkey there is reachable and writable; a password comes from REDIS_PASSWORD.",
    ),
    "queue_damaged": ErrorText(
        "E6044",
        "The data of a run in the queue at {where} cannot be read.",
        "{reason}.",
        "Hand the question over again; sender and workers need the same version of localllm.",
    ),
    "queue_folder": ErrorText(
        "E6045",
        "Run {id} needs the folder {folder}, which this worker may not search.",
        "",
        "Start the worker with --docs and that folder, if it exists there.",
    ),
    "queue_collection": ErrorText(
        "E6049",
        "Run {id} needs the collection {name}, which this worker may not search.",
        "",
        "Add it to research.collections in the worker's settings, if it exists there.",
    ),
    "queue_given_up": ErrorText(
        "E6046",
        "Run {id} was started {count} times and never finished.",
        "Its workers died each time.",
        "Check their logs; if the machine has too little memory, use a smaller model or fewer workers.",
    ),
    "queue_failed": ErrorText(
        "E6047",
        "Run {id} failed on the worker {worker}: {code} {what}",
        "",
        "What it found is in your history. Continue here: localllm research --resume {id}",
    ),
    "queue_gone": ErrorText(
        "E6048",
        "Run {id} is no longer in the queue at {where}.",
        "It was deleted there, or nobody has worked on it for a week.",
        "Continue it here: localllm research --resume {id}",
    ),
    "research_searched": ErrorText(
        "E7011",
        "Run {id} has already searched.",
        "Its queries can only be changed before that.",
        "Continue it as it is: localllm research --resume {id}.",
    ),
    "research_export_exists": ErrorText(
        "E7012", "{file} already exists.", "", "Give another name, or --force to overwrite it."
    ),
    "research_bounds": ErrorText(
        "E7013",
        "research.{most} ({high}) is less than research.{least} ({low}).",
        "It must be at least that.",
        "Change one of them: localllm config set research.{most} {low}.",
    ),
    "task_none": ErrorText(
        "E6001", "There is no task {id}.", "It is not in {folder}.", "localllm task list shows all tasks."
    ),
    "task_running": ErrorText(
        "E6003",
        "Task {id} is already running.",
        "Another process is running it.",
        "Wait until it has finished, or stop that process.",
    ),
    "task_damaged": ErrorText(
        "E6004", "The task in {file} cannot be read.", "{reason}.", "Correct the file, or delete it."
    ),
    "task_unsaved": ErrorText(
        "E6005",
        "Task {id} cannot be saved.",
        "{reason}.",
        "Check the free space, and that {folder} is writable.",
    ),
    "task_every": ErrorText(
        "E6006",
        "“{every}” is not an interval.",
        "",
        "Write a number and m, h, d or w: --every 30m, 6h, 1d, 2w; or hourly, daily, weekly.",
    ),
    "task_at": ErrorText(
        "E6007",
        "“{at}” is not a time.",
        "",
        'Write --at 09:30 for the next time it is that, or --at "2026-12-01 09:30".',
    ),
    "task_needs_yes": ErrorText(
        "E6008", "Nobody is there to confirm that these tasks may be deleted.", "", "Add --yes."
    ),
    "research_undeletable": ErrorText(
        "E7014", "Run {id} cannot be deleted.", "{reason}.", "The rest of it is in {folder}; fix that first."
    ),
    "research_unfinished": ErrorText(
        "E7015",
        "Run {id} has no report yet.",
        "It was stopped before it finished.",
        "Continue it: localllm research --resume {id}",
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
        "theme: it has {length} characters; the limit is {most}.",
        "",
        "Name the market in a few words; a question is for localllm research.",
    ),
    "market_region": ErrorText(
        "E7062",
        "regions: “{region}” is not a region.",
        "Regions: {regions}.",
        "Write --regions jp,global, or one of them.",
    ),
    "market_bounds": ErrorText(
        "E7063",
        "{field}: {value} is out of range.",
        "",
        "Use a number from {least} to {most}.",
    ),
    "market_no_scan": ErrorText(
        "E7064",
        "There is no market scan {id}.",
        "Nothing of it is in {folder}.",
        "localllm history list --kind market lists all scans.",
    ),
    "market_search_dead": ErrorText(
        "E7065",
        "None of the searches of this scan was answered.",
        "{reasons}.",
        "Check the search engines with localllm doctor.",
    ),
    "market_disk": ErrorText(
        "E7066",
        "Market scans cannot be saved in {folder}.",
        "{reason}.",
        "Free space on that disk, or name another folder: --work-dir DIR.",
    ),
    "market_log": ErrorText(
        "E7067",
        "The log of market scans in {folder} cannot be used.",
        "{reason}.",
        "Check the free space, and that the folder is writable.",
    ),
    "market_log_spare": ErrorText(
        "E7068",
        "This scan could not be written into the database of scans.",
        "{reason}.",
        "It is kept in {file} instead, and still listed.",
    ),
    "market_chat_option": ErrorText(
        "E7070",
        "/market has no option “{option}”.",
        "",
        "Options: --regions jp,global and --pages N.",
    ),
    "market_off": ErrorText(
        "E7069",
        "A market scan needs the web, which is off.",
        "Its words and the addresses it reads would leave this machine.",
        "Turn the web on: localllm config set web.enabled true (in the chat /config web.enabled true); or leave out "
        "--offline.",
    ),
}
