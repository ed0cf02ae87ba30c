"""What holds the model's doings, loaded before the first of them: the project may be this very program."""

from importlib import import_module

GUARDS = (
    "localllm.sandbox.protected",
    "localllm.sandbox.runner",
    "localllm.text.diffing",
    "localllm.text.pdf",
    "localllm.tools.code_answers",
    "localllm.tools.edits",
    "localllm.tools.git_answers",
    "localllm.tools.guard.addresses",
    "localllm.tools.guard.destruction",
    "localllm.tools.guard.line",
    "localllm.tools.guard.undoing",
    "localllm.tools.reading",
    "localllm.tools.searching",
    "localllm.web.access",
    "localllm.web.addresses",
    "localllm.web.extraction",
)
"""Modules that a start leaves for later, with all that they import: what guards, and what the tools do their work with,
which nobody is asked about again."""


def load_guards() -> None:
    """Load them, unless they are. What was loaded later would be what a tool has made of the file meanwhile."""
    for guard in GUARDS:
        import_module(guard)
