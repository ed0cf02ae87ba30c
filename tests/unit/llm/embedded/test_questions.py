"""What kind of question it is, and what it is about."""

import pytest

from localllm.llm.embedded.questions import Question, understand


@pytest.mark.parametrize(
    ("text", "question"),
    [
        ("where is the retry logic?", Question("concept")),
        ("認証はどこで行われている？", Question("concept")),
        ("which function parses the config file?", Question("concept")),
        ("where is get_object_or_404 defined", Question("define", "get_object_or_404")),
        ("`Session` はどこ？", Question("define", "Session")),
        ("formatBytes", Question("define", "formatBytes")),
        ("main関数はどこ？", Question("define", "main")),
        ("where is the slugify function?", Question("define", "slugify")),
        ("what does class QuerySet do?", Question("explain", "QuerySet")),
        ("what does the function slugify do?", Question("explain", "slugify")),
        ("gcdは何をする？", Question("explain", "gcd")),
        ("what is Model.save?", Question("explain", "Model.save")),
        ("who calls topological_sort?", Question("uses", "topological_sort")),
        ("which files use requests?", Question("uses", "requests")),
        ("requests を使っている箇所は？", Question("uses", "requests")),
        ("which files import paho.mqtt?", Question("imports", "paho.mqtt")),
        ("zoneinfo を import しているファイルはどれ？", Question("imports", "zoneinfo")),
        ("what is the default value of MAX_RETRIES", Question("value", "MAX_RETRIES")),
        ("which port does the server use by default", Question("value")),
        ("where does 'Apps aren't loaded yet' come from?", Question("message", "Apps aren't loaded yet")),
        ("「接続できません」というエラーはどこから？", Question("message", "接続できません")),
        ("what is this project about?", Question("project")),
        ("このプロジェクトの概要を教えて", Question("project")),
        ("what's in src/foo.py?", Question("path", "src/foo.py")),
        ("explain @src/foo.py:12", Question("path", "src/foo.py", "12")),
        ("「売上 表.py」を説明して", Question("path", "売上 表.py")),
        ("list the files in docs/", Question("list", "docs/")),
        ("what classes are in a/b.py?", Question("list", "a/b.py")),
        ("how many python files are there?", Question("count")),
        ("テストはどこ？", Question("tests")),
        ("tests for the parser", Question("tests")),
        ("summarise the last three commits", Question("commits")),
        ("直近の3つのコミットを要約して", Question("commits")),
        ("what changed?", Question("diff")),
        ("どのブランチにいる？", Question("status")),
        ("How do I run the tests?", Question("howto")),
        ("インストール方法は？", Question("howto")),
        ("TODOはありますか", Question("todo")),
        ("who maintains the billing database?", Question("people")),
        ("hello", Question("greeting")),
        ("ありがとう", Question("thanks")),
        ("what is the capital of France?", Question("needs_model")),
        ("write me a poem about rust", Question("needs_model")),
        ("refactor the parser", Question("needs_model")),
        ("バグを直して", Question("needs_model")),
        ("where are differential equations solved?", Question("concept")),
        ("which code loads the app configs at startup?", Question("concept")),
        ("ステージング環境の設定はどこ？", Question("concept")),
    ],
)
def test_questions(text: str, question: Question) -> None:
    assert understand(text) == question
