"""Records as JSON, and back."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

from devlint_guard.errors import GuardUsageError
from devlint_guard.finding import Finding, Place
from devlint_guard.quoting import encodable
from devlint_guard.record import Allowed, Direction, Held, InSteps, Part, Program, Record, Rehearsal, Transfer

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
        return Record(
            torch=data["torch"],
            python=data["python"],
            devices=tuple(data["devices"]),
            used_gpu=data.get("used_gpu", True),
            program=_program(data.get("program")),
            config=data["config"],
            steps=data["steps"],
            ranks=tuple(data["ranks"]),
            processes=data["processes"],
            findings=tuple(map(Finding.from_json, data["findings"])),
            suspects=tuple(map(Finding.from_json, data["suspects"])),
            allowed=tuple(Allowed(Finding.from_json(one["finding"]), one["reason"]) for one in data.get("allowed", ())),
            transfers=tuple(map(_transfer, data["ledger"])),
            roots=tuple(map(_part, data["modules"])),
            rehearsal=_rehearsal(data.get("rehearsal")),
        )
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


def _program(data: dict[str, Any] | None) -> Program | None:
    """A program; reports of older versions have none."""
    return None if data is None else Program(**{**data, "arguments": tuple(data["arguments"])})


def _transfer(data: dict[str, Any]) -> Transfer:
    place = None if data["place"] is None else Place(**data["place"])
    steps = None if data.get("steps") is None else InSteps(**data["steps"])
    return Transfer(**{**data, "place": place, "direction": Direction(data["direction"]), "steps": steps})


def _part(data: dict[str, Any]) -> Part:
    tensors = tuple(Held(**one) for one in data["tensors"])
    return Part(data["name"], data["kind"], tensors, tuple(map(_part, data["parts"])))


def _rehearsal(data: dict[str, Any] | None) -> Rehearsal | None:
    if data is None:
        return None
    return Rehearsal(**{**data, "not_judged": tuple(data["not_judged"])})
