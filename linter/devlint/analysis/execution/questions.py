"""The questions that an execution asks about what outlives it: names, texts, other functions, the machine.

`Program` answers them. An execution knows these protocols alone, so that no transfer function depends on the order
of analysis.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence, Set
from contextlib import AbstractContextManager
from typing import Protocol

from devlint.analysis.demand.callers import ByPlace, CallSite, Followed
from devlint.analysis.demand.recorder import Recorder
from devlint.analysis.execution.budget import Budget
from devlint.analysis.execution.steps import Steps
from devlint.analysis.index.contents import Contents
from devlint.analysis.index.loops import Plan
from devlint.diagnostics import Place
from devlint.domain.device import Device
from devlint.domain.environment import Environment
from devlint.domain.heap import Object
from devlint.domain.summary import Entry, Summary
from devlint.domain.value import Closure, Globals, Imported, ObjectId, UserClass, Value
from devlint.frontend import ir
from devlint.torchlib.catalogue import Catalogue


class Texts(Protocol):
    """What the source text of the program's files says."""

    def source(self, file: str, span: ir.Span) -> str:
        """Return the source text of a span; empty where there is none."""

    def text(self, file: str, span: ir.Span) -> str:
        """Return the source text of a span in one line, shortened."""

    def place(self, file: str, span: ir.Span) -> Place:
        """Return a span as people count: columns from 1, in code points."""

    def says(self, file: str, pattern: re.Pattern[str]) -> bool:
        """Whether a pattern occurs in the text of a file."""

    def is_test(self, file: str) -> bool:
        """Return whether a file is there to test others."""

    def contents(self, file: str, scope: ir.Scope) -> Contents:
        """Return what a body of a file contains."""

    def plan(self, file: str, loop: ir.While | ir.For) -> Plan:
        """Return what the text of a loop says about it."""

    def is_stored_outside(self, globals_: Globals, name: str) -> bool:
        """Whether a file stores an attribute of that name on something other than `self`."""

    def is_stored_by_place(self, globals_: Globals, name: str) -> bool:
        """Whether a file replaces an element of a list or dict in an attribute of that name of `self`."""


class Names(Protocol):
    """What names stand for, in the program's files and in libraries."""

    catalogue: Catalogue

    def binding(self, globals_: Globals, name: str) -> Value | None:
        """Return what a file binds to a name; None if it does not bind the name."""

    def note_name(self, globals_: Globals, name: str) -> None:
        """Note that the execution rests on the value of a name of a file, or on the absence of the name."""

    def moved_later(self, scope: ir.Scope, globals_: Globals) -> Set[ir.Span]:
        """Return the calls in a body of a file whose results or arguments the body moves afterwards."""

    def note_captured(self, file: str, function: ir.Function, objects: Mapping[ObjectId, Object]) -> None:
        """Note the objects that an inner function of a file finds around it, whenever it is called."""

    def free_names(self, file: str, scope: ir.Scope) -> Set[str]:
        """Return the names that a body of a file reads and does not bind, inner functions included."""

    def filled_parameters(self, file: str, function: ir.Function) -> Set[str]:
        """Return the parameters of a function of a file into which the function stores by a subscript."""

    def unread_moves(self, file: str, scope: ir.Scope) -> Set[ir.Span]:
        """Return the calls in a body of a file that move the variable of a loop and whose result is never read."""

    def member(self, globals_: Globals, name: str) -> Value:
        """Return an attribute of a source file: what it binds, or a file of the package of that name."""

    def qualified(self, globals_: Globals, dotted: str) -> str:
        """Return the qualified name that a dotted name of a file stands for."""

    def import_module(self, globals_: Globals, name: str) -> Value:
        """Return what `import name` binds."""

    def import_member(self, wanted: Imported) -> Value:
        """Return what `from module import member` binds."""

    def import_all(self, globals_: Globals, module: str, level: int) -> dict[str, Value]:
        """Return what `from module import *` binds, by name."""

    def library_value(self, name: str) -> Value:
        """Return what a dotted name of a library stands for."""

    def is_library_class(self, name: str) -> bool:
        """Whether a library name is a class."""

    def takes_device(self, name: str) -> bool:
        """Whether a library function can be told where to create its result."""


class Asker(Protocol):
    """The execution that asks for a summary, or reports a call or a definition.

    Attributes:
        scope: the body that is executed.
        globals: the names of its file.
        recording: the execution records facts.
        depth: how many calls deep it is.
        budget: how far it still follows calls with their objects.
        default_device_callees: functions that are called under a default device other than their file's.
    """

    scope: ir.Scope
    globals: Globals
    recording: bool
    depth: int
    budget: Budget
    default_device_callees: set[ir.Function]


class Functions(Protocol):
    """What calling other functions does, and who calls whom."""

    recorder: Recorder

    def executing(self, closure: Closure) -> AbstractContextManager[None]:
        """Note that the execution rests on a function, whose body is executed inside."""

    def note_looked_at(self, code: Closure | UserClass) -> None:
        """Note that the execution rests on a function, or on a class and its base classes."""

    def summarise(
        self,
        asker: Asker,
        closure: Closure,
        owner: UserClass | None,
        entry: Entry,
        env: Environment,
        cls: UserClass | None = None,
    ) -> Summary | None:
        """Return the summary of a function for an entry; None while it is being made, or where that goes too deep.

        With `cls` the first parameter is an instance of which only that class is known.
        """

    def note_call(self, asker: Asker, env: Environment, closure: Closure, given: ByPlace, call: CallSite) -> None:
        """Note a call of a function, with the devices of its arguments by place in the parameters."""

    def note_followed(self, closure: Closure, call: Followed, root: str) -> None:
        """Note how a call of a function was followed; see `Followed`."""

    def show_names(self, file: str, names: Mapping[str, Value]) -> None:
        """Let the functions of a file see what its names hold when a statement of the file calls something."""

    def heirs(self, cls: UserClass) -> Iterator[UserClass]:
        """Yield the classes of the same file that inherit from a class."""

    def found(self, asker: Asker, value: Value) -> None:
        """Note a function definition that was executed."""

    def as_before(self, body: ir.Class, cls: UserClass) -> UserClass:
        """Return the object that stands for the class `cls` of a body: that of an earlier execution if it is equal."""

    def found_class(self, asker: Asker, cls: UserClass, methods: Sequence[Closure]) -> None:
        """Note a class definition that was executed, with all functions of its body."""

    def default_of(self, globals_: Globals) -> Device:
        """Return where the functions of a file create tensors that are not told."""

    def may_choose_type(self, globals_: Globals) -> bool:
        """Whether the program of a file may choose the type of tensors by default, which `torch.Tensor` is."""


class Questions(Texts, Names, Functions, Protocol):
    """Everything that an execution may ask.

    Attributes:
        devices: how many CUDA devices to assume; None: as many as the program asks for.
        steps: counts the instructions that are executed.
        observing: each value is wanted at its place.
        subjects: what has chosen a path on which something is a stray, anywhere so far.
    """

    devices: int | None
    steps: Steps
    observing: bool
    subjects: set[str]
