"""Load the effective settings: defaults < user's file < project's file < environment < command line."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from localllm.base.errors import ConfigurationError
from localllm.base.events import Json
from localllm.base.files import real_path
from localllm.base.i18n import N_, Phrase
from localllm.base.paths import SETTINGS_FILE, config_file
from localllm.config.keys import PREFIX, all_settings, find_setting, nearest_key, path_of
from localllm.config.project_server import (
    ALONE_NOTICE,
    LOOKED_AT,
    NOTICE,
    OWN_SERVERS_ONLY,
    is_first_of_project,
    is_of_project,
)
from localllm.config.reader import Layer, Origin, file_values, read_text
from localllm.config.schema import KEY_VARIABLES, SECRET_VARIABLES, SafetyRule, Settings
from localllm.config.trust import SERVERS, Answers, addresses_of, admitted, digest_of, is_always_admitted
from localllm.config.values import checked, parse_value

SERVE_TOKEN = "LOCALLLM_SERVE_TOKEN"  # noqa: S105 - a name
"""The variable with the token required from every request to the ensemble server."""

RESERVED_VARIABLES = frozenset(
    {
        "LOCALLLM_CONFIG_DIR",
        "LOCALLLM_STATE_DIR",
        "LOCALLLM_DATA_DIR",
        "LOCALLLM_CACHE_DIR",
        LOOKED_AT,
        SERVE_TOKEN,
    }
)
"""Variables of localllm that are no settings."""


class HeldBack(msgspec.Struct, frozen=True, kw_only=True):
    """The settings file of an untrusted project that exceeds what it may set.

    `digest` is that of the text that was read. `values`: each setting of the file that needs trust in some run, by key,
    also where this run changes nothing, as the answer counts for all later runs. `answer`: False if the user has
    rejected this content, None if not asked yet. `is_asked`: whether a chat asks for one before it begins.
    """

    file: Path
    digest: str
    values: dict[str, Json]
    answer: bool | None = None
    is_asked: bool = True


_ALIASES = "commands.aliases."


class Loaded(msgspec.Struct, frozen=True, kw_only=True):
    """The settings, with their origins and what was rejected.

    `origins`: for each key that is not at its default (one for each alias), the layer that set it. `withheld`: keys of
    the project's file without effect until it is trusted; if there are any, `held_back` has the details. `keyless`:
    environment variables with keys that must not be sent, as the untrusted project has chosen the server. `left_out`:
    errors of an untrusted project's file, ignored. `unchecked`: the rules it adds. `files`: the files that were read.
    `remarks` are further warnings, not translated yet. `alone`: `own`, if it differs from `settings`.
    `has_strange_server`: the untrusted project has chosen a server that is none of the user's, which gets nothing of
    theirs from elsewhere: `settings` have no folders and collections for research, and no fallbacks.
    """

    settings: Settings
    origins: dict[str, Origin] = {}
    withheld: tuple[str, ...] = ()
    held_back: HeldBack | None = None
    keyless: frozenset[str] = frozenset()
    left_out: tuple[ConfigurationError, ...] = ()
    unchecked: "Rules" = {}
    remarks: tuple[Phrase, ...] = ()
    files: dict[Layer, Path] = {}
    alone: Settings | None = None
    has_strange_server: bool = False

    @property
    def own(self) -> Settings:
        """The settings for what is kept beyond the project: nothing from an untrusted one, and of a trusted one all but
        its section `project`."""
        return self.alone or self.settings

    @property
    def project_aliases(self) -> frozenset[str]:
        """The names of the aliases that the project's settings define."""
        of_project = (key for key, origin in self.origins.items() if origin.layer == "project")
        return frozenset(key.removeprefix(_ALIASES) for key in of_project if key.startswith(_ALIASES))

    @property
    def warnings(self) -> tuple[str, ...]:
        """Warnings for the user, in the current language."""
        return (*map(left_out_notice, self.left_out), *map(str, self.remarks))

    def allowed_environ(self, environ: Mapping[str, str]) -> Mapping[str, str]:
        """Return the environment for code that connects to model servers: without the keys that must not be sent. A
        model that an untrusted project names is no reason to take another person's server."""
        allowed = {name: value for name, value in environ.items() if name not in self.keyless}
        return allowed if self.settings.llm.model == self.own.llm.model else allowed | {OWN_SERVERS_ONLY: "1"}

    def unsent_keys(self, environ: Mapping[str, str]) -> list[str]:
        """Return the variables of `keyless` that hold a key."""
        return sorted(name for name in self.keyless if environ.get(name, "").strip())


