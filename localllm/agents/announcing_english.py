"""Whether the last English sentence of a model is a step it means to take now.

Looked for are the forms such sentences have: whoever means to act says so at the beginning of the sentence (or of its
last clause), with a verb of work. Verbs are looked up as words: one long pattern takes milliseconds to be compiled.
"""

import re
from collections.abc import Iterator

_LONGEST_PROMISE = 800
"""Characters: after more than that “I will …” is more often the end of an explanation than the next step."""

_WORK = """
    add address adjust analyse analyze append apply assemble begin benchmark bisect build bump call change check
    clean collect commit compare compile complete configure confirm connect consult continue convert copy correct create
    cross-check debug declare define delete determine dig disable dive do double-check download draft drop dump edit
    enable ensure examine execute explore expose extend extract fetch figure fill find finish fix format gather generate
    get go grab grep handle hook hunt identify implement import insert inspect install investigate isolate jump lint
    list locate look make measure merge migrate modify move navigate open parse patch peek pin port prepare print probe
    proceed profile pull put query read rebuild re-build recheck re-check recreate redo refactor re-factor register
    reload re-load remove rename reorganize replace reproduce reread re-read rerun re-run reset resolve restart re-start
    restore restructure retest re-test retry re-try revert review rewrite re-write roll run save scaffold scan search
    see set simplify skim sort split start study swap switch tackle take test tidy trace track try turn tweak undo
    uninstall update upgrade use validate verify view wire work wrap write
"""
_ADVERBS = (
    r"(?:(?:now|first|then|next|also|just|quickly|again|immediately|carefully|briefly|finally|simply|actually|instead"
    r"|go ahead and|try to|attempt to|need to|want to|have to|(?:start|begin) (?:off )?(?:by|with) (?=\w+ing\b))\s+)*"
)
_WORD = r"(?P<verb>[a-z]+(?:-[a-z]+)?)\b(?P<rest>[^.!?]*)"

_NO_STEP = r"\s+(?:that|if|whether|with my|it up as)\b"
"""“I should add that …”, “I want to see if you …” say something else, where they follow these verbs."""
_SAYING = frozenset({"add", "see"})
_TAKING = r"\s+(?:a|an|another|one more|the)\s+(?:\w+\s+)?(?:look|peek|step|approach|pass)\b|\s+care of\b"
_DOING_IT = r"\s+(?:that|this|it|so|both|the same|them|these|those|exactly that)\b"

_INTERJECTIONS = (
    r"(?:ok(?:ay)?|alright|all right|sure(?: thing)?|great|good|perfect|right|now|next|first(?:ly)?|then|so|and"
    r"|to do (?:this|that|so)|finally|hm+|ah|oh|oops|wait|actually|well|very well|yes|got it|i see|thanks|thank you"
    r"|understood|noted|no problem|of course|certainly|absolutely|after that|from there|with that(?: done)?|therefore"
    r"|as a (?:first|next|last|final) step|at this point|for now|to (?:begin|start)(?: with)?|instead|also|meanwhile)\b"
)
_INTRODUCTION = (
    r"(?:(?:now that|before|with|since|because|as|given|based on|for|in order to|to|from|because of|first of)"
    r" [^,:;]{3,110},\s+(?=(?:i|let|we)\b))?"
    r"(?:to [^,:;]{3,80}?,?\s+(?=i'll|i will|i'm|i am|let))?"
)
_OPENING = rf"(?i)(?:{_INTERJECTIONS}[,:.!…—-]*\s*)*{_INTRODUCTION}"
"""Taken off before the patterns below are tried, and they are tried with it too."""

