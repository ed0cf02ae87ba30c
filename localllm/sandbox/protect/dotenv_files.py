"""Find the `.env` files that direnv or mise export into the user's shell, and judge changes of them.

Work writes these all the time, and neither program asks for a changed one: only for a changed `.envrc`. So they may be
changed, but for variables that shells, git, loaders and the like believe.
"""

import os
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
    r"""\s*(?:#.*)?|\s*(?:export\s+)?([A-Za-z_]\w*)=(?:"[^"$`\\]*"|'[^']*'|[^\s"'$`\\;&|<>()]*)\s*(?:\s#.*)?"""
)
"""A line that sets one variable to plain text, or none, for a shell as for direnv."""

_BELIEVED = late_pattern(
    r"(?i)[A-Z0-9]*PATH|(?:\w+_)?(?:LIBRARY|PLUGIN|MODULE|LOAD|TYPELIB|CONFIG|SEARCH)S?_PATH|(?:NIX|LUA|QT|GTK|GST)_\w+"
    r"|LD_\w+|DYLD_\w+|BASH|BASHOPTS|BASH_\w+|SHELL|SHELLOPTS|R?PROMPT[2-4]?|PROMPT_COMMAND|R?PS[0-4]|precmd\w*|ZDOTDIR"
    r"|IFS|HOME|XDG_\w+|TMPDIR|INPUTRC|TERMINFO\w*|HIST(?!ORY_)\w+|GIT_(?!(?:SHA|COMMIT|BRANCH|TAG|HASH|REV\w*)$)\w+|SSH_\w+|GNUPGHOME|GPG_\w+"
    r"|\w*(?:PAGER|EDITOR|VISUAL|ASKPASS|LESSOPEN|LESSCLOSE|_RSH|_SSH)|LESS|BROWSER"
    r"|PYTHON(?!UNBUFFERED$|DONTWRITEBYTECODE$)\w*|PERL\w+|RUBY\w+|GEM_\w+|BUNDLE_\w+|NODE_(?!ENV$)\w+"
    r"|(?:\w+_)?JAVA_(?:TOOL_)?OPTIONS|\w+_OPTS|NPM_CONFIG_\w+|PIP_\w+|UV_\w+|CARGO\w*|RUST(?!_LOG$|_BACKTRACE$)\w+"
    r"|GO(?:ROOT|ENV|PROXY|FLAGS|TOOLCHAIN)|MAKE|MAKEFLAGS|MAKEFILES|CC|CXX|DOCKER_(?:HOST|CONFIG|CONTEXT|CERT\w+|TLS\w*)|KUBECONFIG"
    r"|DIRENV_\w+|MISE_\w+|ASDF_\w+|PYENV_\w+|NVM_\w+|VIRTUAL_ENV|CONDA_\w+|(?:HTTPS?|ALL|NO|FTP)_PROXY|SSL_CERT_\w+"
    r"|CURL_\w+|REQUESTS_CA_BUNDLE|OPENSSL_\w+|GCONV_\w+|GIO_\w+|VIM|VIMINIT|VIMRUNTIME|EXINIT|FZF_\w+|STARSHIP_\w+|LOCALLLM_\w+"
)
_NO_PROGRAM = ("ENV=", "BROWSER=none", "BROWSER=false")


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
    known = set(before.decode("utf-8", "replace").splitlines())
    return all(line in known or _is_harmless(line) for line in after.decode("utf-8", "replace").splitlines())


def _is_harmless(line: str) -> bool:
    found = _PLAIN.fullmatch(line)
    if not found or "\0" in line:
        return False
    if not found[1] or not (_BELIEVED.fullmatch(found[1]) or found[1] == "ENV"):
        return True
    plain = re.sub(r"^\s*(?:export\s+)?", "", line)
    return plain.startswith(_NO_PROGRAM) and os.sep not in plain
