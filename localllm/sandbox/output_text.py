"""Decode the output of commands: UTF-8, and lines that clearly read as Japanese in Shift_JIS or EUC-JP."""

from collections.abc import Callable

_JAPANESE = ("cp932", "euc_jp")
_LONGEST_HELD = 4096  # bytes of an unfinished line that is not UTF-8


def as_text(data: bytes, known: str = "") -> str:
    """Decode an output; see `read_output`."""
    return read_output(data, known)[0]


def read_output(data: bytes, known: str = "") -> tuple[str, str]:
    """Decode an output line by line, and return the text and the Japanese encoding that some of it has, or "". What is
    neither UTF-8 nor Japanese is replaced. `known`: that encoding, if it has been recognised before."""
    try:
        return data.decode(), ""
    except UnicodeDecodeError:
        other = known or japanese_encoding(data)
    lines = [line.decode("utf-8" if _is_utf8(line) else other or "utf-8", "replace") for line in data.split(b"\n")]
    return "\n".join(lines), other


def japanese_encoding(data: bytes) -> str:
    """Return the Japanese encoding of the lines that are not UTF-8; "" if they do not clearly read as Japanese."""
    from localllm.text.decoding import NotTextError, decode  # commands rarely print other encodings

    try:
        encoding = decode(b"\n".join(line for line in data.split(b"\n") if not _is_utf8(line))).encoding
    except NotTextError:
        return ""
    return encoding if encoding in _JAPANESE else ""  # the guess of others takes a file to be sure


def finished_length(data: bytes) -> int:
    """Return how many bytes of an unfinished output can be decoded: up to a torn UTF-8 character at its end, or up to a
    last line in another encoding, unless that is very long."""
    start = data.rfind(b"\n") + 1
    try:
        data[start:].decode()
    except UnicodeDecodeError as error:
        if error.reason == "unexpected end of data":
            return start + error.start
        return start if len(data) - start <= _LONGEST_HELD else len(data)
    return len(data)


class OutputPieces:
    """Decodes an output piece by piece."""

    def __init__(self) -> None:
        self.encoding = ""
        """That of the lines that are not UTF-8, once recognised."""
        self._rest: bytes = b""

    def decode(self, data: bytes, kept: Callable[[], bytes], *, final: bool) -> str:
        """Decode the next piece, as far as it can be decoded before more comes. `kept` returns the output so far, which
        shows the encoding of a short piece."""
        data = self._rest + data
        end = len(data) if final else finished_length(data)
        data, self._rest = data[:end], data[end:]
        if not self.encoding and not _is_utf8(data):
            whole = kept()
            whole = whole if final else whole[: finished_length(whole)]
            self.encoding = japanese_encoding(whole) or japanese_encoding(data)
        return as_text(data, self.encoding)


def _is_utf8(line: bytes) -> bool:
    try:
        line.decode()
    except UnicodeDecodeError:
        return False
    return True
