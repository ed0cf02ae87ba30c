"""What a command is for, as its words tell it."""

from localllm.agent.checks.command_kinds import (
    changed_after_testing,
    command_kind,
    commits,
    crashed,
    error_line,
    has_committed,
    only_brings_back,
    only_formats,
    outcome,
    ran_after_changing,
    shows_built,
    shows_parsed,
    tool_failed,
)
from tests.support.each import each


@each(
    ("command", "kind"),
    [
        ("cat notes.txt", "reading"),
        ("{ cat notes.txt; } \r\npytest\r\n", "test"),
        ("grep -rn port . 2>/dev/null", "reading"),
        ("ls missing 2>&1", "reading"),
        ("cat a.txt > /dev/null", "reading"),
        ("sed -n 1,9p a.txt", "reading"),
        ("sed s/a/b/ a.txt > b.txt", "files"),
        ("sed -Ei s/a/b/ a.txt", "files"),
        ("sed s/a/b/ --in-place=.bak a.txt", "files"),
        ("git -C lib status", "reading"),
        ('git log --format="%h %s"', "reading"),
        ("git show HEAD:a.txt > a.txt", "files"),
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
        ("ruby -c a.rb || true", "build"),
        ("php -l a.php", "build"),
        ("bash -c ls", "reading"),
        ("ruby a.rb -c", "program"),
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
        ("npx jest", "test"),
        ("npx --yes jest --ci", "test"),
        ("npx -y -p jest@29 -- jest", "test"),
        ("npx --package=vitest vitest@latest run", "test"),
        ("npx --no-install tsc -p .", "build"),
        ("npx -y create-app x", "program"),
        ("npx --yes", "program"),
        ("bunx vitest", "test"),
        ("bunx --bun vitest run", "test"),
        ("bun x vitest", "test"),
        ("pnpm dlx vitest", "test"),
        ("pnpm vitest run", "test"),
        ("pnpm exec -r jest", "test"),
        ("yarn jest", "test"),
        ("yarn dlx -q jest", "test"),
        ("yarn run jest --watch=false", "test"),
        ("yarn workspace app jest", "test"),
        ("yarn add -D jest", "files"),
        ("yarn remove jest", "program"),
        ("npm exec --yes -- jest", "test"),
        ("npm uninstall vitest", "program"),
        ("npm run", "program"),
        ("yarn workspace app", "program"),
        ("deno run -A npm:vitest@3", "test"),
        ("uvx --with x tox", "test"),
        ("pipx run --spec nox nox", "test"),
        ("uv run --group dev pytest", "test"),
        ("cargo nextest run", "test"),
        ("bash -lc 'python -m pytest -q tests'", "test"),
        ("/bin/sh -c pytest", "test"),
        ('bash -lc "cat a.py"', "reading"),
        ("bash -c 'python a.py'", "program"),
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
        ("pytest", 2, "collected 0 items / 1 error\nE   ImportError: x\n=== 1 error in 0.58s ===", False),
        ("pytest -q | tail -3", 0, "!!! Interrupted: 1 error during collection !!!\n1 error in 0.43s", False),
        ("pytest -k cart", 5, "collected 5 items / 5 deselected / 0 selected\n=== 5 deselected in 0.27s ===", None),
        ("pytest | tail", 0, "No module named pytest", None),
        ("pytest", 127, "", None),
        ("./x", 126, "", None),
        (
            "sed -i 's/a;b/c/' x.sh && sh test.sh && lint x.sh",
            127,
            "ok\n/bin/bash: line 1: lint: command not found",
            True,
        ),
        ("lint x.sh && sh test.sh", 127, "/bin/bash: line 1: lint: command not found", None),
        ("sh test.sh && lint x.sh", 127, "x.sh: line 3: lint: command not found", None),
        ("sh test.sh; lint x.sh", 127, "1 failed\n/bin/bash: line 1: lint: command not found", None),
        ("sh test.sh && a; b && lint x.sh", 127, "/bin/bash: line 1: lint: command not found", None),
        ("sh test.sh && lint x.sh", 127, "/bin/bash: line 1: sh: command not found", None),
        ("sh test.sh && lint x.sh", 126, "/bin/bash: line 1: ./lint: Permission denied", None),
        ("python -m unittest", 0, "Ran 0 tests in 0.1s", None),
        ("pytest", 0, "no tests ran" + "." * 8_000, True),
        ("npx tsc", 1, "npm error code EAI_AGAIN\nnpm error syscall getaddrinfo", None),
        ("npx jest", 1, "npm error could not determine executable to run", None),
        ("npx jest", 1, "npm ERR! canceled due to missing packages and no YES option", None),
        ("npx tsc | head", 0, "This is not the tsc command you are looking for", None),
        ("npm test", 1, "Tests: 1 failed\nnpm ERR! code ELIFECYCLE", False),
        ("npm test | tail", 0, "> jest\n\nsh: 1: jest: not found", None),
        ("pnpm exec jest", 1, 'ERR_PNPM_RECURSIVE_EXEC_FIRST_FAIL  Command "jest" not found', None),
        (
            "make test",
            2,
            "pytest -q\nmake: pytest: No such file or directory\nmake: *** [Makefile:2: test] Error 127",
            None,
        ),
        ("make test", 2, "sh: pytest: gone\nmake[1]: *** [Makefile:2: test] Error 127", None),
        ("make test", 2, "make: *** No rule to make target 'test'.  Stop.", None),
        ("make test", 2, "make: *** No rule to make target 'a.c', needed by 'test'.  Stop.", False),
        ("make test", 2, "make: *** [Makefile:2: test] Error 1", False),
        ("uv run pytest", 2, "error: Failed to spawn: `pytest`\n  Caused by: No such file or directory", None),
        ("python -m mypy .", 1, "/usr/bin/python3.11: No module named mypy", None),
        ("python test_a.py", 2, "python: can't open file '/p/test_a.py': [Errno 2] No such file or directory", None),
        ("python test_a.py", 1, "ModuleNotFoundError: No module named 'shop'", False),
        ("pytest tests/x.py", 4, "ERROR: file or directory not found: tests/x.py\n\nno tests collected", None),
        ("cargo test", 101, "error: failed to download from `https://index.crates.io/config.json`", None),
        ("mvn test", 1, "[Help 1] http://cwiki.apache.org/confluence/display/MAVEN/PluginResolutionException", None),
        ("go test ./...", 1, 'go: example.org/x@v1: Get "https://proxy.golang.org/x": dial tcp: lookup failed', None),
        ("go test ./...", 0, "?   \tx/cmd\t[no test files]\nok  \tx/lib\t0.01s", True),
        ("go test ./...", 1, "?   \tx/cmd\t[no test files]\n--- FAIL: TestA\nFAIL\tx/lib\t0.01s", False),
        ("pytest", 1, "E  sh: 1: convert: not found\n=== 1 failed in 0.1s ===", False),
        ("phpunit", 1, "sh: 1: stty: not found\nFAILURES!\nTests: 3, Assertions: 3, Failures: 1.", False),
        ("rspec", 1, "sh: 1: git: not found\n3 examples, 1 failure", False),
        ("dotnet test", 1, "sh: 1: git: not found\nFailed!  - Failed:     1, Passed:     2", False),
        ("make", 2, "/bin/sh: 1: git: not found\nmain.c:3:1: error: expected ';'\nmake: *** [a.o] Error 1", False),
        ("make", 2, "/bin/sh: 1: git: not found\n" + "cc -c a.c\n" * 12 + "make: *** [a.o] Error 1", False),
        ("make", 0, "/bin/sh: 1: git: not found\ncc -c a.c", True),
        ("npm run build", 0, "Error: Failed to fetch config, using the default\nbuilt", True),
        ("cargo test x", 0, "running 0 tests\n\ntest result: ok. 0 passed; 0 failed; 0 ignored; 2 filtered out", None),
        (
            "cargo test",
            0,
            "test result: ok. 0 passed; 0 failed; \ntest result: ok. 1 passed; 0 failed;",
            True,
        ),
        ("cargo test", 101, "test result: FAILED. 1 passed; 1 failed; 0 ignored; 0 filtered out", False),
        ("go test -run X", 0, "testing: warning: no tests to run\nPASS\nok  \tx\t0.01s [no tests to run]", None),
        ("go test ./...", 0, "ok  \tx/a\t0.01s [no tests to run]\nok  \tx/b\t0.02s", True),
        ("npx jest -t x", 0, "Test Suites: 1 skipped, 0 of 1 total\nTests:       3 skipped, 3 total", None),
        ("npx jest", 0, "Test Suites: 1 passed, 1 total\nTests:       1 skipped, 2 passed, 3 total", True),
        ("npx vitest run -t x", 0, " Test Files  1 skipped (1)\n      Tests  3 skipped (3)", None),
        ("npx vitest run", 0, " Test Files  1 passed (1)\n      Tests  3 passed (3)", True),
        # every test was skipped, pending or filtered out
        ("pytest -q", 0, "sss\n3 skipped in 0.01s", None),
        ("pytest", 0, "==== 3 skipped, 2 deselected, 1 warning in 0.05s ====", None),
        ("pytest", 0, "==== 1 skipped, 1 xfailed in 0.05s ====", True),
        ("pytest", 0, "==== 2 passed, 3 skipped in 0.05s ====", True),
        ("python -m unittest", 0, "sss\n-----\nRan 3 tests in 0.000s\n\nOK (skipped=3)", None),
        ("python -m unittest", 0, "s..\n-----\nRan 3 tests in 0.000s\n\nOK (skipped=1)", True),
        ("python -m unittest", 0, ".\n-----\nRan 1 test in 0.000s\n\nOK", True),
        ("npx mocha -g x", 0, "\n\n  0 passing (1ms)\n  3 pending\n", None),
        ("npx mocha", 0, "  2 passing (4ms)\n  1 pending", True),
        ("rspec", 0, "Finished in 0.001 seconds\n3 examples, 0 failures, 3 pending\n", None),
        ("rspec", 0, "3 examples, 0 failures, 1 pending\n", True),
        ("rspec", 0, "13 examples, 0 failures, 3 pending\n", True),
        ("rspec", 1, "3 examples, 0 failures, 3 pending, 1 error occurred outside of examples", False),
        ("rspec -e x", 0, "Run options: x\n\nAll examples were filtered out\n\n0 examples, 0 failures\n", None),
        (
            "vendor/bin/phpunit",
            0,
            "OK, but some tests were skipped!\nTests: 3, Assertions: 0, Skipped: 3.\n",
            None,
        ),
        ("vendor/bin/phpunit", 0, "Tests: 3, Assertions: 0, PHPUnit Warnings: 1, Incomplete: 3.", None),
        ("vendor/bin/phpunit", 0, "Tests: 3, Assertions: 4, Skipped: 1.", True),
        ("vendor/bin/phpunit", 0, "Tests: 13, Assertions: 4, Skipped: 3.", True),
        ("vendor/bin/phpunit --filter x", 0, "No tests executed!", None),
        (
            "dotnet test",
            0,
            "Skipped! - Failed:     0, Passed:     0, Skipped:     3, Total:     3, Duration: 2 ms - a.dll (net8.0)",
            None,
        ),
        ("dotnet test", 0, "Passed!  - Failed:     0, Passed:     2, Skipped:     1, Total:     3 - a.dll", True),
        ("dotnet test", 0, "Skipped! - Failed:     0, Passed:     0\nPassed!  - Failed:     0, Passed:     2", True),
        ("dotnet test --filter x", 0, "No test matches the given testcase filter `x` in /a/bin/a.dll", None),
        (
            "dotnet test --filter x",
            0,
            "No test matches the given testcase filter `x` in /a/a.dll\nPassed!  - Failed:     0, Passed:     2",
            True,
        ),
        ("dotnet test", 8, "Test run summary: Zero tests ran\n  total: 0", None),
        (
            "go test -v ./...",
            0,
            "=== RUN   TestA\n    a_test.go:5: x\n--- SKIP: TestA (0.00s)\nPASS\nok  \tx\t0.01s",
            None,
        ),
        ("go test -v ./...", 0, "--- SKIP: TestA (0.00s)\n--- PASS: TestB (0.00s)\nPASS\nok  \tx\t0.01s", True),
        ("gradle test", 0, "> Task :compileTestJava NO-SOURCE\n> Task :test NO-SOURCE\n\nBUILD SUCCESSFUL in 1s", None),
        ("./gradlew test", 0, "> Task :a:test\n> Task :b:test NO-SOURCE\n\nBUILD SUCCESSFUL in 1s", True),
        ("./gradlew build", 0, "> Task :test NO-SOURCE\n> Task :build\n\nBUILD SUCCESSFUL in 1s", True),
        (
            "gradle test --tests X",
            1,
            "> Task :test FAILED\n\n* What went wrong:\nExecution failed for task ':test'.\n"
            "> No tests found for given includes: [X](--tests filter)\n\nBUILD FAILED in 1s",
            None,
        ),
        ("go test -v ./...", 1, "--- SKIP: TestA (0.00s)\nPASS\nok  \tx\t0.01s\nFAIL\ty [build failed]", False),
        ("cargo test", 101, "test result: ok. 0 passed; 0 failed; 2 ignored\nerror[E0425]: cannot find x", False),
        ("mvn test", 1, "[WARNING] Tests run: 3, Failures: 0, Errors: 0, Skipped: 3\n[ERROR] Failed to execute", False),
        ("node --test", 0, "ok 1 - a # SKIP\n1..1\n# tests 1\n# suites 0\n# pass 0\n# fail 0\n# skipped 1", None),
        ("node --test", 0, "ℹ tests 2\nℹ suites 0\nℹ pass 0\nℹ fail 0\nℹ skipped 2", None),
        ("node --test", 0, "ok 1 - a # SKIP\nok 2 - b\n# tests 2\n# suites 0\n# pass 1\n# fail 0", True),
        ("node --test", 1, "ℹ tests 2\nℹ suites 0\nℹ pass 0\nℹ fail 2", False),
        ("deno test", 0, "ok | 0 passed | 0 failed | 3 ignored (4ms)", None),
        ("deno test", 0, "ok | 1 passed | 0 failed | 3 ignored (4ms)", True),
        ("swift test", 0, "Executed 2 tests, with 2 tests skipped and 0 failures (0 unexpected) in 0.1 seconds", None),
        ("swift test", 0, "Executed 2 tests, with 1 test skipped and 0 failures (0 unexpected) in 0.1 seconds", True),
        ("mvn test", 0, "[INFO] No tests to run.\n[INFO] BUILD SUCCESS", None),
        ("mvn test", 0, "[WARNING] Tests run: 3, Failures: 0, Errors: 0, Skipped: 3\n[INFO] BUILD SUCCESS", None),
        ("mvn test", 0, "[INFO] Tests run: 3, Failures: 0, Errors: 0, Skipped: 1\n[INFO] BUILD SUCCESS", True),
        ("mvn test", 0, "[INFO] No tests to run.\n[INFO] Tests run: 3, Failures: 0, Errors: 0, Skipped: 0", True),
    ],
)
def test_whether_a_test_went_well(command: str, code: int, output: str, went_well: bool | None) -> None:
    assert outcome(command, code, output) is went_well


