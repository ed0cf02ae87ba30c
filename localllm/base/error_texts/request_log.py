"""E118x: the ensemble's request log."""

from localllm.base.error_texts.text import ErrorText

REQUEST_LOG: dict[str, ErrorText] = {
    "request_log_unusable": ErrorText(
        "E1181",
        "The log of requests cannot be used.",
        "{reason} ({file}).",
        "Free disk space and check the permissions, or serve without a log: --no-log.",
    ),
    "request_log_damaged": ErrorText(
        "E1182",
        "The log of requests cannot be read.",
        "{reason} ({file}).",
        "localllm serve puts a damaged file aside and starts a new one. If there is a backup, put it back.",
    ),
    "request_log_put_aside": ErrorText(
        "E1183",
        "The log of requests was damaged; a new one was started.",
        "The old one is kept as {aside}.",
        "No action is needed. sqlite3 {aside} .recover extracts what can be read.",
    ),
    "request_log_newer": ErrorText(
        "E1184",
        "The log of requests was written by a later version of localllm.",
        "It is {file}.",
        "Update localllm, or move the file away.",
    ),
    "request_log_behind": ErrorText(
        "E1185",
        "The log of requests cannot keep up.",
        "{count} {count:?run waits/runs wait} to be written to {file}; until then no more are logged.",
        "Find out what keeps the disk busy, or serve without a log: --no-log.",
    ),
    "request_log_no_run": ErrorText(
        "E1186",
        "There is no run {id} in the log of requests.",
        "{file} does not contain it, or no longer does.",
        "localllm serve --history lists the newest runs.",
    ),
}
