"""Generates expressions: well-formed on one device, so only devices can make them fail."""

from __future__ import annotations

import functools
import re
from typing import Literal, cast

from tests.differential.forms import FORMS
from tests.differential.scope import SHAPES, Class, Function, Kind, Scope

DEEPEST = 2

_TENSORS = frozenset(("scalar", "vector", "matrix", "index", "mask"))

_HOLE = re.compile(r"\{(=)?(\w+)(?:[: ](\w+))?\}")


def expression(scope: Scope, kind: Kind, depth: int = 0) -> str:
    """An expression of a kind."""
    name = scope.pick(kind)
    deep = depth >= DEEPEST
    if kind in _TENSORS:
        if deep or scope.chance(0.45):
            return name if name is not None and scope.chance(0.85) else fresh(scope, kind)
    elif name is not None and (deep or scope.chance(0.7)):
        return name
    known = [form for form in _forms(kind) if _possible(scope, form)]
    return filled(scope, known[0] if deep else scope.dice.choice(known), depth + 1)


@functools.cache
def _forms(kind: Kind) -> tuple[str, ...]:
    return tuple(line.strip() for line in FORMS[kind].strip().splitlines())


def _possible(scope: Scope, form: str) -> bool:
    """Whether the program has what a form needs."""
    for _, what, which in _HOLE.findall(form):
        if what == "worker" and not (scope.workers or scope.names.get("worker")):
            return False
        if what == "record" and not (scope.records or scope.names.get("record")):
            return False
        if what == "call" and not any(function.returns == which for function in scope.functions):
            return False
        if what == "made" and not {"module": scope.modules, "worker": scope.workers, "record": scope.records}[which]:
            return False
    return True


def filled(scope: Scope, form: str, depth: int = 1) -> str:
    """A form with every hole filled; `{=matrix}` is a variable of that kind, which must exist."""

    def fill(hole: re.Match[str]) -> str:
        bound, what, which = hole.groups()
        if bound:
            return cast(str, scope.variable(cast(Kind, what)))
        match what:
            case "operator":
                return scope.dice.choice("+-*/")
            case "device":
                return scope.device()
            case "move":
                return _module_move(scope) if which == "module" else moved(scope)
            case "call":
                return _call(scope, cast(Kind, which), depth)
            case "made":
                return _made(scope, cast(Literal["module", "worker", "record"], which), depth)
            case "within":
                with scope.block():
                    scope.names.setdefault("matrix", []).extend([which] * 3)
                    return expression(scope, "matrix", max(depth - 1, 1))
            case _:
                return expression(scope, cast(Kind, what), depth)

    return _HOLE.sub(fill, form).replace("{{", "{").replace("}}", "}")


def fresh(scope: Scope, kind: Kind, device: str | None = None) -> str:
    """A new tensor: on a device, or where it is by default and then perhaps moved."""
    where = device or (scope.device() if scope.chance(0.85) else "")
    option = f", device={where}" if where else ""
    text = {
        "scalar": scope.dice.choice([f"torch.tensor(1.5{option})", f"torch.ones((){option})"]),
        "index": scope.dice.choice([f"torch.tensor([0, 2, 1]{option})", f"torch.randperm(3{option})"]),
        "mask": f"torch.tensor([True, False, True]{option})",
    }.get(kind) or f"torch.{scope.dice.choice(['ones', 'zeros', 'rand', 'full'])}({SHAPES.get(kind, '3')}{option})"
    if text.startswith("torch.full"):
        text = f"torch.full(({SHAPES[kind]},), 0.5{option})".replace("3, 3,)", "3, 3)").replace("((),)", "()")
    return text if where else text + moved(scope, 0.9, kind)


def moved(scope: Scope, probability: float = 1.0, kind: Kind = "index") -> str:
    """A call that moves what stands before it, or nothing."""
    if not scope.chance(probability):
        return ""
    if scope.chance(0.06):
        return scope.dice.choice([".cuda()", ".cuda(1)", ".cpu()"])
    goal = scope.device()
    other = scope.pick("matrix", "vector")
    forms = [f".to({goal})", f".to({goal})", f".to(device={goal})", f".to({goal}, non_blocking=True)"]
    if other is not None:
        forms += [f".to({other}.device)", *([f".to({other})"] if kind in SHAPES else [])]
    return scope.dice.choice(forms)


def _module_move(scope: Scope) -> str:
    where = f".to({scope.device()})"
    return scope.dice.choice(["", where, where, where, where, where, f"{where}.eval()", ".cuda()"])


def _call(scope: Scope, kind: Kind, depth: int) -> str:
    chosen = scope.dice.choice([function for function in scope.functions if function.returns == kind])
    called = f"{chosen.name}({', '.join(_given(scope, chosen, depth))})"
    return f"list({called})" if kind == "matrices" else called


def _given(scope: Scope, target: Function | Class, depth: int) -> list[str]:
    given = [_argument(scope, each, depth) for each in target.takes]
    if isinstance(target, Function):
        given += [f"{name}={_argument(scope, each, depth)}" for name, each in target.options if scope.chance(0.4)]
    return given


def _argument(scope: Scope, kind: Kind | Literal["device"], depth: int) -> str:
    return scope.device() if kind == "device" else expression(scope, kind, depth)


def _made(scope: Scope, what: Literal["module", "worker", "record"], depth: int) -> str:
    if what == "record":
        image, label = expression(scope, "matrix", depth), expression(scope, "index", depth)
        given = scope.dice.choice([f"{image}, {label}", f"image={image}, label={label}"])
        return f"{scope.records}({given})"
    chosen = scope.dice.choice(scope.modules if what == "module" else scope.workers)
    return f"{chosen.name}({', '.join(_given(scope, chosen, depth))})"
