"""Run the configured check on answers in the sandbox: does the code compile, do the tests pass?

The command comes only from the operator's configuration. An answer is passed as data, on standard input and as files,
never as part of the command. The project is read-only, there is no network, and the time is limited.
"""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from shlex import quote

import msgspec

from localllm.base.errors import EnsembleError, LocalLLMError
from localllm.base.i18n import _
from localllm.ensemble.review_headings import code_lines
from localllm.sandbox.command_runner import LateRunner
from localllm.text.markdown_blocks import FENCE

CHECK_OUTPUT = "check_output"
"""In `runtime`: what checks that failed have printed."""

SECONDS = 20.0
"""Timeout of one check, in seconds."""

_AT_ONCE = 2
_LONGEST_REMARK = 400
"""Characters kept from the end of a check's output."""

_ANSWER, _CODE, _STATUS, _OUTPUT = "answer.md", "code", "status", "output"
_SCRIPT = """cd {folder} || exit
export ANSWER="$TMPDIR/answer.md" CODE="$TMPDIR/code"
(
{command}
) <"$ANSWER" >"$TMPDIR/output" 2>&1
echo "$?" >"$TMPDIR/status"
"""


class Checked(msgspec.Struct, frozen=True):
    """The result of a check: whether the answer passed, and the end of the output."""

    holds: bool
    remark: str = ""


class AnswerChecks:
    """Check answers with `runner` in `folder`, one of its project, which the command may read. The sandbox is created
    with the first check."""

    def __init__(self, runner: LateRunner, folder: Path, seconds: float = SECONDS) -> None:
        self._runner = runner
        self._folder = folder
        self._seconds = seconds
        self._turns = asyncio.Semaphore(_AT_ONCE)

    async def check(self, command: str, texts: Sequence[str]) -> list[Checked]:
        """Run `command` on each text. Raises EnsembleError if it cannot be run."""
        if not await asyncio.to_thread(lambda: self._runner.can_inspect):
            reason = self._runner.reason or _("the sandbox cannot keep this folder from being changed")
            raise EnsembleError("ensemble_no_check", reason=reason)
        return list(await asyncio.gather(*(self._check(command, text) for text in texts)))

    def close(self) -> None:
        """Close the sandbox."""
        self._runner.close()

    async def _check(self, command: str, text: str) -> Checked:
        files = {_ANSWER: text.encode(), _CODE: code_in(text).encode()}
        script = _SCRIPT.replace("{folder}", quote(str(self._folder))).replace("{command}", command)
        try:
            async with self._turns:
                results = (_STATUS, _OUTPUT)
                done = await self._runner.inspect(script, files=files, results=results, timeout=self._seconds)
        except LocalLLMError as error:
            raise EnsembleError("ensemble_no_check", reason=error.what) from error
        if done.timed_out:
            return Checked(holds=False, remark=_("not finished after {seconds:g} s", seconds=self._seconds))
        output = done.files.get(_OUTPUT, b"").decode("utf-8", "replace").strip()
        return Checked(holds=done.files.get(_STATUS, b"").strip() == b"0", remark=output[-_LONGEST_REMARK:])


def code_in(text: str) -> str:
    """Return the code blocks of an answer, concatenated; the whole answer if it has none."""
    lines = text.split("\n")
    inside = [index for index in sorted(code_lines(lines)) if not FENCE.match(lines[index])]
    return "\n".join(lines[index] for index in inside) if inside else text
