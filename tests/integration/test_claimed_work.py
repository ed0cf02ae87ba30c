"""What an answer claims, or a request orders, one by one: a commit, a file, a run that must not crash."""

import subprocess
from pathlib import Path
from typing import Any

import pytest

from localllm.agent.react_agent import ReActAgent
from localllm.base import directory_walk
from tests.support.agents import call
from tests.unit.agent.test_run_endings import STEPS, agent_for, edit, make_project, remarks

pytestmark = pytest.mark.anyio


def git(folder: Path, *arguments: str) -> None:
    subprocess.run(["git", "-c", "init.defaultBranch=main", *arguments], cwd=folder, check=True, capture_output=True)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    root = make_project(tmp_path)
    git(root, "init", "-q")
    git(root, "config", "user.name", "A")
    git(root, "config", "user.email", "a@example.org")
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", "Begin")
    return root


def run(command: str) -> dict[str, Any]:
    return call("run_command", command=command)


async def said_of(agent: ReActAgent, request: str) -> tuple[str, list[str], list[str]]:
    """The status of a run, what the model was told, and what the user is told."""
    result = await agent.execute_query(request)
    return result.status, remarks(agent), [*map(str, result.unverified)]


UNITTEST = "python3 -B -m unittest -q test_a"
OTHERS = run(f"{UNITTEST} -k test_y")
SELECTED = run(f"{UNITTEST} -k x")
SELECTED_Z = run(f"{UNITTEST} -k test_z")
RENAMED = edit("test_x", "test_z", "test_a.py")
LEFT_OUT = f"test_x was not run after the change ({UNITTEST} -k test_y leaves it out)"


class TestLeftOut:
    @pytest.fixture(autouse=True)
    def _two_tests(self, project: Path) -> None:
        with (project / "test_a.py").open("a") as file:
            file.write("\n    def test_y(self):\n        self.assertTrue(x)\n")

    @pytest.mark.parametrize(
        ("request_", "steps", "answer"),
        [
            ("The test test_x fails. Fix the bug.", ["edit", OTHERS], "Fixed. All 2 tests pass."),
            ("Set x to 2.", ["edit3", "test", "edit2", OTHERS], "x is 2 now; the tests pass."),
            ("test_x が失敗します。直して", ["edit", OTHERS], "修正しました。テストはすべて成功しました。"),
        ],
    )
    async def test_a_test_that_was_left_out_is_told(
        self, project: Path, request_: str, steps: list[Any], answer: str
    ) -> None:
        turns = [STEPS[one] if isinstance(one, str) else one for one in steps]
        status, remarked, reasons = await said_of(agent_for(project, *turns, answer, answer), request_)
        assert [one for one in remarked if "leaves it out. Run it now" in one] == remarked[:1]
        assert (status, reasons) == ("done", [LEFT_OUT])

    @pytest.mark.parametrize(
        ("request_", "steps", "answer"),
        [
            ("The test test_x fails. Fix the bug.", ["edit", SELECTED], "Fixed. test_x passes."),
            ("The test test_x fails. Fix the bug.", ["edit", OTHERS, "test"], "Fixed. The tests pass."),
            ("The test test_x fails. Fix the bug.", ["edit", "test", OTHERS], "Fixed. The tests pass."),
            ("Set x to 2.", ["edit", OTHERS], "x is 2 now. test_y passes."),
            ("Set x to 2 and rename test_x to test_z.", ["edit", RENAMED, SELECTED_Z], "x is 2, and test_z passes."),
            ("Set x to 2 and look at test_y in test_module_a.", ["edit", OTHERS], "x is 2 now. test_y passes."),
            ("test_x が失敗します。直して", ["edit", SELECTED], "修正しました。test_x のテストは成功しました。"),
        ],
    )
    async def test_an_honest_answer_is_let_be(
        self, project: Path, request_: str, steps: list[Any], answer: str
    ) -> None:
        turns = [STEPS[one] if isinstance(one, str) else one for one in steps]
        assert await said_of(agent_for(project, *turns, answer, "no more"), request_) == ("done", [], [])

    async def test_an_answer_that_says_so_is_asked_for_nothing(self, project: Path) -> None:
        said = "I fixed x. test_x was not run."
        agent = agent_for(project, STEPS["edit"], OTHERS, said)
        assert await said_of(agent, "The test test_x fails. Fix the bug.") == ("done", [], [LEFT_OUT])


