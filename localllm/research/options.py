"""How one run is to be done: settings, a preset and the command line, put together and checked."""

import msgspec

from localllm.config.schema import ResearchSettings

PRESETS: dict[str, dict[str, int]] = {
    "fast": {"query_count": 2, "min_validation": 0, "max_validation": 1},
    "standard": {"query_count": 3, "min_validation": 1, "max_validation": 3},
    "high": {"query_count": 5, "min_validation": 2, "max_validation": 5},
}


class ResearchOptions(ResearchSettings, frozen=True):
    """The settings of `[research]` as they hold for one run, and what only a run has."""

    sites: tuple[str, ...] = ()
    """Only these hosts, and those below them."""
    exclude_sites: tuple[str, ...] = ()
    docs: tuple[str, ...] = ()
    """Folders that are searched like the web."""
    queries: tuple[str, ...] = ()
    """Queries of the user's own, instead of the model's."""
    use_web: bool = True
    use_cache: bool = True


def options_for(settings: ResearchSettings, preset: str = "", **given: object) -> ResearchOptions:
    """The options of a run: `given` before the preset before the settings. Raises msgspec.ValidationError."""
    values = {**msgspec.to_builtins(settings), **PRESETS.get(preset, {}), **given}
    return msgspec.convert(values, ResearchOptions)
