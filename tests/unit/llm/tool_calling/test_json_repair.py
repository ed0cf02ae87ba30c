"""JSON as models write it: fixed where only one thing can be meant, refused where a string does not end."""

import msgspec
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from localllm.llm.tool_calling.json_repair import keywords_to_json, repair_json
from tests.support.each import each


@each(
    ("written", "meant"),
    [
        ("{'a': 'b'}", {"a": "b"}),
        ("{'a': \"don't\"}", {"a": "don't"}),
        ("{'a': 'say \"hi\"'}", {"a": 'say "hi"'}),
        ('{"a": True, "b": False, "c": None}', {"a": True, "b": False, "c": None}),
        ('{"a": [1, 2,], }', {"a": [1, 2]}),
        ('{"a": 1,, "b": 2}', {"a": 1, "b": 2}),
        ('// first\n{"a": 1, /* then */ "b": 2 # last\n}', {"a": 1, "b": 2}),
        ('{"a": "http://x#y /* z */"}', {"a": "http://x#y /* z */"}),
        ("{a: 1, b-c: 2, $d: 3}", {"a": 1, "b-c": 2, "$d": 3}),
        ('{"a": {"b": [1, {"c": 2', {"a": {"b": [1, {"c": 2}]}}),
        ('{"a": {"b": [1, 2}', {"a": {"b": [1, 2]}}),
        ('[{"a": 1]', [{"a": 1}]),
        ('{"a": "one\ntwo\t\x00"}', {"a": "one\ntwo\t\x00"}),
        (r'{"a": "\d+\.\s \x41 \u12"}', {"a": r"\d+\.\s \x41 \u12"}),
        (r'{"a": "\u00e9\n\/ \"q\""}', {"a": 'é\n/ "q"'}),
        (r"{'a': 'it\'s'}", {"a": "it's"}),
        ('{"a": "x \\\ny",}', {"a": "x \\\ny"}),
        ("{“a”: “b “}", {"a": "b "}),
        ('{‘a’: ‘b “c” "d"’}', {"a": 'b “c” "d"'}),
        ('{"a": 1 "b": 2}', {"a": 1, "b": 2}),
        ('{"a": "x"\n"b": ["y" "z"]}', {"a": "x", "b": ["y", "z"]}),
        ('{"a": {"b": 1}"c": 2}', {"a": {"b": 1}, "c": 2}),
        ("{a: 1\nb: 2}", {"a": 1, "b": 2}),
        ('\ufeff{\u200b"a":\u00a01}', {"a": 1}),
        ('{"a": """x "y"\nz"""}', {"a": 'x "y"\nz'}),
        ("{'a': '''it's'''}", {"a": "it's"}),
        (r'{"a": r"\d\n"}', {"a": r"\d\n"}),
        ('{a:<|"|>x "y" \\n<|"|>,b:[<|"|>z<|"|>]}', {"a": 'x "y" \\n', "b": ["z"]}),
        ("{a:<escape>it's<escape>}", {"a": "it's"}),
        ('Here it is: {"a": 1}. Good?', {"a": 1}),
        ('```json\n{"a": 1}\n```', {"a": 1}),
        ('{"a": 1}}', {"a": 1}),
        ('{"a": 1}"', {"a": 1}),
        ("'{\"a\": 1}'", {"a": 1}),
        ('{"n": 1.10, "e": -2E+5}', {"n": 1.1, "e": -2e5}),
    ],
)
def test_what_is_meant(written: str, meant: object) -> None:
    fixed = repair_json(written)
    assert fixed is not None
    assert msgspec.json.decode(fixed) == meant


@each(
    "written",
    [
        "",
        "no JSON",
        '{"a": "b',
        '{"a": "b}',
        '{"a": "b, "c": "d"}',
        '{"a": "say "hi" now"}',
        '{"a": "x" y}',
        "{'a': 'don't'}",
        '{"a": 1}{"b": 2}',
        '{"a": 1, "b": "c"}, "d": "e"}',
        '"a": {"b": 1}}',
        '{"a": }',
        '{"a":',
        '{"a"',
        '{"a": 1,',
        '{"a": tru',
        '{"a": b}',
        '{"a": NaN}',
        '{"a": 01}',
        '{"a": 1.}',
        '{"a": f(1)}',
        '{"a": "x" + "y"}',
        "[1 2]",
        '{"a": \'b"}',
        "[" * 200,
        '{"a": "\\ud800", }',
    ],
)
def test_what_is_no_more_than_a_guess_is_refused(written: str) -> None:
    assert repair_json(written) is None


