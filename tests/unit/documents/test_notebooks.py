"""Notebooks as text."""

import json
from typing import Any

import pytest

from localllm.documents.notebooks import notebook_text


def notebook(*cells: dict[str, Any]) -> bytes:
    return json.dumps({"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": list(cells)}).encode()


def test_cells_stand_under_their_numbers_with_what_they_showed() -> None:
    shown = {"output_type": "display_data", "data": {"image/png": "iVBORw0…", "text/plain": ["<Figure>"]}}
    failed = {"output_type": "error", "ename": "ValueError", "evalue": "bad", "traceback": ["\x1b[31mlong"]}
    printed = {"output_type": "stream", "name": "stdout", "text": ["one\n", "two\n"]}
    data = notebook(
        {"cell_type": "markdown", "source": ["# Title\n", "日本語"]},
        {"cell_type": "code", "execution_count": 7, "source": "f()", "outputs": [printed, shown, failed]},
    )
    assert notebook_text(data).splitlines() == [
        "--- cell 1: markdown ---",
        "# Title",
        "日本語",
        "--- cell 2: code In[7] ---",
        "f()",
        "--- output of cell 2 ---",
        "one",
        "two",
        "--- output of cell 2 ---",
        "<Figure>",
        "[image/png]",
        "--- output of cell 2 ---",
        "ValueError: bad",
    ]


def test_long_outputs_keep_their_ends() -> None:
    many = "".join(f"{number}\n" for number in range(100))
    cell = {"cell_type": "code", "source": "", "outputs": [{"output_type": "stream", "text": many}]}
    lines = notebook_text(notebook(cell)).splitlines()
    assert lines[3] == "0"
    assert "[… 80 lines …]" in lines
    assert lines[-1] == "99"
    cell["outputs"] = [{"output_type": "stream", "text": "x" * 10_000}]
    assert len(notebook_text(notebook(cell))) < 2_200


@pytest.mark.parametrize("data", [b"", b"[]", b"{}", b'{"cells": 3}', b'{"cells": [{"source": []}]}', b"\xff"])
def test_what_is_no_notebook_is_refused(data: bytes) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - the words are those of the JSON library
        notebook_text(data)
