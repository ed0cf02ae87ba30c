"""Which tests a command leaves out, as its words tell it."""

from pathlib import Path

from localllm.agent.checks.selected_tests import files_with_tests
from localllm.agent.checks.test_options import leaves_out
from localllm.base.directory_walk import ProjectListing
from tests.support.each import each


@each(
    ("command", "is_left_out"),
    [
        ("pytest", False),
        ("pytest -q tests -k greet", True),
        ("pytest -q tests -k add", False),
        ("pytest -k 'greet or add'", False),
        ("pytest -k 'not add'", True),
        ("pytest -k 'not greet'", False),
        ("pytest -k='test_app and greet'", True),
        ("pytest tests/test_app.py", False),
        ("pytest tests/test_app.py::test_greet", True),
        ("pytest tests/test_app.py::test_add", False),
        ("pytest 'tests/test_app.py::test_add[1-2]'", False),
        ("pytest tests/test_app.py::TestApp", False),
        ("pytest tests/test_app.py::test_greet tests/test_other.py", False),
        ("pytest --deselect tests/test_app.py::test_add", True),
        ("pytest --deselect=tests/test_app.py::test_greet", False),
        ("python -m pytest -k greet && python -m pytest", False),
        ("cd app && python -m unittest -k greet", True),
        ("make test", False),
        ("make test && pytest -k greet", False),
        ("pytest -k 'greet|add'", False),
        ("pytest -q 2>&1 | tail -5", False),
        ("pytest -k greet 2>&1 | tail -5", True),
        ("npm test -- -k greet", False),
        ("pytest -k 'gr", False),
    ],
)
def test_whether_a_test_is_left_out(command: str, is_left_out: bool) -> None:
    assert leaves_out(command, "test_add") == is_left_out


def test_the_name_of_a_file_selects_its_tests(tmp_path: Path) -> None:
    (tmp_path / "test_greeting.py").touch()
    (tmp_path / "greet.py").touch()
    assert files_with_tests(ProjectListing(tmp_path)) == ["test_greeting"]
    assert not leaves_out("pytest -k greet", "test_add", ["test_greeting"])
    assert leaves_out("pytest -k greet", "test_add", ["test_app"])


@each(
    ("command", "is_left_out"),
    [
        ("pytest tests/test_other.py", True),
        ("pytest -q tests/test_other.py tests/test_app.py", False),
        ("pytest tests", False),
        ("pytest --ignore=tests/test_app.py", True),
        ("pytest --ignore tests/test_other.py", False),
        ("cd app && pytest tests/test_other.py", False),
    ],
)
def test_whether_pytest_leaves_out_a_file(command: str, is_left_out: bool) -> None:
    assert leaves_out(command, "test_add", place="tests/test_app.py") == is_left_out


@each(
    ("command", "test", "place", "is_left_out"),
    [
        ("cargo test", "tests::adds", "src/lib.rs", False),
        ("cargo test adds", "tests::adds", "src/lib.rs", False),
        ("cargo test greets", "tests::adds", "src/lib.rs", True),
        ("cargo test tests::", "tests::adds", "src/lib.rs", False),
        ("cargo +nightly t --release -p app greets", "tests::adds", "src/lib.rs", True),
        ("cargo test --release -p app", "tests::adds", "src/lib.rs", False),
        ("cargo test --features greets", "tests::adds", "src/lib.rs", False),
        ("cargo test -- greets adds", "tests::adds", "src/lib.rs", False),
        ("cargo test -- --skip adds", "tests::adds", "src/lib.rs", True),
        ("cargo test -- --skip=tests::adds --nocapture", "tests::adds", "src/lib.rs", True),
        ("cargo test -- --skip greets", "tests::adds", "src/lib.rs", False),
        ("cargo test -- --test-threads 1", "tests::adds", "src/lib.rs", False),
        ("cargo test adds -- --exact", "tests::adds", "src/lib.rs", True),
        ("cargo test tests::adds -- --exact", "tests::adds", "src/lib.rs", False),
        ("cargo test --lib", "tests::adds", "src/lib.rs", False),
        ("cargo test --lib", "whole", "tests/it.rs", True),
        ("cargo test --lib --test it", "whole", "tests/it.rs", False),
        ("cargo test --test other", "whole", "tests/it.rs", True),
        ("cargo test --test 'i*'", "whole", "tests/it.rs", False),
        ("cargo test --test it", "tests::adds", "src/lib.rs", True),
        ("cargo test --tests", "whole", "tests/it.rs", False),
        ("cargo test --all-targets", "whole", "tests/it.rs", False),
        ("cargo test --doc", "tests::adds", "src/lib.rs", True),
        ("cargo test --lib", "whole", "", False),
        ("cargo test --lib && cargo test", "whole", "tests/it.rs", False),
        ("cargo test greet", "test_add", "src/greet.rs", False),
        ("cargo test test_greet", "test_add", "", True),
        ("cargo test greet", "test_add", "", False),
        ("cargo nextest run greets", "tests::adds", "src/lib.rs", True),
        ("cargo nextest run -E 'test(greets)'", "tests::adds", "src/lib.rs", False),
        ("cargo build --lib", "whole", "tests/it.rs", False),
    ],
)
def test_whether_cargo_leaves_one_out(command: str, test: str, place: str, is_left_out: bool) -> None:
    assert leaves_out(command, test, place=place) == is_left_out


