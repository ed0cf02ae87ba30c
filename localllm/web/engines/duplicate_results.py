"""Results of a search without the same page twice."""

from collections.abc import Iterable
from urllib.parse import urlsplit

from localllm.web.engines.base import SearchResult

_TRACKING = frozenset(
    [
        *("dclid", "fbclid", "gad_source", "gbraid", "gclid", "gclsrc", "igsh", "igshid", "mc_cid", "mc_eid"),
        *("mkt_tok", "msclkid", "srsltid", "twclid", "wbraid", "yclid", "_hsenc", "_hsmi"),
    ]
)
_TRACKING_FAMILIES = ("utm_", "pk_", "mtm_", "oly_", "vero_")
"""Parameters that say where a visitor came from, and the beginnings of the names of such."""

_PORTS = {"http": 80, "https": 443}


def canonical_url(url: str) -> str:
    """The address in the spelling in which two of the same page are equal; it is for comparing, not for fetching.

    Without scheme, www., the scheme's own port, tracking parameters, a slash at the end, and a fragment unless that
    is the page (`#!/…`, `#/…`). What is no address of the web stays as it is.
    """
    try:
        parts = urlsplit(url.strip())
        host, port = (parts.hostname or "").removeprefix("www.").removesuffix("."), parts.port
    except ValueError:
        return url
    if parts.scheme not in _PORTS or not host:
        return url
    place = host if port in (None, _PORTS[parts.scheme]) else f"{host}:{port}"
    kept = [pair for pair in parts.query.split("&") if pair and not _is_tracking(pair.partition("=")[0])]
    query = "?" + "&".join(kept) if kept else ""
    fragment = f"#{parts.fragment}" if parts.fragment.startswith(("!", "/")) else ""
    return f"{place}{parts.path.rstrip('/')}{query}{fragment}"


def unique(results: Iterable[SearchResult]) -> tuple[SearchResult, ...]:
    """The first result of each page, in the order given."""
    first: dict[str, SearchResult] = {}
    for result in results:
        first.setdefault(canonical_url(result.url), result)
    return tuple(first.values())


def _is_tracking(name: str) -> bool:
    return name.lower() in _TRACKING or name.lower().startswith(_TRACKING_FAMILIES)
