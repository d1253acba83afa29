"""The way of a value back from the line that fails to the line that made it, as far as reading the source tells.

Each link is an expression: an argument of a caller, a value assigned to a variable, the batches of a loop, an element
appended to a list, a result of a function of the user. This runs no code of the program and needs no record of the run.
The way ends where several lines could be meant.
"""

from __future__ import annotations

import ast
import enum
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import CodeType, FunctionType
from typing import Final

import torch
from torch import nn

from devlint_guard.expressions import Reader
from devlint_guard.finding import Place, Step
from devlint_guard.frames import Site, Source, is_user_code, node_at, place_in_code, source_of, source_of_file
from devlint_guard.stored import UNKNOWN, dictionary_of, modules_in, tensors_in


class How(enum.Enum):
    """How an expression gave the next one its value."""

    HERE = "is"
    PASSED = "is passed as"
    ASSIGNED = "comes from"
    TAKEN = "is taken from"
    APPENDED = "is appended as"
    RETURNED = "is returned as"


@dataclass(frozen=True, slots=True)
class Scope:
    """A function, or the top of a file, that an expression stands in.

    Attributes:
        source: of its file.
        code: its code.
        names: its variables if it still runs, otherwise the known ones.
        more_names: the variables of its file.
        site: the frame, where it still runs.
    """

    source: Source
    code: CodeType
    names: Mapping[str, object]
    more_names: Mapping[str, object]
    site: Site | None = None

    @classmethod
    def at(cls, site: Site) -> Scope | None:
        """The scope of a frame; None where its source cannot be had."""
        source = source_of(site)
        frame = site.frame
        return None if source is None else cls(source, frame.f_code, frame.f_locals, frame.f_globals, site)

    @classmethod
    def of(cls, function: FunctionType, owner: object = UNKNOWN) -> Scope | None:
        """The scope of a function that may not run any more; a method is one of `owner`."""
        code = function.__code__
        source = source_of_file(code.co_filename) if is_user_code(code, function.__module__) else None
        if source is None:
            return None
        known = {} if owner is UNKNOWN or not code.co_argcount else {code.co_varnames[0]: owner}
        return cls(source, code, known, function.__globals__)

    @property
    def reader(self) -> Reader:
        """What reads its expressions."""
        return Reader(self.source, self.names, self.more_names)

    @property
    def is_module(self) -> bool:
        """Whether it is the top of a file."""
        return self.code.co_name == "<module>"

    @property
    def parameters(self) -> tuple[str, ...]:
        """The names of the parameters."""
        return self.code.co_varnames[: self.code.co_argcount + self.code.co_kwonlyargcount]

    @property
    def definition(self) -> ast.AST | None:
        """The node of the function, or of the whole file."""
        return self.source.tree if self.is_module else definition_of(self.source.tree, self.code)

    def place(self, node: ast.expr | ast.stmt) -> Place:
        """Where a node of it stands."""
        return place_in_code(self.code, node)


@dataclass(frozen=True, slots=True)
class Link:
    """One expression on the way.

    Attributes:
        statement: of an assignment or a loop, the statement.
        variable: the name that it gave a value.
    """

    how: How
    scope: Scope
    node: ast.expr
    statement: ast.stmt | None = None
    variable: str = ""

    @property
    def text(self) -> str:
        """Its source."""
        return self.scope.source.of(self.node)

    @property
    def step(self) -> Step:
        """As a report tells it."""
        text = self.text
        short = text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
        return Step(f"{self.how.value} `{short}`", self.scope.place(self.node))


_LONGEST: Final = 60
_MOST: Final = 12
"""More links than this are no explanation."""


