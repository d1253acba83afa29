"""The formats for programs: whatever a file, a value or a message is called, each can be read back."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from urllib.parse import unquote
from xml.etree import ElementTree

import jsonschema
import pytest
from devlint.diagnostics import (
    Certainty,
    Diagnostic,
    Edit,
    Fix,
    Place,
    Related,
    RuleText,
    Safety,
    Severity,
    Silenced,
    Silencer,
)
from devlint.errors import SourceError
from devlint.report import FORMATS, Outcome, Palette
from hypothesis import given
from hypothesis import strategies as st

SCHEMA = json.loads((Path(__file__).parent / "schemas" / "sarif-schema-2.1.0.json").read_text(encoding="utf-8"))
SARIF = jsonschema.Draft4Validator(SCHEMA, format_checker=jsonschema.FormatChecker())

HOSTILE = "a\n::error file=b::c\r\n<x>&\"',{0}[a](b)]]>%0A\x1b[31m\u2028\u202e\0.py"
NAMES = st.one_of(st.just(HOSTILE), st.text(st.characters(codec="utf-8"), min_size=1, max_size=20))


@st.composite
def outcomes(draw: st.DrawFn) -> Outcome:
    """Runs that say something of files, values and devices with any names."""

    def place(file: str) -> Place:
        line, column = draw(st.integers(1, 9)), draw(st.integers(1, 9))
        return Place(file, line, column, line + draw(st.integers(0, 1)), column + 1)

    def diagnostic() -> Diagnostic:
        file = draw(NAMES)
        return Diagnostic(
            "DEV101",
            "mixed-device-operands",
            draw(st.sampled_from(Severity)),
            draw(st.sampled_from(Certainty)),
            draw(NAMES),
            place(file),
            related=tuple(
                Related(place(draw(NAMES)), draw(NAMES), draw(st.sampled_from(("", "a", "b"))))
                for _ in range(draw(st.integers(0, 3)))
            ),
            pytorch=draw(st.none() | NAMES),
            advice=draw(st.none() | NAMES),
            fix=draw(st.none() | st.just(Fix(Safety.SAFE, draw(NAMES), (Edit(place(file), draw(NAMES)),)))),
        )

    rule = RuleText("DEV101", "mixed-device-operands", Severity.ERROR, draw(NAMES), draw(NAMES))
    shown = tuple(sorted((diagnostic() for _ in range(draw(st.integers(0, 3)))), key=lambda one: one.sort_key))
    silenced = [Silenced(diagnostic(), draw(st.sampled_from(Silencer)), draw(NAMES))] * draw(st.integers(0, 1))
    return Outcome(
        shown,
        files=3,
        seconds=0.1,
        silenced=[one for one in silenced if one.diagnostic not in shown],  # no report is both
        has_baseline=draw(st.booleans()),
        problems=tuple(
            SourceError(draw(NAMES), path=draw(st.none() | NAMES), line=draw(st.none() | st.integers(1, 9)))
            for _ in range(draw(st.integers(0, 2)))
        ),
        rule_texts=lambda: {"DEV101": rule},
    )


def render(outcome: Outcome, name: str) -> str:
    return FORMATS[name](outcome, Palette(False))


def _sarif_keeps_its_schema(outcome: Outcome) -> None:
    log = json.loads(render(outcome, "sarif"))
    assert [error.message for error in SARIF.iter_errors(log)] == []
    (run,) = log["runs"]
    assert len(run["results"]) == len(outcome.diagnostics) + len(outcome.silenced)
    assert sum(bool(result["suppressions"]) for result in run["results"]) == len(outcome.silenced)
    assert len(run["invocations"][0]["toolExecutionNotifications"]) == len(outcome.problems)


def test_the_schema_does_refuse_something() -> None:
    log = json.loads(render(Outcome((), 0, 0.0), "sarif"))
    log["runs"][0]["columnKind"] = "bytes"
    assert list(SARIF.iter_errors(log)) != []


def _jsonl_is_one_object_a_line(outcome: Outcome) -> None:
    rows = [json.loads(line) for line in render(outcome, "jsonl").split("\n")[:-1]]
    diagnostics, problems = (json.loads(render(outcome, "json"))[key] for key in ("diagnostics", "problems"))
    assert rows == diagnostics + problems


def _github_has_one_command_a_line(outcome: Outcome) -> None:
    """No name can end a command or begin another one, nor a property or its neighbour."""
    text = render(outcome, "github")
    commands = text.splitlines()
    assert len(commands) == len(outcome.diagnostics) + len(outcome.problems)
    for command in commands:
        found = re.fullmatch(r"::(error|warning) ((?:\w+=[^,:]*,)*\w+=[^,:]*)::(.*)", command)
        assert found, command
        keys = [entry.partition("=")[0] for entry in found[2].split(",")]
        assert set(keys) <= {"file", "line", "endLine", "col", "endColumn", "title"}
        assert len(set(keys)) == len(keys)


def _gitlab_has_what_code_quality_needs(outcome: Outcome) -> None:
    issues = json.loads(render(outcome, "gitlab"))
    assert len(issues) == len(outcome.diagnostics) + len(outcome.problems)
    for issue in issues:
        assert set(issue) == {"type", "description", "check_name", "categories", "fingerprint", "severity", "location"}
        assert issue["categories"] in (["Bug Risk"], ["Compatibility"], ["Performance"], ["Clarity"])
        assert issue["severity"] in ("info", "minor", "major", "critical", "blocker")
        assert issue["location"]["lines"]["begin"] >= 1


def _junit_is_xml_and_counts_what_it_holds(outcome: Outcome) -> None:
    root = ElementTree.fromstring(render(outcome, "junit"))
    assert len(list(root.iter("failure"))) == len(outcome.diagnostics) == int(root.attrib["failures"])
    assert len(list(root.iter("error"))) == len(outcome.problems) == int(root.attrib["errors"])
    assert sum(int(suite.attrib["tests"]) for suite in root) == int(root.attrib["tests"]) >= 1


@given(outcomes())
def test_each_format_can_be_read_back(outcome: Outcome) -> None:
    """One outcome for all of them: to make it up takes longer than to write and read it."""
    _sarif_keeps_its_schema(outcome)
    _jsonl_is_one_object_a_line(outcome)
    _github_has_one_command_a_line(outcome)
    _gitlab_has_what_code_quality_needs(outcome)
    _junit_is_xml_and_counts_what_it_holds(outcome)


ALL_FORMATS = """\
import sys
from dataclasses import replace
from devlint import engine
from devlint.report import FORMATS, Palette
from devlint.settings import Settings

