"""No failure of the code that explains an error reaches the program: each function of it is made to fail.

The functions are not listed but observed: those of the guard that run, in any of the programs below, while the guard
explains an error or foretells one. Each of them then raises whenever it is called, and the program must end with its
own error, in its own words.

`python -m tests.guard.faults [--all]` prints what went wrong. It needs a process of its own: a guard whose end fails
leaves parts of itself behind.
"""

from __future__ import annotations

import functools
import gc
import sys
import tempfile
import types
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import cast

from devlint_guard import errors, interpose, session, undisturbed
from devlint_guard import operators as operators_file
from devlint_guard.active import _Listener, responsible
from devlint_guard.explain import _add_note, annotate, explain, explained_before
from devlint_guard.messages import Trouble, read
from devlint_guard.session import Guard

HOME = str(Path(session.__file__).parent)

DOORS = {
    undisturbed.protected.__code__,
    operators_file.OperatorMode._mixed.__code__,
    _Listener.entered.__code__,
    _Listener.failed.__code__,
}
"""Below these the guard explains."""

BOUNDARY = {
    *DOORS,
    *(one.__code__ for one in vars(undisturbed).values() if isinstance(one, types.FunctionType)),
    *(one.__code__ for one in vars(undisturbed.Undisturbed).values() if isinstance(one, types.FunctionType)),
    operators_file.OperatorMode._tell.__code__,
    explain.__code__,
    annotate.__code__,
    _add_note.__code__,
    responsible.__code__,
    session.Guard.exit.__code__,
    explained_before.__code__,
    interpose._failed.__code__,
    session.Guard.__exit__.__code__,
    errors.DeviceMismatchError.__init__.__code__,
}
"""They hold errors back, tell of them, or lead there; `DeviceMismatchError` is what the guard has to say."""

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

names = {}
text = "Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu!"
source = f"def says(*args, **kwargs):\\n    raise RuntimeError({text!r})\\n"
exec(compile(source, torch.__file__.replace("__init__", "_says"), "exec"), names)
says = names["says"]
with FakeTensorMode(allow_non_fake_inputs=True):
    there, beside = torch.ones(2, 3, device="cuda"), torch.ones(2, 3, device="cuda")
