"""The packages the server is made with, which not everybody has installed."""

from importlib.util import find_spec

from localllm.base.errors import ConfigurationError

_PACKAGES = ("fastapi", "prometheus_client", "starlette", "uvicorn")
"""By the names they are imported by; the extra `serve` has them."""


def check_packages() -> None:
    """Raise ConfigurationError where any is missing."""
    if missing := [name.replace("_", "-") for name in _PACKAGES if find_spec(name) is None]:
        raise ConfigurationError("ensemble_not_installed", packages=", ".join(missing))
