"""On a trace of TorchScript: its code has the devices that its example had, as constants.

net = torch.jit.trace(Net(), torch.randn(2, 4))     `torch.arange(4, device=x.device)` became `device="cpu"`
net.cuda()(torch.randn(2, 4).cuda())                so it meets cuda:0
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import Any, Final

import torch

from devlint_guard.advise.edits import followed_by, merged
from devlint_guard.explain.messages import Message
from devlint_guard.explain.operands import Scene
from devlint_guard.finding import Changes, Finding, Operand, Place, Role, Step
from devlint_guard.program import naming
from devlint_guard.program.frames import is_installed, shown_path, source_of_file
from devlint_guard.program.functions import Scope
from devlint_guard.program.stored import devices_of

_LINE: Final = re.compile(r"^(?P<file>\S.*)\((?P<line>\d+)\): (?P<function>.+)$", re.MULTILINE)
"""A line of the stack that a trace keeps of each operator, the innermost first."""


def traced(scene: Scene, message: Message) -> Finding | None:
    """Return the finding on a trace that has one of the devices in its code, other than that of its parameters."""
    module = scene.modules[-1] if scene.modules else None
    if not isinstance(module, torch.jit.ScriptModule) or len(message.devices) < 2:
        return None
    own = devices_of(module)
    for operator, device, stack in _constants(module):
        if device not in message.devices or device in own:
            continue
        other = next(one for one in message.devices if one != device)
        name = naming.module_path(module, scene.roots) or type(module).__name__
        steps = (
            Step(f"has been a constant on {device} since it was traced", stack[0]),
            Step("was traced by a call here", stack[-1]),
        )
        blamed = Operand(operator, Role.TEMPORARY, device, history=steps, blamed=True)
        return Finding(
            "DEV101",
            f"the code of the trace `{name}` has `{operator}` on {device}, which meets a value on {other}",
            operands=(blamed,),
            help=(f"trace it on {other}: move the module and the example there before `torch.jit.trace`",),
            changes=_traced_on(stack[-1], other),
        )
    return None


def _traced_on(place: Place, device: str) -> Changes:
    """The call of `torch.jit.trace`, with its module and its example on a device."""
    source = source_of_file(place.file)
    for node in ast.walk(source.tree) if source is not None else ():
        match node:
            case ast.Call(func=ast.Attribute(attr="trace"), args=[module, example, *_]) if source is not None:
                if node.lineno <= place.line <= (node.end_lineno or 0):
                    scope = Scope(source, compile("", place.file, "exec"))
                    parts = [module, *(example.elts if isinstance(example, ast.Tuple) else [example])]
                    changes = [followed_by(scope, one, f'.to("{device}")') for one in parts]
                    return merged([change for one in changes for change in one]) if all(changes) else ()
    return ()


def _constants(module: Any) -> Iterator[tuple[str, str, list[Place]]]:
    """Yield each operator of a trace that has a constant device: its name, the device and its stack."""
    for node in module.forward.inlined_graph.nodes():
        for value in node.inputs():
            if value.type().kind() == "DeviceObjType" and value.node().kind() == "prim::Constant":
                stack = list(_LINE.finditer(node.sourceRange()))
                ends = [index for index, one in enumerate(stack, 1) if one["file"].endswith("_trace.py")]
                stack = stack[: ends[-1] + 1] if ends else []
                places = [
                    Place(shown_path(one["file"]), int(one["line"]), function=one["function"])
                    for one in stack
                    if not is_installed(one["file"])
                ]
                if places:
                    yield node.kind().replace("aten::", "torch.", 1), str(value.toIValue()), places
