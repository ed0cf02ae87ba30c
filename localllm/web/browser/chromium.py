"""Run the installed Chromium headless, driven by Playwright. Nothing is ever downloaded.

Each start has a new profile, which is deleted at the end. The browser and the driver end with this program, however
that ends, because they live only as long as their pipes.
"""

import asyncio
import importlib.util
import os
import shlex
import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from localllm.base.errors import BrowserError
from localllm.base.paths import find_program, find_project
from localllm.text.sanitising import clean

if TYPE_CHECKING:
    from playwright.async_api import Browser, Playwright, ProxySettings

_PLACES = (
    "/usr/lib/chromium/chromium",
    "/usr/lib/chromium/chromium-headless-shell",
    "/usr/lib/chromium-browser/chromium-browser",
    "/usr/lib64/chromium-browser/chromium-browser",
    "/usr/lib64/chromium/chromium",
    "/opt/chromium.org/chromium/chromium",
    "/opt/google/chrome/chrome",
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
)
"""The binaries: the wrapper scripts of distributions leave processes behind."""

_NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
_PROGRAM = (b"\x7fELF", b"\xcf\xfa\xed\xfe", b"\xca\xfe\xba\xbe")  # ELF, Mach-O: not a script
_START, _END = 30.0, 5.0  # seconds
_LONGEST_REASON = 200
_LONGEST_FOLDER = 50  # characters; in a longer path Chromium's socket name does not fit (unix(7))
_KEPT = ("PATH", "LANG", "TMPDIR", "TZ", "LD_LIBRARY_PATH", "XDG_DATA_HOME")  # environment variables passed on

_ARGUMENTS = (
    "--disable-quic",
    "--disable-domain-reliability",
    "--disable-client-side-phishing-detection",
    "--no-pings",
    "--dns-prefetch-disable",
    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1",
    "--proxy-bypass-list=<-loopback>",
    "--js-flags=--max-old-space-size=512",
)
"""In addition to Playwright's (no background networking, updates, synchronisation, crash reports): no name resolution,
no UDP, and everything through the proxy, even requests to this machine."""


def find_chromium(environ: Mapping[str, str] = os.environ) -> Path | None:
    """Return the executable of a Chromium; None if there is none."""
    for place in _PLACES:
        if os.access(place, os.X_OK):
            return Path(place)
    return next(_on_path(environ), None)


def _on_path(environ: Mapping[str, str]) -> Iterator[Path]:
    for name in _NAMES:
        if found := on_path(name, environ):
            program = Path(found).resolve()
            with suppress(OSError), program.open("rb") as file:
                if file.read(4) in _PROGRAM:
                    yield program


def on_path(name: str, environ: Mapping[str, str] = os.environ) -> str | None:
    """Find a program on the search path, but not in the current project, where a command may have placed it."""
    return find_program(name, find_project(Path.cwd()), environ)


def is_installed() -> bool:
    """Whether Playwright is installed."""
    return importlib.util.find_spec("playwright") is not None


def require_chromium(environ: Mapping[str, str] = os.environ) -> Path:
    """Return the executable. Raises BrowserError browser_no_package, browser_missing."""
    if not is_installed():
        raise BrowserError("browser_no_package")
    found = find_chromium(environ)
    if found is None:
        raise BrowserError("browser_missing")
    return found


def trial_command(executable: Path) -> str:
    """Return the shell command with which the user sees what the browser prints as it starts."""
    no_sandbox = ["--no-sandbox"] if _is_root() else []
    return shlex.join([str(executable), "--headless", *no_sandbox, "--dump-dom", "about:blank"])


class Chromium:
    """A running browser; `close` ends it."""

    def __init__(self, driver: "Playwright", browser: "Browser") -> None:
        self._driver = driver
        self.browser = browser

    @classmethod
    async def start(cls, executable: Path, proxy: "ProxySettings") -> "Chromium":
        """Start a browser that can reach only the proxy. Raises BrowserError browser_not_started."""
        from playwright.async_api import Error, async_playwright

        driver: Playwright | None = None
        try:
            async with asyncio.timeout(_START):
                driver = await async_playwright().start()
                browser = await driver.chromium.launch(
                    executable_path=executable,
                    headless=True,
                    chromium_sandbox=not _is_root(),
                    proxy=proxy,
                    args=list(_ARGUMENTS),
                    env={**browser_environment()},
                )
        except BaseException as error:
            if driver is not None:
                await _end(driver.stop())
            if isinstance(error, Error | OSError):
                raise BrowserError("browser_not_started", reason=reason_of(error)) from error
            raise
        return cls(driver, browser)

    async def close(self) -> None:
        """End the browser reliably: the driver, which ends last, kills what does not end on request."""
        try:
            await _end(self.browser.close())
        finally:
            await _end(self._driver.stop())


async def _end(closing: "asyncio.Future[None] | object") -> None:
    from playwright.async_api import Error

    with suppress(Error, TimeoutError, OSError):
        async with asyncio.timeout(_END):
            await closing  # type: ignore[misc]


def reason_of(error: BaseException) -> str:
    """Return the first line of a Playwright error, without the function's name."""
    first = (str(error).strip() or type(error).__name__).splitlines()[0]
    return clean(first.rpartition(": ")[2] if first.startswith(("Page.", "BrowserType.")) else first)[:_LONGEST_REASON]


def browser_environment(environ: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Return the browser's environment: no keys, no home, except the location of the user's fonts."""
    kept = {name: environ[name] for name in _KEPT if name in environ}
    if len(kept.get("TMPDIR", "")) > _LONGEST_FOLDER:
        del kept["TMPDIR"]
    if "XDG_DATA_HOME" not in kept and "HOME" in environ:
        kept["XDG_DATA_HOME"] = f"{environ['HOME']}/.local/share"
    return {**kept, "HOME": os.devnull}


def _is_root() -> bool:
    """Whether this is root, for whom Chromium's own sandbox refuses to run and is disabled."""
    return sys.platform != "win32" and os.geteuid() == 0
