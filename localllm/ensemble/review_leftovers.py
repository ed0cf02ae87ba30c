"""Find what a final answer has of the review, and means nothing to the user: scores, and labels of the answers."""

import re
from typing import NamedTuple

from localllm.base.lazy_patterns import late_pattern
from localllm.ensemble.review_json import Labels
from localllm.text.lexer import plain

_WORD = r"(?:answers?|responses?|workers?|agents?|回答|応答|ワーカー)"
_SCORES = late_pattern(
    r"[ \t]{0,3}[#*_>\[【「■●◆\d.) \t]{0,12}(?:(?:final|overall|the|my|each)[ ]){0,2}"
    r"(?:scores?|ratings?|score[ ]table|点数|スコア|採点(?:結果)?|評価点)"
    r"(?:[ ](?:of|for|by)[ ][a-z ]{1,40}|一覧)?[*_\]】」:： \t]{0,12}",
    re.IGNORECASE,
)
_SCORE = late_pattern(
    rf"[ \t|*_•・>-]{{0,8}}(?:\d{{1,2}}[.)] )?[*_ ]{{0,4}}(?P<word>{_WORD})?[ _*#]{{0,4}}"
    r"(?P<label>[a-z]?\d{0,3})[*_ ]{0,4}"
    r"[:：|=（( は*_-]{1,8}(?:score|rating|点数|スコア)?[:： *_]{0,4}\d{1,3}(?:\.\d{1,2})?"
    r"[ ]?(?:/[ ]?\d{1,3}|点|points?)?[ \t|*_)）.。]{0,8}(?:[-–—:：,、(（].{0,300})?",
    re.IGNORECASE,
)
_TABLE = late_pattern(r"[ \t]*\|[ \t:|a-z回答点数スコア評価-]{1,80}\|[ \t]*", re.IGNORECASE)
_IN_BRACKETS = (
    r"[ \t　]?[(（\[](?:(?:see|from|as in|as per|per|cf\.?|based on|source:?|taken from)[ ]|also[ ]){{0,2}}"
    r"(?:{word}[ ]?(?:{labels})(?:[ ]?(?:,|、|・|と|and|&)[ ]?)?){{1,4}}"
    r"[ ]?(?:を|も)?(?:参照|参考|より|による|から引用)?[)）\]]"
)
_LEADING = (
    r"(?P<before>\A|[\n。.!?！？][ \t]*)(?:(?:as|like)[ ](?:stated[ ]in[ ]|said[ ]in[ ]|in[ ])?|according to[ ])?"
    r"{word}[ ]?(?:{labels})"
    r"(?:(?:の通り|のとおり|に(?:ある|書かれている|述べられている)(?:通り|とおり|ように)|によると|によれば)[、,]?[ ]?"
    r"|(?:[ ](?:says|said|states|explains|notes|points out))?,[ ])(?P<next>.?)"
)
_NAMED = r"{word}[ ]?(?:{labels})(?![a-z0-9])"
_CANNOT = late_pattern(
    r"(?:(?:sorry|unfortunately)[,.]? )?(?:but )?(?:i|we)"
    r" (?:can ?not|can't|could not|couldn't|am unable to|am not able to)"
    r" (?:decide|choose|pick|judge)(?: (?:between|which|among|the best|a best)[^.\n]{0,60})?[.!]?"
    r"|(?:申し訳(?:ありません|ございません)が、?)?"
    r"(?:(?:どの|どちらの)回答が[^。\n]{1,20}か(?:は|を)?|私には|最良の回答を)?"
    r"(?:判断|決定|選択|判定|評価)(?:することが|することは|は|が)?(?:でき(?:ません|ない)|不能(?:です)?|しかねます)[。.]?",
    re.IGNORECASE,
)


class Divided(NamedTuple):
    """A final answer, and the section of scores that was behind it."""

    answer: str
    scores: str = ""


def is_scores_heading(line: str) -> bool:
    """Whether a line is the heading of a section of scores."""
    return _SCORES.fullmatch(plain(line)) is not None


def without_scores(answer: str, labels: Labels, *, numbered: bool = False) -> Divided:
    """Cut off a section at the end that only scores the workers' answers: those with these labels and, if `numbered`,
    those called Answer 1, as a reviewer writes that has scored none elsewhere."""
    lines = answer.split("\n")
    for at in range(len(lines) - 1, 0, -1):
        if not is_scores_heading(lines[at]):
            continue
        below = [line for line in lines[at + 1 :] if line.strip()]
        if any(_is_score(line, labels, numbered) for line in below) and all(
            _is_score(line, labels, numbered) or _TABLE.fullmatch(plain(line)) for line in below
        ):
            return Divided("\n".join(lines[:at]).rstrip().removesuffix("---").rstrip(), "\n".join(lines[at:]))
        break
    return Divided(answer)


def _is_score(line: str, labels: Labels, numbered: bool) -> bool:
    if (found := _SCORE.fullmatch(plain(line))) is None:
        return False
    return found["label"].upper() in labels or (numbered and bool(found["word"]) and found["label"].isdecimal())


def without_references(answer: str, labels: Labels) -> str:
    """Drop references to labels in brackets, such as "(see Answer A)", and "As Answer A says," at a beginning."""
    if not labels:
        return answer
    answer = re.sub(_with(_IN_BRACKETS, labels), "", answer, flags=re.IGNORECASE)
    return re.sub(
        _with(_LEADING, labels), lambda found: found["before"] + found["next"].upper(), answer, flags=re.IGNORECASE
    )


def names_label(answer: str, labels: Labels) -> bool:
    """Whether an answer speaks of one of the workers' answers by its label."""
    return bool(labels) and re.search(_with(_NAMED, labels), answer, re.IGNORECASE) is not None


def is_undecided(answer: str) -> bool:
    """Whether a reply says only that nothing was decided."""
    return _CANNOT.fullmatch(plain(answer).strip(" \n*_\"'")) is not None


def _with(pattern: str, labels: Labels) -> str:
    """Return the pattern with the labels, in their own case: "answer a question" speaks of none."""
    names = "|".join(map(re.escape, sorted(labels, key=len, reverse=True)))
    return pattern.format(word=_WORD, labels=f"(?-i:{names})")
