"""Text files come back byte for byte."""

import codecs

import pytest

from localllm.text.decoding import Decoded, NotTextError, decode, encode, split_lines
from tests.support.each import each

JAPANESE = "# 設定ファイルを読み込む\nname = 'テスト'\n"


@each(
    ("data", "expected"),
    [
        (b"", Decoded("")),
        ("é日本\n".encode(), Decoded("é日本\n")),
        (codecs.BOM_UTF8 + b"a\r\nb\r\n", Decoded("a\nb\n", bom=True, newline="\r\n")),
        (codecs.BOM_UTF16_LE + "日\n".encode("utf-16-le"), Decoded("日\n", "utf-16-le", bom=True)),
        (codecs.BOM_UTF16_BE + "日\r\n".encode("utf-16-be"), Decoded("日\n", "utf-16-be", bom=True, newline="\r\n")),
        (JAPANESE.encode("cp932"), Decoded(JAPANESE, "cp932")),
        (JAPANESE.encode("euc_jp"), Decoded(JAPANESE, "euc_jp")),
        ("①髙橋\r\n".encode("cp932"), Decoded("①髙橋\n", "cp932", newline="\r\n")),
        ("key = 値\n".encode("utf-16-le"), Decoded("key = 値\n", "utf-16-le")),
        (
            "日本語のテキスト\r\nです\r\n".encode("utf-16-be"),
            Decoded("日本語のテキスト\nです\n", "utf-16-be", newline="\r\n"),
        ),
        (("é" * 9_000).encode("utf-16-le") + b" \0", Decoded("é" * 9_000 + " ", "utf-16-le")),
        (JAPANESE.encode("iso2022_jp"), Decoded(JAPANESE, "iso2022_jp")),
        (b"\x1b$not\x1b[0m", Decoded("\x1b$not\x1b[0m")),
        (b"a\rb\r", Decoded("a\nb\n", newline="\r")),
        (b"a\r\nb\nc", Decoded("a\r\nb\nc", newline="mixed")),
        (b"10%\r20%\rdone\n", Decoded("10%\r20%\rdone\n")),
        (b"a\r\r\nb\r\n", Decoded("a\r\nb\n", newline="\r\n")),
    ],
)
def test_a_text_is_read_and_written_back(data: bytes, expected: Decoded) -> None:
    decoded = decode(data)
    assert decoded == expected
    assert encode(decoded.text, decoded) == data


@pytest.mark.parametrize(
    "data",
    [
        b"a\0b",
        b"\x89PNG\r\n\x1a\n\0\0",
        codecs.BOM_UTF16_LE + b"a\0\0\0",
        bytes(range(1, 256)),
        bytes(range(256)),
        b"needle\n\0",
        b"needle\n" * 10_000 + b"\0",
        b"\x7fELF\2\1\1" + bytes(9),
    ],
)
def test_binary_data_is_no_text(data: bytes) -> None:
    with pytest.raises(NotTextError) as caught:
        decode(data)
    assert caught.value.kind == "binary"


@each(
    ("text", "encoding"),
    [
        ("café naïve Müller\n", "latin-1"),
        ("größe ÄÖÜ, ñandú «über» 5 °", "latin-1"),
        ("“quoted” – 5 €\n", "cp1252"),
    ],
)
def test_a_european_text_in_one_byte_is_read_and_written_back(text: str, encoding: str) -> None:
    data = text.encode(encoding)
    decoded = decode(data)
    assert (decoded.text, decoded.encoding) == (text, encoding)
    assert encode(decoded.text, decoded) == data


@each(
    ("text", "encoding"),
    [
        ("2024年5月1日,100円\n", "cp932"),
        ("2024年5月1日,100円\n", "euc_jp"),
        ("C0001,佐藤,1234円,令和8年1月5日,至急\n", "cp932"),
        ("id,qty\n1,3個\n2,12本\n", "cp932"),
    ],
)
def test_a_single_character_that_counts_is_japanese(text: str, encoding: str) -> None:
    decoded = decode(text.encode(encoding))
    assert (decoded.text, decoded.encoding) == (text, encoding)


@each("text", ["the 1990’s café", "pages 10–20, 3.5” × 5”", "27” screen, 5 ½”"])
def test_signs_after_digits_are_no_japanese(text: str) -> None:
    assert decode(text.encode("cp1252")).text == text


@each(
    ("text", "encoding"),
    [("Привет, как дела\n", "cp1251"), ("Привет, как дела\n", "koi8-r"), ("你好，今天的天气\n", "gb18030")],
)
def test_a_text_in_another_alphabet_is_not_guessed(text: str, encoding: str) -> None:
    with pytest.raises(NotTextError) as caught:
        decode(text.encode(encoding))
    assert caught.value.kind == "encoding"
    assert decode(text.encode(encoding), encoding).text == text


