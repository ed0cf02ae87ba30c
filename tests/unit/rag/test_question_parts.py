"""Splitting a query that asks about several things."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from localllm.rag.query import parse_query
from localllm.rag.question_parts import MOST_PARTS, part_floor, split_languages, split_query


@pytest.mark.parametrize(
    ("query", "parts"),
    [
        (
            "How many days of annual leave do I get and what is the notice period?",
            ("How many days of annual leave do I get", "what is the notice period?"),
        ),
        (
            "How much is reimbursed for a hotel, and how many days may I work from home?",
            ("How much is reimbursed for a hotel", "how many days may I work from home?"),
        ),
        ("annual leave days, notice period", ("annual leave days", "notice period")),
        (
            "年次有給休暇は何日で、退職の届け出はいつまでですか？",
            ("年次有給休暇は何日で", "退職の届け出はいつまでですか?"),
        ),
        ("会議室は何人まで使えて、予約はどこでしますか", ("会議室は何人まで使えて", "予約はどこでしますか")),
        ("宿泊費の上限と在宅勤務の日数を教えて", ("宿泊費の上限を教えて", "在宅勤務の日数を教えて")),
        ("有給休暇の日数 退職届の期限", ("有給休暇の日数", "退職届の期限")),
        ("部品の型番は何ですか 保証の期間はいつまでですか", ("部品の型番は何ですか?", "保証の期間はいつまでですか")),
    ],
)
def test_each_thing_is_a_part(query: str, parts: tuple[str, ...]) -> None:
    assert split_query(query) == parts


def test_statements_go_with_the_question_after_them_or_else_with_each() -> None:
    assert split_query("I lost the receipt. Can I claim the taxi? My badge broke. What does a new badge cost?") == (
        "I lost the receipt. Can I claim the taxi?",
        "My badge broke. What does a new badge cost?",
    )
    assert split_query("I am on probation. What is the notice period? How many days of leave do I have?") == (
        "I am on probation. What is the notice period?",
        "I am on probation. How many days of leave do I have?",
    )


@pytest.mark.parametrize(
    "query",
    [
        "",
        "notice period",
        "Who decides, and when?",
        "How long is the notice period and who signs it?",
        "How long is the notice period? Who signs it?",
        "What is the difference between annual leave and sick leave?",
        "What must I do when I lose my laptop and cannot work?",
        "how does the parser handle nested lists, tables and code?",
        "会社を辞めるとき、いつまでに誰に言えばいいですか",
        "会社と社員の関係",
        "有給休暇の日数と繰り越し",
    ],
)
def test_a_query_about_one_thing_stays_whole(query: str) -> None:
    assert split_query(query) == ()


def test_what_says_too_little_stays_with_the_question_before() -> None:
    assert split_query("What does a new badge cost? Who pays it? When is the canteen open on Sunday?") == (
        "What does a new badge cost? Who pays it?",
        "When is the canteen open on Sunday?",
    )


@pytest.mark.parametrize(
    ("query", "english", "japanese"),
    [
        ("battery warranty バッテリー 保証", "battery warranty", "バッテリー 保証"),
        ("repairs 修理 working days", "repairs   working days", ""),
        ("宿泊費 hotel limit", "hotel limit", ""),
        ("Slack LDAP 通知 設定", "Slack LDAP", ""),
        ("KZ-4077 error code 修理 日数", "KZ-4077 error code", ""),
        ("VPN 有効期限 更新", "", ""),
        ("repair working days", "", ""),
        ("修理の日数", "", ""),
        ("", "", ""),
    ],
)
def test_a_query_in_two_languages_has_one_of_each(query: str, english: str, japanese: str) -> None:
    parts = [(english, "latin"), (japanese, "japanese")]
    assert split_languages(query, lambda _term: False) == [part for part in parts if part[0]]
    assert split_languages(query, lambda _term: True) == [part for part in parts[:1] if part[0]]


@given(st.text(alphabet=" ,、。？?\nandwhoAのとを教えてか何休暇", max_size=1_100))
def test_any_text_is_split_into_few_parts_or_none(query: str) -> None:
    parts = split_query(query)
    assert len(parts) != 1
    assert len(parts) <= MOST_PARTS


def test_a_part_that_may_lack_its_subject_has_to_be_found_more_surely() -> None:
    _, elliptic = split_query("アクアミストで空気清浄はできますか。花粉は除去できますか")
    whole, _ = split_query("How many days of annual leave do I get and what is the notice period?")
    assert (part_floor(parse_query(elliptic), 0.5), part_floor(parse_query(whole), 0.5)) == (0.65, 0.5)
