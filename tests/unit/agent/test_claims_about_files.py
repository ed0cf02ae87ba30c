"""What an answer says of files is compared with the files that were changed, read or ordered."""

import os
import tempfile
import time
from pathlib import Path
from typing import Any

import pytest

from localllm.agent.react_agent import ReActAgent
from localllm.config.schema import SafetySettings
from localllm.llm.messages import UserMessage
from tests.support.agents import Answering, call, make_agent, make_tools, scripted
from tests.support.each import each
from tests.support.tools import put

pytestmark = pytest.mark.anyio

FILES = {
    "ring.h": "struct ring;\nint ring_pop(struct ring *r);\n",
    "ring.c": '#include "ring.h"\n\nint ring_pop(struct ring *r)\n{\n    return 0;\n}\n',
    "test_ring.c": '#include "ring.h"\n\nint main(void)\n{\n    return ring_pop(0);\n}\n',
    "README.md": "# Ring\n\nText.\n",
    "shop/__init__.py": "# The shop.\n",
    "shop/cart.py": "from shop.tax import with_tax\n\n\nclass Cart:\n    def subtotal(self):\n"
    "        return with_tax(1)\n",
    "tests/test_cart.py": "from shop.cart import Cart\n\n\ndef test_it():\n    assert Cart().subtotal() == 1\n",
    "other.py": "def of(invoice):\n    return invoice.subtotal()\n",
    **{f"mod/m{n:02}.py": f"# TODO: {n}\ndef f{n}():\n    return {n}\n" for n in range(1, 13)},
    "docs/part1.md": "# Values\n" + "".join(f"Station {n} measured {3 * n}.\n" for n in range(1, 121)),
    "shop/tax.py": "def with_tax(value):\n    return value * 110 // 100\n",
}


def make_project(folder: Path) -> Path:
    """Make a project that is older than any run, new for each case."""
    root = Path(tempfile.mkdtemp(dir=folder)) / "project"
    before = time.time() - 1000
    for path, text in FILES.items():
        put(root / path, text)
        os.utime(root / path, (before, before))
    return root


def edit(path: str, old: str, new: str) -> dict[str, Any]:
    return call("edit_file", file_path=path, old_string=old, new_string=new)


async def told(folder: Path, request: str, steps: list[dict[str, Any]], answer: str) -> list[str]:
    """What a model is told that gives the same answer again, in a one-shot with --yes."""
    project = make_project(folder)
    confirmer = Answering(approve=True)
    confirmer.answers = "yes"
    tools = make_tools(project, confirmer=confirmer, safety=SafetySettings(mode="ask"))
    agent: ReActAgent = make_agent(scripted(*steps, *[answer] * 5), project, tools=tools)
    await agent.execute_query(request)
    return [said.text for said in agent.history.messages if isinstance(said, UserMessage)][1:]


PEEK = edit("ring.c", "int ring_pop(", "int ring_peek(struct ring *r)\n{\n    return 1;\n}\n\nint ring_pop(")
DECLARED = edit("ring.h", "int ring_pop(", "int ring_peek(struct ring *r);\nint ring_pop(")
README = edit("README.md", "Text.", "Text about `ring_peek`.")
ADD, ADD_JA = "Add a function ring_peek", "ring_peek という関数を追加して"
WITH_README = "Add a function ring_peek and update the README"
ROW_JA = "ring_peek を追加し、README を更新し、コミットして"
LIST_JA = "次の2つをやって。1. ring_peek を追加 2. tax.py に型ヒント"


