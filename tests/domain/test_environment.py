"""Joining environments: what both paths know, and why the path with an accelerator wins."""

from __future__ import annotations

from dataclasses import replace

import pytest
from devlint.domain.device import CPU, UNKNOWN_DEVICE, Concrete, Variable
from devlint.domain.environment import Environment, join, under_assumptions
from devlint.domain.heap import Heap, LibraryObject, ListObject
from devlint.domain.place import AccessPath
from devlint.domain.process import Process
from devlint.domain.value import TEXT, UNKNOWN, Constant, DeviceValue, Opaque, Reference, Tensor, Value
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.domain import samples
from tests.domain.samples import HERE, IDS

GPU = Concrete("cuda", 0)
X, Y, Z = Variable(AccessPath("x")), Variable(AccessPath("y")), Variable(AccessPath("z"))
QUICK = settings(max_examples=80, deadline=None, derandomize=True)


def _joined(left: Environment, right: Environment) -> Environment:
    result = join(left, right)
    assert result is not None
    return result


def test_the_unreached_side_adds_nothing() -> None:
    env = Environment({"x": Constant(1)}, checked=True)
    assert join(None, None) is None
    for joined in (join(None, env), join(env, None)):
        assert joined == env
        assert joined is not env
        joined.names["x"] = UNKNOWN
    assert env.names == {"x": Constant(1)}


def test_names_join_and_one_bound_on_one_side_is_kept() -> None:
    left = Environment({"x": Tensor(CPU, 1), "y": Constant(1)})
    right = Environment({"x": Tensor(GPU, 1), "z": Constant(2)})
    names = {"x": Tensor(UNKNOWN_DEVICE, 1), "y": Constant(1), "z": Constant(2)}
    assert _joined(left, right).names == names


def test_what_was_made_sure_of_holds_only_if_both_paths_did() -> None:
    sure, unsure = Environment(checked=True, always=True), Environment(checked=False, always=False)
    assert _joined(sure, sure).checked
    assert not _joined(sure, unsure).checked
    assert not _joined(sure, unsure).always


def test_the_current_and_the_default_device_are_kept_only_if_equal() -> None:
    joined = _joined(Environment(current=1, default=CPU), Environment(current=0, default=GPU))
    assert joined.current is None
    assert joined.default == UNKNOWN_DEVICE
    assert _joined(Environment(current=1), Environment(current=1)).current == 1


def test_assumptions_hold_only_if_both_paths_make_them() -> None:
    left, right = Environment(assumptions={X: GPU, Y: CPU}), Environment(assumptions={X: GPU, Y: GPU})
    assert _joined(left, right).assumptions == {X: GPU}


@pytest.mark.parametrize("swapped", [False, True])
def test_the_path_with_an_accelerator_wins(swapped: bool) -> None:
    found = Environment(
        {"device": Constant("cuda", False, HERE), "n": Constant(3)}, Heap({IDS[0]: ListObject(())}), current=1
    )
    missing = Environment({"device": Constant("cpu"), "n": Constant(3), "why": TEXT}, fallback=True)
    joined = _joined(missing, found) if swapped else _joined(found, missing)
    assert joined.names == {"device": Constant("cuda", True), "n": Constant(3), "why": TEXT}
    assert joined.heap == {IDS[0]: ListObject(())}
    assert (joined.fallback, joined.current) == (False, 1)


def test_a_choice_marks_only_what_it_chose() -> None:
    found = Environment({"a": DeviceValue(GPU), "x": Tensor(GPU, 1)})
    missing = Environment({"a": DeviceValue(GPU), "x": Tensor(CPU, 1)}, fallback=True)
    assert _joined(found, missing).names == {"a": DeviceValue(GPU), "x": Tensor(GPU, 1)}


