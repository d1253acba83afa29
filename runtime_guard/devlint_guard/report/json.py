"""Records as JSON, and back."""

from __future__ import annotations

import functools
import json
from dataclasses import asdict, is_dataclass
from enum import EnumMeta
from types import UnionType
from typing import Any, get_args, get_origin, get_type_hints

from devlint_guard.errors import GuardUsageError
from devlint_guard.program.quoting import encodable
from devlint_guard.report.record import Record

VERSION = 1
"""Of the form; rises when a reader of the old one would misunderstand the new one."""


def render(record: Record) -> str:
    """A record as a JSON document in ASCII; the same record always gives the same text."""
    data = {
        "version": VERSION,
        "torch": record.torch,
        "python": record.python,
        "devices": list(record.devices),
        "program": None if record.program is None else asdict(record.program),
        "config": {key: _plain(value) for key, value in record.config.items()},
        "steps": record.steps,
        "ranks": list(record.ranks),
        "processes": record.processes,
        "findings": [finding.to_json() for finding in record.findings],
        "suspects": [finding.to_json() for finding in record.suspects],
        "allowed": [{"finding": one.finding.to_json(), "reason": one.reason} for one in record.allowed],
        "ledger": [{**asdict(one), "direction": one.direction.value} for one in record.transfers],
        "modules": [asdict(root) for root in record.roots],
        "used_gpu": record.used_gpu,
    }
    if record.rehearsal is not None:
        data["rehearsal"] = asdict(record.rehearsal)
    # The same strings, and no command in a log of GitHub Actions.
    return json.dumps(encodable(data), indent=2).replace("##[", "#\\u0023[") + "\n"


def read(text: str) -> Record:
    """The record that `render` wrote.

    Raises:
        GuardUsageError: the text is no such document, or one of another version.
    """
    try:
        data = json.loads(text)
        if data["version"] != VERSION:
            raise GuardUsageError(f"a report of version {data['version']}, and this reads version {VERSION}")
        names = {"transfers": "ledger", "roots": "modules"}
        record: Record = decoded(Record, {**data, **{name: data[key] for name, key in names.items()}})
        return record
    except (ValueError, KeyError, TypeError, AttributeError, AssertionError, RecursionError) as error:
        if isinstance(error, GuardUsageError):
            raise
        raise GuardUsageError(f"no report of the guard: {type(error).__name__}: {error}") from error


def _plain(value: object) -> object:
    """An option as JSON has it."""
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, (list, tuple)):
        return [_plain(one) for one in value]
    if isinstance(value, dict):
        return {str(key): _plain(one) for key, one in value.items()}
    return str(value)


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