_LET_ME = r"(?:let me|let's|let us|allow me to|(?:it's )?time to|time for me to|now to|on to)"
_I_WILL = (
    r"(?:i will|i'll|i shall|(?:i am|i'm) (?:now )?(?:going to|about to|gonna)|i need to|i've got to|i gotta"
    r"|(?:i have to|i must)(?! use\b)"
    r"|i should|i'd like to|i would like to|i want to|i plan to|i intend to|i can now(?! (?:see|confirm|say|answer)\b)"
    r"|my (?:next (?:step|move|task)|plan|first step) (?:is|will be) to|next,? i'd"
    r"|we(?:'ll| will)(?= (?:now|first|next)\b))"
)
_STEP = rf"(?i)(?:(?P<let>{_LET_ME})|(?P<will>{_I_WILL}))\s+{_ADVERBS}{_WORD}"
_FIRST_WORDS = r"(?i)\b(?:i|let|let's|me|my|now|on|time|we)\b"
"""Without one of them no sentence is such a step, and the long patterns need not be compiled."""
_LAST_CLAUSE = (
    r"(?i).{8,}?(?:[,;:]|\s[—–-])\s+(?:(?:so|and|then|but|therefore|hence)\s+)*"
    r"(?=(?:let me|let's|let us|i'll|i will|i am going to|i'm going to)\b)"
)
"""What comes before the last clause of a sentence: “…, so I'll look there”."""

_NO_GERUND = (
    r"(?:any|every|no|some)thing|interesting|according|during|following|missing|including|excluding|regarding"
    r"|assuming|considering|string|king|thing|being|having|meaning|warning|pending|using"
)
_DOING = rf"(?i)(?:i am |i'm )?(?:now )?(?!(?:{_NO_GERUND})\b)[a-z]+ing\b(?:[^.!?…:]|\.(?=\w))*(?:\.\.\.|…|:|\bnow\.?)$"
_I_AM_DOING = (
    r"(?i)(?:i am|i'm) (?:now |just |currently )?(?:adding|applying|calling|changing|checking(?! in)|creating"
    r"|editing|executing|fetching|fixing|inspecting|looking (?:at|for|in|into|up|through)|opening"
    r"|reading(?! this as| it as)|running|searching|scanning|updating|verifying|writing)\b(?:[^.!?,;]|\.(?=\w))*\.?$"
)
_LONGEST_FRAGMENT = 12
_NOUN = r"[\w`'./()\[\]-]+"
_NO_VERB = (
    r"(?!\w+ed\b)(?:(?=(?:calls|changes|definitions|dependencies|docs|files|imports|logs|results|settings|tests)\b)"
    r"|(?!\w+s\b))"
)
_FRAGMENT = (
    rf"(?i)(?:adding|applying|calling|changing|checking|creating|deleting|editing|examining|executing"
    r"|fetching|fixing|inspecting|listing|opening|reading|removing|renaming|running|searching(?: for| in| through)?"
    r"|scanning|updating|verifying|writing|looking (?:at|for|in|into|up|through))"
    rf"(?: (?:the|a|an|my|this|that|both|all) {_NOUN}| {_NO_VERB}{_NOUN})"
    rf"(?: {_NO_VERB}{_NOUN})?(?: again| next| first)?\.?$"
)
"""A sentence that is only this: “Checking the logs.” With more words it could tell what something does."""
_GOING_ON = (
    r"(?i)(?:(?:continuing|proceeding|moving on|moving|turning|switching(?: over)?|going on|going back|back)"
    r" (?:with|to) (?!you\b)(?![^,.]*\b(?:is|was|will|would|can|has|makes|means|takes)\b)"
    r"|(?:diving|digging|jumping|looking) in(?:to)?\b[^,]*\.?$"
    r"|on to (?!you\b)|now to (?=the\b|`)|on it[.!]?$|working on it[.!]?$|next up\b"
    r"|getting started[.!]?$|here (?:goes|we go)[.!]?$"
    r"|(?:starting|beginning) (?:with|by|from|on) (?!version\b|v?\d|python\b|node\b)[^,;]{2,60}"
    r"(?:[.…]?$|, (?:since|because|as|then|and then)\b))"
)
_WAITING = (
    r"(?i)(?:please )?(?:one (?:moment|second|sec|minute)|(?:just )?a (?:moment|second|minute)"
    r"|hold on(?! to)|hang on(?! to)|bear with me|stand by|please wait"
    r"|give me (?:a|one|just a) (?:moment|second|sec|minute))\b"
    r"(?:,? please)?(?:[.…!]*$|[, ]+(?:while i|to|and i'll|i'll)\b)"
)
_PRESENTING = r"(?i)here(?:'s| is| are) .{0,60}\b(?:i am|i'm|i'll|i will)\b[^?]*:$"

