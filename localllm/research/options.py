"""The options of one run: settings, preset and command line merged and validated."""

import msgspec

from localllm.base.errors import ResearchUsageError
from localllm.config.research_settings import ResearchSettings

PRESETS: dict[str, dict[str, int]] = {
    "fast": {"query_count": 2, "min_validation": 0, "max_validation": 1},
    "standard": {"query_count": 3, "min_validation": 1, "max_validation": 3},
    "high": {"query_count": 5, "min_validation": 2, "max_validation": 5},
}


class ResearchOptions(ResearchSettings, frozen=True):
    """The `[research]` settings of one run, and options only a run has."""

    sites: tuple[str, ...] = ()
    """Search only these hosts and their subdomains."""
    exclude_sites: tuple[str, ...] = ()
    queries: tuple[str, ...] = ()
    """The user's queries, replacing the model's."""
    use_web: bool = True
    use_cache: bool = True


_PAIRS = (("min_search", "max_search"), ("min_validation", "max_validation"))


def options_for(settings: ResearchSettings, preset: str = "", **given: object) -> ResearchOptions:
    """Merge the options of a run: `given` over the preset over the settings. If a minimum and a maximum conflict, the
    given one wins.

    Raises msgspec.ValidationError; ResearchUsageError if both are from one layer.
    """
    layers = (given, PRESETS.get(preset, {}), msgspec.to_builtins(settings))
    values: dict[str, object] = {**layers[2], **layers[1], **layers[0]}
    options = msgspec.convert(values, ResearchOptions)
    for least, most in _PAIRS:
        low, high = getattr(options, least), getattr(options, most)
        if low > high:
            came = [next(number for number, layer in enumerate(layers) if name in layer) for name in (least, most)]
            if came[0] == came[1]:
                raise ResearchUsageError("research_bounds", least=least, most=most, low=low, high=high)
            values |= {most: low} if came[0] < came[1] else {least: high}
    return msgspec.convert(values, ResearchOptions)
