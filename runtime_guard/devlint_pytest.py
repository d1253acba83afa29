"""The pytest option `--devlint-guard`: each test runs with a guard of its own.

A file by itself, since pytest loads it in every run: without the option it imports neither torch nor the guard.
"""

from __future__ import annotations

import argparse
from collections.abc import Generator
from typing import Any

import pytest

LEVELS = ("module", "adaptive", "deep")

_PROPERTY = "devlint"
"""Under this name a test's findings travel with its report, also from the worker processes of pytest-xdist."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option."""
    parser.getgroup("devlint").addoption(
        "--devlint-guard",
        *(f"--devlint-guard={level}" for level in LEVELS),
        action=_Level,
        nargs=0,
        help="run each test with devlint's guard, at this level or at the one that DEVLINT_GUARD names",
    )


class _Level(argparse.Action):
    """Store the level that stands behind `=`; without one, "".

    Each way to write the option is a name of it and none takes a value: a value that may be left out would swallow the
    path behind the option.
    """

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: object,
        option_string: str | None = None,
    ) -> None:
        setattr(namespace, self.dest, (option_string or "").partition("=")[2])


def pytest_configure(config: pytest.Config) -> None:
    """Switches the guard on, if it is asked for."""
    level = config.getoption("--devlint-guard")
    if level is not None:
        options = _options(level or None)
        if options is not None:
            config.pluginmanager.register(_GuardedTests(options), "devlint-guarded-tests")


def _options(level: str | None) -> dict[str, Any] | None:
    try:
        from devlint_guard.errors import GuardUsageError
        from devlint_guard.options import chosen
        from devlint_guard.session import Guard
    except ImportError as error:
        if error.name != "torch":
            raise
        raise pytest.UsageError(str(error)) from None
    try:
        options = chosen({"level": level})
        if options is not None:
            Guard(**options)
    except GuardUsageError as error:
        raise pytest.UsageError(str(error)) from None
    if options is not None and "report" in options:
        raise pytest.UsageError("a guard of each test writes no report: leave out report=")
    return options


class _GuardedTests:
    def __init__(self, options: dict[str, Any]) -> None:
        self._options = options
        self._guard: Any = None
        self._found: list[tuple[str, str]] = []

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_setup(self) -> Generator[None, Any, Any]:
        from devlint_guard.session import Guard

        self._guard = Guard(**self._options)
        with self._guard:
            return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self) -> Generator[None, Any, Any]:
        with self._guard:
            return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_teardown(self, item: pytest.Item) -> Generator[None, Any, Any]:
        from devlint_guard.report.text import render

        with self._guard:
            result = yield
        if self._guard.mode == "record":
            item.user_properties += ((_PROPERTY, render(finding)) for finding in self._guard.findings)
        return result

    def pytest_runtest_makereport(self, call: pytest.CallInfo[None]) -> None:
        """Explains errors that `unittest` has kept from the guard, before pytest puts the report together."""
        from devlint_guard.explain import annotate

        if call.excinfo is not None:
            annotate(call.excinfo.value)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "teardown":
            texts = (str(text) for name, text in report.user_properties if name == _PROPERTY)
            self._found += ((report.nodeid, text) for text in texts)

    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        if self._found and exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if self._found:
            terminalreporter.section("devlint findings")
            for test, text in self._found:
                terminalreporter.line(f"{test}\n{text}\n")
