"""Generates statements: bindings, changes in place, branches, loops and context managers."""

from __future__ import annotations

from dataclasses import replace

from tests.differential.expressions import expression, filled, fresh, moved
from tests.differential.program import Statement
from tests.differential.scope import Kind, Scope

TENSORS: tuple[Kind, ...] = ("scalar", "vector", "matrix", "index", "mask")

_OFTEN: tuple[Kind, ...] = (
    *TENSORS, "matrix", "matrix", "vector", "matrices", "pair", "named", "module", "module", "function"
)  # fmt: skip

_HOME: dict[Kind, str] = {
    "matrices": "[torch.ones(3, 3), torch.ones(3, 3)]",
    "pair": "(torch.ones(3, 3), torch.ones(3, 3))",
    "named": "{'a': torch.ones(3, 3), 'b': torch.ones(3, 3)}",
    "function": "torch.relu",
    "module": "nn.Linear(3, 3)",
}

IN_PLACE = """
    {=matrix} {operator}= {matrix}
    {=matrix} {operator}= {vector}
    {=matrix} *= {scalar}
    {=scalar} += {scalar}
    {=scalar} += F.mse_loss({matrix}, {matrix})
    {=vector} += {matrix}.mean(0)
    {=vector} -= {vector}
    {=matrix}.add_({vector})
    {=matrix}.mul_({matrix})
    {=matrix}.copy_({matrix})
    {=matrix}.zero_()
    {=matrix}.fill_({scalar})
    {=matrix}.clamp_(min=0)
    {=matrix}.masked_fill_({mask}, 0.0)
    {=matrix}.index_copy_(0, {index}, {matrix})
    {=matrix}.scatter_(1, {index}[:, None], 1.0)
    {=matrix}.data = {matrix}.data
    {=matrix}[0] = {vector}
    {=matrix}[0] = {scalar}
    {=matrix}[:, 1] = {vector}
    {=matrix}[1:] = {matrix}[1:]
    {=matrix}[...] = {matrix}
    {=matrix}[0, 1] = {scalar}
    {=matrix}[{mask}] = {scalar}
    {=matrix}[{mask}] = 0.0
    {=matrix}[{index}] = {matrix}
    {=matrix}[{index}] = 1.0
    {=vector}[0] = {scalar}
    {=vector}[{index}] = {vector}
    {=matrix}[0] += {vector}
    {=matrix}[1] *= {scalar}
    torch.add({matrix}, {matrix}, out={=matrix})
    torch.cat([{matrix}[:1], {matrix}[1:]], out={=matrix})
"""

CONTAINERS = """
    {=matrices}.append({matrix})
    {=matrices}.append({matrix})
    {=matrices}.extend([{matrix}, {matrix}])
    {=matrices}[0] = {matrix}
    {=matrices}[-1] = {matrices}[0]
    {=matrices}.insert(0, {matrix})
    {=matrices} += [{matrix}]
    {=matrices}.reverse()
    {=named}['a'] = {matrix}
    {=named}['b'] = {matrix}
    {=named}['c'] = {matrix}
    {=named}.update(a={matrix})
    {=named}.update({{'b': {matrix}}})
    {=named}.setdefault('a', {matrix})
    {=named}['a'], {named}['b'] = {matrix}, {matrix}
"""

LEAVING = """
    print({vector}.sum().item())
    print({vector}.tolist())
    print({vector}.detach().cpu().numpy())
    print({matrix}.detach().numpy())
    print(np.asarray({vector}.detach()))
    print(np.mean({vector}.detach().numpy()))
    print({vector}.detach().cpu().numpy()[{index}.cpu().numpy()])
    print(float({scalar}), int({index}[0]))
    print('{{:.3f}}'.format({scalar}))
    print(torch.equal({matrix}, {matrix}))
    print(torch.allclose({matrix}, {matrix}))
    print(len({matrix}), {vector}.size(0), {matrix}.shape)
    print({matrix}.device, {scalar}.dtype)
    print(torch.rand(3, generator=torch.Generator(device={device}), device={device}))
    print([1.0, 2.0, 3.0][{index}[0]])
    {module}({matrix}).sum()
    {matrix} + {matrix}
    {vector}.size(0)
    torch.cuda.synchronize()
    torch.manual_seed(0)
"""

OPAQUE = "len(sys.argv) {} 9"
"""A condition that nobody knows before the program runs; with `<` it holds."""


def statements(scope: Scope, count: int) -> tuple[Statement, ...]:
    """So many statements, one after the other."""
    found: list[Statement] = []
    for _ in range(count):
        if scope.depth < 2 and scope.chance(0.2):
            found += scope.dice.choice(_COMPOUND)(scope)
        elif scope.opaque and scope.chance(0.9):
            found += scope.dice.choice(_LASTING)(scope)
        else:
            found += scope.dice.choice(_SIMPLE)(scope)
    return tuple(found)


