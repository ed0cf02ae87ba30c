"""Deleting a folder with all that is in it. Runs in the launcher, too."""

import os


def delete_tree(folder: str) -> None:
    """Delete it, also what a command has closed to its owner, or made read-only. What cannot be deleted stays."""
    import shutil  # takes longer to import than a launcher has

    try:
        shutil.rmtree(folder)
    except OSError:
        _open_up(folder)
        shutil.rmtree(folder, ignore_errors=True)


def _open_up(folder: str) -> None:
    """Let the owner into the folder, and into those beneath before they are looked into."""
    try:
        os.chmod(folder, 0o700)  # noqa: PTH101 - pathlib takes long to import
        for above, names, _ in os.walk(folder):
            for path in (f"{above}/{name}" for name in names):
                if not os.path.islink(path):  # noqa: PTH114 - as above; and a link may lead out of here
                    os.chmod(path, 0o700)  # noqa: PTH101
    except OSError:
        return  # another one is deleting it as well
