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

from devlint_rules._surroundings import Surroundings, inside
from devlint_rules._wording import ASSIGNED, in_words, quoted

_FEEDING = ("DataLoader", "torch.utils.data.random_split")
"""Operations that draw on the default device, and have no argument for another."""

_CREATOR = re.compile(r"created .* by `([^`]+)`")


_STAYING = frozenset(
    """
    bool clone contiguous detach double exp expand flatten float half int log long mean permute pow repeat reshape
    sigmoid softmax sqrt squeeze sum transpose unsqueeze view
    """.split()
)
"""Methods of tensors whose result is where the tensor is, whatever else they are given."""

_DRAWN = frozenset("bernoulli_ fill_ normal_ random_ uniform_ zero_".split())
"""Methods that tensors have and modules have not, and that fill the tensor."""

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
    if stray.born == "object":
        return Remedy(f"make {quoted(stray.name)} from tensors on {_device_in_words(settled)}")
    target = _device_of(conflict, settled, site)
    if target is not None and not site.sees(settled):
        target = _device_of_argument(settled)
    if _is_called_module(conflict, stray, site):
        return _move_module(stray, target, settled, site)
    if site.sees(stray):
        if stray.born == "module":
            return Remedy(_move_owner(stray, target, settled))
        if _is_attribute_of_self(stray.name) and stray.born == "created":
            return Remedy(_register(stray.name, target, settled))
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
    if not site.sees(value) or _parsed(value.name) is None:
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
        return f"make the generator for {_device_in_words(drawn)}"
    return f"make the generator for that device: `torch.Generator(device={target})`"


def _move_module(stray: Meeting, target: str | None, settled: Meeting, site: Site) -> Remedy:
    """A module that is called where its parameters are not; the author knows a better place to move it."""
    if target is None or not is_addressable(stray.name):
        return Remedy(f"move {quoted(stray.name)}, which is a module, to {_device_in_words(settled)}")
    call = f"{stray.name}.to({target})"
    edits = _statement(call, target, stray, site)
    subject = site.subject(stray.name)
    return Remedy(f"move the module once, before it is used: `{call}`", edits, Safety.UNSAFE, subject)


def _move_owner(stray: Meeting, target: str | None, settled: Meeting) -> str:
    owner = stray.name.rpartition(".")[0]
    if target is None or not owner or not is_addressable(stray.name):
        return f"move the module that {quoted(stray.name)} comes from to {_device_in_words(settled)}"
    return f"move the module that owns {quoted(stray.name)}: `{owner}.to({target})`"


def _register(name: str, target: str | None, settled: Meeting) -> str:
    """Advice for what a module keeps; the fix is that of `unregistered-tensor-attribute`, where it is stored."""
    attribute = name.removeprefix("self.")
    call = f'`self.register_buffer("{attribute}", …)`'
    move = f"move it to {_device_in_words(settled)}" if target is None else f"use `{name}.to({target})`"
    return f"in a module, register it, so that it moves along: {call}; elsewhere {move}"


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
        return Remedy(f"move {quoted(stray.name)} to {_device_in_words(settled)}")
    subject = site.subject(stray.name)
    operand = site.operand(stray)
    if site.surroundings.binds(stray.name, site.place):
        statement = f"{stray.name} = {stray.name}.to({target})"
        edits = _statement(statement, target, stray, site)
        if edits or operand is None:
            what = "the batch" if stray.born == "loader" else "it"
            return Remedy(f"move {what} before it is used: `{statement}`", edits, subject=subject)
    if is_addressable(stray.name):
        edits = () if operand is None else site.syntax.attribute(operand, f".to({target})")
        return Remedy(f"use `{stray.name}.to({target})`", edits, subject=subject)
    call = _parsed(stray.name)
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
        return _parameter_device(side.name) if called else None
    if isinstance(side.device, Variable) and is_addressable(side.device.place):
        place = side.device.place
        if side.device.names_device:
            return place
        if side.name.startswith(f"{place}("):
            return _parameter_device(place)
        named = side.born != "module" and re.search(rf"(?<![\w.]){re.escape(place)}(?![\w.(\[])", side.name)
        if side.born == "parameter" or named:
            return f"{place}.device"
    alike = _alike(side.name, of_module=side.born == "module")
    return _written_device(side) if alike is None else f"{alike}.device"


def _device_of_argument(side: Meeting) -> str | None:
    """Source text, at a call, for the device of what the called function is given; None where no name tells it."""
    if side.born != "parameter" or not isinstance(side.device, Variable) or not is_addressable(side.device.place):
        return None
    return side.device.place if side.device.names_device else f"{side.device.place}.device"


def _alike(text: str, *, of_module: bool) -> str | None:
    """What is where an expression is, and can be read at no cost: `x` of `x.unsqueeze(0) > 0`; None without one.

    Args:
        text: the expression.
        of_module: whether it may be a module, which has no attribute `device`; what is reckoned with is none.
    """
    node = _parsed(text)
    while node is not None:
        match node:
            case ast.Compare(left=value, comparators=[ast.Constant()]) | ast.BinOp(left=value, right=ast.Constant()):
                node, of_module = value, False
            case ast.Call(func=ast.Attribute(value=value, attr=name)) if name in _DRAWN:
                node, of_module = value, False
            case ast.Call(func=ast.Attribute(value=value, attr=name)) if name in _STAYING:
                node = value
            case _:
                found = ast.unparse(node)
                return found if not of_module and found != text and is_addressable(found) else None
    return None


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
    match call:
        case ast.Call(func=ast.Attribute(attr="to"), args=[first, *_]):
            written.append(first)
        case ast.Call(func=ast.Attribute(attr="cuda"), args=[], keywords=[]):
            return '"cuda"'
    return ast.get_source_segment(side.name, written[0]) if written else None


def _device_in_words(side: Meeting) -> str:
    if follows(side.device):
        return in_words(side.device)
    return f"{side.device}, where {quoted(side.name)} is"


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
