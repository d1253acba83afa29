"""What devlint has given up is accepted: one note tells of it, and no report and no exit code changes."""

from __future__ import annotations

import ast
import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from devlint.cli import devlint
from devlint.flake8 import Plugin
from devlint.registry import load_rules
from devlint.retired import RETIRED

PROGRAM = "import torch\n\n\ndef shifted(model, x: torch.Tensor):\n    return model(x) + torch.ones(3)\n"

NOTE = (
    'note: A retired rule reports nothing; in a later version, DEV114 becomes a part of DEV103, at the level "possible"'
)

SPELLINGS = [spelling for one in RETIRED for spelling in (one.code, one.code.lower(), *one.names)]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.py").write_text(PROGRAM)
    (tmp_path / "devlint.toml").write_text("")
    return tmp_path


def _run(*arguments: str) -> Result:
    return CliRunner().invoke(devlint, arguments)


def _notes(result: Result) -> list[str]:
    return [line for line in result.stderr.splitlines() if line.startswith("note: ")]


def test_nothing_of_a_retired_rule_is_a_rule() -> None:
    rules = load_rules()
    known = {word for rule in rules for word in (rule.code, rule.name, *rule.former_names)}
    assert known.isdisjoint(word for one in RETIRED for word in (one.code, *one.names))
    assert {one.heir for one in RETIRED} <= {rule.code for rule in rules}


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_each_spelling_selects_nothing_and_says_so(folder: Path, spelling: str) -> None:
    one = next(one for one in RETIRED if one.is_called(spelling))
    found = _run("check", "--select", spelling, "a.py")
    assert (found.exit_code, found.stdout) == (0, "")
    (note,) = _notes(found)
    assert note.startswith(
        f"note: A retired rule reports nothing; in a later version, {one.code} becomes a part of {one.heir}"
    )
    explained = _run("explain", spelling)
    assert (explained.exit_code, explained.stderr) == (0, "")
    assert explained.stdout.startswith(f"{one.code} {one.names[0]} (retired)\n")
    assert note.removeprefix("note: ") in explained.stdout


@pytest.mark.parametrize(
    "text",
    [
        'select = ["ALL", "DEV114"]\nignore = ["DEV304"]',
        'ignore = ["cpu-tensor-beside-unplaced-value"]',
        'extend-select = ["dev114"]',
        '[severity]\nDEV114 = "warning"',
        '[per-file-ignores]\n"*.py" = ["DEV114"]',
    ],
)
def test_a_configuration(folder: Path, text: str) -> None:
    plain = _run("check", "a.py")
    (folder / "devlint.toml").write_text(text)
    for arguments in (["a.py"], ["a.py"], ["--show-settings", "a.py"], ["--no-cache", "--jobs", "2", "."]):
        found = _run("check", *arguments)
        assert found.exit_code == plain.exit_code == 0
        assert _notes(found) == [NOTE]
    assert _notes(_run("check", "-q", "a.py")) == []


def test_options_and_a_prefix_of_retired_codes_alone(folder: Path) -> None:
    assert _notes(_run("check", "--ignore", "DEV114", "a.py")) == [NOTE]
    assert _notes(_run("check", "--extend-select", "DEV114", "--select", "DEV1", "a.py")) == [NOTE]
    found = _run("check", "--select", "DEV11", "a.py")
    assert (found.exit_code, found.stdout) == (0, "")
    (note,) = _notes(found)
    assert "DEV111 becomes a part of DEV101" in note
    assert "DEV116 becomes a part of DEV103" in note
    assert _notes(_run("check", "--select", "DEV1,ALL", "a.py")) == []
    assert _run("check", "--select", "DEV117", "a.py").exit_code == 2


@pytest.mark.parametrize(
    "comment",
    [
        "# devlint: ignore[DEV114] audited",
        "# devlint: ignore[cpu-tensor-beside-unplaced-value] audited",
        "# noqa: DEV114",
        "# noqa: E501, DEV114",
    ],
)
def test_a_comment_is_no_unused_suppression(folder: Path, comment: str) -> None:
    (folder / "a.py").write_text(f"import torch\n\nx = torch.ones(3)  {comment}\n")
    (folder / "b.py").write_text(f"{comment.replace('ignore[', 'ignore-file[')}\nimport torch\n")
    for _ in range(2):  # the second time, results come from the cache
        found = _run("check", "--select", "DEV1,DEV902", ".")
        assert (found.exit_code, found.stdout) == (0, "")
        assert _notes(found) == [NOTE]


