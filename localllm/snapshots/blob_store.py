"""The store of contents: what files held, each under its SHA-256. A content never changes once it is there."""

import hashlib
import os
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from uuid import uuid4

from localllm.base.files import copy_content
from localllm.snapshots.processes import Programs, make_folder

_GRACE = 3600.0  # seconds: a content not yet in the journal may belong to a call that is still running


class Contents:
    """The contents in `folder`. Methods raise OSError."""

    def __init__(self, folder: Path, programs: Programs) -> None:
        self._folder = folder
        self._programs = programs

    def put(self, chunks: Iterable[bytes]) -> str:
        """Keep a content; its SHA-256."""
        self._programs.show_alive()
        make_folder(self._folder)
        temporary = self._folder / f"{self._programs.own}-{uuid4().hex[:8]}.tmp"
        digest = hashlib.sha256()
        try:
            with os.fdopen(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as out:
                for chunk in chunks:
                    digest.update(chunk)
                    out.write(chunk)
            name = digest.hexdigest()
            self.path(name).parent.mkdir(exist_ok=True, mode=0o700)
            temporary.replace(self.path(name))
        finally:
            temporary.unlink(missing_ok=True)
        return name

    def put_bytes(self, data: bytes) -> str:
        """Keep a content that is in memory; its SHA-256. Cheap where it is there already."""
        name = hashlib.sha256(data).hexdigest()
        try:
            os.utime(self.path(name))
        except OSError:
            return self.put([data])
        return name

    def put_file(self, name: str, file: int) -> None:
        """Keep what an open file holds under a name that stands for it (64 hexadecimal digits); blocks are shared with
        it where the file system can."""
        self._programs.show_alive()
        make_folder(self._folder)
        temporary = self._folder / f"{self._programs.own}-{uuid4().hex[:8]}.tmp"
        try:
            target = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            try:
                copy_content(file, target)
            finally:
                os.close(target)
            self.path(name).parent.mkdir(exist_ok=True, mode=0o700)
            temporary.replace(self.path(name))
        finally:
            temporary.unlink(missing_ok=True)

    def put_small(self, name: str, data: bytes) -> None:
        """Keep a content under a name that stands for it: quicker than `put_file`, but where the program is killed
        meanwhile its `size` is not that of `data`."""
        try:
            self.path(name).write_bytes(data)
        except FileNotFoundError:
            make_folder(self.path(name).parent)
            self.path(name).write_bytes(data)

    def get(self, name: str) -> bytes:
        """The content."""
        return self.path(name).read_bytes()

    def size(self, name: str) -> int:
        """Its bytes; 0 where it is not there."""
        try:
            return self.path(name).stat().st_size
        except FileNotFoundError:
            return 0

    def path(self, name: str) -> Path:
        """Where a content lies."""
        return self._folder / name[:2] / name

    def forget_all_but(self, names: set[str], grace: float = _GRACE) -> None:
        """Remove the others, but for those of the last hour, or of `grace` seconds."""
        young = time.time() - grace
        for file in self._folder.glob("*/*"):
            with suppress(FileNotFoundError):
                if file.name not in names and file.stat().st_mtime < young:
                    file.unlink()

    def remove_half_written(self, program: str) -> None:
        """Remove what another program, which was killed, left half written."""
        for temporary in self._folder.glob(f"{program}-*.tmp"):
            temporary.unlink(missing_ok=True)
