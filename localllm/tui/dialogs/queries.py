"""Edit the queries of a research run before anything is searched for."""

from collections.abc import Sequence

from localllm.base.i18n import _


async def edit_queries(queries: Sequence[str]) -> tuple[str, ...]:
    """Return the edited queries, one per line; none if all lines were deleted.

    Raises KeyboardInterrupt for Ctrl+C, EOFError if the terminal is gone.
    """
    from prompt_toolkit import PromptSession
    from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent

    from localllm.tui.dialogs.visible_input import NothingHidden

    keys = KeyBindings()

    @keys.add("c-d")
    def _accept(event: KeyPressEvent) -> None:
        event.current_buffer.validate_and_handle()

    session: PromptSession[str] = PromptSession(multiline=True, key_bindings=keys, input_processors=[NothingHidden()])
    text = await session.prompt_async(
        "? ",
        default="\n".join(queries),
        prompt_continuation="? ",
        bottom_toolbar=_("One query per line. Ctrl+D searches with them, Ctrl+C leaves; the run is saved."),
    )
    return tuple(line.strip() for line in text.splitlines() if line.strip())
