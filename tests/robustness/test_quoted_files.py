"""What a run reads, and so may quote: files of the repository, project or named folder, and of configured roots."""

from __future__ import annotations

import os
import random
import re
import shutil
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner
from devlint.cli import devlint

MARKERS = (".git", "pyproject.toml", "setup.py", "")
LAYOUTS = 30

_opened: list[str] = []


def _note(event: str, arguments: tuple[object, ...]) -> None:
    if event == "open" and isinstance(arguments[0], str) and arguments[0].endswith(".py"):
        _opened.append(os.path.realpath(arguments[0]))


@pytest.fixture(scope="module", autouse=True)
def listening() -> None:
    """Notes the sources that are opened; Python forgets no such function, so it is put up once."""
    sys.addaudithook(_note)


FOLDERS = ("", "repo", "repo/pkg", "repo/pkg/sub", "repo/lib", "out", "out/deep", "repo-twin")
NAMES = ("repo", "pkg", "pkg.sub", "sub", "lib", "out", "out.deep", "deep", "repo-twin", "linked", "")


def _lay_out(top: Path, chance: random.Random) -> tuple[list[str], list[Path]]:
    """Makes a project in `repo` and neighbours of it; returns the arguments of a run there, and what it may read."""
    for folder in FOLDERS:
        (top / folder).mkdir(exist_ok=True)
        if chance.random() < 0.6:
            (top / folder / "__init__.py").write_text(_text(chance, folder))
        for name in ("a", "b"):
            (top / folder / f"{name}.py").write_text(_text(chance, folder))
    repo = top / "repo"
    marker = chance.choice(MARKERS)
    if marker == ".git":
        (repo / marker).mkdir()
    elif marker:
        (repo / marker).touch()
    for link, target in (("linked", "../out"), ("pkg/c.py", "../../out/a.py"), ("lib/c.py", "../pkg/a.py")):
        if chance.random() < 0.5:
            (repo / link).symlink_to(target)
    if not marker:
        named = chance.choice((".", "pkg"))
        whole = repo / named  # of a part of a package, the whole package
        while all((folder / "__init__.py").exists() for folder in (whole, whole.parent)):
            whole = whole.parent
        return [named], [whole]
    allowed = [repo]
    if marker != ".git" and chance.random() < 0.3:
        (repo / "devlint.toml").write_text('src = ["lib"]\n')
    if chance.random() < 0.2:
        (top / "settings").mkdir()
        (top / "settings" / "devlint.toml").write_text('src = ["../out"]\n')
        allowed.append(top / "out")
        return ["--config", str(top / "settings" / "devlint.toml"), chance.choice((".", "pkg", "b.py"))], allowed
    return [chance.choice((".", "pkg", "b.py", "pkg/sub/a.py"))], allowed


def _text(chance: random.Random, folder: str) -> str:
    lines = ["import torch"]
    for number in range(6):
        module, dots = chance.choice(NAMES).replace("-", "_"), "." * chance.randrange(5)
        name = ".".join(filter(None, (module, chance.choice("abc"))))
        lines.append(
            chance.choice(
                (f"from {dots}{name} import y{number}", f"from {dots or '.'}{module} import a", f"import {name}")
            )
        )
    lines.append(f"y{chance.randrange(6)} = torch.zeros(3, device='cuda:0')  # of {folder or '.'}")
    lines += [f"y{number} + torch.zeros(3)" for number in range(6)]
    return "\n".join([*lines, 'if __name__ == "__main__":', "    pass"] if chance.random() < 0.3 else lines) + "\n"


def test_a_run_reads_nothing_outside_of_its_project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    inside = 0
    for seed in range(LAYOUTS):
        top = tmp_path / "top"
        top.mkdir()
        arguments, allowed = _lay_out(top, random.Random(seed))
        where = random.Random(seed).choice((top, top / "repo"))
        monkeypatch.chdir(where)
        if where == top:
            arguments[-1] = str(Path("repo") / arguments[-1])
        _opened.clear()
        ended = CliRunner().invoke(devlint, ["check", "--no-cache", "--jobs", "1", *arguments])
        read = {Path(name) for name in _opened if Path(name).is_relative_to(top)}
        quoted = {top / name for name in re.findall(r"# of (\S+)", ended.output)}
        stray = {path for path in read | quoted if not any(path.is_relative_to(folder) for folder in allowed)}
        assert stray == set(), f"seed {seed}: {arguments} in {where}"
        assert ended.exit_code in (0, 1), ended.output
        inside += len(read)
        shutil.rmtree(top)
    assert inside > 3 * LAYOUTS
