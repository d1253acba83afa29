"""Device strings against `torch.device` itself, and when two devices are certainly different."""

from __future__ import annotations

import random
from itertools import product

import pytest
from devlint.domain.device import (
    CPU,
    DEVICE_TYPES,
    META,
    UNKNOWN_DEVICE,
    UNREACHED,
    Concrete,
    Device,
    Either,
    Variable,
    complaint,
    differ,
    in_words,
    parse,
)
from devlint.domain.place import AccessPath, Fresh
from hypothesis import given, settings
from hypothesis import strategies as st

torch = pytest.importorskip("torch")

INDICES = ("", ":", ":0", ":1", ":7", ":127", ":00", ":01", ":-1", ":+1", ": 0", ":x", ":0:1", ":1.0", ":0x1")
NEARLY = (
    "gpu",
    "CUDA",
    "Cuda",
    "cuda0",
    "cud\u0430",
    " cuda",
    "cuda ",
    "_",
    "",
    "0",
    "cpu,cuda",
    "cuda/0",
    "cuda-0",
    "hip_",
)


def _by_torch(text: str) -> tuple[str, int | None] | str:
    """What `torch.device` makes of a string, or what it says of it."""
    try:
        device = torch.device(text)
    except RuntimeError as error:
        return str(error)
    return device.type, device.index


def _by_us(text: str) -> tuple[str, int | None] | str:
    device = parse(text)
    return complaint(text) if device is None else (device.type, device.index)


@pytest.mark.parametrize("index", INDICES)
def test_every_type_with_an_index(index: str) -> None:
    for kind in sorted(DEVICE_TYPES) + list(NEARLY):
        assert _by_us(kind + index) == _by_torch(kind + index), kind + index


def test_strings_made_of_pieces_of_device_strings() -> None:
    chance = random.Random(7)
    pieces = ["cuda", "cpu", "mps", "meta", "gpu", ":", ":", "0", "1", "9", "00", "-", " ", "_", "x", "."]
    accepted = 0
    for _ in range(800):
        text = "".join(chance.choices(pieces, k=chance.randint(1, 4)))
        if text.rpartition(":")[2].isdecimal() and int(text.rpartition(":")[2]) > 127:
            continue
        assert _by_us(text) == _by_torch(text), text
        accepted += parse(text) is not None
    assert 20 < accepted < 700  # both outcomes are tried


@settings(max_examples=300, deadline=None, derandomize=True)
@given(st.text(st.characters(codec="utf-8", exclude_characters="\0\n"), max_size=12))
def test_any_text(text: str) -> None:
    assert _by_us(text) == _by_torch(text)


@pytest.mark.parametrize("text", ["cpu", "cuda", "cuda:3", "mps:0", "privateuseone:1"])
def test_a_parsed_device_is_printed_as_it_was_written(text: str) -> None:
    assert str(parse(text)) == text == str(torch.device(text))


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [
        (CPU, Concrete("cuda", 0), True),
        (Concrete("cuda", 0), Concrete("cuda", 1), True),
        (Concrete("cuda"), Concrete("cuda", 1), False),
        (Concrete("cuda"), Concrete("cuda"), False),
        (Concrete("cuda"), CPU, True),
        (Concrete("mps"), Concrete("cuda"), True),
        (CPU, Concrete("cpu", 0), False),
        (Concrete("cpu", 0), Concrete("cpu", 1), False),
        (META, CPU, True),
        (Variable(AccessPath("x")), CPU, False),
        (Variable(AccessPath("x")), Variable(AccessPath("y")), False),
        (UNKNOWN_DEVICE, CPU, False),
        (UNREACHED, CPU, False),
    ],
    ids=str,
)
def test_differ(left: Device, right: Device, expected: bool) -> None:
    assert differ(left, right) is expected
    assert differ(right, left) is expected


def test_devices_that_differ_are_what_torch_calls_unequal() -> None:
    texts = ["cpu", "meta", "cuda:0", "cuda:1", "mps:0"]
    for one, two in product(texts, repeat=2):
        left, right = parse(one), parse(two)
        assert left is not None
        assert right is not None
        assert differ(left, right) == (torch.device(one) != torch.device(two))


@pytest.mark.parametrize(
    ("device", "words"),
    [
        (Variable(AccessPath("value")), "the device of `value`"),
        (Variable(AccessPath(Fresh("value", (3, 5)))), "a device that the program chooses"),
        (
            Either(frozenset({Variable(AccessPath("x")), Variable(AccessPath(Fresh("value", (3, 5))))})),
            "the device of `x` or a value without a name",
        ),
    ],
)
def test_only_a_name_of_the_program_is_quoted(device: Device, words: str) -> None:
    assert in_words(device) == words
