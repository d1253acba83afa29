"""Each kind of fix, as a program before and after."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fixes.programs import fixed, net

CASES = {
    "copy in a called function": (
        "DEV105",
        "import torch\n\ndef best(net, x):\n    out = net(x)\n    return out.argmax(1).numpy()\n\n"
        "net = torch.nn.Linear(3, 3)\nnet.to('cuda')\nprint(best(net, torch.ones(2, 3).to('cuda')))\n",
        "import torch\n\ndef best(net, x):\n    out = net(x)\n    return out.argmax(1).cpu().numpy()\n\n"
        "net = torch.nn.Linear(3, 3)\nnet.to('cuda')\nprint(best(net, torch.ones(2, 3).to('cuda')))\n",
    ),
    "discarded move": (
        "DEV203",
        "import torch\nx = torch.ones(3)\nx.to('cuda')  # why\ny = x + torch.ones(3, device='cuda')\n",
        "import torch\nx = torch.ones(3)\nx = x.to('cuda')  # why\ny = x + torch.ones(3, device='cuda')\n",
    ),
    "discarded move, reported at its consequence": (
        "DEV101",
        "import torch\nx = torch.ones(3)\nx.to('cuda')  # why\ny = x + torch.ones(3, device='cuda')\n",
        "import torch\nx = torch.ones(3)\nx = x.to('cuda')  # why\ny = x + torch.ones(3, device='cuda')\n",
    ),
    "table that a loop uses": (
        "DEV104",
        "import torch\nt = torch.from_numpy(a)\ni = torch.tensor([1], device='cuda')\n"
        "for k in range(3):\n    print(t[i])\n",
        "import torch\nt = torch.from_numpy(a)\ni = torch.tensor([1], device='cuda')\nt = t.to(i.device)\n"
        "for k in range(3):\n    print(t[i])\n",
    ),
    "factory": (
        "DEV103",
        "import torch\n\ndef f(x: torch.Tensor):\n    return x + torch.ones(\n        3,  # three\n    )\n",
        "import torch\n\ndef f(x: torch.Tensor):\n    return x + torch.ones(\n"
        "        3, device=x.device,  # three\n    )\n",
    ),
    "behind a form feed": (
        "DEV203",
        "import torch\nx = torch.ones(3)\n\x0cx.to('cuda')\ny = x + torch.ones(3, device='cuda')\n",
        "import torch\nx = torch.ones(3)\n\x0cx = x.to('cuda')\ny = x + torch.ones(3, device='cuda')\n",
    ),
    "batch": (
        "DEV102",
        "import torch\nnet = torch.nn.Linear(3, 3).cuda()\nx = torch.from_numpy(a)\nif True:\n\ty = net(x)\n",
        "import torch\nnet = torch.nn.Linear(3, 3).cuda()\nx = torch.from_numpy(a)\n"
        "x = x.to(net.weight.device)\nif True:\n\ty = net(x)\n",
    ),
    "index": (
        "DEV104",
        "import torch\nt = torch.from_numpy(a)\ni = torch.tensor([1], device='cuda')\ny = t[i]\n",
        "import torch\nt = torch.from_numpy(a)\ni = torch.tensor([1], device='cuda')\nt = t.to(i.device)\ny = t[i]\n",
    ),
    "numpy": (
        "DEV105",
        "import torch\nx = torch.ones(3, device='cuda')\n(x + 1).numpy()\n",
        "import torch\nx = torch.ones(3, device='cuda')\n(x + 1).cpu().numpy()\n",
    ),
    "buffer": (
        "DEV201",
        net("self.shift = (  # by how much\n    torch.ones(3)\n)", "return x + self.shift"),
        net(
            'self.register_buffer("shift", (  # by how much\n    torch.ones(3)\n), persistent=False)',
            "return x + self.shift",
        ),
    ),
    "annotated buffer": (
        "DEV201",
        net("self.shift: torch.Tensor = torch.ones(3)", "return x + self.shift"),
        net(
            'self.shift: torch.Tensor\nself.register_buffer("shift", torch.ones(3), persistent=False)',
            "return x + self.shift",
        ),
    ),
    "cuda": (
        "DEV301",
        "import torch\nx = torch.ones(3).cuda(non_blocking=True)\n",
        'import torch\n\ndevice = torch.device("cuda" if torch.cuda.is_available() else "cpu")\n'
        "x = torch.ones(3).to(device, non_blocking=True)\n",
    ),
    "cuda on a line of its own": (
        "DEV301",
        "import torch\nx = (\n    torch.ones(3)  # three\n    # and on\n    .cuda()\n)\n",
        'import torch\n\ndevice = torch.device("cuda" if torch.cuda.is_available() else "cpu")\n'
        "x = (\n    torch.ones(3)  # three\n    # and on\n    .to(device)\n)\n",
    ),
    "own device": (
        "DEV301",
        "import torch as th\ndevice = th.device('cuda' if th.cuda.is_available() else 'cpu')\nx = th.ones(3).cuda()\n",
        "import torch as th\ndevice = th.device('cuda' if th.cuda.is_available() else 'cpu')\n"
        "x = th.ones(3).to(device)\n",
    ),
    "own device of any accelerator": (
        "DEV301",
        "import torch\nhere = torch.accelerator.current_accelerator() if torch.accelerator.is_available() else 'cpu'\n"
        "x = torch.ones(3, device='cuda')\n",
        "import torch\nhere = torch.accelerator.current_accelerator() if torch.accelerator.is_available() else 'cpu'\n"
        "x = torch.ones(3, device=here)\n",
    ),
    "any accelerator": (
        "DEV301",
        "import torch\nprint(torch.accelerator.device_count())\nx = torch.ones(3).cuda()\n",
        "import torch\n\ndevice = torch.device("
        'torch.accelerator.current_accelerator() if torch.accelerator.is_available() else "cpu")\n'
        "print(torch.accelerator.device_count())\nx = torch.ones(3).to(device)\n",
    ),
    "import": (
        "DEV302",
        '"""A script."""\n\nfrom __future__ import annotations\n\nfrom torch import ones\n\n'
        'x = ones(3, device="cuda:1")\n',
        '"""A script."""\n\nfrom __future__ import annotations\n\nimport torch\nfrom torch import ones\n\n'
        'device = torch.device("cuda:1" if torch.cuda.device_count() > 1 else "cpu")\n\nx = ones(3, device=device)\n',
    ),
    "variable that holds the chosen device": (
        "DEV301",
        "import torch\n\ndef train(args):\n"
        "    gpu = torch.device('cuda:%d' % args.rank if torch.cuda.is_available() else 'cpu')\n"
        "    net = torch.nn.Linear(3, 3).to(gpu)\n    return net(torch.ones(3).cuda())\n",
        "import torch\n\ndef train(args):\n"
        "    gpu = torch.device('cuda:%d' % args.rank if torch.cuda.is_available() else 'cpu')\n"
        "    net = torch.nn.Linear(3, 3).to(gpu)\n    return net(torch.ones(3).to(gpu))\n",
    ),
    "variable that gets a device": (
        "DEV301",
        "import torch\ndevice = torch.device('cuda')\nx = torch.ones(3, device=device)\n",
        'import torch\ndevice = torch.device("cuda" if torch.cuda.is_available() else "cpu")\n'
        "x = torch.ones(3, device=device)\n",
    ),
    "lengths": (
        "DEV107",
        "import torch\nfrom torch.nn.utils.rnn import pack_padded_sequence as pack\n"
        "n = torch.tensor([2], device='cuda')\npack(torch.ones(1, 2, 3, device='cuda'), n, True)\n",
        "import torch\nfrom torch.nn.utils.rnn import pack_padded_sequence as pack\n"
        "n = torch.tensor([2], device='cuda')\npack(torch.ones(1, 2, 3, device='cuda'), n.cpu(), True)\n",
    ),
    "first id": (
        "DEV401",
        "import torch\nnet = torch.nn.DataParallel(torch.nn.Linear(3, 3).cuda(1), [0, 1])\nnet(torch.ones(3, 3))\n",
        "import torch\nnet = torch.nn.DataParallel(torch.nn.Linear(3, 3).cuda(1), [1, 0])\nnet(torch.ones(3, 3))\n",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_a_safe_fix(name: str) -> None:
    code, before, after = CASES[name]
    assert fixed(before, code) == after
    assert fixed(after, code) == after
    assert fixed(before.replace("\n", "\r\n"), code) == after.replace("\n", "\r\n")


REGISTERED = {
    "list": (
        "DEV202",
        net("self.parts = [nn.Linear(3, 3) for _ in range(2)]", "return [part(x) for part in self.parts]"),
        net(
            "self.parts = nn.ModuleList([nn.Linear(3, 3) for _ in range(2)])", "return [part(x) for part in self.parts]"
        ),
    ),
    "list that is filled later": (
        "DEV202",
        net("self.parts = []\nself.parts.append(nn.Linear(3, 3))", "return self.parts[0](x)"),
        net("self.parts = nn.ModuleList()\nself.parts.append(nn.Linear(3, 3))", "return self.parts[0](x)"),
    ),
    "dict": (
        "DEV202",
        net('self.parts = {"a": nn.Linear(3, 3)}', 'return self.parts["a"](x)'),
        net('self.parts = nn.ModuleDict({"a": nn.Linear(3, 3)})', 'return self.parts["a"](x)'),
    ),
    "module for a list": (
        "DEV202",
        net("self.parts = [nn.Linear(3, 3)]", "return self.parts[0](x)")
        .replace("from torch import nn\n", "from torch.nn import Linear, Module\n")
        .replace("nn.Module", "Module")
        .replace("nn.Linear", "Linear"),
        net("self.parts = torch.nn.ModuleList([nn.Linear(3, 3)])", "return self.parts[0](x)")
        .replace("from torch import nn\n", "from torch.nn import Linear, Module\n")
        .replace("(nn.Module", "(Module")
        .replace("[nn.Linear", "[Linear"),
    ),
}
"""Members that no optimizer trained, and that no checkpoint has, until the fix."""


@pytest.mark.parametrize("name", REGISTERED)
def test_a_fix_that_registers_parameters_is_unsafe(name: str) -> None:
    code, before, after = REGISTERED[name]
    assert fixed(before, code) == before
    assert fixed(before, code, unsafe=True) == after


UNSAFE = {
    "move whose result nobody needs": (
        "DEV203",
        "import torch\nx = torch.ones(3)\nx.to('cuda')\ny = x + torch.ones(3)\n",
    ),
    "generator": (
        "DEV106",
        "import torch\n\ndef f(x: torch.Tensor):\n    g = torch.Generator()\n"
        "    return torch.randn(3, device=x.device, generator=g)\n",
    ),
    "module that is made beside a moved batch": (
        "DEV102",
        "import torch\nnet = torch.nn.Linear(3, 3)\nfor x in [torch.ones(2, 3)]:\n    net(x.cuda())\n",
    ),
    "used twice": (
        "DEV103",
        "import torch\n\ndef f(x: torch.Tensor):\n    m = torch.ones(3)\n    g(m)\n    return x + m\n",
    ),
    "checkpoint that is used": (
        "DEV304",
        "import torch\nx = torch.load('a.pt')\ntorch.nn.Linear(3, 3).load_state_dict(x['net'])\nprint(x['rest'])\n",
    ),
    "repeated id": (
        "DEV401",
        "import torch\nnet = torch.nn.DataParallel(torch.nn.Linear(3, 3).cuda(), device_ids=[0, 0, 1])\n",
    ),
    "name with another name": (
        "DEV104",
        "import torch\nt = torch.from_numpy(a)\nkept = t\ni = torch.tensor([1], device='cuda')\ny = t[i]\n",
    ),
    "name that a function reads": (
        "DEV104",
        "import torch\nt = torch.from_numpy(a)\ni = torch.tensor([1], device='cuda')\ny = t[i]\n\n"
        "def later():\n    return t\n",
    ),
    "list that is added to another": (
        "DEV202",
        net("self.parts = [nn.Linear(3, 3)]", "return (self.parts + [print])[0](x)"),
    ),
}


@pytest.mark.parametrize("name", UNSAFE)
def test_an_unsafe_fix(name: str) -> None:
    code, text = UNSAFE[name]
    assert fixed(text, code) == text
    assert fixed(text, code, unsafe=True) != text


def test_a_comprehension_moves_its_elements_where_it_uses_them(tmp_path: Path) -> None:
    text = (
        "import torch\nfrom torch.utils.data import DataLoader, TensorDataset\n"
        "net = torch.nn.Linear(3, 3).cuda()\n"
        "out = [net(x) for (x,) in DataLoader(TensorDataset(torch.ones(3, 3)))]\n"
    )
    assert "[net(x.to(net.weight.device)) for" in fixed(text, "DEV102")
