"""E116x and E117x: rejected requests to the ensemble server."""

from localllm.base.error_texts.text import ErrorText

ENSEMBLE_API = {
    "api_no_prompt": ErrorText(
        "E1160", "The prompt is empty.", "No worker was asked.", 'Send a text, as in {{"prompt": "…"}}.'
    ),
    "api_bad_json": ErrorText(
        "E1161", "The body of the request is not JSON.", "{reason}.", 'Send JSON in UTF-8, as in {{"prompt": "…"}}.'
    ),
    "api_bad_request": ErrorText(
        "E1162", "The request cannot be used.", "{reason}.", "/openapi.json describes what every path accepts."
    ),
    "api_no_json_type": ErrorText(
        "E1163",
        "The body of the request is not marked as JSON.",
        "Its content type is {given}.",
        "Send the header Content-Type: application/json.",
    ),
    "api_too_large": ErrorText(
        "E1164",
        "The request is too large.",
        "The server accepts at most {limit:,} bytes.",
        "Send a shorter one.",
    ),
    "api_too_slow": ErrorText(
        "E1165", "The request did not arrive in time.", "Its body took more than {seconds:.0f} s.", "Send it again."
    ),
    "api_busy": ErrorText(
        "E1166",
        "The server is busy.",
        "It is working on {limit:,} {limit:?request/requests}, which is its limit.",
        "Ask again in {seconds} s.",
    ),
    "api_stopping": ErrorText(
        "E1167", "The server is stopping.", "It accepts no new requests and has cancelled those that took too long.", ""
    ),
    "api_too_long": ErrorText(
        "E1171",
        "The request took longer than {limit:g} s and was cancelled.",
        "That is the server's limit (--max-seconds).",
        "Give the agents shorter timeouts, or start the server with a higher limit.",
    ),
    "api_loop": ErrorText(
        "E1168",
        "The ensemble is calling itself.",
        "The request has already passed through {passed}.",
        "Remove the ensemble's own address from the agents in config.json.",
    ),
    "api_no_token": ErrorText(
        "E1170",
        "The server requires a token.",
        "The request has none, or a wrong one.",
        "Send the header Authorization: Bearer TOKEN with the token the server was started with.",
    ),
    "api_foreign_host": ErrorText(
        "E1169",
        "The request was refused.",
        "It names a host that this server does not answer to: {host}.",
        "Use the address the server was started with, or start it with --allow-host NAME.",
    ),
    "api_foreign_origin": ErrorText(
        "E1172",
        "The request was refused.",
        "It was sent by a page of another site: {origin}.",
        "Use the server's own page, or start the server with --allow-origin URL.",
    ),
    "api_no_path": ErrorText("E1173", "There is nothing at {path}.", "", "/openapi.json lists the paths."),
    "api_no_method": ErrorText("E1174", "{path} does not accept {method}.", "", "It accepts {allowed}."),
    "api_no_model": ErrorText("E1175", "There is no model “{model}”.", "", "Available: {available}."),
}
