"""The catalogue: complete in both languages, used as it is written, and counting rightly."""

import ast
import re
import string
from collections.abc import Iterator
from pathlib import Path

import pytest

import localllm
from localllm.base import i18n
from localllm.base.errors import ConfigurationError, LocalLLMError
from localllm.base.i18n import language_of_locale, set_language, tr
from localllm.base.i18n.errors import ERRORS
from localllm.base.i18n.messages import MESSAGES
from tests.support.each import each

PACKAGE = Path(localllm.__file__).parent
JAPANESE = re.compile(r"[\u3040-\u30ff\u4e00-\u9fff]")


@pytest.fixture(autouse=True)
def english() -> Iterator[None]:
    set_language("en")
    yield
    set_language("en")


def fields(text: str) -> set[str]:
    return {name.partition(".")[0] for _, name, _, _ in string.Formatter().parse(text) if name is not None}


@each("key", ERRORS)
def test_an_error_says_the_same_in_both_languages(key: str) -> None:
    _, english, japanese = ERRORS[key]
    assert fields(" ".join(english)) == fields(" ".join(japanese))
    assert [bool(part) for part in english] == [bool(part) for part in japanese]
    assert JAPANESE.search(" ".join(japanese))
    assert not JAPANESE.search(" ".join(english))


@each("key", MESSAGES)
def test_a_message_has_the_same_parameters_in_both_languages(key: str) -> None:
    english, japanese = MESSAGES[key]
    assert fields(english) == fields(japanese)


def test_codes_are_unique_and_well_formed() -> None:
    codes = [code for code, _, _ in ERRORS.values()]
    assert len(set(codes)) == len(codes)
    assert all(re.fullmatch(r"E[1-9]\d{3}", code) for code in codes)


def calls() -> Iterator[tuple[str, ast.Call]]:
    """Every call in the package whose first argument is a string, with the file it is in."""
    for file in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant):
                yield f"{file.relative_to(PACKAGE)}:{node.lineno}", node


def test_every_key_that_is_used_exists_and_gets_its_parameters() -> None:
    seen = 0
    for place, node in calls():
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        key = node.args[0].value
        given = {keyword.arg for keyword in node.keywords}
        if name.endswith("Error") and isinstance(key, str) and issubclass(_class(name), LocalLLMError):
            assert key in ERRORS, f"{place}: no error {key}"
            missing = fields(" ".join(ERRORS[key][1])) - given
        elif name in ("tr", "Phrase"):
            assert key in MESSAGES, f"{place}: no message {key}"
            missing = fields(MESSAGES[key][0]) - given
        else:
            continue
        seen += 1
        assert not missing or None in given, f"{place}: {key} lacks {missing}"
    assert seen > 50


def _class(name: str) -> type:
    return getattr(localllm.base.errors, name, type("Other", (), {}))


def test_the_language_comes_from_the_locale(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("LC_ALL", "LC_MESSAGES", "LANG"):
        monkeypatch.delenv(variable, raising=False)
    assert language_of_locale() == "en"
    monkeypatch.setenv("LANG", "ja_JP.UTF-8")
    assert language_of_locale() == "ja"
    monkeypatch.setenv("LC_ALL", "C")
    assert language_of_locale() == "en"


def test_an_error_speaks_the_language_of_the_moment_it_is_shown() -> None:
    error = ConfigurationError("usage_no_prompt")
    assert error.code == "E1010"
    assert "nothing to do" in str(error)
    set_language("ja")
    assert "することがありません" in str(error)
    assert i18n.language() == "ja"
    assert tr("agent.interrupted") == "[利用者が中断しました]"


def test_what_is_not_kept_reads_well_of_one_file_as_of_many() -> None:
    assert "1 files" not in tr("undo.not_all_kept", count=1)
    assert "(files: 12)" in tr("undo.not_all_kept", count=12)


def test_one_is_not_many() -> None:
    assert tr("git.logged", count=1) == "1 commit"
    assert tr("git.logged", count="1,000") == "1,000 commits"
    assert tr("search.found", count=0, pattern="x") == "0 matches for x"
    error = ConfigurationError("file_bad_range", path="a", total=1, start=3)
    assert "has 1 line;" in error.what
    set_language("ja")
    assert tr("git.logged", count=1) == "コミット 1 件"


SEVERAL = re.compile(r"\{(\w+)(?::,)?\}\s+(?:(?:more|open|other|source|changed|tool|new)\s+)?([a-z]+s)\b")
"""A number, or what may be one, and a word that is true of several."""

COUNTS = {
    *("added", "all", "before", "characters", "code_lines", "count", "days", "entries", "files", "functions", "kept"),
    *("length", "lines", "pages", "parts", "removed", "requests", "seconds", "shown", "size", "steps"),
    *("times", "tokens", "total", "turns"),
}
"""What numbers of things are called; of limits and windows one would be absurd."""

OF_SEVERAL = {
    *("agent.loop.same_step", "agent.loop.same_error", "agent.loop.cycle", "agent.loop.failed_edit"),
    *("agent.loop.bad_call", "agent.loop.monologue", "agent.loop.chanting", "agent.loop.thrash"),
    *("agent.blocker.times", "edit_ambiguous", "web_redirects", "context_full"),  # only ever said of two or more
    *("start.window", "start.window_assumed", "model.up_to", "path.deep"),  # limits and windows
    *("code.folder", "files.left_out", "web.cut", "doctor.many_files"),
    *("picture.seen", "picture.unseen", "picture_too_large", "file_too_large"),
}


def offenders(texts: dict[str, str]) -> set[str]:
    """The texts that would say “1 files”."""
    return {
        key
        for key, text in texts.items()
        for name, word in SEVERAL.findall(text)
        if name in COUNTS and word not in ("is", "has", "as")
    }


def test_no_text_would_say_one_files() -> None:
    texts = {"a": "{count} files", "b": "{lines:,} more lines", "c": "{count} {count:?file/files}"}
    assert offenders(texts) == {"a", "b"}
    texts = {key: english for key, (english, _) in MESSAGES.items()}
    texts |= {key: " ".join(english) for key, (_, english, _) in ERRORS.items()}
    assert not offenders(texts) - OF_SEVERAL
    assert set(texts) >= OF_SEVERAL


def test_only_the_english_needs_a_form_for_one() -> None:
    japanese = [japanese for _, japanese in MESSAGES.values()] + [" ".join(said) for _, _, said in ERRORS.values()]
    assert not [text for text in japanese if ":?" in text]
