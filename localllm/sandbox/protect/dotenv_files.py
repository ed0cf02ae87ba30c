"""Find the `.env` files that direnv or mise export into the user's shell, and judge changes of them.

Work writes these all the time, and neither program asks for a changed one: only for a changed `.envrc`. So they may be
changed, but only by plain values of variables that look like the project's own: which others some program believes, and
may run, nobody can list.
"""

import re
from collections.abc import Iterator

from localllm.base.lazy_patterns import late_pattern

_LOADER = late_pattern(r"\.envrc|\.?(?:mise|rtx)[\w.-]*\.toml|config(?:\.\w+)*\.toml")
_SOURCED = late_pattern(
    r"(?m)(?:^|[\s;&|({])(?:(dotenv|dotenv_if_exists)[ \t]*(?=$|[\n;&|)#])"
    r"|(?:dotenv|dotenv_if_exists|source_env|source_env_if_exists|source|\.)[ \t]+(?![;&|#])([^\s;&|)]+))"
)
_MENTIONED = late_pattern(r"(?<![\w.-])(?:[\w.-]+/)*\.env(?:\.[\w-]+)*(?![\w.-])")
_MOST_NAMED = 50

_PLAIN = late_pattern(
    r"""[ \t]*(?:\#.*)?
    | [ \t]*(?:export[ \t]+)?([A-Za-z_][A-Za-z0-9_]*)=("[^"$`\\]*"|'[^']*'|[^\s"'$`\\;&|<>()]*)[ \t]*(?:[ \t]\#.*)?""",
    re.VERBOSE,
)
"""A line, without control characters, that sets one variable to plain text, or none, for a shell as for direnv."""

_CONTROL = late_pattern(r"[^\S \t]|[\x00-\x08\x0e-\x1f\x7f-\x9f]")
"""Blanks and controls that some readers take for an end of line or a blank, and others do not."""

_PROGRAMS = frozenset(
    """
    LD DYLD BASH GIT HG SSH GPG XDG NIX LUA QT GTK GST DBUS SYSTEMD SUDO LC LESS MAN ZSH PERL RUBY GEM BUNDLE R ERL
    PHP DOTNET CORECLR PYTHON NODE RUST NPM YARN PNPM BUN PIP UV CARGO GO ANSIBLE VAULT CONSUL NOMAD PULUMI TF HELM
    TWINE POETRY PDM CONAN BORG RESTIC RCLONE DIRENV MISE ASDF PYENV NVM CONDA VIRTUAL CURL WGET OPENSSL SSL FZF
    STARSHIP LOCALLLM CLOUDSDK HOMEBREW
    """.split()
)
"""First words of the variables that everyday programs believe."""

_HARMLESS = frozenset(
    """
    GIT_SHA GIT_COMMIT GIT_BRANCH GIT_TAG GIT_HASH GIT_REV GIT_REVISION NODE_ENV RUST_LOG RUST_BACKTRACE
    """.split()
)

_CLIENTS = frozenset(
    """
    OPENAI ANTHROPIC CLAUDE CODEX CURSOR COPILOT AZURE GEMINI GOOGLE AWS OLLAMA LM LMSTUDIO LITELLM GROQ MISTRAL
    COHERE DEEPSEEK OPENROUTER HF HUGGINGFACE GITHUB GH GITLAB DOCKER KUBE KUBERNETES HEROKU VERCEL NETLIFY
    CLOUDFLARE SENTRY
    """.split()
)

_PLACES = frozenset(
    """
    URL URI HOST PORT ENDPOINT BASE DOMAIN SERVER ADDRESS MODE
    """.split()
)
"""Where a client that has a key of the user's finds its server."""

_OWN_PREFIX = late_pattern(r"(?:APP|DB|DATABASE|FEATURE|PUBLIC|VITE|GATSBY|REACT_APP|(?:NEXT|NUXT|EXPO)_PUBLIC)_\w+")
_OWN_NAMES = frozenset(
    """
    A B DB DATABASE URL URI DSN HOST PORT NAME TITLE DEBUG SECRET TOKEN KEY PASSWORD STAGE MODE REGION DOMAIN
    VERSION COLOR TESTING ENVIRONMENT WORKERS THREADS TIMEOUT LIMIT RETRIES TTL PGHOST PGPORT PGUSER PGPASSWORD
    PGDATABASE START_COMMAND BUILD_COMMAND RUN_COMMAND DEV_COMMAND PYTHONUNBUFFERED PYTHONDONTWRITEBYTECODE
    """.split()
)

