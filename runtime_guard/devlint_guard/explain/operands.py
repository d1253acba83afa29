"""The operands of a finding: their names and roles, and the one to move."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from torch import nn
from torch.nn.parameter import is_lazy

from devlint_guard.explain.messages import Message
from devlint_guard.finding import Finding, Operand, Place, Role
from devlint_guard.program import expressions, naming
from devlint_guard.program.accelerator import accelerator
from devlint_guard.program.expressions import Argument, Operation, Reader, Term, numbered, operation_at, part_at
from devlint_guard.program.frames import Carried, Site, carried_in, node_carried, place_in, place_of, text_of, user_site
from devlint_guard.program.stored import devices_of, is_same_or_view, modules_in, own_tensors, registered_in


@dataclass(frozen=True, slots=True)
class Scene:
    """Where an error happened.

    Attributes:
        sites: the frames it went through, outermost first.
        user: the innermost one of the user's own code.
        operation: what the user's frame is at; `NO_OPERATION` where that is not known.
        roots: the modules that paths start from.
        given: the names of those that the caller knows.
        modules: those that were being called, outermost first.
        carried: the user's line where the frames that failed are not those of `sites`.
    """

    sites: Sequence[Site]
    user: Site | None
    operation: Operation
    roots: naming.Roots
    given: frozenset[str]
    modules: Sequence[nn.Module]
    carried: Carried | None = None

    @classmethod
    def of(cls, sites: Sequence[Site], roots: naming.Roots, text: str = "") -> Scene:
        """The scene at the end of `sites`; modules that `roots` lacks are looked for in the frames.

        Args:
            sites: of the error, outermost first.
            roots: modules that the caller knows.
            text: of the error, if there is one; it may carry a traceback.
        """
        user = user_site(list(sites))
        operation, known = (user and operation_at(user)) or expressions.NO_OPERATION, naming.roots_on(sites, roots)
        return cls(sites, user, operation, known, frozenset(roots), naming.modules_on(sites), carried_in(text))

    @property
    def place(self) -> Place | None:
        """Where the user's frame is; None where there is none."""
        return None if self.user is None else place_of(self.user, self.operation.node)

    def placed(self, finding: Finding) -> Finding:
        """A finding with the user's frame, and the innermost module that is being called."""
        innermost = self.modules[-1] if self.modules else None
        path, kind = (
            ("", "") if innermost is None else (naming.module_path(innermost, self.roots), type(innermost).__name__)
        )
        return replace(finding, place=self.place, module=path, module_class=kind)

    @property
    def inner_sites(self) -> list[Site]:
        """The frames below the user's, innermost first."""
        if self.user is None:
            return list(self.sites)[::-1]
        return list(self.sites)[: list(self.sites).index(self.user) : -1]


def operand(scene: Scene, term: Term, tensor: torch.Tensor | None = None) -> Operand:
    """A value of the user's line.

    Args:
        scene: where.
        term: it.
        tensor: of a module, the tensor that matters.
    """
    assert scene.user is not None
    place = place_of(scene.user, term.node)
    if isinstance(term.value, nn.Module):
        return replace(_module(scene, term.value, tensor), name=term.text, place=place)
    if isinstance(term.value, torch.Generator):
        return Operand(term.text, Role.GENERATOR, term.device, place=place)
    if term.value is None:
        role, qualified = _sliced(scene, term)
        return Operand(term.text, role, term.device, "", qualified, place)
    found = naming.name_of(term.value, scene.roots, [site.frame for site in scene.sites])
    role = found.role if found.qualified else _role_in_source(scene.user, term)
    detail = describe(term.value) + (f", {term.share} tensors" if term.share else "")
    return Operand(term.text, role, term.device, detail, found.qualified, place)


def _sliced(scene: Scene, term: Term) -> tuple[Role, str]:
    """The role and the path of the tensor that a slice is of: it moves with that tensor."""
    base: ast.expr = term.node
    while isinstance(base, ast.Subscript):
        base = base.value
    reader = None if base is term.node or scene.user is None else Reader.at(scene.user)
    value = None if reader is None else reader.value(base)
    is_there = isinstance(value, torch.Tensor) and str(value.device) == term.device
    found = naming.name_of(value, scene.roots) if isinstance(value, torch.Tensor) and is_there else None
    return (found.role, found.qualified) if found is not None and found.qualified else (Role.TEMPORARY, "")


def _role_in_source(site: Site, term: Term) -> Role:
    """What an expression that no module holds is."""
    base: ast.expr = term.node
    while isinstance(base, (ast.Attribute, ast.Subscript)):
        base = base.value
    if not isinstance(base, ast.Name):
        return Role.TEMPORARY
    code = site.frame.f_code
    arguments = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    return Role.ARGUMENT if base.id in arguments and base is term.node else Role.VARIABLE


