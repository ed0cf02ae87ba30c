"""Every message for people, gathered: key → (English, Japanese). The parts lie beside this file, by speaker."""

from localllm.base.i18n.agent import AGENT
from localllm.base.i18n.answering import ANSWERING
from localllm.base.i18n.cli import CLI
from localllm.base.i18n.context import CONTEXT
from localllm.base.i18n.doctor import DOCTOR
from localllm.base.i18n.forms import FORMS
from localllm.base.i18n.memory import MEMORY
from localllm.base.i18n.model_file import MODEL_FILE
from localllm.base.i18n.notes import NOTES
from localllm.base.i18n.panel import PANEL
from localllm.base.i18n.reading import READING
from localllm.base.i18n.sandbox import SANDBOX
from localllm.base.i18n.servers import SERVERS
from localllm.base.i18n.sessions import SESSIONS
from localllm.base.i18n.start import START
from localllm.base.i18n.tools import TOOLS
from localllm.base.i18n.ui import UI
from localllm.base.i18n.web import WEB
from localllm.base.i18n.workspace import WORKSPACE

MESSAGES: dict[str, tuple[str, str]] = {
    **UI,
    **START,
    **CLI,
    **AGENT,
    **TOOLS,
    **READING,
    **WEB,
    **SANDBOX,
    **SERVERS,
    **MODEL_FILE,
    **DOCTOR,
    **PANEL,
    **WORKSPACE,
    **NOTES,
    **MEMORY,
    **SESSIONS,
    **ANSWERING,
    **CONTEXT,
    **FORMS,
}
