"""What a command is for, as its words tell it."""

from localllm.agent.command_kinds import command_kind
from tests.support.each import each


@each(
    ("command", "kind"),
    [
        ("cat notes.txt", "reading"),
        ("grep -rn port . 2>/dev/null", "reading"),
        ("ls missing 2>&1", "reading"),
        ("cat a.txt > /dev/null", "reading"),
        ("sort names.txt > sorted.txt", "files"),
        ("echo done >> log.txt", "files"),
        ("cp a.txt b.txt", "files"),
        ("ls src 2>/dev/null && cp a.txt b.txt", "files"),
        ("python -m pytest 2>&1 | tail", "test"),
        ("./server --port 80 2>/dev/null", "program"),
        ("gcc -o a a.c 2>&1 | head", "build"),
    ],
)
def test_a_command_is_for_what_its_weightiest_part_is_for(command: str, kind: str) -> None:
    assert command_kind(command) == kind
