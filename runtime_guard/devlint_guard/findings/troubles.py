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

from devlint_guard.advise.candidates import (
    moved_by_choice,
    node_of,
    passed_on,
    with_argument,
    with_constant,
    with_method,
)
from devlint_guard.advise.edits import all_of, replaced, with_keyword
from devlint_guard.explain.cause import default_steps
from devlint_guard.explain.line_values import (
    arguments_of,
    blamed,
    first_name,
    naming_device,
    naming_devices,
    terms_of,
    value_passed_for,
    values_on,
    whole_expression,
)
from devlint_guard.explain.messages import Message, Trouble
from devlint_guard.explain.operands import Scene, operand
from devlint_guard.explain.trail import trail
from devlint_guard.finding import Advice, Change, Finding, Operand, Role, Step
from devlint_guard.findings.mismatch import apart
from devlint_guard.findings.parallel import data_parallel, distributed
from devlint_guard.program.accelerator import accelerator
from devlint_guard.program.expressions import Term, attached
from devlint_guard.program.frames import place_of, text_of
from devlint_guard.program.functions import Scope
from devlint_guard.program.stored import UNKNOWN, device_of_part, devices_of

_AVAILABLE: Final = 'choose it by a check: `device = "cuda" if torch.cuda.is_available() else "cpu"`'


# --- a value on the wrong side ------------------------------------------------------------------------------


def _host_access(scene: Scene, message: Message) -> Finding:
    device = next(iter(message.devices), "")
    found = values_on(scene, device) or whole_expression(scene, device, inside=True)
    name = first_name(found)
    return Finding(
        "DEV105",
        f"`{name}` is on {found[0].device or 'a device'}, where numpy cannot read it"
        if found
        else "numpy reads a tensor",
        operands=found,
        help=_copied(scene, found, name),
        changes=(changes := _read_on_cpu(scene, found)),
        advice=(
            *([Advice(next(iter(_copied(scene, found, name)), ""), changes)] if changes else []),
            *(passed_on(scene, found[0], ".detach().cpu()") if found else ()),
        ),
    )


def _copied(scene: Scene, found: tuple[Operand, ...], name: str) -> tuple[str, ...]:
    place = node_of(scene, found[0]) if found else None
    value = UNKNOWN if place is None else place[0].reader.value(place[1])
    if not isinstance(value, (list, tuple, dict)) or place is None or place[0].source.of(place[1]) != name:
        return (f"bring it to the CPU first: `{attached(name).removesuffix('.detach()')}.detach().cpu()`",)
    is_flat = not isinstance(value, dict) and all(isinstance(one, torch.Tensor) for one in value)
    return (f"bring its tensors to the CPU first: `[one.detach().cpu() for one in {name}]`",) if is_flat else ()


def _read_on_cpu(scene: Scene, found: tuple[Operand, ...]) -> tuple[Change, ...]:
    place = node_of(scene, found[0]) if found else None
    if place is None:
        return ()
    scope, node = place
    value = scope.reader.value(node)
    # Of a container, each tensor has to be brought.
    if isinstance(value, (list, tuple)) and all(isinstance(one, torch.Tensor) for one in value):
        change = replaced(scope, node, f"[one.detach().cpu() for one in {scope.source.of(node)}]")
        return all_of(change)
    if isinstance(value, (list, tuple)):
        return ()
    return with_method(scene, found[0], ".detach().cpu()")


def _not_on_cpu(scene: Scene, message: Message) -> Finding:
    device = next((one for one in message.devices if one != "cpu"), "cuda")
    found = (
        value_passed_for(scene, message.argument, device)
        or values_on(scene, device, last=True)
        or whole_expression(scene, device, inside=True)
    )
    taken = f"`{message.argument}`" if message.argument else "what"
    operation = scene.operation.text if scene.operation else "it"
    return Finding(
        "DEV107",
        f"`{first_name(found)}` is on {device}: `{operation}` takes {taken} from the CPU",
        operands=found,
        help=(f"pass it on the CPU: `{attached(first_name(found))}.cpu()`",),
        changes=with_method(scene, found[0], ".cpu()") if found else (),
    )


