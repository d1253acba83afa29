"""What passes between the judge and its server: a job, and the verdict on it, each as one line of JSON."""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass
from typing import Any, Literal

Outcome = Literal["ok", "device-error", "other-error", "timeout", "crash"]
Variant = Literal["cuda", "cpuonly"]
"""A CUDA build of torch on a pretended machine, and the installed build without any device."""


FAILURE_MARK = b"!"
"""Starts an answer that is no verdict: a traceback of the judge itself, as a JSON string, follows."""


@dataclass(frozen=True, slots=True)
class Job:
    """One program to run; the fields are the arguments of `Judge.run`."""

    code: str
    file: str | None
    devices: int
    variant: Variant
    timeout: float
    env: dict[str, str]
    argv: list[str]
    call: str | None
    paths: list[str]
    recorded: bool = False

    def to_json(self) -> str:
        return json.dumps(dataclasses.asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Job:
        return cls(**json.loads(text))


@dataclass(frozen=True, slots=True)
class Verdict:
    """What happened to a program.

    Attributes:
        outcome: "device-error" for an exception that has a kind, "other-error" for any other exception,
            "crash" when the process died, "timeout" when it had to be killed.
        line: the innermost line of the program that the exception went through, or None.
        stack: all lines of the program that it went through, outermost first.
        kind: the kind of device error, see `kinds`; None for every other outcome.
        exception: the qualified name of the exception's type, or None.
        message: its text, with `<prog>` for the name of a program without a file; for "crash" and "timeout"
            what was seen; None for "ok".
        stdout: the end of what the program wrote to stdout and stderr.
        revealed: (line, device text) of each `reveal_device` that the program's own file executed, in order.
        values: what each function of the program's own files held when it returned, in order, if that was recorded:
            its name, and its variables by name, as text without devices.
        unjudged: what a rehearsal has not judged, a sentence for each.
    """

    outcome: Outcome
    line: int | None = None
    stack: tuple[int, ...] = ()
    kind: str | None = None
    exception: str | None = None
    message: str | None = None
    stdout: str = ""
    revealed: tuple[tuple[int, str], ...] = ()
    values: tuple[tuple[str, dict[str, str]], ...] = ()
    unjudged: tuple[str, ...] = ()

    def to_json(self) -> str:
        return json.dumps(dataclasses.asdict(self))

    @classmethod
    def from_json(cls, text: str | bytes) -> Verdict:
        fields: dict[str, Any] = json.loads(text)
        fields["stack"] = tuple(fields["stack"])
        fields["revealed"] = tuple((line, device) for line, device in fields["revealed"])
        fields["values"] = tuple((name, held) for name, held in fields["values"])
        fields["unjudged"] = tuple(fields["unjudged"])
        return cls(**fields)
