"""The `junit` format: XML in which each diagnostic is a test that failed; most CI services read it."""

from __future__ import annotations

from itertools import groupby
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from devlint.diagnostics import Diagnostic, Place
from devlint.errors import DevlintError
from devlint.quoting import printable, printable_lines, printable_log
from devlint.report.outcome import Outcome


def render(outcome: Outcome) -> str:
    """Render a test suite for each file that something is said of; one test that passed if there is none."""
    root = Element("testsuites", name="devlint")
    for file, found in groupby(outcome.diagnostics, key=lambda diagnostic: diagnostic.place.file):
        suite = SubElement(root, "testsuite", name=printable(file))
        for diagnostic in found:
            _diagnostic(suite, diagnostic, outcome.file_lines(diagnostic.place)[0])
    for problem in outcome.problems:
        _problem(SubElement(root, "testsuite", name=printable(problem.path or "devlint")), problem)
    if not len(root):
        SubElement(SubElement(root, "testsuite", name="devlint"), "testcase", name="devlint", classname="devlint")
    for element in (*root, root):
        for count, tag in (("tests", "testcase"), ("failures", "failure"), ("errors", "error")):
            element.set(count, str(sum(1 for _ in element.iter(tag))))
    indent(root)
    return f'<?xml version="1.0" encoding="utf-8"?>\n{tostring(root, encoding="unicode")}\n'


def _diagnostic(suite: Element, diagnostic: Diagnostic, line: int) -> None:
    place = diagnostic.place
    case = SubElement(
        suite,
        "testcase",
        name=f"{diagnostic.code} {diagnostic.rule}",
        classname=printable(place.source),
        file=printable(place.file),
        line=str(line),
    )
    failure = SubElement(case, "failure", type=diagnostic.severity.value, message=printable(diagnostic.message))
    details = [_located(place, f"{diagnostic.code} {diagnostic.message}")]
    details += [_located(step.place, step.message) for step in diagnostic.related]
    details += [printable_lines(text) for text in (diagnostic.pytorch, diagnostic.advice) if text]
    failure.text = printable_log("\n".join(details))


def _located(place: Place, text: str) -> str:
    return printable(f"{place.source}:{place.line}:{place.column}: {text}")


def _problem(suite: Element, problem: DevlintError) -> None:
    case = SubElement(suite, "testcase", name="not analysed", classname=printable(problem.path or "devlint"))
    SubElement(case, "error", type="not analysed", message=printable(problem.message)).text = printable(str(problem))
