"""One sandbox for all runners of a file; the tests of the sandbox itself share less (sandbox/conftest.py)."""

from collections.abc import Iterator

import pytest

from tests.support.one_sandbox import one_sandbox_for_all


@pytest.fixture(scope="module", autouse=True)
def one_sandbox() -> Iterator[None]:
    with one_sandbox_for_all():
        yield
