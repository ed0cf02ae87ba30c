"""A database that deletes a file of its reader's, for tests of what is opened."""

import sqlite3
import struct
from contextlib import closing
from pathlib import Path

_MAGIC = bytes.fromhex("d9d505f920a163d7")


def deadly_database(file: Path, victim: Path) -> None:
    """Make a database with a hot journal, after whose playback SQLite deletes `victim` as its super-journal."""
    with closing(sqlite3.connect(file)) as database, database:
        database.execute("CREATE TABLE IF NOT EXISTS filler (path TEXT PRIMARY KEY) WITHOUT ROWID")
        size, pages = (database.execute(f"PRAGMA {name}").fetchone()[0] for name in ("page_size", "page_count"))
    database.close()
    page, nonce, name = file.read_bytes()[:size], 1234, str(victim).encode()
    head = (_MAGIC + struct.pack(">IIIII", 1, nonce, pages, 512, size)).ljust(512, b"\0")
    checksum = nonce + sum(page[at] for at in range(size - 200, 0, -200))
    record = struct.pack(">I", 1) + page + struct.pack(">I", checksum & 0xFFFFFFFF)
    last = struct.pack(">I", 0x40000000 // size + 1) + name + struct.pack(">II", len(name), sum(name)) + _MAGIC
    file.with_name(f"{file.name}-journal").write_bytes(head + record + last)
