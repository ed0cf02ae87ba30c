"""E2xxx: unusable model servers or files, and their requirements for panels and long conversations."""

from localllm.base.error_texts.text import ErrorText

MODELS = {
    "llm_refused": ErrorText(
        "E2001", "No model server answers at {url}.", "{reason}.", "Start it ({start}), or set llm.{provider}.base_url."
    ),
    "llm_none": ErrorText(
        "E2045",
        "Nothing was done: this needs a language model, and none is connected.",
        "",
        "Start a model server, or choose one with --provider. localllm doctor says what is missing.",
    ),
    "llm_offline": ErrorText(
        "E2041",
        "{url} was not contacted: localllm is offline.",
        "Not reached, because {reason}.",
        "Use a model on this machine, or leave out --offline (in the settings: offline = false).",
    ),
    "llm_offline_model": ErrorText(
        "E2042",
        "The model “{model}” was not used: localllm is offline.",
        "Ollama at {url} runs it on its maker's machines, not on yours.",
        "Use a model that runs on this machine, or leave out --offline (in the settings: offline = false).",
    ),
    "llm_model_elsewhere": ErrorText(
        "E2081",
        "The model “{model}” was not used: Ollama at {url} runs it on its maker's machines, not on yours.",
        "Only a file that came with the project names it.",
        "Name it yourself (localllm --model NAME; for an ensemble: --config FILE), or use a model that runs here.",
    ),
    "llm_not_own_network": ErrorText(
        "E2044",
        "{url} was not contacted: it is not in your own network.",
        "It resolves to {place}, and the config.json that names it was merely found here: it may have come "
        "with someone else's project.",
        "If it is yours, name it: localllm serve --config config.json; for the chat, move it out of the project and: "
        "localllm config set ensemble.config FILE.",
    ),
    "llm_idle": ErrorText(
        "E2002",
        "The model server at {url} stopped responding.",
        "Nothing arrived for {seconds:.0f} s in the middle of an answer.",
        "Check the server's log, or raise llm.{provider}.idle_timeout.",
    ),
    "llm_cut": ErrorText(
        "E2003",
        "The model server at {url} closed the connection in the middle of an answer.",
        "{reason}.",
        "Try again; if it happens again, check the server's log (it may have run out of memory).",
    ),
    "llm_malformed": ErrorText(
        "E2004",
        "The model server at {url} sent something that is not a chat answer.",
        "{reason}.",
        "Check that llm.{provider}.base_url is the address of a model server of that kind.",
    ),
    "llm_garbled": ErrorText(
        "E2043",
        "The model server at {url} sent part of an answer that cannot be read.",
        "{reason}.",
        "Try again; if it happens again, check the server's log, or a proxy in between.",
    ),
    "llm_endless": ErrorText(
        "E2072",
        "The answer from the model server at {url} does not end.",
        "More than {most:,} bytes have arrived.",
        "Try again; if it happens again, check the server's log: the model may be repeating itself.",
    ),
    "llm_model_not_found": ErrorText(
        "E2005",
        "The server at {url} has no model “{model}”.",
        "{reason}",
        "It has: {available}. Choose one with --model, /model or llm.model.",
    ),
    "llm_model_nowhere": ErrorText(
        "E2019",
        "No reachable server has the model “{model}”.",
        "Available: {available}.",
        (
            "Choose one of these with --model, /model or llm.model, or start the server that has "
            "it; localllm models lists them."
        ),
    ),
    "llm_no_models": ErrorText(
        "E2006",
        "The server at {url} offers no model.",
        "",
        "Load one in the server (Ollama: ollama pull NAME), or name it with --model.",
    ),
    "llm_models_elsewhere": ErrorText(
        "E2073",
        "The server at {url} offers only models that run elsewhere.",
        "It has: {available}.",
        (
            "Load one in the server (Ollama: ollama pull NAME), or name one of these with --model, /model or "
            "llm.model: your words and files then go to its maker."
        ),
    ),
    "llm_unauthorized": ErrorText(
        "E2007",
        "The server at {url} refused the key (HTTP {status}).",
        "{reason}",
        "Set the right key in the environment variable {variable}.",
    ),
    "llm_rate_limited": ErrorText(
        "E2008", "The server at {url} limits requests (HTTP 429).", "{reason}", "Try again in {seconds:,.0f} s."
    ),
    "llm_server_failed": ErrorText(
        "E2009",
        "The model server at {url} failed (HTTP {status}).",
        "{reason}",
        "Check the server's log, and try again once it works.",
    ),
    "llm_bad_request": ErrorText(
        "E2010",
        "The model server at {url} did not accept the request (HTTP {status}).",
        "{reason}",
        "Check llm.model and the address.",
    ),
    "llm_empty": ErrorText(
        "E2012", "The model server at {url} returned an empty answer.", "{reason}", "Try again, or load another model."
    ),
    "llm_only_thought": ErrorText(
        "E2040",
        "The model at {url} thought, but gave no answer.",
        "",
        "Try again, or use another model; one that thinks less may answer.",
    ),
    "llm_script_ended": ErrorText("E2013", "The script {file} has no more turns.", "", "Add a turn to it."),
    "llm_thinking_cut": ErrorText(
        "E2015",
        "The token limit was reached while the model at {url} was still thinking.",
        "It had no tokens left for an answer.",
        "Raise llm.max_tokens, or ask for less at a time.",
    ),
    "llm_filtered": ErrorText(
        "E2016",
        "The content filter of the server at {url} blocked the answer.",
        "{reason}",
        "Rephrase the request, or use another model.",
    ),
    "llm_no_tools": ErrorText(
        "E2017",
        "The model “{model}” cannot call tools.",
        "{reason}",
        "Choose one that can, with --model, /model or llm.model. Available: {available}.",
    ),
    "llm_no_thinking": ErrorText(
        "E2018",
        "The model at {url} does not support the requested thinking mode.",
        "{reason}",
        "Set llm.ollama.think to auto.",
    ),
    "llm_none_found": ErrorText(
        "E2020",
        "No model server was found.",
        "Tried {addresses}.",
        (
            "Start LM Studio (load a model, then Developer → Start Server), Ollama (ollama pull qwen3:8b) "
            "or llama.cpp (llama-server -m MODEL.gguf --jinja), or give the address of your server: "
            "--base-url URL."
        ),
    ),
    "llm_silent": ErrorText(
        "E2021",
        "The server at {url} accepts the connection but does not answer.",
        "Nothing arrived in {seconds:g} s.",
        "Check the server's log; it may be loading a model or be busy. "
        "Use another provider with --provider, /provider or llm.provider.",
    ),
    "llm_model_unlisted": ErrorText(
        "E2022",
        "The server at {url} does not list the model “{model}”.",
        "",
        "It lists: {available}. Choose one with --model, /model or llm.model.",
    ),
    "llm_model_ambiguous": ErrorText("E2023", "Several models match “{model}”.", "", "Which one? {available}."),
    "llm_quota_spent": ErrorText(
        "E2024",
        "Your quota on the server at {url} is used up (HTTP 429).",
        "{reason}",
        "Check your plan and its limits with the provider, or use another model.",
    ),
    "llm_bad_call": ErrorText(
        "E2025",
        "The model at {url} made a tool call that its own server could not read.",
        "{reason}",
        "Try again, asking for less at a time, or use another model.",
    ),
    "llm_no_signature": ErrorText(
        "E2026",
        "The model at {url} does not accept an earlier tool call: its thought signature is missing or wrong.",
        "{reason}",
        "Start over with /clear. For Gemini use the provider gemini, which sends the signatures back.",
    ),
    "llm_parameter_refused": ErrorText(
        "E2027",
        "The model at {url} does not accept the value of {parameter}.",
        "{reason}",
        "Choose another model with --model, /model or llm.model.",
    ),
    "llm_no_deployment": ErrorText(
        "E2028",
        "There is no deployment “{model}” at {url}.",
        "{reason}",
        (
            "Set llm.azure.deployment_name to the name of a deployment as the Azure portal lists "
            "it, and leave llm.model empty. A new deployment takes a few minutes to appear."
        ),
    ),
    "llm_which_deployment": ErrorText(
        "E2029",
        "No deployment is set for {url}.",
        "Azure does not list the deployments of a resource.",
        "Set llm.azure.deployment_name, or name one with --model.",
    ),
    "llm_azure_address": ErrorText(
        "E2030",
        "{url} does not answer as an Azure OpenAI resource.",
        "{reason}",
        "Check llm.azure.endpoint (https://NAME.openai.azure.com) and llm.azure.api_version.",
    ),
    "llm_azure_version": ErrorText(
        "E2031",
        "{url} does not serve this model with the requested API version.",
        "{reason}",
        "Set llm.azure.api_version to v1, or to the version named here.",
    ),
    "llm_azure_no_v1": ErrorText(
        "E2061",
        "{url} does not know the v1 interface of Azure OpenAI.",
        "{reason}",
        "Check llm.azure.endpoint; an older resource or gateway needs llm.azure.api_version, such as {version}.",
    ),
    "llm_unreachable": ErrorText(
        "E2032",
        "{url} cannot be reached.",
        "{reason}.",
        "Check the network, a proxy (HTTPS_PROXY), and the address set in llm.{provider}.",
    ),
    "llm_no_images": ErrorText(
        "E2033",
        "The model at {url} cannot see pictures.",
        "{reason}",
        "Choose one that can with --model, /model or llm.model; llama.cpp needs the model's --mmproj file as well.",
    ),
    "llm_image_unreadable": ErrorText(
        "E2034", "The server at {url} cannot read a picture it was sent.", "{reason}", "Send it as PNG or JPEG."
    ),
    "llm_no_embeddings": ErrorText(
        "E2035",
        "The server at {url} cannot make embeddings with the model “{model}”.",
        "{reason}",
        (
            "Choose an embedding model. Available: {available}. Start llama.cpp with --embeddings, and "
            "with --pooling mean if the model itself names no pooling."
        ),
    ),
    "llm_bad_vectors": ErrorText(
        "E2036",
        "The embeddings from “{model}” at {url} cannot be used.",
        "{reason}",
        "Check that it is an embedding model, and check the server's log.",
    ),
    "llm_text_too_long": ErrorText(
        "E2037",
        "A text is too long for the embedding model “{model}” at {url}.",
        "{reason}",
        (
            "Cut the texts into shorter pieces, or send fewer at a time; llama.cpp accepts longer ones "
            "with a larger --ubatch-size."
        ),
    ),
    "llm_loading": ErrorText(
        "E2060",
        "The server at {url} is still loading its model.",
        "{reason}",
        "Try again in a moment; the server's log shows how far it is.",
    ),
    "gguf_not_set": ErrorText(
        "E1030",
        "No model file is set.",
        "The provider gguf runs a model file. {near}",
        (
            "Set one: --model FILE.gguf, or llm.gguf.file in the settings. Nothing is downloaded "
            "automatically: model hubs on the web have such files (search for a model's name and “GGUF”)."
        ),
    ),
    "gguf_missing": ErrorText(
        "E1031",
        "There is no model file {file}.",
        "{near}",
        (
            "Choose another with --model or llm.gguf.file. Nothing is downloaded automatically: model hubs "
            "on the web have such files (search for a model's name and “GGUF”)."
        ),
    ),
    "gguf_not_gguf": ErrorText(
        "E1032",
        "{file} is not a GGUF model file.",
        "Its contents: {reason}.",
        "Choose another with --model or llm.gguf.file; a downloaded file may have to be downloaded again.",
    ),
    "gguf_unreadable": ErrorText(
        "E1033", "Cannot read the model file {file}.", "{reason}.", "Make it readable, or choose another with --model."
    ),
    "gguf_not_installed": ErrorText(
        "E2050",
        "Model files cannot be run yet.",
        "The package xllamacpp, which contains llama.cpp, is not installed.",
        "pip install xllamacpp, or start a server for the file: llama-server -m FILE --jinja.",
    ),
    "gguf_no_avx2": ErrorText(
        "E2051",
        "This processor cannot run the llama.cpp that is installed.",
        "The package xllamacpp needs a processor with AVX2, and this one lacks it.",
        "Build llama.cpp on this machine and start llama-server -m FILE --jinja: it is found automatically.",
    ),
    "gguf_unloadable": ErrorText("E2052", "The model file {file} cannot be loaded.", "{reason}.", "{advice}"),
    "gguf_died": ErrorText(
        "E2053", "The process that ran {file} has died.", "{reason}.", "Ask again: it is restarted. {advice}"
    ),
    "gguf_nowhere": ErrorText(
        "E2054",
        "There is no model file {model} here, and no server that can be reached has a model of that name.",
        "{near} The servers have: {available}.",
        (
            "Choose one of these with --model, or set llm.gguf.file. Nothing is downloaded automatically: "
            "model hubs on the web have such files (search for a model's name and “GGUF”)."
        ),
    ),
    "panel_no_model": ErrorText(
        "E2070",
        "There is no model to ask.",
        "No model server was found, and none is set for this role.",
        "Start a model server (LM Studio, Ollama, llama.cpp, …), or set one under [agents.panel] in localllm.toml.",
    ),
    "panel_no_provider": ErrorText(
        "E2071",
        "No server can do this task: {task}.",
        "Tried: {names}. Each is down, or its model lacks what the task needs.",
        "See /models for what each server offers, or set another under [agents.panel] in localllm.toml.",
    ),
    "context_words_too_long": ErrorText(
        "E2038",
        "Your messages do not fit into the model's context window.",
        (
            "They are never shortened; they have about {words} tokens, and there is room for {room} in a "
            "window of {window}."
        ),
        (
            "Put long text into a file and name it with @path, load the model with a larger context, or "
            "start over with /clear."
        ),
    ),
    "context_full": ErrorText(
        "E2039",
        "The conversation remains too long for the model's context window.",
        "It was shortened {count} times in a row and still has about {after} tokens in a window of {window}.",
        (
            "Load the model with a larger context (llm.context_window), or start over with /clear; "
            "/compact keeps what you name."
        ),
    ),
    "llm_context_overflow": ErrorText(
        "E2011",
        "The conversation no longer fits into the model's context window.",
        "{reason}",
        "Start over with /clear, or load the model with a larger context.",
    ),
}
