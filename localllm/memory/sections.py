"""The sections of LOCALLLM.md that we keep, and how their headings are recognised, in English and Japanese."""

import re
import unicodedata
from typing import Literal

from localllm.base.i18n.messages import MESSAGES

SectionKind = Literal["dna", "folders", "style", "todo", "decisions", "preferences", "sessions"]
Language = Literal["en", "ja"]

KINDS: tuple[SectionKind, ...] = ("dna", "folders", "style", "todo", "decisions", "preferences", "sessions")
"""In the order in which they stand in a file of our own making."""

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
_KIND_OF: dict[str, SectionKind] = {name: kind for kind, names in _VARIANTS.items() for name in names.split("|")}

_LONGEST = 200  # characters of a heading that can be one of ours
_BESIDE = re.compile(r"\{[^{}]*\}\W*$|<[^<>]*>|\[\^[^\[\]]*\]")  # {#id}, <a name="id"></a>, [^1]
_AROUND = re.compile(r"^[\W_\d]+|[\W_]+$")
_IN_BRACKETS = re.compile(r"\s*\([^()]*\)\W*$")
JAPANESE = re.compile("[\u3041-\u30ff\u4e00-\u9fff]")


def kind_of(title: str) -> SectionKind | None:
    """Which section a heading begins. Case, full width, numbers, emoji, emphasis, links, anchors, a colon and words in
    brackets at the end make no difference."""
    if len(title) > _LONGEST:
        return None
    plain = " ".join(unicodedata.normalize("NFKC", _BESIDE.sub("", title)).casefold().split())
    for candidate in (plain, _IN_BRACKETS.sub("", plain)):
        if kind := _KIND_OF.get(_AROUND.sub("", candidate)):
            return kind
    return None


def heading(kind: SectionKind, language: Language) -> str:
    """The title we give a section."""
    return in_language(f"notes.{kind}", language)


def in_language(key: str, language: Language) -> str:
    """A message of the catalogue in the language of a file, whatever language the program speaks."""
    return MESSAGES[key][language == "ja"]
