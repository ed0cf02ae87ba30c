"""What a file is, told by its bytes."""

import gzip
import io
import sqlite3
import struct
import sys
import tarfile
import zipfile
from contextlib import closing
from pathlib import Path

from localllm.text.file_type import _IN_ZIP, _KINDS, Picture, kind_of, picture_in
from localllm.tools.text_files import KIND_TEXTS
from tests.support.each import each

PNG = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + struct.pack(">II", 640, 480)
JPEG = b"\xff\xd8\xff\xe0\0\x10JFIF" + bytes(10) + b"\xff\xc2\0\x11\x08" + struct.pack(">HH", 480, 640) + bytes(4)


def zipped(*names: str) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("first", "x" * 10)
        for name in names:
            archive.writestr(name, "")
    return file.getvalue()


@each(
    ("data", "expected"),
    [
        (PNG, Picture("image/png", 640, 480)),
        (b"GIF89a" + struct.pack("<HH", 3, 2), Picture("image/gif", 3, 2)),
        (JPEG, Picture("image/jpeg", 640, 480)),
        (b"\xff\xd8\xff\xe1\xff\xff" + bytes(100), Picture("image/jpeg", 0, 0)),
        (b"RIFF\0\0\0\0WEBPVP8X" + bytes(8) + b"\x7f\x02\0\xdf\x01\0", Picture("image/webp", 640, 480)),
        (b"RIFF\0\0\0\0WEBPVP8 " + bytes(10) + struct.pack("<HH", 640, 480), Picture("image/webp", 640, 480)),
        (b"RIFF\0\0\0\0WEBPVP8L" + bytes(5) + struct.pack("<I", 639 | 479 << 14), Picture("image/webp", 640, 480)),
        (b"\x89PNG\r\n\x1a\n", None),
        (b"BM" + bytes(50), None),
        (b"text", None),
    ],
)
def test_pictures_tell_their_size(data: bytes, expected: Picture | None) -> None:
    assert picture_in(data) == expected


def test_files_as_programs_write_them(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "db")) as base:
        base.execute("create table t (x)")
    with tarfile.open(tmp_path / "tar", "w") as archive:
        archive.add(tmp_path / "db", "db")
    assert kind_of((tmp_path / "db").read_bytes()) == "sqlite"
    assert kind_of((tmp_path / "tar").read_bytes()) == "tar"
    assert kind_of(gzip.compress(b"x")) == "gzip"
    assert kind_of(Path(sys.executable).read_bytes()[:100]) == "elf" or sys.platform != "linux"
    assert kind_of(b"plain text") == ""


def test_archives_tell_what_is_in_them() -> None:
    for name, kind in {"word/document.xml": "document", "xl/workbook.xml": "spreadsheet", "a.txt": "zip"}.items():
        data = zipped(name)
        assert kind_of(data[:20], data[-100:]) == kind


def test_every_kind_has_its_words() -> None:
    kinds = {kind for _, _, kind in _KINDS} | {kind for _, kind in _IN_ZIP} | {"zip"}
    assert set(KIND_TEXTS) == kinds
