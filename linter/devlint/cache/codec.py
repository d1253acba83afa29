"""Dataclasses as plain data and back, checked on the way in: a cache file is input like any other."""

from __future__ import annotations

import dataclasses
import enum
import types
from collections.abc import Callable
from functools import cache
from typing import Any, TypeAlias, TypeVar, Union, cast, get_args, get_origin, get_type_hints

T = TypeVar("T")

_Decoder: TypeAlias = Callable[[Any], object]


class CodecError(Exception):
    """The data is not what the type says."""


def encode(value: object) -> object:
    """Write a value as what JSON knows; a dataclass becomes the list of its fields, without defaults at the end."""
    if value is None or isinstance(value, (str, int, float)):
        return value
    if isinstance(value, enum.Enum):
        return value.value
    if isinstance(value, tuple):
        return [encode(entry) for entry in value]
    kind: Any = type(value)
    fields = [(getattr(value, name), default) for name, default in _defaults(kind)]
    while fields and fields[-1][0] == fields[-1][1]:
        fields.pop()
    return [encode(entry) for entry, _ in fields]


def decode(wanted: type[T], data: object) -> T:
    """Read a value that `encode` has written.

    Raises:
        CodecError: the data does not fit the type.
    """
    kind: Any = wanted
    return cast(T, _decoder(kind)(data))


@cache
def _decoder(wanted: Any) -> _Decoder:
    """What reads a value of a type."""
    origin = get_origin(wanted)
    if origin in (Union, types.UnionType):
        (kind,) = (kind for kind in get_args(wanted) if kind is not types.NoneType)
        return _optional(_decoder(kind))
    if origin is tuple:
        kinds = get_args(wanted)
        return _sequence(_decoder(kinds[0])) if kinds[-1] is Ellipsis else _tuple([_decoder(kind) for kind in kinds])
    if issubclass(wanted, enum.Enum):
        return _member(wanted)
    return _dataclass(wanted) if dataclasses.is_dataclass(wanted) else _plain(wanted)


def _optional(decoder: _Decoder) -> _Decoder:
    return lambda data: None if data is None else decoder(data)


def _sequence(decoder: _Decoder) -> _Decoder:
    def decoded(data: Any) -> object:
        if type(data) is not list:
            raise CodecError("a list is wanted")
        return tuple([decoder(entry) for entry in data])

    return decoded


def _tuple(decoders: list[_Decoder]) -> _Decoder:
    def decoded(data: Any) -> object:
        if type(data) is not list or len(data) != len(decoders):
            raise CodecError(f"a list of {len(decoders)} is wanted")
        return tuple([decoder(entry) for decoder, entry in zip(decoders, data, strict=True)])

    return decoded


def _member(wanted: type[enum.Enum]) -> _Decoder:
    def decoded(data: Any) -> object:
        try:
            return wanted(data)
        except (ValueError, TypeError) as error:
            raise CodecError(str(error)) from error

    return decoded


def _plain(wanted: type) -> _Decoder:
    def decoded(data: Any) -> object:
        if type(data) is not wanted:
            raise CodecError(f"{wanted} is wanted")
        return data

    return decoded


def _dataclass(wanted: Any) -> _Decoder:
    required = sum(default is dataclasses.MISSING for _, default in _defaults(wanted))

    @cache
    def decoders() -> list[_Decoder]:
        hints = get_type_hints(wanted)
        return [_decoder(hints[name]) for name, _ in _defaults(wanted)]

    def decoded(data: Any) -> object:
        if type(data) is not list or not required <= len(data) <= len(decoders()):
            raise CodecError(f"no {wanted.__name__}")
        return wanted(*[decoder(entry) for decoder, entry in zip(decoders(), data, strict=False)])

    return decoded


@cache
def _defaults(wanted: Any) -> tuple[tuple[str, object], ...]:
    """The names of a dataclass's fields with their defaults, which are `MISSING` where they have none."""
    if not dataclasses.is_dataclass(wanted):
        raise CodecError(f"no form for {wanted.__name__}")
    return tuple((field.name, field.default) for field in dataclasses.fields(wanted))
