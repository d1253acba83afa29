"""The ledger's part of the page: a row with a bar for each line."""

from __future__ import annotations

from collections.abc import Sequence

from devlint_guard.report.markup import at, bytes_of, counted, escape
from devlint_guard.report.record import Direction, Record, Transfer
from devlint_guard.report.summary import repeated, waits_of, when

_DIRECTIONS = {
    Direction.TO_DEVICE: ("up", "to the device"),
    Direction.TO_HOST: ("down", "to the host"),
    Direction.PEER: ("peer", "between devices"),
    Direction.NONE: ("wait", "host waits"),
}


def ledger(record: Record) -> str:
    """A section with the sums of each direction and a row for each transfer."""
    transfers = record.transfers
    tiles = "".join(_tile(direction, transfers) for direction in Direction)
    most = max([one.bytes for one in transfers], default=0) or 1
    longest = max([one.waits for one in transfers], default=0) or 1
    rows = "\n".join(_transfer(one, most, longest) for one in transfers)
    table = (
        '<div class="card scroll"><table class="ledger">\n<thead><tr><th>line</th><th>what</th><th>times</th>'
        '<th title="times the host waited, or may have">waits</th><th colspan="2">bytes</th></tr></thead>\n'
        f"<tbody>\n{rows}\n</tbody></table></div>"
    )
    nothing = '<p class="empty">Nothing was copied between devices, and the host waited for none.</p>'
    body = table if transfers else nothing
    waits = f'<p class="note">{waits_of(record)}</p>\n' if waits_of(record) else ""
    return f'<section id="ledger">\n<h2>Transfers</h2>\n{waits}<div class="tiles">{tiles}</div>\n{body}\n</section>'


def _tile(direction: Direction, transfers: Sequence[Transfer]) -> str:
    mine = [one for one in transfers if one.direction is direction]
    if direction is Direction.NONE:
        waits = sum(one.waits for one in transfers)
        lines = len({one.place for one in transfers if one.waits})
        number, unit = str(waits), f"times the host may have waited, at {counted(lines, 'line')}"
    else:
        copies = sum(one.count for one in mine)
        if direction is Direction.PEER and not copies:
            return ""
        number = bytes_of(sum(one.bytes for one in mine))
        unit = f"{_DIRECTIONS[direction][1]}, {counted(copies, 'copy')}"
    return f'<div class="tile {_DIRECTIONS[direction][0]}"><b>{number}</b> {unit}</div>'


def _transfer(one: Transfer, most: int, longest: int) -> str:
    kind, meaning = _DIRECTIONS[one.direction]
    if one.direction is Direction.NONE:
        share, shown = one.waits / longest, ""
    else:
        share, shown = one.bytes / most, bytes_of(one.bytes)
    where = '<span class="soft">not called by your code</span>'
    if one.place is not None:
        where = f'<code class="at">{escape(at(one.place))}</code><code class="text">{escape(one.source)}</code>'
    implicit = ' <span class="tag" title="nothing in the line asks for it">implicit</span>' if one.implicit else ""
    notes = filter(None, (when(one.steps, one.count), repeated(one)))
    more = " ".join(f'<span class="tag">{escape(text)}</span>' for text in notes)
    where += f'<span class="more">{more}</span>' if more else ""
    return (
        f'<tr class="{kind}"><td>{where}</td><td><span class="way">{meaning}</span> '
        f'<span class="soft">{escape(one.by)}</span>{implicit}</td><td class="number">{one.count}</td>'
        f'<td class="number">{one.waits or ""}</td><td class="number">{shown}</td>'
        f'<td class="bar"><i style="width:{100 * share:.1f}%"></i></td></tr>'
    )
