"""What tests of web pages share."""

from collections.abc import Iterator
from functools import cache

import httpx
import pytest


@pytest.fixture(scope="session", autouse=True)
def certificates_read_once() -> Iterator[None]:
    """Share the certificates: each reader of pages reads them once, in 20 ms, and most tests make readers anew."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(httpx, "create_ssl_context", cache(httpx.create_ssl_context))
        yield
