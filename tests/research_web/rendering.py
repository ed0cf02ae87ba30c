"""The bytes of each page: HTML of several kinds, old Japanese encodings, PDF, pages made by script."""

import json
import textwrap
from html import escape

from tests.research_web.dataset import Page

HUGE = 2_000_000
"""The least size of a huge page in bytes: most of it is a list of links after the text."""


def render(page: Page) -> tuple[bytes, str]:
    """The body and the content type of a page."""
    match page.form:
        case "pdf":
            return _pdf(page), "application/pdf"
        case "png":
            return b"\x89PNG\r\n\x1a\n" + bytes(64), "image/png"
        case "script":
            return _scripted(page).encode(), "text/html; charset=utf-8"
        case "shift_jis":
            return _html(page, charset="Shift_JIS").encode("cp932", "xmlcharrefreplace"), "text/html"
        case "euc_jp":
            return _html(page, charset="EUC-JP").encode("euc_jp", "xmlcharrefreplace"), "text/html; charset=EUC-JP"
        case "broken":
            return _broken(page).encode(), "text/html; charset=utf-8"
        case "huge":
            return _huge(page).encode(), "text/html; charset=utf-8"
        case _:
            return _html(page).encode(), "text/html; charset=utf-8"


def _html(page: Page, charset: str = "utf-8") -> str:
    inside = "\n".join(f"<p>{escape(paragraph)}</p>" for paragraph in page.text.split("\n\n") if paragraph)
    meta, hidden = _hidden(page)
    return (
        f'<!DOCTYPE html>\n<html lang="{page.language}">\n<head>\n<meta charset="{charset}">\n'
        f"<title>{escape(page.title)} | {escape(page.host)}</title>\n{meta}</head>\n<body>\n{_header(page)}"
        f"<main>\n<article>\n<h1>{escape(page.title)}</h1>\n{inside}\n{hidden}</article>\n</main>\n{_footer(page)}"
        "</body>\n</html>\n"
    )


def _hidden(page: Page) -> tuple[str, str]:
    """What a hostile page says to the model that reads it: in the head, and in the body."""
    text = escape(page.hidden)
    match page.hide:
        case "css":
            return "", f'<div style="display:none">{text}</div>\n'
        case "white":
            return "", f'<p style="color:#fff;background:#fff;font-size:1px">{text}</p>\n'
        case "aria":
            return "", f'<span aria-hidden="true" style="position:absolute;left:-9999px">{text}</span>\n'
        case "comment":
            return "", f"<!-- {page.hidden} -->\n"
        case "meta":
            return f'<meta name="description" content="{text}">\n', ""
        case "plain":
            return "", f"<p>{text}</p>\n"
        case _:
            return "", ""


def _header(page: Page) -> str:
    words = ("Home", "News", "About", "Contact") if page.language == "en" else ("トップ", "新着", "案内", "問い合わせ")
    links = "".join(f'<li><a href="/{number}">{word}</a></li>' for number, word in enumerate(words))
    return f"<header><nav><ul>{links}</ul></nav></header>\n"


def _footer(page: Page) -> str:
    note = "All rights reserved. Cookies help us." if page.language == "en" else "無断転載を禁じます。"
    return f"<aside><ul><li><a href='/more'>…</a></li></ul></aside>\n<footer><p>© {page.host} {note}</p></footer>\n"


def _scripted(page: Page) -> str:
    """Without a browser there is a frame and a script; the text is in none of them as it is read."""
    text = json.dumps(page.text.split("\n\n"))  # escapes every sign beyond ASCII
    scrambled = json.dumps([paragraph[::-1] for paragraph in json.loads(text)])
    return (
        f'<!DOCTYPE html>\n<html lang="{page.language}"><head><meta charset="utf-8"><title>{escape(page.title)}</title>'
        f'</head><body><div id="root"></div><noscript>Please enable JavaScript.</noscript>\n<script>\n'
        f"const paragraphs = {scrambled};\nconst main = document.createElement('article');\n"
        f"const head = document.createElement('h1'); head.textContent = {json.dumps(page.title)};\n"
        "main.append(head);\nfor (const one of paragraphs) {\n  const p = document.createElement('p');\n"
        "  p.textContent = Array.from(one).reverse().join('');\n  main.append(p);\n}\n"
        "document.getElementById('root').append(main);\n</script></body></html>\n"
    )


def _broken(page: Page) -> str:
    """Tags that are never closed or closed twice, stray signs, an attribute without its end."""
    inside = "\n".join(f"<P><div>{escape(paragraph)}</span>" for paragraph in page.text.split("\n\n"))
    return (
        f"<html><title>{escape(page.title)}</title><body bgcolor=#fff><table><tr><td></b><h1>{escape(page.title)}"
        f"</h2></h1>\n{inside}\n</table></table><td>&nbsp;&unknown;<a href='/x'"
    )


def _huge(page: Page) -> str:
    whole = _html(page)
    line = '<li><a href="/archive/{0}">{0}</a></li>\n'
    links = "".join(line.format(number) for number in range(HUGE // (len(line) + 6) + 1))
    return whole.replace("</footer>", f"</footer>\n<nav class='archive'><ul>\n{links}</ul></nav>") + " " * 1000


def _pdf(page: Page) -> bytes:
    """A PDF of several lines a page; only for texts in Latin letters."""
    lines = [page.title, ""]
    for paragraph in page.text.split("\n\n"):
        lines += [*textwrap.wrap(paragraph, 88), ""]
    sheets = [lines[start : start + 46] for start in range(0, len(lines), 46)]
    objects = ["<< /Type /Catalog /Pages 2 0 R >>", "", "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>"]
    kids: list[str] = []
    for sheet in sheets:
        shown = "\n".join(f"({_escaped(line)}) Tj T*" for line in sheet)
        drawing = f"BT /F1 11 Tf 14 TL 56 760 Td\n{shown}\nET"
        objects.append(f"<< /Length {len(drawing)} >>\nstream\n{drawing}\nendstream")
        fonts = "/Resources << /Font << /F1 3 0 R >> >>"
        objects.append(f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] {fonts} /Contents {len(objects)} 0 R >>")
        kids.append(f"{len(objects)} 0 R")
    objects[1] = f"<< /Type /Pages /Kids [{' '.join(kids)}] /Count {len(kids)} >>"
    return _assembled(objects)


def _escaped(line: str) -> str:
    return line.replace("\\", r"\\").replace("(", r"\(").replace(")", r"\)")


def _assembled(objects: list[str]) -> bytes:
    body = "%PDF-1.4\n"
    places: list[int] = []
    for number, text in enumerate(objects, 1):
        places.append(len(body))
        body += f"{number} 0 obj\n{text}\nendobj\n"
    table = "".join(f"{place:010} 00000 n \n" for place in places)
    size = len(objects) + 1
    trailer = f"trailer\n<< /Size {size} /Root 1 0 R >>\nstartxref\n{len(body)}\n%%EOF\n"
    return f"{body}xref\n0 {size}\n0000000000 65535 f \n{table}{trailer}".encode("ascii")
