"""What Azure's content filter found, in a few words."""

from typing import Any, cast

from localllm.base.events import Json


def filtered_in(error: dict[str, Json]) -> str:
    """The categories an error of the filter names. Its fields are spelled in two ways, with and without "_" and "s"."""
    inner: Any = error.get("innererror") or error.get("inner_error")
    match inner:
        case {"content_filter_result": results} | {"content_filter_results": results}:
            return filtered_categories(results)
        case _:
            return ""


def filtered_categories(results: Json) -> str:
    """The categories that were filtered and how severe the filter found them: "violence (medium), jailbreak"."""
    if not isinstance(results, dict):
        return ""
    verdicts = cast("dict[str, Any]", results).items()
    return ", ".join(filter(None, (_category(name, verdict) for name, verdict in verdicts)))


def _category(name: str, verdict: Any) -> str:
    match verdict:
        case {"filtered": True, "severity": str(severity)}:
            return f"{name} ({severity})"
        case {"filtered": True}:
            return name
        case _:
            return ""
