"""A record as one page for a browser: no script, no network, light and dark as the reader has it."""

from __future__ import annotations

import html
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

from devlint_guard.finding import Change, Finding, Operand, Place, Role, Step, ranks_named
from devlint_guard.program.frames import source_line
from devlint_guard.program.quoting import printable_lines
from devlint_guard.report.record import Allowed, Direction, Held, Part, Record, Rehearsal, Transfer, machine
from devlint_guard.report.summary import counted, described, repeated, unseen, waits_of, when

_STYLE = Path(__file__).with_name("page.css")


def render(record: Record) -> str:
    """A record as a whole HTML document; text of the program is always shown as text."""
    sections = [
        _rehearsal(record.rehearsal),
        _findings("findings", "Findings", record.findings, f"Nothing was found. {marked(unseen(record))}".strip()),
        _ledger(record) if record.transfers or record.config.get("ledger") else "",
        _modules(record.roots),
        _findings("suspects", "Suspects", record.suspects, "", _SUSPECTS),
        _allowances(record.allowed),
        _run(record),
    ]
    whole = f"{_tool(record)}: {_verdict(record)}"
    parts = [
        "<!doctype html>",
        '<html lang="en">',
        "<head>",
        '<meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        '<meta name="color-scheme" content="light dark">',
        # Nothing can be loaded and nothing can run, should a text ever break out of its place.
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">",
        f"<title>{escape(', '.join(filter(None, (whole, ranks_named(record.ranks)))))}</title>",
        f"<style>\n{_STYLE.read_text(encoding='utf-8')}</style>",
        "</head>",
        "<body>",
        _header(record),
        "<main>",
        *filter(None, sections),
        "</main>",
        "</body>",
        "</html>",
        "",
    ]
    return "\n".join(parts)


def _section(anchor: str, title: str, body: str, count: str | None = None) -> str:
    """A section with a heading, and perhaps a count in it."""
    told = "" if count is None else f' <span class="count">{count}</span>'
    return f'<section id="{anchor}">\n<h2>{title}{told}</h2>\n{body}\n</section>'


def _tool(record: Record) -> str:
    return "devlint guard" if record.rehearsal is None else "devlint rehearsal"


def _verdict(record: Record) -> str:
    if record.findings:
        return counted(len(record.findings), "finding")
    if not _is_clean(record) and record.rehearsal is not None:
        return record.rehearsal.outcome.replace("-", " ")
    return "clean" if record.used_gpu else "nothing on a GPU"


def _is_clean(record: Record) -> bool:
    return not record.findings and (record.rehearsal is None or record.rehearsal.exit_code == 0)


# --- head ---------------------------------------------------------------------------------------------------


def _header(record: Record) -> str:
    kind = ("good" if record.used_gpu else "unknown") if _is_clean(record) else "bad"
    run = "" if record.program is None else f'<p class="run"><code>{escape(described(record.program, 0))}</code></p>\n'
    facts = [f"torch {record.torch}", f"Python {record.python}", *record.devices]
    if record.steps:
        facts.append(counted(record.steps, "step"))
    if record.ranks:
        facts.append(f"{ranks_named(record.ranks)} of {record.processes}")
    said = " · ".join(map(escape, facts))
    return (
        f'<header>\n<h1>{_tool(record)} <span class="verdict {kind}">{escape(_verdict(record))}</span></h1>\n{run}'
        f'<p class="facts">{said}</p>\n{_weights(record.roots)}</header>'
    )


def _weights(roots: Sequence[Part]) -> str:
    """How the bytes of all modules are spread over devices."""
    spread = spread_of(held for root in roots for held in root.held())
    if not spread:
        return ""
    items = "".join(
        f"<li>{chip(device)} {bytes_of(size)}{' without data' if device == 'meta' else ''}</li>"
        for device, size in sorted(spread.items())
    )
    return f'{stack(spread, "weights")}\n<ul class="legend">{items}</ul>\n'


