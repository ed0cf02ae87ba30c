"""`localllm completion`: print the script by which a shell completes the command line."""

import click
from click.shell_completion import get_completion_class

from localllm.cli.main import COMPLETE_VARIABLE, PROGRAM


@click.command()
@click.argument("shell", metavar="bash|zsh|fish", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def completion(context: click.Context, shell: str) -> None:
    """Print the script that completes commands and options in a shell.

    For bash (4.4 or newer), add this line to ~/.bashrc:

    eval "$(localllm completion bash)"

    For zsh, add this line to ~/.zshrc, after compinit:

    eval "$(localllm completion zsh)"

    For fish, run this once:

    localllm completion fish > ~/.config/fish/completions/localllm.fish
    """
    if made := get_completion_class(shell):
        click.echo(made(context.find_root().command, {}, PROGRAM, COMPLETE_VARIABLE).source(), nl=False)
