"""The tests' web as data: pages, planted true facts, contradictions, lies and the questions they belong to.

`load()` reads `topics/*.toml`, `fillers.toml` and `specials.toml`; what they hold is described in README.md.
"""

import re
import tomllib
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Literal

HERE = Path(__file__).parent

Language = Literal["en", "ja"]

REASONS = {
    "number": "a number of the claim does not stand in the cited text",
    "unit": "the unit of a number differs",
    "date": "a date or year of the claim does not stand in the cited text",
    "negation": "one of the two is negated",
    "direction": "a word of direction is its opposite; the numbers may agree, only a reader of sense sees it for sure",
    "paraphrase": "the topic fits and no number is named; only a reader of sense sees that the page does not say it",
    "quote": "the quoted sentence stands nowhere in the page",
    "mirror": "the altered copy itself says so; only the original shows it",
    "elsewhere": "the cited page holds none of the claim's numbers or names",
}


@dataclass(frozen=True)
class Page:
    """One page: `text` is its visible main text, as paragraphs; `indexed` what the search knows of it."""

    id: str
    url: str
    title: str
    text: str
    language: Language
    topic: str = ""
    form: str = "html"
    hide: str = ""
    hidden: str = ""
    copy_of: str = ""
    altered: bool = False
    only_for: tuple[str, ...] = ()
    """Found only by a query that has one of these words."""
    status: int = 200
    to: str = ""
    hang: float = 0.0

    @property
    def host(self) -> str:
        return self.url.split("/")[2]

    @property
    def path(self) -> str:
        return "/" + self.url.split("/", 3)[3]


@dataclass(frozen=True)
class Fact:
    """Something a page says. `of` names the fact that it contradicts; only conflicts have it."""

    id: str
    topic: str
    page: str
    sentence: str
    en: str
    ja: str
    of: str = ""
    about: str = ""

    def claim(self, language: str) -> str:
        return self.ja if language == "ja" else self.en


@dataclass(frozen=True)
class Lie:
    """A false claim, the page it cites, and the fact it distorts. `quote`: the sentence it pretends to cite.

    `said` is what the page itself has for it: the sentence of an altered copy, the instruction of a hostile page.
    """

    id: str
    topic: str
    kind: str
    text: str
    page: str
    fact: str
    why: str
    quote: str = ""
    said: str = ""

    @property
    def reason(self) -> str:
        return REASONS[self.why]


@dataclass(frozen=True)
class Need:
    """A part of an answer; without facts no page answers it."""

    text: str
    facts: tuple[str, ...]


@dataclass(frozen=True)
class Question:
    """A question; `gap` is the need that only `gap_query` answers (from `gap_page`, or never where that is empty);
    `contradiction` are the ids of a fact and of what contradicts it."""

    id: str
    language: Language
    text: str
    queries: tuple[str, ...]
    needs: tuple[Need, ...]
    gap: str
    gap_query: str
    gap_page: str
    contradiction: tuple[str, str]


@dataclass(frozen=True)
class Dataset:
    pages: dict[str, Page]
    facts: dict[str, Fact]
    conflicts: dict[str, Fact]
    lies: dict[str, Lie]
    questions: dict[str, Question]
    robots: dict[str, str]

    @property
    def statements(self) -> dict[str, Fact]:
        """Everything that is said truly on some page: facts and what contradicts them."""
        return self.facts | self.conflicts

    def page_at(self, url: str) -> Page | None:
        return self._by_url.get(url)

    _by_url: dict[str, Page] = field(default_factory=dict[str, Page], repr=False)


@cache
def load() -> Dataset:
    """Read all data files. The result is shared: nothing of it may be changed."""
    fillers = tomllib.loads((HERE / "fillers.toml").read_text("utf-8"))
    data = Dataset({}, {}, {}, {}, {}, {})
    for number, file in enumerate(sorted((HERE / "topics").glob("*.toml"))):
        _add_topic(data, file.stem, tomllib.loads(file.read_text("utf-8")), fillers, number)
    _add_derived_lies(data)
    specials = tomllib.loads((HERE / "specials.toml").read_text("utf-8"))
    for number, entry in enumerate(specials["answers"]):
        page = _special(f"special-{number}", entry)
        data.pages[page.id] = page
    data.robots.update(specials["robots"])
    data._by_url.update({page.url: page for page in data.pages.values()})
    return data


def _add_topic(data: Dataset, topic: str, entry: dict[str, Any], fillers: dict[str, list[str]], number: int) -> None:
    language: Language = entry["language"]
    made = {
        fact["id"]: Fact(
            f"{topic}-{fact['id']}", topic, f"{topic}-{fact['page']}", fact["sentence"], fact["en"], fact["ja"]
        )
        for fact in entry["facts"]
    }
    against = {
        one["id"]: Fact(
            f"{topic}-{one['id']}",
            topic,
            f"{topic}-{one['page']}",
            one["sentence"],
            one["en"],
            one["ja"],
            f"{topic}-{one['of']}",
            one["about"],
        )
        for one in entry["conflicts"]
    }
    data.facts.update({fact.id: fact for fact in made.values()})
    data.conflicts.update({fact.id: fact for fact in against.values()})
    sentences = {key: fact.sentence for key, fact in (made | against).items()}
    for place, raw in enumerate(entry["pages"]):
        page = _page(
            data, topic, raw, language, sentences, _chosen(fillers[language], number * 5 + place * 3, language)
        )
        data.pages[page.id] = page
    for place, raw in enumerate(entry["lies"]):
        page = f"{topic}-{raw['page']}" if "page" in raw else made[raw["fact"]].page
        lie = Lie(
            f"{topic}-lie-{place}",
            topic,
            raw["kind"],
            raw["text"],
            page,
            f"{topic}-{raw['fact']}",
            raw["why"],
            raw.get("quote", ""),
            _said(raw, made, entry["pages"]),
        )
        data.lies[lie.id] = lie
    data.questions[topic] = _question(topic, language, entry)


