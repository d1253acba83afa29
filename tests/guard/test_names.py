"""Values have the names that the user's own lines give them, and help has no other name in it.

Each program names what the explanation has to call the blamed value; `# CAUSE` marks its line.
"""

from __future__ import annotations

import ast
import builtins
from pathlib import Path

import pytest

pytest.importorskip("torch")

from click.testing import CliRunner
from devlint.cli import devlint
from devlint_guard.finding import Finding

from tests.guard.pretended import Way, explained
from tests.guard.questions import WAYS, carry_out
from tests.judge import Judge

START = "import torch\nfrom torch import nn\n"

LIBRARY = '''
import linecache, sys, types
from pathlib import Path

TEXT = """
import copy

import torch
from torch import nn

class EMA(nn.Module):
    def __init__(self, net):
        super().__init__()
        self.online, self.ema_model = [net], copy.deepcopy(net)

    @torch.no_grad()
    def update(self):
        for mine, theirs in zip(self.ema_model.parameters(), self.online[0].parameters()):
            mine.lerp_(theirs, 0.1)

def scaled(batch, table):
    weights = table.softmax(0)
    return batch * weights
"""
FILE = str(Path(torch.__file__).parent.parent / "averages.py")  # where installed packages are
linecache.cache[FILE] = (len(TEXT), None, TEXT.splitlines(True), FILE)
averages = sys.modules["averages"] = types.ModuleType("averages")
exec(compile(TEXT, FILE, "exec"), averages.__dict__)
'''

