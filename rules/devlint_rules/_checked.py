"""A CUDA device that is used unasked, as one that is used if it exists: `"cuda:1" if … else "cpu"`."""

from __future__ import annotations

import libcst as cst
from devlint.diagnostics import Edit, Fix, Place, Safety
from devlint.facts import UncheckedDevice
from devlint.syntax import Syntax

from devlint_rules._surroundings import Surroundings
from devlint_rules._wording import index_of

_STANDS_ALONE = (cst.Arg, cst.Assign, cst.AnnAssign, cst.Param, cst.Return, cst.Element, cst.DictElement)
"""What a literal is a part of where it is a value by itself, not a piece of a longer text."""


def checked(use: UncheckedDevice, place: Place, syntax: Syntax, surroundings: Surroundings) -> Fix | None:
    """The fix for a device that nothing has asked for; None where it stands in no place for another.

    Args:
        use: the device.
        place: where it is written.
        syntax, surroundings: of its file.
    """
    torch = syntax.named("torch")
    if torch is None or use.written not in ("string", "method", "index"):
        return None
    name, imports = torch
    device, message = _choice(use, name, syntax), "use it only where it exists: `{}`"
    own = _own_device(use, place, syntax, surroundings)
    if own is not None:
        device, message = own, "use `{}`, which is chosen by what there is"
    edit = _in_place_of(use, place, device, syntax)
    if edit is None:
        return None
    edits = (edit,) if own is not None else tuple(sorted((*imports, edit)))
    return Fix(Safety.SAFE, message.format(device), edits)


def _choice(use: UncheckedDevice, torch: str, syntax: Syntax) -> str:
    """The choice without a variable; by `torch.accelerator` where the program relies on a torch that has it."""
    index = index_of(use.device)
    if index is None and syntax.derive(_mentions_accelerator):
        return f'{torch}.accelerator.current_accelerator() if {torch}.accelerator.is_available() else "cpu"'
    test = f"{torch}.cuda.device_count() > {index}" if index else f"{torch}.cuda.is_available()"
    return f'"{use.device}" if {test} else "cpu"'


def _mentions_accelerator(syntax: Syntax) -> bool:
    torch = syntax.named("torch")
    attributes = syntax.within(syntax.module, cst.Attribute)
    return torch is not None and any(
        node.attr.value == "accelerator" and syntax.code(node) == f"{torch[0]}.accelerator" for node in attributes
    )


def _in_place_of(use: UncheckedDevice, place: Place, device: str, syntax: Syntax) -> Edit | None:
    """The edit that writes the other device."""
    node = syntax.value_at(place)
    call = node if use.written == "method" else None if node is None else syntax.around(node, cst.Call)
    if isinstance(call, cst.Call) and isinstance(call.func, cst.Attribute) and call.func.attr.value == "cuda":
        return _moved(call, device, syntax)
    parent = None if node is None else next(syntax.parents(node))
    if isinstance(parent, cst.Arg) and not _takes_any_device(syntax, parent):
        return None
    if isinstance(node, cst.SimpleString) and isinstance(parent, _STANDS_ALONE):
        return Edit(syntax.place(node), device)
    if isinstance(node, cst.Integer) and isinstance(parent, cst.Arg):
        return Edit(syntax.place(node), device)
    return None


def _takes_any_device(syntax: Syntax, argument: cst.Arg) -> bool:
    """Whether an argument may be the CPU as well: not so those of functions of `torch.cuda`."""
    call = syntax.around(argument, cst.Call)
    if call is None or argument not in call.args:
        return True
    function = syntax.code(call.func)
    if ".cuda." in f".{function}" or argument.star:
        return False
    if isinstance(argument.value, cst.Integer):
        moves = function.endswith(".to") and argument is call.args[0]
        return moves or (argument.keyword is not None and argument.keyword.value == "device")
    return True


def _moved(call: cst.Call, device: str, syntax: Syntax) -> Edit | None:
    """`.to(device)` for `.cuda()` and `.cuda(1)`; what else is said to it stays."""
    assert isinstance(call.func, cst.Attribute)
    others = [argument for argument in call.args if argument.keyword is not None and argument.keyword.value != "device"]
    given = [argument for argument in call.args if argument not in others]
    if len(given) > 1 or any(argument.star for argument in call.args):
        return None
    rest = "".join(f", {syntax.code(other.with_changes(comma=cst.MaybeSentinel.DEFAULT))}" for other in others)
    return Edit(syntax.from_to(call.func.attr, call), f"to({device}{rest})")


def _own_device(use: UncheckedDevice, place: Place, syntax: Syntax, surroundings: Surroundings) -> str | None:
    """A variable of the program that is the same device where that exists, and another where it does not."""
    for name, device in syntax.derive(_chosen_devices):
        if device == str(use.device) and surroundings.knows(name, place) and surroundings.binds_once(name):
            return name
    return None


def _chosen_devices(syntax: Syntax) -> list[tuple[str, str]]:
    """Variables whose values are chosen by what there is, and the device that is preferred."""
    return sorted(
        (target.target.value, device)
        for assignment in syntax.within(syntax.module, cst.Assign)
        for target in assignment.targets
        for device in [_chosen(assignment.value)]
        if device is not None and isinstance(target.target, cst.Name)
    )


def _chosen(value: cst.BaseExpression) -> str | None:
    """`"cuda"` of `"cuda" if torch.cuda.is_available() else …`, also inside of `torch.device(…)`.

    The device of `torch.accelerator` is `cuda` on every machine that has one.
    """
    match value:
        case cst.Call(func=cst.Attribute(attr=cst.Name(value="device")), args=[cst.Arg(value=inner, keyword=None)]):
            return _chosen(inner)
        case cst.IfExp(
            body=cst.SimpleString() as text,
            test=cst.Call(
                func=cst.Attribute(value=cst.Attribute(attr=cst.Name(value="cuda")), attr=cst.Name(value=test))
            ),
        ) if test == "is_available":
            return str(text.evaluated_value)
        case cst.IfExp(
            body=cst.Call(func=cst.Attribute(attr=cst.Name(value="current_accelerator"))),
            test=cst.Call(
                func=cst.Attribute(value=cst.Attribute(attr=cst.Name(value="accelerator")), attr=cst.Name(value=test))
            ),
        ) if test == "is_available":
            return "cuda"
        case _:
            return None
