"""Who votes for whom: imports decide, then nearness; plain and private names say little."""

import msgspec
import pytest

from localllm.code.symbols import Symbol
from localllm.repo_map.index import FileRecord
from localllm.repo_map.rank import RepoGraph


def record(
    *definitions: str, uses: dict[str, int] | None = None, imports: str = "", language: str = "python"
) -> FileRecord:
    """A file with these definitions, "C.m" being a method."""
    used = uses or {}
    symbols = tuple(
        Symbol("method" if "." in name else "function", name.rpartition(".")[2], 1, 1, name.rpartition(".")[0], name)
        for name in definitions
    )
    return FileRecord(
        stamp=(1, 1, 1),
        digest=b"",
        language=language,
        definitions=symbols,
        names=" ".join(used),
        counts=bytes(used.values()),
        imports=imports,
    )


def votes(files: dict[str, FileRecord]) -> dict[str, float]:
    """What each file's definitions get."""
    graph = RepoGraph(files)
    found: dict[str, float] = {}
    for (file, _), rank in graph.definition_ranks(graph.rank({})).items():
        found[graph.paths[file]] = found.get(graph.paths[file], 0.0) + rank
    return found


def test_an_import_tells_which_of_several_is_meant() -> None:
    found = votes(
        {
            "a/load.py": record("load_page"),
            "b/load.py": record("load_page"),
            "user.py": record(uses={"load_page": 3}, imports="b.load"),
        }
    )
    assert set(found) == {"b/load.py"}


def test_python_names_that_are_not_imported_mean_something_else() -> None:
    files = {"a/load.py": record("load_page"), "user.py": record(uses={"load_page": 3}, imports="b.other")}
    assert votes(files) == {}
    in_ruby = {path: msgspec.structs.replace(record, language="ruby") for path, record in files.items()}
    assert set(votes(in_ruby)) == {"a/load.py"}


@pytest.mark.parametrize(
    ("language", "used", "found"),
    [("python", "run_job", set[str]()), ("python", ".run_job", {"a.py"}), ("java", "run_job", {"a.py"})],
)
def test_a_method_is_called_of_something_where_the_language_asks_for_it(
    language: str, used: str, found: set[str]
) -> None:
    files = {
        "a.py": record("Job.run_job", language=language),
        "user.py": record(uses={used: 1}, language=language),
    }
    assert set(votes(files)) == found


def test_a_file_does_not_vote_for_others_with_its_own_names() -> None:
    files = {"a.py": record("load_page"), "b.py": record("load_page", uses={"load_page": 9}, imports="a")}
    assert votes(files) == {}


def test_languages_do_not_mix() -> None:
    files = {"a.go": record("load_page", language="go"), "b.rb": record(uses={"load_page": 1}, language="ruby")}
    assert votes(files) == {}


def test_the_ranks_sum_to_one_and_follow_what_is_wanted() -> None:
    graph = RepoGraph(
        {
            "a.py": record("load_page"),
            "b.py": record("save_page"),
            "user.py": record(uses={"load_page": 1}, imports="a"),
        }
    )
    rank = graph.rank({})
    assert sum(rank) == pytest.approx(1.0)
    assert rank[0] > rank[1] == pytest.approx(rank[2])
    wanted = graph.rank({1: 1.0})
    assert sum(wanted) == pytest.approx(1.0)
    assert wanted[1] == max(wanted)


def test_one_doubtful_vote_does_not_carry_a_whole_file() -> None:
    graph = RepoGraph(
        {
            "sure.rb": record("a_name", "b_name", "c_name", language="ruby"),
            "doubtful.rb": record("plain", language="ruby"),
            "x/many.rb": record(uses={"a_name": 9, "b_name": 9, "c_name": 9}, imports="sure", language="ruby"),
            "x/one.rb": record(uses={"plain": 1}, language="ruby"),
        }
    )
    rank = dict(zip(graph.paths, graph.rank({}), strict=True))
    assert rank["sure.rb"] > 1.2 * rank["doubtful.rb"]
