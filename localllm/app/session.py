"""One session in a project: its agent and tools, its log, and its checkpoints."""

import asyncio
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

import msgspec

from localllm.agent.checkpoints import Checkpoints
from localllm.agent.compaction import Surroundings
from localllm.agent.history import History
from localllm.agent.memory_editor import Remembering
from localllm.agent.plan_mode import PlanMode
from localllm.agent.prohibitions import bans_after, heard_part
from localllm.agent.react_agent import ReActAgent
from localllm.agent.steering import unforged
from localllm.agent.system_prompt import Briefing, system_prompt
from localllm.app.open_project import OpenProject, named_paths
from localllm.app.session_collections import SessionCollections
from localllm.app.session_recorder import Recorder
from localllm.app.todo_sync import TodoNews
from localllm.base import logs
from localllm.base.errors import LocalLLMError
from localllm.base.events import (
    AgentEvent,
    Compacted,
    Consulted,
    Delegated,
    MessageCompleted,
    Notice,
    RunFinished,
    RunStarted,
    Usage,
)
from localllm.base.i18n import Phrase, _
from localllm.base.paths import state_folder
from localllm.context.budget import output_limit
from localllm.llm.messages import AssistantMessage
from localllm.llm.model_profiles import Profile, choose, profile_named
from localllm.memory.session_plan import SessionPlan
from localllm.repo_map.request import Focus
from localllm.safety.journal import Journal, JournalEntry, digest
from localllm.safety.path_names import shown, some_of
from localllm.safety.paths import ProjectRoot
from localllm.safety.rules import line_of
from localllm.safety.tool_definition import Tool
from localllm.sandbox.background import BackgroundCommands
from localllm.sessions.entries import Kept, OneShot, Profiled, Resumed, Titled
from localllm.sessions.log import SessionLog, new_session_id
from localllm.sessions.relocation import settle
from localllm.snapshots.change_log import Transition
from localllm.snapshots.file_state import ABSENT
from localllm.snapshots.store import Snapshots
from localllm.text.sanitising import clean
from localllm.text.terminal_output import plain_output
from localllm.tools.builtin import tools_for, web_for
from localllm.tools.call_judge import NO_BANS
from localllm.tools.context import ToolContext
from localllm.tools.shell import note_end, tell_news
from localllm.tools.tool_system import ToolSystem

if TYPE_CHECKING:
    from localllm.agent.replay import Reopened

_MOST_OF_ANSWER, _MOST_OF_QUESTION = 6_000, 1_000
"""Characters of an ensemble's answer, and of the question, that are added to the conversation: some three pages."""


class ToolInfo(msgspec.Struct, frozen=True):
    """A tool as shown to the user: `risk` is safe, medium, high or highest; `offered` is whether the model is offered
    it, if rules allow it."""

    name: str
    description: str
    risk: str
    allowed: bool
    offered: bool


