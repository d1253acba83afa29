"""What is said in several places agrees: rules, fixtures, tables of rules, changelog and version."""

from __future__ import annotations

import functools
import re
from pathlib import Path

import pytest
from devlint import __version__, engine
from devlint.diagnostics import Diagnostic
from devlint.registry import load_rules
from devlint.rule import Rule
from devlint.selection import ALWAYS
from devlint.settings import Settings
from devlint_rules.support.messages import LEADS_THERE

from tests.conftest import REPOSITORY
from tests.expectations import Kind, read

FIXTURES = REPOSITORY / "fixtures" / "rules"
RULES = load_rules()
ABOUT_PROGRAMS = [rule for rule in RULES if rule.code not in ALWAYS]


def _folder(rule: type[Rule]) -> Path:
    return FIXTURES / rule.name.replace("-", "_")


def _name(value: object) -> str | None:
    return value.name if isinstance(value, type) and issubclass(value, Rule) else None


def _rows(file: str) -> list[tuple[str, str]]:
    """Code and name in each row of a table of rules; the name may be a link or code."""
    text = (REPOSITORY / file).read_text(encoding="utf-8")
    return re.findall(r"^\| *`?([A-Z]{2,}\d{3,})`? *\| *[`\[]*([a-z0-9-]+)", text, flags=re.MULTILINE)


@functools.cache
def _reports() -> list[Diagnostic]:
    """Every diagnostic of every rule in the fixtures of all rules."""
    run = engine.run(Settings((str(FIXTURES),), select=("ALL",), isolated=True))
    assert not run.problems
    return list(run.outcome.diagnostics)


def _conflicts() -> list[Diagnostic]:
    """Those about two values."""
    return [found for found in _reports() if found.code.startswith("DEV1")]


def test_every_rule_has_a_folder_of_fixtures_and_every_folder_a_rule() -> None:
    folders = {path for path in FIXTURES.iterdir() if path.is_dir()}
    assert folders == {_folder(rule) for rule in ABOUT_PROGRAMS}


@pytest.mark.parametrize("rule", ABOUT_PROGRAMS, ids=_name)
def test_every_rule_has_programs_that_it_reports_and_that_it_leaves_alone(rule: type[Rule]) -> None:
    fixtures = [read(file) for file in sorted(_folder(rule).rglob("*.py"))]
    kinds = {program.kind for fixture in fixtures for program in fixture.programs}

    assert {Kind.BAD, Kind.OK} <= kinds
    assert rule.name in {claim.rule for fixture in fixtures for claim in fixture.errors}


@pytest.mark.parametrize("rule", ABOUT_PROGRAMS, ids=_name)
def test_fixtures_of_a_rule_speak_of_that_rule(rule: type[Rule]) -> None:
    for file in sorted(_folder(rule).rglob("*.py")):
        fixture = read(file)
        missed = [claim for program in fixture.programs for claim in program.missed]
        assert {claim.rule for claim in [*fixture.errors, *missed]} <= {rule.name}, file


def test_the_table_of_rules_has_every_rule_once() -> None:
    assert _rows("rules/README.md") == [(rule.code, rule.name) for rule in RULES]


def test_no_rule_reports_a_program_of_another_rule_that_is_ok() -> None:
    """PyTorch is content with these programs; what speaks of other machines or of speed may speak of them."""
    silent = {rule.name for rule in RULES if rule.opt_in or rule.code in ("DEV301", "DEV302")}
    programs = {file: read(file).programs for file in FIXTURES.rglob("*.py")}
    wrong = {
        (found.place.file, str(program.name), found.rule)
        for found in _reports()
        for program in programs[Path(found.place.file).resolve()]
        if found.rule not in silent and program.kind is Kind.OK and program.line <= found.place.line <= program.end_line
    }
    assert not wrong


def test_newest_entry_of_the_changelog_is_this_version() -> None:
    text = (REPOSITORY / "CHANGELOG.md").read_text(encoding="utf-8")
    versions = re.findall(r"^## \[?(\d[^\s\]]*)", text, flags=re.MULTILINE)

    assert versions[0] == __version__
    assert len(versions) == len(set(versions))


def test_rules_came_with_versions_of_the_changelog() -> None:
    text = (REPOSITORY / "CHANGELOG.md").read_text(encoding="utf-8")
    assert {rule.since for rule in RULES} <= set(re.findall(r"^## \[?(\d[^\s\]]*)", text, flags=re.MULTILINE))


def test_every_report_of_two_values_shows_both_and_how_they_came_there() -> None:
    found = _conflicts()
    assert {diagnostic.rule for diagnostic in found} == {r.name for r in RULES if r.code.startswith("DEV1")}
    incomplete = []
    for diagnostic in found:
        labels = [label for label in diagnostic.labels if label.text != LEADS_THERE]
        devices = {label.text for label in labels}
        named = all(text in diagnostic.message for text in devices)
        # Where both are parts of one expression, the steps that lead to them have to tell them apart.
        places = {label.place for label in labels}
        steps = {(related.place, related.message) for related in diagnostic.related}
        told = len(places) == 2 or len(steps) >= 3
        if not (len(labels) == len(devices) == 2 and named and told and len(diagnostic.related) >= 2):
            incomplete.append(f"{diagnostic.place.file}:{diagnostic.place.line}: {diagnostic.message}")
    assert incomplete == []


def test_every_report_of_two_values_quotes_pytorch_and_says_what_to_do() -> None:
    silent = [found for found in _conflicts() if not (found.pytorch and found.advice)]
    assert silent == []