@each(
    ("request_", "answer", "path"),
    [
        (ADD, "`ring_peek` is added to ring.c and declared in ring.h.", "ring.h"),
        (ADD, "Added `ring_peek` to ring.c, its declaration to ring.h and a test to test_ring.c.", "ring.h"),
        (ADD, "`ring_peek` is implemented in ring.c; ring.h has the prototype now.", "ring.h"),
        (ADD, "Done. The function lives in ring.c and I exported it through ring.h.", "ring.h"),
        (ADD_JA, "ring.c に ring_peek を実装し、ring.h に宣言を追加しました。", "ring.h"),
        (WITH_README, "`ring_peek` is added, and the README is updated.", "README"),
        (WITH_README, "`ring_peek` is added.", "README"),
        (ADD_JA, "ring_peek を追加しました。README も更新しました。", "README"),
        (ADD, "`ring_peek` is added. I updated the documentation too.", "documentation"),
        (ROW_JA, "すべて完了しました。", "README"),
        (LIST_JA, "2つとも完了しました。", "tax.py"),
    ],
)
async def test_what_is_said_to_be_changed_and_is_not_is_named(
    tmp_path: Path, request_: str, answer: str, path: str
) -> None:
    said = "\n".join(await told(tmp_path, request_, [PEEK], answer))
    assert "[Not changed: " in said
    assert path in said


@each(
    ("request_", "steps", "answer"),
    [
        (ADD, [PEEK, DECLARED], "`ring_peek` is added to ring.c and declared in ring.h."),
        (ADD, [PEEK], "`ring_peek` is added to ring.c and not yet declared in ring.h."),
        (ADD, [PEEK], "`ring_peek` is added to ring.c. It calls `ring_pop`, which is declared in ring.h."),
        (ADD, [PEEK], "I put `ring_peek` in ring.c, next to `ring_pop` declared in ring.h."),
        (ADD_JA, [PEEK], "ring.c に ring_peek を追加しました。ring.h への宣言の追加は必要でしょうか。"),
        (WITH_README, [PEEK, README], "`ring_peek` is added, and the README is updated."),
        (WITH_README, [PEEK], "`ring_peek` is added. The README needs no update: it lists no functions."),
        (ADD, [PEEK], "`ring_peek` is added. You may want to update the documentation."),
        ("README を更新するか教えて", [], "更新は不要です。"),
        (LIST_JA, [PEEK, edit("shop/tax.py", "value)", "value: int)")], "2つとも完了しました。"),
    ],
)
async def test_what_was_changed_or_is_left_is_not_doubted(
    tmp_path: Path, request_: str, steps: list[dict[str, Any]], answer: str
) -> None:
    said = await told(tmp_path, request_, steps, answer)
    assert not any("[Not changed" in one or "[There is no" in one for one in said), said


METHOD = edit("shop/cart.py", "def subtotal", "def net_total")
TAX = edit("shop/tax.py", "def with_tax", "def add_tax")
USES = edit("tests/test_cart.py", "subtotal()", "net_total()")
RENAME = "Rename `subtotal` to `net_total`"


@each(
    ("request_", "step", "answer", "place"),
    [
        (f"{RENAME} everywhere", METHOD, "`subtotal` is `net_total` everywhere now.", "tests/test_cart.py:5"),
        ("Rename the method subtotal of Cart to net_total", METHOD, "Renamed.", "tests/test_cart.py:5"),
        ("The method subtotal should be called net_total", METHOD, "Renamed it.", "tests/test_cart.py:5"),
        ("Cart の subtotal を net_total に改名して", METHOD, "改名しました。", "tests/test_cart.py:5"),
        ("with_tax という関数名を add_tax にして", TAX, "変更しました。", "shop/cart.py:1"),
    ],
)
async def test_a_renamed_definition_is_looked_for_where_it_is_used(
    tmp_path: Path, request_: str, step: dict[str, Any], answer: str, place: str
) -> None:
    said = "\n".join(await told(tmp_path, request_, [step], answer))
    assert place in said
    assert "other.py" not in said, "it may be a method of something else"


