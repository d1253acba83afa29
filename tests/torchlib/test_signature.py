"""The notation: what is parsed, printed back, and refused with the line it stands on."""

from __future__ import annotations

import pytest
from devlint.errors import CatalogueError
from devlint.torchlib.signature import (
    DeviceTerm,
    ListTerm,
    ModuleTerm,
    NoneTerm,
    NumberTerm,
    Parameter,
    ScalarTerm,
    SelfTerm,
    Signature,
    SizeTerm,
    StubText,
    TensorTerm,
    TupleTerm,
    parse_signature,
)

ROUND_TRIPS = [
    "def add(a: Tensor[D] | Scalar[cpu], b: Tensor[D] | Scalar[cpu] | Number) -> Tensor[D, broadcast]: ...",
    "def zeros(*size: Size[R], dtype: Number = ..., device: Device[E] = DEFAULT) -> Tensor[E, R]: ...",
    "def new(self: Tensor[D], /, *, device: Device[E] = D) -> Tensor[E]: ...",
    "def f(a: object, /, b: Array | None = None, *, c: Number, **more: object) -> None: ...",
    "def f(a: Tensor[any], b: Tensor[cpu], /) -> Array: ...",
    "def max(input: Tensor[D], dim: Number) -> tuple[values: Tensor[D], indices: Tensor[D]]: ...",
    "def lstm(self: Module[D]) -> tuple[Tensor[D, R], tuple[Tensor[D], Tensor[D] | None]]: ...",
    "def stack(tensors: list[Tensor[D, R] | None]) -> Tensor[D, R + 1]: ...",
    "def fill(value: Scalar[any]) -> Tensor[cpu, positive] | Number: ...",
    "def gather(input: Tensor[D], index: Index[D, R], *, generator: Generator[D] = ...) -> Tensor[D, R]: ...",
    "def where(a: Tensor[D] | Scalar[follows], b: Index[host]) -> object: ...",
    "def mm(a: Tensor[D, 2]) -> Tensor[D, 2]: ...",
    "def pad(self: object, text: Number) -> transformers.BatchEncoding[cpu]: ...",
    "@moves\ndef to(self: lib.Data[D], device: Device[E]) -> Self: ...",
    "@in_place\ndef add_(self: Tensor[D], other: Number) -> Self: ...",
    "@moves\n@transfer\ndef to(self: Module[D], *args: object) -> Module[E]: ...",
]


@pytest.mark.parametrize("text", ROUND_TRIPS)
def test_a_printed_signature_is_the_text_it_was_parsed_from(text: str) -> None:
    assert str(parse_signature(StubText(text))) == text


def test_terms_of_a_method() -> None:
    text = (
        "@overload\n@in_place\ndef f(self: Tensor[D, R], *size: Size[R], "
        "hx: tuple[list[Tensor[D]], None] = ..., device: Device[E] = CURRENT) -> Self: ..."
    )
    assert parse_signature(StubText(text)) == Signature(
        "f",
        (
            Parameter("self", "normal", (TensorTerm("D", "R"),), None),
            Parameter("size", "args", (SizeTerm("R"),), None),
            Parameter(
                "hx",
                "keyword",
                (TupleTerm(((ListTerm((TensorTerm("D"),)),), (NoneTerm(),))),),
                "...",
            ),
            Parameter("device", "keyword", (DeviceTerm("E"),), "CURRENT"),
        ),
        (SelfTerm(),),
        frozenset({"in_place"}),
    )


def test_union_keeps_its_order_and_ranks_their_kind() -> None:
    text = "def f(a: Number | Tensor[D, 0] | Scalar[cpu] | Module[D], b: Tensor[D, 3]) -> tuple[a: Number]: ..."
    signature = parse_signature(StubText(text))
    assert signature.parameters[0].terms == (
        NumberTerm(),
        TensorTerm("D", 0),
        ScalarTerm("cpu"),
        ModuleTerm("D"),
    )
    assert signature.parameters[1].terms == (TensorTerm("D", 3),)
    assert signature.returns == (TupleTerm(((NumberTerm(),),), ("a",)),)


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("def f(a: Tensor) -> None: ...", 7, "not a type of the notation: Tensor"),
        ("def f(\n    a: Number,\n    b: Tensro[D],\n) -> None: ...", 9, "Tensro[D]"),
        ("def f(a: Scalar[cuda]) -> None: ...", 7, "a scalar is one of cpu, any, follows, not cuda"),
        ("def f() -> Tensor[D, R * 2]: ...", 7, "expected the name of a device or rank"),
        ("def f() -> Tensor[D, R + S]: ...", 7, "only a number is added to a rank or taken from it"),
        ("def f() -> Tensor[0]: ...", 7, "not 0"),
        ("def f() -> tuple[a: Number, Number]: ...", 7, "have names or none"),
        ("def f() -> tuple[Number, a: Number]: ...", 7, "have names or none"),
        ("def f() -> lib.Data[0]: ...", 7, "not 0"),
        ("@inplace\ndef f() -> None: ...", 7, "unknown marker @inplace"),
        ("def f() -> list[Number, Number]: ...", 7, "not a type"),
        ("x: Number", 7, "expected one function"),
        ("\ndef f(:", 8, "invalid syntax"),
    ],
)
def test_what_cannot_be_understood_is_located(text: str, line: int, message: str) -> None:
    with pytest.raises(CatalogueError) as caught:
        parse_signature(StubText(text, "some.pyi", 7))
    assert message in caught.value.message
    assert (caught.value.path, caught.value.line) == ("some.pyi", line)
