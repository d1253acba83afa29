"""The pytest options `--devlint-guard` and `--devlint-rehearse`.

With the first, each test runs with a guard of its own. With the second, all tests run as if the machine had GPUs.

A file by itself, since pytest loads it in every run: without the options it imports neither torch nor the guard.
"""

from __future__ import annotations

import argparse
import contextlib
from collections import Counter
from collections.abc import Generator, Iterator
from typing import Any

import pytest

LEVELS = ("module", "adaptive", "deep")

_PROPERTY, _USED_GPU = "devlint", "devlint-used-gpu"
"""Under these names a test's findings, and whether it may have used a GPU, travel with its report, also from the worker
processes of pytest-xdist."""

_NOTHING = "devlint saw nothing on a GPU, so these tests cannot show a mistake with devices"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options."""
    group = parser.getgroup("devlint")
    group.addoption(
        "--devlint-rehearse",
        metavar="N",
        help="run all tests on the CPU as if the machine had N CUDA devices, one MPS device (mps), or N XPU devices "
        "(xpu:N)",
    )
    group.addoption(
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
    """Switch on the guard or the rehearsal, if one is asked for."""
    level = config.getoption("--devlint-guard")
    devices = config.getoption("--devlint-rehearse")
    if devices is not None:
        if level is not None:
            raise pytest.UsageError("--devlint-guard and --devlint-rehearse exclude each other")
        config.pluginmanager.register(_RehearsedTests(config, devices), "devlint-rehearsed-tests")
    if level is not None:
        options = _options(level or None)
        if options is not None:
            config.pluginmanager.register(_GuardedTests(options), "devlint-guarded-tests")


@contextlib.contextmanager
def _told_as_usage() -> Iterator[None]:
    """Make a missing torch, and what the guard says of wrong usage, errors of usage."""
    try:
        from devlint_guard.errors import GuardUsageError
    except ImportError as error:
        if error.name != "torch":
            raise
        raise pytest.UsageError(str(error)) from None
    try:
        yield
    except GuardUsageError as error:
        raise pytest.UsageError(str(error)) from None


def _options(level: str | None) -> dict[str, Any] | None:
    with _told_as_usage():
        from devlint_guard.options import chosen
        from devlint_guard.session import Guard

        options = chosen({"level": level})
        if options is not None:
            Guard(**options)
    if options is not None and "report" in options:
        raise pytest.UsageError("a guard of each test writes no report: leave out report=")
    return options


class _GuardedTests:
    def __init__(self, options: dict[str, Any]) -> None:
        self._options = options
        self._guard: Any = None
        self._saw_gpu: bool | None = None
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
        from devlint_guard.watch.snapshot import used_gpu

        with self._guard:
            result = yield
        if used_gpu() and not self._saw_gpu:
            item.user_properties.append((_USED_GPU, True))
        if self._guard.mode == "record":
            item.user_properties += ((_PROPERTY, render(finding)) for finding in self._guard.findings)
        return result

    def pytest_runtest_makereport(self, call: pytest.CallInfo[None]) -> None:
        """Explains errors that `unittest` has kept from the guard, before pytest puts the report together."""
        from devlint_guard.findings.explanation import annotate

        if call.excinfo is not None:
            annotate(call.excinfo.value)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "teardown":
            texts = (str(text) for name, text in report.user_properties if name == _PROPERTY)
            self._found += ((report.nodeid, text) for text in texts)
            self._saw_gpu = bool(self._saw_gpu) or (_USED_GPU, True) in report.user_properties

    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        if self._found and exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if self._found:
            terminalreporter.section("devlint findings")
            for test, text in self._found:
                terminalreporter.line(f"{test}\n{text}\n")
        elif self._saw_gpu is False and not terminalreporter.stats.get("failed"):
            terminalreporter.section("devlint guard")
            terminalreporter.line(f"{_NOTHING}: try `pytest --devlint-rehearse=1`")


_ERROR, _UNJUDGED = "devlint-would-raise", "devlint-not-judged"
"""Under these names the results of a rehearsal travel with a test's report."""


