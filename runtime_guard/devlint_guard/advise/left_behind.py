"""A value that is not where it is needed, and the module that was left behind with it: which one, and what moves it."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import nn

from devlint_guard.advise.device_expressions import device_at
from devlint_guard.advise.edits import advised, preceded_by, surrounded
from devlint_guard.explain.cause import said_of
from devlint_guard.explain.links import Link
from devlint_guard.explain.operands import Met, Scene
from devlint_guard.explain.trail import assigned_by_methods
from devlint_guard.finding import Advice, Changes, Step
from devlint_guard.program import naming
from devlint_guard.program.bindings import is_name
from devlint_guard.program.frames import node_at
from devlint_guard.program.functions import Scope
from devlint_guard.program.stored import dictionary_of, modules_in, parts_of, registered_in
from devlint_guard.record.recorder import RECORD


def register_as_buffer(name: str, owner: str = "self") -> str:
    """Return the advice for a tensor in a plain attribute, in the words of the linter's rule DEV201."""
    call = f'{owner}.register_buffer("{name}", …)'
    return f"register `{owner}.{name}` as a buffer, so that it moves with the module: `{call}`"


@dataclass(frozen=True, slots=True)
class Astray:
    """A value that is not where it is needed.

    Attributes:
        links: its way, the failing line first.
        device: where it is needed.
        other: where the value stands that it meets.
    """

    scene: Scene
    met: Met
    links: Sequence[Link]
    device: str
    other: ast.expr | None


def module_of(astray: Astray) -> nn.Module | None:
    """The module that was left behind with the value: itself, or the one that registers it."""
    value = astray.met.value
    if isinstance(value, nn.Module):
        return value
    tensor = tensor_of(astray)
    return None if tensor is None else naming.holder_of(tensor, astray.scene.roots)


def tensor_of(astray: Astray) -> torch.Tensor | None:
    """The tensor that the value is, or that it was taken from on the failing line."""
    part = astray.links[0].tensor(astray.met.operand.device) if astray.links else None
    value = astray.met.value if part is None else part
    return value if isinstance(value, torch.Tensor) and astray.links else None


def moves_of(astray: Astray, module: nn.Module) -> Iterator[Advice]:
    """The lines that may move a module, best first: those of the outermost running function, then those of its holders.

    At last the expression of the failing line that stands for the module is moved before that line.
    """
    link = astray.links[0] if astray.links else None
    device = astray.met.operand.device.partition(" and ")[0]
    for site in astray.scene.sites:
        scope = Scope.at(site) if site.is_user else None
        use = link.node if link is not None and site is astray.scene.user else node_at(site)
        use = use if isinstance(use, ast.expr) else getattr(use, "value", None)
        if scope is not None and use is not None and not isinstance(scope.definition, ast.Pass):
            for name, holder in _holders(scope, module, use):
                if holder is module or {str(one.device) for one in registered_in(holder)} == {device}:
                    yield from _moved(astray, scope, use, name)
    is_told = link is not None and isinstance(link.node, (ast.Name, ast.Attribute, ast.Subscript))
    if link is not None and is_told and link.text != "self" and link.scope.reader.value(link.node) is module:
        yield from _moved(astray, link.scope, link.node, link.text)


def _moved(astray: Astray, scope: Scope, use: ast.expr, name: str) -> Iterator[Advice]:
    move = f"{name}.to({device_at(scope, use, astray.device, astray.other)})"
    return advised("move the module to where its input is", preceded_by(scope, use, move))


def _holders(scope: Scope, module: nn.Module, use: ast.expr) -> Iterator[tuple[str, nn.Module]]:
    """The variables of a function, and attributes of those, whose modules hold a module, the outermost first.

    A parameter is none of them: the caller has it too.
    """
    inside = {name: list(modules_in(one)) for name, one in scope.names.items() if isinstance(one, nn.Module)}
    for name, modules in sorted(inside.items(), key=lambda one: -len(one[1])):
        is_holder = name != "self" and any(one is module for one in modules)
        if is_holder and scope.reaching(is_name(name), use) not in ([], [None]):
            yield name, modules[0]
    for name, value in scope.names.items():
        for key, part in parts_of(value).items():
            if isinstance(part, nn.Module) and _is_part(module, part):
                yield f"{name}.{key}", part


# --- in a list or dict --------------------------------------------------------------------------------------