@each(
    ("request_", "steps", "answer"),
    [
        (RENAME, [METHOD, USES], "Renamed in both files."),
        (f"{RENAME} in shop/cart.py only", [METHOD], "Renamed in shop/cart.py only."),
        (f"{RENAME}", [METHOD], "Renamed; tests/test_cart.py still calls subtotal, as you have not named it."),
        (f"{RENAME}, and keep the old name as an alias", [METHOD], "Renamed."),
        ("Rename test_it to test_net_total", [edit("tests/test_cart.py", "test_it", "test_net_total")], "Renamed."),
    ],
)
async def test_a_renaming_that_is_whole_or_limited_is_not_doubted(
    tmp_path: Path, request_: str, steps: list[dict[str, Any]], answer: str
) -> None:
    said = await told(tmp_path, request_, steps, answer)
    assert not any("still stands in" in one for one in said), said


COUNT = call("write_file", file_path="wc.py", content="import sys\n\nprint(len(open(sys.argv[1]).read().split()))\n")
AS_JSON = call(
    "write_file",
    file_path="wc.py",
    content="import json\nimport sys\n\nif '--json' in sys.argv:\n    print(json.dumps(1))\n",
)
WRITE, WRITE_JA = (
    "Write a CLI wc.py that counts words, with an option --json",
    "単語数を数える wc.py を書いて。--json も付けて",
)


@each(
    ("request_", "step", "answer", "missing"),
    [
        (WRITE, COUNT, "wc.py is done: it prints JSON with --json.", "--json"),
        (WRITE, COUNT, "Done.", "--json"),
        (WRITE_JA, COUNT, "wc.py を作成しました。--json で JSON を出力できます。", "--json"),
        ("Write wc.py that counts words. It takes --json and --top N", AS_JSON, "wc.py is written.", "--top"),
        ("Write wc.py. Add --dry-run to it", COUNT, "wc.py has --dry-run.", "--dry-run"),
    ],
)
async def test_an_option_that_was_ordered_is_looked_for(
    tmp_path: Path, request_: str, step: dict[str, Any], answer: str, missing: str
) -> None:
    said = "\n".join(await told(tmp_path, request_, [step], answer))
    assert f"do not contain {missing}" in said


@each(
    ("request_", "step", "answer"),
    [
        (WRITE, AS_JSON, "wc.py is done: it prints JSON with --json."),
        (WRITE, COUNT, "wc.py counts words. --json is not implemented yet."),
        (WRITE_JA, COUNT, "wc.py を作成しました。--json はまだ実装していません。"),
        ("Write wc.py, but without an option --json", COUNT, "wc.py is written."),
        ("Write wc.py and run pylint with the option --errors-only", COUNT, "wc.py is written."),
    ],
)
async def test_an_option_that_is_there_or_left_is_not_doubted(
    tmp_path: Path, request_: str, step: dict[str, Any], answer: str
) -> None:
    said = await told(tmp_path, request_, [step], answer)
    assert not any("do not contain" in one for one in said), said


def run(command: str) -> dict[str, Any]:
    return call("run_command", command=command)


DOCUMENTED, ALL_DOCUMENTED = (run(f'sed -i \'1i """A module."""\' mod/{names}.py') for names in ("m0*", "*"))
AS_TEXT, ALL_AS_TEXT = (run(f"sed -i -E 's/return ([0-9]+)/return str(\\1)/' mod/{names}.py") for names in ("m0*", "*"))
NO_TODO, NO_TODO_AT_ALL = (run(f"sed -i /TODO/d mod/{names}.py") for names in ("m0*", "*"))


@each(
    ("request_", "step", "answer"),
    [
        ("Add a module docstring to all files of mod/", DOCUMENTED, "Every file in mod/ has a module docstring now."),
        ("Give every file in mod/ a docstring", DOCUMENTED, "Done."),
        ("mod 以下の全モジュールに docstring を追加して", DOCUMENTED, "全モジュールに追加しました。"),
        ("Make all functions in mod/ return a string", AS_TEXT, "All files under mod/ return strings now."),
        ("mod/ の全ファイルから TODO コメントを消して", NO_TODO, "全ファイルから TODO コメントを消しました。"),
    ],
)
async def test_files_of_a_folder_that_are_left_are_named(
    tmp_path: Path, request_: str, step: dict[str, Any], answer: str
) -> None:
    said = "\n".join(await told(tmp_path, request_, [step], answer))
    assert "[Not changed: mod/m10.py, mod/m11.py, mod/m12.py" in said