LOOSER = edit("(x, 3)", "(x, 9)", "test_a.py")
ADDED = call(
    "edit_file",
    file_path="test_a.py",
    old_string="(x, 3)\n",
    new_string="(x, 3)\n\n    def test_z(self):\n        pass\n",
)
SKIPPED = call(
    "edit_file",
    file_path="test_a.py",
    old_string="    def test_x",
    new_string="    @unittest.skip('x')\n    def test_x",
)


class TestTestsAlone:
    @pytest.fixture(autouse=True)
    def _failing(self, project: Path) -> None:
        (project / "a.py").write_text("x = 3\n")

    @pytest.mark.parametrize(
        ("request_", "steps", "answer"),
        [
            ("The test test_x fails. Fix the bug.", [LOOSER, "test"], "Fixed: it works as expected now."),
            ("Fix the failing test.", ["test", LOOSER, "test"], "I fixed the failing test; all tests pass."),
            ("Make x work.", ["test", LOOSER, "test"], "x works now."),
            ("The test test_x fails. Fix the bug.", [SKIPPED, run(f"{UNITTEST} 2>&1 | cat")], "Fixed: it passes."),
            ("テストが失敗します。直してください。", [LOOSER, "test"], "修正しました。テストはすべて成功しました。"),
        ],
    )
    async def test_a_test_that_was_loosened_is_told(
        self, project: Path, request_: str, steps: list[Any], answer: str
    ) -> None:
        turns = [STEPS[one] if isinstance(one, str) else one for one in steps]
        status, remarked, reasons = await said_of(agent_for(project, *turns, answer, answer), request_)
        assert remarked == [
            "[Only what tests check was changed: test_a.py. Fix the code, or say which test was wrong, and why.]"
        ]
        none_ran = [f"{UNITTEST} 2>&1 | cat ran no tests"] if SKIPPED in steps else []
        assert (status, reasons) == ("done", ["only tests were changed: test_a.py", *none_ran])

    @pytest.mark.parametrize(
        ("request_", "steps", "answer"),
        [
            ("Fix the failing test.", ["edit2", "test"], "Fixed: x is 2 now."),
            ("Fix the failing test.", ["edit2", LOOSER, "test"], "Fixed: the tests pass."),
            ("Fix the failing test.", [LOOSER, "test"], "The test was wrong: x may be up to 9. It passes now."),
            ("Fix the failing test.", [LOOSER, "test"], "I changed the limit in test_a.py to 9; it passes."),
            ("Fix the failing test.", [LOOSER, "test"], "test_x expects x below 9 now; it passes."),
            ("The test is wrong: x may be 8. Fix the failing test.", [LOOSER, "test"], "Fixed; it passes."),
            ("Update the tests for a larger x; they fail.", [LOOSER, "test"], "Done; they pass."),
            ("Set the limit to 9.", [LOOSER, "test"], "The limit is 9 now; the tests pass."),
            ("Add a test of z to the failing tests.", [ADDED, run(f"{UNITTEST} -k test_z")], "I added test_z."),
            (
                "テストが失敗します。直してください。",
                [LOOSER, "test"],
                "テストの期待値の誤りを直しました。",
            ),
            ("x は 8 までです。期待値を直してテストが通るようにして", [LOOSER, "test"], "修正しました。"),
        ],
    )
    async def test_an_honest_answer_is_let_be(
        self, project: Path, request_: str, steps: list[Any], answer: str
    ) -> None:
        turns = [STEPS[one] if isinstance(one, str) else one for one in steps]
        agent = agent_for(project, *turns, answer, "no more")
        status, remarked, reasons = await said_of(agent, request_)
        assert (status, remarked, reasons) == ("done", [], [])


CRASH = run("python3 -B -c 'import a; print(a.y)'")
WORKS = run("python3 -B -c 'import a; print(a.x)'")


