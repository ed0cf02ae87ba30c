"""Recognise phrases in answers, in English and Japanese."""

import re
from collections.abc import Collection

from localllm.agent.phrases.phrase_search import ends_of, has_any, search_ja, sentences_in
from localllm.agent.phrases.request_phrases import asks_for_change
from localllm.base.lazy_patterns import late_pattern

_NOT_SAID = (
    r"(?i)\b(?:if|when(?:ever)?|once|until|unless|whether|should|would|will|could|must|make sure|ensures?|in case"
    r"|assuming|not|n't|cannot|never|neither|fail(?:s|ed|ing)?|before|expect(?:s|ed)?)\b|n't\b|\?$|場合|れば|たら"
    r"|なら|はず|ように|まで|ません|ない|でしょう|か[？?。]?$"
)
_PASSED = (
    r"(?i)^[1-9]\d* (?:tests? )?passed\W*$|\btests?\b(?: suites?)?,? (?:\w+ ){0,3}?(?:pass(?:es|ed|ing)?|succeed(?:s"
    r"|ed)?|(?:is|are) green)\b|\btests? suites? (?:is|are) green|\b(?:all|every)(?: \w+){0,4} (?:pass(?:es|ed)?"
    r"|passing)\b(?= now|\W*$)|\bpass(?:es|ed|ing)? all (?:\w+ ){0,2}tests?\b"
    r"|^(?:now |and |yes[,:]? |done[,:]? )?(?:everything|all)(?: is| are)?(?: now)? (?:pass(?:es|ed|ing)?|green)"
    r"(?: now| again)?\W*$"
)
_ALL_BUT = (
    r"(?i)\b(?:all|every|tests?)\b[^.\n]{0,60}\b(?:pass(?:es|ed|ing)?|green|succeed(?:s|ed)?)\b[^.\n]{0,20}?"
    r"\b(?:(?:except|apart from|other than|but for)\b(?! (?:that|this)\b|(?: for)?(?: the)?(?: \w+)? skip)"
    r"|but (?:(?:one|two|three|\d+)\b|[`'\"]?test_))"
    r"|\ball (?:\w+ )?(?:tests? )?(?:but|except|apart from|other than)\b[^.\n]{0,60}\b(?:pass(?:es|ed)?|succeed)\b"
    r"|\bno (?:\w+ )?tests? (?:pass(?:es|ed)?|succeed(?:s|ed)?)\b"
    r"|(?:以外|を除[いき])[^。\n]{0,20}(?:成功し|合格し|パスし|通[りっ過])"
)
"""Matches that not all tests pass."""
_SOME_OF = r"(?i)\b(\d+) ?(?:of|out of|/) ?(?:the )?(\d+)\b"
_PASSED_JA = (
    r"テスト[^。\n]{0,16}(?:成功|合格|パス|通過)(?:し(?:ました|ています|ている|た)|する?(?:こと|の)を確認|です)"
    r"|テスト[^。\n]{0,16}(?:通りました|通ります|通っています|通る(?:こと|の)を確認|グリーン)"
    r"|^(?:すべて|全て|全部)(?:が)?(?:通りました|パスしました|グリーンです)[。！]?$"
)
_VERBS = (
    r"(?:changed|updated|fixed|added|created|edited|modified|renamed|replaced|removed|implemented|refactored|written"
    r"|wrote|deleted|moved|converted|corrected|rewrote|rewritten|extended|adjusted|applied|inserted|extracted"
    r"|completed|saved|exported|switched|bumped|enabled|disabled|tagged|crossed off|dropped|formatted)"
)
_DONE_WITH = (
    rf"(?:{_VERBS}|set|put|turned|raised|lowered|increased|decreased|reduced|marked|ticked|crossed|merged|split|cleaned"
    r"|repaired|resolved|mended)"
)
"""Verbs of changes where one was ordered."""
_CHANGED_BY_ME = (
    rf"(?i)\b(?:i|we)(?:'ve| have)? (?:(?:now|also|just|successfully|already) ){{0,2}}"
    rf"(?:{_VERBS}\b(?! (?:nothing|none|neither|no)\b)"
    r"|made (?!(?:an?|no|sure|some|any|use|two|it|nothing|every)\b)\S+ [a-z]"
    r"|set [`\w.-]{1,60} to \S)"
)
_CHANGED = (
    rf"{_CHANGED_BY_ME}|^done\s*[:—–-]|\b(?:i|we)(?:'ve| have)? {_DONE_WITH}\b(?! (?:nothing|none|neither|no|out|up)\b)"
    r"|\b(?:is|are) now (?!(?:up to|ready to|in place to)\b)[a-z`\d]|\b(?:is|are) [\w `'\"-]{1,40} now[.!]?$"
    r"|(?<!it )\bnow (?:returns?|says?|uses?|handles?|prints?|accepts?|takes?|raises?)\b"
    r"|\b(?:returns?|says?|uses?|handles?|prints?|accepts?|takes?|raises?) [^.\n]{1,40} now[.!]?$"
    rf"|\b(?:has|have) (?:now |also )?been (?:successfully )?{_DONE_WITH}\b"
    rf"|^(?:successfully )?{_VERBS}\b(?! (?:by|in)\b)"
    r"|^(?:it is |it's |all |the (?:change|task|job|work|fix|edit) is |everything is )?(?:now )?(?:done|finished"
    r"|complete|completed|fixed|implemented)[.!]?$"
)
_CHANGED_JA = (
    r"(?:修正|変更|追加|作成|更新|削除|実装|編集|置換|リネーム|改名|対応|適用|移動|完了|保存|出力|設定|整形)(?:を)?(?:し|いたし"
    r"|が完了し)(?:ました|ております)|(?:直し|書き換え|変え|作り|書き|置き換え|加え|切り替え|付け|足し|消し)ました|^完了(?:です)?[。！]?$"
    r"|^できました"
)
_CHANGED_TO_JA = r"(?<!失敗する)ようになりました|(?<!参考)(?<!そのまま)(?<![気元])にしました|くしました"
_ADMITTED = (
    r"(?i)\b(?:could not|couldn't|cannot|can't|unable to|was not able|wasn't able|not possible|impossible|failed to"
    r"|gave up|give up|did not (?:manage|work|change|apply|make|succeed|finish|fix)|didn't (?:manage|work|change"
    r"|apply|make|succeed|finish|fix)|(?:was|were|is|are|has|have) not (?:yet )?(?:been )?(?:made|done|changed"
    r"|applied|finished|complete|fixed|solved|possible|written)|(?:wasn't|weren't|isn't|hasn't been"
    r"|haven't been) (?:made|done|changed|applied|finished|fixed|written)|not done|unfinished|remains? (?:open"
    r"|broken)|no (?:file|files|changes?) (?:was|were|is|are|has been|have been) (?:changed|made)"
    r"|nothing was changed|still (?:broken|open|missing|to do|has a syntax))\b"
)
_ADMITTED_JA = (
    r"できません|できなかった|出来ません|(?:完了|変更|修正|適用|解決|実施|作成)(?:は)?(?:して(?:い)?ません"
    r"|していない|しませんでした|されていません|できず)|未完了|未対応|未解決|失敗しました|失敗したまま|行えません"
    r"|無理でし|残っています|うまくいきません|断念"
)
_NOTHING_NEEDED = (
    r"(?i)\balready\b|\bno (?:code |further |other )?(?:change|edit|fix|update|action)s? (?:is |are |was "
    r"|were )?(?:needed|necessary|required)\b|\b(?:nothing|there is nothing|no need) to (?:change|do|fix|rename"
    r"|remove|update|add)|\bnothing (?:worth|that (?:needs|could|should)|(?:left )?to (?:optimi[sz]e|improve"
    r"|clean|simplify|speed|correct|repair|tidy))\b"
    r"|\bdoes(?: not|n't) (?:exist|need|occur|appear)\b|\bthere(?: is| are|'s) no\b|\bno longer\b"
    r"|\bthere (?:is|are)(?:n't| not) any\b"
    r"|\b(?:so|therefore) (?:I|we)(?:'ve| have)? (?:removed|changed|deleted|edited|touched) nothing\b"
    r"|\b(?:removed|changed|deleted|edited|touched) nothing,? (?:because|since|as)\b"
    r"|すでに|既に|見つから(?:ず|ない|なかった)|(?:変更|修正|対応|追加|更新|削除)(?:の必要)?(?:は|が)?(?:不要|必要(?:は)?(?:ありません|ない)"
    r"|(?:の)?必要な(?:箇所|点|部分|ところ)は(?:特に)?(?:あり|見当たり|見つかり)ません"
    r"|必要がありません|ありません)|見つかりません(?:でした)?|存在しません|問題(?:は)?(?:ありません|なし)"
)
_OTHERS_KEPT_JA = (
    r"(?:以外[のにはを]|(?:ほか|他)の(?:ファイル|コード|部分|箇所|メソッド|関数|機能|処理))[^。、\n]{0,20}?"
    r"(?:そのまま|(?:変更|修正|編集|更新)(?:は|を|も)?(?:一切|何も)?(?:加え|行って|行い|して|し)(?:てい|い|てお|お)?(?:りま|ま)?(?:せん|ない))"
)
"""Matches that the rest was kept, which says nothing of what was to be changed."""
_LEFT_AS_IS = (
    r"(?i)\b(?:left|leave|leaving|kept|keep|keeping) "
    r"(?!(?:(?:every|any)thing else|(?:all )?(?:the )?(?:others?|rest|remaining))\b)(?:[^.\n]|\.\w){1,60}"
    r"\b(?:unchanged|untouched|alone|as[- ]is"
    r"|as (?:it|they) (?:is|are|was|were))\b"
    r"|\bi(?:'ve| have)? left (?:it|them|those|these|that|everything)(?=[.,;:!)]|\s*$| there\b| in place\b)"
    r"|\b(?:made|making|did not make|didn't make) (?:no|any) (?:\w+ )?(?:changes"
    r"|edits)\b|そのままに(?:し|なって)"
    r"|(?:変更|修正|編集|更新)(?:は|を)?(?:何も)?(?:加え|行って|行い|して|し)(?:ていま|いま|ま)せん"
)
_NONE_OF = (
    r"(?i)(?:\b(?:no|without)|(?:\bnot|n['’]t|\bnever) (?:find|found|see|seen|detect|spot|notice|contain|have))\b"
    r"(?P<what>(?: [\w'-]{1,40}){1,4}?)(?=[^\w\s'-]|\s*$| (?:in|at|of|on|for|to|from|here|there|that|which|and|or|left"
    r"|found|anywhere|was|were|is|are|has|have)\b)"
)
_ALL_FINE = (
    r"(?i)\b(?:all|both|every|each)\b(?P<what>(?:[^.;\n]|\.\w){1,80}?)\b(?:is|are|look|looks) (?:\w{1,20}ly )?"
    r"(?:used|in use|needed|required|correct|fine|valid|right|ok|consistent|up to date)\b"
)
_NOT_FOUND = (
    r"(?i)(?:\bnot|n['’]t|\bnever) (?:find|found|see|seen|detect|spot|notice)\b"
    r"(?P<what>(?: [\w'-]{1,40}){1,4}?)(?=[^\w\s'-]|\s*$"
    r"| (?:in|at|of|on|for|to|from|here|that|which|and|or|anywhere)\b)"
)
_NOT_WRONG = (
    r"(?i)(?:\bnot|n['’]t|\bnever) (?P<what>leak|crash|fail|hang|freeze|block|throw|raise|break|overflow|deadlock)\b"
)
_NONE_OF_JA = (
    r"(?P<what>[一-龯]{1,10}|[ァ-ヶー]{1,20}|[A-Za-z_]{1,40})[(（]?[)）]?`? ?"
    r"(?:[はがも][^。\n]{0,16}(?:見当たり|見つかり|見られ|検出され|残って(?:い)?|確認でき)|[はも][^。\n]{0,16}(?:あり|存在し))ません"
)
_TAKES_AWAY = (
    r"(?i)\b(?:fix|repair|correct|remov|delet|drop|eliminat|clean|resolv|solv|get rid|strip|replac|renam|mend"
    r"|silenc|suppress|dedup)|直し|直す|治し|修正|消し|消す|消去|削除|除[いきくけ]|除去|なくし|無くし|解消|解決|置き換え|改名|リネーム"
)
_IS_LACKING = r"(?i)\b(?:missing|lack|absent|add)|足り|不足|欠け|漏れ|抜け|追加"
"""Matches a request for what is not there yet: that there is none is the fault."""
_REVERTED = (
    r"(?i)\b(?:revert(?:ed|ing)?|restor(?:ed|ing)|undid|undone|roll(?:ed|ing)? back|put back|unchanged"
    r"|as (?:it was|they were) before)\b|元に戻|元どおり|元通り|取り消し|復元|巻き戻"
)
_REFUSED = r"(?i)\b(?:refus|declin|reject|denied|deny|not (?:allow|approv|permit))|拒否|却下|許可され|承認され"
_STILL_FAILS = (
    r"(?i)\b(?:still|now|keeps?|currently)? ?(?:fails|failing|fail)\b(?! (?:case|path|state|fast|gracefully)\b)"
    r"|\b(?:does|do) not pass\b|(?:does|do)n't pass\b|\b(?:is|are) (?:still )?red\b|\bbroken\b|[1-9]\d{0,8}"
    r" fail(?:ed|ures?|ing)\b|失敗し(?:ます|ました|ています|たまま)|失敗する|通りません|通らない"
    r"|通っていません|パスしません|不合格|[1-9]\d{0,8}\s{0,2}件(?:が|の)?失敗"
)
_OLD_FAILURE = (
    r"(?i)\bfailures?\b[^.\n]{0,200}\b(?:unrelated|not (?:related|caused|due)|nothing to do|pre-?exist\w*|existed"
    r"|independent|(?:already )?(?:there|present) before|before (?:my|the|this) change|remains?)\b"
    r"|\b(?:unrelated|pre-?existing|existing|remaining|old) (?:test )?failures?\b|\balready fail(?:s|ed|ing)\b"
    r"|\bfailing (?:before|already)\b"
    r"|\bfail(?:s|ing)\b[^.\n]{0,80}\bunrelated\b|\bunrelated\b[^.\n]{0,80}\bfail(?:s|ing)\b"
    r"|失敗[^。\n]{0,80}(?:変更前から|修正前から|以前から|元から|もともと|既存|無関係|関係(?:は)?(?:あり|な)|別の(?:原因|問題))"
    r"|(?:変更前から|修正前から|以前から|元から|もともと|既存の|無関係の|残りの)[^。\n]{0,40}(?:失敗|落ち)"
)
"""Matches failures that are said not to come from the change."""
_NO_FAILURE = (
    r"(?i)\b(?:no|zero|0|without|neither|nor) (?:[\w-]{1,20} ){0,3}failures?\b"
    r"|(?:(?:残り|既存|無関係|以前から|もともと)の)?失敗(?:した?テスト)?[はがも](?:(?!関係)[^。\n]){0,6}(?:ありません|な[いくし]|ゼロ)"
)
"""Matches that there is none: no failures remain."""
_FIXED_TEST = (
    r"(?i)\b(?:is|was|are|were) (?:now )?fixed\b|\bnow pass(?:es)?\b|\bpass(?:es)? now\b|\bno longer fail(?:s|ing)?\b"
    r"|\bfailures?\b[^.\n]{0,80}\b(?:gone|resolved|solved|disappeared)\b"
    r"|\b(?:fix(?:ed|es)|repair(?:ed|s)|mended|solved) (?:[\w-]{1,40} ){0,3}(?:fail|broken)"
    r"|(?:失敗|落ち)[^。\n]{0,30}(?:修正し|直し|解消し)(?:ました|済)"
)
_NOT_RUN = (
    r"(?i)(?:\b(?:not|never|without|un)|n't)(?: yet| been| having| be| actually| able to)*[ -]?(?:run|ran|running"
    r"|tested|test|executed|execute|verified|verify|checked|tried|compiled|built)\b|\bno tests? (?:was|were|is"
    r"|are) run\b|\bnothing (?:was|has been) (?:run|tested|executed|tried|checked)\b"
    r"|\b(?:ran|run|executed|tested|tried|checked|verified) (?:nothing|none|neither|no (?:tests?|checks?|commands?))\b"
    r"|untested|unverified|(?:走らせ|動かし|回し|流し|試し)て(?:い)?ません|(?:実行|検証|確認|テスト)(?:は|を)?(?:して(?:い)?ません"
    r"|していない|できません|しませんでした|行っていません|未実施)|未実行|未検証|未確認|未テスト"
)
_NO_TESTS = (
    r"(?i)\b(?:there (?:are|were)|there is|has|have|finds|found|contains?|ran) (?:currently )?"
    r"(?:no|0|zero) (?:unit )?tests?\b"
    r"|\b(?:no|zero|0) tests (?:exist|were found|ran|found)\b|\btests? (?:is|are|was|were)(?: all)? skipped\b"
    r"|テスト(?:は|が|も)[^。\n]{0,12}(?:ありません|ない|なく|存在し(?:ない|ません)|見つかりません)"
    r"|テスト(?:は|が)[^。\n]{0,12}スキップ"
)
_QUESTION = (
    r"(?i)\?\W*$|？\W*$|(?:ますか|ですか|でしょうか|ませんか|ましょうか)[。\s]*$|\blet me know (?:if|which|what|how"
    r"|whether|when)\b|\b(?:waiting|wait) for your\b|\bplease (?:confirm|clarify|specify|choose|decide|advise)\b"
    r"|(?:お知らせ|ご指示|ご確認|ご連絡|教えて|お申し付け)(?:を)?(?:ください|下さい)"
)
_WANTS_INPUT = (
    r"(?i)\b(?:please|could you|can you|would you|kindly|you (?:need|have) to|i need you to)\b.{0,40}\b(?:paste"
    r"|provide|share|upload|send|attach|post)\b|\bi(?: do not| don't| cannot| can't| have no| am unable to"
    r"| am not able to|'m unable to|'m not able to)\b.{0,40}\b(?:access|see|open|read|view)\b.{0,40}\b(?:files?|code"
    r"|project|repository|folder|directory|file ?system|contents?)\b|(?:貼り付け|提供し|共有し|送っ|アップロードし"
    r"|見せ)て(?:ください|下さい|いただけ)|(?:ファイル|コード|プロジェクト)[^。\n]{0,16}アクセス(?:でき|する(?:こと"
    r"|権限))"
)
_WANTS_BEGINS = (
    *("please", "could you", "can you", "would you", "kindly", "you need to", "you have to", "i need you"),
    *("i do not", "i don't", "i cannot", "i can't", "i have no", "i am ", "i'm "),
)
"""Every English match of _WANTS_INPUT contains one of these."""
_PLAN = (
    r"(?i)\b(?:here(?:'s| is) (?:what (?:i'll|i will|i would|i plan|we)|(?:my|the|a) (?:\w+ )?plan|how i)|(?:my"
    r"|the) plan\b|plan:|i(?:'ll| will| would| plan to)\b|steps?:|next steps?|we (?:need to|should|will)"
    r"|the following (?:steps|changes))|計画|手順|以下の(?:よう|変更|順)|次の(?:よう|変更|順)|ステップ|流れ|方針"
)
_COMMITTED = (
    r"(?i)(?<!last )(?<!be )(?<!the )(?<!previously )\bcommitted\b(?! (?:by|version|files?|code|state|on)\b)"
    r"|\b(?:made|created|added) (?:an?|the|one|two|three|\d) (?:[\w-]+ ){0,2}commits?\b"
    r"|\bcommit(?:ted)?:? (?:as |is |with )?`?[0-9a-f]{7,40}\b"
)
_COMMITTED_JA = (
    r"コミット(?:を|も|まで|が)?(?:し|いたし|作成し|完了し|行い)(?:ました|ており|てあり|てい?ます)|コミット済み"
    r"|コミット(?:は|が)?完了(?!でき)"
)
_UNCOMMITTED = (
    r"(?i)(?:\b(?:not|never|nothing|no|none|cannot|could|would|should|will|can|if|when|once|after|before)\b|n't\b)"
    r"[^,;.]{0,40}\bcommit|ません|ない|たら|れば|場合|\?$|？$"
)
_RAISES = (
    r"(?i)\b(?:raises?|raised|throws?|thrown|panics?|crashes|exits? with|rejects?|rejected|refuses|aborts?)\b"
    r"|(?:例外|エラー|Error)[ 」`]*(?:を|が)(?:発生|送出|投げ|出)|エラーにな|落ちます|異常終了|終了コード ?[1-9]"
)
_TEST_CHANGED = (
    r"(?i)\bassert\w*|\bexpectations?\b|\btest\w*`?[^.\n]{0,40} (?:now )?expect(?:s|ed)\b"
    r"|\btest\w{0,60}\b`?[^.\n]{0,60}\b(?:wrong|incorrect|outdated|stale|mistaken|out of date|skipped"
    r"|expected failures?)\b"
    r"|\b(?:changed|updated|corrected|adjusted|edited|adapted|rewrote|relaxed|skipped|removed|deleted) "
    r"(?:only )?(?:the |a |its |that |this )?(?:[\w`-]{1,40} ){0,2}`?tests?(?:_\w{1,60})?\b|\bonly (?:the )?tests?\b"
    r"|期待値|期待する値|アサー|テスト(?:の|が|は|側)[^。\n]{0,24}(?:間違|誤|古|変更|修正|書き換え)"
    r"|(?:テスト|test_\w{1,60}`?) ?を[^。\n]{0,24}(?:変更し|書き換え|更新し|合わせ|緩め)"
    r"|(?:テスト|test_\w{1,60}`?)[^。\n]{0,12}(?:スキップ|expectedFailure)|テストだけ|テストのみ"
)
_LIST_LINE = late_pattern(r"^[ \t]*(?:\d{1,2}[.)、．]|[-*•・])[ \t]*\S", re.MULTILINE)


