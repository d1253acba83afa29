"""Device errors that are not two values apart: a value on the wrong side, a device that is not there, parallel modules.

Each function writes the finding for one `Trouble`, without its place and module, which `explain` adds.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from dataclasses import replace
from typing import Final

import torch
from torch import nn

from devlint_guard.advise.candidates import node_of, on_way, passed_on, with_constant, with_method
from devlint_guard.advise.edits import advised, replaced, with_keyword
from devlint_guard.explain import line_values
from devlint_guard.explain.cause import default_steps
from devlint_guard.explain.line_values import blamed, finding_about, spelled, values_on, whole_expression
from devlint_guard.explain.messages import Message, Trouble
from devlint_guard.explain.operands import Scene, operand
from devlint_guard.finding import Changes, Finding, Operand, Role
from devlint_guard.findings.mismatch import apart
from devlint_guard.findings.parallel import data_parallel, distributed
from devlint_guard.program.accelerator import accelerator
from devlint_guard.program.expressions import attached
from devlint_guard.program.functions import Scope
from devlint_guard.program.stored import UNKNOWN, device_of_part, devices_of

_AVAILABLE: Final = 'choose it by a check: `device = "cuda" if torch.cuda.is_available() else "cpu"`'


# --- a value on the wrong side ------------------------------------------------------------------------------


def _host_access(scene: Scene, message: Message) -> Finding:
    device = next(iter(message.devices), "")
    found = values_on(scene, device)
    text, changes = _read_on_cpu(scene, found[0])
    where = f"is on {found[0].device or 'a device'}, where numpy cannot read it"
    finding = finding_about("DEV105", found, where, *filter(None, [text]), changes=changes)
    return replace(finding, advice=(*advised(text, changes), *passed_on(scene, found[0], ".detach().cpu()")))


def _read_on_cpu(scene: Scene, read: Operand) -> tuple[str, Changes]:
    """How what numpy reads is brought to the CPU; of a container, each tensor, unless it has other values too."""
    place, name = node_of(scene, read), read.name
    value = UNKNOWN if place is None else place[0].reader.value(place[1])
    if place is None or not isinstance(value, (list, tuple, dict)):
        changes = with_method(scene, read, ".detach().cpu()")
        return f"bring it to the CPU first: `{attached(name).removesuffix('.detach()')}.detach().cpu()`", changes
    text = place[0].source.of(place[1])
    if isinstance(value, dict) or not all(isinstance(one, torch.Tensor) for one in value):
        return "", ()
    each = f"[one.detach().cpu() for one in {text}]"
    return f"bring its tensors to the CPU first: `{each}`", replaced(*place, each)


def _not_on_cpu(scene: Scene, message: Message) -> Finding:
    device = next((one for one in message.devices if one != "cpu"), "cuda")
    found = line_values.value_passed_for(scene, message.argument, device) or values_on(scene, device, last=True)
    taken = f"`{message.argument}`" if message.argument else "what"
    operation = scene.operation.text or "it"
    return _only_on_cpu(scene, found, f"is on {device}: `{operation}` takes {taken} from the CPU", "pass it")


def _no_kernel(scene: Scene, message: Message) -> Finding:
    found = values_on(scene, message.fields.get("type", "CUDA").lower())
    operator = message.fields.get("operator", "the operation").removeprefix("aten::")
    return _only_on_cpu(scene, found, f"is on {found[0].device}, and {operator} exists on the CPU only", "compute this")


def _only_on_cpu(scene: Scene, found: tuple[Operand, ...], text: str, verb: str) -> Finding:
    remedy = f"{verb} on the CPU: `{attached(found[0].name)}.cpu()`"
    return finding_about("DEV107", found, text, remedy, changes=with_method(scene, found[0], ".cpu()"))


def _no_float64(scene: Scene, message: Message) -> Finding:
    found = whole_expression(scene, "mps", inside=True)
    text = f"would be float64 on {found[0].device}, and float64 exists on the CPU only"
    return finding_about("DEV107", found, text, "make it float32 before the move: `.float()`, or `dtype=torch.float32`")


def _pinned(scene: Scene, message: Message) -> Finding:
    found = values_on(scene, _accelerator(), inside=False)
    text = f"is on {found[0].device}: only memory of the CPU can be pinned"
    remedy = "pin CPU tensors only, and skip tensors that are on a device"
    return finding_about("DEV505", found, text, remedy, changes=_unpinned(scene, found[0]))


def _unpinned(scene: Scene, found: Operand) -> Changes:
    """The loader without `pin_memory`: its data set is on a device already."""
    for scope, node in on_way(scene, found, found.device):
        if isinstance(node, ast.Call) and scope.source.of(node.func).split(".")[-1] == "DataLoader":
            return with_keyword(scope, node, "pin_memory", "False")
    return ()


def _meta(scene: Scene, message: Message) -> Finding:
    return finding_about(
        "DEV602",
        values_on(scene, "meta"),
        "is on meta and has no data",
        "give a module memory with `to_empty(device=…)` and load its checkpoint with every key in it",
        "`load_state_dict(…, assign=True)` takes the tensors of the checkpoint themselves",
    )


def _generator(scene: Scene, message: Message) -> Finding:
    wanted, has = (*message.devices, "", "")[:2]
    given = [one.node for one in scene.operation.arguments if one.keyword == "generator"]
    generators = [one for one in scene.operation.terms if isinstance(one.value, torch.Generator) or one.node in given]
    drawing = [replace(operand(scene, one), role=Role.GENERATOR) for one in generators]
    first = (blamed(drawing) or whole_expression(scene, has, Role.GENERATOR))[0]
    rest = [operand(scene, one) for one in scene.operation.terms if one not in generators]
    if own := _with_own_generator(scene, has):
        found = (replace(first, name=own, history=default_steps()), *rest)
        remedy = f"do without the default device {wanted}: move the model and the batches with `.to(device)`"
        text = f"makes a generator of its own on {has}, and draws numbers for {wanted}"
        return finding_about("DEV106", found, text, remedy)
    return finding_about(
        "DEV106",
        (first, *rest),
        f"draws on {has}, and the numbers are for {wanted}",
        f'make it for the device of the numbers: `torch.Generator(device="{wanted}")`',
        "a default device or tensor type on CUDA reaches the samplers of DataLoader too: give them a generator",
        changes=_generator_made_for(scene, first, wanted) if wanted else (),
    )


def _with_own_generator(scene: Scene, device: str) -> str:
    """The user's object, such as a sampler, that makes the generator itself; empty where there is none."""
    names = {} if scene.user is None else {**scene.user.frame.f_globals, **scene.user.frame.f_locals}
    for site in scene.inner_sites:
        local = site.frame.f_locals
        made = any(isinstance(one, torch.Generator) and str(one.device) == device for one in local.values())
        name = next((key for key, one in names.items() if one is local.get("self") is not None), "")
        if made and name:
            return name
    return ""