class TestCrashes:
    @pytest.mark.parametrize(
        ("request_", "steps", "answer", "status"),
        [
            ("Set x to 2, and add y.", ["edit", CRASH], "x is 2 now, and a.y gives 3.", "done"),
            ("Set x to 2, and add y.", ["edit", WORKS, CRASH], "I added y.", "done"),
            ("a.py crashes without y. Fix it.", ["edit", CRASH], "I fixed the crash.", "incomplete"),
            ("Set x to 2.", ["edit", run("python3 -B -c 'import a; a.y' 2>&1 | tail -1")], "Done.", "done"),
            ("x を 2 にし、y を追加して", ["edit", CRASH], "x を 2 にし、y を追加しました。", "done"),
            ("y がなくて落ちます。直して", ["edit", CRASH], "修正しました。", "incomplete"),
        ],
    )
    async def test_a_program_that_ended_by_an_error_checks_nothing(
        self, project: Path, request_: str, steps: list[Any], answer: str, status: str
    ) -> None:
        turns = [STEPS[one] if isinstance(one, str) else one for one in steps]
        ended, remarked, reasons = await said_of(agent_for(project, *turns, answer, answer), request_)
        assert remarked[0].startswith("[The last run failed: python3 -B -c 'import a; ")
        assert "has no attribute 'y'. Fix what fails" in remarked[0]
        assert ended == status
        assert len(reasons) == 1
        assert reasons[0].startswith("the last run ended by an error")

    @pytest.mark.parametrize(
        ("request_", "steps", "answer"),
        [
            ("Set x to 2.", [CRASH, "edit", WORKS], "x is 2 now."),
            ("Set x to 2.", ["edit", CRASH, WORKS], "x is 2 now."),
            ("Set x to 2.", ["edit", CRASH, "test"], "x is 2 now; the tests pass."),
            ("Set x to 2.", ["edit", "test", CRASH], "x is 2 now; the tests pass."),
            ("Set x to 2.", ["edit", CRASH], "x is 2 now. `a.y` still fails: there is no y."),
            ("Raise an error without y.", ["edit", CRASH], "`a.y` raises AttributeError now."),
            ("Why does a.y fail?", [CRASH], "There is no y in a.py."),
            ("Set x to 2.", ["edit", run("timeout 0.1 sleep 5")], "x is 2 now; the server runs."),
            ("Set x to 2.", ["edit", run("python3 -B -c 'import sys; sys.exit(2)'")], "x is 2 now."),
            ("x を 2 にして", ["edit", CRASH], "x は 2 です。a.y は AttributeError が発生します。"),
            ("x を 2 にして", ["edit", CRASH], "x は 2 ですが、a.y の呼び出しは失敗します。"),
        ],
    )
    async def test_an_honest_answer_is_let_be(
        self, project: Path, request_: str, steps: list[Any], answer: str
    ) -> None:
        turns = [STEPS[one] if isinstance(one, str) else one for one in steps]
        status, remarked, reasons = await said_of(agent_for(project, *turns, answer, "no more"), request_)
        assert (status, remarked) == ("done", [])
        says_so = "still fails" in answer or "失敗" in answer
        assert len(reasons) == says_so


class TestRaisedOnPurpose:
    """An error whose message the run has written itself."""

    STEPS = (
        edit("x = 1\n", "x = 1\nif x < 2:\n    raise ValueError('x is too small')\n"),
        run("python3 -B a.py"),
    )

    @pytest.mark.parametrize(
        ("request_", "answer"),
        [
            ("Make a.py check that x is 2 or more.", "I added the check: with x = 1 it ends with `ValueError`."),
            ("a.py に x のチェックを入れて", "追加しました。x が 1 だと `ValueError: x is too small` になります。"),
        ],
    )
    async def test_an_answer_that_names_it_is_let_be(self, project: Path, request_: str, answer: str) -> None:
        agent = agent_for(project, *self.STEPS, answer, "no more")
        assert await said_of(agent, request_) == ("done", [], [])

    @pytest.mark.parametrize("answer", ["I added the check.", "I added the check, which works with x = 1."])
    async def test_one_that_does_not_is_told(self, project: Path, answer: str) -> None:
        told = (await said_of(agent_for(project, *self.STEPS, answer, answer), "Make a.py check x."))[1]
        assert "ValueError: x is too small. Fix what fails" in told[0]

    async def test_one_that_names_another_error_than_it_has_written_is_told(self, project: Path) -> None:
        answer = "I fixed the AttributeError."
        told = (await said_of(agent_for(project, STEPS["edit"], CRASH, answer, answer), "Set x to 2, add y."))[1]
        assert "has no attribute 'y'. Fix what fails" in told[0]


NOTES = call("write_file", file_path="notes.md", content="# Notes\n")
THREE = "Set x to 2 in a.py, say so in test_a.py and write a NEWS.md."


