"""The project's own scripts, run as programs."""

import importlib.util
import subprocess
import sys
from importlib.util import cache_from_source
from pathlib import Path
from types import ModuleType

import pytest

from tests.support.bytecode import with_own_bytecode
from tests.support.each import each

ROOT = Path(__file__).parents[2]


def load(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"scripts_{name}", ROOT / "scripts" / f"{name}.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_setup_compiles_the_package_where_python_writes_no_bytecode(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    setup = load("setup")
    (tmp_path / "localllm").mkdir()
    (tmp_path / "localllm/one.py").write_text("x = 1\n")
    monkeypatch.setattr(setup, "ROOT", tmp_path)
    monkeypatch.setattr(setup, "PYTHON", Path(sys.executable))
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    monkeypatch.delenv("PYTHONPYCACHEPREFIX", raising=False)
    setup.compile_package()
    assert list((tmp_path / "localllm/__pycache__").glob("one.*.pyc"))


def test_programs_that_benchmarks_start_keep_bytecode_of_their_own(tmp_path: Path) -> None:
    (tmp_path / "one.py").write_text("x = 1\n")
    environ = {"PYTHONDONTWRITEBYTECODE": "1", "PYTHONPATH": str(tmp_path)}
    with_own_bytecode(environ)
    subprocess.run([sys.executable, "-c", "import one"], check=True, env=environ)
    assert not (tmp_path / "__pycache__").exists()
    assert list(Path(environ["PYTHONPYCACHEPREFIX"]).rglob("one.*.pyc"))


@pytest.fixture(scope="module")
def check_docs() -> ModuleType:
    """One for all, for it remembers each --help."""
    return load("check_docs")


@each(
    ("mention", "wrong"),
    [
        ("localllm -p X --output json", ""),
        ("localllm config set KEY VALUE", ""),
        ("localllm --no-such-option", "no option --no-such-option"),
        ("localllm nonsense", "no command nonsense"),
        ("localllm config nonsense", "no command nonsense"),
    ],
)
def test_what_documents_say_is_compared_with_the_help(mention: str, wrong: str, check_docs: ModuleType) -> None:
    assert check_docs.judge(mention) == wrong


def test_the_readme_promises_two_commands() -> None:
    script = ROOT / "scripts" / "check_docs.py"
    for what, part in (("first", "localllm -p"), ("test", "pytest")):
        done = subprocess.run([sys.executable, script, "--print", what], capture_output=True, text=True, check=True)
        assert part in done.stdout


def test_a_mutant_that_nothing_notices_is_shown_and_taken_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    script = load("mutants")
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.setenv("PYTEST_PLUGINS", "xdist.plugin")
    monkeypatch.setattr(script, "ROOT", tmp_path)
    monkeypatch.setattr(script, "PACKAGE", tmp_path / "localllm")
    room = tmp_path / "localllm/room"
    room.mkdir(parents=True)
    (room / "__init__.py").touch()
    source = room / "sums.py"
    source.write_text("def plus(a, b):\n    return a + b\n\ndef unseen(a):\n    return a - 1\n")
    tests = tmp_path / "tests/unit/room"
    tests.mkdir(parents=True)
    (tests / "test_sums.py").write_text(
        f"import sys\nsys.path.insert(0, {str(tmp_path / 'localllm')!r})\nfrom room.sums import plus\n\n"
        "def test_plus():\n    assert plus(2, 3) == 5\n"
    )
    subprocess.run(["git", "init", "-q", "."], cwd=tmp_path, check=True)
    subprocess.run(["git", "add", "."], cwd=tmp_path, check=True)
    plus, unseen = sorted(script.chosen(["room"], 10, seed=1), key=lambda mutant: mutant.line)
    assert script.try_one(plus, jobs=0) == ""
    assert "\n-    return a - 1" in script.try_one(unseen, jobs=0)
    assert "a + b" in source.read_text()
    assert "a - 1" in source.read_text()
    assert not Path(cache_from_source(str(source))).exists()
