"""Edits of a notebook as the text of its cells."""

import json
from typing import Any

import pytest

from localllm.documents.notebook_cells import (
    Cell,
    cells,
    cells_text,
    changed,
    compared,
    fitted,
    parse,
    python_of,
    replaced,
)
from tests.support.each import each

CELLS: list[dict[str, Any]] = [
    {"cell_type": "markdown", "id": "a1", "metadata": {}, "source": ["# Orders\n", "\n", "Text"]},
    {"cell_type": "code", "id": "b2", "metadata": {}, "outputs": [], "source": ["x = load('a.csv')\n", "t = sum(x)"]},
    {"cell_type": "code", "id": "c3", "metadata": {}, "outputs": [{"text": ["1\n"]}], "source": []},
    {"cell_type": "code", "id": "d4", "metadata": {}, "outputs": [], "source": ["y = 1\n", "y = 1\n"]},
]
NOTEBOOK: dict[str, Any] = {"cells": CELLS, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
LAYOUTS = [
    json.dumps(NOTEBOOK, indent=1) + "\n",
    json.dumps(NOTEBOOK, indent=4),
    json.dumps(NOTEBOOK),
    json.dumps(NOTEBOOK, separators=(",", ":")),
    json.dumps({"nbformat": 4, "cells": [cell | {"source": "".join(cell["source"])} for cell in CELLS]}),
]


def edited(raw: str, old: str, new: str) -> str:
    text = cells_text(cells(raw) or [])
    old, new = fitted(text, old, new)
    assert text.count(old) == 1
    place = replaced(raw, parse(text.replace(old, new)))
    assert place
    start, end, put = place
    return raw[:start] + put + raw[end:]


def sources(raw: str) -> list[tuple[str, str]]:
    return [(cell["cell_type"], "".join(cell["source"])) for cell in json.loads(raw)["cells"]]


FIRST, SECOND, THIRD, FOURTH = [(cell["cell_type"], "".join(cell["source"])) for cell in CELLS]


@each(
    ("old", "new", "expected"),
    [
        ("t = sum(x)", 't = sum(r["n"] for r in x)', ("code", "x = load('a.csv')\nt = sum(r[\"n\"] for r in x)")),
        ("x = load('a.csv')\nt", "x = []\n\nt", ("code", "x = []\n\nt = sum(x)")),
        ("t = sum(x)\n", "t = 0\n", ("code", "x = load('a.csv')\nt = 0")),
        ("x = load('a.csv')\nt = sum(x)", "# 合計 \\d", ("code", "# 合計 \\d")),
        ("x = load('a.csv')\nt = sum(x)", "", ("code", "")),
        ("--- cell 2: code In[7] ---\nx = load('a.csv')", "x = 1", ("code", "x = 1\nt = sum(x)")),
        ("--- cell 5: code ---\nx = load('a.csv')", "--- cell 5: code ---\nx = 1", ("code", "x = 1\nt = sum(x)")),
        ("x = load('a.csv')", "--- cell 2: code In[7] ---\nx = 1", ("code", "x = 1\nt = sum(x)")),
    ],
)
def test_an_edit_of_a_cell_is_one_of_its_source_in_every_layout(old: str, new: str, expected: tuple[str, str]) -> None:
    for raw in LAYOUTS:
        after = edited(raw, old, new)
        assert sources(after) == [FIRST, expected, THIRD, FOURTH]
        after_cells, before_cells = json.loads(after)["cells"], json.loads(raw)["cells"]
        after_cells[1]["source"] = before_cells[1]["source"]
        assert after_cells == before_cells


@each(
    ("old", "new", "expected"),
    [
        (
            "t = sum(x)",
            "t = sum(x)\n--- cell 3: code ---\nprint(t)",
            [FIRST, SECOND, ("code", "print(t)"), THIRD, FOURTH],
        ),
        ("t = sum(x)", "t = sum(x)\n--- new cell ---\nprint(t)", [FIRST, SECOND, ("code", "print(t)"), THIRD, FOURTH]),
        (
            "Text",
            "Text\n\n--- cell 2: markdown ---\n\n## Sum\n",
            [FIRST, ("markdown", "## Sum"), SECOND, THIRD, FOURTH],
        ),
        (
            "# Orders",
            "--- cell 1: code ---\nimport os\n--- cell 2: markdown ---\n# Orders",
            [("code", "import os"), FIRST, SECOND, THIRD, FOURTH],
        ),
        ("y = 1\ny = 1", "y = 1\ny = 1\n--- cell 5: raw ---\nend", [FIRST, SECOND, THIRD, FOURTH, ("raw", "end")]),
        ("--- cell 2: code In[7] ---\nx = load('a.csv')\nt = sum(x)\n", "", [FIRST, THIRD, FOURTH]),
        ("--- cell 4: code ---\ny = 1\ny = 1", "", [FIRST, SECOND, THIRD]),
        (
            "t = sum(x)\n--- cell 3: code ---\n\n--- output of cell 3 ---\n1\n--- cell 4: code ---\ny = 1\n",
            "t = 2\n--- cell 3: code ---\ny = 1\n",
            [FIRST, ("code", "x = load('a.csv')\nt = 2"), FOURTH],
        ),
        (
            "--- cell 1: markdown ---\n# Orders\n\nText",
            "--- cell 1: raw ---\nText",
            [("raw", "Text"), SECOND, THIRD, FOURTH],
        ),
    ],
)
def test_a_line_between_cells_begins_a_cell(old: str, new: str, expected: list[tuple[str, str]]) -> None:
    for raw in LAYOUTS:
        after = edited(raw, old, new)
        assert [(kind, text.rstrip("\n")) for kind, text in sources(after)] == [
            (kind, text.rstrip("\n")) for kind, text in expected
        ]
        kept = {cell["id"]: cell for cell in CELLS}
        ids = [cell["id"] for cell in json.loads(after)["cells"]]
        assert len(set(ids)) == len(ids)
        for cell in json.loads(after)["cells"]:
            if cell["cell_type"] == "code":
                assert cell["outputs"] == (kept[cell["id"]]["outputs"] if cell["id"] in kept else [])


def test_the_file_is_written_as_it_was() -> None:
    added = "t = sum(x)\n--- cell 3: code ---\nprint(t)\nprint('é')"
    new: dict[str, Any] = {
        "cell_type": "code",
        "execution_count": None,
        "id": "",
        "metadata": {},
        "outputs": [],
        "source": [],
    }
    for indent, raw in ((1, LAYOUTS[0]), (4, LAYOUTS[1]), (None, LAYOUTS[2])):
        after = edited(raw, "t = sum(x)", added)
        one = json.loads(after)["cells"][2]
        assert one == new | {"id": one["id"], "source": ["print(t)\n", "print('é')"]}
        whole = json.dumps(NOTEBOOK | {"cells": [*CELLS[:2], one, *CELLS[2:]]}, indent=indent, ensure_ascii=False)
        assert after.rstrip("\n") == whole
    escaped = json.dumps({"cells": [CELLS[1] | {"source": ["a = 'é'\n", "b = 1"]}]})
    assert "\\u00e8" in edited(escaped, "b = 1", "b = 'è'")


def test_a_new_cell_has_an_id_only_where_cells_have_some() -> None:
    bare = [{key: cell[key] for key in cell if key != "id"} | {"metadata": {"id": "x"}} for cell in CELLS]
    raw = json.dumps(NOTEBOOK | {"cells": bare, "nbformat_minor": 0})  # as Colab writes them
    after = edited(raw, "# Orders", "--- cell 1: code ---\nz = 0\n--- cell 1: markdown ---\n# Orders")
    added = next(cell for cell in json.loads(after)["cells"] if "".join(cell["source"]) == "z = 0")
    assert "id" not in added


def test_an_empty_source_is_filled_in_the_layout_of_the_file() -> None:
    filled = [*CELLS[:2], CELLS[2] | {"source": ["z = 1\n", "z"]}, CELLS[3]]
    after = edited(LAYOUTS[0], "--- cell 3: code ---\n", "--- cell 3: code ---\nz = 1\nz\n")
    assert after == json.dumps(NOTEBOOK | {"cells": filled}, indent=1) + "\n"


@pytest.mark.parametrize(
    "raw", ["", "{}", '{"cells": []}', '{"cells": [{"cell_type": "code"}]}', "[1]", '{"cells": 1}']
)
def test_what_has_no_cells_is_edited_as_it_is(raw: str) -> None:
    assert cells(raw) is None


def test_a_source_that_looks_like_the_line_above_a_cell_is_not_read_as_one() -> None:
    raw = json.dumps({"cells": [{"cell_type": "code", "source": "a\n--- cell 4: code ---\nb"}]})
    assert cells(raw) is None


def test_the_cells_that_changed_are_shown() -> None:
    after = edited(LAYOUTS[2], "t = sum(x)", "t = 0\n--- cell 3: markdown ---\n# Sum")
    assert (
        changed(LAYOUTS[2], after) == "--- cell 2: code ---\nx = load('a.csv')\nt = 0\n--- cell 3: markdown ---\n# Sum"
    )
    assert cells(after) == [
        Cell("markdown", "# Orders\n\nText"),
        Cell("code", "x = load('a.csv')\nt = 0"),
        Cell("markdown", "# Sum"),
        Cell("code", ""),
        Cell("code", "y = 1\ny = 1"),
    ]


def test_the_python_of_cells_is_without_ipythons_commands() -> None:
    source = "%matplotlib inline\n!pip install x\nfiles = !ls\ndf.head?\nif x:\n    %time f()\nx = '%d' % 3"
    magic = {"cell_type": "code", "source": "%%bash\nls |"}
    raw = json.dumps(
        {"cells": [{"cell_type": "markdown", "source": "a b"}, {"cell_type": "code", "source": source}, magic]}
    )
    assert python_of(raw) == [(2, "pass\npass\npass\npass\nif x:\n    pass\nx = '%d' % 3")]
    assert python_of(json.dumps(json.loads(raw) | {"metadata": {"language_info": {"name": "R"}}})) == []


def test_a_line_of_an_expression_is_none_of_ipythons_commands() -> None:
    source = 'a = (\n    "%s"\n    % name\n)\nb = (\n    a\n    != name\n)'
    raw = json.dumps({"nbformat": 4, "cells": [{"cell_type": "code", "source": source}]})
    assert python_of(raw) == [(1, source)]


@each(
    ("old", "new"),
    [
        ('"nbformat": 4', '"cells": [{"cell_type": "code", "metadata": {}, "source": ["evil()"]}],\n "nbformat": 4'),
        ('"metadata": {},\n "nbformat"', '"metadata": {"kernelspec": {"name": "evil"}},\n "nbformat"'),
        ('"1\\n"', '"<script>evil()</script>"'),
        ('"id": "a1",', '"id": "a1", "attachments": {"a.html": {}},'),
        ('"id": "a1",', '"id": "z9",'),
        ('"id": "a1",', ""),
    ],
)
def test_what_an_edit_changes_beside_cells_is_shown_with_them(old: str, new: str) -> None:
    raw = LAYOUTS[0]
    after = edited(raw, "y = 1\ny = 1", "y = 2")
    was, now = compared(raw, after)
    assert ("y = 1" in was, "y = 2" in now) == (True, True)
    assert json.dumps("nbformat") not in now
    assert after.count(old) == 1
    also = after.replace(old, new)
    assert compared(raw, also) == (raw, also)


@each("lost", ["outputs", "metadata", "attachments", "execution_count"])
def test_what_an_edit_takes_from_a_cell_that_stays_is_shown(lost: str) -> None:
    cell: dict[str, Any] = CELLS[2] | {"metadata": {"tags": ["a"]}, "attachments": {"a.png": {}}, "execution_count": 7}
    before = json.dumps(NOTEBOOK | {"cells": [*CELLS[:2], cell, CELLS[3]]}, indent=1)
    empty: dict[str, Any] = cell | {lost: None if lost == "execution_count" else type(cell[lost])()}
    after = json.dumps(NOTEBOOK | {"cells": [*CELLS[:2], empty | {"source": ["z = 1"]}, CELLS[3]]}, indent=1)
    assert compared(before, after) == (before, after)


def test_outputs_that_change_places_are_shown() -> None:
    before = json.dumps(NOTEBOOK, indent=1)
    swapped: list[dict[str, Any]] = [
        CELLS[0],
        CELLS[1] | {"outputs": CELLS[2]["outputs"], "source": ["z"]},
        CELLS[2] | {"outputs": []},
    ]
    after = json.dumps(NOTEBOOK | {"cells": [*swapped, CELLS[3]]}, indent=1)
    assert compared(before, after) == (before, after)


def test_an_id_may_be_anything() -> None:
    before = LAYOUTS[0].replace('"d4"', '["d4"]')
    _was, now = compared(before, before.replace("y = 1", "y = 2"))
    assert now.endswith("--- cell 4: code ---\ny = 2\ny = 2")


def test_an_added_cell_is_shown_alone() -> None:
    after = edited(LAYOUTS[0], "# Orders\n\nText", "# Orders\n\nText\n--- cell 2: code ---\nz = 3")
    _was, now = compared(LAYOUTS[0], after)
    assert "z = 3" in now
    assert json.dumps("nbformat") not in now
