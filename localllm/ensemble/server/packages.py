"""Check that the server's optional packages are installed."""

from importlib.util import find_spec

from localllm.base.errors import ConfigurationError

_PACKAGES = ("fastapi", "prometheus_client", "starlette", "uvicorn")
"""Import names of the packages of the extra `serve`."""


def check_packages() -> None:
    """Raise ConfigurationError if any is missing."""
    if missing := [name.replace("_", "-") for name in _PACKAGES if find_spec(name) is None]:
        raise ConfigurationError("ensemble_not_installed", packages=", ".join(missing))
