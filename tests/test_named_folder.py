"""A folder that nothing marks as a project is one as soon as it is named, and has the same reports from everywhere.

Each tree of files is random. A report of it depends on callers in other folders, on imports from other folders, on a
file that people run, and on a configuration or a link in it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from random import Random

import pytest
from click.testing import CliRunner
from devlint.cli import devlint

MODULES = (
    "net.py",
    "models/net.py",
    "models/deep/loss.py",
    "pkg/__init__.py",
    "pkg/ops.py",
    "pkg/sub/more.py",
    "a-b.py",
)
USERS = (
    "train.py",
    "tools/run.py",
    "tools/pkg_of_tools/__init__.py",
    "pkg/main.py",
    "models/other.py",
    "tests/test_it.py",
)
NAMES = ("net", "models.net", "models.deep.loss", "pkg", "pkg.ops", "pkg.sub.more", ".net", ".ops", "deep.loss")
SHIFTS = "import torch\n\n\ndef shifted(x: torch.Tensor):\n    return x + torch.zeros(3)\n"
DEFINES = SHIFTS + "\n\ndef made():\n    return torch.ones(3)\n"
USES = (
    "import torch\nfrom {module} import shifted\n\n\ndef main(device):\n    shifted(torch.ones(3).to(device))\n",
    "import torch\nfrom {module} import shifted\n\n\ndef main(batch):\n    shifted(batch.cpu())\n",
    "from {module} import shifted\n\n\ndef main(load):\n    shifted(load())\n",
    "from {module} import made\n\n\ndef main(x):\n    return x.cuda() + made()\n",
    "import torch\n\n\ndef setup():\n    torch.set_default_tensor_type('torch.cuda.FloatTensor')\n",
)
IS_RUN = "\n\nif __name__ == '__main__':\n    main(0)\n"

Report = tuple[object, ...]


def _grow(folder: Path, random: Random) -> None:
    """Fill a folder."""
    files = {name: DEFINES for name in MODULES if random.random() < 0.6}
    for name in USERS:
        if random.random() < 0.7:
            files[name] = random.choice(USES).format(module=random.choice(NAMES)) + IS_RUN * (random.random() < 0.5)
    if random.random() < 0.3:
        files[random.choice(("tools/", "")) + "devlint.toml"] = 'extend = "../base.toml"\n'
        files["base.toml"] = 'ignore = ["DEV101"]\n'
    if random.random() < 0.3:
        files["tools/pyproject.toml"] = ""
    _write(folder, files)
    if random.random() < 0.3:
        (folder / "link.py").symlink_to(random.choice(("../beside/0.py", "models/net.py")))


def _write(folder: Path, files: Mapping[str, str]) -> None:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


def _reports(*arguments: str) -> list[Report] | None:
    """Check paths, and return the reports, with absolute files; None if the configuration is refused."""
    result = CliRunner().invoke(devlint, ["check", *arguments, "--output-format", "json", "--no-cache"])
    assert "nothing marks" not in result.stderr
    return None if result.exit_code == 2 else sorted(map(_report, json.loads(result.stdout)["diagnostics"]))


def _report(found: dict[str, object]) -> Report:
    def place(one: dict[str, object]) -> Report:
        return (os.path.realpath(str(one["file"])), one["line"], one["column"])

    related = found["related"]
    assert isinstance(related, list)
    return (place(found), found["code"], found["certainty"], tuple(map(place, related)))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that nothing marks, with one beside that has more files than devlint looks through unasked."""
    monkeypatch.setattr("devlint.discovery.MOST_UNCHECKED", 5)
    inner = tmp_path / "parent" / "folder"
    inner.mkdir(parents=True)
    return inner


@pytest.mark.parametrize("seed", range(12))
def test_a_named_folder_has_the_same_reports_from_everywhere(
    folder: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    random = Random(seed)
    _grow(folder, random)
    (folder.parent / "beside").mkdir()
    (folder.parent / "beside" / "0.py").write_text(DEFINES)
    monkeypatch.chdir(folder)
    expected = _reports(".")
    inner = random.choice([path for path in (folder, *folder.rglob("*")) if path.is_dir()])
    for where, path in (
        (folder.parent, folder.name),
        (folder.parent.parent, f"parent/{folder.name}/"),
        (folder.parent / "beside", str(folder)),
        (inner, os.path.relpath(folder, inner)),
    ):
        monkeypatch.chdir(where)
        assert _reports(path) == expected
    for number in range(9):
        (folder.parent / "beside" / f"{number}.py").write_text(DEFINES)
        (folder.parent / f"{number}.py").write_text(USES[0].format(module="net") + IS_RUN)
    monkeypatch.chdir(folder.parent)
    assert _reports(folder.name) == expected
    if seed < 2:
        assert _reports(folder.name, "--jobs", "2") == expected
    (folder / ".git").mkdir()
    assert _reports(folder.name) == expected
    monkeypatch.chdir(folder)
    assert _reports(".") == expected


ON_CPU = {"models/net.py": DEFINES, "tools/run.py": USES[1].format(module="models.net") + IS_RUN}
"""Without the caller, devlint reports a line of the first file."""


def test_a_named_file_names_its_folder(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _write(folder, {**ON_CPU, "models/run.py": USES[1].format(module="net") + IS_RUN})
    for where in (folder, folder / "tools"):
        monkeypatch.chdir(where)
        assert _reports(os.path.relpath(folder / "models" / "net.py")) == []
    (folder / "models" / "run.py").unlink()
    assert _reports(str(folder / "models" / "net.py")) != []
    assert _reports(str(folder / "models" / "net.py"), str(folder / "tools")) != []
    assert _reports(str(folder), str(folder / "models" / "net.py")) == []


def test_a_part_of_a_package_names_the_whole_package(folder: Path) -> None:
    caller = USES[1].format(module="pkg.sub.net") + IS_RUN
    _write(folder, {"pkg/__init__.py": "", "pkg/sub/__init__.py": "", "pkg/sub/net.py": DEFINES, "pkg/run.py": caller})
    assert _reports(str(folder / "pkg" / "sub")) == _reports(str(folder / "pkg" / "sub" / "net.py")) == []


NOTE = "devlint does not know who calls the functions in it: nothing marks the folder as a project, and"


@pytest.mark.parametrize("count", [3, 4])
def test_a_limit_on_the_files_that_nobody_checks_is_told(folder: Path, count: int) -> None:
    _write(folder, {"net.py": DEFINES, "run.py": USES[1].format(module="net") + IS_RUN})
    _write(folder, {f"more/{number}.py": "" for number in range(count + 1)})
    result = CliRunner().invoke(devlint, ["check", str(folder / "net.py"), "--no-cache", "--jobs", "1"])
    why = "it has over 5 files that are not checked; check all of it, or add a `pyproject.toml`"
    assert (result.stderr.count(f"{NOTE} {why}\n"), result.exit_code) == ((1, 1) if count == 4 else (0, 0))
    assert _reports(str(folder)) == []


def test_the_home_folder_is_no_project_and_that_is_told(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(folder))
    monkeypatch.setenv("USERPROFILE", str(folder))
    _write(folder, {"net.py": DEFINES})
    result = CliRunner().invoke(devlint, ["check", str(folder / "net.py"), "--no-cache"])
    assert f"{NOTE} it is your home folder or has all files; check the folder of the program\n" in result.stderr
