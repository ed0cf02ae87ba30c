"""What runners of many tests share, which each would else compile, start and try anew: 100 ms for a command of 6."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

import pytest

from localllm.sandbox import probe, runner
from localllm.sandbox.linux.bundle import Bundle
from localllm.sandbox.linux.fork_client import ForkServer


@contextmanager
def compiled_and_tried_once() -> Iterator[Bundle]:
    """Let runners share the launcher's code and what was found out of each level; each has a fork server of its own."""
    bundle = Bundle()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(runner, "Bundle", lambda: bundle)
        patch.setattr(probe, "_weakness", cache(probe._weakness))
        yield bundle


@contextmanager
def one_sandbox_for_all() -> Iterator[None]:
    """Let runners share the fork server as well."""
    with compiled_and_tried_once() as bundle, pytest.MonkeyPatch.context() as patch:
        server = ForkServer(bundle)
        patch.setattr(runner, "ForkServer", lambda _bundle: server)
        yield
        server.close()
