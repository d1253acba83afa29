"""After an edit, devlint analyses again only the files with results that rest on the edited part."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cache.edits import edit
from tests.cache.projects import Runner
from tests.conftest import REPOSITORY

PROJECTS = REPOSITORY / "fixtures"

LIBRARY = '''\
"""Two functions and a class."""
import torch


def on_cpu(size):
    return torch.ones(size)


def on_gpu(size):
    return torch.ones(size, device="cuda:0")


class Layer(torch.nn.Module):
    def forward(self, x):
        return self.inner(x)

    def inner(self, x):
        return x + on_gpu(3)
'''
USES = {
    "a.py": "import torch\nfrom lib import on_cpu\n\nx = on_cpu(3) + torch.ones(3)\n",
    "b.py": "import torch\nfrom lib import on_gpu\n\n\ndef use():\n    return on_gpu(3) * 2\n",
    "c.py": "import torch\nfrom lib import Layer\n\nnet = Layer()\ny = net(torch.ones(3).cuda())\n",
    "d.py": "import torch\nimport b\n\n\ndef use_again():\n    return b.use() * 2\n",
    "e.py": "import torch\nimport lib\n\nz = torch.ones(3)\n",
}


@pytest.fixture
def analysed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Analysed:
    """A project in the working directory whose files have been analysed."""
    folder = tmp_path / "project"
    folder.mkdir()
    monkeypatch.chdir(folder)
    for name, text in {"pyproject.toml": "", "lib.py": LIBRARY, **USES}.items():
        (folder / name).write_text(text)
    return Analysed(Runner(tmp_path / "cache"))


class Analysed:
    """Tells which files a run analyses."""

    def __init__(self, runner: Runner) -> None:
        self._runner = runner
        self.after("", "")

    def after(self, before: str, text: str, file: str = "lib.py") -> list[str]:
        """The files that are analysed again after an edit; the reports are those of a run without a cache."""
        path = Path(file)
        assert before in path.read_text()
        path.write_text(path.read_text().replace(before, text, 1))
        names = [name for name in ("lib.py", *USES) if not self._holds(name)]
        assert self._runner.warm(".") == self._runner.cold(".")
        return names

    def _holds(self, name: str) -> bool:
        try:
            self._runner.from_memory(name)
        except AssertionError:
            return False
        return True


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ("import torch\n", "# a remark\nimport torch\n", ["lib.py"]),
        ("    return torch.ones(size)\n", "    return torch.zeros(size)\n", ["lib.py", "a.py"]),
        ("def on_cpu(size):", "def on_cpu(size, more=None):", ["lib.py", "a.py"]),
        (
            '    return torch.ones(size, device="cuda:0")\n',
            "    return torch.ones(size)\n",
            ["lib.py", "b.py", "c.py", "d.py"],
        ),
        ("        return x + on_gpu(3)\n", "        return x\n", ["lib.py", "c.py"]),
        ("import torch\n", "import torch\n\nSIZE = 3\n", ["lib.py"]),
        ("import torch\n", "import math\nimport torch\n", ["lib.py"]),
        ("class Layer", "def more(x):\n    return x.cuda()\n\n\nclass Layer", ["lib.py"]),
        ("def on_cpu(size):", "def on_tpu(size):", ["lib.py", "a.py"]),
        ("(torch.nn.Module)", "", ["lib.py", "c.py"]),
        ("    def forward", "    scale = 2\n\n    def forward", ["lib.py", "c.py"]),
        ("import torch\n", "import torch\n\nprint(torch)\n", ["lib.py", "a.py", "b.py", "c.py", "d.py", "e.py"]),
        ("import torch\n", "import torch\nimport a\n", ["lib.py", "a.py", "b.py", "c.py", "d.py", "e.py"]),
    ],
    ids=[
        *("comment", "body", "parameter", "called", "method", "constant", "import", "function", "renamed"),
        *("base", "attribute", "outside", "other_file"),
    ],
)
def test_a_result_rests_on_the_parts_that_were_read(
    analysed: Analysed, before: str, after: str, expected: list[str]
) -> None:
    assert analysed.after(before, after) == expected
    assert analysed.after("", "") == []


@pytest.mark.parametrize(
    "text",
    [
        "import torch\nfrom lib import later\n\nx = later(3) + torch.ones(3)\n",
        "import torch\nfrom lib import *\n\nx = later(3) + torch.ones(3)\n",
        "import torch\nimport lib\n\n\ndef use():\n    return lib.later(3) + torch.ones(3)\n",
        "import torch\nfrom between import later\n\nx = later(3) + torch.ones(3)\n",
    ],
    ids=["member", "all", "attribute", "handed_on"],
)
def test_a_result_rests_on_the_absence_of_a_name(analysed: Analysed, text: str) -> None:
    Path("between.py").write_text("from lib import later\n")
    Path("a.py").write_text(text)
    assert analysed.after("", "") == ["a.py"]
    later = '\n\ndef later(size):\n    return torch.ones(size, device="cuda:0")\n'
    assert analysed.after("x + on_gpu(3)\n", f"x + on_gpu(3)\n{later}") == ["lib.py", "a.py"]
    assert analysed.after("def later", "def earlier") == ["lib.py", "a.py"]


def test_a_name_that_is_handed_on_rests_on_where_it_comes_from(analysed: Analysed) -> None:
    """`a` is the first to read the names of `between`, and `d` the second."""
    Path("between.py").write_text("from lib import on_cpu as there\n")
    Path("a.py").write_text("import torch\nimport between\n\ny = between.there(3)\n")
    Path("d.py").write_text("import between\nimport torch\n\nx = between.there(3) + torch.ones(3)\n")
    analysed.after("", "")
    assert analysed.after("def on_cpu", "def on_tpu") == ["lib.py", "a.py", "d.py"]
    assert analysed.after("def on_tpu", "def on_cpu") == ["lib.py", "a.py", "d.py"]


def test_a_caller_has_its_own_result_though_another_file_was_the_first_to_look_at_it(analysed: Analysed) -> None:
    """`a` looks at `d`, so that `d` has been executed when it is checked itself."""
    Path("a.py").write_text("import torch\n\n\ndef use(x: torch.Tensor):\n    return x + torch.ones(3)\n")
    Path("d.py").write_text("import torch\nfrom a import use\nfrom lib import on_cpu\n\nuse(on_cpu(3))\n")
    analysed.after("", "")
    assert analysed.after("    return torch.ones(size)\n", "    return torch.ones(size).cuda()\n") == [
        *("lib.py", "a.py", "d.py")
    ]


def test_a_result_rests_on_callers_that_another_file_was_the_first_to_ask_for(analysed: Analysed) -> None:
    """`a` asks who calls `add`; `b` rests on the answer, too."""
    Path("sums.py").write_text("import torch\n\n\ndef add(x: torch.Tensor):\n    return x + torch.ones(3)\n")
    for name in ("a", "b"):
        Path(f"{name}.py").write_text(f"import torch\nfrom sums import add\n\n\ndef {name}(x):\n    return add(x)\n")
    Path("d.py").write_text("import torch\nfrom a import a\nfrom lib import on_cpu\n\n\ndef run():\n    a(on_cpu(3))\n")
    analysed.after("", "")
    assert analysed.after("    return torch.ones(size)\n", "    return torch.ones(size).cuda()\n") == [
        *("lib.py", "a.py", "b.py", "d.py")
    ]


def test_a_name_that_a_function_binds_anew_is_unknown_whoever_is_analysed_first(analysed: Analysed) -> None:
    Path("a.py").write_text(
        "import torch\n\nplace = 'cuda:0'\n\n\ndef choose():\n    global place\n    place = 'cpu'\n"
    )
    Path("b.py").write_text("import a\nimport torch\n\nx = torch.ones(3, device=a.place) + torch.ones(3)\n")
    analysed.after("", "")
    assert analysed.after("import a\n", "# a remark\nimport a\n", "b.py") == ["b.py"]


def test_a_report_with_a_place_in_a_file_rests_on_its_lines(analysed: Analysed) -> None:
    text = 'import torch\nfrom lib import on_cpu\n\nx = on_cpu(3) + torch.ones(3, device="cuda:0")\n'
    Path("a.py").write_text(text)
    assert analysed.after("", "") == ["a.py"]
    assert analysed.after("import torch\n", "# a remark\nimport torch\n") == ["lib.py", "a.py"]


@pytest.mark.parametrize(
    "folder", ["projects/two_files", "questions/14_shuffle_default_type", "questions/72_pruned_generator"]
)
def test_edits_at_random_keep_the_law(folder: str) -> None:
    edit(PROJECTS / folder, 12, seed=1)
