"""The `github` format: workflow commands, which GitHub Actions shows as annotations of a change."""

from __future__ import annotations

from devlint.diagnostics import Diagnostic
from devlint.errors import DevlintError
from devlint.quoting import printable
from devlint.report.outcome import Outcome


def render(outcome: Outcome) -> str:
    """Render one command a line. Only a report on one line of a file has columns; GitHub knows no others."""
    rows = [_diagnostic(diagnostic, *outcome.file_lines(diagnostic.place)) for diagnostic in outcome.diagnostics]
    rows += [_problem(problem) for problem in outcome.problems]
    return "".join(f"{row}\n" for row in rows)


def _diagnostic(diagnostic: Diagnostic, line: int, end_line: int) -> str:
    place = diagnostic.place
    properties: dict[str, object] = {"file": place.file, "line": line, "endLine": end_line}
    if place.cell is None and line == end_line:
        properties |= {"col": place.column, "endColumn": place.end_column}
    properties["title"] = f"{diagnostic.code} {diagnostic.rule}"
    advice = f"\n{diagnostic.advice}" if diagnostic.advice else ""
    shown = f"{place.source}:{place.line}:{place.column}: {diagnostic.code} {diagnostic.message}{advice}"
    return _command(diagnostic.severity.value, properties, shown)


def _problem(problem: DevlintError) -> str:
    properties: dict[str, object] = {"file": problem.path or "", "line": problem.line or 1, "title": "not analysed"}
    return _command("error", properties, str(problem))


def _command(name: str, properties: dict[str, object], message: str) -> str:
    listed = ",".join(f"{key}={_property(str(value))}" for key, value in properties.items())
    return f"::{name} {listed}::{_data(message)}"


def _data(text: str) -> str:
    """Escape what would end a command or begin another, and quote what would act in the log."""
    return "%0A".join(printable(line) for line in text.replace("%", "%25").split("\n"))


def _property(text: str) -> str:
    return printable(text).replace("%", "%25").replace(":", "%3A").replace(",", "%2C")