@each(
    ("command", "changed", "succeeded", "is_after"),
    [
        ("sed -i s/a/b/ x.py && python x.py", ["x.py"], True, True),
        ("grep -rl X httpx | xargs sed -i 's/X/Y/g' && python -c 'import httpx; print(1)'", ["httpx/a.py"], True, True),
        ("for f in *.py; do sed -i s/a/b/ $f; done && python x.py", ["x.py"], True, True),
        ("find . -name '*.py' -exec sed -i s/a/b/ {} \\; && python x.py", ["x.py"], True, True),
        ("cat > x.py <<'EOF'\nprint(1)\nEOF\npython x.py", ["x.py"], False, True),
        ("sed -i s/a/b/ x.py; python x.py", ["x.py"], False, True),
        ("cp y.py x.py &&\n  python app.py --all | head -5 && echo OK && git diff", ["x.py"], True, True),
        ("sed -i s/a/b/ x.py && python app.py > out.txt 2>&1", ["x.py"], True, True),
        ("sed -i s/a/b/ x.py && python app.py 2>>/dev/null && git add x.py && git commit -m x", ["x.py"], True, True),
        ("git checkout -q topic -- x.py && ./run x.py", ["x.py"], True, True),
        # it failed, and so was perhaps not run
        ("sed -i s/a/b/ x.py && python x.py", ["x.py"], False, False),
        ("set -e; sed -i s/a/b/ x.py; python x.py", ["x.py"], False, False),
        # before, beside or instead of the change
        ("python x.py && sed -i s/a/b/ x.py", ["x.py"], True, False),
        ("python app.py && sed -i 's/a/b; c && d/' x.py", ["x.py"], True, False),
        ("sed -i s/a/b/ x.py & python x.py", ["x.py"], True, False),
        ("sed -i s/a/b/ x.py || python x.py", ["x.py"], True, False),
        ("sed -i s/a/b/ x.py && python x.py || true", ["x.py"], True, False),
        ("sed -i s/a/b/ x.py && if [ -f y ]; then python x.py; fi", ["x.py"], True, False),
        ("sed -i s/a/b/ x.py && python x.py && sed -i s/b/c/ x.py", ["x.py"], True, False),
        # the program itself may have made the change
        ("python fix.py", ["x.py"], True, False),
        ("cd tool && python fix.py", ["x.py"], True, False),
        ("sed -i s/a/b/ y.py && python fix.py", ["x.py"], True, False),
        ("sed -i s/a/b/ y.py && python fix.py", ["x.py", "y.py"], True, False),
        ("sed -i s/a/b/ x.py && python gen.py > x.py", ["x.py"], True, False),
        ("echo $(sed -i s/a/b/ x.py) && python x.py", ["x.py"], True, False),
        # it was not run, only looked at
        ("sed -i s/a/b/ x.py && cat x.py", ["x.py"], True, False),
        ("sed -i s/a/b/ x.py && git diff", ["x.py"], True, False),
    ],
)
def test_whether_a_program_was_run_after_the_change(
    command: str, changed: list[str], succeeded: bool, is_after: bool
) -> None:
    assert ran_after_changing(command, changed, succeeded=succeeded) == is_after


