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

from devlint_guard.advise.at_cause import advice_at, advice_at_last
from devlint_guard.advise.device_expressions import device_at, devices_at
from devlint_guard.advise.edits import advised, followed_by, merged, preceded_by, replaced, statement_of
from devlint_guard.advise.left_behind import Astray, kept_in_container, module_of, moves_of, tensor_of
from devlint_guard.explain.cause import Cause, cause_of, tensor_on
from devlint_guard.explain.links import MOVES, How, Link, steps_of
from devlint_guard.explain.operands import Met, Scene
from devlint_guard.explain.trail import trail
from devlint_guard.finding import Advice, Changes, Finding, Operand, Role
from devlint_guard.program import naming
from devlint_guard.program.bindings import is_name, own_nodes, targets_of
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
    is_between = cause is not None and "cpu" not in (astray.device, astray.met.operand.device)
    if is_between and astray.links and module_of(astray) is not None:
        # Of a network on several accelerators, the value goes to where the flow is.
        yield from _of_line(astray)
    for one in _of_one(astray, cause):
        yield _with_companions(one, astray, others)
        yield one


def _of_one(astray: Astray, cause: Cause | None) -> Iterator[Advice]:
    """The changes for one value: those at its cause, then those of the source."""
    if astray.links:
        yield from _of_elements(astray)
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
        value = companion.met.value
        assert isinstance(value, torch.Tensor)
        cause = cause_of(value, companion.device, None, companion.scene.roots)
        changes += next((one.changes for one in _of_one(companion, cause)), ())
    return replace(found, changes=merged(changes))


def _remedies(astray: Astray) -> Iterator[Advice]:
    if astray.device == "meta":
        return
    if (module := module_of(astray)) is not None:
        yield from moves_of(astray, module)
    elif astray.links:
        yield from _of_filled(astray) if _is_written(astray) else _of_variable(astray)
        yield from _of_line(astray)


# --- a tensor -----------------------------------------------------------------------------------------------


def _is_written(astray: Astray) -> bool:
    """Whether the failing operation fills the value in place: a copy would be filled instead."""
    here, reader = astray.links[0].node, astray.links[0].scope.reader
    match astray.scene.operation.node:
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


def _is_astray_as_a_whole(value: object, device: str) -> bool:
    if not isinstance(value, (list, tuple, dict)) or len(value) < 2:
        return False
    parts = list(value.values()) if isinstance(value, dict) else list(value)
    return all(isinstance(one, torch.Tensor) and str(one.device) == device for one in parts)


def _of_elements(astray: Astray) -> Iterator[Advice]:
    """Where each element of the container on the line is created, all of them astray, it is created on the device."""
    value = astray.links[0].scope.reader.value(astray.links[0].node)
    is_whole = _is_astray_as_a_whole(value, astray.met.operand.device)
    tensors = [tensor for _, tensor in tensors_in(value)] if is_whole else []
    causes = [cause_of(one, astray.device, None, astray.scene.roots) for one in tensors]
    firsts = [None if one is None else next(advice_at(one, astray.scene.sites), None) for one in causes]
    found = [one for one in firsts if one is not None]
    if len(found) == len(firsts) > 0:
        yield replace(found[0], changes=merged([change for one in found for change in one.changes]))


def _of_variable(astray: Astray) -> Iterator[Advice]:
    """A variable is moved before it is used, in the outermost function that holds just this tensor."""
    told: list[Advice] = []
    quoted = f'"{astray.device}"'
    for link in reversed(_live(astray)):
        scope, node, name = link.scope, link.node, link.core(astray.met.operand.device)
        device = next(devices_at(scope, node, astray.device, _other(astray, link)), None)
        move = f"to({device or quoted})"
        if isinstance(node, ast.Name) and (moved := _moved_elements(astray, scope, node, move)):
            yield Advice("move them before they are used", moved)
            continue
        # Before a comprehension there is no line that could exchange its variable.
        reached = filter(None, scope.reaching(is_name(name.id), name) if isinstance(name, ast.Name) else ())
        is_variable = isinstance(name, ast.Name) and all(isinstance(one.statement, ast.stmt) for one in reached)
        changes: Changes = ()
        if is_variable and isinstance(name, ast.Name) and _is_local(scope, name.id) and _holds(scope, name, astray):
            changes = preceded_by(scope, node, f"{name.id} = {name.id}.{move}")
        elif not (isinstance(node, ast.Name) and is_variable) and _holds(scope, node, astray):
            changes = followed_by(scope, node, f".{move}")
        if device is None:
            told += advised("move it before it is used", changes)
        else:
            yield from advised("move it before it is used", changes)
    yield from told


def _live(astray: Astray) -> list[Link]:
    """The links in functions that still run: the failing line, and the callers that pass the value."""
    return [one for one in astray.links if one.how in (How.HERE, How.PASSED) and one.scope.site is not None]


