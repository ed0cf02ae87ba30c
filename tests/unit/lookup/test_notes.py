"""What the engine answers from the project's notes."""

from pathlib import Path

import pytest

from localllm.agent.system_prompt import Briefing
from localllm.llm.model_features import STANDARD
from localllm.lookup.notes import read_notes
from localllm.memory.project_memory import ProjectMemory
from tests.unit.lookup.conftest import Ask

NOTES = (
    "## TODO\n- [ ] Write the docs\n\n"
    "## Decisions\n- 2026-11-20 Tokens expire after an hour\n- 2026-11-21 Apples are kept in sqlite\n\n"
    "## Preferences\n- Short answers\n\n"
    "## Session records\n- 2026-11-21 14:05 Make the login work (20261121-140500-ab12)\n"
    "  - decided: tokens expire\n  - changed: login.py\n"
)
TOLD = (
    "<project-notes>\nKept in LOCALLLM.md from earlier work. Background, no request:\n"
    "Decisions:\n- 2026-11-20 Tokens expire\n(and 3 more: recall finds them)\n</project-notes>\n\nhello"
)
pytestmark = pytest.mark.anyio


def with_notes(root: Path, question: str) -> str:
    """The first message of a conversation in a project that has notes."""
    (root / "LOCALLLM.md").write_text(NOTES, "utf-8")
    return f"{Briefing(root, ProjectMemory(root, 'LOCALLLM.md')).notes(STANDARD)}\n\n{question}"


@pytest.mark.parametrize(
    ("question", "told", "not_told"),
    [
        ("What did we decide?", "Tokens expire after an hour", "Short answers"),
        ("which decisions were made?", "Apples are kept in sqlite", "Short answers"),
        ("決定事項は？", "Apples are kept in sqlite", "Short answers"),
        ("何を決めた？", "Tokens expire after an hour", "Short answers"),
        ("What did we decide about apples?", "Apples are kept in sqlite", "Tokens"),
        ("トークンについて決めたことは？", "Tokens expire after an hour", "Apples"),
        ("what are our preferences?", "Short answers", "Apples"),
        ("What did we do last time?", "changed: login.py", "Apples"),
        ("where did we leave off?", "Make the login work", "Apples"),
        ("前回何をした？", "Make the login work", "Apples"),
        ("昨日は何をしましたか？", "Make the login work", "Apples"),
        ("何をすればいい？", "Write the docs", "Apples"),
        ("what should I do?", "Write the docs", "Apples"),
    ],
)
async def test_a_question_about_the_notes_is_answered_from_them(
    ask: Ask, shop: Path, question: str, told: str, not_told: str
) -> None:
    answer = (await ask(with_notes(shop, question))).answer

    assert told in answer
    assert not_told not in answer


async def test_a_decision_that_is_not_there_is_not_made_of_another(ask: Ask, shop: Path) -> None:
    answer = (await ask(with_notes(shop, "What did we decide about colours?"))).answer
    assert answer.startswith("Of that the notes have no decision.")


async def test_nor_of_one_that_only_sounds_like_it(ask: Ask, shop: Path) -> None:
    (shop / "LOCALLLM.md").write_text("## Decisions\n- 2026-11-20 ネットワークは使わない\n", "utf-8")
    assert "ネットワーク" not in (await ask("トークンについて決めたことは？")).answer


async def test_a_decision_that_the_conversation_was_not_told_is_looked_up(ask: Ask, shop: Path) -> None:
    (shop / "LOCALLLM.md").write_text("## Decisions\n- 2026-11-20 Pears come later\n- 2026-11-21 No melons\n", "utf-8")
    answer = (await ask("What did we decide about pears?")).answer
    assert "- 2026-11-20 Pears come later" in answer
    assert "melons" not in answer


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("決定事項は？", "決定事項の記録はありません"),
        ("What did we do last time?", "no record of an earlier session"),
    ],
)
async def test_where_nothing_is_noted_that_is_said(ask: Ask, question: str, answer: str) -> None:
    assert answer in (await ask(question)).answer


@pytest.mark.parametrize("question", ["What is left to do?", "What did we decide?", "前回何をした？"])
async def test_notes_that_cannot_be_read_are_not_called_empty(ask: Ask, shop: Path, question: str) -> None:
    (shop / "LOCALLLM.md").write_bytes("メモ".encode("shift_jis"))

    answer = (await ask(question)).answer

    assert "LOCALLLM.md" in answer
    assert "not UTF-8" in answer
    assert "No TODO is open" not in answer


async def test_what_the_person_noted_since_counts() -> None:
    notes = read_notes(
        [
            TOLD,
            "[The user has noted a decision: Use tabs]\n\nand now?",
            "[利用者が取り消しました。もう当てはまりません: Tokens expire]\n\nnext",
        ]
    )
    assert notes.file == "LOCALLLM.md"
    assert notes.lines["decisions"] == ("- Use tabs",)
    assert notes.left_out == {"decisions": 3}
