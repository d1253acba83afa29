"""What is lost and what is kept where values join, case by case."""

from __future__ import annotations

import pytest
from devlint.domain.device import CPU, UNKNOWN_DEVICE, Concrete, Variable
from devlint.domain.kinds import TensorRole
from devlint.domain.place import AccessPath
from devlint.domain.value import (
    NUMBER,
    SOME_DIMENSIONS,
    TEXT,
    UNKNOWN,
    Assume,
    Constant,
    DeviceValue,
    Kind,
    Library,
    Opaque,
    Predicate,
    Present,
    Tensor,
    TupleValue,
    Value,
    chosen,
    join,
    leq,
)

from tests.domain.samples import HERE, THERE

GPU = Concrete("cuda", 0)
HOLDS = (Present(True), Assume(Variable(AccessPath("x")), GPU))


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [
        (Constant(1), Constant(2), NUMBER),
        (Constant(1), NUMBER, NUMBER),
        (Constant("cpu"), Constant("cuda"), TEXT),
        (Constant("cpu"), NUMBER, UNKNOWN),
        (Constant(None), Constant(1), UNKNOWN),
        (Constant("cuda", True), Constant("cuda"), Constant("cuda")),
        (DeviceValue(CPU, True), DeviceValue(GPU, True), DeviceValue(UNKNOWN_DEVICE, True)),
        (DeviceValue(GPU, True), DeviceValue(GPU), DeviceValue(GPU)),
        (Tensor(CPU, 1), Tensor(GPU, 1), Tensor(UNKNOWN_DEVICE, 1)),
        (Tensor(CPU, 1), Tensor(CPU, 3), Tensor(CPU, SOME_DIMENSIONS)),
        (Tensor(CPU, 0), Tensor(CPU, 3), Tensor(CPU, None)),
        (Tensor(CPU, 1, TensorRole.BUFFER), Tensor(CPU, 1, TensorRole.PARAMETER), Tensor(CPU, 1)),
        (Tensor(CPU, 1), Constant(1.0), UNKNOWN),
        (Opaque(AccessPath("x"), Kind.TENSOR), Opaque(AccessPath("x"), Kind.MODULE), Opaque(AccessPath("x"))),
        (Opaque(AccessPath("x"), Kind.TENSOR), Opaque(AccessPath("y"), Kind.TENSOR), Tensor(UNKNOWN_DEVICE, None)),
        (
            TupleValue((Tensor(CPU, 1), NUMBER)),
            TupleValue((Tensor(CPU, 1), TEXT)),
            TupleValue((Tensor(CPU, 1), UNKNOWN)),
        ),
        (TupleValue((NUMBER,)), TupleValue((NUMBER, NUMBER)), UNKNOWN),
        (Predicate(HOLDS, known=True), Predicate(HOLDS[:1], known=False), Predicate(HOLDS[:1])),
        (Library("torch.zeros"), Library("torch.ones"), UNKNOWN),
    ],
)
def test_join(left: Value, right: Value, expected: Value) -> None:
    assert join(left, right) == expected
    assert join(right, left) == expected
    assert leq(left, expected)
    assert not leq(expected, left)


def test_constants_of_other_types_are_other_constants() -> None:
    assert len({Constant(1), Constant(1.0), Constant(True), Constant("1")}) == 4


def test_a_join_tells_the_story_of_its_left_side() -> None:
    joined = join(Tensor(CPU, 1, origin=HERE), Tensor(CPU, 2, origin=THERE))
    assert isinstance(joined, Tensor)
    assert joined.origin is HERE


def test_the_winner_of_a_choice_was_checked_where_the_loser_is_another() -> None:
    assert chosen(Constant("cuda"), Constant("cpu")) == Constant("cuda", True)
    assert chosen(DeviceValue(GPU), None) == DeviceValue(GPU, True)
    assert chosen(Constant("cuda"), Constant("cuda")) == Constant("cuda")
    assert chosen(Tensor(CPU, 1), None) == Tensor(CPU, 1)