def bind(scope: Scope, kind: Kind | None = None) -> list[Statement]:
    """A new name."""
    known: list[Kind] = [*_OFTEN]
    if scope.workers:
        known.append("worker")
    if scope.records:
        known.append("record")
    chosen = kind if kind is not None else scope.dice.choice(known)
    value = expression(scope, chosen)
    return [_binding(scope, scope.new(chosen), chosen, value)]


def _binding(scope: Scope, name: str, kind: Kind, value: str) -> Statement:
    instead = _HOME.get(kind) or (fresh(scope, kind, scope.home) if kind in TENSORS else "None")
    return Statement(f"{name} = {value}", instead=f"{name} = {instead}")


def _rebind(scope: Scope) -> list[Statement]:
    known: list[Kind] = [*TENSORS, "matrices", "named"]
    kind = scope.dice.choice(known)
    name = scope.variable(kind)
    return bind(scope, kind) if name is None else [_binding(scope, name, kind, expression(scope, kind))]


def _move(scope: Scope) -> list[Statement]:
    kind: Kind = scope.dice.choice([*TENSORS, "module"])
    name = scope.variable(kind)
    if name is None:
        return bind(scope)
    how = moved(scope, 1.0, kind)
    if kind == "module":
        how = scope.dice.choice([f".to({scope.device()})", f".to({scope.device()})", ".cuda()", ".cpu()"])
    keeps = scope.chance(0.5 if kind == "module" else 0.85)
    return [Statement(f"{name} = {name}{how}" if keeps else f"{name}{how}")]


def _in_place(scope: Scope) -> list[Statement]:
    (found,) = _one_of(scope, IN_PLACE)
    return [found if found.instead != "pass" else Statement("with torch.no_grad():", (found,))]


def _container(scope: Scope) -> list[Statement]:
    if scope.chance(0.2) and (several := scope.variable("matrices")) is not None:
        popped = f"{several}.pop(0) if len({several}) > 2 else {several}[0]"
        return [_binding(scope, scope.new("matrix"), "matrix", popped)]
    return _one_of(scope, CONTAINERS)


def _leave(scope: Scope) -> list[Statement]:
    return _one_of(scope, LEAVING)


def _one_of(scope: Scope, forms: str) -> list[Statement]:
    """A statement of one of the forms, or a binding where it needs a variable that does not exist."""
    form = scope.dice.choice(forms.strip().splitlines()).strip()
    known: list[Kind] = [*TENSORS, "matrices", "named"]
    missing = [kind for kind in known if f"{{={kind}}}" in form and not scope.variable(kind)]
    return bind(scope, missing[0]) if missing else [Statement(filled(scope, form))]


def _swap(scope: Scope) -> list[Statement]:
    first, second = scope.variable("matrix"), scope.variable("matrix")
    if first is None or second is None or first == second:
        return bind(scope)
    return [Statement(f"{first}, {second} = {second}, {first}")]


def _unpack(scope: Scope) -> list[Statement]:
    kind: Kind = scope.dice.choice(["pair", "pair", "matrices", "matrix"])
    value = expression(scope, kind)
    if kind == "matrix":
        names = ", ".join(scope.new("vector") for _ in range(3))
        return [Statement(f"{names} = {value}", instead=f"{names} = torch.ones(3, 3)")]
    first, second = scope.new("matrix"), scope.new("matrix")
    if kind == "matrices":
        return [Statement(f"{first}, *_, {second} = {value}", instead=f"{first} = {second} = torch.ones(3, 3)")]
    return [Statement(f"{first}, {second} = {value}", instead=f"{first} = {second} = torch.ones(3, 3)")]


def _train(scope: Scope) -> list[Statement]:
    """A step of an optimizer, which may have been made before the module was moved."""
    if scope.depth:
        return bind(scope)
    name = scope.new("module")
    where = scope.device()
    optimizer = Statement(f"optimizer = torch.optim.SGD({name}.parameters(), lr=0.1)")
    move = Statement(f"{name}.to({where})")
    made = Statement(f"{name} = nn.Linear(3, 3)")
    loss = filled(scope, f"loss = F.mse_loss({name}({{matrix}}), {{matrix}})")
    return [
        made,
        *([optimizer, move] if scope.chance(0.5) else [move, optimizer]),
        Statement(loss, instead=f"loss = {name}.weight.sum()"),
        *(Statement(text) for text in ("optimizer.zero_grad()", "loss.backward()", "optimizer.step()")),
    ]


def _settle(scope: Scope) -> list[Statement]:
    """Where things are created from now on."""
    forms = ["torch.set_default_device({device})", "torch.set_default_device({device})", "torch.cuda.set_device(1)"]
    return [Statement(filled(scope, scope.dice.choice(forms)))] if scope.chance(0.2) else bind(scope)


