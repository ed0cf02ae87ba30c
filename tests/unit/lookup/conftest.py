"""A small shop to ask about, and somebody who asks the embedded engine."""

import subprocess
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from localllm.agent.react_agent import AgentResult, ReActAgent
from localllm.lookup.engine import Embedded
from tests.support.agents import Answering, make_agent, make_tools

FILES = {
    "README.md": (
        "# Shop\n\nA shop that sells apples over HTTP.\n\n## Usage\n\n    pip install shop\n\nRun it with "
        "`python3 -m shop`.\n"
    ),
    "pyproject.toml": '[project]\nname = "shop"\ndescription = "Sells apples"\n',
    "shop/__init__.py": '"""The shop itself."""\n',
    "shop/__main__.py": "from shop.server import serve\n\nserve()\n",
    "shop/net/retrying.py": (
        '"""Trying again."""\n\nimport time\n\nMAX_ATTEMPTS: int = 3\n\n\n'
        "class RetryPolicy:\n"
        '    """How often a failed request is repeated, and how long to wait. Not for writes."""\n\n'
        "    def wait_before(self, attempt: int) -> float:\n"
        '        """Seconds to wait before the next attempt."""\n'
        "        return 2.0**attempt\n\n\n"
        "def with_retries(call):\n"
        '    """Call again while the connection fails."""\n'
        "    policy = RetryPolicy()\n"
        "    for attempt in range(MAX_ATTEMPTS):\n"
        "        time.sleep(policy.wait_before(attempt))\n"
    ),
    "shop/server.py": (
        "import json\n\nfrom shop.net.retrying import RetryPolicy, with_retries\n\nPORT = 8123\n\n\n"
        "# Answers requests until it is told to stop.\n"
        "def serve():\n"
        "    with_retries(None)\n"
        '    raise RuntimeError(f"No such table: {PORT}, ask the owner")\n'
    ),
    "shop/accounts.py": (
        "class LoginForm:\n"
        '    """認証: 利用者の名前と暗証番号を確かめる。"""\n\n'
        "    def authenticate(self, user, password):\n"
        "        # TODO: lock after five failures\n"
        "        return check_password(user, password)\n\n\n"
        "def check_password(user, password):\n"
        '    """Whether the password is right."""\n'
        "    return True\n"
    ),
    "web/format-bytes.js": (
        "// Bytes as people read them.\nconst formatBytes = (bytes) => {\n  return `${bytes} B`\n}\n"
        "module.exports = formatBytes\n"
    ),
    "tests/test_retrying.py": (
        "import unittest\n\nfrom shop.net.retrying import RetryPolicy\n\n\n"
        "class RetryTest(unittest.TestCase):\n"
        "    def test_waits_longer(self):\n"
        "        self.assertLess(RetryPolicy().wait_before(1), RetryPolicy().wait_before(2))\n"
    ),
    "tests/__init__.py": "",
    ".env": "PAYMENT_KEY=live_5t0l3n\n",
}

Ask = Callable[..., Awaitable[AgentResult]]


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """The shop's folder."""
    root = tmp_path / "shop"
    for name, text in FILES.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, encoding="utf-8")
    return root


@pytest.fixture
def committed(shop: Path) -> Path:
    """The shop under git, with two commits."""

    def git(*arguments: str) -> None:
        identity = ("-c", "user.name=Ann", "-c", "user.email=ann@example.org")
        subprocess.run(["git", *identity, *arguments], cwd=shop, check=True, capture_output=True)

    git("init", "--quiet", "--template=")
    git("config", "user.name", "Ann")
    git("config", "user.email", "ann@example.org")
    git("add", "README.md")
    git("commit", "--quiet", "-m", "Open the shop")
    git("add", ".")
    git("commit", "--quiet", "-m", "Sell apples")
    return shop


def agent_in(root: Path, confirmer: Answering | None = None) -> ReActAgent:
    """The embedded engine over the real tools."""
    return make_agent(Embedded(root), root, tools=make_tools(root, confirmer=confirmer))


@pytest.fixture
def ask(shop: Path) -> Ask:
    """Ask in the shop; several questions are one conversation, and the last answer is given."""

    async def ask(*questions: str, confirmer: Answering | None = None) -> AgentResult:
        agent = agent_in(shop, confirmer)
        for question in questions[:-1]:
            await agent.execute_query(question)
        return await agent.execute_query(questions[-1])

    return ask