@each(
    ("request_", "steps", "answer"),
    [
        ("Give every file in mod/ a docstring", [ALL_DOCUMENTED], "Each file in mod/ has a docstring now."),
        ("Give every file in mod/ a docstring", [DOCUMENTED], "9 of the 12 files are done; m10 to m12 are still open."),
        ("Give all files in mod/ a docstring", [ALL_DOCUMENTED, NO_TODO], "All files in mod/ have a docstring now."),
        ("Make all functions in mod/ return a string", [ALL_AS_TEXT], "All files under mod/ return strings now."),
        ("mod/ の全ファイルから TODO コメントを消して", [NO_TODO_AT_ALL], "全ファイルから TODO コメントを消しました。"),
        ("Remove 'TODO: 3' from all files of mod/", [run("sed -i '/TODO: 3/d' mod/*.py")], "Removed; m03.py had it."),
        ("Check all files in mod/ and document m03.py", [run("sed -i '1i # M' mod/m03.py")], "All done."),
    ],
)
async def test_files_of_a_folder_that_need_nothing_are_not_named(
    tmp_path: Path, request_: str, steps: list[dict[str, Any]], answer: str
) -> None:
    said = await told(tmp_path, request_, steps, answer)
    assert not any("[Not changed" in one for one in said), said


def read(first: int, last: int) -> dict[str, Any]:
    return call("read_file", file_path="docs/part1.md", offset=first, limit=last - first + 1)


SUMMARY, SUMMARY_JA = "Summarise docs/part1.md", "docs/part1.md を要約して、最後の値も教えて"
VALUES, VALUES_JA = "docs/part1.md lists the values of stations.", "地点の値の一覧で、最後の値は 999 です。"


@each(
    ("request_", "steps", "answer"),
    [
        (SUMMARY, [read(1, 48)], VALUES),
        (SUMMARY_JA, [read(1, 48)], VALUES_JA),
        ("Check docs/part1.md for duplicate sentences", [read(1, 48)], "There are no duplicate sentences."),
        ("docs/part1.md を最後まで読んで", [read(1, 48)], "最後まで確認しましたが、誤字はありませんでした。"),
        ("Translate docs/part1.md", [read(1, 40), read(30, 48)], "It is translated."),
    ],
)
async def test_a_file_that_was_read_in_part_is_read_on(
    tmp_path: Path, request_: str, steps: list[dict[str, Any]], answer: str
) -> None:
    said = "\n".join(await told(tmp_path, request_, steps, answer))
    assert "[Not read: lines docs/part1.md:49-121." in said


async def test_only_what_was_not_read_is_named(tmp_path: Path) -> None:
    said = "\n".join(await told(tmp_path, SUMMARY, [read(31, 60), read(1, 10), read(40, 80)], VALUES))
    assert "[Not read: lines docs/part1.md:11-30, docs/part1.md:81-121." in said


@each(
    ("request_", "steps", "answer"),
    [
        (SUMMARY, [read(1, 121)], VALUES),
        (SUMMARY, [read(1, 48), read(49, 121)], VALUES),
        (SUMMARY, [read(1, 48)], "Lines 1-48 of docs/part1.md list the values of stations."),
        (SUMMARY, [read(1, 48), run("tail -n 73 docs/part1.md")], VALUES),
        (SUMMARY_JA, [read(1, 48)], "48行目までに地点の値が並びます。残りは読んでいません。"),
        ("Summarise the first section of docs/part1.md", [read(1, 48)], VALUES),
        ("What is the title of docs/part1.md?", [read(1, 5)], "It is Values."),
    ],
)
async def test_a_part_that_was_meant_or_told_is_not_doubted(
    tmp_path: Path, request_: str, steps: list[dict[str, Any]], answer: str
) -> None:
    said = await told(tmp_path, request_, steps, answer)
    assert not any("[Not read" in one for one in said), said