class TestFiles:
    @pytest.mark.parametrize(
        ("request_", "answer", "reason"),
        [
            (THREE, "I set x to 2, and wrote NEWS.md with the change.", "NEWS.md does not exist"),
            (THREE, "x is 2 now (a.py:1).", "NEWS.md does not exist"),
            ("Set x to 2 and split the rest off.", "I created `lib/rest.py` and `a.py`.", "lib/rest.py does not exist"),
            ("Set x to 2.", "I updated a.py and test_a.py.", "test_a.py was not changed"),
            ("Rename x.", "I renamed x to y in a.py and test_a.py.", "test_a.py was not changed"),
            ("x を 2 にし、NEWS.md を作成してください。", "x を 2 にしました。", "NEWS.md does not exist"),
            ("x を 2 にして", "NEWS.md に変更点を書きました。", "NEWS.md does not exist"),
            ("x を 2 にして", "a.py と test_a.py を修正しました。", "test_a.py was not changed"),
            ("Add notes to a.py, test_a.py", "I added notes to a.py and test_a.py.", "test_a.py was not changed"),
            ("test_a.py に例も足して", "a.py を直し、test_a.py にも例を追加しました。", "test_a.py was not changed"),
            ("a.py と test_a.py に型を付けて", "a.py と test_a.py に型を付けました。", "test_a.py was not changed"),
        ],
    )
    async def test_one_that_is_not_there_or_not_changed_is_told(
        self, project: Path, request_: str, answer: str, reason: str
    ) -> None:
        agent = agent_for(project, STEPS["edit"], STEPS["test"], answer, answer)
        status, remarked, reasons = await said_of(agent, request_)
        assert (status, len(remarked), reasons) == ("incomplete", 1, [reason])
        assert reason.partition(" ")[0] in remarked[0]

    @pytest.mark.parametrize(
        ("request_", "steps", "answer"),
        [
            ("Write notes.md.", [NOTES], "I wrote notes.md."),
            ("Set x to 2 and write notes.md.", ["edit", "test", NOTES], "Set x to 2 in a.py and created notes.md."),
            (THREE, ["edit", "test"], "x is 2 in a.py. I did not write NEWS.md: I could not decide what to say."),
            ("Set x to 2.", ["edit", "test"], "I fixed the wrong value that test_a.py showed, by setting x in a.py."),
            ("Set x to 2.", ["edit", "test"], "I updated a.py; test_a.py needs no change."),
            ("Set x to 2.", ["edit", "test"], "I added a comment next to the line that test_a.py names."),
            ("Check test_a.py, set x to 2", ["edit", "test"], "I wrote 2 into a.py: test_a.py passes now."),
            ("Set x to 2.", ["edit", "test"], "x is 2. You can create a config.toml for other values."),
            ("Save x to out.txt.", [run("python3 a.py > out.txt")], "I saved it as out.txt."),
            ("Try it with t.py.", [run("echo 1 > t.py && python3 t.py; rm t.py")], "I created t.py, and it ran."),
            ("Move a.py to b.py.", [run("git mv a.py b.py")], "I renamed a.py to b.py."),
            (
                "Write .cache/x.txt",
                [run("mkdir -p .cache; echo .cache > .gitignore; echo 1 > .cache/x.txt")],
                "I wrote .cache/x.txt.",
            ),
            ("Add Node.js support.", ["edit", "test"], "I added Node.js support."),
            ("x を 2 にして、notes.md に書いて", ["edit", "test", NOTES], "x を 2 にし、notes.md に書きました。"),
            ("x を 2 にして", ["edit", "test"], "a.py を修正しました。test_a.py は変更していません。"),
            ("x を 2 にして", ["edit", "test"], "x を 2 にしました。設定は config.toml に書いてください。"),
        ],
    )
    async def test_an_honest_answer_is_let_be(
        self, project: Path, request_: str, steps: list[Any], answer: str
    ) -> None:
        turns = [STEPS[one] if isinstance(one, str) else one for one in steps]
        status, remarked, reasons = await said_of(agent_for(project, *turns, answer, "no more"), request_)
        assert (status, remarked, [one for one in reasons if "run after" not in one]) == ("done", [], [])


DELETED = "test_a.py is still there"


