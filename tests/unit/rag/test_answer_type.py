"""Expected answer types: what questions ask for, and what is such a thing."""

import pytest

from localllm.rag.answer_type import expected_answer
from localllm.rag.query import parse_query


@pytest.mark.parametrize(
    ("question", "answer", "other"),
    [
        ("How many days may I stay?", "up to two weeks", "with form EX-3"),
        ("How many working days does it take?", "| Parent | 5 |", "ask on days off"),
        ("Within how many days is it?", "in fourteen days", "in a few days"),
        ("How many guests fit in?", "ninety guests", "guests may come in"),
        ("What does it cost?", "a hundred euros", "ask at the desk"),
        ("By when is it due?", "by 30 June", "in time"),
        ("How early must I ask?", "in May", "you may ask"),
        ("How often is it emptied?", "hourly, on Mondays too", "with care"),
        ("何日前までに届けますか", "前日の正午", "窓口に"),
        ("何日までに払いますか", "月末まで", "窓口で"),
        ("How often is it checked?", "every year", "often"),
        ("How much notice is needed?", "a week before", "KB-420"),
        ("How many litres does the tank hold?", "4.5 litres", "5 hours"),
        ("何リットル入りますか", "4.5 リットル", "5時間"),
        ("何段階で調整できますか", "3段階です", "段階的に"),
        ("何人まで登録できますか", "二人まで", "管理者まで"),
        ("何年使えますか", "購入日から2年", "20円"),
        ("料金はいくらですか", "一律 24,200円", "一律"),
        ("料金はいくらですか", "無料です", "3年"),
        ("どのくらいかかりますか", "約3分", "しばらく"),
        ("埋蔵量は何トンですか", "100億トン", "100年"),
        ("How long is the timeout?", "LONGEST = 180.0", "1. Long timeouts"),
        ("Which function reads it?", "    async def read_it(self) -> None:", "it is read by a function"),
        ("どの関数で読みますか", "def read_it():", "読みます"),
    ],
)
def test_a_question_has_an_answer_of_its_kind(question: str, answer: str, other: str) -> None:
    expected = expected_answer(question)
    assert expected
    assert [*expected.places(answer)]
    assert not [*expected.places(other)]


@pytest.mark.parametrize(
    "question",
    [
        "Where is the lock file?",
        "Can I keep it?",
        "What method of payment is accepted?",
        "Which class should I fly?",
        "What does the cost include?",
        "いくら待っても届きません",
        "いつでも使えますか",
        "何度も間違えました。解除できますか",
        "何回か試しました。直せますか",
        "いくつかの国で使えますか",
        "どのモデルですか",
        "KB-420",
    ],
)
def test_other_questions_may_have_any_answer(question: str) -> None:
    assert expected_answer(question) is None


def test_a_query_asks_for_it_with_all_its_words() -> None:
    assert parse_query("How far in advance do I book?").answer


def test_the_sentences_of_an_answer_are_found() -> None:
    expected = expected_answer("何秒待ちますか")
    assert expected
    assert [*expected.places("# 2秒\n待ちます。30秒です。\n2) 終わり。")] == ["# 2秒\n30秒です。"]
