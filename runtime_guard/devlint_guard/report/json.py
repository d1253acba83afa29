"""Records as JSON, and back."""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from enum import Enum, EnumMeta
from types import UnionType
from typing import Any, get_args, get_origin, get_type_hints

from devlint_guard.errors import GuardUsageError
from devlint_guard.finding import Finding
from devlint_guard.program.quoting import encodable
from devlint_guard.report.record import Record

VERSION = 1
"""Of the form; rises when a reader of the old one would misunderstand the new one."""


_NAMES = {"transfers": "ledger", "roots": "modules"}
"""What the document calls some fields of a record."""


def render(record: Record) -> str:
    """A record as a JSON document in ASCII; the same record always gives the same text."""
    data = {_NAMES.get(name, name): value for name, value in encoded(record).items()}
    if record.rehearsal is None:
        del data["rehearsal"]
    # The same strings, and no command in a log of GitHub Actions.
    return json.dumps(encodable({"version": VERSION, **data}), indent=2).replace("##[", "#\\u0023[") + "\n"


def read(text: str) -> Record:
    """The record that `render` wrote.

    Raises:
        GuardUsageError: the text is no such document, or one of another version.
    """
    try:
        data = json.loads(text)
        if data["version"] != VERSION:
            raise GuardUsageError(f"a report of version {data['version']}, and this reads version {VERSION}")
        record: Record = decoded(Record, {**data, **{name: data[key] for name, key in _NAMES.items()}})
        return record
    except (ValueError, KeyError, TypeError, AttributeError, AssertionError, RecursionError) as error:
        if isinstance(error, GuardUsageError):
            raise
        raise GuardUsageError(f"no report of the guard: {type(error).__name__}: {error}") from error


def encoded(value: Any) -> Any:
    """Plain data that stands for a value, as `decoded` reads it; a finding has the name of its code too."""
    if is_dataclass(value):
        data = {one.name: encoded(getattr(value, one.name)) for one in fields(value) if one.compare}
        return {"rule": value.name, **data} if isinstance(value, Finding) else data
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, (list, tuple)):
        return [encoded(one) for one in value]
    if isinstance(value, Mapping):
        return {str(key): encoded(one) for key, one in value.items()}
    return value if isinstance(value, (bool, int, float, str, type(None))) else str(value)


def decoded(kind: Any, data: Any) -> Any:
    """What plain data stands for, as the type of the value tells; fields that the type does not have are passed over.

    Raises:
        KeyError, TypeError, ValueError: `data` is no such value.
    """
    inner = next((one for one in get_args(kind) if one not in (type(None), ...)), None)
    if isinstance(kind, UnionType):
        return None if data is None else decoded(inner, data)
    if get_origin(kind) is tuple:
        return tuple(decoded(inner, one) for one in data)
    if isinstance(kind, type) and is_dataclass(kind):
        return kind(**{name: decoded(one, data[name]) for name, one in _types(kind).items() if name in data})
    return kind(data) if isinstance(kind, EnumMeta) else data


_types = functools.cache(get_type_hints)
