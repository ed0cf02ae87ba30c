"""Texts: translated when they are shown, English for a model, counting rightly, complete in Japanese."""

import ast
import re
import string
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from localllm.base import errors, i18n
from localllm.base.error_texts import ERRORS
from localllm.base.errors import ConfigurationError, LocalLLMError, WebSearchError
from localllm.base.i18n import N_, Phrase, Phrases, _, language_of_locale, ngettext, sentences, set_language
from scripts import translations

JAPANESE = re.compile(r"[\u3040-\u30ff\u4e00-\u9fff]")


@pytest.fixture(autouse=True)
def english() -> Iterator[None]:
    set_language("en")
    yield
    set_language("en")


class Said(NamedTuple):
    """A call whose first argument is a string, and the file and line it is in."""

    place: str
    name: str
    text: object
    given: set[str | None]


class Code(NamedTuple):
    """What the code of the package says; parsing it takes seconds."""

    texts: dict[translations.Text, str]
    calls: list[Said]


@pytest.fixture(scope="module")
def code() -> Code:
    texts, calls = dict[translations.Text, str](), list[Said]()
    for file, node in translations.nodes():
        for text in translations.texts_of(node):
            texts.setdefault(text, file)
        if isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant):
            name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            given = {keyword.arg for keyword in node.keywords}
            calls.append(Said(f"{file}:{node.lineno}", name, node.args[0].value, given))
    for file, text in translations.meanings():
        texts.setdefault(text, file)
    return Code(texts, calls)


def fields(text: str) -> set[str]:
    return {name.partition(".")[0] for _text, name, _spec, _how in string.Formatter().parse(text) if name is not None}


def test_every_text_has_its_japanese_and_no_other_is_kept(code: Code) -> None:
    catalogue = translations.read_catalogue()
    assert translations.faults(code.texts, catalogue) == []
    assert translations.PO.with_suffix(".mo").read_bytes() == translations.compiled(catalogue)


def test_a_text_without_japanese_one_too_many_and_a_lost_parameter_are_noticed() -> None:
    catalogue = translations.Catalog(locale="ja")
    catalogue.add("{name} is gone", "なくなりました")
    catalogue.add("nobody says this", "誰も言わない")
    lines = "\n".join(translations.faults({"{name} is gone": "a.py", "new": "b.py"}, catalogue))
    assert "b.py: not translated: 'new'" in lines
    assert "unused: 'nobody says this'" in lines
    assert "other parameters in Japanese: '{name} is gone'" in lines


def test_codes_are_unique_and_well_formed() -> None:
    codes = [text.code for text in ERRORS.values()]
    assert len(set(codes)) == len(codes)
    assert all(re.fullmatch(r"E[1-9]\d{3}", code) for code in codes)
    assert not [text for text in ERRORS.values() if JAPANESE.search(" ".join(text))]


def test_every_error_and_text_gets_its_parameters(code: Code) -> None:
    seen = 0
    for place, name, text, given in code.calls:
        if name.endswith("Error") and isinstance(text, str) and issubclass(_class(name), LocalLLMError):
            assert text in ERRORS, f"{place}: no error {text}"
            wanted = fields(" ".join(ERRORS[text][1:]))
        elif name in ("_", "Phrase", "ngettext"):
            wanted = fields(text) - ({"count"} if name == "ngettext" else set())
        else:
            continue
        seen += 1
        assert not wanted - given or None in given, f"{place}: {text} lacks {wanted - given}"
    assert seen > 500


def _class(name: str) -> type:
    return getattr(errors, name, type("Other", (), {}))


def test_every_error_can_be_shown_in_every_language() -> None:
    for key, text in ERRORS.items():
        error = LocalLLMError(key, **dict.fromkeys(fields(" ".join(text[1:])), 1))
        for language in i18n.LANGUAGES:
            set_language(language)
            try:
                assert str(error), key
                assert error.english, key
            finally:
                set_language("en")


def test_an_error_counts_in_the_right_form() -> None:
    assert "1 request," in LocalLLMError("api_busy", limit=1, seconds=2).why
    assert "32 requests," in LocalLLMError("api_busy", limit=32, seconds=2).english


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
    assert "nothing to do" in error.english
    assert i18n.language() == "ja"


