"""The picture in the README: a report of `devlint` in a terminal; `python -m tests.pages.picture` draws it."""

from __future__ import annotations

import re
import subprocess
import sys
from html import escape
from itertools import groupby

from tests.conftest import REPOSITORY

PICTURE = REPOSITORY / "fixtures" / "showcase" / "report.svg"
COMMAND = ("devlint", "--select", "DEV101", "fixtures/showcase")

COLUMNS = 100
WIDTH, HEIGHT = 8.4, 19
"""Of a character, in pixels."""

MARGIN, BAR = 18, 34

COLOURS = {"1": "#ffffff", "1;31": "#ff7b72", "1;33": "#e3b341", "1;34": "#79a8ff", "1;36": "#56d4dd", "": "#c9d1d9"}
"""By the numbers of a terminal's colour sequence."""


def draw() -> str:
    """Run the command and return its output as SVG."""
    arguments = [sys.executable, "-m", *COMMAND, "--color", "always", "--isolated", "--no-cache"]
    done = subprocess.run(arguments, cwd=REPOSITORY, capture_output=True, encoding="utf-8", check=False)
    assert done.returncode == 1, done.stderr
    return render(f"$ {' '.join(COMMAND)}\n{done.stdout}{done.stderr}")


def render(text: str) -> str:
    """Return text with colour sequences as an SVG, wrapped at `COLUMNS` as a terminal does."""
    rows = [row for line in text.rstrip().split("\n") for row in _wrapped(_cells(line))]
    width, height = round(2 * MARGIN + COLUMNS * WIDTH), BAR + MARGIN + HEIGHT * len(rows)
    dots = "".join(
        f'<circle cx="{20 + 20 * number}" cy="17" r="6" fill="{colour}"/>'
        for number, colour in enumerate(("#ff5f57", "#febc2e", "#28c840"))
    )
    lines = "".join(_row(row, BAR + HEIGHT * number + 14) for number, row in enumerate(rows))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        'font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, monospace" font-size="14">\n'
        f"<title>{escape(' '.join(COMMAND))}</title>\n"
        f'<rect width="{width}" height="{height}" rx="8" fill="#0d1117"/>\n{dots}\n{lines}</svg>\n'
    )


def _cells(line: str) -> list[tuple[str, str]]:
    """Return each character of a line with the colour sequence that holds for it."""
    cells, style = [], ""
    for escaped, character in re.findall(r"\x1b\[([0-9;]*)m|(.)", line):
        if character:
            cells.append((character, style))
        else:
            style = "" if escaped == "0" else escaped
    return cells


def _wrapped(cells: list[tuple[str, str]]) -> list[list[tuple[str, str]]]:
    return [cells[start : start + COLUMNS] for start in range(0, max(len(cells), 1), COLUMNS)]


def _row(cells: list[tuple[str, str]], y: int) -> str:
    """Return a row; each run of one colour has its place and length, so that no font can shift the columns."""
    spans, column = "", 0
    for style, run in groupby(cells, key=lambda cell: cell[1]):
        text = "".join(character for character, _ in run)
        words = text.strip(" ")
        if words:
            x = MARGIN + WIDTH * (column + len(text) - len(text.lstrip(" ")))
            bold = ' font-weight="bold"' if style else ""
            spans += (
                f'<text x="{x:.1f}" y="{y}" textLength="{WIDTH * len(words):.1f}" fill="{COLOURS[style]}"{bold} '
                f'xml:space="preserve">{escape(words, quote=False)}</text>\n'
            )
        column += len(text)
    return spans


if __name__ == "__main__":
    PICTURE.write_text(draw(), encoding="utf-8")
