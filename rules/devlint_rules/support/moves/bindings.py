"""The statements that give local names their values: a move there reaches all that is computed from the name."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst
from devlint.diagnostics import Place
from devlint.fixes.names import stands_for_a_value
from devlint.records import dataclass
from devlint.syntax import Syntax

from devlint_rules.support.moves.device_text import STAYING
from devlint_rules.support.qualified_names import Named
from devlint_rules.support.scopes import Surroundings

_BRANCHES = (cst.If, cst.For, cst.While, cst.Try, cst.TryStar, cst.Match)
"""Statements that hold others which are not always executed."""


@dataclass(frozen=True, slots=True)
class Binding:
    """A statement that gives a local name its value on every path to a later expression.

    Attributes:
        name: the name.
        value: the expression that is stored; None for an element that a loop takes, or that is unpacked.
        following: the statement that is executed next.
    """

    name: str
    value: cst.BaseExpression | None
    following: cst.BaseStatement


def sources(value: cst.BaseExpression, birth: Place, syntax: Syntax, surroundings: Surroundings) -> Iterator[Binding]:
    """Yield the bindings that a value comes from, the nearest first: of `rows`, then of `batch`, for `rows[:, 1:] * 2`.

    Args:
        value: an expression that is computed from a local name.
        birth: where it gets its device.
        syntax, surroundings: of its file.
    """
    found = _created_under(value, birth, syntax, surroundings)
    name = _origin(value, birth, syntax)
    if found is None and name is not None:
        found = binding_before(name, value, syntax, surroundings)
    while found is not None:
        yield found
        name = None if found.value is None else _origin(found.value, birth, syntax)
        if name is None or found.value is None:
            return
        found = binding_before(name, found.value, syntax, surroundings)


def _origin(value: cst.BaseExpression, birth: Place, syntax: Syntax) -> str | None:
    """Return the local name that brings a device into an expression: no function of torch in it has created a tensor.

    The value has its device from elsewhere, and a function of torch passes on that of its tensors.
    """
    is_created = syntax.place(value).holds(birth)
    return carrier(value, None if is_created else syntax.derive(Named))


def _created_under(
    value: cst.BaseExpression, birth: Place, syntax: Syntax, surroundings: Surroundings
) -> Binding | None:
    """Return the binding of a name in a value if the call that creates the value's tensor stands there."""
    names = [(one, next(syntax.parents(one))) for one in syntax.within(value, cst.Name)]
    # An attribute or element of an object is no reason to move the object, which may be no tensor.
    whole = {one.value for one, parent in names if not isinstance(parent, (cst.Attribute, cst.Subscript))}
    for name in sorted(whole):
        found = binding_before(name, value, syntax, surroundings)
        if found is not None and found.value is not None and syntax.place(found.value).holds(birth):
            return found
    return None


def carrier(value: cst.BaseExpression, named: Named | None = None) -> str | None:
    """Return the local name whose tensor an expression is a part of, or is computed from alone; None without one.

    Args:
        value: the expression.
        named: the names of torch in the file, for an expression whose functions of torch create nothing.
    """
    match value:
        case cst.Name(value=name):
            return name
        case cst.Subscript(value=inner, slice=[_, _, *_]) | cst.UnaryOperation(expression=inner):
            return carrier(inner, named)
        case cst.Attribute(value=inner, attr=cst.Name(value="data" | "T" | "mT")):
            return carrier(inner, named)
        case cst.Call(func=func, args=args) if named is not None and named.meaning(func).startswith("torch."):
            given = [argument for argument in args if not _is_constant(argument.value)]
            return carrier(given[0].value, named) if len(given) == 1 and not given[0].star else None
        case cst.Call(func=cst.Attribute(value=inner, attr=cst.Name(value=method)), args=args) if method in STAYING:
            return carrier(inner, named) if all(_is_constant(argument.value) for argument in args) else None
        case cst.Comparison(left=left, comparisons=[cst.ComparisonTarget(comparator=right)]) if _is_constant(right):
            return carrier(left, named)
        case cst.BinaryOperation(left=left, right=right) if _is_constant(right):
            return carrier(left, named)
        case cst.BinaryOperation(left=left, right=right) if _is_constant(left):
            return carrier(right, named)
        case _:
            return None


