"""The line of a file that says what it is about, with which each of its passages is found."""

import pytest

from localllm.rag.ingest import lead_of
from localllm.rag.records import Chunk, Place


@pytest.mark.parametrize(
    ("text", "lead"),
    [
        ('"""Lock a file."""\nimport os', "Lock a file."),
        ('#!/usr/bin/env python3\n# -*- coding: utf-8 -*-\n"""Lock a file."""', "Lock a file."),
        ("// SPDX-License-Identifier: MIT\n// Copyright (c) 2019 Acme Corp\n// Lock a file", "Lock a file"),
        ("---\ntitle: Pump\ntags: a\n---\nHow a pump is cleaned", "How a pump is cleaned"),
        ("社外秘\nポンプの掃除", "ポンプの掃除"),
        ("Who has the copyright of a report", "Who has the copyright of a report"),
        ("Encoding: how texts are kept", "Encoding: how texts are kept"),
        ("#!/bin/sh\n", ""),
    ],
)
def test_the_first_line_that_tells_something_leads(text: str, lead: str) -> None:
    assert lead_of([Chunk(text=text, place=Place("lines", 1, 3))]) == lead
