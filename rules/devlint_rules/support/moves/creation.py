"""A device for the call that created a value: the cause of most conflicts, which a move at the use would leave."""

from __future__ import annotations

import re

import libcst as cst
from devlint.diagnostics import Edit, Place, Safety
from devlint.facts import Meeting, OriginKind
from devlint.fixes.names import stands_for_a_value

from devlint_rules.support.class_usage import derives_from_module
from devlint_rules.support.messages import quoted
from devlint_rules.support.moves.bindings import is_tested, keeps_its_value
from devlint_rules.support.moves.device_text import (
    HARMLESS,
    device_argument,
    device_attribute,
    ends_in_move,
    holds_for,
    is_addressable,
    is_written_out,
    moved_elsewhere,
    root_of,
)
from devlint_rules.support.program_device import devices_in_reach, operands_decide
from devlint_rules.support.site import Remedy, Site

CREATOR = re.compile(r"created (?:.* )?by `([^`]+)`")


CREATED_MODULE = re.compile(r"by `(torch\.nn\.(?!functional|init|utils)|torchmetrics\.|[\w.]*[A-Z]\w*\()")
"""How a trace tells that a module was created."""

_OF_SELF = re.compile(r"\bself\.")

_PLAIN = (cst.List, cst.Tuple, cst.Dict, cst.ListComp, cst.DictComp)
"""What holds modules without registering them."""

_MODULES = re.compile(r"(Loss|Criterion|Net|Network|Model|Module|Head|Encoder|Decoder|Embedding|Layer|Block|Metric)$")
"""How the classes of modules are called."""


def create_there(stray: Meeting, settled: Meeting, target: str | None, site: Site) -> Remedy | None:
    """Return a device for the call that created a value; None where it cannot be told one.

    Args:
        stray: the value that was created.
        settled: the value that it should be beside.
        target: source text, at the operation, for the device of that.
        site: where the two meet.
    """
    birth = stray.trace[-1]
    creator = CREATOR.fullmatch(birth.what)
    if creator is None:
        return None
    call = site.syntax.at(birth.place, cst.Call)
    if (
        target is not None
        and is_written_out(target)
        and not holds_for(settled.place, birth.place, site.syntax, site.surroundings)
    ):
        target = None
    if _is_moved_on(call, stray, site):
        return None
    given = _given_device(call, site)
    if given is not None:
        return Remedy(f"on line {birth.place.line}, set {quoted(given)} to the device of {quoted(settled.name)}")
    takes = takes_device(creator[1])
    if takes and target is not None and site.place.holds(birth.place):
        return Remedy(_told(stray, creator[1], target), _with_device(call, target, site))
    together = site.surroundings.together(birth.place, site.place)
    if target is None or not site.means_the_same(target, birth.place):
        target = _followed(settled, birth.place, site) or _named_device(settled, birth.place, site)
    if takes and together and target is not None:
        alone = call is not None and _serves_one_use(call, stray, site)
        what = f"{_told(stray, creator[1], target)} on line {birth.place.line}"
        safety = Safety.SAFE if alone else Safety.UNSAFE
        return Remedy(what, _with_device(call, target, site), safety, _subject(call, stray.name, site))
    # A local name may hold the result of another function, which creates it; `self.x` is told apart by its class.
    is_kept = stray.name.startswith("self.") and is_addressable(stray.name)
    is_here = site.sees(stray) and (together or is_kept)
    if is_here or call is None or birth.place.file != site.place.file:
        return None
    return _created_elsewhere(call, creator[1], settled, site)


def _is_moved_on(call: cst.Call | None, stray: Meeting, site: Site) -> bool:
    """Whether a move follows the call that creates a value, or ends the value: another device there has no effect."""
    node = site.node(stray)
    if node is not None and node is not call and ends_in_move(node):
        return True
    inner: cst.CSTNode | None = call
    for parent in () if call is None else site.syntax.parents(call):
        match parent:
            case cst.Attribute(value=value) if value is inner:
                pass
            case cst.Call(func=function) if function is inner:
                if ends_in_move(parent):
                    return True
            case _:
                return False
        inner = parent
    return False


