"""The localllm.toml that `localllm init` makes: the settings people look for first, every one commented out."""

from collections.abc import Iterator
from itertools import groupby

from localllm.base.config.editing import write_value
from localllm.base.config.keys import all_settings
from localllm.base.i18n import Phrase
from localllm.text.wrapping import wrap

_WIDTH = 96

_KEYS: dict[str, Phrase] = {
    "llm.provider": Phrase("toml.provider"),
    "llm.model": Phrase("toml.model"),
    "llm.context_window": Phrase("toml.context_window"),
    "llm.temperature": Phrase("toml.temperature"),
    "llm.lmstudio.base_url": Phrase("toml.base_url"),
    "llm.ollama.base_url": Phrase("toml.base_url"),
    "llm.openai.base_url": Phrase("toml.openai"),
    "agent.max_iterations": Phrase("toml.max_iterations"),
    "safety.require_confirmation": Phrase("toml.require_confirmation"),
    "safety.deny": Phrase("toml.deny"),
    "project.exclude_patterns": Phrase("toml.exclude_patterns"),
    "ui.language": Phrase("toml.language"),
}


def settings_template() -> str:
    """The file's text in the current language. It sets nothing: each key shows its default."""
    lines = [*_comment(Phrase("toml.head"))]
    for table, keys in groupby(_KEYS, key=lambda key: key.rpartition(".")[0]):
        lines += ["", f"[{table}]"]
        for key in keys:
            lines += _comment(_KEYS[key])
            lines.append(f"# {key.rpartition('.')[2]} = {write_value(all_settings()[key].default)}")
    lines += ["", "[commands.aliases]", *_comment(Phrase("toml.aliases"))]
    lines.append(f"# review = {write_value(str(Phrase('toml.alias_example')))}")
    return "\n".join(lines) + "\n"


def _comment(phrase: Phrase) -> Iterator[str]:
    return (f"# {line}" for line in wrap(str(phrase), _WIDTH))
