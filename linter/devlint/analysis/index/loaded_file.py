"""A file as the program keeps it: what it binds, and its text by spans."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import field

from devlint.diagnostics import Place
from devlint.domain.device import CPU, Device
from devlint.domain.heap import Heap
from devlint.domain.process import NOTHING_SETTLED, Process
from devlint.domain.value import Closure, Globals, UserClass
from devlint.frontend import ir
from devlint.project import Source
from devlint.records import dataclass


@dataclass(slots=True, eq=False)
class LoadedFile:
    """One executed file.

    Attributes:
        scope: its instructions.
        globals: what its names hold.
        default: where it creates tensors at its end.
        checked: an accelerator is known to be there at its end.
        process: what it has settled about the process at its end.
        other_default: it is not written for the CPU by default.
        other_type: it runs in a program that may choose the type of tensors by default.
        imports_default: it imports what may choose the default device.
        heap: its objects as its functions find them.
        functions, classes: those found, and not looked at yet; a method with its class, a class with its functions.
        read_inside: the names that it binds more than once and that its functions read.
        default_device_callees: functions that are called under a default device other than their file's.
    """

    source: Source
    scope: ir.File
    globals: Globals
    lines: list[str]
    default: Device = CPU
    checked: bool = False
    process: Process = NOTHING_SETTLED
    other_default: bool = False
    other_type: bool = False
    imports_default: bool = False
    heap: Heap = field(default_factory=Heap)
    functions: list[tuple[Closure, UserClass | None]] = field(default_factory=list)
    default_device_callees: set[ir.Function] = field(default_factory=set)
    classes: list[tuple[UserClass, Sequence[Closure]]] = field(default_factory=list)
    read_inside: Collection[str] = ()

    def text(self, span: ir.Span) -> str:
        """The source text of a span; empty where there is none."""
        lines = self.lines[span.line - 1 : span.end_line]
        if not lines:
            return ""
        if len(lines) == 1 and lines[0].isascii():
            return lines[0][span.column : span.end_column]
        encoded = [line.encode() for line in lines]
        encoded[-1] = encoded[-1][: span.end_column]
        encoded[0] = encoded[0][span.column :]
        return b"\n".join(encoded).decode(errors="replace")

    def place(self, span: ir.Span) -> Place:
        """A span as people count: columns from 1, in code points."""
        start, end = self._column(span.line, span.column), self._column(span.end_line, span.end_column)
        return Place(self.source.display, span.line, start, span.end_line, end)

    def _column(self, line: int, column: int) -> int:
        if not 0 < line <= len(self.lines):
            return column + 1
        text = self.lines[line - 1]
        return column + 1 if text.isascii() else len(text.encode()[:column].decode(errors="replace")) + 1
