"""The text of HTML: a line for each block, and for each short row of a table."""

import pytest

from localllm.documents.html_text import html_text


@pytest.mark.parametrize(
    ("html", "text"),
    [
        (
            "<p>a</p><table><thead><tr><th>区分</th><th>上限</th></tr></thead>\n<tbody>\n<tr>\n <td>宿泊費\n（東京）"
            "</td>\n <td><b>12,000円</b></td></tr><tr><td>日当<td></tbody></table><p>b</p>",
            "a\n\n区分 | 上限\n宿泊費 （東京） | 12,000円\n日当 |\n\nb",
        ),
        ("<table><tr><td>one</td></tr></table>", "one"),
        ("<table><tr><td>in<table><tr><td>1<td>2</table><td>out</table>", "in\n1 | 2\n\nout"),
        ("<table><tr><td><h2>Menu</h2><td><ul><li>x</ul></table>", "## Menu\n\n- x"),
        (f"<table><tr><td>{'x' * 600}<td>y</table>", f"{'x' * 600}\ny"),
    ],
)
def test_the_rows_of_a_table(html: str, text: str) -> None:
    assert html_text(html).text == text
