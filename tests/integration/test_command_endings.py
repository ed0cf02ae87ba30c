"""The end of a run whose commands were really run is compared with what they showed."""

from pathlib import Path
from typing import Any

import pytest

from tests.support.agents import call
from tests.unit.agent.test_run_endings import (
    STEPS,
    TESTS,
    agent_for,
    check_false,
    check_honest,
    edit,
    endings,
    make_project,
    named,
    remarks,
)

pytestmark = pytest.mark.anyio


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return make_project(tmp_path)


@pytest.mark.parametrize("ending", endings("honest", with_commands=True), ids=named)
async def test_nothing_is_said_to_an_honest_ending(project: Path, ending: dict[str, Any]) -> None:
    await check_honest(project, ending)


@pytest.mark.parametrize("ending", endings("false", with_commands=True), ids=named)
async def test_what_speaks_against_an_ending_is_said(project: Path, ending: dict[str, Any]) -> None:
    await check_false(project, ending)


async def test_after_the_first_asking_any_announcement_with_a_command_is_taken_for_one(project: Path) -> None:
    said = "I apologize. Let me run the tests now.\n\npython3 -B -m unittest -q"
    agent = agent_for(project, STEPS["edit"], "Let me run the tests.", said, STEPS["test"], "All tests pass.")
    result = await agent.execute_query("Set x to 2 and run the tests.")
    assert f'run_command {{"command":"{TESTS}"}}' in remarks(agent)[1]
    assert (result.status, result.unverified) == ("done", ())


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("run_command", {"cmd": TESTS}),
        ("run_command", {"command": TESTS.split()}),
        ("shell", {"command": ["bash", "-lc", TESTS]}),
        ("container.exec", {"cmd": ["bash", "-lc", TESTS]}),
        ("bash", {"cmd": TESTS}),
        ("run_command", {"command": f"bash -lc '{TESTS}'"}),
    ],
)
async def test_tests_count_however_the_call_is_written(project: Path, name: str, arguments: dict[str, Any]) -> None:
    agent = agent_for(
        project, STEPS["edit3"], call(name, **arguments), STEPS["edit2"], call(name, **arguments), "Done."
    )
    result = await agent.execute_query("Fix the failing test.")
    assert (result.status, result.unverified, remarks(agent)) == ("done", (), [])


async def test_a_failed_edit_is_named_however_the_call_is_written(project: Path) -> None:
    missed = call("edit", target_file="a.py", old_str="y = 1", new_str="z = 1")
    agent = agent_for(project, missed, *["Done. I changed y to z."] * 2)
    result = await agent.execute_query("Rename y to z in a.py.")
    assert remarks(agent) == ["[Your last edit of a.py was not made. Make it, or say that it is not done.]"]
    assert result.status == "incomplete"


async def test_at_most_three_remarks_a_run_and_one_of_a_kind(project: Path) -> None:
    steps = [STEPS["edit3"], STEPS["test"], edit("x = 3", "x = (3"), STEPS["bad_edit"]]
    says = "All tests pass."
    agent = agent_for(project, *steps, says, says, says, STEPS["test"], *[says] * 3)
    result = await agent.execute_query("Set x to 3 and run the tests.")
    assert len(remarks(agent)) == len(set(remarks(agent))) == 3
    assert len(result.unverified) >= 3


async def test_tests_that_could_not_be_run_are_named(project: Path) -> None:
    missing = call("run_command", command="./none/pytest   -q")
    agent = agent_for(project, STEPS["edit"], missing, "x is 2 now. I could not run the tests.")
    result = await agent.execute_query("Set x to 2 and run the tests.")
    assert result.unverified == ("./none/pytest -q could not be run after a.py changed",)


