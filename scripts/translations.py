#!/usr/bin/env python3
"""Keep the Japanese texts complete: what the code says is compared with locale/ja.

    .venv/bin/python scripts/translations.py            say what is missing, unused or wrong; exit 1 if anything is
    .venv/bin/python scripts/translations.py --update   add what is missing (empty), drop what is unused, compile

English texts are found in the code: the first argument of `_`, `N_`, `gettext`, `Phrase` and `ngettext`, the texts
of an `ErrorText`, the docstring of a slash command or of one of the command line, the `help` of an option, and the
meaning of a setting.
"""

import argparse
import ast
import inspect
import io
import string
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from babel.messages.catalog import Catalog, Message
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po, write_po

from localllm.config.keys import all_settings, meaning

PACKAGE = Path(__file__).resolve().parent.parent / "localllm"
PO = PACKAGE / "locale" / "ja" / "LC_MESSAGES" / "localllm.po"

Text = str | tuple[str, str]
"""A text, or its forms for one and for several."""


def texts(package: Path = PACKAGE) -> dict[Text, str]:
    """Every text in the code that is shown in the user's language, with a file that says it."""
    found: dict[Text, str] = {}
    for file, node in nodes(package):
        for text in texts_of(node):
            found.setdefault(text, file)
    return found | {text: file for file, text in meanings() if text not in found}


def meanings() -> Iterator[tuple[str, str]]:
    """What each setting means, with the file of its section."""
    for setting in all_settings().values():
        yield f"{setting.section.__module__.replace('.', '/')}.py", meaning(setting)


def nodes(package: Path = PACKAGE) -> Iterator[tuple[str, ast.AST]]:
    """All code of the package, with the file it is in."""
    for file in sorted(package.rglob("*.py")):
        name = file.relative_to(package.parent).as_posix()
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            yield name, node


_COMMANDS = {"slash", "command", "group"}
"""Decorators that make a function a command, whose docstring is its help."""


def texts_of(node: ast.AST) -> Iterator[Text]:
    """The texts that a piece of code itself has to be shown."""
    if isinstance(node, ast.AsyncFunctionDef | ast.FunctionDef) and _COMMANDS & {*map(_name, node.decorator_list)}:
        yield inspect.cleandoc(ast.get_docstring(node) or "")
    if not isinstance(node, ast.Call):
        return
    given = [_constant(argument) for argument in node.args]
    match _name(node):
        case "ngettext" if given[0] and given[1]:
            yield given[0], given[1]
        case "N_" if len(given) == 2 and given[0] and given[1]:
            yield given[0], given[1]
        case "_" | "N_" | "gettext" | "Phrase" if given and given[0]:
            yield given[0]
        case "option":
            yield from (_constant(word.value) for word in node.keywords if word.arg == "help")
        case "ErrorText":
            yield from filter(None, given[1:])
        case _:
            pass


def _name(node: ast.expr) -> str:
    called = node.func if isinstance(node, ast.Call) else node
    return called.id if isinstance(called, ast.Name) else called.attr if isinstance(called, ast.Attribute) else ""


def _constant(node: ast.expr) -> str:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def faults(code: dict[Text, str], catalogue: Catalog) -> list[str]:
    """What is wrong with the catalogue, a line each."""
    translated = {_id(message): message for message in catalogue if message.id}
    lines = [f"{code[text]}: not translated: {text!r}" for text in code if text not in translated]
    lines += [f"unused: {text!r}" for text in translated if text not in code]
    for text, message in translated.items():
        several = message.string if isinstance(message.string, tuple | list) else (message.string,)
        wanted = _fields(text if isinstance(text, str) else text[1])
        if not all(several):
            lines.append(f"without Japanese: {text!r}")
        elif message.fuzzy:
            lines.append(f"marked as fuzzy: {text!r}")
        elif any(_fields(japanese) != wanted for japanese in several):
            lines.append(f"other parameters in Japanese: {text!r}")
    return lines


def _id(message: Message) -> Text:
    return message.id if isinstance(message.id, str) else (message.id[0], message.id[1])


def _fields(text: str | None) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(text or "") if name}


def updated(code: dict[Text, str], catalogue: Catalog) -> Catalog:
    """The catalogue with what the code says, no more and no less."""
    known = {_id(message): message.string for message in catalogue if message.id}
    new = Catalog(locale="ja", project="localllm", fuzzy=False)
    for text, file in sorted(code.items(), key=lambda item: (item[1], str(item[0]))):
        new.add(text, known.get(text, ""), locations=[(file, 0)])
    return new


_HEADER = b"""# Japanese texts of localllm. scripts/translations.py keeps this file.
msgid ""
msgstr ""
"Language: ja\\n"
"Plural-Forms: nplurals=1; plural=0;\\n"
"MIME-Version: 1.0\\n"
"Content-Type: text/plain; charset=utf-8\\n"
"Content-Transfer-Encoding: 8bit\\n"

"""


def compiled(catalogue: Catalog) -> bytes:
    """The .mo file of the catalogue."""
    file = io.BytesIO()
    write_mo(file, catalogue)
    return file.getvalue()


def main() -> int:
    """Check, or update."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--update", action="store_true", help="add what is missing, drop what is unused, compile")
    update = parser.parse_args().update
    code = texts()
    catalogue = read_catalogue()
    if update:
        catalogue = updated(code, catalogue)
        with PO.open("wb") as file:
            file.write(_HEADER)
            write_po(file, catalogue, width=110, include_lineno=False, omit_header=True)
        catalogue = read_catalogue()
        PO.with_suffix(".mo").write_bytes(compiled(catalogue))
    found = faults(code, catalogue)
    compiled_file = PO.with_suffix(".mo")
    if not compiled_file.is_file() or compiled_file.read_bytes() != compiled(catalogue):
        found.append("localllm.mo is not what localllm.po says: run this with --update")
    print("\n".join(found) or f"translations: {len(code)} texts, all in Japanese")
    return 1 if found else 0


def read_catalogue() -> Catalog:
    """The Japanese texts as they are."""
    with PO.open("rb") as file:
        catalogue = read_po(file, locale="ja")
    catalogue.creation_date = catalogue.revision_date = datetime(2026, 1, 1, tzinfo=UTC)  # not the time of compiling
    return catalogue


if __name__ == "__main__":
    sys.exit(main())