def move_where_created(stray: Meeting, settled: Meeting, site: Site) -> Remedy | None:
    """Return the move of a tensor behind the call of the scope that creates it, for a name that no copy may take."""
    birth = stray.trace[-1]
    creator = CREATOR.fullmatch(birth.what)
    call = site.syntax.at(birth.place, cst.Call)
    if creator is None or call is None or not site.surroundings.together(birth.place, site.place):
        return None
    if _is_moved_on(call, stray, site):
        return None
    return _created_elsewhere(call, creator[1], settled, site)


def given_operands(stray: Meeting, site: Site) -> bool:
    """Whether another function of the file creates a value on the CPU beside the tensors that it is given.

    So does one that the file calls at several places: each of them needs the same move.
    """
    birth = stray.trace[-1]
    call = site.syntax.at(birth.place, cst.Call) if birth.place.file == site.place.file else None
    if call is None or CREATOR.fullmatch(birth.what) is None or site.surroundings.together(birth.place, site.place):
        return False
    return operands_decide(call, site.syntax) or _is_called_often(call, site)


def _is_called_often(node: cst.CSTNode, site: Site) -> bool:
    """Whether the file calls the function around a node at several places."""
    function = site.syntax.around(node, cst.FunctionDef)
    if function is None:
        return False
    calls = (one.func for one in site.syntax.within(site.syntax.module, cst.Call))
    names = (
        func.attr.value if isinstance(func, cst.Attribute) else func.value
        for func in calls
        if isinstance(func, (cst.Attribute, cst.Name))
    )
    return sum(name == function.name.value for name in names) > 1


def _followed(settled: Meeting, at: Place, site: Site) -> str | None:
    """Source text for the device of the argument that a value follows: `x.device` of `rows[i]` that came from `x`."""
    text = None if settled.kind is OriginKind.MODULE else site.followed(settled, at)
    if text is None:
        return None
    root = root_of(text)
    is_kept = keeps_its_value(root, None, at, site.syntax, site.surroundings)
    is_sure = is_kept and not is_tested(root, at, site.place, site.syntax, site.surroundings)
    return text if is_sure and site.surroundings.knows(text, at) else None


def _named_device(settled: Meeting, at: Place, site: Site) -> str | None:
    """The name by which the program has put a value on its device; one that is written out there stands once only."""
    device = site.device(settled, at)
    return None if device is None or is_written_out(device) else device


def _created_elsewhere(call: cst.Call, creator: str, settled: Meeting, site: Site) -> Remedy | None:
    """A device for a call in another function, or before a call that leads to the operation.

    The device is that of the other value, or of a tensor whose size the call reads, or the only one in reach.
    """
    place = site.syntax.place(call)
    reach = devices_in_reach(place, site.syntax, site.surroundings)
    known = reach[0] if len(reach) == 1 else _own_parameter(call, site)
    device = site.device(settled, place) or known or _of_sized(call, site)
    if device is None or not creator.startswith("torch."):
        return None
    if takes_device(creator):
        what = f"pass `device={device}` to {quoted(creator)} on line {place.line}"
        return Remedy(what, _with_device(call, device, site), Safety.UNSAFE, _subject(call, "", site))
    edits = site.syntax.attribute(call, f".to({device})")
    what = f"on line {place.line}, add `.to({device})` to {quoted(site.syntax.code(call))}"
    return Remedy(what, edits, Safety.UNSAFE, _subject(call, "", site))


def _subject(call: cst.Call | None, name: str, site: Site) -> str:
    """Return what a fix of a call changes: the name that the call's statement gives a value, as for a move of that.

    Otherwise it is the given name, or the call itself if that is empty.
    """
    assignment = None if call is None else site.syntax.around(call, cst.Assign)
    match assignment:
        case cst.Assign(targets=[cst.AssignTarget(target=cst.Name(value=target))]):
            return site.surroundings.qualified(target, site.syntax.place_of(assignment))
    if call is None or name:
        return site.subject(name)
    place = site.syntax.place(call)
    return f"line {place.line}, {place.column}"


def _own_parameter(call: cst.Call, site: Site) -> str | None:
    """Return the parameter `device` of the function that a call is in; `None`, as its default, means no device."""
    function = site.syntax.around(call, cst.FunctionDef)
    parameters = [] if function is None else site.syntax.within(function.params, cst.Param)
    return next((one.name.value for one in parameters if one.name.value == "device"), None)


