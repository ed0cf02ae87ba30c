"""Find what an answer states and nothing has: files and lines of the project, and long numbers of no output.

Only what nearly cannot be meant otherwise is doubted, since a doubt costs a request: a file in a folder that exists,
a line beyond the end, a number of six digits that stands in no text the model was given and follows from none.
"""

import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from itertools import accumulate, islice, product, zip_longest
from pathlib import Path
from typing import NamedTuple

from localllm.agent.phrases.answer_phrases import named_lines, named_paths
from localllm.agent.phrases.phrase_search import sentences_in
from localllm.base.directory_walk import ProjectListing
from localllm.base.i18n import Phrase
from localllm.base.lazy_patterns import late_pattern
from localllm.safety.path_names import shown

_MOST = 3
"""Findings of one kind that are named."""


class Unfounded(NamedTuple):
    """What nothing has: the reason for the user, and the words for the model."""

    reason: Phrase
    what: str


# Files and lines.

_PROPOSAL = late_pattern(
    r"\b(?:should|could|would|propos\w*|suggest\w*|recommend\w*|advise|ideas?|best|better|improv\w*|design|plan|draft"
    r"|outline|sketch|structured?|organi[sz]ed?|layout|how (?:do|can|to)|steps|what if|missing|gone|deleted|removed)\b"
    r"|提案|べき|どうすれ|どうやっ|どのように|方法|やり方|手順|設計|構成|計画|案を|改善|おすすめ|お勧め|よい|良い|いい|削除|消え",
    re.IGNORECASE,
)
"""Matches requests whose answer may well name files that are not there: not yet, or no more."""
_TO_COME = late_pattern(
    r"\b(?:generat\w*|writ\w*|output|sav(?:e|es|ed|ing)|produc\w*|download\w*|upload\w*|built|builds?|cach\w*|logs?"
    r"|ignored|deploy\w*|install\w*|cop(?:y|ies|ied)|put|place|should|may|might|optional\w*|if|template"
    r"|usually|typically|you'd|similar|there was|used to|formerly"
    r"|previously|earlier|originally|open)\b"
    r"|出力|保存|生成|書き|ダウンロード|ビルド|インストール|コピー|配置|場合|なら|れば"
    r"|良い|よい|考えられ|以前|かつて|元々|もともと|という名前",
    re.IGNORECASE,
)
"""Matches words by which a file need not be there yet."""

_USUAL_FOLDERS = frozenset(
    {"src", "lib", "app", "tests", "test", "docs", "scripts", "pkg", "cmd", "internal", "include"}
)
"""Folders that a model takes for granted; any other that is missing may belong to another project."""


def missing_places(
    answer: str,
    known: Sequence[str],
    listing: ProjectListing,
    text_of: Callable[[str], str | None],
    request: str = "",
) -> list[Unfounded]:
    """Return the files in folders of the project that are not there, and the lines beyond the end of a file, that no
    text of `known` names; no files where the request is for a proposal, nor those that are
    `elsewhere`. `text_of` returns the text of a file that the model may read."""
    files = () if _PROPOSAL.search(request) else _missing_files(answer, known, listing)
    return list(islice([*files, *_missing_lines(answer, known, text_of)], _MOST))


def places_from_memory(answer: str, known: Sequence[str], listing: ProjectListing, request: str) -> list[Unfounded]:
    """Return the lines that an answer cites, where nothing was looked at, of files that are not there, in a project
    that has others of their kind: "In net/backoff.py:42". Nothing that a text of `known` names."""
    if _PROPOSAL.search(request):
        return []
    said = "\n".join(one for one in sentences_in(answer) if not _TO_COME.search(_PATH.sub("", one)))
    cited = [path for path, _line in named_lines(said)] + [one[1] for one in _LINE_JA.finditer(said)]
    missing = [path for path in dict.fromkeys(cited) if not any(path.rpartition("/")[2] in text for text in known)]
    try:
        entries = [one.path for one in listing.entries] if missing and listing.is_complete else []
    except OSError:  # in a folder that is closed to the user, they may be there
        return []
    found: list[Unfounded] = []
    for path in missing:
        has_kind = any(one.endswith(path[path.rfind(".") :]) for one in entries)
        if has_kind and not any(one.rpartition("/")[2] == path.rpartition("/")[2] for one in entries):
            reason = Phrase("the answer names {path}, which does not exist", path=shown(path))
            found.append(Unfounded(reason, f"There is no {path}"))
    return found[:_MOST]


_PATH = late_pattern(r"(?a:[\w./-]{1,200}\.\w{1,5})")
_LINE_JA = late_pattern(r"(?a:(?<![\w./-])([\w-][\w./-]{0,200}\.\w{1,5}))`?(?:」)? ?の ?\d{1,6} ?行目")


