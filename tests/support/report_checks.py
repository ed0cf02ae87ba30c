"""Look for defects of citation in a report as Markdown, by its text alone, without the program's own rendering."""

import re
from collections.abc import Sequence

_HEADINGS = ("## References", "## 参考文献")
_CITED = re.compile(r"(?<!\\)\[(\d+)\](?!\()")
_LISTED = re.compile(r"^\[(\d+)\] .*\n(\S.*)$", re.MULTILINE)
_QUOTED = re.compile(r"^> [“「](.*)[”」]$", re.MULTILINE)


def parts_of(markdown: str) -> tuple[str, str]:
    """What stands before the references, and those."""
    for heading in _HEADINGS:
        body, found, references = markdown.partition(f"\n{heading}\n")
        if found:
            return body, references
    return markdown, ""


def citation_defects(markdown: str) -> list[str]:
    """What is wrong: numbers that lead nowhere, are not cited, doubled or out of order; addresses listed twice."""
    body, references = parts_of(markdown)
    cited = [int(number) for number in _CITED.findall(body)]
    listed = [(int(number), address.strip()) for number, address in _LISTED.findall(references)]
    numbers = [number for number, _ in listed]
    defects = [f"[{number}] leads nowhere" for number in sorted({*cited} - {*numbers})]
    defects += [f"[{number}] is not cited" for number in sorted({*numbers} - {*cited})]
    if numbers != list(range(1, len(numbers) + 1)):
        defects.append(f"numbered {numbers}")
    first = list(dict.fromkeys(cited))
    if first != sorted(first):
        defects.append(f"cited first in the order {first}")
    addresses = [address for _, address in listed]
    defects += [f"{address} is listed twice" for address in {*addresses} if addresses.count(address) > 1]
    defects += [f"{mark} is cited twice in a row" for mark in re.findall(r"(\[\d+\])\1", body)]
    return defects


def quotes_in(markdown: str) -> list[str]:
    """The quotes of the references, as they were before Markdown's signs were escaped."""
    return [re.sub(r"\\(.)", r"\1", quote) for quote in _QUOTED.findall(parts_of(markdown)[1])]


def unknown_quotes(markdown: str, texts: Sequence[str]) -> list[str]:
    """The quotes that stand in none of the texts, apart from white space."""
    plain = ["".join(text.split()) for text in texts]
    return [
        quote
        for quote in quotes_in(markdown)
        if not any("".join(quote.removesuffix(" …").split()) in text for text in plain)
    ]
