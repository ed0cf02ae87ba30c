"""E5xxx: the browser that renders pages with scripts and prints reports."""

from localllm.base.error_texts.text import ErrorText

BROWSER: dict[str, ErrorText] = {
    "browser_not_started": ErrorText(
        "E5001",
        "The browser cannot be started: {reason}.",
        "Pages that need scripts are read as far as possible without it.",
        "Run localllm doctor to check it. To do without: research.browser = false",
    ),
    "browser_page_failed": ErrorText(
        "E5002", "{url} could not be read in the browser: {reason}.", "", "Look for another source."
    ),
    "browser_missing": ErrorText(
        "E5003",
        "There is no Chromium on this machine.",
        "Pages that need scripts are read as far as possible without it.",
        "Install it: sudo apt install chromium, sudo dnf install chromium, or brew install --cask chromium. "
        "To do without: research.browser = false",
    ),
    "browser_no_package": ErrorText(
        "E5004",
        "The browser cannot be used: the package playwright is not installed.",
        "Pages that need scripts are read as far as possible without it.",
        "Install it: pip install 'localllm[browser]'. To do without: research.browser = false",
    ),
    "browser_slow": ErrorText(
        "E5005",
        "{url} took longer than {seconds:g} s in the browser.",
        "",
        "Raise research.browser_timeout, or look for another source.",
    ),
    "browser_proxy": ErrorText(
        "E5006",
        "The browser cannot be used with the proxy of web.proxy.",
        "It works only with http:// proxies.",
        "Use a proxy that begins with http://, or do without the browser: research.browser = false",
    ),
    "pdf_not_printed": ErrorText(
        "E5007", "The PDF {file} could not be created: {reason}.", "", "Export the report as HTML and print that."
    ),
    "pdf_no_font": ErrorText(
        "E5008",
        "The PDF {file} was not created: no font on this machine has Japanese characters.",
        "They would all appear as boxes.",
        "Install one: sudo apt install fonts-noto-cjk, sudo dnf install google-noto-sans-cjk-fonts",
    ),
}
