"""The change that brings two values together: which one to change, where, and to which device."""

from __future__ import annotations

import ast
import re
from dataclasses import replace

import libcst as cst
from devlint.diagnostics import Certainty, Edit, Place, Safety
from devlint.domain.device import CPU, Variable, is_symbolic, variables_of
from devlint.facts import Conflict, ConflictKind, Meeting, OriginKind, Step
from devlint.fixes.names import stands_for_a_value
from devlint.fixes.placing import named

from devlint_rules.support.class_usage import derives_from_module
from devlint_rules.support.messages import ASSIGNED, in_words, quoted
from devlint_rules.support.moves.buffers import ADVICE, as_buffer
from devlint_rules.support.moves.creation import (
    CREATOR,
    create_there,
    given_operands,
    move_where_created,
    move_where_made,
    plain_container,
    takes_device,
)
from devlint_rules.support.moves.device_text import (
    alike,
    as_primary,
    ends_in_move,
    is_addressable,
    moved_elsewhere,
    parsed,
    root_of,
    written_device,
)
from devlint_rules.support.moves.discarded import keep_the_result
from devlint_rules.support.moves.module_device import input_device, module_device
from devlint_rules.support.moves.module_moves import move_module, move_owner
from devlint_rules.support.moves.statements import (
    is_computed_from_several,
    is_used_earlier,
    move_at_source,
    statement,
)
from devlint_rules.support.program_device import devices_in_reach
from devlint_rules.support.site import Remedy, Site, both

UNREACHED = "is not registered: moving the module leaves it behind"
"""How a trace tells that a module keeps a value as a plain attribute."""

_KEPT = re.compile(rf"`(self\.[^\W\d]\w*)` {UNREACHED}")

_FEEDING = ("DataLoader", "torch.utils.data.random_split")
"""Operations that draw on the default device, and have no argument for another."""

_WITHOUT_ONE = 2
"""The arguments of these operations that are given by their places, and are before the generator."""


def bring_together(conflict: Conflict, site: Site) -> Remedy:
    """The change that puts all values on one device.

    Args:
        conflict: the values; those on the CPU move, otherwise the second.
        site: where the operation is reported.
    """
    remedy = _bring_two(conflict, site)
    for other in conflict.others:
        second = conflict.second.device == CPU
        pair = replace(conflict, second=other) if second else replace(conflict, first=other)
        remedy = both(remedy, _bring_two(pair, site))
    return remedy


def _bring_two(conflict: Conflict, site: Site) -> Remedy:
    if conflict.kind in (ConflictKind.HOST, ConflictKind.CPU_ARGUMENT):
        return _copy_to_cpu(conflict, site)
    if conflict.kind is ConflictKind.GENERATOR:
        return _matching_generator(conflict, site)
    stray, settled = _stray_and_settled(conflict)
    if site.writes(stray):
        return _follow_the_written(conflict, stray, settled, site)
    return _bring(conflict, stray, settled, site)


def _follow_the_written(conflict: Conflict, written: Meeting, other: Meeting, site: Site) -> Remedy:
    """An operation writes to a value: it is created elsewhere, or the other one comes to it."""
    kept = _kept_by_module(written)
    if kept is not None and site.sees(written):
        return _as_buffer(written, kept, site)
    if written.kind is OriginKind.CREATED:
        if written.joined:
            return _with_the_others(written, other, site)
        target = _device_of(conflict, other, site) if site.sees(other) else _device_of_argument(other, site)
        created = create_there(written, other, target, site)
        if created is not None and created.edits:
            return created
        if given_operands(written, site):
            return _create_beside(written, other, site)
        is_here = site.surroundings.together(written.trace[-1].place, site.place)
        if is_here and CREATOR.fullmatch(written.trace[-1].what):
            # No name tells the device there, and to move each of the others would leave the cause.
            return move_where_created(written, other, site) or replace(_bring(conflict, other, written, site), edits=())
    if _is_attribute_of_self(written.name) and written.kind in (OriginKind.CREATED, OriginKind.ATTRIBUTE):
        return Remedy(ADVICE.format(name=written.name.removeprefix("self.")))
    if site.writes(other) or other.kind in (OriginKind.MODULE, OriginKind.OBJECT):
        return Remedy(
            f"put both on one device; a moved copy of {quoted(written.name)} would get the values in its place"
        )
    return _bring(conflict, other, written, site)


