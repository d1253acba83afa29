"""The change that brings two values together: which one to change, where, and to which device."""

from __future__ import annotations

import ast
import re

import libcst as cst
from devlint.diagnostics import Edit, Fix, Place, Safety
from devlint.domain.device import CPU, Variable, follows
from devlint.facts import Conflict, Meeting
from devlint.records import dataclass
from devlint.syntax import Syntax

from devlint_rules._device_text import alike, chosen_device, is_addressable, parameter_device, parsed, written_device
from devlint_rules._surroundings import Surroundings, inside
from devlint_rules._wording import ASSIGNED, in_words, quoted
from devlint_rules._written import is_written, stays_itself

_FEEDING = ("DataLoader", "torch.utils.data.random_split")
"""Operations that draw on the default device, and have no argument for another."""

_CREATOR = re.compile(r"created .* by `([^`]+)`")


_DISPLAYS = (cst.List, cst.Tuple, cst.Dict, cst.Set, cst.BaseComp)
"""What holds values and cannot be moved itself."""


@dataclass(frozen=True, slots=True)
class Remedy:
    """The change that settles a diagnostic: in words, and as edits where it can be made without the author.

    Attributes:
        advice: the change, in the imperative.
        edits: the change itself, or nothing.
        safety: of the edits.
        subject: see `Fix`.
    """

    advice: str
    edits: tuple[Edit, ...] = ()
    safety: Safety = Safety.SAFE
    subject: str = ""

    @property
    def fix(self) -> Fix | None:
        """The edits as a fix, if there are any."""
        return Fix(self.safety, self.advice, tuple(sorted(self.edits)), self.subject) if self.edits else None


@dataclass(frozen=True, slots=True)
class Site:
    """Where a conflict is reported.

    Attributes:
        place: the operation.
        surroundings: the names of its file; code in advice names nothing that is unknown there.
        syntax: the nodes of its file.
    """

    place: Place
    surroundings: Surroundings
    syntax: Syntax

    def sees(self, side: Meeting) -> bool:
        """Whether the name of a value means that value at the operation too."""
        return inside(side.place, self.place) or self.surroundings.together(side.place, self.place)

    def node(self, side: Meeting) -> cst.BaseExpression | None:
        """The node of a value, if it stands in the operation."""
        return self.syntax.value_at(side.place) if inside(side.place, self.place) else None

    def calls(self, side: Meeting) -> bool:
        """Whether the operation is written as a call of that value."""
        call = self.syntax.at(self.place, cst.Call)
        return call is not None and self.syntax.place(call.func) == side.place

    def operand(self, side: Meeting) -> cst.BaseExpression | None:
        """The node of a value that another can take the place of, which changes nothing else.

        It is no target, and no list or the like that only holds the value.
        """
        node = self.node(side)
        if node is None or self.syntax.is_target(node):
            return None
        values = [node]
        if isinstance(node, cst.Name):
            stores = self.syntax.within(self.syntax.module, cst.Assign)
            values += [store.value for store in stores if _gives(store, node.value)]
        return None if any(isinstance(value, _DISPLAYS) for value in values) else node

    def writes(self, side: Meeting) -> bool:
        """Whether the operation writes to a value: no copy may stand in its place."""
        return is_written(side.place, self.place, self.syntax)

    def rebinds(self, name: str) -> bool:
        """Whether the name may be given a copy of its value before the operation."""
        return self.surroundings.binds(name, self.place) and not stays_itself(
            name, self.place, self.syntax, self.surroundings
        )

    def device(self, side: Meeting, at: Place | None = None) -> str | None:
        """Source text for the device that the program has put a value on; None where nothing known at `at` is it."""
        return chosen_device(side, at or self.place, self.syntax, self.surroundings)

    def subject(self, name: str) -> str:
        """What a fix changes that changes `name`."""
        return self.surroundings.qualified(name, self.place)


def _gives(store: cst.Assign, name: str) -> bool:
    """Whether an assignment gives a name its value."""
    return any(isinstance(target.target, cst.Name) and target.target.value == name for target in store.targets)


def bring_together(conflict: Conflict, site: Site) -> Remedy:
    """The change that puts both values on one device.

    Args:
        conflict: the two values; what is on the CPU moves, else what comes second.
        site: where the operation is reported.
    """
    if conflict.kind in ("host", "cpu-argument"):
        return _copy_to_cpu(conflict, site)
    if conflict.kind == "generator":
        return Remedy(_matching_generator(conflict, site))
    stray, settled = _stray_and_settled(conflict)
    if site.writes(stray):
        return _follow_the_written(conflict, stray, settled, site)
    return _bring(conflict, stray, settled, site)


