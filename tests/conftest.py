"""What all tests share: the judge, and `--accept`, which rewrites expected files."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator
from importlib import metadata
from pathlib import Path
from typing import Any, NoReturn, TypeVar

import pytest
from _pytest.mark import ParameterSet
from hypothesis import HealthCheck, settings

from tests.judge.plugin import judge

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

__all__ = ["judge"]

# How long an example takes says more about the machine than about devlint.
settings.register_profile("untimed", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("untimed")

REPOSITORY = Path(__file__).resolve().parent.parent

_Item = TypeVar("_Item")

Expect = Callable[[Path, str], None]
"""Holds a text against the content of an expected file."""


def read_toml(file: Path) -> dict[str, Any]:
    """Read a TOML file."""
    return tomllib.loads(file.read_text(encoding="utf-8"))


def cannot_run(reason: str) -> NoReturn:
    """Skip the calling test; fail it where CI is set, for nothing may be missing there."""
    if os.environ.get("CI"):
        pytest.fail(f"must not be missing in CI: {reason}", pytrace=False)
    pytest.skip(reason)


def since(*release: int) -> pytest.MarkDecorator:
    """A mark that skips a test with an older torch, which lacks what the test uses."""
    installed = tuple(int(number) for number in metadata.version("torch").split(".")[:2])
    return pytest.mark.skipif(installed < release, reason=f"needs torch {'.'.join(map(str, release))}")


def sampled(items: Iterable[_Item], every: int) -> list[ParameterSet]:
    """Parameters of a test, of which only every so many-th is for each run; with the others the test is long."""
    return [pytest.param(item, marks=pytest.mark.long if number % every else ()) for number, item in enumerate(items)]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--accept", action="store_true", help="rewrite expected files with what devlint prints now")


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config: pytest.Config) -> None:
    """Rewrites expected files in one process: two tests may rewrite one page."""
    if config.option.accept:
        config.option.numprocesses, config.option.dist = 0, "no"


@pytest.fixture(scope="session", autouse=True)
def _own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Keeps the tests out of the user's cache."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DEVLINT_CACHE_DIR", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture
def in_repository(monkeypatch: pytest.MonkeyPatch) -> Path:
    """Makes the repository the working directory, which paths in reports are relative to."""
    monkeypatch.chdir(REPOSITORY)
    return REPOSITORY


@pytest.fixture
def expect(request: pytest.FixtureRequest) -> Expect:
    """Compares a text with an expected file, or writes it there under `--accept`."""
    accept = bool(request.config.getoption("--accept"))

    def compare(file: Path, text: str) -> None:
        if accept:
            file.write_text(text, encoding="utf-8")
            return
        assert file.exists(), f"{file} is missing; `pytest --accept` writes it"
        assert text == file.read_text(encoding="utf-8"), f"{file.name} differs; `pytest --accept` rewrites it"

    return compare
