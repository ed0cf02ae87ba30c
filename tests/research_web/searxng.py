"""Answers of a search as SearxNG gives them, and the ways in which it fails."""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal
from urllib.parse import urlsplit

from tests.research_web.search_index import SearchIndex, snippet

PER_PAGE = 10
ENGINES = ("google", "bing", "duckduckgo", "qwant")


@dataclass
class SearchFaults:
    """How the search behaves from now on.

    `mode`: no fault; `no_json` answers 403 as with JSON switched off; `limiter` 429; `error` 500; `garbage` a cut
    JSON text; `dead` closes the connection; `empty` finds nothing with all engines unresponsive. `only_first`: the
    fault ends after so many searches. `unresponsive`: engines that are reported as ill and give nothing.
    """

    mode: Literal["", "no_json", "limiter", "error", "garbage", "dead", "empty"] = ""
    only_first: int = 0
    slow: float = 0.0
    unresponsive: dict[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True)
class SearchReply:
    status: int
    body: bytes = b""
    content_type: str = "application/json"
    headers: dict[str, str] = field(default_factory=dict[str, str])
    drop: bool = False


def answer_search(
    index: SearchIndex, parameters: dict[str, str], faults: SearchFaults, number: int, address: Callable[[str], str]
) -> SearchReply:
    """The answer to the search with this number (from 1); `address` makes the addresses of the results."""
    mode = "" if faults.only_first and number > faults.only_first else faults.mode
    match mode:
        case "no_json":
            return SearchReply(403, b"<!doctype html><title>403 Forbidden</title>", "text/html; charset=utf-8")
        case "limiter":
            return SearchReply(429, b"Too Many Requests", "text/html; charset=utf-8", {"retry-after": "1"})
        case "error":
            return SearchReply(500, b"Internal Server Error", "text/html; charset=utf-8")
        case "garbage":
            return SearchReply(200, b'{"query": "x", "results": [{"url": "http://')
        case "dead":
            return SearchReply(0, drop=True)
        case _:
            pass
    if parameters.get("format") != "json":
        return SearchReply(200, b"<!doctype html><title>SearXNG</title>", "text/html; charset=utf-8")
    ill = dict.fromkeys(ENGINES, "timeout") if mode == "empty" else faults.unresponsive
    alive = [engine for engine in ENGINES if engine not in ill]
    query, language = parameters["q"], parameters.get("language", "")
    start = (int(parameters.get("pageno", "1")) - 1) * PER_PAGE
    found = index.search(query, language)[start : start + PER_PAGE] if alive else []
    results = [
        _result(address(page.url), page.title, snippet(page, query), score, alive, place)
        for place, (page, score) in enumerate(found)
    ]
    answer = {
        "query": query,
        "results": results,
        "answers": [],
        "corrections": [],
        "infoboxes": [],
        "suggestions": [],
        "unresponsive_engines": [[engine, why] for engine, why in sorted(ill.items())],
    }
    return SearchReply(200, json.dumps(answer, ensure_ascii=False).encode())


def _result(url: str, title: str, content: str, score: float, alive: list[str], place: int) -> dict[str, object]:
    engines = [alive[place % len(alive)]] if place % 3 else alive[:2]
    parts = urlsplit(url)
    return {
        "url": url,
        "title": title,
        "content": content,
        "publishedDate": None,
        "thumbnail": "",
        "engine": engines[0],
        "template": "default.html",
        "parsed_url": [parts.scheme, parts.netloc, parts.path, "", parts.query, ""],
        "img_src": "",
        "priority": "",
        "engines": engines,
        "positions": [place + 1],
        "score": score,
        "category": "general",
    }
