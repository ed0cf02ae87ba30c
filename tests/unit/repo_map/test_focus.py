"""What a conversation is about."""

from localllm.repo_map.request import Focus, identifiers_in, paths_in


def test_the_last_things_said_count() -> None:
    focus = Focus()
    for said in ("one", "two", " ", "three", "four"):
        focus.heard(said)
    assert focus.words == "two\nthree\nfour"


def test_a_long_message_counts_in_part() -> None:
    focus = Focus()
    focus.heard("x" * 100_000)
    assert len(focus.words) == 4_000


def test_paths_and_identifiers_are_told_from_words() -> None:
    text = "Why does ./src/app.py fail in fetch_page or PageFetcher? See core/index, utils.ts and `run`."
    assert {"src/app.py", "core/index", "utils.ts"} <= paths_in(text)
    assert {"fetch_page", "PageFetcher", "run"} <= identifiers_in(text)
    assert not {"does", "fail"} & identifiers_in(text)