class _RehearsedTests:
    """All tests of a run, in one rehearsal: a module asks at its import which devices there are.

    Args:
        config: of the run.
        machine: the number or the type of its devices, or both: `2`, `mps`, `xpu:2`.
    """

    def __init__(self, config: pytest.Config, machine: str) -> None:
        kind, _, number = f"cuda:{machine}".rpartition(":") if machine.isdigit() else machine.partition(":")
        if not (number or "1").isdigit():
            raise pytest.UsageError(f"--devlint-rehearse takes N, TYPE or TYPE:N, and not {machine}")
        devices = int(number or 1)
        scope = contextlib.ExitStack()
        with _told_as_usage():
            from devlint_guard.rehearsal import rehearse
            from devlint_guard.report.record import machine as in_words

            scope.enter_context(rehearse(devices, kind))
        config.add_cleanup(scope.close)
        self._machine = in_words(devices, kind)
        self._failed: set[str] = set()
        self._ran: set[str] = set()
        self._counts: Counter[str] = Counter()
        self._saw_gpu = devices == 0
        self._told: list[str] = []

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self) -> None:
        from devlint_guard.rehearsal.unjudged import UNJUDGED

        UNJUDGED.forget()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self) -> Generator[None, Any, Any]:
        """Skip a test that cannot be rehearsed to its end."""
        from devlint_guard.rehearsal.unjudged import Stopped
        from devlint_guard.rehearsal.verdict import stopping

        try:
            with stopping():
                return (yield)
        except Stopped as stopped:
            pytest.skip(str(stopped))

    def pytest_runtest_makereport(self, item: pytest.Item, call: pytest.CallInfo[None]) -> None:
        """Note what a phase of a test has shown, before pytest puts its report together."""
        from devlint_guard.rehearsal.labels import used_gpu
        from devlint_guard.rehearsal.unjudged import UNJUDGED
        from devlint_guard.rehearsal.verdict import would_raise

        if call.excinfo is not None and would_raise(call.excinfo.value):
            error = call.excinfo.value
            item.user_properties.append((_ERROR, f"{type(error).__name__}: {error}".partition("\n")[0]))
        if call.when == "teardown":
            item.user_properties += ((_UNJUDGED, line) for line in UNJUDGED.lines())
            if used_gpu() and not self._saw_gpu:
                item.user_properties.append((_USED_GPU, True))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self._failed.add(report.nodeid)
        if report.when == "call" and report.passed:
            self._ran.add(report.nodeid)
        if report.when == "teardown":
            self._count(report)

    def _count(self, report: pytest.TestReport) -> None:
        errors, unjudged = (
            [str(text) for name, text in report.user_properties if name == kind] for kind in (_ERROR, _UNJUDGED)
        )
        self._saw_gpu = self._saw_gpu or (_USED_GPU, True) in report.user_properties
        if report.nodeid in self._failed:
            self._counts["would raise" if errors else "failed"] += 1
            self._told += (f"{report.nodeid} would raise {text}" for text in errors[:1])
        elif unjudged:
            self._counts["not checked"] += 1
            more = f" (and {len(unjudged) - 1} more)" if unjudged[1:] else ""
            self._told.append(f"{report.nodeid} was not checked: {unjudged[0]}{more}")
        elif report.nodeid in self._ran:
            self._counts["passed"] += 1

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        terminalreporter.section(f"devlint rehearsal on {self._machine}")
        figures = [f"{self._counts[kind]} {kind}" for kind in ("passed", "would raise", "not checked")]
        if self._counts["failed"]:
            figures.append(f"{self._counts['failed']} failed for another reason")
        terminalreporter.line(", ".join(figures))
        if not self._saw_gpu:
            terminalreporter.line(_NOTHING)
        for line in self._told:
            terminalreporter.line(line)
