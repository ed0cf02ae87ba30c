"""A change that an answer only shows."""

from pathlib import Path

import pytest

from localllm.agent.checks.shown_changes import may_be_ordered, shown_change
from localllm.base.directory_walk import ProjectListing
from tests.support.each import each
from tests.unit.agent.test_run_endings import STEPS, agent_for, make_project, remarks

CODE = "```python\ndef double():\n    return 3 * x\n```"
SHOWN = f"a.py を次のように変更してください。\n\n{CODE}"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return make_project(tmp_path)


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("request_", "status"),
    [
        ("double が 3 倍するようにして", "incomplete"),
        ("double は 2 倍しかしません。3 倍にできますか?", "done"),
        ("double は 3 倍すべきです。お願いします", "done"),
        ("Make double triple x", "incomplete"),
        ("a.py: double must triple x", "done"),
        ("Can you make double triple x in a.py?", "incomplete"),
    ],
)
async def test_a_change_that_is_only_shown_is_asked_for(project: Path, request_: str, status: str) -> None:
    agent = agent_for(project, SHOWN, SHOWN, SHOWN)
    result = await agent.execute_query(request_)
    assert len(remarks(agent)) == 1
    assert "Nothing was " in remarks(agent)[0]
    assert (result.status, len(result.unverified)) == (status, 1)


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("request_", "steps", "answer"),
    [
        ("How would I make double triple x?", [], SHOWN),
        ("double を 3 倍にするにはどうすればいい", [], SHOWN),
        ("double は何をする?", [], SHOWN),
        ("Show me a double that triples x", [], SHOWN),
        ("double は 3 倍すべきです。お願いします", [], "```python\ndef double():\n    return 2 * x\n```"),
        ("double は 3 倍すべきです。お願いします", ["edit"], f"x を 2 にしました。今は次の通りです。\n{CODE}"),
        ("triple も要る。よろしく", [], "```python\ndef triple():\n    return 3 * x\n```\n案です。"),
    ],
)
async def test_what_answers_a_question_or_is_no_change_is_not(
    project: Path, request_: str, steps: list[str], answer: str
) -> None:
    agent = agent_for(project, *(STEPS[one] for one in steps), *[answer] * 3)
    await agent.execute_query(request_)
    assert not any("Nothing was " in one for one in remarks(agent))


@each(
    ("request_", "may_be"),
    [
        ("f が 1 しか足しません。2 にできますか?", True),
        ("エラー処理を a.py に入れといて", True),
        ("Could you make f add 2?", True),
        ("f should add 2", True),
        ("How do I make f add 2?", False),
        ("Is f right?", False),
        ("どのように直せばいいですか", False),
        ("f のどこが悪いか見て", False),
        ("Suggest a better f", False),
        ("a.py の改良版を見せて(まだ書き込まないで)", False),
        ("a.py の f を直して。ファイルには書かないで", False),
        ("a.py の f を直したものを画面に出すだけでいい", False),
        ("Fix f in a.py, but just show me", False),
        ("Fix f in a.py; don't write it yet", False),
        ("Preview a type-hinted f", False),
        ("Refactor f? What do you think?", False),
    ],
)
def test_what_may_be_an_order(request_: str, may_be: bool) -> None:
    assert may_be_ordered(request_) is may_be


def test_the_file_is_found(project: Path) -> None:
    (project / "b.js").write_text("export const half = (x) => x / 2;\n")

    def found(answer: str) -> str:
        return shown_change(answer, ProjectListing(project), lambda path: (project / path).read_text())

    assert found(CODE) == "a.py"
    assert found("```js\nconst half = (x) => x / 3;\n```") == "b.js"
    assert found("```js\nexport const half = (x) => x / 2;\n```") == ""
    assert found("```sh\npython3 a.py\n```") == found("double") == found("```python\nx = 2\n```") == ""
