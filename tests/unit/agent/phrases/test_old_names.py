"""A name that was to be renamed everywhere is looked for at the end of the run."""

import os
from pathlib import Path

import pytest

from localllm.agent.phrases.old_names import ordered_renamings, places_of_old, replaced_everywhere
from localllm.agent.run_stats import AgentResult
from localllm.base.directory_walk import ProjectListing
from localllm.llm.messages import UserMessage
from localllm.tui.headless import HeadlessConfirmer
from tests.support.agents import call, make_agent, make_tools, scripted
from tests.support.each import each

pytestmark = pytest.mark.anyio


@each(
    ("request_", "pairs"),
    [
        (
            "Rename calc_price to gross_price everywhere (code, README) and run the tests.",
            [("calc_price", "gross_price")],
        ),
        ("Rename the function `calcPrice` to `grossPrice`.", [("calcPrice", "grossPrice")]),
        ("Please rename all uses of MAX_LEN to LIMIT", [("MAX_LEN", "LIMIT")]),
        ("Rename a_b to c_d and e_f to g_h", [("a_b", "c_d"), ("e_f", "g_h")]),
        ("Replace 'Acme Inc' by 'Acme GmbH' everywhere.", [("Acme Inc", "Acme GmbH")]),
        ("Rename --max-seconds to --timeout in all files", [("--max-seconds", "--timeout")]),
        ("Rename greet to welcome everywhere", [("greet", "welcome")]),
        ("calc_price を gross_price に改名してください。", [("calc_price", "gross_price")]),
        ("calc_priceをgross_priceにすべてリネームして", [("calc_price", "gross_price")]),
        ("`calcPrice` をプロジェクト全体で `grossPrice` に置き換えてください", [("calcPrice", "grossPrice")]),
        ("関数 calc_price の名前を gross_price に変更して", [("calc_price", "gross_price")]),
        ("「取引先」をすべて「顧客」に置き換えて", [("取引先", "顧客")]),
        ("Rename get_user() to fetch_user() and update all callers", [("get_user", "fetch_user")]),
        ("Rename the user_id column to account_id", [("user_id", "account_id")]),
        ("getUser() を fetchUser() に改名して呼び出し側も直して", [("getUser", "fetchUser")]),
        ("foo_bar関数をbaz_qux関数に改名して", [("foo_bar", "baz_qux")]),
        ("コードの getTotal を全部 fetchTotal に変えて", [("getTotal", "fetchTotal")]),
        ("全ファイルの `getTotal` を fetchTotal に変えて", [("getTotal", "fetchTotal")]),
        ("ボタンの primary_color を全部 accent_color に変えて", []),
        ("見出しの中の `primary_color` をすべて accent_color にして", []),
        ("Rename getUser to fetchUser everywhere in src/", []),
        ("Rename calc_price to gross_price in shop/prices.py", []),
        ("Rename calc_price to gross_price in this file only", []),
        ("Only rename calc_price to gross_price in the tests", []),
        ("Rename calc_price to gross_price, but keep the old name as a deprecated alias", []),
        ("Rename calc_price to my-calc_price", []),
        ("Rename greet to welcome", []),
        ("Rename it to total_sum", []),
        ("Rename old_name.py to new_name.py", []),
        ("Replace the loop by a comprehension", []),
        ("Replace the for-loop by a comprehension", []),
        ("Rename my-tool to new-tool", [("my-tool", "new-tool")]),
        ("Replace tabs_x with spaces in the README", []),
        ("a.py の calc_price を gross_price に改名して", []),
        ("calc_price を gross_price に改名して。古い名前も別名として残して。", []),
        ("timeout_ms の値を 300 に変更して", []),
        ("getTotal を全部 fetchTotal に変えて", [("getTotal", "fetchTotal")]),
        ("getTotal をすべて fetchTotal に変更してください", [("getTotal", "fetchTotal")]),
        ("全ファイルの `calc_price` を `gross_price` にして", [("calc_price", "gross_price")]),
        ("getTotal を fetchTotal に変えて", []),
        ("すべての設定の log_level を debug に変えて", []),
        ("全部の LOG_LEVEL を warn_only に変えて", []),
        ("ファイル名を report_old に変更して", []),
    ],
)
def test_what_a_request_orders_to_be_renamed(request_: str, pairs: list[tuple[str, str]]) -> None:
    assert [(one.old, one.new) for one in ordered_renamings(request_)] == pairs