def says_tests_pass(answer: str) -> bool:
    """Return whether it claims that tests passed; not that they would, or did not."""
    if answer.isascii() and not has_any(answer, ("pass", "succeed", "green")):
        return False
    return any(
        (re.search(_PASSED, said) or search_ja(_PASSED_JA, said))
        and not re.search(_NOT_SAID, said)
        and not re.search(_ALL_BUT, said)
        and not any(some != all_of_them for some, all_of_them in re.findall(_SOME_OF, said))
        for said in sentences_in(answer)
    )


_ALL_JA = (
    r"(?:\d{1,6} ?件|テスト)[^。、\n\d]{0,6}(?:とも|すべて|全て|全部)[^。、\n]{0,6}"
    r"(?:(?:成功|合格|パス|通過)(?:し(?:ました|ています|ている)|です|。|$)|通(?:りました|ります|っています|っている))"
)


def says_all_pass(answer: str) -> bool:
    """Return whether it claims, where tests were run, that all of them passed: 6件すべて成功しました."""
    said = sentences_in(answer)
    return says_tests_pass(answer) or any(search_ja(_ALL_JA, one) and not re.search(_NOT_SAID, one) for one in said)


def says_changed(answer: str) -> bool:
    """Return whether it claims that something was changed, or all is done."""
    return any(
        (re.search(_CHANGED, said) or search_ja(f"{_CHANGED_JA}|{_CHANGED_TO_JA}", said))
        and not said.endswith(("?", "？"))
        for said in sentences_in(answer)
    )


