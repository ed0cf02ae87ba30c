import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from localllm.base.i18n import _
from localllm.research.claims.claim_checks import best_passages, refuse, refuse_quoted, support_score
from localllm.research.records import Evidence
from tests.support.each import each

TODAY = "2026-11-24"
PAIRS = [
    {**pair, "file": file.stem}
    for file in sorted((Path(__file__).parent / "pairs").glob("*.toml"))
    for pair in tomllib.loads(file.read_text("utf-8"))["pair"]
]
SOURCE = "The Hatano dam, completed in March 1987, cost 61 billion yen. Sales rose by 12 % to 3 million."


def _refused(label: bool) -> list[dict[str, Any]]:
    return [one for one in PAIRS if one["label"] is label and refuse(one["claim"], one["passages"], today=TODAY)]


def test_true_claims_are_hardly_ever_rejected() -> None:
    true = [one for one in PAIRS if one["label"]]
    assert len(true) >= 50
    refused = _refused(label=True)
    assert len(refused) <= 0.03 * len(true), [one["claim"] for one in refused]


def test_most_lies_are_rejected() -> None:
    lies = [one for one in PAIRS if not one["label"] and one["file"] != "unseen"]
    assert len(lies) >= 80
    assert len(_refused(label=False)) >= 0.9 * len(lies)


@pytest.mark.parametrize(
    "claim",
    [
        "The Hatano dam cost 16 billion yen.",
        "ハタノダムは昭和60年に完成した。",
        "The Sagano dam cost 61 billion yen.",
        "Sales fell by 12 %.",
        "The model X100 cost 61 billion yen.",
        "The dam was not completed in 1987.",
        "It is the only dam completed in 1987.",
        "Mozart composed several lovely operas while travelling.",
    ],
)
def test_each_rule_names_its_reason(claim: str) -> None:
    refusal = refuse(claim, [SOURCE], today=TODAY)
    assert refusal is not None
    assert _(refusal.reason, **refusal.params)


def test_a_claim_without_passages_is_rejected() -> None:
    assert refuse("It is so.", [], today=TODAY) is not None
    assert refuse("It is so.", [" "], today=TODAY) is not None


@pytest.mark.parametrize(
    ("claim", "passage"),
    [
        ("The company is 105 years old.", "The company was founded in 1921."),
        ("Together they have 300 members.", "One club has 120 members, the other 180 members."),
        ("Sales rose by 50 %.", "Sales were 20 million yen in 2020 and 30 million yen in 2021."),
        ("The share rose by 7 points.", "The share was 17 % and is now 24 %."),
        ("Sales were twice as high.", "Sales were 20 million yen in 2020 and 40 million yen in 2021."),
    ],
)
def test_a_calculation_that_is_announced_is_allowed(claim: str, passage: str) -> None:
    assert refuse(claim, [passage], today=TODAY) is None


def test_the_passage_that_says_it_comes_first() -> None:
    told = [
        Evidence("E1", "S1", 0, 1, "Cats sleep for most of the day."),
        Evidence("E2", "S1", 0, 1, "The dam cost 61 billion yen."),
        Evidence("E3", "S1", 0, 1, "A dam is a barrier."),
    ]
    assert [one.id for one in best_passages("The dam cost ¥61 billion.", told, 2)] == ["E2", "E3"]
    assert support_score("ダムの費用は610億円だった。", told[1].text) > support_score(
        "ダムの費用は610億円だった。", told[2].text
    )


def test_names_may_stand_where_the_page_says_what_it_is_about() -> None:
    claim, passage = "Kelloway Sound delivers 240 MW.", "The station has a capacity of 240 megawatts."
    assert refuse(claim, [passage], today=TODAY)
    assert refuse(claim, [passage], today=TODAY, context=["Kelloway Sound opens"]) is None
    assert refuse("It delivers 250 MW.", [passage], today=TODAY, context=["250 MW for Kelloway Sound"])


@pytest.mark.parametrize(
    ("claim", "sentence", "stands"),
    [
        ("Water given back may be warmer than 24 °C.", "The returned water must not be warmer than 24 degrees.", False),
        ("Fines were abolished on 1 March 2023.", "Since 1 March 2023 no fines have been charged.", True),
        ("The researchers call fines a tax on the poor.", "Every fifth new member had owed fines before.", False),
        ("The researchers call fines a tax on the poor.", "Fines, they write, are a tax on the poor.", True),
        ("水温は24度を超えてよい。", "The returned water must not be warmer than 24 degrees.", True),
    ],
)
def test_one_sentence_that_is_to_decide_it(claim: str, sentence: str, stands: bool) -> None:
    assert (refuse_quoted(claim, sentence) is None) is stands


