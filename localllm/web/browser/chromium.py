"""A headless Chromium of this machine, driven by Playwright. Nothing is ever downloaded.

Its profile is new and is gone when it ends. It ends with this program, however that ends: both it and the driver in
between live only as long as their pipes.
"""

import asyncio
import importlib.util
import os
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
"""The programs themselves: the scripts that distributions put before them leave processes behind."""

_NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
_PROGRAM = (b"\x7fELF", b"\xcf\xfa\xed\xfe", b"\xca\xfe\xba\xbe")  # ELF, Mach-O: what is no script
_START, _END = 30.0, 5.0  # seconds
_LONGEST_REASON = 200
_LONGEST_FOLDER = 50  # characters; in a longer one Chromium's socket, with a name of its own, has no room (unix(7))
_KEPT = ("PATH", "LANG", "TMPDIR", "TZ", "LD_LIBRARY_PATH", "XDG_DATA_HOME")  # of the environment

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
"""Besides what Playwright sets (no background networking, updates, synchronisation, crash reports): no look-up of
names, no UDP, and everything through the proxy, also what goes to this machine."""


def find_chromium(environ: Mapping[str, str] = os.environ) -> Path | None:
    """The executable of a Chromium; None where there is none."""
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
    """The program on the search path, not in the project one stands in: a command may have put it there."""
    return find_program(name, find_project(Path.cwd()), environ)


def is_installed() -> bool:
    """Whether Playwright is there."""
    return importlib.util.find_spec("playwright") is not None


def require_chromium(environ: Mapping[str, str] = os.environ) -> Path:
    """The executable. Raises BrowserError browser_no_package, browser_missing."""
    if not is_installed():
        raise BrowserError("browser_no_package")
    found = find_chromium(environ)
    if found is None:
        raise BrowserError("browser_missing")
    return found


class Chromium:
    """A browser that is running; `close` ends it."""

    def __init__(self, driver: "Playwright", browser: "Browser") -> None:
        self._driver = driver
        self.browser = browser

    @classmethod
    async def start(cls, executable: Path, proxy: "ProxySettings") -> "Chromium":
        """Start one that reaches the proxy alone. Raises BrowserError browser_not_started."""
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
        """End it, for sure: whatever does not end when asked to is killed by the driver, which ends last."""
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
    """The first line of what Playwright says, without the name of its function."""
    first = (str(error).strip() or type(error).__name__).splitlines()[0]
    return clean(first.rpartition(": ")[2] if first.startswith(("Page.", "BrowserType.")) else first)[:_LONGEST_REASON]


def browser_environment(environ: Mapping[str, str] = os.environ) -> dict[str, str]:
    """What it sees of the environment: no keys, no home; but where the user's own fonts are."""
    kept = {name: environ[name] for name in _KEPT if name in environ}
    if len(kept.get("TMPDIR", "")) > _LONGEST_FOLDER:
        del kept["TMPDIR"]
    if "XDG_DATA_HOME" not in kept and "HOME" in environ:
        kept["XDG_DATA_HOME"] = f"{environ['HOME']}/.local/share"
    return {**kept, "HOME": os.devnull}


def _is_root() -> bool:
    """Chromium's own sandbox refuses to run as root; then it runs without."""
    return sys.platform != "win32" and os.geteuid() == 0
