"""The map: what comes first, what words do to it, how much room it takes."""

import threading
from pathlib import Path

import pytest

from localllm.base.errors import ConfigurationError
from localllm.repo_map.repo_map import RepoMap
from localllm.repo_map.request import RepoMapText

pytestmark = pytest.mark.anyio

FILES = {
    "shop/model.py": "class Order:\n    def total(self): ...\n\n    def _hidden(self): ...\n\nclass Customer: ...\n",
    "shop/store.py": "from shop.model import Order\n\ndef load_order(key):\n    return Order(key)\n",
    "shop/prices.py": "from shop.model import Order\n\ndef price_of(order: Order):\n    return order.total()\n",
    "shop/mail.py": "def send_letter(text):\n    return text\n\ndef unused_helper(): ...\n",
    "shop/app.py": (
        "from shop.store import load_order\nfrom shop.prices import price_of\nfrom shop.mail import send_letter\n\n"
        "def main():\n    send_letter(price_of(load_order(1)))\n"
    ),
    "tests/test_model.py": "from shop.model import Order\n\ndef test_total():\n    assert Order(1).total()\n",
}


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    for path, text in FILES.items():
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text(text)
    return tmp_path


def files_of(drawn: RepoMapText) -> list[str]:
    return [line for line in drawn.text.splitlines() if line.endswith(".py")]


def test_it_says_whether_words_have_to_do_with_anything(shop: Path) -> None:
    drawn = [RepoMap(shop).draw(10_000, words=words) for words in ("nothing like it", "the letters", "Customer", "")]
    assert [one.unmatched for one in drawn] == [True, False, False, False]


def test_what_others_use_comes_first(shop: Path) -> None:
    drawn = RepoMap(shop).draw(10_000)
    assert drawn.text.splitlines()[:2] == ["shop/model.py", "1 class Order:"]
    assert files_of(drawn)[-1] == "tests/test_model.py"
    assert drawn.definitions == drawn.all_definitions == 10
    assert drawn.files == len(drawn.records) == 6


def test_nothing_is_read_before_the_first_drawing(tmp_path: Path) -> None:
    assert RepoMap(tmp_path / "missing").rank("a.py") == 0.0


def test_ranks_go_from_0_to_1(shop: Path) -> None:
    repo_map = RepoMap(shop)
    repo_map.draw(1_000)
    ranks = {path: repo_map.rank(path) for path in FILES}
    assert ranks["shop/model.py"] == 1.0
    assert all(0 < rank <= 1 for rank in ranks.values())
    assert ranks["shop/prices.py"] > ranks["shop/app.py"]
    assert repo_map.rank("unknown.py") == 0.0


@pytest.mark.parametrize(
    ("words", "first"),
    [
        ("how is a letter sent?", "shop/mail.py"),
        ("what calls price_of", "shop/prices.py"),
        ("look at store.py", "shop/store.py"),
    ],
)
def test_words_bring_what_they_are_about_to_the_front(shop: Path, words: str, first: str) -> None:
    assert files_of(RepoMap(shop).draw(10_000, words=words))[0] == first


def test_tests_come_first_only_when_they_are_asked_about(shop: Path) -> None:
    repo_map = RepoMap(shop)
    assert files_of(repo_map.draw(10_000, words="the total of an order"))[0] == "shop/model.py"
    assert files_of(repo_map.draw(10_000, words="which test checks the total"))[0] == "tests/test_model.py"


def test_files_that_were_read_draw_what_they_use(shop: Path) -> None:
    repo_map = RepoMap(shop)
    before = files_of(repo_map.draw(10_000)).index("shop/mail.py")
    assert files_of(repo_map.draw(10_000, files=["shop/mail.py", "gone.py"])).index("shop/mail.py") < before


def test_a_folder_shows_only_its_own(shop: Path) -> None:
    drawn = RepoMap(shop).draw(10_000, under="tests")
    assert drawn.text.splitlines() == ["tests/test_model.py", "3 def test_total():"]
    assert set(drawn.records) == {"tests/test_model.py"}


@pytest.mark.parametrize("room", [0, 10, 40, 100, 200, 300, 10_000])
def test_it_fits_its_room_and_fills_it(shop: Path, room: int) -> None:
    repo_map = RepoMap(shop)
    drawn = repo_map.draw(room)
    assert len(drawn.text) <= room
    everything = len(repo_map.draw(10_000).text)
    assert len(drawn.text) >= min(room - 70, everything)


async def test_it_fits_a_number_of_lines(shop: Path) -> None:
    drawn = await RepoMap(shop).draw_lines(5)
    assert 3 <= len(drawn.text.splitlines()) <= 5


def test_a_method_stands_below_its_class(shop: Path) -> None:
    lines = RepoMap(shop).draw(10_000, words="total").text.splitlines()
    assert lines[lines.index("2   def total(self): ...") - 1] == "1 class Order:"


def test_what_is_left_out_is_marked(shop: Path) -> None:
    drawn = RepoMap(shop).draw(len("shop/model.py\n1 class Order:\n⋮"))
    assert drawn.text == "shop/model.py\n1 class Order:\n⋮"


def test_a_change_changes_the_map(shop: Path) -> None:
    repo_map = RepoMap(shop, shop / "map")
    repo_map.draw(10_000)
    (shop / "shop/mail.py").write_text("def post_card(text): ...\n")
    assert "post_card" in repo_map.draw(10_000).text
    assert "post_card" in RepoMap(shop, shop / "map").draw(10_000).text


def test_a_folder_without_source_has_an_empty_map(tmp_path: Path) -> None:
    assert RepoMap(tmp_path).draw(1_000, words="anything") == RepoMapText("", 0, 0, {})


def test_a_project_that_is_gone_is_told(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError) as caught:
        RepoMap(tmp_path / "gone").draw(1_000)
    assert caught.value.key == "project_folder_unusable"


def test_several_may_draw_at_once(shop: Path) -> None:
    repo_map, cache = RepoMap(shop, shop / "map"), RepoMap(shop, shop / "map")
    drawn: list[str] = []
    threads = [
        threading.Thread(target=lambda one=one: drawn.append(one.draw(10_000).text))
        for one in (repo_map, cache, repo_map, cache)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(drawn) == 4
    assert len(set(drawn)) == 1
