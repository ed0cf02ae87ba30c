"""Normalise addresses of one page: drop tracking parameters, mobile hosts, AMP copies and spelling variants.

For comparison only; a page is fetched at the address that was found. Two different pages must never become one, so a
variant is normalised only if its site documents it or the form is unambiguous.
"""

import re
from urllib.parse import SplitResult, quote, unquote, urlsplit

from localllm.base.lazy_patterns import late_pattern

_TRACKING = frozenset(
    [
        *("dclid", "fbclid", "gad_source", "gbraid", "gclid", "gclsrc", "igsh", "igshid", "mc_cid", "mc_eid"),
        *("mkt_tok", "msclkid", "srsltid", "twclid", "wbraid", "yclid", "_hsenc", "_hsmi"),
    ]
)
_TRACKING_FAMILIES = ("utm_", "pk_", "mtm_", "oly_", "vero_")
"""Parameters that record where a visitor came from, and the prefixes of such names."""

_AMP_PARAMETERS = frozenset(["amp", "amp=", "amp=1", "amp=true", "outputtype=amp"])

_PORTS = {"http": 80, "https": 443}

_MOBILE_HOSTS = {
    "mobile.twitter.com": "twitter.com",
    "mobile.nytimes.com": "nytimes.com",
    "mobile.reuters.com": "reuters.com",
    "sp.nicovideo.jp": "nicovideo.jp",
    "s.tabelog.com": "tabelog.com",
}
"""Mobile hosts with other names than `m.`: elsewhere `mobile.` and `sp.` are often separate sites."""

_WIKI = late_pattern(
    r"(?P<language>[a-z-]+)\.m\.(?P<wiki>wik(?:ipedia|tionary|ibooks|inews|iquote|isource|iversity|ivoyage)\.org)"
)
_AMP_CACHE = late_pattern(r"[a-z0-9-]+\.cdn\.ampproject\.org")
_CACHED = late_pattern(r"/[cv]/(?P<secure>s/)?(?P<rest>[^/]+\.[^/].*)", re.DOTALL)
"""A path of the AMP cache (amp.dev, "AMP Cache URL format"): c for documents, v for the viewer, s for https."""

_GOOGLE = late_pattern(r"google\.(?:com|[a-z]{2}|com?\.[a-z]{2})")
_VIEWED = late_pattern(r"/amp/(?P<secure>s/)?(?P<rest>[^/]+\.[^/].*)", re.DOTALL)
"""A path of Google's AMP viewer"""

_ARTICLE = late_pattern(r"\d{4,}|[^-]+(?:-[^-]+){2,}|.+\.html?", re.IGNORECASE)
"""A last part of a path that names an article, by number or by words: only after such a one is `/amp` its AMP copy."""

_SECOND_LEVEL = frozenset(["ac", "co", "com", "ed", "edu", "go", "gov", "gr", "lg", "ne", "net", "or", "org"])
_ESCAPED = late_pattern(r"%[0-9A-Fa-f]{2}")
_UNRESERVED = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
_SAFE = "%/:?#[]@!$&'()*,;=~+"


def canonical_url(url: str) -> str:
    """Normalise an address so that equal pages compare equal; not for fetching. Without scheme, www., mobile or AMP
    variants, the scheme's own port, tracking parameters, a trailing slash, and a fragment unless it identifies the page
    (`#!/…`, `#/…`). Other text is returned unchanged."""
    try:
        parts = urlsplit(url.strip())
        original = _original(parts)
        if original is not None:
            parts = urlsplit(original)
        host, port = _host(parts), parts.port
    except ValueError:
        return url
    if parts.scheme not in _PORTS or not host:
        return url
    path = _escaped(parts.path.rstrip("/"))
    if path:
        host, path = _desktop_host(host), _without_amp(path)
    place = host if port in (None, _PORTS[parts.scheme]) else f"{host}:{port}"
    kept = [pair for pair in parts.query.split("&") if pair and not _is_dropped(pair)]
    query = "?" + _escaped("&".join(kept)) if kept else ""
    fragment = f"#{parts.fragment}" if parts.fragment.startswith(("!", "/")) else ""
    return f"{place}{path}{query}{fragment}"


def _original(parts: SplitResult) -> str | None:
    """Return the address an AMP cache or viewer shows; None for any other."""
    host = (parts.hostname or "").removeprefix("www.")
    if _AMP_CACHE.fullmatch(host):
        found = _CACHED.fullmatch(parts.path)
    elif _GOOGLE.fullmatch(host):
        found = _VIEWED.fullmatch(parts.path)
    else:
        return None
    if found is None:
        return None
    return f"{'https' if found['secure'] else 'http'}://{found['rest']}{f'?{parts.query}' if parts.query else ''}"


def _host(parts: SplitResult) -> str:
    """Return the host without `www.` and a trailing dot; a non-ASCII name in Punycode."""
    host = (parts.hostname or "").removesuffix(".")
    if not host.isascii():
        try:
            host = host.encode("idna").decode()
        except UnicodeError:  # no name that could be asked for: it is compared as it is
            return host.removeprefix("www.")
    return host.removeprefix("www.")


def _desktop_host(host: str) -> str:
    """Return the desktop host for `m.example.org` and the like, which has the same paths; else the host."""
    if host in _MOBILE_HOSTS:
        return _MOBILE_HOSTS[host]
    if found := _WIKI.fullmatch(host):
        return f"{found['language']}.{found['wiki']}"
    first, _, rest = host.partition(".")
    if first not in ("m", "amp"):
        return host
    labels = rest.split(".")
    is_name = len(labels) > 2 or (len(labels) == 2 and labels[0] not in _SECOND_LEVEL)
    return rest.removeprefix("www.") if is_name else host


def _without_amp(path: str) -> str:
    """Return the path of the page of an AMP copy; else the path."""
    if path.endswith(".amp.html"):
        return path.removesuffix(".amp.html") + ".html"
    article, _, last = path.rpartition("/")
    return article if last == "amp" and _ARTICLE.fullmatch(article.rpartition("/")[2]) else path


def _escaped(text: str) -> str:
    """Normalise escapes to RFC 3986, 6.2.2: unnecessary ones decoded, the others in capitals."""
    return _ESCAPED.sub(_normal_escape, quote(text, safe=_SAFE) if not text.isascii() else text)


def _normal_escape(found: re.Match[str]) -> str:
    character = unquote(found[0], errors="replace")
    return character if character in _UNRESERVED else found[0].upper()


def _is_dropped(pair: str) -> bool:
    name = pair.partition("=")[0].lower()
    return name in _TRACKING or name.startswith(_TRACKING_FAMILIES) or pair.lower() in _AMP_PARAMETERS
