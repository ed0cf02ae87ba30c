"""Where files are encrypted as they are committed, no command takes that off."""

import subprocess
from pathlib import Path

import pytest

from localllm.safety.protection import Protection
from localllm.sandbox.protect.revert import ProtectedFiles

SECRET = "secrets/** filter=git-crypt diff=git-crypt\n"


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    subprocess.run(["git", "init", "-q", tmp_path / "project"], check=True)
    root = (tmp_path / "project").resolve()
    (root / "secrets").mkdir()
    (root / ".gitattributes").write_text(SECRET)
    return root


def encrypt(root: Path, name: str = "git-crypt") -> None:
    subprocess.run(["git", "config", f"filter.{name}.clean", "tr a-z n-za-m"], cwd=root, check=True)


def changed(root: Path, path: str, text: str | None) -> bool:
    """Whether a command's change stays."""
    files = ProtectedFiles(root, None)
    files.begin()
    file = root / path
    file.parent.mkdir(exist_ok=True)
    if text is None:
        file.unlink()
    else:
        file.write_text(text)
    was_put_back = files.end() == (path,)
    assert was_put_back == (file.exists() != (text is not None) or (text is not None and file.read_text() != text))
    return not was_put_back


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("secrets/.gitattributes", "* !filter\n"),
        ("secrets/.gitattributes", "* filter=none\n"),
        ("new/.gitattributes", "[attr]plain -filter\n"),
        ("secrets/.gitattributes", "* plain\n"),
        ("secrets/.gitattributes", '"k*" text\n'),
        (".gitattributes", "*.sh text\n"),
        (".gitattributes", f"{SECRET}secrets/key -filter\n"),
        (".gitattributes", f"\f{SECRET}"),
        (".gitattributes", SECRET.replace("\n", " " * 2_048 + "\n")),
        (".gitattributes", None),
    ],
)
def test_a_change_that_takes_the_filter_off_is_put_back(root: Path, path: str, text: str | None) -> None:
    encrypt(root)
    assert not changed(root, path, text)


def test_a_macro_may_have_a_harmless_name(root: Path) -> None:
    encrypt(root)
    lines = f"[attr]linguist-plain !filter\n{SECRET}"
    (root / ".gitattributes").write_text(lines)
    assert not changed(root, ".gitattributes", f"{lines}secrets/** linguist-plain\n")
    assert changed(root, ".gitattributes", f"# mine\n{lines}")


@pytest.mark.parametrize("at", [0, 1, 2])
def test_the_order_of_lines_for_filters_is_put_back(root: Path, at: int) -> None:
    """The last one for a file holds."""
    encrypt(root)
    lines = ["secrets/public/** !filter\n", SECRET]
    (root / ".gitattributes").write_text("".join(lines))
    assert not changed(root, ".gitattributes", "".join(reversed(lines)))
    again = [*lines[:at], lines[0], *lines[at:]]
    assert not changed(root, ".gitattributes", "".join(again))
    assert changed(root, ".gitattributes", "".join((lines[0], "*.sh text\n", lines[1].replace("\n", " \t\n"))))


@pytest.mark.parametrize("text", [f"{SECRET}*.sh text eol=lf\n*.png -text -diff\n", f"# mine\n\n{SECRET}"])
def test_other_changes_stay(root: Path, text: str) -> None:
    encrypt(root)
    assert changed(root, ".gitattributes", text)
    assert changed(root, "src/.gitattributes", "*.min.js linguist-generated=true binary\n")


@pytest.mark.parametrize("name", ["", "lfs"])
def test_without_such_a_filter_all_changes_stay(root: Path, name: str) -> None:
    if name:
        encrypt(root, name)
    assert changed(root, ".gitattributes", "*.bin filter=lfs\n")
    assert changed(root, ".gitattributes", None)
    assert not Protection(root).covers(".gitattributes")


def test_a_link_is_no_file_of_attributes(root: Path) -> None:
    encrypt(root)
    files = ProtectedFiles(root, None)
    files.begin()
    (root / ".gitattributes").rename(root / "kept")
    (root / ".gitattributes").symlink_to("kept")
    assert files.end() == (".gitattributes",)
    assert (root / ".gitattributes").read_text() == SECRET
    assert not (root / ".gitattributes").is_symlink()


def test_the_tools_for_files_ask_about_it(root: Path) -> None:
    encrypt(root)
    assert Protection(root).covers("secrets/.gitattributes")
    assert not Protection(root).covers("secrets/key.yml")


def test_a_filter_of_the_users_own_settings_counts(root: Path, tmp_path: Path) -> None:
    (tmp_path / "home").mkdir()
    (tmp_path / "home/.gitconfig").write_text('[filter "crypt"]\n\tclean = gpg -e\n')
    assert not changed(root, "secrets/.gitattributes", "* !filter\n")
