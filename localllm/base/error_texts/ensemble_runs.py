"""E115x: ensemble runs and failures of their agents."""

from localllm.base.error_texts.text import ErrorText

ENSEMBLE_RUNS = {
    "ensemble_no_key": ErrorText(
        "E1150",
        "{agent}: the environment variable {variable} has no key for it.",
        "The agent's api_key_env names it, but it is not set, or the provider takes no key.",
        "Set it where the server is started, or remove api_key_env.",
    ),
    "ensemble_timeout": ErrorText(
        "E1151",
        "Timed out after {seconds:g} s.",
        "",
        "Raise the agent's timeout, or give it a smaller model.",
    ),
    "ensemble_turn_timeout": ErrorText(
        "E1152",
        "Timed out after {seconds:g} s, waiting for its turn.",
        "{host} serves at most {limit} different models at once (per_host), and others were busy the whole time.",
        "Raise per_host or the agent's timeout, or put its model on another host.",
    ),
    "ensemble_quorum": ErrorText(
        "E1153", "The ensemble did not wait for it.", "{answers} answers were enough (quorum)."
    ),
    "ensemble_hedge": ErrorText(
        "E1154", "The ensemble did not wait for it.", "It took longer than {seconds:g} s (hedge_after)."
    ),
    "ensemble_unreachable": ErrorText(
        "E1155",
        "No server answers at {url}.",
        "{reason}.",
        "Start the server, or correct the agent's api_url.",
    ),
    "ensemble_no_model": ErrorText(
        "E1156",
        "The server at {url} has no model “{model}”.",
        "It has: {available}.",
        "Correct the agent's model, or load it there (Ollama: ollama pull {model}).",
    ),
    "ensemble_unauthorized": ErrorText(
        "E1157",
        "The server at {url} refused the key (HTTP {status}).",
        "{reason}",
        "In the agent's api_key_env, name the environment variable that holds the right key.",
    ),
    "ensemble_all_failed": ErrorText("E1158", "No worker has answered.", "{reasons}"),
    "ensemble_no_room": ErrorText(
        "E1159",
        "The question and the answers do not fit into the reviewer's window.",
        "It holds {window:,} tokens.",
        "Use a reviewer with a larger window (num_ctx), fewer workers, or a shorter question.",
    ),
    "ensemble_no_final_answer": ErrorText(
        "E1149",
        "{agent} judged the answers but wrote no final answer.",
        "It was asked again, without success.",
        "Ask again; if it happens again, raise the reviewer's max_tokens or num_ctx, or use a larger model.",
    ),
    "ensemble_malformed": ErrorText(
        "E1144",
        "The server at {url} sent something that is not a chat answer.",
        "{reason}.",
        "Correct the agent's api_url, or its provider.",
    ),
    "ensemble_bad_request": ErrorText(
        "E1145",
        "The server at {url} did not accept the request (HTTP {status}).",
        "{reason}",
        "Correct the agent's model, api_url or provider.",
    ),
    "ensemble_thinking_cut": ErrorText(
        "E1146",
        "The model at {url} was still thinking when it reached its limit of tokens.",
        "It had none left for an answer.",
        "Raise the agent's max_tokens or num_ctx, or use a model that thinks less.",
    ),
    "ensemble_overflow": ErrorText(
        "E1147",
        "The request does not fit into the context window of {model}.",
        "{reason}",
        "Raise the agent's num_ctx, use a model with a larger window, or ask a shorter question.",
    ),
    "ensemble_broken_off": ErrorText(
        "E1148",
        "It had not answered when the request was cancelled.",
        "The client disconnected, the server was stopped, or the request exceeded its time limit.",
    ),
    "ensemble_no_check": ErrorText(
        "E1178",
        "The answers were not checked.",
        "{reason}.",
        "Run the server in a folder of its own, on a machine with a sandbox (localllm doctor), or remove “check”.",
    ),
    "ensemble_no_choice": ErrorText(
        "E1179",
        "{agent} judged the answers but chose none.",
        "",
        "Ask again; if it happens again, use a larger model as the reviewer.",
    ),
}