def says_committed(answer: str) -> bool:
    """Return whether it claims that something was committed."""
    return any(
        (re.search(_COMMITTED, said) or search_ja(_COMMITTED_JA, said)) and not re.search(_UNCOMMITTED, said)
        for said in (sentences_in(answer) if speaks_of_commit(answer) else ())
    )


def speaks_of_commit(answer: str) -> bool:
    """Return whether it speaks of commits at all."""
    return has_any(answer, ("commit", "コミット"))


def speaks_of_tests(text: str) -> bool:
    """Return whether it speaks of tests at all."""
    return has_any(text, ("test", "テスト"))


def claims_own_change(answer: str) -> bool:
    """Return whether it claims that its author has changed something, other than a text that follows."""
    return any(
        (re.search(_CHANGED_BY_ME, said) or search_ja(_CHANGED_JA, said)) and not said.endswith((":", "："))
        for said in sentences_in(answer)
    )


def admits_failure(answer: str) -> bool:
    """Return whether it admits that something could not be done."""
    text = ends_of(answer)
    return bool(re.search(_ADMITTED, text)) or search_ja(_ADMITTED_JA, _without_others(text))


def _without_others(text: str) -> str:
    """Return the text without what it says of the rest, that it was kept."""
    return text if text.isascii() else re.sub(_OTHERS_KEPT_JA, " ", text)


