"""What is said of an address where a model server was looked for: parts of sentences, key → (English, Japanese)."""

SERVERS: dict[str, tuple[str, str]] = {
    # --- absent
    "found.refused": ("nothing is running there", "何も動いていません"),
    "found.unreachable": ("no connection in {seconds:g} s", "{seconds:g} 秒以内に接続できませんでした"),
    # --- silent
    "found.silent": ("no whole answer in {seconds:g} s", "{seconds:g} 秒以内に回答が揃いませんでした"),
    "found.loading": ("it is still loading its model", "モデルを読み込んでいる途中です"),
    # --- locked
    "found.key_missing": ("put it into the environment variable {variable}", "環境変数 {variable} に設定してください"),
    "found.key_needs_both": (
        "put it into the environment variable {variable}, and say --provider {provider} --base-url {url}",
        "環境変数 {variable} に設定し、--provider {provider} --base-url {url} を指定してください",
    ),
    "found.key_withheld": (
        "the one in {variable} is sent there only with --provider {provider} --base-url {url}",
        "{variable} のキーは、--provider {provider} --base-url {url} を指定したときにだけ送ります",
    ),
    "found.key_refused": ("the one in {variable} was refused", "{variable} のキーは拒まれました"),
    "found.key_unusable": (
        "the one in {variable} holds characters that cannot be sent",
        "{variable} のキーには送れない文字が含まれています",
    ),
    # --- foreign
    "found.ensemble": (
        "it is localllm's own ensemble, which is used only when it is named (--provider openai)",
        "localllm 自身のアンサンブルです（--provider openai で指定したときだけ使います）",
    ),
    "found.web_page": ("a web page (HTTP {status}) {title}", "ウェブページ（HTTP {status}）{title}"),
    "found.redirect": ("it redirects to {place} (HTTP {status})", "{place} に転送されます（HTTP {status}）"),
    "found.endless": ("an answer without an end", "終わりのない回答"),
    "found.other": ("something that is no model server (HTTP {status})", "モデルサーバーではないもの（HTTP {status}）"),
    "found.not_http": ("something that does not speak HTTP: {said}", "HTTP ではないもの: {said}"),
    "found.closes": ("it closes the connection without an answer", "回答せずに接続を閉じます"),
}
