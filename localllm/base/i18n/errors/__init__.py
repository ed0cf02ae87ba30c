"""What every error says, gathered: key → (public code, English, Japanese). The parts lie beside this file.

Codes: E1xxx settings, E2xxx model server, E3xxx search, E4xxx cache, E5xxx browser, E6xxx task, E7xxx workflow,
E8xxx tools, E9xxx safety. A code once published keeps its meaning.
"""

from localllm.base.i18n.errors.context import CONTEXT
from localllm.base.i18n.errors.form import Entries
from localllm.base.i18n.errors.model_file import MODEL_FILE
from localllm.base.i18n.errors.model_server import MODEL_SERVER
from localllm.base.i18n.errors.notes import NOTES
from localllm.base.i18n.errors.panel import PANEL
from localllm.base.i18n.errors.reading import READING
from localllm.base.i18n.errors.safety import SAFETY
from localllm.base.i18n.errors.sessions import SESSIONS
from localllm.base.i18n.errors.settings import SETTINGS
from localllm.base.i18n.errors.tool_use import TOOL_USE
from localllm.base.i18n.errors.undo import UNDO
from localllm.base.i18n.errors.web import WEB

ERRORS: Entries = {
    **SETTINGS,
    **MODEL_SERVER,
    **CONTEXT,
    **MODEL_FILE,
    **PANEL,
    **TOOL_USE,
    **UNDO,
    **READING,
    **WEB,
    **SAFETY,
    **NOTES,
    **SESSIONS,
}
