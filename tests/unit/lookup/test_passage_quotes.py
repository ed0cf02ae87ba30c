"""What the embedded engine says to a question for the collections of documents."""

import pytest

from localllm.lookup.conversation import Call, Talk
from localllm.lookup.passage_quotes import is_asked, next_step
from localllm.rag.records import Hit, Place, Scores
from localllm.tools.frames import framed
from localllm.tools.knowledge import passages_text
from tests.support.each import each

OFFERED = frozenset({"search_rag_knowledge_base"})


def hit(file: str, text: str) -> Hit:
    return Hit(
        collection="manuals",
        file=file,
        path=f"/docs/{file}",
        headings=("Part",),
        place=Place("lines", 1, 3),
        text=text,
        scores=Scores(1.0),
    )


def answer(question: str, *hits: Hit) -> str:
    result = framed("document_passages", passages_text(hits, 8_000))
    call = Call("search_rag_knowledge_base", {"query": question}, result)
    step = next_step(Talk(question=question, calls=(call,), offered=OFFERED))
    assert isinstance(step, str)
    return step


@each(
    ("offered", "asked"),
    [
        ({"search_rag_knowledge_base"}, True),
        ({"search_rag_knowledge_base", "list_rag_collections"}, True),
        ({"search_rag_knowledge_base", "read_file"}, False),
        (set[str](), False),
    ],
)
def test_only_a_chat_without_other_tools_is_for_the_collections(offered: set[str], asked: bool) -> None:
    assert is_asked(Talk(question="who?", offered=frozenset(offered))) is asked


def test_the_last_step_has_no_tools_on_offer_and_is_known_by_its_calls() -> None:
    assert is_asked(Talk(question="who?", calls=(Call("search_rag_knowledge_base", {}, "No passage"),)))


def test_a_question_is_searched_for_in_its_own_words() -> None:
    step = next_step(Talk(question="How long is the warranty?", offered=OFFERED))
    assert step == (Call("search_rag_knowledge_base", {"query": "How long is the warranty?"}),)


@pytest.mark.parametrize(
    ("question", "text", "quoted"),
    [
        (
            "How long is the warranty of the pump?",
            "# Pump warranty\n\nThe pump is blue. The pump has a warranty of two years. Call us.",
            "- The pump has a warranty of two years. [a.md:1-3]",
        ),
        (
            "保証期間はどのくらいですか",
            "## 保証期間\n\nポンプは青い。保証期間は二年です。連絡してください。",
            "- 保証期間は二年です。 [a.md:1-3]",
        ),
        ("pump?", "# Pump", "- # Pump [a.md:1-3]"),
        ("unrelated?", "First line. Second line.", "- First line. [a.md:1-3]"),
    ],
)
def test_the_sentences_that_share_the_words_are_quoted_with_their_reference(
    question: str, text: str, quoted: str
) -> None:
    assert answer(question, hit("a.md", text)).splitlines()[2:] == [quoted]


def test_the_first_passage_gets_most_room() -> None:
    text = "The pump leaks. The pump stops. The pump hums. The pump heats."
    lines = answer("Why does the pump fail?", *(hit(f"{name}.md", text) for name in "abcd")).splitlines()[2:]
    assert [line.rpartition(" [")[2] for line in lines] == ["a.md:1-3]"] * 3 + ["b.md:1-3]", "c.md:1-3]"]


@each(
    ("result", "said"),
    [
        ("No passage of the collections clearly answers it.\nCollections: manuals", "I found no passage"),
        ("Nothing about it in the collection a. There are passages in: b.", "I found no passage"),
        ("E8404 The query has no words to search for.\nmore", "E8404 The query has no words to search for."),
    ],
)
def test_where_nothing_is_found_or_the_search_fails(result: str, said: str) -> None:
    step = next_step(Talk(question="who?", calls=(Call("search_rag_knowledge_base", {}, result),), offered=OFFERED))
    assert isinstance(step, str)
    assert step.startswith(said)
    assert "\n" not in step


def test_a_remark_of_the_program_is_not_searched_for() -> None:
    step = next_step(Talk(question="[You have searched nothing yet. Search first.]", offered=OFFERED))
    assert isinstance(step, str)
    assert step.startswith("I found no passage")


def test_a_sentence_is_quoted_for_each_thing_that_is_asked() -> None:
    text = "Staff may work from home two days a week.\nA laptop has a number.\nHotels are reimbursed up to 120 euros."
    said = answer("How much is reimbursed for a hotel, and how many days may I work from home?", hit("rules.md", text))
    assert "120 euros" in said
    assert "two days a week" in said
    assert "laptop" not in said
