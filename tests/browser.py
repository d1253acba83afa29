"""A real browser without a window, where this machine has one."""

from __future__ import annotations

import re
import shutil
import struct
import subprocess
import zlib
from collections import Counter
from pathlib import Path

import pytest

_NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
_QUIET = (
    "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync --hide-scrollbars --window-size=640,480"
).split()


def document_after_scripts(page: Path, profile: Path, *, fragment: str = "") -> str:
    """The page's HTML once its scripts have run; skips the test where there is no browser."""
    return _browse("--dump-dom", page, profile, fragment)


def tints_on_screen(page: Path, profile: Path) -> dict[str, int]:
    """How many pixels of a screenshot have the colour of each device: "cpu", "a0" for the first GPU, and others.

    Skips the test where there is no browser.
    """
    picture = profile.with_suffix(".png")
    _browse(f"--screenshot={picture}", page, profile, "")
    pixels = _colours(picture.read_bytes())
    tints = re.findall(r"--(\w+)-wash: #([0-9a-f]{6});", page.read_text(encoding="utf-8").partition("@media")[0])
    return {name: pixels[colour] for name, colour in tints}


def _browse(what: str, page: Path, profile: Path, fragment: str) -> str:
    browser = next(filter(None, map(shutil.which, _NAMES)), None)
    if browser is None:
        pytest.skip(f"none of {', '.join(_NAMES)} is installed")
    done = subprocess.run(
        [browser, *_QUIET, f"--user-data-dir={profile}", what, f"{page.as_uri()}{fragment}"],
        capture_output=True,
        encoding="utf-8",
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def _colours(png: bytes) -> Counter[str]:
    """How often each colour occurs in a picture of eight bits a channel, as browsers write them."""
    data, at = b"", 8
    width = channels = 0
    while at < len(png):
        length, kind = struct.unpack(">I4s", png[at : at + 8])
        chunk = png[at + 8 : at + 8 + length]
        if kind == b"IHDR":
            width, _, depth, mode, _, _, interlaced = struct.unpack(">IIBBBBB", chunk)
            channels = {2: 3, 6: 4}[mode]
            assert (depth, interlaced) == (8, 0)
        elif kind == b"IDAT":
            data += chunk
        at += length + 12
    rows, stride = zlib.decompress(data), width * channels
    found: Counter[str] = Counter()
    above = bytearray(stride)
    for start in range(0, len(rows), stride + 1):
        row = _unfiltered(rows[start], bytearray(rows[start + 1 : start + 1 + stride]), above, channels)
        found.update(row[pixel : pixel + 3].hex() for pixel in range(0, stride, channels))
        above = row
    return found


def _unfiltered(method: int, row: bytearray, above: bytearray, channels: int) -> bytearray:
    """A row of pixels from what it is stored as: the difference to what the row's method expects."""
    for index in range(len(row)):
        left, corner = (row[index - channels], above[index - channels]) if index >= channels else (0, 0)
        up = above[index]
        expected = (0, left, up, (left + up) // 2, _nearest(left, up, corner))[method]
        row[index] = (row[index] + expected) & 0xFF
    return row


def _nearest(left: int, up: int, corner: int) -> int:
    """Of three neighbours the one that is nearest to the plane through them."""
    return min((left, up, corner), key=lambda value: abs(left + up - corner - value))
