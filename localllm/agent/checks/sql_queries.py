"""Recognise commands that query a database, and what they print: an error, or a single number. Any other command whose
output is one line with a number is taken for a query of that."""

import re

import msgspec

from localllm.agent.checks.command_kinds import error_line
from localllm.agent.checks.test_output import LOOKED_AT
from localllm.base.lazy_patterns import late_pattern

_CLIENT = late_pattern(r"(?:^|[;&|(\n])[ \t]*+(?:[^\s;&|(]{1,200}/)?(?:sqlite3|duckdb|psql|mysql|mariadb)(?=\s)")
_ERROR = late_pattern(
    r"^(?:(?:Parse|Runtime) error(?: near line \d+)?: |Error: (?:near|in) |(?:psql:[^\n]{1,200}: )?ERROR:  "
    r"|ERROR \d{3,5} \(\w{5}\))[^\n]{0,200}",
    re.MULTILINE,
)
_READING = late_pattern(r"[\"']\s*(?:select|explain|show|describe|pragma)\b|\.(?:schema|tables|dump)\b", re.IGNORECASE)
_FRAME = late_pattern(r"[\s+|─│┌┐└┘├┤┬┴┼=-]*|\(1 row\)")
_NUMBER = late_pattern(r"-?\d{1,18}(?:,\d{3}){0,6}(?:\.\d{1,18})?", re.ASCII)


class Query(msgspec.Struct, frozen=True):
    """A command that gave statements to a database's client: what it printed, what an error says, and a statement in it
    that changed every row of a table."""

    command: str
    output: str
    error: str = ""
    every_row: str = ""
    is_sql: bool = True


def is_query(command: str) -> bool:
    """Return whether a command runs a database's client."""
    return bool(_CLIENT.search(command))


def query_of(command: str, code: int, output: str, *, is_first: bool = False) -> Query | None:
    """Return what is known of a query from its exit code and output; of another command only if it is the first call
    and has printed a single number, else None."""
    if not is_query(command):
        is_single = (
            is_first and code == 0 and len(output.split("\n")) <= _MOST_LINES and bool(printed_by(command, output))
        )
        return Query(command, output, is_sql=False) if is_single else None
    error = sql_error(command, output) or (error_line(output) or f"exit code {code}" if code else "")
    if error:
        return Query(command, output, error)
    from localllm.safety.rules import line_of

    statement = line_of(command).every_row_statement.removesuffix(" without where")
    return Query(command, output, every_row=re.sub(r"\s+set$", "", statement, flags=re.IGNORECASE))


def sql_error(command: str, output: str) -> str:
    """Return what a database's client says of a failed statement, whatever the exit code; "" if it says nothing."""
    found = _ERROR.search(output[-LOOKED_AT:]) if is_query(command) else None
    return found[0] if found else ""


def only_queries(command: str) -> bool:
    """Return whether a database's client only shows what is there."""
    return bool(is_query(command) and _READING.search(command)) and "<" not in command


_MOST_LINES = 5  # with the empty ones between its parts
_COUNTED = late_pattern(r"\s*(\d{1,15}) \S+\s*", re.ASCII)
_VERSION = late_pattern(r"(?<![\w.-])v?(\d{1,4}(?:\.\d{1,5}){1,3})(?![\w.]*\d)", re.ASCII)


def printed_by(command: str, output: str) -> str:
    """Return the number, or the version, that is in the one line that a command other than a query has printed."""
    line = output.strip()
    if not line or "\n" in line:
        return ""
    if _NUMBER.fullmatch(line):
        return line
    if counted := _COUNTED.fullmatch(line) if re.search(r"\bwc -\w\b", command) else None:
        return counted[1]
    versions = _VERSION.findall(line) if "version" in command or " -V" in command else []
    return versions[0] if len(versions) == 1 else ""


def versions_in(text: str) -> list[str]:
    """Return the versions that a text names: 3.11.7."""
    return _VERSION.findall(text.replace("`", " "))


def single_number(output: str) -> float | None:
    """Return the number that is all that a query printed, but for the name of its column."""
    lines = [line.strip(" |│\t") for line in output.splitlines() if not _FRAME.fullmatch(line.strip())]
    values = [line for line in lines if _NUMBER.fullmatch(line)]
    names = [line for line in lines if line not in values]
    if len(values) != 1 or len(names) > 1 or any(line[:1].isdigit() or " " in line for line in names):
        return None
    return float(values[0].replace(",", ""))
