"""The tree of errors. Each has a key and parameters; its text is in `error_texts`, translated when shown."""

from typing import TYPE_CHECKING, ClassVar

from localllm.base.i18n import Phrase, Phrases, sentences

if TYPE_CHECKING:
    from localllm.base.error_texts.text import ErrorText


class LocalLLMError(Exception):
    """An error shown to the user: `what` happened, `why`, and the `fix`.

    `key` names an entry of `localllm.base.error_texts`; `params` fill its text. `exit_code` is the program's exit code
    if the error ends a one-shot run.
    """

    exit_code: ClassVar[int] = 1

    def __init__(self, key: str, /, **params: object) -> None:
        super().__init__(key, params)
        self.key = key
        self.params = params

    @property
    def code(self) -> str:
        """The stable public code, such as E1003."""
        return error_text(self.key).code

    @property
    def what(self) -> str:
        return str(self.what_phrase)

    @property
    def what_phrase(self) -> Phrase:
        """What happened, as a message parameter that is translated when shown."""
        return Phrase(error_text(self.key).what, **self.params)

    @property
    def details_phrase(self) -> Phrase:
        """Why it happened and the fix, as `what_phrase`."""
        return Phrases([Phrase(part, **self.params) for part in error_text(self.key)[2:] if part])

    @property
    def why(self) -> str:
        return str(Phrase(error_text(self.key).why, **self.params))

    @property
    def fix(self) -> str:
        return str(Phrase(error_text(self.key).fix, **self.params))

    @property
    def english(self) -> str:
        """What, why and fix for the model, in English whatever the language."""
        return sentences(*(Phrase(part, **self.params).english for part in error_text(self.key)[1:] if part))

    def lines(self) -> str:
        """Return what, why and fix on a line each; the last two may be empty."""
        return "\n".join(" ".join(part.splitlines()) for part in (self.what, self.why, self.fix))

    def __str__(self) -> str:
        return sentences(self.what, self.why, self.fix)


class ConfigurationError(LocalLLMError):
    """E1xxx: invalid settings, command line or project files."""

    exit_code = 2


class InternalError(LocalLLMError):
    """E1090: a bug in the program itself."""


class RetryableError(LocalLLMError):
    """A server did not respond as expected.

    `retryable`: the same request may succeed in a moment; `retry_after`: delay in seconds, if the server stated one.
    """

    def __init__(
        self, key: str, *, retryable: bool = False, retry_after: float | None = None, **params: object
    ) -> None:
        super().__init__(key, **params)
        self.retryable = retryable
        self.retry_after = retry_after


class LLMConnectionError(RetryableError):
    """E2xxx: the model server is unreachable or did not respond as expected."""

    exit_code = 5


class ToolExecutionError(LocalLLMError):
    """E8xxx: a tool failed; the text is returned to the model."""


class WebSearchError(RetryableError, ToolExecutionError):
    """E3xxx: a web search failed."""


class BrowserError(ToolExecutionError):
    """E5xxx: the browser is missing, or could not render or print a page."""


class KnowledgeBaseError(ToolExecutionError):
    """E84xx: a collection of the knowledge base could not be searched or written."""


class KnowledgeBaseUsageError(KnowledgeBaseError):
    """E84xx: an invalid request to the knowledge base."""

    exit_code = 2


class ResearchError(LocalLLMError):
    """E6xxx and E7xxx: a research run or task failed."""


class ResearchUsageError(ResearchError):
    """E6xxx and E7xxx: an invalid request to a research run or task."""

    exit_code = 2


class ResearchModelError(ResearchError):
    """E7xxx: a research run stopped because its model no longer answers; it can be resumed."""

    exit_code = 5


class RequestLogError(LocalLLMError):
    """E118x: the ensemble's request log cannot be written or read. Requests do not fail because of it."""


class EnsembleError(LocalLLMError):
    """E11xx: an agent of the ensemble, or all of them, failed."""

    exit_code = 5


class CacheError(LocalLLMError):
    """E4xxx: a cache is unusable. Its values are computed again; nothing else fails because of it."""


class SafetyViolationError(LocalLLMError):
    """E9xxx: refused to protect the user's files, secrets or machine."""

    exit_code = 4


def error_text(key: str) -> "ErrorText":
    """Return the text of the error `key`. The table is imported with the first error."""
    from localllm.base.error_texts import ERRORS

    return ERRORS[key]
