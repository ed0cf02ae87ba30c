"""What the settings choose by name: each is one file, and one line here.

A name leads to the function that makes the thing, as "module:function". It is loaded when it is chosen, and what is
put into these tables at run time can be chosen like the rest.
"""

from importlib import import_module
from typing import Any

PROVIDERS: dict[str, str] = {
    "lmstudio": "localllm.llm.providers.lmstudio:make",
    "ollama": "localllm.llm.providers.ollama:make",
    "openai": "localllm.llm.providers.openai_compatible:make",
    "azure": "localllm.llm.providers.azure:make",
    "gemini": "localllm.llm.providers.gemini:make",
    "gguf": "localllm.llm.gguf.provider:make",
    "embedded": "localllm.lookup.engine:make",
    "scripted": "localllm.llm.providers.scripted:make",
}
"""Makers of a Provider, given LLMSettings, the project's root and the environment with the keys."""

SEARCH_ENGINES: dict[str, str] = {
    "searxng": "localllm.web.engines.searxng:make",
    "duckduckgo": "localllm.web.engines.duckduckgo:make",
    "serper": "localllm.web.engines.serper:make",
}
"""Makers of a SearchEngine, given WebSettings."""


def load(place: str) -> Any:
    """What stands at "module:name"."""
    module, _, name = place.partition(":")
    return getattr(import_module(module), name)
