"""Every rule documents itself: headings, names, examples that run, and its row in the table of rules."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest
from devlint.registry import load_rules
from devlint.rule import HEADINGS, Rule

from tests.conftest import REPOSITORY, Expect
from tests.expectations import Kind, parse
from tests.judge import Judge
from tests.rules.examples import examples

RULES = load_rules()
WITH_PROGRAMS = [rule for rule in RULES if rule.wants]


def _name(value: object) -> str | None:
    return value.name if isinstance(value, type) and issubclass(value, Rule) else None


@pytest.mark.parametrize("rule", RULES, ids=_name)
def test_headings_are_complete_and_in_order(rule: type[Rule]) -> None:
    assert tuple(rule.sections()) == HEADINGS
    assert all(text.strip() for text in rule.sections().values())


@pytest.mark.parametrize("rule", RULES, ids=_name)
def test_file_class_and_rule_have_one_name(rule: type[Rule]) -> None:
    file = rule.__module__.rpartition(".")[2]
    camel = "".join(part.capitalize() for part in rule.name.split("-"))

    assert file == rule.name.replace("-", "_")
    assert rule.__name__ == camel


@pytest.mark.parametrize("rule", RULES, ids=_name)
def test_summary_is_one_sentence(rule: type[Rule]) -> None:
    assert re.fullmatch(r"Reports [^\n]*\.", rule.summary())


@pytest.mark.parametrize("rule", WITH_PROGRAMS, ids=_name)
def test_example_is_bad_and_the_remedy_is_not(rule: type[Rule]) -> None:
    example, remedy = examples(rule)
    (bad,) = parse(example, Path("example.py")).programs
    (good,) = parse(remedy, Path("use_instead.py")).programs

    assert {claim.rule for claim in bad.errors} == {rule.name}
    assert good.kind is Kind.OK


@pytest.mark.parametrize("rule", WITH_PROGRAMS, ids=_name)
def test_pytorch_raises_at_the_example_and_not_at_the_remedy(rule: type[Rule], judge: Judge) -> None:
    example, remedy = examples(rule)
    (claim,) = parse(example, Path("example.py")).programs[0].errors

    on_claimed_machine = judge.run(code=example, devices=4 if claim.devices is None else claim.devices)
    assert on_claimed_machine.outcome != "ok"
    assert judge.run(code=remedy, devices=4).outcome == "ok"
    if claim.devices is not None:
        assert judge.run(code=remedy, devices=claim.devices).outcome == "ok"
    if claim.moment.value == "here":
        assert claim.line in on_claimed_machine.stack


@pytest.mark.parametrize("rule", WITH_PROGRAMS, ids=_name)
def test_documented_message_is_what_pytorch_says(rule: type[Rule], judge: Judge) -> None:
    example = examples(rule)[0]
    (claim,) = parse(example, Path("example.py")).programs[0].errors
    documented = rule.sections()["PyTorch says"].splitlines()[-1].strip()

    said = judge.run(code=example, devices=4 if claim.devices is None else claim.devices).message or ""
    assert documented.partition(": ")[2] in said


@pytest.mark.parametrize("rule", [rule for rule in RULES if not rule.wants], ids=_name)
def test_rule_of_the_engine_has_no_programs(rule: type[Rule]) -> None:
    assert examples(rule) == []
    assert rule.code.startswith("DEV9")


def test_example_of_a_syntax_error_is_one() -> None:
    (rule,) = [rule for rule in RULES if rule.name == "syntax-error"]
    with pytest.raises(SyntaxError):
        ast.parse(rule.sections()["Example"])


def test_every_rule_has_a_fixtures_folder_and_every_folder_a_rule() -> None:
    folders = {path.name for path in (REPOSITORY / "fixtures" / "rules").iterdir() if path.is_dir()}

    assert folders == {rule.name.replace("-", "_") for rule in WITH_PROGRAMS}


def test_table_of_rules(expect: Expect) -> None:
    readme = REPOSITORY / "rules" / "README.md"
    text = readme.read_text(encoding="utf-8")
    before, marker, _ = text.partition("| code |")
    assert marker, "the table of rules is missing"

    rows = [f"| {rule.code} | {rule.name} | {rule.severity.value} | {rule.summary()} |" for rule in RULES]
    table = "\n".join(["| code | name | severity | what it does |", "| --- | --- | --- | --- |", *rows])
    expect(readme, f"{before}{table}\n")
