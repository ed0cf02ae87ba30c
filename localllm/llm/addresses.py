"""Parse, validate and normalise the addresses of model servers."""

from collections.abc import Mapping
from ipaddress import ip_address
from urllib.parse import unquote, urlsplit

from localllm.base.i18n import _
from localllm.base.lazy_patterns import late_pattern
from localllm.config.schema import LLMSettings

_ENDPOINTS = ("/chat/completions", "/completions", "/models", "/embeddings")
_API_PATH = late_pattern(r"/(v\d+|api(/v\d+)?)(/(chat/completions|[a-z]+))?$|/chat/completions$")
_LIKE_IPV4 = late_pattern(r"\d+(\.\d+){3}")

PORTS = {"http": 80, "https": 443}


def api_root(base_url: str) -> str:
    """Return the root URL of a server's OpenAI-compatible endpoints, without a final slash.

    Accepts a host (`localhost:1234`), an address with or without /v1, and a full endpoint URL. Any other path, such as
    a gateway's prefix, is kept as it is.
    """
    host, path = _host_and_path(base_url)
    for endpoint in _ENDPOINTS:
        path = path.removesuffix(endpoint)
    return host + (path or "/v1")


def server_root(base_url: str) -> str:
    """Return a server's root URL, without a final slash: /v1, /api, /api/v0 and the endpoint after them are removed. A
    gateway's prefix before them is kept."""
    host, path = _host_and_path(base_url)
    return host + _API_PATH.sub("", path)


def _host_and_path(base_url: str) -> tuple[str, str]:
    """Split an address into scheme with host, and path without a final slash (empty if there is none)."""
    text = base_url.strip()
    if "://" not in text:
        text = f"http://{text}"
    scheme, _, rest = text.split("?", 1)[0].partition("://")
    host, slash, path = rest.partition("/")
    return f"{scheme}://{host}", (slash + path).rstrip("/")


def apart_from_password(base_url: str) -> tuple[str, str]:
    """Split an address into one without credentials, for display and logs, and the decoded `name:password`."""
    before, scheme, rest = base_url.rpartition("://")
    host, slash, path = rest.partition("/")
    secret, _, host = host.rpartition("@")
    return f"{before}{scheme}{host}{slash}{path}", unquote(secret)


def address_fault(base_url: str) -> str:
    """Explain in the user's language why no request can be sent to `base_url`; empty if one can."""
    if any(not character.isprintable() or character.isspace() for character in base_url.strip()):
        return _("it holds a space or an unprintable character")
    try:
        parts = urlsplit(api_root(base_url))
    except ValueError:  # unbalanced brackets
        return _("it is not an IPv6 address")
    if parts.scheme not in ("http", "https"):
        return _("“{scheme}” is neither http nor https", scheme=parts.scheme)
    if not parts.hostname:
        return _("it names no host")
    try:
        _port = parts.port  # raises ValueError for an invalid port
    except ValueError:
        return _("its port “{port}” is not a number up to 65535", port=parts.netloc.rpartition(":")[2])
    return "" if _is_host(parts.hostname) else _("“{host}” is not a host name", host=parts.hostname)


def _is_host(host: str) -> bool:
    """Return whether it is an IP address or a valid host name."""
    try:
        if ":" in host or _LIKE_IPV4.fullmatch(host):
            ip_address(host)
        else:
            host.encode("idna")
    except ValueError:
        return False
    return True


def is_loopback(url: str) -> bool:
    """Return whether the address is this machine: localhost, 127.0.0.0/8 or ::1."""
    host = urlsplit(url if "://" in url else f"http://{url}").hostname or ""
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def hosts_to_try(host: str) -> tuple[str, ...]:
    """Return where to connect for a host, in order. "localhost" is 127.0.0.1, where model servers listen, then ::1, in
    whatever order the resolver names them: on one of the two another person's program may listen."""
    return ("127.0.0.1", "::1") if host.lower() == "localhost" else (host,)


def ollama_base_url(base_url: str, environ: Mapping[str, str]) -> str:
    """Return Ollama's address: the configured one, else OLLAMA_HOST, else the default."""
    host = environ.get("OLLAMA_HOST", "").strip(" \t\"'")
    return ollama_address(host) if host and base_url == LLMSettings().ollama.base_url else base_url


def ollama_address(host: str) -> str:
    """Parse OLLAMA_HOST: a host, host:port, :port or a URL. The host defaults to 127.0.0.1 and the port to 11434, but a
    URL without a port gets the default of its scheme, as in Ollama itself."""
    scheme, separator, rest = host.strip().rpartition("://")
    rest, slash, path = rest.partition("/")
    if rest.count(":") > 1 and not rest.startswith("["):
        rest = f"[{rest}]"
    name, port = rest, ""
    if not rest.endswith("]"):
        name, _, port = rest.rpartition(":") if ":" in rest else (rest, "", "")
    if not port:
        port = str(PORTS.get(scheme, "")) if separator else "11434"
    address = f"{scheme or 'http'}://{name or '127.0.0.1'}:{port}{slash}{path}"
    return reachable(address.rstrip("/"))


def reachable(base_url: str) -> str:
    """Return the address with its scheme, an unspecified host (0.0.0.0, [::]) replaced by this machine."""
    text = base_url.strip()
    if "://" not in text:
        text = f"http://{text}"
    if address_fault(text):
        return base_url
    parts = urlsplit(text)
    try:
        unspecified = ip_address(parts.hostname or "").is_unspecified
    except ValueError:
        return text
    if not unspecified:
        return text
    own = "[::1]" if ":" in (parts.hostname or "") else "127.0.0.1"
    return parts._replace(netloc=f"{own}:{parts.port or PORTS[parts.scheme]}").geturl()