def move_where_made(stray: Meeting, settled: Meeting, site: Site) -> Remedy | None:
    """Return the move of an object that the reported call belongs to, and whose weights are on the CPU: a loss.

    It moves where it is made, as the author has moved the model, and not in the loop that calls it.
    """
    call = site.syntax.at(site.place, cst.Call)
    if call is None or not isinstance(call.func, cst.Name) or _OF_SELF.search(stray.name) is None:
        return None
    return _moved_when_made(call.func.value, stray, settled, site, of_class=_MODULES)


def move_module_where_made(stray: Meeting, settled: Meeting, site: Site) -> Remedy | None:
    """Return the move of a module at the one call of the scope that makes it, before its optimizer is made."""
    return _moved_when_made(stray.name, stray, settled, site)


def _moved_when_made(
    name: str, stray: Meeting, settled: Meeting, site: Site, of_class: re.Pattern[str] | None = None
) -> Remedy | None:
    made = [
        store.value
        for store in site.syntax.stores(name)
        if site.surroundings.together(site.syntax.place(store.value), site.place)
    ]
    if len(made) != 1 or not isinstance(made[0], cst.Call):
        return None
    place = site.syntax.place(made[0])
    device = site.device(settled, place)
    if device is None or (of_class is not None and of_class.search(site.syntax.code(made[0].func)) is None):
        return None
    code, call = quoted(site.syntax.code(made[0])), made[0]
    what = f"on line {place.line}, where {quoted(name)} is created, "
    if ends_in_move(call):
        edits = moved_elsewhere(call, device, site.syntax)
        if not edits or stray.trace[-1].place != place:
            return None  # something moves it on, or replaces what it holds
        return Remedy(f"{what}move it to {quoted(device)}", edits, Safety.UNSAFE, site.subject(name))
    edits = site.syntax.attribute(call, f".to({device})")
    return Remedy(f"{what}add {quoted(f'.to({device})')} to {code}", edits, Safety.UNSAFE, site.subject(name))


def plain_container(stray: Meeting, site: Site) -> str | None:
    """Return the advice for a module that `__init__` builds in a plain list or dict, or that is attached late."""
    if CREATED_MODULE.search(stray.trace[-1].what) is None:
        return None
    kept = _plain_display(stray, site)
    if kept is not None:
        return _kept_in_list(*kept)
    call = site.syntax.at(stray.trace[-1].place, cst.Call)
    if call is None or stray.trace[-1].place.file != site.place.file:
        return None
    display: cst.CSTNode | None = None
    for parent in site.syntax.parents(call):
        match parent:
            case cst.List() | cst.Dict() | cst.ListComp() | cst.DictComp():
                display = parent
            case cst.Assign(targets=[cst.AssignTarget(target=cst.Attribute(value=owner) as target)]):
                text = site.syntax.code(target)
                if display is not None:
                    return _kept_in_list(text, display)
                if parent.value is call and site.syntax.code(owner) != "self":
                    whole = quoted(site.syntax.code(owner))
                    return f"attach {quoted(text)} before the line that moves {whole}, or move {quoted(text)} too"
                return None
            case cst.BaseStatement() | cst.Lambda():
                return None
    return None


def _plain_display(stray: Meeting, site: Site) -> tuple[str, cst.CSTNode] | None:
    """Return the attribute of a module that a value is an element of, and the display that is stored there."""
    node, attributes = site.node(stray), list[cst.Attribute]()
    match node:
        case cst.Subscript(value=cst.Attribute() as attribute):
            attributes.append(attribute)
        case cst.Name():
            loops = (one for one in site.syntax.parents(node) if isinstance(one, cst.For))
            for loop in loops:
                if any(name.value == node.value for name in site.syntax.within(loop.target, cst.Name)):
                    attributes += site.syntax.within(loop.iter, cst.Attribute)
    for attribute in attributes:
        text, cls = site.syntax.code(attribute), site.syntax.around(attribute, cst.ClassDef)
        stores = [one.value for one in site.syntax.stores(text) if site.syntax.around(one, cst.ClassDef) is cls]
        is_plain = len(stores) == 1 and isinstance(stores[0], _PLAIN)
        if is_plain and cls is not None and derives_from_module(site.syntax, cls):
            return text, stores[0]
    return None