# --- the rehearsal ------------------------------------------------------------------------------------------


def _rehearsal(rehearsal: Rehearsal | None) -> str:
    """How a rehearsal ended, and what was not judged."""
    if rehearsal is None:
        return ""
    where = machine(rehearsal.devices, rehearsal.device_type)
    error = f'<p class="torch">{escape(rehearsal.error)}</p>\n' if rehearsal.error else ""
    items = "".join(f"<li>{escape(line)}</li>" for line in rehearsal.not_judged)
    unjudged = f'<p class="note">Not checked:</p>\n<ul>{items}</ul>\n' if items else ""
    told = f"<p>On {where}: {escape(rehearsal.ending)} ({counted(rehearsal.steps, 'optimizer step')}).</p>\n"
    return _section("rehearsal", "Rehearsal", f'<div class="card">\n{told}{error}{unjudged}</div>')


# --- findings -----------------------------------------------------------------------------------------------

_SUSPECTS = "These may become mismatches; the program may also mend them before it matters."


def _findings(anchor: str, title: str, findings: Sequence[Finding], nothing: str, note: str = "") -> str:
    if not findings and not nothing:
        return ""
    cards = "\n".join(map(_finding, findings)) or f'<p class="empty">{nothing}</p>'
    about = f'<p class="note">{note}</p>\n' if note else ""
    return _section(anchor, title, f"{about}{cards}", str(len(findings) or ""))


def _finding(finding: Finding) -> str:
    often = f'<span class="often">{finding.count} times</span>' if finding.count > 1 else ""
    rank = f'<span class="often">{ranks_named(finding.ranks)}</span>' if finding.ranks else ""
    diff = "".join(map(_change, finding.changes))
    parts = [
        f'<p class="what"><span class="code">{escape(finding.code)}</span> '
        f'<span class="rule">{escape(finding.name)}</span>{often}{rank}</p>',
        f"<h3>{marked(finding.message)}</h3>",
        _where(finding),
        _excerpt(finding),
        f'<ul class="operands">{"".join(map(_operand, finding.operands))}</ul>' if finding.operands else "",
        f'<p class="torch"><b>PyTorch</b> {escape(finding.pytorch)}</p>' if finding.pytorch else "",
        *(f'<p class="help">{marked(text)}</p>{"" if index else diff}' for index, text in enumerate(finding.help)),
    ]
    return f'<article class="card finding">\n{"".join(filter(None, parts))}\n</article>'


def _change(change: Change) -> str:
    """A change of one line as a diff."""
    tags = {"-": "del", "+": "ins", "": "span"}
    lines = (f"<{tags[sign]}>{sign or ' '} {escape(line)}</{tags[sign]}>" for sign, line in change.lines())
    where = f'<span class="soft">{escape(at(change.place))}</span>'
    return f'<pre class="change">{where}{"".join(lines)}</pre>'


def _where(finding: Finding) -> str:
    parts = [
        "" if finding.place is None else f"<code>{escape(at(finding.place))}</code>",
        f"<code>{escape(finding.module)}</code> ({escape(finding.module_class)})" if finding.module else "",
        "" if finding.step is None else f"step {finding.step}",
    ]
    return f'<p class="where">{" · ".join(filter(None, parts))}</p>' if any(parts) else ""


def _excerpt(finding: Finding) -> str:
    """The user's lines, with each operand in the colour of its device."""
    place = finding.place
    if place is None:
        return ""
    here = [one for one in finding.operands if one.place is not None and one.place.file == place.file]
    lines = {place.line, *(one.place.line for one in here if one.place is not None and one.place.column)}
    near = range(min(lines) - 1, max(lines) + 2) if max(lines) - min(lines) < 12 else sorted(lines)
    rows = []
    for line in near:
        text = source_line(place.file, line)
        if line < 1 or (not text and line not in lines):
            continue
        mine = [one for one in here if one.place is not None and one.place.line == line and one.place.column]
        kind = "line" if line in lines else "line near"
        rows.append(f'<span class="{kind}"><i>{line}</i>{_coloured(text, mine)}</span>')
    return f'<pre class="source">{"".join(rows)}</pre>' if any(source_line(place.file, line) for line in lines) else ""