@each(
    ("text", "encoding"),
    [
        ("#!/usr/bin/python\n# -*- coding: koi8-r -*-\nx = 'Привет'\n", "koi8-r"),
        ('<?xml version="1.0" encoding="windows-1251"?>\n<a>Привет</a>\n', "cp1251"),
    ],
)
def test_a_declared_encoding_is_used(text: str, encoding: str) -> None:
    decoded = decode(text.encode(encoding))
    assert (decoded.text, decoded.encoding) == (text, encoding)


@pytest.mark.parametrize("declared", ["utf-8", "no-such", "hex", "punycode"])
def test_a_declared_encoding_that_does_not_fit_is_ignored(declared: str) -> None:
    assert decode(f"# coding: {declared}\n# größe\n".encode("latin-1")).encoding == "latin-1"


def test_an_encoding_that_is_named_is_used() -> None:
    assert decode(codecs.BOM_UTF8 + b"a", "utf-8") == Decoded("a", bom=True)
    assert decode(codecs.BOM_UTF16_LE + b"a\0", "utf-16") == Decoded("a", "utf-16-le", bom=True)
    assert decode("値".encode("cp932"), "cp932").text == "値"
    with pytest.raises(NotTextError):
        decode(b"\xff", "ascii")
    with pytest.raises(LookupError):
        decode(b"a", "no-such")


def test_new_text_takes_over_encoding_mark_and_newlines() -> None:
    like = decode(codecs.BOM_UTF8 + b"a\r\n")
    assert encode("x\ny\n", like) == codecs.BOM_UTF8 + b"x\r\ny\r\n"
    with pytest.raises(UnicodeEncodeError):
        encode("😀", Decoded("", "cp932"))


def test_a_last_newline_begins_no_line() -> None:
    assert split_lines("a\nb\n") == ["a", "b"]
    assert split_lines("a\r\n\nb") == ["a", "", "b"]
    assert split_lines("") == []


@pytest.mark.parametrize("encoding", ["punycode", "IDNA", "unicode_escape"])
def test_codecs_that_are_for_no_files_are_unknown(encoding: str) -> None:
    with pytest.raises(LookupError):
        decode(b"a-1", encoding)


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        ("x = 1  # 値", "cp932"),
        ("name,ｱｲ", "cp932"),
        ("# 中", "gbk"),
        ("café naïve", "mac_roman"),
    ],
)
def test_a_few_letters_of_another_writing_are_not_taken_for_accents(text: str, encoding: str) -> None:
    with pytest.raises(NotTextError) as caught:
        decode(text.encode(encoding))
    assert caught.value.kind == "encoding"
    assert (caught.value.likely == "cp932") == (encoding in ("cp932", "gbk"))


@pytest.mark.parametrize(
    "torn", ["上限を超".encode()[:-2], "しただけで".encode()[1:-2], "予告された手".encode()[:-1] + b"|12\n"]
)
def test_torn_utf8_is_not_taken_for_japanese_in_another_encoding(torn: bytes) -> None:
    """What `cut -c` and `head -c` leave reads as other ideographs in Shift_JIS."""
    with pytest.raises(NotTextError) as caught:
        decode(torn)
    assert caught.value.kind == "encoding"


@pytest.mark.parametrize("damaged", [b"na\xefve\n", b"\xff\n"])
def test_damaged_utf8_is_not_taken_for_another_encoding(damaged: bytes) -> None:
    with pytest.raises(NotTextError):
        decode("✓ déjà vu\n".encode() * 5 + damaged)


@pytest.mark.parametrize(
    ("text", "declared", "really"),
    [
        ("# 売上を計算する", "latin-1", "cp932"),
        ("# 売上 ①～－髙㈱Ⅲ を計算する", "shift_jis", "cp932"),
        ("# “quoted” – so", "iso-8859-1", "cp1252"),
        ("# Año", "cp037", "latin-1"),
        ("# Привет мир", "koi8-r", "koi8-r"),
    ],
)
def test_a_declaration_that_cannot_be_true(text: str, declared: str, really: str) -> None:
    whole = f"# -*- coding: {declared} -*-\n{text}\n"
    decoded = decode(whole.encode(really))
    assert (decoded.text, decoded.encoding) == (whole, really)
    assert encode(decoded.text, decoded) == whole.encode(really)


@pytest.mark.parametrize("text", ["für Straße", "20 °C, ±3 µm", "Été", "price: 5 €", "© 2024 Müller", "Åse, Øst"])
def test_short_european_texts(text: str) -> None:
    assert decode(text.encode("cp1252")).text == text