def _missing_files(answer: str, known: Sequence[str], listing: ProjectListing) -> Iterator[Unfounded]:
    paths = named_paths("\n".join(one for one in sentences_in(answer) if not _TO_COME.search(one)))
    missing = [path for path in paths if _is_open(listing.root, path) and not any(path in text for text in known)]
    missing = [path for path in missing if not _is_composed(path, known)]
    if not missing:
        return
    try:
        ends = [f"/{entry.path}" for entry in listing.entries]
    except OSError:  # in a folder that is closed to the user, they may be there
        return
    for path in missing if listing.is_complete else ():
        if not any(end.endswith(f"/{path}") for end in ends) and not elsewhere(listing, path):
            reason = Phrase("the answer names {path}, which does not exist", path=shown(path))
            yield Unfounded(reason, f"There is no {path}")


def elsewhere(listing: ProjectListing, path: str) -> str:
    """Return the only file of this name in the project if there is none at `path`, though its first folder exists or
    is a usual one."""
    folder, *_folders, name = path.split("/")
    root = listing.root
    try:
        if ".." in path or (root / path).exists() or not (folder in _USUAL_FOLDERS or (root / folder).is_dir()):
            return ""
        entries = listing.entries
    except OSError:  # in a folder that is closed to the user, it may be there
        return ""
    found = [entry.path for entry in entries if not entry.is_dir and entry.path.rpartition("/")[2] == name]
    is_only = len(found) == 1 and listing.is_complete
    return found[0] if is_only and not found[0].endswith(f"/{path}") else ""


def _is_open(root: Path, path: str) -> bool:
    """Return whether a file is missing in a folder that is there."""
    try:
        is_name = not re.fullmatch(r"[A-Z_]{3,}", Path(path).stem)  # NAME.py stands for any
        return is_name and ".." not in path and (root / path).parent.is_dir() and not (root / path).exists()
    except OSError:
        return False


def _is_composed(path: str, known: Sequence[str]) -> bool:
    """Return whether code that was read makes names with this ending of other parts (`name + ".yaml"`,
    f"{name}.yaml"), and its folder and its name stand in a text."""
    folder, _, name = path.rpartition("/")
    stem, _, ending = name.rpartition(".")
    made = re.compile(rf"""(?:["'`]|[}})]|%s)\.{re.escape(ending)}["'`]""")
    words = [re.compile(rf"\b{re.escape(word)}\b") for word in (folder.rpartition("/")[2], stem)]
    return any(map(made.search, known)) and all(any(map(word.search, known)) for word in words)


def _missing_lines(answer: str, known: Sequence[str], text_of: Callable[[str], str | None]) -> Iterator[Unfounded]:
    for path, line in named_lines(answer):
        if any(f"{path}:{line}" in text or f"line {line}" in text for text in known):
            continue  # as in a message of another version
        text = text_of(path)
        count = len(text.splitlines()) if text is not None else 0
        if 0 < count < line:
            reason = Phrase("the answer names {path}, which does not exist", path=f"{shown(path)}:{line}")
            yield Unfounded(reason, f"{path} has {count} lines, none {line}")


# Numbers.

_FEWEST_DIGITS = 6
_MOST_COLUMNS, _MOST_ROWS = 20, 5_000
_MOST_RECKONED, _MOST_ASKED = 10_000, 30
"""Numbers of texts that others are reckoned from, and of an answer that are looked for."""
_LONGEST = 2_000_000
"""Characters of texts that are looked through for numbers."""
_LONG = late_pattern(
    r"(?<![\w.,#/:=+*^-])(?P<whole>\d{1,3}(?:,\d{3})+|\d{6,15})(?![\w,:/*^@-]|\.\w|\s?(?:million|billion|thousand|[万億兆]))",
    re.ASCII,
)
_ANY = late_pattern(r"\d{1,3}(?:[,_']\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?(?:[eE][+-]?\d{1,2}(?!\w))?", re.ASCII)
_NOT_OF_OUTPUT = late_pattern(
    r"\b(?:for example|for instance|e\.g\.|such as|suppose|assum\w+|if you|would|could|approximately|roughly|about"
    r"|around|nearly|almost|limit|maximum|max|at most|up to|typically|usually|should|estimat\w*|say|commits?"
    r"|hash|sha\d*|revision|ids?|pid|phone|version|issue|ticket|isbn|zip)\b|コミット|ハッシュ|電話|番号|郵便"
    r"|例えば|たとえば|仮に|とすると|約|およそ|ほぼ|程度|上限|最大|一般に|通常",
    re.IGNORECASE,
)
"""Matches sentences whose numbers need not be in an output: examples, estimates, limits, names of commits."""
_FACTORS = (2.0, 7.0, 8.0, 12.0, 24.0, 60.0, 100.0, 365.0, 1_000.0, 1_024.0, 3_600.0, 86_400.0, 1e6, 1_048_576.0)


