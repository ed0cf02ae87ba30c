"""The line of a document that fits a question best."""

from pathlib import Path

import pytest

from localllm.lookup.document_lines import best_line
from localllm.lookup.terms import terms_of
from tests.unit.lookup.conftest import Ask

pytestmark = pytest.mark.anyio

RULES = """# 勤怠と経費の規程

## 第1章 休暇

年次有給休暇は、入社後6か月経過した日に10日付与する。
休暇の申請は、取得希望日の3営業日前までに上長へ提出する。

## 第2章 残業

残業は事前に所属長の承認を得なければならない。
月45時間を超える残業は、人事部長の承認が必要である。

## 第3章 経費

交通費は、実費を支給します。タクシーの利用は、終電後に限ります。
領収書の原本は、申請から5年間保管します。
The head of department approves travel abroad. Hotels cost 120 EUR at most.
"""


@pytest.mark.parametrize(
    ("question", "number", "sentence"),
    [
        ("休暇の申請はいつまでですか", 6, "休暇の申請は、取得希望日の3営業日前までに上長へ提出する。"),
        ("45時間を超える残業には誰の承認が必要ですか", 11, "月45時間を超える残業は、人事部長の承認が必要である。"),
        ("タクシーはいつ使えますか", 15, "タクシーの利用は、終電後に限ります。"),
        ("領収書は何年間保管しますか", 16, "領収書の原本は、申請から5年間保管します。"),
        ("有給休暇は何日もらえますか", 5, "年次有給休暇は、入社後6か月経過した日に10日付与する。"),
        ("Who approves travel abroad?", 17, "The head of department approves travel abroad."),
        ("量子もつれとは", 0, ""),
    ],
)
def test_a_question_leads_to_its_sentence(question: str, number: int, sentence: str) -> None:
    assert best_line(RULES.split("\n"), question, terms_of(question)) == (number, sentence)


def test_a_document_without_a_line_has_none() -> None:
    assert best_line([], "休暇", terms_of("休暇")) == (0, "")


async def test_the_answer_names_the_line_and_quotes_it(shop: Path, ask: Ask) -> None:
    (shop / "docs").mkdir(exist_ok=True)
    (shop / "docs" / "kitei.md").write_text(RULES, encoding="utf-8")
    answer = (await ask("領収書は何年間保管しますか")).answer
    assert "docs/kitei.md:16" in answer
    assert "> 領収書の原本は、申請から5年間保管します。" in answer
    assert "“年”" not in answer


async def test_of_a_file_of_secrets_no_line_is_quoted(shop: Path, ask: Ask) -> None:
    (shop / "credentials.txt").write_text("題\n金庫の暗証番号は四桁です。\n", encoding="utf-8")
    answer = (await ask("金庫の暗証番号は何桁ですか")).answer
    assert "四桁" not in answer
