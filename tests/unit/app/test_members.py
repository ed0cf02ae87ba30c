"""The classes of the design papers have their members, as what the program uses."""

import inspect
import json
from pathlib import Path

import pytest

from localllm.agent.panel.multi_agent import MultiAgentSystem
from localllm.agent.react_agent import ReActAgent
from localllm.app.app import LocalLLMCode
from localllm.base.cache import CacheManager
from localllm.config.schema import AgentSettings
from localllm.context.context_manager import SmartContextManager
from localllm.llm.client import LLMClient
from localllm.memory.external_memory import ExternalMemorySystem
from localllm.project.analyzer import ProjectAnalyzer
from localllm.tools.tool_system import ToolSystem
from tests.support.each import each
from tests.support.wire_server import WireServer, says
from tests.unit.app.test_app import app_over, played, state

__all__ = ["state"]

pytestmark = pytest.mark.anyio

MEMBERS: dict[type, str] = {
    LocalLLMCode: "config react_agent tool_system project_analyzer llm_client context_manager external_memory "
    "multi_agent_system is_running initialize run_interactive run_oneshot cleanup",
    ReActAgent: "llm_client tool_system context_manager external_memory max_iterations current_iteration "
    "thought_history loop_detection_threshold stuck_patterns execute_query think act observe detect_loop "
    "handle_stuck_situation auto_load_file_references",
    MultiAgentSystem: "llm_clients agent_roles consultation_history rate_limiter health_checker fallback_providers "
    "three_wise_consultation boss_consultation health_check_providers select_best_provider apply_rate_limiting",
    ToolSystem: "execute_tool validate_file_operation create_backup detect_code_destruction safe_command_execution "
    "filter_dangerous_commands",
    LLMClient: "chat_completion health_check auto_reconnect estimate_tokens",
    SmartContextManager: "optimize_context calculate_relevance_score compress_content",
    ProjectAnalyzer: "analyze parallel_file_analysis analyze_file merge_analysis_results",
    ExternalMemorySystem: "add_todo chunk_large_task search_memory",
    CacheManager: "file_cache analysis_cache llm_cache",
}


async def test_every_member_is_there(tmp_path: Path) -> None:
    with WireServer([says("Here.")]) as server:
        async with app_over(tmp_path, server.url) as app:
            await played(app, "hello")
            made: dict[type, object] = {
                LocalLLMCode: app,
                ReActAgent: app.react_agent,
                MultiAgentSystem: app.multi_agent_system,
                ToolSystem: app.tool_system,
                LLMClient: app.llm_client,
                SmartContextManager: app.context_manager,
                ProjectAnalyzer: app.project_analyzer,
                ExternalMemorySystem: app.external_memory,
                CacheManager: app.caches,
            }
            assert made.keys() == MEMBERS.keys()
            missing = [
                f"{kind.__name__}.{name}"
                for kind, names in MEMBERS.items()
                for name in names.split()
                if not (isinstance(made[kind], kind) and hasattr(made[kind], name))
            ]
    assert missing == []


@each(
    ("function", "name", "default"),
    [
        (ReActAgent.execute_query, "context", None),
        (MultiAgentSystem.three_wise_consultation, "context", None),
        (MultiAgentSystem.boss_consultation, "consultation_history", None),
        (MultiAgentSystem.select_best_provider, "task_type", None),
        (LLMClient.chat_completion, "stream", True),
        (SmartContextManager.compress_content, "target_ratio", 0.5),
        (ExternalMemorySystem.add_todo, "priority", "medium"),
        (ExternalMemorySystem.chunk_large_task, "max_size", 2000),
        (ExternalMemorySystem.search_memory, "limit", 10),
    ],
)
def test_what_may_be_left_out_has_the_value_it_had(function: object, name: str, default: object) -> None:
    assert callable(function)
    assert inspect.signature(function).parameters[name].default == default


async def test_the_context_of_a_query_is_read_by_the_model(tmp_path: Path) -> None:
    with WireServer([says("Seen.")]) as server:
        async with app_over(tmp_path, server.url) as app:
            await app.ready()
            result = await app.react_agent.execute_query("Why?", {"log": "disk full", "tries": [1, 2]})
        assert str(result) == "Seen."
        request = json.loads(server.requests[-1])["messages"][-1]["content"]
    assert request.startswith("log:\ndisk full\n\ntries:\n[1, 2]\n\nWhy?")


async def test_it_is_running_while_a_request_is_carried_out(tmp_path: Path) -> None:
    with WireServer([says("Here.")]) as server:
        async with app_over(tmp_path, server.url) as app:
            seen = [app.is_running]
            seen += [app.is_running async for _ in app.run("hello")]
            seen += [app.is_running]
    assert (seen[0], seen[-1]) == (False, False)
    assert len(seen) > 3
    assert all(seen[1:-1])


async def test_its_limits_are_those_of_the_settings(tmp_path: Path) -> None:
    settings = AgentSettings(max_iterations=7, loop_detection_threshold=4)
    with WireServer([says("Here.")]) as server:
        async with app_over(tmp_path, server.url, agent=settings) as app:
            agent = app.react_agent
            assert (agent.max_iterations, agent.loop_detection_threshold) == (7, 4)
            assert agent.context_manager is app.context_manager is agent.compaction.manager
            assert app.project_analyzer is app.project_analyzer
