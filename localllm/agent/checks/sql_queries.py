"""Recognise commands that query a database, and what they print: an error, or a single number."""

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


def is_query(command: str) -> bool:
    """Return whether a command runs a database's client."""
    return bool(_CLIENT.search(command))


def query_of(command: str, code: int, output: str) -> Query:
    """Return what is known of such a command from its exit code and output."""
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


def single_number(output: str) -> float | None:
    """Return the number that is all that a query printed, but for the name of its column."""
    lines = [line.strip(" |│\t") for line in output.splitlines() if not _FRAME.fullmatch(line.strip())]
    values = [line for line in lines if _NUMBER.fullmatch(line)]
    names = [line for line in lines if line not in values]
    if len(values) != 1 or len(names) > 1 or any(line[:1].isdigit() or " " in line for line in names):
        return None
    return float(values[0].replace(",", ""))
