"""Source text for the device of a value: an expression that stands in the program already, and costs nothing."""

from __future__ import annotations

import ast
import re

import libcst as cst
from devlint.diagnostics import Edit, Place
from devlint.facts import Meeting
from devlint.syntax import Syntax

from devlint_rules.support.in_place_writes import changes_in_place
from devlint_rules.support.scopes import Surroundings

STAYING = frozenset(
    """
    bool clone contiguous detach double exp expand flatten float half int log long mean permute pow repeat reshape
    sigmoid softmax sqrt squeeze sum transpose unsqueeze view
    """.split()
)
"""Methods of tensors with a result on the device of the tensor, for any arguments."""


HARMLESS = frozenset("shape size dim ndim numel dtype fill_ zero_ normal_ uniform_ random_ requires_grad_".split())
"""Attributes that mean the same of a tensor on any device, and need no other tensor."""

_OF_MODULES = frozenset({"requires_grad_", "share_memory_"})
"""Methods that modules have too, by names that end like those of in-place methods of tensors."""


def root_of(text: str) -> str:
    """Return the name that an expression starts from: `x` of `x.rows[0](1)`."""
    return re.split(r"[.\[(]", text, maxsplit=1)[0]


def alike(text: str, surroundings: Surroundings, *, of_module: bool) -> str | None:
    """Return a name on the device of an expression, cheap to read: `x` of `x.unsqueeze(0) > 0`; None without one.

    Args:
        text: the expression.
        surroundings: the names of its file; `torch` of `torch.exp(x)` is not a tensor.
        of_module: whether it may be a module, which has no attribute `device`; a computed value is not a module.
    """
    node = parsed(text)
    while node is not None:
        match node:
            case ast.Compare(left=value, comparators=[ast.Constant()]) | ast.BinOp(left=value, right=ast.Constant()):
                node, of_module = value, False
            case ast.Call(func=ast.Attribute(value=ast.Name(id=owner), attr=name)) if surroundings.imports(owner):
                node, of_module = node.args[0] if node.args and name in STAYING else None, False
            case ast.Call(func=ast.Attribute(value=value, attr=name)) if _fills(name):
                node, of_module = value, False
            case ast.Call(func=ast.Attribute(value=value, attr=name)) if name in STAYING:
                node = value
            case _:
                found = ast.get_source_segment(text, node)
                usable = found is not None and not of_module and found != text and is_addressable(found)
                return found if usable else None
    return None


def _fills(method: str) -> bool:
    """Whether a method changes the tensor that it returns; modules have no method of that name."""
    return changes_in_place(method) and method not in _OF_MODULES


def is_read(attribute: str, syntax: Syntax) -> bool:
    """Whether the file reads an attribute somewhere, so that what it belongs to has it."""
    name = attribute.rpartition(".")[2]
    attributes = syntax.within(syntax.module, cst.Attribute)
    return any(one.attr.value == name and syntax.code(one) == attribute for one in attributes)


def written_device(side: Meeting) -> str | None:
    """The device that a call is given, as it is written: `"cuda:0"` of `torch.ones(3, device="cuda:0")`."""
    if side.trace[-1].place != side.place:
        return None
    call = parsed(side.name)
    if not isinstance(call, ast.Call):
        return None
    written = [keyword.value for keyword in call.keywords if keyword.arg == "device"]
    match call:
        case ast.Call(func=ast.Attribute(attr="to"), args=[first, *_]):
            written.append(first)
        case ast.Call(func=ast.Attribute(attr="cuda"), args=[], keywords=[]):
            return '"cuda"'
    return ast.get_source_segment(side.name, written[0]) if written else None


def chosen_device(side: Meeting, at: Place, syntax: Syntax, surroundings: Surroundings) -> str | None:
    """The device that a call has moved a value to, or created it on, as it is written there: `device`, `"cuda"`.

    What stands behind that call in the trace says where the device comes from. None where the call is in another file,
    or its text means something else, or nothing, at the place `at`.
    """
    moves = [call for step in side.trace for call in [syntax.at(step.place, cst.Call)] if call is not None]
    call = next((call for call in reversed(moves) if call_to_cuda(call) or device_argument(call) is not None), None)
    if call is None or syntax.place(call).file != at.file:
        return None
    last, written = syntax.place_of(call), device_argument(call)
    text = None if written is None else syntax.code(written)
    if call_to_cuda(call) and not call.args:
        return '"cuda"' if holds_for(last, at, syntax, surroundings) else None
    if text is None or isinstance(written, cst.SimpleString):
        return text if holds_for(last, at, syntax, surroundings) else None
    root = text.partition(".")[0].partition("[")[0]
    if not is_addressable(text) or re.search("device|cuda|gpu", text, re.IGNORECASE) is None:
        return None
    alone = surroundings.together(last, at) and surroundings.bindings(root, at) <= 1
    stable = alone or surroundings.bindings(root) == 1
    if root == "self":
        stable = syntax.class_at(last) is not None and syntax.class_at(last) is syntax.class_at(at)
    return text if stable and surroundings.knows(text, at) else None


