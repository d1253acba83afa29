"""A CUDA device that is used unasked, as one that is used if it exists: `"cuda:1" if … else "cpu"`."""

from __future__ import annotations

import re

import libcst as cst
from devlint.diagnostics import Edit, Fix, Place, Safety
from devlint.facts import Spelling, UncheckedDevice
from devlint.fixes.placing import named, variable
from devlint.syntax import Syntax

from devlint_rules.support.messages import index_of
from devlint_rules.support.moves.device_text import call_to_cuda
from devlint_rules.support.program_device import asks_for_device, devices_in_reach, has_option, operands_decide
from devlint_rules.support.qualified_names import Named
from devlint_rules.support.scopes import Surroundings

_VARIABLE = "device"
"""The name of a variable that holds the device, if the program has none."""

_STANDS_ALONE = (cst.Arg, cst.Assign, cst.AnnAssign, cst.Param, cst.Return, cst.Element, cst.DictElement)
"""What a literal is a part of where it is a value by itself, not a piece of a longer text."""


def checked(use: UncheckedDevice, place: Place, syntax: Syntax, surroundings: Surroundings) -> Fix | None:
    """The fix for a device that nothing has asked for; None where it stands in no place for another.

    A device that the program has chosen takes its place. Without one, the device is chosen where a variable gets it, or
    once behind the imports. None where something else decides: an option, or the operands that the place is given.

    Args:
        use: the device.
        place: where it is written.
        syntax, surroundings: of its file.
    """
    node = syntax.value_at(place)
    if node is None or use.written not in (Spelling.STRING, Spelling.METHOD, Spelling.INDEX):
        return None
    own = _own_device(use, place, syntax, surroundings)
    if own is None and not index_of(use.device):
        own = reachable(place, syntax, surroundings)
    if own is not None:
        edit = _in_place_of(use, place, own, syntax)
        return (
            None
            if edit is None
            else Fix(Safety.SAFE, f"use `{own}`, which holds the device that the program has chosen", (edit,))
        )
    torch = named("torch", place, syntax)
    if torch is None or devices_in_reach(place, syntax, surroundings) or has_option(syntax):
        return None
    name, imports = torch
    choice = _choice(use, name, syntax)
    if _gives_a_name(node, syntax):
        edit = _in_place_of(use, place, choice, syntax)
        edits = () if edit is None else tuple(sorted((*imports, edit)))
        return Fix(Safety.SAFE, f"use it only if it exists: `{choice}`", edits) if edits else None
    if operands_decide(node, syntax) or len(syntax.derive(_written_devices)) > 1:
        return None
    value, first = f"{name}.device({choice})", min([place, *syntax.derive(_uses)])
    hides = "CUDA_VISIBLE_DEVICES" in syntax.text
    chosen = None if hides else variable(_VARIABLE, value, name, imports, first, syntax)
    edit = _in_place_of(use, place, _VARIABLE, syntax)
    if chosen is None or edit is None or chosen.place >= edit.place:
        return None
    return Fix(Safety.SAFE, f"define `{chosen.text.strip()}` once, and use it here", (*imports, chosen, edit))


def advised(place: Place, syntax: Syntax, surroundings: Surroundings) -> str:
    """Return the advice for a CUDA device that nothing has asked for."""
    devices = devices_in_reach(place, syntax, surroundings)
    if len(devices) == 1:
        return f"use `{devices[0]}`, which holds the device that the program has chosen"
    if has_option(syntax):
        return "use the device that the program's options give, such as `args.device`"
    return 'define `device = torch.device("cuda" if torch.cuda.is_available() else "cpu")` once, and use it here'


def reachable(place: Place, syntax: Syntax, surroundings: Surroundings) -> str | None:
    """The one device in reach of a place, if the program has chosen it by what there is."""
    devices = devices_in_reach(place, syntax, surroundings)
    return devices[0] if len(devices) == 1 and asks_for_device(devices[0], syntax) else None


def _gives_a_name(node: cst.BaseExpression, syntax: Syntax) -> bool:
    """Whether a device is given to a name, an attribute or a key, by itself or as `torch.device("cuda")`."""
    parent = next(syntax.parents(node))
    call = syntax.around(node, cst.Call)
    if isinstance(parent, cst.Arg) and call is not None and syntax.code(call.func).endswith("device"):
        parent = next(syntax.parents(call)) if call.args == (parent,) or list(call.args) == [parent] else parent
    return isinstance(node, cst.SimpleString) and isinstance(
        parent, (cst.Assign, cst.AnnAssign, cst.Param, cst.DictElement)
    )


def _written_devices(syntax: Syntax) -> set[str]:
    """The CUDA devices that the texts of a file name; `cuda` is the first one."""
    texts = [str(text.evaluated_value) for text in _cuda_texts(syntax)]
    return {f"{text}:0" if text == "cuda" else text for text in texts}


def _cuda_texts(syntax: Syntax) -> list[cst.SimpleString]:
    texts = syntax.within(syntax.module, cst.SimpleString)
    return [text for text in texts if re.fullmatch(r"cuda(:\d+)?", str(text.evaluated_value))]


def _uses(syntax: Syntax) -> list[Place]:
    """Where a file names CUDA as a device, and could name another: all fixes put the new variable before the first."""
    calls = [call for call in syntax.within(syntax.module, cst.Call) if call_to_cuda(call)]
    places = (syntax.place(node) for node in (*_cuda_texts(syntax), *calls))
    return [place for place in places if named("torch", place, syntax) is not None]


def _choice(use: UncheckedDevice, torch: str, syntax: Syntax) -> str:
    """The choice without a variable; by `torch.accelerator` where the program relies on a torch that has it."""
    index = index_of(use.device)
    if index is None and syntax.derive(_mentions_accelerator):
        return f'{torch}.accelerator.current_accelerator() if {torch}.accelerator.is_available() else "cpu"'
    test = f"{torch}.cuda.device_count() > {index}" if index else f"{torch}.cuda.is_available()"
    return f'"{use.device}" if {test} else "cpu"'


def _mentions_accelerator(syntax: Syntax) -> bool:
    attributes = syntax.within(syntax.module, cst.Attribute)
    named = syntax.derive(Named)
    return any(node.attr.value == "accelerator" and named.meaning(node) == "torch.accelerator" for node in attributes)


def _in_place_of(use: UncheckedDevice, place: Place, device: str, syntax: Syntax) -> Edit | None:
    """The edit that writes the other device."""
    node = syntax.value_at(place)
    call = node if use.written is Spelling.METHOD else None if node is None else syntax.around(node, cst.Call)
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
    """`.to(device)` for `.cuda()` and `.cuda(1)`; its other arguments stay."""
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
        if device == str(use.device) and surroundings.knows(name, place) and surroundings.bindings(name) == 1:
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