def trail(sites: Sequence[Site], site: Site, node: ast.expr, device: str, value: object = None) -> list[Link]:
    """The way of a value back, the failing expression first.

    Args:
        sites: the frames of the error, outermost first.
        site: the frame that the expression is in.
        node: the expression.
        device: where its value is; of two parts of it, that which is there is followed.
        value: the object, if it still exists; an attribute that holds it is on its way under any name.
    """
    scope = Scope.at(site)
    if scope is None:
        return []
    links = [Link(How.HERE, scope, node)]
    for _ in range(_MOST):
        link = _before(sites, links[-1], device)
        if link is None or any(one.node is link.node for one in links):
            break
        links.append(link)
    kept = None if any("." in link.variable for link in links) else _kept_in(sites, value)
    return links if kept is None else [*links, kept]


def _kept_in(sites: Sequence[Site], value: object) -> Link | None:
    """The assignment of the attribute that holds a tensor, of a module whose call is under way or ended just now."""
    if not isinstance(value, torch.Tensor):
        return None
    for site in reversed(sites):
        for one in list(site.frame.f_locals.values()) if site.is_user else ():
            for owner in modules_in(one) if isinstance(one, nn.Module) else ():
                for name, held in dictionary_of(owner).items():
                    if held is value and not name.startswith("_"):
                        return _of_attribute(owner, name, str(value.device))
    return None


def _before(sites: Sequence[Site], link: Link, device: str) -> Link | None:
    scope, node = link.scope, core(link.scope.reader, link.node, device)
    match node:
        case ast.Name():
            return _of_name(sites, scope, node, device)
        case ast.Attribute():
            owner = scope.reader.value(node.value)
            return None if owner is UNKNOWN else _of_attribute(owner, node.attr, device)
        case ast.Call():
            return _of_call(scope, node)
    return None


def core(reader: Reader, node: ast.expr, device: str) -> ast.expr:
    """The part of an expression that its value, or its device, comes from: `x` of `x.float()`, of `F.relu(x[0])`."""
    while True:
        inner = _inner(reader, node, device)
        if inner is None:
            return node
        node = inner


def _inner(reader: Reader, node: ast.expr, device: str) -> ast.expr | None:
    match node:
        case ast.Subscript():
            return node.value
        case ast.Starred() | ast.NamedExpr():
            return node.value
        case ast.UnaryOp():
            return node.operand
        case ast.IfExp():
            return reader.chosen(node)
        case ast.BinOp():
            return next((one for one in (node.left, node.right) if _may_be_on(reader, one, device)), None)
        case ast.Attribute(attr=name) if name in ("T", "mT", "data", "real", "imag", "grad"):
            return node.value
        case ast.Call(func=ast.Attribute(value=receiver, attr=name)) if reader.value(node.func) is UNKNOWN:
            if name in MOVES and not _is_of_dtype(reader, node):
                return None
            if reader.value(receiver) is UNKNOWN and reader.device(receiver) is None:
                return receiver if hasattr(torch.Tensor, name) else None
            is_tensor = isinstance(reader.value(receiver), torch.Tensor) or reader.device(receiver) is not None
            return receiver if is_tensor and _may_be_on(reader, receiver, device) else None
        case ast.Call(args=[iterable, *_]) if reader.value(node.func) in (next, iter, enumerate):
            return iterable
        case ast.Call() if _is_of_torch(reader.value(node.func)):
            if any(keyword.arg == "device" for keyword in node.keywords):
                return None
            given = [one for argument in node.args for one in _elements(argument)]
            return next((one for one in given if _may_be_on(reader, one, device)), None)
        case ast.List() | ast.Tuple():
            return next((one for one in node.elts if _may_be_on(reader, one, device)), None)
    return None


MOVES: Final = frozenset({"to", "cuda", "cpu"})
"""Methods whose result is where they say, wherever their tensor is."""


def _is_of_dtype(reader: Reader, node: ast.Call) -> bool:
    """Whether a call of `to` names a dtype alone."""
    return len(node.args) == 1 and not node.keywords and isinstance(reader.value(node.args[0]), torch.dtype)


def _elements(node: ast.expr) -> list[ast.expr]:
    return list(node.elts) if isinstance(node, (ast.List, ast.Tuple)) else [node]


