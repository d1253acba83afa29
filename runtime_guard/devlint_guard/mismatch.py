"""Values that must be together and are not: which of them to move, under which code, and how."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from torch import nn

from devlint_guard import naming
from devlint_guard.expressions import attached
from devlint_guard.finding import Finding, Operand, Role
from devlint_guard.messages import Message, Trouble
from devlint_guard.operands import PASSED, Met, Scene, meeting, with_history
from devlint_guard.stored import devices_of


def apart(scene: Scene, message: Message) -> Finding:
    """The finding on values that are apart, when PyTorch has raised."""
    if "function" in message.fields:
        return _of_backward(message)
    return finding_on(scene, meeting(scene, message), message)


def finding_on(scene: Scene, met: Sequence[Met], message: Message) -> Finding:
    """The finding on values that are apart, in whatever way it is known that they met."""
    if message.trouble is Trouble.INDEX:
        # Indices on the CPU select from anything.
        met = [one for index, one in enumerate(met) if index == 0 or one.operand.device != "cpu"]
    blamed = _blamed(scene, met, message)
    ordered = [met[blamed], *met[:blamed], *met[blamed + 1 :]] if met else []
    if not ordered or len({one.operand.device for one in ordered}) < 2:
        return Finding("DEV101", _without_names(message), operands=tuple(one.operand for one in ordered))
    first, second = ordered[0], next(one for one in ordered if one.operand.device != ordered[0].operand.device)
    others = [one for one in ordered[1:] if one is not second]
    first = replace(first, operand=with_history(scene, first))
    operands = (replace(first.operand, blamed=True), second.operand, *(one.operand for one in others))
    code = _code(scene, first, second, message)
    text = _text(scene, code, first.operand, second.operand)
    return Finding(code, text, operands=operands, help=tuple(_help(scene, code, first, second)))


def _of_backward(message: Message) -> Finding:
    """On a gradient that a function of the user's has made; where it stands is on no frame."""
    name = message.fields["function"]
    wanted, has = message.devices
    made = Operand(name, Role.GRADIENT, has, blamed=True)
    return Finding(
        "DEV101",
        f"`{name}` has made a gradient on {has} of one on {wanted}",
        operands=(made,),
        help=("return gradients on the device of the values that they belong to",),
    )


def _without_names(message: Message) -> str:
    if len(message.devices) > 1:
        return f"a value on {message.devices[0]} meets one on {message.devices[1]}"
    return "values on different devices meet"


def _text(scene: Scene, code: str, blamed: Operand, other: Operand) -> str:
    operation = scene.operation.text if scene.operation and not scene.carried else ""
    if code == "DEV102" and other.role is Role.MODULE:
        return f"`{other.name}` is on {other.device} and its input `{blamed.name}` on {blamed.device}"
    both = f"`{blamed.name}` is on {blamed.device} and `{other.name}` on {other.device}"
    if code == "DEV104":
        return f"{both}: an index selects from one device"
    return f"{both}: `{operation}` needs one device" if operation else both


# --- which one ----------------------------------------------------------------------------------------------


def _blamed(scene: Scene, met: Sequence[Met], message: Message) -> int:
    """Which of the values to move: what is out of line with the module, what has no data, what the CPU has.

    PyTorch's text often names the innocent one, so it has no vote.
    """
    if not met:
        return 0
    replica = message.fields.get("replica")
    usual = f"cuda:{replica}" if replica else _usual_device(scene, met)
    ranks = [_rank(one, usual) for one in met]
    return ranks.index(max(ranks))


def _usual_device(scene: Scene, met: Sequence[Met]) -> str:
    """The device that holds most of the module around the line; empty where there is none."""
    given = [scene.roots[name] for name in scene.given]
    around = [module for module in scene.modules[:1] if not any(one.value is module for one in met)]
    devices = [device for module in given or around for device in devices_of(module)]
    return devices[0] if devices else ""


_SUSPICION = {
    Role.ATTRIBUTE: 3,
    Role.OPTIMIZER_STATE: 4,
    Role.GRADIENT: 1,
}


def _rank(met: Met, usual: str) -> tuple[int, ...]:
    operand = met.operand
    without_data = operand.device == "meta"
    # A module that is on the CPU may just as well be the one that was not moved.
    astray = usual not in ("", "cpu") and operand.device != usual
    on_cpu = operand.device == "cpu"
    named = operand.role is not Role.TEMPORARY
    return (without_data, astray, on_cpu, met.factory, _SUSPICION.get(operand.role, 0), named)


