"""Check the browser for research: whether it starts, and can print Japanese."""

import asyncio
from pathlib import Path

from localllm.base.errors import BrowserError
from localllm.base.i18n import _, language, sentences
from localllm.integrations.doctor.inputs import Finding, Surroundings, note, of_error, ok, uses_research

_SECONDS = 10.0  # the user is waiting


async def browser(here: Surroundings) -> list[Finding]:
    """Check it only if the web is on, or research has been used, and the settings permit a browser."""
    settings = here.loaded.settings
    if not settings.research.browser or not (settings.web.enabled or uses_research(here)):
        return []
    from localllm.web.browser.chromium import require_chromium, trial_command

    try:
        executable = require_chromium(here.environ)
    except BrowserError as error:
        return [of_error("browser", error, "note")]
    try:
        version = await _version(executable)
    except BrowserError as error:
        fix = _(
            "To see why, start it yourself: {command}. To do without: research.browser = false",
            command=trial_command(executable),
        )
        return [note("browser", sentences(error.what, error.why), fix)]
    what = _("Chromium {version} starts: pages made by scripts can be read.", version=version)
    return [ok("browser", what), *await _fonts(here)]


async def _version(executable: Path) -> str:
    """Start the browser and return its version. Raises BrowserError."""
    from localllm.web.browser.chromium import Chromium
    from localllm.web.browser.guard_proxy import GuardProxy

    guard = GuardProxy(())
    try:
        await guard.start()
        async with asyncio.timeout(_SECONDS):
            chromium = await Chromium.start(executable, guard.settings)
        try:
            return chromium.browser.version
        finally:
            await asyncio.shield(chromium.close())
    except TimeoutError as error:
        reason = _("it takes longer than {seconds:g} s", seconds=_SECONDS)
        raise BrowserError("browser_not_started", reason=reason) from error
    finally:
        guard.close()


async def _fonts(here: Surroundings) -> list[Finding]:
    from localllm.web.browser.pdf_export import has_japanese_font

    wants_japanese = language() == "ja" or here.loaded.settings.research.language == "ja"
    if not wants_japanese or await asyncio.to_thread(has_japanese_font, here.environ):
        return []
    error = BrowserError("pdf_no_font", file="")
    return [note("browser", _("No font on this machine has Japanese characters: such a PDF is not made."), error.fix)]