def _is_constant(value: cst.BaseExpression) -> bool:
    match value:
        case cst.BaseNumber() | cst.SimpleString() | cst.Name(value="None" | "True" | "False"):
            return True
        case cst.UnaryOperation(expression=inner):
            return _is_constant(inner)
        case _:
            return False


def binding_before(name: str, node: cst.CSTNode, syntax: Syntax, surroundings: Surroundings) -> Binding | None:
    """Return the binding of a name that every path to a node has passed last; None if that is not one statement."""
    inner = node
    for parent in syntax.parents(node):
        match parent:
            case cst.FunctionDef() | cst.ClassDef() | cst.Lambda() | cst.BaseComp():
                return None
            case cst.IndentedBlock(body=statements) | cst.Module(body=statements):
                index = next(index for index, one in enumerate(statements) if one is inner)
                for at in range(index - 1, -1, -1):
                    before, after = statements[at], statements[at + 1]
                    if surroundings.binds_within(name, syntax.place_of(before)):
                        return _stored(name, before, after, syntax, surroundings)
            case cst.For(target=target, body=cst.IndentedBlock(body=[first, *_])) if inner is parent.body:
                if surroundings.binds_within(name, syntax.place(target)):
                    return Binding(name, None, first)
                if surroundings.binds_within(name, syntax.place_of(parent)):
                    return None  # a turn of the loop begins with the value of the turn before
            case cst.While() if surroundings.binds_within(name, syntax.place_of(parent)):
                return None
            case _:
                pass
        inner = parent
    return None


def _stored(
    name: str, statement: cst.CSTNode, following: cst.BaseStatement, syntax: Syntax, surroundings: Surroundings
) -> Binding | None:
    """Return the binding that a statement is, if it does nothing else."""
    match statement:
        case cst.SimpleStatementLine(body=[cst.Assign(targets=[cst.AssignTarget(target=target)], value=value)]):
            pass
        case _:
            return None
    match target, value:
        case cst.Name(value=stored), _ if stored == name:
            return Binding(name, value, following)
        case cst.Tuple(elements=targets), cst.Tuple(elements=values) if len(targets) == len(values):
            for one, given in zip(targets, values, strict=True):
                if isinstance(one.value, cst.Name) and one.value.value == name:
                    return Binding(name, given.value, following)
    return Binding(name, None, following) if surroundings.binds_within(name, syntax.place(target)) else None


def keeps_its_value(name: str, begin: Place | None, end: Place, syntax: Syntax, surroundings: Surroundings) -> bool:
    """Return whether a name stands for the same tensor at two places of a scope, or for what is computed from that.

    Args:
        name: a local name.
        begin: the first place; None for where the scope begins.
        end: the second place.
        syntax, surroundings: of their file.
    """
    start = (0, 0) if begin is None else begin.start
    for node in syntax.names(name):
        stored = _stored_anew(node, syntax) if surroundings.together(syntax.place_of(node), end) else None
        if stored is not None and start < stored <= end.start:
            return False
    return True


def is_tested(name: str, begin: Place, end: Place, syntax: Syntax, surroundings: Surroundings) -> bool:
    """Return whether a test between two places of a scope asks for a value itself: it may be None at the first one.

    A test of an attribute or element of the value asks for more than that.
    """
    for read in syntax.names(name):
        place = syntax.place_of(read)
        is_between = begin.start <= place.start < end.end
        if not is_between or not surroundings.together(place, end):
            continue
        inner: cst.CSTNode = read
        for parent in syntax.parents(read):
            match parent:
                case cst.Attribute() | cst.Subscript() | cst.BaseSuite() | cst.Module():
                    break
                case (
                    cst.If(test=test)
                    | cst.IfExp(test=test)
                    | cst.While(test=test)
                    | cst.Assert(test=test)
                    | cst.BooleanOperation(left=test)
                ) if inner is test:
                    return True
                case _:
                    inner = parent
    return False