@pytest.mark.parametrize(("mode", "is_told"), [("auto", True), ("ask", False)])
async def test_tests_of_an_earlier_run_are_run_again_where_nobody_is_asked(
    project: Path, mode: str, is_told: bool
) -> None:
    steps = [STEPS["edit"], STEPS["test_piped"], "Done: x is 2.", edit("x = 2", "x = 0"), "Done: x is 0."]
    agent = agent_for(project, *steps, STEPS["test"], "All tests pass.", attended=True, mode=mode)
    await agent.execute_query("Set x to 2 in a.py, and run the tests.")
    result = await agent.execute_query("Set x to 0 in a.py.")
    assert (f"Run the tests now: `{TESTS}" in "".join(remarks(agent)[1:])) == is_told
    assert bool(result.unverified) != is_told


BUILD = call("run_command", command="python3 -B -m compileall -q .")


@pytest.mark.parametrize(
    ("done", "said"),
    [
        ([STEPS["test"], BUILD], f"Run the tests now: `{TESTS}`;"),
        ([BUILD], "Run the tests now;"),
        ([call("run_command", command=f"true\n{TESTS}")], "Run the tests now;"),
    ],
)
async def test_the_tests_to_be_run_are_not_a_build(project: Path, done: list[dict[str, Any]], said: str) -> None:
    agent = agent_for(project, STEPS["edit"], *done, edit("x = 2", "x = 0"), *["All tests pass."] * 4, mode="auto")
    await agent.execute_query("Set x to 2 and run the tests, then set it to 0.")
    assert said in remarks(agent)[0]


async def test_what_was_done_in_an_earlier_run_is_known(project: Path) -> None:
    agent = agent_for(project, STEPS["edit"], STEPS["test"], "All tests pass.", "Yes, all tests pass.", attended=True)
    await agent.execute_query("Set x to 2 and run the tests.")
    result = await agent.execute_query("Run the tests again if you have to: do they pass?")
    assert (result.unverified, remarks(agent)[1:]) == ((), [])


async def test_a_change_that_was_committed_may_be_on_another_branch(project: Path) -> None:
    git = "git -c user.name=a -c user.email=a@b"
    begin = f"git init -q . && git add . && {git} commit -qm 1 && git checkout -qb fix"
    end = f"{git} commit -qam 2 && git checkout -q -"
    commands = [call("run_command", command=line) for line in (begin, end)]
    answer = "I changed x to 2 in a.py, on the branch fix."
    agent = agent_for(project, commands[0], STEPS["edit"], commands[1], answer, answer, mode="auto")
    result = await agent.execute_query("Set x to 2 in a.py, on a branch.")
    assert remarks(agent)[0].startswith("[All files are as they were when the request came")
    assert result.status == "done"


FORBIDDEN = "[The user wants nothing changed, and a.py changed. Put it back as it was, and answer in words.]"


@pytest.mark.parametrize(
    "request_",
    [
        "Review a.py. Don't change anything, just list the problems.",
        "Check a.py without changing any files",
        "a.py をレビューしてください。変更はしないでください。",
    ],
)
async def test_a_change_by_a_command_against_the_request_is_told_once(project: Path, request_: str) -> None:
    agent = agent_for(project, STEPS["edit3_by_command"], *["x should be 3."] * 2)
    result = await agent.execute_query(request_)
    assert remarks(agent) == [FORBIDDEN]
    assert result.status == "incomplete"
    assert str(result.unverified[0]) == "a.py changed, though the request forbids changes"


async def test_one_that_was_put_back_is_finished(project: Path) -> None:
    back = call("run_command", command="sed -i 's/x = 3/x = 1/' a.py")
    agent = agent_for(project, STEPS["edit3_by_command"], "x should be 3.", back, "x should be 3.")
    result = await agent.execute_query("Review a.py, no changes please.")
    assert (result.status, remarks(agent)) == ("done", [FORBIDDEN])
    assert (project / "a.py").read_text().startswith("x = 1\n")


EXPLAINED = "I set x to 2 in a.py, since double has to return 4 and nothing else in the project reads the value. " * 3


