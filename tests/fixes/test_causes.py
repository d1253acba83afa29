"""Fixes at the cause of a report, as programs before and after, and causes without a fix."""

from __future__ import annotations

import pytest
from devlint import engine
from devlint.settings import Settings

from tests.fixes.programs import fixed, net

TRAIN = """\
import torch
from torch.utils.data import DataLoader, TensorDataset

ROWS = TensorDataset(torch.ones(8, 4), torch.ones(8, 4))


def train(device: torch.device, scale: torch.Tensor):
    scale = scale.to(device)
    for x, y in DataLoader(ROWS):
        {first}
        {second}
"""

ROWS = """\
import torch

made = torch.zeros(3)
{move}for row in torch.ones(2, 3, device="cuda:0"):
    total = made + row
"""

GIVEN = """\
import torch

def encode(rows, marks):
    net = torch.nn.Linear(3, 3)
    if torch.cuda.is_available():
        net = net.cuda()
    device = next(net.parameters()).device
    {first}
    out = net(torch.from_numpy(rows).to(device))
    show(out, mask)
    {second}
    return out.masked_fill(~mask, 0.0)
"""

BESIDE = """\
import torch

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = torch.nn.Linear(3, 3)

    def start(self):
        return torch.zeros(3, device=next(self.fc.parameters()).device)

    def forward(self):
        x = torch.zeros(3{device})
        rest = self.start()
        return self.fc(torch.cat([x, rest])[:3])
"""

BRANCHES = """\
import torch

device = torch.device("cuda:0")


def measure(net: torch.nn.Module, real):
    net.to(device)
    if real:
        for x in real:
            out = net(x.to(device))
    else:
        x = torch.randn(3, 3, device=device)
        labels = {labels}
        for _ in range(3):
            out = x @ x
            print(out[0] + labels)
"""

HIDDEN = """\
import torch

def run(x, weight: torch.Tensor, hidden=None):
    if hidden is None:
        hidden = torch.zeros(3, 3{device})
    for _ in range(3):
        mixed = x @ weight + hidden @ weight
        gate = torch.sigmoid(mixed)
        hidden = (1 - gate) * mixed + gate * hidden
    return hidden
"""

SCORES = """\
import torch

class Chain(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.links = torch.nn.Parameter(torch.zeros(3, 3))

    def forward(self, rows: torch.Tensor):
        score = torch.Tensor(1, 3).fill_(-1000.0)
    {move}    for row in rows:
            score = torch.logsumexp(score + self.links + row, 1)
        return score
"""

FILLED = """\
import torch

def rates(spikes: torch.Tensor, shares: torch.Tensor, n):
    found = torch.zeros(spikes.size(0){device})
    part = shares if n > 2 else spikes
    found[:] += part.sum(0)
    return found
"""

STEPS = """\
import torch

def chosen(table, step):
    return table.index_select(0, step + 1)

def walk(n, xs, table: torch.Tensor, net):
    for _ in range(3):
        step = torch.ones(n{device}) * 2
        row = chosen(table, step.long())
        x = xs[-1].to("cuda")
        xs.append(net(x, step.float()) * row)
"""