@each(
    ("command", "is_after"),
    [
        ("pytest -q; sed -i s/a/b/ x.py", True),
        ("pytest -q && cp y.py x.py && git add x.py", True),
        ("sed -i s/a/b/ x.py && pytest -q", False),
        ("pytest -q; sed -i s/a/b/ x.py; pytest -q", False),
        ("pytest -q; sed -i s/a/b/ notes.md", False),
        ("pytest -q; git add x.py; git commit -m x", False),
        ("pytest -q 2>&1 | tail -3", False),
    ],
)
def test_whether_a_file_was_changed_after_the_test(command: str, is_after: bool) -> None:
    assert changed_after_testing(command, ["x.py"]) == is_after


@each(
    ("command", "is_back"),
    [
        ("git bisect reset", True),
        ("git -C . -c a.b=c checkout -q topic && ls", True),
        ("git status; git switch -", True),
        ("git checkout topic && git merge main", False),
        ("git checkout -b new && sed -i s/a/b/ x.py && git commit -am x", False),
        ("git commit -am x", False),
        ("git status", False),
        ("sed -i s/a/b/ x.py", False),
        ("echo 'git checkout'", False),
    ],
)
def test_whether_git_only_restores(command: str, is_back: bool) -> None:
    assert only_brings_back(command) == is_back


