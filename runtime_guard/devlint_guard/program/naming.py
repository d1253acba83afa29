"""Names for tensors and modules, looked up by identity once there is something to report. Keeps nothing."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import FrameType, MappingProxyType, ModuleType
from typing import NamedTuple

import torch
from torch import nn

from devlint_guard.finding import Role
from devlint_guard.program.frames import Site, is_user_code, sites_above
from devlint_guard.program.stored import dictionary_of, own_tensors, plain_tensors, shares_memory, table_of, tensors_in

Roots = Mapping[str, nn.Module]
"""Modules that paths start from, by the name that the user gave them."""

Chain = tuple[tuple[nn.Module, str, bool], ...]
"""The modules from a root to a tensor: each with the name of the next, and whether it registers it under that name."""


def by_class(modules: Iterable[nn.Module]) -> dict[str, nn.Module]:
    """Modules by the names of their classes."""
    named: dict[str, nn.Module] = {}
    for module in modules:
        name = type(module).__name__
        while name in named:
            name += "'"
        named[name] = module
    return named


class ByVariable(Mapping[str, nn.Module]):
    """Modules by the variables of the running code that hold them, the outermost first, or by the names given.

    Variables are read only for a report: up to CPython 3.12, a frame keeps the values that its variables had at the
    reading.
    """

    def __init__(self, roots: Roots) -> None:
        self._roots = roots

    def __getitem__(self, name: str) -> nn.Module:
        return self._named()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._named())

    def __len__(self) -> int:
        return len(self._roots)

    def _named(self) -> dict[str, nn.Module]:
        variables: dict[int, str] = {}
        for site in sites_above(sys._getframe()) if self._roots else ():
            if site.is_user:
                for name, value in {**site.frame.f_globals, **site.frame.f_locals}.items():
                    if isinstance(value, nn.Module) and name != "self":
                        variables.setdefault(id(value), name)
        return {variables.get(id(root), name): root for name, root in self._roots.items()}


class Name(NamedTuple):
    """What a tensor is called.

    Attributes:
        name: as code in a frame has it, or else its qualified name; empty if it has none.
        role: its role in the program.
        qualified: its path from a root, `model.encoder.pe`; empty if no root holds it.
    """

    name: str
    role: Role
    qualified: str


def name_of(tensor: torch.Tensor, roots: Roots, frames: Sequence[FrameType] = ()) -> Name:
    """What a tensor is called: searched in the roots, then in optimizers, gradients and variables of `frames`.

    A view without a name has the name of its base. Of `frames`, which begin with the outermost, the innermost name of
    the user's own code is taken.
    """
    qualified, role = _registered(tensor, roots)
    variable, variable_role = _variable(tensor, frames)
    if role is not None:
        return Name(variable or qualified, role, qualified)
    found = _in_optimizers(tensor, roots, frames) or _gradient(tensor, roots)
    if found is not None:
        return found
    if tensor._is_view() and tensor._base is not None:
        shown = name_of(tensor._base, roots)
        if shown.qualified:
            return Name(variable or shown.name, shown.role, shown.qualified)
    return Name(variable, variable_role, "")


def holder_of(tensor: torch.Tensor, roots: Roots) -> nn.Module | None:
    """The module that registers a tensor, its base, or one with the same memory, as an entry of a `state_dict` is."""
    tensor = tensor if not tensor._is_view() or tensor._base is None else tensor._base
    modules = [module for root in roots.values() for _, module in paths_of_modules(root, "")]
    held = [(module, one) for module in modules for _, one in own_tensors(module)]
    same = [module for module, one in held if one is tensor]
    return next(
        iter([*same, *(one for one, other in held if other.shape == tensor.shape and shares_memory(other, tensor))]),
        None,
    )


def module_path(module: nn.Module, roots: Roots) -> str:
    """The path of a module from the first root that holds it, `model.encoder.layers.0`; empty if none does.

    Modules in plain lists and dicts of a module are found too: `model.blocks[1]`.
    """
    found = (path for name, root in roots.items() for path, one in paths_of_modules(root, name) if one is module)
    return next(found, "")


def names_of_parameter(parameter: torch.Tensor, roots: Roots) -> list[str]:
    """The paths under which modules of one root hold a parameter: several where it is tied."""
    held = ([path for path, one in _parameters_in(name, root) if one is parameter] for name, root in roots.items())
    return next(filter(None, held), [])


def _parameters_in(name: str, root: nn.Module) -> Iterator[tuple[str, torch.Tensor]]:
    for path, module in paths_of_modules(root, name):
        yield from ((f"{path}.{key}", one) for key, one in table_of(module, "_parameters") if one is not None)


def paths_of_modules(root: nn.Module, name: str) -> Iterator[tuple[str, nn.Module]]:
    """Every module below a root with its path, registered ones first."""
    return ((path, module) for path, module, _ in _below(root, name))


def chain_to(tensor: torch.Tensor, roots: Roots) -> Chain:
    """The modules that lead to a tensor, its base, or one with the same memory; those in plain containers lead nowhere.

    What a module keeps in a plain attribute is found too.
    """
    tensor = tensor if not tensor._is_view() or tensor._base is None else tensor._base
    for root in roots.values():
        for _, module, above in _below(root, ""):
            own = (key for key, one in own_tensors(module) if one is tensor or shares_memory(one, tensor))
            plain = (key for key, one in dictionary_of(module).items() if one is tensor)
            links = ((module, key, is_own) for keys, is_own in ((own, True), (plain, False)) for key in keys)
            link = next(links, None) if all(is_registered for _, _, is_registered in above) else None
            if link is not None:
                return (*above, link)
    return ()


def _below(root: nn.Module, name: str) -> Iterator[tuple[str, nn.Module, Chain]]:
    """Every module below a root with its path, and those that lead to it."""
    seen: set[int] = set()
    waiting: list[tuple[str, nn.Module, Chain]] = [(name, root, ())]
    while waiting:
        path, module, above = waiting.pop(0)
        if id(module) in seen:
            continue
        seen.add(id(module))
        yield path, module, above
        children = ((key, child) for key, child in table_of(module, "_modules") if child is not None)
        waiting += [(f"{path}.{key}", child, (*above, (module, key, True))) for key, child in children]
        for key, value in list(dictionary_of(module).items()):
            for inner, one in _modules_of_container(value, f"{path}.{key}") if not key.startswith("_") else ():
                waiting.append((inner, one, (*above, (module, key, False))))


def _modules_of_container(value: object, path: str, depth: int = 0) -> Iterator[tuple[str, nn.Module]]:
    items = enumerate(value) if isinstance(value, (list, tuple)) else value.items() if isinstance(value, dict) else ()
    for key, one in items:
        if isinstance(one, nn.Module):
            yield f"{path}[{key!r}]", one
        elif depth < _DEEPEST:
            yield from _modules_of_container(one, f"{path}[{key!r}]", depth + 1)


_DEEPEST = 2
"""So many containers, each an element of the next, are looked through for modules."""


def roots_on(sites: Sequence[Site], given: Roots = MappingProxyType({})) -> dict[str, nn.Module]:
    """The modules that may serve as roots: those given, and of the user's frames, each with the variable that holds it.

    Outermost frames first, and of a frame the modules that no other one of them holds before those. A module
    that is called and that no variable holds has the name of its class.
    """
    found = dict(given)
    held = {id(inner) for root in given.values() for _, inner in paths_of_modules(root, "")}
    users = ({**site.frame.f_globals, **site.frame.f_locals} for site in sites if site.is_user)
    named = [item for names in users for item in _modules_in(names).items()]
    for name, module in (*named, *(("self", module) for module in modules_on(sites))):
        key = type(module).__name__ if name == "self" else name
        if id(module) not in held and key not in found:
            found[key] = module
            held.update(id(inner) for _, inner in paths_of_modules(module, name))
    return found


def _modules_in(names: Mapping[str, object]) -> dict[str, nn.Module]:
    """The modules that variables hold, or plain objects in them; first those that no other one holds, `self` last."""
    found = {key: value for key, value in names.items() if isinstance(value, nn.Module)}
    found.update(in_objects(names))
    inner = {id(one) for module in found.values() for _, one in list(paths_of_modules(module, ""))[1:]}
    return dict(sorted(found.items(), key=lambda item: (id(item[1]) in inner, item[0] == "self")))


def in_objects(names: Mapping[str, object]) -> dict[str, nn.Module]:
    """The modules that attributes of plain objects in variables hold, `trainer.model`."""
    objects = {
        key: one
        for key, one in names.items()
        if not isinstance(one, (nn.Module, ModuleType, type)) and not key.startswith("__")
    }
    parts = ((f"{key}.{name}", one) for key, value in objects.items() for name, one in dictionary_of(value).items())
    return {path: one for path, one in parts if isinstance(one, nn.Module)}


def modules_on(sites: Iterable[Site]) -> list[nn.Module]:
    """The modules that are being called, outermost first."""
    found: list[nn.Module] = []
    for site in sites:
        code = site.frame.f_code
        called = code.co_name in _CALLS and not is_user_code(code)
        if called or code.co_name == "forward":
            module = site.frame.f_locals.get("self")
            if isinstance(module, nn.Module) and (not found or found[-1] is not module):
                found.append(module)
    return found


_CALLS = frozenset({nn.Module._call_impl.__code__.co_name, nn.Module._wrapped_call_impl.__code__.co_name})


# --- tensors ------------------------------------------------------------------------------------------------


def _registered(tensor: torch.Tensor, roots: Roots) -> tuple[str, Role | None]:
    """The path and role of the contents of a module; a list that repeats registered tensors does not count."""
    for name, root in roots.items():
        modules = list(paths_of_modules(root, name))
        for tensors_of in (own_tensors, plain_tensors):
            for path, module in modules:
                for key, value in tensors_of(module):
                    if value is tensor:
                        return f"{path}.{key}", role_in(module, key)
    return "", None


def role_in(module: nn.Module, attribute: str) -> Role:
    """What an attribute of a module that holds a tensor is."""
    if attribute in dict(table_of(module, "_parameters")):
        return Role.PARAMETER
    return Role.BUFFER if attribute in dict(table_of(module, "_buffers")) else Role.ATTRIBUTE


def _in_optimizers(tensor: torch.Tensor, roots: Roots, frames: Sequence[FrameType]) -> Name | None:
    for optimizer in optimizers_in(reversed(frames)):
        for parameter, state in optimizer.state.items():
            for key, value in state.items() if isinstance(state, dict) else ():
                if value is tensor:
                    owner, _ = _registered(parameter, roots)
                    name = f"{key!r} of {owner}" if owner else f"{key!r} of a parameter"
                    return Name(name, Role.OPTIMIZER_STATE, owner and f"{owner}:{key}")
    return None


def optimizers_in(frames: Iterable[FrameType]) -> list[torch.optim.Optimizer]:
    """The optimizers that variables of the frames hold."""
    values = (one for frame in frames for one in frame.f_locals.values())
    return list({id(one): one for one in values if isinstance(one, torch.optim.Optimizer)}.values())


def _gradient(tensor: torch.Tensor, roots: Roots) -> Name | None:
    parameters = (one for name, root in roots.items() for one in _parameters_in(name, root))
    found = next((path for path, one in parameters if one.grad is tensor), None)
    return None if found is None else Name(f"{found}.grad", Role.GRADIENT, found)


def _variable(tensor: torch.Tensor, frames: Sequence[FrameType]) -> tuple[str, Role]:
    """The variable, or element of one, that holds a tensor, in the innermost of the user's frames that has one."""
    for frame in reversed(frames):
        if not is_user_code(frame.f_code, frame.f_globals.get("__name__")):
            continue
        code = frame.f_code
        arguments = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
        for key, value in frame.f_locals.items():
            for path, one in tensors_in(value, key):
                if one is tensor:
                    return path, Role.ARGUMENT if key in arguments else Role.VARIABLE
    return "", Role.UNKNOWN
