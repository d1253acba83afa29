"""Which part of an expression its value, or its device, comes from: `x` of `x.float()`, of `F.relu(x[0])`."""

from __future__ import annotations

import ast
import copy
import functools
from collections.abc import Iterator, Sequence
from types import FunctionType
from typing import Final

import torch
from torch import nn

from devlint_guard.program.bindings import ELEMENT, IsTarget, Key, own_nodes
from devlint_guard.program.expressions import Reader, as_device
from devlint_guard.program.frames import is_user_code
from devlint_guard.program.stored import UNKNOWN, tensors_in

MOVES: Final = frozenset({"to", "cuda", "cpu"})
"""Methods whose result is where they say, wherever their tensor is."""

Inner = tuple[ast.expr, tuple[Key, ...], bool]
"""A part of an expression, the way from its value, and whether its value is the very object."""


def core(reader: Reader, node: ast.expr, device: str, keys: tuple[Key, ...] = ()) -> ast.expr:
    """The innermost part that an expression has its value, or its device, from; see `inner`."""
    while (found := inner(reader, node, keys, device)) is not None:
        node, keys, _ = found
    return node


def inner(reader: Reader, node: ast.expr, keys: tuple[Key, ...], device: str) -> Inner | None:
    """The next part inwards; None for an expression that has its value from elsewhere.

    Args:
        reader: of its function.
        node: the expression.
        keys: the way from its value to the one that is followed.
        device: where that is; empty where any part will do.
    """
    first, rest = (keys[0], keys[1:]) if keys else (None, ())
    match node:
        case ast.Subscript():
            if isinstance(reader.value(node.value), torch.Tensor) or isinstance(node.slice, (ast.Slice, ast.Tuple)):
                return node.value, keys if isinstance(node.slice, ast.Slice) else (), False
            key = reader.value(node.slice)
            return node.value, (key if isinstance(key, (int, str)) else ELEMENT, *keys), not keys
        case ast.Starred() | ast.NamedExpr() | ast.Await():
            return node.value, keys, True
        case ast.UnaryOp():
            return node.operand, (), False
        case ast.IfExp():
            chosen = reader.chosen(node) or likely(reader, (node.body, node.orelse), device)
            return None if chosen is None else (chosen, keys, True)
        case ast.BoolOp():
            part = likely(reader, node.values, device)
            return None if part is None else (part, keys, True)
        case ast.BinOp():
            part = likely(reader, (node.left, node.right), device)
            return None if part is None else (part, (), False)
        case ast.Compare():
            part = likely(reader, (node.left, *node.comparators), device)
            return None if part is None else (part, (), False)
        case ast.Attribute(attr=name) if name in ("T", "mT", "data", "real", "imag", "grad"):
            owner = reader.value(node.value)
            return (node.value, (), False) if owner is UNKNOWN or isinstance(owner, torch.Tensor) else None
        case ast.List() | ast.Tuple() | ast.Set():
            if isinstance(first, int) and -len(node.elts) <= first < len(node.elts):
                return node.elts[first], rest, True
            part = likely(reader, node.elts, device)
            return None if part is None else (part, rest, True)
        case ast.Dict():
            named = [value for key, value in zip(node.keys, node.values, strict=True) if _is_key(key, first)]
            part = likely(reader, named or node.values, device)
            return None if part is None else (part, rest, True)
        case ast.ListComp() | ast.GeneratorExp() | ast.SetComp():
            return node.elt, rest, True
        case ast.DictComp():
            return node.value, rest, True
        case ast.Call():
            return _inner_of_call(reader, node, keys, device)
    return None


def _is_key(node: ast.expr | None, key: Key) -> bool:
    return isinstance(node, ast.Constant) and node.value == key


def _inner_of_call(reader: Reader, node: ast.Call, keys: tuple[Key, ...], device: str) -> Inner | None:
    function = reader.value(node.func)
    if node.args and any(function is one for one in (*_CONTAINERS, *_COPIES)):
        return _unwrapped(function, node.args, keys)
    if isinstance(node.func, ast.Attribute) and function is UNKNOWN:
        return _receiver(reader, node, node.func, keys, device)
    if any(function is one for one in _WRAPPERS) and node.args:
        return node.args[0], (), False
    if function is functools.partial:
        part = likely(reader, [*node.args[1:], *(one.value for one in node.keywords)], device)
        return None if part is None else (part, (), False)
    if function is torch.device and not device and node.args:
        return node.args[0], (), False
    if _is_of_torch(function):
        if function is torch.load or (reader.creates(node) and all(reader.device(one) is None for one in node.args)):
            return None
        if any(keyword.arg == "device" for keyword in node.keywords):
            return None
        given = [one for argument in node.args for one in _elements(argument)]
        part = likely(reader, given, device)
        return None if part is None else (part, (), False)
    if keys and keys[0] is ELEMENT and isinstance(function, FunctionType) and node.args and _is_of_library(function):
        return node.args[0], keys, False  # a library iterates over its argument
    return None


def _receiver(reader: Reader, node: ast.Call, func: ast.Attribute, keys: tuple[Key, ...], device: str) -> Inner | None:
    """What a method was called on, if its result is there, or is a part of it."""
    receiver, name = func.value, func.attr
    owner = reader.value(receiver)
    if name in ("items", "values", "get", "pop") and (owner is UNKNOWN or isinstance(owner, dict)):
        if name == "items" and keys[1:2] == (1,):
            return receiver, (ELEMENT, *keys[2:]), False
        key = reader.value(node.args[0]) if node.args else UNKNOWN
        pushed = () if name in ("items", "values") else (key if isinstance(key, (int, str)) else ELEMENT,)
        return receiver, (*pushed, *keys), False
    if name in MOVES and not _is_of_dtype(reader, node):
        return None
    if owner is UNKNOWN and reader.device(receiver) is None:
        return (receiver, (), False) if hasattr(torch.Tensor, name) else None
    is_tensor = isinstance(owner, torch.Tensor) or reader.device(receiver) is not None
    return (receiver, (), False) if is_tensor and may_be_on(reader, receiver, device) else None


