"""Generates whole programs: functions, modules, other classes, and the statements that use them."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import Literal

from tests.differential.expressions import expression, filled, fresh, moved
from tests.differential.program import Definition, Program, Statement
from tests.differential.scope import DEVICES, Class, Function, Kind, Scope
from tests.differential.statements import statements

PARAMETERS: tuple[Kind, ...] = (
    "matrix", "matrix", "matrix", "vector", "vector", "scalar", "index", "mask", "matrices", "pair", "named", "module",
    "function",
)  # fmt: skip

GUARDS = (
    "dev = torch.device('cuda' if torch.cuda.is_available() else 'cpu')",
    "dev = 'cuda:1' if torch.cuda.device_count() > 1 else 'cpu'",
    "dev = 'cuda' if torch.cuda.is_available() else 'cpu'",
    "dev = torch.device('cuda:0')",
)

ON_ACCELERATOR: dict[Kind | Literal["device"], str] = {
    "scalar": "torch.ones((), device='cuda')",
    "vector": "torch.ones(3, device='cuda')",
    "matrix": "torch.ones(3, 3, device='cuda')",
    "index": "torch.tensor([0, 2, 1], device='cuda')",
    "mask": "torch.tensor([True, False, True], device='cuda')",
    "matrices": "[torch.ones(3, 3, device='cuda'), torch.ones(3, 3, device='cuda')]",
    "pair": "(torch.ones(3, 3, device='cuda'), torch.ones(3, 3, device='cuda'))",
    "named": "{'a': torch.ones(3, 3, device='cuda'), 'b': torch.ones(3, 3, device='cuda')}",
    "function": "torch.relu",
    "module": "nn.Linear(3, 3, device='cuda')",
    "device": "'cuda'",
}
"""What a driver passes in."""

RECORDS = (
    "class Batch(typing.NamedTuple):\n    image: torch.Tensor\n    label: torch.Tensor",
    "@dataclasses.dataclass\nclass Batch:\n    image: torch.Tensor\n    label: torch.Tensor",
    "Batch = collections.namedtuple('Batch', ['image', 'label'])",
)


def generate(seed: int, number: int) -> Program:
    """The program of that number; the same for the same two numbers."""
    dice = random.Random(f"{seed}.{number}")
    world = _World(dice, dice.choice(DEVICES))
    definitions = [_record(world)] if dice.random() < 0.2 else []
    definitions += [_constant(world) for _ in range(dice.choice([0, 0, 0, 1]))]
    definitions += [dice.choice(_FUNCTIONS)(world) for _ in range(dice.choice([0, 1, 1, 2]))]
    definitions += [_module(world) for _ in range(dice.choice([0, 0, 1, 1, 2]))]
    definitions += [_worker(world) for _ in range(dice.choice([0, 0, 0, 1]))]
    scope = world.scope()
    main = [Statement(dice.choice(GUARDS))]
    scope.devices.append("dev")
    main += statements(scope, dice.randint(3, 9))
    inside = dice.random() < 0.25
    return Program(f"{seed}.{number}", dice.choice([2, 3, 4, 4]), tuple(definitions), tuple(main), inside)


@dataclass(slots=True)
class _World:
    """What all scopes of a program share."""

    dice: random.Random
    home: str
    functions: list[Function] = field(default_factory=list)
    modules: list[Class] = field(default_factory=list)
    workers: list[Class] = field(default_factory=list)
    records: str | None = None
    names: dict[Kind, list[str]] = field(default_factory=dict)
    attributes: dict[str, dict[Kind, list[str]]] = field(default_factory=dict)

    def scope(self) -> Scope:
        """A scope that knows everything defined so far."""
        names = {kind: list(known) for kind, known in self.names.items()}
        known = list(self.functions), list(self.modules), list(self.workers)
        return Scope(self.dice, self.home, *known, self.records, names=names)


def _record(world: _World) -> Definition:
    world.records = "Batch"
    return Definition(Statement(world.dice.choice(RECORDS)), "pass")


def _constant(world: _World) -> Definition:
    """A tensor or device that every function can see."""
    scope = world.scope()
    if scope.chance(0.3):
        text = f"DEVICE = {scope.device()}"
        return Definition(Statement(text), "pass")
    kind: Kind = scope.dice.choice(["matrix", "vector", "scalar"])
    name = f"TABLE{sum(map(len, world.names.values()))}"
    text = f"{name} = {fresh(scope, kind)}"
    world.names.setdefault(kind, []).append(name)
    return Definition(Statement(text), "pass")


def _helper(world: _World) -> Definition:
    """A function of tensors, containers, a module or a device, some of them with defaults."""
    dice, scope = world.dice, world.scope()
    takes, parameters = _parameters(scope)
    options: list[tuple[str, Kind | Literal["device"]]] = []
    if scope.chance(0.3):
        options.append(("bias", "vector"))
        parameters.append("bias=None")
    if scope.chance(0.2):
        options.append(("where", "device"))
        parameters.append(f"where={dice.choice(['None', world.home])}")
    returns: Kind = dice.choice(["matrix", "matrix", "matrix", "vector", "scalar", "pair"])
    body = list(statements(scope, dice.randint(0, 2)))
    result = expression(scope, returns, 1)
    if options and options[0][0] == "bias" and returns == "matrix":
        body.append(Statement("if bias is not None:", (Statement(f"return {result} + bias"),)))
    guarded = scope.pick("matrix", "vector")
    if guarded is not None and dice.random() < 0.15:
        early = Statement(f"return {expression(scope, returns, 1)}")
        body.append(Statement(f"if {guarded}.is_cuda:", (early,)))
    if ("where", "device") in options and returns in ("matrix", "vector", "scalar"):
        result = f"({result}).to(where)"
    body.append(Statement(f"return {result}"))
    return _function(world, takes, parameters, returns, body, tuple(options))


def _recursive(world: _World) -> Definition:
    """A function that calls itself."""
    scope = world.scope()
    name = f"helper{len(world.functions)}"
    first = scope.new("matrix")
    step = Statement(f"return {name}({expression(scope, 'matrix')}, depth - 1)")
    body = [Statement("if depth == 0:", (Statement(f"return {first}"),)), *statements(scope, 1), step]
    return _function(world, ["matrix"], [first, "depth=2"], "matrix", body)


def _generator(world: _World) -> Definition:
    """A generator of matrices."""
    scope = world.scope()
    takes, parameters = _parameters(scope)
    inner = Statement(f"yield {expression(scope, 'matrix')}")
    body = [*statements(scope, scope.dice.randint(0, 1)), Statement("for step in range(2):", (inner,))]
    return _function(world, takes, parameters, "matrices", body)


def _factory(world: _World) -> Definition:
    """A function that makes a function, which remembers what it was given."""
    scope = world.scope()
    takes, parameters = _parameters(scope)
    before = statements(scope, scope.dice.randint(0, 1))
    with scope.block():
        argument = scope.new("matrix")
        body = (*statements(scope, scope.dice.randint(0, 1)), Statement(f"return {expression(scope, 'matrix')}"))
    inner = Statement(f"def inner({argument}):", body)
    return _function(world, takes, parameters, "function", [*before, inner, Statement("return inner")])


_FUNCTIONS = (_helper, _helper, _helper, _helper, _recursive, _generator, _factory)


def _parameters(scope: Scope) -> tuple[list[Kind | Literal["device"]], list[str]]:
    """What a function takes, and the names it has for that."""
    kinds = [scope.dice.choice(PARAMETERS) for _ in range(scope.dice.randint(1, 3))]
    takes: list[Kind | Literal["device"]] = [*kinds]
    parameters = [scope.new(kind) for kind in kinds]
    for parameter, kind in zip(parameters, kinds, strict=True):
        if kind in ("matrix", "vector", "scalar"):
            scope.devices += [f"{parameter}.device"] * 3
    if scope.chance(0.3):
        takes.append("device")
        parameters.append("device")
        scope.devices += ["device"] * 4
    return takes, parameters


def _function(
    world: _World,
    takes: list[Kind | Literal["device"]],
    parameters: list[str],
    returns: Kind,
    body: list[Statement],
    options: tuple[tuple[str, Kind | Literal["device"]], ...] = (),
) -> Definition:
    name = f"helper{len(world.functions)}"
    world.functions.append(Function(name, tuple(takes), returns, options))
    driver = f"{name}({', '.join(ON_ACCELERATOR[each] for each in takes)})"
    if returns == "matrices":
        driver = f"list({driver})"
    if returns == "function":
        driver += f"({ON_ACCELERATOR['matrix']})"
    return Definition(Statement(f"def {name}({', '.join(parameters)}):", tuple(body)), driver)


def _module(world: _World) -> Definition:
    """A module with parameters, buffers, plain tensors, lists of modules, and perhaps a base of its own."""
    dice, scope = world.dice, world.scope()
    name = f"Net{len(world.modules)}"
    base = dice.choice([known for known in world.modules if not known.takes] or [None]) if dice.random() < 0.3 else None
    takes: list[Kind | Literal["device"]] = []
    parameters = ["self"]
    if base is None and dice.random() < 0.15:
        takes, parameters = ["vector"], ["self", "start"]
    elif base is None and dice.random() < 0.15:
        takes, parameters = ["device"], ["self", "device"]
    made = [Statement("super().__init__()")]
    known: dict[Kind, list[str]] = {} if base is None else {k: list(v) for k, v in world.attributes[base.name].items()}
    for kind, attribute, value in _attributes(world, scope, base is None):
        made.append(Statement(value if value.startswith("self.") else f"self.{attribute} = {value}"))
        known.setdefault(kind, []).append(f"self.{attribute}{_ELEMENTS.get(attribute, '')}")
    if takes == ["vector"]:
        made.append(Statement(dice.choice(["self.start = start", "self.register_buffer('start', start)"])))
        known.setdefault("vector", []).append("self.start")
    if takes == ["device"]:
        made.append(Statement("self.to(device)"))
    methods: list[Statement] = []
    if dice.random() < 0.25:
        text = "@property\ndef device(self):"
        methods.append(Statement(text, (Statement("return self.fc.weight.device"),)))
        scope.devices += ["self.device"] * 3
    for kind, names in known.items():
        scope.names.setdefault(kind, []).extend(names)
    if dice.random() < 0.25:
        methods.append(_method(scope, "mix"))
        scope.functions.append(Function("self.mix", ("matrix",), "matrix"))
    with scope.block():
        argument = scope.new("matrix")
        scope.devices += [f"{argument}.device"] * 4 + ["self.fc.weight.device"] * 2
        if base is not None:
            scope.functions.append(Function("super().forward", ("matrix",), "matrix"))
        body = list(statements(scope, dice.randint(0, 2)))
        if dice.random() < 0.2:
            body.append(Statement(f"{argument} = {argument}{moved(scope)}"))
        body.append(Statement(f"return {expression(scope, 'matrix')}"))
    world.modules.append(Class(name, tuple(takes)))
    world.attributes[name] = known
    init = Statement(f"def __init__({', '.join(parameters)}):", tuple(made))
    forward = Statement(f"def forward(self, {argument}):", tuple(body))
    bases = "nn.Module" if base is None else base.name
    statement = Statement(f"class {name}({bases}):", (init, *methods, forward))
    given = ", ".join(ON_ACCELERATOR[each] for each in takes)
    return Definition(statement, f"{name}({given}).cuda()({ON_ACCELERATOR['matrix']})")


def _attributes(world: _World, scope: Scope, own: bool) -> list[tuple[Kind, str, str]]:
    """Kind, name and value of what a module holds; a value that begins with `self.` is a statement."""
    dice = world.dice
    free = [known.name for known in world.modules if not known.takes]
    attributes: list[tuple[Kind, str, str]] = [("module", "fc", "nn.Linear(3, 3)")] if own else []
    possible: list[tuple[Kind, str, str]] = [
        ("module", "block", "nn.Sequential(nn.Linear(3, 3), nn.ReLU())"),
        ("module", "child", f"{dice.choice(free)}()" if free else "nn.LayerNorm(3)"),
        ("module", "parts", "[nn.Linear(3, 3)]"),
        ("module", "layers", "nn.ModuleList([nn.Linear(3, 3), nn.Linear(3, 3)])"),
        ("module", "heads", "nn.ModuleDict({'a': nn.Linear(3, 3)})"),
        ("module", "placed", f"nn.Linear(3, 3).to({scope.device()})"),
        ("vector", "plain", fresh(scope, "vector")),
        ("vector", "buffer", "nn.Buffer(torch.ones(3))"),
        ("vector", "shift", "self.register_buffer('shift', torch.ones(3), persistent=False)"),
        ("vector", "bias", "nn.Parameter(torch.zeros(3))"),
        ("matrix", "weight", "nn.Parameter(torch.ones(3, 3))"),
        ("matrix", "scale", "self.register_buffer('scale', torch.ones(3, 3))"),
        ("matrix", "scales", "nn.ParameterList([torch.ones(3, 3)])"),
        ("matrix", "cache", filled(scope, "torch.ones(3, 3, device={device})")),
        ("scalar", "factor", "torch.tensor(0.5)"),
        ("scalar", "gain", "nn.Parameter(torch.tensor(1.0))"),
        ("index", "order", "self.register_buffer('order', torch.tensor([2, 1, 0]))"),
        ("index", "places", "torch.tensor([1, 2, 0])"),
    ]
    return attributes + dice.sample(possible, dice.randint(1, 4))


_ELEMENTS = {"parts": "[0]", "layers": "[1]", "heads": "['a']", "scales": "[0]"}
"""Of attributes that hold several things, one of them."""


def _method(scope: Scope, name: str) -> Statement:
    """A further method, from matrix to matrix."""
    with scope.block():
        argument = scope.new("matrix")
        body = (*statements(scope, scope.dice.randint(0, 1)), Statement(f"return {expression(scope, 'matrix')}"))
    return Statement(f"def {name}(self, {argument}):", body)


def _worker(world: _World) -> Definition:
    """A class that is no module: it holds a module, a device and tensors."""
    dice, scope = world.dice, world.scope()
    name = f"Worker{len(world.workers)}"
    makes = [f"{known.name}()" for known in world.modules if not known.takes] or ["nn.Linear(3, 3)"]
    scope.devices += ["device"] * 6
    made = (
        Statement("self.device = device"),
        Statement(f"self.net = {dice.choice(makes)}.to(device)"),
        Statement(f"self.mean = {fresh(scope, 'vector')}"),
        Statement(f"self.seen = [{expression(scope, 'matrix', 1)}]"),
    )
    scope.devices = [each for each in scope.devices if each != "device"] + ["self.device"] * 6
    for kind, attribute in (("module", "net"), ("module", "net"), ("vector", "mean"), ("matrices", "seen")):
        scope.names.setdefault(kind, []).append(f"self.{attribute}")  # type: ignore[arg-type]
    run = _method(scope, "run")
    world.workers.append(Class(name, ("device",)))
    statement = Statement(f"class {name}:", (Statement("def __init__(self, device):", made), run))
    return Definition(statement, f"{name}('cuda').run({ON_ACCELERATOR['matrix']})")