def _may_be_on(reader: Reader, node: ast.expr, device: str) -> bool:
    value = reader.value(node)
    if isinstance(value, torch.Tensor):
        return str(value.device) == device
    if value is not UNKNOWN:
        return any(str(tensor.device) == device for _, tensor in tensors_in(value))
    found = reader.device(node)
    return found is not None and str(found).partition(":")[0] == device.partition(":")[0]


def _is_of_torch(function: object) -> bool:
    home = getattr(function, "__module__", None)
    return isinstance(home, str) and home.partition(".")[0] == "torch" and not isinstance(function, type)


# --- one link -----------------------------------------------------------------------------------------------


def _of_name(sites: Sequence[Site], scope: Scope, node: ast.Name, device: str) -> Link | None:
    definition = scope.definition  # a lambda has none, and no assignments
    found = [] if definition is None else list(bindings_of(definition, node.id, node))
    if found and definition is not None:
        statement, value = _of_branch(scope, definition, found, device)
        how = How.TAKEN if isinstance(statement, (ast.For, ast.AsyncFor)) else How.ASSIGNED
        filled = _appended(scope, definition, node.id) if _holds_none_on(scope.reader, value, device) else None
        return filled or Link(how, scope, value, statement, node.id)
    if node.id in scope.parameters:
        return (
            _given_to_constructor(sites, scope, node.id)
            if scope.site is None
            else _argument(sites, scope.site, node.id)
        )
    if scope.is_module or node.id not in scope.more_names:
        return None
    return of_global(scope, node.id)


def _of_branch(
    scope: Scope, definition: ast.AST, found: Sequence[tuple[ast.stmt, ast.expr]], device: str
) -> tuple[ast.stmt, ast.expr]:
    """The last of some assignments; of those in two branches, the one whose value is on the device."""
    last = found[-1]
    for other in found[-2::-1]:
        if _are_exclusive(definition, other[0], last[0]) and str(scope.reader.device(other[1])) == device:
            return other
    return last


def _are_exclusive(definition: ast.AST, one: ast.stmt, other: ast.stmt) -> bool:
    for branch in ast.walk(definition):
        if isinstance(branch, ast.If):
            arms = [{id(node) for part in arm for node in ast.walk(part)} for arm in (branch.body, branch.orelse)]
            if id(one) in arms[0] and id(other) in arms[1]:
                return True
    return False


def of_global(scope: Scope, name: str) -> Link | None:
    """The only assignment of a variable of the file."""
    found = [(statement, value) for statement, target, value in bindings(scope.source.tree) if _is(target, name)]
    if len(found) != 1:
        return None
    code = scope.code.replace(co_name="<module>")
    top = Scope(scope.source, _unqualified(code), scope.more_names, scope.more_names)
    return Link(How.ASSIGNED, top, found[0][1], found[0][0], name)


def _unqualified(code: CodeType) -> CodeType:
    return code.replace(co_qualname="<module>") if hasattr(code, "co_qualname") else code


def _is(target: ast.expr, name: str) -> bool:
    return isinstance(target, ast.Name) and target.id == name


def _argument(sites: Sequence[Site], site: Site, name: str) -> Link | None:
    """What the caller of a function passed for a parameter."""
    index = next((number for number, one in enumerate(sites) if one.frame is site.frame), 0)
    between = index - 1
    while between >= 0 and not sites[between].is_user:
        if sites[between].frame.f_code.co_name not in _PASS_ON:
            return None
        between -= 1
    caller = sites[between] if between >= 0 else None
    scope = None if caller is None else Scope.at(caller)
    call = None if caller is None else node_at(caller)
    while isinstance(call, (ast.Expr, ast.Return, ast.Assign, ast.Await)) and call.value is not None:
        call = call.value
    if scope is None or not isinstance(call, ast.Call):
        return None
    argument = _argument_of(call, site.frame.f_code, name)
    return None if argument is None else Link(How.PASSED, scope, argument, variable=name)


