"""What reads pages for research: politely, their main text extracted."""

from typing import Protocol

import msgspec

from localllm.base.errors import LocalLLMError


class ReadPage(msgspec.Struct, frozen=True):
    """A page that was read. `url` is where it was found in the end, `kind` html, pdf, text or browser, `accessed` when
    it was read (ISO 8601). `failure` is why it could not be read as well as it might have been, such as
    without a browser."""

    url: str
    title: str
    text: str
    kind: str
    accessed: str
    failure: LocalLLMError | None = None


class PageReader(Protocol):
    """Reads pages, several at a time."""

    async def read(self, url: str) -> ReadPage:
        """Read the page at `url`. Raises LocalLLMError."""
        ...

    async def aclose(self) -> None:
        """Close the connections."""
        ...
