"""E3xxx: web search; E4xxx: the search cache; E8120 to E8139: fetching pages. The model reads them too."""

from localllm.base.error_texts.text import ErrorText

WEB = {
    "searxng_unreachable": ErrorText(
        "E3001",
        "SearxNG at {url} does not answer: {reason}.",
        "",
        "Start it (docker compose up -d after localllm init --services), or set web.searxng_url.",
    ),
    "searxng_no_json": ErrorText(
        "E3003",
        "SearxNG at {url} refuses to answer in JSON (403).",
        "It does so unless its settings.yml allows it.",
        "Add json to search.formats in its settings.yml and restart it.",
    ),
    "searxng_limited": ErrorText(
        "E3004",
        "The limiter of SearxNG at {url} refuses further searches (429).",
        "",
        "Wait an hour, or name this machine in botdetection.ip_lists.pass_ip of its limiter.toml.",
    ),
    "searxng_not_one": ErrorText(
        "E3005", "The server at {url} is not SearxNG.", "", "Set web.searxng_url to the address of SearxNG."
    ),
    "duckduckgo_missing": ErrorText(
        "E3006",
        "DuckDuckGo cannot be used: the package ddgs is not installed.",
        "",
        "The user can install it: pip install 'localllm[web]'",
    ),
    "duckduckgo_failed": ErrorText(
        "E3007", "DuckDuckGo did not answer: {reason}.", "", "Try again later, or use SearxNG (web.searxng_url)."
    ),
    "serper_no_key": ErrorText(
        "E3012",
        "Serper cannot be used: SERPER_API_KEY is not set.",
        "",
        "Put the key from serper.dev into the variable SERPER_API_KEY, or drop serper from web.engines.",
    ),
    "serper_key_malformed": ErrorText(
        "E3013",
        "Serper cannot be used: SERPER_API_KEY does not hold a key.",
        "A key is one word of at least 20 letters and digits.",
        "Copy it from serper.dev again, without quotes, spaces or a name before it.",
    ),
    "serper_key_refused": ErrorText(
        "E3014",
        "Serper refuses the key in SERPER_API_KEY (HTTP {status}).",
        "",
        "Make sure at serper.dev that the key is valid, and put it into SERPER_API_KEY.",
    ),
    "serper_bad_request": ErrorText(
        "E3015",
        "Serper refuses the search (HTTP 400): {reason}.",
        "",
        "Check the credits at serper.dev, and web.serper.language and web.serper.country.",
    ),
    "serper_limited": ErrorText(
        "E3016", "Serper refuses further searches for now (HTTP 429).", "", "Wait a moment, or use another engine."
    ),
    "serper_unreachable": ErrorText(
        "E3017", "Serper at {url} does not answer: {reason}.", "", "Try again later, or use another engine."
    ),
    "serper_not_one": ErrorText(
        "E3018", "The server at {url} is not Serper.", "", "Set web.serper.base_url to the address of Serper."
    ),
    "serper_insecure": ErrorText(
        "E3019",
        "Serper is not used at {url}: the key would travel unencrypted.",
        "",
        "Set web.serper.base_url to an address with https://",
    ),
    "search_engine_resting": ErrorText(
        "E3020",
        "{engine} is paused for the next {seconds} s because it kept failing: {reason}",
        "",
        "Try again later, or use another engine.",
    ),
    "searxng_refused": ErrorText(
        "E3021",
        "SearxNG at {url} refuses the search: {reason}.",
        "",
        "Check web.searxng_categories, and that its settings.yml knows the language that is searched in.",
    ),
    "search_engines_silent": ErrorText(
        "E3022",
        "{engine} found nothing, since no engine behind it answers: {engines}.",
        "Engines that were asked too often refuse to answer for minutes or hours.",
        "Wait, enable other engines in its settings.yml, or name another engine in web.engines.",
    ),
    "search_only_private": ErrorText(
        "E3023",
        "The search was not made: the query is only personal data.",
        "Research sends no e-mail addresses, telephone or card numbers, keys or private addresses to search engines.",
        "Rephrase it.",
    ),
    "search_offline": ErrorText(
        "E3011", "The web is not searched: localllm is offline.", "", "Only the user can end that: offline = false"
    ),
    "web_no_engine": ErrorText("E3008", "There is no search engine to use.", "", "Name an engine in web.engines."),
    "web_no_answer": ErrorText("E3010", "The web could not be searched.", "{reasons}"),
    "web_no_query": ErrorText("E3009", "The query is empty.", "", "Say what to search for."),
    "cache_failed": ErrorText(
        "E4001",
        "Searches cannot be kept in {where}: {reason}.",
        "They are kept in memory for now.",
        "Check that it is reachable and writable, or set web.cache to memory.",
    ),
    "cache_no_package": ErrorText(
        "E4002",
        "Searches cannot be kept in {where}: the package redis is not installed.",
        "They are kept in memory for now.",
        "Install it: pip install 'localllm[redis]'",
    ),
    "cache_unknown": ErrorText(
        "E4003",
        "Searches cannot be kept in “{name}”: it is not a cache.",
        "They are kept in memory for now.",
        "Set web.cache to disk, memory, or an address such as redis://localhost:6379/0.",
    ),
    "web_off": ErrorText("E8120", "The web is off.", "", "The user can turn it on: web.enabled = true"),
    "web_unreachable": ErrorText(
        "E8121", "{url} could not be fetched: {reason}.", "", "Check the address, or search for another source."
    ),
    "web_slow": ErrorText("E8122", "{url} took longer than {seconds:g} s.", "", "Try another source."),
    "web_status": ErrorText(
        "E8123", "{url} returned the error {status}.", "", "Check the address, or search for another source."
    ),
    "web_redirects": ErrorText("E8124", "{url} redirects more than {count} times in a row.", "", "Try another source."),
    "web_no_text": ErrorText(
        "E8125", "{url} is not text ({kind}).", "", "Only pages, plain text, JSON and PDFs are read."
    ),
    "web_pdf_large": ErrorText(
        "E8129",
        "{url} is a PDF of more than {megabytes:.0f} MB, which is not read.",
        "A PDF cannot be read in part.",
        "Look for another source.",
    ),
    "web_robots_forbid": ErrorText(
        "E8126",
        "{url} is not read: its site's robots.txt forbids it.",
        "",
        "Look for another source. The user can have such pages read anyway: research.respect_robots = false",
    ),
    "web_robots_unknown": ErrorText(
        "E8127",
        "{url} is not read: its site's robots.txt is unavailable ({reason}).",
        "A site with unknown rules is not read.",
        "Try again later, or look for another source.",
    ),
    "web_robots_no_package": ErrorText(
        "E8128",
        "No page can be read: the package protego, which reads robots.txt, is not installed.",
        "",
        "Install it: pip install 'localllm[web]'. Or read without it: research.respect_robots = false",
    ),
    "web_address_refused": ErrorText(
        "E9040",
        "{url} was not fetched: {reason}.",
        "",
        "Use a public address. The user can name exceptions in web.allow_private (host:port).",
    ),
}