def _follow_the_written(conflict: Conflict, written: Meeting, other: Meeting, site: Site) -> Remedy:
    """An operation writes to a value: it is created elsewhere, or the other one comes to it."""
    if written.born == "created":
        target = _device_of(conflict, other, site) if site.sees(other) else _device_of_argument(other)
        created = _create_there(written, target, site)
        if created is not None and created.edits:
            return created
    if _is_attribute_of_self(written.name) and written.born in ("created", "attribute"):
        return Remedy(f"in a module, register it, so that it moves along: {_buffer(written.name)}")
    if site.writes(other) or other.born in ("module", "object"):
        return Remedy(f"put both on one device; a copy of {quoted(written.name)} would not keep what is written to it")
    return _bring(conflict, other, written, site)


def _bring(conflict: Conflict, stray: Meeting, settled: Meeting, site: Site) -> Remedy:
    """The change that puts a value where another one is."""
    if stray.born == "object":
        return Remedy(f"make {quoted(stray.name)} from tensors on {_device_in_words(settled, site)}")
    target = _device_of(conflict, settled, site)
    if target is not None and not site.sees(settled):
        target = _device_of_argument(settled)
    target = target or site.device(settled)
    if settled.name == stray.name:  # one name for parts of a list on two devices
        return Remedy(f"put all of {quoted(stray.name)} on one device")
    if _is_called_module(conflict, stray, site):
        return _move_module(stray, target, settled, site)
    if site.sees(stray):
        if stray.born == "module":
            return Remedy(_move_owner(stray, target, settled, site))
        if _is_attribute_of_self(stray.name) and stray.born == "created":
            return Remedy(_register(stray.name, target, settled, site))
    created = _create_there(stray, target, site) if stray.born == "created" else None
    return created or _move(stray, target, settled, site)


def _copy_to_cpu(conflict: Conflict, site: Site) -> Remedy:
    """A value that an operation takes from the CPU only."""
    value = conflict.first
    if conflict.operation.endswith("pin_memory"):
        return Remedy(f"pin it while it is on the CPU, and move it then: {quoted('.pin_memory().to(…)')}")
    operand = site.operand(value)
    copy = _copy(conflict, operand)
    edits = () if operand is None else site.syntax.attribute(operand, copy)
    subject = site.subject(value.name)
    # What numpy is given may be a list of tensors as well, which has no `cpu`.
    safety = Safety.UNSAFE if conflict.kind == "host" and not _of_tensors(conflict.operation) else Safety.SAFE
    if not site.sees(value) or parsed(value.name) is None:
        return Remedy(f"copy {quoted(value.name)} to the CPU first, with `{copy}`", edits, safety, subject)
    return Remedy(f"copy it to the CPU first: `{value.name}{copy}`", edits, safety, subject)


def _of_tensors(operation: str) -> bool:
    """Whether an operation is a method of tensors, or an operator."""
    return operation.startswith("Tensor.") or "." not in operation


def _copy(conflict: Conflict, operand: cst.BaseExpression | None) -> str:
    """The call that copies to the CPU; what numpy reads may have no gradients, which only the detached surely lack."""
    match operand:
        case cst.Call(func=cst.Attribute(attr=cst.Name(value="detach"))):
            return ".cpu()"
        case _ if conflict.kind == "host" and conflict.first.born in ("module", "parameter"):
            return ".detach().cpu()"
        case _:
            return ".cpu()"


def _matching_generator(conflict: Conflict, site: Site) -> str:
    """Advice for numbers that are drawn on one device with the generator of another."""
    drawn, generator = conflict.first, conflict.second
    if conflict.operation in _FEEDING:
        device = "" if drawn.device == CPU else f'device="{drawn.device}"'
        return f"hand over a generator for {drawn.device}: `generator=torch.Generator({device})`"
    if drawn.device == CPU:
        argument = f"`device={generator.name}.device`" if is_addressable(generator.name) else "with `device=`"
        return f"draw them where the generator is: {argument}"
    target = _device_of(conflict, drawn, site)
    if inside(drawn.place, drawn.trace[-1].place) and drawn.place != drawn.trace[-1].place:
        target = drawn.name  # the argument that says where the numbers are drawn
    if target is None or not site.sees(drawn):
        return f"make the generator for {_device_in_words(drawn, site)}"
    return f"make the generator for that device: `torch.Generator(device={target})`"


