"""Where files are encrypted as they are committed, no command takes that off."""

import random
import subprocess
from codecs import BOM_UTF8
from pathlib import Path

import pytest

from localllm.safety.protection import Protection
from localllm.sandbox.protect.protected_paths import Entry
from localllm.sandbox.protect.repositories import git_attributes
from localllm.sandbox.protect.repositories.git_attributes import OwnFilters, is_closed_attributes
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
        ("secrets/.gitattributes", '\ufeff"*"-filter\n'),
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


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("new/.gitattributes", "*.key filter=git-crypt diff=git-crypt\n.gitattributes !filter !diff\n"),
        (".gitattributes", f"{SECRET}*.pem filter=git-crypt -text\n"),
        (".gitattributes", f"*.pem\tfilter=git-crypt \t\n*.sh text\n{SECRET}"),
    ],
)
def test_lines_that_set_the_only_filter_may_be_added(root: Path, path: str, text: str) -> None:
    """As by a checkout of another branch. Without them the next commit would have the secrets in clear."""
    encrypt(root)
    assert changed(root, path, text)


def test_a_filter_in_an_included_file_counts(root: Path) -> None:
    team = root / ".gitconfig"
    team.write_text('[filter "git-crypt"]\n\tclean = tr a-z n-za-m\n')
    subprocess.run(["git", "config", "include.path", "../.gitconfig"], cwd=root, check=True)
    assert not changed(root, ".gitattributes", "\n")
    files = ProtectedFiles(root, None)
    files.begin()
    team.write_text("")
    (root / ".gitattributes").write_text("")
    assert files.end() == (".gitattributes", ".gitconfig")


@pytest.mark.parametrize(
    "line",
    [
        "* filter=git-crypt\f-filter",
        "* filter=git-crypt filter=lfs",
        "* filter=git-crypt !filter",
        "* filter=Git-crypt",
        "* filter=git-crypt odd",
        "* filter",
        "* filter=lfs",
        '"*" filter=git-crypt',
        "[attr]text filter=git-crypt",
        "*/.gitattributes/key !filter",
        f"* filter=git-crypt{' ' * 2_048}text",
    ],
)
def test_other_lines_for_filters_may_not(root: Path, line: str) -> None:
    encrypt(root)
    assert not changed(root, ".gitattributes", f"{SECRET}{line}\n")


def test_lines_may_not_be_added_where_another_filter_could_be_set(root: Path) -> None:
    encrypt(root)
    encrypt(root, "other")
    assert not changed(root, ".gitattributes", f"{SECRET}* filter=other\n")
    assert not changed(root, "new/.gitattributes", "* filter=git-crypt\n")


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


BEGINS = [*[b""] * 9, *[BOM_UTF8] * 4, BOM_UTF8 * 2, b" ", b"\t", b"\r", b"\f", b"\xa0", b"\0", b"#", b"!", b"-"]
PATTERNS = [
    b"*",
    b"key",
    b"secrets/*",
    b"**/key",
    b'"*"',
    b'"key"',
    b'"\\052"',
    b'"*',
    b'*"',
    b'"*"*',
    b"\\*",
    b"k\xffy",
]
MACROS = [b"[attr]diff", b'"[attr]diff"', b'"\\133attr]diff"', b"[attr] diff", b"[attr]odd", b'"[attr] diff"']
BETWEEN = [
    *[b" "] * 9,
    b"",
    b"",
    b"",
    b"\t",
    b"\r",
    b"  ",
    b"",
    b"\v",
    b"\f",
    b"\0",
    b"\xc2\xa0",
    b"\xe3\x80\x80",
    b" " * 2_040,
]
ATTRIBUTES = [
    *(b"-filter", b"!filter", b"filter", b"filter=none", b"filter=", b"odd", b"-odd", b"diff", b"-diff", b"!diff"),
    *(b"text", b"eol=lf", b"-text", b"text=auto", b"binary", b"linguist-vendored", b"text=x=-filter", b"#", b"="),
]


SETTING = [*[b"filter=git-crypt"] * 30, *(b"filter=git-crypt" + rest for rest in (b"\f-filter", b"\0-filter", b"x"))]


def odd_line(dice: random.Random, attributes: list[bytes] = ATTRIBUTES) -> bytes:
    line = dice.choice(BEGINS) + dice.choice([*PATTERNS, *PATTERNS, *MACROS])
    for _ in range(dice.randrange(1, 3)):
        line += dice.choice(BETWEEN) + dice.choice(attributes)
    return line + dice.choice([b"", b" ", b"\r", b"\r\r"])


def attributes_of(root: Path, content: bytes) -> bytes:
    """The filters that git sees with this content."""
    (root / ".gitattributes").write_bytes(content)
    names = ["key", "secrets/key", "secrets/deep/key", "other"]
    return subprocess.run(["git", "check-attr", "filter", *names], cwd=root, check=True, capture_output=True).stdout


def test_a_change_that_is_taken_for_harmless_changes_no_filter_for_git(root: Path, tmp_path: Path) -> None:
    encrypt(root)
    (tmp_path / "lowest").write_text("[attr]odd -filter\n* filter=git-crypt\n")
    subprocess.run(["git", "config", "core.attributesFile", tmp_path / "lowest"], cwd=root, check=True)
    dice = random.Random(26)
    harmless = harmful = 0
    for _ in range(600):
        lines = [odd_line(dice) for _ in range(dice.randrange(3))]
        at = dice.randrange(len(lines) + 1)
        before = b"\n".join(lines)
        after = b"\n".join((*lines[:at], odd_line(dice), *lines[at + dice.randrange(2) :]))
        is_other = attributes_of(root, before) != attributes_of(root, after)
        may_change = OwnFilters(root, {}).may_change(before, after)
        assert not (is_other and may_change), (before, after)
        harmless += may_change
        harmful += is_other
    assert min(harmless, harmful) > 20


