"""What is left out of the results of a scan."""

from localllm.research.market.market_records import FoundResult
from localllm.research.market.sensitive_content import SensitiveContent


def result(snippet: str) -> FoundResult:
    return FoundResult(title="t", url="https://a.example/", snippet=snippet, purpose="needs", region="jp")


def test_kinds_are_those_of_the_mask_and_of_the_list() -> None:
    sensitive = SensitiveContent(("社外秘", "Internal Use"))
    assert sensitive.kind_of("The market grows.") == ""
    assert sensitive.kind_of("mail taro@mail.example.com") == "email"
    assert sensitive.kind_of("この資料は社外秘") == "word"
    assert sensitive.kind_of("ＩＮＴＥＲＮＡＬ ＵＳＥ only") == "word"
    assert SensitiveContent(("",)).kind_of("anything") == ""


def test_what_has_some_is_left_out_and_counted() -> None:
    kept, counted = SensitiveContent(("secret plan",)).leave_out(
        [result("The market grows."), result("A secret plan."), result("Another Secret Plan.")]
    )
    assert [one.snippet for one in kept] == ["The market grows."]
    assert counted == {"word": 2}