def _generator_made_for(scene: Scene, first: Operand, device: str) -> Changes:
    """The line that makes the generator, for another device; or that of the loader that makes its own."""
    for scope, node in on_way(scene, first, first.device):
        if not isinstance(node, ast.Call):
            continue
        name = scope.source.of(node.func)
        prefix, _, function = name.rpartition(".")
        if function == "manual_seed" and prefix and "Generator" not in prefix and len(node.args) == 1:
            seed = scope.source.of(node.args[0])
            return replaced(scope, node, f'{prefix}.Generator("{device}").manual_seed({seed})')
        if function == "Generator":
            return replaced(scope, node, f'{name}(device="{device}")')
        if function == "DataLoader":
            torch_name = next((key for key, value in scope.more_names.items() if value is torch), "torch")
            return with_keyword(scope, node, "generator", f'{torch_name}.Generator(device="{device}")')
    return ()


# --- a device that is not there -----------------------------------------------------------------------------


def _no_device(scene: Scene, message: Message) -> Finding:
    kind = message.fields.get("type", "CUDA")
    found = line_values.naming_devices(scene, kind.lower())
    text = f"asks for {found[0].device or kind.lower()}, and this process has no {kind.upper()} device"
    changes = _chosen(scene, found[0]) if kind == "CUDA" else ()
    return finding_about("DEV301", found, text, _AVAILABLE, changes=changes)


