"""Judge files by their content or place that work writes all the time, and that are believed with some only.

- `.tool-versions` names versions. mise reads it as a template, which runs programs, in a folder that the user's
  settings have it trust, and its older releases did so anywhere.
- `sgconfig.yml` lists rules of ast-grep. Releases before 0.50 load the libraries of its `customLanguages`, also for an
  editor.
- `.hglf/` has a file for each large file of Mercurial, with its hash and nothing else. Mercurial joins what is in there
  to the path of a folder, unchecked, and copies or links files of that name.
- `addon.rb` at any depth below a folder `ruby_lsp`: Ruby LSP runs it when the folder is opened (`Addon.load_addons`:
  `**/ruby_lsp/**/addon.rb`). That folder itself is the source of the server, and of each gem with an add-on.
"""

import re

from localllm.base.folded_names import folded

VERSIONS = ".tool-versions"
RULES = "sgconfig.yml"
STANDINS = ".hglf"
"""A folder; but a link may stand there."""

ADDON = "addon.rb"
_OF_ADDONS = "ruby_lsp"

_HASH = re.compile(rb"(?:[0-9a-fA-F]{40})?")


def is_judged_by_content(path: str) -> bool:
    """Return whether the content of a file at the path decides whether it is believed, or its place."""
    parts = folded(path).split("/")
    return parts[-1] in (VERSIONS, RULES) or STANDINS in parts or _is_addon(parts)


def _is_addon(parts: list[str]) -> bool:
    return parts[-1] == ADDON and _OF_ADDONS in parts


def is_believed_for_content(path: str, content: bytes) -> bool:
    """Return whether something would believe a file of this content at the path."""
    parts = folded(path).split("/")
    if STANDINS in parts:
        return not _HASH.fullmatch(content.strip())
    if _is_addon(parts):
        return True
    if parts[-1] == RULES:
        return b"customLanguages" in content or b"\\" in content  # by which YAML spells a key in another way
    return parts[-1] == VERSIONS and (b"{{" in content or b"{%" in content)
