"""Registries of what settings choose by name: each entry is one file, and one line here.

A name maps to a factory function as "module:function". It is imported when chosen; entries added at run time work like
the others.
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
"""Factories of a Provider, called with LLMSettings, the project's root and the environment (with keys)."""

SEARCH_ENGINES: dict[str, str] = {
    "searxng": "localllm.web.engines.searxng:make",
    "duckduckgo": "localllm.web.engines.duckduckgo:make",
    "serper": "localllm.web.engines.serper:make",
}
"""Factories of a SearchEngine, called with WebSettings."""


def load(place: str) -> Any:
    """Import the object at "module:name"."""
    module, _, name = place.partition(":")
    return getattr(import_module(module), name)
