"""What the installed rules declare is kept as long as their packages are what they were, and never trusted blindly."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from devlint.cache import rules
from devlint.cache.rules import declarations
from devlint.registry import load_rules, rule_of
from devlint.rule import Rule

DECLARED = tuple(rule.declaration() for rule in load_rules())


def _refuse(packages: tuple[str, ...]) -> tuple[type[Rule], ...]:
    raise AssertionError("the rules were loaded")


def test_a_declaration_leads_to_its_rule() -> None:
    assert [rule_of(one) for one in DECLARED] == list(load_rules())


def test_a_second_run_loads_no_rule(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert declarations(tmp_path) == DECLARED
    monkeypatch.setattr(rules, "load_rules", _refuse)
    assert declarations(tmp_path) == DECLARED


def test_another_state_of_a_package_is_looked_at_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    declarations(tmp_path)
    monkeypatch.setattr(rules, "load_rules", _refuse)
    monkeypatch.setattr(rules, "state_of", lambda package: "changed")
    with pytest.raises(AssertionError, match="loaded"):
        declarations(tmp_path)


@pytest.mark.parametrize("spoil", ["", "{}", "[[]]", "[" * 100_000, "elsewhere"])
def test_what_is_spoilt_or_names_another_module_is_as_good_as_absent(tmp_path: Path, spoil: str) -> None:
    declarations(tmp_path)
    (file,) = tmp_path.iterdir()
    kept = file.read_text()
    if spoil == "elsewhere":
        spoil = kept.replace(json.dumps(DECLARED[0].module), '"antigravity"')
        assert spoil != kept
    file.write_text(spoil)
    assert declarations(tmp_path) == DECLARED
    assert file.read_text() == kept


def test_a_place_that_cannot_be_written_is_no_reason_to_fail(tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("no folder")
    assert declarations(tmp_path / "cache") == DECLARED
