"""The pages are true: their reports, options, configurations, links, and the commands that set devlint up."""

from __future__ import annotations

import re
from pathlib import Path

import click
import pytest
from devlint import engine
from devlint.cli import devlint
from devlint.configuration import read_configuration
from devlint.configuration_keys import NAMES
from devlint.report import summary
from devlint.settings import Settings

from tests.conftest import REPOSITORY, Expect
from tests.pages import PAGES, README, blocks, name_of, read, repository_url, section
from tests.pages.links import broken_links
from tests.pages.picture import PICTURE, draw

FIXTURES = REPOSITORY / "fixtures"
SHOWCASE = FIXTURES / "showcase"
QUOTED = {"README.md": "error[DEV203]", "linter/usage.md": "error[DEV101]"}
"""How the report on the showcase begins that a page shows."""

LONGEST_README = 200
"""Lines."""


def _set_up() -> tuple[list[str], list[str]]:
    """The two commands that set everything up, each as the steps that it consists of."""
    commands = [block.strip() for block in blocks(read(README), "sh") if block.startswith("python3 -m venv")]
    first, second = commands
    assert "\n" not in first + second
    return first.split(" && "), second.split(" && ")


def test_the_readme_is_short() -> None:
    assert len(read(README).splitlines()) <= LONGEST_README


@pytest.mark.parametrize("page", QUOTED)
def test_a_quoted_report_is_the_one_on_the_showcase(page: str, expect: Expect) -> None:
    reports = (SHOWCASE / "expected.txt").read_text(encoding="utf-8").split("\n\n")
    (quoted,) = [report.strip() for report in reports if report.startswith(QUOTED[page])]
    block = re.compile(r"^```text\n(?:error|warning)\[.*?^```$", flags=re.MULTILINE | re.DOTALL)
    assert len(block.findall(read(page))) == 1
    expect(REPOSITORY / page, block.sub(lambda _: f"```text\n{quoted}\n```", read(page)))


def test_the_picture_shows_what_devlint_prints(expect: Expect) -> None:
    assert name_of(PICTURE) in read(README)
    expect(PICTURE, draw())


def test_the_last_line_of_the_first_command_is_quoted(in_repository: Path) -> None:
    run = engine.run(Settings((str(SHOWCASE),)))
    assert f"`{summary(run.outcome, run.unreadable)}`" in read(README)


def test_ci_runs_the_second_command() -> None:
    lines = (REPOSITORY / ".ci" / "run").read_text(encoding="utf-8").splitlines()
    _, *steps = (step.replace(".venv-test/bin", '"$bin"') for step in _set_up()[1])
    *installs, test = steps

    assert [line for line in lines if "/pip install" in line] == installs
    assert [line for line in lines if line.startswith(test)] != []


@pytest.mark.parametrize("command", sorted(devlint.commands))
def test_every_command_and_option_is_mentioned(command: str) -> None:
    text = "".join(map(read, PAGES))
    options = [
        max(parameter.opts, key=len)
        for parameter in devlint.commands[command].params
        if isinstance(parameter, click.Option) and not parameter.hidden
    ]
    assert f"devlint {command}" in text
    assert [option for option in options if f"`{option}" not in text] == []


def test_the_configuration_can_be_read_and_every_key_is_explained(tmp_path: Path) -> None:
    page = read("linter/configuration.md")
    (example,) = (block for block in blocks(page, "toml") if "[tool.devlint]" in block)
    file = tmp_path / "pyproject.toml"
    file.write_text(example, encoding="utf-8")
    (tmp_path / "shared.toml").write_text("[tool.devlint]\n", encoding="utf-8")
    (tmp_path / "lib").mkdir()
    (tmp_path / "stubs").mkdir()
    (tmp_path / "stubs" / "ourlib.pyi").touch()
    (tmp_path / "run.json").touch()
    table = re.findall(r"^(\|[^|]*\|)", section(page, "## Keys"), flags=re.MULTILINE)

    assert read_configuration(file, "pyproject.toml") is not None
    assert {key for key in NAMES if key in example} == set(NAMES)
    assert set(re.findall(r"`([a-z-]+)`", "".join(table))) == set(NAMES)


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_link_leads_somewhere(page: Path) -> None:
    assert broken_links(page) == []


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_a_page_has_the_address_of_the_repository_from_its_one_setting(page: Path, expect: Expect) -> None:
    address = re.compile(r"(?<=pip install git\+)\S+|(?<= @ git\+)[^'`\s]+|(?<=repo: )\S+|(?<=git clone )\S+")
    expect(page, address.sub(lambda _: repository_url(), read(page)))


@pytest.mark.parametrize("page", [page for page in PAGES if repository_url() in read(page)], ids=name_of)
def test_a_page_says_that_nobody_has_set_the_address_as_long_as_that_is_so(page: Path) -> None:
    nobody_has = repository_url().startswith("https://example.org")
    assert ("of your copy" in read(page)) is nobody_has
    assert nobody_has or "example.org" not in read(page)


def test_no_page_installs_a_package_that_no_index_has() -> None:
    """There is no release yet."""
    commands = [(name_of(page), one) for page in PAGES for one in re.findall(r"pip install [^`\n]*", read(page))]
    from_index = re.compile(r"(?<![\w/.-])devlint(?!\S* @ git\+)")
    assert [command for command in commands if from_index.search(command[1])] == []