def _bring(conflict: Conflict, stray: Meeting, settled: Meeting, site: Site) -> Remedy:
    """The change that puts a value where another one is."""
    if stray.kind is OriginKind.OBJECT:
        return Remedy(f"make {quoted(stray.name)} from tensors on {_device_in_words(settled, site)}")
    kept_result = keep_the_result(stray, site)
    if kept_result is not None:
        return kept_result
    target = _device_of(conflict, settled, site)
    if target is not None and not site.sees(settled):
        target = _device_of_argument(settled, site)
    if target is not None and not site.surroundings.knows(target, site.place):
        target = None
    chosen = site.device(settled)
    # A copy of the module for another device has its own parameters in `forward`, and no other name for that device.
    by_name = _is_called_module(conflict, settled, site) and not site.is_in_forward
    if by_name and not _is_name(chosen):
        own = site.device(stray)
        reach = [one for one in devices_in_reach(site.place, site.syntax, site.surroundings) if one != own]
        chosen = reach[0] if len(reach) == 1 else chosen
    if target is None or (by_name and _is_name(chosen)):
        target = chosen
    if settled.name == stray.name:  # one name for parts of a list on two devices
        return Remedy(f"put all elements of {quoted(stray.name)} on one device")
    container = plain_container(stray, site) if stray.kind in (OriginKind.MODULE, OriginKind.CREATED) else None
    if container is not None:
        return Remedy(container)
    if _is_called_module(conflict, stray, site):
        return move_module(stray, target, _device_in_words(settled, site), settled, site)
    if site.sees(stray):
        if conflict.kind is ConflictKind.CRITERION_STATE and stray.name.isidentifier():
            return Remedy(f"move {quoted(stray.name)} to {_device_in_words(settled, site)}")
        if stray.kind is OriginKind.MODULE:
            return Remedy(move_owner(stray, target, _device_in_words(settled, site)))
        kept = _kept_by_module(stray)
        if kept is not None:
            return _as_buffer(stray, kept, site)
        if _is_attribute_of_self(stray.name) and stray.kind is OriginKind.CREATED:
            return Remedy(_register(stray.name, target, settled, site))
    elif stray.kind is not OriginKind.MODULE:
        behind = move_where_made(stray, settled, site)
        if behind is not None:
            return behind
    if stray.joined:
        return _with_the_others(stray, settled, site)
    created = create_there(stray, settled, target, site) if stray.kind is OriginKind.CREATED else None
    if created is None and given_operands(stray, site):
        return _create_beside(stray, settled, site)
    return created or _move(stray, target, settled, site)


def _with_the_others(stray: Meeting, settled: Meeting, site: Site) -> Remedy:
    """The advice for a value that was computed with others, of which nobody knows the device."""
    goal = _device_in_words(settled, site)
    return Remedy(f"put {quoted(stray.name)}, and all tensors that it is computed from, on {goal}")


def _create_beside(stray: Meeting, settled: Meeting, site: Site) -> Remedy:
    """The advice for a value that another function creates, on a device that only its author knows a name for."""
    birth = stray.trace[-1].place
    goal = _device_in_words(settled, site, birth)
    file = "" if birth.file == site.place.file else f" of {birth.file}"
    where = f"on line {birth.line}, column {birth.column}{file}"
    creator, made = CREATOR.fullmatch(stray.trace[-1].what), _as_written(birth, stray, site)
    is_torch = creator is not None and creator[1].startswith("torch.")
    if creator is not None and is_torch and not takes_device(creator[1]):
        return Remedy(f"{where}, move {made} to {goal}")
    return Remedy(f"{where}, create {made} on {goal}")


def _as_written(place: Place, stray: Meeting, site: Site) -> str:
    """A value as the call at a place is written; in another file, or where no call is, by its name here."""
    call = site.syntax.at(place, cst.Call) if place.file == site.place.file else None
    return f"the value of {quoted(stray.name)}" if call is None else quoted(site.syntax.code(call))


def _copy_to_cpu(conflict: Conflict, site: Site) -> Remedy:
    """A value that an operation takes from the CPU only."""
    value = conflict.first
    if conflict.operation.endswith("pin_memory"):
        return Remedy(f"first pin the CPU tensor, then move it: {quoted('.pin_memory().to(…)')}")
    container = site.container(value)
    if container is not None:
        is_list = isinstance(container, (cst.List, cst.ListComp, cst.Tuple)) and is_addressable(value.name)
        listed = f": `[v.cpu() for v in {value.name}]`" if is_list else ""
        return Remedy(f"copy the tensors in {quoted(value.name)} to the CPU first{listed}")
    operand = site.operand(value)
    copy = _copy(conflict, operand)
    # numpy takes arrays as well, and of several elements of a list, the others may be on the device too.
    is_tensor = _of_tensors(conflict.operation) or conflict.certainty is not Certainty.POSSIBLE
    is_alone = operand is not None and not site.is_one_of_several(operand)
    # Inside of a called function, the copy is for the operation there, and not for the caller's argument.
    fits = is_tensor and is_alone and not conflict.via
    edits = site.syntax.attribute(operand, copy) if operand is not None and fits else ()
    subject = site.subject(value.name)
    # What numpy is given may be a list of tensors as well, which has no `cpu`.
    safety = (
        Safety.UNSAFE if conflict.kind is ConflictKind.HOST and not _of_tensors(conflict.operation) else Safety.SAFE
    )
    if not site.sees(value) or parsed(value.name) is None:
        return Remedy(f"copy {quoted(value.name)} to the CPU first, with `{copy}`", edits, safety, subject)
    return Remedy(f"copy it to the CPU first: `{as_primary(value.name)}{copy}`", edits, safety, subject)


