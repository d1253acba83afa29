"""What the texts of the program's files say, by spans and by patterns."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Set
from contextlib import AbstractContextManager
from dataclasses import field

from devlint.analysis.index import free_names, loops, unread_moves
from devlint.analysis.index.contents import Contents, contents_of
from devlint.analysis.index.filled_parameters import filled_parameters
from devlint.analysis.index.loaded_file import LoadedFile
from devlint.diagnostics import Place
from devlint.domain.value import Closure, Globals, UserClass
from devlint.frontend import ir
from devlint.project import Project
from devlint.reads import Part
from devlint.records import dataclass

LONGEST_TEXT = 40


@dataclass(slots=True, eq=False)
class _Known:
    """The answers about one file, by span or by body."""

    texts: dict[ir.Span, str] = field(default_factory=dict)
    contents: dict[ir.Scope, Contents] = field(default_factory=dict)
    plans: dict[tuple[ir.Span, int], loops.Plan] = field(default_factory=dict)
    free_names: dict[ir.Scope, Set[str]] = field(default_factory=dict)
    unread_moves: dict[ir.Scope, Set[ir.Span]] = field(default_factory=dict)
    filled_parameters: dict[ir.Function, Set[str]] = field(default_factory=dict)


class FileTexts:
    """Answers questions about texts; each pattern, loop and body is looked at once.

    Args:
        project: keeps the questions and their answers.
    """

    def __init__(self, project: Project) -> None:
        self.project = project
        self._files: dict[str, LoadedFile | None] = {}
        self._known: dict[str, _Known] = defaultdict(_Known)

    def unload(self, file: str) -> None:
        """Drop a loaded file and the conclusions about the file."""
        self._files.pop(file, None)
        self._known.pop(file, None)

    def executing(self, closure: Closure) -> AbstractContextManager[None]:
        """Note what an execution rests on; see `Functions` in `questions`."""
        return self.project.reads.computing(Part.code(closure.globals.file, closure.function.name))

    def note_looked_at(self, code: Closure | UserClass) -> None:
        """Note what an execution rests on; see `Functions` in `questions`."""
        for one in code.lineage if isinstance(code, UserClass) else (code,):
            if isinstance(one, (Closure, UserClass)):
                path = one.name if isinstance(one, UserClass) else one.function.name
                self.project.reads.note(Part.code(one.globals.file, path))

    def source(self, file: str, span: ir.Span) -> str:
        """The source text of a span; empty where there is none."""
        loaded = self._files.get(file)
        return "" if loaded is None else loaded.text(span)

    def text(self, file: str, span: ir.Span) -> str:
        """The source text of a span in one line, shortened."""
        texts = self._known[file].texts
        text = texts.get(span)
        if text is None:
            text = " ".join(self.source(file, span).split()) or "…"
            texts[span] = text = text if len(text) <= LONGEST_TEXT else text[: LONGEST_TEXT - 1] + "…"
        return text

    def place(self, file: str, span: ir.Span) -> Place:
        """A span as people count: columns from 1, in code points."""
        loaded = self._files.get(file)
        if loaded is None:
            return Place(file, span.line, span.column + 1, span.end_line, span.end_column + 1)
        return loaded.place(span)

    def says(self, file: str, pattern: re.Pattern[str]) -> bool:
        """Whether something in the text of a file is of a pattern; each is looked for once."""
        loaded = self._files.get(file)
        return loaded is not None and self.project.says(loaded.source, pattern)

    def is_test(self, file: str) -> bool:
        """Whether a file is there to test others; see `Project.is_test`."""
        loaded = self._files.get(file)
        return loaded is not None and self.project.is_test(loaded.source.path)

    def contents(self, file: str, scope: ir.Scope) -> Contents:
        """What a body of a file contains."""
        if not isinstance(scope, ir.File):
            self.project.reads.note(Part.code(file, scope.name))
        known = self._known[file].contents
        if scope not in known:
            known[scope] = contents_of(scope)
        return known[scope]

    def plan(self, file: str, loop: ir.While | ir.For) -> loops.Plan:
        """What the text of a loop says of it."""
        plans, key = self._known[file].plans, (loop.span, len(loop.body))
        if key not in plans:
            plans[key] = loops.plan(loop.body)
        return plans[key]

    def is_stored_outside(self, globals_: Globals, name: str) -> bool:
        """Whether a file stores an attribute of that name on something other than `self`."""
        # With the name first, `re` looks for that text before it tries anything else.
        return self.says(globals_.file, re.compile(rf"\.{name}(?<!\bself\.{name})\s*(:[^=\n]+)?=(?!=)"))

    def is_stored_by_place(self, globals_: Globals, name: str) -> bool:
        """Whether a file puts something in the place of what a list or dict in an attribute of `self` holds."""
        return self.says(globals_.file, re.compile(rf"\.{name}\[[^\]\n]*\]\s*=(?!=)"))

    def free_names(self, file: str, scope: ir.Scope) -> Set[str]:
        """The names that a body of a file reads and does not bind, inner functions included."""
        known = self._known[file].free_names
        if scope not in known:
            known[scope] = free_names.free_names(scope)
        return known[scope]

    def filled_parameters(self, file: str, function: ir.Function) -> Set[str]:
        """The parameters of a function of a file into which the function stores by a subscript."""
        known = self._known[file].filled_parameters
        if function not in known:
            known[function] = filled_parameters(function)
        return known[function]

    def unread_moves(self, file: str, scope: ir.Scope) -> Set[ir.Span]:
        """The calls in a body of a file that move the variable of a loop and whose result is never read."""
        known = self._known[file].unread_moves
        if scope not in known:
            known[scope] = unread_moves.unread_moves(scope)
        return known[scope]
