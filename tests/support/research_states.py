"""States of research runs as they are before their report: one told by hand in each language, and random ones."""

import random

from localllm.research.records import (
    Brief,
    Claim,
    Disagreement,
    Evidence,
    Label,
    Numbers,
    Remark,
    ResearchState,
    Section,
    Sentence,
    Side,
    Source,
    Unsupported,
    Verdict,
)

TEXTS = {
    "en": {
        "question": "When did the Kita tower open, and how tall is it?",
        "title": "The Kita tower",
        "needs": ("opening date", "height", "visitors"),
        "headings": ("Opening", "Height"),
        "pages": ("The Kita tower: history", "Kita in numbers", "A guide to towers", "A copy of the history"),
        "evidence": (
            "The Kita tower opened in May 1998. It had been planned since 1989.",
            "Opened in 1998, the tower stands 120 metres high.",
            "The tower is 118 metres tall & <b>made of steel</b>.",
        ),
        "sentences": (
            "The tower opened in May 1998.",
            "It had been planned since 1989.",
            "It is 120 metres tall.",
            "It is made of *steel* [only].",
            "Its name means north.",
        ),
        "false": "The tower is painted red.",
        "about": "the height of the tower",
        "sides": ("It is 120 metres tall.", "It is 118 metres tall."),
    },
    "ja": {
        "question": "北塔はいつ開業し、高さはどれだけか。",
        "title": "北塔について",
        "needs": ("開業日", "高さ", "来場者数"),
        "headings": ("開業", "高さ"),
        "pages": ("北塔の歴史", "数字で見る北塔", "塔の案内", "歴史の写し"),
        "evidence": (
            "北塔は1998年5月に開業した。計画は1989年に始まった。",
            "1998年に開業した塔の高さは120メートルである。",
            "塔の高さは118メートルで<b>鉄製</b>である。",
        ),
        "sentences": (
            "北塔は1998年5月に開業した。",
            "計画は1989年に始まった。",
            "高さは120メートルである。",
            "材料は*鉄*のみ［だけ］である。",
            "名前は北を意味する。",
        ),
        "false": "塔は赤く塗られている。",
        "about": "塔の高さ",
        "sides": ("高さは120メートルである。", "高さは118メートルである。"),
    },
}


def told_state(language: str = "en", *, checked: bool = True) -> ResearchState:
    """A finished run about a tower: supported, partial and unchecked sentences, a disagreement, what was taken out."""
    texts = TEXTS[language]
    first, second, third = texts["evidence"]
    urls = (
        "https://a.example/tower",
        "https://b.example/kita?x=1&y=2",
        "https://c.example/塔",
        "https://d.example/copy",
    )
    sources = [
        Source(
            id=f"S{number}",
            url=url,
            title=title,
            site=url.split("/")[2],
            state="read",
            accessed=f"2026-11-2{number}T08:00:00+09:00",
            text_hash=f"hash{number}",
            copy_of="S1" if number == 4 else "",
        )
        for number, (url, title) in enumerate(zip(urls, texts["pages"], strict=True), 1)
    ]
    evidence = [
        Evidence("E1", "S1", 0, len(first), first),
        Evidence("E2", "S2", 0, len(second), second),
        Evidence("E3", "S3", 0, len(third), third),
        Evidence("E4", "S4", 0, len(first), first),
    ]
    said = texts["sentences"]
    sections = [
        Section(
            texts["headings"][0],
            ("E1", "E4", "E2"),
            (
                Sentence("T1", said[0], ("E1", "E2"), frozen=checked),
                Sentence("T2", said[1], ("E4",), frozen=checked),
            ),
        ),
        Section(
            texts["headings"][1],
            ("E2", "E3"),
            (
                Sentence("T3", said[2], ("E2",), frozen=checked),
                Sentence("T4", said[3], ("E3",), begins="item"),
                Sentence("T5", said[4], ("E3", "E2"), begins="item"),
            ),
        ),
    ]
    claims = [
        _claim("C1", "T1", said[0], "supported", "E1", first.split(". ")[0].split("。")[0]),
        _claim("C2", "T2", said[1], "supported", "E4"),
        _claim("C3", "T3", said[2], "supported", "E2"),
        _claim("C4", "T4", said[3], "partial", "E3"),
        Claim("C5", "T5", said[4], ("E3", "E2")),
    ]
    return ResearchState(
        id="2026-0007",
        question=texts["question"],
        today="2026-11-24",
        language=language,
        started="2026-11-24T10:00:00+09:00",
        finished="2026-11-24T10:20:00+09:00",
        model="played",
        next="done",
        brief=Brief(texts["question"], language, texts["needs"]),
        sources=sources,
        evidence=evidence,
        title=texts["title"],
        sections=sections,
        claims=claims if checked else [],
        disagreements=[
            Disagreement(texts["about"], (Side(texts["sides"][0], ("E2",)), Side(texts["sides"][1], ("E3",))))
        ],
        unanswered=[texts["needs"][2]],
        unsupported=[Unsupported(texts["false"], "not_found", None, ("E1",))] if checked else [],
        remarks=[
            Remark(
                "Only one source could be read; {least} were wanted.",
                {"count": 2, "least": 3},
                "Only {count} sources could be read; {least} were wanted.",
            ),
        ],
        numbers=Numbers(loops=2, requests=31, tokens=42_000, searches=4, pages=4, claims_checked=5, claims_dropped=1),
    )


