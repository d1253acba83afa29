"""Links of Markdown pages: where they lead, and whether anything is there."""

from __future__ import annotations

import re
from pathlib import Path

from tests.conftest import REPOSITORY

LINK = re.compile(r"(?<!`)\[(?:[^\]\[]|\[[^\]]*\])*\]\(([^)\s]+)\)")
"""A link or picture; its group is the target."""

FENCES = re.compile(r"^ *```.*?^ *```$", flags=re.MULTILINE | re.DOTALL)
"""A fenced block."""


def anchors(text: str) -> set[str]:
    """Return the anchors that a page has by its headings, as forges and the site form them."""
    headings = re.findall(r"^#+ (.+)$", FENCES.sub("", text), flags=re.MULTILINE)
    return {anchor(heading) for heading in headings}


def anchor(heading: str) -> str:
    """Return the anchor of a heading: its words in lower case, with dashes between."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-")


def links(text: str) -> list[str]:
    """Return the targets of all links outside of code."""
    return LINK.findall(re.sub(r"`[^`\n]*`", "``", FENCES.sub("", text)))


def broken_links(page: Path) -> list[str]:
    """Return the links of a page that lead to no file of the repository or to no heading of a page."""
    text = page.read_text(encoding="utf-8")
    return [link for link in links(text) if not re.match(r"https?://", link) and not _leads_somewhere(page, link)]


def _leads_somewhere(page: Path, link: str) -> bool:
    name, _, fragment = link.partition("#")
    target = (page.parent / name).resolve() if name else page
    if not target.exists() or not target.is_relative_to(REPOSITORY):
        return False
    return not fragment or fragment in anchors(target.read_text(encoding="utf-8"))