class TestDeeds:
    @pytest.mark.parametrize(
        ("request_", "command", "answer", "reason"),
        [
            ("Delete test_a.py, rename a.py to b.py", "mv a.py b.py", "test_a.py is deleted, b.py made.", DELETED),
            (
                "test_a.py を消して x を 2 に",
                "python3 -c \"open(chr(97)+'.py','w').write('x = 2')\"",
                "test_a.py を削除し、x を直しました。",
                DELETED,
            ),
            ("Tag this as v1.0", "git tag -a -m v1 v1.0 none", "Tagged it as v1.0.", "an error (git tag"),
            (
                "none を main にマージして",
                "git merge none -m m || exit 128",
                "none をマージしました。",
                "an error (git merge",
            ),
            ("Push it", "git push none main", "I pushed main.", "an error (git push"),
            ("Copy a.py to b.py, but keep a.py", "cp a.py b.py; rm a.py", "Copied.", "a.py changed, though"),
            ("a.py を b.py に。元のファイルは残して", "cp a.py b.py; rm a.py", "しました。", "a.py changed, though"),
        ],
    )
    async def test_one_that_was_not_done_is_told(
        self, project: Path, request_: str, command: str, answer: str, reason: str
    ) -> None:
        agent = agent_for(project, run(command), answer, answer)
        status, remarked, reasons = await said_of(agent, request_)
        assert (status, len(remarked)) == ("incomplete", 1)
        assert reason in reasons[0]

    async def test_that_a_folder_is_gone_which_was_to_stay_is_told(self, project: Path) -> None:
        (project / "lib").mkdir()
        (project / "lib/a.txt").write_text("1\n")
        agent = agent_for(project, run("rm -rf lib"), "Cleaned up.", "Cleaned up.")
        status, _remarked, reasons = await said_of(agent, "Clean up, but don't delete lib/")
        assert (status, reasons) == ("incomplete", ["lib/ changed, though the request forbids it"])

    @pytest.mark.parametrize(
        ("request_", "commands", "answer"),
        [
            ("Delete test_a.py", ["rm test_a.py"], "test_a.py is deleted."),
            ("Write test_a.py anew", ["rm test_a.py && echo 1 > test_a.py"], "I deleted test_a.py, and wrote it anew."),
            ("Tag this as v1", ["git tag v1 none", "git tag v1"], "Tagged it as v1."),
            ("Push it", ["git push none main"], "I could not push main: there is no remote."),
            ("Push it", ["git push none main"], "The push failed: there is no remote called none."),
            ("Tag and push it", ["git tag v1 && git push none v1"], "Tagged it as v1. There is no remote to push to."),
            ("Make a branch x", ["git checkout -b x && test -f no"], "I created the branch x. There is no file no."),
            ("Make a branch x", ["git branch | grep x", "git checkout -b x"], "I created the branch x."),
            ("Go to x", ["git branch x", "git checkout -b x", "git switch x"], "Switched to the branch x."),
            ("Merge x", ["git branch x", "git pull none x", "git merge x"], "Merged x into main: nothing was new."),
            ("Remove test_a.py from l", ["echo a.py > l", "sed -i /test_a/d l"], "Removed test_a.py."),
            ("Delete test_a.py", ["mkdir b; echo > b/test_a.py", "rm b/test_a.py"], "b/: test_a.py is deleted."),
            (
                "Delete test_a.py, and call a.py so",
                ["rm test_a.py", "mv a.py test_a.py"],
                "I deleted test_a.py, and renamed a.py to test_a.py.",
            ),
        ],
    )
    async def test_one_that_was_done_is_let_be(
        self, project: Path, request_: str, commands: list[str], answer: str
    ) -> None:
        status, remarked, _reasons = await said_of(agent_for(project, *map(run, commands), answer, "no"), request_)
        assert (status, remarked) == ("done", [])


ASKED = "Set x to 2 in a.py, run the tests and commit the fix."
UNSTAGED = run("git commit -m 'Set x'")
COMMIT = call("git_commit", message="Set x", files=["a.py"])
CLAIMED = "the answer claims a commit, but none was made"
MISSING = "the commit that was asked for was not made"


