"""The `gitlab` format: a Code Quality report, which GitLab shows in merge requests."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from devlint.diagnostics import Severity
from devlint.report.categories import code_quality_category
from devlint.report.cells import in_its_cell
from devlint.report.fingerprint import fingerprints, of_text
from devlint.report.json import text_of
from devlint.report.outcome import Outcome

_SEVERITIES: Mapping[Severity, str] = MappingProxyType({Severity.ERROR: "major", Severity.WARNING: "minor"})


def render(outcome: Outcome) -> str:
    """Render a list of issues; a file that could not be analysed is a blocker."""
    named = fingerprints(outcome)
    issues = [
        _issue(
            diagnostic.code,
            in_its_cell(diagnostic.place, diagnostic.message),
            named[diagnostic],
            _SEVERITIES[diagnostic.severity],
            diagnostic.place.file,
            outcome.file_lines(diagnostic.place)[0],
        )
        for diagnostic in outcome.diagnostics
    ]
    for problem in outcome.problems:
        file = problem.path or ""
        issues.append(
            _issue("not-analysed", problem.message, of_text(file, problem.message), "blocker", file, problem.line or 1)
        )
    return text_of(issues)


def _issue(name: str, message: str, fingerprint: str, severity: str, file: str, line: int) -> dict[str, object]:
    return {
        "type": "issue",
        "description": message,
        "check_name": name,
        "categories": [code_quality_category(name)],
        "fingerprint": fingerprint,
        "severity": severity,
        "location": {"path": file, "lines": {"begin": line}},
    }
