"""Advice names the device that the program chose, by a name that is known there; notes name the value they tell of."""

from __future__ import annotations

import pytest
from devlint import engine
from devlint.settings import Settings

HEAD = "import torch\nfrom torch import nn\n\n"

CASES = {
    "device of the object": (
        "class Gan:\n    def __init__(self, device):\n        self.device = device\n"
        "        self.net = nn.Linear(3, 1).to(self.device)\n        self.loss = nn.BCEWithLogitsLoss()\n\n"
        "    def step(self, real):\n        real = real.to(self.device)\n        label = torch.full((4, 1), 1.0)\n"
        "        a = self.loss(self.net(real), label)\n        label.fill_(0)\n"
        "        return a + self.loss(self.net(-real), label)\n",
        "DEV103",
        ["pass `device=self.device` to `torch.full` on line 12"],
    ),
    "factory of another function": (
        "class Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        "        self.fc = nn.Linear(3, 3)\n\n"
        "    def spread(self, diffs):\n        out = torch.zeros(diffs.shape)\n        return out\n\n"
        "    def loss(self, predictions, targets):\n        return targets - predictions\n\n"
        "    def forward(self, batch: list[torch.Tensor]):\n        x, y = batch\n"
        "        return self.loss(self.spread(self.fc(x)), y)\n",
        "DEV103",
        ["pass `device=diffs.device` to `torch.zeros` on line 10"],
    ),
    "name that only another function knows": (
        "class Trainer:\n    def __init__(self):\n        self.gpu = torch.device('cuda:0')\n\n"
        "    def fit(self, net, batches):\n        net.to(self.gpu)\n        for x, y in batches:\n"
        "            nn.functional.mse_loss(net(x), y)\n\n\n"
        "def batches():\n    return [(torch.ones(4, 3), torch.ones(4, 1)) for _ in range(2)]\n\n\n"
        "def first():\n    Trainer().fit(nn.Linear(3, 1), batches())\n\n\n"
        "def second():\n    return batches()\n",
        "DEV101",
        ["on line 15, column 32, create `torch.ones(4, 1)` on cuda:0, the device of `net(x)`"],
    ),
    "module on the CPU with a device id": (
        "from torch.nn.parallel import DistributedDataParallel\n\n"
        "DistributedDataParallel(nn.Linear(3, 1), device_ids=[0])\n",
        "DEV402",
        [
            "move the module to a CUDA device before this line; or remove `device_ids` and `output_device`, without "
            "which PyTorch accepts a module on the CPU"
        ],
    ),
    "layers in a list": (
        "class Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        "        self.layers = [nn.Linear(3, 3) for _ in range(2)]\n\n"
        "    def forward(self, x):\n        for layer in self.layers:\n            x = layer(x)\n        return x\n",
        "DEV103",
        ["make `self.layers` an `nn.ModuleList`, so that its elements move with the module"],
    ),
    "blocks in a list": (
        "class Block(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        "        self.fc = nn.Linear(3, 3)\n\n    def forward(self, x):\n        return self.fc(x)\n\n\n"
        "class Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        "        self.scale = nn.Parameter(torch.ones(3))\n        self.blocks = [Block() for _ in range(2)]\n\n"
        "    def forward(self, x):\n        x = x * self.scale\n        for _, block in enumerate(self.blocks):\n"
        "            x = block(x)\n        return x\n\n"
        "    def first(self, x):\n        return self.blocks[0](x * self.scale)\n",
        "DEV103",
        ["make `self.blocks` an `nn.ModuleList`, so that its elements move with the module"],
    ),
    "attribute of a module": (
        "class Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        "        self.shift = torch.ones(3)\n        self.shift = self.shift.unsqueeze(0)\n\n"
        "    def forward(self, x):\n        return x + self.shift\n",
        "DEV103",
        ['register `self.shift` as a buffer, so that it moves with the module: `self.register_buffer("shift", …)`'],
    ),
    "keywords of a call": (
        "class Split(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        "        self.a = nn.Embedding(4, 4).to('cuda:0')\n        self.b = nn.Linear(4, 4).to('cuda:1')\n\n"
        "    def forward(self, ids, labels):\n        h = self.b(self.a(ids).to('cuda:1'))\n"
        "        return torch.gather(h, -1, labels)\n\n"
        "batch = {'ids': torch.ones(2, 1), 'labels': torch.ones(2, 1)}\n"
        "batch = {key: value.long().to('cuda:0') for key, value in batch.items()}\nmodel = Split()\nmodel(**batch)\n",
        "DEV104",
        ["move the tensors in `batch` to cuda:1, the device of `model`"],
    ),
    "lengths that stay on the CPU": (
        "from torch.nn.utils.rnn import pack_padded_sequence\n\n"
        "def run(x: torch.Tensor, lengths: torch.Tensor):\n    lengths = lengths.cpu()\n"
        "    steps = torch.arange(x.size(1), device=x.device)[None]\n    mask = steps < lengths[:, None]\n"
        "    return pack_padded_sequence(x, lengths, True), mask\n",
        "DEV103",
        ["use `lengths[:, None].to(steps.device)`"],
    ),
    "table of a class that is no module": (
        "class Schedule:\n    def __init__(self):\n        self.table = torch.linspace(0, 1, 9)\n\n"
        "    def at(self, step: torch.Tensor):\n        return self.table[torch.zeros(3, device=step.device).long()]\n",
        "DEV104",
        ["use `self.table.to(step.device)`"],
    ),
    "table of a module": (
        "class Schedule(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        "        self.table = torch.linspace(0, 1, 9)\n\n"
        "    def at(self, step: torch.Tensor):\n        return self.table[torch.zeros(3, device=step.device).long()]\n",
        "DEV104",
        ['register `self.table` as a buffer, so that it moves with the module: `self.register_buffer("table", …)`'],
    ),
    "old constructor that is moved": (
        "def batch(device: torch.device):\n"
        "    return torch.zeros(3).to(device), torch.FloatTensor([1.0, 2.0]).to(device)\n",
        "DEV502",
        [
            "create it on `device`: pass `device=` to `torch.zeros`",
            "create it on `device`, for example by `torch.tensor(…, device=…)`",
        ],
    ),
    "variable of the program": (
        "def train(args):\n    gpu = torch.device('cuda:%d' % args.rank if torch.cuda.is_available() else 'cpu')\n"
        "    net = nn.Linear(3, 3).to(gpu)\n    return net(torch.ones(3).cuda())\n",
        "DEV301",
        [
            "use `gpu`, which holds the device that the program has chosen; "
            "if the project always has a GPU, set `devices = 1` in devlint's configuration"
        ],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_advice(name: str) -> None:
    text, code, advice = CASES[name]
    run = engine.run(Settings(("-",), select=(code,), isolated=True), stdin=(HEAD + text).encode())
    assert [one.advice for one in run.outcome.diagnostics] == advice


NOTES = {
    "argument that becomes a buffer": (
        "class Spread(nn.Module):\n    def __init__(self, factor: torch.Tensor):\n        super().__init__()\n"
        '        self.register_buffer("factor", factor)\n\n'
        "    def shifted(self):\n        return self.factor + torch.ones(3)\n",
        "DEV103",
        "the module registers this argument as `self.factor`, so `self.factor` moves with the module",
    ),
    "part of a batch that stays": (
        "class Trainer:\n    def __init__(self, loader, device: str):\n"
        "        self.net = nn.Linear(3, 2).to(device)\n        self.loader = loader\n        self.device = device\n\n"
        "    def fit(self):\n        for inputs, targets in self.loader:\n"
        "            targets = targets.to(self.device)\n            self.net(inputs) - targets\n",
        "DEV103",
        "another part of the batch is moved here, but `inputs` is not",
    ),
    "state of an earlier turn": (
        "net = nn.Linear(3, 3)\noptimizer = torch.optim.Adam(net.parameters())\nfor _ in range(2):\n"
        "    optimizer.step()\n    net.to('cuda:0')\n",
        "DEV206",
        "the optimizer creates its state in its first step, which was an earlier run of this line",
    ),
}


@pytest.mark.parametrize("name", NOTES)
def test_notes(name: str) -> None:
    text, code, note = NOTES[name]
    run = engine.run(Settings(("-",), select=(code,), isolated=True), stdin=(HEAD + text).encode())
    assert note in [step.message for one in run.outcome.diagnostics for step in one.related]