@each(
    ("command", "is_layout"),
    [
        ("ruff format .", True),
        ("cd app && npx prettier --write src && git diff --stat", True),
        ("python3 -m black . | tail -1", True),
        ("cargo fmt", True),
        ("ruff check --fix .", False),
        ("sed -i s/a/b/ x.py && ruff format .", False),
        ("ruff format . && pytest", False),
        ("echo 'ruff format'", False),
        ("black . > /dev/null 2>&1", True),
        ("echo 'x = 1' > a.py && black a.py", False),
        ("cat > a.py <<'E'\nx = 1\nE\nblack a.py", False),
        ("git diff", False),
    ],
)
def test_whether_code_is_only_laid_out_anew(command: str, is_layout: bool) -> None:
    assert only_formats(command) == is_layout


TRACEBACK = 'Traceback (most recent call last):\n  File "a.py", line 1, in <module>\nValueError: bad'


@each(
    ("command", "code", "output", "has_crashed"),
    [
        ("python a.py", 1, TRACEBACK, True),
        ("python a.py", 0, TRACEBACK, False),
        ("python a.py | tail", 0, TRACEBACK, True),
        ("python a.py", 1, "usage: a.py [-h]", False),
        ("python a.py", 130, f"{TRACEBACK}\nKeyboardInterrupt", False),
        ("timeout 5 ./serve", 124, "", False),
        ("./a", -11, "", True),
        ("./a", 139, "Segmentation fault (core dumped)", True),
        ("go run .", 1, "./main.go:3:5: undefined: x", True),
        ("go run .", 2, "panic: runtime error: index out of range", True),
        ("node a.js", 1, "a.js:1\nTypeError: x is not a function\n    at a.js:1:1", True),
        ("cargo run", 101, "thread 'main' panicked at src/main.rs:2:5:", True),
        ("python cli.py check", 1, "2 problems found", False),
        ("./backup.sh /tmp/s; ls /tmp/d", 0, "a\n./backup.sh: 2: set: Illegal option -o pipefail", True),
        ("sh bin/run.sh | tail", 0, "bin/run.sh: 3: Bad substitution", True),
        ("./a.sh; echo $?", 0, "./a.sh: line 3: foo: command not found\n0", True),
        ("./a.sh; echo $?", 0, "./a.sh: line 5: zz: unbound variable\n1", True),
        ("bash 整理.sh; ls", 0, "整理.sh: line 9: syntax error: unexpected end of file", True),
        ("./a.sh; ls", 0, './a.sh: 3: Syntax error: end of file unexpected (expecting "fi")', True),
        ("./整理.sh; ls", 0, "./整理.sh: 3 行: zz: 未割り当ての変数です", True),
        ("./a.sh; ls", 0, "./a.sh: 3 行: foo: コマンドが見つかりません", True),
        ("./a.sh", 0, "./a.sh: line 3: foo: command not found", False),
        ("foo; ./a.sh", 0, "sh: 1: foo: not found\ndone", False),
        ("foo; ./a.sh", 0, "/bin/bash: line 1: foo: command not found\ndone", False),
        ("./a.sh; ls", 0, "log: 3: user not yet here\nsaved: 12: files", False),
    ],
)
def test_a_program_that_ended_by_an_error(command: str, code: int, output: str, has_crashed: bool) -> None:
    assert crashed(command, code, output) == has_crashed