def _chosen(scene: Scene, asked: Operand) -> Changes:
    """The line that names the device chooses it by a check."""
    choice = '"cuda" if torch.cuda.is_available() else "cpu"'
    scope, node = None if scene.user is None else Scope.at(scene.user), scene.operation.node
    match node:
        case ast.Call(func=ast.Attribute(value=receiver, attr="cuda")) if scope is not None:
            return replaced(scope, node, f"{attached(scope.source.of(receiver))}.to({choice})")
    return with_constant(
        scene, asked, lambda value: choice if str(value).startswith("cuda") or type(value) is int else ""
    )


def _there(value: object) -> str:
    """The source of a device that is there, instead of one by number."""
    if isinstance(value, str):
        kind, _, number = value.partition(":")
        return f'"{kind}"' if number else ""
    return "0" if type(value) is int and value > 0 else ""


def _accelerator() -> str:
    """The type of the devices of this process."""
    found = accelerator()
    return "cuda" if found is None else found.type


def _no_index(scene: Scene, message: Message) -> Finding:
    kind = _accelerator()
    count = getattr(torch, kind).device_count()
    named = line_values.naming_devices(scene, kind)
    beyond = [one for one in named if (number := one.device.partition(":")[2]).isdecimal() and int(number) >= count]
    ids = _written(scene, lambda node: isinstance(node, ast.keyword) and node.arg == "device_ids")
    found = ids or blamed(beyond) or named
    text = f"asks for {found[0].device or 'others'}, and this process has {_devices(kind, count)}"
    remedy = f"choose an existing one: `torch.{kind}.device_count()`, or `{kind}` for the current device"
    changes = () if ids or not count else with_constant(scene, found[0], _there)
    return finding_about("DEV401" if ids else "DEV302", found, text, remedy, changes=changes)


def _written(scene: Scene, is_meant: Callable[[ast.AST], bool]) -> tuple[Operand, ...]:
    """The nodes in the failing expression that are meant; of a keyword argument, its value."""
    nodes = [one for one in ast.walk(scene.operation.node) if is_meant(one)]
    return blamed(spelled(scene, one.value if isinstance(one, ast.keyword) else one) for one in nodes)


def _devices(kind: str, count: int) -> str:
    """How many there are, in words."""
    if count == 0:
        return f"no {kind.upper()} device"
    return f"{kind}:0 only" if count == 1 else f"{kind}:0 to {kind}:{count - 1}"


def _device_text(scene: Scene, message: Message) -> Finding:
    text = message.fields.get("text", "")
    named = [one for one in scene.operation.arguments if one.keyword == "device"]
    others = [one for one in scene.operation.arguments if isinstance(one.value, (str, int, torch.device))]
    texts = [one for one in others if one.value == text or (isinstance(one.value, str) and not text)]
    found = _written(scene, lambda node: isinstance(node, ast.Constant) and node.value == text) if text else ()
    found = found or blamed(line_values.naming_device(scene, one) for one in texts or named or others)
    found = found or whole_expression(scene, "", inside=True)
    meant = re.match(r"write `([^`]+)`", _spelling(text))
    changes = () if meant is None else with_constant(scene, found[0], lambda one: meant[1] if one == text else "")
    return finding_about("DEV303", found, "names no device that can be used here", _spelling(text), changes=changes)


def _spelling(text: str) -> str:
    """The device that the user probably meant."""
    number = re.fullmatch(r"(?:(\w*?)[\s:-]*)?0*(\d+)", text.strip())
    if "," in text:
        return "name one device; several go into the `device_ids` of DataParallel, as numbers"
    if number is not None:
        kind = (number[1] or "cuda").lower()
        if kind in ("cpu", "cuda", "mps", "xpu", "gpu"):
            return f'write `"{kind.replace("gpu", "cuda")}:{number[2]}"`'
    if text.strip().lower() in ("gpu", "cuda", "nvidia", "cuda:"):
        return 'write `"cuda"`, or `"cuda:0"` for a particular one'
    return 'write a type and an optional number, such as `"cpu"`, `"cuda"` or `"cuda:1"`'