Rules = dict[str, tuple[str | SafetyRule, ...]]
"""Safety rules by the key of their list: safety.deny, safety.ask, safety.rules."""


def left_out_notice(error: ConfigurationError) -> str:
    """Return the translated notice that an untrusted project's file, or one of its keys, was ignored."""
    whole = error.key in ("config_bad_toml", "config_unreadable")
    return " ".join(
        str(
            Phrase(
                N_("The project's localllm.toml, which is not trusted, is ignored as a whole: {error}")
                if whole
                else N_("In the project's localllm.toml, which is not trusted, one setting is ignored: {error}"),
                error=error,
            )
        ).split()
    )


def load(
    project_root: Path,
    *,
    environ: Mapping[str, str],
    overrides: Mapping[str, Json] | None = None,
    trusted: bool = False,
    believed: str = "",
) -> Loaded:
    """Load the settings for the project at `project_root`.

    `overrides` are dotted keys from the command line. The project's own file may only set what `trust.admitted`
    accepts, unless it is `trusted`, or its content has the digest `believed`, or the user has once accepted this
    content. Raises ConfigurationError (E1001 to E1005) for the first error, except in an untrusted project's file,
    where errors are ignored.
    """
    stack = _Stack()
    files: dict[Layer, Path] = {}
    user, project = config_file(environ), project_root / SETTINGS_FILE
    if (text := read_text(user)) is not None:
        files["user"] = user
        for key, value, origin in file_values(text, user, "user"):
            stack.put(key, value, origin)
    above = _Stack()
    remarks = _add_environment(above, environ)
    _add_overrides(above, overrides or {})
    reading = _ProjectFile(project_root, environ, trusted=trusted, believed=believed)
    alone: Settings | None = None
    if not _same(user, project) and (text := reading.read()) is not None:
        files["project"] = project
        without = stack.copy()
        reading.put(text, stack, above)
        without.put_all(above)
        alone = without.settings()
    stack.put_all(above)
    settings = stack.settings()
    if alone and reading.is_trusted():  # its patterns are for its own folder all the same
        alone = msgspec.structs.replace(settings, project=alone.project)
    is_strange = bool(alone and reading.keyless and is_of_project(settings.llm, alone.llm, environ))
    if is_strange:
        research = msgspec.structs.replace(settings.research, docs=(), collections=())
        settings = msgspec.structs.replace(settings, research=research)
        remarks = (*remarks, NOTICE)
    others = set(settings.llm.fallback_providers) - {settings.llm.provider}
    stands_alone = bool(alone and others and is_first_of_project(settings.llm, alone.llm, environ))
    if stands_alone:
        settings = msgspec.structs.replace(settings, llm=msgspec.structs.replace(settings.llm, fallback_providers=()))
        remarks = remarks if is_strange else (*remarks, ALONE_NOTICE)
    return Loaded(
        settings=settings,
        origins=stack.origins,
        withheld=reading.withheld(stack),
        held_back=reading.held_back(stack, is_strange=is_strange or stands_alone),
        keyless=reading.keyless,
        left_out=tuple(reading.faults),
        unchecked=reading.unchecked,
        remarks=(*reading.remarks, *remarks),
        files=files,
        alone=None if alone == settings else alone,
        has_strange_server=is_strange,
    )


def secret(key: str, environ: Mapping[str, str]) -> str:
    """Return the secret for the setting `key` (such as llm.openai.api_key) from its variable. Empty if not set."""
    return environ.get(SECRET_VARIABLES[key], "").strip()


_GROWING = ("safety.dangerous_commands",)
"""Lists to which every layer adds: none can remove what another has called dangerous."""


class _Stack:
    """The values of the layers read so far, later ones over earlier ones."""

    def __init__(self) -> None:
        self.values: dict[str, Json] = {}
        self.origins: dict[str, Origin] = {}

    def put(self, key: str, value: Json, origin: Origin) -> None:
        self.values[key] = self.joined(key, value)
        self.origins[key] = origin

    def copy(self) -> "_Stack":
        copied = _Stack()
        copied.values, copied.origins = dict(self.values), dict(self.origins)
        return copied

    def put_all(self, above: "_Stack") -> None:
        for key, value in above.values.items():
            self.put(key, value, above.origins[key])

    def joined(self, key: str, value: Json) -> Json:
        """Return the effective value once a layer sets `value`."""
        return tuple(dict.fromkeys((*self.effective(key), *value))) if key in _GROWING else value

    def effective(self, key: str) -> Json:
        return self.values[key] if key in self.values else find_setting(key, "").default

    def settings(self) -> Settings:
        tree: dict[str, Any] = {}
        for key, value in self.values.items():
            *path, name = path_of(key)
            table = tree
            for part in path:
                table = table.setdefault(part, {})
            table[name] = value
        return msgspec.convert(tree, Settings)