@each(
    ("command", "test", "place", "is_left_out"),
    [
        ("go test ./...", "TestAdd", "calc/add_test.go", False),
        ("go test -run TestGreet ./...", "TestAdd", "", True),
        ("go test -run 'TestGreet|TestAdd' ./...", "TestAdd", "", False),
        ("go test -run=Test ./...", "TestAdd", "", False),
        ("go test -v -run '^TestAdd$' ./...", "TestAddAll", "", True),
        ("go test -run '^TestAdd$/zero' ./...", "TestAdd", "", False),
        ("go test -run 'TestAdd/one' ./...", "TestAdd/zero", "", True),
        ("go test -run 'TestAdd/zero' ./...", "TestAdd/zero", "", False),
        ("go test -test.run TestGreet", "TestAdd", "", True),
        ("go test -run '^$' -bench . ./...", "TestAdd", "", True),
        ("go test -run '(TestGreet)' ./...", "TestAdd", "", False),
        ("go test -skip TestAdd ./...", "TestAdd", "", True),
        ("go test -skip 'TestAdd/zero' ./...", "TestAdd", "", False),
        ("go test -skip 'TestAdd/zero' ./...", "TestAdd/zero", "", True),
        ("go test -skip TestGreet ./...", "TestAdd", "", False),
        ("go test", "TestAdd", "add_test.go", False),
        ("go test", "TestAdd", "calc/add_test.go", True),
        ("cd calc && go test", "TestAdd", "calc/add_test.go", False),
        ("go test ./greet", "TestAdd", "calc/add_test.go", True),
        ("go test ./calc", "TestAdd", "calc/add_test.go", False),
        ("go test ./calc/...", "TestAdd", "calc/add_test.go", False),
        ("go test -count 1 ./greet/...", "TestAdd", "calc/add_test.go", True),
        ("go test example.org/app/greet", "TestAdd", "calc/add_test.go", False),
        ("go vet -run TestGreet", "TestAdd", "", False),
    ],
)
def test_whether_go_leaves_one_out(command: str, test: str, place: str, is_left_out: bool) -> None:
    assert leaves_out(command, test, place=place) == is_left_out


@each(
    ("command", "is_left_out"),
    [
        ("npx jest", False),
        ("npx jest -t 'greets'", True),
        ("npx jest -t 'adds numbers'", False),
        ("jest --testNamePattern='math ADDS'", False),
        ("jest --testNamePattern='^adds'", True),
        ("jest -t '(greets)'", False),
        ("npx vitest run -t greets", True),
        ("npx vitest run --testNamePattern adds", False),
        ("npm test", False),
        ("npm test -- -t greets", True),
        ("npm run test:unit -- -t greets", True),
        ("npm test -- -t 5000", False),
        ("yarn test -t greets", True),
        ("pnpm test -- -t adds", False),
        ("bun test --test-name-pattern greets", True),
        ("npx jest src/greet.test.ts", True),
        ("npx jest math greet", False),
        ("npx vitest run src/greet", True),
        ("npx jest --config jest.ci.js", False),
        ("npx jest --ci src/greet.test.ts", True),
        ("npx jest --testPathIgnorePatterns greet math", True),
        ("npx jest --testPathIgnorePatterns='/src/math'", True),
        ("npx jest --testPathIgnorePatterns '<rootDir>/src/math' --ci", True),
        ("npx jest --testPathIgnorePatterns greet", False),
        ("npx jest --testPathPattern greet", True),
        ("npx vitest run --exclude '**/math.test.ts'", True),
        ("npx vitest run --exclude '**/greet.test.ts'", False),
        ("npx jest -t greets && npx jest", False),
    ],
)
def test_whether_jest_or_vitest_leaves_one_out(command: str, is_left_out: bool) -> None:
    assert leaves_out(command, "math > adds numbers", place="src/math.test.ts") == is_left_out


def test_a_test_of_another_language_is_not_called_left_out() -> None:
    assert not leaves_out("npx jest -t greets", "test_add")
    assert not leaves_out("go test -run TestGreet", "test_add")
    assert not leaves_out("pytest -k greet", "TestAdd")
    assert not leaves_out("cargo test greets", "math > adds numbers")
