"""Counts sentences that make a reader look for their subject: "of what is there", "who asks", "So does it".

`python -m tests.pages.english [AREA …]` prints them. A sentence counts once. Texts are the prose of pages, and in
source files the docstrings and every other string of several words, among them messages and help lines.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

from tests.conftest import REPOSITORY
from tests.pages import PAGES, name_of

_PRONOUN: Final = r"(?:what|whatever|whoever)"
SEARCHED: Final = (
    rf"\b(?:of|from|for|on|to|in|than) (?:{_PRONOUN}|whom)\b",
    rf"\b{_PRONOUN} (?:is|was|has|had|else|no|it|they)\b",
    r"\bwho (?:has|is|asks|goes|makes)\b",
    r"\bof which\b",
    r"(?:^|\. )so (?:is|are|does|do)\b",
    r"\bnothing (?:is|says)\b",
)
"""Six signs of a clause without its noun; case does not count."""

_SIGNS: Final = re.compile("|".join(SEARCHED), re.IGNORECASE)
_SENTENCE_END: Final = re.compile(r"(?<=[.:!?])\s+(?=[A-Z`*])|\n\s*\n|\n\s*[*-] |\n(?=\|)|\n {2,}(?=\w+: )")
_HEADING: Final = re.compile(r"^ *#+ (.*)$", re.MULTILINE)
_FENCE: Final = re.compile(r"^ *```.*?^ *```$", re.MULTILINE | re.DOTALL)

FEWEST_WORDS: Final = 4
"""A sentence has at least so many words; shorter strings are names and the like."""


class Sentence(NamedTuple):
    """A sentence and the line at which its text begins."""

    file: str
    line: int
    text: str

    @property
    def is_hard(self) -> bool:
        """Whether it has one of the six signs."""
        return _SIGNS.search(self.text) is not None


AREAS: Final[dict[str, tuple[str, ...]]] = {
    "pages": tuple(name_of(page) for page in PAGES),
    "rules": ("rules",),
    "cli": ("linter/devlint/cli",),
    "report": ("linter/devlint/report",),
    "guard": ("runtime_guard",),
    **{
        path.name: (name_of(path),)
        for path in sorted((REPOSITORY / "linter" / "devlint").iterdir())
        if path.is_dir() and path.name not in ("cli", "report", "__pycache__", "profiles")
    },
    "linter": tuple(name_of(path) for path in sorted((REPOSITORY / "linter" / "devlint").glob("*.py"))),
    "tests": ("tests",),
}
"""What is counted together: files, and folders with their source files."""


def sentences(area: str) -> list[Sentence]:
    """Return all sentences of an area."""
    paths = [REPOSITORY / name for name in AREAS[area]]
    files = [file for path in paths for file in ([path] if path.is_file() else sorted(path.rglob("*.py")))]
    return [sentence for file in files for sentence in _sentences_of(file)]


def hard(area: str) -> list[Sentence]:
    """Return the sentences of an area that have one of the six signs."""
    return [sentence for sentence in sentences(area) if sentence.is_hard]


def _sentences_of(file: Path) -> Iterator[Sentence]:
    text = file.read_text(encoding="utf-8")
    texts = [(1, _FENCE.sub("", text))] if file.suffix == ".md" else _strings(text)
    for line, content in texts:
        for part in _SENTENCE_END.split(_HEADING.sub(r"\n\n\1\n\n", content)):
            if len(part.split()) >= FEWEST_WORDS:
                yield Sentence(name_of(file), line, " ".join(part.split()))


def _strings(source: str) -> Iterator[tuple[int, str]]:
    """Yield the strings of a source file; of one with inserted values, what stands between as one text."""
    tree = ast.parse(source)
    inner = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in ast.walk(node)}
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            yield node.lineno, "".join(str(p.value) if isinstance(p, ast.Constant) else "_" for p in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in inner:
            yield node.lineno, node.value


if __name__ == "__main__":
    for name in sys.argv[1:] or AREAS:
        found, total = hard(name), len(sentences(name))
        for one in found if sys.argv[1:] else ():
            print(f"{one.file}:{one.line}: {one.text}")
        print(f"{name}: {len(found)} of {total}, {100 * len(found) / max(total, 1):.1f} %")