"""
)
"""On tensors that only say that they are on a device: a function of no user refuses them as PyTorch would."""

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
SAID = "\ndef says(*args, **kwargs):\n    raise RuntimeError({text!r})\ndevice, generator = 'gpu', torch.Generator()\n"
CALL = "says(x, device=device, generator=generator, device_ids=[1, 0])\n"

PROGRAMS = {**FAILING, **{one.name: NETWORK + SAID.format(text=text) + CALL for one, text in TEXTS.items()}}

WAYS: dict[str, Callable[[], Guard] | None] = {
    "explain": None,
    "raise": Guard,
    "record": lambda: Guard(mode="record", level="deep"),
}

SAMPLE = ("attribute", "passed", "NO_DEVICE", "created", "left")
STRIDE = 9
"""In each run a part of the functions fails in one way, in the long run each of them in all ways."""

READ = cast(types.FunctionType, read)

Case = tuple[str, str]
"""A program and a way to its explanation."""


def end_of(file: Path, make: Callable[[], Guard] | None) -> tuple[BaseException, list[str]]:
    """How a program ends, with the first lines of the notes and warnings that it ends with."""
    names: dict[str, object] = {"__name__": "__main__"}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            if make is None:
                exec(compiled(file), names)
            else:
                with make():
                    exec(compiled(file), names)
        except Exception as error:
            if make is None:
                explain(error)
                annotate(error)
            notes = [str(note) for note in getattr(error, "__notes__", ())]
            return error, [*notes, *(str(one.message) for one in caught)]
    raise AssertionError(f"{file.name} has to fail")


@functools.cache
def compiled(file: Path) -> types.CodeType:
    return compile(file.read_text(encoding="utf-8"), str(file), "exec")


def write_programs(folder: Path) -> dict[str, Path]:
    """Write the programs into a folder; return their files by their names."""
    for name, text in PROGRAMS.items():
        (folder / f"{name}.py").write_text(text, encoding="utf-8")
    return {name: folder / f"{name}.py" for name in PROGRAMS}


@contextmanager
def observed(found: set[types.CodeType]) -> Iterator[None]:
    """Collects the functions of the guard that run below a door."""

    def profile(frame: types.FrameType, event: str, _: object) -> None:
        code = frame.f_code
        if event == "call" and code not in found and code.co_filename.startswith(HOME):
            outer = frame.f_back
            while outer is not None and outer.f_code not in DOORS:
                outer = outer.f_back
            if outer is not None:
                found.add(code)

    sys.setprofile(profile)
    try:
        yield
    finally:
        sys.setprofile(None)


def _broken(kind: str) -> types.CodeType:
    names: dict[str, types.FunctionType] = {}
    exec(f"def broken():\n    raise {kind}('this function fails')\n", names)
    return names["broken"].__code__


@contextmanager
def failing(functions: list[types.FunctionType], kind: str) -> Iterator[None]:
    """Makes functions raise, whenever they are called and whoever calls them."""
    stub = _broken(kind)
    kept = [(function, function.__code__) for function in functions]
    generator = 0x20 | 0x80 | 0x100 | 0x200
    for function, code in kept:
        changes = {"co_code": stub.co_code, "co_consts": stub.co_consts, "co_names": stub.co_names}
        if sys.version_info >= (3, 11):
            changes |= {"co_exceptiontable": stub.co_exceptiontable, "co_linetable": stub.co_linetable}
        size = max(code.co_stacksize, stub.co_stacksize)
        function.__code__ = code.replace(co_flags=code.co_flags & ~generator, co_stacksize=size, **changes)  # type: ignore[arg-type]
    try:
        yield
    finally:
        for function, code in kept:
            function.__code__ = code


def check(files: dict[str, Path], *, everywhere: bool) -> list[str]:
    """Let functions fail one after the other; return a line for each program that did not end with its own error."""
    expected: dict[Case, tuple[BaseException, list[str]]] = {}
    first: dict[types.CodeType, list[Case]] = {}
    for way, make in WAYS.items():
        for name, file in files.items():
            if not (everywhere or name in SAMPLE):
                continue
            found: set[types.CodeType] = set()
            with observed(found):
                expected[name, way] = end_of(file, make)
            for code in found - BOUNDARY:
                first.setdefault(code, []).append((name, way))
    functions: dict[types.CodeType, list[types.FunctionType]] = {}
    for one in gc.get_objects():
        if type(one) is types.FunctionType and one.__code__ in first and "<locals>" not in one.__qualname__:
            functions.setdefault(one.__code__, []).append(one)
    assert len(functions) > (200 if everywhere else 150), "the programs no longer go through the code that explains"
    wrong = []
    for number, (code, cases) in enumerate(sorted(first.items(), key=lambda item: str(item[0]))):
        if code not in functions or not (everywhere or number % STRIDE == 0):
            continue  # what is defined inside of another function fails with that
        ways = {way: name for name, way in reversed(cases)}
        for way, name in ways.items():
            own = _own_error(expected[name, "explain"][0])
            with failing(functions[code], ("ZeroDivisionError", "RecursionError")[number % 2]):
                error, lines = end_of(files[name], WAYS[way])
            if isinstance(error, errors.DeviceMismatchError) and not _is_said(lines):
                continue  # foretold, without this function
            if (type(error), error.args) != own:
                wrong.append(f"{code.co_qualname} in {name}, {way}: {type(error).__name__}: {error}")
            elif len([line for line in lines if line.startswith(undisturbed.FAILED)]) > 2 or not lines:
                wrong.append(f"{code.co_qualname} in {name}, {way}: {lines or 'silence'}")
    return wrong


def _own_error(error: BaseException) -> tuple[type[BaseException], tuple[object, ...]]:
    assert not isinstance(error, errors.GuardError)
    return type(error), error.args


def _is_said(lines: list[str]) -> bool:
    return any(line.startswith(undisturbed.FAILED) for line in lines)


def main() -> int:
    """Return 1 if a program has not ended with its own error."""
    with tempfile.TemporaryDirectory() as folder:
        wrong = check(write_programs(Path(folder)), everywhere="--all" in sys.argv)
    print("\n".join(wrong))
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