def admits_refusal(answer: str) -> bool:
    """Return whether it says that something was not permitted."""
    return bool(re.search(_REFUSED, ends_of(answer)))


def needs_nothing(answer: str) -> bool:
    """Return whether it says that no change is needed, or its target does not exist."""
    return bool(re.search(_NOTHING_NEEDED, ends_of(answer)))


def finds_none(answer: str, request: str) -> bool:
    """Return whether it says that there is nothing of what the request wants taken away or mended, that all of it is
    fine, or that all was left as it is."""
    lacks = re.search(_IS_LACKING, request)
    may_go = re.search(_TAKES_AWAY, request) and not lacks
    request = request.casefold()
    for said in map(_without_others, sentences_in(answer)):
        words = [word for match in re.finditer(_ALL_FINE, said) for word in _WORD.findall(match["what"])]
        if not lacks:
            words += [word for match in re.finditer(_NOT_FOUND, said) for word in _WORD.findall(match["what"])]
        if may_go:
            words += [_WORD.findall(match["what"])[-1] for match in re.finditer(_NONE_OF, said)]
            words += [match["what"] for match in re.finditer(_NOT_WRONG, said)]
        if re.search(_LEFT_AS_IS, said) or any(_is_in(request, word.casefold()) for word in words):
            return True
        if (
            may_go
            and not said.isascii()
            and any(
                match["what"].casefold()[: _STEM if match["what"].isascii() else 2] in request
                for match in re.finditer(_NONE_OF_JA, said)
            )
        ):
            return True
    return False


