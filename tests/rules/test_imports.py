"""What an import may bring: names of torch, and another default device."""

from __future__ import annotations

import pytest
from click.testing import CliRunner
from devlint.cli import devlint

COMMON = "import torch\nimport torch.nn.functional as F\nfrom torch import nn\n"
MEETS = "{}import torch\nx = torch.ones(3)\nx + torch.ones(3, device='cuda')\n{}"
FILES = {
    "common.py": COMMON,
    "starred.py": "from common import *\n\nnn.Linear(3, 1).to(device='cuda0').cuda()\n",
    "foreign.py": "from fastai.vision.all import *\n\nnn.Linear(3, 1).to(device='cuda0').cuda()\n",
    "own.py": "from fastai.vision.all import *\n\nclass nn:\n    Linear = dict\n\nnn.Linear().to('cuda0').cuda()\n",
    "other.py": "from common import *\n\nprint('no tensor')\n",
    "chosen.py": "import torch\n\ntorch.set_default_device('cuda')\n",
    "helper.py": "import torch\n\n\ndef prepare():\n    torch.set_default_device('cuda')\n",
    "package/__init__.py": "",
    "package/device.py": "import torch\n\ntorch.set_default_tensor_type('torch.cuda.FloatTensor')\n",
    "plain.py": MEETS.format("import common, os\n", ""),
    "by_import.py": MEETS.format("import chosen\n", ""),
    "by_member.py": MEETS.format("from package import device\n", ""),
    "by_call.py": MEETS.format("from helper import prepare\n", "prepare()\n"),
    "by_library.py": MEETS.format("import deepxde as dde\n", ""),
}


@pytest.fixture(scope="module")
def reported(tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    """Return the reports on a program of these files, as `file: code`."""
    folder = tmp_path_factory.mktemp("program")
    for name, text in FILES.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)
    options = ["--isolated", "--no-cache", "--select", "DEV101,DEV303", "--output-format", "concise"]
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        result = CliRunner().invoke(devlint, ["check", ".", *options])
    assert result.exit_code == 1, result.output
    return {f"{line.split(':')[0]}: {line.split()[1]}" for line in result.stdout.splitlines()}


def test_a_star_may_bring_torch(reported: set[str]) -> None:
    assert {one for one in reported if one.endswith("DEV303")} == {"starred.py: DEV303", "foreign.py: DEV303"}


def test_an_import_may_choose_the_default_device(reported: set[str]) -> None:
    assert {one for one in reported if one.endswith("DEV101")} == {"plain.py: DEV101"}