def is_written_out(device: str) -> bool:
    """Whether source text for a device is a literal, such as `"cuda:0"`."""
    return device.startswith(('"', "'"))


def holds_for(written: Place, at: Place, syntax: Syntax, surroundings: Surroundings) -> bool:
    """Whether a device that is written out at one place may be written at another: in the same scope and branches.

    One caller's device is not that of all callers, and a branch for machines with a GPU is left out on others.
    """
    node = syntax.value_at(written)
    if node is None or not surroundings.together(written, at):
        return False
    inner: cst.CSTNode = node
    for parent in syntax.parents(node):
        if (
            isinstance(parent, (cst.If, cst.IfExp))
            and inner is not parent.test
            and not syntax.place_of(inner).holds(at)
        ):
            return False
        inner = parent
    return True


def device_argument(call: cst.Call) -> cst.BaseExpression | None:
    """Return the argument that says where a call puts its result, if it has one."""
    for argument in call.args:
        if argument.keyword is not None and argument.keyword.value == "device":
            return argument.value
    moves = isinstance(call.func, cst.Attribute) and call.func.attr.value == "to"
    if moves and call.args and call.args[0].keyword is None and not call.args[0].star:
        return call.args[0].value
    return None


def call_to_cuda(call: cst.Call) -> bool:
    """Whether a call is `x.cuda(…)`."""
    return isinstance(call.func, cst.Attribute) and call.func.attr.value == "cuda"


def moved_elsewhere(move: cst.Call, target: str, syntax: Syntax) -> tuple[Edit, ...]:
    """Return the edits that give `x.to("cuda:1")` or `x.cuda(1)` another goal; its other arguments stay.

    Nothing for what is no move to a device, as far as the text tells.
    """
    if not ends_in_move(move) or not isinstance(move.func, cst.Attribute):
        return ()
    given = [argument for argument in move.args if argument.keyword is not None and argument.keyword.value == "device"]
    given += [argument for argument in move.args[:1] if argument.keyword is None]
    if move.func.attr.value == "to" and given:
        return (Edit(syntax.place(given[0].value), target),)
    if move.func.attr.value in ("cpu", "cuda") and len(move.args) == len(given):
        return (Edit(syntax.from_to(move.func.attr, move), f"to({target})"),)
    return ()


def ends_in_move(value: cst.BaseExpression) -> bool:
    """Whether a move to a device ends an expression: `x.cpu()`, `x.to(device)`, and not `x.to(torch.float16)`."""
    match value:
        case cst.Call(func=cst.Attribute(attr=cst.Name(value="cpu" | "cuda"))):
            return True
        case cst.Call(func=cst.Attribute(attr=cst.Name(value="to"))):
            match device_argument(value):
                case None | cst.Attribute(value=cst.Name(value="torch")):
                    return False
            return True
        case _:
            return False


def is_addressable(text: str) -> bool:
    """Whether source text is a place that can be read again at no cost: a name, attribute or element."""
    node = parsed(text)
    while isinstance(node, (ast.Attribute, ast.Subscript)):
        if isinstance(node, ast.Subscript) and any(isinstance(part, ast.Call) for part in ast.walk(node.slice)):
            return False
        node = node.value
    return isinstance(node, ast.Name)


def as_primary(text: str) -> str:
    """Return source text that an attribute can follow: with brackets where an operator stands in it."""
    node = parsed(text)
    is_primary = isinstance(node, (ast.Name, ast.Attribute, ast.Call, ast.Subscript, type(None)))
    return text if is_primary or (node is not None and node.col_offset > 0) else f"({text})"


def device_attribute(text: str) -> str:
    """Return the attribute `device` of a tensor, or of the tensor that it is a part of: `x.device` for `x[:, 1:]`.

    Lists and the like have no index of several parts.
    """
    node = parsed(text)
    while isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Tuple):
        node = node.value
    return f"{text if node is None else ast.get_source_segment(text, node)}.device"


def parsed(text: str) -> ast.expr | None:
    """Source text as an expression; None where it was shortened or is none."""
    try:
        return ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError):
        return None