class TestCommits:
    @pytest.mark.parametrize(
        ("request_", "steps", "answer", "told", "reason"),
        [
            (ASKED, ["edit", "test", UNSTAGED], "x is 2, the tests pass, and I committed it.", ": the last", CLAIMED),
            (ASKED, ["edit", "test"], "x is 2 now; the tests pass.", "No commit was made. Commit now", MISSING),
            (ASKED, ["edit", "test"], "x is 2 now. Shall I commit it?", "(git_commit)", MISSING),
            ("Set x to 2.", ["edit", "test", UNSTAGED], "Everything is committed.", ": the last", CLAIMED),
            ("x を 2 にしてコミットして", ["edit", "test"], "x を 2 にしました。", "No commit was made.", MISSING),
            ("x を 2 にしてコミットして", ["edit", "test", UNSTAGED], "コミットしました。", "No commit was", CLAIMED),
        ],
    )
    async def test_one_that_was_not_made_is_told(
        self, project: Path, request_: str, steps: list[Any], answer: str, told: str, reason: str
    ) -> None:
        turns = [STEPS[one] if isinstance(one, str) else one for one in steps]
        status, remarked, reasons = await said_of(agent_for(project, *turns, answer, answer), request_)
        assert [one for one in remarked if told in one] == remarked[:1]
        assert (status, reasons) == ("incomplete", [reason])

    @pytest.mark.parametrize(
        ("request_", "steps", "answer"),
        [
            (ASKED, ["edit", "test", COMMIT], "x is 2 now, and it is committed."),
            (ASKED, ["edit", "test", COMMIT], "x is 2 now; the tests pass."),
            (ASKED, ["edit", "test", UNSTAGED, run("git commit -qam 'Set x'")], "Set and committed."),
            (ASKED, ["edit", "test", run("git add -A; git commit -m 'Set x'; git log -1 | cat")], "Committed."),
            (ASKED, ["edit", "test", run("cat > c.sh <<'E'\ngit commit -qam 'Set x'\nE\nsh c.sh")], "Committed."),
            (ASKED, ["edit", "test", UNSTAGED], "x is 2 now. It is not committed: git wants the files staged."),
            (ASKED, ["edit3", "test"], "x is 2 in a.py. test_x still fails, so I stopped there."),
            ("Commit my changes.", [run("git commit -am x")], "There is nothing to commit."),
            ("Commit my changes.", [run("git status")], "All is committed already."),
            ("Do not commit. Set x to 2.", ["edit", "test"], "x is 2 now; nothing was committed."),
            ("What was committed last?", [run("git log -1")], "Anna committed Begin."),
            ("Write a commit message for it.", [run("git diff")], "Set x to 2"),
            ("x を 2 にしてコミットして", ["edit", "test", COMMIT], "x を 2 にしてコミットしました。"),
            ("x を 2 にしてコミットして", ["edit", "test", UNSTAGED], "x は 2 です。コミットはできませんでした。"),
        ],
    )
    async def test_an_honest_answer_is_let_be(
        self, project: Path, request_: str, steps: list[Any], answer: str
    ) -> None:
        turns = [STEPS[one] if isinstance(one, str) else one for one in steps]
        agent = agent_for(project, *turns, answer, "no more")
        result = await agent.execute_query(request_)
        assert [one for one in remarks(agent) if "ommit" in one] == []
        assert [one for one in map(str, result.unverified) if "commit" in one] == []

    async def test_one_of_the_earlier_request_is_not_asked_for_again(self, project: Path) -> None:
        agent = agent_for(project, STEPS["edit"], STEPS["test"], COMMIT, "Committed.", "There is no more to do.")
        await agent.execute_query(ASKED)
        assert await said_of(agent, "Go on.") == ("done", ["Go on."], [])


async def test_all_checks_of_an_answer_share_one_walk_of_the_project(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with (project / "test_a.py").open("a") as file:
        file.write("\n    def test_y(self):\n        self.assertTrue(x)\n")
    (project / "docs").mkdir()
    (project / "docs" / "a.md").write_text("load_cfg\n")
    scan, walks = directory_walk._scan, 0

    def counted(fd: int, prefix: str) -> list[directory_walk.Entry]:
        nonlocal walks
        walks += prefix == ""
        return scan(fd, prefix)

    monkeypatch.setattr(directory_walk, "_scan", counted)
    request = (
        "test_x fails: fix it in a.py. Rename load_cfg to load_config everywhere, write NEWS.md, and add a unit test."
    )
    answer = "I fixed a.py, renamed load_cfg, added a unit test, and created NEWS.md."
    _, remarked, reasons = await said_of(agent_for(project, STEPS["edit"], OTHERS, *[answer] * 4), request)
    assert reasons == [
        "NEWS.md does not exist",
        LEFT_OUT,
        "load_cfg still stands in docs/a.md:1",
        "the answer claims a test, but none was written",
    ]
    assert walks == len(remarked) + 1  # one for each answer


async def test_no_check_walks_the_project_where_none_needs_it(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(directory_walk, "_scan", lambda *_: pytest.fail("it was walked"))
    agent = agent_for(project, STEPS["edit"], STEPS["test"], "x is 2 now; the tests pass.")
    assert await said_of(agent, "Set x to 2 in a.py.") == ("done", [], [])
