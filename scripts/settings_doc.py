#!/usr/bin/env python3
"""Write the reference of all settings from the schema, so that it cannot tell anything else.

.venv/bin/python scripts/settings_doc.py > docs/settings.md
.venv/bin/python scripts/settings_doc.py --check    exit 1 if docs/settings.md is stale
"""

import inspect
import re
import sys
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

from localllm.config.editor import write_value
from localllm.config.keys import Setting, all_settings, meaning
from localllm.config.schema import HARMLESS, SECRET_VARIABLES, Section
from localllm.config.values import describe

DOCUMENT = Path(__file__).resolve().parent.parent / "docs" / "settings.md"

INTRODUCTION = """\
# Settings

<!-- Written by scripts/settings_doc.py from localllm/config/schema.py. -->

Every setting has a default; a settings file is needed only for what should differ. Values come from these places, and
later ones override earlier ones:

1. the defaults below;
2. your own file (`localllm config path --user` prints its path; `LOCALLLM_CONFIG_DIR` names another folder for it);
3. `localllm.toml` in the project;
4. environment variables: `LOCALLLM_` and the key in capitals, with underscores for the dots, as in
   `LOCALLLM_LLM_LMSTUDIO_BASE_URL`. Lists are separated by commas. An empty variable counts as not set;
5. the command line.

`localllm config show` lists every value and where it comes from, `config show KEY` one; `localllm config set llm.model
qwen3` changes one and leaves the rest of the file as it is. A file looks like this:

```toml
[llm]
provider = "lmstudio"
temperature = 0.2

[llm.lmstudio]
base_url = "http://localhost:1234"

[commands.aliases]
tests = "Run the tests and fix what fails"
```

## Projects that you do not trust

A project's `localllm.toml` comes with whatever repository you cloned. Until you trust it, it may set only

- what is marked ✓ in the column “project”;
- what is marked (✓), within the [limits below](#what-an-untrusted-project-may-say), so that it cannot reach further
  than before.

The rest is ignored, and a message says so. The chat asks once for each content of the file; `localllm config trust` and
`localllm config untrust` change the answer, `localllm --trust-project` trusts it for one run.

No key is sent to a server that such a file has chosen, by its provider or its address, not even on this machine. If you
have that key set, a message says so, and the server counts as something for you to decide. Whatever cannot be read in
such a file (an unknown setting, a wrong value, a line that is not TOML) is skipped and reported once; in a file that
you trust, and in your own, it is an error. Nothing is read from `.env` or similar files.

## Model servers that are found

Besides the addresses in the settings, localllm looks for a model server at `http://localhost:8000` (vLLM);
`LOCALLLM_ALSO_LOOK_AT` names other addresses to look at instead, separated by commas.
"""


def main() -> None:
    document = "\n".join(lines())
    if sys.argv[1:] != ["--check"]:
        sys.stdout.write(document)
    elif not DOCUMENT.exists() or DOCUMENT.read_text("utf-8") != document:
        sys.exit("settings_doc: docs/settings.md is stale; write it anew with scripts/settings_doc.py")


def lines() -> Iterator[str]:
    yield INTRODUCTION
    for table, group in groupby(all_settings().values(), key=table_of):
        settings = list(group)
        yield f"## `[{table}]`\n" if table else "## Before all tables\n"
        yield f"{summary(settings[0].section)}\n"
        yield "| setting | type | default | meaning | project |"
        yield "|---|---|---|---|---|"
        yield from (row(setting) for setting in settings)
        yield ""
    yield from secrets()
    yield from conditions()


def table_of(setting: Setting) -> str:
    return setting.key.rpartition(".")[0]


def summary(section: type[Section]) -> str:
    """The first paragraph of a section's docstring."""
    return " ".join((inspect.getdoc(section) or "").partition("\n\n")[0].split())


def row(setting: Setting) -> str:
    name = setting.key.rpartition(".")[2]
    default = "none" if setting.table else f"`{write_value(setting.default)}`"
    said = meaning(setting) or sys.exit(f"settings_doc: the schema does not say what {setting.key} means")
    cells = (f"`{name}`", str(describe(setting)), default, said, mark(setting))
    return f"| {' | '.join(cells)} |"


CONDITIONS = {
    "llm.provider": "embedded; lmstudio, ollama or openai if its server is on this machine; no key is sent to it",
    "llm.*.base_url": "an address on this machine: localhost, 127.0.0.0/8 or [::1]; no key is sent to it",
    "llm.model": "ASCII without blanks, none of Ollama's cloud; with auto, only if all servers are on this machine",
    "llm.max_tokens": "a smaller number, but not 0",
    "llm.context_window": "a smaller number than yours, if you have set one",
    "agent.max_iterations": "a smaller number",
    "agent.time_limit": "a shorter time",
    "safety.command_timeout": "a shorter time",
    "offline": "`true`",
    "safety.require_confirmation": "`true`",
    "safety.auto_backup": "`true`",
    "safety.mode": "a more careful one, in the order plan, ask, auto-edit, auto",
    "safety.ask": "its entries (at most 200) are added to the present ones",
    "safety.rules": "rules that ask or deny (at most 200) are added to the present ones",
    "safety.deny": "its entries (at most 200) are added to the present ones",
    "safety.dangerous_commands": "its entries (at most 200) are added to the present ones",
    "project.include_patterns": "at most 200 patterns of at most 200 characters",
    "project.exclude_patterns": "at most 200 patterns of at most 200 characters; they count in its own folder only",
    "project.memory_file": "a Markdown file in the project, not in a hidden folder, none assistants obey (AGENTS.md) "
    "or others see first (README.md)",
    "commands.aliases": "requests in words, none in place of yours: no commands of the shell (`!`) or the chat (`/`)",
}
"""What an untrusted project may say of the settings marked (✓): the words for `trust.admitted`."""


def mark(setting: Setting) -> str:
    if condition_key(setting.key) in CONDITIONS:
        return "(✓)"
    return "✓" if setting.key in HARMLESS else ""


def condition_key(key: str) -> str:
    return re.sub(r"^llm\.\w+\.base_url$", "llm.*.base_url", key)


def conditions() -> Iterator[str]:
    yield "## What an untrusted project may say\n"
    yield "Everything marked ✓, and:\n"
    yield from (f"- `{key}`: {words}." for key, words in CONDITIONS.items())
    yield ""


def secrets() -> Iterator[str]:
    yield "## Secrets\n"
    yield "Keys are read from the environment only. A filled `api_key` in a file is an error, and so is a password in"
    yield "an address.\n"
    yield "| key | environment variable |"
    yield "|---|---|"
    yield from (f"| `{key}` | `{variable}` |" for key, variable in SECRET_VARIABLES.items())
    yield ""


if __name__ == "__main__":
    main()
