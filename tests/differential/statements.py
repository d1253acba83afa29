"""Generates statements: bindings, changes in place, branches, loops and context managers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from tests.differential.expressions import expression, fresh, moved
from tests.differential.program import Statement
from tests.differential.scope import Kind, Scope

TENSORS: tuple[Kind, ...] = ("scalar", "vector", "matrix", "index", "mask")

_OFTEN: tuple[Kind, ...] = (*TENSORS, "matrix", "matrix", "matrices", "named", "module", "module")

OPAQUE = "len(sys.argv) {} 9"
"""A condition that nobody knows before the program runs; with `<` it holds."""


def statements(scope: Scope, count: int) -> tuple[Statement, ...]:
    """So many statements, one after the other."""
    found: list[Statement] = []
    for _ in range(count):
        found += scope.dice.choice(_COMPOUND if scope.depth < 2 and scope.chance(0.2) else _SIMPLE)(scope)
    return tuple(found)


def bind(scope: Scope, kind: Kind | None = None) -> list[Statement]:
    """A new name."""
    chosen = kind if kind is not None else scope.dice.choice(_OFTEN)
    value = expression(scope, chosen)
    return [_binding(scope, scope.new(chosen), chosen, value)]


def _binding(scope: Scope, name: str, kind: Kind, value: str) -> Statement:
    instead = {"matrices": "[torch.ones(3, 3), torch.ones(3, 3)]", "module": "nn.Linear(3, 3)"}.get(kind)
    if kind == "named":
        instead = "{'a': torch.ones(3, 3), 'b': torch.ones(3, 3)}"
    return Statement(f"{name} = {value}", instead=f"{name} = {instead or fresh(scope, kind, scope.home)}")


def _rebind(scope: Scope) -> list[Statement]:
    kind = scope.dice.choice([*TENSORS, "matrices", "named"])
    name = scope.pick(kind)
    return bind(scope) if name is None or "." in name else [_binding(scope, name, kind, expression(scope, kind))]


def _move(scope: Scope) -> list[Statement]:
    kind = scope.dice.choice([*TENSORS, "module"])
    name = scope.pick(kind)
    if name is None or "." in name:
        return bind(scope)
    how = moved(scope) if kind != "module" else scope.dice.choice([f".to({scope.device()})", ".cuda()", ".cpu()"])
    keeps = scope.chance(0.5 if kind == "module" else 0.85)
    return [Statement(f"{name} = {name}{how}" if keeps else f"{name}{how}")]


def _in_place(scope: Scope) -> list[Statement]:
    name = scope.pick("matrix")
    if name is None or "." in name:
        return bind(scope)
    forms: list[Callable[[], str]] = [
        lambda: f"{name} {scope.dice.choice('+-*/')}= {expression(scope, 'matrix', 1)}",
        lambda: f"{name} *= {expression(scope, 'scalar', 1)}",
        lambda: f"{name}.add_({expression(scope, 'vector', 1)})",
        lambda: f"{name}.copy_({expression(scope, 'matrix', 1)})",
        lambda: f"{name}[0] = {expression(scope, 'vector', 1)}",
        lambda: f"{name}[{expression(scope, 'mask', 1)}] = {expression(scope, 'scalar', 1)}",
        lambda: f"{name}.zero_()",
        lambda: f"{name}.data = {name}.data{moved(scope)}",
    ]
    return [Statement("with torch.no_grad():", (Statement(scope.dice.choice(forms)()),))]


def _container(scope: Scope) -> list[Statement]:
    several, named = scope.pick("matrices"), scope.pick("named")
    if several is None or named is None:
        return bind(scope, scope.dice.choice(["matrices", "named"]))
    forms: list[Callable[[], str]] = [
        lambda: f"{several}.append({expression(scope, 'matrix', 1)})",
        lambda: f"{several}[0] = {expression(scope, 'matrix', 1)}",
        lambda: f"{several}.insert(0, {expression(scope, 'matrix', 1)})",
        lambda: f"{named}['{scope.dice.choice('ab')}'] = {expression(scope, 'matrix', 1)}",
        lambda: f"{named}.update(a={expression(scope, 'matrix', 1)})",
        lambda: f"{named}['a'], {named}['b'] = {named}['b'], {named}['a']",
    ]
    if scope.chance(0.3):
        popped = f"{several}.pop(0) if len({several}) > 2 else {several}[0]"
        return [_binding(scope, scope.new("matrix"), "matrix", popped)]
    return [Statement(scope.dice.choice(forms)())]


def _swap(scope: Scope) -> list[Statement]:
    first, second = scope.pick("matrix"), scope.pick("matrix")
    if first is None or second is None or first == second or "." in first + second:
        return bind(scope)
    return [Statement(f"{first}, {second} = {second}, {first}")]


def _leave(scope: Scope) -> list[Statement]:
    inner = expression(scope, "vector", 1)
    forms = [
        f"print({inner}.sum().item())",
        f"print({inner}.tolist())",
        f"print({inner}.cpu().numpy())",
        f"{inner}.size(0)",
    ]
    return [Statement(scope.dice.choice(forms))]


def _branch(scope: Scope) -> list[Statement]:
    """`if`, with or without `else`; names bound inside are not used afterwards."""
    tensor = scope.pick("matrix", "vector")
    conditions = [OPAQUE.format("<"), OPAQUE.format(">"), "torch.cuda.is_available()", "torch.cuda.device_count() > 1"]
    if tensor is not None:
        conditions += [
            f"{tensor}.is_cuda",
            f"{tensor}.device.type == 'cpu'",
            f"{tensor}.dim() > 1",
            f"not {tensor}.is_cuda",
        ]
    found = [replace(_block(scope, f"if {scope.dice.choice(conditions)}:"), instead="if True: pass")]
    if scope.chance(0.5):
        found.append(replace(_block(scope, "else:"), instead="else: pass"))
    return found


def _loop(scope: Scope) -> list[Statement]:
    several = scope.pick("matrices")
    if several is None or scope.chance(0.4):
        return [_block(scope, scope.dice.choice(["for step in range(2):", "for step in [0, 1, 2]:"]))]
    before = scope.kept()
    name = scope.new("matrix")
    found = _block(scope, f"for {name} in {several}:")
    scope.names = before
    return [found]


def _context(scope: Scope) -> list[Statement]:
    heads = ["with torch.no_grad():", f"with torch.device({scope.device()}):", "with torch.cuda.device(1):"]
    return [_block(scope, scope.dice.choice(heads))]


def _block(scope: Scope, head: str) -> Statement:
    before = scope.kept()
    scope.depth += 1
    body = statements(scope, scope.dice.randint(1, 3))
    scope.depth -= 1
    scope.names = before
    return Statement(head, body)


_SIMPLE = (bind, bind, bind, bind, _rebind, _rebind, _move, _move, _in_place, _container, _swap, _leave)
_COMPOUND = (_branch, _branch, _loop, _context)
