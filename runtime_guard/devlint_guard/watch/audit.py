"""What modules show before they are called, and optimizers before a step: tensors that a move did not reach.

The modules that a guard is given are looked through on entry; others, in the first steps, when a program calls them and
no other module does. Most of these findings are suspects, because the program may never combine the odd tensor with
another one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from types import FrameType
from typing import Any

import torch
from torch import Tensor
from torch.nn import Module
from torch.optim import Optimizer
from torch.optim import optimizer as _hooks

from devlint_guard.advise.left_behind import MOVE_FIRST, order_of, register_as_buffer
from devlint_guard.explain.operands import Scene, describe
from devlint_guard.finding import Finding, Operand, Role
from devlint_guard.program.frames import sites_above
from devlint_guard.program.naming import Roots, module_path, name_of, paths_of_modules, role_in
from devlint_guard.program.stored import dictionary_of, modules_in, plain_tensors, registered_in
from devlint_guard.watch.entry import compared_tensors, devices_by_size, has_data, is_certain, is_free
from devlint_guard.watch.sentences import ties_among


def audit(roots: Roots, expect: torch.device | None = None) -> Iterator[Finding]:
    """Looks through each root once; on the device where all tensors are to be, an index counts if it has one."""
    for name, root in roots.items():
        modules = list(modules_in(root))
        registered = {id(module) for module in modules}
        held = registered_in(root)
        tensors = {id(tensor) for tensor in held}
        usual = next(iter(devices_by_size(held)), "")
        # Modules inside of others that may move them before they are called.
        movers = [one for one in modules if any(map(dictionary_of(one).get, _MOVING))]
        below = {id(inner) for mover in movers for inner in modules_in(mover) if inner is not mover}
        for path, module in paths_of_modules(root, name):
            if "_hf_hook" in dictionary_of(module):
                continue  # accelerate moves what the module holds and what it is given
            for finding in (*_elsewhere(name, path, module, expect), *_split(path, module, usual, {name: root})):
                yield replace(finding, suspect=True) if id(module) in below else finding
            yield from _left_behind(path, module, tensors, usual)
            if id(module) not in registered:
                yield from _unregistered(path, module, usual)


_MOVING = ("_hf_hook", "forward", "_forward_pre_hooks")


def audit_called(module: Module, frame: FrameType, expect: torch.device | None) -> Iterator[Finding]:
    """Looks through a module that is about to be called, at the line where a frame calls it."""
    # Replicas of DataParallel live for one call; and what is traced must not see that sizes are read.
    if "_is_replica" in dictionary_of(module) or torch._C._is_tracing():
        return
    if any(audit({"": module}, expect)):
        scene = Scene.of(sites_above(frame), {})
        name = module_path(module, scene.roots) or type(module).__name__
        for finding in audit({name: module}, expect):
            yield replace(finding, place=scene.place)


def _elsewhere(root: str, path: str, module: Module, expect: torch.device | None) -> Iterator[Finding]:
    for name, tensor, _ in compared_tensors(module) if expect is not None else ():
        assert expect is not None
        if tensor.device.type != expect.type or expect.index not in (None, tensor.device.index):
            message = f"`{path}.{name}` is on {tensor.device}, and everything is to be on {expect}"
            remedy = f'move the module: `{root}.to("{expect}")`'
            yield _finding("DEV603", message, path, module, [_operand(path, module, name, tensor)], remedy)
            return


def _split(path: str, module: Module, usual: str, roots: Roots) -> Iterator[Finding]:
    own = compared_tensors(module)
    if len({value.tensor.device for value in own}) < 2:
        return
    devices = devices_by_size([value.tensor for value in own])
    device = usual if usual in devices else devices[0]
    right = next(value for value in own if str(value.tensor.device) == device)
    wrong = next(value for value in own if str(value.tensor.device) != device)
    operands = [_operand(path, module, value.name, value.tensor) for value in (wrong, right)]
    both = f"`{wrong.name}` is on {wrong.tensor.device} and `{right.name}` on {right.tensor.device}"
    code, remedy = "DEV601", f'move the module after all of its tensors are set: `{path}.to("{right.tensor.device}")`'
    if not has_data(wrong.tensor):
        code = "DEV602"
        remedy = "load it (is its key missing in the checkpoint?), or materialise the module with `to_empty`"
    certain = is_certain(module, [value.tensor for value in own])
    remedies = (remedy, *ties_among((wrong, right), roots))
    yield _finding(code, f"`{path}` is split: {both}", path, module, operands, *remedies, suspect=not certain)


def _left_behind(path: str, module: Module, registered: set[int], usual: str) -> Iterator[Finding]:
    """Tensors in plain attributes, elsewhere than the module they belong to."""
    for within, tensor in plain_tensors(module):
        if id(tensor) in registered or is_free(tensor):
            continue
        device = next(iter(devices_by_size([own.tensor for own in compared_tensors(module)])), usual)
        if device in ("", str(tensor.device)):
            continue
        operand = _operand(path, module, within, tensor)
        message = f"`{operand.name}` is on {operand.device} but its module on {device}: it is not a registered buffer"
        remedy = register_as_buffer(within.partition("[")[0])
        yield _finding("DEV201", message, path, module, [operand], remedy, suspect=True)


def _unregistered(path: str, module: Module, usual: str) -> Iterator[Finding]:
    """A module that a plain list or dict holds, elsewhere than the rest."""
    for name, tensor, _ in compared_tensors(module):
        if str(tensor.device) != usual:
            why = "`.to()` skips modules in a list or dict"
            message = f"`{path}` is on {tensor.device}, but its owner on {usual}: {why}"
            remedy = "keep it in `nn.ModuleList` or `nn.ModuleDict`, so that it moves with the module that holds it"
            operand = _operand(path, module, name, tensor)
            yield _finding("DEV202", message, path, module, [operand], remedy, suspect=True)
            return


def _operand(path: str, module: Module, name: str, tensor: Tensor) -> Operand:
    qualified = f"{path}.{name}"
    return Operand(qualified, role_in(module, name), str(tensor.device), describe(tensor), qualified)


def _finding(
    code: str,
    message: str,
    path: str,
    module: Module,
    operands: Sequence[Operand],
    *remedies: str,
    suspect: bool = False,
) -> Finding:
    met = (replace(operands[0], blamed=True), *operands[1:])
    kind = type(module).__name__
    return Finding(code, message, module=path, module_class=kind, operands=met, help=remedies, suspect=suspect)


# --- optimizers ---------------------------------------------------------------------------------------------


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
