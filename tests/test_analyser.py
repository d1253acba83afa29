"""What an analyser keeps has a bound, nothing that it says depends on it, and it executes nothing in vain."""

from __future__ import annotations

import sys
from pathlib import Path
from types import FrameType

import pytest
from devlint import analysis
from devlint.analysis import Analyser, files
from devlint.analysis.index.loaded_file import LoadedFile
from devlint.analysis.interpreter import bodies
from devlint.analysis.program import Program
from devlint.facts import Conflict, FileFacts, UncheckedDevice
from devlint.project import Project

SHARED = """\
import torch


def on_cpu(x):
    return x.cpu()


def combine(x, y):
    return x + y
"""

FILE = """\
import torch

from shared import combine, on_cpu


def total(x):
    y = torch.ones(3, device="cuda:0")
    return combine(on_cpu(x), y)
"""

FILES = 12

LIBRARY = """\
import torch


def masked(x):
    return torch.cat([x, torch.zeros(3)])
"""

CALLER = """\
import torch

from library{number} import masked


def run(device: torch.device):
    return masked(torch.ones(3).to(device))
"""


def _facts(folder: Path) -> dict[str, FileFacts]:
    project = Project(folder, walk=lambda: sorted(folder.glob("*.py")))
    analyser = Analyser(project)
    return {path.name: analyser.facts(project.source(path)) for path in project.members}


def test_files_are_let_go_and_found_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No file is recorded twice, though the calls of a function stand in files that were let go."""
    (tmp_path / "shared.py").write_text(SHARED)
    for number in range(FILES):
        (tmp_path / f"file{number}.py").write_text(FILE)
        (tmp_path / f"library{number}.py").write_text(LIBRARY)
        (tmp_path / f"caller{number}.py").write_text(CALLER.format(number=number))
    whole = _facts(tmp_path)
    assert all(facts.facts for name, facts in whole.items() if name.startswith("file"))
    for number in range(FILES):
        (item,) = whole[f"library{number}.py"].facts
        assert isinstance(item.fact, Conflict)
        assert item.fact.witness is not None
        assert item.fact.witness.place.file.endswith(f"caller{number}.py")

    loaded: list[int] = []
    recorded: list[str] = []

    class Noted(Program):
        def _report(self, loaded_file: LoadedFile) -> bool:
            recorded.append(loaded_file.source.display)
            loaded.append(self.lines)
            return super()._report(loaded_file)

    monkeypatch.setattr(analysis, "Program", Noted)
    monkeypatch.setattr(files, "MOST_LINES", 0)
    assert _facts(tmp_path) == whole
    assert max(loaded) <= 3 * ((SHARED + FILE).count("\n") + 2)
    assert len(recorded) == len(set(recorded)) == len(whole)


DOCUMENTED = """\
from torch import nn


def document(cls, texts):
    lines = [f"{name}: {text}" for name, text in texts.items()]
    cls.__doc__ = "\\n".join([cls.__name__.lower(), *lines])
    return cls
"""

CLASS = """\


@lambda cls: document(cls, {{"size": "of number {number}"}})
class Layer{number}(nn.Module):
    pass
"""


def test_what_builds_documentation_is_executed_once(tmp_path: Path) -> None:
    """Once for its own facts, and once for all the classes that it is called for."""
    file = tmp_path / "layers.py"
    file.write_text(DOCUMENTED + "".join(CLASS.format(number=number) for number in range(20)))
    assert executed_in(file).count("document") == 2


INHERITED = """\
from torch import nn


class Base(nn.Module):
    gated = True

    def __init__(self, config):
        super().__init__()
        self.config = config
        self.kind = self.chosen(config.kind)

    def chosen(self, kind):
        return kind if self.gated else self.config.other
"""

HEIR = """

class Model{number}(Base):
    gated = {gated}

    def __init__(self, config):
        super().__init__(config)
        self.layer = nn.Linear({number}, 3)
