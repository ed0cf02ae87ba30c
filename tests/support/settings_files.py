"""Settings files as people write them, made by hypothesis: comments, odd spacing, every kind of table and quoting."""

import json
from dataclasses import dataclass, field

from hypothesis import strategies as st

VALUES = {
    "llm.model": [
        "'llama3'",
        '"qwen # 3"',
        '"""a\n"b" # no comment\n"""',
        "'''it's'''",
        '"\\u65e5\\n"',
        '""""quoted"""',
    ],
    "llm.max_tokens": ["4096", "+12", "0x10", "1_000"],
    "llm.temperature": ["0.5", "1", "1e-1", "2"],
    "llm.lmstudio.base_url": ['"http://localhost:1234"', "'http://127.0.0.1:1/v1'"],
    "llm.lmstudio.timeout": ["3", "4.5"],
    "llm.openai.timeout": ["7"],
    "agent.max_iterations": ["10"],
    "safety.auto_backup": ["true", "false"],
    "safety.deny": ["[]", "[\"a\", 'b']", '[ # why\n  "x, [y]", # }\n\n  """z\n]""",\n]', '["rm {a,b}"]'],
    "project.exclude_patterns": ['["*.pyc", "]#"]', "[\n]"],
    "commands.aliases.test": ['"run the tests"'],
    "commands.aliases.日本 語": ['"日本語"'],
    "ui.theme": ['"dark"'],
}
"""Keys of settings, and ways to write a value for each."""

TABLES = ["llm", "llm.lmstudio", "llm.openai", "agent", "safety", "project", "commands.aliases", "ui"]

COMMENTS = ["", " # a = 1", "\t#[llm] 日本語", " # 'it\"s", "   "]
BETWEEN = ["", "\n", "# note\n", "\n# [agent]\n# model = 'x'\n\n", "   \n\t# }\n"]


def split(key: str) -> tuple[str, str]:
    """A key's table and name."""
    table = next(table for table in sorted(TABLES, key=len, reverse=True) if key.startswith(f"{table}."))
    return table, key[len(table) + 1 :]


@dataclass
class SettingsFile:
    """The bytes of a file, and for each key in it the text of its value there."""

    data: bytes
    written: dict[str, str] = field(default_factory=dict)


@st.composite
def settings_files(draw: st.DrawFn) -> SettingsFile:
    keys = draw(st.lists(st.sampled_from(sorted(VALUES)), unique=True))
    written = {key: draw(st.sampled_from(VALUES[key])) for key in keys}
    by_table: dict[str, dict[str, str]] = {}
    for key, value in written.items():
        table, name = split(key)
        by_table.setdefault(table, {})[name] = value
    above, below = "", ""
    order = draw(st.permutations(sorted(by_table)))
    styles = {table: draw(st.sampled_from(["header", "header", "dotted", "inline"])) for table in order}
    if any(style != "header" for table, style in styles.items() if table.startswith("llm.")):
        styles["llm"] = "dotted"  # TOML forbids [llm] where llm.lmstudio.timeout = 3 stands further up
    for table in order:
        pairs, style = by_table[table], styles[table]
        if style == "header":
            below += draw(_headed(table, pairs))
        elif style == "dotted" or table == "llm" or any("\n" in value for value in pairs.values()):
            above += draw(_dotted(table, pairs))
        else:
            above += draw(_inline(table, pairs))
    text = draw(st.sampled_from(BETWEEN)) + above + below
    if draw(st.booleans()):
        text = text.removesuffix("\n")
    if draw(st.booleans()):
        text = text.replace("\n", "\r\n")
        written = {key: value.replace("\n", "\r\n") for key, value in written.items()}
    mark = b"\xef\xbb\xbf" if draw(st.booleans()) else b""
    return SettingsFile(mark + text.encode(), written)


@st.composite
def _name(draw: st.DrawFn, name: str) -> str:
    bare = name.isascii() and name.replace("_", "").isalnum()
    ways = [json.dumps(name, ensure_ascii=False), f"'{name}'", json.dumps(name)]
    return draw(st.sampled_from([name, name, name, *ways] if bare else ways))


@st.composite
def _dots(draw: st.DrawFn, table: str) -> str:
    dot = draw(st.sampled_from([".", " . "]))
    return dot.join([draw(_name(part)) for part in table.split(".")])


@st.composite
def _line(draw: st.DrawFn, start: str, value: str) -> str:
    equals = draw(st.sampled_from([" = ", "=", "\t=  "]))
    indent = draw(st.sampled_from(["", "", "  ", "\t"]))
    return f"{indent}{start}{equals}{value}{draw(st.sampled_from(COMMENTS))}\n{draw(st.sampled_from(BETWEEN))}"


@st.composite
def _headed(draw: st.DrawFn, table: str, pairs: dict[str, str]) -> str:
    header = f"[{draw(_dots(table))}]{draw(st.sampled_from(COMMENTS))}\n"
    return header + "".join([draw(_line(draw(_name(name)), value)) for name, value in pairs.items()])


@st.composite
def _dotted(draw: st.DrawFn, table: str, pairs: dict[str, str]) -> str:
    return "".join([draw(_line(f"{draw(_dots(table))}.{draw(_name(name))}", value)) for name, value in pairs.items()])


@st.composite
def _inline(draw: st.DrawFn, table: str, pairs: dict[str, str]) -> str:
    comma = draw(st.sampled_from([", ", ",", " ,  "]))
    body = comma.join([f"{draw(_name(name))} = {value}" for name, value in pairs.items()])
    return draw(_line(draw(_dots(table)), draw(st.sampled_from(["{ %s }", "{%s}"])) % body))
