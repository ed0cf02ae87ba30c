"""Parse a bash command line into the commands it would run, with the shell's grammar."""

import time
from collections import Counter
from collections.abc import Sequence
from itertools import islice
from typing import TYPE_CHECKING

import msgspec

from localllm.base.lazy_patterns import late_pattern
from localllm.code.grammars import parser
from localllm.safety.argument_texts import TOLD_TO_RUN, texts_in
from localllm.safety.dangerous_commands import PRINTERS
from localllm.safety.nested_commands import (
    READERS,
    SHELLS,
    commands_in_code,
    look_through,
    may_be_run_by,
    program_of,
    reader_of,
)
from localllm.safety.shell_breaks import overlooked
from localllm.safety.shell_dialects import Reader, as_others_read, is_read_alike
from localllm.safety.shell_flow import WRITING, Flow, Walk
from localllm.safety.shell_quotes import MOST_TEXTS, read_quotes
from localllm.safety.shell_variables import (
    calculation_sets,
    expansion_sets,
    hides_git,
    is_heeded,
    names_program,
    redirection_sets,
)
from localllm.safety.shell_words import WORD_NODES, Variable, Word, WordReader

if TYPE_CHECKING:
    from tree_sitter import Node, Tree


_FED = frozenset(
    {"at", "batch", "crontab", "ed", "ex", "vi", "vim", "gdb", "lldb", "sqlite", "psql", "mysql", "m", "dc"}
)
"""Programs, besides shells, whose input can make them run a command. Names without trailing numbers."""
_COPIERS = frozenset({"cp", "ln", "mv", "install"})


def renamed_by(words: Sequence[Word]) -> dict[str, list[Word]]:
    """Return the names by which programs can be called once the command has run, with their meanings."""
    rest = [word for word in words[1:] if not word.text.startswith("-")]
    match program_of(words[0]):
        case "alias":
            pairs = [word.text.partition("=") for word in rest]
            return {name: [Word(part) for part in text.split()] for name, mark, text in pairs if mark and text}
        case "hash" if len(rest) > 1:
            return {rest[-1].text: [rest[0]]}
        case copier if copier in _COPIERS and len(rest) == 2 and _may_be_program(rest[0]):
            return {rest[1].text.rstrip("/").rpartition("/")[2]: [rest[0]]}
        case _:
            return {}


def _may_be_program(word: Word) -> bool:
    return word.computed or "/" in word.text


_LONGEST = 60_000  # characters of a text parsed by the grammar
_MOST_PIPES = 2_000  # of a text: after an error behind them, parsing takes quadratic time and cannot be stopped
_MOST_NODES = 60_000
_MOST_WORDS = 50_000  # of all commands of one text, including those that run others
_LONGEST_SUBSCRIPTED = 10_000  # characters of a word, whose check may take quadratic time
_MOST_CHARACTERS = 200_000  # of nested texts
_SECONDS = 1.0  # for one line; a line of a thousand commands takes a tenth of it

_MARK = late_pattern(r"\$\(|`")
_MOST_MARKS = 50  # substitutions in one word
_SUBSTITUTIONS = frozenset({"command_substitution", "process_substitution"})
_SPANS = _SUBSTITUTIONS | {"string", "raw_string", "ansi_c_string", "comment"}
_BESIDE_WORDS = frozenset({"file_redirect", "herestring_redirect", "heredoc_redirect", "comment"})
_PASSING = frozenset({"echo", "printf", "cat", "tee", "cd", "true"})
"""Commands that a line may hold beside a shell that reads its input, without hiding that input."""
_EDITORS = frozenset({"EDITOR", "VISUAL", "GIT_EDITOR", "GIT_SEQUENCE_EDITOR"})


class Command(msgspec.Struct, frozen=True):
    """A simple command. `through`: it only runs others, which are listed as commands too. `guessed`: it is in
    code of another language, which may or may not run it. `flow`: None if the line does not run it itself."""

    words: tuple[Word, ...]
    through: bool = False
    guessed: bool = False
    flow: Flow | None = None


