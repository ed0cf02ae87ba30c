"""Define the managed sections of LOCALLLM.md, and recognise their headings in English and Japanese."""

import re
import unicodedata
from functools import cache
from typing import Literal

from localllm.memory.document_texts import Language, in_language

SectionKind = Literal["dna", "folders", "style", "todo", "decisions", "preferences", "sessions"]

KINDS: tuple[SectionKind, ...] = ("dna", "folders", "style", "todo", "decisions", "preferences", "sessions")
"""In the order of a generated file."""

_VARIANTS: dict[SectionKind, str] = {
    "dna": "project dna|dna|project overview|プロジェクトdna|プロジェクト概要|プロジェクトの概要",
    "folders": "directory structure|folder structure|project structure|directory layout|project layout"
    "|ディレクトリ構造|ディレクトリ構成|フォルダ構造|フォルダ構成|フォルダー構造|フォルダー構成",
    "style": "coding style|code style|coding conventions|coding standards|style guide"
    "|コーディングスタイル|コーディング規約|コーディングルール|コーディング規則",
    "todo": "todo|todos|to do|to-do|to-dos|todo list|to-do list|todo history|tasks|task list|open tasks"
    "|todo履歴|todo一覧|todoリスト|やること|やることリスト|タスク|タスク一覧|タスクリスト|作業一覧",
    "decisions": "decisions|decision|decision log|decision record|decision records|key decisions|design decisions"
    "|決定事項|決定|決定記録|決定履歴|決めたこと|設計判断|判断の記録",
    "preferences": "preferences|preference|user preferences|my preferences|好みと方針|好み|ユーザー設定|ユーザーの好み",
    "sessions": "session records|session record|session log|session logs|session history"
    "|セッション記録|セッション履歴|セッションログ",
}
_WITH: dict[SectionKind, str] = {
    "decisions": "reasons?|reasoning|rationales?|why|background|context|consequences|trade-?offs|alternatives|notes"
    "|conventions|principles|choices|理由|背景|経緯|根拠|意図|方針|メモ",
    "preferences": "conventions|rules|style|habits|notes|guidelines|policies|principles|方針|ルール|約束|決まり|メモ",
    "todo": "ideas|plans?|notes|next steps|backlog|roadmap|done|finished|メモ|予定|計画|課題|アイデア|完了",
    "sessions": "notes|summaries|メモ|要約",
}
"""Words accepted beside the name of a section, after “and”: other words would claim unrelated sections."""

_AND = r"\s*(?:&|\+|/|,|、|・|\band\b|\bwith\b|と|や|および|及び)\s*(?:(?:the|our|their|its|その|それらの)\s*)?"
_SO_FAR = r"(?: (?:we |i )?(?:made|taken|reached))?(?: so far| to date)?"
_OF = r"(?:(?:our|my|the|project|technical|architecture|architectural|important|main) )*|(?:主な|重要な|これまでの)?"
_KIND_OF: dict[str, SectionKind] = {name: kind for kind, names in _VARIANTS.items() for name in names.split("|")}

_LONGEST = 200  # maximum characters of a managed heading
_BESIDE = re.compile(r"\{[^{}]*\}\W*$|<[^<>]*>|\[\^[^\[\]]*\]")  # {#id}, <a name="id"></a>, [^1]
_AROUND = re.compile(r"^[\W_\d]+|[\W_]+$")
_IN_BRACKETS = re.compile(r"\s*\([^()]*\)\W*$")
JAPANESE = re.compile("[\u3041-\u30ff\u4e00-\u9fff]")


def kind_of(title: str) -> SectionKind | None:
    """Return the kind of section that a heading begins, None if it is not managed.
    Ignores case, width, numbers, emoji, emphasis, links, anchors, a colon, final words in brackets, and common
    additions: “Decisions and why”."""
    if len(title) > _LONGEST:
        return None
    plain = _plain(title)
    return _kind_named(plain) or _kind_of_longer(_AROUND.sub("", _IN_BRACKETS.sub("", plain)))


def is_name(title: str) -> bool:
    """Return whether a managed heading is only the section's name: not “Decisions and why”."""
    return len(title) <= _LONGEST and _kind_named(_plain(title)) is not None


def _plain(title: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", _BESIDE.sub("", title)).casefold().split())


def _kind_named(plain: str) -> SectionKind | None:
    for candidate in (plain, _IN_BRACKETS.sub("", plain)):
        if kind := _KIND_OF.get(_AROUND.sub("", candidate)):
            return kind
    return None


def _kind_of_longer(bare: str) -> SectionKind | None:
    for kind in _WITH:
        if _longer(kind).fullmatch(bare):
            return kind
    return None


@cache
def _longer(kind: SectionKind) -> re.Pattern[str]:
    """Return the pattern of headings with more than the section's name."""
    name = "|".join(map(re.escape, sorted(_VARIANTS[kind].split("|"), key=len, reverse=True)))
    of, end, why = (_OF, _SO_FAR, r"|why\b.*") if kind == "decisions" else ("", "", "")
    return re.compile(rf"(?:{of})(?:{name}){end}(?:{_AND}(?:{_WITH[kind]}{why}))*")


def heading(kind: SectionKind, language: Language) -> str:
    """Return the title written for a section."""
    return in_language(kind, language)