class Conversation:
    """A conversation with its own session log; `reopened` is an earlier one to resume.

    `usage` and `context_used` are tokens: of all requests so far, and of the conversation as last sent. `finished` is
    the end of the last run, `last_answer` the last one that was given. `title` is the user's name for it.
    """

    def __init__(self, project: OpenProject, reopened: "Reopened | None" = None) -> None:
        before = reopened.replayed if reopened else None
        self.id = reopened.id if reopened else new_session_id()
        self.usage = before.usage if before else Usage()
        self.context_used = before.context_used if before else 0
        self._used_before_rewinds: list[int] = []
        self.title = before.title if before else ""
        self.finished = RunFinished(status="interrupted", answer="")
        self.last_answer = ""
        self.focus = Focus()
        self._project = project
        self._profile = self._fitting_profile()
        self._briefing = Briefing(project.root, project.memory, project.here, project.closed, session_id=self.id)
        self._log = reopened.log if reopened else self._new_log()
        self._journal = Journal(state_folder() / "journal.jsonl", self.id)
        self.background = BackgroundCommands(partial(note_end, self._journal), partial(tell_news, project.notify))
        self.plan = SessionPlan(before.plan if before else "")
        self._collections = SessionCollections(project.knowledge(), before.history if before else None)
        self.tool_system = self._make_tools()
        if reopened:
            self._restore_tools(reopened)
        self._recorder = Recorder(self._log, self.tool_system, project.chosen_model, before.model if before else "")
        if reopened:
            self.tool_system.changes.adopt_recovered()  # logged as if just made
        self.agent = ReActAgent(
            project.client,
            self.tool_system,
            settings=project.settings.agent,
            session_id=self.id,
            listeners=[self.tell],
            advisers=project.advisers,
            middleware=[PlanMode(lambda: project.policy.mode == "plan")],
            surroundings=Surroundings(
                notes=self._notes,
                rank=project.repo_map.rank,
                read=self._text_of,
                here=_below(project.root, project.here),
            ),
            history=before.history if before else History(system_prompt()),
            shows_pieces=project.shows_pieces,
        )
        points = before.points if before else ()
        self._left_at = points[-1].time if points else 0.0
        self.checkpoints = Checkpoints(self.tool_system, self.agent.history, self._recorder.keep, points)
        self.memory = Remembering(
            project.memory, self.tool_system, self._briefing, self._offer_news, self._recorder.catch_up
        )
        self._todo_news = TodoNews(project.memory)
        self._untold_since = before.untold_since if before else None
        """The position before an /undo that the model was not notified of yet."""
        self._is_behind = reopened is not None
        self._begin_log(is_new=reopened is None)

    @property
    def profile(self) -> Profile:
        """The model's profile in this conversation; before the first answer, the one that would be chosen now."""
        return self._profile if self.agent.history.is_answered else self._fitting_profile()

    def change_project(self, project: OpenProject) -> None:
        """Continue with the changed settings of `project`, and the tools they offer."""
        self._project = project
        tools = (*self._offered_tools(), *project.own_tools)
        self.tool_system.change_tools(tools, project.settings, web_for(project.settings))

    async def prepare(self) -> None:
        """Before the first answer, fetch the model's description, which decides the prompt. Raises
        LLMConnectionError."""
        project, history = self._project, self.agent.history
        if not history.is_answered:
            await project.client.get_ready()
            self._profile = self._fitting_profile()
            self._recorder.keep(Profiled(name=self._profile.name))
            self.tool_system.offer_only(self._profile.tools, brief=self._profile.brief)
            instructions = await asyncio.to_thread(self._briefing.for_system, self._profile)
            guide = await asyncio.to_thread(self._collections.guide, self._profile)
            history.begin_with("\n\n".join(filter(None, (system_prompt(self._profile.prompt), instructions, guide))))
        elif self._is_behind:
            await asyncio.to_thread(self._catch_up)
        if news := await asyncio.to_thread(self._collections.take_news):
            self._offer_news(news)
        self._tell_taken_back()
        await asyncio.to_thread(self._tell_todos)
        self.tool_system.limit_output(output_limit(project.client))

    def _notes(self) -> str:
        """Return the project's memory and the model's plan, for the first message of a conversation."""
        return "\n\n".join(filter(None, self._remembered()))

    def _remembered(self) -> tuple[str, str]:
        return unforged(self._briefing.notes(self.profile)), unforged(self.plan.told())

    def _catch_up(self) -> None:
        """Add the current memory to the next request of a resumed or rewound session, if the model was sent another
        version."""
        self._is_behind = False
        from localllm.app.meanwhile_changes import changed_meanwhile  # few sessions are resumed

        messages, made = self.agent.history.messages, self.tool_system.changes.made_since(0)
        news = changed_meanwhile(self._project.root, made, messages, self._left_at, self._project.memory.name)
        for notes in (*self._remembered(), news):
            if notes and not any(notes in message.text for message in messages):
                self._offer_news(notes)

    def _tell_todos(self) -> None:
        """Add changes of the TODO list to the next request, even if the user interrupts this one."""
        if news := self._todo_news.take():
            self._offer_news(news)

    def _tell_taken_back(self) -> None:
        """Add the files that /undo and /redo changed to the next request. Reverted memory is reported as such."""
        if self._untold_since is None:
            return
        states = {made.path: made.after for made in self.tool_system.changes.made_since(self._untold_since)}
        changed = set(self.tool_system.changes.changed_since(self._untold_since)) - {self._project.memory.name}
        self._untold_since = None
        if changed:
            names = [f"{shown(path)} (deleted)" if states[path] == ABSENT else shown(path) for path in sorted(changed)]
            self._offer_news(
                f"[The user took changes back, or made them again, with /undo and /redo. Not as shown above any more: "
                f"{some_of(names)}. Do not repeat what was taken back unless asked.]"
            )

    def _offer_news(self, text: str) -> None:
        """Add a message to the next request; a new conversation contains it anyway."""
        if len(self.agent.history.messages) > 1:
            self.agent.offer(text)

    def tools(self) -> Sequence[ToolInfo]:
        """List every tool, whether rules allow it, and whether it is offered to the model."""
        told = self.profile.tools
        return [
            ToolInfo(
                name=tool.name,
                description=tool.spec.description,
                risk=tool.risk.name.lower(),
                allowed=not self.tool_system.is_denied(tool.name),
                offered=told is None or tool.name in told,
            )
            for tool in (*self._offered_tools(), *self._project.own_tools)
        ]

    def offer_output(self, command: str, output: str, return_code: int) -> None:
        """Add the output of a user's command to the next request; output that may come from another machine as
        untrusted text."""
        line = line_of(command)
        if line.prints_foreign_text or line.is_networked:
            self.tool_system.taint(by_command=not line.prints_foreign_text)
        head = f"The user ran this outside the sandbox: {command}\nExit code {return_code}."
        if text := plain_output(output).rstrip():
            self.agent.offer_quoted(f"{head} Its output:", text)
        else:
            self.agent.offer(f"[{head} It printed nothing.]")
        entry = JournalEntry(
            tool="!",
            target=command,
            arguments=digest({"command": command}),
            outcome="ok" if return_code == 0 else "failed",
            approval="user",
            sandbox="none",
        )
        self._journal.note(entry)

    def offer_answer(self, query: str, answer: str, *, is_here: bool) -> None:
        """Add an ensemble's answer to the next request. `is_here`: all its models are on this machine; other answers
        are untrusted text."""
        if not is_here:
            self.tool_system.taint()
        asked = self.tool_system.shortened(query, "ensemble_question", _MOST_OF_QUESTION)
        kind = "own_ensemble_answer" if is_here else "ensemble_answer"
        answered = self.tool_system.shortened(clean(answer), kind, _MOST_OF_ANSWER)
        self.agent.offer_quoted(f"The user asked an ensemble of models: {asked}\nIts answer:", answered)

    def offer_passages(self, query: str, text: str, *, is_research: bool) -> None:
        """Add passages of documents, or findings of research, which are untrusted, to the next request."""
        self.tool_system.taint()
        done = "had this researched" if is_research else "searched the collections of documents for"
        self.agent.offer_quoted(f"The user {done}: {query}\n{'Findings' if is_research else 'Passages'}:", text)

    def tell(self, event: AgentEvent) -> None:
        """Record an event of a run, whether or not the events are consumed."""
        self._recorder.keep(event)
        match event:
            case MessageCompleted(usage=usage):
                self.usage += usage
                self.context_used = usage.prompt_tokens + usage.completion_tokens or self.context_used
                # The first answer reveals the model's window, and each one its token counts.
                self.tool_system.limit_output(output_limit(self._project.client))
            case Consulted(usage=usage) | Delegated(event=MessageCompleted(usage=usage) | Compacted(usage=usage)):
                self.usage += usage
            case Compacted(usage=usage, after=after):
                self.usage += usage
                self.context_used = after
            case RunFinished():
                self.finished = event
                self.last_answer = event.answer if event.answer.strip() else self.last_answer
                self._todo_news.seen()
                logs.of("AGENT").info("run ended: %s after %d steps", event.status, event.steps)
            case RunStarted():
                logs.of("AGENT").info("run started: %s %s", event.provider, event.model)
            case Notice(text=text, level="warning"):
                logs.of("AGENT").warning("%s", text)
            case _:
                pass

    @property
    def is_kept(self) -> bool:
        """Whether its log exists: there was a message, and it could be written."""
        return self._log.is_open

    def mark_one_shot(self) -> None:
        """Log that a new session is of a single request, of which a script may send hundreds."""
        if not self.is_kept:
            self._recorder.keep(OneShot())

    @property
    def failure(self) -> str:
        """Why it cannot be logged; "" if it can."""
        return self._recorder.failure

    def undo(self, *, turn: bool) -> list[str]:
        """Undo the last change, or all of the last turn; return a line for each. Logged immediately, in case of a
        crash."""
        mark = self.agent.history.mark()
        with self._taking_back():
            lines = self.checkpoints.undo(turn=turn)
        if self.agent.history.mark() != mark:
            self.context_used = self._used_before_rewinds.pop()
        return lines

    def redo(self) -> list[str]:
        """Redo the last `undo`; return a line for each change. As `undo`."""
        with self._taking_back():
            return self.tool_system.changes.redo()

    def rewind(self, which: str) -> list[str]:
        """Rewind to a checkpoint; return a line for each action. As `undo`. The memory known to the conversation at
        that point is not recorded, so it is compared anew."""
        mark = self.agent.history.mark()
        with self._taking_back():
            lines = self.checkpoints.rewind(which)
        if self.agent.history.mark() != mark:
            self._used_before_rewinds.append(self.context_used)
            self.context_used = 0
        self._is_behind = True
        self._todo_news = TodoNews(self._project.memory)
        return lines

    @contextmanager
    def _taking_back(self) -> Generator[None]:
        """Log file changes at once, and notify the model, unless the conversation is rewound too."""
        self._recorder.catch_up()
        position, mark = self.tool_system.changes.position, self.agent.history.mark()
        try:
            yield
        finally:
            is_rewound = self.agent.history.mark() != mark
            self._recorder.catch_up(taken_back=not is_rewound)
            if is_rewound:
                self._untold_since = None
            elif self._untold_since is None and self.tool_system.changes.position != position:
                self._untold_since = position

    def rename(self, title: str) -> None:
        """Set the title; "" for none."""
        self.title = " ".join(title.split())
        self._recorder.keep(Titled(title=self.title))

    def take_failures(self) -> list[str]:
        """Return failures to report, once: why logging failed, why memory was not sent."""
        unkept = self._recorder.take_failure()
        told = (
            [
                _(
                    "This session is not being saved: {reason}. It cannot be resumed later. Fix that and "
                    "restart localllm.",
                    reason=unkept,
                )
            ]
            if unkept and self._project.storage.place != "nowhere"
            else []
        )
        return [*told, *filter(None, [self._briefing.take_failure(), self._collections.take_failure()])]

    def finish(self) -> SessionLog:
        """Return the complete log, which the caller closes. The conversation is over."""
        self._recorder.catch_up()
        return self._log

    def _restore_tools(self, reopened: "Reopened") -> None:
        """Restore the state of the tools."""
        before, tools = reopened.replayed, self.tool_system
        tools.changes.adopt([Transition(change.path, change.before, change.after) for change in before.changes])
        said = (message for message in before.history.messages if isinstance(message, AssistantMessage))
        tools.adopt_calls(call for message in said for call in message.tool_calls)
        if before.tainted:
            tools.taint()
        if before.has_downloaded:
            tools.taint(by_command=True)
        if reopened.is_ours:
            bans = NO_BANS
            for words in before.history.words:
                bans = bans_after(bans, words)
                addresses = msgspec.structs.replace(NO_BANS, addresses=bans.addresses)
                tools.hear(heard_part(before.typed.get(words, words)), bans=addresses)
            tools.hear("", bans=msgspec.structs.replace(bans, addresses=(), changes=False, records=False))
        if before.history.is_answered:
            self._profile = profile_named(before.profile) or self._profile
            tools.offer_only(self._profile.tools, brief=self._profile.brief)

    def _begin_log(self, *, is_new: bool) -> None:
        """Start logging every change of the conversation. An interrupted turn is ended."""
        history = self.agent.history
        self._recorder.keep(Kept(message=history.messages[0]) if is_new else Resumed(time=time.time()))
        history.listen(self._recorder.keep)
        history.close_turn(
            Phrase("[interrupted: the program ended before this was done]"),
            Phrase("[interrupted: the program ended before this was done]"),
        )

    def _fitting_profile(self) -> Profile:
        client = self._project.client
        return choose(self._project.settings.agent.profile, client.info, client.context_window, client.assumes_window)

    def _new_log(self) -> SessionLog:
        storage = self._project.storage
        made = partial(settle, storage.sessions, self._project.root, storage.older_sessions)
        return SessionLog(storage.sessions, self.id, self._project.seal.begin(self.id), made)

    def _make_tools(self) -> ToolSystem:
        project = self._project
        context = ToolContext(
            root=ProjectRoot(project.root, project.storage.outputs_outside, named_paths(project)),
            settings=project.settings,
            runner=project.runner,
            output_limit=output_limit(project.client),
            overflow_folder=project.storage.outputs,
            background=self.background,
            sees=self._sees,
            web=web_for(project.settings),
            knowledge=self._collections.knowledge,
            focus=self.focus,
            repo_map=project.repo_map,
            memory=project.memory,
            session_plan=self.plan,
        )
        return ToolSystem(
            (*self._offered_tools(), *project.own_tools),
            context,
            policy=project.policy,
            confirmer=project.confirmer,
            snapshots=Snapshots.of_project(project.root, self.id),
            journal=self._journal,
            remembered=project.remembered,
        )

    def _offered_tools(self) -> Sequence[Tool]:
        return tools_for(self._project.settings, has_collections=self._collections.are_offered)

    def _text_of(self, path: str) -> str | None:
        """Return the text of a project file; None if it has none, or the model may not read it without a question."""
        try:
            real = PurePosixPath(ProjectRoot(self._project.root).relative(path))
            is_closed = any(map(real.is_relative_to, self._project.closed))
            return None if is_closed else self.tool_system.readable_text(path)
        except (LocalLLMError, OSError):
            return None

    def _sees(self) -> bool | None:
        """Whether the model accepts images; None if its server does not say."""
        abilities = self._project.client.info.abilities
        return None if abilities is None else "vision" in abilities


def _below(root: Path, folder: Path) -> str:
    """Return a folder relative to the project's root, empty for the root itself."""
    return folder.relative_to(root).as_posix() if folder != root and folder.is_relative_to(root) else ""