_NOT_NOW = (
    r"(?i)\b(?:let me know|let you|i'll (?:be|wait|leave|stop|keep)|i (?:will|am going to) (?:be|wait|leave|stop|keep)"
    r"|if (?:you|that|this|it|needed|not|so|there)|once"
    r"|after you|when(?:ever)? you|unless|until|would you|should i|shall i|do you|can you|could you|please"
    r"|from now on|next time|in (?:the )?future|going forward|tomorrow|later|feel free|tell me"
    r"|your (?:approval|confirmation|go-ahead|permission)|wait for|instead of|as soon as|whether you"
    r"|depending on|either)\b"
)
_TO_YOU = r"(?i)\b(?:you|your|yourself|enter|type|choose|note|example|e\.g\.)\b"
_LIST = r"\s*(?:[-+•・]|\*(?!\*)|\d{1,3}[.)](?!\d))\s*\S"


def announces_english(text: str, sentences: list[str], *, breaks_off: bool) -> bool:
    """Whether `text`, of which `sentences` are left without its code, ends with a step. `breaks_off`: a colon is the
    very last of it."""
    last = sentences[-1].replace("’", "'")
    starts = _starts(last)
    if _matches(_WAITING, starts):
        return True
    is_plan = any(re.match(_LIST, line) for line in text.splitlines()) and not last.endswith(":")
    is_promise = not is_plan and len(text) <= _LONGEST_PROMISE
    is_step = (
        any(_matches(pattern, starts) for pattern in _patterns_for(last))
        or (breaks_off and (bool(re.match(_PRESENTING, last)) or not re.search(_TO_YOU, last)))
        or _means_to(last, starts, is_promise=is_promise)
    )
    return is_step and not re.search(_NOT_NOW, last)


def _starts(sentence: str) -> tuple[str, ...]:
    """The sentence, and without words such as “Okay, now”."""
    opening = re.match(_OPENING, sentence)
    return (sentence, sentence[opening.end() :]) if opening and opening.end() else (sentence,)


def _matches(pattern: str, starts: tuple[str, ...]) -> bool:
    return any(re.match(pattern, start) for start in starts)


def _patterns_for(sentence: str) -> Iterator[str]:
    """Those without a verb in the future. Most sentences can be none of these, and need no pattern compiled."""
    yield _GOING_ON
    if sentence.endswith(("...", "…", ":", "now", "now.")):
        yield _DOING
    if re.search(r"(?i)\bi(?:'m| am) ", sentence):
        yield _I_AM_DOING
    if len(sentence.split()) <= _LONGEST_FRAGMENT and "ing " in sentence:
        yield _FRAGMENT


def _means_to(sentence: str, starts: tuple[str, ...], *, is_promise: bool) -> bool:
    """Whether it, or its last clause, says that the model will do some work. `is_promise`: “I will” is no less than
    “let me” here."""
    if not re.search(_FIRST_WORDS, sentence):
        return False
    before = re.match(_LAST_CLAUSE, sentence)
    for said in (*starts, sentence[before.end() :] if before else ""):
        found = re.match(_STEP, said)
        if found and (found["let"] or is_promise) and _is_work(found["verb"].lower(), found["rest"]):
            return True
    return False


def _is_work(verb: str, rest: str) -> bool:
    if verb.endswith("ing"):  # “let me start by reading”
        return True
    match verb:
        case "take":
            return bool(re.match(_TAKING, rest))
        case "do":
            return bool(re.match(_DOING_IT, rest))
        case "make":
            return not re.match(r"(?i)\s+(?:sure|it clear)\b.*\bi\b", rest)
        case _:
            return verb in _WORK.split() and not (verb in _SAYING and re.match(_NO_STEP, rest))
