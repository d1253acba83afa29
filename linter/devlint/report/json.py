"""The `json` format: one object, for programs."""

from __future__ import annotations

import json

from devlint.diagnostics import Diagnostic, Severity
from devlint.report.fingerprint import fingerprints
from devlint.report.outcome import Outcome

VERSION = 1
"""Rises when a reader of the old form would misunderstand the new one."""


def render(outcome: Outcome) -> str:
    """Render as JSON in ASCII, so that no terminal or pipe can spoil it."""
    named = zip(outcome.diagnostics, fingerprints(outcome), strict=True)
    document = {
        "version": VERSION,
        "diagnostics": [_diagnostic(diagnostic, fingerprint) for diagnostic, fingerprint in named],
        "summary": {
            "files": outcome.files,
            "errors": outcome.count(Severity.ERROR),
            "warnings": outcome.count(Severity.WARNING),
            "seconds": round(outcome.seconds, 3),
        },
    }
    return json.dumps(document, indent=2) + "\n"


def _diagnostic(diagnostic: Diagnostic, fingerprint: str) -> dict[str, object]:
    place = diagnostic.place
    return {
        "code": diagnostic.code,
        "rule": diagnostic.rule,
        "severity": diagnostic.severity.value,
        "certainty": diagnostic.certainty.value,
        "message": diagnostic.message,
        "file": place.file,
        "cell": None,
        "line": place.line,
        "column": place.column,
        "end_line": place.end_line,
        "end_column": place.end_column,
        "related": [
            {
                "file": related.place.file,
                "line": related.place.line,
                "column": related.place.column,
                "message": related.message,
            }
            for related in diagnostic.related
        ],
        "fix": None,
        "fingerprint": fingerprint,
    }
