"""The change that brings two values together: which one to change, where, and to which device."""

from __future__ import annotations

import ast
import re

from devlint.diagnostics import Place
from devlint.domain.device import CPU, Variable, follows
from devlint.facts import Conflict, Meeting

from devlint_rules._surroundings import Surroundings, inside
from devlint_rules._wording import ASSIGNED, in_words, quoted

_FEEDING = ("DataLoader", "torch.utils.data.random_split")
"""Operations that draw on the default device, and have no argument for another."""

_CREATOR = re.compile(r"created .* by `([^`]+)`")


def bring_together(conflict: Conflict, place: Place, surroundings: Surroundings) -> str:
    """The change that puts both values on one device, in the imperative.

    Args:
        conflict: the two values; what is on the CPU moves, else what comes second.
        place: the operation as it is reported.
        surroundings: the file of the operation; code in the advice names nothing that is unknown there.
    """
    if conflict.kind in ("host", "cpu-argument"):
        return _copy_to_cpu(conflict, place, surroundings)
    if conflict.kind == "generator":
        return _matching_generator(conflict, place, surroundings)
    stray, settled = _stray_and_settled(conflict)
    if stray.born == "object":
        return f"make {quoted(stray.name)} from tensors on {_device_in_words(settled)}"
    target = _device_of(conflict, settled)
    if target is not None and not _seen_from(settled, place, surroundings):
        target = None
    if _is_called_module(conflict, stray):
        return _move_module(stray.name, target, settled)
    if _seen_from(stray, place, surroundings):
        if stray.born == "module":
            return _move_owner(stray, target, settled)
        if _is_attribute_of_self(stray.name) and stray.born == "created":
            return _register(stray.name, target, settled)
    created = _create_there(stray, target, place, surroundings) if stray.born == "created" else None
    return created or _move(stray, target, settled, surroundings.binds(stray.name, place))


def _copy_to_cpu(conflict: Conflict, place: Place, surroundings: Surroundings) -> str:
    """Advice for a value that an operation takes from the CPU only."""
    name = conflict.first.name
    if conflict.operation.endswith("pin_memory"):
        return f"pin it while it is on the CPU, and move it then: {quoted('.pin_memory().to(…)')}"
    if not _seen_from(conflict.first, place, surroundings) or _parsed(name) is None:
        return f"copy {quoted(name)} to the CPU first, with `.cpu()`"
    return f"copy it to the CPU first: `{name}.cpu()`"


def _matching_generator(conflict: Conflict, place: Place, surroundings: Surroundings) -> str:
    """Advice for numbers that are drawn on one device with the generator of another."""
    drawn, generator = conflict.first, conflict.second
    if conflict.operation in _FEEDING:
        device = "" if drawn.device == CPU else f'device="{drawn.device}"'
        return f"hand over a generator for {drawn.device}: `generator=torch.Generator({device})`"
    if drawn.device == CPU:
        argument = f"`device={generator.name}.device`" if is_addressable(generator.name) else "with `device=`"
        return f"draw them where the generator is: {argument}"
    target = _device_of(conflict, drawn)
    if inside(drawn.place, drawn.trace[-1].place) and drawn.place != drawn.trace[-1].place:
        target = drawn.name  # the argument that says where the numbers are drawn
    if target is None or not _seen_from(drawn, place, surroundings):
        return f"make the generator for {_device_in_words(drawn)}"
    return f"make the generator for that device: `torch.Generator(device={target})`"


def _move_module(name: str, target: str | None, settled: Meeting) -> str:
    if target is None or not is_addressable(name):
        return f"move {quoted(name)}, which is a module, to {_device_in_words(settled)}"
    return f"move the module once, before it is used: `{name}.to({target})`"


def _move_owner(stray: Meeting, target: str | None, settled: Meeting) -> str:
    owner = stray.name.rpartition(".")[0]
    if target is None or not owner or not is_addressable(stray.name):
        return f"move the module that {quoted(stray.name)} comes from to {_device_in_words(settled)}"
    return f"move the module that owns {quoted(stray.name)}: `{owner}.to({target})`"


def _register(name: str, target: str | None, settled: Meeting) -> str:
    attribute = name.removeprefix("self.")
    call = f'`self.register_buffer("{attribute}", …)`'
    move = f"move it to {_device_in_words(settled)}" if target is None else f"use `{name}.to({target})`"
    return f"in a module, register it, so that it moves along: {call}; elsewhere {move}"


def _create_there(stray: Meeting, target: str | None, place: Place, surroundings: Surroundings) -> str | None:
    """Advice for the call that created the value; None where it cannot be told the device."""
    birth = stray.trace[-1]
    creator = _CREATOR.fullmatch(birth.what)
    if target is None or creator is None or not _takes_device(creator[1]):
        return None
    argument = f"`device={target}`"
    if birth.place == stray.place:
        return f"pass {argument} to {quoted(stray.name)}"
    if inside(birth.place, place):
        return f"pass {argument} to {quoted(creator[1])}"
    if surroundings.together(birth.place, place) and surroundings.knows(target, birth.place):
        return f"pass {argument} to {quoted(creator[1])} in line {birth.place.line}"
    return None