def test_lines_that_may_be_added_take_no_filter_off_for_git(root: Path) -> None:
    encrypt(root)
    dice = random.Random(27)
    kept = lost = 0
    for _ in range(600):
        lines = [odd_line(dice, [*ATTRIBUTES, *SETTING]) for _ in range(dice.randrange(3))]
        at = dice.randrange(len(lines) + 1)
        before = b"\n".join(lines)
        after = b"\n".join((*lines[:at], odd_line(dice, [*ATTRIBUTES, *SETTING]), *lines[at:]))
        seen = (attributes_of(root, content).splitlines() for content in (before, after))
        changes = {new.rpartition(b" ")[2] for old, new in zip(*seen, strict=True) if old != new}
        may_change = OwnFilters(root, {}).may_change(before, after)
        assert not may_change or changes <= {b"git-crypt"}, (before, after)
        kept += bool(changes and may_change)
        lost += bool(changes - {b"git-crypt"})
    assert min(kept, lost) > 10


def test_a_macro_of_another_file_may_have_a_harmless_name(root: Path) -> None:
    encrypt(root)
    use = b"* linguist-plain\n"
    for macro, is_one in (
        (b"[attr]linguist-plain -filter\n", True),
        (BOM_UTF8 + b"[attr]linguist-plain\todd\n", True),
        (b'"[attr]linguist-plain"-filter\n', True),
        (b"[attr]binary -diff -merge -text\n[attr]secret filter=git-crypt\n", False),
    ):
        entries = {".gitattributes": Entry(0o100644, (), macro)}
        assert OwnFilters(root, entries).may_change(b"", use) != is_one


@pytest.mark.parametrize("kind", ["nested", "submodule", "worktree", "own"])
def test_the_filters_of_a_repository_in_the_project_count(root: Path, tmp_path: Path, kind: str) -> None:
    other = tmp_path / "other"
    git = ["git", "-c", "protocol.file.allow=always", "-c", "user.name=A", "-c", "user.email=a@b"]
    subprocess.run(["git", "init", "-q", other], check=True)
    subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", "A"], cwd=other, check=True)
    match kind:
        case "nested":
            subprocess.run(["git", "init", "-q", root / "sub"], check=True)
        case "submodule":
            subprocess.run([*git, "submodule", "add", "-q", other, "sub"], cwd=root, check=True, capture_output=True)
        case "worktree":
            subprocess.run(["git", "worktree", "add", "-q", root / "sub", "-b", "b"], cwd=other, check=True)
        case _:
            (root / "sub").mkdir()
    encrypt(root if kind == "own" else root / "sub")
    for path in ("sub/.gitattributes", "sub/new/deep/.gitattributes"):
        assert is_closed_attributes(root, path)
        assert Protection(root).covers(path)
    assert is_closed_attributes(root, ".gitattributes") == (kind == "own")
    assert not is_closed_attributes(root, "sub/key")
    assert not changed(root, "sub/.gitattributes", "* -filter\n")


def test_many_files_of_attributes_are_looked_through_for_macros_once(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    encrypt(root)
    looked_at, has_macro = list[bytes | None](), git_attributes._has_misleading_macro  # pyright: ignore[reportPrivateUsage]

    def look(content: bytes | None) -> bool:
        looked_at.append(content)
        return has_macro(content)

    monkeypatch.setattr(git_attributes, "_has_misleading_macro", look)
    entries = {f"{number}/.gitattributes": Entry(0o100644, (), b"*.sh text\n") for number in range(50)}
    filters = OwnFilters(root, entries)
    assert all(filters.may_change(b"*.sh text\n", b"*.py text\n") for _ in entries)
    assert len(looked_at) == len(entries)


@pytest.mark.parametrize("target", ["conf/filters", "../filters"])
@pytest.mark.parametrize("then", ["rm .gitconfig; touch .gitconfig", "ln -sf other .gitconfig", "true"])
def test_a_filter_of_an_included_file_that_is_a_link_counts(root: Path, target: str, then: str) -> None:
    (root / "conf").mkdir()
    (root / target).write_text('[filter "git-crypt"]\n\tclean = tr a-z n-za-m\n')
    (root / ".gitconfig").symlink_to(target)
    subprocess.run(["git", "config", "include.path", "../.gitconfig"], cwd=root, check=True)
    files = ProtectedFiles(root, None)
    files.begin()
    subprocess.run(f"{then}; echo > .gitattributes", shell=True, cwd=root, check=True)
    assert ".gitattributes" in files.end()
    assert is_closed_attributes(root, ".gitattributes")


def test_a_filter_counts_that_a_repository_around_includes_from_the_project(tmp_path: Path, root: Path) -> None:
    del root  # sets the home
    around = tmp_path.resolve() / "around"
    subprocess.run(["git", "init", "-q", around], check=True)
    (around / "pkg").mkdir()
    (around / "pkg/filters").write_text('[filter "git-crypt"]\n\tclean = tr a-z n-za-m\n')
    (around / "pkg/.gitattributes").write_text(SECRET)
    subprocess.run(["git", "config", "include.path", "../pkg/filters"], cwd=around, check=True)
    files = ProtectedFiles(around / "pkg", None)
    files.begin()
    for name in ("filters", ".gitattributes"):
        (around / "pkg" / name).write_text("")
    assert files.end() == (".gitattributes", "filters")
