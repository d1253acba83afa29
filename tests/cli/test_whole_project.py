"""`--whole-project`: reports what touches the named files, wherever in the project it stands."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from devlint.cli import devlint

FILES = {
    "pyproject.toml": "",
    "utils.py": "def mean(scores):\n    return scores.numpy().mean()\n",
    "train.py": (
        "import torch\n\nfrom utils import mean\n\nscores = torch.zeros(3, device='cuda:0')\nprint(mean(scores))\n"
    ),
    "other.py": "import torch\n\ntorch.zeros(3, device='cuda:0') + torch.zeros(3)\n",
    "broken.py": "import torch\n\ndef\n",
}
OPTIONS = ("--select", "DEV1", "--output-format", "json")


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def _reports(*arguments: str) -> list[tuple[str, int]]:
    result = CliRunner().invoke(devlint, ["check", *arguments, *OPTIONS])
    return [(one["file"], one["line"]) for one in json.loads(result.stdout)["diagnostics"]]


def test_a_report_elsewhere_touches_a_named_file() -> None:
    assert _reports("utils.py") == []
    assert _reports("--whole-project", "utils.py") == [("utils.py", 2)]


def test_what_touches_no_named_file_is_left_out() -> None:
    assert _reports("--whole-project", "train.py") == [("utils.py", 2)]
    assert _reports("--whole-project", "other.py") == [("other.py", 3)]


@pytest.mark.parametrize("options", [("--no-cache",), ()])
def test_all_named_files_together_have_all_reports(options: tuple[str, ...]) -> None:
    named = ("other.py", "train.py", "utils.py")
    for _ in range(2):
        assert _reports("--whole-project", *named, *options) == _reports(*named, *options)


def test_a_file_that_nobody_named_may_be_broken() -> None:
    result = CliRunner().invoke(devlint, ["check", "--whole-project", "utils.py", "--select", "DEV1"])
    assert result.exit_code == 1
    assert "broken.py" not in result.output
    assert result.output.endswith("Found 1 error in 4 files.\n"), "the options that make fixes cannot be added"


def test_an_excluded_file_is_no_part_of_the_project(project: Path) -> None:
    (project / "pyproject.toml").write_text('[tool.devlint]\nexclude = ["train.py"]\n')
    assert _reports("--whole-project", "utils.py") == []


@pytest.mark.parametrize("arguments", [("utils.py", "--fix"), ("-",)])
def test_it_is_for_reports_on_files(arguments: tuple[str, ...]) -> None:
    result = CliRunner().invoke(devlint, ["check", "--whole-project", *arguments], input="")
    assert result.exit_code == 2
    assert "--whole-project cannot be combined with fixes or standard input" in result.output
