"""Queries: what asks in them and what is told beside it, names, and how much of one a passage has."""

import pytest

from localllm.rag.query import Query, Word, parse_query, share_of
from localllm.rag.sparse_vectors import term_hash
from localllm.text.tokenising import terms


def word(query: Query, text: str) -> Word:
    return next(one for one in query.words if one.hashes[0] == term_hash(terms(text)[0]))


def coverage(query: str, passage: str, around: str = "") -> float:
    parsed = parse_query(query)
    there, beside = (frozenset(map(term_hash, terms(text))) for text in (passage, around))
    return parsed.coverage(parsed.weighed(lambda _: 1.0), there, beside)


def share(query: str, passage: str) -> float:
    return share_of(parse_query(query).telling(lambda _: 1.0), frozenset(map(term_hash, terms(passage))))


@pytest.mark.parametrize(
    ("query", "asked", "told"),
    [
        ("My father has died. How many days of leave?", "leave", "father"),
        ("When the tank leaks, who repairs it?", "repair", "tank"),
        ("When is the doctor asked?", "doctor", ""),
        ("By when do I take the holiday?", "holiday", ""),
        ("When is the filter changed, and how much does it cost?", "filter", ""),
        ("When does the warranty end, and how do I extend it?", "warranty", ""),
        ("My father has died. How many days of leave", "leave", "father"),
        ("reset after power failure", "power", ""),  # search words
        ("error when printing", "printing", ""),
        ("ブザーが鳴ったのですが、フィルターは?", "フィルター", "ブザー"),
        ("ブザーは止めましたが、フィルターの警告が消えません。", "フィルター", "ブザー"),
        ("ブザーが鳴ります。フィルターが外れません。", "ブザー", ""),
        ("ランプが点滅していて、フィルターはどう掃除しますか", "フィルター", "ランプ"),
        ("フィルターは何枚ありますか。また、予備を買えますか。", "フィルター", ""),
        ("ライトが赤で点滅し、ブザーが鳴って、停止しない", "ライト", ""),
        ("サポートはどれくらいで、修理の費用はいくらですか", "サポート", ""),
        ("フィルターを外して、ランプを点検できますか", "フィルター", ""),
        ("開設キーを何度も間違えたのですが、ロックは解除できますか", "ロック", "キー"),
    ],
)
def test_what_asks_counts_more_than_what_is_told(query: str, asked: str, told: str) -> None:
    parsed = parse_query(query)
    assert word(parsed, asked).absent == 1
    assert not told or word(parsed, told).absent < 0.5


def test_the_condition_at_a_questions_end_counts_more_than_what_is_told_before_it() -> None:
    asked = word(parse_query("How many days do I get when a grandparent dies?"), "grandparent").absent
    told = word(parse_query("If a grandparent dies, how many days do I get?"), "grandparent").absent
    assert told < asked < 1


def test_what_is_told_is_the_question_where_nothing_else_is_asked() -> None:
    assert word(parse_query("My father has died. What should I do?"), "father").absent == 1


@pytest.mark.parametrize(
    ("query", "name", "is_name"),
    [
        ("does it check the LDAP password", "ldap", True),
        ("send a Slack message", "slack", True),
        ("Slack messages are sent", "slack", False),  # as any word that begins a sentence
        ("iscsi の設定", "iscsi", True),
        ("send a message", "message", False),
        ("PCの電源が入らない", "pc", False),  # the documents may have another word: パソコン
        ("Wi-Fiに接続できない", "wi", False),
        ("Excelファイルが開けない", "excel", False),
        ("may I use a USB stick", "usb", False),
        ("Can I work from home on Monday?", "monday", False),
        ("Can I take leave in August?", "august", False),
        ("Annual Leave Carry Over", "leave", False),
        ("ANNUAL LEAVE", "leave", False),
        ("LDAP", "ldap", True),
        ("What is Slack?", "slack", True),
    ],
)
def test_a_name_that_is_lacking_counts_more(query: str, name: str, is_name: bool) -> None:
    assert word(parse_query(query), name).absent == (2.2 if is_name else 1)


