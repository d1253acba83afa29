"""What the cache writes can be read back, and what is of another form is refused."""

from __future__ import annotations

import enum
import json
from dataclasses import dataclass

import pytest
from devlint.cache.codec import CodecError, decode, encode


class Colour(enum.Enum):
    RED = "red"


@dataclass
class Point:
    x: int
    y: int = 0


@dataclass
class Title:
    text: str | None
    large: bool = False
    lines: tuple[str, ...] = ()


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (Point(1), "[1]"),
        (Point(1, 2), "[1, 2]"),
        (Title(None), "[null]"),
        (Title("a", lines=("b",)), '["a", false, ["b"]]'),
        (Title("a", large=True), '["a", true]'),
        ((Point(0), Point(3, 4)), "[[0], [3, 4]]"),
        (Colour.RED, '"red"'),
    ],
)
def test_values_are_written_without_defaults_at_the_end(value: object, written: str) -> None:
    assert json.dumps(encode(value)) == written
    kind = type(value) if not isinstance(value, tuple) else tuple[Point, ...]
    assert decode(kind, json.loads(written)) == value


@pytest.mark.parametrize(
    ("kind", "written"),
    [
        (Point, "[]"),
        (Point, "[1, 2, 3]"),
        (Point, '["1"]'),
        (Point, "[true]"),
        (Point, "{}"),
        (Point, "null"),
        (Colour, '"blue"'),
        (Colour, "[]"),
        (Title, "[1]"),
        (Title, '["a", false, "b"]'),
        (tuple[int, str], "[1]"),
        (tuple[int, ...], "1"),
    ],
)
def test_what_does_not_fit_is_refused(kind: type[object], written: str) -> None:
    with pytest.raises(CodecError):
        decode(kind, json.loads(written))


def test_what_has_no_form_is_not_written() -> None:
    with pytest.raises(CodecError, match="list"):
        encode([1])
