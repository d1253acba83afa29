"""What is said of a place without running it: PyTorch takes each kind of mutant that is said not to show anything."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.judge import Judge
from tests.mutants.flow import ALONE
from tests.mutants.places import Place, places

SHOWN = """
def computes(x):
    return torch.ones(3, device=x.device) * x

def computes_later(x):
    made = torch.ones(3, device=x.device).view(1, 3)
    return made + x

def computes_in_a_loop(x):
    total = torch.zeros(3, device=x.device)
    for row in x:
        total = total + row
    return total

def computes_in_the_next_turn(x):
    made = None
    for row in x:
        if made is not None:
            x = x + made
        made = torch.ones(3, device=x.device)
    return x

def computes_with_what_it_keeps(x):
    holder.mask = torch.ones(3, device=x.device)
    return x * holder.mask

def is_a_vector(x):
    return x + torch.tensor([1.0, 2.0, 3.0], device=x.device)

def goes_where_a_mask_says(x):
    x[x > 0] = torch.ones(9, device=x.device)
    return x

def is_made_on_one_path(x):
    made = x
    if len(x) == 3:
        made = torch.ones(3, device=x.device)
    return x + made

def is_one_of_two(x):
    made, other = torch.ones(3, device=x.device), x
    return made + other

def comes_back(x):
    return x + x.cpu().sort()[0].to(x.device)

def is_collected_with_others(x):
    rows = []
    for row in x:
        rows.append(row)
    rows.append(torch.ones(3, device=x.device))
    return torch.stack(rows)

def is_collected_and_taken_out(x):
    rows = []
    rows.append(torch.ones(3, device=x.device))
    return rows[0] + x

def is_one_of_each(x):
    rows = [torch.ones(3, device=x.device) for _ in x]
    return x + rows[0]

def is_compared_with_another(x):
    made = torch.ones(3, 3, device=x.device)
    return made[0] < x[0]

def is_put_beside_another(x):
    made = torch.ones(3, device=x.device)
    other = made + 1
    return torch.stack([made, other, x[0]])

def is_selected_from_by_another(x):
    made = torch.ones(3, 3, device=x.device)
    return made[x[0].long()]

def is_computed_from_two(x):
    made = torch.ones(3, device=x.device)
    other = made.exp()
    other = other + len(x)
    return made * other * x

def is_a_moved_vector(x):
    return x + torch.tensor([1.0, 2.0, 3.0]).to(x.device)

def is_moved(x):
    made = torch.ones(3)
    made = made / made.sum()
    return x + made.to(x.device)
"""
"""Functions in which a tensor that is left on the CPU meets another one."""

NOT_SHOWN = """
def returns(x):
    return torch.ones(3, device=x.device), x

def returns_a_view(x):
    made = torch.ones(3, device=x.device).view(3, 1)
    return made.float() / 2

def returns_one_like_it(x):
    made = torch.ones(3, device=x.device)
    return torch.full_like(made, 2.0)

def returns_what_it_moves(x):
    made = torch.ones(3)
    return made.to(x.device)

def gives_back(x):
    return x.cpu().sort()[0].to(x.device)

def keeps(x):
    holder.mask = torch.ones(3, device=x.device)
    holder.parameter = torch.nn.Parameter(torch.ones(3, device=x.device))
    holder.register_buffer("buffer", torch.ones(3, device=x.device))
    holder.masks = {"mask": torch.ones(3, device=x.device)[0:2]}

def copies(x):
    x.copy_(torch.ones(3, device=x.device))
    x[0] = torch.ones(3, device=x.device)

def asks(x):
    return torch.ones(3, device=x.device).dtype, len(torch.ones(3, device=x.device))

def uses_numbers(x):
    return x * torch.ones(3, device=x.device).sum().item()

def never_uses(x):
    made = torch.ones(3, device=x.device)
    made = x + 1
    return made + x

def uses_the_name_before(x):
    made = x + 1
    x = made + x
    made = torch.ones(3, device=x.device)
    return made

def places_it_later(x):
    made = torch.ones(3, device=x.device)
    made = made.to(x.device).float()
    return x + made + torch.ones(3, device=x.device).cuda()

def moves_what_is_placed(x):
    made = torch.ones(3, device=x.device)
    return x + made.to(x.device)

def fills_with_numbers(x):
    made = torch.empty(3, device=x.device).uniform_(0, 1)
    holder.made = made.clamp(min=0, max=1) if made is not None else None
    for i, row in enumerate(x):
        holder.number = int(made[i])

def moves_what_is_there(x):
    made = x.float()
    made = made.to(x.device) + x
    made = made.cpu()
    return made

def selects(x):
    rows = torch.arange(3, device=x.device)
    return x[rows] + x[:, rows.view(-1)] + x[rows[: len(x)], rows]

def puts(x):
    rows = torch.arange(3, device=x.device)
    x[rows] = 1.0
    x[rows, 0] += 1.0
    x[torch.ones(3, dtype=torch.bool, device=x.device)] = 2.0

