"""A record as text, for a terminal or a log: findings, then the ledger line by line."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from devlint_guard.quoting import printable, printable_lines
from devlint_guard.record import Direction, Record, Transfer
from devlint_guard.report.text import render_all

_ARROWS = {
    Direction.TO_DEVICE: "to device",
    Direction.TO_HOST: "to host",
    Direction.PEER: "between",
    Direction.NONE: "waits",
}


def render(record: Record) -> str:
    """The findings, the suspects and the transfers, and the end of a rehearsal; a sentence if there are none."""
    findings = [*record.findings, *record.suspects]
    parts = [render_all(findings) if findings else "devlint has found nothing"]
    if record.rehearsal is not None:
        lines = ["rehearsal", "", f"  {record.rehearsal.ending}"]
        parts.append(
            printable_lines("\n".join([*lines, *(f"  not checked: {x}" for x in record.rehearsal.not_judged)]))
        )
    if record.transfers:
        parts.append("\n".join(["transfers by line", "", *_rows(record.transfers)]))
    return "\n\n".join(parts) + "\n"


def _rows(transfers: Sequence[Transfer]) -> Iterator[str]:
    """`    10x     2880 B  to device copy      loop.py:8   x = x.to(dev)`, in columns."""
    rows = [
        (
            f"{one.count}x",
            "" if one.direction is Direction.NONE else f"{one.bytes} B",
            f"{_ARROWS[one.direction]} {one.by}",
            "" if one.place is None else f"{one.place.file}:{one.place.line}",
            one.source,
        )
        for one in transfers
    ]
    widths = [max(len(row[column]) for row in rows) for column in range(4)]
    for count, size, what, where, source in rows:
        cells = (count.rjust(widths[0]), size.rjust(widths[1]), what.ljust(widths[2]), where.ljust(widths[3]), source)
        yield printable(f"  {'  '.join(cells)}").rstrip()
