"""Azure OpenAI: chat completions under the address of a deployment, or under the v1 address."""

from collections.abc import Sequence

from localllm.base.errors import ConfigurationError, LLMConnectionError
from localllm.llm.addresses import address_fault
from localllm.llm.providers.azure_address import azure_place
from localllm.llm.providers.azure_errors import AzureErrors
from localllm.llm.providers.base import ModelInfo
from localllm.llm.providers.openai_compatible import OpenAICompatible
from localllm.llm.providers.openai_models import makes_vectors

KEY_VARIABLE = "AZURE_OPENAI_API_KEY"
TOKEN_VARIABLE = "AZURE_OPENAI_AD_TOKEN"  # noqa: S105 - the variable's name


class Azure(OpenAICompatible):
    """The resource at `endpoint`; see azure_place for the forms it may have. A model's name is its deployment's.

    `deployment` is used where no model is named. `api_version` is a date, for the addresses with a deployment in them,
    or v1; empty takes what the endpoint says, else v1. `ad_token`, a token of Microsoft Entra ID, wins over `api_key`.

    Raises ConfigurationError where the endpoint cannot be used, or there is neither key nor token.
    """

    constrains: bool = True

    def __init__(
        self,
        endpoint: str,
        *,
        timeout: float,
        idle_timeout: float,
        deployment: str = "",
        api_version: str = "",
        api_key: str = "",
        ad_token: str = "",
    ) -> None:
        _check_endpoint(endpoint)
        if not (api_key or ad_token):
            raise ConfigurationError("llm_key_missing", provider="azure", variable=KEY_VARIABLE, other=TOKEN_VARIABLE)
        self._place = azure_place(endpoint, api_version)
        self._deployment = deployment.strip() or self._place.deployment
        variable = TOKEN_VARIABLE if ad_token else KEY_VARIABLE
        super().__init__(
            "azure",
            self._place.base_url,
            timeout=timeout,
            idle_timeout=idle_timeout,
            api_key=ad_token or api_key,
            key_variable=variable,
            key_header="authorization" if ad_token else "api-key",
        )
        self._errors = AzureErrors("azure", self.address, variable, undated=self._place.is_undated)

    async def list_models(self) -> list[ModelInfo]:
        """The deployment of the settings, unasked: Azure lists the models of a region, but no deployments."""
        if not self._deployment:
            raise LLMConnectionError("llm_which_deployment", url=self.address)
        return [ModelInfo(self._deployment)]

    async def list_embedding_models(self) -> list[str]:
        """The deployment of the settings where its name tells that it is one; see `list_models`."""
        return [self._deployment] if makes_vectors(self._deployment) else []

    async def _described(self, model: str, listed: Sequence[ModelInfo]) -> ModelInfo:
        """The name alone: a deployment tells neither its window nor its abilities."""
        return ModelInfo(model)

    def _chat_url(self, model: str) -> str:
        return self._place.chat_url(model)

    def _embeddings_url(self, model: str) -> str:
        return self._place.embeddings_url(model)


def _check_endpoint(endpoint: str) -> None:
    """Raises ConfigurationError for one no request can be sent to."""
    setting, example = "llm.azure.endpoint", "https://NAME.openai.azure.com"
    if not endpoint.strip():
        raise ConfigurationError("llm_setting_missing", provider="azure", setting=setting, example=example)
    if fault := address_fault(endpoint):
        raise ConfigurationError(
            "llm_endpoint_unusable", endpoint=endpoint, reason=fault, setting=setting, example=example
        )
