"""Which requests only go on with the one before."""

from localllm.agent.phrases.agreements import is_agreement
from tests.support.each import each


@each(
    ("request", "goes_on"),
    [
        ("Yes, go ahead.", True),
        ("please continue", True),
        ("and now do it", True),
        ("keep going", True),
        ("Try it again.", True),
        ("please use the tools", True),
        ("You changed nothing!", True),
        ("you didn't edit the file", True),
        ("Nothing was changed, go on.", True),
        ("The file has not been changed.", True),
        ("続けて", True),
        ("では続けてください", True),
        ("もう一度", True),
        ("何も変更されていません。続けてください", True),
        ("ファイルが変わってないよ", True),
        ("why did you not change it?", False),
        ("Is the file not changed?", False),
        ("なぜ変更されていないのですか", False),
        ("保存されない理由を教えて", False),
        ("変更が反映されていない。", True),
        ("追加されていない項目を一覧にして", False),
        ("保存できないバグを調べて", False),
        ("保存されないようにして", False),
        ("now rename it to x", False),
        ("では、テストを書いてください", False),
        ("The order has not been saved: fix it.", False),
    ],
)
def test_what_only_goes_on_with_the_request_before(request: str, goes_on: bool) -> None:
    assert is_agreement(request) == goes_on


@each(
    ("request", "agrees"),
    [
        ("ok, go on", True),
        ("yes, fix it", True),
        ("yes, and tell me when it is done", True),
        ("続けて", True),
        ("続けてもらえますか？", True),
        ("もう一度", True),
        ("はい、動作も確認して", True),
        ("ok, what does b.py do?", False),
        ("OK explain b.py", False),
        ("right, and which file has the hash?", False),
        ("もう一度 b.py を見て", False),
        ("続けて b.py も説明して", False),
    ],
)
def test_a_request_of_its_own_agrees_to_no_earlier_one(request: str, agrees: bool) -> None:
    assert is_agreement(request) == agrees
