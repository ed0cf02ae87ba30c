"""E2xxx: what goes wrong with a model server."""

from localllm.base.i18n.errors.form import Entries

MODEL_SERVER: Entries = {
    "llm_refused": (
        "E2001",
        (
            "No model server answers at {url}.",
            "{reason}.",
            "Start it (LM Studio: Developer → Start Server; llama.cpp: llama-server -m MODEL), "
            "or set llm.{provider}.base_url.",
        ),
        (
            "{url} のモデルサーバーが応答しません。",
            "{reason}。",
            "サーバーを起動するか（LM Studio: Developer → Start Server、llama.cpp: llama-server -m MODEL）、"
            "llm.{provider}.base_url を設定してください。",
        ),
    ),
    "llm_idle": (
        "E2002",
        (
            "The model server at {url} fell silent.",
            "Nothing came for {seconds:.0f} s in the middle of an answer.",
            "Look at the server's own log, or raise llm.{provider}.idle_timeout.",
        ),
        (
            "{url} のモデルサーバーが途中で黙りました。",
            "回答の途中で {seconds:.0f} 秒間何も届きませんでした。",
            "サーバーのログを見るか、llm.{provider}.idle_timeout を大きくしてください。",
        ),
    ),
    "llm_cut": (
        "E2003",
        (
            "The model server at {url} closed the connection in the middle of an answer.",
            "{reason}.",
            "Ask again; if it happens again, look at the server's own log (it may have run out of memory).",
        ),
        (
            "{url} のモデルサーバーが回答の途中で接続を閉じました。",
            "{reason}。",
            "もう一度依頼してください。繰り返すならサーバーのログを見てください（メモリ不足かもしれません）。",
        ),
    ),
    "llm_malformed": (
        "E2004",
        (
            "The model server at {url} sent something that is not a chat answer.",
            "{reason}.",
            "Check that the address is that of an OpenAI-compatible server.",
        ),
        (
            "{url} から届いたものはチャットの回答ではありません。",
            "{reason}。",
            "OpenAI 互換サーバーのアドレスかどうか確かめてください。",
        ),
    ),
    "llm_model_not_found": (
        "E2005",
        (
            "The server at {url} has no model “{model}”.",
            "{reason}",
            "It has: {available}. Choose one with --model, /model or llm.model.",
        ),
        (
            "{url} のサーバーにモデル「{model}」はありません。",
            "{reason}",
            "あるもの: {available}。--model、/model または llm.model で選んでください。",
        ),
    ),
    "llm_no_models": (
        "E2006",
        ("The server at {url} offers no model.", "", "Load one in the server, or name it with --model."),
        ("{url} のサーバーにモデルがありません。", "", "サーバーでモデルを読み込むか、--model で指定してください。"),
    ),
    "llm_unauthorized": (
        "E2007",
        (
            "The server at {url} refused the key (HTTP {status}).",
            "{reason}",
            "Set the right key in the environment variable {variable}.",
        ),
        (
            "{url} のサーバーが鍵を拒みました（HTTP {status}）。",
            "{reason}",
            "正しい鍵を環境変数 {variable} に設定してください。",
        ),
    ),
    "llm_rate_limited": (
        "E2008",
        (
            "The server at {url} asks to wait (HTTP 429).",
            "{reason}",
            "Ask again in {seconds:.0f} s.",
        ),
        (
            "{url} のサーバーが待つよう求めています（HTTP 429）。",
            "{reason}",
            "{seconds:.0f} 秒後にもう一度依頼してください。",
        ),
    ),
    "llm_server_failed": (
        "E2009",
        (
            "The model server at {url} failed (HTTP {status}).",
            "{reason}",
            "Look at the server's own log; ask again when it is well.",
        ),
        (
            "{url} のモデルサーバーでエラーが起きました（HTTP {status}）。",
            "{reason}",
            "サーバーのログを見て、直ってからもう一度依頼してください。",
        ),
    ),
    "llm_bad_request": (
        "E2010",
        (
            "The model server at {url} did not accept the request (HTTP {status}).",
            "{reason}",
            "Check llm.model and the address.",
        ),
        (
            "{url} のモデルサーバーが要求を受け付けませんでした（HTTP {status}）。",
            "{reason}",
            "llm.model とアドレスを確かめてください。",
        ),
    ),
    "llm_context_overflow": (
        "E2011",
        (
            "The conversation no longer fits into the model's context window.",
            "{reason}",
            "Start afresh with /clear, or load the model with a larger context.",
        ),
        (
            "会話がモデルのコンテキストに収まらなくなりました。",
            "{reason}",
            "/clear で始め直すか、モデルをより大きなコンテキストで読み込んでください。",
        ),
    ),
    "llm_empty": (
        "E2012",
        (
            "The model server at {url} answered with nothing.",
            "{reason}",
            "Ask again, or load another model.",
        ),
        (
            "{url} のモデルサーバーの回答が空でした。",
            "{reason}",
            "もう一度依頼するか、別のモデルを読み込んでください。",
        ),
    ),
    "llm_script_ended": (
        "E2013",
        ("The script {file} has no more turns.", "", "Add a turn to it."),
        ("台本 {file} にはもう続きがありません。", "", "続きを書き足してください。"),
    ),
    "llm_scripted_failure": (
        "E2014",
        ("The scripted model failed, as its script says: {reason}", "", ""),
        ("台本どおり、モデルが失敗しました: {reason}", "", ""),
    ),
    "llm_thinking_cut": (
        "E2015",
        (
            "The token limit was reached while the model at {url} was still thinking.",
            "It had no tokens left for an answer.",
            "Raise llm.max_tokens, or ask for less at a time.",
        ),
        (
            "{url} のモデルが考えている途中でトークン上限に達しました。",
            "回答のためのトークンが残りませんでした。",
            "llm.max_tokens を大きくするか、一度に頼むことを減らしてください。",
        ),
    ),
    "llm_filtered": (
        "E2016",
        (
            "The content filter of the server at {url} held the answer back.",
            "",
            "Put the request in other words, or use another model.",
        ),
        (
            "{url} のサーバーのコンテンツフィルターが回答を止めました。",
            "",
            "依頼を言い換えるか、別のモデルを使ってください。",
        ),
    ),
}
