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
    "pair": """
state = (torch.zeros(2, 3), torch.zeros(2, 3))
says(there, state)
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
    "given_to_a_library": """
import functools
from torch.distributions import Normal
spread = torch.ones(2, 3)
shape = Normal(torch.zeros(2, 3), spread)
part = functools.partial(says, there, other=torch.ones(2, 3) * 2)
part(shape.scale)
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
    "joined": """
made = torch.cat([torch.ones(1, 3), torch.ones(1, 3)])
says(there, made)
""",
    "tested": """
def tell(value, other):
    if value is None:
        return 1
    elif says(value, other):
        return 2
tell(there, x)
""",
    "imported": TABLES
    + """
def use(value):
    says(value, TABLE)
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
