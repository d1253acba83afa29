"""DataParallel and DistributedDataParallel around a module that is not on the first of their devices.

The line that wraps the module names the devices, so it is the cause, wherever the error is raised. The other tensors of
the program usually are where the module is: the list of devices gives way to the module if it names that device too.
"""

from __future__ import annotations

import ast
import functools
from dataclasses import replace
from typing import NamedTuple

import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from devlint_guard.advise.candidates import node_of
from devlint_guard.advise.edits import followed_by, preceded_by, replaced
from devlint_guard.explain.blame import arguments_of, blamed, first_name, terms_of, whole_expression
from devlint_guard.explain.links import How, Link, shortened
from devlint_guard.explain.messages import Message
from devlint_guard.explain.operands import Scene, operand
from devlint_guard.explain.trail import constructed, way_of
from devlint_guard.finding import Change, Finding, Operand, Role, Step
from devlint_guard.program.expressions import Argument, as_device
from devlint_guard.program.frames import place_of, text_of
from devlint_guard.program.functions import Scope
from devlint_guard.program.stored import devices_of

Wrapper = nn.DataParallel[nn.Module] | DistributedDataParallel


def data_parallel(scene: Scene, message: Message) -> Finding:
    """The finding on a module that DataParallel has found elsewhere, or on devices that it refuses."""
    found = _parallel_operands(scene)
    wanted = next(iter(message.devices), "")
    has = next(iter(message.devices[1:]), "")
    text = f"`{first_name(found)}` has to be on {wanted}, the first of its `device_ids`, and has tensors on {has}"
    finding = Finding(
        "DEV401",
        text if wanted and has else f"`{first_name(found)}` does not go with its devices",
        operands=found,
        help=(
            f'move the module first: `.to("{wanted}")`' if wanted else "give CUDA devices only, each once",
            "the inputs may be anywhere: DataParallel scatters them",
        ),
        changes=_wrapped_moved(scene, found, wanted),
    )
    wrapper = next((one for one in reversed(scene.modules) if isinstance(one, nn.DataParallel)), None)
    return finding if wrapper is None or not has else _of_wrapping(scene, finding, wrapper, has)


def misplaced(scene: Scene) -> Finding | None:
    """The finding on DistributedDataParallel that takes the inputs to another device than that of its module."""
    for wrapper in reversed(scene.modules):
        ids = wrapper.device_ids if isinstance(wrapper, DistributedDataParallel) else None
        devices = devices_of(wrapper.module) if isinstance(wrapper, DistributedDataParallel) else []
        if ids and isinstance(wrapper, DistributedDataParallel) and devices and devices[0] != f"cuda:{ids[0]}":
            found = _parallel_operands(scene)
            text = f"`{first_name(found)}` takes its inputs to cuda:{ids[0]}, its `device_ids`, and is on {devices[0]}"
            return _of_wrapping(scene, Finding("DEV402", text, operands=found), wrapper, devices[0])
    return None


# --- the line that wraps ------------------------------------------------------------------------------------


class _Wrapping(NamedTuple):
    """The call that wraps a module, and where it is given the devices."""

    scope: Scope
    call: ast.Call
    ids: Link | None

    @property
    def step(self) -> Step:
        """As a report tells it."""
        return Step(f"is wrapped by `{shortened(self.scope.source.of(self.call))}`", self.scope.place(self.call))


def _of_wrapping(scene: Scene, finding: Finding, wrapper: Wrapper, device: str) -> Finding:
    """A finding with the line that wraps the module, and the change of the devices that it names there."""
    wrapping = _wrapping(scene, wrapper)
    if wrapping is None or not finding.operands:
        return finding
    first, *others = finding.operands
    links = [] if wrapping.ids is None else way_of(scene.sites, wrapping.ids, "")
    lines = {wrapping.step.place}
    told = [
        Step(f"has its `device_ids` from `{shortened(one.text)}`", one.step.place)
        for one in links[:0:-1]
        if one.step.place not in lines
    ]
    finding = replace(finding, operands=(replace(first, history=(*told, wrapping.step)), *others))
    change = _with_device_first(wrapper, links, device)
    if change is None:
        return finding
    text = f"name the device of the module, {device}, first: the outputs are gathered there"
    if isinstance(wrapper, DistributedDataParallel):
        text = f"name the device of the module, {device}"
    return replace(finding, help=(text, *finding.help[1:]), changes=(change,))


def _wrapping(scene: Scene, wrapper: Wrapper) -> _Wrapping | None:
    made = constructed(scene.sites, wrapper)
    if made is None:
        return None
    scope, call = made
    ids = _ids_of(call, 1)
    if ids is None and isinstance(scope.reader.value(call.func), functools.partial):
        for link in way_of(scene.sites, Link(How.HERE, scope, call.func), ""):
            if isinstance(link.node, ast.Call) and (given := _ids_of(link.node, 2)) is not None:
                return _Wrapping(link.scope, link.node, Link(How.PASSED, link.scope, given, variable="device_ids"))
    return _Wrapping(scope, call, None if ids is None else Link(How.PASSED, scope, ids, variable="device_ids"))