def _is_in(request: str, word: str) -> bool:
    """Return whether a request has a word, perhaps in another form: typo, typos; crash, crashes."""
    return len(word) > 2 and word not in _NO_NOUNS and bool(re.search(rf"\b{re.escape(word[:_STEM])}", request))


_WORD = late_pattern(r"[\w'-]+")
_STEM = 5
"""Characters of a word that its other forms share."""
_NO_NOUNS = frozenset({"the", "was", "were", "are", "and", "for", "from", "with", "that", "this", "any", "been", "did"})


def says_reverted(answer: str) -> bool:
    """Return whether it says that something is again as it was before."""
    return bool(re.search(_REVERTED, ends_of(answer)))


def admits_failing_tests(answer: str) -> bool:
    """Return whether it says that tests currently fail."""
    said = [one for one in sentences_in(answer) if not re.search(_FIXED_TEST, one)]
    if any(re.search(_OLD_FAILURE, re.sub(_NO_FAILURE, " ", one)) or re.search(_ALL_BUT, one) for one in said):
        return True
    if says_tests_pass(answer):
        from localllm.agent.phrases.admitted_failures import states_failing_test  # few answers are of both

        return states_failing_test(answer)
    return admits_failure(answer) or any(re.search(_STILL_FAILS, one) for one in said)