CAUSES = {
    "batch whose parts are used": (
        ("DEV103",),
        TRAIN.format(first="part = x[:, :2]", second="print((part[:, 1:] * scale).sum(), (part[:, :1] * scale).sum())"),
        TRAIN.format(
            first="x = x.to(device)\n        part = x[:, :2]",
            second="print((part[:, 1:] * scale).sum(), (part[:, :1] * scale).sum())",
        ),
    ),
    "move of a batch that was thrown away, and its parts": (
        ("DEV103", "DEV203"),
        TRAIN.format(first="x.to(device)", second="print(x[:, 1:] * scale, (1 - x[:, :1]) * scale)"),
        TRAIN.format(first="x = x.to(device)", second="print(x[:, 1:] * scale, (1 - x[:, :1]) * scale)"),
    ),
    "move of a batch that was thrown away, and what a function computes from it": (
        ("DEV103", "DEV203"),
        TRAIN.format(
            first="y.to(device)", second="kept = torch.exp(torch.clamp(y, 0)).float()\n        print(kept * scale)"
        ),
        TRAIN.format(
            first="y = y.to(device)", second="kept = torch.exp(torch.clamp(y, 0)).float()\n        print(kept * scale)"
        ),
    ),
    "value that two branches use": (
        ("DEV103",),
        TRAIN.format(
            first="y = y.float()",
            second="if len(y) > 2:\n            print(y * scale)\n        else:\n            print(y[:, 1:] * scale)",
        ),
        TRAIN.format(
            first="y = y.to(device)\n        y = y.float()",
            second="if len(y) > 2:\n            print(y * scale)\n        else:\n            print(y[:, 1:] * scale)",
        ),
    ),
    "value of a name that an operation computes with": (
        ("DEV101",),
        "import torch\n\ndevice = torch.device('cuda')\nrate = 0.5\nmask = torch.FloatTensor([1, 2]).unsqueeze(1)\n"
        "print(mask * rate * torch.ones(2, 1, device=device))\n",
        "import torch\n\ndevice = torch.device('cuda')\nrate = 0.5\nmask = torch.FloatTensor([1, 2]).unsqueeze(1)\n"
        "mask = mask.to(device)\nprint(mask * rate * torch.ones(2, 1, device=device))\n",
    ),
    "buffer, and a value computed from it": (
        ("DEV103", "DEV201"),
        net("self.shift = torch.ones(3)", "shift = self.shift.repeat(2, 1)\n        return x + shift"),
        net(
            'self.register_buffer("shift", torch.ones(3), persistent=False)',
            "shift = self.shift.repeat(2, 1)\n        return x + shift",
        ),
    ),
    "buffer that is written to": (
        ("DEV103", "DEV201"),
        net("self.mean = torch.zeros(3)", "self.mean.mul_(0.9).add_(x.mean(0) * 0.1)\n        return x - self.mean"),
        net(
            'self.register_buffer("mean", torch.zeros(3), persistent=False)',
            "self.mean.mul_(0.9).add_(x.mean(0) * 0.1)\n        return x - self.mean",
        ),
    ),
    "value that is moved to a plain attribute": (
        ("DEV103",),
        net(
            "self.fc = nn.Linear(3, 3)\nself.rows = torch.ones(3)",
            "x = x.type_as(self.rows)\n        return self.fc(x)",
        ),
        net(
            'self.fc = nn.Linear(3, 3)\nself.register_buffer("rows", torch.ones(3), persistent=False)',
            "x = x.type_as(self.rows)\n        return self.fc(x)",
        ),
    ),
    "tensor that is filled, and was created without a device": (
        ("DEV103",),
        FILLED.format(device=""),
        FILLED.format(device=", device=spikes.device"),
    ),
    "created tensor that a loop computes anew": (
        ("DEV103",),
        HIDDEN.format(device=""),
        HIDDEN.format(device=", device=weight.device"),
    ),
    "value that a loop computes anew, and that is made before it": (
        ("DEV103",),
        SCORES.format(move=""),
        SCORES.format(move="    score = score.to(self.links.device)\n    "),
    ),
    "loop variable of a script": (
        ("DEV101",),
        ROWS.format(move=""),
        ROWS.format(move='made = made.to("cuda:0")\n'),
    ),
    "one created tensor, and reports of two expressions of it": (
        ("DEV101", "DEV104"),
        STEPS.format(device=""),
        STEPS.format(device=", device=table.device"),
    ),
    "value that an earlier call is given": (
        ("DEV101",),
        "import torch\n\ndevice = torch.device('cuda')\nx = torch.FloatTensor(rows).view(-1, 3)\n"
        "y = torch.ones(2, 3).to(device)\nscore(x)\nz = torch.cat([x, y])\n",
        "import torch\n\ndevice = torch.device('cuda')\nx = torch.FloatTensor(rows).view(-1, 3)\nx = x.to(device)\n"
        "y = torch.ones(2, 3).to(device)\nscore(x)\nz = torch.cat([x, y])\n",
    ),
    "element of a dict": (
        ("DEV101",),
        "import torch\n\nkept = {'a': torch.FloatTensor([1, 2]), 'b': torch.ones(2, device='cuda')}\n"
        "kept['a'] + kept['b']\n",
        "import torch\n\nkept = {'a': torch.FloatTensor([1, 2]).to('cuda'), 'b': torch.ones(2, device='cuda')}\n"
        "kept['a'] + kept['b']\n",
    ),
    "leaf that is made of a batch": (
        ("DEV102",),
        "import torch\n\nnet = torch.nn.Linear(3, 3).cuda()\nimage = torch.from_numpy(rows)\nfirst = net(image)\n"
        "out = torch.tensor(image, requires_grad=True)\nsteps = torch.optim.Adam([out])\n"
        "for _ in range(3):\n    second = net(out)\n",
        "import torch\n\nnet = torch.nn.Linear(3, 3).cuda()\nimage = torch.from_numpy(rows)\n"
        "image = image.to(net.weight.device)\nfirst = net(image)\n"
        "out = torch.tensor(image, requires_grad=True)\nsteps = torch.optim.Adam([out])\n"
        "for _ in range(3):\n    second = net(out)\n",
    ),
    "labels that numpy reads after a copy": (
        ("DEV101",),
        "import torch\n\ny = torch.FloatTensor([1, 2, 3])\nout = torch.ones(3, device='cuda')\n"
        "mixed = out * y\nsame = out.eq(y.data)\nprint(y.cpu().numpy())\n",
        "import torch\n\ny = torch.FloatTensor([1, 2, 3])\nout = torch.ones(3, device='cuda')\ny = y.to(out.device)\n"
        "mixed = out * y\nsame = out.eq(y.data)\nprint(y.cpu().numpy())\n",
    ),
    "module that is wrapped under a condition": (
        ("DEV401",),
        "import torch\nfrom torch import nn\n\ndevice = torch.device('cuda:0')\nnet = nn.Linear(3, 3)\n"
        "if torch.cuda.device_count() > 1:\n    net = nn.DataParallel(net)\nnet(torch.ones(3, 3, device=device))\n",
        "import torch\nfrom torch import nn\n\ndevice = torch.device('cuda:0')\nnet = nn.Linear(3, 3).to(device)\n"
        "if torch.cuda.device_count() > 1:\n    net = nn.DataParallel(net)\nnet(torch.ones(3, 3, device=device))\n",
    ),
    "function that has a device": (
        ("DEV103",),
        "import torch\n\ndef mask(x: torch.Tensor, device=None):\n    return torch.ones(4, 1)\n\n"
        "def use(x: torch.Tensor):\n    found = mask(x, x.device)\n    return x * found\n",
        "import torch\n\ndef mask(x: torch.Tensor, device=None):\n    return torch.ones(4, 1, device=device)\n\n"
        "def use(x: torch.Tensor):\n    found = mask(x, x.device)\n    return x * found\n",
    ),
    "module that a loop uses": (
        ("DEV102",),
        "import torch\n\nnet, x = torch.nn.Linear(3, 3), torch.ones(3)\n"
        "if torch.cuda.is_available():\n    x = x.cuda()\n"
        "for _ in range(3):\n    net(x)\n",
        "import torch\n\nnet, x = torch.nn.Linear(3, 3), torch.ones(3)\n"
        "if torch.cuda.is_available():\n    x = x.cuda()\n"
        "net.to(x.device)\nfor _ in range(3):\n    net(x)\n",
    ),
    "value that two branches use, beside one that moved": (
        ("DEV103",),
        TRAIN.format(
            first="out = x.to(device).exp()",
            second="if len(y) > 2:\n            print(y)\n        else:\n            print(out * y)",
        ),
        TRAIN.format(
            first="y = y.to(device)\n        out = x.to(device).exp()",
            second="if len(y) > 2:\n            print(y)\n        else:\n            print(out * y)",
        ),
    ),
    "name that has another value where the other tensor is created": (
        ("DEV103",),
        "import torch\n\ndef f(x: torch.Tensor, mask=None):\n    keep = torch.ones(3)\n    mask = x > 0\n"
        "    return mask * keep\n",
        "import torch\n\ndef f(x: torch.Tensor, mask=None):\n    keep = torch.ones(3, device=x.device)\n"
        "    mask = x > 0\n    return mask * keep\n",
    ),
    "value that a call is given before": (
        ("DEV101",),
        GIVEN.format(first="mask = torch.from_numpy(marks)", second="mask = mask[..., None].bool()"),
        GIVEN.format(
            first="mask = torch.from_numpy(marks)\n    mask = mask.to(device)", second="mask = mask[..., None].bool()"
        ),
    ),
    "tensor that was created beside a module": (
        ("DEV103", "DEV306"),
        BESIDE.format(device=""),
        BESIDE.format(device=", device=self.fc.weight.device"),
    ),
    "name that has a value in another branch": (
        ("DEV101",),
        BRANCHES.format(labels="torch.arange(3)"),
        BRANCHES.format(labels="torch.arange(3, device=device)"),
    ),
    "function of torch": (
        ("DEV103",),
        net("self.scale = nn.Parameter(torch.ones(2, 3))", "return torch.exp(self.scale) * torch.ones(2, 3)"),
        net(
            "self.scale = nn.Parameter(torch.ones(2, 3))",
            "return torch.exp(self.scale) * torch.ones(2, 3, device=self.scale.device)",
        ),
    ),
    "part of a tensor": (
        ("DEV103",),
        "import torch\n\ndef f(x: torch.Tensor):\n    return x[:, 1:] + torch.ones(3)\n",
        "import torch\n\ndef f(x: torch.Tensor):\n    return x[:, 1:] + torch.ones(3, device=x.device)\n",
    ),
}


