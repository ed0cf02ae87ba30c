"""Who may write files that are believed with some content only: anybody what work writes, nobody but the user the
rest."""

from pathlib import Path

import pytest

from localllm.base.errors import SafetyViolationError
from localllm.safety.paths import ProjectRoot
from localllm.sandbox.protect.protected_paths import is_protected
from localllm.sandbox.protect.revert import ProtectedFiles
from tests.support.tools import put

PLAIN = "nodejs 22.1.0\npython 3.12 3.11 # { } %\n"
RUNS = 'nodejs 22\n# {{ exec(command="make") }}\n'
RULES = "ruleDirs:\n  - rules\ntestConfigs:\n  - testDir: tests\n"
LOADS = f"{RULES}customLanguages:\n  x:\n    libraryPath: x.so\n    extensions: [py]\n"
HASH = "0123456789abcdef0123456789abcdef01234567\n"
KEY = "../../.ssh/id_rsa\n"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path.resolve()


@pytest.mark.parametrize(
    ("name", "before", "after", "stays"),
    [
        (".tool-versions", "", PLAIN, True),
        (".tool-versions", PLAIN, "nodejs 23\n", True),
        (".tool-versions", RUNS, PLAIN, True),
        (".tool-versions", "", RUNS, False),
        ("sub/deep/.tool-versions", PLAIN, f"{PLAIN}{{%- set a = exec(command='x') %}}\n", False),
        ("sub/deep/.tool-versions", RUNS, RUNS.replace("make", "evil"), False),
        ("node_modules/x/.tool-versions", "", PLAIN, True),
        ("node_modules/x/.tool-versions", "", RUNS, False),
        ("sub/.tool-versions.md", PLAIN, RUNS, True),
        ("sgconfig.yml", "", RULES, True),
        ("sgconfig.yml", RULES, f"{RULES}utilDirs: [utils]\n", True),
        ("sub/sgconfig.yml", "", LOADS, False),
        ("sub/sgconfig.yml", RULES, LOADS, False),
        ("sgconfig.yml", "", LOADS.replace("customL", '"custom\\u004c').replace("ages:", 'ages":'), False),
        ("sub/sgconfig.yaml", "", LOADS, True),
        (".hglf/data.bin", "", HASH, True),
        (".hglf/sub/data.bin", HASH, HASH.replace("0", "9"), True),
        (".hglf/data.bin", HASH, "", True),
        (".hglf/data.bin", HASH, KEY, False),
        (".hglf/sub/.gitattributes", "", KEY, False),
        (".hglf/hooks/x.sample", "", KEY, False),
        (".hglf/BISECT_START", "", KEY, False),
        (".hglf/packed-refs", "", KEY, False),
        (".hglf/sub/.hglf/config", HASH, KEY, False),
        ("node_modules/.hglf/x", "", KEY, False),
        (".hglf.md", HASH, KEY, True),
    ],
)
def test_a_command_may_bring_what_work_writes_and_nothing_that_is_believed(
    root: Path, name: str, before: str, after: str, stays: bool
) -> None:
    if before:
        put(root / name, before)
    files = ProtectedFiles(root, None)
    files.begin()
    assert not is_protected(name)
    assert str(root / name) not in files.pins()[0]
    put(root / name, after)
    assert files.end() == (() if stays else (name,))
    assert ((root / name).read_text() if (root / name).exists() else "") == (after if stays else before)
    files.begin()
    (root / name).unlink(missing_ok=True)
    assert files.end() == ((name,) if not stays and before == RUNS else ())


def test_a_template_goes_by_no_other_way_either(root: Path) -> None:
    put(root / "kept/.tool-versions", RUNS)
    put(root / "sub/versions", RUNS)
    files = ProtectedFiles(root, None)
    files.begin()
    (root / "kept/.tool-versions").unlink()
    (root / ".tool-versions").symlink_to("sub/versions")
    (root / "sub/versions").rename(root / "sub/.tool-versions")
    assert files.end() == (".tool-versions", "kept/.tool-versions", "sub/.tool-versions")
    assert (root / "kept/.tool-versions").read_text() == RUNS
    assert not (root / ".tool-versions").is_symlink()


def test_a_link_in_place_of_the_standins_of_mercurial_goes(root: Path) -> None:
    put(root / "others/data.bin", HASH)
    files = ProtectedFiles(root, None)
    files.begin()
    (root / ".hglf").symlink_to("others")
    assert files.end() == (".hglf",)


def test_the_tools_for_files_write_versions_and_no_template(root: Path) -> None:
    files = ProjectRoot(root)
    files.write_bytes("sub/.tool-versions", PLAIN.encode())
    files.write_bytes("versions.txt", RUNS.encode())
    with pytest.raises(SafetyViolationError, match=r"\.tool-versions"):
        files.write_bytes("sub/.tool-versions", RUNS.encode())
    assert (root / "sub/.tool-versions").read_text() == PLAIN
    with pytest.raises(SafetyViolationError, match=r"\.tool-versions"):
        files.write_bytes("new/.tool-versions", b"{% if exec(command='x') %}", create_only=True)
    assert not (root / "new").exists()


def test_an_addon_of_ruby_lsp_is_nobodys_but_the_users_at_any_depth(root: Path) -> None:
    addons = {"lib/ruby_lsp/addon.rb", "lib/ruby_lsp/x/addon.rb", "ruby_lsp/x/y/Addon.rb", "a/ruby_lsp"}
    others = {"lib/ruby_lsp/x/listener.rb", "lib/addon.rb"}
    put(root / "ruby_lsp/old/addon.rb", "mine")
    files = ProtectedFiles(root, None, coarse=50_000_000)
    files.begin()
    for name in (addons | others) - {"a/ruby_lsp"}:
        put(root / name, "`id`")
    put(root / "ruby_lsp/old/addon.rb", "`id`")
    (root / "a").mkdir()
    (root / "a/ruby_lsp").symlink_to("../lib")
    assert set(files.end()) == addons | {"ruby_lsp/old/addon.rb"}
    assert (root / "ruby_lsp/old/addon.rb").read_text() == "mine"
    with pytest.raises(SafetyViolationError):
        ProjectRoot(root).write_bytes("lib/ruby_lsp/x/addon.rb", b"`id`")
