"""Generates expressions: well-formed on one device, so only devices can make them fail."""

from __future__ import annotations

from collections.abc import Callable

from tests.differential.scope import SHAPES, Kind, Scope

DEEPEST = 2


def expression(scope: Scope, kind: Kind, depth: int = 0) -> str:
    """An expression of a kind."""
    name = scope.pick(kind)
    if kind in ("matrices", "named", "module"):
        return name if name is not None and scope.chance(0.7) else _COMPOUND[kind](scope, depth)
    if depth >= DEEPEST or scope.chance(0.45):
        return name if name is not None and scope.chance(0.85) else fresh(scope, kind)
    return _COMPOUND[kind](scope, depth + 1)


def fresh(scope: Scope, kind: Kind, device: str | None = None) -> str:
    """A new tensor: on a device, or where it is by default and then perhaps moved."""
    where = device or (scope.device() if scope.chance(0.75) else "")
    option = f", device={where}" if where else ""
    text = {
        "scalar": scope.dice.choice([f"torch.tensor(1.5{option})", f"torch.ones((){option})"]),
        "index": scope.dice.choice([f"torch.tensor([0, 2, 1]{option})", f"torch.randperm(3{option})"]),
        "mask": f"torch.tensor([True, False, True]{option})",
    }.get(kind) or f"torch.{scope.dice.choice(['ones', 'zeros', 'rand', 'empty'])}({SHAPES.get(kind, '3')}{option})"
    return text if where else text + moved(scope, 0.6)


def moved(scope: Scope, probability: float = 1.0) -> str:
    """A call that moves what stands before it, or nothing."""
    if not scope.chance(probability):
        return ""
    goal = scope.device()
    other = scope.pick("matrix", "vector")
    forms = [f".to({goal})", f".to(device={goal})", f".to({goal}, non_blocking=True)", ".cuda()", ".cuda(1)", ".cpu()"]
    if other is not None:
        forms += [f".to({other}.device)", f".to({other})"]
    return scope.dice.choice([f".to({goal})", f".to({goal})", *forms])


def _matrix(scope: Scope, depth: int) -> str:
    def a(kind: Kind = "matrix") -> str:
        return expression(scope, kind, depth)

    operator = scope.dice.choice("+-*/")
    forms: list[Callable[[], str]] = [
        lambda: f"({a()} {operator} {a()})",
        lambda: f"({a()} {operator} {a('vector')})",
        lambda: f"({a()} {operator} {a('scalar')})",
        lambda: f"({a('scalar')} {operator} {a()})",
        lambda: f"({a()} {operator} 2)",
        lambda: f"({a()} @ {a()})",
        lambda: f"torch.mm({a()}, {a()})",
        lambda: f"torch.cat([{a()}, {a()}], dim=0)[:3]",
        lambda: f"torch.stack([{a('vector')}, {a('vector')}, {a('vector')}])",
        lambda: f"torch.outer({a('vector')}, {a('vector')})",
        lambda: f"torch.where({a()} > 0, {a()}, {a('scalar')})",
        lambda: f"F.linear({a()}, {a()}, {a('vector')})",
        lambda: f"F.relu({a()})",
        lambda: f"F.embedding({a('index')}, {a()})",
        lambda: f"{a()}.index_select(0, {a('index')})",
        lambda: f"{a()}[{a('index')}]",
        lambda: f"{a()}.masked_fill({a('mask')}, {a('scalar')})",
        lambda: f"torch.zeros_like({a()})",
        lambda: f"{a()}.new_ones((3, 3))",
        lambda: f"{a()}.clone().detach()",
        lambda: f"torch.ones({a()}.shape, device={a()}.device)",
        lambda: f"{a()}{moved(scope)}",
        lambda: f"{a('module')}({a()})",
        lambda: f"{a('module')}({a()})",
        lambda: f"{a('matrices')}[{scope.dice.choice(['0', '-1', '1'])}]",
        lambda: f"{a('named')}['{scope.dice.choice('ab')}']",
        lambda: f"sum({a('matrices')})",
        lambda: f"torch.stack({a('matrices')}).sum(0)",
        lambda: _call(scope, "matrix", depth) or a(),
        lambda: _call(scope, "matrix", depth) or a(),
    ]
    return scope.dice.choice(forms)()