"""


def test_inherited_methods_are_executed_once_for_each_answer(tmp_path: Path) -> None:
    """Once for the own facts, once for the class itself, and once for all classes that answer alike."""
    counts = []
    for heirs in (2, 20):
        file = tmp_path / f"models{heirs}.py"
        models = (HEIR.format(number=number, gated=number % 2 == 0) for number in range(1, heirs + 1))
        file.write_text(INHERITED + "".join(models))
        executed = executed_in(file)
        counts.append((executed.count("Base.__init__"), executed.count("Base.chosen")))
    assert counts[0] == counts[1]


def executed_in(file: Path) -> list[str]:
    """The names of the functions that the analysis of a file executes, each as often as it does."""
    executed: list[str] = []

    def note(frame: FrameType, event: str, _: object) -> None:
        if event == "call" and frame.f_code is bodies.run.__code__:
            executed.append(frame.f_locals["closure"].function.name)

    project = Project(file.parent)
    sys.setprofile(note)
    try:
        Analyser(project).facts(project.source(file))
    finally:
        sys.setprofile(None)
    return executed


CALLED = """\
class Picture:
    def __init__(self, size):
        self.size = size

    def draw(self, boxes):
        return boxes.corners.detach().numpy() * self.size
"""

CALLING = """\
from called import Picture


def draw(boxes, device):
    return Picture(3).draw(boxes.to(device))
"""


@pytest.mark.parametrize("order", [("calling", "called"), ("called", "calling"), ("calling",)])
def test_what_a_call_tells_does_not_rest_on_what_was_asked_before(tmp_path: Path, order: tuple[str, ...]) -> None:
    """Where values meet inside a function of another file, that file tells of it, whichever is looked at first."""
    (tmp_path / "called.py").write_text(CALLED)
    (tmp_path / "calling.py").write_text(CALLING)
    project = Project(tmp_path)
    analyser = Analyser(project)
    found = {name: analyser.facts(project.source(tmp_path / f"{name}.py")) for name in order}
    told = {
        name: [item.place.line for item in facts.facts if isinstance(item.fact, Conflict)]
        for name, facts in found.items()
    }
    assert told == {name: {"called": [6], "calling": []}[name] for name in order}


PREPARING = """\
import torch


def masked(words: torch.Tensor) -> torch.Tensor:
    return words * torch.ones(3)
"""


@pytest.mark.parametrize(
    ("package", "found"),
    [
        ("models", 1),
        ("data", 0),
        ("datasets", 0),
        ("speech_trainset", 0),
        ("tests", 0),
        ("metadata", 1),
        ("data_parallel", 1),
    ],
)
def test_packages_that_prepare_data_work_on_the_host(tmp_path: Path, package: str, found: int) -> None:
    folder = tmp_path / "pkg" / package
    folder.mkdir(parents=True)
    for path in (tmp_path / "pkg" / "__init__.py", folder / "__init__.py"):
        path.touch()
    (folder / "words.py").write_text(PREPARING)
    project = Project(tmp_path)
    facts = Analyser(project).facts(project.source(folder / "words.py"))
    assert sum(isinstance(item.fact, Conflict) for item in facts.facts) == found


ATTACK = """\
class Attack:
    def __init__(self, model, device="cuda"):
        self.model = model.to(device)
        self.device = device

    def generate(self, image):
        return self.model(image.to(self.device))
"""

DEFENSE = """\
from attack import Attack


class Defense:
    def perturbed(self, image):
        return Attack(self.model).generate(image)

    def train(self, loader):
        for image in loader:
            self.perturbed(image)

    def fit(self, loader):
        self.train(loader)
"""


def test_a_device_of_another_file_is_told_of_where_it_comes_in(tmp_path: Path) -> None:
    (tmp_path / "attack.py").write_text(ATTACK)
    (tmp_path / "defense.py").write_text(DEFENSE)
    project = Project(tmp_path)

    facts = Analyser(project).facts(project.source(tmp_path / "defense.py"))

    told = [item.place.line for item in facts.facts if isinstance(item.fact, UncheckedDevice)]
    assert set(told) == {6}


KERNEL = """\
import torch
{}


def launched(x):
    return x.cuda()
"""


@pytest.mark.parametrize(("imported", "found"), [("import triton", 0), ("from numpy import ones", 1)])
def test_a_file_that_needs_a_library_for_cuda_needs_no_check(tmp_path: Path, imported: str, found: int) -> None:
    (tmp_path / "kernel.py").write_text(KERNEL.format(imported))
    project = Project(tmp_path)

    facts = Analyser(project).facts(project.source(tmp_path / "kernel.py"))

    assert sum(isinstance(item.fact, UncheckedDevice) for item in facts.facts) == found
