"""Programs that end with a device error, for `tests.guard.faults`; together they run all code that explains one."""

from __future__ import annotations

from devlint_guard.explain.messages import Trouble

from tests.guard.faults_apart import APART

NETWORK = """
import torch
from torch import nn

class Inner(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = torch.ones(3, device="meta")
        self.parts = [nn.Linear(3, 3, device="meta")]

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(3, 3)
        self.inner = Inner()

    def forward(self, x, noise=None):
        return combine(self, self.fc(x), noise)

def combine(net, hidden, noise):
    if noise is not None:
        return hidden + noise
    return hidden * net.inner.scale

net, x = Net(), torch.ones(2, 3)
"""

FAILING = {
    "attribute": NETWORK + "net(x)\n",
    "input": NETWORK + "def given(x):\n    y = x.float()\n    return torch.ones(2, 3) + (y if y.ndim else x)\n"
    "given(torch.ones(2, 3, device='meta'))\n",
    "list": NETWORK + "net.inner.parts[0](x) + x\n",
}

SAYS = (
    NETWORK
    + """
from torch._subclasses.fake_tensor import FakeTensorMode

text = "Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu!"
names = {"text": text}
source = "def says(*args, **kwargs):\\n    raise RuntimeError(text)\\n"
exec(compile(source, torch.__file__.replace("__init__", "_says"), "exec"), names)
says = names["says"]
with FakeTensorMode(allow_non_fake_inputs=True):
    there, beside = torch.ones(2, 3, device="cuda"), torch.ones(2, 3, device="cuda")
"""
)
"""On tensors that only say that they are on a device: a function of no user refuses them as PyTorch would."""

FAILING |= {name: SAYS + text for name, text in APART.items()}
FAILING["wrapped"] = (
    SAYS
    + """
class Part(nn.Module):
    def __init__(self, weight):
        super().__init__()
        self.weight = nn.Parameter(weight)
ids = [1, 0]
with FakeTensorMode(allow_non_fake_inputs=True):
    wrapped = nn.DataParallel(Part(there), device_ids=ids)
    wrapped.device_ids, wrapped.src_device_obj = ids, torch.device("cuda:1")
    wrapped(x)
"""
)
TEXTS = {
    Trouble.HOST_ACCESS: "can't convert cuda:0 device type tensor to numpy",
    Trouble.NOT_ON_CPU: "'lengths' argument should be a 1D CPU int64 tensor, but got 1D cuda:0 Long tensor",
    Trouble.PINNED: "cannot pin 'torch.cuda.FloatTensor' only dense CPU tensors can be pinned",
    Trouble.GENERATOR: "Expected a 'cuda' device type for generator but found 'cpu'",
    Trouble.META: "Cannot copy out of meta tensor; no data!",
    Trouble.NO_DEVICE: "Torch not compiled with CUDA enabled",
    Trouble.NO_INDEX: "CUDA error: invalid device ordinal",
    Trouble.DEVICE_TEXT: "Invalid device string: 'gpu'",
    Trouble.CHECKPOINT: "Attempting to deserialize object on CUDA device 3 but torch.cuda.device_count() is 1",
    Trouble.DATA_PARALLEL: "Expected a non cpu device, but got: cpu",
    Trouble.DISTRIBUTED: "DistributedDataParallel device_ids and output_device arguments only work",
    Trouble.COLLECTIVE: "No backend type associated with device type cpu",
    Trouble.NO_KERNEL: "Could not run 'aten::some' with arguments from the 'CUDA' backend",
    Trouble.NO_FLOAT64: "as the MPS framework doesn't support float64",
    Trouble.FORKED: "Cannot re-initialize CUDA in forked subprocess",
    Trouble.INDEX: "indices should be either on cpu or on the same device as the indexed tensor (cpu)",
}

_ON_TWO = "Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu!"
_PART = """
class Part(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("weight", there)
"""

