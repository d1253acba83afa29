"""What modules show before they are called: tensors and modules that a move did not reach.

The modules that a guard is given are looked through on entry; others, in the first steps, when a program calls them and
no other module does. Most of these findings are suspects, because the program may never combine the odd tensor with
another one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from types import FrameType

import torch
from torch import Tensor
from torch.nn import Module

from devlint_guard.advise.astray import register_as_buffer
from devlint_guard.explain.operands import Scene, describe
from devlint_guard.finding import Finding, Operand
from devlint_guard.program.frames import sites_above
from devlint_guard.program.naming import Roots, module_path, paths_of_modules, role_in
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
