"""What an optimizer is about to combine: state that is elsewhere than its parameter, and steps that need no look."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from types import FrameType
from typing import Any

from torch import Tensor
from torch.optim import Optimizer
from torch.optim import optimizer as _hooks

from devlint_guard.advise.resumed import MOVE_FIRST, order_of
from devlint_guard.explain.operands import Scene, describe
from devlint_guard.finding import Finding, Operand, Role
from devlint_guard.program.frames import sites_above
from devlint_guard.program.naming import Roots, name_of
from devlint_guard.watch.entry import has_data, is_free


def state_elsewhere(optimizer: Optimizer, frame: FrameType, roots: Roots) -> Iterator[Finding]:
    """State that is elsewhere than its parameter, where a frame calls the step.

    Optimizers that are not PyTorch's may keep it where they like.
    """
    for parameter, state in optimizer.state.items():
        if not isinstance(parameter, Tensor) or not isinstance(state, dict) or parameter.grad is None:
            continue
        for key, value in state.items():
            if isinstance(value, Tensor) and not is_free(value) and value.device != parameter.device:
                scene = Scene.of(sites_above(frame), roots)
                owner = name_of(parameter, scene.roots).qualified or "a parameter"
                name, path = f"{key!r} of {owner}", f"{owner}:{key}"
                blamed = Operand(name, Role.OPTIMIZER_STATE, str(value.device), describe(value), path)
                other = Operand(owner, Role.PARAMETER, str(parameter.device), describe(parameter), owner)
                history, changes = order_of(scene, parameter, value) or ((), ())
                yield Finding(
                    "DEV602" if not (has_data(value) and has_data(parameter)) else "DEV206",
                    f"the optimizer's {blamed.name} is on {blamed.device}, the parameter on {other.device}",
                    place=scene.place,
                    module_class=type(optimizer).__name__,
                    operands=(replace(blamed, history=history, blamed=True), other),
                    help=(MOVE_FIRST,),
                    changes=changes,
                    suspect=not _is_of_pytorch(optimizer),
                )
                return


def mixes_nothing(optimizer: Optimizer) -> bool:
    """Whether a step without a closure is known to combine only tensors that are on one device.

    PyTorch's own optimizers compute a parameter from its gradient and its state. Options may be tensors, too, and what
    hooks do is not known; where there is no state yet the step will make it.
    """
    return (
        _is_of_pytorch(optimizer)
        and len(_hooks._global_optimizer_pre_hooks) == len(_hooks._global_optimizer_post_hooks) == 1
        and not (optimizer._optimizer_step_pre_hooks or optimizer._optimizer_step_post_hooks)
        and all(_is_together(group, optimizer.state) for group in optimizer.param_groups)
    )


def _is_together(group: dict[str, Any], states: Any) -> bool:
    for name, option in group.items():
        for value in option if isinstance(option, tuple) else (option,):
            if name != "params" and value.__class__ not in _OPTIONS:
                return False
    for parameter in group["params"]:
        gradient = parameter.grad
        if gradient is None:
            continue
        device, state = parameter.device, states.get(parameter)
        if not state or gradient.device != device:
            return False
        for value in state.values():
            if isinstance(value, Tensor) and value.device != device and not is_free(value):
                return False
    return True


_OPTIONS = frozenset({float, int, bool, str, type(None)})


def _is_of_pytorch(optimizer: Optimizer) -> bool:
    return type(optimizer).__module__.startswith("torch.optim.")
