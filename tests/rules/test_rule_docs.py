"""Every rule documents itself: headings, names, examples that run, and its row in the table of rules."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from devlint import engine
from devlint.diagnostics import Diagnostic
from devlint.facts import Conflict
from devlint.registry import load_rules
from devlint.rule import Rule
from devlint.settings import Settings

from tests import agreement
from tests.conftest import REPOSITORY, Expect
from tests.expectations import Fixture, Kind, Moment, Program, read
from tests.judge import Judge, Verdict
from tests.rules.examples import PROGRAM_HEADINGS, examples

RULES = load_rules()
WITH_PROGRAMS = [rule for rule in RULES if rule.wants or rule.mentions]
WITH_TWO_VALUES = [rule for rule in RULES if Conflict in rule.wants]


Documented = Callable[[str, type[Rule]], Fixture]
"""Gives the program under a heading of a rule, written to a file and read as a fixture."""


@pytest.fixture
def documented(tmp_path: Path) -> Documented:
    def write(heading: str, rule: type[Rule]) -> Fixture:
        file = tmp_path / f"{heading.lower().replace(' ', '_')}.py"
        file.write_text(examples(rule)[PROGRAM_HEADINGS.index(heading)], encoding="utf-8")
        return read(file)

    return write


def _report(rule: type[Rule], fixture: Fixture) -> tuple[Diagnostic, ...]:
    """What devlint reports when it is asked for that rule alone."""
    run = engine.run(Settings((str(fixture.path),), select=(rule.code,), isolated=True))
    assert not run.problems
    return tuple(run.outcome.diagnostics)


def _runs(judge: Judge) -> Callable[[Fixture], Callable[[Program, int], Verdict]]:
    """Runs the program of a fixture as a script, as somebody who copies it would."""
    return lambda fixture: lambda _, devices: judge.run(file=fixture.path, devices=devices)


def _machines(program: Program) -> set[int]:
    """The machines on which the claims of a program hold."""
    return {program.devices if claim.devices is None else claim.devices for claim in program.errors}


def _name(value: object) -> str | None:
    return value.name if isinstance(value, type) and issubclass(value, Rule) else None


@pytest.mark.parametrize("rule", RULES, ids=_name)
def test_headings_are_complete_and_in_order(rule: type[Rule]) -> None:
    assert rule.undocumented() == ""


@pytest.mark.parametrize("rule", RULES, ids=_name)
def test_file_class_and_rule_have_one_name(rule: type[Rule]) -> None:
    file = rule.__module__.rpartition(".")[2]
    camel = "".join(part.capitalize() for part in rule.name.split("-"))

    assert file == rule.name.replace("-", "_")
    assert rule.__name__ == camel


@pytest.mark.parametrize("rule", RULES, ids=_name)
def test_summary_is_one_sentence(rule: type[Rule]) -> None:
    assert re.fullmatch(r"Reports [^\n]*\.", rule.summary())


@pytest.mark.parametrize("rule", RULES, ids=_name)
def test_the_title_fits_into_a_list(rule: type[Rule]) -> None:
    assert rule.title() != rule.summary().rstrip(".")
    assert len(rule.title()) <= 57


@pytest.mark.parametrize("rule", WITH_PROGRAMS, ids=_name)
def test_example_is_bad_and_the_remedy_is_not(rule: type[Rule], documented: Documented) -> None:
    (bad,) = documented("Example", rule).programs
    (good,) = documented("Use instead", rule).programs

    assert {claim.rule for claim in bad.errors} == {rule.name}
    assert good.kind is Kind.OK


@pytest.mark.parametrize("heading", PROGRAM_HEADINGS)
@pytest.mark.parametrize("rule", WITH_PROGRAMS, ids=_name)
def test_devlint_reports_the_marked_lines_and_no_other(rule: type[Rule], heading: str, documented: Documented) -> None:
    fixture = documented(heading, rule)
    assert agreement.surprises(fixture, _report(rule, fixture)) == []


@pytest.mark.parametrize("rule", WITH_TWO_VALUES, ids=_name)
def test_report_of_the_example_tells_of_both_values(rule: type[Rule], documented: Documented) -> None:
    for diagnostic in _report(rule, documented("Example", rule)):
        one, other = diagnostic.labels
        assert one.text != other.text
        assert len({step.place for step in diagnostic.related}) >= 2


@pytest.mark.parametrize("rule", WITH_PROGRAMS, ids=_name)
def test_pytorch_raises_at_the_example_and_not_at_the_remedy(
    rule: type[Rule], documented: Documented, judge: Judge
) -> None:
    execute = _runs(judge)
    example, remedy = documented("Example", rule), documented("Use instead", rule)
    (bad,), (good,) = example.programs, remedy.programs

    assert agreement.disagreements(example, bad, execute(example)) == []
    assert agreement.disagreements(remedy, good, execute(remedy)) == []
    assert [execute(remedy)(good, machine).outcome for machine in _machines(bad)] == ["ok"]


@pytest.mark.parametrize("rule", WITH_PROGRAMS, ids=_name)
def test_documented_message_is_what_pytorch_says(rule: type[Rule], documented: Documented, judge: Judge) -> None:
    example = documented("Example", rule)
    (program,) = example.programs
    (machine,) = _machines(program)
    text = rule.sections()["PyTorch says"].splitlines()[-1].strip()
    if all(claim.moment is Moment.NEVER for claim in program.errors):
        assert rule.sections()["PyTorch says"].startswith("Nothing")
        return
    exception, _, message = text.partition(": ")
    said = _runs(judge)(example)(program, machine)

    assert message in (said.message or "")
    assert str(said.exception).rpartition(".")[2] == exception


@pytest.mark.parametrize("rule", [rule for rule in RULES if rule not in WITH_PROGRAMS], ids=_name)
def test_rule_of_the_engine_has_no_programs(rule: type[Rule]) -> None:
    assert examples(rule) == []
    assert rule.code.startswith("DEV9")


def test_example_of_a_syntax_error_is_one() -> None:
    (rule,) = [rule for rule in RULES if rule.name == "syntax-error"]
    with pytest.raises(SyntaxError):
        ast.parse(rule.sections()["Example"])


def test_table_of_rules(expect: Expect) -> None:
    readme = REPOSITORY / "rules" / "README.md"
    text = readme.read_text(encoding="utf-8")
    before, marker, after = text.partition("| code |")
    assert marker, "the table of rules is missing"

    rows = [f"| {rule.code} | {rule.name} | {rule.standing()} | {rule.title()} |" for rule in RULES]
    table = "\n".join(["| code | name | severity | problem |", "| --- | --- | --- | --- |", *rows])
    expect(readme, f"{before}{table}{after[after.index(chr(10) * 2) :]}")
