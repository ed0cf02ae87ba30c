"""A browser for the tests of the ensemble's page."""

from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser

from tests.support.ensemble_page import Visit, Visitor, chromium


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """A Chromium for a file of tests."""
    with chromium() as running:
        yield running


@pytest.fixture
def visit(browser: Browser) -> Iterator[Visit]:
    """Visits servers; at the end nothing may have gone wrong in the page, nor been asked for elsewhere."""
    visitors: list[Visitor] = []

    def begin_visit(server: Any, **options: Any) -> Visitor:
        visitors.append(Visitor(browser, server, **options))
        return visitors[-1]

    yield begin_visit
    for one in visitors:
        one.close()
    assert [(one.foreign, one.faults) for one in visitors] == [([], [])] * len(visitors)