def test_a_comment_keeps_its_other_rules(folder: Path) -> None:
    line = "x = torch.ones(3)  # devlint: ignore[DEV114, DEV101] audited\n"
    (folder / "a.py").write_text(f"import torch\n{line}")
    found = _run("check", "--fix", "a.py")
    assert found.exit_code == 0
    assert (folder / "a.py").read_text() == f"import torch\n{line.replace(', DEV101', '')}"


def test_a_malformed_comment_is_corrected_to_a_retired_rule(folder: Path) -> None:
    (folder / "a.py").write_text("import torch\nx = 1  # devlint: ignore DEV114\n")
    assert "write `# devlint: ignore[DEV114]`" in _run("check", "a.py").stdout


def test_a_baseline(folder: Path) -> None:
    message = "`torch.ones(3)` is on cpu, but `model(x)` may be on another device"
    entry = {"file": "a.py", "code": "DEV114", "rule": "cpu-tensor-beside-unplaced-value", "fingerprint": "0" * 32}
    text = json.dumps({"version": 1, "entries": [{**entry, "message": message}]}, indent=2) + "\n"
    (folder / "known.json").write_text(text)
    (folder / "devlint.toml").write_text('baseline = "known.json"\nextend-select = ["DEV114"]\n')
    found = _run("check", "--fail-on-stale", "a.py")
    assert (found.exit_code, found.stdout, _notes(found)) == (0, "", [NOTE])
    for arguments in (["--prune"], []):
        assert _run("baseline", *arguments, "a.py").exit_code == 0
        assert (folder / "known.json").read_text() == text


def test_the_plugin_of_flake8(folder: Path) -> None:
    (folder / "devlint.toml").write_text('select = ["DEV114"]\n')
    assert [*Plugin(ast.parse(PROGRAM), "a.py", PROGRAM.splitlines(keepends=True)).run()] == []


# --- keys, options and commands, which the next release refuses ---------------------------------------------

CONFLICT = 'import torch\n\ntorch.ones(3, device="cuda:0") + torch.ones(3)\n'
REFUSED = "has no effect, and the next release refuses it: "


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.py").write_text(CONFLICT)
    (tmp_path / "pyproject.toml").write_text("")
    return tmp_path


def _refused(result: Result) -> list[str]:
    return [note for note in _notes(result) if REFUSED in note]


def test_a_retired_option_is_one_note(program: Path) -> None:
    plain = _run("check", "a.py")
    found = _run("check", "--observed", "run.json", "--observed", "other.json", "a.py")
    assert (found.exit_code, found.stdout) == (plain.exit_code, plain.stdout)
    assert _refused(found) == [f"note: `--observed` {REFUSED}devlint uses no recorded runs"]
    assert "--observed" not in _run("check", "--help").stdout
    assert _refused(_run("check", "-q", "--observed", "run.json", "a.py")) == []


@pytest.mark.parametrize(
    ("files", "where"),
    [
        ({"devlint.toml": 'observed = ["run.json"]\n'}, "devlint.toml:1"),
        ({"pyproject.toml": "[tool.devlint]\nsrc = []\nobserved = [1]\n"}, "pyproject.toml:3"),
        ({"devlint.toml": 'extend = "base.toml"\n', "base.toml": "observed = []\n"}, "base.toml:1"),
    ],
)
def test_a_retired_key_is_one_note(program: Path, files: dict[str, str], where: str) -> None:
    plain = _run("check", ".")
    for name, text in files.items():
        (program / name).write_text(text)
    (program / "b.py").write_text("import torch\n")
    for _ in range(2):  # the second time, results come from the cache
        found = _run("check", ".")
        assert (found.exit_code, found.stdout) == (plain.exit_code, plain.stdout)
        assert _refused(found) == [f"note: {where}: `observed` {REFUSED}devlint uses no recorded runs"]


@pytest.mark.parametrize("arguments", [(), ("a.py",), ("--output-format", "dot", "a.py"), ("--help",)])
def test_a_retired_command_is_no_path(program: Path, arguments: tuple[str, ...]) -> None:
    (program / "graph").mkdir()
    found = _run("graph", *arguments)
    assert (found.exit_code, found.stdout) == (0, "")
    (note,) = found.stderr.splitlines()
    assert note.startswith(f"note: `devlint graph` {REFUSED}`devlint show`")
    assert "graph" not in _run("--help").stdout
