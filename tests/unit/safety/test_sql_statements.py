"""SQL statements that change every row of a table, in command lines."""

from collections.abc import Iterable
from pathlib import Path

import pytest

from localllm.safety.paths import ProjectRoot
from localllm.safety.rules import line_of
from localllm.safety.sql_statements import keeps_rows
from tests.support.each import each


@each(
    ("line", "found"),
    [
        ('sqlite3 shop.db "delete from orders; select changes()"', "delete from orders"),
        ("sqlite3 shop.db <<E\nDELETE FROM orders;\nE", "DELETE FROM orders"),
        ('echo "delete from orders" | sqlite3 shop.db', "delete from orders"),
        ("python3 -c \"c.execute('DELETE FROM orders'); c.commit()\"", "DELETE FROM orders"),
        ('psql -c "update users set a=1"', "update users set"),
        ("psql -h db -c 'UPDATE users SET name = upper(name);'", "UPDATE users SET"),
        ('docker exec db psql -U app -c "delete from x"', "delete from x"),
        ("mysql -e 'truncate table x'", "truncate table x"),
        ('/usr/bin/sqlite3 shop.db "delete  from  a where id=1; delete from b"', "delete from b"),
        ("python3 - <<E\nc.execute('DELETE FROM a')\nc.execute('update b set x=1 where id=2')\nE", "DELETE FROM a"),
    ],
)
def test_a_statement_that_changes_every_row(line: str, found: str) -> None:
    assert line_of(line).every_row_statement == f"{found} without where"


@each(
    "line",
    [
        'grep "delete from orders" *.sql',
        'git commit -m "delete from orders"',
        "sqlite3 shop.db \"delete from orders where status='cancelled'; select changes()\"",
        'sqlite3 shop.db "update t set a=(select 1) where id=3"',
        "sqlite3 shop.db <<E\nDELETE FROM orders\nWHERE id=3;\nE",
        'sqlite3 :memory: "create table t(a); delete from t"',
        "python3 -c \"c.execute('delete from orders where id=?', (3,))\"",
        "python3 -c \"c.execute(f'delete from orders {cond}')\"",
        "python3 -c \"print('delete from orders')\"",
        "python3 update set.py",
        "cat > clean.sql <<E\ndelete from orders;\nE",
        'sqlite3 shop.db "begin; delete from orders; rollback"',
        'sqlite3 shop.db "explain query plan delete from orders"',
        "sqlite3 shop.db \"select 'please update the set now'\"",
        'psql -c "update users set a=1 from b where users.id=b.id"',
        'psql -c "delete from a using b where a.id=b.id"',
        'sqlite3 shop.db "select sum(amount) from orders"',
    ],
)
def test_other_statements_and_texts_are_not(line: str) -> None:
    assert line_of(line).every_row_statement == ""


@each(
    ("line", "paths"),
    [
        ('sqlite3 shop.db "delete from a"', ["shop.db"]),
        ('cd data && sqlite3 -header shop.db "delete from a" && sqlite3 b.db .tables', ["data/shop.db", "data/b.db"]),
        ("sqlite3 shop.db <<'E'\ndelete from a;\nE", ["shop.db"]),
        ('echo "delete from a" | sqlite3 shop.db', ["shop.db"]),
        # what is changed is not certain, or not only that
        ('psql -c "delete from a"', []),
        ('sqlite3 shop.db ".open b.db" "delete from a"', []),
        ("sqlite3 shop.db \"attach 'b.db' as b; delete from b.a\"", []),
        ('sqlite3 $DB "delete from a"', []),
        ('sqlite3 -init x.sql shop.db "delete from a"', []),
        ('mv .git shop.db; sqlite3 shop.db "delete from a"', []),
        ("python3 -c \"c.execute('delete from a')\"", []),
        ('cd .. && cd x && sqlite3 shop.db "delete from a"', []),
        ('cd /x && sqlite3 shop.db "delete from a"', []),
    ],
)
def test_the_files_that_a_line_changes(line: str, paths: list[str], tmp_path: Path) -> None:
    asked: list[str] = []

    def would_bring_back(_root: ProjectRoot, changed: Iterable[str]) -> bool:
        asked.extend(changed)
        return True

    assert keeps_rows(line, "", ProjectRoot(tmp_path), would_bring_back) is bool(paths)
    assert asked == paths


@pytest.mark.parametrize("comes_back", [True, False])
def test_a_file_that_undo_does_not_bring_back_counts(tmp_path: Path, comes_back: bool) -> None:
    def would_bring_back(_root: ProjectRoot, _changed: Iterable[str]) -> bool:
        return comes_back

    assert keeps_rows('sqlite3 x.db "delete from a"', "", ProjectRoot(tmp_path), would_bring_back) is comes_back
