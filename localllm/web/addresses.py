"""Validate web addresses: only public, plainly spelled ones may be fetched. This machine and its network are not
public, whatever a page or a model says; the user can configure exceptions."""

import ipaddress
import re
from collections.abc import Collection
from typing import TYPE_CHECKING

import msgspec

from localllm.base.errors import SafetyViolationError
from localllm.base.i18n import N_, Phrase
from localllm.base.public_addresses import is_public
from localllm.text.sanitising import clean

if TYPE_CHECKING:
    import httpx

_LONGEST = 4_000
_PORTS = {"http": 80, "https": 443}
_ODD = re.compile(r"[\x00-\x20\x7f\\\ud800-\udfff]")
_NAME = re.compile(r"[a-z0-9_-]+(?:\.[a-z0-9_-]+)*\.?")
_NUMBER = re.compile(r"(?:^|\.)(?:\d+|0x[0-9a-f]*)\.?$")
"""Endings of names that resolvers read as an IPv4 address in another notation (0x7f.1, 127.1, 1.2.3.4 with a dot)."""
_PRIVATE_NAMES = re.compile(
    r"(?:^|\.)(?:localhost|local|localdomain|internal|intranet|private|corp|home|lan|home\.arpa|onion|arpa)\.?$"
)
"""Names of this machine or its network, or of nothing (RFC 6761, 6762, 8375; ICANN's list for private use)."""


def shown_address(url: str) -> str:
    """Format an address for users and models: on one line, without invisible characters, truncated."""
    return clean(url, keep_newlines=False)[:300]


def checked_url(url: str, allowed: Collection[str] = ()) -> "httpx.URL":
    """Parse and validate an address. Raises SafetyViolationError web_address_refused unless it is a public web address.

    `allowed` are the `host:port` the user has configured: these may be private and on any port.
    """
    parsed = parsed_url(url)
    if place_of(parsed) not in allowed:
        _check_place(parsed, url)
    return parsed


_PRIVATE = N_("it leads to this machine or its network, not to the public web")
_PORT = N_("its port is not a web port")
UNLESS_ALLOWED = (_PRIVATE, _PORT)
"""Why addresses are refused unless `web.allow_private` names them."""


class Address(msgspec.Struct, frozen=True):
    """An address normalised for comparison: the host in ASCII and lower case without a trailing dot; `port` is None for
    the scheme's default."""

    scheme: str
    host: str
    port: int | None
    path: str
    query: str

    @property
    def site(self) -> str:
        """The origin: scheme, host and port."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme}://{host}" if self.port is None else f"{self.scheme}://{host}:{self.port}"


def read_address(url: str) -> Address | None:
    """Parse an address as it would be fetched, private ones included; None if it cannot be fetched."""
    try:
        parsed = parsed_url(url)
    except SafetyViolationError:
        return None
    host = host_of(parsed)
    path, _, query = parsed.raw_path.decode("ascii").partition("?")
    return Address(parsed.scheme, host, parsed.port, path, query)


def parsed_url(url: str) -> "httpx.URL":
    """Parse an address, private ones included, with a normalised host. Raises SafetyViolationError unless it is spelled
    plainly."""
    import httpx

    given = url.strip()
    if _ODD.search(given) or len(given) > _LONGEST:
        raise _refused(url, N_("it is not a plain address"))
    try:
        parsed = httpx.URL(given if "://" in given else f"https://{given}").copy_with(fragment=None)
    except httpx.InvalidURL as error:
        raise _refused(url, N_("it is not a plain address")) from error
    if parsed.scheme not in _PORTS:
        raise _refused(url, N_("only http and https are fetched"))
    if parsed.userinfo or "@" in given.partition("://")[2].partition("/")[0]:
        raise _refused(url, N_("it holds a user name or password"))
    host = host_of(parsed)
    if not _is_literal(host) and (not _NAME.fullmatch(host) or _NUMBER.search(host)):
        raise _refused(url, N_("it is not a plain address"))
    plain = str(ipaddress.ip_address(host)) if _is_literal(host) else host.removesuffix(".")
    return parsed if plain == host else parsed.copy_with(host=plain)


def _check_place(parsed: "httpx.URL", url: str) -> None:
    host = host_of(parsed)
    if not is_usual_port(parsed):
        raise _refused(url, _PORT)
    if _is_literal(host):
        if not is_public(host):
            raise _refused(url, _PRIVATE)
    elif _PRIVATE_NAMES.search(host) or "." not in host.rstrip("."):
        raise _refused(url, _PRIVATE)


def host_of(url: "httpx.URL") -> str:
    """Return the host in ASCII, as for resolvers and certificates."""
    return url.raw_host.decode("ascii").lower()


def port_of(url: "httpx.URL") -> int:
    """Return the port, explicit or default."""
    return _PORTS[url.scheme] if url.port is None else url.port


def is_usual_port(url: "httpx.URL") -> bool:
    """Whether the port is the scheme's default."""
    return port_of(url) == _PORTS[url.scheme]


def place_of(url: "httpx.URL") -> str:
    """Return `host:port`, as in `web.allow_private`."""
    return f"{host_of(url)}:{port_of(url)}"


def refuse_private(url: str) -> SafetyViolationError:
    """Return the error for a name that resolves to a private address."""
    return _refused(url, _PRIVATE)


def _is_literal(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def _refused(url: str, reason: str) -> SafetyViolationError:
    return SafetyViolationError("web_address_refused", url=shown_address(url), reason=Phrase(reason))
