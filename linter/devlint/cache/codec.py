"""Dataclasses as plain data and back, checked on the way in: a cache file is input like any other."""

from __future__ import annotations

import dataclasses
import enum
import types
from functools import cache
from typing import Any, TypeVar, Union, cast, get_args, get_origin, get_type_hints

T = TypeVar("T")


class CodecError(Exception):
    """The data is not what the type says."""


def encode(value: object) -> object:
    """Write a value as what JSON knows; a dataclass becomes the list of its fields."""
    if value is None or isinstance(value, (str, int, float)):
        return value
    if isinstance(value, enum.Enum):
        return value.value
    if isinstance(value, tuple):
        return [encode(entry) for entry in value]
    if dataclasses.is_dataclass(value):
        return [encode(getattr(value, field.name)) for field in dataclasses.fields(value)]
    raise CodecError(f"no form for {type(value).__name__}")


def decode(wanted: type[T], data: object) -> T:
    """Read a value that `encode` has written.

    Raises:
        CodecError: the data does not fit the type.
    """
    return cast(T, _decode(wanted, data))


def _decode(wanted: Any, data: object) -> object:
    origin = get_origin(wanted)
    if origin in (Union, types.UnionType):
        return _decode_optional(get_args(wanted), data)
    if origin is tuple:
        return _decode_tuple(get_args(wanted), data)
    if isinstance(wanted, type) and dataclasses.is_dataclass(wanted):
        fields = _fields(wanted)
        if not isinstance(data, list) or len(data) != len(fields):
            raise CodecError(f"no {wanted.__name__}")
        return wanted(*(_decode(kind, entry) for kind, entry in zip(fields, data, strict=True)))
    if isinstance(wanted, type) and issubclass(wanted, enum.Enum):
        try:
            return wanted(data)
        except ValueError as error:
            raise CodecError(str(error)) from error
    if wanted in (str, int, float, bool) and type(data) is wanted:
        return data
    raise CodecError(f"{wanted} is wanted")


def _decode_optional(kinds: tuple[Any, ...], data: object) -> object:
    (kind,) = (kind for kind in kinds if kind is not type(None))
    return None if data is None else _decode(kind, data)


def _decode_tuple(kinds: tuple[Any, ...], data: object) -> object:
    if not isinstance(data, list):
        raise CodecError("a list is wanted")
    if kinds[-1] is Ellipsis:
        return tuple(_decode(kinds[0], entry) for entry in data)
    if len(kinds) != len(data):
        raise CodecError("a list of another length is wanted")
    return tuple(_decode(kind, entry) for kind, entry in zip(kinds, data, strict=True))


@cache
def _fields(wanted: Any) -> tuple[Any, ...]:
    """The types of a dataclass's fields."""
    hints = get_type_hints(wanted)
    return tuple(hints[field.name] for field in dataclasses.fields(wanted))
