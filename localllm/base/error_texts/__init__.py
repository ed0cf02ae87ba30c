"""The English texts of all errors: key → public code, what, why and fix; the last two may be empty.

Codes: E1xxx settings, E2xxx model server, E3xxx search, E4xxx cache, E5xxx browser, E6xxx task, E7xxx workflow, E8xxx
tools, E9xxx safety. A published code keeps its meaning.
"""

from localllm.base.error_texts.browser import BROWSER
from localllm.base.error_texts.ensemble import ENSEMBLE
from localllm.base.error_texts.ensemble_api import ENSEMBLE_API
from localllm.base.error_texts.ensemble_runs import ENSEMBLE_RUNS
from localllm.base.error_texts.files import FILES
from localllm.base.error_texts.knowledge import KNOWLEDGE
from localllm.base.error_texts.models import MODELS
from localllm.base.error_texts.request_log import REQUEST_LOG
from localllm.base.error_texts.research import RESEARCH
from localllm.base.error_texts.safety import SAFETY
from localllm.base.error_texts.settings import SETTINGS
from localllm.base.error_texts.text import ErrorText
from localllm.base.error_texts.tools import TOOLS
from localllm.base.error_texts.web import WEB

ERRORS: dict[str, ErrorText] = {
    **SETTINGS,
    **MODELS,
    **TOOLS,
    **FILES,
    **WEB,
    **BROWSER,
    **RESEARCH,
    **REQUEST_LOG,
    **KNOWLEDGE,
    **SAFETY,
    **ENSEMBLE,
    **ENSEMBLE_RUNS,
    **ENSEMBLE_API,
}
