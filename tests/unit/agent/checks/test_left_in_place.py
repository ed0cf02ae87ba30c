"""What was ordered by name to be removed or moved, and still stands as it stood, is asked about once."""

from pathlib import Path
from typing import Any

import pytest

from localllm.agent.phrases.ordered_removals import ordered_removals
from tests.support.agents import call
from tests.support.each import each
from tests.unit.agent.test_run_endings import agent_for, edit, remarks

FILES = {
    "cart.py": (
        '"""A cart."""\n\nfrom tax import with_tax\n\nRATE = 0.1\n\n\nclass Cart:\n    def total(self):\n'
        "        return with_tax(1, RATE)\n\n    def discount(self, percent):\n"
        '        """Return the total less percent."""\n        return self.total() * (1 - percent / 100)\n'
    ),
    "tax.py": "def with_tax(amount, rate):\n    return amount * (1 + rate)\n",
    "menu.md": "# Menu\n\n- 入庫登録\n- 出庫登録\n\nParagraph 2 of intro. Paragraph 3 of intro. The end.\n",
}
DISCOUNT = FILES["cart.py"][FILES["cart.py"].index("    def discount") :]
DOC = '        """Return the total less percent."""\n'


@pytest.fixture
def project(tmp_path: Path) -> Path:
    root = tmp_path / "project"
    root.mkdir()
    for name, text in FILES.items():
        (root / name).write_text(text)
    return root


def write(path: str, content: str) -> dict[str, Any]:
    return call("write_file", file_path=path, content=content)


MOVED = write("discount.py", "def discount(cart, percent):\n    return cart.total() * (1 - percent / 100)\n")


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("request_", "steps", "answer", "said"),
    [
        ("Remove the method discount", [edit(DOC, "", "cart.py")], "The method discount is removed.", "cart.py:12"),
        ("Remove `discount`", [edit(DOC, "", "cart.py")], "I removed it.", "cart.py:12"),
        ("discount メソッドを消して", [edit(DOC, "", "cart.py")], "discount を削除しました。", "cart.py:12"),
        ("Delete the constant RATE.", [edit(DOC, "", "cart.py")], "RATE was deleted.", "cart.py:5"),
        ("「出庫登録」を消して", [edit("- 入庫登録\n", "", "menu.md")], "「出庫登録」を消しました。", "menu.md:3"),
        (
            'Delete "Paragraph 2 of intro." from menu.md',
            [edit("Paragraph 3 of intro. ", "", "menu.md")],
            '"Paragraph 2 of intro." is deleted.',
            "menu.md:6",
        ),
        ("Move discount to discount.py", [MOVED], "discount is in discount.py now.", "cart.py:12"),
        ("discount を discount.py に移動して", [MOVED], "discount を discount.py に移動しました。", "cart.py:12"),
    ],
)
async def test_what_still_stands_is_named(
    project: Path, request_: str, steps: list[dict[str, Any]], answer: str, said: str
) -> None:
    agent = agent_for(project, *steps, *[answer] * 3)
    result = await agent.execute_query(request_)
    assert f"still stands in {said}. Take it out" in remarks(agent)[0]
    assert any(f"still stands in {said}" in str(one) for one in result.unverified)


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("request_", "steps", "answer"),
    [
        ("Remove the method discount", [edit(DISCOUNT, "", "cart.py")], "The method discount is removed."),
        (
            "Remove the discount from total",
            [edit("with_tax(1, RATE)", "with_tax(1, 0)", "cart.py")],
            "The discount is gone.",
        ),
        (
            "Remove the import of with_tax",
            [edit("from tax import with_tax\n", "", "cart.py")],
            "The import is removed.",
        ),
        ("Remove discount if nothing uses it", [edit(DOC, "", "cart.py")], "I removed its docstring."),
        (
            "Remove the method discount",
            [edit(DOC, "", "cart.py")],
            "`discount` is used by shop.py, so the method stays; its wrong docstring is gone.",
        ),
        (
            "Delete the method discount",
            [edit(DISCOUNT, "    def discount(self, percent):\n        raise AttributeError\n", "cart.py")],
            "`discount` raises AttributeError now.",
        ),
        (
            "Move discount to discount.py",
            [
                MOVED,
                edit(
                    DISCOUNT,
                    "    def discount(self, percent):\n        return discount.discount(self, percent)\n",
                    "cart.py",
                ),
            ],
            "discount is in discount.py now, and Cart.discount calls it.",
        ),
        ("Move discount to discount.py", [MOVED, edit(DISCOUNT, "", "cart.py")], "discount is in discount.py now."),
        ("Copy discount to discount.py", [MOVED], "discount is in discount.py, too."),
        ("「出庫登録」を消して", [edit("- 出庫登録\n", "", "menu.md")], "「出庫登録」を消しました。"),
        ("「出庫登録」を「出荷」に変えて", [edit("- 出庫登録\n", "- 出荷\n", "menu.md")], "変更しました。"),
        (
            "「出庫登録」を消して",
            [edit("- 入庫登録\n", "", "menu.md")],
            "入庫登録を消しました。「出庫登録」は残しています。どちらですか?",
        ),
    ],
)
async def test_what_is_gone_or_told_as_left_is_not_asked_about(
    project: Path, request_: str, steps: list[dict[str, Any]], answer: str
) -> None:
    agent = agent_for(project, *steps, *[answer] * 3)
    await agent.execute_query(request_)
    assert not any("still stands in" in one for one in remarks(agent))


@each(
    ("request_", "names"),
    [
        ("Remove the parameter count from add", []),
        ("Remove all comments", []),
        ("Delete the file cart.py", []),
        ("Remove discount's docstring", []),
        ("Remove the call of discount in total", []),
        ("Delete the class Cart, we don't need it", ["Cart"]),
        ("Move with_tax into shop/cart.py and delete shop/tax.py", ["with_tax"]),
        ("with_tax の import を消して", []),
        ("with_tax 関数を cart.py へ移して", ["with_tax"]),
    ],
)
def test_the_names_of_an_order(request_: str, names: list[str]) -> None:
    assert [one.what for one in ordered_removals(request_)] == names