_OWN_LAST_WORDS = frozenset(
    """
    KEY KEYS SECRET SECRETS TOKEN TOKENS PASS PASSWORD PASSPHRASE CREDENTIAL CREDENTIALS SALT HASH SHA COMMIT BRANCH
    TAG USER USERNAME EMAIL FROM TO SENDER NAME TITLE ID IDS UUID DB DATABASE SCHEMA TABLE COLLECTION INDEX QUEUE
    TOPIC CHANNEL BUCKET REGION ZONE URL URLS URI DSN ENDPOINT HOST HOSTS HOSTNAME PORT DOMAIN DOMAINS ORIGIN
    ORIGINS SERVER BASE ENV ENVIRONMENT STAGE MODE DEBUG LEVEL FORMAT ENABLED DISABLED VERSION MODEL LANGUAGE LOCALE
    TIMEZONE CURRENCY COLOR THEME TYPE KIND ROLE PLAN PREFIX SUFFIX TIMEOUT TTL LIMIT COUNT SIZE MAX MIN RETRIES
    WORKERS THREADS INTERVAL EXPIRY SCHEDULE
    """.split()
)
"""Of names of several words."""

_OWN_FOLDERS = late_pattern(
    r"(?:BASE|API|ROOT|LOGS?|DATA|UPLOADS?|DOWNLOADS?|STATIC|MEDIA|ASSETS?|STORAGE|OUTPUT|INPUT|MODELS?|SQLITE|BACKUPS?)"
    r"_(?:PATH|DIR|FOLDER|FILE|ROOT)"
)
_SETTING = late_pattern(r"(?i)\d{1,12}(?:\.\d{1,6})?|true|false|yes|no|on|off")
"""Values of any setting of several words, but where it names a file or a program."""

_OF_FILES = frozenset(
    """
    PATH FILE FOLDER DIR DIRS HOME ROOT CMD COMMAND PROG PROGRAM EXEC EXECUTABLE EDITOR PAGER SHELL RSH BROWSER
    ASKPASS OPTS OPTIONS FLAGS CONFIG RC STARTUP HOOK HOOKS PLUGIN PLUGINS MODULE MODULES PRELOAD LIB LIBS LIBRARY
    PYTHON RUNTIME INCLUDE
    """.split()
)
_NO_PROGRAM = frozenset({("BROWSER", "none"), ("BROWSER", "false"), ("ENV", "")})


def is_dotenv(path: str) -> bool:
    """Return whether a path below the project has the name of such a file: `.env`, `.env.local`."""
    name = path.rpartition("/")[2].casefold()
    return name == ".env" or name.startswith(".env.")


def sourced_by(path: str, content: bytes) -> Iterator[str]:
    """Yield what the file at `path`, if it is of direnv or mise, has read, relative to its folder; as far as it names
    that plainly."""
    name = path.rpartition("/")[2].casefold()
    if not _LOADER.fullmatch(name):
        return
    text = content.decode("utf-8", "replace")
    named = [match[0] for match in _MENTIONED.finditer(text)][:_MOST_NAMED]
    if name == ".envrc":
        named += [".env" if match[1] else match[2] for match in _SOURCED.finditer(text)][:_MOST_NAMED]
    for one in dict.fromkeys(named):
        if "/activate" not in one:  # of an environment: written whenever that is made anew
            yield re.sub(r"^\$\{?PWD\}?/", "", one.strip("\"'"))


def is_harmless_dotenv(before: bytes, after: bytes) -> bool:
    """Return whether the new lines set nothing that programs believe: neither code nor other programs are run by it."""
    old, new = before.split(b"\n"), after.split(b"\n")  # where a shell splits
    known = {line for line in old if _plain(line)}
    return all(line in known or _is_harmless(line) for line in _without(new, _odd_part(old)))


def _odd_part(lines: list[bytes]) -> list[bytes]:
    """Return the part with all that is not plain, such as a value of several lines, in which another line may end a
    quotation."""
    odd = [number for number, line in enumerate(lines) if not _plain(line)]
    return lines[odd[0] : odd[-1] + 1] if odd else []


def _without(lines: list[bytes], part: list[bytes]) -> list[bytes]:
    """Return the lines without the first place where all of `part` is."""
    starts = (at for at, line in enumerate(lines) if part and line == part[0] and lines[at : at + len(part)] == part)
    at = next(starts, None)
    return lines if at is None else lines[:at] + lines[at + len(part) :]


def _plain(raw: bytes) -> re.Match[str] | None:
    try:
        line = raw.removesuffix(b"\r").decode()
    except UnicodeDecodeError:
        return None
    return None if _CONTROL.search(line) else _PLAIN.fullmatch(line)


def _is_harmless(line: bytes) -> bool:
    found = _plain(line)
    return bool(found and (not found[1] or _is_own(found[1].upper(), found[2])))


def _is_own(name: str, value: str) -> bool:
    """Return whether a variable is one of the project's own, as far as no program is known to believe it."""
    first, *others = words = name.split("_")
    if name in _OWN_NAMES or name in _HARMLESS or (name, value) in _NO_PROGRAM:
        return True
    is_of_client = not _CLIENTS.isdisjoint(words) and words[-1] in _PLACES
    if not first or not others or first in _PROGRAMS or is_of_client:
        return False
    is_setting = _SETTING.fullmatch(value) and words[-1] not in _OF_FILES
    is_named_so = words[-1] in _OWN_LAST_WORDS or _OWN_PREFIX.fullmatch(name) or _OWN_FOLDERS.fullmatch(name)
    return bool(is_named_so or is_setting)
