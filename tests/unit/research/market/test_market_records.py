"""The JSON of a scan, and the schema that is published of it."""

import json
from pathlib import Path

from localllm.research.market.market_records import result_schema

PUBLISHED = Path(__file__).parents[4] / "docs" / "market-schema.json"


def test_the_published_schema_is_that_of_the_result() -> None:
    assert json.loads(PUBLISHED.read_text("utf-8")) == json.loads(json.dumps(result_schema()))


def test_names_in_the_json_are_those_that_others_read() -> None:
    names = result_schema()["$defs"]["MarketSummary"]["properties"]
    assert {"keyFindings", "rawResults", "globalInsights", "generatedAt", "recommendations"} <= {*names}
    assert {"japanese", "global", "searchTime", "totalResults"} <= {
        *result_schema()["$defs"]["SearchResults"]["properties"]
    }