def _no_kernel(scene: Scene, message: Message) -> Finding:
    device = message.fields.get("type", "CUDA").lower()
    found = values_on(scene, device) or whole_expression(scene, device, inside=True)
    operator = message.fields.get("operator", "the operation").removeprefix("aten::")
    return Finding(
        "DEV107",
        f"`{first_name(found)}` is on {found[0].device}, and {operator} exists on the CPU only",
        operands=found,
        help=(f"compute this on the CPU: `{attached(first_name(found))}.cpu()`",),
        changes=with_method(scene, found[0], ".cpu()"),
    )


def _no_float64(scene: Scene, message: Message) -> Finding:
    found = whole_expression(scene, "mps", inside=True)
    return Finding(
        "DEV107",
        f"`{first_name(found)}` would be float64 on {found[0].device}, and float64 exists on the CPU only",
        operands=found,
        help=("make it float32 before the move: `.float()`, or `dtype=torch.float32`",),
    )


def _pinned(scene: Scene, message: Message) -> Finding:
    found = values_on(scene, _accelerator()) or whole_expression(scene, _accelerator())
    return Finding(
        "DEV505",
        f"`{first_name(found)}` is on {found[0].device}: only memory of the CPU can be pinned",
        operands=found,
        help=("pin CPU tensors only, and skip tensors that are on a device",),
        changes=_unpinned(scene, found),
    )


def _unpinned(scene: Scene, found: tuple[Operand, ...]) -> tuple[Change, ...]:
    """The loader without `pin_memory`: its data set is on a device already."""
    return with_argument(scene, found[0], "pin_memory", "False", "DataLoader")


def _meta(scene: Scene, message: Message) -> Finding:
    found = values_on(scene, "meta") or whole_expression(scene, "meta", inside=True)
    return Finding(
        "DEV602",
        f"`{first_name(found)}` is on meta and has no data",
        operands=found,
        help=(
            "give a module memory with `to_empty(device=…)` and load its checkpoint with every key in it",
            "`load_state_dict(…, assign=True)` takes the tensors of the checkpoint themselves",
        ),
    )


def _generator(scene: Scene, message: Message) -> Finding:
    wanted, has = (*message.devices, "", "")[:2]
    generators = [one for one in terms_of(scene) if _is_generator(scene, one)]
    first = blamed([_as_generator(scene, one) for one in generators]) or whole_expression(scene, has, Role.GENERATOR)
    rest = [operand(scene, one) for one in terms_of(scene) if one not in generators]
    if own := _with_own_generator(scene, has):
        name, history = own
        return Finding(
            "DEV106",
            f"`{name}` makes a generator of its own on {has}, and draws numbers for {wanted}",
            operands=(*(replace(one, name=name, history=history) for one in first[:1]), *rest),
            help=(f"do without the default device {wanted}: move the model and the batches with `.to(device)`",),
        )
    return Finding(
        "DEV106",
        f"`{first_name(first)}` draws on {has}, and the numbers are for {wanted}",
        operands=(*first[:1], *rest),
        help=(
            f'make it for the device of the numbers: `torch.Generator(device="{wanted}")`',
            "a default device or tensor type on CUDA reaches the samplers of DataLoader too: give them a generator",
        ),
        changes=_generator_made_for(scene, first, wanted),
    )


def _with_own_generator(scene: Scene, device: str) -> tuple[str, tuple[Step, ...]] | None:
    """The user's object, such as a sampler, that makes the generator itself, and what set the default device."""
    names = {} if scene.user is None else {**scene.user.frame.f_globals, **scene.user.frame.f_locals}
    for site in scene.inner_sites:
        local = site.frame.f_locals
        made = [one for one in local.values() if isinstance(one, torch.Generator) and str(one.device) == device]
        name = next((key for key, one in names.items() if one is local.get("self") is not None), "")
        if made and name:
            return name, default_steps()
    return None