def _checkpoint(scene: Scene, message: Message) -> Finding:
    kind = message.fields.get("type", "cuda").lower()
    asked = [
        line_values.naming_device(scene, one) for one in scene.operation.arguments if one.keyword == "map_location"
    ]
    found = blamed(asked) or whole_expression(scene, kind)
    index = message.fields.get("index")
    text = f"is for {kind}{':' + index if index else ''}, which is not here"
    remedy = 'read it to a device that is there: `torch.load(…, map_location="cpu")`'
    return finding_about("DEV304", found, text, remedy, changes=_mapped(scene))


def _mapped(scene: Scene) -> Changes:
    scope = None if scene.user is None else Scope.at(scene.user)
    for node in ast.walk(scene.operation.node):
        if scope is not None and isinstance(node, ast.Call) and scope.source.of(node.func).endswith("load"):
            return with_keyword(scope, node, "map_location", '"cpu"')
    return ()


def _forked(scene: Scene, message: Message) -> Finding:
    return Finding(
        "DEV605",
        "CUDA is used in a process that was forked after its parent had used CUDA",
        operands=whole_expression(scene, "cuda"),
        help=(
            "leave the batches of a DataLoader with workers on the CPU and move them in the training loop",
            'or start processes afresh: `multiprocessing_context="spawn"`',
        ),
    )


def _no_attribute(scene: Scene, message: Message) -> Finding:
    found, asked = whole_expression(scene, ""), ""
    changes: Changes = ()
    scope = None if scene.user is None else Scope.at(scene.user)
    node = scene.operation.node
    if scope is not None and isinstance(node, ast.Attribute):
        value = scope.reader.value(node.value)
        if isinstance(value, nn.Module):
            asked = device_of_part(scope.source.of(node.value), value)
            changes = replaced(scope, node, asked) if asked else ()
        devices = " and ".join(devices_of(value)) if isinstance(value, nn.Module) else ""
        found = blamed([spelled(scene, node.value, Role.MODULE, devices)])
    remedies = [f"ask one of its parameters: `{asked}`"] if asked else []
    text = "is a module, and modules have no attribute `device`"
    return finding_about("DEV306", found, text, *remedies, changes=changes)


# --- groups of processes -----------------------------------------------------------------------------------


def _collective(scene: Scene, message: Message) -> Finding:
    device = next(iter(message.devices), "cpu")
    found = values_on(scene, device)
    both = "cpu:gloo,xpu:xccl" if _accelerator() == "xpu" else "cpu:gloo,cuda:nccl"
    text = f"is on {found[0].device}, for which the process group has no backend"
    other = f'or give the group a backend for both: `init_process_group("{both}")`'
    return finding_about("DEV403", found, text, "move it to the device of this rank before the collective", other)


WRITERS: Final[dict[Trouble, Callable[[Scene, Message], Finding]]] = {
    Trouble.APART: apart,
    Trouble.INDEX: apart,
    Trouble.META: _meta,
    Trouble.HOST_ACCESS: _host_access,
    Trouble.NOT_ON_CPU: _not_on_cpu,
    Trouble.NO_KERNEL: _no_kernel,
    Trouble.NO_FLOAT64: _no_float64,
    Trouble.PINNED: _pinned,
    Trouble.GENERATOR: _generator,
    Trouble.NO_DEVICE: _no_device,
    Trouble.NO_INDEX: _no_index,
    Trouble.DEVICE_TEXT: _device_text,
    Trouble.CHECKPOINT: _checkpoint,
    Trouble.FORKED: _forked,
    Trouble.NO_ATTRIBUTE: _no_attribute,
    Trouble.DATA_PARALLEL: data_parallel,
    Trouble.DISTRIBUTED: distributed,
    Trouble.COLLECTIVE: _collective,
}
"""Writes the finding for each trouble."""
