"""What a collection holds, said by rule."""

import msgspec

from localllm.rag.description import Contents
from localllm.rag.store import Payload


def payload(text: str, *headings: str, file: str = "docs/a.md") -> Payload:
    return Payload(path=f"/{file}", file=file, hash="", number=0, text=text, headings=headings)


def test_the_titles_most_passages_stand_under_and_words_that_tell_them_apart() -> None:
    contents = Contents()
    contents.note(payload("The warranty of the turbine is about which all ask.", "Manual", "Care") for _ in range(3))
    contents.note(payload(f"Something common, number {n}.", "Manual", "Numbers") for n in range(40))
    said = contents.described()
    assert said.startswith("Manual; Numbers; Care (")
    assert "turbine" in said
    assert "warranty" in said
    assert "which" not in said
    assert "common" not in said
    assert "- Manual\n- Numbers\n- Care" in contents.listed()


def test_japanese_words_and_names_of_files_without_titles() -> None:
    contents = Contents()
    contents.note([payload("有給休暇は入社から半年後に付与する。", file="人事/就業規則.txt")])
    assert contents.described().startswith("就業規則 (")
    assert "有給休暇" in contents.described()


def test_of_nothing_nothing_is_said() -> None:
    assert Contents().described() == ""


def test_what_is_in_titles_cannot_act_and_is_short() -> None:
    contents = Contents()
    contents.note([payload("x", "a\x1b[2J\nb" + "long " * 90)])
    assert "\x1b" not in contents.described()
    assert "\n" not in contents.described()
    assert len(contents.described()) < 60


def test_titles_that_differ_by_a_number_leave_room_for_others() -> None:
    contents = Contents()
    contents.note(payload("x", f"Note {n}") for n in range(18))
    contents.note(payload("x", title) for title in ("旅費規程", "Importer 3.1 Manual", "Budget 2025", "Budget 2026"))
    assert contents.described() == "Note 0-17; 旅費規程; Importer 3.1 Manual; Budget 2025; Budget 2026"


def test_a_series_of_titles_is_named_to_its_end() -> None:
    contents = Contents()
    contents.note(payload("x", f"Note {n}") for n in range(2_000))
    assert contents.described() == "Note 0-1999"


def test_a_table_is_named_by_its_file_and_not_by_the_first_values_of_its_rows() -> None:
    contents = Contents()
    row = payload("x", "佐藤", file="leave.csv")
    contents.note([msgspec.structs.replace(row, kind="row", headings=(name,)) for name in ("佐藤", "Lee", "Ann Lee")])
    contents.note([msgspec.structs.replace(row, kind="row", file="b.xlsx", sheet="May", headings=("May", "Sato"))])
    contents.note([payload("x", "API limits")])
    assert contents.described() == "leave; b; May; API limits"
    contents = Contents()
    asked = "How do I reset it?"
    contents.note([msgspec.structs.replace(row, kind="row", file="faq.csv", headings=(asked,))])
    assert contents.described() == asked