def kept_in_container(astray: Astray, item: nn.Module | torch.Tensor) -> Iterator[Advice]:
    """The plain list or dict of modules or parameters becomes one that moves with the module that holds it."""
    for root in astray.scene.roots.values():
        for _, holder in naming.paths_of_modules(root, ""):
            for key, value in dictionary_of(holder).items():
                if not key.startswith("_") and any(_is_part(item, one) for one in _elements_in(value)):
                    yield from _wrapped(holder, key, value)


def _elements_of(container: object) -> list[object]:
    if isinstance(container, dict):
        return list(container.values())
    return list(container) if isinstance(container, (list, tuple)) else []


def _elements_in(container: object) -> list[object]:
    """The elements of a container, and of those in it."""
    inside = _elements_of(container)
    return [*inside, *(part for one in inside for part in _elements_in(one))]


def _is_part(item: nn.Module | torch.Tensor, element: object) -> bool:
    return element is item or (isinstance(element, nn.Module) and any(one is item for one in modules_in(element)))


def _kind_for(container: object) -> str:
    """The class of torch.nn that holds the same elements and registers them; empty where there is none."""
    elements, is_dict = _elements_of(container), isinstance(container, dict)
    is_named = not is_dict or all(isinstance(key, str) for key in container)  # type: ignore[attr-defined]
    for kind, name in ((nn.Module, "Module"), (nn.Parameter, "Parameter")) if elements and is_named else ():
        if all(isinstance(one, kind) for one in elements):
            return f"{name}{'Dict' if is_dict else 'List'}"
    return ""


def _wrapped(holder: nn.Module, key: str, value: object) -> Iterator[Advice]:
    inners = {_kind_for(one) for one in value} if isinstance(value, (list, tuple)) else set()
    inner = inners.pop() if len(inners) == 1 else ""
    kind = _kind_for(value) or ("ModuleList" if inner else "")
    inner = "" if _kind_for(value) else inner
    for link in assigned_by_methods(holder, key, value) if kind else ():
        if name := name_of_torch_nn(link.scope.more_names):
            before = f"{name}.{kind}({f'{name}.{inner}(one) for one in ' if inner else ''}"
            what = "parameters" if kind.startswith("Parameter") else "modules"
            text = f"keep the {what} in `nn.{kind}`, so that they move with the module that holds them"
            step = Step(f"is kept in `self.{key}`, a Python {type(value).__name__}", link.scope.place(link.node))
            yield from advised(text, surrounded(link.scope, link.node, before, ")"), step)


def name_of_torch_nn(names: Mapping[str, object]) -> str:
    """What the file with some variables calls `torch.nn`."""
    found = [name for name, value in names.items() if value is nn]
    return next(iter([*found, *(f"{name}.nn" for name, value in names.items() if value is torch)]), "")


# --- state of an optimizer ----------------------------------------------------------------------------------


MOVE_FIRST = "move the module before the optimizer is given its state, which stays where it is then"


def order_of(scene: Scene, parameter: torch.Tensor | None, state: object) -> tuple[tuple[Step, ...], Changes] | None:
    """Where an optimizer got state, and where the module of the parameter was moved after that, as recorded.

    Returns:
        the two lines, and the change that moves the module before the first of them, if both are of one function; None
        if the state was made after the last move.
    """
    event = RECORD.of(state) if isinstance(state, torch.Tensor) else None
    holder = None if parameter is None else naming.holder_of(parameter, scene.roots)
    if event is None or holder is None or not event.stack:
        return (), ()
    moves = [one for one in RECORD.moves_of(holder) if one.number > event.number and one.stack]
    if not moves:
        return None if RECORD.moves_of(holder) else ((), ())
    made, moved = event.stack[0], moves[0].stack[0]
    steps = (*said_of(event, "is put there by"), *said_of(moves[0], "is left behind by"))
    statement, source = moved.statement, moved.source
    if made.code is not moved.code or made.node is None or statement is None or source is None:
        return steps, ()
    is_short = statement.end_lineno == statement.lineno
    return steps, preceded_by(Scope(source, made.code), made.node, source.of(statement)) if is_short else ()


def parameter_of(scene: Scene, state: object) -> torch.Tensor | None:
    """The parameter whose state, in an optimizer of a running function, a tensor is."""
    for optimizer in naming.optimizers_in(site.frame for site in scene.sites):
        for parameter, values in optimizer.state.items():
            is_apart = isinstance(state, torch.Tensor) and parameter.device != state.device
            if is_apart and isinstance(values, dict) and any(one is state for one in values.values()):
                return parameter if isinstance(parameter, torch.Tensor) else None
    return None