def _coloured(text: str, operands: Sequence[Operand]) -> str:
    parts, column = [], 0
    for operand in sorted(operands, key=lambda one: one.place.column if one.place else 0):
        place = operand.place
        if place is None or place.column - 1 < column:
            continue
        start = place.column - 1
        end = place.end_column - 1 if place.end_line == place.line else len(text)
        kind = "blamed " if operand.blamed else ""
        parts.append(escape(text[column:start]))
        parts.append(
            f'<mark class="{kind}{colour(operand.device)}" title="{escape(operand.device)}">'
            f"{escape(text[start:end])}</mark>"
        )
        column = end
    return "".join(parts) + escape(text[column:])


def _operand(operand: Operand) -> str:
    path = "" if operand.qualified in ("", operand.name) else f"<code>{escape(operand.qualified)}</code>"
    what = filter(None, (operand.role.value, path, escape(operand.detail)))
    steps = "".join(f"<li>{_step(step)}</li>" for step in operand.history)
    history = f'<ol class="history">{steps}</ol>' if steps else ""
    kind = "blamed" if operand.blamed else "other"
    return (
        f'<li class="{kind}">{chip(operand.device)} <code class="name">{escape(operand.name)}</code> '
        f'<span class="soft">{", ".join(what)}</span>{history}</li>'
    )


def _step(step: Step) -> str:
    where = "" if step.place is None else f' <span class="soft">{escape(at(step.place))}</span>'
    return f"{marked(step.message)}{where}"


def _allowances(allowed: Sequence[Allowed]) -> str:
    none = '<span class="soft">none given</span>'
    rows = "".join(
        f'<tr><td class="code">{escape(one.finding.code)}</td><td>{marked(one.finding.message)}'
        f'<span class="soft">{"" if one.finding.place is None else f" {escape(at(one.finding.place))}"}</span></td>'
        f'<td class="number">{one.finding.count}</td><td>{escape(one.reason) or none}</td></tr>'
        for one in allowed
    )
    if not rows:
        return ""
    heads = "<thead><tr><th>code</th><th>finding</th><th>times</th><th>reason</th></tr></thead>"
    table = f'<div class="card scroll"><table class="allowed">{heads}<tbody>{rows}</tbody></table></div>'
    return _section("allowed", "Allowed", table, str(len(allowed)))


# --- the ledger: a row with a bar for each line ---------------------------------------------------------------

_DIRECTIONS = {
    Direction.TO_DEVICE: ("up", "to the device"),
    Direction.TO_HOST: ("down", "to the host"),
    Direction.PEER: ("peer", "between devices"),
    Direction.NONE: ("wait", "host waits"),
}


def _ledger(record: Record) -> str:
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
    return _section("ledger", "Transfers", f'{waits}<div class="tiles">{tiles}</div>\n{body}')


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


# --- modules: a tree in the colours of the devices ------------------------------------------------------------


def _modules(roots: Sequence[Part]) -> str:
    """A section with the tree of each root; nothing where there is none."""
    if not roots:
        return ""
    # The home of a tree is the device that most of its bytes are on.
    homes = [next((device for device, _ in spread_of(root.held()).most_common(1)), "") for root in roots]
    trees = "\n".join(_node(root, home, 0) for root, home in zip(roots, homes, strict=True))
    return _section("modules", "Modules", f'<div class="card tree">\n{trees}\n</div>')