_OPEN = r"(?i)\b(?:remain\w*|still|left|only|except|apart|besides)\b|残[るりっ]|まだ|だけ[がは]|のみ|以外"


def names_as_open(answer: str, tests: Collection[str]) -> bool:
    """Return whether it names one of the tests as what is left, in whatever words."""
    said = [one for one in sentences_in(answer) if re.search(_OPEN, one) and not re.search(_FIXED_TEST, one)]
    return any(re.search(rf"(?<!\w){re.escape(test)}(?!\w)", one) for test in tests for one in said)


def says_it_raises(answer: str) -> bool:
    """Return whether it says that something ends by an error."""
    return bool(re.search(_RAISES, ends_of(answer)))


def says_test_was_changed(answer: str, names: Collection[str]) -> bool:
    """Return whether it says that what a test expects was changed, or names one of the files of tests."""
    text = ends_of(answer)
    return any(name in text for name in names) or bool(re.search(_TEST_CHANGED, text))


def admits_not_run(answer: str) -> bool:
    """Return whether it says that the change was not tested."""
    return bool(re.search(_NOT_RUN, ends_of(answer)))


def admits_no_tests(answer: str) -> bool:
    """Return whether it says that there is no test, or that those there are were skipped."""
    return bool(re.search(_NO_TESTS, ends_of(answer)))