EDIT = call("edit_file", file_path="prices.py", old_string="def calc_price", new_string="def gross_price")
RENAME = "Rename calc_price to gross_price everywhere."
DONE = "calc_price is gross_price now; nothing was run."
TOLD = "[calc_price still stands in README.md:3, shop/export.py:1. Change these, or say why they stay.]"


def make_project(root: Path) -> None:
    (root / ".git" / "info").mkdir(parents=True)
    (root / "shop").mkdir()
    (root / "build").mkdir()
    (root / ".git" / "x").write_text("calc_price\n")
    (root / "build" / "x.txt").write_text("calc_price\n")
    (root / ".gitignore").write_text("*.tmp\n")
    (root / "a.tmp").write_text("calc_price\n")
    (root / "x.bin").write_bytes(b"\0calc_price\n")
    (root / "CHANGELOG.md").write_text("calc_price is new.\n")
    (root / "prices.py").write_text("def calc_price(x):\n    return my_calc_price(x)\n")
    (root / "README.md").write_text("# Shop\n\nCall calc_price.\nUp to 1.0 gross_price was calc_price.\n")
    (root / "shop" / "export.py").write_text('getattr(prices, "calc_price")\nrecalc_price = 1\n')


async def ended(root: Path, request: str, *turns: dict[str, object] | str) -> tuple[AgentResult, list[str]]:
    make_project(root)
    tools = make_tools(root, confirmer=HeadlessConfirmer(approve_all=True))
    agent = make_agent(scripted(*turns), root, tools=tools)
    result = await agent.execute_query(request)
    return result, [said.text for said in agent.history.messages if isinstance(said, UserMessage)][1:]


async def test_an_old_name_that_still_stands_is_told_once(tmp_path: Path) -> None:
    result, told = await ended(tmp_path, RENAME, EDIT, DONE, DONE)
    assert told == [TOLD]
    assert "calc_price still stands in README.md:3, shop/export.py:1" in [str(one) for one in result.unverified]
    assert result.status == "done"


@pytest.mark.parametrize("verb", ["改名して", "変えて"])
async def test_an_old_name_is_told_in_a_run_in_japanese(tmp_path: Path, verb: str) -> None:
    answer = "calc_price を gross_price に改名しました。テストは実行していません。"
    assert (await ended(tmp_path, f"calc_price をすべて gross_price に{verb}", EDIT, answer, answer))[1] == [TOLD]


@pytest.mark.parametrize(
    ("request_", "answer"),
    [
        (RENAME, f"{DONE} README.md and shop/export.py stay as they are: both speak of the old service."),
        (RENAME, f"{DONE} I could not rename it in export.py."),
        (
            "calc_price をすべて gross_price に改名して",
            "改名しました。未検証です。README.md の calc_price は意図的に残しました。",
        ),
        ("prices.py の calc_price を gross_price に改名して", "改名しました。テストは実行していません。"),
        ("Rename calc_price to gross_price in prices.py", DONE),
        ("Rename calc_price to gross_price and keep the old name as an alias", DONE),
        ("Make the name of calc_price shorter.", DONE),
    ],
)
async def test_one_that_stays_for_a_reason_is_not(tmp_path: Path, request_: str, answer: str) -> None:
    result, told = await ended(tmp_path, request_, EDIT, answer)
    assert (result.answer.partition("\n\nNot")[0], told) == (answer, [])


async def test_that_nothing_of_it_is_left_is_no_reason(tmp_path: Path) -> None:
    answer = f"{DONE} No use of calc_price remains."
    assert (await ended(tmp_path, RENAME, EDIT, answer, answer))[1] == [TOLD]


async def test_what_was_renamed_is_not_told(tmp_path: Path) -> None:
    readme = call("edit_file", file_path="README.md", old_string="Call calc_price", new_string="Call gross_price")
    export = call("edit_file", file_path="shop/export.py", old_string='"calc_price"', new_string='"gross_price"')
    result, told = await ended(tmp_path, RENAME, EDIT, readme, export, DONE)
    assert (result.answer, told) == (DONE, [])