def _given_to_constructor(sites: Sequence[Site], scope: Scope, name: str) -> Link | None:
    """What the constructor of an object was given, where a running function made the object."""
    owner = scope.names.get(scope.parameters[0]) if scope.code.co_name == "__init__" else None
    if owner is None:
        return None
    for site in reversed(sites):
        there = Scope.at(site) if site.is_user else None
        definition = None if there is None else there.definition
        if there is None or definition is None:
            continue
        for variable, value in there.names.items():
            if value is owner and variable != "self":
                for statement, target, made in bindings(definition):
                    if _is(target, variable) and isinstance(made, ast.Call):
                        argument = _argument_of(made, scope.code, name)
                        if argument is not None:
                            return Link(How.PASSED, there, argument, statement, name)
    return None


_PASS_ON: Final = frozenset(
    {nn.Module._call_impl.__name__, nn.Module._wrapped_call_impl.__name__, "_guarded_call", "decorate_context", "inner"}
)
"""Frames that hand all arguments on as they are."""


def _argument_of(call: ast.Call, code: CodeType, name: str) -> ast.expr | None:
    for keyword in call.keywords:
        if keyword.arg == name:
            return keyword.value
    parameters = code.co_varnames[: code.co_argcount]
    if name in parameters:
        is_method = parameters[0] in ("self", "cls") or code.co_name == "__init__"
        position = parameters.index(name) - is_method
        if 0 <= position < len(call.args) and not any(
            isinstance(one, ast.Starred) for one in call.args[: position + 1]
        ):
            return call.args[position]
    spread = [keyword.value for keyword in call.keywords if keyword.arg is None]
    spread += [one.value for one in call.args if isinstance(one, ast.Starred)]
    return spread[0] if len(spread) == 1 else None


def _of_attribute(owner: object, name: str, device: str) -> Link | None:
    """The only assignment of an attribute of `self` in the methods of a class and of its bases."""
    found: list[Link] = []
    for method in _methods(type(owner)):
        inside = Scope.of(method, owner)
        definition = None if inside is None else inside.definition
        if inside is None or definition is None or not inside.parameters:
            continue
        own = inside.parameters[0]
        for statement, target, value in bindings(definition):
            match target:
                case ast.Attribute(value=ast.Name(id=of), attr=attr) if (of, attr) == (own, name):
                    found.append(Link(How.ASSIGNED, inside, value, statement, f"{own}.{name}"))
        if found and _holds_none_on(inside.reader, found[-1].node, device):
            filled = _appended_to_attribute(type(owner), owner, name)
            if filled is not None:
                return filled
    full = [link for link in found if not (isinstance(link.node, ast.Constant) and link.node.value is None)]
    return full[0] if len(full) == 1 else None


def _of_call(scope: Scope, node: ast.Call) -> Link | None:
    """What a function of the user's returned, if it has one way to return."""
    function, owner = scope.reader.value(node.func), UNKNOWN
    if isinstance(node.func, ast.Attribute) and function is UNKNOWN:
        owner = scope.reader.value(node.func.value)
        function = _method(owner, node.func.attr)
    if isinstance(function, nn.Module):
        function, owner = type(function).forward, function
    inside = Scope.of(function, owner) if isinstance(function, FunctionType) else None
    definition = None if inside is None else inside.definition
    if inside is None or definition is None:
        return None
    returned = [one for one in _own_nodes(definition) if isinstance(one, ast.Return) and one.value is not None]
    value = returned[0].value if len(returned) == 1 else None
    return None if value is None else Link(How.RETURNED, inside, value, returned[0])


def _method(owner: object, name: str) -> object:
    if owner is UNKNOWN or name in dictionary_of(owner):
        return UNKNOWN
    found = next((vars(base)[name] for base in type(owner).__mro__ if name in vars(base)), UNKNOWN)
    return found.__func__ if isinstance(found, (staticmethod, classmethod)) else found


# --- what fills a list --------------------------------------------------------------------------------------


def _holds_none_on(reader: Reader, value: ast.expr, device: str) -> bool:
    """Whether no element of a list display may be on the device; then a tensor there was appended later."""
    match value:
        case ast.List(elts=elements):
            return not any(_may_be_on(reader, one, device) for one in elements)
        case ast.Call(func=ast.Name(id="list"), args=[]):
            return True
    return False


