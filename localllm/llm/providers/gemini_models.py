"""What the Gemini API tells of its models, and the names and addresses they have."""

import re
from urllib.parse import quote, urlsplit

import msgspec

from localllm.llm.addresses import is_loopback
from localllm.llm.providers.base import Ability, ModelInfo

_VERSION = re.compile(r"(.*?/v1[a-z0-9]*)(/.*)?")
_NO_TEXT = ("-tts", "-image", "embedding")
"""In the names of models that generate content, but speech or pictures."""


class GeminiModel(msgspec.Struct, rename="camel"):
    """A model as the API lists it."""

    name: str
    input_token_limit: int | None = None
    supported_generation_methods: list[str] | None = None
    thinking: bool | None = None

    @property
    def chats(self) -> bool:
        """Whether it answers in text."""
        return "generateContent" in (self.supported_generation_methods or ()) and not any(
            part in self.name for part in _NO_TEXT
        )

    @property
    def embeds(self) -> bool:
        """Whether it makes vectors of texts. Of its two methods the list names the one, the other or both."""
        return not {"embedContent", "batchEmbedContents"}.isdisjoint(self.supported_generation_methods or ())

    @property
    def info(self) -> ModelInfo:
        """The same in our words. The window is for what is read; an answer has a limit of its own."""
        return ModelInfo(
            self.name.removeprefix("models/"), context_window=self.input_token_limit or 0, abilities=self._abilities
        )

    @property
    def _abilities(self) -> frozenset[Ability] | None:
        """All Gemini models call tools and see; the API does not say it, and serves models of other families too."""
        if not self.name.startswith("models/gemini-"):
            return None
        told: dict[Ability, bool | None] = {"tools": True, "vision": True, "thinking": self.thinking}
        return frozenset(ability for ability, has in told.items() if has)


class ModelsPage(msgspec.Struct, rename="camel"):
    """A page of the list; `next_page_token` is empty on the last one."""

    models: list[GeminiModel] | None = None
    next_page_token: str | None = None


def parse_page(body: bytes) -> ModelsPage:
    """A page of the list of models. Raises msgspec.DecodeError."""
    return msgspec.json.decode(body, type=ModelsPage)


def parse_model(body: bytes) -> GeminiModel:
    """One model. Raises msgspec.DecodeError."""
    return msgspec.json.decode(body, type=GeminiModel)


def resource_name(model: str) -> str:
    """The path of a model under the API's root: models/NAME, or as it is where it names a collection itself."""
    name = model.strip("/")
    return quote(name if "/" in name else f"models/{name}", safe="/")


def gemini_root(base_url: str) -> str:
    """The root with the version in it, …/v1beta unless `base_url` says another; whatever follows it is left out."""
    text = base_url.strip()
    if "://" not in text:
        text = f"{'http' if is_loopback(text) else 'https'}://{text}"
    parts = urlsplit(text)
    path = parts.path.rstrip("/")
    found = _VERSION.fullmatch(path)
    return f"{parts.scheme}://{parts.netloc}{found[1] if found else f'{path}/v1beta'}"