def _unwrapped(function: object, arguments: Sequence[ast.expr], keys: tuple[Key, ...]) -> Inner | None:
    first = arguments[0]
    if function is next:
        return first, (ELEMENT, *keys), False
    if function is enumerate:
        return first, (ELEMENT, *keys[2:]) if keys[1:2] == (1,) else keys[:1], False
    if function is zip:
        index = keys[1] if len(keys) > 1 else 0
        if isinstance(index, int) and 0 <= index < len(arguments):
            return arguments[index], (ELEMENT, *keys[2:]), False
    return first, keys, False


_CONTAINERS: Final = (next, iter, enumerate, zip, list, tuple, reversed, sorted, dict)
_COPIES: Final = (copy.copy, copy.deepcopy)
_WRAPPERS: Final = (torch.autograd.Variable, nn.Parameter)
"""Classes whose objects have the tensor that they are given, or share its memory."""


def _is_of_dtype(reader: Reader, node: ast.Call) -> bool:
    """Whether a call of `to` names a dtype alone."""
    return len(node.args) == 1 and not node.keywords and isinstance(reader.value(node.args[0]), torch.dtype)


def _elements(node: ast.expr) -> list[ast.expr]:
    return list(node.elts) if isinstance(node, (ast.List, ast.Tuple)) else [node]


def likely(reader: Reader, nodes: Sequence[ast.expr], device: str) -> ast.expr | None:
    """Of some expressions the first that may be on a device; otherwise the only one that may be anywhere."""
    found = next((one for one in nodes if may_be_on(reader, one, device)), None)
    if found is not None or not device:
        return found
    unknown = [one for one in nodes if reader.value(one) is UNKNOWN and reader.device(one) is None]
    return unknown[0] if len(unknown) == 1 else None


def may_be_on(reader: Reader, node: ast.expr, device: str) -> bool:
    """Whether an expression is known to stand for tensors of which one is on a device."""
    value = reader.value(node)
    if not device:
        return not isinstance(node, ast.Constant)
    if isinstance(value, torch.Tensor):
        return str(value.device) == device
    if value is not UNKNOWN:
        return any(str(tensor.device) == device for _, tensor in tensors_in(value))
    found = reader.device(node)
    return found is not None and str(found).partition(":")[0] == device.partition(":")[0]


def makes(reader: Reader, node: ast.expr, value: object) -> bool:
    """Whether an expression is a call of the class of an object, or of a `functools.partial` of it."""
    function = reader.value(node.func) if isinstance(node, ast.Call) else UNKNOWN
    kind = function.func if isinstance(function, functools.partial) else function
    return value is not UNKNOWN and kind is type(value)


def may_make(reader: Reader, node: ast.expr, value: object) -> bool:
    """Whether an expression is a call of the class of an object, or of a method that the class itself has for that."""
    match node:
        case ast.Call(func=ast.Attribute(value=owner)) if value is not UNKNOWN and reader.value(owner) is type(value):
            return True
    return makes(reader, node, value)


def is_elsewhere(reader: Reader, node: ast.expr, device: str) -> bool:
    """Whether an expression is known to stand for a tensor that is not on a device."""
    match node:
        case ast.Call(func=ast.Attribute(attr="cuda"), args=[]):
            return device.partition(":")[0] == "cpu"
        case ast.Call(func=ast.Attribute(attr="cpu"), args=[]):
            return device.partition(":")[0] not in ("", "cpu")
        case ast.Call(func=ast.Attribute(attr="to"), args=[target, *_]):
            named = as_device(reader.value(target))
            if named is not None:
                return bool(device) and named.type != device.partition(":")[0]
    return bool(device) and reader.device(node) is not None and not may_be_on(reader, node, device)


def _is_of_torch(function: object) -> bool:
    home = getattr(function, "__module__", None)
    return isinstance(home, str) and home.partition(".")[0] == "torch" and not isinstance(function, (type, nn.Module))


def _is_of_library(function: object) -> bool:
    code = getattr(function, "__code__", None)
    return code is None or not is_user_code(code)


# --- what fills a container ---


def holds_none_on(reader: Reader, value: ast.expr, device: str) -> bool:
    """Whether no element of a display may be on the device; then a tensor there was put in later."""
    match value:
        case ast.List(elts=elements):
            return not any(may_be_on(reader, one, device) for one in elements)
        case ast.Dict(values=elements):
            return not elements
        case ast.Call(func=ast.Name(id="list" | "dict" | "set" | "deque" | "defaultdict" | "OrderedDict")):
            return True
    return False


def put_in(definition: ast.AST, is_container: IsTarget) -> Iterator[tuple[ast.expr, tuple[Key, ...]]]:
    """What a function puts into a container, with the way from it to one element."""
    for node in own_nodes(definition):
        match node:
            case ast.Call(func=ast.Attribute(value=owner, attr="append" | "add" | "appendleft"), args=[one]):
                if is_container(owner):
                    yield one, ()
            case ast.Call(func=ast.Attribute(value=owner, attr="extend" | "update"), args=[one]):
                if is_container(owner):
                    yield one, (ELEMENT,)
            case ast.Assign(targets=[ast.Subscript(value=owner)], value=one):
                if is_container(owner):
                    yield one, ()