class Script(msgspec.Struct, frozen=True, kw_only=True):
    """A parsed line. `commands`: all of them, at any depth. `writes` and `reads`: the targets of
    redirections.

    `sound`: the grammar understood all of it. `agreed`: a second reading of its quotes gives the same, and none of
    its texts is one that bash might expand. `opaque`: something runs that the line does not show, such as the output
    of another command. `assigns`: it sets variables. `texts`: all texts read, the line and those in it, without
    comments and here-documents. `apart`: what the line starts with `&`, as written. `pipeline`: the parts of the
    pipeline it ends with (followed only by commands that print), if their exit status can be determined.
    """

    commands: tuple[Command, ...] = ()
    writes: tuple[Word, ...] = ()
    reads: tuple[Word, ...] = ()
    sound: bool = True
    agreed: bool = True
    opaque: bool = False
    assigns: bool = False
    texts: tuple[str, ...] = ()
    apart: tuple[str, ...] = ()
    pipeline: tuple[str, ...] = ()


def read_script(line: str) -> Script:
    """Parse `line`, and the nested texts that a shell would read. Raises nothing, whatever the line."""
    texts = [_Text(line, flow=Flow(), reader="bash")]
    seen = {(line, texts[0].reader): False}  # text, and who reads it → whether it was only a guess
    scripts: list[Script] = []
    deadline = time.monotonic() + _SECONDS
    while texts:
        text = texts.pop()
        script, within = _Reader(text, deadline).read()
        scripts.append(_only_guessed(script) if text.guessed else script)
        for part in within:
            is_guess = part.guessed or text.guessed
            key = part.text, part.reader
            if part.text.strip() and (key not in seen or (seen[key] and not is_guess)):
                seen[key] = is_guess
                texts.append(msgspec.structs.replace(part, guessed=is_guess))
        is_late = bool(texts) and time.monotonic() > deadline
        if is_late or len(seen) > MOST_TEXTS or sum(len(text) for text, _ in seen) - len(line) > _MOST_CHARACTERS:
            scripts.append(Script(sound=False, opaque=True))
            break
    return Script(
        commands=tuple(command for script in scripts for command in script.commands),
        writes=tuple(word for script in scripts for word in script.writes),
        reads=tuple(word for script in scripts for word in script.reads),
        sound=all(script.sound for script in scripts),
        agreed=all(script.agreed for script in scripts),
        opaque=any(script.opaque for script in scripts),
        assigns=any(script.assigns for script in scripts),
        texts=tuple(text for script in scripts for text in script.texts),
        apart=scripts[0].apart,
        pipeline=scripts[0].pipeline,
    )


class _Text(msgspec.Struct, frozen=True):
    """A text to parse; `guessed` as in Command; `flow` of the shell that runs it, None if none does; `reader`: that
    shell."""

    text: str
    guessed: bool = False
    flow: Flow | None = None
    reader: Reader = "posix"


def _only_guessed(script: Script) -> Script:
    commands = [msgspec.structs.replace(command, guessed=True, flow=None) for command in script.commands]
    return Script(commands=tuple(commands), texts=script.texts)