def adds_a_number(x, factor: float = 2.0):
    x = x + torch.tensor(-1.5, device=x.device) * torch.zeros((), device=x.device)
    x = x * torch.as_tensor(factor, device=x.device) / torch.tensor(math.pi / 2, device=x.device)
    kind = torch.finfo(x.dtype)
    x = x + torch.tensor(kind.tiny, device=x.device)
    return x - torch.scalar_tensor(len(x) + 0, device=x.device)

def adds_what_is_found_to_be_a_number(x, factor=2.0):
    if isinstance(factor, (int, float)):
        factor = torch.as_tensor(factor, device=x.device)
    return x + factor

def keeps_each(x):
    made = torch.ones(3, device=x.device)
    holder.rows = []
    for i in range(3):
        holder.rows[i:] = [made[i]]

def takes_over_another(x: torch.Tensor):
    return x + torch.as_tensor(x, dtype=torch.float64, device=x.device)

def makes_one_like_another(x):
    return x + torch.zeros_like(x, device=x.device)

def moves_one_like_another(x):
    made = torch.ones_like(x[0])
    return x + made.to(x.device)

def keeps_one_of_each(x):
    holder.rows = [torch.ones(3, device=x.device) for _ in x]
    return {i: torch.ones(3, device=x.device) for i in range(3)}

def collects(x):
    found = []
    for _ in x:
        made = torch.ones(3, device=x.device)
        found.append(made)
    if len(found) == 0:
        return None
    return torch.cat(found, dim=0).view(-1)

def collects_for_others(x):
    found = []
    found.append(torch.ones(3, device=x.device))
    found.append(x)
    found[-1][0] = 2.0
    return found

def compares_its_own_rows(x):
    made = torch.zeros(3, 3, device=x.device)
    made[0] = x[0]
    empty = (made[1] <= made[0]).any(dim=-1)
    return empty * made.sum().item(), made * made

def computes_with_itself_alone(x):
    made = torch.linspace(0.0, 1.0, 3, device=x.device)
    other = 1 - made.sqrt() - made * torch.sin(10 * math.pi * made)
    both = torch.stack([made, other], dim=-1)
    both[0] = x[0, 0]
    empty = (both[:, 0] <= both[:, 1]) & (both[:, 0] > 0)
    return both[~empty]

def divides_by_a_size(x):
    longest, count = x.size(1), x.shape[0]
    made = torch.tensor([1.0, 2.0], device=x.device)
    return (made / longest).unsqueeze(0) / count

def moves_a_number(x):
    start = torch.tensor(0.0).to(x.device)
    return x - start

def collects_behind_the_first(x):
    rows = [torch.ones(3, device=x.device)]
    for _ in x:
        rows.append(torch.ones(3, device=x.device))
    rows[-1][:] = 2.0
    return rows, len(rows)

def adds_what_is_a_number_if_it_is_left_out(x, factor=2.0, *, eps=1e-6):
    return x + torch.tensor(factor, device=x.device) + torch.tensor(eps, device=x.device)
"""
"""Functions that show nothing."""

PRELUDE = """
import math
import torch

holder = torch.nn.Module()

"""


REFUSED = """
try:
    {call}
except (RuntimeError, ValueError) as error:
    assert "device" in str(error) or "backend" in str(error), error
else:
    raise AssertionError("{name} {said}")
"""


def _mutants(text: str) -> Iterator[tuple[Place, str, str]]:
    """Each function with each of its places: the place, its function with the others, and the call of that."""
    whole = PRELUDE + text
    names = [node.name for node in ast.parse(text).body if isinstance(node, ast.FunctionDef)]
    for place in places(Path("code.py"), "", whole):
        yield place, place.without(whole), f"{names[place.function]}(torch.ones(3, 3, device='cuda'))"


def test_who_meets_another_is_in_view(judge: Judge) -> None:
    """PyTorch refuses each of them in its function."""
    program = ""
    for place, mutant, call in _mutants(SHOWN):
        assert place.is_in_view, (place, call)
        program += mutant + REFUSED.format(call=call, name=call.partition("(")[0], said=place.said.replace('"', ""))
    verdict = judge.run(program)
    assert verdict.outcome == "ok", verdict.message


def test_who_meets_nothing_is_not(judge: Judge) -> None:
    """PyTorch has nothing against any of them."""
    program = ""
    for place, mutant, call in _mutants(NOT_SHOWN):
        assert not place.is_in_view, (place, call)
        program += f"{mutant}\n{call}\n"
    verdict = judge.run(program)
    assert verdict.outcome == "ok", (verdict.message, program.splitlines()[(verdict.line or 1) - 1])


def test_functions_of_one_tensor_take_one_tensor() -> None:
    """By PyTorch's own schemas; `to` takes another one to go where that is."""
    torch = pytest.importorskip("torch")
    for name in sorted(ALONE):
        schemas = torch._C._jit_get_schemas_for_operator(f"aten::{name}")
        assert schemas or hasattr(torch.Tensor, name), name
        for schema in schemas:
            kinds = [str(argument.type) for argument in schema.arguments if argument.name != "out"]
            assert kinds.count("Tensor") <= 1 + (name == "to"), schema
            assert "List[Tensor]" not in kinds
