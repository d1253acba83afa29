"""The change that brings a value to where it is needed, of the user's own lines: the nearest to the cause that holds.

A change is offered only where it can be carried out: the names in it are bound on its line, a variable is exchanged
only if it holds a tensor and is local, and what an operation fills in place is never exchanged for a copy.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Final

import torch
from torch import nn

from devlint_guard.advise.astray import Astray
from devlint_guard.advise.at_cause import advice_at, advice_at_last
from devlint_guard.advise.companions import companions
from devlint_guard.advise.device_expressions import device_at, devices_at
from devlint_guard.advise.edits import all_of, followed_by, merged, preceded_by, replaced, statement_of, with_keyword
from devlint_guard.advise.left_behind import kept_in_container, module_of, moves_of, tensor_of
from devlint_guard.explain.cause import Cause, cause_of, last_refused, tensor_on
from devlint_guard.explain.links import How, Link, steps_of
from devlint_guard.explain.operands import Met, Scene
from devlint_guard.explain.trail import trail
from devlint_guard.finding import Advice, Change, Finding, Operand
from devlint_guard.program import naming
from devlint_guard.program.bindings import is_name
from devlint_guard.program.expressions import attached
from devlint_guard.program.functions import Scope
from devlint_guard.program.stored import UNKNOWN, dictionary_of, tensors_in

MOST: Final = 12
"""So many changes may be tried for one error."""


def candidates(astray: Astray, others: Sequence[Met] = (), cause: Cause | None = None) -> list[Advice]:
    """The changes that may mend an error, the best first; each for all values that are astray.

    Args:
        astray: the value that is told.
        others: the other values that the operation takes.
        cause: of the value, as recorded; changes there come first.
    """
    found: list[Advice] = []
    for one in _in_order(astray, others, cause):
        if all(one.changes != other.changes for other in found):
            found.append(one)
        if len(found) >= MOST:
            break
    return found


def _in_order(astray: Astray, others: Sequence[Met], cause: Cause | None) -> Iterator[Advice]:
    if cause is not None:
        between = "cpu" not in (astray.device, astray.met.operand.device)
        if between and astray.links and module_of(astray) is not None:
            # Of a network on several accelerators, the value goes to where the flow is.
            yield from _of_line(astray)
    for one in _of_one(astray, cause):
        yield _with_companions(one, astray, others)
        yield one


def _of_one(astray: Astray, cause: Cause | None) -> Iterator[Advice]:
    """The changes for one value: those at its cause, then those of the source."""
    if astray.links and (container := _container(astray)) is not None:
        yield from _of_elements(astray, container)
    if astray.device != "meta":
        yield from _of_plain_container(astray)
    if cause is not None:
        yield from advice_at(cause, astray.scene.sites)
    for one in _remedies(astray):
        yield one if cause is None else replace(one, cause=cause.steps[0])
    if cause is not None:
        yield from advice_at_last(cause, astray.scene.sites)


def _of_plain_container(astray: Astray) -> Iterator[Advice]:
    """What a Python list or dict holds, a module or a parameter, is kept where it moves with the module around it."""
    module, tensor = module_of(astray), tensor_of(astray)
    if module is not None and "[" in naming.module_path(module, astray.scene.roots):
        yield from kept_in_container(astray, module)
    elif module is None and isinstance(tensor, nn.Parameter):
        yield from kept_in_container(astray, tensor)


def _with_companions(found: Advice, astray: Astray, others: Sequence[Met]) -> Advice:
    """A change with those for the values that are astray too."""
    if isinstance(astray.met.value, nn.Module):
        return found
    changes = list(found.changes)
    for companion in companions(astray, others):
        beside = next(_of_one(companion, cause_at(companion)), None)
        changes += () if beside is None else beside.changes
    return replace(found, changes=merged(changes))


def cause_at(astray: Astray) -> Cause | None:
    """The recorded cause of a tensor that is astray."""
    value = astray.met.value
    if not isinstance(value, torch.Tensor):
        return None
    return cause_of(value, astray.device, None, astray.scene.roots)


def _remedies(astray: Astray) -> Iterator[Advice]:
    if astray.device == "meta":
        return
    module = module_of(astray)
    if module is not None:
        yield from moves_of(astray, module)
        return
    if not astray.links:
        return
    yield from _of_filled(astray) if _is_written(astray) else _of_variable(astray)
    yield from _of_line(astray)


# --- a tensor -----------------------------------------------------------------------------------------------


def _is_written(astray: Astray) -> bool:
    """Whether the failing operation fills the value in place: a copy would be filled instead."""
    operation = astray.scene.operation
    node = None if operation is None else operation.node
    here, reader = astray.links[0].node, astray.links[0].scope.reader
    match node:
        case ast.AugAssign(target=target):
            return target is here
        case ast.Subscript(ctx=ast.Store(), value=container):
            return container is here
        case ast.Call(func=function, args=arguments, keywords=keywords):
            name = function.attr if isinstance(function, ast.Attribute) else ""
            is_in_place = name.endswith("_") and not name.endswith("__")
            receiver = [function.value] if isinstance(function, ast.Attribute) else []
            filled = [*receiver, *arguments[:1]] if is_in_place else []
            filled += [one.value for one in keywords if one.arg == "out"]
            value = reader.value(here)
            return any(one is here or (value is not UNKNOWN and reader.value(one) is value) for one in filled)
    return False


def _container(astray: Astray) -> object:
    """The container of several tensors that stands on the line, all of them astray; None where there is none."""
    link = astray.links[0]
    value = link.scope.reader.value(link.node)
    return value if _is_astray_as_a_whole(value, astray.met.operand.device) else None


def _is_astray_as_a_whole(value: object, device: str) -> bool:
    if not isinstance(value, (list, tuple, dict)) or len(value) < 2:
        return False
    parts = list(value.values()) if isinstance(value, dict) else list(value)
    return all(isinstance(one, torch.Tensor) and str(one.device) == device for one in parts)


def _of_elements(astray: Astray, container: object) -> Iterator[Advice]:
    """Where each element of a container is created, it is created on the device."""
    tensors = [tensor for _, tensor in tensors_in(container)]
    causes = [cause_of(one, astray.device, None, astray.scene.roots) for one in tensors]
    firsts = [None if one is None else next(advice_at(one, astray.scene.sites), None) for one in causes]
    found = [one for one in firsts if one is not None]
    if len(found) == len(firsts) > 0:
        yield replace(found[0], changes=merged([change for one in found for change in one.changes]))


def _of_variable(astray: Astray) -> Iterator[Advice]:
    """A variable is moved before it is used, in the outermost function that holds just this tensor."""
    live = [one for one in astray.links if one.how in (How.HERE, How.PASSED) and one.scope.site is not None]
    told: list[Advice] = []
    for link in reversed(live):
        scope, node = link.scope, link.node
        name = link.core(astray.met.operand.device)
        other = astray.other if scope.site is astray.links[0].scope.site else None
        device = next(devices_at(scope, node, astray.device, other), None)
        if isinstance(node, ast.Name) and (moved := _moved_elements(astray, link, device)) is not None:
            yield Advice("move them before they are used", (moved,))
            continue
        is_variable = isinstance(name, ast.Name) and not _is_of_comprehension(scope, name)
        if is_variable and isinstance(name, ast.Name) and _is_local(scope, name.id) and _holds(scope, name, astray):
            change = preceded_by(scope, node, f"{name.id} = {name.id}.to({device or _quoted(astray.device)})")
        elif not (isinstance(node, ast.Name) and is_variable) and _holds(scope, node, astray):
            change = followed_by(scope, node, f".to({device or _quoted(astray.device)})")
        else:
            continue
        if change is not None:
            remedy = Advice("move it before it is used", (change,))
            if device is not None:
                yield remedy
            else:
                told.append(remedy)
    yield from told


def _of_filled(astray: Astray) -> Iterator[Advice]:
    """An attribute that an operation fills in place is moved before: the object keeps the tensor that is filled."""
    scope, node = astray.links[0].scope, astray.links[0].node
    match node:
        case ast.Attribute(value=ast.Name(), attr=name):
            owner = scope.reader.value(node.value)
            if owner is not UNKNOWN and isinstance(dictionary_of(owner).get(name), torch.Tensor):
                text = scope.source.of(node)
                device = device_at(scope, node, astray.device, astray.other)
                change = preceded_by(scope, node, f"{text} = {text}.to({device})")
                if change is not None:
                    yield Advice("move it before it is filled in place", (change,))


def _moved_elements(astray: Astray, link: Link, device: str | None) -> Change | None:
    """A line that moves all tensors of a container, before it is used."""
    assert isinstance(link.node, ast.Name)
    scope, name = link.scope, link.node.id
    value = scope.reader.value(link.node)
    if not _is_astray_as_a_whole(value, astray.met.operand.device) or not _is_local(scope, name):
        return None
    to = f"to({device or _quoted(astray.device)})"
    if type(value) is dict:
        text = f"{{key: one.{to} for key, one in {name}.items()}}"
    elif type(value) in (list, tuple):
        text = f"[one.{to} for one in {name}]" if isinstance(value, list) else f"tuple(one.{to} for one in {name})"
    else:
        return None
    return preceded_by(scope, link.node, f"{name} = {text}")


def _is_of_comprehension(scope: Scope, node: ast.Name) -> bool:
    """Whether a variable is one of a comprehension, before which there is no line that could exchange it."""
    reached = scope.reaching(is_name(node.id), node)
    return any(one is not None and not isinstance(one.statement, ast.stmt) for one in reached)


def _holds(scope: Scope, node: ast.expr, astray: Astray) -> bool:
    """Whether an expression stands for a tensor that is where the blamed one is."""
    value = scope.reader.value(node)
    return isinstance(value, torch.Tensor) and str(value.device) == astray.met.operand.device


def _is_local(scope: Scope, name: str) -> bool:
    """Whether an assignment to a variable is one to the variable that is read."""
    return scope.is_module or name in scope.code.co_varnames


def _of_line(astray: Astray) -> Iterator[Advice]:
    """The expression itself is moved, on the failing line, or where a caller passes it."""
    for link in astray.links:
        if link.how not in (How.HERE, How.PASSED) or link.scope.site is None:
            continue
        if isinstance(link.node, ast.Starred) or statement_of(link.scope, link.node) is None:
            continue
        other = astray.other if link.scope.site is astray.links[0].scope.site else None
        device = device_at(link.scope, link.node, astray.device, other)
        if link.how is How.HERE and _is_written(astray):
            if astray.other is None:
                return
            device = device_at(link.scope, link.node, astray.met.operand.device, link.node)
            change = followed_by(link.scope, astray.other, f".to({device})")
            if change is not None:
                yield Advice("bring the other value to the device of the tensor that changes in place", (change,))
            return
        if not _is_tensor(link.scope, link.node):
            continue
        change = followed_by(link.scope, link.node, f".to({device})")
        if change is not None:
            yield Advice("move it where it is used", (change,))


def _is_tensor(scope: Scope, node: ast.expr) -> bool:
    value = scope.reader.value(node)
    return value is UNKNOWN or isinstance(value, torch.Tensor)


def _quoted(device: str) -> str:
    return f'"{device}"'


# --- other troubles -----------------------------------------------------------------------------------------


def node_of(scene: Scene, operand: Operand) -> tuple[Scope, ast.expr] | None:
    """The expression of an operand on the failing line."""
    scope = None if scene.user is None else Scope.at(scene.user)
    if scope is None or operand.place is None or not operand.place.column:
        return None
    for node in ast.walk(scope.source.tree):
        if not isinstance(node, ast.expr) or node.lineno != operand.place.line:
            continue
        # A comprehension has a function of its own, and is read in the function around it.
        if operand.place == replace(scope.place(node), function=operand.place.function):
            return scope, node
    return None


def with_way(scene: Scene, finding: Finding) -> Finding:
    """A finding whose blamed operand tells how its value came to the line."""
    found = node_of(scene, finding.operands[0]) if finding.operands and not finding.operands[0].history else None
    if found is None or scene.user is None:
        return finding
    first, *others = finding.operands
    tensor = tensor_on(found[0].reader.value(found[1]), first.device)
    tensor = last_refused(first.device) if tensor is None else tensor
    cause = None if tensor is None else cause_of(tensor, "", None, scene.roots)
    history = cause.steps if cause is not None else steps_of(trail(scene.sites, scene.user, found[1], first.device))
    return replace(finding, operands=(replace(first, history=history), *others))


def passed_on(scene: Scene, operand: Operand, suffix: str) -> Iterator[Advice]:
    """A value with a method call behind it, where a caller that still runs passes it."""
    found = node_of(scene, operand)
    links = [] if found is None or scene.user is None else trail(scene.sites, scene.user, found[1], operand.device)
    for link in links:
        if link.how is How.PASSED and link.scope.site is not None:
            change = followed_by(link.scope, link.node, suffix)
            if change is not None:
                yield Advice(f"pass it on the CPU: `{link.text}{suffix}`", (change,))


def with_method(scene: Scene, operand: Operand, suffix: str) -> tuple[Change, ...]:
    """An expression of the failing line with a method call behind it."""
    found = node_of(scene, operand)
    return () if found is None else all_of(followed_by(*found, suffix))


def with_argument(scene: Scene, operand: Operand, name: str, value: str, function: str = "") -> tuple[Change, ...]:
    """The call that made a value with another keyword argument; on its way the first that is called `function`."""
    found = node_of(scene, operand)
    if found is None or scene.user is None:
        return ()
    links = trail(scene.sites, scene.user, found[1], operand.device)
    for link in links:
        for node in ast.walk(link.node):
            if isinstance(node, ast.Call) and (
                not function or function == link.scope.source.of(node.func).split(".")[-1]
            ):
                return all_of(with_keyword(link.scope, node, name, value))
    return ()


def with_constant(scene: Scene, operand: Operand, replacement: Callable[[object], str]) -> tuple[Change, ...]:
    """Another text in the place of the constant that an operand is, or was assigned.

    Args:
        scene: where.
        operand: of the failing line.
        replacement: the source to put there for a constant; empty for one that is not meant.
    """
    found = node_of(scene, operand)
    if found is None or scene.user is None:
        return ()
    for link in trail(scene.sites, scene.user, found[1], ""):
        for part in ast.walk(link.node):
            text = replacement(part.value) if isinstance(part, ast.Constant) else ""
            if text and isinstance(part, ast.Constant):
                return all_of(replaced(link.scope, part, text))
    return ()


def moved_by_choice(scene: Scene, choice: str) -> tuple[Change, ...]:
    """The failing call of `cuda`, as one of `to` with a device that is chosen."""
    scope = None if scene.user is None else Scope.at(scene.user)
    node = scene.operation.node if scene.operation else None
    match node:
        case ast.Call(func=ast.Attribute(value=receiver, attr="cuda")) if scope is not None:
            return all_of(replaced(scope, node, f"{attached(scope.source.of(receiver))}.to({choice})"))
    return ()
