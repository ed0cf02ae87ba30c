"""A search gives the same lines with ripgrep and without."""

import asyncio
import os
import shutil
import stat
import subprocess
import sys
from collections import Counter
from contextlib import AsyncExitStack
from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace

from localllm.base.errors import SafetyViolationError, ToolExecutionError
from localllm.safety.paths import ProjectRoot
from localllm.tools import file_search, search_backends
from localllm.tools.file_search import Outcome, Request, find
from localllm.tools.search import search_files
from localllm.tools.search_arguments import WantedLines
from localllm.tools.search_backends import PythonEngine, Query, RipgrepEngine, around
from tests.support.tools import make_context, put, use

pytestmark = pytest.mark.anyio


async def both(root: Path, request: Request) -> Outcome:
    """What both engines answer."""
    if not shutil.which("rg"):
        pytest.skip("ripgrep is not installed")  # CI installs it, and fails where a test was skipped
    context = make_context(root)
    python = await find(context, request, use_ripgrep=False)
    ripgrep = await find(context, request, use_ripgrep=True)
    assert (python.engine, python.why) == ("python", "ripgrep is not installed")
    assert replace(ripgrep, engine="", why="") == replace(python, engine="", why="")
    return python


async def lines(root: Path, pattern: str, **more: object) -> list[str]:
    request = Request(Query(pattern, literal=bool(more.pop("literal", False)), ignore_case=bool(more.pop("i", False))))
    outcome = await both(root, replace(request, **more))
    return [f"{hit.path}:{hit.line}: {hit.text}" for hit in outcome.hits]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    put(tmp_path / ".gitignore", "*.log\nbuild/\n")
    put(tmp_path / "src" / ".gitignore", "!keep.log\n")
    put(tmp_path / "src" / "a.py", "import os\n\n\ndef alpha(x):\n    return x\n")
    put(tmp_path / "src" / "keep.log", "def kept\n")
    put(tmp_path / "b.py", "def beta(y):\n    return alpha(y)\n")
    for name in ("x.log", "build/out.py", "node_modules/m.py", ".git/hooks/h", ".localllm/s"):
        put(tmp_path / name, "def hidden\n")
    put(tmp_path / ".env", "def dotted\n")
    (tmp_path / "link.py").symlink_to("b.py")
    return tmp_path


async def test_the_lines_of_the_projects_own_files(project: Path) -> None:
    assert await lines(project, r"def \w+") == [
        ".env:1: def dotted",
        "b.py:1: def beta(y):",
        "src/a.py:4: def alpha(x):",
        "src/keep.log:1: def kept",
    ]


async def test_where_to_search(project: Path) -> None:
    assert await lines(project, "def", start="src") == ["src/a.py:4: def alpha(x):", "src/keep.log:1: def kept"]
    assert await lines(project, "def", include="*.py") == ["b.py:1: def beta(y):", "src/a.py:4: def alpha(x):"]
    assert await lines(project, "def", include="src/*.py") == ["src/a.py:4: def alpha(x):"]
    assert await lines(project, "def", start="x.log") == ["x.log:1: def hidden"]
    assert await lines(project, "DEF ALPHA", i=True) == ["src/a.py:4: def alpha(x):"]
    assert await lines(project, "alpha(x", literal=True) == ["src/a.py:4: def alpha(x):"]


@pytest.mark.parametrize(
    "pattern",
    [
        r"^def",
        r":$",
        r"^$",
        r"x|y",
        r"(?i)DEF",
        r"(?<=def )\w+",  # look-around and back-references: ripgrep has none
        r"(\w)\1",
        r"[[:alpha:]]",  # a POSIX class to ripgrep, not to Python
        r"\balpha\b",
        r"x*",
        r"\<def",
        r"a{2",
        r"[^\n]+x",
    ],
)
async def test_any_pattern_means_the_same(project: Path, pattern: str) -> None:
    put(project / "more", "aa{2 \n\nfoo(x): <def>\n[:alpha:]]\n")
    await both(project, Request(Query(pattern)))


