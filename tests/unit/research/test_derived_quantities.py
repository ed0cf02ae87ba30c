from localllm.research.derived_quantities import is_derivable
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