@each(
    ("request_", "answer"),
    [
        ("Where is the maximum delay set?", "In net/backoff.py:42, it is 60 seconds."),
        ("最大の待ち時間はどこで決まる?", "net/backoff.py:42 で 60 秒です。"),
        ("最大の待ち時間はどこで決まる?", "net/backoff.py の 42 行目で決まります。"),
    ],
)
async def test_a_line_that_is_cited_from_memory_is_looked_for(tmp_path: Path, request_: str, answer: str) -> None:
    assert "There is no net/backoff.py" in "\n".join(await told(tmp_path, request_, [], answer))


@each(
    ("request_", "answer"),
    [
        ("Where is the tax set?", "In shop/tax.py:2."),
        ("Where should the maximum delay go?", "I would put it into net/backoff.py:1."),
        ("Where is resizing done in CPython?", "In Objects/dictobject.rs:1234."),
        ("What does net/backoff.py:42: TypeError mean?", "A wrong type was passed at net/backoff.py:42."),
        ("How do I lay out a project?", "Usually as app/routes.py and tests/test_routes.py."),
        ("How do I lay out a project?", "A usual layout is app/__init__.py, app/routes.py and tests/."),
        ("Flask の一般的な構成を教えて", "一般的には app/__init__.py、app/routes.py、tests/ のように分けます。"),
    ],
)
async def test_a_line_that_is_there_or_not_of_the_project_is_not_doubted(
    tmp_path: Path, request_: str, answer: str
) -> None:
    said = await told(tmp_path, request_, [], answer)
    assert not any("There is no" in one for one in said), said


CHECKED = "    assert Cart().subtotal() == 1\n"
UNCHECKED = edit("tests/test_cart.py", CHECKED, "    Cart()\n")
SKIPPED = edit("tests/test_cart.py", "def test_it", "@pytest.mark.skip\ndef test_it")
FIXED = edit("shop/cart.py", "with_tax(1)", "with_tax(1) or 0")
REPAIR, REPAIR_JA = "Fix the failing test", "テストの失敗を直して"


@each(
    ("request_", "step", "answer"),
    [
        (REPAIR, UNCHECKED, "Fixed: the subtotal was wrong."),
        (REPAIR_JA, UNCHECKED, "shop/cart.py を修正しました。"),
        ("Fix the crash", SKIPPED, "Fixed: the subtotal was wrong."),
    ],
)
async def test_a_check_that_was_taken_out_with_a_fix_is_named(
    tmp_path: Path, request_: str, step: dict[str, Any], answer: str
) -> None:
    assert "[tests/test_cart.py checks less" in "\n".join(await told(tmp_path, request_, [FIXED, step], answer))


@each(
    ("request_", "steps", "answer"),
    [
        (REPAIR, [FIXED], "Fixed: the subtotal was wrong."),
        (REPAIR, [FIXED, UNCHECKED], "Fixed. I removed the assertion of test_it, which was wrong."),
        (REPAIR_JA, [FIXED, UNCHECKED], "修正しました。tests/test_cart.py の assert は誤りなので削除しました。"),
        (REPAIR, [FIXED, edit("tests/test_cart.py", "== 1", "== 0")], "Fixed: the subtotal was wrong."),
        ("Remove the failing subtotal", [FIXED, UNCHECKED], "It is removed."),
        ("Fix the test: its assertion is wrong", [FIXED, UNCHECKED], "Fixed."),
    ],
)
async def test_a_check_whose_change_was_ordered_or_told_is_not_named(
    tmp_path: Path, request_: str, steps: list[dict[str, Any]], answer: str
) -> None:
    said = await told(tmp_path, request_, steps, answer)
    assert not any("checks less" in one for one in said), said
