"""A summary applied equals the body executed with the caller's values; faults in the substitution are seen."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from devlint.inference.calls import apply, substitution
from devlint.inference.calls.substitution import Substitution
from devlint.inference.state.summary import Effect
from devlint.inference.values.data import Requirement
from devlint.inference.values.tensors import CPU, Tensor, tensor
from devlint.inference.values.terms import DEVICE, TRUE, UNKNOWN, Symbol, Value

from tests.inference.in_place import difference


def test_a_summary_applied_equals_the_body_executed() -> None:
    assert [text for text, _ in (difference(541_131, number) for number in range(60)) if text] == []


def _devices_are_the_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    original = Substitution._of_symbol

    def of_symbol(self: Substitution, value: Symbol) -> Value:
        return CPU if value.field is DEVICE else original(self, value)

    monkeypatch.setattr(Substitution, "_of_symbol", of_symbol)


def _ranks_are_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    original = Substitution._put_in

    def put_in(self: Substitution, value: Value) -> Value:
        found = original(self, value)
        return tensor(found.device, UNKNOWN, found.owner, found.source) if isinstance(found, Tensor) else found

    monkeypatch.setattr(Substitution, "_put_in", put_in)


def _effects_are_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    def write(frame: object, effect: Effect) -> None:
        return

    monkeypatch.setattr(apply, "_write", write)


def _conditions_are_true(monkeypatch: pytest.MonkeyPatch) -> None:
    original = Substitution.requirement

    def requirement(self: Substitution, one: Requirement) -> Requirement | None:
        return original(self, one._replace(conditions=(TRUE,)))

    monkeypatch.setattr(Substitution, "requirement", requirement)


def _attributes_are_those_of_the_entry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(substitution, "field_of", lambda frame, base, field, span: UNKNOWN)


FAULTS = (
    _devices_are_the_cpu,
    _ranks_are_lost,
    _effects_are_lost,
    _conditions_are_true,
    _attributes_are_those_of_the_entry,
)


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.__name__.strip("_"))
def test_a_fault_in_the_substitution_is_seen(fault: Callable[[pytest.MonkeyPatch], None]) -> None:
    def shows_the_fault(number: int) -> bool:
        with pytest.MonkeyPatch.context() as monkeypatch:
            fault(monkeypatch)
            text, _ = difference(7, number)
        return bool(text) and not difference(7, number)[0]

    assert any(map(shows_the_fault, range(1000)))
