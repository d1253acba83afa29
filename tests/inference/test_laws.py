"""Joins stand for both sides, in any order; findings do not depend on the order of files, or on runs before."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import permutations, product
from pathlib import Path
from random import Random

import pytest
from devlint import engine
from devlint.inference.solve import Solver
from devlint.inference.state.heap import Heap
from devlint.inference.values import devices
from devlint.inference.values.joins import join, join_all
from devlint.inference.values.objects import DICT, LIST, OBJECT, instance, site
from devlint.inference.values.tensors import CPU, Device, Row, device, options, pack, row, tensor
from devlint.inference.values.terms import (
    ELEMENT,
    ITEMS,
    MAPPING,
    MOVED,
    NO_DEVICE,
    NONE,
    NUMBER,
    PARAMETER,
    POSITIVE,
    UNKNOWN,
    Field,
    Value,
    attribute,
    constant,
    root,
)
from devlint.project import Project
from devlint.settings import Settings
from devlint.torchlib import catalogue

PLACES = (CPU, device("cuda:0"), device("cuda:1"))
PLAIN = (NONE, NUMBER, UNKNOWN, constant(1), constant("a"), root(PARAMETER, "x"), *PLACES)
RANKS = (constant(0), constant(2), POSITIVE, UNKNOWN)


def some_value(random: Random, depth: int = 2) -> Value:
    """Return a value of a random kind."""
    form = random.randrange(5 if depth else 2)
    if form < 2:
        return random.choice(PLAIN)
    if form == 2:
        return tensor(random.choice(PLACES), random.choice(RANKS))
    if form == 3:
        return pack(*[some_value(random, depth - 1) for _ in range(random.randrange(3))])
    return join_all([some_value(random, depth - 1) for _ in range(2)])


OWNERS = (
    (instance(site("body", (1, 0, 1, 1)), LIST), (ITEMS,)),
    (instance(site("body", (2, 0, 2, 1)), LIST), (ELEMENT,)),
    (instance(site("body", (3, 0, 3, 1)), DICT), (MAPPING,)),
    (instance(site("body", (4, 0, 4, 1)), OBJECT), (attribute("held"), attribute("inner"))),
    (root(PARAMETER, "self"), (attribute("held"), MOVED)),
)


def some_field(random: Random, field: Field) -> Value:
    """Return a value that a field may have."""
    if field is ITEMS:
        return pack(*[some_value(random, 1) for _ in range(random.randrange(3))])
    if field is MAPPING:
        keys = random.sample("abc", random.randrange(3))
        return row(NONE, tuple([(constant(key), some_value(random, 1)) for key in sorted(keys)]))
    return random.choice(PLACES) if field is MOVED else some_value(random)


def some_heap(random: Random) -> Heap:
    """Return a heap with some of the objects, each with some of its fields."""
    heap = Heap()
    for owner, fields in OWNERS:
        for field in fields:
            if random.random() < 0.7:
                heap.put(owner, field, some_field(random, field))
    return heap


def fields_of(heap: Heap) -> dict[Value, dict[Field, object]]:
    """Return the fields of all objects of a heap."""
    return {owner: {field: _content(held) for field, held in heap.fields(owner).items()} for owner in heap.objects()}


def _content(value: Value) -> object:
    """Return a value, without the order of the keys of a dictionary."""
    return dict(value.entries) if isinstance(value, Row) else value


@pytest.mark.parametrize("block", range(4))
def test_a_join_of_values_is_one_whatever_their_order(block: int) -> None:
    for seed in range(block * 500, block * 500 + 500):
        random = Random(seed)
        one, two, three = some_value(random), some_value(random), some_value(random)
        both = join(one, two)
        assert join(one, one) is one
        assert join(two, one) is both
        assert join(both, one) is both, (one, two)
        assert join(both, two) is both, (one, two)
        assert join(both, UNKNOWN) is UNKNOWN
        assert join(join(three, one), two) is join(three, both), (three, one, two)


def test_a_join_of_heaps_holds_both() -> None:
    for seed in range(600):
        random = Random(seed)
        one, two = some_heap(random), some_heap(random)
        both = one.joined(two, NONE)
        assert fields_of(two.joined(one, NONE)) == fields_of(both), seed
        assert fields_of(one.joined(one.fork(), NONE)) == fields_of(one), seed
        assert fields_of(both.joined(one, NONE)) == fields_of(both), seed
        assert fields_of(both.joined(two, NONE)) == fields_of(both), seed


def test_the_device_that_operands_share_is_that_of_brute_force() -> None:
    """Operands of rank 0 take part only if all have rank 0; without a conflict, all others are on one device."""
    for count in (1, 2, 3):
        for operands in product(product((*PLACES, NO_DEVICE), (constant(0), POSITIVE)), repeat=count):
            where, ranks = [each for each, _ in operands], [rank for _, rank in operands]
            tensors = [(each, rank) for each, rank in operands if each is not NO_DEVICE]
            deciding = {each for each, rank in tensors if rank is POSITIVE} or {each for each, _ in tensors}
            expected = deciding.pop() if len(deciding) == 1 else UNKNOWN if deciding else NO_DEVICE
            found = devices.meet(where, ranks)
            assert found is expected, operands


def test_alternatives_differ_where_all_their_devices_do() -> None:
    several = [join_all(list(chosen)) for count in (1, 2, 3) for chosen in permutations(PLACES, count)]
    for one, two in product(several, repeat=2):
        held = [(a, b) for a in options(one) for b in options(two)]
        assert all(isinstance(part, Device) for pair in held for part in pair)
        assert devices.differ(one, two) == all(a is not b for a, b in held)


FILES = {
    "base.py": "import torch\nfrom user import late\nDEVICE = 'cuda:0'\nclass Net(torch.nn.Module):\n"
    "    def __init__(self):\n        super().__init__()\n        self.mean = torch.zeros(3)\n"
    "    def forward(self, x):\n        return x - self.mean\ndef early(x):\n    return late(x)\n",
    "user.py": "import torch\nimport base\ndef late(x):\n    return x + torch.ones(3, device=base.DEVICE)\n",
    "run.py": "import torch\nfrom base import Net, early\nearly(torch.ones(3))\nNet().cuda()(torch.ones(3).cuda())\n",
    "other.py": "from base import *\nimport torch\nearly(torch.ones(3, device='cuda:1'))\n",
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a project of files that import each other."""
    for name, text in FILES.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


def _found(folder: Path, names: Iterator[str] | tuple[str, ...], before: tuple[str, ...] = ()) -> list[str]:
    project = Project(folder)
    solver = Solver(project, catalogue.load())
    if before:
        solver.check([project.source(folder / name) for name in before])
    findings = solver.check([project.source(folder / name) for name in names])
    return sorted(f"{each.requirement.place} {each.one} {each.two} {each.entry}" for each in findings)


def test_files_in_any_order_give_the_same_findings(folder: Path) -> None:
    expected = _found(folder, tuple(FILES))
    assert len(expected) > 2
    for names in permutations(FILES):
        assert _found(folder, names) == expected
        assert _found(folder, names, names[:2]) == expected


def test_one_process_and_two_give_the_same_reports(folder: Path) -> None:
    texts = []
    for jobs in (1, 2):
        run = engine.run(Settings((str(folder),), jobs=jobs, isolated=True, engine="inference"))
        texts.append([str(each) for each in run.outcome.diagnostics])
    assert texts[0]
    assert texts[0] == texts[1]
