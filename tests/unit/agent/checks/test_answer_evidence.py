"""Files, lines and long numbers of an answer that nothing has are doubted once, and only these."""

from pathlib import Path

import pytest

from localllm.agent.checks.answer_evidence import missing_places, unfounded_numbers
from localllm.agent.react_agent import ReActAgent
from localllm.base.directory_walk import ProjectListing
from localllm.llm.messages import UserMessage
from tests.support.agents import call, make_agent, scripted
from tests.support.each import each

pytestmark = pytest.mark.anyio

OUTPUT = (
    "{'Tokyo': 1327405672, 'Osaka': 1322450912, 'Nagoya': 1321738171}\n"
    "rows 1,100,000, mean 3610541.5, 48 shops, share 33.42 %\n"
    "disk 5242880 bytes, took 1234567 ms, then 1.4142136 s"
)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    (folder / "httpx").mkdir(parents=True)
    (folder / "httpx" / "client.py").write_text("x = 1\n" * 20)
    (folder / "packages" / "web" / "httpx").mkdir(parents=True)
    (folder / "packages" / "web" / "httpx" / "page.py").write_text("y = 1\n")
    return folder


def missing(project: Path, answer: str, *known: str) -> list[str]:
    def text_of(path: str) -> str | None:
        file = project / path
        return file.read_text() if file.is_file() else None

    return [one.what for one in missing_places(answer, known, ProjectListing(project), text_of)]


@each("code", ["p = os.path.join('httpx', ENV + '.yaml')", 'p = f"httpx/{env}.yaml"', "p = `httpx/${env}.yaml`"])
def test_a_name_that_code_composes_is_no_guess(project: Path, code: str) -> None:
    answer = "It reads `httpx/staging.yaml`."
    assert missing(project, answer, "What is read if the env is staging?", code) == []
    assert missing(project, answer, "What is read?", code) == ["There is no httpx/staging.yaml"]
    assert missing(project, answer, "What is read for staging?", code.replace("yaml", "toml")) != []


@each(
    ("answer", "what"),
    [
        ("It is there. See also httpx/redirects.py for the rest.", ["There is no httpx/redirects.py"]),
        ("詳しくは `httpx/redirects.py` を参照。", ["There is no httpx/redirects.py"]),
        ("Look at `httpx/client.py:2500`.", ["httpx/client.py has 20 lines, none 2500"]),
        ("Look at httpx/client.py#L12-L40.", ["httpx/client.py has 20 lines, none 40"]),
        ("See httpx/a.py and httpx/client.py:21.", ["There is no httpx/a.py", "httpx/client.py has 20 lines, none 21"]),
        ("Look at httpx/client.py:20.", []),
        ("Look at httpx/client.py:3-20.", []),
        ("See httpx/page.py of the page.", []),
        ("See other/redirects.py there.", []),
        ("There is no httpx/redirects.py.", []),
        ("The report is written to httpx/report.json.", []),
        ("Add httpx/redirects.py for that.", []),
        ("結果は httpx/report.json に出力されます。", []),
        ("Put it into httpx/NAME.py.", []),
        ("```\nopen httpx/redirects.py\n```", []),
        ("It runs at client.py:8080.", []),
        ("It is at https://example.org/httpx/gone.html.", []),
        ("Usually that is kept in httpx/settings.py.", []),
        ("Before 1.0 there was httpx/redirects.py.", []),
        ("httpx/redirects.py という名前が考えられます。", []),
    ],
)
def test_places_that_are_not_there(project: Path, answer: str, what: list[str]) -> None:
    assert missing(project, answer) == what
    assert missing(project, answer, "httpx/redirects.py, httpx/a.py", "line 2500, line 40, line 21") == []


@each(
    ("answer", "numbers"),
    [
        ("Nagoya sold 1,321,738,117 yen.", ["1,321,738,117"]),
        ("名古屋は1,321,738,117円です。", ["1,321,738,117"]),
        ("| Nagoya | 1321738117 |", ["1321738117"]),
        ("Nagoya sold 1,321,738,171 yen, Tokyo 1327405672.", []),
        ("Together they sold 3,971,594,755 yen.", []),
        ("Tokyo and Osaka sold 2,649,856,584 yen.", []),
        ("Tokyo sold 4,954,760 more than Osaka.", []),
        ("On average 1,323,864,918 yen.", []),
        ("The mean is 3,610,542.", []),
        ("Tokyo sold 1,327,000,000 yen.", []),
        ("A shop has 22,917 rows.", []),
        ("That are 52,800,000 rows in all shops.", []),
        ("The disk has 5120 kB, or 5,242,880 bytes.", []),
        ("It took 1,234,567,000 µs.", []),
        ("About 1,555,123 yen.", []),
        ("That are 48 shops on 30 days of 86,400 seconds: 2,592,013 seconds.", ["2,592,013"]),
        ("A month of 30 days has 2,592,000 seconds.", []),
        ("A box of 12 bytes on 365 days of 24 hours: 378,432,000 bytes a second.", []),
        ("It took 1,414,214 µs.", []),
        ("It came with commit 7654321.", []),
        ("For example 1,555,123 yen.", []),
        ("A signed number ends at 2147483647.", []),
        ("The file is of 20261130, see #1234598 and a1234598b, 10.123456.", []),
        ("```\n1321738117\n```", []),
        ("It is 12,345 yen.", []),
        ("At 99,999,999 it stops.", []),
        ("Mail to 1555123@example.com.", []),
        ("See ticket 1555123.", []),
    ],
)
def test_long_numbers_of_no_output(answer: str, numbers: list[str]) -> None:
    found = [one.what.removeprefix("No output has ") for one in unfounded_numbers(answer, ["Sum the shops.", OUTPUT])]
    assert found == numbers


