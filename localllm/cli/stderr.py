"""What is said beside the answer: on standard error, with nothing in it that steers a terminal."""

import click

from localllm.base.errors import LocalLLMError
from localllm.text.sanitising import clean


def say(text: str) -> None:
    """Print a remark."""
    click.echo(clean(text), err=True)


def print_error(error: LocalLLMError) -> None:
    """What, why and the mend, each on its own line."""
    say(f"localllm: {error.code} {error.what}")
    for line in (error.why, error.mend):
        if line:
            say(f"  {line}")
