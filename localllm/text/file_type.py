"""Detect the type of a binary file from its first bytes (and, for archives, its last ones)."""

import struct

import msgspec

HEAD = 65_536
"""Bytes of the head, and of the tail, needed for detection."""


class Picture(msgspec.Struct, frozen=True):
    """An image's format: `media_type` as in image/png; `width` and `height` in pixels."""

    media_type: str
    width: int
    height: int


_KINDS: tuple[tuple[int, bytes, str], ...] = (
    (0, b"%PDF-", "pdf"),
    (0, b"\x7fELF", "elf"),
    (0, b"MZ", "windows_program"),
    (0, b"\xcf\xfa\xed\xfe", "macos_program"),
    (0, b"\xca\xfe\xba\xbe", "java_class"),
    (0, b"\0asm", "wasm"),
    (0, b"\x1f\x8b", "gzip"),
    (0, b"BZh", "bzip2"),
    (0, b"\xfd7zXZ\0", "xz"),
    (0, b"\x28\xb5\x2f\xfd", "zstd"),
    (0, b"7z\xbc\xaf\x27\x1c", "7zip"),
    (0, b"Rar!\x1a\x07", "rar"),
    (257, b"ustar", "tar"),
    (0, b"SQLite format 3\0", "sqlite"),
    (0, b"GGUF", "gguf"),
    (0, b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "old_office"),
    (0, b"\x93NUMPY", "numpy"),
    (0, b"PAR1", "parquet"),
    (0, b"\x89HDF\r\n\x1a\n", "hdf5"),
    (0, b"\x80\x04\x95", "pickle"),
    (0, b"\x89PNG\r\n\x1a\n", "picture"),
    (0, b"\xff\xd8\xff", "picture"),
    (0, b"GIF8", "picture"),
    (8, b"WEBP", "picture"),
    (0, b"BM", "picture"),
    (0, b"II*\0", "picture"),
    (0, b"MM\0*", "picture"),
    (0, b"8BPS", "picture"),
    (0, b"\0\0\1\0", "picture"),
    (4, b"ftypavif", "picture"),
    (4, b"ftypheic", "picture"),
    (4, b"ftyp", "film"),
    (0, b"\x1aE\xdf\xa3", "film"),
    (8, b"AVI ", "film"),
    (0, b"ID3", "sound"),
    (0, b"OggS", "sound"),
    (0, b"fLaC", "sound"),
    (8, b"WAVE", "sound"),
    (0, b"wOFF", "font"),
    (0, b"wOF2", "font"),
    (0, b"OTTO", "font"),
    (0, b"\0\1\0\0\0", "font"),
)
"""Offset, magic bytes, and kind, as in file(1); limited to types found in projects."""

_IN_ZIP: tuple[tuple[bytes, str], ...] = (
    (b"opendocument.text", "document"),
    (b"opendocument.spreadsheet", "spreadsheet"),
    (b"opendocument.presentation", "slides"),
    (b"application/epub", "epub"),
    (b"word/document", "document"),
    (b"xl/workbook", "spreadsheet"),
    (b"ppt/presentation", "slides"),
    (b"AndroidManifest.xml", "android"),
    (b"META-INF/MANIFEST.MF", "jar"),
    (b".dist-info/WHEEL", "wheel"),
)
"""Member names in a ZIP archive that reveal its kind."""


def kind_of(head: bytes, tail: bytes = b"") -> str:
    """Return the kind of a file with these first and last bytes: "pdf", "elf", "zip", "picture", …; "" if unknown."""
    if head.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        return next((kind for name, kind in _IN_ZIP if name in head or name in tail), "zip")
    return next((kind for offset, mark, kind in _KINDS if head.startswith(mark, offset)), "")


def picture_in(head: bytes) -> Picture | None:
    """Return the image's format if models can see it: PNG, JPEG, GIF, WebP; else None."""
    try:
        if head.startswith(b"\x89PNG\r\n\x1a\n"):
            return Picture("image/png", *struct.unpack_from(">II", head, 16))
        if head.startswith(b"GIF8"):
            return Picture("image/gif", *struct.unpack_from("<HH", head, 6))
        if head.startswith(b"RIFF") and head.startswith(b"WEBP", 8):
            return _webp(head)
        if head.startswith(b"\xff\xd8\xff"):
            return _jpeg(head)
    except struct.error:  # truncated
        return None
    return None


def _webp(head: bytes) -> Picture | None:
    """Parse the three formats of https://developers.google.com/speed/webp/docs/riff_container."""
    match head[12:16]:
        case b"VP8 ":
            width, height = struct.unpack_from("<HH", head, 26)
            return Picture("image/webp", width & 0x3FFF, height & 0x3FFF)
        case b"VP8L":
            (bits,) = struct.unpack_from("<I", head, 21)
            return Picture("image/webp", (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1)
        case b"VP8X":
            width, height = (int.from_bytes(head[at : at + 3], "little") + 1 for at in (24, 27))
            return Picture("image/webp", width, height)
        case _:
            return None


_STARTS_OF_FRAME = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
_JPEG_SIZE_UNKNOWN = Picture("image/jpeg", 0, 0)


def _jpeg(head: bytes) -> Picture:
    """Walk the markers to the start of frame (ITU-T T.81, B.2.2); size 0 if it is beyond the head."""
    at = 2
    while at + 9 <= len(head) and head[at] == 0xFF:
        marker, length = struct.unpack_from(">BH", head, at + 1)
        if marker in _STARTS_OF_FRAME:
            height, width = struct.unpack_from(">HH", head, at + 5)
            return Picture("image/jpeg", width, height)
        at += 2 + length
    return _JPEG_SIZE_UNKNOWN
