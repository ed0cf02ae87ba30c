"""Where the commands of a line get their input from, where their output goes, and how a line ends."""

from localllm.safety.rules import line_of
from localllm.safety.shell_flow import Flow
from tests.support.each import each


def flows(line: str) -> dict[str, str]:
    """For each command that the line itself runs, by its name, what is true of it: f(ed), d(rained), a(part)."""
    told: dict[str, str] = {}
    for command in line_of(line).script.commands:
        flow = command.flow
        name = command.words[0].text
        told[name] = (
            "-"
            if flow is None
            else "".join(letter for letter, holds in (("f", flow.fed), ("d", flow.drained), ("a", flow.apart)) if holds)
        )
    return told


@each(
    ("line", "told"),
    [
        ("x", {"x": ""}),
        ("x | y | z", {"x": "d", "y": "fd", "z": "f"}),
        ("x > out", {"x": "d"}),
        ("x >> out 2>&1", {"x": "d"}),
        ("x 2> out", {"x": ""}),
        ("x 1> out", {"x": "d"}),
        ("x < in", {"x": "f"}),
        ("x <<< word", {"x": "f"}),
        ("x <<EOF\nword\nEOF", {"x": "f"}),
        ("x &", {"x": "a"}),
        ("x & y", {"x": "a", "y": ""}),
        ("x && y", {"x": "", "y": ""}),
        ("x | y &", {"x": "da", "y": "fa"}),
        ("{ x; y; } > out", {"x": "d", "y": "d"}),
        ("(x; y) | z", {"x": "d", "y": "d", "z": "f"}),
        ("while x; do y; done < in", {"x": "f", "y": "f"}),
    ],
)
def test_input_and_output_of_each_command(line: str, told: dict[str, str]) -> None:
    assert flows(line) == told


def test_what_limits_a_command_and_which_variables_are_set_for_it() -> None:
    commands = line_of("timeout 5 x; EDITOR=true y").script.commands
    found = [(command.words[0].text, command.flow) for command in commands if command.flow]
    assert ("x", Flow(limited=True)) in found
    assert ("y", Flow(sets=frozenset({"EDITOR"}))) in found
    assert ("timeout", Flow()) in found
