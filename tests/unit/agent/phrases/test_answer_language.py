"""Answers in a language that the user does not write."""

from localllm.agent.phrases.answer_language import unwanted_language
from tests.support.each import each

_ENGLISH = (
    "This program starts an HTTP server. It listens on port 8000, and every request is answered with a fixed text."
)


@each(
    ("request", "given", "name"),
    [
        ("a.py を直して", "", "language"),
        ("a.py を中国語に訳して", "", ""),
        ("Fix the rounding in a.py", "", "language_of_request"),
        ("why?", "", ""),
        ("Übersetze die README ins Englische", "", "language_of_request"),
        ("Reply in zh-CN: what does a.py do?", "", ""),
        ("Explain the headings of docs/zh.md", "", ""),
        ("Translate a.md into Chinese", "", ""),
        ("Fix the rounding in a.py", "Always answer in Chinese.", ""),
        ("Fix the rounding in a.py", "修复 b.py", ""),
    ],
)
def test_an_answer_in_chinese_to_who_does_not_write_it(request: str, given: str, name: str) -> None:
    assert unwanted_language("好的，已经完成了，测试也通过了。", request, [given]) == name
    assert unwanted_language("Done: 好的 was removed.", request, [given]) == ""


@each(
    ("request", "given", "name"),
    [
        ("app.py は何をするプログラムですか？", "", "in_english"),
        ("backup.sh の cd を引用符で囲んで", "", "in_english"),
        ("LICENSE の中身を全部", "", ""),
        ("ライセンスの条文を教えて", "", ""),
        ("build.log の最後の10行", "", ""),
        ("app.py が何をするかを英語で説明して", "", ""),
        ("app.py は何をするプログラムですか？", "回答は英語で。", ""),
        ("README.md を見せて", "", ""),
        ("コミットメッセージを考えて", "", ""),
        ("What does app.py do?", "", ""),
        ("app.py?", "", ""),
    ],
)
def test_an_answer_in_english_to_a_japanese_request(request: str, given: str, name: str) -> None:
    assert unwanted_language(_ENGLISH, request, [given]) == name


@each(
    "answer",
    [
        "app.py は HTTP サーバーです。This is a server. It listens on port 8000, and it is the only one.",
        "`app.py`: 8000",
        "Done.",
        "8000",
        "```\nThis program starts a server. It listens on the port 8000 of the host, and it is not a test.\n```",
        "- app.py\n- backup.sh\n- deploy.sh\n- Dockerfile\n- hosts.txt\n- requirements.txt",
    ],
)
def test_an_answer_that_is_no_english_text(answer: str) -> None:
    assert unwanted_language(answer, "app.py は何をするプログラムですか？", []) == ""
