"""A project of which nothing is remembered, for chats that are made up."""

from collections.abc import Sequence

from localllm.llm.model_profiles import Profile
from localllm.memory.session_plan import SessionPlan
from localllm.memory.todos import Todo
from localllm.project.instructions import Instructions


class Forgetful:
    """What a chat's `memory` is where there is no file, and none is ever made."""

    name = "LOCALLLM.md"
    is_there = False
    version = 0

    plan = SessionPlan()

    def open_todos(self) -> Sequence[Todo]:
        return ()

    def known_todos(self) -> Sequence[Todo]:
        return ()

    def known_entries(self) -> Sequence[tuple[str, str, str]]:
        return ()

    def instructions(self, profile: Profile) -> tuple[Sequence[Instructions], bool]:
        return (), False