SAYING = {
    "wrong_types": (
        "Input type (torch.cuda.FloatTensor) and weight type (torch.FloatTensor) should be the same",
        "says(there, net.fc)\n",
    ),
    "backward": (
        "Function ScaleBackward returned an invalid gradient at index 0 - expected device cuda:0 but got cpu",
        "says(there, x)\n",
    ),
    "asked_for": ("Torch not compiled with CUDA enabled", "where = 'cuda'\nsays.__call__(where)\nsays(x, where)\n"),
    "shuffled": (
        TEXTS[Trouble.GENERATOR],
        "from torch.utils.data import DataLoader\nother = DataLoader([1], shuffle=True)\n"
        "says(DataLoader([1], shuffle=True))\n",
    ),
    "beyond": (
        TEXTS[Trouble.NO_INDEX],
        """
from unittest import mock
from devlint_guard.findings.explanation import annotate
try:
    says(x, device='cuda:3')
except RuntimeError as error:
    with mock.patch.object(torch.cuda, 'device_count', lambda: 1):
        annotate(error)
    raise
""",
    ),
    "batch_of_a_loader": (
        _ON_TWO,
        "from torch.utils.data import DataLoader\ndef loop():\n    for batch in DataLoader([torch.ones(2, 3)]):\n"
        "        says(there, batch)\nloop()\n",
    ),
    "loaded": (
        _ON_TWO,
        "import io\nfile = io.BytesIO()\ntorch.save(torch.ones(2, 3), file)\nfile.seek(0)\n"
        "given = torch.load(file)\nsays(there, given)\n",
    ),
    "moved_module": (
        _ON_TWO,
        _PART + "where = torch.device('cpu')\nwith FakeTensorMode(allow_non_fake_inputs=True):\n    part = Part()\n"
        "    kept = part.to(where).state_dict()\nsays(beside, part.weight)\n",
    ),
    "put_in_late": (
        _ON_TWO,
        _PART + "part = nn.Module().to('cuda:0')\n"
        "part.weight = nn.Parameter(torch.ones(3, 3))\nsays(there, part.weight)\n",
    ),
    "unused_device": (
        _ON_TWO,
        "def made(device):\n    kept = {'a': torch.ones(2, 3)}\n    return kept\n"
        "given = made('cuda')['a']\nsays(there, given)\n",
    ),
    "kept_by_an_object": (
        _ON_TWO,
        "from devlint_guard.record.recorder import RECORD\n"
        "def keep(value):\n    RECORD.kept([value])\n    return value\n"
        "one = keep(torch.ones(2, 3))\nsays(there, one)\n",
    ),
    "own_generator": (
        TEXTS[Trouble.GENERATOR],
        """
class Sampler:
    pass
sampler = Sampler()
draws = "def draw(self, torch, says):\\n    generator = torch.Generator()\\n    says(generator)\\n"
exec(compile(draws, says.__code__.co_filename, "exec"), names)
with torch.device("cpu"):
    names["draw"](sampler, torch, says)
""",
    ),
    "traced": (
        _ON_TWO,
        "class Timed(nn.Module):\n    def forward(self, x):\n        return x + torch.arange(3, device=x.device)\n"
        "part = torch.jit.trace(Timed(), x)\n"
        "part.register_forward_pre_hook(lambda *given: says(there, x))\npart(x)\n",
    ),
    "without_ids": (
        "",
        "names = {'__name__': nn.DataParallel.__module__}\n"
        "exec(compile('def __init__(*args):\\n    raise IndexError(0)\\n', says.__code__.co_filename, 'exec'), names)\n"
        "names['__init__'](net, [])\n",
    ),
}

ALONE = {
    "no_attribute_of_a_layer": NETWORK + "net.fc.device\n",
    "given_on_another": SAYS + "net.fc(there * 1)\n",
    "weight_on_another": SAYS + "net.fc.weight = nn.Parameter(there, False)\nnet.fc(x)\n",
}

SAID = """
device, generator = 'gpu', torch.Generator()
names["text"] = {text!r}
"""
CALL = "says(x, device=device, generator=generator, device_ids=[1, 0])\n"

PROGRAMS = {
    **FAILING,
    **ALONE,
    **{one.name: SAYS + SAID.format(text=text) + CALL for one, text in TEXTS.items()},
    **{name: SAYS + SAID.format(text=text) + code for name, (text, code) in SAYING.items()},
}
