"""Findings: the codes agree with the linter's, and the JSON form loses nothing."""

from __future__ import annotations

import json

from devlint.explain import explain
from devlint.registry import load_rules
from devlint_guard.codes import NAMES
from devlint_guard.finding import Change, Finding, Operand, Place, Role, Step
from devlint_guard.report.json import decoded, encoded


def test_codes_that_both_halves_use_have_one_name() -> None:
    linter = {rule.code: rule.name for rule in load_rules()}
    shared = {code: name for code, name in NAMES.items() if not code.startswith("DEV6")}
    assert shared.items() <= linter.items()
    assert not [code for code in linter if code.startswith("DEV6")]


def test_every_code_of_the_guard_is_explained() -> None:
    rules = load_rules()
    for code, name in NAMES.items():
        assert explain(code, rules) == explain(name, rules)
        assert explain(code, rules).startswith(f"{code} {name} (")


def test_json_form_is_read_back() -> None:
    place = Place("train.py", 3, 5, 3, 9, "Net.forward")
    history = (Step("created on the CPU by torch.full", place), Step("moved"))
    operand = Operand("self.pe", Role.ATTRIBUTE, "cpu", "float32[3]", "model.pe", place, history, blamed=True)
    change = Change(place, "x = y", "x = y.to(z)")
    said = ("Expected", ("do",), (change,))
    finding = Finding("DEV101", "two", place, "model", "Net", (operand,), *said, True, 2, (1,), 4)
    assert decoded(Finding, json.loads(json.dumps(encoded(finding)))) == finding
    assert finding.key == ("DEV101", "model", "self.pe", place)
