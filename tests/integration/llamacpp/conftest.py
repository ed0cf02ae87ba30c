"""A real llama.cpp server for each kind of model, started once and shared: what the models say is babble, the wire is
the truth."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.support.llama import Served, serving
from tests.support.tiny_gguf import WINDOW, Kind, make_tiny_gguf

ModelFile = Callable[[Kind], Path]


@pytest.fixture(scope="session")
def model_file(tmp_path_factory: pytest.TempPathFactory) -> ModelFile:
    """The file of a model of some kind, made when it is first asked for."""
    folder = tmp_path_factory.mktemp("models")

    def made(kind: Kind) -> Path:
        file = folder / f"{kind}.gguf"
        return file if file.exists() else make_tiny_gguf(file, kind)

    return made


@pytest.fixture(scope="session")
def caller(model_file: ModelFile) -> Iterator[Served]:
    """A model that calls tools."""
    with serving(model_file("calling"), WINDOW) as served:
        yield served


@pytest.fixture(scope="session")
def talker(model_file: ModelFile) -> Iterator[Served]:
    """A model that only talks, and never stops; with two conversations at a time."""
    with serving(model_file("plain"), WINDOW, parallel=2) as served:
        yield served


@pytest.fixture(scope="session")
def single(model_file: ModelFile) -> Iterator[Served]:
    """The same with one conversation at a time."""
    with serving(model_file("plain"), WINDOW) as served:
        yield served


@pytest.fixture(scope="session")
def small(model_file: ModelFile) -> Iterator[Served]:
    """The same with a small window."""
    with serving(model_file("plain"), 1_024) as served:
        yield served


@pytest.fixture(scope="session")
def toolless(model_file: ModelFile) -> Iterator[Served]:
    """A model whose chat template knows no tools."""
    with serving(model_file("toolless"), WINDOW) as served:
        yield served


@pytest.fixture(scope="session")
def thinker(model_file: ModelFile) -> Iterator[Served]:
    """A model that thinks before it answers."""
    with serving(model_file("thinking"), 1_024) as served:
        yield served


@pytest.fixture(scope="session")
def noisy(model_file: ModelFile) -> Iterator[Served]:
    """A model whose answers llama.cpp itself cannot make sense of."""
    with serving(model_file("noise"), 1_024) as served:
        yield served