def _said(lie: dict[str, Any], facts: dict[str, Fact], pages: list[dict[str, Any]]) -> str:
    """What the page of a lie says for it, where the page was altered or is hostile."""
    page = next((page for page in pages if page["id"] == lie.get("page")), {})
    if lie["kind"] == "hidden-instruction":
        return page["hidden"]
    if lie["kind"] != "altered-mirror":
        return ""
    sentence = facts[lie["fact"]].sentence
    for old, new in page["replace"]:
        sentence = sentence.replace(old, new)
    assert sentence != facts[lie["fact"]].sentence, f"the copy does not alter the sentence of {lie}"
    return sentence


def _question(topic: str, language: Language, entry: dict[str, Any]) -> Question:
    raw = entry["question"]
    needs = tuple(Need(need["text"], tuple(f"{topic}-{fact}" for fact in need["facts"])) for need in raw["needs"])
    against = raw["contradiction"]
    gap = raw["gap"]
    return Question(
        topic,
        language,
        raw["text"],
        tuple(raw["queries"]),
        needs,
        gap["need"],
        gap["query"],
        f"{topic}-{gap['page']}" if gap["page"] else "",
        (f"{topic}-{against['fact']}", f"{topic}-{against['conflict']}"),
    )


def _page(
    data: Dataset, topic: str, raw: dict[str, Any], language: Language, sentences: dict[str, str], filler: list[str]
) -> Page:
    page_id = f"{topic}-{raw['id']}"
    if "copy" in raw:
        original = data.pages[f"{topic}-{raw['copy']}"]
        title, text = original.title, original.text
        for old, new in raw.get("replace", ()):
            assert text.count(old) == 1, f"{page_id}: {old!r} is not in the original exactly once"
            text = text.replace(old, new)
    else:
        title = raw["title"]
        body = re.sub(r"\{(\w+)\}", lambda found: sentences[found[1]], raw["text"].strip())
        first, *rest = body.split("\n\n")
        text = "\n\n".join([first, filler[0], *rest, *filler[1:]])
    return Page(
        page_id,
        f"http://{raw['host']}{raw['path']}",
        title,
        text,
        language,
        topic,
        form=raw.get("form", "html"),
        hide=raw.get("hide", ""),
        hidden=raw.get("hidden", ""),
        copy_of=f"{topic}-{raw['copy']}" if "copy" in raw else "",
        altered="replace" in raw,
        only_for=tuple(raw.get("only_for", ())),
    )


def _chosen(pool: list[str], start: int, language: Language) -> list[str]:
    count = 2
    return [pool[(start + step * 5) % len(pool)] for step in range(count)]


def _special(page_id: str, entry: dict[str, Any]) -> Page:
    text = entry.get("text", "")
    japanese = bool(re.search(r"[ぁ-ん一-龥]", text))
    return Page(
        page_id,
        entry["url"],
        entry.get("title", ""),
        text,
        "ja" if japanese else "en",
        form=entry.get("form", "html"),
        status=entry.get("status", 200),
        to=entry.get("to", ""),
        hang=entry.get("hang", 0.0),
    )


def _add_derived_lies(data: Dataset) -> None:
    """True claims that cite the wrong page: another of their topic, and one that has nothing to do with it."""
    topics = list(data.questions)
    for place, topic in enumerate(topics):
        other = topics[(place + 3) % len(topics)]
        near, far = data.facts[f"{topic}-2"], data.facts[f"{topic}-7"]
        language = data.questions[topic].language
        for lie in (
            Lie(
                f"{topic}-lie-wrong-page", topic, "wrong-page", near.claim(language), f"{topic}-b", near.id, "elsewhere"
            ),
            Lie(f"{topic}-lie-unrelated", topic, "unrelated", far.claim(language), f"{other}-a", far.id, "elsewhere"),
        ):
            data.lies[lie.id] = lie


def squeezed(text: str) -> str:
    """A text for comparison: NFKC, without any white space."""
    return re.sub(r"\s+", "", unicodedata.normalize("NFKC", text))


def holds(text: str, sentence: str) -> bool:
    """Whether a sentence stands in a text, apart from white space and compatible characters."""
    return squeezed(sentence) in squeezed(text)


def verbatim(text: str, sentence: str) -> str:
    """The sentence as `text` writes it; empty where it is not there."""
    kept: list[tuple[str, int]] = []
    for place, sign in enumerate(text):
        kept += [(part, place) for part in unicodedata.normalize("NFKC", sign) if not part.isspace()]
    wanted = squeezed(sentence)
    start = "".join(sign for sign, _ in kept).find(wanted) if wanted else -1
    return text[kept[start][1] : kept[start + len(wanted) - 1][1] + 1] if start >= 0 else ""


def facts_in(text: str, among: Iterable[Fact]) -> list[Fact]:
    """The statements whose sentence stands in a text, in the order of the text."""
    whole = squeezed(text)
    found = [(whole.find(squeezed(fact.sentence)), fact) for fact in among]
    return [fact for place, fact in sorted(found, key=lambda pair: pair[0]) if place >= 0]