@pytest.mark.parametrize("name", CAUSES)
def test_a_fix_of_the_cause(name: str) -> None:
    """The reports of one cause have one fix, and their places stay as they are."""
    codes, before, after = CAUSES[name]
    settings = Settings(("-",), select=codes, isolated=True, fix=True, unsafe_fixes=True)
    run = engine.run(settings, stdin=before.encode())
    assert next((change.after.decode() for change in run.changes), before) == after


NONE = {
    "global that a function uses": (
        "DEV101",
        "import torch\nx = torch.ones(3)\n\ndef f():\n    return x + torch.ones(3, device='cuda')\n",
    ),
    "module in a loop, beside a device of machines with a GPU": (
        "DEV102",
        "import torch\n\nnet = torch.nn.Linear(3, 3)\noptimizer = torch.optim.Adam(net.parameters())\n"
        "for _ in range(3):\n    x = torch.ones(3)\n    if torch.cuda.is_available():\n        x = x.cuda()\n"
        "    net(x)\n",
    ),
    "value that is used in a branch and behind it": (
        "DEV101",
        "import torch\n\n\ndef gather(storage, more):\n    found = torch.ByteTensor(storage)\n    if more:\n"
        "        rest = torch.ByteTensor(more).to('cuda')\n        found = torch.cat([found, rest])\n"
        "    send(found)\n",
    ),
    "value of two branches that a loop gives away and binds again": (
        "DEV103",
        net(
            "self.head = nn.Linear(3, 3)",
            "if x is None:\n            found = torch.FloatTensor([0])\n        else:\n"
            "            found = torch.FloatTensor([1])\n        for _ in range(3):\n"
            "            hidden = embed(found)\n            found = torch.cat([found, self.head(x)])\n"
            "        return found, hidden",
        ),
    ),
    "module that is used with and without a wrapper": (
        "DEV402",
        "import torch\n\ndef main(options, rows):\n    net = torch.nn.Linear(3, 3)\n    if options.distributed:\n"
        "        net = torch.nn.parallel.DistributedDataParallel(net, device_ids=[options.rank])\n"
        "    train(net, rows)\n",
    ),
    "parameters of a module that a function is given": (
        "DEV103",
        "import torch\n\ndef penalty(model):\n    for rows in model.parameters():\n"
        "        yield torch.mm(rows, rows.t()) * (1 - torch.eye(rows.shape[0]))\n",
    ),
    "tensor that is filled from a batch of a loader that nobody knows": (
        "DEV101",
        "import torch\nfrom rows import loader\n\nnet = torch.nn.Linear(3, 3).cuda()\n\ndef train():\n"
        "    batch, labels = next(iter(loader()))\n    out = net(batch.cuda())\n"
        "    hot = torch.zeros(5, 3).scatter_(1, labels.view(-1, 1), 1)\n    return torch.nn.MSELoss()(out, hot)\n",
    ),
    "value of a function that the file calls twice": (
        "DEV102",
        "import torch\n\nnet = torch.nn.Linear(3, 3).cuda()\n\ndef batch():\n    return torch.ones(2, 3)\n\n"
        "rows = batch()\nnet(rows)\nmore = batch()\nshow(more)\n",
    ),
    "tensor that may be None where the other is created": (
        "DEV103",
        "import torch\n\ndef kept(seq, mask: torch.Tensor):\n    noise = torch.randn(4, 4)\n    if mask is not None:\n"
        "        noise = noise.masked_fill(~mask, -1)\n    return noise\n",
    ),
    "value computed from one that a call is given before": (
        "DEV101",
        "import torch\nfrom rows import encode\n\nnet = torch.nn.Linear(3, 3).cuda()\n\ndef mean(rows):\n"
        "    mask = torch.from_numpy(rows)\n    out = net(encode(mask).cuda())\n"
        "    counts = mask.sum(dim=-1)[..., None]\n"
        "    return out.masked_fill_(counts == 0, 0.0)\n",
    ),
    "value that the program has copied to the CPU": (
        "DEV101",
        "import torch\n\nrewards = torch.ones(3, device='cuda')\nends = torch.ones(3, device='cuda')\n"
        "print(rewards + 0.9 * (1 - ends.cpu()))\n",
    ),
    "value that another function creates, and writes to": (
        "DEV103",
        "import torch\n\ndef start(x: torch.Tensor, rows):\n    return torch.zeros(rows)\n\n"
        "def f(x: torch.Tensor, index: torch.Tensor):\n    total = start(x, 3)\n    total.add_(x)\n    return total\n",
    ),
    "value that another function creates beside tensors": (
        "DEV103",
        "import torch\n\ndef q(x: torch.Tensor, rows):\n    return torch.ones(rows)\n\n"
        "def f(x: torch.Tensor):\n    return x * q(x, 3)\n",
    ),
    "value computed from several operands, one on the device": (
        "DEV103",
        net(
            "self.fc = nn.Linear(2, 2)",
            "coarse, fine = torch.LongTensor([0]), torch.LongTensor([0]).cuda()\n"
            "        for _ in range(len(x)):\n            coarse = coarse.float()\n"
            "            both = torch.cat([coarse, fine])\n            fine, coarse = self.fc(both).chunk(2)\n"
            "        return fine",
        ),
    ),
    "checkpoint without a copied part": (
        "DEV304",
        "import torch\nx = torch.load('a.pt')\nweights = {key: value.detach() for key, value in x.items()}\n",
    ),
    "element of several that numpy reads": (
        "DEV105",
        "import torch\nimport numpy as np\nx = torch.ones(3, device='cuda')\nnp.array([x, x])\n",
    ),
    "attribute that is stored twice": (
        "DEV201",
        net("self.shift = None\nself.shift = torch.ones(3)", "return x + self.shift"),
    ),
    "key that a module has": ("DEV202", net('self.parts = {"type": nn.Linear(3, 3)}', 'return self.parts["type"](x)')),
    "global that a function moves": (
        "DEV203",
        "import torch\nx = torch.ones(3)\n\ndef f():\n    x.cuda()\n    return x + torch.ones(3, device='cuda')\n",
    ),
    "value beside those that a function is given": (
        "DEV301",
        "import torch\n\ndef weighted(pred, target):\n"
        "    weight = torch.tensor([1.0, 2.0]).cuda()\n"
        "    return torch.nn.functional.cross_entropy(pred, target, weight)\n",
    ),
    "program with an option": (
        "DEV301",
        "import argparse\nimport torch\n\nparser = argparse.ArgumentParser()\n"
        "parser.add_argument('--use_cpu', action='store_true')\nargs = parser.parse_args()\n"
        "x = torch.ones(3).cuda()\n",
    ),
    "program that reads an option": (
        "DEV301",
        "import torch\n\ndef main(args):\n    x = torch.ones(3).to(args.device)\n    return x + torch.ones(3).cuda()\n",
    ),
    "several devices": (
        "DEV302",
        "import torch\na = torch.nn.Linear(3, 3).to('cuda:0')\nb = torch.nn.Linear(3, 3).to('cuda:1')\n",
    ),
    "argument of torch.cuda": ("DEV302", "import torch\ntorch.cuda.set_device('cuda:1')\n"),
    "keywords that nobody knows": (
        "DEV103",
        "import torch\n\ndef f(x: torch.Tensor):\n    return x + torch.ones(3, **{'dtype': x.dtype})\n",
    ),
}


@pytest.mark.parametrize("name", NONE)
def test_no_fix(name: str) -> None:
    code, text = NONE[name]
    settings = Settings(("-",), select=(code,), isolated=True)
    assert [one.code for one in engine.run(settings, stdin=text.encode()).outcome.diagnostics]
    assert fixed(text, code, unsafe=True) == text
