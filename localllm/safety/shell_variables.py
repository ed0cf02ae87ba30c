"""Tell what sets variables in a line beside plain assignments, and which variables change what runs."""

import re

from localllm.base.lazy_patterns import late_pattern

_SETS_GIT = late_pattern(r"GIT_CONFIG_(?:PARAMETERS|COUNT|KEY_\d+|VALUE_\d+|GLOBAL|SYSTEM)")
"""Variables that may make git run anything: their values are settings."""

_NAMES_PROGRAM = late_pattern(
    r"\w*(?:PAGER|EDITOR|VISUAL|BROWSER|ASKPASS|EXTERNAL_DIFF|LESSOPEN|LESSCLOSE|_COMMAND|_RSH|_SSH)"
)
"""Variables whose value other programs run."""

_HEEDED = late_pattern(
    r"PATH|(?:CD|C|CLASS|GO|LIBRARY_|COMPILER_|GCONV_|NLS|LOC)PATH|IFS|ENV|BASH\w*|SHELLOPTS|SHELL|POSIXLY_CORRECT"
    r"|PS[0-4]|(?:GLOB|EXEC|F)IGNORE|FUNCNEST|HIST\w+|INPUTRC|HOME|PWD|OLDPWD|TMPDIR|CC|CXX|CPP|MAKE|MAKEFILES"
    r"|(?:LD|DYLD|NODE|JAVA|GIT|SSH|XDG|PIP|UV|PYTEST|CARGO|GEM|BUNDLE|NPM_CONFIG)_\w+|(?:PYTHON|RUBY)[A-Z]\w*|PERL\w+"
    r"|RUST\w+|LESS|VIMINIT|EXINIT|TERMINFO|VIRTUAL_ENV|GO(?:ROOT|ENV|PROXY|TOOLCHAIN)|\w+(?:FLAGS|_OPTIONS|_OPTS|ADDOPTS)"
)
"""Variables that bash, or programs, heed. A loop may set others, such as FILE, without changing what runs."""

_CALCULATION = late_pattern(r"[\d\s$()\[\]*/%<>!&|^~?:+-]*")  # in which nothing is set, nor evaluated by a variable

_SETTING_EXPANSION = late_pattern(
    r"\$\{[!#]?[\w@*#?!-]+(?>(?:\[(?:[@*]|-?[0-9]+)\])?)"
    r"(?:\[|:?=|:(?![-+?]|\s*-?[0-9]+(?::\s*-?[0-9]+)?\}))"
)
"""What sets a variable, or may by evaluating one: `${x[PATH=5]}`, `${x:=5}`, `${x:PATH=5:1}`. Not `${x[0]}`, nor
`${x:0:5}`."""

_LONGEST_NAME = 1_000  # bytes between braces before a redirection; a longer name is taken for one that is set


def names_program(variable: str) -> bool:
    """Return whether other programs run the value of a variable."""
    return bool(_NAMES_PROGRAM.fullmatch(variable))


def is_heeded(variable: str) -> bool:
    """Return whether bash, or a program, may run something else because of a variable."""
    return bool(_HEEDED.fullmatch(variable)) or names_program(variable)


def hides_git(variable: str, value: str) -> bool:
    """Return whether a variable gives git settings that are not read here."""
    return bool(_SETS_GIT.fullmatch(variable)) and value not in ("/dev/null", "")


def calculation_sets(text: str) -> bool:
    """Return whether `$((…))` may set a variable."""
    return not _CALCULATION.fullmatch(text)


def expansion_sets(text: str) -> bool:
    """Return whether `${…}` may set a variable."""
    return bool(_SETTING_EXPANSION.match(text))


def redirection_sets(source: bytes, at: int) -> bool:
    """Return whether the redirection at this place may set the variable of a descriptor, as in `{PATH}>file`."""
    before = source[max(0, at - _LONGEST_NAME) : at]
    if not before.endswith(b"}"):
        return False
    if before[-2:-1] in (b" ", b"\t", b"\n", b";", b"&", b")") and before[-3:-1] != b"\\\n":  # `{ ls; }>file`
        return False
    return re.search(rb"\$\{[^{}]*\}\Z", before[max(0, before.rfind(b"{") - 1) :]) is None  # `ls ${x}>file`