async def test_japanese_in_any_encoding_and_any_newline(tmp_path: Path) -> None:
    text = "これは設定です\r\n日本語の行\r\n"
    put(tmp_path / "utf8.txt", text)
    put(tmp_path / "bom.txt", b"\xef\xbb\xbf" + text.encode())
    put(tmp_path / "utf16.txt", text.encode("utf-16"))
    put(tmp_path / "sjis.txt", text.encode("cp932"))
    put(tmp_path / "euc.txt", text.encode("euc_jp"))
    names = ("bom", "euc", "sjis", "utf16", "utf8")
    assert await lines(tmp_path, "^日本語.行$") == [f"{name}.txt:2: 日本語の行" for name in names]
    assert await lines(tmp_path, "^これ") == [f"{name}.txt:1: これは設定です" for name in names]


async def test_an_ascii_letter_inside_a_japanese_one_is_no_match(tmp_path: Path) -> None:
    put(tmp_path / "sjis.txt", "表示する設定です\n".encode("cp932"))  # the second byte of 表 is a backslash
    assert await lines(tmp_path, r"\\") == []


async def test_what_is_no_text_or_too_large_is_skipped_and_counted(tmp_path: Path) -> None:
    put(tmp_path / "a.txt", "needle\n")
    put(tmp_path / "bin", b"needle\n\0")
    put(tmp_path / "late.bin", b"needle\n" * 10_000 + b"\0")
    put(tmp_path / "cyrillic.txt", "needle Привет\n".encode("cp1251"))
    put(tmp_path / "large.txt", "needle\n" * 300_000)
    outcome = await both(tmp_path, Request(Query("needle")))
    assert [hit.path for hit in outcome.hits] == ["a.txt"]
    assert outcome.searched == 1
    assert outcome.skipped == {"binary": 2, "encoding": 1, "large": 1}
    output = await use(search_files, make_context(tmp_path), pattern="needle")
    assert output.for_model == (
        "a.txt:1: needle\n[not searched: 1 in an unknown encoding, 1 larger than 2 MB (to search one, give its path)]"
    )
    output = await use(search_files, make_context(tmp_path), pattern="haystack")
    assert "not searched: 2 binary, 1 in an unknown encoding" in output.for_model