PROGRAMS = {
    "module_that_a_library_averages": (
        "self.ema",
        LIBRARY
        + """
class Trainer:
    def __init__(self, model, device):
        self.model, self.device = model, device
        self.ema = averages.EMA(model)  # CAUSE
        self.model.to(device)

    def step(self, x):
        self.model(x.to(self.device)).sum().backward()
        self.ema.update()

Trainer(nn.Linear(3, 3), "cuda:0").step(torch.ones(2, 3))
""",
    ),
    "value_that_a_library_computes": (
        "prior",
        LIBRARY
        + """
def train(images):
    prior = torch.ones(3)  # CAUSE
    return averages.scaled(images, prior)

train(torch.ones(2, 3).cuda())
""",
    ),
    "input_of_a_module": (
        "images",
        """
def evaluate(net, images):
    return net(images)

net = nn.Sequential(nn.Linear(3, 3), nn.ReLU()).cuda()
evaluate(net, torch.ones(2, 3))  # CAUSE
""",
    ),
    "input_of_one_layer": (
        "images",
        """
def evaluate(layer, loader):
    for images in loader:
        layer(images)

evaluate(nn.Conv1d(3, 3, 1).cuda(), [torch.ones(2, 3, 4)])  # CAUSE
""",
    ),
    "legacy_constructor_of_a_size": (
        "torch.Tensor(3)",
        """
x = torch.ones(2, 3).cuda()
y = x * torch.Tensor(3)  # CAUSE
""",
    ),
    "legacy_constructor_of_values": (
        "weights",
        """
def loss(x):
    weights = torch.FloatTensor([1.0, 2.0, 3.0])  # CAUSE
    return (x * weights).sum()

loss(torch.ones(2, 3).cuda())
""",
    ),
    "legacy_constructor_of_indices": (
        "torch.LongTensor([0, 1])",
        """
embed = nn.Embedding(4, 3).cuda()
embed(torch.LongTensor([0, 1]))  # CAUSE
""",
    ),
    "legacy_constructor_beside_a_default_device": (
        "torch.Tensor([1.0]).expand(3)",
        """
torch.set_default_device("cuda")
x = torch.ones(3)
torch.cat([x, torch.Tensor([1.0]).expand(3)])  # CAUSE
""",
    ),
    "lengths_by_position": (
        "torch.tensor([3, 2])",
        """
from torch.nn.utils.rnn import pack_padded_sequence

torch.set_default_device("cuda")
pack_padded_sequence(torch.ones(3, 2, 1), torch.tensor([3, 2]))  # CAUSE
""",
    ),
    "mask_computed_in_the_call": (
        "mask.bool()",
        """
def masked(x, mask):
    return x.masked_fill(mask.bool(), 0.0)

masked(torch.ones(3).cuda(), torch.ones(3))  # CAUSE
""",
    ),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", PROGRAMS)
def test_names_are_those_of_the_program(judge: Judge, tmp_path: Path, name: str, way: Way) -> None:
    wanted, text = PROGRAMS[name]
    file = tmp_path / "program.py"
    file.write_text(START + text, encoding="utf-8")
    finding = explained(judge, START + text, file=file, way=way).finding
    assert finding is not None
    blamed = finding.operands[0]
    assert wanted in (blamed.name, *(step.message.partition("`")[2].rstrip("`") for step in blamed.history)), blamed
    assert _line_of_cause(START + text) in {*_lines(finding)}
    own = _names(ast.parse(START + text)) | set(dir(builtins))
    named = [f"`{one.name}`" for one in finding.operands]
    changed = [f"`{one.after.strip()}`" for one in finding.changes]
    for line in (*named, *finding.help, *changed):
        assert _names_quoted(line) <= own, line
    carry_out(finding.changes)
    assert explained(judge, file.read_text(encoding="utf-8"), file=file).verdict.outcome == "ok", finding.changes


def test_two_modules_that_a_library_combines_have_the_paths_of_the_user(judge: Judge, tmp_path: Path) -> None:
    _, text = PROGRAMS["module_that_a_library_averages"]
    file = tmp_path / "program.py"
    file.write_text(START + text, encoding="utf-8")
    finding = explained(judge, START + text, file=file).finding
    assert finding is not None
    assert finding.message.startswith("`self.ema` is on cpu and `self.model.weight` on cuda:0")
    assert finding.operands[0].detail.startswith("ema_model.weight")


def test_a_checkpoint_is_created_by_the_function_that_loads_it(judge: Judge, tmp_path: Path) -> None:
    text = START + (
        "import io\nfile = io.BytesIO()\ntorch.save({'table': torch.ones(3)}, file)\nfile.seek(0)\n"
        "table = torch.load(file, map_location='cpu')['table']\ntorch.ones(3).cuda() * table\n"
    )
    finding = explained(judge, text, file=tmp_path / "program.py", way="run").finding
    assert finding is not None
    assert [step.message for step in finding.operands[0].history][:1] == [
        "is loaded by `torch.load(file, map_location='cpu')`"
    ]


def test_hooks_of_lightning_have_the_names_of_the_module(judge: Judge, tmp_path: Path) -> None:
    pytest.importorskip("lightning")
    text = """
import lightning
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

class Lit(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(3, 2)
        self.weights = torch.ones(2)  # CAUSE

    def training_step(self, batch, index):
        x, y = batch
        return nn.functional.cross_entropy(self.fc(x), y, weight=self.weights)

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.1)

loader = DataLoader(TensorDataset(torch.ones(4, 3), torch.zeros(4, dtype=torch.long)), batch_size=2)
trainer = lightning.Trainer(accelerator="gpu", devices=1, max_epochs=1, logger=False, enable_checkpointing=False,
                            enable_progress_bar=False, enable_model_summary=False)
trainer.fit(Lit(), loader)
"""
    file = tmp_path / "program.py"
    file.write_text(text, encoding="utf-8")
    finding = explained(judge, text, file=file, devices=1).finding
    assert finding is not None
    assert finding.operands[0].name == "self.weights"
    assert finding.operands[0].qualified.endswith(".weights")
    assert _line_of_cause(text) in _lines(finding)
    carry_out(finding.changes)
    assert explained(judge, file.read_text(encoding="utf-8"), file=file, devices=1).verdict.outcome == "ok"


def test_an_attribute_is_registered_as_the_linter_does(judge: Judge, tmp_path: Path) -> None:
    text = """
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(3, 3)
        self.scale = torch.ones(3)

    def forward(self, x):
        return self.fc(x) * self.scale

Net().cuda()(torch.ones(2, 3).cuda())
"""
    file, fixed = tmp_path / "program.py", tmp_path / "fixed.py"
    for one in (file, fixed):
        one.write_text(text, encoding="utf-8")
    finding = explained(judge, text, file=file).finding
    assert finding is not None
    report = CliRunner().invoke(devlint, ["check", str(file), "--select", "DEV201"]).output
    assert f"[{finding.code}]" in report
    assert f"help: {finding.help[0]}" in report
    CliRunner().invoke(devlint, ["check", str(fixed), "--select", "DEV201", "--fix"])
    carry_out(finding.changes)
    assert file.read_text(encoding="utf-8") == fixed.read_text(encoding="utf-8") != text


def _line_of_cause(text: str) -> int:
    return next(number for number, line in enumerate(text.splitlines(), 1) if "# CAUSE" in line)


def _lines(finding: Finding) -> list[int]:
    steps = [step.place for one in finding.operands for step in one.history]
    places = [finding.place, *(one.place for one in finding.operands), *steps, *(one.place for one in finding.changes)]
    return [place.line for place in places if place is not None]


def _names(tree: ast.AST) -> set[str]:
    names = {one.id for one in ast.walk(tree) if isinstance(one, ast.Name)}
    return names | {one.arg for one in ast.walk(tree) if isinstance(one, ast.arg)} | _methods(tree)


def _methods(tree: ast.AST) -> set[str]:
    return {one.attr for one in ast.walk(tree) if isinstance(one, ast.Attribute)}


def _names_quoted(text: str) -> set[str]:
    """The variables in the pieces of source that a text quotes."""
    trees = [_parsed(part) for part in text.split("`")[1::2]]
    return {one.id for tree in trees if tree is not None for one in ast.walk(tree) if isinstance(one, ast.Name)}


def _parsed(text: str) -> ast.Expression | None:
    try:
        return ast.parse(text, mode="eval")
    except SyntaxError:
        return None


def test_a_sampler_with_a_generator_of_its_own_is_told(judge: Judge, tmp_path: Path) -> None:
    text = """
torch.set_default_device("cuda")
sampler = torch.utils.data.RandomSampler(range(4))
for number in sampler:
    pass
"""
    finding = explained(judge, START + text, file=tmp_path / "program.py", way="run").finding
    assert finding is not None
    assert finding.message == "`sampler` makes a generator of its own on cpu, and draws numbers for cuda"
    assert [step.message for step in finding.operands[0].history] == [
        'draws under the default device cuda, which `torch.set_default_device("cuda")` sets'
    ]
