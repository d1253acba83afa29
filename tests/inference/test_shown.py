"""The inference behind `devlint show`, `devlint facts` and the editor, by a hidden option."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner
from devlint.cache import user_cache
from devlint.cli import devlint
from devlint.editor.jobs import Job
from devlint.editor.living import Living
from devlint.editor.options import read_options
from devlint.engine import run
from devlint.settings import Settings

PROGRAM = """\
import torch
from devlint_guard import reveal_device

def moved(x):
    return x.to("cuda:1")

class Net(torch.nn.Linear):
    pass

net = Net(3, 3).cuda()
größe = torch.ones(3, device="cuda:0"); net(größe)
reveal_device(moved(größe))
"""


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A program in the working directory."""
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "program.py"
    file.write_text(PROGRAM, encoding="utf-8")
    return file


def test_show_prints_devices_behind_the_lines(program: Path) -> None:
    printed = CliRunner().invoke(devlint, ["show", "--engine", "inference", program.name]).stdout
    notes = {line.split()[0]: line.partition("# ")[2] for line in printed.splitlines() if "# " in line}
    assert notes == {"10": "Net on cuda:0", "11": "cuda:0"}


def test_facts_prints_what_is_revealed(program: Path) -> None:
    printed = CliRunner().invoke(devlint, ["facts", "--engine", "inference", f"{program.name}:12"]).stdout
    assert printed == "program.py:12:1  Reveal\n    text: cuda:1\n"


def test_the_editor_knows_values_where_they_stand(program: Path) -> None:
    settings = read_options({"engine": "inference"}).settings(program, program.parent)
    living = Living()
    found = living.answer(Job(program, settings, {program: PROGRAM.encode()}, None))
    assert found is not None
    names = {(one.place.line, one.anchor.column, one.anchor.end_column): one for one in found.occurrences}
    assert (names[11, 1, 6].text, names[11, 45, 50].text, names[11, 41, 44].of) == ("cuda:0", "cuda:0", "Net")

    edited = {program: PROGRAM.replace("cuda:0", "cpu").encode()}
    found = living.answer(Job(program, settings, edited, None))
    assert found is not None
    assert {one.text for one in found.occurrences if one.place.line == 11 and one.kind == "tensor"} == {"cpu"}
    assert [one.place.line for one in found.result.diagnostics if one.code == "DEV102"] == [11]


def test_a_change_of_a_caller_changes_the_reports_on_what_it_calls(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").touch()
    (tmp_path / "called.py").write_text("import torch\n\ndef scaled(x):\n    return x * torch.ones(3)\n")
    for where, lines in (("cpu", []), ("cuda:0", [4]), ("cpu", [])):
        (tmp_path / "caller.py").write_text(f"import torch, called\ncalled.scaled(torch.ones(3, device='{where}'))\n")
        settings = Settings((str(tmp_path),), engine="inference")
        found = run(settings, cache=user_cache(settings)).outcome.diagnostics
        assert [each.place.line for each in found if each.place.file.endswith("called.py")] == lines


def test_a_package_imports_a_file_of_its_own_by_its_full_name(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").touch()
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "__init__.py").write_text("from package import inner\n")
    (tmp_path / "package" / "inner.py").write_text("import torch\n\ndef scaled(x):\n    return x * torch.ones(3)\n")
    (tmp_path / "caller.py").write_text(
        "import torch\nfrom package import inner\ninner.scaled(torch.ones(3, device='cuda:0'))\n"
    )
    settings = Settings((str(tmp_path),), isolated=True, engine="inference")
    found = run(settings, cache=user_cache(settings)).outcome.diagnostics
    assert [each.place.line for each in found if each.code == "DEV103"] == [4]