def found_operand(scene: Scene, tensor: torch.Tensor, argument: str = "") -> Operand:
    """A tensor that the user's line does not spell out.

    Args:
        scene: where.
        tensor: it.
        argument: what the frame that met it calls it, for want of another name.
    """
    found = naming.name_of(tensor, scene.roots, [site.frame for site in scene.sites])
    name = _in_object(scene, tensor) or found.qualified or found.name or argument
    if found.role in (Role.OPTIMIZER_STATE, Role.GRADIENT):
        name = found.name
    return Operand(name, found.role, str(tensor.device), describe(tensor), found.qualified)


def _in_object(scene: Scene, tensor: torch.Tensor) -> str:
    """The path of a registered tensor from an object of the user's function, `self.model.fc.weight`; the shortest."""
    parts = {} if scene.user is None else naming.in_objects(scene.user.frame.f_locals)
    paths = [
        f"{path}.{name}"
        for variable, part in parts.items()
        for path, module in naming.paths_of_modules(part, variable)
        for name, one in own_tensors(module)
        if one is tensor
    ]
    return min(paths, key=lambda path: ("[" in path, path.count(".")), default="")


def _module(scene: Scene, module: nn.Module, tensor: torch.Tensor | None) -> Operand:
    path, tensors = naming.module_path(module, scene.roots), registered_in(module)
    if tensor is None:
        return Operand("", Role.MODULE, " and ".join(devices_of(module)), f"{len(tensors)} tensors", path)
    here = sum(one.device == tensor.device for one in tensors)
    share = "" if here == len(tensors) else f", {here} of {len(tensors)} tensors"
    within = naming.name_of(tensor, {"": module}).qualified.lstrip(".")
    return Operand("", Role.MODULE, str(tensor.device), f"{within}: {describe(tensor)}{share}", path)


def describe(tensor: torch.Tensor) -> str:
    """Dtype and shape: `float32[2, 3]`."""
    if is_lazy(tensor):
        return "not initialised"
    return f"{str(tensor.dtype).removeprefix('torch.')}{list(tensor.shape)}"


# --- the values that meet -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Met:
    """One of the values that are apart.

    Attributes:
        value: the tensor or module; None where it is gone.
        node: where it stands on the user's line.
        tensor: of a module, the one of its tensors that matters.
        factory: the line creates it, without a device.
    """

    operand: Operand
    value: torch.Tensor | nn.Module | torch.Generator | None = None
    tensor: torch.Tensor | None = None
    factory: bool = False
    node: ast.expr | None = None

    @property
    def exact(self) -> torch.Tensor | nn.Module | torch.Generator | None:
        """The tensor that matters, otherwise the value."""
        return self.value if self.tensor is None else self.tensor

    @property
    def device(self) -> str:
        """Where it is; of a module that is split, the first of its devices."""
        return self.operand.device.partition(" and ")[0]


def meeting(scene: Scene, message: Message) -> list[Met]:
    """The values that are apart.

    What torch's own frames took tells which tensors met; what the user's line took tells their names.
    """
    taken = list(scene.operation.terms)
    if scene.carried is not None and (found := _in_replica(scene, scene.carried, message)):
        return found
    inner = None if scene.carried else _operation_of_torch(scene, message)
    if inner is not None:
        found = matched(scene, inner, taken)
        if len({one.operand.device for one in found}) > 1:
            return found
    if scene.user and len(scene.operation.devices) < 2:
        # An object was made of values that are apart, and has failed only when it was used.
        part = part_at(scene.user, scene.operation.node)
        taken = list(part.terms) if part else taken
    terms = _relevant([_with_index(term, message.devices) for term in taken], message.devices)
    if len({term.device for term in terms}) < 2:
        terms = _with_the_unknown_one(scene, terms, message.devices)
    return [_met(scene, term) for term in terms]


def _met(scene: Scene, term: Term, part: torch.Tensor | None = None) -> Met:
    found = replace(operand(scene, term, part), device=term.device if part is None else str(part.device))
    return Met(found, term.value, part, term.factory, term.node)