outcome = replace(engine.run(Settings(("fixtures/showcase",), isolated=True)).outcome, seconds=0.0)
print(*(render(outcome, Palette(True)) for render in FORMATS.values()))
"""


def test_every_process_writes_the_same_bytes(in_repository: Path) -> None:
    texts = {
        subprocess.run(
            [sys.executable, "-c", ALL_FORMATS],
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(sys.path)},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(texts) == 1
    assert texts.pop().count(b"DEV401") >= len(FORMATS)


def _two_stories() -> Outcome:
    def step(line: int, message: str, value: str = "") -> Related:
        return Related(Place("a.py", line, 1, line, 2), message, value)

    related = (step(1, "x begins", "x"), step(2, "x moves", "x"), step(3, "y begins", "y"), step(4, "is called"))
    place = Place("a.py", 5, 1, 5, 2)
    diagnostic = Diagnostic("DEV101", "r", Severity.ERROR, Certainty.CERTAIN, "meet", place, related=related)
    return Outcome((diagnostic,), 1, 0.0)


def test_sarif_tells_the_story_of_each_value_to_the_place_where_they_meet() -> None:
    (result,) = json.loads(render(_two_stories(), "sarif"))["runs"][0]["results"]
    flows = {
        flow["id"]: [step["location"]["message"]["text"] for step in flow["locations"]]
        for flow in result["codeFlows"][0]["threadFlows"]
    }
    assert flows == {
        "x": ["x begins", "x moves", "is called", "meet"],
        "y": ["y begins", "is called", "meet"],
    }
    assert [location["id"] for location in result["relatedLocations"]] == [1, 2, 3, 4]


@pytest.mark.parametrize(
    ("file", "base"),
    [("src/a b%.py", True), ("ä.py", True), ("../other/a.py", False), ("/abs/a.py", False)],
)
def test_sarif_names_files_by_uri(file: str, base: bool) -> None:
    place = Place(file, 1, 1, 1, 2)
    outcome = Outcome((Diagnostic("DEV101", "r", Severity.ERROR, Certainty.CERTAIN, "m", place),), 1, 0.0)
    (result,) = json.loads(render(outcome, "sarif"))["runs"][0]["results"]
    artifact = result["locations"][0]["physicalLocation"]["artifactLocation"]

    assert ("uriBaseId" in artifact) is base
    if base:
        assert unquote(artifact["uri"]) == file
    else:
        assert artifact["uri"].startswith("file:///")
        assert ".." not in artifact["uri"]


def test_sarif_messages_have_no_placeholders_and_no_links() -> None:
    place = Place("a.py", 1, 1, 1, 2)
    outcome = Outcome((Diagnostic("DEV101", "r", Severity.ERROR, Certainty.CERTAIN, "{0} [a](b)", place),), 1, 0.0)
    (result,) = json.loads(render(outcome, "sarif"))["runs"][0]["results"]
    assert result["message"]["text"] == "{{0}} [a\\](b)"
