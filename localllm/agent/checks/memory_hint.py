"""Say how the user keeps what the model was told to remember, or to note as to be done: no tool keeps it for them."""

import re

from localllm.agent.checks.plan_checks import orders_note
from localllm.base.i18n import _
from localllm.base.lazy_patterns import late_pattern
from localllm.text.sanitising import clean

_SENTENCES = late_pattern(r"(?<=[.!?])\s+|(?<=[。！？])|\n+")
_REMEMBER = late_pattern(
    r"^(?:(?:please|also|and|ok(?:ay)?|now|so|can you|could you|from now on|hi|hello)[, ]\s{0,3}){0,4}"
    r"(?:remember|memori[sz]e)(?: this\b)?(?: for (?:later|next time|the future|all sessions))?(?::|,? that\b)\s{0,3}"
    r"(?P<what>[^\s?][^\n?]{2,200}?)[.!]{0,3}$",
    re.IGNORECASE,
)
_REMEMBER_JA = late_pattern(
    r"^(?P<what>[^\n]{2,200}?)(?:[をはも、]|(?<!こ)と|って){0,2} ?(?:よく|必ず|ずっと)?(?:覚え|記憶し)て"
    r"(?:おいて|おけ)?(?:ください|下さい|くれ|ほしい|欲しい|[ねよ]){0,2}[。！!\s]{0,3}$"
    r"|^(?P<what2>[^\n]{2,200}?)[をは、]{0,2}忘れないで(?:おいて)?(?:ください|下さい|くれ|[ねよ]){0,2}[。！!\s]{0,3}$"
)
_POINTING = late_pattern(r"(?:this|it|that|これ|それ|今の(?:こと|話|内容)?|この(?:こと|内容)|以上|上記)\Z")


def hint(request: str, *, has_planned: bool, is_chat: bool = True) -> str:
    """Return one line for the user, if the request orders something to be remembered, or to be noted as to be done and
    the run `has_planned` it; else "". Outside a chat only of the latter: it looks done, and the next session has
    nothing of it."""
    for said in _SENTENCES.split(request.strip()) if is_chat else ():
        match = _REMEMBER.search(said) or (None if said.isascii() else _REMEMBER_JA.search(said))
        if match:
            groups = match.groupdict()
            what = clean((groups.get("what") or groups.get("what2") or "").strip(), keep_newlines=False)
            text = _("TEXT") if _POINTING.match(what) else what
            return _("To keep it for later sessions: {command}", command=f"/remember {text}")
    if has_planned and orders_note(request):
        if not is_chat:
            return _("Only this session has it. To keep it for later ones: localllm --continue, then /todo keep")
        return _("To keep it for later sessions: {command}", command="/todo keep")
    return ""