def _of_tensors(operation: str) -> bool:
    """Whether an operation is a method of tensors, or an operator."""
    return operation.startswith("Tensor.") or "." not in operation


def _copy(conflict: Conflict, operand: cst.BaseExpression | None) -> str:
    """The call that copies to the CPU; what numpy reads may have no gradients, which only the detached surely lack."""
    match operand:
        case cst.Call(func=cst.Attribute(attr=cst.Name(value="detach"))):
            return ".cpu()"
        case _ if conflict.kind is ConflictKind.HOST and conflict.first.kind in (
            OriginKind.MODULE,
            OriginKind.PARAMETER,
        ):
            return ".detach().cpu()"
        case _:
            return ".cpu()"


def _matching_generator(conflict: Conflict, site: Site) -> Remedy:
    """The change for numbers that are drawn on one device with the generator of another."""
    drawn, generator = conflict.first, conflict.second
    if conflict.operation in _FEEDING:
        return _handed_generator(conflict, drawn, site)
    if drawn.device == CPU:
        argument = f"`device={generator.name}.device`" if is_addressable(generator.name) else "with `device=`"
        return Remedy(f"draw the numbers on the device of the generator: {argument}")
    target = _device_of(conflict, drawn, site)
    if drawn.trace[-1].place.holds(drawn.place) and drawn.place != drawn.trace[-1].place:
        target = drawn.name  # the argument that says where the numbers are drawn
    if target is None or not site.sees(drawn):
        return Remedy(f"create the generator on {in_words(drawn.device)}")
    made = site.syntax.at(generator.trace[-1].place, cst.Call)
    edits: tuple[Edit, ...] = ()
    if made is not None and not made.args and site.means_the_same(target, site.syntax.place(made)):
        edit = site.syntax.keyword(made, "device", target)
        edits = () if edit is None else (edit,)
    advice = f"create the generator on that device: `torch.Generator(device={target})`"
    return Remedy(advice, edits, Safety.UNSAFE, site.subject(generator.name))


def _handed_generator(conflict: Conflict, drawn: Meeting, site: Site) -> Remedy:
    """What feeds a program makes its own generator on the CPU unless it is given one."""
    device = "" if drawn.device == CPU else f'device="{drawn.device}"'
    advice = f"pass a generator on {drawn.device}: `generator=torch.Generator({device})`"
    places = [site.place, *(step.place for side in (drawn, conflict.second) for step in side.trace)]
    calls = [call for call in (site.syntax.at(place, cst.Call) for place in places) if call is not None]
    feeding = conflict.operation.rpartition(".")[2]
    call = next((call for call in calls if site.syntax.code(call.func).rpartition(".")[2] == feeding), None)
    torch = None if call is None else named("torch", site.syntax.place(call), site.syntax)
    if call is None or torch is None or len([given for given in call.args if given.keyword is None]) > _WITHOUT_ONE:
        return Remedy(advice)
    if any(
        given.keyword is not None and given.keyword.value in ("generator", "sampler", "batch_sampler")
        for given in call.args
    ):
        return Remedy(advice)
    name, imports = torch
    edit = site.syntax.keyword(call, "generator", f"{name}.Generator({device})")
    # It draws other numbers than the global generator, which the program may have given a seed.
    return Remedy(advice, () if edit is None else (*imports, edit), Safety.UNSAFE)


def _kept_by_module(stray: Meeting) -> Step | None:
    """Return where a module stores what a value has its device from as a plain attribute, or None.

    A later step of the trace is a move to that device, or a tensor created there: `x.type_as(self.table)`.
    """
    kept = [step for step in stray.trace if _KEPT.fullmatch(step.what)]
    return kept[-1] if kept else None