def _kept_in_list(text: str, display: cst.CSTNode) -> str:
    kind = "nn.ModuleDict" if isinstance(display, (cst.Dict, cst.DictComp)) else "nn.ModuleList"
    return f"make {quoted(text)} an `{kind}`, so that its elements move with the module"


def _of_sized(call: cst.Call, site: Site) -> str | None:
    """The device of the tensor whose size a call reads: `x.device` of `torch.zeros(x.shape)`.

    The size may have a name that the scope gives it: `n = x.size(0)`.
    """
    place = site.syntax.place(call)
    sizes: list[cst.CSTNode] = [call]
    for name in site.syntax.within(call, cst.Name):
        stores = [
            one for one in site.syntax.stores(name.value) if site.surroundings.together(site.syntax.place(one), place)
        ]
        sizes += [one.value for one in stores if len(stores) == 1]
    for read in (read for size in sizes for read in site.syntax.within(size, cst.Attribute)):
        text = site.syntax.code(read.value)
        if read.attr.value in ("shape", "size") and is_addressable(text) and site.surroundings.knows(text, place):
            return device_attribute(text)
    return None


def _told(stray: Meeting, creator: str, device: str) -> str:
    return f"pass `device={device}` to {quoted(stray.name if stray.trace[-1].place == stray.place else creator)}"


def _with_device(call: cst.Call | None, device: str, site: Site) -> tuple[Edit, ...]:
    edit = None if call is None else site.syntax.keyword(call, "device", device)
    return () if edit is None else (edit,)


def _serves_one_use(call: cst.Call, stray: Meeting, site: Site) -> bool:
    """Whether a call gives a name its value, and only the operation, and others like it, need it on a device."""
    parent = next(site.syntax.parents(call))
    if not isinstance(parent, cst.Assign) or len(parent.targets) != 1:
        return False
    target = parent.targets[0].target
    if not isinstance(target, cst.Name) or target.value != stray.name or not site.place.holds(stray.place):
        return False
    operation = site.syntax.at(site.place, cst.Call)
    called = None if operation is None else site.syntax.code(operation.func)
    return all(_is_harmless(read, called, site) for read in _reads(target, site))


def _reads(target: cst.Name, site: Site) -> list[cst.Name]:
    """The places in the scope where the name that a call gives its value is read, except the operation."""
    return [
        name
        for name in site.syntax.names(target.value)
        for place in [site.syntax.place_of(name)]
        if name is not target and not site.place.holds(place)
        if site.surroundings.within_scope(place, site.place)
        if stands_for_a_value(name, site.syntax)
    ]


def _is_harmless(read: cst.Name, called: str | None, site: Site) -> bool:
    """Whether a tensor on any device will do: its size is read, or it is an argument like that of the operation."""
    parents = site.syntax.parents(read)
    match next(parents):
        case cst.Attribute(attr=cst.Name(value=attribute)):
            return attribute in HARMLESS
        case cst.Arg():
            call = next(parents)
            return isinstance(call, cst.Call) and called is not None and site.syntax.code(call.func) == called
        case _:
            return False


def _given_device(call: cst.Call | None, site: Site) -> str | None:
    """The expression that tells a call its device; a device that is written out can be another one instead."""
    argument = None if call is None else device_argument(call)
    if argument is None or isinstance(argument, cst.SimpleString):
        return None
    text = site.syntax.code(argument)
    return text if is_addressable(text) else None


def takes_device(creator: str) -> bool:
    """Whether a call that creates a value has the argument `device`.

    A function that shares memory with the host (`torch.from_numpy`) and a class of the project (`Net(…)`) have none.
    """
    shares_memory = creator.rpartition(".")[2].startswith("from_")
    return creator.startswith("torch.") and not (is_old_constructor(creator) or shares_memory)


def is_old_constructor(creator: str) -> bool:
    """Whether a call creates a tensor by a type (`torch.Tensor`, `torch.FloatTensor`), which knows only the CPU."""
    return creator.endswith("Tensor")
