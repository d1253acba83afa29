"""`python -m tests.inference.in_place N SEED`: a summary applied equals the body executed with the caller's values.

Each of N random programs is checked twice: with summaries, and with each call executed in the place where it stands,
with the caller's values, heap and questions. Both must leave the same values in all names of the program, and must find
the same requirements broken. Only a recursive call is a summary in both.
"""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

from devlint.frontend import ir
from devlint.inference.calls.arguments import bound
from devlint.inference.solve import Solver
from devlint.inference.state.frame import Arguments, Frame, State
from devlint.inference.state.where import device_of
from devlint.inference.summaries.make import enter, leave, run
from devlint.inference.values.data import ON_MACHINE
from devlint.inference.values.objects import Function
from devlint.inference.values.terms import UNKNOWN, Root, Value
from devlint.project import Project
from devlint.torchlib import catalogue

from tests.inference.programs import program


class InPlace(Solver):
    """Executes a called function in the place of the call."""

    def call_function(self, frame: Frame, called: Function, arguments: Arguments, span: ir.Span) -> Value:
        """Execute the body with the caller's values; a body that is being executed has a summary."""
        if called.body in _INSIDE or self.summaries.is_active(called.body):
            return super().call_function(frame, called, arguments, span)
        self.demand.call(frame.body, called.body)
        given = bound(frame, called.body, called.environment, arguments)
        inner = Frame(self, called.body, frame.oracle, frame.heap, frame.site(span))
        outer = {f"{name} around": value for name, value in frame.state.names.items()}
        inner.state = State(outer, frame.heap, True, frame.state.passed)
        inner.answers, inner.kinds = frame.answers, frame.kinds
        inner.requirements, inner.findings = frame.requirements, frame.findings
        inner.path, inner.in_handler = frame.path, frame.in_handler
        inner.around = called.environment
        _OUTER[inner] = _OUTER.get(frame, frame)
        _INSIDE.append(called.body)
        try:
            enter(inner, given)
            run(inner)
        finally:
            _INSIDE.pop()
        if not inner.exits:
            if not inner.is_endless or frame.body.function is not None:
                frame.is_endless = frame.is_endless or inner.is_endless
                frame.leave()
            return UNKNOWN
        for each in inner.exits:
            each.path = None if each.path is None else each.path[len(frame.path) :]
        value, state = leave(inner)
        names = {name.removesuffix(" around"): held for name, held in state.names.items() if name.endswith(" around")}
        frame.state = State(names, state.heap, True, state.passed)
        return value

    def global_value(self, frame: Frame, symbol: Root) -> Value:
        """Return what a global is for the frame in whose place the body is executed."""
        return super().global_value(_OUTER.get(frame, frame), symbol)


_SOURCE = re.compile(r"earlier\([^()]*\)|[^ (]*\.py(?::\d+){4}|[^ (]*#source|(?<=, None, )None(?=\))")
"""What decided a device: which of several operands is told, or none, is no part of the law."""


def _without_sources(text: str) -> str:
    before = ""
    while before != text:
        before, text = text, _SOURCE.sub("…", text)
    return text


_INSIDE: list[object] = []
_OUTER: dict[Frame, Frame] = {}


class Outcome(NamedTuple):
    """What a check of a program leaves: what is broken, what its names hold, and whether a caller broke something.

    Of a device that the machine lacks, only the first of several operations is told. Which one that is, is no part of
    the law, so such a device counts without its place.
    """

    broken: frozenset[tuple[str, int, int]]
    names: dict[str, str]
    is_of_caller: bool


def outcome(kind: type[Solver], path: Path) -> Outcome:
    """Return the outcome of a check."""
    project = Project(path.parent)
    source = project.source(path)
    solver = kind(project, catalogue.load())
    findings = solver.check([source])
    frame = solver.frame_of(source)
    assert frame is not None
    broken = set()
    for found in findings:
        place, kind_of = found.requirement.place, found.requirement.kind
        if kind_of in ON_MACHINE:
            broken.add((f"{kind_of} {found.one.device.text.removesuffix(':0')}", 0, 0))
        else:
            broken.add((kind_of, place.line, place.column))
    names = {name: f"{value.text} on {device_of(frame, value).text}" for name, value in frame.state.names.items()}
    names = {name: _without_sources(text) for name, text in names.items()}
    return Outcome(
        frozenset(broken),
        names,
        any(found.requirement.chain for found in findings if found.requirement.kind not in ON_MACHINE),
    )


def difference(seed: int, number: int) -> tuple[str, bool]:
    """Return how the two differ for a program, empty if they agree; and whether a caller makes a requirement manifest.

    Args:
        seed, number: of the program.
    """
    text = program(seed, number)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"program_{number}.py"
        path.write_text(text, encoding="utf-8")
        _OUTER.clear()
        applied, executed = outcome(Solver, path), outcome(InPlace, path)
    if applied[:2] == executed[:2]:
        return "", applied.is_of_caller
    told = sorted(applied.broken ^ executed.broken)
    names = [
        f"{name}: {applied.names.get(name)} / {executed.names.get(name)}"
        for name in sorted(applied.names.keys() | executed.names.keys())
        if applied.names.get(name) != executed.names.get(name)
    ]
    return "\n".join([f"program {seed}.{number}:", *map(str, told), *names, text]), applied.is_of_caller


def main() -> int:
    """Return 1 if a summary says something else than the execution of its body."""
    parser = argparse.ArgumentParser(prog="python -m tests.inference.in_place", description=__doc__)
    parser.add_argument("programs", type=int, metavar="N")
    parser.add_argument("seed", type=int, nargs="?", default=0)
    arguments = parser.parse_args()
    found = of_callers = 0
    for number in range(arguments.programs):
        text, is_of_caller = difference(arguments.seed, number)
        of_callers += is_of_caller
        if text:
            found += 1
            print(text, flush=True)
    print(f"{found} of {arguments.programs} programs differ")
    print(f"in {of_callers} programs, a requirement becomes manifest in a caller")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