def _other(astray: Astray, link: Link) -> ast.expr | None:
    """The value that the blamed one meets, if it is of the scope of a link."""
    return astray.other if link.scope.site is astray.links[0].scope.site else None


def _of_filled(astray: Astray) -> Iterator[Advice]:
    """An attribute that an operation fills in place is moved before: the object keeps the tensor that is filled."""
    scope, node = astray.links[0].scope, astray.links[0].node
    match node:
        case ast.Attribute(value=ast.Name(), attr=name):
            owner = scope.reader.value(node.value)
            if owner is not UNKNOWN and isinstance(dictionary_of(owner).get(name), torch.Tensor):
                text = scope.source.of(node)
                device = device_at(scope, node, astray.device, astray.other)
                changes = preceded_by(scope, node, f"{text} = {text}.to({device})")
                yield from advised("move it before it is filled in place", changes)


def _moved_elements(astray: Astray, scope: Scope, node: ast.Name, move: str) -> Changes:
    """A line that moves all tensors of a container, before it is used."""
    value, name = scope.reader.value(node), node.id
    if not _is_astray_as_a_whole(value, astray.met.operand.device) or not _is_local(scope, name):
        return ()
    texts: dict[type, str] = {
        dict: f"{{key: one.{move} for key, one in {name}.items()}}",
        list: f"[one.{move} for one in {name}]",
        tuple: f"tuple(one.{move} for one in {name})",
    }
    return preceded_by(scope, node, f"{name} = {texts[type(value)]}") if type(value) in texts else ()


def _holds(scope: Scope, node: ast.expr, astray: Astray) -> bool:
    """Whether an expression stands for a tensor that is where the blamed one is."""
    value = scope.reader.value(node)
    return isinstance(value, torch.Tensor) and str(value.device) == astray.met.operand.device


def _is_local(scope: Scope, name: str) -> bool:
    """Whether an assignment to a variable is one to the variable that is read."""
    return scope.is_module or name in scope.code.co_varnames


def _of_line(astray: Astray) -> Iterator[Advice]:
    """The expression itself is moved, on the failing line, or where a caller passes it."""
    for link in _live(astray):
        scope, node = link.scope, link.node
        if isinstance(node, ast.Starred) or statement_of(scope, node) is None:
            continue
        if link.how is How.HERE and _is_written(astray):
            if astray.other is not None:
                device = device_at(scope, node, astray.met.operand.device, node)
                text = "bring the other value to the device of the tensor that changes in place"
                yield from advised(text, followed_by(scope, astray.other, f".to({device})"))
            return
        value = scope.reader.value(node)
        if value is UNKNOWN or isinstance(value, torch.Tensor):
            device = device_at(scope, node, astray.device, _other(astray, link))
            yield from advised("move it where it is used", followed_by(scope, node, f".to({device})"))


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


def way_of(scene: Scene, operand: Operand, device: str = "") -> list[Link]:
    """The way of an operand of the failing line, on a device if one is given."""
    found = node_of(scene, operand)
    return [] if found is None else trail(scene, found[1], device)


def on_way(scene: Scene, operand: Operand, device: str = "") -> Iterator[tuple[Scope, ast.AST]]:
    """All nodes on the way of an operand, each with the function that it is in."""
    for link in way_of(scene, operand, device):
        yield from ((link.scope, node) for node in ast.walk(link.node))


def with_way(scene: Scene, finding: Finding) -> Finding:
    """A finding whose blamed operand tells how its value came to the line."""
    found = node_of(scene, finding.operands[0]) if finding.operands and not finding.operands[0].history else None
    if found is None:
        return finding
    first, *others = finding.operands
    tensor = tensor_on(found[0].reader.value(found[1]), first.device)
    cause = None if tensor is None else cause_of(tensor, "", None, scene.roots)
    history = cause.steps if cause is not None else steps_of(way_of(scene, first, first.device))
    return replace(finding, operands=(replace(first, history=history), *others))


def passed_on(scene: Scene, operand: Operand, suffix: str) -> Iterator[Advice]:
    """A value with a method call behind it, where a caller that still runs passes it."""
    for link in way_of(scene, operand, operand.device):
        if link.how is How.PASSED and link.scope.site is not None:
            changes = followed_by(link.scope, link.node, suffix)
            yield from advised(f"pass it on the CPU: `{link.text}{suffix}`", changes)


def with_method(scene: Scene, operand: Operand, suffix: str) -> Changes:
    """An expression of the failing line with a method call behind it."""
    found = node_of(scene, operand)
    return () if found is None else followed_by(*found, suffix)


def with_constant(scene: Scene, operand: Operand, replacement: Callable[[object], str]) -> Changes:
    """Another text in the place of the constant that an operand is, or was assigned.

    Args:
        scene: where.
        operand: of the failing line.
        replacement: the source to put there for a constant; empty for one that is not meant.
    """
    for scope, node in on_way(scene, operand):
        if isinstance(node, ast.Constant) and (text := replacement(node.value)):
            return replaced(scope, node, text)
    return ()


