"""Lines that define something."""

import re
from pathlib import Path

import pytest

from localllm.code.definition_patterns import defining, defining_exactly, escape, together
from localllm.lookup.calls import Call, search
from localllm.lookup.definitions import any_of, defined_by, in_words
from localllm.lookup.plans.usage import importing, whole
from localllm.lookup.results import read_hits
from localllm.lookup.terms import terms_of
from localllm.tools.search import _reads_alike  # pyright: ignore[reportPrivateUsage] - what decides if ripgrep is asked
from tests.support.agents import make_tools
from tests.support.each import each

DEFINING = [
    ("class RetryPolicy(Base):", "class", "RetryPolicy"),
    ("    async def retry(self, x):", "function", "retry"),
    ("export default class Retry extends B {", "class", "Retry"),
    ("const retryAll = async (", "function", "retryAll"),
    ("func (s *Server) Retry(l net.Listener) error {", "function", "Retry"),
    ("pub(crate) fn retry_it<T>(a: T) -> X {", "function", "retry_it"),
    ("static int foo_retry(struct x *y)", "function", "foo_retry"),
    ("  public static String retry(int x) throws E {", "function", "retry"),
    ("MAX_RETRIES: Final = 3", "constant", "MAX_RETRIES"),
    ("#define MAX_RETRIES 3", "constant", "MAX_RETRIES"),
    ("class V8_EXPORT RetryStatistics {", "class", "RetryStatistics"),
    ("type RetryConfig struct {", "class", "RetryConfig"),
    ("CREATE TABLE IF NOT EXISTS retries (", "class", "retries"),
    ("  retry: async (a) => {", "function", "retry"),
    ("retry() {", "function", "retry"),
]


@each(("line", "kind", "name"), DEFINING)
def test_what_a_line_defines(line: str, kind: str, name: str) -> None:
    found = defined_by(line)

    assert found is not None
    assert (found.kind, found.name) == (kind, name)


@each(("line", "name"), [(line, name) for line, _, name in DEFINING])
def test_the_lines_that_define_are_searched_for(line: str, name: str) -> None:
    assert re.search(defining(any_of(terms_of("retry")[0])), line)
    assert re.search(defining_exactly(name), line)


@pytest.mark.parametrize(
    "line",
    [
        "    return retry(x)",
        "  class retries of things",
        "if (retry) {",
        "# class Retry:",
        "  function to retry",
        "* fn x",
    ],
)
def test_lines_that_define_nothing(line: str) -> None:
    assert defined_by(line) is None


def test_prose_in_a_python_file_is_no_function_of_another_language() -> None:
    assert defined_by("support anything else than expressions (no matrices", "a.py") is None


def patterns() -> list[str]:
    terms = terms_of("log in again when the session of get_user() expires 再試行")
    return [
        *(defining(any_of(term)) for term in terms if term.alternatives),
        together([any_of(term, literal=True) for term in terms if not term.soft]),
        together([any_of(term, literal=True) for term in terms[:3]], least=3),
        defining_exactly("a.b"),
        importing("a-b.c"),
        whole("a$b"),
        escape("a [b] (c) {d} \\ 'e' \"f\" #1 - ~ & x|y"),
    ]


@each("pattern", patterns())
def test_ripgrep_and_python_read_the_patterns_alike(pattern: str) -> None:
    assert re.compile(pattern)
    assert _reads_alike(pattern)


async def find(root: Path, call: Call) -> list[str]:
    tools = make_tools(root)
    result = await tools.execute_tool(call.name, **__import__("json").loads(call.arguments))
    return [str(match["file"]) for match in result["matches"]]


@pytest.mark.anyio
async def test_the_search_tool_finds_them(tmp_path: Path) -> None:
    root = tmp_path / "p"
    root.mkdir()
    for number, (line, _, _) in enumerate(DEFINING):
        (root / f"{number:02}.txt").write_text(f"first\n{line}\n", encoding="utf-8")

    found = await find(root, search(in_words(terms_of("retry")[0]), defines="like", words=True))

    assert sorted(found) == [f"{number:02}.txt" for number in range(len(DEFINING))]
    assert read_hits("").hits == ()
