"""What a user installs: the wheel has everything that devlint needs, and its environment stays small."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import Distribution, PathDistribution, distribution
from pathlib import Path

import pytest
from devlint import __version__
from packaging.requirements import Requirement

from tests.conftest import REPOSITORY
from tests.pages import repository_url
from tests.pages.links import links

MEGABYTE = 1_000_000
LIMIT = 20 * MEGABYTE
"""Of what devlint and all that it needs take on disk, without pip and without compiled bytecode."""


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with what the wheel of this checkout contains, installed without what it needs."""
    built, target = tmp_path_factory.mktemp("built"), tmp_path_factory.mktemp("installed")
    _run("-m", "hatchling", "build", "-t", "wheel", "-d", str(built), folder=REPOSITORY)
    (wheel,) = built.iterdir()
    _run("-m", "pip", "install", "--no-deps", "--no-index", "--target", str(target), str(wheel), folder=built)
    return target


def _run(*arguments: str, folder: Path, **environment: str) -> str:
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        capture_output=True,
        encoding="utf-8",
        check=False,
        env={**os.environ, **environment},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_published_readme_has_no_relative_link(installed: Path) -> None:
    text = _metadata(installed).read_text("METADATA") or ""
    assert f"]({repository_url()}/blob/main/linter/usage.md)" in text
    assert f"]({repository_url()}/raw/main/fixtures/showcase/report.svg)" in text
    assert [link for link in links(text) if not link.startswith("https://")] == []


def _metadata(installed: Path) -> Distribution:
    (folder,) = installed.glob("devlint-*.dist-info")
    return PathDistribution(folder)


def _needed(start: Distribution) -> dict[str, Distribution]:
    """What an installation without extras brings, itself included, by name."""
    found = {start.name: start}
    pending = [start]
    while pending:
        for text in pending.pop().requires or ():
            requirement = Requirement(text)
            if requirement.marker is not None and not requirement.marker.evaluate({"extra": ""}):
                continue
            if requirement.name not in found:
                found[requirement.name] = distribution(requirement.name)
                pending.append(found[requirement.name])
    return found


def _files(package: Distribution) -> Iterator[Path]:
    for file in package.files or ():
        path = Path(str(package.locate_file(file)))
        if path.suffix != ".pyc" and path.is_file():
            yield path


def _sources(folder: str) -> set[str]:
    """The files of a source folder that are no leftovers, relative to it."""
    top = REPOSITORY / folder
    suffixes = {".py", ".pyi", ".txt", ".typed", ".md", ".css", ".js", ".toml"}
    return {
        path.relative_to(top).as_posix()
        for path in [*top.glob("*.py"), *top.glob("*/**/*")]
        if path.suffix in suffixes or path.name == "py.typed"
    }


def test_the_wheel_has_every_file_of_the_three_packages_and_nothing_else(installed: Path) -> None:
    present = {
        file.as_posix()
        for path in installed.rglob("*")
        if path.is_file() and path.suffix != ".pyc"
        for file in [path.relative_to(installed)]
        if not file.parts[0].endswith(".dist-info") and file.parts[0] != "bin"
    }
    wanted = _sources("linter") | _sources("rules") | _sources("runtime_guard")
    packages = {"devlint", "devlint_rules", "devlint_guard"}

    assert present == wanted
    assert {f"{package}/py.typed" for package in packages} <= present
    assert "devlint/torchlib/stubs/aliases.txt" in present
    assert "devlint/torchlib/stubs/torch/__init__.pyi" in present


def test_the_wheel_names_the_command_and_the_rules(installed: Path) -> None:
    points = {(point.group, point.name, point.value) for point in _metadata(installed).entry_points}

    assert points == {
        ("console_scripts", "devlint", "devlint.cli:main"),
        ("devlint.rules", "builtin", "devlint_rules"),
        ("pytest11", "devlint", "devlint_pytest"),
        ("flake8.extension", "DEV", "devlint.flake8:Plugin"),
    }


def test_what_is_installed_runs_from_where_it_is_installed(installed: Path, tmp_path: Path) -> None:
    places = "import devlint, devlint_rules; print(devlint.__file__, devlint_rules.__file__, sep='\\n')"
    for file in _run("-c", places, folder=tmp_path, PYTHONPATH=str(installed)).split():
        assert Path(file).is_relative_to(installed)

    def devlint(*arguments: str) -> str:
        return _run("-m", "devlint", *arguments, folder=tmp_path, PYTHONPATH=str(installed))

    showcase = str(REPOSITORY / "fixtures" / "showcase")
    assert devlint("--version") == f"devlint {__version__}\n"
    assert "error[DEV101]" in devlint("--isolated", "--exit-zero", showcase)


def test_the_linter_needs_little_and_no_torch(installed: Path) -> None:
    needed = _needed(_metadata(installed))
    size = sum(path.stat().st_size for package in needed.values() for path in _files(package))

    assert {"click", "libcst"} <= set(needed)
    assert {"torch", "numpy"}.isdisjoint(needed)
    assert size < LIMIT, {
        name: sum(path.stat().st_size for path in _files(package)) for name, package in needed.items()
    }
