"""The tool search_files: search the project's files for a pattern or a definition."""

from localllm.safety.tool_definition import Risk, ToolOutput
from localllm.tools.context import ToolContext
from localllm.tools.registry import tool
from localllm.tools.search_arguments import WantedLines

_MOST_RESULTS = 100
_MOST_ASKED = 1_000  # some ten times what one answer can show


@tool(
    risk=Risk.SAFE, paths=("path",), unlisted=("code", "before", "after", "around"), rare=("ignore_case", "max_results")
)
async def search_files(
    context: ToolContext,
    pattern: str,
    path: str = ".",
    include: str = "",
    ignore_case: bool = False,
    max_results: int = _MOST_RESULTS,
    code: WantedLines | None = None,
    before: int = 0,
    after: int = 0,
    around: int = 0,
) -> ToolOutput:
    """Search files for a regular expression."""
    from localllm.tools.file_search import Request, glob_of, search, understand, understand_code

    if code:
        query, reason = understand_code(pattern, code, ignore_case=ignore_case)
        include = include or glob_of(code)
    else:
        query, reason = understand(pattern, ignore_case=ignore_case)
    request = Request(
        query,
        context.root.relative(path),
        include,
        min(max_results, _MOST_ASKED) if max_results > 0 else _MOST_RESULTS,
        pattern,
        before=before or around,
        after=after or around,
    )
    return await search(context, request, reason)
