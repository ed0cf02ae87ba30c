"""The command /ensemble: several models answer in parallel, and a reviewer merges their answers."""

from localllm.base.i18n import N_, _
from localllm.text.sanitising import clean
from localllm.tui.commands.registry import Outcome, SlashCall, slash
from localllm.tui.render.report import wrapped


@slash(
    "ensemble",
    usage=N_("QUESTION"),
    forms=N_("/ensemble why is the sky blue | the workers of config.json answer, its reviewer merges"),
)
async def ensemble(call: SlashCall) -> Outcome:
    """Ask several models at once; the chat's model reads the merged answer with your next request."""
    question, screen = call.arguments.strip(), call.screen
    if not question:
        text = _("/ensemble QUESTION: the question for the models of config.json (docs/ensemble.md).")
        screen.print_lines(wrapped("  ", text, "dim", screen.width))
        return
    from localllm.tui.render.answer import AnswerView
    from localllm.tui.render.ensemble_columns import EnsembleColumns

    columns = EnsembleColumns(screen)
    try:
        async with columns.shown():
            result = await call.chat.ensemble.ask(question, columns.handle)
    finally:
        columns.print()  # an interrupted run keeps its output so far
    if result.all_failed:
        screen.print_lines(wrapped("✗ ", _("No worker has answered."), "error", screen.width))
        return
    if result.reviewer_error is not None:
        said = _("The reviewer failed, so this is the answer of one worker: {error}", error=result.reviewer_error)
        screen.print_lines(wrapped("! ", said, "warning", screen.width))
    elif comment := clean(result.review_comment).strip():
        said = f"{columns.reviewer}: {comment}" if columns.reviewer else comment
        screen.print_lines(wrapped("  ", said, "dim", screen.width))
    screen.print(("", ""))
    view = AnswerView(screen)
    view.feed(result.final_answer)
    view.finish()
    call.chat.offer_answer(question, result.final_answer)
