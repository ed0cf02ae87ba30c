"""E2xxx: what goes wrong with a model server."""

from localllm.base.i18n.errors.form import Entries

MODEL_SERVER: Entries = {
    "llm_refused": (
        "E2001",
        (
            "No model server answers at {url}.",
            "{reason}.",
            "Start it ({start}), or set llm.{provider}.base_url.",
        ),
        (
            "{url} のモデルサーバーが応答しません。",
            "{reason}。",
            "サーバーを起動するか（{start}）、llm.{provider}.base_url を設定してください。",
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
            "Check that llm.{provider}.base_url is the address of a model server of that kind.",
        ),
        (
            "{url} から届いたものはチャットの回答ではありません。",
            "{reason}。",
            "llm.{provider}.base_url がその種類のモデルサーバーのアドレスかどうか確かめてください。",
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
    "llm_model_nowhere": (
        "E2019",
        (
            "No server that can be reached has the model “{model}”.",
            "There are: {available}.",
            "Choose one of these with --model, /model or llm.model, or start the server that has it; localllm models lists them.",
        ),
        (
            "接続できるサーバーのどれにもモデル「{model}」がありません。",
            "あるもの: {available}。",
            "--model、/model または llm.model でこの中から選ぶか、そのモデルのあるサーバーを起動してください。一覧は localllm models で見られます。",
        ),
    ),
    "llm_no_models": (
        "E2006",
        (
            "The server at {url} offers no model.",
            "",
            "Load one in the server (Ollama: ollama pull NAME), or name it with --model.",
        ),
        (
            "{url} のサーバーにモデルがありません。",
            "",
            "サーバーでモデルを読み込むか（Ollama: ollama pull NAME）、--model で指定してください。",
        ),
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
            "Ask again in {seconds:,.0f} s.",
        ),
        (
            "{url} のサーバーが待つよう求めています（HTTP 429）。",
            "{reason}",
            "{seconds:,.0f} 秒後にもう一度依頼してください。",
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
            "{reason}",
            "Put the request in other words, or use another model.",
        ),
        (
            "{url} のサーバーのコンテンツフィルターが回答を止めました。",
            "{reason}",
            "依頼を言い換えるか、別のモデルを使ってください。",
        ),
    ),
    "llm_no_tools": (
        "E2017",
        (
            "The model “{model}” cannot call tools.",
            "{reason}",
            "Choose one that can with --model, /model or llm.model. Here that is: {available}.",
        ),
        (
            "モデル「{model}」はツールを呼び出せません。",
            "{reason}",
            "ツールを使えるモデルを --model、/model または llm.model で選んでください。ここにあるもの: {available}。",
        ),
    ),
    "llm_no_thinking": (
        "E2018",
        (
            "The model at {url} does not think in the way it was asked to.",
            "{reason}",
            "Set llm.ollama.think to auto.",
        ),
        (
            "{url} のモデルは、指定された形では思考できません。",
            "{reason}",
            "llm.ollama.think を auto にしてください。",
        ),
    ),
    "llm_none_found": (
        "E2020",
        (
            "No model server was found.",
            "Looked at {addresses}.",
            "Start LM Studio (load a model, then Developer → Start Server), Ollama (ollama pull qwen3:8b) or llama.cpp "
            "(llama-server -m MODEL.gguf --jinja), or set the address of yours: --base-url URL.",
        ),
        (
            "モデルサーバーが見つかりません。",
            "調べた場所: {addresses}。",
            "LM Studio（モデルを読み込み Developer → Start Server）、Ollama（ollama pull qwen3:8b）、llama.cpp"
            "（llama-server -m MODEL.gguf --jinja）のどれかを起動するか、--base-url URL でアドレスを指定してください。",
        ),
    ),
    "llm_silent": (
        "E2021",
        (
            "The server at {url} takes the connection but does not answer.",
            "Nothing came in {seconds:g} s.",
            "Look at the server's own log; it may be loading a model, or be busy. /provider changes to another.",
        ),
        (
            "{url} のサーバーは接続を受け付けますが、応答しません。",
            "{seconds:g} 秒待っても何も届きませんでした。",
            "サーバーのログを見てください。モデルの読み込み中か、処理中かもしれません。/provider で切り替えられます。",
        ),
    ),
    "llm_model_unlisted": (
        "E2022",
        (
            "The server at {url} does not list the model “{model}”.",
            "",
            "It lists: {available}. Choose one with --model, /model or llm.model.",
        ),
        (
            "{url} のサーバーの一覧にモデル「{model}」がありません。",
            "",
            "あるもの: {available}。--model、/model または llm.model で選んでください。",
        ),
    ),
    "llm_model_ambiguous": (
        "E2023",
        ("Several models are called something like “{model}”.", "", "Which one? {available}."),
        ("「{model}」に当たるモデルがいくつもあります。", "", "どれかを指定してください: {available}。"),
    ),
    "llm_quota_spent": (
        "E2024",
        (
            "What you may use of the server at {url} is used up (HTTP 429).",
            "{reason}",
            "Look at your plan and its limits with the provider, or use another model.",
        ),
        (
            "{url} のサーバーの利用枠を使い切りました（HTTP 429）。",
            "{reason}",
            "提供元で契約と上限を確かめるか、別のモデルを使ってください。",
        ),
    ),
    "llm_bad_call": (
        "E2025",
        (
            "The model at {url} made a tool call that its own server could not read.",
            "{reason}",
            "Ask again, for less at a time; or use another model.",
        ),
        (
            "{url} のモデルのツール呼び出しを、そのサーバー自身が読み取れませんでした。",
            "{reason}",
            "一度に頼むことを減らしてもう一度依頼するか、別のモデルを使ってください。",
        ),
    ),
    "llm_no_signature": (
        "E2026",
        (
            "The model at {url} does not accept an earlier tool call: its thought signature is missing or wrong.",
            "{reason}",
            "Start afresh with /clear. For Gemini use the provider gemini, which sends the signatures back.",
        ),
        (
            "{url} のモデルが以前のツール呼び出しを受け付けません。thought signature がないか、正しくありません。",
            "{reason}",
            "/clear で始め直してください。Gemini には、signature を送り返すプロバイダー gemini を使ってください。",
        ),
    ),
    "llm_parameter_refused": (
        "E2027",
        (
            "The model at {url} does not take what {parameter} is set to.",
            "{reason}",
            "Choose another model with --model, /model or llm.model.",
        ),
        (
            "{url} のモデルは {parameter} の値を受け付けません。",
            "{reason}",
            "--model、/model または llm.model で別のモデルを選んでください。",
        ),
    ),
    "llm_no_deployment": (
        "E2028",
        (
            "There is no deployment “{model}” at {url}.",
            "{reason}",
            "Set llm.azure.deployment_name to the name of a deployment as the Azure portal lists it, and leave llm.model "
            "empty. A new deployment takes a few minutes to appear.",
        ),
        (
            "{url} にデプロイ「{model}」はありません。",
            "{reason}",
            "llm.azure.deployment_name を Azure ポータルにあるデプロイ名にし、llm.model は空にしてください。"
            "作ったばかりのデプロイは現れるまで数分かかります。",
        ),
    ),
    "llm_which_deployment": (
        "E2029",
        (
            "No deployment is named for {url}.",
            "Azure does not list the deployments of a resource.",
            "Set llm.azure.deployment_name, or name one with --model.",
        ),
        (
            "{url} のデプロイ名が設定されていません。",
            "Azure はリソースのデプロイ一覧を返しません。",
            "llm.azure.deployment_name を設定するか、--model で指定してください。",
        ),
    ),
    "llm_azure_address": (
        "E2030",
        (
            "{url} does not answer as an Azure OpenAI resource.",
            "{reason}",
            "Check llm.azure.endpoint (https://NAME.openai.azure.com) and llm.azure.api_version.",
        ),
        (
            "{url} は Azure OpenAI のリソースとして応答しません。",
            "{reason}",
            "llm.azure.endpoint（https://NAME.openai.azure.com）と llm.azure.api_version を確かめてください。",
        ),
    ),
    "llm_azure_version": (
        "E2031",
        (
            "{url} does not serve this model under the API version asked for.",
            "{reason}",
            "Set llm.azure.api_version to v1, or to the version named here.",
        ),
        (
            "{url} は、指定された API バージョンではこのモデルを提供していません。",
            "{reason}",
            "llm.azure.api_version を v1 か、ここに示されたバージョンにしてください。",
        ),
    ),
    "llm_azure_no_v1": (
        "E2061",
        (
            "{url} does not know the v1 interface of Azure OpenAI.",
            "{reason}",
            "Check llm.azure.endpoint; an older resource or gateway needs llm.azure.api_version, such as {version}.",
        ),
        (
            "{url} は Azure OpenAI の v1 インターフェースに対応していません。",
            "{reason}",
            "llm.azure.endpoint を確かめてください。古いリソースやゲートウェイでは llm.azure.api_version（{version} など）も必要です。",
        ),
    ),
    "llm_unreachable": (
        "E2032",
        (
            "{url} cannot be reached.",
            "{reason}.",
            "Check the network, a proxy (HTTPS_PROXY), and the address set in llm.{provider}.",
        ),
        (
            "{url} に接続できません。",
            "{reason}。",
            "ネットワーク、プロキシ（HTTPS_PROXY）、llm.{provider} に設定したアドレスを確かめてください。",
        ),
    ),
    "llm_no_images": (
        "E2033",
        (
            "The model at {url} cannot see pictures.",
            "{reason}",
            "Choose one that can with --model, /model or llm.model; llama.cpp needs the model's --mmproj file as well.",
        ),
        (
            "{url} のモデルは画像を見られません。",
            "{reason}",
            "見られるモデルを --model、/model または llm.model で選んでください。llama.cpp にはモデルの --mmproj ファイルも必要です。",
        ),
    ),
    "llm_image_unreadable": (
        "E2034",
        (
            "The server at {url} cannot read a picture it was sent.",
            "{reason}",
            "Send it as PNG or JPEG.",
        ),
        (
            "{url} のサーバーが、送られた画像を読み取れません。",
            "{reason}",
            "PNG か JPEG で送ってください。",
        ),
    ),
    "llm_no_embeddings": (
        "E2035",
        (
            "The server at {url} makes no embeddings with the model “{model}”.",
            "{reason}",
            "Name an embedding model; here that is: {available}. llama.cpp has to be started with --embeddings, and with "
            "--pooling mean where the model itself names no pooling.",
        ),
        (
            "{url} のサーバーはモデル「{model}」で埋め込みを作れません。",
            "{reason}",
            "埋め込み用のモデルを指定してください。ここにあるもの: {available}。llama.cpp は --embeddings を付けて起動し、"
            "モデルに pooling の指定がなければ --pooling mean も付けてください。",
        ),
    ),
    "llm_bad_vectors": (
        "E2036",
        (
            "The embeddings that “{model}” at {url} has made cannot be used.",
            "{reason}",
            "Check that it is an embedding model, and look at the server's own log.",
        ),
        (
            "{url} の「{model}」が作った埋め込みは使えません。",
            "{reason}",
            "埋め込み用のモデルかどうか確かめ、サーバーのログを見てください。",
        ),
    ),
    "llm_text_too_long": (
        "E2037",
        (
            "A text is longer than the embedding model “{model}” at {url} reads.",
            "{reason}",
            "Cut the texts into shorter pieces, or send fewer at a time; llama.cpp reads longer ones with a larger --ubatch-size.",
        ),
        (
            "テキストが、{url} の埋め込みモデル「{model}」の読める長さを超えています。",
            "{reason}",
            "テキストをもっと短く分けるか、一度に送る数を減らしてください。llama.cpp は --ubatch-size を大きくすれば長いものも読めます。",
        ),
    ),
    "llm_loading": (
        "E2060",
        (
            "The server at {url} is still loading its model.",
            "{reason}",
            "Ask again in a moment; its own log says how far it is.",
        ),
        (
            "{url} のサーバーはまだモデルを読み込んでいます。",
            "{reason}",
            "少し待ってもう一度依頼してください。進み具合はサーバーのログで分かります。",
        ),
    ),
}