def _in_replica(scene: Scene, carried: Carried, message: Message) -> list[Met]:
    """The values that were apart in a replica of DataParallel, whose own frames are gone.

    Registered tensors of a module, and values computed from them, were on the device of the replica; plain attributes
    are still on that of the original.
    """
    replica, where = message.fields.get("replica"), node_carried(carried)
    module = _owner_of_line(scene, carried)
    if replica is None or where is None or module is None:
        return []
    source, node = where
    path = naming.module_path(module, scene.roots)
    found = []
    for term in Reader(source, {"self": module}, {}).operation(node).terms:
        place = place_in(carried, source, term.node)
        name = naming.name_of(term.value, {path: module}) if isinstance(term.value, torch.Tensor) else None
        if name is not None and name.role is Role.ATTRIBUTE and isinstance(term.value, torch.Tensor):
            found.append(Operand(term.text, name.role, term.device, describe(term.value), name.qualified, place))
        else:
            found.append(Operand(term.text, Role.TEMPORARY, f"cuda:{replica}", place=place))
    return [Met(one) for one in found]


def _owner_of_line(scene: Scene, carried: Carried) -> nn.Module | None:
    """The module whose `forward` holds the line."""
    for module in (inner for outer in scene.modules for inner in modules_in(outer)):
        code = getattr(inspect.getattr_static(type(module), "forward", None), "__code__", None)
        if code is not None and code.co_filename == carried.file:
            lines = [line for _, _, line in code.co_lines() if line is not None]
            if min(lines) <= carried.place.line <= max(lines):
                return module
    return None


def _operation_of_torch(scene: Scene, message: Message) -> Operation | None:
    """The operation of the innermost frame below the user's whose terms are apart as the message says.

    PyTorch's own Python kernels come last: what reaches them may be a copy or a view, under a name that tells nothing.
    """
    above, kernels = _with_kernels_apart(scene.inner_sites[::-1])
    found = _innermost(above, message)
    own = scene.operation
    is_split = any(" and " in term.device for term in own.terms)  # a module on several devices
    if found is not None or (not is_split and _are_apart(own, message)):
        return found
    found = _innermost(kernels, message)
    return None if found is None else replace(found, terms=tuple(replace(one, text="") for one in found.terms))


def _innermost(sites: Sequence[Site], message: Message) -> Operation | None:
    operations = (operation_at(site) for site in reversed(sites))
    return next((one for one in operations if one is not None and _are_apart(one, message)), None)


def _with_kernels_apart(sites: Sequence[Site]) -> tuple[Sequence[Site], Sequence[Site]]:
    """The frames that lead to an operator, and those of the Python code that stands for it."""
    for number, site in enumerate(sites):
        home = str(site.frame.f_globals.get("__name__"))
        if site.frame.f_code.co_name == "__torch_dispatch__" or home.startswith("torch._"):
            return sites[:number], sites[number:]
    return sites, ()


def _are_apart(operation: Operation, message: Message) -> bool:
    return len(operation.devices) > 1 and _agree(operation.devices, message.devices)


def _agree(devices: set[str], named: Sequence[str]) -> bool:
    """Whether each device that a message names is among some devices; it may name the type only."""
    return all(any(device.partition(":")[0] == one or device == one for device in devices) for one in named)


def _relevant(terms: Sequence[Term], named: Sequence[str]) -> list[Term]:
    """The terms on the devices that the message names, where it names two."""
    if len(named) < 2:
        return list(terms)
    found = [
        term for term in terms if any(_agree({one}, [name]) for name in named for one in term.device.split(" and "))
    ]
    return found if len({term.device for term in found}) > 1 else list(terms)


def _with_index(term: Term, named: Sequence[str]) -> Term:
    """A term on `cuda` is on the one CUDA device that the message names."""
    same = [device for device in named if device.partition(":")[0] == term.device]
    return replace(term, device=same[0]) if len(same) == 1 else term


def _with_the_unknown_one(scene: Scene, terms: list[Term], named: Sequence[str]) -> list[Term]:
    """If all known values are on one device, the unknown value is on the other one that the message names."""
    known = {term.device for term in terms}
    other = [device for device in named if not _agree(known, [device])]
    if scene.operation.text == "[…]" and known == {"cpu"}:
        # PyTorch names the device of what is selected from only.
        kind = accelerator()
        other = [] if kind is None else [str(kind)]
    unknown = _only_unknown(scene)
    if len(known) != 1 or len(other) != 1 or unknown is None:
        return terms
    return [*terms, Term(unknown.text, unknown.node, other[0])]