def test_open_brackets_are_not_closed_where_the_answer_was_cut() -> None:
    assert repair_json('{"a": [1', closes=False) is None
    assert repair_json('{"a": [1}', closes=False) == '{"a":[1]}'
    assert repair_json("{'a': 1}", closes=False) == '{"a":1}'


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("()", {}),
        ("(a=1, b='x', c=[True, None], d={'k': 1})", {"a": 1, "b": "x", "c": [True, None], "d": {"k": 1}}),
        ("('x', 2, c=3)", {"p": "x", "q": 2, "c": 3}),
        ('(\n  a="x\ny",\n)', {"a": "x\ny"}),
        ("(a=1", {"a": 1}),
    ],
)
def test_keywords_of_python(written: str, meant: object) -> None:
    fixed = keywords_to_json(written, ["p", "q"])
    assert fixed is not None
    assert msgspec.json.decode(fixed) == meant


@pytest.mark.parametrize("written", ["(path)", "(a='x", "(1, 2, 3)", "(a=1, 2)", "(a == 1)", "(a=open('x'))", "a=1"])
def test_what_is_no_literal_is_no_argument(written: str) -> None:
    assert keywords_to_json(written, ["p", "q"]) is None


TEXTS = st.text(alphabet=st.sampled_from("ab\"'\\\n\t{}[]:, /#<|“”é日"), max_size=12)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**6), 10**6) | st.floats(allow_nan=False, allow_infinity=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=8,
)
OBJECTS = st.dictionaries(TEXTS, VALUES, max_size=4)


def strings_in(value: object) -> list[str]:
    match value:
        case str():
            return [value]
        case list():
            return [text for item in value for text in strings_in(item)]
        case dict():
            return [text for key, item in value.items() for text in (key, *strings_in(item))]
        case _:
            return []


@given(VALUES, st.integers(0, 3))
def test_valid_json_is_not_touched(value: object, indent: int) -> None:
    text = msgspec.json.format(msgspec.json.encode(value), indent=indent).decode()
    assert repair_json(text) == text


@given(OBJECTS)
def test_python_is_read_as_the_same_value(value: dict[str, object]) -> None:
    # repr escapes what cannot be printed as \x..: JSON has no such escape, and it is kept as it is.
    fixed = repair_json(repr(value))
    if "\\x" not in repr(value):
        assert fixed is not None
        assert msgspec.json.decode(fixed) == value


@given(OBJECTS, st.data())
def test_no_string_is_ended_that_did_not_end(value: dict[str, object], data: st.DataObject) -> None:
    text = msgspec.json.encode(value).decode()
    cut = data.draw(st.integers(0, len(text)))
    inside = False
    at = 0
    while at < cut:
        if text[at] == "\\":
            at += 1
        elif text[at] == '"':
            inside = not inside
        at += 1
    if inside or at > cut:
        assert repair_json(text[:cut]) is None


@given(st.text(alphabet=st.sampled_from("ab1{}[]:,\"'\\ \ntrue“”#/"), max_size=40))
def test_nothing_is_invented(text: str) -> None:
    assume("\\u" not in text)  # such an escape names a character that is not in the text
    fixed = repair_json(text)
    if fixed is None:
        return
    for found in strings_in(msgspec.json.decode(fixed)):
        assert letters_of(found) in letters_of(text)


def letters_of(text: str) -> str:
    """`text` with every control character as the letter of its escape, and without backslashes."""
    return text.translate(
        {ord("\b"): "b", ord("\t"): "t", ord("\n"): "n", ord("\r"): "r", ord("\f"): "f", ord("\\"): None}
    )


@pytest.mark.parametrize("written", ['<content>{"a": 1}', 'a: b\nc: {"a": 1}', '<arg_value>x {"a": 1} y'])
def test_an_object_under_a_key_or_in_tags_is_not_the_whole(written: str) -> None:
    assert repair_json(written) is None


def test_of_what_was_cut_an_object_among_words_is_not_the_whole() -> None:
    assert repair_json('the arguments: {"a": 1}') == '{"a":1}'
    assert repair_json('the arguments: {"a": 1}', closes=False) is None


@pytest.mark.parametrize("written", ['{{"a": {{"b": 1}}}}', '{"a"：{"b"：1，}}', "{ {'a': {'b': 1}} }"])
def test_doubled_braces_and_wide_punctuation(written: str) -> None:
    fixed = repair_json(written)
    assert fixed is not None
    assert msgspec.json.decode(fixed) == {"a": {"b": 1}}
