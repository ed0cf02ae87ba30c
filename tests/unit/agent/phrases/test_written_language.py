"""Text in the wrong language that is written into a file."""

from localllm.agent.phrases.written_language import has_language, is_chinese_line, wanted_language, wrong_language
from tests.support.each import each


@each(
    ("request", "language", "kind"),
    [
        ("a.py の f に日本語の docstring を付けて", "ja", "comment"),
        ("docstring を日本語で書いて", "ja", "comment"),
        ("コメントは英語で統一して", "en", "comment"),
        ("テストを書いて。コメントは日本語で。", "ja", "comment"),
        ("英語の docstring を日本語に直して", "ja", "comment"),
        ("エラーメッセージを英語にして", "en", "string"),
        ("README.md を英語に訳して README.en.md に保存して", "en", "document"),
        ("日本語の README.md を英語に翻訳して", "en", "document"),
        ("README.md に英語で使い方を書いて", "en", "document"),
        ("Add an English docstring to f", "en", "comment"),
        ("Add docstrings in Japanese", "ja", "comment"),
        ("Translate the comments in a.py from Japanese to English", "en", "comment"),
        ("Change the error messages to Japanese", "ja", "string"),
        ("Translate docs/guide.md into Japanese", "ja", "document"),
        ("日本語の文字列を英語に置き換えて", "en", "string"),
        ("英語のコメントを日本語へ書き換えて", "ja", "comment"),
        ("Replace the Japanese comments in a.py with English ones", "en", "comment"),
    ],
)
def test_the_language_that_is_wanted_in_files(request: str, language: str, kind: str) -> None:
    assert wanted_language(request) == (language, kind)


@each(
    "request",
    [
        "README.md を日本語で要約して",
        "日本語で答えて。README.md を更新して",
        "g のゼロ除算を直して、日本語で説明して",
        "コミットメッセージは日本語で書いて、f を直して",
        "日本語のファイル名でも動くように README.md の例を直して",
        "README.md の日本語がおかしいところを直して",
        "README.md に使い方を日本語と英語で書いて",
        "Explain the comments of a.py in Japanese",
        "Write a README.md in English and README.ja.md in Japanese",
        "Add a comment about Japanese holidays to a.py",
        "Commit it with a message in English",
        "Fix g and explain in Japanese what you did",
        "Remove the Japanese comments from a.py",
        "日本語のコメントを削除して",
        "日本語の README.md を読んで、a.py を直して",
        "Rename the labels in English.json",
    ],
)
def test_other_requests_that_name_a_language(request: str) -> None:
    assert wanted_language(request) is None


@each(
    "line",
    [
        '    """将 x 加一并返回。"""',
        "    # 返回 a 除以 b 的结果",
        "## 使用方法\t运行 python3 a.py 即可。",
        '    """读取配置文件。"""',
        "# 打开文件",
        'print("处理已经完成了")',
    ],
)
def test_a_line_in_chinese(line: str) -> None:
    assert is_chinese_line(line)


@each(
    "line",
    [
        "東京都千代田区霞が関",
        "大阪府大阪市北区,返却期限,将来計画",
        "# 未実装。要確認。",
        "# 入力値検査後、結果を返す",
        "返却値,引数,関数,初期値",
        "将棋盤面初期化済",
        "齋藤髙橋渡邊德永",
        'assert parse("2026年4月1日(水)")',
    ],
)
def test_a_line_in_japanese_or_with_names_is_not(line: str) -> None:
    assert not is_chinese_line(line)


@each(
    ("path", "line", "request", "found", "meant"),
    [
        ("a.py", '    """Add one to x."""', "a.py の f に日本語の docstring を付けて", "English", "Japanese"),
        ("a.py", '    """x に 1 を足す。"""', "Add an English docstring to f in a.py", "Japanese", "English"),
        ("a.js", "  // Return the sum of a and b", "a.js に日本語でコメントを付けて", "English", "Japanese"),
        ("a.py", '        raise ValueError("b must not be zero")', "メッセージを日本語にして", "English", "Japanese"),
        ("a.ja.md", "These are small tools.", "a.md を日本語に訳して", "English", "Japanese"),
        ("a.py", '    """将 x 加一并返回。"""', "a.py の f に日本語の docstring を付けて", "Chinese", "Japanese"),
        ("a.py", "    # 返回 a 除以 b 的结果", "g にコメントを付けて", "Chinese", "Japanese"),
        ("a.py", "    # 返回 a 除以 b 的结果", "Write a config loader for JSON", "Chinese", "the user's language"),
    ],
)
def test_text_in_the_wrong_language(path: str, line: str, request: str, found: str, meant: str) -> None:
    wrong = wrong_language(path, ["x = 1", line], request, ["def f(x):"], wanted_language(request))
    assert wrong
    assert (wrong.found, wrong.wanted) == (found, meant)
    assert wrong.line in line


@each(
    ("path", "line", "request", "given"),
    [
        ("a.py", '    """x に 1 を足して返す。"""', "a.py の f に日本語の docstring を付けて", ""),
        ("a.py", '    """Return x plus one."""', "a.py の f に docstring を付けて", ""),
        ("a.py", "    return f(x)  # noqa: E501 is not one", "a.py に日本語のコメントを付けて", ""),
        ("a.py", "def f(x: int, y: int) -> int:", "a.py に型ヒントと日本語のコメントを付けて", ""),
        ("a.py", '    raise ValueError("b must not be zero")', "a.py に日本語のコメントを付けて", ""),
        ("a.py", "# Guard against division by zero.", "README.md を日本語に訳して、f も直して", ""),
        ("a.py", "# Adds one (in Japanese 足し算).", "Translate the Japanese comments to English", ""),
        ("a.md", "例: 你好，欢迎使用这个程序", "words.json の文言を a.md に載せて", '"你好，欢迎使用这个程序"'),
        ("a.zh.md", "这是一些小工具，欢迎使用。", "Translate README.md", ""),
        ("a.md", "这是一些小工具，欢迎使用。", "README.md を中国語に訳して", ""),
        ("test_a.py", 'assert "你好，世界这是测试".isprintable()', "Test that f handles unicode text", ""),
        ("a.py", "# 返回 a 除以 b 的结果", "fix it", ""),
    ],
)
def test_text_that_may_be_wanted(path: str, line: str, request: str, given: str) -> None:
    assert wrong_language(path, [line], request, [given], wanted_language(request)) is None


def test_text_in_the_language_that_is_wanted_is_known() -> None:
    wanted = wanted_language("日本語の docstring を付けて")
    assert wanted
    assert has_language("a.py", ['    """1 を足す。"""'], wanted)
    assert not has_language("a.py", ['    """Add one."""', "x = '1 を足す'"], wanted)