def unfounded_numbers(answer: str, known: Sequence[str]) -> list[Unfounded]:
    """Return the long numbers of an answer that no text of `known` has, and that do not follow from two numbers, or
    from the numbers of a column."""
    said = (one for one in sentences_in(answer) if not _NOT_OF_OUTPUT.search(one))
    asked = list(islice((found for one in said for found in _long_numbers(one)), _MOST_ASKED))
    if not asked or sum(map(len, known)) > _LONGEST:
        return []
    stated = _Stated([*known, _LONG.sub(" ", answer)])  # what is reckoned may be said step by step
    numbers = dict(asked).items()
    wrong = (written for written, value in numbers if not stated.has(value) and not stated.give(value))
    return [
        Unfounded(Phrase("no output has the number {number}", number=written), f"No output has {written}")
        for written in islice(wrong, _MOST)
    ]


def _long_numbers(sentence: str) -> Iterator[tuple[str, int]]:
    for found in _LONG.finditer(unicodedata.normalize("NFKC", sentence)):
        digits = found["whole"].replace(",", "")
        if len(digits) >= _FEWEST_DIGITS and not _is_known_everywhere(digits):
            yield found["whole"], int(digits)


def _is_known_everywhere(digits: str) -> bool:
    """Return whether it is a round number, one below it as 999,999, a power of two, a date or a year with its month."""
    value = int(digits)
    is_power = any(one & (one - 1) == 0 for one in (value - 1, value, value + 1) if one > 0)
    is_date = re.fullmatch(r"(?:19|20)\d\d(?:0[1-9]|1[0-2])(?:[0-3]\d(?:\d{4}|\d{6})?)?", digits)
    return len(digits.strip("0")) <= 2 or not digits.strip("9") or digits.startswith("0") or is_power or bool(is_date)


class _Stated:
    """The numbers of texts."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._numbers: set[float] = set()
        self._columns: list[list[float]] = []
        for text in texts:
            rows = [
                [_value(one) for one in _ANY.findall(line)] for line in unicodedata.normalize("NFKC", text).splitlines()
            ]
            rows = [row for row in rows if row]
            self._numbers.update(*rows)
            self._columns += [
                [one for one in column if one is not None] for column in islice(zip_longest(*rows), _MOST_COLUMNS)
            ]
            self._columns += [row for row in rows[:_MOST_ROWS] if len(row) > 1]
            self._columns += [[row[-1] for row in rows], [one for row in rows for one in row]]

    def has(self, value: int) -> bool:
        """Return whether a text has the number, or one that is rounded to it."""
        zeros = len(str(value)) - len(str(value).rstrip("0"))
        if float(value) in self._numbers:
            return True
        reach = 10.0**zeros if zeros > 1 else 1.0
        return any(abs(one - value) < reach and one != value for one in self._numbers if zeros > 1 or one % 1)

    def give(self, value: int) -> bool:
        """Return whether the number follows from those of the texts in one step that people take."""
        numbers, target = self._numbers, float(value)
        if len(numbers) > _MOST_RECKONED:
            return True
        for one in numbers:
            if {target - one, target + one, target * one, 2 * target - one} & numbers:
                return True
            if one and (target / one in numbers or target / one in _products()):
                return True
            if one and {round(100 * target / one, 2), round(abs(100 * target / one - 100), 2)} & numbers:
                return True
            if any(abs(made - target) < 1 for factor in _FACTORS for made in (one * factor, one / factor)):
                return True
        return any(_is_sum(target, column) for column in self._columns)


@cache
def _products() -> frozenset[float]:
    """Return the factors of one step, as from days to seconds, and of two."""
    return frozenset({*_FACTORS, *(a * b for a, b in product(_FACTORS, repeat=2))})


def _value(written: str) -> float:
    return float(re.sub("[,_']", "", written))


def _is_sum(target: float, column: Sequence[float]) -> bool:
    """Return whether the number is the sum of some of a column in a row, or the mean of all, or of the first ones."""
    sums: set[float] = set()
    for count, total in enumerate(accumulate(column, initial=0.0)):
        if round(total - target, 4) in sums or (count and abs(total / count - target) < 1):
            return True
        sums.add(round(total, 4))
    return False
