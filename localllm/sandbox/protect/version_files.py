"""Judge `.tool-versions`, which names versions and is written all the time: but mise reads it as a template, which runs
programs, in a folder that the user's settings have it trust, and its older releases did so anywhere."""

from localllm.base.folded_names import folded

VERSIONS = ".tool-versions"


def is_template_of_versions(path: str, content: bytes) -> bool:
    """Return whether a file of this content at the path would be such a template."""
    return is_version_file(path) and (b"{{" in content or b"{%" in content)


def is_version_file(path: str) -> bool:
    """Return whether a file at the path names versions so."""
    return folded(path.rpartition("/")[2]) == VERSIONS
