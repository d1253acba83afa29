"""A torch that is missing or too old is named in one sentence, by each way in, and the promised floor is one number."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

pytest.importorskip("torch")

from devlint_guard import requirement

from tests.conftest import REPOSITORY, read_toml
from tests.guard.processes import python, write

MISSING = "raise ModuleNotFoundError(\"No module named 'torch'\", name='torch')\n"
OLD = '__version__ = "2.5.1+cu124"\n'
FLOOR = f"{requirement.LOWEST[0]}.{requirement.LOWEST[1]}"
NEEDED = f"the runtime guard needs torch {FLOOR} or newer, but torch"
SENTENCES = {
    MISSING: f"{NEEDED} is not installed: pip install 'torch>={FLOOR}'",
    OLD: f"{NEEDED} 2.5.1+cu124 is installed: pip install -U 'torch>={FLOOR}'",
}


@pytest.mark.parametrize("torch", [MISSING, OLD], ids=["missing", "old"])
@pytest.mark.parametrize(
    ("arguments", "said", "code"),
    [
        ("-m devlint run script.py", "error: {}\n", 2),
        ("-m devlint merge-reports run.json --output all.json", "error: {}\n", 2),
        ("-m pytest --devlint-guard -q script.py", "ERROR: {}\n\n", 4),
        ("-W error -c 'import devlint_guard'", "Error: {}\n", 1),
    ],
)
def test_one_sentence_says_so(tmp_path: Path, torch: str, arguments: str, said: str, code: int) -> None:
    write(tmp_path / "torch.py", torch)
    write(tmp_path / "script.py", "print('ran')\n")
    write(tmp_path / "run.json", "{}")
    words = [word.strip("'") for word in re.findall(r"'[^']*'|\S+", arguments)]
    ended = python(tmp_path, *words, PYTHONPATH=str(REPOSITORY / "runtime_guard"))
    assert (ended.returncode, ended.stdout.strip()) == (code, ""), ended.stdout
    assert ended.stderr.endswith(said.format(SENTENCES[torch]))
    assert "devlint_guard/session.py" not in ended.stderr


@pytest.mark.parametrize(
    ("version", "is_enough"),
    [
        ("2.5.1", False),
        ("1.13.1+cpu", False),
        (FLOOR, True),
        (f"{FLOOR}.0a0+git1234", True),
        ("2.14.1", True),
        ("10.0", True),
        ("unknown", True),
    ],
)
def test_releases_are_compared_as_numbers(monkeypatch: pytest.MonkeyPatch, version: str, is_enough: bool) -> None:
    torch = pytest.importorskip("torch")
    monkeypatch.setattr(torch, "__version__", version)
    if is_enough:
        requirement.require_torch()
    else:
        with pytest.raises(ImportError, match=re.escape(f"torch {version} is installed")):
            requirement.require_torch()


def test_the_floor_is_one_number() -> None:
    project = read_toml(REPOSITORY / "pyproject.toml")["project"]
    assert project["optional-dependencies"]["guard"] == [f"torch>={FLOOR}"]
    for page in ("README.md", "guard.md"):
        assert f"torch {FLOOR} or newer" in (REPOSITORY / "runtime_guard" / page).read_text(encoding="utf-8")
