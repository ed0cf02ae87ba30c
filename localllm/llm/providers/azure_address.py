"""Addresses of Azure OpenAI, in every form the portal shows and people paste."""

import re
from urllib.parse import parse_qs, quote, unquote, urlsplit

import msgspec

from localllm.llm.addresses import is_loopback

NEWEST_DATED = "2024-10-21"
"""The newest dated version that is no preview; after it came the undated v1, for all to use since August 2025 (Azure
OpenAI API lifecycle). It is taken for an address with a deployment in it, where nothing names a version."""

_UNDATED = frozenset({"v1", "preview", "latest"})
"""Versions of the v1 interface, which has no deployments in its addresses."""

_OPENAI_PATH = re.compile(r"(?P<prefix>.*?)/openai(?:/(?P<rest>.*))?")
_AZURE_HOST = re.compile(r"\.(azure\.(com|us|cn)|api\.cognitive\.microsoft\.com)$", re.IGNORECASE)


class AzurePlace(msgspec.Struct, frozen=True):
    """Where a resource is: `root` ends with /openai. `deployment` is the one its address names, or empty.

    `version` is a date such as 2024-10-21 for the addresses with a deployment in them, else v1, preview or latest.
    """

    root: str
    deployment: str
    version: str

    @property
    def is_undated(self) -> bool:
        """Whether it is asked through the v1 interface."""
        return self.version in _UNDATED

    @property
    def base_url(self) -> str:
        """What the addresses of all its endpoints begin with."""
        return f"{self.root}/v1" if self.is_undated else self.root

    def chat_url(self, deployment: str) -> str:
        """Where an answer of `deployment` is asked for."""
        return self._url(deployment, "chat/completions")

    def embeddings_url(self, deployment: str) -> str:
        """Where vectors of `deployment` are asked for."""
        return self._url(deployment, "embeddings")

    def _url(self, deployment: str, what: str) -> str:
        match self.version:
            case "v1":
                return f"{self.base_url}/{what}"
            case "preview" | "latest":
                return f"{self.base_url}/{what}?api-version={self.version}"
            case _:
                path = f"deployments/{quote(deployment, safe='')}/{what}"
                return f"{self.root}/{path}?api-version={quote(self.version, safe='')}"


def azure_place(endpoint: str, version: str = "") -> AzurePlace:
    """The place `endpoint` tells of; `version`, where it is not empty, wins over the one in the address. Where neither
    says anything, it is v1.

    Accepts a host, with any path of the resource behind it: /openai, /openai/v1, a whole deployment's address with its
    api-version, a project's address. What a gateway has before /openai is kept.
    """
    text = endpoint.strip()
    if "://" not in text:
        text = f"{'http' if is_loopback(text) else 'https'}://{text}"
    parts = urlsplit(text)
    prefix, rest = _split(parts.path.rstrip("/"), azure=bool(_AZURE_HOST.search(parts.hostname or "")))
    in_address = _version_in(rest, parts.query)
    named = re.match(r"deployments/([^/]+)", rest)
    return AzurePlace(
        f"{parts.scheme}://{parts.netloc}{prefix}/openai",
        unquote(named[1]) if named else "",
        version.strip() or in_address or (NEWEST_DATED if rest.startswith("deployments") else "v1"),
    )


def _split(path: str, *, azure: bool) -> tuple[str, str]:
    """What stands before /openai and what behind it. Azure's own hosts have nothing of ours elsewhere: /models,
    /api/projects/NAME are other interfaces of the same resource."""
    if found := _OPENAI_PATH.fullmatch(path):
        return found["prefix"], found["rest"] or ""
    return ("" if azure else path), ""


def _version_in(rest: str, query: str) -> str:
    told = parse_qs(query).get("api-version", [""])[0]
    if rest == "v1" or rest.startswith("v1/"):
        return told if told in _UNDATED else "v1"
    return told if rest else ""