class _Reader:
    """Parses one text."""

    def __init__(self, text: _Text, deadline: float) -> None:
        self._deadline = deadline
        self._flow = text.flow
        self._reader: Reader = text.reader
        self._walk: Walk | None = None
        self._source = text.text.encode("utf-8", "surrogatepass")
        self._words = WordReader(self._source)
        self._of = self._words.source_of
        self._changing: set[str] = set()
        self._commands: list[Command] = []
        self._guesses: list[Command] = []
        self._writes: list[Word] = []
        self._reads: list[Word] = []
        self._within: list[_Text] = []
        self._fed: list[str] = []
        self._looked_at = 0
        self._opaque = False
        self._agreed = self._hides_none = True
        self._assigns = False
        self._renamed: dict[str, list[Word]] = {}
        self._data: list[tuple[int, int]] = []

    def read(self) -> tuple[Script, list[_Text]]:
        """Return what the text runs, and the texts in it to parse separately."""
        tree = self._parsed()
        if tree is None:
            return Script(sound=False, opaque=True, texts=(self._words.source(0, len(self._source)),)), []
        root = tree.root_node
        walk = self._walk = Walk(root, self._flow or Flow(), _MOST_NODES)
        nodes = walk.nodes
        strange = any(node.type == "command" and not all(map(_is_understood, node.named_children)) for node in nodes)
        sound = not (root.has_error or strange or len(nodes) >= _MOST_NODES)
        self._changing = {name for name, count in Counter(map(self._assigned, nodes)).items() if count > 1}
        for node in nodes:
            if time.monotonic() > self._deadline:
                self._opaque = True
                break
            self._learn(node)
            self._take(node)
        self._compare(root, nodes)
        if self._reader != "bash":
            self._read_as_others(nodes)
        self._feed()
        is_left_alone = not sound or any(map(_shows_traps, self._commands))
        parts = () if is_left_alone else walk.last_pipeline(self._of)
        script = Script(
            commands=(*self._commands, *self._guesses),
            writes=tuple(self._writes),
            reads=tuple(self._reads),
            sound=sound,
            agreed=self._agreed,
            opaque=self._opaque,
            assigns=self._assigns,
            texts=(self._bare() if sound and self._hides_none else self._words.source(0, len(self._source)),),
            apart=tuple(map(self._of, walk.apart)) if sound else (),
            pipeline=tuple(map(self._of, parts)),
        )
        return script, self._within

    def _parsed(self) -> "Tree | None":
        """Return the syntax tree; None if the text is too long, or takes too long."""
        if len(self._source) > _LONGEST or self._source.count(b"|") > _MOST_PIPES:
            return None
        try:
            return parser("bash").parse(
                lambda at, _: self._source[at:],
                progress_callback=lambda _at, _has_error: time.monotonic() > self._deadline,
            )
        except ValueError:
            return None

    def _read_as_others(self, nodes: "Sequence[Node]") -> None:
        """Read the text as a shell does that is not bash, if it reads it otherwise."""
        if self._reader == "other" or not is_read_alike(nodes, self._of):
            self._agreed = False
            text = self._words.source(0, len(self._source))
            if (other := as_others_read(text, self._reader)) != text:
                self._within.append(_Text(other, guessed=True, reader=self._reader))

    def _compare(self, root: "Node", nodes: "Sequence[Node]") -> None:
        """Read what the grammar misses: some substitutions, commands, and nested back quotes."""
        text = self._source.decode("latin-1")
        quotes = read_quotes(text)
        comments = {(node.start_byte, node.end_byte) for node in nodes if node.type == "comment"}
        ends = {node.end_byte for node in nodes if node.type == "heredoc_end"}
        self._hides_none = comments <= quotes.spans and ends == {end for _, end in quotes.bodies}
        is_same = self._hides_none and quotes.unsure == len(self._source) and _spans(nodes) == quotes.spans
        self._agreed = self._agreed and is_same
        found = {node.start_byte for node in nodes if node.type in _SUBSTITUTIONS}
        bodies = [body for body in quotes.bodies[:MOST_TEXTS] if body[0] <= quotes.unsure]
        unread = ((start, end) for start, end in quotes.marks if start not in found and not _is_in(bodies, start))
        for start, end in islice(unread, MOST_TEXTS + 1):
            self._opaque = self._opaque or start < quotes.unsure
            self._within.append(_Text(self._words.source(end, len(self._source)), guessed=True, reader=self._reader))
        for start in islice(overlooked(root, text, quotes.breaks), MOST_TEXTS):
            self._agreed = False
            self._within.append(
                _Text(self._words.source(start + 1, len(self._source)), guessed=True, reader=self._reader)
            )
        self._within.extend(_Text(_as_text(text), reader=self._reader) for text in quotes.renewed)
        self._within.extend(_Text(_as_text(text), guessed=True, reader=self._reader) for text in quotes.in_bodies)

    def _assigned(self, node: "Node") -> str:
        """Return the variable that a node sets, or ""."""
        field = {"variable_assignment": "name", "for_statement": "variable"}.get(node.type)
        name = node.child_by_field_name(field) if field else None
        return self._of(name) if name is not None else ""

    def _learn(self, node: "Node") -> None:
        """Record the value of a variable, for later nodes."""
        name = self._assigned(node)
        if not name:
            return
        values = node.children_by_field_name("value")
        words = [word for value in values for word in self._words.expanded(value)]
        for word in words:  # arithmetic, `${x@P}` and subscripts run commands in a value
            self._add_marked(word.text)
        if node.type == "for_statement":
            self._assigns = self._assigns or is_heeded(name)
            text, changes = (words[0].text if words else ""), len(words) != 1
        else:
            text, changes = " ".join(word.text for word in words), False
            self._assigns = True
            is_run = names_program(name)
            self._within.extend(_Text(word.text, guessed=True) for word in words if is_run or _is_several(word))
            self._opaque = self._opaque or hides_git(name, text)
            if any(child.type == "+=" for child in node.children):
                text, changes = self._words.known.get(name, Variable("")).value + text, True
        is_sure = not (changes or name in self._changing or any(word.computed for word in words))
        self._words.known[name] = Variable(text, is_sure)

    def _take(self, node: "Node") -> None:
        match node.type:
            case "command":
                flow = self._flow_of(node)
                self._add_command(list(self._words.of_command(node)), flow)
            case "test_command" | "unset_command" | "declaration_command":
                self._add_command([Word(self._of(node).split(None, 1)[0])])
                self._add_subscripts(self._of(node))
            case "file_redirect":
                self._add_redirect(node)
            case "arithmetic_expansion":
                self._assigns = self._assigns or calculation_sets(self._of(node))
            case "expansion":
                self._assigns = self._assigns or expansion_sets(self._of(node))
            case "herestring_redirect":
                self._fed.extend(word.text for child in node.named_children for word in self._words.expanded(child))
            case "heredoc_body":
                self._fed.append(self._of(node))
                self._data.append((node.start_byte, node.end_byte))
            case "comment":
                self._data.append((node.start_byte, node.end_byte))
            case _:
                pass

    def _flow_of(self, node: "Node") -> Flow | None:
        """Return the flow of a command; None if the line does not run it itself."""
        if self._flow is None or self._walk is None:
            return None
        own = {self._of(child).partition("=")[0] for child in node.children if child.type == "variable_assignment"}
        return self._walk.flow_of(node, frozenset(own | (_EDITORS & self._words.known.keys())))

    def _add_command(self, words: list[Word], flow: Flow | None = None) -> None:
        """Add a command and those it runs in turn."""
        pending = [words]
        while pending:
            words = pending.pop()
            if not words:
                continue
            self._looked_at += len(words)
            if self._looked_at > _MOST_WORDS:  # `sudo sudo sudo …`: each is a command of everything that follows
                self._opaque = True
                return
            seen = look_through(words)
            self._commands.append(Command(tuple(words), through=seen.through, flow=flow))
            name = program_of(words[0])
            if name == "timeout" and flow:
                flow = msgspec.structs.replace(flow, limited=True)
            elif name == "command" and words[1:] and words[1].text in ("-v", "-V"):  # it only prints what that is
                flow = None
            inner = flow if name in SHELLS or name == "eval" else None
            reader = self._reader if seen.reader == "same" else seen.reader
            self._within.extend(_Text(text, flow=inner, reader=reader) for text in seen.texts)
            for code in seen.code:
                self._add_code(code)
            self._opaque = self._opaque or seen.opaque
            pending.extend(seen.commands)
            self._look_at_words(words, pending)

    def _look_at_words(self, words: list[Word], pending: list[list[Word]]) -> None:
        """Add further meanings of the words: program names defined earlier in the line, and
        texts of several words that a program may run."""
        name = words[0].text.rpartition("/")[2]
        self._assigns = self._assigns or (name == "printf" and words[1:] != [] and words[1].text.startswith("-v"))
        if meant := self._renamed.get(name):
            pending.append([*meant, *words[1:]])
            del self._renamed[name]  # a name may be defined by itself: alias ls="ls -l"
        self._renamed |= renamed_by(words)
        for text in texts_in(words):
            self._within.append(_Text(text, guessed=True))
        self._guesses.extend(Command(tuple(command), guessed=True) for command in may_be_run_by(words))
        for word in words[1:]:
            self._add_subscripts(word.text)
            if "GIT_CONFIG" in word.text and program_of(words[0]) not in PRINTERS:  # env, export, sudo
                variable, given, value = word.text.partition("=")
                self._opaque = self._opaque or bool(given and hides_git(variable, value))

    def _add_subscripts(self, text: str) -> None:
        """Add what bash runs in the subscript of a variable, even in quotes: `test -v 'a[$(x)]'`."""
        if "[" in text:
            self._add_marked(text[text.index("[") :])

    def _add_marked(self, text: str) -> None:
        """Add what follows each substitution mark in a text that bash may expand."""
        if "$(" not in text and "`" not in text:
            return
        self._agreed = False
        marks = list(islice(_MARK.finditer(text), _MOST_MARKS + 1))
        if len(text) > _LONGEST_SUBSCRIPTED or len(marks) > _MOST_MARKS:
            self._opaque = True
            return
        self._within.extend(_Text(text[found.end() :], guessed=True, reader=self._reader) for found in marks)

    def _add_redirect(self, node: "Node") -> None:
        operator = next((child.type for child in node.children if not child.is_named), "")
        self._assigns = self._assigns or redirection_sets(self._source, node.start_byte)
        groups = self._words.groups(node.children_by_field_name("destination"))
        first, *more = [word for group in groups for word in group] or [Word("", computed=True)]
        if operator not in WRITING:
            self._reads.append(first)
        elif not (operator == ">&" and (first.text.isdigit() or first.text == "-")):
            self._writes.append(first)
        if more:  # the grammar allows arguments after the target
            self._add_command([Word("", computed=True, ends_known=True), *more])

    def _feed(self) -> None:
        """Read what is piped or passed to a shell that reads its input."""
        if any(
            _runs_file(command.words[0]) or _is_fed(command) for command in self._commands
        ):  # a file that this line may have written
            printed = (word.text for command in self._commands if _prints(command) for word in command.words[1:])
            texts = [TOLD_TO_RUN.sub("", text) for text in [*self._fed, *printed]]
            self._within.extend(_Text(text, guessed=True) for text in texts)
        readers = {program_of(command.words[0]) for command in self._commands if _reads_input(command)}
        if not readers:
            return
        printing = [command for command in self._commands if _prints(command)]
        said = [word for command in printing for word in command.words[1:]]
        fed = [*self._fed, *(word.text for word in said), " ".join(word.text for word in said)]
        shells: set[Reader] = {reader_of(program) for program in readers & SHELLS}
        for reader in shells:
            self._within.extend(_Text(text, reader=reader) for text in fed)
        if not shells:
            self._add_code("\n".join(fed))
        others = {program_of(command.words[0]) for command in self._commands if not command.guessed} - readers
        is_shown = bool(self._fed or said) and others <= _PASSING and not any(word.computed for word in said)
        self._opaque = self._opaque or not is_shown

    def _add_code(self, code: str) -> None:
        commands, texts = commands_in_code(code)
        self._commands.extend(Command(tuple(words), guessed=True) for words in commands if words)
        self._within.extend(_Text(text, guessed=True) for text in texts)

    def _bare(self) -> str:
        source = bytearray(self._source)
        for start, end in self._data:
            source[start:end] = bytes(byte if byte == 10 else 32 for byte in source[start:end])
        return source.decode("utf-8", "replace")