class _ProjectFile:
    """The project's own settings file and what is rejected of it. Looks up the user's answers only if they matter."""

    def __init__(self, root: Path, environ: Mapping[str, str], *, trusted: bool, believed: str) -> None:
        self.remarks: tuple[Phrase, ...] = ()
        self.faults: list[ConfigurationError] = []
        self.keyless: frozenset[str] = frozenset()
        self.unchecked: Rules = {}
        self._file = root / SETTINGS_FILE
        self._root = root
        self._environ = environ
        self._trusted = trusted
        self._believed = believed
        self._digest = ""
        self._is_trusted: bool | None = None
        self._answer: bool | None = None
        self._refused: dict[str, Json] = {}
        self._changed: dict[str, Json] = {}
        self._conditional: dict[str, Json] = {}
        self._lacks_key = False

    def read(self) -> str | None:
        """Return the text of the file, None if there is none that can be read."""
        try:
            return None if self._leads_out() else read_text(self._file)
        except ConfigurationError as error:
            if self._trusted:
                raise
            self.faults.append(error)
            return None

    def _leads_out(self) -> bool:
        """Return whether an untrusted file is a link out of the project: its errors would reveal the target's
        content."""
        try:
            leads_out = self._file.is_symlink() and not Path(real_path(self._file)).is_relative_to(
                real_path(self._root)
            )
        except OSError:  # a circular link: reading reports it
            return False
        if leads_out and not self._trusted:
            reason = Phrase("It is a link to a file outside the project")
            self.faults.append(ConfigurationError("config_unreadable", file=self._file, reason=reason))
            return True
        return False

    def put(self, text: str, stack: _Stack, above: _Stack) -> None:
        """Put the accepted settings of the file on the stack; `above` is what will be put over it."""
        written = [(key, stack.joined(key, value), origin) for key, value, origin in self._written(text)]
        says = {key: value for key, value, _ in written}
        before = {key: stack.effective(key) for key in says}
        accepted = self._accepted(says, stack, above)
        chosen = _chosen_servers({key for key in says if accepted[key] is not None}, accepted, before, above)
        keyless = frozenset(name for server in chosen for name in KEY_VARIABLES[server])
        rules = _added_rules(accepted, before)
        changed = {key: value for key, value in says.items() if accepted[key] != value}
        if (changed or rules or chosen) and not self._is_believed(text):
            self._changed, self.keyless, self.unchecked = changed, keyless, rules
            self._refused = {key: value for key, value in changed.items() if accepted[key] is None}
            self._conditional = {key: value for key, value in says.items() if not is_always_admitted(key, value)}
            self._lacks_key = any(map(self._has_key, chosen))
        for key, value, origin in written:
            if key not in self._refused:
                stack.put(key, accepted[key] if key in self._changed else value, origin)

    def _written(self, text: str) -> list[tuple[str, Json, Origin]]:
        """Return the settings in the file. Errors raise ConfigurationError if the file is trusted."""
        faults: list[ConfigurationError] = []
        written: list[tuple[str, Json, Origin]] = []
        try:
            written = list(file_values(text, self._file, "project", faults))
        except ConfigurationError as error:
            faults = [error]
        if faults and self._is_believed(text):
            raise faults[0]
        self.faults += faults
        return written

    def _accepted(self, says: dict[str, Json], stack: _Stack, above: _Stack) -> dict[str, Json]:
        """Return the accepted value of each setting, None if rejected.
        Provider and model come last: they depend on addresses."""
        accepted: dict[str, Json] = {}
        for key in sorted(says, key=lambda key: (key == "llm.model", key == "llm.provider")):
            bases = {server: f"llm.{server}.base_url" for server in SERVERS}
            found = {
                server: above.values.get(base) or accepted.get(base) or stack.effective(base)
                for server, base in bases.items()
            }
            addresses = addresses_of(found, self._environ)
            if key == "llm.model":
                name = "llm.provider"
                provider = above.values.get(name) or accepted.get(name) or stack.effective(name)
                others = self._environ.get(LOOKED_AT, "").replace(",", " ").split()
                addresses = addresses | dict(zip(others, others, strict=True)) if provider == "auto" else {}
            accepted[key] = admitted(key, says[key], stack.effective(key), self._root, addresses)
        return accepted

    def _has_key(self, server: str) -> bool:
        return any(self._environ.get(name, "").strip() for name in KEY_VARIABLES[server])

    def withheld(self, stack: _Stack) -> tuple[str, ...]:
        """Return the rejected keys, except those that another layer has set to the same value."""
        return tuple(key for key, value in self._refused.items() if value != stack.effective(key))

    def held_back(self, stack: _Stack, *, is_strange: bool) -> HeldBack | None:
        """Return what the user can decide about, if anything is withheld; None if the file has errors:
        trusting it would raise them, and correcting them changes the content."""
        is_asked = bool(self.withheld(stack) or self._lacks_key)
        if self.faults or not (is_asked or is_strange):
            return None
        return HeldBack(
            file=self._file, digest=self._digest, values=self._conditional, answer=self._answer, is_asked=is_asked
        )

    def is_trusted(self) -> bool:
        """Return whether the file counts in full. The user's answers are looked up only where they matter for it."""
        return self._trusted or self._is_trusted is True

    def _is_believed(self, text: str) -> bool:
        if self._is_trusted is None:
            self._digest = digest_of(text)
            self._is_trusted = self._trusted or self._digest == self._believed
            if not self._is_trusted:
                self._answer, fault = Answers.of_user(self._environ).recall(self._root, self._digest)
                self.remarks = (fault,) if fault else ()
                self._is_trusted = self._answer is True
        return self._is_trusted


