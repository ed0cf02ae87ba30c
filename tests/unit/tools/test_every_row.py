"""A statement that changes every row is asked about like `rm -rf`: not if /undo brings the database back."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from localllm.config.schema import SafetySettings
from tests.support.agents import Answering, make_tools
from tests.support.each import each

pytestmark = pytest.mark.anyio


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    for name in ("shop.db", "ignored.db"):
        with closing(sqlite3.connect(folder / name)) as database, database:
            database.execute("create table orders(id integer)")
    (folder / ".gitignore").write_text("ignored.db\n")
    return folder


@each(
    ("command", "is_asked"),
    [
        ('sqlite3 shop.db "delete from orders"', False),
        ('sqlite3 ignored.db "delete from orders where id=1"', False),
        ('sqlite3 ignored.db "delete from orders"', True),
        ('psql -c "update users set name = 1"', True),
        ("python3 -c \"import sqlite3; sqlite3.connect('shop.db').execute('delete from orders')\"", True),
    ],
)
async def test_it_is_asked_about_as_dangerous(project: Path, command: str, is_asked: bool) -> None:
    person = Answering(approve=False)
    tools = make_tools(project, confirmer=person, safety=SafetySettings(mode="auto"))
    result = await tools.execute_tool("run_command", command=command)
    assert [one.risk for one in person.asked] == ["dangerous"] * is_asked
    assert (result.get("code") == "E9011") is is_asked
