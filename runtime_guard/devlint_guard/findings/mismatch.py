"""Values that must be together and are not: which of them to move, under which code, and how."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import torch
from torch import nn

from devlint_guard.advise.candidates import candidates
from devlint_guard.advise.left_behind import MOVE_FIRST, Astray, order_of, parameter_of, register_as_buffer, tensor_of
from devlint_guard.explain.cause import Cause, cause_of, history_of, tensor_on
from devlint_guard.explain.line_values import finding_about
from devlint_guard.explain.links import Link, steps_of
from devlint_guard.explain.messages import Message, Trouble
from devlint_guard.explain.operands import Met, Scene, found_operand, is_meta_deliberate, meeting, most_suspect
from devlint_guard.explain.trail import trail
from devlint_guard.finding import Advice, Finding, Operand, Role, Step
from devlint_guard.findings.parallel import misplaced
from devlint_guard.program import naming
from devlint_guard.program.expressions import attached
from devlint_guard.program.stored import device_of_part, devices_of


def apart(scene: Scene, message: Message) -> Finding:
    """The finding on values that are apart, when PyTorch has raised."""
    if "function" in message.fields:
        return _of_backward(message)
    found = misplaced(scene)
    return found if found is not None else finding_on(scene, meeting(scene, message), message)


def finding_on(scene: Scene, met: Sequence[Met], message: Message) -> Finding:
    """The finding about values on different devices, for every source of that knowledge."""
    if message.trouble is Trouble.INDEX:
        # Indices on the CPU select from anything.
        met = [one for index, one in enumerate(met) if index == 0 or one.operand.device != "cpu"]
    blamed = most_suspect(scene, met, message)
    ordered = [met[blamed], *met[:blamed], *met[blamed + 1 :]] if met else []
    if not ordered or len({one.operand.device for one in ordered}) < 2:
        text = "values on different devices meet"
        if len(message.devices) > 1:
            text = f"a value on {message.devices[0]} meets one on {message.devices[1]}"
        return Finding("DEV101", text, operands=tuple(one.operand for one in ordered))
    first, second = ordered[0], next(one for one in ordered if one.operand.device != ordered[0].operand.device)
    others = [one for one in ordered[1:] if one is not second]
    links = _way_of(scene, first)
    code = _code(scene, first, second, message)
    astray = Astray(scene, first, links, second.device, second.node)
    tensor, there = tensor_on(first.exact, first.device), tensor_on(second.exact, second.device)
    cause = None
    if tensor is not None and code != "DEV602":
        cause = cause_of(tensor, second.device, there, scene.roots, tensor_of(astray))
    parameter = parameter_of(scene, first.exact) if code == "DEV206" else None
    order = order_of(scene, parameter, first.exact) if code == "DEV206" else None
    advice = _advice(scene, code, first, second, astray, others, cause) if order is None else []
    remedy = advice[0] if advice else None
    told = () if remedy is None or remedy.cause is None else (remedy.cause,)
    history, changes = told or _recorded(first) or steps_of(links), () if remedy is None else remedy.changes
    if order is not None:
        history, changes = order
        second = second if parameter is None else Met(found_operand(scene, parameter), parameter)
    elif cause is not None:
        history = told if told and told[0] not in cause.steps else cause.steps
    first = replace(first, operand=replace(first.operand, history=history))
    met_there = replace(second.operand, history=_recorded(second))
    operands = (replace(first.operand, blamed=True), met_there, *(one.operand for one in others))
    text = _text(scene, code, first.operand, second.operand)
    return Finding(
        code,
        text,
        operands=operands,
        help=tuple(_help(scene, code, first, second, remedy)),
        changes=changes,
        advice=tuple(advice),
    )


# --- where it comes from ------------------------------------------------------------------------------------


def _way_of(scene: Scene, met: Met) -> list[Link]:
    """The way of the blamed value back, the failing line first; empty if it is not on that line."""
    if met.node is None or scene.carried is not None:
        return []
    return trail(scene, met.node, met.device, met.value)


def _recorded(met: Met) -> tuple[Step, ...]:
    """Where a value was created and moved, if the run was recorded."""
    return met.operand.history or (history_of(met.exact) if isinstance(met.exact, torch.Tensor) else ())


def _advice(
    scene: Scene, code: str, blamed: Met, other: Met, astray: Astray, others: Sequence[Met], cause: Cause | None
) -> list[Advice]:
    if code == "DEV602" or not (astray.links or blamed.operand.role is Role.MODULE):
        return []
    found = candidates(astray, others, cause)
    if "cpu" not in (blamed.operand.device, other.operand.device) and other.node is not None:
        # Of two accelerators, either may be meant.
        found += candidates(Astray(scene, other, _way_of(scene, other), blamed.device, blamed.node))
    return found


def _of_backward(message: Message) -> Finding:
    """On a gradient that a function of the user's has made; where it stands is on no frame."""
    name = message.fields["function"]
    wanted, has = message.devices
    made = (Operand(name, Role.GRADIENT, has, blamed=True),)
    remedy = "return gradients on the device of the values that they belong to"
    return finding_about("DEV101", made, f"has made a gradient on {has} of one on {wanted}", remedy)


