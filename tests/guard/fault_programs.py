"""Programs that end with a device error, for `tests.guard.faults`; together they run all code that explains one."""

from __future__ import annotations

from devlint_guard.messages import Trouble

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
    "passed": NETWORK + "made = torch.zeros(2, 3, device='meta')\nnet(x, made)\n",
    "loop": NETWORK + "for x in [torch.ones(2, 3, device='meta')]:\n    net(x)\n",
    "input": NETWORK + "def given(x):\n    y = x.float()\n    return torch.ones(2, 3) + (y if y.ndim else x)\n"
    "given(torch.ones(2, 3, device='meta'))\n",
    "list": NETWORK + "net.inner.parts[0](x) + x\n",
    "stack": NETWORK + "kept = {'a': [x]}\nkept['a'].append(x.to('meta'))\ntorch.stack(kept['a']) + kept['a'][0]\n",
    "optimizer": NETWORK + "opt = torch.optim.Adam(net.fc.parameters())\nnet.fc(x).sum().backward()\nopt.step()\n"
    "for state in opt.state.values():\n    state['exp_avg'] = state['exp_avg'].to('meta')\n"
    "opt.step()\nraise RuntimeError('Expected all tensors to be on the same device')\n",
    "caused": NETWORK + "try:\n    net(x)\nexcept RuntimeError as error:\n    raise ValueError('failed') from error\n",
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

TABLES = """
import sys
import types
from pathlib import Path
tables = types.ModuleType('tables')
tables.__file__ = str(Path(__file__).with_name('tables'))
Path(tables.__file__).write_text('import torch\\nTABLE = torch.ones(2, 3)\\nclass Kept:\\n    table = TABLE * 1\\n')
exec(compile(Path(tables.__file__).read_text(), tables.__file__, 'exec'), vars(tables))
sys.modules['tables'] = tables
from tables import TABLE, Kept
"""