def _spans(nodes: "Sequence[Node]") -> frozenset[tuple[int, int]]:
    """Return the quotes, substitutions and comments that the grammar found."""
    marks = {node.start_byte for node in nodes if node.type == "heredoc_start"}
    found = (node for node in nodes if node.type in _SPANS and node.start_byte not in marks)
    return frozenset((node.start_byte, node.end_byte) for node in found)


def _is_in(spans: Sequence[tuple[int, int]], at: int) -> bool:
    return any(start <= at < end for start, end in spans)


def _as_text(text: str) -> str:
    return text.encode("latin-1").decode("utf-8", "replace")


def _prints(command: Command) -> bool:
    return program_of(command.words[0]) in ("echo", "printf")


def _runs_file(program: Word) -> bool:
    return program_of(program) in SHELLS | {"source", ".", "chmod", "make"} or "/" in program.text


def _is_fed(command: Command) -> bool:
    return program_of(command.words[0]) in _FED


def _is_several(word: Word) -> bool:
    return len(word.text.split()) > 1


def _shows_traps(command: Command) -> bool:
    """Return whether it would show the effects of traps, or change them."""
    name, *options = (word.text for word in command.words)
    return name in ("trap", "ulimit") or (name == "set" and any("v" in option for option in options))


def _is_understood(node: "Node") -> bool:
    """Return whether a part of a command is understood here: none may be skipped silently."""
    return node.type in WORD_NODES or node.type in _BESIDE_WORDS


def _reads_input(command: Command) -> bool:
    """Return whether it is a shell or other interpreter without a text or a file."""
    flags = ("-", "-s", "-x", "-e", "-l", "-i")
    return program_of(command.words[0]) in READERS and all(word.text in flags for word in command.words[1:])