# --- which code ---------------------------------------------------------------------------------------------


def _code(scene: Scene, blamed: Met, other: Met, message: Message) -> str:
    role = blamed.operand.role
    if "meta" in (blamed.operand.device, other.operand.device):
        return "DEV602"
    if Role.OPTIMIZER_STATE in (role, other.operand.role):
        return "DEV206"
    if message.trouble is Trouble.INDEX:
        return "DEV104"
    if role is Role.ATTRIBUTE:
        return "DEV108" if _is_criterion(scene) else "DEV201"
    if role is Role.MODULE and _in_plain_container(scene, blamed):
        return "DEV202"
    if role is Role.MODULE and isinstance(blamed.value, nn.Module) and len(devices_of(blamed.value)) > 1:
        return "DEV601"
    if role in (Role.BUFFER, Role.MODULE) and _is_criterion(scene, blamed.value):
        return "DEV108"
    if other.operand.role is Role.MODULE or role is Role.MODULE:
        return "DEV102"
    return "DEV101"


def _is_criterion(scene: Scene, value: object = None) -> bool:
    """Whether a loss, or a metric, is being called."""
    modules = [value] if isinstance(value, nn.Module) else scene.modules[-1:]
    return any(type(module).__module__.startswith(("torch.nn.modules.loss", "torchmetrics")) for module in modules)


def _in_plain_container(scene: Scene, met: Met) -> bool:
    if not isinstance(met.value, nn.Module):
        return False
    path = naming.module_path(met.value, scene.roots)
    return path.endswith("]")


# --- what to change -----------------------------------------------------------------------------------------


def _help(scene: Scene, code: str, blamed: Met, other: Met) -> list[str]:
    mine, theirs = blamed.operand, other.operand
    target = _device_expression(other)
    if code == "DEV602":
        return [
            f"`{mine.name}` has no data: load its checkpoint (is a key missing?) or materialise it with `to_empty`",
        ]
    if code == "DEV206":
        return ["move the module before the optimizer takes its first step; `load_state_dict` brings the state along"]
    if code == "DEV202":
        return [
            "keep the modules in `nn.ModuleList` or `nn.ModuleDict`, so that they move with the module that holds them"
        ]
    if mine.role is Role.ATTRIBUTE:
        key = mine.qualified.rpartition(".")[2] or mine.name
        if key.isidentifier():
            return [f'register it, so that it moves with its module: `self.register_buffer("{key}", …)`']
        return [f"keep it as a buffer, not in a container, or move it where it is used: `{moved(mine.name, target)}`"]
    if blamed.factory:
        return [f"create it where it is used: `{_with_device(mine.name, target)}`"]
    if mine.role is Role.MODULE:
        return [f"move the module to where its input is: `{moved(mine.name, target)}`"]
    if mine.role in (Role.BUFFER, Role.PARAMETER):
        return [f"move the module that holds it, after everything is attached to it: `.to({target})`"]
    passed = _passed_as(mine)
    if passed:
        root = naming.module_path(scene.modules[0], scene.roots) if scene.modules else ""
        target = f"next({root}.parameters()).device" if root.isidentifier() else f'"{theirs.device}"'
        there = moved(passed, target)
        return [f"move it before it is passed on: `{f'{passed} = {there}' if passed.isidentifier() else there}`"]
    if mine.name.isidentifier():
        return [f"move it before it is used: `{mine.name} = {moved(mine.name, target)}`"]
    if mine.name and theirs.name:
        return [f"move it: `{moved(mine.name, target)}`"]
    return []


def moved(text: str, device: str) -> str:
    """The source of a move."""
    return f"{attached(text)}.to({device})"


def _passed_as(operand: Operand) -> str:
    """What the outermost of the user's functions calls a value that it passes on."""
    steps = (step.message for step in operand.history if step.message.startswith(PASSED))
    return next(steps, "").removeprefix(PASSED).strip("`")


def _device_expression(met: Met) -> str:
    """How the user's source may write the device of a value."""
    name = met.operand.name
    if met.operand.role is Role.MODULE and name:
        return f"next({name}.parameters()).device"
    if name.replace(".", "").replace("_", "").isalnum() and met.operand.role is not Role.TEMPORARY:
        return f"{name}.device"
    return f'"{met.operand.device}"'


def _with_device(call: str, target: str) -> str:
    inside = call[:-1].rstrip().rstrip(",")
    return f"{inside}, device={target})" if not inside.endswith("(") else f"{inside}device={target})"
