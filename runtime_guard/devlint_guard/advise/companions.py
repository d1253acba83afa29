"""Values that are astray together with the one that an error names: the same change has to reach them too.

They meet the same values on the same line, are passed in the same call, or are taken from the same batch and used
further down. A value that the program reads on the CPU is none of them.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

import torch

from devlint_guard.advise.astray import Astray
from devlint_guard.advise.edits import statement_of
from devlint_guard.explain.cores import MOVES
from devlint_guard.explain.links import How, Link
from devlint_guard.explain.operands import Met
from devlint_guard.finding import Operand, Role
from devlint_guard.program.bindings import own_nodes, targets_of
from devlint_guard.program.functions import Scope
from devlint_guard.program.stored import tensors_in

Found = tuple[Scope, ast.expr, How]


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


def _candidates(astray: Astray, others: Sequence[Met]) -> Iterator[Found]:
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