def _node(part: Part, home: str, depth: int) -> str:
    spread = spread_of(part.held())
    name = f'<b>{escape(part.name)}</b> <span class="soft">{escape(part.kind)}</span>'
    chips = "".join(map(chip, sorted(spread)))
    size = f'{stack(spread, "share")}<span class="size">{bytes_of(sum(spread.values()))}</span>' if spread else ""
    line = f'<span class="node">{name} {chips}</span>{size}'
    tensors = "".join(_held(one, home) for one in part.tensors)
    parts = "\n".join(_node(one, home, depth + 1) for one in part.parts)
    if not tensors and not parts:
        return f'<div class="leaf">{line}</div>'
    # What lies elsewhere than its neighbours, or does not move with its module, is in sight when the page is opened.
    has_strays = any(one.role == Role.ATTRIBUTE.value for one in part.held())
    is_open = " open" if depth == 0 or len(spread) > 1 or has_strays else ""
    return f"<details{is_open}><summary>{line}</summary>\n{tensors}{parts}</details>"


def _held(one: Held, home: str) -> str:
    kind = "held away" if one.device != home else "held"
    role = "" if one.role == "parameter" else f'<span class="tag">{escape(one.role)}</span>'
    return (
        f'<div class="{kind}"><span class="node"><code>{escape(one.name)}</code> {chip(one.device)} '
        f'<span class="soft">{escape(one.detail)}</span> {role}</span>'
        f'<span class="size">{bytes_of(one.bytes)}</span></div>'
    )


# --- the run ------------------------------------------------------------------------------------------------


def _run(record: Record) -> str:
    options = ((escape(key), escape(str(value))) for key, value in record.config.items())
    rows = "".join(f"<tr><th>{key}</th><td><code>{value}</code></td></tr>" for key, value in options)
    if not rows:
        return ""
    return _section("run", "Options", f'<div class="card"><table class="options">{rows}</table></div>')


# --- pieces: text, devices in their colours, sizes ----------------------------------------------------------


_FIRST_COLOUR = {"cuda": 0, "xpu": 3, "mps": 4}
_COLOURS = 6


def colour(device: str) -> str:
    """The style of a device, the one that devlint's other pages have for it."""
    kind, _, index = device.partition(":")
    if device in ("cpu", "meta"):
        return device
    if not re.fullmatch(r"[a-z]+(:\d{1,4})?", device):
        return "several"
    return f"a{(_FIRST_COLOUR.get(kind, _COLOURS - 1) + int(index or 0)) % _COLOURS}"


def chip(device: str) -> str:
    """A device in its colour."""
    return f'<span class="chip {colour(device)}">{escape(device)}</span>'


_UNITS = ("B", "kB", "MB", "GB", "TB")


def bytes_of(size: int) -> str:
    """A number of bytes for people: `1.5 kB`."""
    value, unit = float(size), 0
    while value >= 1000 and unit < len(_UNITS) - 1:
        value, unit = value / 1000, unit + 1
    return f"{value:.0f} {_UNITS[unit]}" if unit == 0 or value >= 100 else f"{value:.1f} {_UNITS[unit]}"


def escape(text: str) -> str:
    """Text as HTML, quoted, so that it can only be read."""
    return html.escape(printable_lines(text))


def marked(text: str) -> str:
    """A sentence as HTML, with what stands between backticks as code."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(text))


def stack(spread: Counter[str], kind: str) -> str:
    """A bar with a stretch for each device."""
    total = sum(spread.values()) or 1
    stretches = "".join(
        f'<i class="{colour(device)}" style="width:{100 * size / total:.2f}%" '
        f'title="{escape(device)}: {bytes_of(size)}"></i>'
        for device, size in sorted(spread.items())
    )
    return f'<span class="stack {kind}" aria-hidden="true">{stretches}</span>'


def spread_of(held: Iterable[Held]) -> Counter[str]:
    """How many bytes are on each device."""
    spread: Counter[str] = Counter()
    for one in held:
        # An empty tensor is somewhere, too.
        spread[one.device] += max(one.bytes, 1)
    return spread


def at(place: Place) -> str:
    """`train.py:3 in train`."""
    inside = f" in {place.function}" if place.function and place.function != "<module>" else ""
    return f"{place.file}:{place.line}{inside}"