def asks_about_file(answer: str, request: str, changed: Collection[str]) -> str:
    """Return the file an answer's final question is about, if the request named it and it is unchanged. Else ""."""
    if not asks_for_change(request) or not asks_user(answer):
        return ""
    asked = _FILE.findall(sentences_in(answer)[-1].replace("`", " "))
    wanted = set(_FILE.findall(request))
    done = {path.rpartition("/")[2] for path in changed}
    return next((path for path in asked if path in wanted and path.rpartition("/")[2] not in done), "")


_FILE_PATTERN = r"[\w./-]{0,200}[\w-]\.[A-Za-z]\w{0,9}\b"
_FILE = late_pattern(_FILE_PATTERN, re.ASCII)


def named_files(text: str) -> list[str]:
    """Return what in a text looks like the path of a file."""
    return list(dict.fromkeys(_FILE.findall(text)))


def named_paths(answer: str) -> list[str]:
    """Return the paths of files in folders that it takes for there: not in code, nor where it says that a file is
    missing or is to be made."""
    said = [one for one in sentences_in(answer) if "/" in one and not re.search(_NOT_THERE, one)]
    found = (path for one in said for path in _FILE.findall(one))
    return [path for path in dict.fromkeys(found) if "/" in path and path[0] not in "./"]


def named_lines(answer: str) -> list[tuple[str, int]]:
    """Return the lines of files that an answer refers to, each with the path: the last of several."""
    found = (match for one in sentences_in(answer) for match in _LINE.finditer(one))
    return list(dict.fromkeys((one["path"], int(one["last"] or one["first"])) for one in found))