def _takes_device(creator: str) -> bool:
    """Whether a call that creates a value has the argument `device`.

    Not so the old type constructors (`torch.Tensor`, `torch.FloatTensor`), what shares memory with the host,
    and a class of the project (`Net(…)`).
    """
    last = creator.rpartition(".")[2]
    return creator.startswith("torch.") and not (last.endswith("Tensor") or last.startswith("from_"))


def _move(stray: Meeting, target: str | None, settled: Meeting, local: bool) -> str:
    """Advice to move a value where it is used; a `local` name can take the result."""
    if target is None:
        return f"move {quoted(stray.name)} to {_device_in_words(settled)}"
    if local:
        what = "the batch" if stray.born == "loader" else "it"
        return f"move {what} before it is used: `{stray.name} = {stray.name}.to({target})`"
    if is_addressable(stray.name):
        return f"use `{stray.name}.to({target})`"
    call = _parsed(stray.name)
    if stray.born == "moved" and isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute):
        receiver = ast.get_source_segment(stray.name, call.func.value)
        return f"use `{receiver}.to({target})` instead of {quoted(stray.name)}"
    return f"move {quoted(stray.name)} with `.to({target})`"


def _stray_and_settled(conflict: Conflict) -> tuple[Meeting, Meeting]:
    """The value to change, and the one to follow."""
    first, second = conflict.first, conflict.second
    if first.device == CPU and second.device != CPU and conflict.operation != ASSIGNED:
        return first, second
    return second, first


def _seen_from(side: Meeting, place: Place, surroundings: Surroundings) -> bool:
    """Whether the name of a value means that value at the operation too."""
    return inside(side.place, place) or surroundings.together(side.place, place)


def _device_of(conflict: Conflict, side: Meeting) -> str | None:
    """Source text for the device of a value, None where no expression that stands in the program tells it."""
    if side.born == "object":
        return None
    if is_addressable(side.name):
        if not _is_called_module(conflict, side):
            return f"{side.name}.device"
        return _parameter_device(side.name) if _calls_layer(conflict) else None
    if isinstance(side.device, Variable) and is_addressable(side.device.place):
        place = side.device.place
        if side.name.startswith(f"{place}("):
            return _parameter_device(place)
        if side.born == "parameter" or re.search(rf"(?<![\w.]){re.escape(place)}(?![\w.(\[])", side.name):
            return f"{place}.device"
    return _written_device(side)


def _parameter_device(module: str) -> str:
    """A module has no attribute `device`; its parameters have."""
    return f"next({module}.parameters()).device"


def _written_device(side: Meeting) -> str | None:
    """The device that a call is given, as it is written: `"cuda:0"` of `torch.ones(3, device="cuda:0")`."""
    if side.trace[-1].place != side.place:
        return None
    call = _parsed(side.name)
    if not isinstance(call, ast.Call):
        return None
    written = [keyword.value for keyword in call.keywords if keyword.arg == "device"]
    if isinstance(call.func, ast.Attribute) and call.func.attr == "to":
        written += call.args[:1]
    return ast.get_source_segment(side.name, written[0]) if written else None


def _device_in_words(side: Meeting) -> str:
    if follows(side.device):
        return in_words(side.device)
    return f"{side.device}, where {quoted(side.name)} is"


def _calls_layer(conflict: Conflict) -> bool:
    """Whether the operation is the call of a layer, which has parameters; losses have buffers at most."""
    layer, dot, called = conflict.operation.rpartition(".")
    return bool(dot) and called == "__call__" and not layer.endswith("Loss")


def _is_called_module(conflict: Conflict, side: Meeting) -> bool:
    """Whether that side is a module that the operation calls; a module stands before its input."""
    if conflict.kind == "module-input":
        return side is conflict.first
    other = conflict.second if side is conflict.first else conflict.first
    creator = _CREATOR.fullmatch(side.trace[-1].what)
    made_as_module = side.born == "module" or (creator is not None and creator[1].startswith("torch.nn."))
    return conflict.operation.endswith(".__call__") and made_as_module and side.place < other.place


def _is_attribute_of_self(name: str) -> bool:
    return re.fullmatch(r"self\.[^\W\d]\w*", name) is not None


def is_addressable(text: str) -> bool:
    """Whether source text is a place that can be read again at no cost: a name, attribute or element."""
    node = _parsed(text)
    while isinstance(node, (ast.Attribute, ast.Subscript)):
        if isinstance(node, ast.Subscript) and any(isinstance(part, ast.Call) for part in ast.walk(node.slice)):
            return False
        node = node.value
    return isinstance(node, ast.Name)


def _parsed(text: str) -> ast.expr | None:
    """Source text as an expression; None where it was shortened or is none."""
    try:
        return ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError):
        return None