def _generator_made_for(scene: Scene, first: tuple[Operand, ...], device: str) -> tuple[Change, ...]:
    """The line that makes the generator, for another device; or that of the loader that makes its own."""
    place = node_of(scene, first[0]) if first and device else None
    if place is None or scene.user is None:
        return ()
    for link in trail(scene.sites, scene.user, place[1], first[0].device):
        for node in (one for one in ast.walk(link.node) if isinstance(one, ast.Call)):
            name = link.scope.source.of(node.func)
            prefix, _, function = name.rpartition(".")
            if function == "manual_seed" and not isinstance(node.func, ast.Name) and "Generator" not in prefix:
                text = f'{prefix}.Generator("{device}").manual_seed({link.scope.source.of(node.args[0])})'
                change = replaced(link.scope, node, text) if len(node.args) == 1 else None
            elif function == "Generator":
                change = replaced(link.scope, node, f'{name}(device="{device}")')
            elif function == "DataLoader":
                torch_name = next((key for key, value in link.scope.more_names.items() if value is torch), "torch")
                made = f'{torch_name}.Generator(device="{device}")'
                change = with_keyword(link.scope, node, "generator", made)
            else:
                continue
            return all_of(change)
    return ()


def _is_generator(scene: Scene, term: Term) -> bool:
    if isinstance(term.value, torch.Generator):
        return True
    arguments = scene.operation.arguments if scene.operation else ()
    return any(one.node is term.node and one.keyword == "generator" for one in arguments)


def _as_generator(scene: Scene, term: Term) -> Operand:
    return replace(operand(scene, term), role=Role.GENERATOR)


# --- a device that is not there -----------------------------------------------------------------------------


def _no_device(scene: Scene, message: Message) -> Finding:
    kind = message.fields.get("type", "CUDA")
    found = naming_devices(scene, kind.lower())
    asked = found[0].device or kind.lower()
    return Finding(
        "DEV301",
        f"`{first_name(found)}` asks for {asked}, and this process has no {kind.upper()} device",
        operands=found,
        help=(_AVAILABLE,),
        changes=_chosen(scene, found[0]) if kind == "CUDA" else (),
    )


