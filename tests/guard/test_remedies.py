"""The first change of an explanation mends the program; an error is explained alike with and without a guard.

Each program says what the explanation has to name, the line of the cause, and nothing else: PyTorch judges the change.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from devlint_guard.finding import Finding, Place

from tests.guard.pretended import Way, explained
from tests.guard.questions import carry_out
from tests.judge import Judge

START = "import torch\nfrom torch import nn\n"

NET = """
class Part(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = torch.ones(3)  # CAUSE

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc, self.sub, self.parts = nn.Linear(3, 3), Part(), nn.ModuleList([Part()])

    def forward(self, x):
        return {result}

Net().cuda()(torch.ones(2, 3).cuda())
"""

PROGRAMS = {
    "attribute_of_an_attribute": ("self.sub.scale", NET.format(result="self.fc(x) * self.sub.scale")),
    "attribute_of_an_element": ("self.parts[0].scale", NET.format(result="self.fc(x) * self.parts[0].scale")),
    "attribute_of_plain_objects": (
        "c.d.t",
        """
class C:
    pass

c = C()
c.d = C()
c.d.t = torch.ones(3)
torch.ones(3).cuda() * c.d.t  # CAUSE
""",
    ),
    "numbers_of_a_generator": (
        "noise",
        """
generator = torch.Generator().manual_seed(0)
x = torch.ones(3).cuda()
noise = torch.randn(3, generator=generator)  # CAUSE
x + noise
""",
    ),
    "numbers_of_a_generator_that_is_none": (
        "noise",
        """
def sample(x, generator=None):
    noise = torch.randn(3, generator=generator)  # CAUSE
    return x + noise

sample(torch.ones(3).cuda())
""",
    ),
    "module_left_behind": (
        "criterion",
        """
class Loss(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(3, 3))

    def forward(self, x):
        return (x @ self.weight).sum()

def train(device):
    net = nn.Linear(3, 3).to(device)
    criterion = Loss()  # CAUSE
    for x in [torch.ones(2, 3)]:
        criterion(net(x.to(device))).backward()

train("cuda:0")
""",
    ),
    "hidden_state": (
        "hidden",
        """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.GRUCell(3, 4)

    def init_hidden(self, size):
        return torch.zeros(size, 4)  # CAUSE

    def forward(self, x, hidden):
        return self.rnn(x, hidden)

net = Net().cuda()
x = torch.ones(2, 3).cuda()
hidden = net.init_hidden(2)
net(x, hidden)
""",
    ),
    "batch": (
        'batch["x"]',
        """
def evaluate(net, batches):
    for batch in batches:
        net(batch["x"])

evaluate(nn.Linear(3, 3).cuda(), [{"x": torch.ones(2, 3)}])  # CAUSE
""",
    ),
    "appended": (
        "kept",
        """
x = torch.ones(2, 3).cuda()
kept = []
for number in range(2):
    kept.append(torch.ones(2, 3))  # CAUSE
torch.cat([x, kept[0]])
""",
    ),
    "global_variable": (
        "table",
        """
table = torch.ones(3)  # CAUSE

def add(x):
    return x + table

add(torch.ones(3).cuda())
""",
    ),
    "filled_in_place": (
        "new",
        """
mean = torch.zeros(3).cuda()
new = torch.ones(3) * 2  # CAUSE
mean.lerp_(new, 0.5)
assert mean.sum().item() == 3
""",
    ),
    "table_on_the_cpu": (
        "table",
        """
table = torch.linspace(0, 1, 10)  # CAUSE
steps = torch.tensor([3, 5], device="cuda")
noise = torch.ones(2).cuda() * table[steps]
""",
    ),
    "conditional_expression": (
        "mask",
        """
def mixed(x, mask=None):
    return torch.add(x, mask if mask is not None else 0)

mixed(torch.ones(3).cuda(), torch.ones(3))  # CAUSE
""",
    ),
    "two_devices": (
        "body",
        """
net = nn.Linear(3, 3).to("cuda:1")
scan = torch.ones(2, 3).to("cuda:1")
body = torch.ones(2, 3).cuda()  # CAUSE
net(torch.cat([scan, body]))
""",
    ),
    "factory_inside_of_an_operand": (
        "zeros",
        """
def shifted(x):
    return x.relu() + torch.zeros(3).sigmoid()  # CAUSE

shifted(torch.ones(3).cuda())
""",
    ),
    "property": (
        "mask",
        """
class Mask:
    def __init__(self, size):
        self._mask = torch.ones(size)  # CAUSE

    @property
    def mask(self):
        return self._mask

mask = Mask(3)
torch.ones(3).cuda() * mask.mask
""",
    ),
    "other_branch_not_taken": (
        "tokens",
        """
def generate(net, tokens):
    if isinstance(tokens, str):
        tokens = torch.tensor([1.0, 2.0, 3.0])
    first = tokens
    tokens = tokens.to("cuda:0")
    return torch.cat([first, net(tokens)])

tokens = torch.ones(3)  # CAUSE
generate(nn.Linear(3, 3).cuda(), tokens)
""",
    ),
    "result_of_a_module": (
        "output",
        """
class Decoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(3, 3)

    def forward(self, x):
        outputs = torch.autograd.Variable(torch.zeros(4, 3))  # CAUSE
        outputs[1] = self.fc(x)[0]
        return outputs

net, target = Decoder().cuda(), torch.ones(4, 3).cuda()
output = net(torch.ones(2, 3).cuda())
nn.functional.mse_loss(output, target)
""",
    ),
    "generator_of_batches": (
        "batch.src",
        """
class Batch:
    def __init__(self, src, trg):
        self.src, self.trg = src, trg

def batches():
    for _ in range(2):
        data = torch.zeros(2, 3)  # CAUSE
        yield Batch(data, data)

def train(net, given):
    for batch in given:
        net(batch.src)

net = nn.Linear(3, 3).cuda()
train(net, batches())
""",
    ),
    "one_attribute_of_a_batch": (
        "batch.trg",
        """
class Batch:
    pass

def train(net, given):
    for src, trg in given:
        batch = Batch()
        batch.src = src.cuda()
        batch.trg = trg  # CAUSE
        net(batch.src) - batch.trg

train(nn.Linear(3, 3).cuda(), [(torch.ones(2, 3), torch.ones(2, 3))])
""",
    ),
    "copy_of_a_module": (
        "copy.deepcopy(net)",
        """
import copy

class Average:
    def __init__(self, net, decay):
        self.ema = copy.deepcopy(net)  # CAUSE
        self.decay = decay

    def update(self, net):
        with torch.no_grad():
            mine, theirs = self.ema.state_dict(), net.state_dict()
            for key in mine:
                mine[key].copy_(mine[key] * self.decay + theirs[key] * (1 - self.decay))

def train(device):
    net = nn.Linear(3, 3)
    average = Average(net, 0.5)
    net.to(device)
    average.update(net)

train(torch.device("cuda:0"))
""",
    ),
    "wrapper_with_a_parameter_of_its_own": (
        "Wrapper(net)",
        """
class Wrapper(nn.Module):
    def __init__(self, net):
        super().__init__()
        self.net, self.token, self.head = net, nn.Parameter(torch.ones(1, 3)), nn.Linear(3, 3)

    def forward(self, x):
        return self.head(torch.cat([self.net(x), self.token.expand(2, -1)]))

net = nn.Linear(3, 3).cuda()
wrapper = Wrapper(net)  # CAUSE
wrapper(torch.ones(2, 3).cuda())
""",
    ),
    "two_values_of_one_line": (
        "done",
        """
def target(reward, done, value):
    reward = torch.tensor(reward)
    done = torch.tensor(done)  # CAUSE
    return reward + 0.9 * (1 - done) * value

target([1.0, 2.0], [0.0, 1.0], torch.ones(2).cuda())
""",
    ),
    "several_arguments": (
        "x",
        """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.one, self.other = nn.Linear(3, 3), nn.Linear(3, 3)

    def forward(self, x, y):
        return self.one(x) + self.other(y)

net = Net().cuda()
for x, y in [(torch.ones(2, 3), torch.ones(2, 3))]:  # CAUSE
    net(x, y)
""",
    ),
    "device_given_long_before": (
        "torch.as_tensor(x, device=self.device)",
        """
class Head(nn.Module):
    def __init__(self, device):
        super().__init__()
        self.device, self.fc = device, nn.Linear(3, 3)

    def forward(self, x):
        return self.fc(torch.as_tensor(x, device=self.device))  # CAUSE

class Net(nn.Module):
    def __init__(self, device):
        super().__init__()
        self.head = Head(device)

    def forward(self, x):
        return self.head(x)

net = Net("cpu")
net.to("cuda:0")
net([[1.0, 2.0, 3.0]])
""",
    ),
    "sequence": (
        "x",
        """
class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(3, 3)

    def forward(self, x):
        return self.fc(x)

net = nn.Sequential(Block(), nn.ReLU()).cuda()
batch = torch.ones(2, 3)  # CAUSE
net(batch)
""",
    ),
    "wrapped_for_its_rank": (
        "net",
        """
import torch.distributed as dist

dist.init_process_group("nccl", store=dist.HashStore(), rank=0, world_size=1)
net = nn.Linear(3, 3)
net = nn.parallel.DistributedDataParallel(net, device_ids=[0])  # CAUSE
""",
    ),
    "resumed_optimizer": (
        "optimizer.load_state_dict",
        """
def main():
    old = nn.Linear(3, 3)
    first = torch.optim.SGD(old.parameters(), 0.1, momentum=0.9)
    old(torch.ones(2, 3)).sum().backward()
    first.step()
    net = nn.Linear(3, 3)
    optimizer = torch.optim.SGD(net.parameters(), 0.1, momentum=0.9)
    optimizer.load_state_dict(first.state_dict())  # CAUSE
    net.cuda()
    net(torch.ones(2, 3).cuda()).sum().backward()
    optimizer.step()

main()
""",
    ),
    "both_states_of_a_recurrent_net": (
        "state",
        """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(3, 4)

    def init_state(self, size):
        return (torch.zeros(1, size, 4), torch.zeros(1, size, 4))  # CAUSE

    def forward(self, x, state):
        return self.lstm(x, state)

net = Net().cuda()
state = net.init_state(2)
for _ in range(2):
    x = torch.ones(5, 2, 3).cuda()
    out, state = net(x, state)
    state = tuple(one.detach() for one in state)
""",
    ),
    "batch_by_keywords": (
        "x",
        """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(3, 3)

    def forward(self, x, mask):
        return self.fc(x) * mask

net = Net().cuda()
for batch in [{"x": torch.ones(2, 3), "mask": torch.ones(2, 3)}]:  # CAUSE
    net(**batch)
""",
    ),
    "appended_by_a_method": (
        "torch.tensor",
        """
class Meter:
    def __init__(self):
        self.values = []

    def add(self, value):
        self.values.append(value)

    def mean(self):
        return torch.stack(self.values).mean()

def main():
    meter = Meter()
    meter.add(torch.tensor(0.5))  # CAUSE
    meter.add(torch.ones(()).cuda())
    meter.mean()

main()
""",
    ),
    "discarded_move_of_two": (
        "inputs",
        """
def train(net, given, device):
    for inputs, targets in given:
        inputs.to(device), targets.to(device)
        nn.functional.mse_loss(net(inputs), targets)

train(nn.Linear(3, 3).cuda(), [(torch.ones(2, 3), torch.ones(2, 3))], "cuda:0")  # CAUSE
""",
    ),
    "buffer_made_of_an_attribute": (
        "self.mask",
        """
class Mask(nn.Module):
    def __init__(self, mask):
        super().__init__()
        self.given = mask.view(1, -1)
        self.register_buffer("mask", self.given)

    def forward(self, x):
        return self.mask * x

flow = Mask(torch.tensor([1.0, 0.0]))  # CAUSE
flow(torch.ones(3, 2).cuda())
""",
    ),
    "kept_in_an_object": (
        "self.real",
        """
class Model:
    def __init__(self, device):
        self.device = torch.device(device)
        self.net = nn.Linear(3, 3).to(self.device)

    def set_input(self, given):
        self.real = given["A"]  # CAUSE

    def step(self):
        return (self.net(self.real) - self.real).sum()

model = Model("cuda:0")
model.set_input({"A": torch.ones(2, 3)})
model.step()
""",
    ),
    "saved_from_the_cpu": (
        "net.cpu()",
        """
def train(device):
    net = nn.Linear(3, 3).to(device)
    for x in torch.ones(3, 2, 3):
        net(x.to(device)).sum().backward()
        saved = net.cpu().state_dict()  # CAUSE

train("cuda:0")
""",
    ),
    "moved_to_write_it_down": (
        "net.cpu()",
        """
def written(net):
    return str(next(net.parameters()).tolist())

def train(device):
    net = nn.Linear(3, 3).to(device)
    for x in torch.ones(3, 2, 3):
        text = written(net.cpu())  # CAUSE
        net(x.to(device))

train("cuda:0")
""",
    ),
    "measured_on_the_cpu": (
        "net.to(where)",
        """
def measured(net, where):
    net.to(where)  # CAUSE
    return net(torch.ones(2, 3, device=where)).sum()

def train(device):
    net = nn.Linear(3, 3).to(device)
    for x in torch.ones(3, 2, 3):
        net(x.to(device))
        print(measured(net, torch.device("cpu")))

train("cuda:0")
""",
    ),
    "batches_of_dicts": (
        "DataLoader",
        """
from torch.utils.data import DataLoader

def train(device):
    net = nn.Linear(3, 3).to(device)
    for batch in DataLoader([{"x": torch.ones(3), "y": torch.ones(3)}] * 4, batch_size=2):  # CAUSE
        (net(batch["x"]) - batch["y"]).sum().backward()

train("cuda:0")
""",
    ),
    "line_of_a_generator": (
        "v.reshape(4, -1)",
        """
def chosen(rays, device):
    given = torch.randperm(4, device=device)[:2]
    return tuple(v.reshape(4, -1)[given].to(device) for v in rays)  # CAUSE

chosen((torch.ones(4, 3), torch.ones(4)), "cuda:0")
""",
    ),
    "loaded_into_a_group": (
        "torch.load",
        """
import io

def train(device):
    net = nn.Linear(3, 3).to(device)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    file = io.BytesIO()
    torch.save({"groups": [{"moment": torch.ones(3)}]}, file)
    file.seek(0)
    saved = torch.load(file, map_location="cpu")  # CAUSE
    optimizer.param_groups[0].update(saved["groups"][0])
    for group in optimizer.param_groups:
        group["moment"].mul_(0.9).add_(net.bias.detach())

train("cuda:0")
""",
    ),
    "computed_before_anything_moved": (
        "self.scale",
        """
class Schedule:
    def __init__(self, device):
        self.device = device
        self.scale = 1.0 - torch.linspace(0, 1, 4)  # CAUSE

    def noisy(self, x):
        return self.scale * x

Schedule("cuda:0").noisy(torch.ones(4).cuda())
""",
    ),
    "device_that_nothing_reads": (
        "device",
        """
def prepared(rows, device):
    x = torch.stack(rows)
    y = x.mean(1)
    return x, y  # CAUSE

def train(device):
    x, y = prepared([torch.ones(3)] * 2, device)
    return nn.Linear(3, 1).to(device)(x).squeeze(1) - y

train("cuda:0")
""",
    ),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_first_change_mends(judge: Judge, tmp_path: Path, name: str) -> None:
    culprit, text = PROGRAMS[name]
    told = {way: _mended(judge, tmp_path / f"{way}.py", START + text, way) for way in ("explain", "run")}
    for way, (finding, outcome) in told.items():
        assert outcome == "ok", (way, finding.message, finding.changes)
        blamed = finding.operands[0]
        named = " ".join([blamed.name, blamed.qualified, *(step.message for step in blamed.history)])
        assert culprit in named, (way, named)
        line = next(number for number, one in enumerate((START + text).splitlines(), 1) if "# CAUSE" in one)
        assert line in {place.line for place in _places(finding)}, (way, finding)
    (mine, _), (theirs, _) = told["explain"], told["run"]
    assert (mine.code, mine.message, mine.operands[0].name) == (theirs.code, theirs.message, theirs.operands[0].name)
    assert [(one.place.line, one.after) for one in mine.changes] == [(x.place.line, x.after) for x in theirs.changes]


def _mended(judge: Judge, file: Path, text: str, way: Way) -> tuple[Finding, str]:
    """The explanation of a program, and how the program ends as its change makes it."""
    file.write_text(text, encoding="utf-8")
    finding = explained(judge, text, file=file, way=way).finding
    assert finding is not None
    carry_out(finding.changes)
    return finding, explained(judge, file.read_text(encoding="utf-8"), file=file).verdict.outcome


def _places(finding: Finding) -> list[Place]:
    steps = [step.place for one in finding.operands for step in one.history]
    places = [finding.place, *(one.place for one in finding.operands), *steps, *(one.place for one in finding.changes)]
    return [place for place in places if place is not None]
