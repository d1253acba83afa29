"""Decoding source files: bytes to text, as Python does it, and text to lines."""

from __future__ import annotations

import codecs
import io
import tokenize
from pathlib import Path

from devlint.errors import SourceError
from devlint.reading import read_file
from devlint.sources import program_of
from devlint.sources.program import Program


def decode(data: bytes, display: str) -> str:
    """Decode a source file as Python does, without a byte order mark and with every line end as `\\n`.

    Raises:
        SourceError: the coding declaration is wrong, or the bytes do not keep it.
    """
    text, _ = decode_exactly(data, display)
    return text.replace("\r\n", "\n").replace("\r", "\n")


def decode_exactly(data: bytes, display: str) -> tuple[str, str]:
    """Decode a source file by its byte order mark, then coding declaration (PEP 263), then as UTF-8.

    Returns:
        The text without a byte order mark and with the line ends that the file has, and the encoding; to encode
        the text so gives back the mark.

    Raises:
        SourceError: the declaration is wrong, or the bytes do not keep it.
    """
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
    except SyntaxError as error:
        if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
            raise SourceError("is UTF-16, which Python does not read; save it as UTF-8", path=display) from error
        reason = str(error.msg)
        if "unknown encoding" in reason:
            raise SourceError(f"cannot be decoded: {reason}", path=display, line=_declared_on(data)) from error
        if "BOM" in reason or "encoding problem" in reason:
            reason = "the coding declaration contradicts the UTF-8 byte order mark"
            raise SourceError(f"cannot be decoded: {reason}", path=display, line=_declared_on(data)) from error
        raise _not_text(data, "utf-8", display) from error
    try:
        text = data.decode(encoding)
        if not encoding.startswith("utf-8") and (data + b"\n").decode(encoding) != f"{text}\n":
            raise UnicodeError(f"Python reads no source in {encoding}")
        return text, encoding
    except UnicodeDecodeError as error:
        raise _not_text(data, encoding, display) from error
    except (LookupError, UnicodeError) as error:  # a codec that is none for text, such as rot13
        raise SourceError(
            f"cannot be decoded: {error}".partition(";")[0], path=display, line=_declared_on(data)
        ) from error


def read_program(path: Path, display: str) -> Program:
    """Read a file as the program that it holds.

    Raises:
        SourceError: it cannot be read or decoded.
    """
    return program_of(read_text(path, display), display)


def read_text(path: Path, display: str) -> str:
    """Read and decode a source file.

    Raises:
        SourceError: it cannot be read or decoded.
    """
    return decode(read_bytes(path, display), display)


def read_bytes(path: Path, display: str) -> bytes:
    """Read a regular file of a bounded size.

    Raises:
        SourceError: it cannot be read.
    """
    try:
        return read_file(path)
    except OSError as error:
        raise SourceError(f"cannot be read: {error.strerror or error}", path=display) from error


def _declared_on(data: bytes) -> int:
    first = data.split(b"\n", 1)[0]
    return 1 if b"coding" in first else 2


def _not_text(data: bytes, encoding: str, display: str) -> SourceError:
    try:
        data.decode(encoding)
    except UnicodeDecodeError as error:
        if b"\0" in data:
            return SourceError("is a binary file", path=display)
        line = data.count(b"\n", 0, error.start) + 1
        byte = f"0x{data[error.start]:02x}"
        return SourceError(f"is not {encoding}: byte {byte} ({error.reason})", path=display, line=line)
    return SourceError("cannot be decoded", path=display)


def lines_of(text: str) -> tuple[str, ...]:
    """Split decoded source text into lines as Python counts them: form feeds and the like end no line."""
    return tuple(text.split("\n"))