def _as_buffer(stray: Meeting, kept: Step, site: Site) -> Remedy:
    """The attribute becomes a buffer, by the fix of `unregistered-tensor-attribute`; its uses stay as they are."""
    store, name = kept.place, _KEPT.sub(r"\1", kept.what)
    edits = as_buffer(store, site.syntax) if store.file == site.place.file else ()
    cls = site.syntax.class_at(store)
    safe = stray.device == CPU and cls is not None and derives_from_module(site.syntax, cls)
    advice = ADVICE.format(name=name.removeprefix("self."))
    return Remedy(advice, edits, Safety.SAFE if safe else Safety.UNSAFE, site.subject(name))


def _register(name: str, target: str | None, settled: Meeting, site: Site) -> str:
    """Return advice for an attribute of a module; `unregistered-tensor-attribute` reports and fixes its assignment."""
    move = f"move it to {_device_in_words(settled, site)}" if target is None else f"use `{name}.to({target})`"
    register = ADVICE.format(name=name.removeprefix("self."))
    cls = site.syntax.class_at(site.place)
    if cls is not None and not cls.bases:
        return move
    if cls is not None and derives_from_module(site.syntax, cls):
        return register
    return f"if the class is a module, {register}; if not, {move}"


def _move(stray: Meeting, target: str | None, settled: Meeting, site: Site) -> Remedy:
    """A value is moved where it is used; a local name takes the result."""
    if stray.name.startswith("*"):
        return Remedy(f"move the tensors in {quoted(stray.name.lstrip('*'))} to {_device_in_words(settled, site)}")
    if site.container(stray) is not None:
        return Remedy(f"move each tensor in {quoted(stray.name)} to {_device_in_words(settled, site)}")
    goal = _device_in_words(settled, site)
    if stray.place == site.place:  # a value inside of the function that the operation calls
        birth = stray.trace[-1]
        where = "" if birth.place.file == site.place.file else f" of {birth.place.file}"
        return Remedy(f"on line {birth.place.line}{where}, put {_as_written(birth.place, stray, site)} on {goal}")
    if not site.sees(stray) and CREATOR.fullmatch(stray.trace[-1].what):
        return _create_beside(stray, settled, site)
    if not site.sees(stray):
        where = "" if stray.place.file == site.place.file else f" of {stray.place.file}"
        return Remedy(f"on line {stray.place.line}{where}, move {quoted(stray.name)} to {goal}")
    root = root_of(stray.name)
    if site.surroundings.is_global(root) and not site.surroundings.binds(root, site.place):
        return Remedy(f"move {quoted(root)} to {goal} once, where the program creates it")
    if target is None:
        return Remedy(f"move {quoted(stray.name)} to {_device_in_words(settled, site)}")
    subject = site.subject(stray.name)
    operand = site.operand(stray)
    if is_computed_from_several(stray, site):
        return move_where_created(stray, settled, site) or _create_beside(stray, settled, site)
    at_source = move_at_source(stray, target, settled, site)
    if at_source is not None:
        return at_source
    node = site.node(stray)
    if node is not None and is_used_earlier(node, stray.trace[-1].place, site):
        return Remedy(f"move {quoted(root)} where it gets its value")
    if site.rebinds(stray.name):
        text = f"{stray.name} = {stray.name}.to({target})"
        edits = statement(text, stray.name, target, site.node(stray), site, stray.trace[-1].place)
        if edits or operand is None:
            what = f"move {quoted(stray.name)} before it is used: `{text}`"
            return Remedy(what, edits, site.safety_of_rebinding(stray.name), subject)
    at_creation = move_where_created(stray, settled, site) if stray.kind is OriginKind.CREATED else None
    if at_creation is not None:
        return at_creation
    if is_addressable(stray.name):
        # Of an element, the whole is to be created there.
        is_element = stray.kind is OriginKind.CREATED and not stray.name.isidentifier()
        edits = () if operand is None or is_element else site.syntax.attribute(operand, f".to({target})")
        return Remedy(f"use `{stray.name}.to({target})`", edits, subject=subject)
    call = parsed(stray.name)
    is_moved = stray.kind is OriginKind.MOVED or (operand is not None and ends_in_move(operand))
    if is_moved and isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute):
        receiver = ast.get_source_segment(stray.name, call.func.value)
        edits = () if not isinstance(operand, cst.Call) else moved_elsewhere(operand, target, site.syntax)
        return Remedy(f"use `{receiver}.to({target})` instead of {quoted(stray.name)}", edits)
    if stray.kind is OriginKind.MOVED or (
        operand is not None and ends_in_move(operand)
    ):  # what it is computed from was copied to the CPU on purpose
        return _with_the_others(stray, settled, site)
    # A value that is computed from a local one stays: that one is to move. What a function returns has no other place.
    is_computed = not site.place.holds(stray.trace[-1].place) and _reads_local_name(operand, site)
    edits = site.syntax.attribute(operand, f".to({target})") if operand is not None and not is_computed else ()
    return Remedy(f"move {quoted(stray.name)} with `.to({target})`", edits)


