"""`devlint baseline`, and `devlint check` with what it has written."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from click.testing import CliRunner
from devlint import engine
from devlint.acceptance import accept
from devlint.cli import devlint
from devlint.settings import Settings
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.cli.stand_in import Shell, load
from tests.report.test_formats import SARIF

NAME = "devlint-baseline.json"
CONFIGURED = f'[tool.devlint]\nbaseline = "{NAME}"\n'
TWO = "import torch\nclash\nraw_cuda\n"


@pytest.fixture
def project(shell: Shell) -> Shell:
    """A project with two diagnostics, both accepted."""
    shell.write("pyproject.toml", CONFIGURED)
    shell.write("src/a.py", TWO)
    result = shell.run("baseline")
    assert (result.exit_code, result.stdout) == (0, f"{NAME}: 2 entries, 2 added, 0 removed\n")
    return shell


def _entries(shell: Shell, name: str = NAME) -> list[dict[str, str]]:
    entries: list[dict[str, str]] = json.loads((shell.folder / name).read_text())["entries"]
    return entries


def test_what_is_accepted_is_not_reported(project: Shell) -> None:
    result = project.run(".")
    assert (result.exit_code, result.stdout, result.stderr) == (
        0,
        "",
        "No new mistake found in 1 file. 2 in the baseline.\n",
    )
    project.write("src/b.py", TWO)
    assert project.concise() == ["src/b.py:2:1: DEV101", "src/b.py:3:1: DEV302"]


def test_the_file_is_sorted_relative_and_free_of_line_numbers(project: Shell) -> None:
    assert [(entry["file"], entry["code"], entry["rule"]) for entry in _entries(project)] == [
        ("src/a.py", "DEV101", "mixed-device-operands"),
        ("src/a.py", "DEV302", "unguarded-cuda-index"),
    ]
    before = (project.folder / NAME).read_bytes()
    project.write("src/a.py", "import torch\n\n\nraw_cuda\n# moved\nclash\n")
    assert project.run("baseline").stdout == f"{NAME}: 2 entries, 0 added, 0 removed\n"
    assert (project.folder / NAME).read_bytes() == before


def test_it_holds_from_any_folder(project: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(project.folder / "src")
    assert project.run("a.py").exit_code == 0
    assert project.run("--baseline", f"../{NAME}", "--isolated", "a.py").exit_code == 0


@pytest.mark.parametrize(
    ("configuration", "text", "line"),
    [
        (None, "", f'`baseline = "{NAME}"` in [tool.devlint] of pyproject.toml'),
        ("pyproject.toml", "[tool.devlint]\n", f'`baseline = "{NAME}"` in [tool.devlint] of pyproject.toml'),
        ("devlint.toml", 'baseline = "other.json"\n', f'`baseline = "{NAME}"` of devlint.toml'),
    ],
)
def test_a_baseline_that_no_configuration_names_is_followed_by_the_line_that_does(
    shell: Shell, configuration: str | None, text: str, line: str
) -> None:
    if configuration is not None:
        shell.write(configuration, text)
    shell.write("a.py", TWO)
    options = ("--baseline", NAME) if "other" in text else ()
    said = shell.run("baseline", *options).stderr
    assert said == f"note: `devlint check` does not use this baseline yet; write {line}\n"
    written = line.split("`")[1]
    shell.write(configuration or "pyproject.toml", f"[tool.devlint]\n{written}\n" if "[" in line else f"{written}\n")
    assert shell.run("baseline").stderr == ""
    assert shell.run(".").exit_code == 0


def test_a_second_equal_line_is_new(project: Shell) -> None:
    project.write("src/a.py", TWO + "clash\n")
    assert project.concise() == ["src/a.py:4:1: DEV101"]
    project.run("baseline")
    assert len(_entries(project)) == 3
    project.write("src/a.py", TWO)
    result = project.run("--fail-on-stale", ".")
    assert result.exit_code == 1
    assert f"note: {NAME}: 1 entry matches nothing any more" in result.stderr


def test_prune_forgets_what_was_mended_and_accepts_nothing(project: Shell) -> None:
    project.write("src/a.py", "import torch\nclash\n")
    project.write("src/b.py", TWO)
    assert project.run("--fail-on-stale", "src/a.py").exit_code == 1
    result = project.run("baseline", "--prune")
    assert result.stdout == f"{NAME}: 1 entry, 0 added, 1 removed\n"
    assert [entry["code"] for entry in _entries(project)] == ["DEV101"]
    assert project.run("--fail-on-stale", "src/a.py").exit_code == 0
    assert len(project.concise()) == 2


def test_entries_are_stale_only_where_this_run_can_tell(project: Shell) -> None:
    project.write("src/b.py", "import torch\n")
    project.write("src/a.py", "import torch\n")
    assert project.run("--fail-on-stale", "src/b.py").exit_code == 0
    assert project.run("--fail-on-stale", "--select", "DEV4", ".").exit_code == 0
    assert project.run("--fail-on-stale", "--exit-zero", ".").exit_code == 0
    project.write("src/a.py", "import torch (\n")
    assert "nothing any more" not in project.run(".").stderr
    (project.folder / "src" / "a.py").unlink()
    assert project.run("--fail-on-stale", ".").exit_code == 1
    assert project.run("baseline", "--prune").stdout == f"{NAME}: 0 entries, 0 added, 2 removed\n"


def test_a_part_of_a_project_leaves_the_other_entries_alone(project: Shell) -> None:
    project.write("src/b.py", TWO)
    project.run("baseline", "src/b.py", "--select", "DEV101")
    assert [(entry["file"], entry["code"]) for entry in _entries(project)] == [
        ("src/a.py", "DEV101"),
        ("src/a.py", "DEV302"),
        ("src/b.py", "DEV101"),
    ]


def test_files_that_cannot_be_analysed_are_never_accepted(project: Shell) -> None:
    project.write("src/c.py", "x = (\n")
    assert project.run("baseline").exit_code == 2
    assert {entry["file"] for entry in _entries(project)} == {"src/a.py"}
    assert project.run(".").exit_code == 2


def test_sarif_and_json_mark_what_is_accepted_and_what_is_silenced(project: Shell) -> None:
    project.write("src/a.py", TWO + "clash  # devlint: ignore[DEV101] known\nclash\n")
    log = json.loads(project.run("--output-format", "sarif", ".").stdout)
    SARIF.validate(log)
    results = [
        (
            result["locations"][0]["physicalLocation"]["region"]["startLine"],
            result["baselineState"],
            [(one["kind"], one["justification"]) for one in result["suppressions"]],
        )
        for result in log["runs"][0]["results"]
    ]
    assert results == [
        (2, "unchanged", [("external", "in the baseline")]),
        (3, "unchanged", [("external", "in the baseline")]),
        (4, "new", [("inSource", "known")]),
        (5, "new", []),
    ]
    document = json.loads(project.run("--output-format", "json", ".").stdout)
    assert [one["line"] for one in document["diagnostics"]] == [5]
    assert [(one["line"], one["silenced_by"], one["reason"]) for one in document["silenced"]] == [
        (2, "baseline", "in the baseline"),
        (3, "baseline", "in the baseline"),
        (4, "comment", "known"),
    ]
    assert document["summary"]["errors"] == 1


def test_idle_comments_can_be_accepted_too(shell: Shell) -> None:
    shell.write("pyproject.toml", CONFIGURED)
    shell.write("a.py", "import torch\nx = 1  # devlint: ignore[DEV101]\n")
    shell.run("baseline")
    assert shell.concise() == []


def test_each_configuration_has_a_baseline_of_its_own(shell: Shell) -> None:
    shell.write("one/pyproject.toml", CONFIGURED)
    shell.write("two/pyproject.toml", CONFIGURED)
    shell.write("one/a.py", TWO)
    shell.write("two/a.py", TWO)
    shell.write("a.py", TWO)
    assert len(shell.run("baseline").stdout.splitlines()) == 3
    names = [_entries(shell, f"{folder}{NAME}")[0]["file"] for folder in ("", "one/", "two/")]
    assert names == ["a.py", "a.py", "a.py"]
    assert [line[:4] for line in shell.concise()] == ["a.py", "a.py"]
    assert shell.concise("--baseline", NAME, "a.py") == []


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "does not exist; `devlint baseline` writes it"),
        ("[", "is no baseline"),
        ("[]", "is no baseline"),
        ('{"version": 9, "entries": []}', "is of version 9"),
        ('{"version": 1, "entries": [{"file": "a.py"}]}', "is no baseline"),
    ],
)
def test_a_baseline_that_is_none_is_an_error(shell: Shell, content: str | None, message: str) -> None:
    shell.write("a.py", TWO)
    if content is not None:
        shell.write("b.json", content)
    result = shell.run("--baseline", "b.json", ".")
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.replace("b.json:1: ", "b.json: ").startswith(f"error: b.json: {message}")


def test_fixes_leave_alone_what_is_accepted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    line = "def f(x: torch.Tensor):\n    x.to('cpu:0')\n    return x\n\n\n"
    Path("a.py").write_text(f"import torch\n\n\n{line}")
    accept(Settings(("a.py",), isolated=True, baseline=Path(NAME)), prune=False)
    Path("a.py").write_text(f"import torch\n\n\n{line}{line}")
    CliRunner().invoke(devlint, ["--fix", "--unsafe-fixes", "--isolated", "--baseline", NAME, "a.py"])
    text = Path("a.py").read_text()
    assert (text.count("    x.to"), text.count("    x = x.to")) == (1, 1)


LINES = st.lists(st.sampled_from(("clash", "raw_cuda", "clash; clash", "x = 1", "", "# word")), max_size=8)
UNRELATED = st.lists(
    st.tuples(st.integers(0, 12), st.sampled_from(("y = 2", "", "# more", "def f(): ..."))), max_size=4
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    place, here = tmp_path_factory.mktemp("law"), Path.cwd()
    os.chdir(place)
    yield place
    os.chdir(here)


TOOLS = cache(load)


def _reported(folder: Path, lines: list[str]) -> list[tuple[int, str]]:
    (folder / "a.py").write_text("\n".join(["import torch", *lines, ""]))
    run = engine.run(Settings(("a.py",), isolated=True, baseline=folder / NAME), load=TOOLS)
    return [(one.place.line, one.code) for one in run.outcome.diagnostics]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40, deadline=None)
@given(LINES, UNRELATED, st.data())
def test_unrelated_lines_and_a_new_order_change_nothing(
    folder: Path, lines: list[str], unrelated: list[tuple[int, str]], data: st.DataObject
) -> None:
    """Of any file, however many equal lines it has, all is accepted; one more of them is reported once."""
    (folder / NAME).unlink(missing_ok=True)
    (folder / "a.py").write_text("\n".join(["import torch", *lines, ""]))
    given_settings = Settings(("a.py",), isolated=True, baseline=folder / NAME)
    accept(given_settings, prune=False, load=TOOLS)
    assert _reported(folder, lines) == []

    longer = list(lines)
    for place, line in unrelated:
        longer.insert(place, line)
    assert _reported(folder, longer) == []
    assert _reported(folder, [line for line in longer if line.startswith(("clash", "raw"))]) == []

    place = data.draw(st.integers(0, len(longer)))
    assert [code for _, code in _reported(folder, [*longer[:place], "clash", *longer[place:]])] == ["DEV101"]