def _chosen_servers(
    admitted_keys: set[str], accepted: dict[str, Json], before: dict[str, Json], above: _Stack
) -> dict[str, str]:
    """Return the providers whose server the file chooses, by name or address, with the deciding key.
    Excludes keys that do not change the value, or that a later layer sets."""
    deciding = {key for key in admitted_keys if accepted[key] != before[key] and key not in above.values}
    chosen = {server: key for server in KEY_VARIABLES if (key := f"llm.{server}.base_url") in deciding}
    if "llm.provider" in deciding and accepted["llm.provider"] in KEY_VARIABLES:
        chosen.setdefault(accepted["llm.provider"], "llm.provider")
    return chosen


def _added_rules(accepted: dict[str, Json], before: dict[str, Json]) -> Rules:
    """Return the rules added to those of the user."""
    lists = ("safety.deny", "safety.ask", "safety.rules")
    added = {
        key: tuple(rule for rule in accepted.get(key) or () if rule not in before[key])
        for key in lists
        if key in accepted
    }
    return {key: rules for key, rules in added.items() if rules}


def _same(one: Path, other: Path) -> bool:
    try:
        return real_path(one) == real_path(other)
    except OSError:
        return False


def _add_environment(stack: _Stack, environ: Mapping[str, str]) -> tuple[Phrase, ...]:
    """Put the settings in environment variables on the stack; return warnings on unknown ones. Empty is unset."""
    named = {
        name: value
        for name, value in environ.items()
        if name.startswith(PREFIX) and name not in RESERVED_VARIABLES and value
    }
    if not named:
        return ()
    known = {setting.variable: setting for setting in all_settings().values() if not setting.table}
    remarks: list[Phrase] = []
    for name, text in named.items():
        setting = known.get(name)
        if setting is None:
            near = nearest_key(name, known)
            remarks.append(
                Phrase("The environment variable {name} names no setting. {hint}", name=name, hint=_did_you_mean(near))
            )
        elif setting.secret_variable:
            remarks.append(
                Phrase(
                    "The environment variable {name} is not read; the key belongs in {variable}.",
                    name=name,
                    variable=setting.secret_variable,
                )
            )
        else:
            value = parse_value(setting.key, text, name)
            stack.put(setting.key, value, Origin("environment", name))
    return tuple(remarks)


def _did_you_mean(near: str) -> object:
    return Phrase("Did you mean “{key}”?", key=near) if near else ""


def _add_overrides(stack: _Stack, overrides: Mapping[str, Json]) -> None:
    where = Phrase("command line")
    for key, value in overrides.items():
        setting = find_setting(key, where)
        parsed = parse_value(key, value, where) if isinstance(value, str) else checked(setting, value, where)
        stack.put(key, parsed, Origin("command line", "command line"))


_running: dict[Path, Settings] = {}


def run_with(settings: Settings, root: Path) -> None:
    """Note the settings that the program runs with in the project at `root`, with all their rules: those in a file that
    is changed meanwhile take effect at the next start."""
    _running[root] = settings


def running(root: Path) -> Settings | None:
    """Return these settings; None if none were noted."""
    return _running.get(root)
