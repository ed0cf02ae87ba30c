"""What LOCALLLM.md says of the project: our lines follow the project, those of the user stay as they are."""

from pathlib import Path

import pytest

from localllm.base.errors import ConfigurationError
from localllm.memory.document import Document
from localllm.memory.project_description import Described, describe, keep_lines, known_lines, missing
from localllm.memory.section_kinds import SectionKind
from tests.support.each import each

OURS = ("- Language: Go", "- Tests: `go test`", "- Size: 3 files")
NEW: dict[SectionKind, list[str]] = {
    "dna": ["- Language: Rust", "- Tests: `go test`", "- Build: `make`"],
    "folders": ["- src/ - code"],
    "style": [],
}


def refreshed(dna: str, *, drop: bool = True, known: tuple[str, ...] = OURS) -> tuple[str, Described]:
    """The section after a refresh, of a file whose other sections are the user's alone."""
    text = f"## Project DNA\n\n{dna}\n## Directory structure\n\nmine\n\n## Coding style\n\nmine\n"
    changed, done = describe(Document(text), NEW, {"dna": known}, refresh=True, drop=drop)
    assert changed.body("folders") == changed.body("style") == "mine"
    return changed.body("dna"), done


@each(
    ("dna", "after", "dropped"),
    [
        (
            "- Language: Go\n- Tests: `go test`\n- Size: 3 files\n",
            "- Language: Rust\n- Tests: `go test`\n- Build: `make`",
            ["- Size: 3 files"],
        ),
        (
            "- Language: Go and a little C\n- Tests: `go test`\n",
            "- Language: Go and a little C\n- Tests: `go test`\n- Build: `make`",
            [],
        ),
        (
            "- Language: Go\n  - of the user\n- Tests: `go test`\n  - slow\n\n- mine\n",
            "- Language: Rust\n  - of the user\n- Tests: `go test`\n  - slow\n- Build: `make`\n\n- mine",
            [],
        ),
        (
            "- Size: 3 files\n  - of the user\n- Tests: `go test`\n",
            "- Size: 3 files\n  - of the user\n- Tests: `go test`\n- Build: `make`",
            [],
        ),
        (
            "- mine\n- Size: 3 files\n",
            "- Build: `make`\n- mine",
            ["- Size: 3 files"],
        ),
        ("- Tests: `go test`\n- Build: by hand\n", "- Tests: `go test`\n- Build: by hand", []),
    ],
)
def test_lines_of_ours_follow_the_project(dna: str, after: str, dropped: list[str]) -> None:
    """What was taken out, such as the language, is not put back; what nothing is known of any more goes."""
    text, done = refreshed(dna)
    assert text == after
    assert done == Described((), ("dna",) if text != dna.strip() else (), ("folders", "style"), tuple(dropped))


def test_what_is_gone_stays_where_nothing_is_to_be_dropped() -> None:
    text, done = refreshed("- Tests: `go test`\n- Size: 3 files\n", drop=False)
    assert text == "- Tests: `go test`\n- Build: `make`\n- Size: 3 files"
    assert done.dropped == ()


def test_a_section_in_which_nothing_is_ours_is_left_alone() -> None:
    text, done = refreshed("- Language: Go\n", known=())
    assert text == "- Language: Go"
    assert done == Described(foreign=("dna", "folders", "style"))


def test_only_what_is_missing_is_added_where_nothing_is_to_be_refreshed() -> None:
    document = Document("## Project DNA\n\n- Language: Go\n\n## Directory structure\n")
    assert missing(document) == ["folders", "style"]
    lines = {**NEW, "style": ["- spaces"]}
    changed, done = describe(document, lines, {"dna": OURS}, refresh=False)
    assert (changed.body("dna"), changed.body("folders")) == ("- Language: Go", "- src/ - code")
    assert done == Described(("folders", "style"))
    assert missing(changed) == []
    _, again = describe(changed, {**lines, "folders": ["- lib/ - code"]}, lines, refresh=True)
    assert again == Described((), ("folders",), ("dna",), ("- src/ - code",))


def test_what_would_be_read_as_something_else_is_not_written() -> None:
    text = "## Project DNA\nx\n\n## Directory structure\nx\n"
    for unreadable in ([], ["<!-- never closed"]):
        with pytest.raises(ConfigurationError) as raised:
            describe(Document(f"{text}\n## TODO\n- [ ] a\n"), {**NEW, "style": unreadable}, {}, refresh=False)
        assert raised.value.key == "memory_layout"


def test_the_lines_that_were_written_are_remembered(tmp_path: Path) -> None:
    kept = tmp_path / "lines.json"
    assert known_lines(kept) == {}
    keep_lines(kept, {"dna": ["a", "b"], "style": ["s"]})
    keep_lines(kept, {"dna": ["c", "b"]}, without=["a"])
    assert known_lines(kept) == {"dna": ["b", "c"], "style": ["s"]}
    keep_lines(kept, {"dna": [f"line {number}" for number in range(3_000)]})
    assert len(known_lines(kept)["dna"]) == 2_000
    assert known_lines(kept)["dna"][-1] == "line 2999"
    kept.write_text("{")
    assert known_lines(kept) == {}
    keep_lines(tmp_path / "none" / "lines.json", {"dna": ["a"]})