def _branch(scope: Scope) -> list[Statement]:
    """`if`, with or without `else`; what both sides bind is used afterwards."""
    tensor = scope.pick("matrix", "vector")
    number = scope.pick("scalar") or "torch.tensor(1.0)"
    unknown = [OPAQUE.format("<"), OPAQUE.format(">"), f"{number}.item() > 0"]
    known = ["torch.cuda.is_available()", "torch.cuda.device_count() > 1"]
    if tensor is not None:
        known += [
            f"{tensor}.is_cuda",
            f"{tensor}.device.type == 'cpu'",
            f"{tensor}.dim() > 1",
            f"not {tensor}.is_cuda",
            f"{tensor}.device != torch.device('cpu')",
            f"isinstance({tensor}, torch.Tensor)",
            f"{tensor} is not None",
        ]
    condition = scope.dice.choice([*unknown, *known])
    before, scope.opaque = scope.opaque, scope.opaque or condition in unknown
    found = [replace(_block(scope, f"if {condition}:"), instead="if True: pass")]
    if scope.chance(0.4):
        found.append(replace(_block(scope, "else:"), instead="else: pass"))
    elif scope.chance(0.4):
        kind: Kind = scope.dice.choice(["matrix", "matrix", "vector"])
        values = expression(scope, kind), expression(scope, kind)
        name = scope.new(kind)
        sides = [_binding(scope, name, kind, value) for value in values]
        instead = f"if {condition}: {sides[0].instead}"
        found = [Statement(f"if {condition}:", (sides[0],), instead=instead)]
        found.append(Statement("else:", (sides[1],), instead=f"else: {sides[1].instead}"))
    scope.opaque = before
    return found


def _loop(scope: Scope) -> list[Statement]:
    heads = ["for step in range(2):", "for step in [0, 1, 2]:"]
    choice = scope.dice.random()
    if choice < 0.3:
        return [_block(scope, scope.dice.choice(heads))]
    if choice < 0.4:
        name = f"left{scope.count}"
        body = _block(scope, f"while {name} > 0:")
        return [Statement(f"{name} = 2"), replace(body, body=(Statement(f"{name} -= 1"), *body.body))]
    with scope.block():
        return [_over(scope)]


def _over(scope: Scope) -> Statement:
    """A loop over something; its body changes no container, which might be the one."""
    kind: Kind = scope.dice.choice(["matrices", "matrices", "pair", "named", "matrix"])
    several = scope.pick(kind) if kind != "matrix" else None
    generators = [function for function in scope.functions if function.returns == "matrices"]
    if several is None:
        pair = filled(scope, "DataLoader(TensorDataset({matrix}.detach(), {index}), batch_size=3)")
        rows, called = expression(scope, "matrix"), filled(scope, "{call:matrices}") if generators else ""
        _leave_containers_alone(scope)
        form = scope.dice.choice(["loader", "rows", *(["generator"] * 3 if generators else [])])
        if form == "loader":
            return _block(scope, f"for {scope.new('matrix')}, {scope.new('index')} in {pair}:")
        if form == "rows":
            return _block(scope, f"for {scope.new('vector')} in {rows}:")
        return _block(scope, f"for {scope.new('matrix')} in {called}:")
    _leave_containers_alone(scope)
    if kind == "named":
        heads = [f"for key, {scope.new('matrix')} in {several}.items():"]
    else:
        name = scope.new("matrix")
        heads = [
            f"for {name} in {several}:",
            f"for {name} in {several}:",
            f"for place, {name} in enumerate({several}):",
            f"for {name}, other in zip({several}, {several}):",
            f"for {name} in reversed({several}):",
        ]
    return _block(scope, scope.dice.choice(heads))


def _leave_containers_alone(scope: Scope) -> None:
    scope.names["matrices"], scope.names["named"] = [], []


def _context(scope: Scope) -> list[Statement]:
    heads = ["with torch.no_grad():", f"with torch.device({scope.device()}):", "with torch.cuda.device(1):"]
    return [_block(scope, scope.dice.choice(heads))]


def _block(scope: Scope, head: str) -> Statement:
    with scope.block():
        return Statement(head, statements(scope, scope.dice.randint(1, 3)))


_LASTING = (bind, bind, bind, _in_place, _leave, _unpack)
"""These leave the devices of all names as they are."""

_SIMPLE = (
    bind, bind, bind, bind, bind, bind, bind, _rebind, _rebind, _move, _move, _in_place, _in_place, _container,
    _container, _swap, _leave, _leave, _unpack, _train, _settle
)  # fmt: skip
_COMPOUND = (_branch, _branch, _loop, _loop, _context)