def test_the_error_of_an_output_is_its_last() -> None:
    assert error_line(f"KeyError: 1\n\nDuring …:\n{TRACEBACK}\n") == "ValueError: bad"
    assert error_line("2 problems found") == ""
    assert error_line("./a.sh: line 3: x: unbound variable\nb") == "./a.sh: line 3: x: unbound variable"


@each(
    ("command", "is_commit"),
    [
        ("git commit -m x", True),
        ("git -C sub -c user.name=A commit -qam x", True),
        ("git add -A && git commit -m x", True),
        ("git rebase --continue", True),
        ("git rebase --abort", False),
        ("git log --grep commit", False),
        ("git status; echo commit", False),
        ("git merge-base a b", False),
        ("pre-commit run", False),
    ],
)
def test_what_asks_git_for_a_commit(command: str, is_commit: bool) -> None:
    assert commits(command) == is_commit


@each(
    ("code", "output", "is_made"),
    [
        (0, "[main 1a2b3c4] Fix add\n 1 file changed", True),
        (1, "[main (root-commit) 1a2b3c4] Fix add\n1 failed", True),
        (0, "", True),
        (1, "no changes added to commit", False),
        (0, "Aborting commit due to empty commit message.", False),
        (0, "On branch main\nnothing to commit, working tree clean", False),
        (128, "fatal: not a git repository", False),
    ],
)
def test_whether_git_has_committed(code: int, output: str, is_made: bool) -> None:
    assert has_committed(code, output) == is_made


