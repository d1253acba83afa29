"""The values of the user's line: those on a device, for a parameter, or that name a device.

PyTorch's text tells a device, a parameter or nothing at all; what stands on the line tells the rest.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from devlint_guard.explain.links import steps_of
from devlint_guard.explain.operands import Scene, operand
from devlint_guard.explain.trail import trail
from devlint_guard.finding import Changes, Finding, Operand, Role
from devlint_guard.program.expressions import NO_OPERATION, Argument, as_device, operation_at
from devlint_guard.program.frames import place_of, text_of


def spelled(scene: Scene, node: ast.AST, role: Role = Role.UNKNOWN, device: str = "") -> Operand:
    """An expression of the user's line."""
    assert scene.user is not None
    return Operand(text_of(scene.user, node), role, device, place=place_of(scene.user, node))


def blamed(operands: Iterable[Operand]) -> tuple[Operand, ...]:
    """The operands, with the first one to blame."""
    found = tuple(operands)
    return (replace(found[0], blamed=True), *found[1:]) if found else ()


def values_on(scene: Scene, device: str, *, last: bool = False, inside: bool = True) -> tuple[Operand, ...]:
    """The values of the user's line on a device, or a type of device; for want of one, `whole_expression`.

    Args:
        scene: where.
        device: it.
        last: whether the last of them comes first.
        inside: as there.
    """
    kind, terms = device.partition(":")[0], scene.operation.terms
    found = [one for one in terms if not device or device in (one.device, one.device.partition(":")[0])]
    found = found or [replace(one, device=device) for one in terms if one.device == kind]
    ordered = found[::-1] if last else found
    return blamed(operand(scene, one) for one in ordered) or whole_expression(scene, device, inside=inside)


def value_passed_for(scene: Scene, parameter: str, device: str) -> tuple[Operand, ...]:
    """The value that torch's own frames call by the name of a parameter."""
    for site in scene.inner_sites if parameter else ():
        inner = operation_at(site)
        for term in inner.terms if inner else ():
            if term.text == parameter:
                same = [one for one in scene.operation.terms if one.value is not None and one.value is term.value]
                if same:
                    return blamed(operand(scene, one) for one in same)
    named = [one.node for one in scene.operation.arguments if one.keyword == parameter and parameter]
    same = [one for one in scene.operation.terms if any(one.node is node for node in named)]
    return blamed(operand(scene, one) for one in same)


def whole_expression(
    scene: Scene, device: str, role: Role = Role.TEMPORARY, *, inside: bool = False
) -> tuple[Operand, ...]:
    """The failing expression itself, for want of a part of it.

    Args:
        scene: where.
        device: where it is.
        role: its role, such as an argument.
        inside: to take the one thing instead that it takes, if only one can be meant.
    """
    if scene.operation is NO_OPERATION:
        return (Operand("", role, device, blamed=True),)
    is_one = inside and len(scene.operation.open_terms) == 1
    node = scene.operation.open_terms[0].node if is_one else scene.operation.node
    return blamed([spelled(scene, node, role, device)])


def finding_about(code: str, found: tuple[Operand, ...], text: str, *advice: str, changes: Changes = ()) -> Finding:
    """The finding on the first operand; the text names its fault."""
    return Finding(code, f"`{found[0].name}` {text}", operands=found, help=advice, changes=changes)


def naming_devices(scene: Scene, kind: str) -> tuple[Operand, ...]:
    """The expressions of the user's line that name a device, and otherwise the line itself."""
    function = scene.operation.text.rpartition(".")[2]
    given = [one for one in scene.operation.arguments if one.keyword == "device"]
    given = given or [one for one in scene.operation.arguments if _names_a_device(one, kind, function)]
    return blamed(naming_device(scene, one) for one in given) or whole_expression(scene, kind)


def _names_a_device(argument: Argument, kind: str, function: str) -> bool:
    if isinstance(argument.value, int) and argument.keyword != "device" and function not in _TAKE_NUMBERS:
        return False
    device = as_device(argument.value)
    return device is not None and (device.type == kind or isinstance(argument.value, int))


_TAKE_NUMBERS: Final = frozenset(
    "to cuda device set_device get_device_name get_device_properties get_device_capability synchronize Stream Event"
    " current_stream memory_allocated memory_reserved max_memory_allocated mem_get_info empty_cache".split()
)
"""What takes the index of a device where others take sizes."""


def naming_device(scene: Scene, argument: Argument) -> Operand:
    """An argument that names a device, with where the source assigned it."""
    device = as_device(argument.value)
    role = Role.UNKNOWN if isinstance(argument.node, ast.Constant) else Role.VARIABLE
    found = spelled(scene, argument.node, role, "" if device is None else str(device))
    return replace(found, history=steps_of(trail(scene, argument.node, "")))