@each(
    ("claim", "passage", "stands"),
    [
        ("人口は約3割減った。", "It has 48,300 inhabitants. Half a century ago it counted 71,000.", True),
        ("人口は約1割減った。", "It has 48,300 inhabitants. Half a century ago it counted 71,000.", False),
        ("通行止めは40日間続いた。", "Built in 1934, it was closed from 4 May to 12 June 2023.", True),
        ("通行止めは50日間続いた。", "Built in 1934, it was closed from 4 May to 12 June 2023.", False),
        ("峠は約7か月間通れない。", "The pass is closed from late October until mid-May.", True),
        ("峠は約5か月間開かない。", "The pass is closed from late October until mid-July.", False),
        ("Four in five passed.", "Of the 1,200 who began, 960 passed.", True),
        ("Three in five passed.", "Of the 1,200 who began, 960 passed.", False),
        ("2027年度から適用される。", "It applies from the financial year 2026/27.", True),
        ("予定では2017年に開業するはずだった。", "It opened in 2018, a year late.", True),
        ("予定では2015年に開業するはずだった。", "It opened in 2018, a year late.", False),
        ("空港は午前4時ごろ閉鎖された。", "Flights resumed at 6 p.m. after a 14-hour shutdown.", True),
        ("空港は午前7時ごろ閉鎖された。", "Flights resumed at 6 p.m. after a 14-hour shutdown.", False),
        ("Two firms own half of it each.", "Two technology companies share its ownership equally.", True),
        ("地震の規模はM6.4だった。", "The quake measured magnitude 6.4.", True),
        ("地震の規模はM6.1だった。", "The quake measured magnitude 6.4.", False),
        ("Only seven children were on the list.", "待機児童は4月1日時点で7人となった。", True),
        ("The Organisation lowered its forecast.", "The OECD cut its growth forecast for the euro zone.", True),
    ],
)
def test_what_is_only_said_in_other_words_stands(claim: str, passage: str, stands: bool) -> None:
    assert (refuse(claim, [passage], today="2026-11-24") is None) == stands


@each(
    ("claim", "passage", "stands"),
    [
        ("2024年3月期の売上高は64億円だった。", "2023年度の売上高は64億円だった。", True),
        ("美術館は2023年7月15日に再び開館した。", "2024年度の入館者は31万8千人だった。", False),
        ("美術館は2023年7月15日に再び開館した。", "美術館は2022年度に改修され、7月15日に再び開館した。", True),
        ("The bridge was closed in 2025.", "The bridge was closed last year.", True),
        ("The bridge was closed on 3 May 2025.", "The bridge was closed last year.", False),
        ("The bridge was closed on 3 May 2025.", "The bridge was closed on 3 May last year.", True),
    ],
)
def test_a_relative_or_fiscal_year_implies_a_year_but_no_day(claim: str, passage: str, stands: bool) -> None:
    assert (refuse(claim, [passage], today="2026-11-24") is None) == stands


NUMBERS = (
    "0 00 1/2 5/0 0.00001 7 37 450 1,998 1998 12.5 1e9 9999999999999999999 half twenty 十二 １２ 三百 第3 -5".split()
)
UNITS = (
    "days,hours,million hours,billion years,months,weeks,seconds,%,percentage points,times,km,°C,°F,K,dollars,円,年,"
    "ヶ月,日,時間,分,倍,割,人,kWh,decades,years old,歳,quarters,people,th century"
).split(",")
DATES = (
    "3 May 1998,31 April 2023,29 February 1900,0001-01-01,9999-12-31,2026-13-40,1998年0月0日,令和8年,FY2026,Q3 2025,"
    "24:00,the 1990s,30 BC,spring 2024,午後3時"
).split(",")
LINKS = (
    "opened on,closed,after,before,between,from,to,rose by,a total of,twice,half of,more than,about,later,ago,per,each,"
    "the difference,the rest,the next day,in,はから,までに,合計,翌日,往復,差は"
).split(",")
WORDS = st.one_of(
    st.builds("{} {}".format, st.sampled_from(NUMBERS), st.sampled_from(UNITS)),
    st.sampled_from(DATES),
    st.sampled_from(LINKS),
    st.sampled_from(NUMBERS),
)
SENTENCES = st.lists(WORDS, min_size=2, max_size=9).map(lambda words: f"The tower {' '.join(words)}.")


@given(SENTENCES, st.lists(SENTENCES, min_size=1, max_size=3))
def test_no_numbers_of_a_page_end_a_check(claim: str, passages: list[str]) -> None:
    for refusal in (refuse(claim, passages, today=TODAY), refuse_quoted(claim, passages[0])):
        assert refusal is None or _(refusal.reason, **refusal.params)
    assert 0 <= support_score(claim, passages[0]) <= 1
