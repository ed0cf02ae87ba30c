"""Detect claims that reverse their passages: a direction, an order, a negation, an added superlative."""

import re
from collections.abc import Sequence
from functools import cache

from localllm.base.lazy_patterns import late_pattern

_OPPOSITES = """
increas* raise* raising rose rise* rising grew grow* climb* gain* surg* jump* soar* expand* up(?=\\s\\d) improv*
+ 増 上昇 伸び 拡大 上回 高ま 上が 成長 改善 値上
| decreas* lower lowers lowered fell fall* falling declin* drop* shrank shrink* reduc* cut down(?=\\s\\d) plung* slump* worsen*
+ 減 下落 低下 縮小 下回 下が 落ち 悪化 削減 値下
more greater larger higher exceed* longer older faster bigger + 上回 超え 大き 高い 高かっ 高く
| less fewer smaller lower shorter younger slower within + 下回 未満 小さ 低い 低かっ 低く 以内
ban bans banned banning prohibit* forbid* forbad* outlaw* + 禁 | allow* permit* legalis* legaliz* lift* + 許 認め 合法 解禁
opened opens opening launch* began begin* founded inaugurat* + 開館 開業 開通 開始 開店 開校 設立 創業
| clos* shut* ceas* abandon* scrap* discontinu* + 閉館 閉店 閉鎖 閉校 廃止 終了 中止 撤退 廃業
accept* approv* adopt* support* back* endors* + 可決 承認 賛成 採択 支持 受け入れ
| reject* refus* oppos* deny denies denied veto* + 否決 却下 反対 拒 退け
won win wins victor* beat + 勝 優勝 獲得 | lost lose* losing + 敗 負 失
safe safely safety harmless + 安全 無害 | unsafe danger* harmful toxic* + 危険 有害
bought buy buys acquir* purchas* + 購入 買収 取得 | sell* sold divest* + 売却 売った
north northern + 北 | south southern + 南
import imports imported + 輸入 | export exports exported + 輸出
apply applies applied subject + 適用 対象 | exempt* + 免除 適用除外 対象外
free gratis waived + 無料 無償 | charged paying payable + 有料 有償
introduc* + 導入 | abolish* scrapp* + 廃止 撤廃
advanc* + 前進 | retreat* reced* + 後退
prais* laud* + 称賛 絶賛 | criticis* criticiz* condemn* + 批判 非難
before prior + 以前 先立 より前 | after + 以降 以後 よりあと より後
profit profits + 黒字 利益 | loss losses deficit* + 赤字 損失
"""