@QUICK
@given(samples.environments(fallback=False), samples.environments(fallback=True))
def test_the_fallback_path_changes_no_value_but_only_marks_it(found: Environment, missing: Environment) -> None:
    """Weaker than the laws within one side: across the two, the join is a choice and no least upper bound."""
    joined = _joined(found, missing)
    assert samples.content(joined) == samples.content(_joined(missing, found))
    assert samples.content(_joined(joined, missing)) == samples.content(joined)
    assert not joined.fallback
    assert joined.checked == (found.checked and missing.checked)
    assert set(joined.names) == set(found.names) | set(missing.names)
    for name, value in found.names.items():
        assert _unmarked(joined.names[name]) == _unmarked(value)
    assert joined.heap == found.heap


def _unmarked(value: Value) -> Value:
    return replace(value, checked=False) if isinstance(value, (Constant, DeviceValue)) else value


@QUICK
@given(st.booleans(), samples.environments(fallback=False), samples.environments(fallback=False))
def test_a_join_leaves_its_sides_as_they_are(other: bool, left: Environment, right: Environment) -> None:
    right = replace(right, fallback=other)
    before = left.copy(), right.copy()
    joined = _joined(left, right)
    joined.names["new"] = UNKNOWN
    joined.assumptions[Z] = CPU
    joined.heap[IDS[0]] = ListObject(())
    assert (left, right) == before


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (Tensor(X, 1), Tensor(Y, 1)),
        (Opaque(AccessPath("x"), device=X), Opaque(AccessPath("x"), device=Y)),
        (Tensor(Y, 1), Tensor(Y, 1)),
        (Tensor(Z, 1), Tensor(Z, 1)),
        (Tensor(CPU, 1), Tensor(CPU, 1)),
        (Reference(IDS[0]), Reference(IDS[0])),
        (UNKNOWN, UNKNOWN),
    ],
)
def test_a_variable_found_equal_to_another_becomes_it_one_found_concrete_stays(value: Value, expected: Value) -> None:
    env = Environment(assumptions={X: Y, Y: GPU})
    assert under_assumptions(env, value) == expected


def test_a_copy_is_ones_own() -> None:
    env = Environment(
        {"x": UNKNOWN},
        Heap({IDS[0]: ListObject(())}),
        {X: CPU},
        True,
        False,
        1,
        GPU,
        Process("nccl"),
        frozenset(),
        False,
    )
    copy = env.copy()
    assert copy == env
    copy.names["y"] = UNKNOWN
    copy.heap[IDS[1]] = ListObject(())
    copy.assumptions[Y] = CPU
    assert (len(env.names), len(env.heap), len(env.assumptions)) == (1, 1, 1)


FOUND, MOVED, CHANGED = (LibraryObject("torch.nn.Linear", device, None) for device in (CPU, GPU, Concrete("cuda", 1)))
"""A module as a report finds it, as the report asks for it, and as a later move leaves it."""


def _reported() -> Environment:
    env = Environment(heap=Heap({IDS[0]: FOUND}))
    env.mend({IDS[0]: (FOUND, MOVED)})
    return env


def test_a_module_that_a_report_moves_on_one_path_has_moved_on_both() -> None:
    other = Environment(heap=Heap({IDS[0]: FOUND}))
    for joined in (_joined(_reported(), other), _joined(other, _reported())):
        assert joined.heap[IDS[0]] == MOVED
        assert joined.mended == {IDS[0]: (FOUND, MOVED)}
    assert other.heap[IDS[0]] == FOUND


def test_a_module_that_the_other_path_moves_is_not_where_the_report_asks_for_it() -> None:
    joined = _joined(_reported(), Environment(heap=Heap({IDS[0]: CHANGED})))
    assert joined.heap[IDS[0]] == replace(MOVED, device=UNKNOWN_DEVICE)


@pytest.mark.parametrize(("later", "expected"), [(MOVED, FOUND), (CHANGED, CHANGED)])
def test_a_turn_of_a_loop_begins_with_what_the_report_found(later: LibraryObject, expected: LibraryObject) -> None:
    env = _reported()
    env.heap[IDS[0]] = later
    env.undo_mends({})
    assert env.heap[IDS[0]] == expected
    assert env.mended == {}


def test_a_turn_of_a_loop_keeps_what_reports_before_the_loop_have_moved() -> None:
    env = _reported()
    env.undo_mends(env.mended)
    assert env.heap[IDS[0]] == MOVED
