"""Documents and migrations that are claimed or ordered in other words than by their path."""

from pathlib import Path

import pytest

from localllm.agent.phrases.claimed_places import claimed_documents, is_of_kind, ordered_documents
from tests.support.each import each
from tests.unit.agent.test_run_endings import STEPS, agent_for, make_project, remarks


@each(
    ("answer", "kinds"),
    [
        ("箱の個数を30に変更し、設計書も修正しました。", ["documentation"]),
        ("仕様書を更新しました。", ["documentation"]),
        ("モデルを変更し、マイグレーションも作成しました。", ["migration"]),
        ("I created the migration.", ["migration"]),
        ("The field is there, and its migration was generated.", ["migration"]),
        ("設計書は修正していません。", []),
        ("設計書に従って箱の個数を修正しました。", []),
        ("設計書に合わせてコードを更新しました。", []),
        ("設計書の記載どおりに値を変更しました。", []),
        ("設計書を参考に修正しました。", []),
        ("マイグレーションはまだ作成していません。", []),
        ("Run makemigrations: the migration is not created yet.", []),
        ("I created a migration guide.", []),
    ],
)
def test_what_an_answer_claims(answer: str, kinds: list[str]) -> None:
    assert claimed_documents(answer) == kinds


def test_what_a_request_orders() -> None:
    assert ordered_documents("箱の個数を 30 に変えて、設計書も修正して", "変えました。") == ["documentation"]
    assert ordered_documents("箱の個数を 30 に変えて、設計書も修正して", "設計書は未修正です。") == []
    assert ordered_documents("設計書に従って修正して", "修正しました。") == []
    assert ordered_documents("仕様書に合わせて a.py を修正してください", "修正しました。") == []


@each(
    ("path", "kind", "is_one"),
    [
        ("設計/概要.md", "documentation", True),
        ("設計/画面.xlsx", "documentation", True),
        ("src/在庫.py", "documentation", False),
        ("blog/migrations/0002_x.py", "migration", True),
        ("alembic/versions/1a_x.py", "migration", True),
        ("blog/models.py", "migration", False),
    ],
)
def test_the_files_of_a_kind(path: str, kind: str, is_one: bool) -> None:
    assert is_of_kind(path, kind) == is_one  # type: ignore[arg-type]


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("answer", "count"),
    [
        ("x を2に変更し、設計書も修正しました。", 1),
        ("x を2に変更し、マイグレーションも作成しました。", 1),
        ("x を2に変更しました。設計書はありません。", 0),
    ],
)
async def test_a_claim_without_such_a_file(tmp_path: Path, answer: str, count: int) -> None:
    agent = agent_for(make_project(tmp_path), STEPS["edit"], *[answer] * 3)
    await agent.execute_query("x を 2 に変えて、設計書とマイグレーションもお願いします")
    assert len([one for one in remarks(agent) if "Not changed: " in one]) == count