def _move_module(stray: Meeting, target: str | None, settled: Meeting, site: Site) -> Remedy:
    """A module that is called where its parameters are not; the author knows a better place to move it."""
    if target is None or not is_addressable(stray.name):
        return Remedy(f"move {quoted(stray.name)}, which is a module, to {_device_in_words(settled, site)}")
    call = f"{stray.name}.to({target})"
    edits = _statement(call, target, stray, site)
    subject = site.subject(stray.name)
    return Remedy(f"move the module once, before it is used: `{call}`", edits, Safety.UNSAFE, subject)


def _move_owner(stray: Meeting, target: str | None, settled: Meeting, site: Site) -> str:
    owner = stray.name.rpartition(".")[0]
    if target is None or not owner or not is_addressable(stray.name):
        return f"move the module that {quoted(stray.name)} comes from to {_device_in_words(settled, site)}"
    return f"move the module that owns {quoted(stray.name)}: `{owner}.to({target})`"


def _register(name: str, target: str | None, settled: Meeting, site: Site) -> str:
    """Advice for what a module keeps; the fix is that of `unregistered-tensor-attribute`, where it is stored."""
    move = f"move it to {_device_in_words(settled, site)}" if target is None else f"use `{name}.to({target})`"
    return f"in a module, register it, so that it moves along: {_buffer(name)}; elsewhere {move}"


def _buffer(name: str) -> str:
    attribute = name.removeprefix("self.")
    return f'`self.register_buffer("{attribute}", …)`'


def _create_there(stray: Meeting, target: str | None, site: Site) -> Remedy | None:
    """A device for the call that created the value; None where it cannot be told the device."""
    birth = stray.trace[-1]
    creator = _CREATOR.fullmatch(birth.what)
    if target is None or creator is None or not _takes_device(creator[1]):
        return None
    what = f"pass `device={target}` to {quoted(stray.name if birth.place == stray.place else creator[1])}"
    call = site.syntax.at(birth.place, cst.Call)
    edit = None if call is None else site.syntax.keyword(call, "device", target)
    edits = () if edit is None else (edit,)
    if inside(birth.place, site.place):
        return Remedy(what, edits)
    surroundings = site.surroundings
    if not surroundings.together(birth.place, site.place) or not surroundings.knows(target, birth.place):
        return None
    alone = call is not None and _serves_one_use(call, stray, site)
    safety = Safety.SAFE if alone else Safety.UNSAFE
    return Remedy(f"{what} in line {birth.place.line}", edits, safety, site.subject(stray.name))


def _serves_one_use(call: cst.Call, stray: Meeting, site: Site) -> bool:
    """Whether a call gives a name its value, and the operation is the only one that reads it."""
    parent = next(site.syntax.parents(call))
    if not isinstance(parent, cst.Assign) or len(parent.targets) != 1:
        return False
    target = parent.targets[0].target
    return (
        isinstance(target, cst.Name)
        and target.value == stray.name
        and site.surroundings.reads(stray.name, site.place) == 1
        and inside(stray.place, site.place)
    )


def _takes_device(creator: str) -> bool:
    """Whether a call that creates a value has the argument `device`.

    Not so the old type constructors (`torch.Tensor`, `torch.FloatTensor`), what shares memory with the host,
    and a class of the project (`Net(…)`).
    """
    last = creator.rpartition(".")[2]
    return creator.startswith("torch.") and not (last.endswith("Tensor") or last.startswith("from_"))


def _move(stray: Meeting, target: str | None, settled: Meeting, site: Site) -> Remedy:
    """A value is moved where it is used; a local name takes the result."""
    if target is None:
        return Remedy(f"move {quoted(stray.name)} to {_device_in_words(settled, site)}")
    subject = site.subject(stray.name)
    operand = site.operand(stray)
    if site.rebinds(stray.name):
        statement = f"{stray.name} = {stray.name}.to({target})"
        edits = _statement(statement, target, stray, site)
        if edits or operand is None:
            what = "the batch" if stray.born == "loader" else "it"
            return Remedy(f"move {what} before it is used: `{statement}`", edits, subject=subject)
    if is_addressable(stray.name):
        edits = () if operand is None else site.syntax.attribute(operand, f".to({target})")
        return Remedy(f"use `{stray.name}.to({target})`", edits, subject=subject)
    call = parsed(stray.name)
    if stray.born == "moved" and isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute):
        receiver = ast.get_source_segment(stray.name, call.func.value)
        edits = () if not isinstance(operand, cst.Call) else _moved_elsewhere(operand, target, site.syntax)
        return Remedy(f"use `{receiver}.to({target})` instead of {quoted(stray.name)}", edits)
    edits = () if operand is None else site.syntax.attribute(operand, f".to({target})")
    return Remedy(f"move {quoted(stray.name)} with `.to({target})`", edits)


