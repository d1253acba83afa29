"""What the texts of the program's files say, by spans and by patterns."""

from __future__ import annotations

import re
from collections.abc import Sequence, Set

from devlint.analysis.index import free_names, loops, unread_moves
from devlint.analysis.index.loaded_file import LoadedFile
from devlint.diagnostics import Place
from devlint.domain.value import Closure, Globals
from devlint.frontend import ir

LONGEST_TEXT = 40


class FileTexts:
    """Answers questions about texts; each pattern, loop and body is looked at once."""

    def __init__(self) -> None:
        self._files: dict[str, LoadedFile | None] = {}
        self._texts: dict[tuple[str, ir.Span], str] = {}
        self._said: dict[tuple[str, re.Pattern[str]], bool] = {}
        self._plans: dict[object, loops.Plan] = {}
        self._free_names: dict[ir.Scope, Set[str]] = {}
        self._unread_moves: dict[ir.Scope, Set[ir.Span]] = {}

    def source(self, file: str, span: ir.Span) -> str:
        """The source text of a span; empty where there is none."""
        loaded = self._files.get(file)
        return "" if loaded is None else loaded.text(span)

    def text(self, file: str, span: ir.Span) -> str:
        """The source text of a span in one line, shortened."""
        text = self._texts.get((file, span))
        if text is None:
            text = " ".join(self.source(file, span).split()) or "…"
            text = text if len(text) <= LONGEST_TEXT else text[: LONGEST_TEXT - 1] + "…"
            self._texts[file, span] = text
        return text

    def place(self, file: str, span: ir.Span) -> Place:
        """A span as people count: columns from 1, in code points."""
        loaded = self._files.get(file)
        if loaded is None:
            return Place(file, span.line, span.column + 1, span.end_line, span.end_column + 1)
        return loaded.place(span)

    def says(self, file: str, pattern: re.Pattern[str]) -> bool:
        """Whether something in the text of a file is of a pattern; each is looked for once."""
        key = (file, pattern)
        if key not in self._said:
            loaded = self._files.get(file)
            self._said[key] = loaded is not None and pattern.search(loaded.source.text) is not None
        return self._said[key]

    def matches(self, file: str, span: ir.Span, pattern: re.Pattern[str]) -> bool:
        """Whether something in the lines of a place is of a pattern."""
        return any(map(pattern.search, self._lines(file, span)))

    def mentions(self, function: Closure, text: str) -> bool:
        """Whether the lines of a function contain a text."""
        return any(text in line for line in self._lines(function.globals.file, function.function.span))

    def _lines(self, file: str, span: ir.Span) -> Sequence[str]:
        loaded = self._files.get(file)
        return () if loaded is None else loaded.lines[span.line - 1 : span.end_line]

    def plan(self, file: str, loop: ir.While | ir.For) -> loops.Plan:
        """What the text of a loop says of it."""
        key = (file, loop.span, len(loop.body))
        if key not in self._plans:
            self._plans[key] = loops.plan(loop.body)
        return self._plans[key]

    def is_stored_outside(self, globals_: Globals, name: str) -> bool:
        """Whether a file stores an attribute of that name on something other than `self`."""
        loaded = self._files.get(globals_.file)
        # With the name first, `re` looks for that text before it tries anything else.
        stored = rf"\.{name}(?<!\bself\.{name})\s*(:[^=\n]+)?=(?!=)"
        return loaded is not None and re.search(stored, loaded.source.text) is not None

    def is_stored_by_place(self, globals_: Globals, name: str) -> bool:
        """Whether a file puts something in the place of what a list or dict in an attribute of `self` holds."""
        loaded = self._files.get(globals_.file)
        return loaded is not None and re.search(rf"\.{name}\[[^\]\n]*\]\s*=(?!=)", loaded.source.text) is not None

    def free_names(self, scope: ir.Scope) -> Set[str]:
        """The names that a body reads and does not bind, inner functions included."""
        known = self._free_names.get(scope)
        if known is None:
            known = self._free_names[scope] = free_names.free_names(scope)
        return known

    def unread_moves(self, scope: ir.Scope) -> Set[ir.Span]:
        """The calls in a body that move the variable of a loop and whose result is never read."""
        known = self._unread_moves.get(scope)
        if known is None:
            known = self._unread_moves[scope] = unread_moves.unread_moves(scope)
        return known
