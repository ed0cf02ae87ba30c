from localllm.research.claims.derived_quantities import is_derivable, is_reckoned
from localllm.text.quantities import quantities
from tests.support.each import each


@each(
    ("claim", "stated", "derivable"),
    [
        ("Together they have 300 members.", "120 members and 180 members", True),
        ("They have 300 members.", "120 members and 180 members", False),
        ("The firm existed for 20 years.", "from 1990 to 2010", True),
        ("The firm existed for 30 years.", "from 1990 to 2010", False),
        ("Prices rose by 25 %.", "80 yen and 100 yen", True),
        ("The rest, 30 %, is exported.", "70 % stays", True),
        ("合計で50億円だった。", "20億円と30億円", True),
    ],
)
def test_only_announced_calculations_count(claim: str, stated: str, derivable: bool) -> None:
    wanted = quantities(claim)[-1]
    assert is_derivable(claim, wanted, quantities(stated), "2026-11-24") is derivable


@each(
    ("claim", "stated", "follows"),
    [
        ("The fare had been 1.67 euros.", "It costs 1.79 euros, 12 cents more than before.", True),
        ("The estimate was £820,000.", "It sold for 4.1 million pounds, five times its estimate.", True),
        ("市の人口は約30万人である。", "市の人口の4割近い12万人が高齢者である。", True),
        ("The mine opened in 1897.", "It closed in 2009 after 112 years.", True),
        ("The trial took six weeks.", "The trial lasted from 8 January to 19 February.", True),
        ("始業は50分遅くなった。", "School begins at 8:50 instead of 8:00.", True),
        ("当初は2025年1月の予定だった。", "It opens on 1 January 2027, two years later than planned.", True),
        ("There are six trains an hour.", "Trains run every 10 minutes.", True),
        ("The other 29 % are tourists.", "52 % are commuters and 19 % students.", True),
        ("It is open 16 hours a day.", "It opens at 7 a.m. and closes at 11 p.m.", True),
        ("The farm has 173 MW in all.", "48 turbines of 3.6 megawatts each", True),
        ("Eight countries have yet to sign.", "Of the 27 states, 19 have signed.", True),
        ("The fare had been 1.55 euros.", "It costs 1.79 euros, 12 cents more than before.", False),
        ("The mine opened in 1879.", "It closed in 2009 after 112 years.", False),
        ("Two thirds had agreed.", "A third of the 2,400 nurses had agreed.", False),
        ("It has 7 rooms.", "It has 4 doors and 3 windows.", False),
        ("It had 37 faults.", "It had 0 hours of downtime and 12 faults.", False),
        ("It closed on 7 June 1998.", "On 3 May 1998, 20 million hours had been worked.", False),
        ("It opened on 1 March 0002.", "It closed on 3 March 0001 after 900 days.", False),
    ],
)
def test_one_step_from_the_numbers_near_by(claim: str, stated: str, follows: bool) -> None:
    wanted = next(one for one in quantities(claim) if one.kind != "ordinal")
    assert is_reckoned(claim, wanted, stated, quantities(stated)) is follows


def test_among_many_numbers_nothing_is_reckoned() -> None:
    stated = "12, 15, 19, 23, 29, 31, 37, 41, 43 and 47 members"
    wanted = quantities("27 members joined.")[0]
    assert not is_reckoned("27 members joined.", wanted, stated, quantities(stated))