def _ids_of(call: ast.Call, position: int) -> ast.expr | None:
    named = next((one.value for one in call.keywords if one.arg == "device_ids"), None)
    return call.args[position] if named is None and len(call.args) > position else named


def _with_device_first(wrapper: Wrapper, links: list[Link], device: str) -> Change | None:
    """The list of devices with that of the module first, where it is written out; otherwise where it is passed."""
    index, ids = torch.device(device).index, list(wrapper.device_ids or ())
    is_alone = isinstance(wrapper, DistributedDataParallel) and index is not None
    if not links or (index not in ids and not is_alone):
        return None
    ordered = [index] if is_alone else [index, *(one for one in ids if one != index)]
    for link in links:
        written = _written_out(link.node)
        if written is not None and written == ids:
            inside = ", ".join(map(str, ordered))
            text = f"({inside},)" if isinstance(link.node, ast.Tuple) else f"[{inside}]"
            return replaced(link.scope, link.node, text)
    text = links[0].text
    if is_alone:
        return None
    return replaced(links[0].scope, links[0].node, f"sorted({text})" if ordered == sorted(ids) else str(ordered))


def _written_out(node: ast.expr) -> list[int] | None:
    """The numbers of a list or tuple that the source writes out."""
    if not isinstance(node, (ast.List, ast.Tuple)):
        return None
    values = [one.value for one in node.elts if isinstance(one, ast.Constant) and type(one.value) is int]
    return [one for one in values if isinstance(one, int)] if len(values) == len(node.elts) else None


# --- where the line that fails is the one that wraps, or nothing tells of that one -----------------------------


def _wrapped_moved(scene: Scene, found: tuple[Operand, ...], wanted: str) -> tuple[Change, ...]:
    """A line before the call that moves the module; where it is wrapped on the failing line, the module in the call."""
    place = node_of(scene, found[0]) if found and wanted else None
    if place is None or found[0].role is not Role.MODULE:
        return ()
    scope, node = place
    operation = scene.operation.node if scene.operation else None
    if isinstance(operation, ast.Call) and node is operation.func:
        change = preceded_by(scope, node, f'{scope.source.of(node)}.to("{wanted}")')
    else:
        change = followed_by(scope, node, f'.to("{wanted}")')
    return () if change is None else (change,)


def distributed(scene: Scene, message: Message) -> Finding:
    """The finding on a module that DistributedDataParallel refuses."""
    found = _parallel_operands(scene)
    return Finding(
        "DEV402",
        f"`{first_name(found)}`: the module and its `device_ids` do not go together",
        operands=found,
        help=("move the module to one device and name that one, `device_ids=[local_rank]`; leave it out on the CPU",),
        changes=_moved_to_its_id(scene, found),
    )


def _moved_to_its_id(scene: Scene, found: tuple[Operand, ...]) -> tuple[Change, ...]:
    """The module in the call, moved to the one device that the call names, if the module is on the CPU as a whole."""
    place = node_of(scene, found[0]) if found and found[0].role is Role.MODULE else None
    ids = [one.node for one in arguments_of(scene) if one.keyword == "device_ids"]
    if place is None or len(ids) != 1 or not isinstance(ids[0], (ast.List, ast.Tuple)) or len(ids[0].elts) != 1:
        return ()
    scope, node = place
    value = scope.reader.value(node)
    if not isinstance(value, nn.Module) or devices_of(value) != ["cpu"]:
        return ()
    change = followed_by(scope, node, f".to({scope.source.of(ids[0].elts[0])})")
    return () if change is None else (change,)


def _parallel_operands(scene: Scene) -> tuple[Operand, ...]:
    """The module that is wrapped, or called, and the device ids that it is given."""
    if scene.user is None or scene.operation is None:
        return whole_expression(scene, "")
    modules = [operand(scene, one) for one in terms_of(scene) if isinstance(one.value, nn.Module)]
    node = scene.operation.node
    if not modules and isinstance(node, ast.Call):
        wrapped = node.func if isinstance(node.func, ast.Call) else next(iter(node.args), node.func)
        modules = [Operand(text_of(scene.user, wrapped), Role.MODULE, "", place=place_of(scene.user, wrapped))]
    ids = [one for one in arguments_of(scene) if one.keyword in ("device_ids", "output_device")]
    ids += [one for one in arguments_of(scene) if not one.keyword and isinstance(one.node, ast.List)]
    # A device that is none of CUDA is wrong with any module.
    ids.sort(key=lambda one: not _is_on_cpu(one))
    named = [Operand(one.text, Role.UNKNOWN, "", place=place_of(scene.user, one.node)) for one in ids]
    return blamed([*named, *modules[:1]] if ids and _is_on_cpu(ids[0]) else [*modules[:1], *named])


def _is_on_cpu(argument: Argument) -> bool:
    device = as_device(argument.value)
    return device is not None and device.type == "cpu"
