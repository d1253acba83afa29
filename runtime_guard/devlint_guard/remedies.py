"""The change that brings a value to where it is needed, of the user's own lines: the nearest to the cause that holds.

A change is offered only where it can be carried out: the names in it are bound on its line, a variable is exchanged
only if it holds a tensor and is local, and what an operation fills in place is never exchanged for a copy.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import torch
from torch import nn

from devlint_guard import naming
from devlint_guard.bindings import bindings, is_name
from devlint_guard.edits import followed_by, preceded_by, replaced, statement_of, with_keyword
from devlint_guard.expressions import attached
from devlint_guard.finding import Change, Finding, Operand, Role, Step
from devlint_guard.frames import Site, node_at
from devlint_guard.operands import Met, Scene
from devlint_guard.stored import UNKNOWN, dictionary_of, modules_in, registered_in
from devlint_guard.targets import device_at, devices_at
from devlint_guard.trail import MOVES, How, Link, Scope, of_global, steps_of, trail


@dataclass(frozen=True, slots=True)
class Remedy:
    """One thing to do.

    Attributes:
        text: in the imperative.
        change: the line that does it.
        cause: the action at that place.
    """

    text: str
    change: Change
    cause: Step | None = None


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


def remedy_for(astray: Astray) -> Remedy | None:
    """The best change; None where none can be carried out."""
    return next(_remedies(astray), None)


def _remedies(astray: Astray) -> Iterator[Remedy]:
    if astray.device == "meta":
        return
    module = _module_of(astray)
    if module is not None:
        yield from _of_module(astray, module)
        return
    if not astray.links:
        return
    if _is_written(astray):
        yield from _of_line(astray)
        return
    yield from _of_attribute(astray)
    yield from _of_creation(astray)
    yield from _of_move(astray)
    yield from _of_variable(astray)
    yield from _of_line(astray)


# --- a module -----------------------------------------------------------------------------------------------


def _module_of(astray: Astray) -> nn.Module | None:
    """The module that was left behind with the value: itself, or the one that registers it."""
    value = astray.met.value
    if isinstance(value, nn.Module):
        return value
    if not astray.links:
        return None
    here = astray.links[0]
    part = here.scope.reader.value(here.core(astray.met.operand.device))
    tensor = part if isinstance(part, torch.Tensor) else value
    if not isinstance(tensor, torch.Tensor):
        return None
    found = naming.name_of(tensor, astray.scene.roots)
    if found.role not in (Role.PARAMETER, Role.BUFFER):
        return None
    for root in astray.scene.roots.values():
        for _, module in naming.paths_of_modules(root, ""):
            if any(one is tensor for name in ("_parameters", "_buffers") for one in _table(module, name)):
                return module
    return None


def _table(module: nn.Module, name: str) -> list[object]:
    table = dictionary_of(module).get(name)
    return list(table.values()) if isinstance(table, dict) else []


def _of_module(astray: Astray, module: nn.Module) -> Iterator[Remedy]:
    if _is_in_plain_container(astray, module):
        yield from _kept_in_container(astray, module)
    device = astray.met.operand.device.partition(" and ")[0]
    for site in astray.scene.sites:
        scope = Scope.at(site) if site.is_user else None
        if scope is None:
            continue
        for name, holder in _holders(scope, module):
            if {str(one.device) for one in registered_in(holder)} == {device} or holder is module:
                yield from _moved_module(astray, scope, site, name)
    yield from _of_file(astray, module)


def _of_file(astray: Astray, module: nn.Module) -> Iterator[Remedy]:
    """A module that a variable of the file holds is moved on the line that makes it."""
    scope = None if astray.scene.user is None else Scope.at(astray.scene.user)
    for name, value in scope.more_names.items() if scope is not None and not scope.is_module else ():
        if isinstance(value, nn.Module) and any(one is module for one in modules_in(value)):
            assert scope is not None
            link = of_global(scope, name)
            if link is not None and isinstance(link.node, ast.Call):
                change = followed_by(link.scope, link.node, f".to({device_at(link.scope, link.node, astray.device)})")
                if change is not None:
                    told = Step(f"is part of `{name}`, made by `{link.text}`", link.scope.place(link.node))
                    yield Remedy("move the module to where its input is", change, told)


def _holders(scope: Scope, module: nn.Module) -> Iterator[tuple[str, nn.Module]]:
    """The variables of a scope that hold a module: the outermost module first."""
    for name, value in scope.names.items():
        if isinstance(value, nn.Module) and any(one is module for one in modules_in(value)):
            yield name, value
    for name, value in scope.names.items():
        if not isinstance(value, type) and not name.startswith("__"):
            parts = dictionary_of(value)
            parts = {**parts, **_modules_table(value)}
            for key, part in parts.items():
                if isinstance(part, nn.Module) and any(one is module for one in modules_in(part)):
                    yield f"{name}.{key}", part


def _modules_table(value: object) -> dict[str, object]:
    table = dictionary_of(value).get("_modules") if isinstance(value, nn.Module) else None
    return dict(table) if isinstance(table, dict) else {}


def _moved_module(astray: Astray, scope: Scope, site: Site, name: str) -> Iterator[Remedy]:
    """The line that makes a module moves it too; otherwise a line before the one that uses it."""
    text = "move the module to where its input is"
    definition = scope.definition
    node = astray.links[0].node if astray.links and site is astray.scene.user else _call_at(site)
    if node is None or definition is None:
        return
    if name.isidentifier():
        if name == "self":
            return
        made = [one for one in scope.reaching(is_name(name), node) if one is not None]
        value = made[-1].value if made else None
        if isinstance(value, ast.Call) and _is_alone(made[-1].statement):
            change = followed_by(scope, value, f".to({device_at(scope, value, astray.device)})")
            if change is not None:
                yield Remedy(
                    text, change, Step(f"is part of `{name}`, made by `{scope.source.of(value)}`", scope.place(value))
                )
        if name in scope.parameters and not made:
            return  # its caller has it too
    else:
        yield from _made_in_constructor(astray, scope, name, text)
    change = preceded_by(scope, node, f"{name}.to({device_at(scope, node, astray.device, astray.other)})")
    if change is not None:
        yield Remedy(text, change)


def _made_in_constructor(astray: Astray, scope: Scope, name: str, text: str) -> Iterator[Remedy]:
    """`self.net = Net()` of an object that is no module, on the line that makes it."""
    owner_name, _, key = name.partition(".")
    owner = scope.names.get(owner_name, UNKNOWN)
    if isinstance(owner, nn.Module):
        return
    for function in (one for base in type(owner).__mro__ for one in vars(base).values() if hasattr(one, "__code__")):
        inside = Scope.of(function, owner)
        definition = None if inside is None else inside.definition
        for statement, target, value in bindings(definition) if definition is not None else ():
            if isinstance(target, ast.Attribute) and target.attr == key and isinstance(value, ast.Call):
                assert inside is not None
                device = next(devices_at(inside, statement, astray.device), "")
                change = followed_by(inside, value, f".to({device})") if device else None
                if change is not None:
                    yield Remedy(text, change)


def _is_alone(statement: ast.AST) -> bool:
    """Whether an assignment gives one variable one value."""
    return isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name)


def _call_at(site: Site) -> ast.expr | None:
    node = node_at(site)
    return node if isinstance(node, ast.expr) else getattr(node, "value", None)


def _is_in_plain_container(astray: Astray, module: nn.Module) -> bool:
    return "[" in naming.module_path(module, astray.scene.roots)


def _kept_in_container(astray: Astray, module: nn.Module) -> Iterator[Remedy]:
    """The plain list or dict of modules becomes one that moves with the module that holds it."""
    for root in astray.scene.roots.values():
        for _, holder in naming.paths_of_modules(root, ""):
            for key, value in dictionary_of(holder).items():
                inside = (
                    value if isinstance(value, (list, tuple)) else value.values() if isinstance(value, dict) else ()
                )
                if key.startswith("_") or not any(
                    isinstance(one, nn.Module) and any(part is module for part in modules_in(one)) for one in inside
                ):
                    continue
                kind = "ModuleDict" if isinstance(value, dict) else "ModuleList"
                yield from _wrapped(holder, key, kind)


def _wrapped(holder: nn.Module, key: str, kind: str) -> Iterator[Remedy]:
    for function in (one for base in type(holder).__mro__ for one in vars(base).values() if hasattr(one, "__code__")):
        inside = Scope.of(function, holder)
        definition = None if inside is None else inside.definition
        if inside is None or definition is None:
            continue
        name = _name_of_torch_nn(inside)
        for _, target, value in bindings(definition):
            if isinstance(target, ast.Attribute) and target.attr == key and name:
                change = replaced(inside, value, f"{name}.{kind}({inside.source.of(value)})")
                if change is None and value.end_lineno is not None:
                    continue
                if change is not None:
                    text = f"keep the modules in `nn.{kind}`, so that they move with the module that holds them"
                    container = "dict" if kind == "ModuleDict" else "list"
                    told = f"is kept in `{inside.source.of(target)}`, a Python {container}"
                    yield Remedy(text, change, Step(told, inside.place(value)))


def _name_of_torch_nn(scope: Scope) -> str:
    """What the file calls `torch.nn`."""
    for name, value in scope.more_names.items():
        if value is nn:
            return name
    return next((f"{name}.nn" for name, value in scope.more_names.items() if value is torch), "")


# --- a tensor -----------------------------------------------------------------------------------------------


def _is_written(astray: Astray) -> bool:
    """Whether the failing operation fills the value in place: a copy would be filled instead."""
    operation = astray.scene.operation
    node = None if operation is None else operation.node
    match node:
        case ast.AugAssign(target=target):
            return target is astray.links[0].node
        case ast.Subscript(ctx=ast.Store(), value=value):
            return value is astray.links[0].node
        case ast.Call(func=ast.Attribute(value=receiver, attr=name)):
            return receiver is astray.links[0].node and name.endswith("_") and not name.endswith("__")
    return False


def _of_attribute(astray: Astray) -> Iterator[Remedy]:
    """A tensor that a module has in a plain attribute becomes a buffer, if the constructor alone assigns it."""
    for link in astray.links[1:]:
        own, _, name = link.variable.partition(".")
        if link.how is not How.ASSIGNED or not name or link.scope.code.co_name != "__init__":
            continue
        owner = link.scope.names.get(own)
        if not isinstance(owner, nn.Module) or not isinstance(dictionary_of(owner).get(name), torch.Tensor):
            continue
        statement = link.statement
        if (
            isinstance(statement, ast.Assign)
            and len(statement.targets) == 1
            and statement.end_lineno == statement.lineno
        ):
            value = link.scope.source.of(statement.value)
            change = _statement_replaced(link.scope, statement, f'{own}.register_buffer("{name}", {value})')
            if change is not None:
                yield Remedy("register it, so that it moves with its module", change)


def _statement_replaced(scope: Scope, statement: ast.Assign, text: str) -> Change | None:
    target = ast.copy_location(ast.Name(""), statement)
    target.end_lineno, target.end_col_offset = statement.end_lineno, statement.end_col_offset
    return replaced(scope, target, text)


def _of_creation(astray: Astray) -> Iterator[Remedy]:
    """Where the value is created, it is created on the device."""
    for link in reversed(astray.links):
        reader = link.scope.reader
        call = link.core(astray.met.operand.device)
        if not isinstance(call, ast.Call) or (link.how is How.ASSIGNED and "." in link.variable):
            continue
        made = reader.creates(call)
        if not made:
            continue
        device = _device_beside(astray, link, call)
        if device is None:
            continue
        if made == "keyword":
            change = with_keyword(link.scope, call, "device", device)
        else:
            change = followed_by(link.scope, call, f".to({device})")
        if change is not None:
            yield Remedy("create it where it is used", change)


def _of_move(astray: Astray) -> Iterator[Remedy]:
    """Where the value was moved to a wrong device, it is moved to the right one."""
    for link in reversed(astray.links):
        call = link.core(astray.met.operand.device)
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute) or call.func.attr not in MOVES:
            continue
        device = next(
            devices_at(link.scope, call, astray.device, astray.other if link is astray.links[0] else None), ""
        )
        if not device:
            continue
        if call.func.attr == "to" and call.args:
            change = replaced(link.scope, call.args[0], device)
        else:
            change = replaced(link.scope, call, f"{link.scope.source.of(call.func.value)}.to({device})")
        if change is not None:
            yield Remedy("move it to the right device", change)


def _device_beside(astray: Astray, link: Link, call: ast.Call) -> str | None:
    """How the line that creates a value names the device that it is needed on."""
    other = astray.other if link.scope.site is astray.scene.user else None
    found = next(devices_at(link.scope, call, astray.device, other), None)
    if found is not None:
        return found
    for part in ast.walk(call):
        # The size of another tensor: what is made in its likeness is to be beside it.
        match part:
            case (
                ast.Attribute(value=ast.Name(id=name), attr="shape")
                | ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="size"))
            ) if name in link.scope.parameters and link.scope.site is None:
                return f"{name}.device"
    return f'"{astray.device}"' if link.scope.site is not None else None


def _of_variable(astray: Astray) -> Iterator[Remedy]:
    """A variable is moved before it is used, in the outermost function that holds just this tensor."""
    live = [one for one in astray.links if one.how in (How.HERE, How.PASSED) and one.scope.site is not None]
    told: list[Remedy] = []
    for link in reversed(live):
        scope, node = link.scope, link.node
        name = link.core(astray.met.operand.device)
        other = astray.other if scope.site is astray.scene.user else None
        device = next(devices_at(scope, node, astray.device, other), None)
        if isinstance(name, ast.Name) and _is_local(scope, name.id) and _holds(scope, name, astray):
            change = preceded_by(scope, node, f"{name.id} = {name.id}.to({device or _quoted(astray.device)})")
        elif not isinstance(node, ast.Name) and _holds(scope, node, astray):
            change = followed_by(scope, node, f".to({device or _quoted(astray.device)})")
        else:
            continue
        if change is not None:
            remedy = Remedy("move it before it is used", change)
            if device is not None:
                yield remedy
            else:
                told.append(remedy)
    yield from told


def _holds(scope: Scope, node: ast.expr, astray: Astray) -> bool:
    """Whether an expression stands for a tensor that is where the blamed one is."""
    value = scope.reader.value(node)
    return isinstance(value, torch.Tensor) and str(value.device) == astray.met.operand.device


def _is_local(scope: Scope, name: str) -> bool:
    """Whether an assignment to a variable is one to the variable that is read."""
    return scope.is_module or name in scope.code.co_varnames


def _of_line(astray: Astray) -> Iterator[Remedy]:
    """The expression itself is moved, on the failing line, or where a caller passes it."""
    for link in astray.links:
        if link.how not in (How.HERE, How.PASSED) or link.scope.site is None:
            continue
        if isinstance(link.node, ast.Starred) or statement_of(link.scope, link.node) is None:
            continue
        other = astray.other if link.scope.site is astray.scene.user else None
        device = device_at(link.scope, link.node, astray.device, other)
        if link.how is How.HERE and _is_written(astray):
            if astray.other is None:
                return
            device = device_at(link.scope, link.node, astray.met.operand.device, link.node)
            change = followed_by(link.scope, astray.other, f".to({device})")
            if change is not None:
                yield Remedy("bring the other value to the device of the tensor that changes in place", change)
            return
        if not _is_tensor(link.scope, link.node):
            continue
        change = followed_by(link.scope, link.node, f".to({device})")
        if change is not None:
            yield Remedy("move it where it is used", change)


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
        if isinstance(node, ast.expr) and node.lineno == operand.place.line and scope.place(node) == operand.place:
            return scope, node
    return None


def with_way(scene: Scene, finding: Finding) -> Finding:
    """A finding whose blamed operand tells how its value came to the line."""
    found = node_of(scene, finding.operands[0]) if finding.operands and not finding.operands[0].history else None
    if found is None or scene.user is None:
        return finding
    first, *others = finding.operands
    links = trail(scene.sites, scene.user, found[1], first.device)
    return replace(finding, operands=(replace(first, history=steps_of(links)), *others))


def with_method(scene: Scene, operand: Operand, suffix: str) -> tuple[Change, ...]:
    """An expression of the failing line with a method call behind it."""
    found = node_of(scene, operand)
    return () if found is None else _all(followed_by(*found, suffix))


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
                return _all(with_keyword(link.scope, node, name, value))
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
                return _all(replaced(link.scope, part, text))
    return ()


def moved_by_choice(scene: Scene, choice: str) -> tuple[Change, ...]:
    """The failing call of `cuda`, as one of `to` with a device that is chosen."""
    scope = None if scene.user is None else Scope.at(scene.user)
    node = scene.operation.node if scene.operation else None
    match node:
        case ast.Call(func=ast.Attribute(value=receiver, attr="cuda")) if scope is not None:
            return _all(replaced(scope, node, f"{attached(scope.source.of(receiver))}.to({choice})"))
    return ()


def _all(change: Change | None) -> tuple[Change, ...]:
    return () if change is None else (change,)
