"""Where fixes put lines: the fixed program runs on the CPU as the program would with every `cuda` as `cpu`."""

from __future__ import annotations

import ast
import contextlib
import io
import json
from random import Random

import pytest
from devlint import engine
from devlint.settings import Settings
from devlint.sources import program_of

HEADS = ('"""Trains."""', "from __future__ import annotations")

IMPORTS = (
    "import torch",
    "import torch as th",
    "import torch.nn",
    "from torch import nn, ones",
    "import math, torch",
    "import torch; import json",
    "if flag:\n    import torch",
    "if flag:\n    import torch\nelse:\n    import torch",
    "try:\n    import torch\nexcept ImportError:\n    torch = None",
    "with open('/dev/null') as sink:\n    import torch",
    "def late():\n    import torch\n    return torch\ntorch = late()",
    "torch = __import__('torch')",
)

PLAIN = (
    "import os",
    "import random  # why",
    "from math import pi",
    "debug = flag",
    "device = 3",
    "os = 2",
    "if flag:\n    level = 1\nelse:\n    level = 2",
    "if flag:\n    chosen = 1",
    "try:\n    total = 1 / flag\nexcept ZeroDivisionError as error:\n    total = 0",
    "for step in range(2):\n    print(step)",
    "class Empty:\n    size = 3",
    "def plain(a, device=None):\n    return a",
    "print('here')",
    "unused = 0\ndel unused",
    "values = [one for one in range(3)]",
)

USES = (
    "x = {torch}.ones(3).cuda()\nprint(x.sum())",
    "print({torch}.ones(3, device='cuda').sum())",
    "y = {torch}.zeros(3, device='cuda:0')\nprint(y)",
    "if flag:\n    z = {torch}.ones(3).cuda()\n    print(z)",
    "def made():\n    w = {torch}.ones(2).cuda()\n    return w + {torch}.ones(2)\nprint(made())",
    "def gpu(n, where='cuda'):\n    return {torch}.ones(n, device=where)\nprint(gpu(2))",
    "net = {torch}.nn.Linear(3, 3).to('cuda')\nprint(net({torch}.ones(3)).shape)",
    "a, b = {torch}.ones(3).cuda(), {torch}.ones(3)\nfor turn in range(2):\n    print((a + b).sum())",
    "c = {torch}.ones(3)\nc.to('cuda')\nprint((c + {torch}.ones(3, device='cuda')).sum())",
    "def scaled(v: {torch}.Tensor):\n    scale = {torch}.ones(3)\n    return v * scale\n"
    "print(scaled({torch}.ones(3).cuda()))",
    "print({torch}.ones(3).cuda().numpy())",
    "class Net({torch}.nn.Module):\n    def __init__(self):\n        super().__init__()\n"
    "        self.embedding = {torch}.nn.Embedding(4, 4)\n        self.shift = {torch}.ones(4)\n"
    "        self.parts = [{torch}.nn.Linear(4, 4)]\n    def forward(self, tokens):\n"
    "        at = {torch}.arange(tokens.size(0)).unsqueeze(-1)\n"
    "        return (self.embedding(tokens) + at) * self.shift\n"
    "print(Net().cuda()({torch}.tensor([1, 2]).cuda()).shape)",
    "with {torch}.no_grad():\n    inside = {torch}.ones(3).cuda()\nprint(inside)",
    "print([{torch}.ones(1).cuda() for one in range(2)])",
    "late_one = (lambda: {torch}.ones(1).cuda())()\nprint(late_one)",
)

MAGICS = ("%matplotlib inline", "!echo a", "%time print(1)", "%%time")


def chunks(draw: Random) -> list[str]:
    """The statements of a program: torch is imported in some way, with other code before and behind."""
    imports = draw.sample(IMPORTS, draw.randint(1, 2))
    name = "th" if "as th" in imports[0] else "torch"
    if "nn, ones" in imports[0]:
        imports.append("import torch")
    uses = [one.replace("{torch}", name) for one in draw.sample(USES, draw.randint(1, 3))]
    before, between, last = (draw.sample(PLAIN, draw.randint(0, 3)) for _ in range(3))
    body = [*before, imports[0], *between, *uses[:-1], *imports[1:], *last, uses[-1]]
    return [*draw.choice([(), (), HEADS[:1], HEADS[1:], HEADS]), *body]


def script(draw: Random) -> tuple[str, str]:
    """Such statements as a script, with its name."""
    return "\n".join(chunks(draw)) + "\n", "a.py"


def notebook(draw: Random) -> tuple[str, str]:
    """Such statements in the cells of a notebook, with magics."""
    cells: list[list[str]] = []
    for one in chunks(draw):
        magics = draw.sample(MAGICS, draw.randint(0, 1))
        if "__future__" in one:
            continue
        if cells and draw.random() < 0.5 and magics != ["%%time"]:
            cells[-1] += [*magics, one]
        else:
            cells.append([*magics, one])
    written: list[dict[str, object]] = [
        {"cell_type": "code", "metadata": {}, "outputs": [], "execution_count": None, "source": "\n".join(one)}
        for one in cells
    ]
    return json.dumps({"cells": written, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}), "a.ipynb"


def _fixed(text: str, name: str, *, unsafe: bool) -> str:
    run = engine.run(
        Settings(("-",), stdin_filename=name, select=("ALL",), isolated=True, fix=True, unsafe_fixes=unsafe),
        stdin=text.encode(),
    )
    assert not run.problems
    return next((change.after.decode() for change in run.changes), text)


def _ran(program: str, *, flag: bool) -> tuple[str, str]:
    """What a program prints, and the kind of the error that ends it."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        try:
            exec(compile(program, "program", "exec", dont_inherit=True), {"flag": flag, "__name__": "program"})
        except Exception as error:
            return out.getvalue(), f"{type(error).__name__}: {error}"
    return out.getvalue(), ""


def check(text: str, name: str) -> None:
    """Hold one program against the law."""
    program = program_of(text, name).text
    meant = program.replace(".cuda()", ".cpu()").replace("'cuda:0'", "'cpu'").replace("'cuda'", "'cpu'")
    for unsafe in (False, True):
        after = program_of(_fixed(text, name, unsafe=unsafe), name).text
        ast.parse(after)
        assert after.count("\ndevice = torch.device") <= 1
        for flag in (False, True):
            told, error = _ran(after, flag=flag)
            wanted, wrong = _ran(meant, flag=flag)
            lacks = "CUDA" in error or "NVIDIA" in error  # a device for which there is no fix
            assert (told, error) == (wanted, wrong) or (lacks and wanted.startswith(told)), after


@pytest.mark.parametrize("seed", range(12))
def test_a_fixed_program_binds_each_name_before_it_reads_it(seed: int) -> None:
    check(*script(Random(seed)))
    check(*notebook(Random(seed)))


@pytest.mark.long
@pytest.mark.parametrize("seed", range(100, 1_000))
def test_many_fixed_programs(seed: int) -> None:
    check(*script(Random(seed)))
    check(*notebook(Random(seed)))
