"""What definitions say of themselves."""

from localllm.lookup.excerpts import first_sentences, module_doc, quote_at


def numbered(text: str) -> dict[int, str]:
    return dict(enumerate(text.split("\n"), 1))


def test_a_docstring_and_a_signature_over_several_lines() -> None:
    quote = quote_at(
        numbered('@cache\ndef f(\n    a: int,  # (one\n    b="(",\n) -> int:\n    """Adds.\n\n    More.\n    """\n'), 2
    )

    assert (quote.signature, quote.doc, quote.start) == ('def f(a: int, b="(") -> int:', "Adds.", 1)


def test_a_comment_above() -> None:
    quote = quote_at(numbered("x\n\n/**\n * Opens it.\n * @param a what\n */\nfunction open (a) {\n"), 7)

    assert (quote.signature, quote.doc) == ("function open (a)", "Opens it.")


def test_rust_and_shell_comments() -> None:
    assert quote_at(numbered("/// Tries again.\n#[inline]\nfn retry() {}"), 3).doc == "Tries again."
    assert quote_at(numbered("# Tries again.\nretry() {\n"), 2).doc == "Tries again."


def test_nothing_is_invented() -> None:
    assert quote_at(numbered("x = 1\ndef f():\n    return 'a'\n"), 2).doc == ""


def test_the_beginning_of_a_file() -> None:
    assert module_doc(numbered('#!/bin/sh\n\n"""What it is.\n\nMore."""\nimport a')) == "What it is.\n\nMore."
    assert module_doc(numbered("// Bytes.\n// Or more.\nconst a = 1")) == "Bytes.\nOr more."
    assert module_doc(numbered("import a\n# no")) == ""


def test_the_first_paragraph_or_sentence() -> None:
    assert first_sentences("One.\nTwo.\n\nThree.") == "One. Two."
    assert first_sentences("Short. " + "long " * 100).endswith("…")
