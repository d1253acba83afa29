"""The frame of every page: one HTML document that needs no network, with its style and its script inside."""

from __future__ import annotations

import html
import json
import re
from pathlib import Path

from devlint import __version__
from devlint.quoting import printable_document, printable_lines

_HERE = Path(__file__).parent


def document(title: str, body: str, data: object) -> str:
    """Return a whole page.

    Args:
        title: of the window, plain text.
        body: HTML.
        data: what the script reads, as JSON.
    """
    # `<` as an escape of JSON: nothing in the data can end the element.
    shown = json.dumps(printable_document(data), ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")
    parts = [
        "<!doctype html>",
        '<html lang="en">',
        "<head>",
        '<meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        '<meta name="color-scheme" content="light dark">',
        f'<meta name="generator" content="devlint {__version__}">',
        f"<title>{escape(title)}</title>",
        f"<style>\n{_asset('show.css')}</style>",
        "</head>",
        "<body>",
        body,
        f'<script type="application/json" id="data">{shown}</script>',
        f"<script>\n{_asset('show.js')}</script>",
        "</body>",
        "</html>",
        "",
    ]
    return "\n".join(parts)


def _asset(name: str) -> str:
    return (_HERE / name).read_text(encoding="utf-8")


def escape(text: str) -> str:
    """Return text as HTML, quoted, so that it can only be read."""
    return html.escape(printable_lines(text))


def marked(text: str) -> str:
    """Return a sentence as HTML, with what stands between backticks as code."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(text))
