"""The frame of every page: one HTML document that needs no network, with its style and its script inside."""

from __future__ import annotations

import html
import json
import re
from pathlib import Path

from devlint import __version__
from devlint.quoting import printable_document, printable_lines

_HERE = Path(__file__).parent


def document(title: str, body: str, *, style: str, script: str = "", data: object = None) -> str:
    """Return a whole page.

    Args:
        title: of the window, plain text.
        body: HTML.
        style, script: names of files beside this one; `base.css` comes first.
        data: what the script reads, as JSON.
    """
    css = _asset("base.css") + _asset(style)
    parts = [
        "<!doctype html>",
        '<html lang="en">',
        "<head>",
        '<meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        '<meta name="color-scheme" content="light dark">',
        f'<meta name="generator" content="devlint {__version__}">',
        f"<title>{escape(title)}</title>",
        f"<style>\n{css}</style>",
        "</head>",
        "<body>",
        body,
    ]
    if script:
        # `<` as an escape of JSON: nothing in the data can end the element.
        shown = printable_document(data)
        text = json.dumps(shown, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")
        parts.append(f'<script type="application/json" id="data">{text}</script>')
        parts.append(f"<script>\n{_asset(script)}</script>")
    return "\n".join([*parts, "</body>", "</html>", ""])


def _asset(name: str) -> str:
    return (_HERE / name).read_text(encoding="utf-8")


def escape(text: str) -> str:
    """Return text as HTML, quoted, so that it can only be read."""
    return html.escape(printable_lines(text))


def marked(text: str) -> str:
    """Return a sentence as HTML, with what stands between backticks as code."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(text))
