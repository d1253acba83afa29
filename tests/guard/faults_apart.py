"""The ends of the programs of `tests.guard.fault_programs` in which values are on different devices."""

from __future__ import annotations

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
    "given_to_a_library": """
import functools
from torch.distributions import Normal
spread = torch.ones(2, 3)
shape = Normal(torch.zeros(2, 3), spread)
part = functools.partial(says, there, other=torch.ones(2, 3) * 2)
part(shape.scale)
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
    "given_or_made": """
def use(value, mask):
    if mask.ndim > 2:
        mask = mask[0]
    if value is None:
        mask = value.cpu()
    return says(value, mask)
use(there, torch.ones(2, 3))
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
        except RuntimeError as error:
            inner = [one for one in traceback.extract_tb(error.__traceback__) if one.name == 'forward'][-1:]
        lines = ['Caught RuntimeError in replica 1 on device 1.\\n', *traceback.format_list(inner), names['text']]
        names['text'] = ''.join(lines)
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
from devlint_guard.findings.explanation import annotate
try:
    says(there, x)
except RuntimeError as error:
    with mock.patch.dict(os.environ, {'RANK': '0', 'WORLD_SIZE': '2'}):
        annotate(error)
    raise
""",
}