def _reads_local_name(value: cst.BaseExpression | None, site: Site) -> bool:
    """Whether the scope gives a value to a name that an expression reads."""
    names = [] if value is None else site.syntax.within(value, cst.Name)
    return any(
        site.surroundings.binds(name.value, site.place) and stands_for_a_value(name, site.syntax) for name in names
    )


def _stray_and_settled(conflict: Conflict) -> tuple[Meeting, Meeting]:
    """The value to change, and the one to follow."""
    first, second = conflict.first, conflict.second
    if first.device == CPU and second.device != CPU and conflict.operation != ASSIGNED:
        return first, second
    return second, first


def _device_of(conflict: Conflict, side: Meeting, site: Site) -> str | None:
    """Source text for the device of a value, None where no expression that stands in the program tells it."""
    if side.kind is OriginKind.OBJECT:
        return None
    if is_addressable(side.name):
        if not _is_called_module(conflict, side, site):
            if site.calls(side):
                return None  # a module whose parts are on several devices
            return site.device_of(side.name, side)
        called = conflict.operation == side.name or _calls_layer(conflict)
        return module_device(side.name, site.place, site.syntax, site.surroundings) if called else None
    if isinstance(side.device, Variable) and is_addressable(side.device.place.source):
        place = side.device.place.source
        if side.device.names_device:
            return place
        if side.name.startswith(f"{place}("):
            given = input_device(side.name, site.place, site.syntax, site.surroundings)
            return given or module_device(place, site.place, site.syntax, site.surroundings)
        named = side.kind is not OriginKind.MODULE and re.search(
            rf"(?<![\w.]){re.escape(place)}(?![\w.(\[])", side.name
        )
        if side.kind is OriginKind.PARAMETER or named:
            return site.device_of(place, side)
    same = alike(side.name, site.surroundings, of_module=side.kind is OriginKind.MODULE)
    return written_device(side) if same is None else site.device_of(same, side)


def _device_of_argument(side: Meeting, site: Site) -> str | None:
    """Return source text, at a call, for the device of an argument; None if no name gives it."""
    return site.followed(side) if side.kind is OriginKind.PARAMETER else None


def _device_in_words(side: Meeting, site: Site, at: Place | None = None) -> str:
    """The device of a value, by a name that code at `at` can read; without `at`, by one for the operation."""
    named = is_symbolic(side.device) and all(_is_known(variable, site) for variable in variables_of(side.device))
    is_near = at is None or site.surroundings.together(at, site.place)
    if named and is_near and site.sees(side):
        return in_words(side.device)
    chosen = site.device(side, at)
    if _is_name(chosen):
        return f"{quoted(chosen or '')}, the device of {quoted(side.name)}"
    return f"{'' if is_symbolic(side.device) else f'{side.device}, '}the device of {quoted(side.name)}"


def _is_known(variable: Variable, site: Site) -> bool:
    """Whether a device is told by something that the place of the report can read."""
    return is_addressable(variable.owner) and site.surroundings.knows(variable.owner, site.place)


def _calls_layer(conflict: Conflict) -> bool:
    """Whether the operation is the call of a layer, which has parameters; losses have buffers at most."""
    layer, dot, called = conflict.operation.rpartition(".")
    return bool(dot) and called == "__call__" and not layer.endswith("Loss")


def _is_called_module(conflict: Conflict, side: Meeting, site: Site) -> bool:
    """Whether that side is a module that the operation calls; a module stands before its input."""
    if conflict.kind is ConflictKind.MODULE_INPUT:
        return side is conflict.first
    if conflict.operation == side.name:  # a module of which nothing is known
        return True
    other = conflict.second if side is conflict.first else conflict.first
    creator = CREATOR.fullmatch(side.trace[-1].what)
    made_as_module = side.kind is OriginKind.MODULE or (creator is not None and creator[1].startswith("torch.nn."))
    is_called = (made_as_module and not site.is_argument(side)) or site.calls(side)
    return conflict.operation.endswith(".__call__") and is_called and side.place < other.place


def _is_name(device: str | None) -> bool:
    """Whether source text for a device is a place of the program that holds one, and no literal."""
    return device is not None and is_addressable(device)


def _is_attribute_of_self(name: str) -> bool:
    return re.fullmatch(r"self\.[^\W\d]\w*", name) is not None
