"""The `json` format: one object, for programs."""

from __future__ import annotations

import json

from devlint.diagnostics import Diagnostic, Fix, Severity
from devlint.errors import DevlintError
from devlint.quoting import encodable
from devlint.report.fingerprint import fingerprints
from devlint.report.outcome import Outcome

VERSION = 1
"""Rises when a reader of the old form would misunderstand the new one."""


def text_of(document: object, *, indent: int | None = 2) -> str:
    """Return a document as JSON in ASCII, so that no terminal or pipe can spoil it, and with a line end.

    No string in it has half a character, which many readers of JSON refuse.
    """
    text = json.dumps(encodable(document), indent=indent)
    return text.replace("##[", "#\\u0023[") + "\n"  # the same string, and no command in a log of GitHub Actions


def render(outcome: Outcome) -> str:
    """Render as one JSON object."""
    document = {
        "version": VERSION,
        "diagnostics": diagnostics_as_data(outcome),
        "silenced": _silenced(outcome),
        "unforeseen": [],
        "problems": [problem_as_data(problem) for problem in outcome.problems],
        "summary": {
            "files": outcome.files,
            "errors": outcome.count(Severity.ERROR),
            "warnings": outcome.count(Severity.WARNING),
            "seconds": round(outcome.seconds, 3),
        },
    }
    return text_of(document)


def diagnostics_as_data(outcome: Outcome) -> list[dict[str, object]]:
    """Return the diagnostics that are reported as JSON objects, in order."""
    named = fingerprints(outcome)
    return [_diagnostic(diagnostic, named[diagnostic]) for diagnostic in outcome.diagnostics]


def _silenced(outcome: Outcome) -> list[dict[str, object]]:
    named = fingerprints(outcome)
    return [
        {**_diagnostic(one.diagnostic, named[one.diagnostic]), "silenced_by": one.by.value, "reason": one.reason}
        for one in outcome.silenced
    ]


def problem_as_data(problem: DevlintError) -> dict[str, object]:
    """Return as a JSON object why a file could not be analysed; `line` is null where that is no matter of a line."""
    return {"file": problem.path, "line": problem.line, "problem": problem.message}


def _diagnostic(diagnostic: Diagnostic, fingerprint: str) -> dict[str, object]:
    place = diagnostic.place
    return {
        "code": diagnostic.code,
        "rule": diagnostic.rule,
        "severity": diagnostic.severity.value,
        "certainty": diagnostic.certainty.value,
        "message": diagnostic.message,
        "file": place.file,
        "cell": place.cell,
        "line": place.line,
        "column": place.column,
        "end_line": place.end_line,
        "end_column": place.end_column,
        "related": [
            {
                "file": related.place.file,
                **({} if related.place.cell is None else {"cell": related.place.cell}),
                "line": related.place.line,
                "column": related.place.column,
                "message": related.message,
                "value": related.value or None,
            }
            for related in diagnostic.related
        ],
        "fix": None if diagnostic.fix is None else _fix(diagnostic.fix),
        "fingerprint": fingerprint,
    }


def _fix(fix: Fix) -> dict[str, object]:
    return {
        "safety": fix.safety.value,
        "message": fix.message,
        "edits": [
            {
                **({} if edit.place.cell is None else {"cell": edit.place.cell}),
                "line": edit.place.line,
                "column": edit.place.column,
                "end_line": edit.place.end_line,
                "end_column": edit.place.end_column,
                "text": edit.text,
            }
            for edit in fix.edits
        ],
    }
