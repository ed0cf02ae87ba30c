"""E3xxx: searching the web. E8120 to E8139: fetching its pages. Read by the model as well."""

from localllm.base.i18n.errors.form import Entries

WEB: Entries = {
    "searxng_unreachable": (
        "E3001",
        (
            "SearxNG at {url} does not answer: {reason}.",
            "",
            "Start it (docker compose up -d after localllm init --services), or set web.searxng_url.",
        ),
        (
            "SearxNG（{url}）が応答しません: {reason}。",
            "",
            "起動するか（localllm init --services の後に docker compose up -d）、web.searxng_url を設定してください。",
        ),
    ),
    "searxng_no_json": (
        "E3003",
        (
            "SearxNG at {url} refuses to answer in JSON (403).",
            "It does so unless its settings.yml allows it.",
            "Add json to search.formats in its settings.yml and restart it.",
        ),
        (
            "SearxNG（{url}）が JSON での応答を拒みました（403）。",
            "settings.yml で許可しない限りそうなります。",
            "settings.yml の search.formats に json を加えて再起動してください。",
        ),
    ),
    "searxng_limited": (
        "E3004",
        (
            "The limiter of SearxNG at {url} refuses further searches (429).",
            "",
            "Wait an hour, or name this machine in botdetection.ip_lists.pass_ip of its limiter.toml.",
        ),
        (
            "SearxNG（{url}）の制限により、これ以上検索できません（429）。",
            "",
            "1 時間待つか、limiter.toml の botdetection.ip_lists.pass_ip にこのマシンを加えてください。",
        ),
    ),
    "searxng_not_one": (
        "E3005",
        ("What answers at {url} is not SearxNG.", "", "Set web.searxng_url to the address of SearxNG."),
        (
            "{url} で応答しているのは SearxNG ではありません。",
            "",
            "web.searxng_url に SearxNG のアドレスを設定してください。",
        ),
    ),
    "duckduckgo_missing": (
        "E3006",
        (
            "DuckDuckGo cannot be asked: the package ddgs is not installed.",
            "",
            "The user can install it: pip install 'localllm[web]'",
        ),
        (
            "DuckDuckGo を使うためのパッケージ ddgs がありません。",
            "",
            "利用者が pip install 'localllm[web]' で入れられます。",
        ),
    ),
    "duckduckgo_failed": (
        "E3007",
        ("DuckDuckGo did not answer: {reason}.", "", "Try again later, or use SearxNG (web.searxng_url)."),
        ("DuckDuckGo が応答しません: {reason}。", "", "後で試すか、SearxNG（web.searxng_url）を使ってください。"),
    ),
    "web_no_engine": (
        "E3008",
        ("There is nothing to search the web with.", "", "Name an engine in web.engines."),
        ("ウェブ検索の手段がありません。", "", "web.engines に検索エンジンを指定してください。"),
    ),
    "web_no_answer": (
        "E3010",
        ("The web could not be searched.", "{reasons}", ""),
        ("ウェブを検索できませんでした。", "{reasons}", ""),
    ),
    "web_no_query": (
        "E3009",
        ("The query is empty.", "", "Say what to search for."),
        ("検索語が空です。", "", "何を検索するか指定してください。"),
    ),
    "web_off": (
        "E8120",
        ("The web is off.", "", "The user can turn it on: web.enabled = true"),
        ("ウェブの利用は無効です。", "", "利用者が web.enabled = true で有効にできます。"),
    ),
    "web_unreachable": (
        "E8121",
        ("{url} could not be fetched: {reason}.", "", "Check the address, or search for another source."),
        ("{url} を取得できません: {reason}。", "", "アドレスを確かめるか、ほかの情報源を探してください。"),
    ),
    "web_slow": (
        "E8122",
        ("{url} took longer than {seconds:g} s.", "", "Try another source."),
        ("{url} は {seconds:g} 秒以内に取得できませんでした。", "", "ほかの情報源を試してください。"),
    ),
    "web_status": (
        "E8123",
        ("{url} answered with the error {status}.", "", "Check the address, or search for another source."),
        ("{url} がエラー {status} を返しました。", "", "アドレスを確かめるか、ほかの情報源を探してください。"),
    ),
    "web_redirects": (
        "E8124",
        ("{url} leads elsewhere more than {count} times in a row.", "", "Try another source."),
        ("{url} は {count} 回を超えて転送されます。", "", "ほかの情報源を試してください。"),
    ),
    "web_no_text": (
        "E8125",
        ("{url} holds no text ({kind}).", "", "Only pages, plain text, JSON and PDFs are read."),
        ("{url} に文章はありません（{kind}）。", "", "読めるのはページ、テキスト、JSON、PDF だけです。"),
    ),
    "web_address_refused": (
        "E9040",
        (
            "{url} was not fetched: {reason}.",
            "",
            "Use a public address. The user can name exceptions in web.allow_private (host:port).",
        ),
        (
            "{url} は取得していません: {reason}。",
            "",
            "公開されたアドレスを使ってください。例外は利用者が web.allow_private（host:port）で指定できます。",
        ),
    ),
}
