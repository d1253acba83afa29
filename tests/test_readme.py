"""What the README shows is true: its report, its commands, its options, its configuration."""

from __future__ import annotations

import re
from pathlib import Path

import click
import pytest
from devlint import engine
from devlint.cli import devlint
from devlint.configuration import KEYS, read_configuration
from devlint.report import summary
from devlint.settings import Settings

from tests.conftest import REPOSITORY, Expect

README = REPOSITORY / "README.md"
FIXTURES = REPOSITORY / "fixtures"
SHOWCASE = FIXTURES / "showcase"
BLOCK = re.MULTILINE | re.DOTALL
QUOTED = ("error[DEV102]", "error[DEV104]", "warning[DEV201]")
"""How the reports on the frequent causes begin that the README shows."""


def _blocks(language: str) -> list[str]:
    text = README.read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```$", text, flags=re.MULTILINE | re.DOTALL)


def _set_up() -> tuple[list[str], list[str]]:
    """The two commands, each as the steps that it consists of."""
    first, second = (block.strip() for block in _blocks("sh")[:2])
    assert "\n" not in first + second
    return first.split(" && "), second.split(" && ")


def _reports_on(folder: str) -> list[str]:
    return (FIXTURES / folder / "expected.txt").read_text(encoding="utf-8").split("\n\n")


def test_the_reports_are_those_on_the_fixtures(expect: Expect) -> None:
    first = [text for text in _reports_on("showcase") if text.startswith("error[DEV101]")]
    causes = [text for text in _reports_on("causes") if text.startswith(QUOTED)]
    assert len(first) == 1
    assert len(causes) == len(QUOTED)
    shown = iter(["\n\n".join(first), "\n\n".join(causes)])
    text = README.read_text(encoding="utf-8")
    wanted = re.sub(r"^```text\n.*?^```$", lambda _: f"```text\n{next(shown).strip()}\n```", text, flags=BLOCK)
    expect(README, wanted)


def test_the_last_line_of_the_first_command_is_quoted(in_repository: Path) -> None:
    run = engine.run(Settings((str(SHOWCASE),)))
    assert f"`{summary(run.outcome, run.unreadable)}`" in README.read_text(encoding="utf-8")


def test_ci_runs_the_second_command() -> None:
    lines = (REPOSITORY / ".ci" / "run").read_text(encoding="utf-8").splitlines()
    _, *steps = (step.replace(".venv-test/bin", '"$bin"') for step in _set_up()[1])
    *installs, test = steps

    assert [line for line in lines if "/pip install" in line] == installs
    assert [line for line in lines if line.startswith(test)] != []


@pytest.mark.parametrize("command", sorted(devlint.commands))
def test_every_command_and_option_is_mentioned(command: str) -> None:
    text = README.read_text(encoding="utf-8")
    options = [
        max(parameter.opts, key=len)
        for parameter in devlint.commands[command].params
        if isinstance(parameter, click.Option)
    ]
    assert f"devlint {command}" in text
    assert [option for option in options if f"`{option}" not in text] == []


def test_the_configuration_can_be_read_and_every_key_is_explained(tmp_path: Path) -> None:
    (example,) = (block for block in _blocks("toml") if "[tool.devlint]" in block)
    file = tmp_path / "pyproject.toml"
    file.write_text(example, encoding="utf-8")
    (tmp_path / "shared.toml").write_text("[tool.devlint]\n", encoding="utf-8")
    (tmp_path / "lib").mkdir()
    (tmp_path / "stubs").mkdir()
    (tmp_path / "stubs" / "ourlib.pyi").touch()
    (tmp_path / "run.json").touch()
    table = re.findall(r"^(\|[^|]*\|)", _section("### Configuration"), flags=re.MULTILINE)

    assert read_configuration(file, "pyproject.toml") is not None
    assert {key for key in KEYS if key in example} == set(KEYS)
    assert set(re.findall(r"`([a-z-]+)`", "".join(table))) == set(KEYS)


def _section(heading: str) -> str:
    """The text of a section."""
    text = README.read_text(encoding="utf-8").partition(f"\n{heading}\n")[2]
    return re.split(r"^#", text, maxsplit=1, flags=re.MULTILINE)[0]
