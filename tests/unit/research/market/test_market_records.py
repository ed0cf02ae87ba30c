"""The JSON of a scan, and the schema that is published of it."""

import json
from inspect import cleandoc
from pathlib import Path
from typing import Any

import msgspec

from localllm.research.market.market_records import MarketResult

PUBLISHED = Path(__file__).parents[4] / "docs" / "market-schema.json"


def result_schema() -> dict[str, Any]:
    """Return the JSON schema of a result, independent of the Python version: up to 3.12 docstrings keep their
    indentation."""
    schema = msgspec.json.schema(MarketResult)
    for one in schema["$defs"].values():
        if "description" in one:
            one["description"] = cleandoc(one["description"])
    return schema


def test_the_published_schema_is_that_of_the_result() -> None:
    assert json.loads(PUBLISHED.read_text("utf-8")) == json.loads(json.dumps(result_schema()))


def test_names_in_the_json_are_those_that_others_read() -> None:
    names = result_schema()["$defs"]["MarketSummary"]["properties"]
    assert {"keyFindings", "rawResults", "globalInsights", "generatedAt", "recommendations"} <= {*names}
    assert {"japanese", "global", "searchTime", "totalResults"} <= {
        *result_schema()["$defs"]["SearchResults"]["properties"]
    }
