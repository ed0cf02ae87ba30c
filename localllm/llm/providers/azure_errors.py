"""What Azure OpenAI's failures mean, where they differ from OpenAI's."""

import re

from localllm.base.errors import LLMConnectionError
from localllm.llm.providers.azure_address import NEWEST_DATED
from localllm.llm.providers.openai_errors import ErrorReader, ServerError, sentence

_VERSION = re.compile(r"only for api versions|api.?version.{0,40}not (supported|valid|available)", re.IGNORECASE)


_NOT_THERE = 404


class AzureErrors(ErrorReader):
    """Makes LLMConnectionErrors of the failures of one Azure resource; `undated`: it is asked through v1."""

    def __init__(self, provider: str, url: str, key_variable: str, *, undated: bool) -> None:
        super().__init__(provider, url, key_variable)
        self._undated = undated

    def of_status(self, status: int, headers: dict[str, str], body: bytes) -> LLMConnectionError:
        """As ever; but who does not know the v1 address may know the dated ones."""
        error = super().of_status(status, headers, body)
        if self._undated and status == _NOT_THERE and error.key in ("llm_azure_address", "llm_bad_request"):
            return self._make("llm_azure_no_v1", reason=error.params["reason"], version=NEWEST_DATED)
        return error

    def _of_words(self, error: ServerError) -> LLMConnectionError | None:
        reason = sentence(error.message)
        if "DeploymentNotFound" in error.code:
            return self._make("llm_no_deployment", model="", reason=reason)
        if _VERSION.search(error.message):
            return self._make("llm_azure_version", reason=reason)
        if error.message.strip(" .").lower() == "resource not found":
            return self._make("llm_azure_address", reason=reason)
        return super()._of_words(error)

    def _make(
        self, key: str, *, retryable: bool = False, retry_after: float | None = None, **params: object
    ) -> LLMConnectionError:
        """As ever; but whatever does not answer as a model server is not the resource that was meant."""
        if key == "llm_malformed":
            key, params = "llm_azure_address", {"reason": sentence(str(params["reason"]))}
        return super()._make(key, retryable=retryable, retry_after=retry_after, **params)