def _vector(scope: Scope, depth: int) -> str:
    def a(kind: Kind) -> str:
        return expression(scope, kind, depth)

    forms: list[Callable[[], str]] = [
        lambda: f"({a('vector')} + {a('vector')})",
        lambda: f"({a('vector')} * {a('scalar')})",
        lambda: f"torch.maximum({a('vector')}, {a('scalar')})",
        lambda: f"({a('matrix')} @ {a('vector')})",
        lambda: f"{a('matrix')}.mean(dim=1)",
        lambda: f"{a('matrix')}[0]",
        lambda: f"{a('vector')}[{a('index')}]",
        lambda: f"torch.arange(3.0, device={a('vector')}.device)",
        lambda: f"{a('vector')}{moved(scope)}",
        lambda: f"F.softmax({a('vector')}, dim=0)",
        lambda: f"torch.where({a('mask')}, {a('vector')}, {a('vector')})",
        lambda: _call(scope, "vector", depth) or a("vector"),
    ]
    return scope.dice.choice(forms)()


def _scalar(scope: Scope, depth: int) -> str:
    def a(kind: Kind) -> str:
        return expression(scope, kind, depth)

    forms: list[Callable[[], str]] = [
        lambda: f"{a('vector')}.sum()",
        lambda: f"{a('matrix')}.mean()",
        lambda: f"F.mse_loss({a('matrix')}, {a('matrix')})",
        lambda: f"F.cross_entropy({a('matrix')}, {a('index')})",
        lambda: f"({a('scalar')} + {a('scalar')})",
        lambda: f"({a('vector')} @ {a('vector')})",
        lambda: f"{a('vector')}[0]",
        lambda: f"torch.tensor({a('vector')}.sum().item())",
        lambda: f"{a('scalar')}{moved(scope)}",
    ]
    return scope.dice.choice(forms)()


def _index(scope: Scope, depth: int) -> str:
    kind: Kind = scope.dice.choice(["vector", "matrix"])
    inner = expression(scope, kind, depth)
    return f"{inner}.argsort()" if kind == "vector" else f"{inner}.argmax(dim=1)"


def _mask(scope: Scope, depth: int) -> str:
    left, right = expression(scope, "vector", depth), expression(scope, "vector", depth)
    return scope.dice.choice([f"({left} > 0.5)", f"({left} > {right})", f"~({left} < 0)"])


def _matrices(scope: Scope, depth: int) -> str:
    first, second = expression(scope, "matrix", depth), expression(scope, "matrix", depth)
    known = scope.pick("matrices")
    forms = [f"[{first}, {second}]", f"list(({first}, {second}))"]
    if known is not None:
        forms += [f"[each{moved(scope)} for each in {known}]", f"{known} + [{first}]", f"{known}[::-1]"]
    return scope.dice.choice(forms)


def _named(scope: Scope, depth: int) -> str:
    first, second = expression(scope, "matrix", depth), expression(scope, "matrix", depth)
    known = scope.pick("named")
    forms = [f"{{'a': {first}, 'b': {second}}}", f"dict(a={first}, b={second})"]
    if known is not None:
        forms += [f"{{key: each{moved(scope)} for key, each in {known}.items()}}", f"{{**{known}, 'b': {second}}}"]
    return scope.dice.choice(forms)


def _module(scope: Scope, _depth: int) -> str:
    where = f".to({scope.device()})"
    plain = ["nn.Linear(3, 3)", "nn.Sequential(nn.Linear(3, 3), nn.ReLU())", "nn.ReLU()", "nn.LayerNorm(3)"]
    made = scope.dice.choice([*plain, *(f"{name}()" for name in scope.classes * 3)])
    suffix = scope.dice.choice(["", where, where, where, ".cuda()", f"{where}.eval()"])
    return f"nn.Linear(3, 3, device={scope.device()})" if scope.chance(0.1) else made + suffix


def _call(scope: Scope, kind: Kind, depth: int) -> str | None:
    fitting = [function for function in scope.functions if function.returns == kind]
    if not fitting:
        return None
    chosen = scope.dice.choice(fitting)
    given = [scope.device() if each == "device" else expression(scope, each, depth) for each in chosen.takes]
    return f"{chosen.name}({', '.join(given)})"


_COMPOUND: dict[Kind, Callable[[Scope, int], str]] = {
    "matrix": _matrix,
    "vector": _vector,
    "scalar": _scalar,
    "index": _index,
    "mask": _mask,
    "matrices": _matrices,
    "named": _named,
    "module": _module,
}