async def test_a_large_file_that_is_named_is_searched_piece_by_piece(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    context = make_context(tmp_path)
    filling = "そのほかの行 " * 20
    lines = [f"{number} needle" if number % 9_001 == 0 else f"{number} {filling}" for number in range(1, 40_001)]
    wanted = [f"log.txt:{number}: {number} needle" for number in range(9_001, 40_001, 9_001)]
    for encoding in ("utf-8", "shift_jis", "euc_jp"):
        put(tmp_path / "log.txt", "\n".join(lines).encode(encoding))
        assert (tmp_path / "log.txt").stat().st_size > search_backends.LARGEST * 2
        output = await use(search_files, context, pattern="needle", path="log.txt")
        assert output.for_model.splitlines() == ["[4 matches in 1 file]", *wanted]
        first = await find(context, Request(Query("needle"), "log.txt", max_results=2))
        assert ([hit.line for hit in first.hits], first.truncated) == ([9_001, 18_002], True)
    put(tmp_path / "log.txt", b"needle\n" * 600_000 + b"\0\n")
    assert (await find(context, Request(Query("needle"), "log.txt", max_results=10**6))).skipped == {"binary": 1}
    for letter in "xの":  # a line longer than a piece
        put(tmp_path / "log.txt", letter * 9_000_001 + "needle\nneedle")
        assert [hit.line for hit in (await find(context, Request(Query("needle"), "log.txt"))).hits] == [1, 2]
    monkeypatch.setattr(file_search, "LARGEST_ALONE", 5_000_000)
    output = await use(search_files, context, pattern="needle", path="log.txt")
    assert output.for_model == "[no match for needle in 0 files]\n[not searched: 1 larger than 200 MB]"


@pytest.mark.parametrize("is_outside", [True, False])
async def test_kept_outputs_are_searched_in_their_folder(tmp_path: Path, is_outside: bool) -> None:
    (tmp_path / "project").mkdir()
    outputs = (tmp_path / "state" if is_outside else tmp_path / "project/.localllm") / "tool-output"
    put(outputs / "run_command-0123456789abcdef.txt", "one\nneedle\n")
    put(outputs / "stdin-0123456789abcdef.txt", "needle\n" * 300_000)
    context = make_context(tmp_path / "project")
    context = replace(
        context, overflow_folder=outputs, root=ProjectRoot(context.root.path, outputs if is_outside else None)
    )
    output = await use(search_files, context, pattern="needle", path=".localllm/tool-output", max_results=2)
    assert output.for_model.splitlines()[1:] == [
        ".localllm/tool-output/run_command-0123456789abcdef.txt:2: needle",
        ".localllm/tool-output/stdin-0123456789abcdef.txt:1: needle",
    ]
    assert "more than 2 matches in 2 files" in output.for_model


@pytest.mark.parametrize("program", ["rg", ""])
async def test_a_miss_shows_what_another_case_matches(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, program: str
) -> None:
    monkeypatch.setattr(file_search, "find_program", lambda *_: shutil.which(program) if program else None)
    context = make_context(tmp_path)
    put(tmp_path / "retry.py", "import time\nMAX_RETRIES = 5\n")
    output = await use(search_files, context, pattern="max_retries")
    assert output.for_model.splitlines() == [
        "[no match for max_retries in 1 file]",
        "[matches in other case (ignore_case):]",
        "retry.py:2: MAX_RETRIES = 5",
    ]
    assert output.payload["matches"] == []
    output = await use(search_files, context, pattern="max_retries", path="retry.py")
    assert "retry.py:2: MAX_RETRIES = 5" in output.for_model
    output = await use(search_files, context, pattern="max_delay")
    assert output.for_model == "[no match for max_delay in 1 file]"
    put(tmp_path / "many.py", "MAX_RETRIES = 5\n" * 9)
    output = await use(search_files, context, pattern="max_retries")
    assert output.for_model.splitlines()[1] == "[matches in other case (ignore_case), the first of them:]"
    assert len(output.for_model.splitlines()) == 7


async def test_no_outputs_are_kept_yet(tmp_path: Path) -> None:
    output = await use(search_files, make_context(tmp_path), pattern="needle", path=".localllm/tool-output/")
    assert output.for_model == "[no match for needle in 0 files]"


async def test_what_cannot_be_opened_is_counted(tmp_path: Path) -> None:
    put(tmp_path / "a.txt", "needle\n")
    context = make_context(tmp_path)
    request = Request(Query("needle"))
    for use_ripgrep in (False, True):
        async with AsyncExitStack() as stack:
            python = PythonEngine(context.root, request.query, stack)
            program = shutil.which("rg") or ""
            ripgrep = RipgrepEngine(context.root, request.query, program, python, stack)
            found = await (ripgrep if use_ripgrep else python).search(["gone.txt", "a.txt"], 10)
        assert [hit.path for hit in found.hits] == ["a.txt"]
        assert found.skipped == {"unreadable": 1}


async def test_japanese_in_every_encoding(tmp_path: Path) -> None:
    for encoding in ("utf-8", "utf-16", "utf-16-le", "utf-16-be", "cp932", "euc_jp", "iso2022_jp"):
        put(tmp_path / encoding, "# 日本語の設定を読み込む\nvalue\n".encode(encoding))
    put(tmp_path / "terminal.log", "\x1b[31m設定を\x1b[0m\x1b\n")
    found = await lines(tmp_path, "設定を")
    assert [line.partition(":")[0] for line in found] == sorted(path.name for path in tmp_path.iterdir())
    assert await lines(tmp_path, r"\$B") == []


async def test_a_long_line_is_cut_around_the_match(tmp_path: Path) -> None:
    put(tmp_path / "min.js", "語" * 5_000 + "needle" + "b" * 5_000 + "\n")
    outcome = await both(tmp_path, Request(Query("needle")))
    text = outcome.hits[0].text
    assert len(text) == 302
    assert text.startswith("…語")
    assert "needle" in text
    assert around("x" * 300, 299) == "x" * 300


async def test_the_first_results_and_that_there_are_more(tmp_path: Path) -> None:
    for number in range(250):
        put(tmp_path / f"f{number:03}", "needle\n" * 3)
    outcome = await both(tmp_path, Request(Query("needle"), max_results=4))
    assert [(hit.path, hit.line) for hit in outcome.hits] == [("f000", 1), ("f000", 2), ("f000", 3), ("f001", 1)]
    assert outcome.truncated
    outcome = await both(tmp_path, Request(Query("needle"), max_results=750))
    assert (len(outcome.hits), outcome.truncated) == (750, False)


async def test_no_name_and_no_pattern_is_taken_for_an_option(tmp_path: Path) -> None:
    put(tmp_path / "--pre=touch pwned", "--files\n")
    put(tmp_path / "-x", "-e\n")
    put(tmp_path / "a\nb", "--files\n")
    assert await lines(tmp_path, "--files") == ["--pre=touch pwned:1: --files"]
    assert await lines(tmp_path, "-e") == ["-x:1: -e"]
    assert not (tmp_path / "pwned").exists()


async def test_settings_of_ripgrep_are_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(tmp_path / "a", "needle\n")
    monkeypatch.setenv("RIPGREP_CONFIG_PATH", str(put(tmp_path.parent / "rc", "--invert-match\n")))
    assert await lines(tmp_path, "needle") == ["a:1: needle"]


async def test_a_ripgrep_inside_the_project_is_not_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    planted = put(tmp_path / "bin" / "rg", f"#!/bin/sh\ntouch {tmp_path}/pwned\n")
    planted.chmod(planted.stat().st_mode | stat.S_IXUSR)
    put(tmp_path / "a", "needle\n")
    monkeypatch.setenv("PATH", f"{tmp_path}/bin{os.pathsep}{os.environ['PATH']}")
    outcome = await find(make_context(tmp_path), Request(Query("needle")))
    assert len(outcome.hits) == 1
    assert not (tmp_path / "pwned").exists()


async def test_a_pattern_that_runs_away_is_stopped(tmp_path: Path) -> None:
    put(tmp_path / "a", "a" * 40 + "b\n")
    request = Request(Query(r"(a+)+$"))
    with pytest.raises(ToolExecutionError) as caught:
        await find(make_context(tmp_path), request, use_ripgrep=False, seconds=0.3)
    assert caught.value.key == "search_timeout"


async def test_what_was_found_before_time_was_up_is_given(tmp_path: Path) -> None:
    for number in range(250):  # the first batch is of 200 files
        put(tmp_path / f"f{number:03}", "b\n" if number < 249 else "a" * 40 + "b\n")
    request = Request(Query(r"^b|(a+)+$"), max_results=1000)
    outcome = await find(make_context(tmp_path), request, use_ripgrep=False, seconds=1)
    assert outcome.timed_out
    assert (len(outcome.hits), outcome.searched) == (200, 200)


async def test_that_time_was_up_is_shown_to_the_user_as_well(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def cut(*_: object) -> Outcome:
        return Outcome([], 12_200, Counter(), truncated=False, engine="python", timed_out=True)

    monkeypatch.setattr(file_search, "find", cut)
    output = await use(search_files, make_context(tmp_path), pattern="retry")
    assert str(output.summary) == "0 matches for retry; stopped after 20 seconds and 12200 files"


async def test_many_files_are_not_opened_one_by_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """That takes many times as long."""
    for number in range(40):
        put(tmp_path / f"f{number % 2}" / f"{number}.txt", "needle\n" + "x" * (number % 3) * 70_000)
    (tmp_path / "f1" / "link.txt").symlink_to("../f0/0.txt")
    (tmp_path / "gone").mkdir()
    context = make_context(tmp_path)
    monkeypatch.setattr(context.root, "open_listed", None)
    paths = [f"f{number % 2}/{number}.txt" for number in (*range(0, 40, 2), *range(1, 40, 2))]
    async with AsyncExitStack() as stack:
        python = PythonEngine(context.root, Query("needle"), stack)
        found = await python.search([*paths, "f1/link.txt", "nowhere/a"], 100)
    assert [hit.path for hit in found.hits] == paths
    assert found.skipped == {"unreadable": 2}


_AS_USER = ["setpriv", "--bounding-set=-dac_override,-dac_read_search"] if os.geteuid() == 0 else []
_LOAD = """
import sys
from pathlib import Path
from localllm.safety.paths import ProjectRoot
from localllm.tools.search_backends import load_lines
print(load_lines(ProjectRoot(Path(sys.argv[1])), "shut/a.txt"))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the others cannot enter such a folder without reading it")
def test_a_file_is_searched_in_a_folder_that_may_only_be_entered(tmp_path: Path) -> None:
    shut = put(tmp_path / "shut" / "a.txt", "needle\n").parent
    shut.chmod(0o311)
    done = subprocess.run(
        [*_AS_USER, sys.executable, "-c", _LOAD, tmp_path], capture_output=True, text=True, check=True
    )
    shut.chmod(0o755)
    assert done.stdout == "['needle']\n"


async def test_an_interrupt_ends_it_at_once_and_leaves_no_process(tmp_path: Path) -> None:
    put(tmp_path / "a", "a" * 40 + "b\n")
    others = children()
    search = asyncio.create_task(find(make_context(tmp_path), Request(Query(r"(a+)+$")), use_ripgrep=False))
    while not (helpers := children() - others):
        await asyncio.sleep(0.01)
    search.cancel()
    with pytest.raises(asyncio.CancelledError):
        await search
    assert not helpers & children()


def children() -> set[str]:
    """The processes started from here that are still there."""
    listing = subprocess.run(["ps", "-A", "-o", "pid=,ppid=,comm="], capture_output=True, text=True, check=True).stdout
    rows = [line.split(maxsplit=2) for line in listing.splitlines()]
    return {pid for pid, parent, name in rows if parent == str(os.getpid()) and "python" in name}


async def test_what_searches_is_said(tmp_path: Path) -> None:
    put(tmp_path / "a", "aa\n")
    context = make_context(tmp_path)
    for pattern, engine, why in (
        ("a", "ripgrep", ""),
        (r"(a)\1", "python", "ripgrep has no such pattern"),
        (r"\<a", "python", "ripgrep reads this pattern differently"),
    ):
        output = await use(search_files, context, pattern=pattern)
        assert output.payload["metadata"]["engine"] == engine
        assert output.payload["metadata"]["engine_reason"] == why


# --- the tool


async def test_the_answer_is_a_line_for_each_match(project: Path) -> None:
    output = await use(search_files, make_context(project), regex="alpha", include="*.py")
    assert output.for_model == "[2 matches in 2 files]\nb.py:2:     return alpha(y)\nsrc/a.py:4: def alpha(x):"
    assert output.payload == {
        "matches": [
            {"file": "b.py", "line": 2, "text": "    return alpha(y)"},
            {"file": "src/a.py", "line": 4, "text": "def alpha(x):"},
        ],
        "files_searched": 2,
        "files_skipped": 0,
        "truncated": False,
        "metadata": {"engine": "ripgrep", "engine_reason": "", "skipped": {}, "timed_out": False},
    }
    assert str(output.summary) == "2 matches for alpha"


async def test_matching_lines_too_long_for_ripgreps_output_are_found_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("localllm.tools.search_backends._MOST_OUTPUT", 30_000)
    for number in range(40):
        put(tmp_path / f"f{number:02}", "\x01" * 1_000 + f"needle {number}\nplain\nneedle again\n")
    outcome = await both(tmp_path, Request(Query("needle"), max_results=500))
    assert [(hit.path, hit.line) for hit in outcome.hits] == [(f"f{n:02}", line) for n in range(40) for line in (1, 3)]


async def test_no_more_results_are_held_than_an_answer_could_need(tmp_path: Path) -> None:
    put(tmp_path / "log", "needle\n" * 1_500)
    found = await use(search_files, make_context(tmp_path), pattern="needle", max_results=10**9)
    assert found.for_model.startswith("[more than 1000 matches in 1 file")


async def test_nothing_found_says_how_much_was_searched(project: Path) -> None:
    output = await use(search_files, make_context(project), pattern=r"gamma\|delta")
    assert "in 6 files" in output.for_model
    assert "alternatives are written a|b" in output.for_model


async def test_more_than_is_wanted_or_fits_is_said(project: Path) -> None:
    few = await use(search_files, make_context(project), pattern="def", max_results=1)
    assert few.for_model.startswith("[more than 1 match in 1 file; 1 shown: narrow ")
    short = await use(search_files, make_context(project, output_limit=50), pattern="def")
    assert short.payload["truncated"]
    assert len(short.payload["matches"]) == 2


async def test_text_that_is_no_regular_expression_is_searched_as_it_is(project: Path) -> None:
    output = await use(search_files, make_context(project), pattern="alpha(")
    assert [match["file"] for match in output.payload["matches"]] == ["b.py", "src/a.py"]
    assert output.for_model.splitlines()[-1].endswith("searched as plain text]")


@pytest.mark.parametrize("pattern", ["", r"(\w+", "a\nb", r"a\nb", "[a-z", "(a|b", "(" * 4_000, r"\w{99999999999999}"])
async def test_a_broken_regular_expression_is_refused(project: Path, pattern: str) -> None:
    if pattern in ("[a-z", "(" * 4_000):
        output = await use(search_files, make_context(project), pattern=pattern)
        assert "searched as plain text" in output.for_model
        return
    with pytest.raises(ToolExecutionError) as caught:
        await use(search_files, make_context(project), pattern=pattern)
    assert caught.value.key == "search_bad_pattern"


async def test_where_it_cannot_search_it_says_so(project: Path) -> None:
    with pytest.raises(ToolExecutionError) as caught:
        await use(search_files, make_context(project), pattern="x", path="sr")
    assert caught.value.key == "file_missing"
    with pytest.raises(SafetyViolationError):
        await use(search_files, make_context(project), pattern="root", path="/etc")


@pytest.mark.parametrize(
    ("pattern", "code", "lines"),
    [
        ("retry|backoff*", {"words": True}, [1, 2, 3, 4]),
        ("retry|backoff*", {"words": True, "defines": "like"}, [1]),
        ("with_retry", {"defines": "exactly"}, [1]),
        ("retry", {"beside": ["call"]}, [1, 2]),
        ("retry", {"beside": ["call"], "least": 3}, [1, 2]),
        ("retry(", {"beside": ["policy"]}, [2]),
    ],
)
async def test_lines_of_code_are_asked_for_in_a_few_words(
    tmp_path: Path, pattern: str, code: dict[str, object], lines: list[int]
) -> None:
    put(tmp_path / "p" / "a.py", "def with_retry(call):\n    retry(call, policy)\n# backoffs\nMAX = retry\n")
    put(tmp_path / "p" / "a.md", "retry it\n")
    wanted = msgspec.convert({"files": "source", **code}, WantedLines)
    result = await use(search_files, make_context(tmp_path / "p"), pattern=pattern, code=wanted)
    assert [(match["file"], match["line"]) for match in result.payload["matches"]] == [("a.py", n) for n in lines]
    assert str(result.summary).endswith(f"for {pattern}"), "not the long pattern that is made of it"


class _Running:
    """Stands for the background commands of a session, one of which may be running."""

    def __init__(self) -> None:
        self.is_any_running = True


async def test_what_opens_files_by_name_does_not_search_while_a_command_could_exchange_them(project: Path) -> None:
    running = _Running()
    context = msgspec.structs.replace(make_context(project), background=running)
    outcome = await find(context, Request(Query("def alpha")))
    assert (outcome.engine, [hit.path for hit in outcome.hits]) == ("python", ["src/a.py"])
    running.is_any_running = False
    assert (await find(context, Request(Query("def alpha")))).hits == outcome.hits


async def test_matches_and_files_are_counted(tmp_path: Path) -> None:
    for number in range(25):
        put(tmp_path / f"f{number:02}.py", "get_cfg()\n" * (3 if number < 8 else 2))
    context = make_context(tmp_path)
    every = await use(search_files, context, pattern="get_cfg")
    assert every.for_model.splitlines()[0] == "[58 matches in 25 files]"
    first = await use(search_files, context, pattern="get_cfg", max_results=10)
    assert first.for_model.splitlines()[0].startswith("[more than 10 matches in 4 files; 10 shown: narrow ")
    short = await use(search_files, make_context(tmp_path, output_limit=100), pattern="get_cfg")
    assert short.for_model.splitlines()[0].startswith("[58 matches in 25 files; 5 shown: narrow ")
    assert (await use(search_files, context, pattern="get_cfg", path="f00.py", max_results=3)).for_model.startswith(
        "[3 "
    )
    put(tmp_path / "one.py", "once\n")
    assert (await use(search_files, context, pattern="once")).for_model == "one.py:1: once"


async def test_the_matches_of_one_file_are_counted_and_shown_from_both_ends(tmp_path: Path) -> None:
    log = [f"ERROR {number}" if number % 10 == 5 else f"info {number}" for number in range(1, 5_000)]
    put(tmp_path / "app.log", "\n".join([*log, "ERROR: disk full"]))
    context = make_context(tmp_path, output_limit=400)
    output = await use(search_files, context, pattern="ERROR", path="app.log")
    first, *rows = output.for_model.splitlines()
    shown = len(rows) - 1
    assert first == f"[501 matches in 1 file, lines 5-5000; {shown} shown: narrow the pattern]"
    assert rows[0] == "app.log:5: ERROR 5"
    assert rows[-1] == "app.log:5000: ERROR: disk full"
    assert f"[… {501 - shown} matches …]" in rows[3:-3]
    assert len(output.payload["matches"]) == shown
    assert str(output.summary).startswith("501 matches")
    few = await use(search_files, make_context(tmp_path), pattern="ERROR", path="app.log", max_results=3)
    assert few.for_model.splitlines()[1:] == [
        "app.log:5: ERROR 5",
        "app.log:15: ERROR 15",
        "[… 498 matches …]",
        "app.log:5000: ERROR: disk full",
    ]
    around = await use(search_files, make_context(tmp_path), pattern="ERROR", path="app.log", max_results=2, around=1)
    assert around.for_model.splitlines()[-2:] == ["4999- info 4999", "app.log:5000: ERROR: disk full"]


async def test_a_shim_is_not_run_as_ripgrep(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It runs what `.tool-versions` of the folder names."""
    home = tmp_path_factory.mktemp("home")
    shim = put(home / "shims" / "rg", f"#!/bin/sh\necho >{home}/ran\n")
    shim.chmod(0o755)
    put(tmp_path / "a.txt", "one\n")
    monkeypatch.setenv("PATH", str(shim.parent))
    outcome = await find(make_context(tmp_path), Request(Query("one")))
    assert (outcome.engine, outcome.why) == ("python", f"{shim} is a shim, and not used")
    assert not (home / "ran").exists()


async def test_a_ripgrep_that_lies_in_a_project_is_not_said_to_be_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = put(tmp_path / "bin" / "rg", "#!/bin/sh\n")
    program.chmod(0o755)
    put(tmp_path / "a.txt", "one\n")
    for folders, why in (
        (str(program.parent), f"{program} is in a project, and not used"),
        (str(tmp_path / "none"), "ripgrep is not installed"),
    ):
        monkeypatch.setenv("PATH", folders)
        outcome = await find(make_context(tmp_path), Request(Query("one")))
        assert (outcome.engine, outcome.why) == ("python", why)


@pytest.mark.parametrize("path", [".", "a.txt"])
async def test_fewer_lines_are_shown_around_a_match_where_all_of_them_do_not_fit(tmp_path: Path, path: str) -> None:
    """A model with a small window asks for as many as another."""
    put(tmp_path / "a.txt", "\n".join("x" * 190 if number != 40 else "here" for number in range(1, 80)))
    few = await use(search_files, make_context(tmp_path, output_limit=1_200), pattern="here", path=path, around=20)
    assert [line[:4] for line in few.for_model.splitlines()] == ["38- ", "39- ", "a.tx", "41- ", "42- "]
    none = await use(search_files, make_context(tmp_path, output_limit=200), pattern="here", path=path, around=20)
    assert none.for_model == "a.txt:40: here"


async def test_lines_around_the_matches_are_shown_once_each(tmp_path: Path) -> None:
    put(
        tmp_path / "a.txt",
        "".join(f"{'hit' if number in (3, 5, 12, 40) else 'line'} {number}\n" for number in range(1, 41)),
    )
    put(tmp_path / "b.txt", "hit\nlast")
    for more in ({}, {"output_limit": 5_000}):
        output = await use(search_files, make_context(tmp_path, **more), pattern="hit", before=1, after=2)
        rows = output.for_model.splitlines()
        assert rows == [
            "[5 matches in 2 files]",
            *("2- line 2", "a.txt:3: hit 3", "4- line 4", "a.txt:5: hit 5", "6- line 6", "7- line 7", "--"),
            *("11- line 11", "a.txt:12: hit 12", "13- line 13", "14- line 14", "--", "39- line 39", "a.txt:40: hit 40"),
            *("--", "b.txt:1: hit", "2- last"),
        ]
    few = await use(search_files, make_context(tmp_path, output_limit=60), pattern="hit", around=1)
    assert few.for_model.startswith("[5 matches in 2 files; 2 shown")
    most = await use(search_files, make_context(tmp_path), pattern="hit 40", before=10_000, after=-3)
    assert len(most.for_model.splitlines()) == 21
