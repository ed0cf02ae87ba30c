"""E11xx and E208x: the ensemble server, its configuration and its start."""

from localllm.base.error_texts.text import ErrorText

ENSEMBLE = {
    "ensemble_unconfigured": ErrorText(
        "E1101",
        "The ensemble server has no configuration, and was not started.",
        "There is no config.json in {folder}.",
        "Give one with --config FILE, put a config.json here (localllm serve --write-config writes one for "
        "the models found), or use whatever models are found with --auto.",
    ),
    "ensemble_none_in_chat": ErrorText(
        "E1115",
        "There is no ensemble to ask.",
        "There is no config.json in {folder}, and ensemble.config names none.",
        "Write one for the models found (localllm serve --write-config), or name one: localllm config set "
        "ensemble.config FILE.",
    ),
    "ensemble_config_missing": ErrorText(
        "E1102",
        "There is no file {file}.",
        "",
        "Check the name after --config; localllm serve --write-config writes a config.json of the models found.",
    ),
    "ensemble_config_unreadable": ErrorText(
        "E1103",
        "{file} cannot be read as a configuration.",
        "{reason}.",
        "A configuration is a UTF-8 text file containing JSON; docs/ensemble.md has an example.",
    ),
    "ensemble_config_bad_json": ErrorText(
        "E1104", "{file}:{line}:{column}: not valid JSON.", "{reason}.", "Correct it there."
    ),
    "ensemble_config_lacks": ErrorText(
        "E1105", "{file}: “{path}” is missing or empty.", "{reason}", "Add it, as in {example}."
    ),
    "ensemble_config_unknown_key": ErrorText("E1106", "{file}: unknown key “{path}”.", "", "{hint}"),
    "ensemble_config_secret": ErrorText(
        "E1107",
        "{file}: “{path}” holds a secret.",
        "Keys and passwords are never read from this file.",
        'Remove it, put the key into an environment variable, and name that: "api_key_env": "NAME_OF_THE_VARIABLE".',
    ),
    "ensemble_config_repeated_key": ErrorText(
        "E1108",
        "{file}: “{key}” occurs twice in one object ({place}).",
        "Only one of the two can take effect.",
        "Remove one of them.",
    ),
    "ensemble_config_same_name": ErrorText(
        "E1109",
        "{file}: “{path}” and “{other}” are the same, “{name}”.",
        "Answers are identified by the names of their workers.",
        "Give each worker a name of its own.",
    ),
    "ensemble_config_bad_pattern": ErrorText(
        "E1110",
        "{file}: “{path}” is not a regular expression.",
        "{reason}.",
        "Correct it, or leave it out: then the worker is asked about everything.",
    ),
    "ensemble_config_bad_address": ErrorText(
        "E1111", "{file}: “{path}” is not a server address.", "{reason}.", "Write it like “{example}”."
    ),
    "ensemble_config_needless_address": ErrorText(
        "E1112",
        "{file}: “{path}” is set, but the provider “{provider}” has no server.",
        "",
        "Remove it; “model” names what is run.",
    ),
    "ensemble_config_bad_variable": ErrorText(
        "E1113",
        "{file}: “{path}” is not the name of an environment variable.",
        "A name is letters, digits and “_”. The key itself must not be in this file.",
        'Put the key into a variable and name that, as in "api_key_env": "OPENAI_API_KEY".',
    ),
    "ensemble_config_unnamed": ErrorText(
        "E1114",
        "{file} is used only if you name it explicitly.",
        "{reason}; a file that is merely found in the folder, perhaps in someone else's project, may not do that.",
        "If it is yours, start with --config {file}; for the chat, move it out of the project and name it there: "
        "localllm config set ensemble.config FILE.",
    ),
    "ensemble_config_reaches_further": ErrorText(
        "E1116",
        "{file} asks for more than it did when the server was started.",
        "{reason}; a command that a model ran may have written that.",
        "If the change is yours, restart the server.",
    ),
    "ensemble_no_models": ErrorText(
        "E2080",
        "No model was found for an ensemble.",
        "Tried {addresses}. {reasons}",
        "Start LM Studio (load a model, then Developer → Start Server), Ollama (ollama pull qwen3:8b) or "
        "llama.cpp (llama-server -m MODEL.gguf --jinja); servers on other machines go into a config.json "
        "(docs/ensemble.md).",
    ),
    "ensemble_not_installed": ErrorText(
        "E1120",
        "The ensemble server needs packages that are not installed: {packages}.",
        "",
        "pip install 'localllm[serve]'; in a clone: .venv/bin/python -m pip install -e '.[serve]'.",
    ),
    "ensemble_port_taken": ErrorText(
        "E1121",
        "{address} is already in use.",
        "In use by: {who}.",
        "Stop that program, or choose another port: --port {free}.",
    ),
    "ensemble_port_forbidden": ErrorText(
        "E1122",
        "Port {port} may not be used.",
        "{reason}.",
        "Choose 1024 or higher, such as --port 8000; lower ports are reserved for the administrator.",
    ),
    "ensemble_bad_host": ErrorText(
        "E1123",
        "“{host}” is not an address of this machine.",
        "{reason}.",
        "Give one of its own with --host, such as 127.0.0.1 (only this machine) or 0.0.0.0 (anyone who can reach it).",
    ),
    "ensemble_needs_token": ErrorText(
        "E1124",
        "At {host} anyone on the network could use your models.",
        "A server that listens beyond loopback requires a token from its clients.",
        "Set {variable} to a long random text (python3 -c 'import secrets; print(secrets.token_urlsafe())') "
        "and start again; clients send it as Authorization: Bearer TOKEN.",
    ),
    "ensemble_bad_token": ErrorText(
        "E1125",
        "The token in {variable} cannot be used.",
        "{reason}.",
        "Make one with python3 -c 'import secrets; print(secrets.token_urlsafe())'.",
    ),
    "ensemble_config_exists": ErrorText(
        "E1126",
        "{file} already exists and was left unchanged.",
        "",
        "Name another with --config FILE, or overwrite it with --force.",
    ),
    "ensemble_config_unwritable": ErrorText(
        "E1127", "Cannot write {file}.", "{reason}.", "Check its folder, its permissions and the free disk space."
    ),
}
