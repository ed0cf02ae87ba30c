#!/usr/bin/env python3
"""How large the first request of a conversation is, in each profile and dialect, as it arrives at a server: in bytes,
and in tokens as Mistral's own tokenizer counts the prompt its servers make of it. Beside the budgets.

.venv/bin/python benchmarks/prompts.py

The tokens need the extra `bench` (`pip install -e '.[bench]' -c constraints.txt`), which brings the vocabulary with it.
"""

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tests.support.bytecode import with_own_bytecode
from tests.support.wire_server import WireServer, says

PROGRAM = str(Path(sys.executable).with_name("localllm"))
QUESTION = "What is here?"

BUDGETS = {"standard": (5_100, 1_400), "compact": (3_300, 900)}
"""Bytes and tokens, for a model that is told of its tools in the server's own way. In the other two dialects the tools
are in the system message; what `structured` sends beside it, the schema of a step, is a grammar to the server and no
part of the prompt."""

Counter = Callable[[bytes], int]


def main() -> None:
    with_own_bytecode(os.environ)
    count = counter()
    print(f"{'first request':28} {'bytes':>7} {'budget':>7} {'tokens':>7} {'budget':>7}")
    for profile, budget in BUDGETS.items():
        for dialect in ("native", "structured", "text"):
            body = first_request(profile, dialect)
            size, most = (f"{number:,}" if dialect == "native" else "" for number in budget)
            tokens = f"{count(body):,}" if count else "?"
            print(f"{f'{profile}, {dialect}':28} {len(body):7,} {size:>7} {tokens:>7} {most:>7}")
    if count is None:
        print("Tokens are not counted: mistral-common is not installed (python3 scripts/setup.py --dev --bench).")


def first_request(profile: str, dialect: str) -> bytes:
    """The body of the first chat request in a project of three files. Leaves where the run fails."""
    with tempfile.TemporaryDirectory() as name, WireServer([says("Hello.")], models=("qwen3-8b",)) as server:
        home, project = Path(name, "home"), Path(name, "project")
        project.mkdir()
        for file in ("README.md", "main.py", "test_main.py"):
            (project / file).touch()
        environment = {
            **os.environ,
            **dict.fromkeys(("HOME", "XDG_STATE_HOME", "XDG_CONFIG_HOME"), str(home)),
            "LOCALLLM_AGENT_PROFILE": profile,
            "LOCALLLM_LLM_DIALECT": dialect,
        }
        command = [PROGRAM, "-p", QUESTION, "--base-url", server.url]
        run = subprocess.run(
            command, cwd=project, env=environment, stdin=subprocess.DEVNULL, capture_output=True, check=False
        )
        if not server.requests:
            sys.exit(f"{' '.join(command)} asked nothing:\n{run.stderr.decode()}")
        return server.requests[0]


def counter() -> Counter | None:
    """Counts the tokens of a request's prompt by the tokenizer and chat template of Mistral's open models (Tekken,
    131,072 entries: Nemo, Small, Devstral); None without mistral-common."""
    try:
        from mistral_common.protocol.instruct.request import ChatCompletionRequest
        from mistral_common.tokens.tokenizers.mistral import MistralTokenizer
    except ImportError:
        return None
    tokenizer = MistralTokenizer.v3(is_tekken=True)

    def count(body: bytes) -> int:
        request: dict[str, Any] = msgspec.json.decode(body)
        asked = ChatCompletionRequest.from_openai(request["messages"], tools=request.get("tools"))
        return len(tokenizer.encode_chat_completion(asked).tokens)

    return count


if __name__ == "__main__":
    main()
