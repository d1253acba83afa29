"""Generates whole programs: functions, modules, and the statements that use them."""

from __future__ import annotations

import random
from dataclasses import dataclass

from tests.differential.expressions import expression, fresh, moved
from tests.differential.program import Definition, Program, Statement
from tests.differential.scope import DEVICES, Function, Kind, Scope
from tests.differential.statements import statements

PARAMETERS: tuple[Kind, ...] = ("matrix", "matrix", "vector", "scalar", "index", "matrices", "named", "module")

GUARDS = (
    "dev = torch.device('cuda' if torch.cuda.is_available() else 'cpu')",
    "dev = 'cuda:1' if torch.cuda.device_count() > 1 else 'cpu'",
    "dev = 'cuda' if torch.cuda.is_available() else 'cpu'",
    "dev = torch.device('cuda:0')",
)

ON_ACCELERATOR: dict[Kind | str, str] = {
    "scalar": "torch.ones((), device='cuda')",
    "vector": "torch.ones(3, device='cuda')",
    "matrix": "torch.ones(3, 3, device='cuda')",
    "index": "torch.tensor([0, 2, 1], device='cuda')",
    "mask": "torch.tensor([True, False, True], device='cuda')",
    "matrices": "[torch.ones(3, 3, device='cuda'), torch.ones(3, 3, device='cuda')]",
    "named": "{'a': torch.ones(3, 3, device='cuda'), 'b': torch.ones(3, 3, device='cuda')}",
    "module": "nn.Linear(3, 3, device='cuda')",
    "device": "'cuda'",
}
"""What a driver passes in."""


def generate(seed: int, number: int) -> Program:
    """The program of that number; the same for the same two numbers."""
    dice = random.Random(f"{seed}.{number}")
    world = _World(dice, dice.choice(DEVICES))
    definitions = [_function(world) for _ in range(dice.choice([0, 1, 1, 2]))]
    definitions += [_module(world) for _ in range(dice.choice([0, 0, 1, 1, 2]))]
    scope = world.scope()
    main = [Statement(dice.choice(GUARDS))]
    scope.devices.append("dev")
    main += statements(scope, dice.randint(4, 12))
    return Program(f"{seed}.{number}", dice.choice([2, 3, 4, 4]), tuple(definitions), tuple(main))


@dataclass(frozen=True, slots=True)
class _World:
    """What all scopes of a program share."""

    dice: random.Random
    home: str
    functions: list[Function]
    classes: list[str]

    def __init__(self, dice: random.Random, home: str) -> None:
        object.__setattr__(self, "dice", dice)
        object.__setattr__(self, "home", home)
        object.__setattr__(self, "functions", [])
        object.__setattr__(self, "classes", [])

    def scope(self) -> Scope:
        return Scope(self.dice, self.home, list(self.functions), list(self.classes))


def _function(world: _World) -> Definition:
    """A helper function: of tensors, containers, a module or a device."""
    dice, scope = world.dice, world.scope()
    kinds = [dice.choice(PARAMETERS) for _ in range(dice.randint(1, 3))]
    takes: list[str] = [*kinds]
    parameters = [scope.new(kind) for kind in kinds]
    if dice.random() < 0.3:
        takes.append("device")
        parameters.append("device")
        scope.devices += ["device", "device"]
    for parameter, kind in zip(parameters, kinds, strict=False):
        if kind in ("matrix", "vector", "scalar"):
            scope.devices.append(f"{parameter}.device")
    returns: Kind = dice.choice(["matrix", "matrix", "vector"])
    body = list(statements(scope, dice.randint(0, 3)))
    guarded = scope.pick("matrix", "vector")
    if guarded is not None and dice.random() < 0.2:
        early = Statement(f"return {expression(scope, returns, 1)}")
        body.append(Statement(f"if {guarded}.is_cuda:", (early,)))
    body.append(Statement(f"return {expression(scope, returns)}"))
    name = f"helper{len(world.functions)}"
    world.functions.append(Function(name, tuple(takes), returns))  # type: ignore[arg-type]
    driver = f"{name}({', '.join(ON_ACCELERATOR[each] for each in takes)})"
    return Definition(Statement(f"def {name}({', '.join(parameters)}):", tuple(body)), driver)


def _module(world: _World) -> Definition:
    """A module with parameters, buffers, plain tensors and lists of modules."""
    dice, scope = world.dice, world.scope()
    name = f"Net{len(world.classes)}"
    attributes: list[tuple[Kind, str, str]] = [("module", "fc", "nn.Linear(3, 3)")]
    attributes += dice.sample(
        [
            ("module", "block", "nn.Sequential(nn.Linear(3, 3), nn.ReLU())"),
            ("module", "child", f"{dice.choice(world.classes)}()" if world.classes else "nn.LayerNorm(3)"),
            ("vector", "plain", fresh(scope, "vector")),
            ("matrix", "weight", "nn.Parameter(torch.ones(3, 3))"),
            ("vector", "buffer", "nn.Buffer(torch.ones(3))"),
            ("matrix", "scale", "register"),
            ("module", "parts", "[nn.Linear(3, 3)]"),
            ("module", "layers", "nn.ModuleList([nn.Linear(3, 3), nn.Linear(3, 3)])"),
        ],
        dice.randint(1, 4),
    )
    made = [Statement("super().__init__()")]
    for kind, attribute, value in attributes:
        registered = f"self.register_buffer('{attribute}', torch.ones(3, 3))"
        made.append(Statement(registered if value == "register" else f"self.{attribute} = {value}"))
        listed = attribute in ("parts", "layers")
        scope.names.setdefault(kind, []).append(f"self.{attribute}" + ("[0]" if listed else ""))
    argument = scope.new("matrix")
    scope.devices += [f"{argument}.device", f"{argument}.device", "self.fc.weight.device"]
    body = list(statements(scope, dice.randint(0, 3)))
    if dice.random() < 0.3:
        body.append(Statement(f"{argument} = {argument}{moved(scope)}"))
    body.append(Statement(f"return {expression(scope, 'matrix')}"))
    world.classes.append(name)
    init = Statement("def __init__(self):", tuple(made))
    forward = Statement(f"def forward(self, {argument}):", tuple(body))
    statement = Statement(f"class {name}(nn.Module):", (init, forward))
    return Definition(statement, f"{name}().cuda()({ON_ACCELERATOR['matrix']})")