def _statement(text: str, target: str, stray: Meeting, site: Site) -> tuple[Edit, ...]:
    """A statement before the operation, if everything that it names is known there."""
    node = site.node(stray)
    edit = None if node is None else site.syntax.statement_before(node, text)
    if edit is None or not all(site.surroundings.knows(name, edit.place) for name in (stray.name, target)):
        return ()
    return (edit,)


def _moved_elsewhere(move: cst.Call, target: str, syntax: Syntax) -> tuple[Edit, ...]:
    """Another goal for a call such as `x.to("cuda:1")` or `x.cuda(1)`; what else it does stays."""
    if not isinstance(move.func, cst.Attribute):
        return ()
    given = [argument for argument in move.args if argument.keyword is not None and argument.keyword.value == "device"]
    given += [argument for argument in move.args[:1] if argument.keyword is None]
    if move.func.attr.value == "to" and given:
        return (Edit(syntax.place(given[0].value), target),)
    if move.func.attr.value in ("cpu", "cuda") and len(move.args) == len(given):
        return (Edit(syntax.from_to(move.func.attr, move), f"to({target})"),)
    return ()


def _stray_and_settled(conflict: Conflict) -> tuple[Meeting, Meeting]:
    """The value to change, and the one to follow."""
    first, second = conflict.first, conflict.second
    if first.device == CPU and second.device != CPU and conflict.operation != ASSIGNED:
        return first, second
    return second, first


def _device_of(conflict: Conflict, side: Meeting, site: Site) -> str | None:
    """Source text for the device of a value, None where no expression that stands in the program tells it."""
    if side.born == "object":
        return None
    if is_addressable(side.name):
        if not _is_called_module(conflict, side, site):
            return f"{side.name}.device"
        called = conflict.operation == side.name or _calls_layer(conflict)
        return parameter_device(side.name) if called else None
    if isinstance(side.device, Variable) and is_addressable(side.device.place):
        place = side.device.place
        if side.device.names_device:
            return place
        if side.name.startswith(f"{place}("):
            return parameter_device(place)
        named = side.born != "module" and re.search(rf"(?<![\w.]){re.escape(place)}(?![\w.(\[])", side.name)
        if side.born == "parameter" or named:
            return f"{place}.device"
    same = alike(side.name, of_module=side.born == "module")
    return written_device(side) if same is None else f"{same}.device"


def _device_of_argument(side: Meeting) -> str | None:
    """Source text, at a call, for the device of what the called function is given; None where no name tells it."""
    if side.born != "parameter" or not isinstance(side.device, Variable) or not is_addressable(side.device.place):
        return None
    return side.device.place if side.device.names_device else f"{side.device.place}.device"


def _device_in_words(side: Meeting, site: Site) -> str:
    if follows(side.device):
        return in_words(side.device)
    return f"{site.device(side) or side.device}, where {quoted(side.name)} is"


def _calls_layer(conflict: Conflict) -> bool:
    """Whether the operation is the call of a layer, which has parameters; losses have buffers at most."""
    layer, dot, called = conflict.operation.rpartition(".")
    return bool(dot) and called == "__call__" and not layer.endswith("Loss")


def _is_called_module(conflict: Conflict, side: Meeting, site: Site) -> bool:
    """Whether that side is a module that the operation calls; a module stands before its input."""
    if conflict.kind == "module-input":
        return side is conflict.first
    if conflict.operation == side.name:  # a module of which nothing is known
        return True
    other = conflict.second if side is conflict.first else conflict.first
    creator = _CREATOR.fullmatch(side.trace[-1].what)
    made_as_module = side.born == "module" or (creator is not None and creator[1].startswith("torch.nn."))
    is_called = made_as_module or site.calls(side)
    return conflict.operation.endswith(".__call__") and is_called and side.place < other.place


def _is_attribute_of_self(name: str) -> bool:
    return re.fullmatch(r"self\.[^\W\d]\w*", name) is not None