@each(
    ("command", "code", "has_failed"),
    [
        ("sqlite3 app.db < m.sql", 1, True),
        ("cd db && psql -f m.sql", 3, True),
        ("PGPASSWORD=x psql -f m.sql", 3, True),
        ("docker compose up -d", 1, True),
        ("curl -f http://localhost:8000/", 7, True),
        ("sqlite3 app.db < m.sql", 0, False),
        ("[[ -f app.db ]] && ls", 1, False),
        ("command -v sqlite3", 1, False),
        ("nc -z localhost 8080", 1, False),
        ("codespell docs; actionlint", 1, False),
        ("sqlite3 app.db < m.sql", 127, False),
        ("curl http://localhost:8000/", 130, False),
        ("./app --bad", 2, False),
        ("python3 app.py --bad", 2, False),
        ("npm run start", 1, False),
        ("node src/cli.js", 2, False),
        ("grep -q x a.txt", 1, False),
        ("ruff check .", 1, False),
        ("mkdir a", 1, False),
        ("pkill -f app", 1, False),
        ("python3 app.py; sqlite3 app.db .schema", 1, False),
    ],
)
def test_whether_a_tool_that_is_none_of_the_project_has_failed(command: str, code: int, has_failed: bool) -> None:
    assert tool_failed(command, code) == has_failed


