"""The pages that users and contributors read: where they are, and how a test takes one apart."""

from __future__ import annotations

import re
from pathlib import Path

from tests.conftest import REPOSITORY, read_toml

README = REPOSITORY / "README.md"
FOLDERS = ("linter", "rules", "runtime_guard", "tests")
CONVENTIONAL = ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")
"""Pages at the top of the repository."""

PAGES = [
    *(REPOSITORY / name for name in CONVENTIONAL if (REPOSITORY / name).exists()),
    *(file for folder in FOLDERS for file in sorted((REPOSITORY / folder).glob("*.md"))),
    REPOSITORY / "linter" / "devlint" / "torchlib" / "README.md",
]
"""Every page of the repository and of the site."""


def name_of(page: Path) -> str:
    """Return the path of a page in the repository."""
    return page.relative_to(REPOSITORY).as_posix()


def read(page: str | Path) -> str:
    """Return the text of a page, given by its path in the repository."""
    return (REPOSITORY / page).read_text(encoding="utf-8")


def blocks(text: str, *languages: str) -> list[str]:
    """Return the fenced blocks of some languages."""
    return re.findall(rf"^```(?:{'|'.join(languages)})\n(.*?)^```$", text, flags=re.MULTILINE | re.DOTALL)


def section(text: str, heading: str) -> str:
    """Return the text below a heading such as `## Keys`, up to the next heading of its level or above."""
    body = text.partition(f"\n{heading}\n")[2]
    level = len(heading) - len(heading.lstrip("#"))
    return re.split(rf"^#{{1,{level}}} ", body, maxsplit=1, flags=re.MULTILINE)[0]


def project_url(name: str) -> str:
    """Return an address of the project, which `pyproject.toml` alone sets."""
    return str(read_toml(REPOSITORY / "pyproject.toml")["project"]["urls"][name])


def repository_url() -> str:
    """Return the address of this repository."""
    return project_url("Repository")
