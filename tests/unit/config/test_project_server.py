"""Which servers of an untrusted project are none of the user's, and what they do not get."""

from pathlib import Path

import pytest

from localllm.config.loader import Loaded, load
from localllm.config.trust import Answers

OTHER = "[llm]\nprovider = 'openai'\n[llm.openai]\nbase_url = 'http://127.0.0.1:9000/v1'\n"


class Place:
    """A project, and a user with folders and collections for research."""

    def __init__(self, folder: Path) -> None:
        self.user, self.project = folder / "user" / "localllm.toml", folder / "project" / "localllm.toml"
        for file in (self.user, self.project):
            file.parent.mkdir()
        self.environ = {"LOCALLLM_CONFIG_DIR": str(self.user.parent), "HOME": str(folder), "PATH": "/bin"}

    def load(self, project: str, user: str = "", *, trusted: bool = False, **environ: str) -> Loaded:
        self.project.write_text(project)
        self.user.write_text(f"{user}\n[research]\ndocs = ['~/notes']\ncollections = ['own']\n")
        return load(self.project.parent, environ=self.environ | environ, trusted=trusted)


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


@pytest.mark.parametrize(
    ("project", "user"),
    [
        (OTHER, ""),
        ("[llm.openai]\nbase_url = 'http://127.0.0.1:9000'", ""),
        ("[llm.openai]\nbase_url = 'http://127.0.0.1:9000'", "[llm]\nprovider = 'ollama'"),
        ("[llm]\nprovider = 'lmstudio'", "[llm]\nprovider = 'ollama'"),
        ("[llm.lmstudio]\nbase_url = 'http://127.0.0.2:1234'", ""),
        ("[llm.lmstudio]\nbase_url = 'http://[::1]:1234'", ""),
        ("[llm.gemini]\nbase_url = 'http://localhost:9000'", "[llm]\nprovider = 'gemini'"),
    ],
)
def test_a_server_that_the_user_does_not_use_gets_nothing_of_theirs(place: Place, project: str, user: str) -> None:
    loaded = place.load(project, user)
    assert loaded.has_strange_server
    assert (loaded.settings.research.docs, loaded.settings.research.collections) == ((), ())
    assert (loaded.own.research.docs, loaded.own.research.collections) == (("~/notes",), ("own",))
    assert "localllm config trust" in loaded.warnings[-1]
    assert loaded.held_back is not None
    assert not loaded.held_back.is_asked
    Answers.of_user(place.environ).remember(place.project.parent, loaded.held_back.digest, believed=True)
    for after in (place.load(project, user), place.load(project, user, trusted=True)):
        assert not after.has_strange_server
        assert after.settings.research.docs == ("~/notes",)
        assert (after.warnings, after.held_back) == ((), None)


@pytest.mark.parametrize(
    ("project", "user", "environ"),
    [
        ("[llm]\nprovider = 'lmstudio'", "", {}),
        ("[llm]\nprovider = 'openai'\n[llm.openai]\nbase_url = 'http://127.0.0.1:1234/v1'", "", {}),
        ("[llm.openai]\nbase_url = 'localhost:8000'", "", {}),
        (OTHER, "", {"LOCALLLM_ALSO_LOOK_AT": "http://localhost:9000"}),
        (OTHER, "[llm]\nprovider = 'lmstudio'\n[llm.lmstudio]\nbase_url = 'http://LOCALHOST:9000'", {}),
        (
            OTHER,
            "[llm]\nprovider = 'ollama'\nfallback_providers = ['openai']\n[llm.openai]\nbase_url = '0.0.0.0:9000'",
            {},
        ),
        (OTHER, OTHER, {}),
        ("[llm]\nprovider = 'ollama'", "", {"OLLAMA_HOST": "0.0.0.0:9"}),
        ("[llm]\nprovider = 'embedded'\nmodel = 'm'", "", {}),
        ("[llm.openai]\nbase_url = 'http://far.example'", "", {}),
        (OTHER, "", {"LOCALLLM_LLM_PROVIDER": "ollama", "LOCALLLM_LLM_OPENAI_BASE_URL": "http://127.0.0.1:1"}),
    ],
)
def test_with_a_server_that_the_user_does_use_all_is_as_ever(
    place: Place, project: str, user: str, environ: dict[str, str]
) -> None:
    loaded = place.load(project, user, **environ)
    assert not loaded.has_strange_server
    assert loaded.settings.research.docs == ("~/notes",)
    assert not any("localllm config trust" in one for one in loaded.warnings)
    assert loaded.held_back is None or loaded.withheld


def test_a_model_that_an_untrusted_project_names_is_looked_for_on_one_s_own_servers(place: Place) -> None:
    named = "[llm]\nmodel = 'm'"
    assert "LOCALLLM_OWN_SERVERS_ONLY" in place.load(named, "").allowed_environ({})
    for loaded in (place.load(named, "", trusted=True), place.load(named, named), place.load("", named)):
        assert "LOCALLLM_OWN_SERVERS_ONLY" not in loaded.allowed_environ({})


@pytest.mark.parametrize(
    ("project", "kept"),
    [
        ("[llm.lmstudio]\nbase_url = 'http://127.0.0.1:9'", False),
        ("[llm]\nprovider = 'openai'\n[llm.openai]\nbase_url = 'http://127.0.0.1:9'", False),
        ("[llm.openai]\nbase_url = 'http://127.0.0.1:9'", True),
        ("[llm]\nmodel = 'm'", True),
    ],
)
def test_no_fallback_of_the_user_stands_in_for_a_server_that_the_project_chooses(
    place: Place, project: str, kept: bool
) -> None:
    user = "[llm]\nprovider = 'lmstudio'\nfallback_providers = ['gemini']"
    assert bool(place.load(project, user).settings.llm.fallback_providers) is kept


CLOUD = "fallback_providers = ['ollama', 'openai']\n[llm.openai]\nbase_url = 'https://api.example.com/v1'"


@pytest.mark.parametrize(
    ("provider", "project", "kept"),
    [
        ("auto", "[llm]\nprovider = 'ollama'", False),
        ("auto", "[llm]\nprovider = 'embedded'", False),
        ("lmstudio", "[llm]\nprovider = 'ollama'", False),
        ("auto", "[llm.lmstudio]\nbase_url = 'http://localhost:11434'", False),
        ("lmstudio", "[llm.lmstudio]\nbase_url = 'http://localhost:11434'", False),
        ("lmstudio", "[llm.lmstudio]\nbase_url = 'https://localhost:1234'", False),
        ("lmstudio", "[llm.lmstudio]\nbase_url = 'http://localhost:1234/nowhere'", False),
        ("lmstudio", "[llm.lmstudio]\nbase_url = 'http://127.0.0.1:1234/v1'", True),
        ("lmstudio", "[llm.ollama]\nbase_url = 'http://localhost:9'", True),
        ("ollama", "[llm]\nprovider = 'ollama'", True),
    ],
)
def test_nor_for_another_server_of_the_user_that_the_project_chooses(
    place: Place, provider: str, project: str, kept: bool
) -> None:
    user = f"[llm]\nprovider = '{provider}'\n{CLOUD}"
    loaded = place.load(project, user)
    assert bool(loaded.settings.llm.fallback_providers) is kept
    assert kept or any("llm.fallback_providers answers" in one for one in loaded.warnings)
    assert kept or loaded.held_back
    assert place.load(project, user, trusted=True).settings.llm.fallback_providers
