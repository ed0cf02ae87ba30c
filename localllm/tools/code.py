"""analyze_code: what a source file, or a folder of them, is made of."""

from localllm.safety.tool_definition import Risk, ToolOutput
from localllm.tools.context import ToolContext
from localllm.tools.registry import tool


@tool(risk=Risk.SAFE, brief="Outline a source file, or map a folder.")
async def analyze_code(context: ToolContext, file_path: str) -> ToolOutput:
    """Outline a source file (definitions with line ranges, imports, complexity, syntax errors), or map a folder."""
    from localllm.tools.code_reports import look

    return await look(context, context.root.relative(file_path))