def _chosen(scene: Scene, asked: Operand) -> tuple[Change, ...]:
    """The line that names the device chooses it by a check."""
    choice = '"cuda" if torch.cuda.is_available() else "cpu"'
    return moved_by_choice(scene, choice) or with_constant(
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
    beyond = [one for one in naming_devices(scene, kind) if _index(one.device) >= count]
    found = blamed(beyond) or naming_devices(scene, kind)
    ids = _device_ids(scene)
    found = ids or found
    return Finding(
        "DEV401" if ids else "DEV302",
        f"`{first_name(found)}` asks for {found[0].device or 'others'}, and this process has {_devices(kind, count)}",
        operands=found,
        help=(f"choose an existing one: `torch.{kind}.device_count()`, or `{kind}` for the current device",),
        changes=() if ids or not count else with_constant(scene, found[0], _there),
    )


def _device_ids(scene: Scene) -> tuple[Operand, ...]:
    """What the failing expression gives as `device_ids`, to a call that may be a part of it."""
    if scene.user is None or scene.operation is None:
        return ()
    site = scene.user
    given = [one for one in ast.walk(scene.operation.node) if isinstance(one, ast.keyword) and one.arg == "device_ids"]
    return blamed(Operand(text_of(site, one.value), Role.UNKNOWN, "", place=place_of(site, one.value)) for one in given)


def _devices(kind: str, count: int) -> str:
    """How many there are, in words."""
    if count == 0:
        return f"no {kind.upper()} device"
    return f"{kind}:0 only" if count == 1 else f"{kind}:0 to {kind}:{count - 1}"


def _index(device: str) -> int:
    number = device.partition(":")[2]
    return int(number) if number.isdecimal() else -1


def _device_text(scene: Scene, message: Message) -> Finding:
    text = message.fields.get("text", "")
    named = [one for one in arguments_of(scene) if one.keyword == "device"]
    others = [one for one in arguments_of(scene) if isinstance(one.value, (str, int, torch.device))]
    texts = [one for one in others if one.value == text or (isinstance(one.value, str) and not text)]
    found = _constants(scene, text) if text else ()
    found = found or tuple(naming_device(scene, one) for one in texts or named or others)
    found = blamed(found) or whole_expression(scene, "", inside=True)
    return Finding(
        "DEV303",
        f"`{first_name(found)}` names no device that can be used here",
        operands=found,
        help=(_spelling(text),),
        changes=_respelled(scene, found, text),
    )


def _respelled(scene: Scene, found: tuple[Operand, ...], text: str) -> tuple[Change, ...]:
    meant = re.match(r"write `([^`]+)`", _spelling(text))
    if meant is None or not found:
        return ()
    return with_constant(scene, found[0], lambda value: meant[1] if value == text else "")


def _constants(scene: Scene, text: str) -> tuple[Operand, ...]:
    """Where a text is written out in the failing expression."""
    if scene.user is None or scene.operation is None:
        return ()
    nodes = [node for node in ast.walk(scene.operation.node) if isinstance(node, ast.Constant) and node.value == text]
    return tuple(
        Operand(text_of(scene.user, node), Role.UNKNOWN, "", place=place_of(scene.user, node)) for node in nodes
    )


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
    asked = [naming_device(scene, one) for one in arguments_of(scene) if one.keyword == "map_location"]
    found = blamed(asked) or whole_expression(scene, kind)
    index = message.fields.get("index")
    return Finding(
        "DEV304",
        f"`{first_name(found)}` is for {kind}{':' + index if index else ''}, which is not here",
        operands=found,
        help=('read it to a device that is there: `torch.load(…, map_location="cpu")`',),
        changes=_mapped(scene),
    )


def _mapped(scene: Scene) -> tuple[Change, ...]:
    scope = None if scene.user is None else Scope.at(scene.user)
    for node in ast.walk(scene.operation.node) if scope is not None and scene.operation else ():
        if scope is not None and isinstance(node, ast.Call) and scope.source.of(node.func).endswith("load"):
            return all_of(with_keyword(scope, node, "map_location", '"cpu"'))
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
    changes: tuple[Change, ...] = ()
    scope = None if scene.user is None else Scope.at(scene.user)
    node = scene.operation.node if scene.operation else None
    if scene.user is not None and scope is not None and isinstance(node, ast.Attribute):
        text, value = text_of(scene.user, node.value), scope.reader.value(node.value)
        devices = " and ".join(devices_of(value)) if isinstance(value, nn.Module) else ""
        found = (Operand(text, Role.MODULE, devices, place=place_of(scene.user, node.value), blamed=True),)
        if isinstance(value, nn.Module) and (asked := device_of_part(text, value)):
            changes = all_of(replaced(scope, node, asked))
    return Finding(
        "DEV306",
        f"`{first_name(found)}` is a module, and modules have no attribute `device`",
        operands=found,
        help=(f"ask one of its parameters: `{asked}`",) if asked else (),
        changes=changes,
    )


# --- groups of processes -----------------------------------------------------------------------------------


def _collective(scene: Scene, message: Message) -> Finding:
    device = next(iter(message.devices), "cpu")
    found = values_on(scene, device) or whole_expression(scene, device, inside=True)
    both = "cpu:gloo,xpu:xccl" if _accelerator() == "xpu" else "cpu:gloo,cuda:nccl"
    return Finding(
        "DEV403",
        f"`{first_name(found)}` is on {found[0].device}, for which the process group has no backend",
        operands=found,
        help=(
            "move it to the device of this rank before the collective",
            f'or give the group a backend for both: `init_process_group("{both}")`',
        ),
    )


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