def _text(scene: Scene, code: str, blamed: Operand, other: Operand) -> str:
    operation = "" if scene.carried else scene.operation.text
    if code == "DEV102" and other.role is Role.MODULE:
        return f"`{blamed.name}` is on {blamed.device}, but `{other.name}`, which takes it, is on {other.device}"
    if blamed.role is Role.MODULE and code in ("DEV102", "DEV108", "DEV202"):
        why = ": `.to()` skips modules in a Python list or dict" if code == "DEV202" else ""
        return f"`{blamed.name}` is on {blamed.device}, but its input `{other.name}` is on {other.device}{why}"
    if code == "DEV206" and other.role is Role.PARAMETER:
        return f"the optimizer's {blamed.name} is on {blamed.device}, the parameter on {other.device}"
    both = f"`{blamed.name}` is on {blamed.device} and `{other.name}` on {other.device}"
    if code == "DEV104":
        return f"{both}: an index selects from one device"
    return f"{both}: `{operation}` needs both on the same device" if operation else both


# --- which code ---------------------------------------------------------------------------------------------


def _code(scene: Scene, blamed: Met, other: Met, message: Message) -> str:
    role = blamed.operand.role
    is_empty = "meta" in (blamed.operand.device, other.operand.device)
    if is_empty and not is_meta_deliberate(scene, (blamed, other)):
        return "DEV602"
    if Role.OPTIMIZER_STATE in (role, other.operand.role):
        return "DEV206"
    if message.trouble is Trouble.INDEX:
        return "DEV104"
    if role is Role.ATTRIBUTE:
        return "DEV108" if _is_criterion(scene) else "DEV201"
    if role is Role.MODULE and isinstance(blamed.value, nn.Module):
        if "[" in naming.module_path(blamed.value, scene.roots):  # of a plain container
            return "DEV202"
        if len(devices_of(blamed.value)) > 1:
            return "DEV601"
    if role in (Role.BUFFER, Role.MODULE) and _is_criterion(scene, blamed.value):
        return "DEV108"
    is_input = blamed.node is None or other.node is not None or other.operand.role in (Role.ARGUMENT, Role.TEMPORARY)
    if Role.MODULE in (role, other.operand.role) and is_input:
        return "DEV102"
    return "DEV101"


def _is_criterion(scene: Scene, value: object = None) -> bool:
    """Whether a loss, or a metric, is being called."""
    modules = [value] if isinstance(value, nn.Module) else scene.modules[-1:]
    return any(type(module).__module__.startswith(("torch.nn.modules.loss", "torchmetrics")) for module in modules)


# --- what to change -----------------------------------------------------------------------------------------


def _help(scene: Scene, code: str, blamed: Met, other: Met, remedy: Advice | None) -> list[str]:
    mine, target = blamed.operand, _device_expression(other)
    if code == "DEV602":
        return [f"`{mine.name}` has no data: load its checkpoint (is a key missing?) or materialise it with `to_empty`"]
    if remedy is not None:
        return [remedy.text]
    if code == "DEV206":
        return [MOVE_FIRST]
    if code == "DEV202":
        what = "keep the modules in `nn.ModuleList` or `nn.ModuleDict`"
        return [f"{what}, so that they move with the module that holds them"]
    key = mine.qualified.rpartition(".")[2] or mine.name
    if mine.role is Role.ATTRIBUTE and key.isidentifier():
        return [register_as_buffer(key)]
    if mine.role in (Role.BUFFER, Role.PARAMETER):
        return [f"move the module that holds it, after everything is attached to it: `.to({target})`"]
    is_told = mine.name and (blamed.node is not None or mine.role is Role.MODULE)
    return [f"move it: `{attached(mine.name)}.to({target})`"] if is_told else []


def _device_expression(met: Met) -> str:
    """How the user's source may write the device of a value."""
    name = met.operand.name
    if met.operand.role is Role.MODULE and name:
        part = device_of_part(name, met.value) if isinstance(met.value, nn.Module) else ""
        return part or f'"{met.operand.device}"'
    if name.replace(".", "").replace("_", "").isalnum() and met.operand.role is not Role.TEMPORARY:
        return f"{name}.device"
    return f'"{met.operand.device}"'
