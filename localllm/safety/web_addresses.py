"""Compare web addresses with a rule, with what the user typed, and with the page that led there."""

import posixpath
import re
from collections.abc import Callable, Iterator
from itertools import islice
from urllib.parse import unquote

from localllm.web.addresses import Address, read_address

_BREAKS = re.compile(r"[<>\"'()\[\]{}「」『』（）【】、。，；]+")
_MOST_WORDS = 2_000
"""Limit of compared words, so that a pasted log of a million words causes no delay."""

_ENDS = ".,;:!?)]}>\"'。、"


def is_below(url: str, prefix: str, *, strictly: bool) -> bool:
    """Return whether an address is at or below a rule's: the same host, and whole segments of its path.

    `strictly`: under every interpretation by a server, as allow rules require; else under any. A prefix without
    a scheme matches http and https.
    """
    given, wanted = read_address(url), read_address(prefix)
    if given is None or wanted is None or given.host != wanted.host:
        return False
    if "://" in prefix and given.scheme != wanted.scheme:
        return False
    if given.port != wanted.port and (strictly or wanted.port is not None):
        return False
    if strictly and wanted.query and not (given.path == wanted.path and given.query == wanted.query):
        return False
    folder = _read_paths(wanted.path)[-1].rstrip("/")
    within = [not folder or path == folder or path.startswith(folder + "/") for path in _read_paths(given.path)]
    return all(within) if strictly else any(within)


def was_typed(url: str, said: str, *, or_host: bool, is_file: Callable[[str], bool] = lambda _name: False) -> bool:
    """Return whether the user typed this address: the same host, path and query. Without a scheme a word is an address
    only with www. before it or a path after it (setup.sh is none), and if no file has that name (`is_file`).

    `or_host`: a final slash may differ, or an address (http://…) of the same host suffices, if this one has no query.
    """
    given = read_address(url)
    if given is None:
        return False
    wants_host = or_host and not given.query
    path = unquote(given.path).rstrip("/")
    words = (word for word in _words(said, given.host) if (wants_host and "://" in word) or path in unquote(word))
    for word in islice(words, _MOST_WORDS):
        typed, is_bare = read_address(word), "://" not in word
        if typed is None or not _is_host_of(typed, given, any_scheme=is_bare):
            continue
        if is_bare and (not ("/" in word or word.lower().startswith("www.")) or is_file(word)):
            continue
        if (typed.path, typed.query) == (given.path, given.query):
            return True
        if or_host and (typed.path.rstrip("/"), typed.query) == (given.path.rstrip("/"), given.query):
            return True
        if wants_host and not is_bare:
            return True
    return False


def is_shunned(url: str, shunned: str) -> bool:
    """Return whether an address is one the user has forbidden, or below it, by whatever scheme."""
    return is_below(url, shunned.rpartition("://")[2], strictly=False)


def is_same_site(before: str, after: str) -> bool:
    """Return whether both have the same host and port, and the second does not change https to http."""
    one, other = read_address(before), read_address(after)
    return one is not None and other is not None and _is_host_of(one, other, any_scheme=False)


def site_of(url: str) -> str:
    """Return the address of the host alone; "" if `url` is no address."""
    address = read_address(url)
    return address.site if address else ""


def _is_host_of(known: Address, given: Address, *, any_scheme: bool) -> bool:
    if (known.host, known.port) != (given.host, given.port):
        return False
    return any_scheme or given.scheme in (known.scheme, "https" if known.port is None else "")


def _read_paths(path: str) -> list[str]:
    """Return a path as written, and as servers read it that take %2e for a dot and two slashes for one."""
    return [path, posixpath.normpath(re.sub(r"/+", "/", unquote(path) or "/"))]


def _words(said: str, host: str) -> Iterator[str]:
    """Yield the possible addresses of `host` in a text, as words with and without the text around them."""
    names = (host, _in_letters(host))
    for run in dict.fromkeys(said.split()):
        lower = run.lower().replace("。", ".")
        if not any(name in lower for name in names):
            continue
        for piece in dict.fromkeys([*_BREAKS.split(run), run[max(0, lower.find("http")) :]]):
            for word in (piece, piece.rstrip(_ENDS)):
                yield word
                yield re.split(r"[^\x21-\x7e]", word, maxsplit=1)[0]  # 「https://example.orgを見て」


def _in_letters(host: str) -> str:
    """Return a host in Unicode: 日本語.jp for xn--wgv71a119e.jp."""
    try:
        return host.encode("ascii").decode("idna")
    except UnicodeError:
        return host
