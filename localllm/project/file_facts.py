"""Analyse one source file: size, imports, programs, and coding habits."""

import re
from collections import Counter
from collections.abc import Iterable

import msgspec

from localllm.base.regular_files import Stamp

LARGEST_MEASURED = 100_000
"""Characters of a file that are examined for habits."""

_LONGEST_LINE = 2_000


class Habits(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """Counts of one file, or the sum over many.

    `indents`: files by indentation: "tab", or a number of spaces; `lengths`: code lines by the smallest of LENGTHS they
    keep within; `names`: functions by naming convention; `docs`: documented functions by style.
    """

    indents: dict[str, int] = {}
    lengths: dict[int, int] = {}
    names: dict[str, int] = {}
    docs: dict[str, int] = {}
    single: int = 0
    double: int = 0
    functions: int = 0
    hinted: int = 0
    semicolons: int = 0
    bare_ends: int = 0


class FileFacts(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A file. `stamp` and `digest` identify its version; `lines` is the total.

    `language`: by its name, or by the first line of one without extension; "" for no source. `imports`: modules by
    import name; `programs`: what can be started in it ("main", or an application as `app:FastAPI`). Files that were not
    `measured` have only `lines` and `language`.
    """

    stamp: Stamp
    digest: bytes
    lines: int
    language: str = ""
    measured: bool = False
    imports: tuple[str, ...] = ()
    programs: tuple[str, ...] = ()
    habits: Habits = Habits()


def added_up(several: Iterable[Habits]) -> Habits:
    """Add up the counts of several files."""
    names = ("single", "double", "functions", "hinted", "semicolons", "bare_ends")
    numbers = dict.fromkeys(names, 0)
    indents, lengths, writings, docs = Counter[str](), Counter[int](), Counter[str](), Counter[str]()
    for habits in several:
        indents.update(habits.indents)
        lengths.update(habits.lengths)
        writings.update(habits.names)
        docs.update(habits.docs)
        for name in names:
            numbers[name] += getattr(habits, name)
    return Habits(dict(indents), dict(lengths), dict(writings), dict(docs), **numbers)


LENGTHS = (79, 88, 100, 120, 140, _LONGEST_LINE)

_OF_SCRIPTS = re.compile(
    r"(?:^import[^'\"\n]{0,300}?|\bfrom[ \t]*|\brequire\(|\bimport\()['\"]([^'\".\n][^'\"\n]{0,99})['\"]", re.MULTILINE
)
_OF_JVM = re.compile(r"^import[ \t]+(?:static[ \t]+)?([\w.]+)", re.MULTILINE)
_IMPORTS: dict[str, re.Pattern[str]] = {
    "Python": re.compile(r"^[ \t]*(?:from|import)[ \t]+([\w.]+)", re.MULTILINE),
    "Go": re.compile(r"^(?:import[ \t]+|[ \t]+)(?:\w+[ \t]+)?\"([\w-]++\.[\w.-]++/[\w./-]++)\"", re.MULTILINE),
    "Rust": re.compile(r"^[ \t]*(?:pub )?use[ \t]+(\w+)", re.MULTILINE),
    "Ruby": re.compile(r"^[ \t]*require[ \t(]+['\"]([\w/-]+)", re.MULTILINE),
    **dict.fromkeys(("JavaScript", "TypeScript", "Vue", "Svelte", "Astro"), _OF_SCRIPTS),
    **dict.fromkeys(("Java", "Kotlin", "Scala", "Groovy"), _OF_JVM),
}
_MAINS: dict[str, re.Pattern[str]] = {
    "Python": re.compile(r"^if __name__ ?== ?['\"]__main__['\"]", re.MULTILINE),
    "Go": re.compile(r"^func main\(\)", re.MULTILINE),
    "Rust": re.compile(r"^(?:pub )?(?:async )?fn main\(", re.MULTILINE),
    "Java": re.compile(r"\bpublic static void main\(", re.MULTILINE),
    "Kotlin": re.compile(r"^(?:suspend )?fun main\(", re.MULTILINE),
    "C": re.compile(r"^(?:int|void)[ \t\n]+main[ \t]*\(", re.MULTILINE),
    "C#": re.compile(r"\bstatic\s+(?:async\s+)?(?:void|int|Task(?:<int>)?)\s+Main\(", re.MULTILINE),
    "Dart": re.compile(r"^(?:void )?main\(", re.MULTILINE),
}
_MAINS["C++"] = _MAINS["C"]
_APPLICATION = re.compile(
    r"^(\w+)[ \t]*(?::[^=\n]{1,80})?=[ \t]*(?:\w+\.)?(FastAPI|Flask|Starlette|Litestar|Sanic|Celery)\(", re.MULTILINE
)

_LITERALS: dict[str, re.Pattern[str]] = {
    "Python": re.compile(
        r"'''|\"\"\"|#[^\n]*|(?P<quote>['\"])(?P<text>(?>(?:(?!(?P=quote))[^\\\n]|\\.)*))(?P<end>(?P=quote))?"
    ),
    "JavaScript": re.compile(
        r"//[^\n]*|/\*[\s\S]*?(?:\*/|\Z)|`(?:[^`\\]|\\.)*(?:`|\Z)"
        r"|(?P<quote>['\"])(?P<text>(?>(?:(?!(?P=quote))[^\\\n]|\\.)*))(?P<end>(?P=quote))?"
    ),
}
_FUNCTIONS: dict[str, re.Pattern[str]] = {
    "Python": re.compile(r"^[ \t]*(?:async )?def (\w+)", re.MULTILINE),
    "JavaScript": re.compile(
        r"\bfunction\*?[ \t]+([\w$]+)[ \t]*[(<]"
        r"|^[ \t]*(?:export )?const (\w+) = (?:async )?(?:\([^)\n]{0,200}\)|\w+)[^=\n]{0,80}=>",
        re.MULTILINE,
    ),
    "Go": re.compile(r"^func (?:\([^)\n]*\) )?(\w+)", re.MULTILINE),
    "Rust": re.compile(r"^[ \t]*(?:pub(?:\([^)\n]*\))? )?(?:async )?(?:unsafe )?fn (\w+)", re.MULTILINE),
    "Ruby": re.compile(r"^[ \t]*def (?:self\.)?(\w+)", re.MULTILINE),
    "PHP": re.compile(r"\bfunction[ \t]+(\w+)", re.MULTILINE),
    "C": re.compile(r"^[A-Za-z_][\w \t*]{1,80}?\b(\w+)\([^;{}\n]{0,200}\)[ \t]*\n?\{", re.MULTILINE),
    "Java": re.compile(
        r"^[ \t]+(?:(?:public|private|protected|static|final|abstract|synchronized) )+[\w<>\[\], ?]{1,80} (\w+)\(",
        re.MULTILINE,
    ),
}
for _alias, _language in {"TypeScript": "JavaScript", "Vue": "JavaScript", "Svelte": "JavaScript", "C++": "C"}.items():
    _FUNCTIONS[_alias] = _FUNCTIONS[_language]
    if _language in _LITERALS:
        _LITERALS[_alias] = _LITERALS[_language]
_PYTHON_HEAD = re.compile(
    r"^([ \t]*)(?:async )?def (\w+)\(((?:[^()]|\([^()]*\)){0,2000})\)[ \t]*"
    r"(->[^\n:]+)?:[^\n]*\n(?:[ \t]*(?=([rR]?(?:\"\"\"|''')[\s\S]{0,3000})))?",
    re.MULTILINE,
)
_DOC_STYLES = (
    ("google", re.compile(r"^[ \t]+(?:Args|Arguments|Returns|Raises|Yields|Attributes):[ \t]*$", re.MULTILINE)),
    ("numpy", re.compile(r"^[ \t]+(?:Parameters|Returns|Raises|Yields)[ \t]*\n[ \t]+-{3,}", re.MULTILINE)),
    ("rest", re.compile(r"^[ \t]+:(?:param|returns?|raises|type|rtype)\b", re.MULTILINE)),
)
_JSDOC = re.compile(r"^[ \t]*/\*\*(?=[^\n]*\n)", re.MULTILINE)
_SNAKE, _CAMEL, _PASCAL = (
    re.compile(r"_*[a-z0-9]+(?:_[a-z0-9]+)+_*"),
    re.compile(r"[a-z][a-z0-9]*[A-Z][A-Za-z0-9]*"),
    re.compile(r"[A-Z][a-z0-9]+(?:[A-Z][A-Za-z0-9]*)?"),
)
_STATEMENT_END = re.compile(r"[\w)\]'\"`](;?)[ \t]*$", re.MULTILINE)
_SCRIPTS = frozenset({"JavaScript", "TypeScript", "Vue", "Svelte"})


def count_lines(data: bytes) -> int:
    """Count the lines of a file."""
    return data.count(b"\n") + (not data.endswith(b"\n") and bool(data))


def measure(text: str, language: str) -> tuple[tuple[str, ...], tuple[str, ...], Habits]:
    """Measure the first LARGEST_MEASURED characters of a source in `language` ("Python", "TypeScript"): at most 100
    imported modules, as written; programs, see FileFacts; and habits. Uses patterns line by line, so incomplete sources
    are measured too."""
    lines = text[:LARGEST_MEASURED].replace("\r\n", "\n").split("\n")
    text = "\n".join(line for line in lines if len(line) <= _LONGEST_LINE)
    return _imports(text, language), _programs(text, language), _habits(text, language)


def _imports(text: str, language: str) -> tuple[str, ...]:
    found = _IMPORTS[language].findall(text) if language in _IMPORTS else []
    return tuple(dict.fromkeys(found))[:100]


def _programs(text: str, language: str) -> tuple[str, ...]:
    found = ["main"] if language in _MAINS and _MAINS[language].search(text) else []
    if language == "Python":
        found += [f"{name}:{kind}" for name, kind in _APPLICATION.findall(text)]
    return tuple(found[:5])


def _habits(text: str, language: str) -> Habits:
    single, double = _quotes(text, language)
    names: Counter[str] = Counter(filter(None, map(_writing, _function_names(text, language))))
    if language in _SCRIPTS:
        del names["PascalCase"]  # components, which require it
    if language == "Go":
        names.clear()  # visibility decides the spelling of a name
    docs, functions, hinted = _python_heads(text) if language == "Python" else (dict[str, int](), 0, 0)
    if language in _SCRIPTS and (described := len(_JSDOC.findall(text))):
        docs = {"jsdoc": described}
    ends = Counter(_STATEMENT_END.findall(text)) if language in _SCRIPTS else Counter[str]()
    return Habits(
        indents={indent: 1} if (indent := _indent(text)) else {},
        lengths=_lengths(text),
        names=dict(names),
        docs=docs,
        single=single,
        double=double,
        functions=functions or sum(names.values()),
        hinted=hinted,
        semicolons=ends[";"],
        bare_ends=ends[""],
    )


def _indent(text: str) -> str:
    """Return the indentation of one level; "" if nothing is indented."""
    steps: Counter[str] = Counter()
    before = 0
    for line in text.split("\n"):
        content = line.lstrip(" \t")
        if not content or content[0] in "*#/":  # comments are indented freely
            continue
        if line[0] == "\t":
            steps["tab"] += 1
            continue
        width = len(line) - len(content)
        if width - before in (1, 2, 3, 4, 8):
            steps[str(width - before)] += 1
        before = width
    return steps.most_common(1)[0][0] if steps else ""


def _lengths(text: str) -> dict[int, int]:
    found: Counter[int] = Counter()
    for line in text.split("\n"):
        if line.strip():
            length = len(line.expandtabs(4).rstrip())
            found[next(limit for limit in LENGTHS if length <= limit or limit == LENGTHS[-1])] += 1
    return dict(found)


def _quotes(text: str, language: str) -> tuple[int, int]:
    """Count strings in single and in double quotes, without those that contain a quote."""
    if language not in _LITERALS:
        return 0, 0
    found = Counter(
        match["quote"]
        for match in _LITERALS[language].finditer(text)
        if match["end"] and "'" not in match["text"] and '"' not in match["text"]
    )
    return found["'"], found['"']


def _function_names(text: str, language: str) -> list[str]:
    if language not in _FUNCTIONS:
        return []
    return [name for match in _FUNCTIONS[language].finditer(text) if (name := match[match.lastindex or 0])]


def _writing(name: str) -> str:
    """Return the naming convention of a name of several words; "" for one word."""
    for kind, pattern in (("snake_case", _SNAKE), ("camelCase", _CAMEL), ("PascalCase", _PASCAL)):
        if pattern.fullmatch(name):
            return kind
    return ""


def _python_heads(text: str) -> tuple[dict[str, int], int, int]:
    """Count Python functions: documented ones by style, all, and those with type hints."""
    docs: Counter[str] = Counter()
    functions = hinted = 0
    for match in _PYTHON_HEAD.finditer(text):
        functions += 1
        parameters = [part for part in match[3].split(",") if part.strip() not in ("", "self", "cls", "*", "/")]
        hinted += bool(match[4]) or bool(parameters and ":" in match[3])
        if doc := match[5]:
            body = doc.split(doc.lstrip("rR")[:3], 2)[1]
            docs[next((style for style, mark in _DOC_STYLES if mark.search(body)), "plain")] += 1
    return dict(docs), functions, hinted
