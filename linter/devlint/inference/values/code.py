"""Code of the project that values refer to: files, bodies, classes. Each is compared by identity."""

from __future__ import annotations

from typing import NamedTuple, final

from devlint.frontend import ir
from devlint.inference.values.terms import Value


@final
class FileCode:
    """A file of the project.

    Attributes:
        module: its dotted name, unique in the project.
        path: where it is.
        package: the package that a relative import in it begins with.
        scope: its instructions.
        is_test: whether pytest collects it or takes fixtures from it.
        is_of_library: whether it belongs to a distribution, whose code others may use.
    """

    def __init__(
        self, module: str, path: str, package: str, scope: ir.File, is_test: bool, is_of_library: bool
    ) -> None:
        self.module = module
        self.path = path
        self.package = package
        self.scope = scope
        self.is_test = is_test
        self.is_of_library = is_of_library
        self._packages: dict[str, int] = {}
        for each in scope.body:
            if isinstance(each, ir.Import) and each.name == (
                each.module if each.whole else each.module.partition(".")[0]
            ):
                self._packages[each.name] = self._packages.get(each.name, 0) + 1

    def is_stored_once(self, name: str) -> bool:
        """Whether the file binds a global to one value and no function binds it anew.

        `import torch` and `import torch.nn` bind the same package.
        """
        counts = self.scope.store_counts.get(name, 0), self._packages.get(name, 0)
        return (counts[0] == 1 or counts[0] == counts[1]) and name not in self.scope.rebound


class Operand(NamedTuple):
    """An operand of an operation in the text.

    Attributes:
        register: holds its value when the operation is executed.
        span: where it stands.
        bound: the only place in the text that binds its name; None for another expression.
    """

    register: int
    span: ir.Span
    bound: ir.Span | None


@final
class Body:
    """A unit of execution: a function, a lambda, or the top level of a file.

    Attributes:
        name: unique in the project.
        file: the file that contains it.
        scope: its instructions.
        function: the scope as a function; None for a file.
        owner: the class in whose body it is defined, if any.
        around: the names of the functions around it that it may read.
        captured: its own names that functions inside it use.
        unread: the calls whose results nothing reads although a name holds them.
        conditions: tests of the machine that hold where a file defines it.
        operands: of its operations, see `text.operands`; None before somebody asks.
    """

    def __init__(
        self,
        file: FileCode,
        scope: ir.Scope,
        function: ir.Function | None,
        owner: ClassCode | None,
        around: frozenset[str],
        captured: frozenset[str],
        unread: frozenset[ir.Span],
        conditions: tuple[Value, ...] = (),
    ) -> None:
        span = scope.span
        self.name = f"{file.module}:{scope.name}" + (f"@{span.line}:{span.column}" if function is not None else "")
        self.file = file
        self.scope = scope
        self.function = function
        self.owner = owner
        self.around = around
        self.captured = captured
        self.unread = unread
        self.conditions = conditions
        self.operands: dict[ir.Span, list[Operand]] | None = None


@final
class ClassCode:
    """A class of the project, made by executing its body.

    Attributes:
        name: unique in the project, except for classes that one statement makes with different bases.
        file: the file that contains it.
        scope: its body.
        order: the class and its bases in the project, in the order of the lookup of attributes.
        libraries: the names of its bases in libraries.
        members: the values that its body has stored, by name.
        is_open: whether a base is unknown.
        is_module: whether it is a class of modules.
    """

    def __init__(
        self,
        file: FileCode,
        scope: ir.Class,
        bases: tuple[ClassCode, ...],
        libraries: tuple[str, ...],
        is_open: bool,
        is_module: bool,
    ) -> None:
        inherited = [each for base in bases for each in base.libraries]
        self.name = f"{file.module}:{scope.name}@{scope.span.line}:{scope.span.column}"
        self.file = file
        self.scope = scope
        self.order = _resolution_order(self, bases)
        self.libraries: tuple[str, ...] = tuple(dict.fromkeys([*libraries, *inherited]))
        self.members: dict[str, Value] = {}
        self.is_open: bool = is_open or any(base.is_open for base in bases)
        self.is_module: bool = is_module or any(base.is_module for base in bases)

    def lookup(self, name: str, after: ClassCode | None = None) -> Value | None:
        """Return a member of the class or of the first base that has it; with `after`, of a class behind that one."""
        is_behind = after is None
        for each in self.order:
            if is_behind and name in each.members:
                return each.members[name]
            is_behind = is_behind or each is after
        return None


def _resolution_order(code: ClassCode, bases: tuple[ClassCode, ...]) -> tuple[ClassCode, ...]:
    """Return Python's order of a class and its bases (C3); from left to right, where Python refuses the class."""
    waiting = [list(base.order) for base in bases] + [list(bases)]
    order = [code]
    while waiting := [each for each in waiting if each]:
        free = [each[0] for each in waiting if not any(each[0] in other[1:] for other in waiting)]
        chosen = free[0] if free else waiting[0][0]
        order.append(chosen)
        waiting = [[each for each in line if each is not chosen] for line in waiting]
    return tuple(order)
