"""The words by which people and models say what is to be done with a TODO. Imports nothing: it is read at the start."""

JAPANESE: dict[str, str] = {
    "add": "追加|登録",
    "start": "着手|開始",
    "finish": "完了|終了",
    "drop": "中止|取消|取り消し|取りやめ",
    "reopen": "再開",
    "high": "高",
    "medium": "中",
    "low": "低",
    "edit": "編集|変更",
    "move": "移動",
    "list": "一覧|表示",
    "all": "全部|すべて",
}
"""By what is meant, in English."""


def by_word(english: dict[str, str]) -> dict[str, str]:
    """What each word means: the English ones that are given by what is meant, and the Japanese ones for the same."""
    words = {meant: f"{said}|{JAPANESE.get(meant, meant)}" for meant, said in english.items()}
    return {word: meant for meant, every in words.items() for word in every.split("|")}
