"""What is piped into a one-shot run."""

import os
import re
import stat
import sys
import threading
from typing import TextIO

from localllm.base.errors import ConfigurationError
from localllm.base.i18n import tr
from localllm.text.decoding import NotTextError, decode

_SECONDS_BEFORE_NOTICE = 2.0


def read_piped_input(stream: TextIO | None) -> str:
    """The text piped into the program, framed to follow a prompt, the frame's own marks in it made harmless;
    empty where nothing is piped.

    Only pipes and files are read: a terminal or /dev/null has nothing to add. An open pipe nobody writes to is
    waited for, and after a moment that is said. Raises ConfigurationError where what comes is not text.
    """
    if stream is None or stream.closed:
        return ""
    mode = os.fstat(stream.fileno()).st_mode
    if not (stat.S_ISFIFO(mode) or stat.S_ISREG(mode) or stat.S_ISSOCK(mode)):
        return ""
    notice = threading.Timer(_SECONDS_BEFORE_NOTICE, lambda: print(tr("input.waiting"), file=sys.stderr))  # noqa: T201
    notice.daemon = True
    notice.start()
    try:
        data = stream.buffer.read()
    finally:
        notice.cancel()
    text = re.sub(r"<(\s{0,9}/?\s{0,9}stdin\s{0,9})>", r"‹\1›", _decode(data).strip("\n"), flags=re.IGNORECASE)
    return f"\n\n<stdin>\n{text}\n</stdin>" if text.strip() else ""


def _decode(data: bytes) -> str:
    try:
        return decode(data).text
    except NotTextError as error:
        raise ConfigurationError("input_not_text") from error