def test_a_name_that_is_there_counts_less_than_what_is_asked_of_it() -> None:
    assert coverage("volume of the Corvid", "the Corvid") < 0.5
    assert coverage("KB-420の音量", "KB-420") < 0.6
    assert coverage("volume of the Corvid", "the volume of the Corvid") == 1


def test_words_that_only_ask_hardly_count() -> None:
    assert coverage("how many days is it", "days of it") > 0.5
    assert coverage("please tell me about the pump", "pump") > 0.8
    assert coverage("does somebody already leave without a badge", "leave badge") > 0.8
    assert coverage("how far in advance is leave asked", "leave asked") > 0.9


def test_hiragana_counts_where_there_is_nothing_else() -> None:
    assert coverage("フィルターはどうすればいいですか", "フィルター") == 1
    assert coverage("うっかりして", "うっかりして") == 1


def test_a_compound_is_there_in_parts() -> None:
    assert 0 < coverage("外部接続", "外部への接続") < 1
    assert coverage("スナップショット", "スナップショットフォルダー") > 0.5
    assert coverage("フィルター", "フィ") == 0
    assert 0 < coverage("openLock", "lock the door") < 1


def test_the_parts_of_a_word_with_a_hyphen_count_as_one() -> None:
    assert coverage("Wi-Fiの接続", "接続") == 0.5
    assert coverage("carry-forward leave", "leave carry") == 0.75


def test_another_word_for_it_counts_half_in_the_share_and_nothing_in_the_coverage() -> None:
    assert share("wages", "wages") == 1
    assert share("wages", "salary") == share("passcode", "パスワードの失効") == 0.5
    assert share("残業の上限", "limit of overtime") == 0.5
    assert share("time off", "leave") == 0.5
    assert share("wages", "kitten") == 0
    assert coverage("wages", "salary") == 0


def test_the_share_asks_for_what_is_told_as_well() -> None:
    assert coverage("My father has died. How many days of leave?", "days of leave") >= 0.8
    assert share("My father has died. How many days of leave?", "days of leave") == 0.5


def test_synonyms_are_looked_for_with_less_weight() -> None:
    asked = dict(zip(*parse_query("Who gets a cash advance?").vector, strict=True))
    assert 0 < asked[term_hash("仮払")] < asked[term_hash(terms("advance")[0])] == 1
    assert term_hash("仮") not in asked, "it is in many other words"


def test_what_only_the_file_has_counts_half() -> None:
    assert coverage("pump filter", "pump") == 0.5
    assert coverage("pump filter", "pump", around="filter") == 0.75


@pytest.mark.parametrize(
    ("query", "passage", "is_answered"),
    [
        ("何か月ごとにフィルターを交換しますか", "消耗品(フィルター、電池)は保証しません。\n保証は6か月です。", False),
        ("何か月ごとにフィルターを交換しますか", "フィルターは6か月ごとに交換します。", True),
        ("How many days does the repair take?", "A repair is free.\n\nWe are closed for three days.", False),
        ("How many days does the repair take?", "A repair takes three working days.", True),
        ("忌引は何日", "# 2. 忌引休暇\n| 配偶者 | 5日 |\n# 3. 賃金\n25日に支払う。", True),
        ("忌引は何日", "# 2. 忌引休暇\n届け出る。\n# 3. 賃金\n支払日は25日とする。", False),
        ("Which function sends the mail?", "mail, email, send", False),
        ("Which function sends the mail?", "def deliver():\n    # sends the mail", True),
        ("Is the repair free?", "A repair takes long.", True),
    ],
)
def test_what_is_asked_for_stands_beside_words_of_the_question(query: str, passage: str, is_answered: bool) -> None:
    there, common = (frozenset(map(term_hash, terms(text))) for text in (passage, "月 days 日"))
    asked = parse_query(query)
    assert asked.is_answered(passage, there, frozenset(), lambda term: 0.1 if term in common else 1) == is_answered


def test_names_are_recognised_in_their_sentence() -> None:
    def names(query: str) -> list[float]:
        return [word.absent for word in parse_query(query).words if word.absent > 1]

    assert len(names("How does our Slack link to SMTP?")) == 2
    assert not names("How does our slack link to Windows?")
    assert not names("Annual Leave Carry Over")
    assert names("SMTP")
    assert not names("HOW DO I PAY?")
