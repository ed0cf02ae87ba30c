"""What a command takes from text files is told to the model and to the user."""

import subprocess
from pathlib import Path

import pytest

from localllm.base.events import ToolCall
from localllm.base.jsontext import encode_json
from localllm.snapshots.change_log import Change
from localllm.tools.shrunk_files import shrunk_files
from tests.support.agents import make_tools

pytestmark = pytest.mark.anyio

LONG = "".join(f"def u{number}(x):\n    return x + {number}\n\n\n" for number in range(40))
NOTES = "".join(f"- note {number}\n" for number in range(52))


@pytest.fixture
def project(tmp_path: Path) -> Path:
    root = tmp_path / "project"
    root.mkdir()
    return root


async def done(root: Path, command: str) -> tuple[str, str]:
    """What the model reads of a command, and the line for the user."""
    (root / "util.py").write_text(LONG)
    (root / "notes.md").write_text(NOTES)
    (root / "b.py").write_text("def g(x):\n    return x\n")
    result = await make_tools(root).execute(
        ToolCall("1", "run_command", encode_json({"command": command}).decode()), print
    )
    return result.for_model, str(result.summary)


@pytest.mark.parametrize(
    ("command", "path", "lines", "gone"),
    [
        (r"printf 'def v(x):\n    return 1\n' > util.py", "util.py", "160 lines became 2", "; u0, u1, u2, u3, … gone"),
        ("echo '- milk' > notes.md", "notes.md", "52 lines became 1", ""),
        ("sort notes.md > notes.md", "notes.md", "52 lines became 0", ""),
        ("sed -i '/def u3/,$ d' util.py", "util.py", "160 lines became 12", ""),
        ("echo 'def h(x): return 2*x' > b.py", "b.py", "2 lines became 1", "; g gone"),
        ("cp b.py a.txt; : > notes.md", "notes.md", "52 lines became 0", ""),
    ],
)
async def test_what_became_of_a_file_is_told(project: Path, command: str, path: str, lines: str, gone: str) -> None:
    told, line = await done(project, command)
    assert f": {path} ({lines}{gone})" in told
    assert "[If more went than was asked for, put it back, or say so" in told
    assert line.endswith(f"; {path}: {lines}")


@pytest.mark.parametrize(
    ("command", "count", "is_asked"),
    [
        ("rm -r data", 4, True),
        ("find data -name '*.csv' -delete", 4, True),
        ("rm data/sales-*.csv", 4, True),
        ("rm data/sales-1.csv data/sales-2.csv", 2, False),
        ("rm data/sales-3.csv", 1, False),
        ("git rm -rq data", 4, False),
    ],
)
async def test_files_that_were_deleted_and_not_named(project: Path, command: str, count: int, is_asked: bool) -> None:
    (project / "data").mkdir()
    for number in range(4):
        (project / f"data/sales-{number}.csv").write_text("date,amount\n1,2\n")
    subprocess.run("git init -q; git add data; git commit -qm a", shell=True, cwd=project, check=True)
    told, line = await done(project, command)
    assert f"; {count} file{'s' * (count > 1)} deleted: data/sales-" in line
    assert ("[If more went than was asked for, put it back" in told) is is_asked


@pytest.mark.parametrize(
    "command",
    [
        "echo '- milk' >> notes.md",
        "sed -i 's/note/point/' notes.md",
        "sed -i '1,20d' notes.md",
        "sed -i 's/g(x)/h(x)/' b.py",
        "rm notes.md",
        "printf 'a\\0b' > notes.md",
    ],
)
async def test_other_changes_are_not(project: Path, command: str) -> None:
    told, line = await done(project, command)
    assert "[changed: 1 file: " in told
    assert ("became" in told + line, "If more went" in told) == (False, False)


@pytest.mark.parametrize(("command", "is_told"), [("cd . && git checkout -q main", False), ("git log > a.txt", True)])
def test_what_git_replaces_it_keeps(command: str, is_told: bool) -> None:
    change = Change(call="1", turn="1", tool="run_command", path="a.txt", before="old", after="new", time=0)
    found = shrunk_files([change], lambda state: NOTES.encode() if state == "old" else b"x\n", command)
    assert bool(found) == is_told


def test_what_is_not_kept_is_left_out_and_what_follows_too_much() -> None:
    def content(state: str) -> bytes:
        if state == "lost":
            raise FileNotFoundError(state)
        known = {"large": b"x\n" * 2_500_000, "utf-16": NOTES.encode("utf-16"), "huge": b"x" * 40_000_000}
        return known.get(state, NOTES.encode() if state == "old" else b"")

    def change(path: str, before: str) -> Change:
        return Change(call="1", turn="1", tool="run_command", path=path, before=before, after="new", time=0)

    befores = ("lost", "old", "large", "old", "utf-16", "huge", "old")
    changes = [change(path, before) for path, before in zip("abcdefg", befores, strict=True)]
    found = {one.path: one.before for one in shrunk_files(changes, content, "x")}
    assert found == {"c": 2_500_000, "b": 52, "d": 52, "e": 52}


@pytest.mark.parametrize("encoding", ["latin-1", "cp932", "euc_jp", "utf-8"])
def test_the_encoding_of_a_long_text_is_not_looked_for(encoding: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("localllm.tools.shrunk_files.decode", None)
    text = ("caf\xe9\n" if encoding == "latin-1" else "値は三百です。\n") * 20_000
    contents = {"old": text.encode(encoding), "new": text[:10].encode(encoding)}
    change = Change(call="1", turn="1", tool="run_command", path="a.txt", before="old", after="new", time=0)
    (found,) = shrunk_files([change], contents.__getitem__, "x")
    assert (found.before, found.after) == (20_000, 2)


SALES = "date,store,amount\n2026-01-03,Kyoto,120\n2026-01-01,Osaka,80\n2026-01-03,Kyoto,120\n"


@pytest.mark.parametrize(
    ("command", "remark", "line"),
    [
        ("LC_ALL=C sort -u sales.csv -o sales.csv", "is now line 3", "; sales.csv: its header is now line 3"),
        ("sed -i 1d sales.csv", "its header is gone", "; sales.csv: its header is gone"),
        ("tail -n 2 sales.csv > x && mv x sales.csv", "its header is gone", "; sales.csv: its header is gone"),
    ],
)
async def test_a_table_whose_header_went_is_told(project: Path, command: str, remark: str, line: str) -> None:
    (project / "sales.csv").write_text(SALES)
    told, said = await done(project, command)
    assert remark in told
    assert line in said


@pytest.mark.parametrize(
    "command",
    [
        "(head -n 1 sales.csv; tail -n +2 sales.csv | sort -u) > x && mv x sales.csv",
        "sed -i '1s/amount/total/' sales.csv",
        "sed -i 2d sales.csv",
        "sed -i 's/,/;/g' sales.csv",
        "LC_ALL=C sort -u names.csv -o names.csv",
        "LC_ALL=C sort -u sales.txt -o sales.txt",
    ],
)
async def test_a_table_with_its_header_is_not(project: Path, command: str) -> None:
    (project / "sales.csv").write_text(SALES)
    (project / "sales.txt").write_text(SALES)
    (project / "names.csv").write_text("Zoe,Kyoto\nAda,Osaka\n")
    told, _said = await done(project, command)
    assert "header" not in told