@pytest.mark.parametrize(
    ("answer", "output"),
    [
        ("After 10 % of tax it is 1,234,600.", "1371778"),
        ("It grew by 12.5 percent to 1,543,219.", "1371750.2"),
        ("The first three have 412,345 on average.", "a 500000\nb 400000\nc 337035\nd 1\n"),
        ("It is 1,234,567.", "total 1'234'567"),
    ],
)
def test_numbers_that_follow_from_an_output(answer: str, output: str) -> None:
    assert not unfounded_numbers(answer, [output])


def test_long_outputs_take_no_long_time() -> None:
    wide = " ".join(map(str, range(100_000)))
    long = "\n".join(f"{number} {number * 7919} {number / 7}" for number in range(40_000))
    for text in (wide, long, "9" * 400_000, "1e308 " * 60_000, "1," * 200_000, "1_" * 200_000):
        unfounded_numbers("It is 987,654,321,987.", [text])
        unfounded_numbers(f"It is {text}", [text])


def remarks(agent: ReActAgent) -> list[str]:
    return [said.text for said in agent.history.messages if isinstance(said, UserMessage)][1:]


READ = call("read_file", file_path="httpx/client.py")
PRINT = call("run_command", command="echo total 1321738171")
COMPUTE = call("run_command", command="python3 -c 'print(1321738000 + 171)'")
WRONG_TOTAL = (
    "The total is 1,321,738,117.",
    "The total is 1,321,738,171.",
    "[No output has 1,321,738,117, and it follows from none. Correct it from the outputs, and give the answer again.]",
    "no output has the number 1,321,738,117",
)


@pytest.mark.parametrize(
    ("first", "wrong", "right", "remark", "reason"),
    [
        (
            READ,
            "It is x. See also httpx/redirects.py and httpx/client.py:2500.",
            "It is x.",
            "[There is no httpx/redirects.py; httpx/client.py has 20 lines, none 2500. Name only what is there, and "
            "give the answer again.]",
            "the answer names httpx/redirects.py, which does not exist",
        ),
        (PRINT, *WRONG_TOTAL),
        (COMPUTE, *WRONG_TOTAL),
    ],
)
async def test_the_model_is_told_once_and_then_the_user(
    project: Path, first: object, wrong: str, right: str, remark: str, reason: str
) -> None:
    agent = make_agent(scripted(first, wrong, right), project)
    result = await agent.execute_query("What is the total of httpx/client.py?")
    assert (result.answer, result.unverified, remarks(agent)) == (right, (), [remark])
    agent = make_agent(scripted(first, wrong, wrong), project)
    result = await agent.execute_query("What is the total of httpx/client.py?")
    assert (result.status, result.unverified[0], remarks(agent)) == ("done", reason, [remark])


async def test_a_file_that_is_elsewhere_is_named_once_with_its_place(project: Path) -> None:
    (project / "core").mkdir()
    (project / "core" / "retry.py").touch()
    answer = "The retries are in httpx/retry.py."
    agent = make_agent(scripted(call("read_file", file_path="httpx/client.py"), *[answer] * 3), project)
    result = await agent.execute_query("Where are the retries?")
    (remark,) = remarks(agent)
    assert "There is no httpx/retry.py; there is core/retry.py." in remark
    assert result.unverified == ("the answer names httpx/retry.py, which does not exist",)


@pytest.mark.parametrize(
    "request_",
    [
        "How should I structure httpx?",
        "httpx の構成を提案して",
        "Which file is missing in httpx?",
        "How can I split client.py?",
    ],
)
async def test_a_proposal_may_name_files_that_are_not_there(project: Path, request_: str) -> None:
    agent = make_agent(scripted(READ, "One file a subject:\n- httpx/redirects.py\n- httpx/auth.py"), project)
    result = await agent.execute_query(request_)
    assert (result.status, result.unverified, remarks(agent)) == ("done", (), [])
