"""What a command is for, as its words tell it."""

from localllm.agent.command_kinds import command_kind, outcome
from tests.support.each import each


@each(
    ("command", "kind"),
    [
        ("cat notes.txt", "reading"),
        ("grep -rn port . 2>/dev/null", "reading"),
        ("ls missing 2>&1", "reading"),
        ("cat a.txt > /dev/null", "reading"),
        ("sort names.txt > sorted.txt", "files"),
        ("echo done >> log.txt", "files"),
        ("cp a.txt b.txt", "files"),
        ("ls src 2>/dev/null && cp a.txt b.txt", "files"),
        ("python -m pytest 2>&1 | tail", "test"),
        ("./server --port 80 2>/dev/null", "program"),
        ("gcc -o a a.c 2>&1 | head", "build"),
        ("python3.12 -m unittest x", "test"),
        ("python -m mypy x", "build"),
        ("python -m pip install x", "files"),
        ("python -m x", "program"),
        ("python -m", "program"),
        ("python tests/test_a.py", "test"),
        ("/usr/bin/python a.py", "program"),
        ("node --test", "test"),
        ("node --check a.js", "build"),
        ("bash -n a.sh", "build"),
        ("bash run_tests.sh -n", "test"),
        ("bash", "program"),
        ("./run_tests.sh", "test"),
        ("npm install", "files"),
        ("npm ci", "files"),
        ("npm run test:unit", "test"),
        ("npm run -s build", "build"),
        ("npm start", "program"),
        ("make CC=x check", "test"),
        ("make", "build"),
        ("make -j4 all", "build"),
        ("go vet ./...", "build"),
        ("cargo fmt", "program"),
        ("A=1 timeout 5 uv run pytest", "test"),
        ("(cd x && env B=2 tox)", "test"),
        ("if true; then pytest; fi", "test"),
        ("cat > test_a.py <<EOF\npytest\nEOF", "files"),
        ("cat <<EOF\nmake test\nEOF\ngcc a.c", "build"),
        ("black .", "files"),
        ("mkdir x & pytest", "test"),
        ("", "reading"),
    ],
)
def test_a_command_is_for_what_its_weightiest_part_is_for(command: str, kind: str) -> None:
    assert command_kind(command) == kind


@each(
    ("command", "code", "output", "went_well"),
    [
        ("pytest", 0, "3 passed", True),
        ("pytest", 0, "1 failed", True),
        ("pytest | tail", 0, "1 failed, 2 passed", False),
        ("pytest | tail", 0, "0 failed, 2 passed", True),
        ("pytest; true", 0, "FAILED a.py", False),
        ("pytest || true", 0, "a\n--- FAIL: x", False),
        ("make test &\nwait", 0, "*** [Makefile:3: test] Error 1", False),
        ("go test | tee x", 0, "FAIL\tx", False),
        ("pytest | tail", 0, "FAILED a.py" + "." * 8_000, True),
        ("pytest", 1, "", False),
        ("pytest", 5, "collected 0 items", None),
        ("pytest | tail", 0, "No module named pytest", None),
        ("pytest", 127, "", None),
        ("./x", 126, "", None),
        ("python -m unittest", 0, "Ran 0 tests in 0.1s", None),
        ("pytest", 0, "no tests ran" + "." * 8_000, True),
    ],
)
def test_whether_a_test_went_well(command: str, code: int, output: str, went_well: bool | None) -> None:
    assert outcome(command, code, output) is went_well