_LINE = late_pattern(
    rf"(?P<path>{_FILE_PATTERN})(?::|#)L?(?P<first>\d{{1,7}})(?:[-–]L?(?P<last>\d{{1,7}}))?(?![\w:]|\.\w)", re.ASCII
)

_NOT_THERE = (
    r"(?i)\b(?:no|not|never|neither|nor|missing|absent|creat\w*|add|new|propos\w*|suggest\w*|would|could|should"
    r"|mov(?:e|es|ed|ing)|renam\w*|delet\w*|remov\w*|e\.g|example|like)\b|n't\b"
    r"|ません|ない|無い|作成|作っ|追加|新規|新しい|提案|移動|改名|リネーム|削除|例えば|たとえば|など"
)


def asks_user(answer: str) -> bool:
    """Return whether it ends with a question, or a request for information."""
    said = sentences_in(answer)
    return bool(said) and bool(re.search(_QUESTION, said[-1]))


def wants_input(answer: str) -> bool:
    """Return whether it asks for something to be pasted, or claims it cannot see the files."""
    answer = ends_of(answer)
    may_want = not answer.isascii() or has_any(answer, _WANTS_BEGINS)
    return may_want and bool(re.search(_WANTS_INPUT, answer))


def is_plan(answer: str) -> bool:
    """Return whether it lists planned steps."""
    return len(_LIST_LINE.findall(answer)) > 1 and bool(re.search(_PLAN, ends_of(answer)))