async def test_a_name_in_japanese_letters_that_is_still_used_is_told(tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "src/在庫.py").write_text("def 残り(個数, 出庫):\n    return 個数 - 出庫\n")
    (tmp_path / "src/test_在庫.py").write_text(
        "from 在庫 import 残り\n\n\ndef test_残り():\n    assert 残り(10, 4) == 6\n"
    )
    edit = call("edit_file", file_path="src/在庫.py", old_string="def 残り(", new_string="def 残数(")
    tools = make_tools(tmp_path, confirmer=HeadlessConfirmer(approve_all=True))
    agent = make_agent(scripted(edit, *["残り を 残数 に変更しました。未検証です。"] * 3), tmp_path, tools=tools)
    await agent.execute_query("残り関数の名前を 残数 に変えて")
    told = [said.text for said in agent.history.messages if "still stands" in said.text]
    assert told == [
        "[残り still stands in src/test_在庫.py:1, src/test_在庫.py:5. Change these, or say why they stay.]"
    ]


def test_a_file_that_cannot_be_read_hides_no_old_name(tmp_path: Path) -> None:
    for name in "abc":
        (tmp_path / f"{name}.py").write_text("calc_price()\n")
    listing = ProjectListing(tmp_path)
    assert listing.is_complete
    (tmp_path / "b.py").unlink()
    os.mkfifo(tmp_path / "b.py")
    (tmp_path / "a.py").unlink()
    (renaming,) = ordered_renamings("Rename calc_price to gross_price everywhere")
    assert places_of_old(listing, renaming, lambda path: (tmp_path / path).read_text()) == ["c.py:1"]


KHZ = ("a.tex", "-We sample at 35~kHz here.\n+We sample at 48~kHz here.\n")
KHZ_PLAIN = ("a.tex", "-We sample at 35 kHz here.\n+We sample at 48 kHz here.\n")
LOG = (
    "a/x.py",
    '-    LOG.debug("start %s", one)\n-    LOG.debug("end")\n+    LOG.info("start %s", one)\n+    LOG.info("end")\n',
)
BARE = ("a.py", "-x = 35\n+x = 48\n")
TWO = ("a.py", "-from a import b\n+from c import d\n")


@each(
    ("request_", "diff", "old"),
    [
        ("Change the sampling frequency to 48 kHz everywhere", KHZ, ["35~kHz"]),
        ("Change the sampling frequency to 48 kHz everywhere", KHZ_PLAIN, ["35 kHz"]),
        ("サンプリング周波数をすべて 48 kHz に変更して", KHZ, ["35~kHz"]),
        ("change LOG.debug to LOG.info in all packages everywhere", LOG, ["LOG.debug"]),
        ("Change the sampling frequency to 48 kHz", KHZ, []),
        ("Change 35 kHz to 48 kHz everywhere in a.tex", KHZ, []),
        ("Change the rate to 44.1 kHz everywhere", KHZ, []),
        ("Set x to 48 everywhere", BARE, ["x = 35"]),
        ("Import d of c everywhere", TWO, []),
        ("Change 35 kHz to 48 kHz everywhere but in b.tex", KHZ, []),
    ],
)
def test_what_was_replaced_is_to_be_so_everywhere(request_: str, diff: tuple[str, str], old: list[str]) -> None:
    assert [one.old for one in replaced_everywhere(request_, [diff])] == old


EVERYWHERE = "Change the sampling frequency to 48 kHz everywhere"


@pytest.mark.parametrize(
    ("answer", "count"),
    [
        ("The sampling frequency is 48 kHz everywhere.", 1),
        ("It is 48 kHz now; b.tex keeps 35~kHz, which is about other work.", 0),
    ],
)
async def test_a_value_that_still_stands_elsewhere_is_named(tmp_path: Path, answer: str, count: int) -> None:
    for name, text in (("a.tex", "at 35~kHz here"), ("b.tex", "also 35~kHz"), ("c.tex", "135~kHz"), ("d.md", "35~kHz")):
        (tmp_path / name).write_text(f"{text}\n")
    turn = call("edit_file", file_path="a.tex", old_string="35~kHz", new_string="48~kHz")
    _result, said = await ended(tmp_path, EVERYWHERE, turn, answer, answer)
    assert [one for one in said if "35~kHz still stands in b.tex:1." in one] == said
    assert len(said) == count