def matched(scene: Scene, inner: Operation, taken: Sequence[Term]) -> list[Met]:
    """The operands of an operation below the user's line, by the names in that line."""
    found: list[Met] = []
    used: set[int] = set()
    loose: list[Term] = []
    for term in inner.terms:
        tensor = term.value if isinstance(term.value, torch.Tensor) else None
        parts = ((one, None if tensor is None else _part_of(one, tensor)) for one in taken)
        mine, part = next(((one, part) for one, part in parts if part is not None), (None, None))
        if mine is None:
            loose.append(term)
        elif id(mine) not in used:
            used.add(id(mine))
            part = part if isinstance(mine.value, nn.Module) else None
            found.append(_met(scene, mine, part))
        elif tensor is not None and all(one.operand.device != term.device for one in found):
            # A module that holds both of two values: the second has its own path.
            found.append(Met(found_operand(scene, tensor), tensor))
    rest = [term for term in taken if id(term) not in used]
    left: list[tuple[Term, torch.Tensor | None, Operand | None]] = []
    for term in loose:
        # What torch made of an operand on the way down is where the operand is.
        mine = next((one for one in rest if one.device == term.device), None)
        tensor = term.value if isinstance(term.value, torch.Tensor) else None
        named = None if tensor is None else found_operand(scene, tensor, term.text)
        if mine is not None and (mine.value is None or named is None or not named.qualified):
            rest.remove(mine)
            found.append(_met(scene, mine))
        else:
            left.append((term, tensor, named))
    unknown = _only_unknown(scene) if len(left) == 1 else None
    for term, tensor, named in left:
        if unknown is not None:
            found.append(_met(scene, Term(unknown.text, unknown.node, term.device, tensor)))
        elif named is not None and all(one.operand.device != term.device for one in found):
            # The failing expression stands for a value inside that no name leads to.
            whole = "" if scene.user is None else text_of(scene.user, scene.operation.node)
            found.append(Met(replace(named, name=named.name or whole), tensor))
    return found


def _only_unknown(scene: Scene) -> Argument | None:
    likely = [one for one in scene.operation.open_terms if not isinstance(one.node, (ast.Constant, ast.Lambda))]
    return likely[0] if len(likely) == 1 else None


def _part_of(term: Term, tensor: torch.Tensor) -> torch.Tensor | None:
    """The tensor of a term that another one is, or is a view of; of a module, the one that it holds."""
    if isinstance(term.value, nn.Module):
        if naming.name_of(tensor, {"": term.value}).qualified:
            return tensor
        return next((one for one in registered_in(term.value) if is_same_or_view(one, tensor)), None)
    return term.value if isinstance(term.value, torch.Tensor) and is_same_or_view(term.value, tensor) else None


# --- which of them is the one to move -----------------------------------------------------------------------


def most_suspect(scene: Scene, met: Sequence[Met], message: Message) -> int:
    """Return the value to move: one apart from its module, one without data, or one on the CPU.

    PyTorch's text often names the innocent one, so it has no vote.
    """
    if not met:
        return 0
    replica = message.fields.get("replica")
    usual = f"cuda:{replica}" if replica else _usual_device(scene, met)
    deliberate = is_meta_deliberate(scene, met)
    ranks = [_rank(one, usual, deliberate) for one in met]
    return ranks.index(max(ranks))


def _usual_device(scene: Scene, met: Sequence[Met]) -> str:
    """The device that holds most of the module around the line; empty where there is none."""
    given = [scene.roots[name] for name in scene.given]
    around = [module for module in scene.modules[:1] if not any(one.value is module for one in met)]
    devices = [device for module in given or around for device in devices_of(module)]
    if not devices and all(one.operand.device != "cpu" for one in met):
        # Between two accelerators, that of the networks in the user's variables decides.
        networks = [module for module in scene.roots.values() if not any(one.value is module for one in met)]
        devices = [device for module in networks for device in devices_of(module) if device != "cpu"]
    return "" if not devices or (len(set(devices)) > 1 and "cpu" not in devices) else devices[0]


_SUSPICION = {Role.OPTIMIZER_STATE: 4, Role.ATTRIBUTE: 3, Role.GRADIENT: 1}


def is_meta_deliberate(scene: Scene, met: Sequence[Met]) -> bool:
    """Whether a module has data in a network that is on meta as a whole; such a network lacks no checkpoint."""
    has_data = any(isinstance(one.value, nn.Module) and one.operand.device != "meta" for one in met)
    return has_data and _usual_device(scene, met) == "meta"


def _rank(met: Met, usual: str, is_meta_deliberate: bool) -> tuple[int, ...]:
    operand, value = met.operand, met.value
    return (
        operand.device == "meta" and not is_meta_deliberate,
        # A module that is on the CPU may just as well be the one that was not moved.
        usual not in ("", "cpu") and operand.device != usual,
        operand.device == "cpu",
        met.factory,
        _SUSPICION.get(operand.role, 0),
        # Of two values on accelerators, that which no network computed follows the other.
        value is None or (isinstance(value, torch.Tensor) and not value.requires_grad),
        operand.role is not Role.TEMPORARY,
        # The device that `cuda` without a number means is rather the right one.
        operand.device.startswith("cuda:") and str(numbered(torch.device("cuda"))) not in ("cuda", operand.device),
    )
