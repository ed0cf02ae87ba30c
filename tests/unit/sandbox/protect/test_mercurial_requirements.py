"""Which words a command may add to what Mercurial must know to read a repository."""

from pathlib import Path

import pytest

from localllm.sandbox.protect.mercurial_requirements import REQUIREMENTS, harmless_requirements, is_requirements
from localllm.sandbox.protect.protected_paths import PROTECTED_NAMES, is_protected
from localllm.sandbox.protect.revert import ProtectedFiles
from tests.support.tools import put

PLAIN = "dotencode\nfncache\ngeneraldelta\nrevlogv1\nstore\n"


def test_the_names_are_protected() -> None:
    assert set(REQUIREMENTS) <= set(PROTECTED_NAMES)
    assert is_requirements("sub/.HG/Store/requires")
    assert not is_requirements("docs/requires")


@pytest.mark.parametrize(
    ("before", "after", "stays"),
    [
        ("", PLAIN, PLAIN),
        (PLAIN, f"{PLAIN}dirstate-v2\n", f"{PLAIN}dirstate-v2\n"),
        (PLAIN, f"largefiles\n{PLAIN}lfs", PLAIN),
        ("", f"git\r\n{PLAIN}", PLAIN),
        ("largefiles\nstore\n", f"largefiles\n{PLAIN}", f"largefiles\n{PLAIN}"),
        ("x largefiles\n", "x largefiles\nlargefiles\n", "x largefiles\n"),
    ],
)
def test_extensions_that_were_not_there_go(before: str, after: str, stays: str) -> None:
    assert harmless_requirements(before.encode(), after.encode()).decode() == stays


def test_a_command_may_make_and_remove_a_repository_but_turn_on_no_extension(tmp_path: Path) -> None:
    root = tmp_path.resolve()
    for name in REQUIREMENTS:
        put(root / name, PLAIN)
    files = ProtectedFiles(root, None)
    files.begin()
    assert is_protected(REQUIREMENTS[0])
    put(root / REQUIREMENTS[1], f"largefiles\n{PLAIN}")
    put(root / "new/.hg/requires", f"{PLAIN}lfs\n")
    put(root / "plain/.hg/requires", PLAIN)
    assert files.end() == (REQUIREMENTS[1], "new/.hg/requires")
    assert (root / REQUIREMENTS[1]).read_text() == PLAIN
    assert (root / "new/.hg/requires").read_text() == PLAIN
    files.begin()
    (root / "plain/.hg/requires").unlink()
    assert files.end() == ()
