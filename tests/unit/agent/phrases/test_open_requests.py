"""Whether a request leaves it open when, and whether at all, something is to be changed."""

from localllm.agent.phrases.open_requests import may_need_nothing, waits_for_user, wants_words_only
from tests.support.each import each


@each(
    ("request", "waits"),
    [
        ("Rewrite a.txt and show it to me before saving it", True),
        ("Replace floats by Decimal. But tell me what would be affected before you change anything.", True),
        ("Fix it, but ask me first.", True),
        ("Draft it and wait for my go.", True),
        ("a.txt を丁寧に書き直して、保存前に見せて", True),
        ("影響範囲を教えて。作業は私がOKと言ってから。", True),
        ("Back up a.py before changing it", False),
        ("Run the tests before you commit", False),
        ("First fix a.py, then b.py", False),
        ("Show the total before tax in a.py", False),
        ("a.py の f を直して。ファイルには書かないで", True),
        ("f を直して(まだ書き込まないで)", True),
        ("まだ保存しないで、直した f を出して", True),
        ("Fix f in a.py; don't write it yet", True),
        ("Fix f, but do not save it to the file.", True),
        ("f を直して、ファイルには書かないで見せて", True),
        ("f を直して。ファイルに保存しないでください", True),
        ("Fix f; don't write it to the log", False),
        ("Fix f so that the tests don't write anything to disk", False),
        ("Change save() so that we don't write them to disk", False),
        ("Fix it. Users say they do not save anything to files.", False),
        ("ファイルに保存しないで終了する不具合を直して", False),
        ("ファイルに反映しないことがあるバグを修正して", False),
        ("ログファイルには書かないようにして", False),
        ("変更前にテストを実行して", False),
        ("Fix the failing test, but first show me what you would change", True),
        ("First show me your plan for a.py.", True),
        ("Add the flag, but tell me the risks first.", True),
        ("Before you touch anything, tell me what is wrong.", True),
        ("First propose a fix for f.", True),
        ("First show me the tests, then fix them.", False),
        ("First list the files", False),
        ("Show the first line of a.py", False),
        ("Tell me the first failing test and fix it", False),
        ("Sort the rows so that show() prints the newest first.", False),
        ("直してからテストを実行して", False),
    ],
)
def test_whether_the_user_wants_to_see_something_first(request: str, waits: bool) -> None:
    assert waits_for_user(request) == waits


@each(
    ("request", "is_open"),
    [
        ("Refactor a.py. If it is good enough leave it", True),
        ("Add a docstring if there is none; otherwise leave it", True),
        ("Set the currency to JPY unless it already is.", True),
        ("Review a.py and improve it where it makes sense", True),
        ("Only if there is no test for f, add one.", True),
        ("Clean it up if needed", True),
        ("テストが無い場合だけ追加して", True),
        ("通貨が JPY でなければ JPY にしてください", True),
        ("必要なら直して", True),
        ("Is there any dead code here? Remove it if so.", True),
        ("十分読みやすければそのままでいい", True),
        ("Should discount apply before or after tax? Change it if it is wrong.", True),
        ("Look at the total and correct that if it is off.", True),
        ("Fix the crash if the list is empty", False),
        ("Make f return 0 if x is negative", False),
        ("Raise an error if the file is missing", False),
        ("リストが空なら0を返すようにして", False),
        ("できれば今日中に直して", False),
        ("終わったらテストを実行して", False),
    ],
)
def test_whether_a_change_depends_on_something(request: str, is_open: bool) -> None:
    assert may_need_nothing(request) == is_open


@each(
    ("request", "only"),
    [
        ("Review this diff", True),
        ("Please explain how f works.", True),
        ("このコードをレビューして", True),
        ("a.py を説明してください。", True),
        ("Review a.py and fix what is wrong", False),
        ("Summarise a.py into notes.md", False),
        ("Review a.py. Apply the fixes.", False),
        ("レビューして、問題があれば直して", False),
        ("要約して summary.md に保存して", False),
        ("Describe the API in docs/api.md", False),
        ("api.md に説明して", False),
        ("Add a docstring", False),
        ("Review this diff for bugs and style. Focus on security.", True),
        ("Explain how a.py and b.py work together. Why is it slow?", True),
        ("Review and delete dead code", False),
        ("Review a.py; rename foo to bar", False),
        ("Review the code and format it", False),
        ("Review the code. Run black.", False),
        ("Analyze the bug and solve it", False),
        ("Analyze why the test fails and get it passing", False),
        ("Explain each function in comments", False),
        ("Summarize notes.txt as summary.json", False),
        ("Explain this. Then port it to Rust.", False),
        ("data.csv を分析してください。結果を表にまとめてください。", False),
        ("コメントで各関数を説明してください", False),
        ("docstring で説明してください", False),
        ("a.py をレビューしてください。セキュリティが気になります。", True),
    ],
)
def test_whether_nothing_but_words_is_asked_for(request: str, only: bool) -> None:
    assert wants_words_only(request) == only