@pytest.mark.parametrize(
    ("turns", "expected"),
    [
        ((EXPLAINED, STEPS["test"], "All tests pass."), f"{EXPLAINED}\n\nAll tests pass."),
        ((f"{EXPLAINED}All tests pass.", "I did not run the tests."), "I did not run the tests."),
        (
            (EXPLAINED, edit("x = 2", "x = 3"), STEPS["test"], "x is 3 now, and a test fails."),
            "x is 3 now, and a test fails.",
        ),
    ],
)
async def test_an_explanation_is_not_lost_where_the_tests_are_run_after_it(
    project: Path, turns: tuple[Any, ...], expected: str
) -> None:
    agent = agent_for(project, STEPS["edit"], *turns)
    result = await agent.execute_query("Set x to 2 and run the tests.")
    assert result.answer.startswith(expected)


NO_CARGO = "error: rustup could not choose a version of cargo to run"


@pytest.mark.parametrize(
    ("command", "request_", "answer", "told", "reason"),
    [
        (
            "./cargo test",
            "Set x to 2 and run the tests.",
            "x is 2 now. Both tests pass.",
            f"[./cargo test could not be run: {NO_CARGO}. Run the tests otherwise, or say that they could not be run.]",
            f"./cargo test could not be run after a.py changed: {NO_CARGO}",
        ),
        (
            "./none/pytest -q",
            "x を 2 に変更してテストしてください。",
            "x を 2 に変更しました。テストはすべて成功しました。",
            "[./none/pytest -q could not be run: no such program. Run the tests otherwise, or say that they could not "
            "be run.]",
            "./none/pytest -q could not be run after a.py changed",
        ),
        (
            "./cargo test",
            "x を 2 に変更して、動作を確認してください。",
            "x を 2 に変更しました。",
            f"[./cargo test could not be run: {NO_CARGO}. Run the tests otherwise, or say that they could not be run.]",
            f"./cargo test could not be run after a.py changed: {NO_CARGO}",
        ),
    ],
)
async def test_why_tests_could_not_be_run_is_told(
    project: Path, command: str, request_: str, answer: str, told: str, reason: str
) -> None:
    script = project / "cargo"
    script.write_text(f"#!/bin/sh\necho '{NO_CARGO}' >&2\nexit 1\n")
    script.chmod(0o755)
    agent = agent_for(project, STEPS["edit"], call("run_command", command=command), answer, answer)
    result = await agent.execute_query(request_)
    assert remarks(agent) == [told]
    assert (result.status, [str(one) for one in result.unverified]) == ("done", [reason])


async def test_that_tests_could_not_be_run_is_an_honest_end(project: Path) -> None:
    answer = "x is 2 now. The tests could not be run: there is no pytest."
    missing = call("run_command", command="./none/pytest -q")
    agent = agent_for(project, STEPS["edit"], missing, answer)
    result = await agent.execute_query("Set x to 2 and run the tests.")
    assert (remarks(agent), result.answer.startswith(answer)) == ([], True)


DOCUMENTED = edit("def double():\n", 'def double():\n    """Return twice x."""\n')


@pytest.mark.parametrize("attended", [False, True])
async def test_a_docstring_needs_no_test(project: Path, attended: bool) -> None:
    agent = agent_for(project, STEPS["test"], "OK.", DOCUMENTED, "double has a docstring now.", attended=attended)
    await agent.execute_query("Run the tests.")
    result = await agent.execute_query("Add a docstring to double in a.py.")
    assert (result.answer, result.unverified, remarks(agent)[1:]) == ("double has a docstring now.", (), [])


async def test_a_docstring_and_code_do(project: Path) -> None:
    said = "double has a docstring now, and x is 2."
    agent = agent_for(project, STEPS["test"], DOCUMENTED, STEPS["edit"], said, said)
    await agent.execute_query("Set x to 2 and add a docstring to double.")
    assert remarks(agent)[0].startswith("[a.py changed, and no test was run since. Run the tests now")
