"""Probe an embedding model per script: does it match sentences of the same meaning in other words?

Ten questions and ten answers that share no content word are embedded. The share of questions whose own answer is the
nearest gives the trust in the model; the similarities of own and of other answers calibrate what "about the same" is.
"""

from collections.abc import Awaitable, Callable, Sequence
from math import sqrt
from typing import NamedTuple

from localllm.base.lazy_patterns import late_pattern

Vector = Sequence[float]
Embed = Callable[[Sequence[str]], Awaitable[Sequence[Vector]]]

_LEAST = 0.5
"""Share of the questions whose own answer must be nearest; below it a model's vectors are ignored."""

_SIMILAR = 0.85
"""Position between the unrelated and the right answers from which on a passage is about the same."""

PAIRS: dict[str, tuple[tuple[str, str], ...]] = {
    "latin": (
        ("How do I get my money back?", "Customers may return a purchase within thirty days for a full refund."),
        ("The car would not start this morning", "A dead battery kept the vehicle from running at dawn."),
        ("What is a safe dose for children?", "Young patients should take no more than five milliliters a day."),
        ("the ship sank in a storm", "Heavy weather sent the vessel to the bottom of the sea."),
        ("Who wrote the novel?", "The author finished her book in 1925."),
        ("increase in wages", "Employees were given higher pay."),
        ("stars far away", "Astronomers study distant suns and galaxies."),
        ("my computer is infected", "Malicious software such as viruses can be removed by a scanner."),
        ("how to grow tomatoes", "Plant the seedlings in a sunny garden bed and water them daily."),
        ("the court found him guilty", "The judge convicted the accused man and sent him to prison."),
    ),
    "japanese": (
        ("代金を返してもらうには", "購入から三十日以内であれば全額の払い戻しに応じます。"),
        ("朝、車が動かなかった", "バッテリーが上がり、エンジンがかからない状態でした。"),
        ("子どもが飲んでよい量は", "小児には一日五ミリリットルを超えて投与しないでください。"),
        ("嵐で船が沈んだ", "荒天のため、その旅客フェリーは海底に消えました。"),
        ("小説を書いたのは誰", "この長編は彼女が二十五歳のときに発表した作品です。"),
        ("賃金の引き上げ", "従業員の給料が増えることになりました。"),
        ("遠くの星", "天文学者は彼方の銀河や恒星を観測する。"),
        ("パソコンが感染した", "悪意のあるソフトウェアは検査ツールで除去できます。"),
        ("トマトの育て方", "苗を日当たりのよい畑に植え、毎日水をやります。"),
        ("裁判で有罪になった", "判事は被告に懲役刑を言い渡した。"),
    ),
}

_JAPANESE = late_pattern("[\u3040-\u30ff\u3400-\u9fff\uff66-\uff9f]")
_LETTER = late_pattern(r"[^\W\d_]")
_MOSTLY = 0.3


class Ability(NamedTuple):
    """`trust`: from 0 (ignore the vectors) to 1; `similar`: the cosine from which on two texts are about the same;
    `unrelated`: that of two unrelated texts, 0.03 with one model and 0.73 with another."""

    trust: float
    similar: float
    unrelated: float


async def probe(embed_queries: Embed, embed_passages: Embed) -> dict[str, Ability]:
    """Probe the ability in each script. Raises what embedding raises."""
    found: dict[str, Ability] = {}
    for script, pairs in PAIRS.items():
        questions = await embed_queries([question for question, _ in pairs])
        answers = await embed_passages([answer for _, answer in pairs])
        found[script] = judge(questions, answers)
    return found


def judge(questions: Sequence[Vector], answers: Sequence[Vector]) -> Ability:
    """Compute the ability from the vectors of questions and their answers."""
    table = [[cosine(question, answer) for answer in answers] for question in questions]
    count = len(table)
    right = sum(row[at] == max(row) and row.count(row[at]) == 1 for at, row in enumerate(table)) / count
    own = sum(row[at] for at, row in enumerate(table)) / count
    other = sum(sum(row) - row[at] for at, row in enumerate(table)) / (count * (count - 1))
    trust = max(0.0, (right - _LEAST) / (1 - _LEAST))
    return Ability(round(trust, 2), round(other + _SIMILAR * (own - other), 3), round(other, 3))


def cosine(one: Vector, other: Vector) -> float:
    """Return the cosine of two vectors; 0 if one of them is zero."""
    product = sum(a * b for a, b in zip(one, other, strict=True))
    lengths = sqrt(sum(a * a for a in one) * sum(b * b for b in other))
    return product / lengths if lengths else 0.0


def script_of(text: str) -> str:
    """Return the script of a query: "japanese", or "latin" for all others."""
    letters, japanese = len(_LETTER.findall(text)), len(_JAPANESE.findall(text))
    return "japanese" if japanese and japanese >= _MOSTLY * letters else "latin"