APART = {
    "created": """
def make(size):
    return torch.zeros(size, 3)
made = make(2)
if made.ndim:
    other = made
says(there, other.float())
""",
    "batches": """
def go(loader):
    for index, (one, two) in enumerate(loader):
        says(there, one)
        says(there, two)
go([(torch.ones(2, 3), torch.ones(2, 3))])
""",
    "generated": """
class Batch:
    def __init__(self, src):
        self.src = src
def batches():
    yield Batch(torch.ones(2, 3))
for batch in batches():
    says(there, batch.src)
""",
    "keywords": """
def both(one, two):
    says(there, one, two)
def pass_on(*args, **kwargs):
    both(*args, **kwargs)
given = {'one': torch.ones(2, 3), 'two': torch.ones(2, 3)}
pass_on(**given)
""",
    "pair": """
state = (torch.zeros(2, 3), torch.zeros(2, 3))
says(there, state)
""",
    "result": """
def halved(value):
    return value / 2
says(there, halved(x)) + x
""",
    "left": """
class Trainer:
    def __init__(self):
        self.device = torch.device('cuda:0')
        self.net = Net()
    def step(self, given):
        return says(given, self.net)
Trainer().step(there)
""",
    "split": """
net.extra = nn.Linear(3, 3)
net = net.train()
says(there, net.extra)
""",
    "copied": """
import copy
ema = copy.deepcopy(net.fc)
kept = ema.state_dict()
says(there, kept['weight'])
""",
    "listed": """
class Bag(nn.Module):
    def __init__(self):
        super().__init__()
        self.parts = [nn.Linear(3, 3)]
        self.device = 'cuda:0'
bag = Bag()
says(there, bag.parts[0])
""",
    "attribute_kept": """
class Keeper:
    size = 3
    def __init__(self):
        self.device = 'cuda:0'
    def put(self, one):
        self.one = one['a']
    @property
    def held(self):
        return self.one
keeper = Keeper()
keeper.put({'a': torch.ones(2, 3)})
says(there, keeper.held)
""",
    "appended_later": """
class Meter:
    def __init__(self):
        self.values = []
    def add(self, value):
        self.values.append(value)
meter = Meter()
meter.add(torch.ones(2, 3))
says(there, meter.values[0])
""",
    "resumed": """
opt = torch.optim.SGD(net.fc.parameters(), 0.1, momentum=0.9)
net.fc(x).sum().backward()
opt.step()
opt.load_state_dict(opt.state_dict())
net.to('cpu')
state = opt.state[net.fc.weight]
held = state['momentum_buffer']
says(there, held)
""",
    "placed": """
where = 'cpu'
made = torch.zeros(2, 3, device=where)
says(there, made)
""",
    "replaced": """
def replace(owner, name):
    setattr(owner, name, nn.Parameter(torch.ones(2, 3)))
    owner.fc.weight = nn.Parameter(torch.ones(3, 3))
replace(net, 'extra')
net.inner.part = nn.Linear(3, 3).cpu()
says(there, net.fc)
says(there, net.fc.weight)
""",
    "replaced_again": """
class State:
    def __init__(self):
        self.table = None
    def reset(self):
        self.table = torch.ones(2, 3)
    def load(self, table):
        self.table = table
class Holder:
    def __init__(self, table):
        self.device = 'cuda:0'
        self.table = table
state = State()
state.reset()
state.load(torch.zeros(2, 3))
holder = Holder(state.table)
says(there, holder.table)
""",
    "parameters_in_a_list": """
class Bag(nn.Module):
    def __init__(self):
        super().__init__()
        self.parts = [[nn.Linear(3, 3)]]
        self.scales = [nn.Parameter(torch.ones(3))]
bag = Bag()
try:
    says(there, bag.parts[0][0])
except RuntimeError:
    pass
says(there, bag.scales[0])
""",
    "given_to_a_library": """
import functools
from torch.distributions import Normal
spread = torch.ones(2, 3)
shape = Normal(torch.zeros(2, 3), spread)
part = functools.partial(says, there, other=torch.ones(2, 3) * 2)
part(shape.scale)
""",
    "filled": """
class Meter:
    def __init__(self):
        self.total = torch.zeros(2, 3)
    def add(self, value):
        says(value, out=self.total)
Meter().add(there)
""",
    "replaced_by_a_function": """
def prune(net, kept):
    net.fc.weight = nn.Parameter(kept)
def grow(net):
    net.fc.bias = nn.Parameter(torch.ones(3))
net.to('cpu')
grow(net)
says(there, net.fc.bias)
""",
    "replaced_by_an_argument": """
def prune(net, kept):
    net.fc.weight = nn.Parameter(kept)
net.to('cpu')
prune(net, torch.ones(3, 3).to(torch.float32))
says(there, net.fc.weight)
""",
    "registry": """
heads = {'a': nn.Linear(3, 3)}
says(there, heads['a'])
""",
    "shown_in_a_branch": """
def chosen(flag, value):
    result = value
    if flag:
        result = torch.ones(2, 3)
    else:
        result = value.cuda()
    return says(there, result)
chosen(len(x) > 1, x)
""",
    "around": """
def outer(scale):
    def inside(value):
        return says(value, scale)
    return inside
outer(torch.ones(2, 3))(there)
""",
    "registered": """
class Scaled(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = torch.ones(2, 3)
    def forward(self, value):
        return says(value, self.scale)
Scaled()(there)
""",
    "of_the_file": """
TABLE = [torch.ones(2, 3)]
def use(value, **given):
    return says(value, TABLE[0], [given['beside']])
use(there, beside=there)
""",
    "given_or_made": """
def use(value, mask):
    if mask.ndim > 2:
        mask = mask[0]
    if value is None:
        mask = value.cpu()
    return says(value, mask)
use(there, torch.ones(2, 3))
""",
    "computed_in_the_call": """
said = {'one': (lambda value: value)(x)}
out = torch.zeros(2, 3)
def fill(value, out):
    says(value.abs(), out.add_(1))
fill(there, out)
""",
    "comprehended": """
[says(there, one) for one in [torch.ones(2, 3)]]
""",
    "written": """
kept = torch.zeros(2, 3)
kept += says(there, kept)
""",
    "hostile_text": "says(there, x)  # \u202e\n",
    "none_at_times": """
class Keeper:
    def __init__(self, table):
        self.device = 'cuda:0'
        self.table = table
import pickle
table = None
table = pickle.loads(pickle.dumps(x))
keeper = Keeper(table)
says(there, keeper.table)
""",
    "added_to": """
total = torch.zeros(2, 3)
total += 1
says(there, total)
""",
    "joined": """
made = torch.cat([torch.ones(1, 3), torch.ones(1, 3)])
says(there, made)
""",
    "taken_out_of_a_library": """
import heapq
for one in heapq.merge([torch.ones(2, 3)]):
    says(there, one)
""",
    "tested": """
def tell(value, other):
    if value is None:
        return 1
    elif says(value, other):
        return 2
tell(there, x)
""",
    "default": """
def scaled(value, scale=torch.ones(2, 3)):
    return scale
says(there, scaled(there))
""",
    "imported": TABLES
    + """
def use(value):
    says(value, TABLE)
use(there)
""",
    "of_a_class": TABLES + "says(there, Kept.table)\n",
    "split_and_moved": """
class Two(nn.Module):
    def __init__(self, one):
        super().__init__()
        self.one = nn.Parameter(one)
        self.head = nn.Linear(3, 3)
def go(value):
    two = Two(value)
    two.head.to('cpu')
    says(value, two.head)
go(there)
""",
    "of_one_of_two": """
def chosen(given, value):
    if given.sum() > 1:
        result = given.float()
    else:
        result = given.double()
    return says(value, result)
chosen(x, there)
""",
    "module_of_the_file": """
def use(value):
    return says(value, HEAD)
for HEAD in [nn.Linear(3, 3)]:
    pass
use(there)
""",
    "made_in_a_method": """
class Inside(nn.Module):
    def __init__(self, weight):
        super().__init__()
        self.weight = nn.Parameter(weight)
class Part(nn.Module):
    def __init__(self, weight):
        super().__init__()
        self.inside = Inside(weight)
    def reset(self):
        self.mask = torch.ones(2, 3)
    def forward(self):
        return says(self.inside.weight, self.mask)
part = Part(there)
part.reset()
del there, beside
part()
""",
    "filled_from_outside": """
import pickle
class Meter:
    def add(self, value):
        says(value, out=self.total)
meter = Meter()
vars(meter)['total'] = pickle.loads(pickle.dumps(x))
meter.add(there)
""",
    "computed_by_something": """
import pickle
def use(value, text):
    says(value, pickle.loads(text))
def use_again(value, text):
    try:
        use(value, text)
    except RuntimeError:
        pass
    while says(value, pickle.loads(text)):
        pass
use_again(there, pickle.dumps(x))
""",
    "without_a_device": """
import pickle
kept, made = [there].copy, pickle.loads(pickle.dumps(x))
del there, beside
says(kept().pop(), made)
""",
    "resumed_in_the_wrong_order": """
class Part(nn.Module):
    def __init__(self, weight):
        super().__init__()
        self.weight = nn.Parameter(weight)
part = Part(there)
opt = torch.optim.SGD(part.parameters(), 0.1, momentum=0.9)
opt.state[part.weight]['momentum_buffer'] = torch.ones(2, 3)
if len(x) > 2:
    opt.load_state_dict({})
    part.cuda()
says(part.weight, opt.state[part.weight]['momentum_buffer'])
""",
    "made_by_a_kernel": """
import linecache
names = {'says': says, 'torch': torch, '__name__': 'torch._kernels'}
source = 'def kernel(value):\\n    made = torch.ones(2, 3)\\n    says(value, made)\\n'
file = torch.__file__.replace('__init__', '_kernels')
linecache.cache[file] = (len(source), None, source.splitlines(True), file)
exec(compile(source, file, 'exec'), names)
names['kernel'](there)
""",
    "in_a_replica": """
class Part(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = torch.ones(2, 3)
    def forward(self, value):
        return value * self.scale
class Whole(nn.Module):
    def __init__(self):
        super().__init__()
        self.part = Part()
    def forward(self, value):
        try:
            self.part(value.to('meta'))
        except RuntimeError:
            names['text'] = 'Caught RuntimeError in replica 1 on device 1.\\nOriginal ' + traceback.format_exc()
        names['text'] += ' cuda:1 and cpu'
        return says(value)
import traceback
Whole()(x)
""",
    "without_columns": """
def use(value):
    kept = says(value)
    return kept
def lines_only(code):
    table = bytearray()
    last = code.co_firstlineno
    for start, end, line in code.co_lines():
        left, line = (end - start) // 2, line or last
        while left:
            size, delta = min(left, 8), line - last
            table.append(0x80 | 13 << 3 | size - 1)
            table.append(delta << 1 if delta >= 0 else -delta << 1 | 1)
            left, last = left - size, line
    return bytes(table)
if hasattr(use.__code__, 'co_positions'):
    use.__code__ = use.__code__.replace(co_linetable=lines_only(use.__code__))
use(x)
""",
    "of_a_job": """
import os
from unittest import mock
from devlint_guard.explain import annotate
try:
    says(there, x)
except RuntimeError as error:
    with mock.patch.dict(os.environ, {'RANK': '0', 'WORLD_SIZE': '2'}):
        annotate(error)
    raise
""",
}
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
FAILING["made_before"] = (
    """
import pickle
import torch

class Meter:
    def __init__(self, total=None):
        self.total = torch.zeros(2, 3)
        self.last = total
    def add(self, value, says):
        says(value, out=self.total)

class State:
    def __init__(self):
        self.table = None
    def load(self, text):
        self.table = pickle.loads(text)

class Holder:
    def __init__(self, table, device):
        self.device = device
        self.table = table
    def use(self, value, says):
        says(value, self.table)

state, meter = State(), Meter()
state.load(pickle.dumps(torch.ones(2, 3)))
holder = Holder(state.table, "cuda:0")
"""
    + SAYS
    + """
for use in (meter.add, holder.use):
    try:
        use(there, says)
    except RuntimeError as error:
        last = error
raise last
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
    Trouble.FORKED: "Cannot re-initialize CUDA in forked subprocess",
    Trouble.INDEX: "indices should be either on cpu or on the same device as the indexed tensor (cpu)",
}

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
    "asked_by_position": (
        "Torch not compiled with CUDA enabled",
        "class Asking:\n    cuda = staticmethod(says)\nwhere = 'cuda:0'\nAsking().cuda(where)\n",
    ),
    "several_for_numpy": (
        TEXTS[Trouble.HOST_ACCESS],
        "def read(value):\n    kept = [[value]]\n    says(kept)\n    value.numpy()\nread(there)\n",
    ),
    "one_for_numpy": (
        TEXTS[Trouble.HOST_ACCESS],
        "def read(value, other):\n    says(value)\n    other.numpy()\nread(there, beside)\n",
    ),
    "shuffled": (
        TEXTS[Trouble.GENERATOR],
        "from torch.utils.data import DataLoader\nother = DataLoader([1], shuffle=True)\n"
        "says(DataLoader([1], shuffle=True))\n",
    ),
    "beyond": (
        TEXTS[Trouble.NO_INDEX],
        """
from unittest import mock
from devlint_guard.explain import annotate
try:
    says(x, device='cuda:3')
except RuntimeError as error:
    with mock.patch.object(torch.cuda, 'device_count', lambda: 1):
        annotate(error)
    raise
""",
    ),
    "without_ids": (
        "",
        "names = {'__name__': nn.DataParallel.__module__}\n"
        "exec(compile('def __init__(*args):\\n    raise IndexError(0)\\n', says.__code__.co_filename, 'exec'), names)\n"
        "names['__init__'](net, [])\n",
    ),
}

ALONE = {
    "no_attribute": NETWORK + "net.inner.device\n",
    "no_attribute_of_an_element": NETWORK + "net.inner.parts[0].device\n",
    "element": NETWORK + "x[0] = torch.ones(3, device='meta')\n",
    "on_two_devices": NETWORK + "net.fc.bias = nn.Parameter(torch.ones(3, device='meta'))\nnet.fc(x)\n",
    "whole_on_meta": NETWORK + "net.inner.parts[0](x)\n",
    "part_on_meta": NETWORK + "whole = nn.Sequential(nn.Linear(3, 3, device='meta'))\nwhole(x)\n",
    "given_on_another": SAYS + "net.fc(there * 1)\n",
    "weight_on_another": SAYS + "net.fc.weight = nn.Parameter(there, False)\nnet.fc(x)\n",
    "given_apart": NETWORK + "net.fc(x.to('meta'))\n",
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