def _stored_anew(node: cst.Name, syntax: Syntax) -> tuple[int, int] | None:
    """Return from where on a name has a value that has nothing to do with its last one; None if a node is no store."""
    parents = [*syntax.parents(node)]
    if not syntax.is_target(node) or isinstance(parents[0], (cst.Attribute, cst.Subscript, cst.AugAssign)):
        return None
    statement = next(one for one in parents if isinstance(one, (cst.BaseSmallStatement, cst.BaseStatement)))
    where = syntax.place_of(statement)
    if not isinstance(statement, cst.BaseSmallStatement):
        return where.start
    names = [one for one in syntax.within(statement, cst.Name) if one.value == node.value]
    is_computed = any(not syntax.is_target(one) for one in names)
    return None if is_computed else where.end


def begin_of_value(name: str, node: cst.CSTNode, syntax: Syntax, surroundings: Surroundings) -> Place:
    """Return where the code begins in which a name may have the value that it has at a node.

    The nearest statement is passed over if it stands in a branch or computes the new value from the old one.
    """
    inner = node
    for parent in syntax.parents(node):
        match parent:
            case cst.FunctionDef() | cst.ClassDef() | cst.Lambda() | cst.BaseComp():
                return syntax.place_of(parent)
            case cst.IndentedBlock(body=statements) | cst.Module(body=statements):
                earlier = statements[: next(index for index, one in enumerate(statements) if one is inner)]
                for statement in reversed(earlier):
                    if _stores_anew(statement, name, syntax, surroundings):
                        return syntax.place_of(statement)
            case cst.For(target=target) if surroundings.binds_within(name, syntax.place(target)):
                return syntax.place_of(parent)
            case _:
                pass
        inner = parent
    return syntax.place_of(inner)


def _stores_anew(statement: cst.CSTNode, name: str, syntax: Syntax, surroundings: Surroundings) -> bool:
    is_simple = isinstance(statement, cst.SimpleStatementLine)
    if not is_simple or not surroundings.binds_within(name, syntax.place_of(statement)):
        return False
    nodes = [one for one in syntax.within(statement, cst.Name) if one.value == name]
    return any(_stored_anew(one, syntax) is not None for one in nodes)


def reads_between(name: str, begin: Place, place: Place, syntax: Syntax) -> list[cst.Name]:
    """Return the nodes between two places that read a name, those of the second place left out."""
    return [
        read
        for read in syntax.names(name)
        for where in [syntax.place_of(read)]
        if begin.start <= where.start < place.start
        if not place.holds(where) and stands_for_a_value(read, syntax)
    ]


def branch_around(node: cst.CSTNode, binding: Binding | None, syntax: Syntax) -> cst.CSTNode | None:
    """Return the outermost test or loop around a node within its function, behind a binding if there is one.

    Code outside of it may need what is done at the node as well.
    """
    block = None if binding is None else next(syntax.parents(binding.following))
    found: cst.CSTNode | None = None
    inner: cst.CSTNode = node
    for parent in syntax.parents(node):
        if parent is block or isinstance(parent, (cst.FunctionDef, cst.Lambda)):
            break
        comes_first = (isinstance(parent, cst.For) and inner is parent.iter) or (
            isinstance(parent, cst.If) and inner is parent.test
        )
        if isinstance(parent, _BRANCHES) and not comes_first:
            found = parent
        inner = parent
    return found


def is_read_behind(name: str, branch: cst.CSTNode, syntax: Syntax, surroundings: Surroundings) -> bool:
    """Return whether the scope reads a name behind a statement."""
    end = syntax.place_of(branch)
    for read in syntax.names(name):
        place = syntax.place_of(read)
        behind = place.start >= end.end and surroundings.together(place, end)
        if behind and not syntax.is_target(read) and stands_for_a_value(read, syntax):
            return True
    return False
