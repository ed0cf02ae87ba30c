"""The stems of English words, by the examples of the paper as the published vocabulary has them."""

from localllm.text.tokenising import stem
from tests.support.each import each

EXAMPLES = """
caresses caress, ponies poni, ties ti, caress caress, cats cat, feed feed, agreed agre, plastered plaster, bled bled,
motoring motor, sing sing, conflated conflat, troubled troubl, sized size, hopping hop, tanned tan, falling fall,
hissing hiss, fizzed fizz, failing fail, filing file, happy happi, sky sky, relational relat, conditional condit,
rational ration, valenci valenc, hesitanci hesit, digitizer digit, conformabli conform, radicalli radic,
differentli differ, vileli vile, analogousli analog, vietnamization vietnam, predication predic, operator oper,
feudalism feudal, decisiveness decis, hopefulness hope, callousness callous, formaliti formal, sensitiviti sensit,
sensibiliti sensibl, triplicate triplic, formative form, formalize formal, electriciti electr, electrical electr,
hopeful hope, goodness good, revival reviv, allowance allow, inference infer, airliner airlin, gyroscopic gyroscop,
adjustable adjust, defensible defens, irritant irrit, replacement replac, adjustment adjust, dependent depend,
adoption adopt, homologou homolog, communism commun, activate activ, angulariti angular, homologous homolog,
effective effect, bowdlerize bowdler, probate probat, rate rate, cease ceas, controll control, roll roll,
generalizations gener, oscillators oscil, abbey abbei, abatement abat, archaeology archaeolog, by by, as as, yes ye
"""


@each(("word", "expected"), [example.split() for example in EXAMPLES.split(",")])
def test_published_examples(word: str, expected: str) -> None:
    assert stem(word) == expected


def test_a_family_of_words_has_one_stem() -> None:
    assert {stem(word) for word in ("connect", "connected", "connecting", "connection", "connections")} == {"connect"}
