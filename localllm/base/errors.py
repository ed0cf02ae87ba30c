"""The tree of errors. An error carries a key and parameters; its text is in `error_texts`, translated when shown."""

from typing import TYPE_CHECKING, ClassVar

from localllm.base.i18n import Phrase, sentences

if TYPE_CHECKING:
    from localllm.base.error_texts.text import ErrorText


class LocalLLMError(Exception):
    """Something the user must know: `what` happened, `why`, and the `fix`.

    `key` names an entry of `localllm.base.error_texts`; `params` fill its text. `exit_code` is what the program
    leaves with when the error ends a one-shot run.
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
        """What happened, as a parameter of a message: translated when that is shown."""
        return Phrase(error_text(self.key).what, **self.params)

    @property
    def why(self) -> str:
        return str(Phrase(error_text(self.key).why, **self.params))

    @property
    def fix(self) -> str:
        return str(Phrase(error_text(self.key).fix, **self.params))

    @property
    def english(self) -> str:
        """What, why and the fix as a model reads them: in English whatever the language."""
        return sentences(*(Phrase(part, **self.params).english for part in error_text(self.key)[1:] if part))

    def lines(self) -> str:
        """What, why and the fix on a line each, the last two empty where there is nothing to say."""
        return "\n".join(" ".join(part.splitlines()) for part in (self.what, self.why, self.fix))

    def __str__(self) -> str:
        return sentences(self.what, self.why, self.fix)


class ConfigurationError(LocalLLMError):
    """E1xxx: the settings, the command line or the project's own files."""

    exit_code = 2


class InternalError(LocalLLMError):
    """E1090: a fault of the program itself."""


class RetryableError(LocalLLMError):
    """A server did not answer as it should.

    `retryable`: the same request may well succeed in a moment; `retry_after`: in how many seconds, where the server
    said so.
    """

    def __init__(
        self, key: str, *, retryable: bool = False, retry_after: float | None = None, **params: object
    ) -> None:
        super().__init__(key, **params)
        self.retryable = retryable
        self.retry_after = retry_after


class LLMConnectionError(RetryableError):
    """E2xxx: the model server cannot be reached or did not answer as it should."""

    exit_code = 5


class ToolExecutionError(LocalLLMError):
    """E8xxx: a tool could not do what it was asked; the text goes back to the model."""


class WebSearchError(RetryableError, ToolExecutionError):
    """E3xxx: the web could not be searched."""


class BrowserError(ToolExecutionError):
    """E5xxx: the browser is missing, or could not read or print a page."""


class KnowledgeBaseError(ToolExecutionError):
    """E84xx: a collection of the knowledge base could not be searched or filled."""


class KnowledgeBaseUsageError(KnowledgeBaseError):
    """E84xx: the knowledge base was asked for what cannot be."""

    exit_code = 2


class ResearchError(LocalLLMError):
    """E6xxx and E7xxx: a research run or task could not do what it was asked."""


class ResearchUsageError(ResearchError):
    """E6xxx and E7xxx: a research run or task was asked for what cannot be."""

    exit_code = 2


class ResearchModelError(ResearchError):
    """E7xxx: a research run had to stop because its model does not answer any more; it can be taken up again."""

    exit_code = 5


class RequestLogError(LocalLLMError):
    """E118x: the ensemble's log of requests cannot be written or read. No request fails for it."""


class EnsembleError(LocalLLMError):
    """E11xx: an agent of the ensemble, or all of them, could not do what they were asked."""

    exit_code = 5


class CacheError(LocalLLMError):
    """E4xxx: a cache cannot be used. What it would have saved is done again; nothing else fails for it."""


class SafetyViolationError(LocalLLMError):
    """E9xxx: refused to protect the user's files, secrets or machine."""

    exit_code = 4


def error_text(key: str) -> "ErrorText":
    """The text of the error `key`. The table is loaded with the first error."""
    from localllm.base.error_texts import ERRORS

    return ERRORS[key]
