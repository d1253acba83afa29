"""The `sarif` format, version 2.1.0: what code scanning services and editors exchange."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path, PurePosixPath
from urllib.parse import quote

from devlint import __version__
from devlint.diagnostics import Certainty, Diagnostic, Fix, Place, Related, RuleText, Silenced, Silencer
from devlint.errors import DevlintError
from devlint.report.categories import category_of
from devlint.report.cells import in_its_cell
from devlint.report.fingerprint import fingerprints
from devlint.report.json import text_of
from devlint.report.outcome import Outcome

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"

_ROOT = "%SRCROOT%"

_RANKS = {Certainty.CERTAIN: 90.0, Certainty.ON_ACCELERATOR: 60.0, Certainty.POSSIBLE: 30.0}
"""The priority of a result, from 0 to 100: on how many runs the line fails."""


def render(outcome: Outcome) -> str:
    """Render one log with one run, in ASCII. Paths are relative to the working directory, which is not named."""
    rules = outcome.rule_texts()
    indices = {code: index for index, code in enumerate(rules)}
    named = fingerprints(outcome)
    silenced = {one.diagnostic: one for one in outcome.silenced}
    run = {
        "tool": {
            "driver": {
                "name": "devlint",
                "version": __version__,
                "semanticVersion": __version__,
                "rules": [_rule(rule) for rule in rules.values()],
            }
        },
        "automationDetails": {"id": "devlint/"},
        "columnKind": "unicodeCodePoints",
        "originalUriBaseIds": {_ROOT: {"description": _message("the folder that devlint was started in")}},
        "invocations": [
            {
                "executionSuccessful": not outcome.problems,
                "toolExecutionNotifications": [_notification(problem) for problem in outcome.problems],
            }
        ],
        "results": [
            {
                **_result(diagnostic, named[diagnostic], indices, outcome),
                **_standing(silenced.get(diagnostic), has_baseline=outcome.has_baseline),
            }
            for diagnostic in outcome.everything()
        ],
    }
    return text_of({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]})


def _rule(rule: RuleText) -> dict[str, object]:
    found: dict[str, object] = {
        "id": rule.code,
        "name": rule.rule,
        "shortDescription": {"text": rule.summary},
        "fullDescription": {"text": rule.description or rule.summary},
        "help": {"text": rule.documentation, "markdown": rule.documentation},
        "defaultConfiguration": {"level": rule.severity.value},
        "properties": {
            "tags": ["pytorch", "device", category_of(rule.code)],
            "precision": "medium" if rule.opt_in else "high",
            "problem.severity": rule.severity.value,
        },
    }
    return found if rule.page is None else {**found, "helpUri": rule.page}


def _result(diagnostic: Diagnostic, fingerprint: str, indices: dict[str, int], outcome: Outcome) -> dict[str, object]:
    sentences = [in_its_cell(diagnostic.place, diagnostic.message)]
    if diagnostic.pytorch:
        sentences.append(f"PyTorch says: {diagnostic.pytorch}")
    if diagnostic.advice:
        sentences.append(f"Help: {diagnostic.advice}")
    result: dict[str, object] = {"ruleId": diagnostic.code}
    if diagnostic.code in indices:
        result["ruleIndex"] = indices[diagnostic.code]
    result |= {
        "level": diagnostic.severity.value,
        "message": _message("\n".join(sentences)),
        "locations": [{"physicalLocation": _physical(diagnostic.place, outcome)}],
        "rank": _RANKS[diagnostic.certainty],
        "partialFingerprints": {"devlint/v1": fingerprint},
        "properties": {"certainty": diagnostic.certainty.value},
    }
    if diagnostic.fix is not None and diagnostic.place.cell is None:
        result["fixes"] = [_fix(diagnostic.place.file, diagnostic.fix)]
    if diagnostic.related:
        result["relatedLocations"] = [
            {"id": number, **_step(step, outcome)} for number, step in enumerate(diagnostic.related, start=1)
        ]
        result["codeFlows"] = [{"threadFlows": _flows(diagnostic, outcome)}]
    return result


def _fix(file: str, fix: Fix) -> dict[str, object]:
    replacements = [
        {"deletedRegion": _region(edit.place), "insertedContent": {"text": edit.text}} for edit in fix.edits
    ]
    changes = [{"artifactLocation": _artifact(file), "replacements": replacements}]
    return {"description": _message(fix.message), "artifactChanges": changes}


def _standing(silenced: Silenced | None, *, has_baseline: bool) -> dict[str, object]:
    """Return what marks a result as suppressed, or as known from a baseline."""
    standing: dict[str, object] = {}
    in_baseline = silenced is not None and silenced.by is Silencer.BASELINE
    if has_baseline:
        standing["baselineState"] = "unchanged" if in_baseline else "new"
    standing["suppressions"] = []
    if silenced is not None:
        kind = "external" if in_baseline else "inSource"
        standing["suppressions"] = [{"kind": kind, "status": "accepted", "justification": silenced.reason}]
    return standing


def _flows(diagnostic: Diagnostic, outcome: Outcome) -> list[dict[str, object]]:
    """Return the way of each value to the place where they meet; what belongs to no value is on all ways."""
    here = Related(diagnostic.place, diagnostic.message)
    values = list(dict.fromkeys(step.value for step in diagnostic.related if step.value)) or [""]
    return [
        {
            "id": value or diagnostic.rule,
            "locations": [{"location": _step(step, outcome)} for step in (*_way(value, diagnostic.related), here)],
        }
        for value in values
    ]


def _way(value: str, steps: Iterable[Related]) -> list[Related]:
    return [step for step in steps if step.value in (value, "")]


def _step(step: Related, outcome: Outcome) -> dict[str, object]:
    message = _message(in_its_cell(step.place, step.message))
    return {"physicalLocation": _physical(step.place, outcome), "message": message}


def _physical(place: Place, outcome: Outcome) -> dict[str, object]:
    line, end_line = outcome.file_lines(place)
    region = _region(place) if place.cell is None else {"startLine": line, "endLine": end_line}
    return {"artifactLocation": _artifact(place.file), "region": region}


def _region(place: Place) -> dict[str, object]:
    return {
        "startLine": place.line,
        "startColumn": place.column,
        "endLine": place.end_line,
        "endColumn": place.end_column,
    }


def _artifact(file: str) -> dict[str, object]:
    """Return the file as a URI: below the root relative to it, elsewhere absolute, for a base may not be left."""
    path = PurePosixPath(file)
    if path.is_absolute() or ".." in path.parts:
        return {"uri": Path(os.path.abspath(file)).as_uri()}
    return {"uri": quote(os.fsencode(file)), "uriBaseId": _ROOT}


def _notification(problem: DevlintError) -> dict[str, object]:
    found: dict[str, object] = {"level": "error", "message": _message(problem.message)}
    if problem.path is not None:
        location: dict[str, object] = {"artifactLocation": _artifact(problem.path)}
        if problem.line is not None:
            location["region"] = {"startLine": problem.line}
        found["locations"] = [{"physicalLocation": location}]
    return found


def _message(text: str) -> dict[str, object]:
    """Return a message whose text stands for itself: `{0}` would be a placeholder, `[a](b)` a link."""
    return {"text": text.replace("{", "{{").replace("}", "}}").replace("](", "\\](")}