def _claim(name: str, sentence: str, text: str, label: Label, evidence: str, quote: str = "") -> Claim:
    return Claim(name, sentence, text, (evidence,), Verdict(label, "model", None, quote, evidence))


def random_state(seed: int) -> ResearchState:
    """A state with whatever a run may leave behind: ids that lead nowhere, doubled addresses, marks in texts."""
    chance = random.Random(seed)
    addresses = [
        "https://a.example/1",
        "https://b.example/2",
        "javascript:alert(1)",
        "/home/me/notes.md",
        "https://c.example/",
    ]
    sources = [
        Source(id=f"S{number}", url=chance.choice(addresses), title=chance.choice(["A title", "", "[7] Odd\n> title"]))
        for number in range(1, chance.randint(1, 7))
    ]
    evidence = [
        Evidence(
            f"E{number}",
            f"S{chance.randint(1, 8)}",
            0,
            9,
            chance.choice(["It is so [12].", "そうである【3】。", "<i>x</i> & y"]),
        )
        for number in range(1, chance.randint(1, 12))
    ]
    ids = [f"E{number}" for number in range(1, 15)]
    texts = [
        "It is so [1].",
        "As [3, 4] says (E2).",
        "そうである［99］。",
        "See https://evil.example/[5] now.",
        "# Not [a](b) heading",
        "",
    ]
    labels: list[Label] = ["supported", "partial", "contradicted", "not_found", "not_verified"]
    sections: list[Section] = []
    claims: list[Claim] = []
    number = 0
    for _section in range(chance.randint(0, 4)):
        sentences: list[Sentence] = []
        for _sentence in range(chance.randint(0, 5)):
            number += 1
            cited = tuple(chance.sample(ids, chance.randint(0, 3)))
            begins = chance.choice(("", "paragraph", "item"))
            sentences.append(Sentence(f"T{number}", chance.choice(texts), cited, begins=begins))  # type: ignore[arg-type]
            for _claim_of in range(chance.randint(0, 2)):
                verdict = chance.choice([None, Verdict(chance.choice(labels), "model", None, "so", chance.choice(ids))])
                claims.append(Claim(f"C{len(claims) + 1}", f"T{number}", chance.choice(texts) or "It.", cited, verdict))
        sections.append(Section(chance.choice(["Heading [2]", "見出し", ""]), tuple(ids), tuple(sentences)))
    sides = tuple(Side(chance.choice(texts), tuple(chance.sample(ids, 2))) for _side in range(3))
    return ResearchState(
        id="2026-0001",
        question="What is so [6]?",
        today="2026-11-24",
        language=chance.choice(["en", "ja"]),
        title=chance.choice(["Title [8]", ""]),
        sources=sources,
        evidence=evidence,
        sections=sections,
        claims=claims,
        disagreements=[Disagreement("what [9]", sides)] if chance.random() < 0.5 else [],
        unanswered=["the rest [10]"] if chance.random() < 0.5 else [],
        unsupported=[Unsupported("It is [11].", "not_found", None, tuple(chance.sample(ids, 2)))],
        remarks=[Remark("The web is off.")],
    )