_SUPERLATIVES = {
    "only": r"(?i)\b(?:only|sole|solely|unique|alone|exclusive\w*|no other|nowhere else|single|just|one)\b|唯一|のみ|だけ|しか|ただ|とどま|すぎ|過ぎ|わずか|限|以外|ほか|他に|専用|一つ|1つ|一人|1人",
    "largest": r"(?i)\b(?:largest|biggest|greatest|highest|tallest|leading|top|longest|most|number one|no\. 1|record|best|peak\w*|main)\b|最大|最高|最多|首位|筆頭|トップ|最長|最|番目|世界一|日本一|1位|１位|過去最|一番",
    "smallest": r"(?i)(?<!second[- ])(?<!third[- ])\b(?:smallest|lowest|least|fewest|shortest|minimum|record low)\b|最|過去最|番目",
    "oldest": r"(?i)\b(?:oldest|earliest|first|most ancient)\b|最古|最初|初|最も",
    "first": r"(?i)\b(?:first|earliest|pioneer\w*|never before|inaugural|debut\w*|initial\w*|original\w*|opened?|before any|new|maiden|1st|introduc\w*|founded|started|began|launched)\b|初|最初|第1|第一|1号|先駆|はじめて|始|ぶり",
    "all": r"(?i)\b(?:all|every\w*|entire\w*|whole|each|both|fully|complete\w*|total\w*|no|none|any|throughout|100|across|nationwide|without exception|anyone|nobody|always)\b|全|どの|一斉|一律|残らず|満場|ごと|おき|誰も|どれも|すべ|総て|各|毎|いずれも|両|皆|みな|100|１００",
    "always": r"(?i)\b(?:always|every\w*|all|never|constant\w*|continu\w*|permanent\w*)\b|常に|いつも|必ず|毎|絶え",
}
_CLAIMED = {
    "only": r"(?i)\b(?:only|sole)\b(?!\s(?:\d|about|after|in|when|if|a\b|for|(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|\w+teen|\w+ty(?:-\w+)?)\b|half|some|few|every|once|twice|slightly|by\b|from\b|on\b))|唯一",
    "largest": r"(?i)(?<!second[- ])(?<!third[- ])(?<!fourth[- ])(?<!fifth[- ])\b(?:largest|biggest|greatest|highest|tallest)\b|最大の|最高の|最多|世界一|日本一",
    "smallest": r"(?i)(?<!second[- ])(?<!third[- ])\b(?:smallest|lowest|fewest)\b|最小の|最低の|最少",
    "oldest": r"(?i)\boldest\b|最古",
    "first": r"(?i)\bthe (?:world's |country's |nation's )?first\b(?! (?:half|quarter|time|\w+ (?:days|months|years|weeks)))|世界初|日本初|国内初|史上初|初めての",
    "all": r"(?i)(?:^|\b(?:in|for|of|by)\s)all\b(?! (?:in all|about))(?!\s(?:[\w']+\s){0,4}(?:\d|two|three|four|five|six|seven|eight|nine|ten|twelve))|\bevery\b(?! (?:\d|year|day|month|week|hour|minute|morning|evening|night|spring|summer|autumn|winter|weekday|weekend|season|time|monday|tuesday|wednesday|thursday|friday|saturday|sunday|second|third|fourth|fifth|tenth|two|three|four|five|six|ten|few|other))|すべての|全ての|全員|全国民",
    "always": r"(?i)\b(?:always)\b|常に|必ず",
}
_NOT = late_pattern(
    r"(?i:\b(?:not|no|never|none|neither|nor|without|cannot|nobody|nothing|non)\b|n't\b|n’t\b)"
    r"|ない(?![うま])|なかっ|なく(?!な)|ません|(?<=[らかさたなまわせればがけめべえね])ず(?![つれらっ])|なし"
)
_DENIES = late_pattern(
    r"(?i:\b(?:fail\w*|lack\w*|den[iy]\w*|refus\w*|reject\w*|stop\w*|end\w*|ban\w*|prohibit\w*|except|only|hardly|barely"
    r"|few|little|unable|un(?!i|der|til|e\b)\w+|in\w*(?:able|ible|complete|effective|valid|correct)|im\w*able|absent\w*|avoid\w*|prevent\w*|"
    r"yet|free|rather|oppos\w*|abandon\w*|aboli\w*|end(?:ed|s)|drop\w*|cancel\w*|postpon\w*|missing|close\w*|cease\w*"
    r"|flat|same|steady|stayed|remain\w*|fewer|less|under|below|rul\w+\sout|gone|lost|leav\w+|former\w*|longer|limit\w*|short\w*"
    r"|forbid\w*|illegal|unlike|until|exempt\w*|exclud\w*|zero|\w+less|unchanged|impossible|waiv\w*)\b)"
    r"|非|未|不|無|否|欠|拒|禁|止|中止|廃|難し|困難|のみ|だけ|しか|除|避|免|ゼロ|０|まま|失敗|反対|違|横ばい|同じ|未満|下回|以下|以内|にくい|難|づらい|がたい|限|残|抑|反|外|とど|過ぎ|すぎ"
)


@cache
def _opposites() -> list[tuple["_Finder", "_Finder"]]:
    lines = (line.split("|") for line in _OPPOSITES.replace("\n+", " +").replace("\n|", " |").strip().splitlines())
    return [(_Finder(one), _Finder(other)) for one, other in lines]


class _Finder:
    """Finds one side of a pair of opposites."""

    def __init__(self, words: str) -> None:
        latin = [one.replace("*", r"\w*") for one in words.split() if one.isascii() and one != "+"]
        other = [one for one in words.split() if not one.isascii()]
        self._pattern = late_pattern(rf"(?i)\b(?:{'|'.join(latin)})\b" + (f"|{'|'.join(other)}" if other else ""))

    def is_in(self, text: str) -> bool:
        return self._pattern.search(text) is not None


def is_reversed(claim: str, clauses: Sequence[str]) -> bool:
    """Whether a claim has one side of a pair of opposites, and its clauses have only the other."""
    if not clauses or is_negated(claim) or any(map(is_negated, clauses)):
        return False
    everything = "\n".join(clauses)
    for one, other in _opposites():
        for ours, theirs in ((one, other), (other, one)):
            if (
                ours.is_in(claim)
                and not theirs.is_in(claim)
                and theirs.is_in(everything)
                and not ours.is_in(everything)
            ):
                return True
    return False


def is_negated(text: str) -> bool:
    """Whether a text contains a negation."""
    return _NOT.search(text) is not None


def is_negation_invented(claim: str, passages: Sequence[str]) -> bool:
    """Whether a claim negates something, but its passages contain no negation or word of denial."""
    if not is_negated(claim):
        return False
    return not any(is_negated(one) or _DENIES.search(one) for one in passages)


def is_denial_turned(claim: str, sentence: str) -> bool:
    """Whether one of the two has a negation, and the other no negation or word of denial."""
    if is_negated(claim) == is_negated(sentence):
        return False
    return not _DENIES.search(sentence if is_negated(claim) else claim)


@cache
def _pattern(text: str) -> re.Pattern[str]:
    return re.compile(text)


def added_superlative(claim: str, passages: Sequence[str]) -> str:
    """Return the key of a superlative in the claim that no passage has; "" for none."""
    for key, claimed in _CLAIMED.items():
        if _pattern(claimed).search(claim):
            pattern = _pattern(_SUPERLATIVES[key])
            if not any(pattern.search(one) for one in passages):
                return key
    return ""