def _appended(scope: Scope, definition: ast.AST, name: str) -> Link | None:
    return _only_append(scope, definition, lambda owner: isinstance(owner, ast.Name) and owner.id == name, name)


def _appended_to_attribute(kind: type, owner: object, name: str) -> Link | None:
    for method in _methods(kind):
        inside = Scope.of(method, owner)
        definition = None if inside is None else inside.definition
        if inside is not None and definition is not None:
            found = _only_append(
                inside,
                definition,
                lambda node: isinstance(node, ast.Attribute) and node.attr == name,
                f"self.{name}",
            )
            if found is not None:
                return found
    return None


def _only_append(scope: Scope, definition: ast.AST, is_list: object, variable: str) -> Link | None:
    assert callable(is_list)
    found = [
        one
        for one in _own_nodes(definition)
        if isinstance(one, ast.Call)
        and isinstance(one.func, ast.Attribute)
        and one.func.attr == "append"
        and len(one.args) == 1
        and is_list(one.func.value)
    ]
    return Link(How.APPENDED, scope, found[0].args[0], variable=variable) if len(found) == 1 else None


# --- assignments --------------------------------------------------------------------------------------------


def definition_of(tree: ast.Module, code: CodeType) -> ast.FunctionDef | ast.AsyncFunctionDef | None:
    """The definition that a code object was compiled from; its decorators come before it."""
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.name == code.co_name:
            first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
            if first == code.co_firstlineno:
                return node
    return None


def bindings_of(definition: ast.AST, name: str, before: ast.expr) -> Iterator[tuple[ast.stmt, ast.expr]]:
    """The assignments of a variable that are done when a node is reached, reading downwards, in their order."""
    found = [
        (statement, value)
        for statement, target, value in bindings(definition)
        if _is(target, name) and _ends_before(statement, before)
    ]
    yield from sorted(found, key=lambda one: (one[0].lineno, one[0].col_offset))


def _ends_before(statement: ast.stmt, node: ast.expr) -> bool:
    """Whether a binding is done when a node is reached, reading downwards."""
    if isinstance(statement, (ast.For, ast.AsyncFor)):
        return statement.lineno < node.lineno <= (statement.end_lineno or statement.lineno)
    return (statement.end_lineno or statement.lineno) < node.lineno


def bindings(function: ast.AST) -> Iterator[tuple[ast.stmt, ast.expr, ast.expr]]:
    """The assignments in a function, without those in functions within it: statement, target, value."""
    for node in _own_nodes(function):
        match node:
            case ast.Assign():
                for target in node.targets:
                    yield from ((node, one, value) for one, value in _pairs(target, node.value))
            case ast.AnnAssign(value=ast.expr() as value):
                yield node, node.target, value
            case ast.For() | ast.AsyncFor():
                yield from ((node, one, node.iter) for one, _ in _pairs(node.target, node.iter))


def _own_nodes(function: ast.AST) -> Iterator[ast.AST]:
    for node in ast.iter_child_nodes(function):
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)):
            yield node
            yield from _own_nodes(node)


def _pairs(target: ast.expr, value: ast.expr) -> Iterator[tuple[ast.expr, ast.expr]]:
    """The targets of an assignment, each with its own value where the source shows one."""
    if isinstance(target, (ast.Tuple, ast.List)):
        values: Sequence[ast.expr] = [value] * len(target.elts)
        if isinstance(value, (ast.Tuple, ast.List)) and len(value.elts) == len(target.elts):
            values = value.elts
        for one, part in zip(target.elts, values, strict=True):
            yield from _pairs(one, part)
    else:
        yield (target.value if isinstance(target, ast.Starred) else target), value


def _methods(owner: type) -> Iterator[FunctionType]:
    for base in owner.__mro__:
        if not base.__module__.startswith("torch."):
            yield from (one for one in vars(base).values() if isinstance(one, FunctionType))