def test_a_phrase_is_english_for_a_model_to_its_last_parameter() -> None:
    inner = Phrase("its content is binary")
    outer = Phrase("{told} (it was {state})", told=inner, state=Phrase("to do"))
    row = Phrases([Phrase("its content is binary"), "a.bin"], " · ")
    set_language("ja")
    assert (inner.english, str(inner)) == ("its content is binary", "バイナリです")
    assert outer.english == "its content is binary (it was to do)"
    assert "バイナリです" in str(outer)
    assert (row.english, str(row)) == ("its content is binary · a.bin", "バイナリです · a.bin")
    assert f"{inner:>8}" == "  バイナリです"


def test_what_an_error_does_not_say_is_empty_in_every_language() -> None:
    error = WebSearchError("web_no_query")
    for language in ("en", "ja"):
        set_language(language)
        assert error.why == ""
        assert str(error) == sentences(error.what, error.fix)


def test_equal_phrases_are_equal() -> None:
    assert Phrase("{count}", count=1) == Phrase("{count}", count=1)
    assert Phrase("{count}", count=1) != Phrase("{count}", count=2)
    assert len({Phrase("a"), Phrase("a")}) == 1


@pytest.mark.parametrize(
    ("count", "english", "japanese"),
    [
        (1, "1 commit", "コミット 1 件"),
        (0, "0 commits", "コミット 0 件"),
        ("1,000", "1,000 commits", "コミット 1,000 件"),
    ],
)
def test_one_is_not_many(count: object, english: str, japanese: str) -> None:
    set_language("en")
    marked = N_("{count} commit", "{count} commits")
    assert ngettext("{count} commit", "{count} commits", count) == _(marked, count=count) == english
    assert Phrase(marked, count=count).english == english
    set_language("ja")
    assert ngettext("{count} commit", "{count} commits", count) == str(Phrase(marked, count=count)) == japanese
    assert Phrase(marked, count=count).english == english


SEVERAL = re.compile(r"\{(\w+)(?::,)?\}\s+(?:(?:more|open|other|source|changed|tool|new)\s+)?([a-z]+s)\b")
"""A number, or what may be one, and a word that is true of several."""

COUNTS = {
    *("added", "all", "before", "characters", "code_lines", "count", "days", "entries", "files", "functions", "kept"),
    *("length", "lines", "pages", "parts", "removed", "requests", "seconds", "shown", "size", "steps"),
    *("times", "tokens", "total", "turns"),
}
"""What numbers of things are called; of limits and windows one would be absurd."""

OF_SEVERAL = re.compile(
    r"time|step|token|window|answers|calls|places|redirects|characters|bytes|folders deep|source files?, |MB|in a row"
    r"|edits of|more than|longer than"
)
"""Of limits, windows, and what is only ever said of two or more."""


def test_no_text_would_say_one_files(code: Code) -> None:
    offenders = [
        text
        for text in code.texts
        if isinstance(text, str)
        for name, word in SEVERAL.findall(text)
        if name in COUNTS and word not in ("is", "has", "as") and not OF_SEVERAL.search(text)
    ]
    assert not offenders
    assert SEVERAL.findall("{lines:,} more lines")


def test_japanese_sentences_stand_in_a_row_without_a_blank() -> None:
    assert sentences("空です。", "", "消します。", "Done.", "終わり。") == "空です。消します。Done. 終わり。"
    assert sentences("It is full.", "", "Make room.") == "It is full. Make room."
    set_language("ja")
    error = ConfigurationError("config_unreadable", file="a.toml", reason="権限がありません")
    assert str(error) == f"{error.what}{error.why}{error.fix}"
    assert str(Phrases([error.what_phrase, error.what_phrase])) == error.what * 2


@pytest.mark.parametrize("language", ["en", "ja"])
def test_a_path_is_one_line(language: str) -> None:
    set_language(language)
    error = ConfigurationError("config_unreadable", file=Path("/p\nlocalllm: forged/localllm.toml"), reason="x")
    assert "\n" not in str(error)
    assert "/p␊localllm: forged/localllm.toml" in error.what