# --- values that are astray together ------------------------------------------------------------------------


def companions(astray: Astray, others: Sequence[Met]) -> Iterator[Astray]:
    """The other values to move, each with the link where it stands.

    Args:
        astray: the value that is named.
        others: the other values that the operation takes.
    """
    seen = {_key(astray.links[0].scope, astray.links[0].node)} if astray.links else set()
    for scope, node, how in _candidates(astray, others):
        value = scope.reader.value(node)
        on_device = isinstance(value, torch.Tensor) and str(value.device) == astray.met.operand.device
        if not on_device or _key(scope, node) in seen or value is astray.met.value:
            continue
        assert isinstance(value, torch.Tensor)
        if value.dim() == 0 and value.device.type == "cpu":
            continue
        seen.add(_key(scope, node))
        met = Met(Operand(scope.source.of(node), Role.VARIABLE, str(value.device)), value, node=node)
        other = astray.other if astray.links and scope.site is astray.links[0].scope.site else None
        yield Astray(astray.scene, met, [Link(how, scope, node, value=value)], astray.device, other)


def _key(scope: Scope, node: ast.expr) -> tuple[str, str]:
    return scope.code.co_filename, ast.unparse(node)


def _candidates(astray: Astray, others: Sequence[Met]) -> Iterator[tuple[Scope, ast.expr, How]]:
    if not astray.links:
        return
    here = astray.links[0]
    terms = astray.scene.operation.terms if here.scope.site is astray.scene.user else ()
    nodes = [*(one.node for one in others), *(one.node for one in terms)]
    yield from ((here.scope, node, How.HERE) for node in nodes if node is not None)
    yield from ((here.scope, node, How.HERE) for node in _in_same_expression(astray, here))
    for link in astray.links:
        if link.how is How.PASSED and link.scope.site is not None:
            yield from ((link.scope, node, How.PASSED) for node in _passed_beside(link))
        if link.statement is not None and link.scope.site is not None:
            yield from ((link.scope, node, How.HERE) for node in _taken_beside(link))


def _in_same_expression(astray: Astray, here: Link) -> Iterator[ast.expr]:
    """What the result of the failing operation meets on its line."""
    inside: ast.AST | None = astray.scene.operation.node
    statement = statement_of(here.scope, astray.scene.operation.node)
    parents = {id(child): node for node in ast.walk(statement or ast.Pass()) for child in ast.iter_child_nodes(node)}
    while inside is not None and id(inside) in parents:
        outer = parents[id(inside)]
        yield from (one for one in _parts(outer) if one is not inside)
        inside = outer if isinstance(outer, ast.expr) else None


def _parts(node: ast.AST) -> list[ast.expr]:
    """The values that an operation combines, or that a call is given."""
    match node:
        case ast.BinOp(left=left, right=right):
            return [left, right]
        case ast.Compare(left=left, comparators=others):
            return [left, *others]
        case ast.Call(args=args, keywords=keywords):
            return [*args, *(one.value for one in keywords)]
    return []


def _passed_beside(link: Link) -> Iterator[ast.expr]:
    """The other arguments of the call that passed the value."""
    for node in own_nodes(link.scope.definition):
        given = _parts(node) if isinstance(node, ast.Call) else []
        if any(one is link.node for one in given):
            yield from (one for one in given if one is not link.node and not _is_read_on_cpu(link.scope, one))


def _taken_beside(link: Link) -> Iterator[ast.expr]:
    """The first use, further down, of the other variables that the same statement gave values."""
    assert link.statement is not None
    names = {target.id: target for target, _, _ in targets_of(link.statement) if isinstance(target, ast.Name)}
    line = link.scope.site.line if link.scope.site is not None else 0
    for name in names if len(names) > 1 else ():
        named = (one for one in own_nodes(link.scope.definition) if isinstance(one, ast.Name))
        uses = [one for one in named if one.id == name and one.lineno >= line and isinstance(one.ctx, ast.Load)]
        first = min(uses, key=lambda one: (one.lineno, one.col_offset), default=None)
        if first is not None and not _is_read_on_cpu(link.scope, first):
            yield first


def _is_read_on_cpu(scope: Scope, node: ast.expr) -> bool:
    """Whether the program moves the value, or reads it on the CPU, wherever the function uses it."""
    text, line = ast.unparse(node), scope.site.line if scope.site is not None else 0
    for one in own_nodes(scope.definition):
        match one:
            case ast.Call(func=ast.Attribute(value=receiver, attr=name)) if ast.unparse(receiver) == text:
                if name in _READS or (name in MOVES and one.lineno >= line):
                    return True
    return not any(True for _ in tensors_in(scope.reader.value(node)))


_READS = frozenset({"numpy", "tolist", "item"})
"""Methods that read a tensor, most cheaply on the CPU."""
