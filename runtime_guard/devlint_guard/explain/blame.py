"""Which of several values that are apart is the one to move."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import nn

from devlint_guard.explain.messages import Message
from devlint_guard.explain.operands import Met, Scene
from devlint_guard.finding import Role
from devlint_guard.program.expressions import numbered
from devlint_guard.program.stored import devices_of


def most_suspect(scene: Scene, met: Sequence[Met], message: Message) -> int:
    """Return the value to move: one apart from its module, one without data, or one on the CPU.

    PyTorch's text often names the innocent one, so it has no vote.
    """
    if not met:
        return 0
    replica = message.fields.get("replica")
    usual = f"cuda:{replica}" if replica else _usual_device(scene, met)
    deliberate = is_meta_deliberate(scene, met)
    ranks = [_rank(one, usual, deliberate) for one in met]
    return ranks.index(max(ranks))


def _usual_device(scene: Scene, met: Sequence[Met]) -> str:
    """The device that holds most of the module around the line; empty where there is none."""
    given = [scene.roots[name] for name in scene.given]
    around = [module for module in scene.modules[:1] if not any(one.value is module for one in met)]
    devices = [device for module in given or around for device in devices_of(module)]
    if not devices and all(one.operand.device != "cpu" for one in met):
        # Between two accelerators, that of the networks in the user's variables decides.
        networks = [module for module in scene.roots.values() if not any(one.value is module for one in met)]
        devices = [device for module in networks for device in devices_of(module) if device != "cpu"]
    return "" if not devices or (len(set(devices)) > 1 and "cpu" not in devices) else devices[0]


_SUSPICION = {Role.OPTIMIZER_STATE: 4, Role.ATTRIBUTE: 3, Role.GRADIENT: 1}


def is_meta_deliberate(scene: Scene, met: Sequence[Met]) -> bool:
    """Whether a module has data in a network that is on meta as a whole; such a network lacks no checkpoint."""
    has_data = any(isinstance(one.value, nn.Module) and one.operand.device != "meta" for one in met)
    return has_data and _usual_device(scene, met) == "meta"


def _rank(met: Met, usual: str, is_meta_deliberate: bool) -> tuple[int, ...]:
    operand, value = met.operand, met.value
    return (
        operand.device == "meta" and not is_meta_deliberate,
        # A module that is on the CPU may just as well be the one that was not moved.
        usual not in ("", "cpu") and operand.device != usual,
        operand.device == "cpu",
        met.factory,
        _SUSPICION.get(operand.role, 0),
        # Of two values on accelerators, that which no network computed follows the other.
        value is None or (isinstance(value, torch.Tensor) and not value.requires_grad),
        operand.role is not Role.TEMPORARY,
        # The device that `cuda` without a number means is rather the right one.
        operand.device.startswith("cuda:") and str(numbered(torch.device("cuda"))) not in ("cuda", operand.device),
    )
