"""Every message for people, gathered: key → (English, Japanese). The parts lie beside this file, by speaker."""

from localllm.base.i18n.cli import CLI
from localllm.base.i18n.tools import TOOLS
from localllm.base.i18n.ui import UI

MESSAGES: dict[str, tuple[str, str]] = {**UI, **CLI, **TOOLS}