@each(
    ("passed", "failed", "shows"),
    [
        ("make", "make", True),
        ("make -j 4", "make -j4 all", True),
        ("make report && cat report.txt", "make report", True),
        ("make", "make report", True),
        ("make clean", "make", False),
        ("make clean && make", "make", True),
        ("make report", "make docs", False),
        ("make", "gcc a.c", True),
        ("gcc a.c b.c", "gcc a.c -o a", True),
        ("gcc b.c", "gcc a.c", False),
        ("gcc *.c", "gcc a.c", True),
        ("make > make.log 2>&1", "make 2>&1 | tail", True),
        ("gcc a.c", "make", False),
        ("javac $(find src -name '*.java') && java A", "javac src/**/*.java", True),
        ("npm run build", "npx tsc --noEmit", True),
        ("npx tsc", "npm run build", False),
        ("npm run build", "npm run typecheck", False),
        ("cargo build", "cargo clippy", False),
        ("cd web && npm run build", "npm run -s build | tail", True),
        ("node --check a.js", "npm run build", False),
        ("node --check b.js", "node --check a.js", False),
        ("node --check a.js", "node --check a.js", True),
        ("python -m mypy x", "python -m py_compile a.py", False),
        ("python3 -m mypy .", "python -m mypy .", True),
        ("./gradlew build", "./gradlew build --info", True),
        ("gcc -o m m.c && ./m", "make m", True),
        ("gcc -c m.c", "make m.o", True),
        ("gcc -o n n.c", "make m", False),
        ("gcc -o m m.c", "make", False),
    ],
)
def test_which_build_shows_that_another_would_pass(passed: str, failed: str, shows: bool) -> None:
    assert shows_built(passed, failed) is shows


@each(
    ("passed", "failed", "shows"),
    [
        ("bash s.sh", "bash -n s.sh", True),
        ("./s.sh", "bash -n s.sh", True),
        ("python3 bad.py", "python3 -m py_compile bad.py", True),
        ('python3 -c "import bad; print(1)"', "python3 -m py_compile bad.py", True),
        ("node src/a.js", "node --check src/a.js", True),
        ("bash other.sh", "bash -n s.sh", False),
        ("bash s.sh || true", "bash -n s.sh", False),
        ("cat s.sh", "bash -n s.sh", False),
        ("echo s.sh", "bash -n s.sh", False),
        ("python3 a.py", "python3 -m mypy a.py", False),
        ("./m", "gcc -o m m.c", False),
    ],
)
def test_what_shows_that_a_script_can_be_parsed(passed: str, failed: str, shows: bool) -> None:
    assert shows_parsed(passed, failed) is shows
