"""A record as text, for a terminal or a log: the program, findings, then the ledger line by line."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence

from devlint_guard.program.quoting import printable, printable_lines
from devlint_guard.report.record import Allowed, Direction, InSteps, Program, Record, Transfer
from devlint_guard.report.text import render_all

_ARROWS = {
    Direction.TO_DEVICE: "to device",
    Direction.TO_HOST: "to host",
    Direction.PEER: "between",
    Direction.NONE: "waits",
}


def render(record: Record) -> str:
    """The program, the findings, the allowed ones, the end of a rehearsal and the transfers, each if there are any."""
    findings = [*record.findings, *record.suspects]
    parts = [] if record.program is None else [printable(described(record.program, record.steps))]
    parts.append(render_all(findings) if findings else "devlint has found nothing")
    parts.append(unseen(record))
    if record.allowed:
        parts.append("\n".join(["allowed", "", *map(_allowance, record.allowed)]))
    if record.rehearsal is not None:
        lines = ["rehearsal", "", f"  {record.rehearsal.ending}"]
        parts.append(
            printable_lines("\n".join([*lines, *(f"  not checked: {x}" for x in record.rehearsal.not_judged)]))
        )
    if record.transfers:
        parts.append("\n".join(["transfers by line", "", *_rows(record.transfers)]))
        parts.append(waits_of(record))
    return "\n\n".join(filter(None, parts)) + "\n"


def unseen(record: Record, command: str = "devlint rehearse") -> str:
    """Return why a run without findings says little, and the command of a rehearsal, which says so itself; else ""."""
    if record.findings or record.used_gpu or record.rehearsal is not None:
        return ""
    return f"The guard saw nothing on a GPU, so this run cannot show a mistake with devices: try `{printable(command)}`"


def described(program: Program, steps: int) -> str:
    """`train.py --epochs 1: finished after 12.3 s, 40 steps`."""
    command = shlex.join([program.script, *program.arguments])
    taken = f", {counted(steps, 'step')}" if steps else ""
    return f"{command}: {program.ended} after {duration(program.seconds)}{taken}"


def counted(number: int, noun: str) -> str:
    """`1 copy`, `2 copies`."""
    plural = noun[:-1] + "ies" if noun.endswith("y") else noun + "s"
    return f"{number} {noun if number == 1 else plural}"


def duration(seconds: float) -> str:
    """`0.4 s`, `12 s`, `3 min 20 s`, `2 h 5 min`."""
    if seconds < 60:
        return f"{seconds:.1f} s" if seconds < 10 else f"{seconds:.0f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


def waits_of(record: Record) -> str:
    """How many times the host has waited, and how many times a step; empty if it has not."""
    waits = sum(one.waits for one in record.transfers)
    if not waits:
        return ""
    text = f"the host waited {waits} times" if waits > 1 else "the host waited once"
    return f"{text}, {waits / record.steps:.1f} times a step" if record.steps > 1 else text


def when(steps: InSteps | None, count: int) -> str:
    """`2 a step`, `in step 0`, `in 4 of the steps 0 to 9`; empty where no steps are counted."""
    if steps is None:
        return ""
    if steps.count == 1:
        return f"in step {steps.first}"
    span = steps.last - steps.first + 1
    often = f"{steps.most}" if steps.most * steps.count == count else f"up to {steps.most}"
    if span == steps.count:
        return f"{often} a step, steps {steps.first} to {steps.last}"
    return f"{often} a step in {steps.count} of the steps {steps.first} to {steps.last}"


def repeated(one: Transfer) -> str:
    """`the same tensor 10 times`; empty where a line has copied nothing twice."""
    return f"the same tensor {one.same} times" if one.same > 1 else ""


def _allowance(one: Allowed) -> str:
    place = one.finding.place
    where = "" if place is None else f"  {place.file}:{place.line}"
    often = f"  {one.finding.count}x" if one.finding.count > 1 else ""
    return printable(f"  {one.finding.code}{where}{often}  {one.reason or 'no reason given'}")


def _rows(transfers: Sequence[Transfer]) -> Iterator[str]:
    """`    10x     2880 B  to device copy      loop.py:8   x = x.to(dev)`, in columns."""
    rows = [
        (
            f"{one.count}x",
            "" if one.direction is Direction.NONE else f"{one.bytes} B",
            f"{_ARROWS[one.direction]} {one.by}",
            "" if one.place is None else f"{one.place.file}:{one.place.line}",
            one.source,
            "; ".join(filter(None, (when(one.steps, one.count), repeated(one)))),
        )
        for one in transfers
    ]
    widths = [max(len(row[column]) for row in rows) for column in range(4)]
    for count, size, what, where, source, more in rows:
        cells = (count.rjust(widths[0]), size.rjust(widths[1]), what.ljust(widths[2]), where.ljust(widths[3]), source)
        yield printable(f"  {'  '.join(cells)}").rstrip()
        if more:
            yield f"  {' ' * (widths[0] + widths[1] + 4)}{more}"
