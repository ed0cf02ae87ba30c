"""Which script a text is in."""

import pytest

from localllm.text.scripts import is_chinese, is_in_language
from tests.support.each import each


@each(
    "text, ja, en",
    [
        ("北塔は1998年5月に開業した。", True, False),
        ("開業日と高さ", True, False),
        ("開業", True, False),
        ("Fellcell社はOskarfellの工場でGWh級の電池を作っている。", True, False),
        ("The Kita tower opened in May 1998.", False, True),
        ("The tower (北塔) opened in 1998 at Minami-machi (南町).", False, True),
        ("北塔于一九九八年五月开业，高度为一百二十米，游客三十万人。", False, False),
        ("Башня открылась в мае 1998 года.", False, False),
        ("북탑은 1998년 5월에 문을 열었다.", False, False),
        ("Élan: café naïve, 5 % über Müller.", False, True),
        ("1998 – 2024: 120 %", True, True),
        ("", True, True),
    ],
)
def test_texts_are_told_apart(text: str, ja: bool, en: bool) -> None:
    assert (is_in_language(text, "ja"), is_in_language(text, "en")) == (ja, en)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("问题在于这个模块没有缓存，请检查日志。", True),
        ("我们已经修复了 `prices.py` 中的错误。", True),
        ("問題は、このモジュールにキャッシュがないことです。", False),
        ("変更完了。試験成功、異常無。作業時間三十分、関係者全員確認済。", False),
        ("東京都千代田区丸の内一丁目、時間問題", False),
        ("The module has no cache. `问题在于这个模块没有缓存`", False),
        ("这个", False),
        ("已经完成了所有的修改：在 CHANGELOG.md 中添加了 1.3.0 的条目，并且在指南中写了使用方法。", True),
        ("测试通过了。", True),
        ("任务完成，代码已更新。", True),
        ("修正完了。全試験合格。", False),
        ("草彅剛氏、髙島屋、﨑陽軒、渡邉氏、龔氏、鄧氏、溫泉", False),
        ("これは买东西的购物车类。它有三个方法：add、subtotal 和 total。", True),
        ("修正しました。测试全部通过了，没有错误，代码也已经更新，请检查结果。", True),
        ("购物车と会计という中国語の名前があります。", False),
        ("設定变更および试验报告、确认済み。担当者は全員出席し、作業は予定どおり終わっています。", False),
        ("変更済: 設定、実装、検証、単体試験、性能測定、経過報告", False),
    ],
)
def test_chinese_is_told_from_japanese(text: str, expected: bool) -> None:
    assert is_chinese(text) is expected
