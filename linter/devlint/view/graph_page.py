"""Modules and devices as a page: a map of the moves, and boxes with the parts of modules."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

from devlint.inspector import Look
from devlint.module_classes import Member, ModuleClass
from devlint.view.document import document, escape, marked
from devlint.view.journeys import Journey, Stop, journeys
from devlint.view.numbering import Numbering
from devlint.view.tints import Tint, tint_of_devices

_NAMES, _LANE, _TOP, _ROW = 250, 150, 56, 52
"""Pixels of the map: the width of the names and of one device, the height above the first row and of each row."""

_STAYS = "not registered: no move reaches it"


def render(looks: Sequence[Look]) -> str:
    """Return one page with the modules of all files that have any."""
    drawn = [look for look in looks if look.source is not None and (look.facts.modules or journeys(look))]
    ids = {
        (module.place.file, module.name): f"f{number}-{module.name}"
        for number, look in enumerate(drawn, start=1)
        for module in look.facts.modules
    }
    sections = "".join(_section(look, ids, alone=len(drawn) == 1) for look in drawn)
    title = drawn[0].result.display if len(drawn) == 1 else f"{len(drawn)} files with modules"
    if not drawn:
        title, sections = "No modules", '<p class="empty">devlint knows of no module in these files.</p>'
    classes = sum(len(look.facts.modules) for look in drawn)
    counts = f'<span class="counts">{classes} {"class" if classes == 1 else "classes"} of modules</span>'
    body = f"<header>\n<h1>{escape(title)} {counts}</h1>\n</header>\n<main>\n{sections}</main>"
    return document(f"{title} · devlint", body, style="graph.css")


def _section(look: Look, ids: Mapping[tuple[str, str], str], *, alone: bool) -> str:
    assert look.source is not None
    parts = [] if alone else [f"<h2>{escape(look.result.display)}</h2>"]
    travels = journeys(look)
    if travels:
        parts.append("<h3>Where modules go</h3>")
        parts.append(f'<div class="map">{_map(travels)}</div>')
    if look.facts.modules:
        parts.append("<h3>The parts of modules</h3>")
        parts.append('<p class="note">As constructors leave it. Registered parts move with their module.</p>')
        boxes = "".join(_class(module, ids, Numbering(look.source)) for module in look.facts.modules)
        parts.append(f'<div class="classes">{boxes}</div>')
    return f"<section>\n{''.join(parts)}\n</section>\n"


# --- the map ------------------------------------------------------------------------------------------------


def _map(travels: Sequence[Journey]) -> str:
    """Draw a column for each device and a row for each module, with an arrow for each move."""
    lanes = sorted({(stop.tint, stop.text) for journey in travels for stop in journey.stops})
    centre = {lane: _NAMES + _LANE * index + _LANE // 2 for index, lane in enumerate(lanes)}
    width, height = _NAMES + _LANE * len(lanes), _TOP + _ROW * len(travels)
    parts = [
        f'<svg width="{width}" height="{height}" viewBox="0 0 {width} {height}" role="img" '
        f'aria-label="{escape("; ".join(map(_told, travels)))}">',
        '<defs><marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
        '<path class="head" d="M0 0 L8 4 L0 8 z"/></marker></defs>',
    ]
    for (tint, text), x in centre.items():
        parts.append(
            f'<g class="{tint.name}"><line class="lane" x1="{x}" y1="36" x2="{x}" y2="{height}"/>'
            f'<rect class="pill" x="{x - 68}" y="8" width="136" height="26" rx="13"/>'
            f'<text class="device" x="{x}" y="25"><title>{escape(text)}</title>{escape(_short(text))}</text></g>'
        )
    for number, journey in enumerate(travels):
        parts.extend(_row(journey, _TOP + _ROW * number + _ROW // 2, centre, width))
    return "".join(parts) + "</svg>"


def _row(journey: Journey, y: int, centre: Mapping[tuple[Tint, str], int], width: int) -> Iterator[str]:
    where = f"{journey.of} in {journey.scope}" if journey.scope else journey.of
    yield f'<path class="row" d="M0 {y + _ROW // 2} H{width}"/>'
    yield f'<text class="name" x="2" y="{y - 2}">{escape(journey.name)}</text>'
    yield f'<text class="of" x="2" y="{y + 15}">{escape(_short(where, 38))}</text>'
    points = [(centre[stop.tint, stop.text], stop) for stop in journey.stops]
    for (start, _), (end, stop) in pairwise(points):
        side = 1 if end > start else -1
        middle, bend = (start + end) // 2, -20 * side
        path = f"M{start + 8 * side} {y} Q{middle} {y + bend} {end - 9 * side} {y}"
        yield f'<path class="way" d="{path}" marker-end="url(#head)"/>'
        yield f'<text class="line" x="{middle}" y="{y - 14 if side > 0 else y + 23}">{stop.where}</text>'
    for x, stop in points:
        dot = f'<circle class="stop {stop.tint.name}" cx="{x}" cy="{y}" r="6.5">'
        yield f"{dot}<title>{escape(_why(stop))}</title></circle>"
    if len(points) == 1:
        yield f'<text class="line" x="{points[0][0]}" y="{y + 22}">{points[0][1].where}</text>'


def _why(stop: Stop) -> str:
    return f"{stop.where}: {stop.why or stop.text}"


def _told(journey: Journey) -> str:
    return f"{journey.name} " + ", then ".join(f"on {stop.text} from {stop.where}" for stop in journey.stops)


def _short(text: str, most: int = 17) -> str:
    return text if len(text) <= most else text[: most - 1] + "\N{HORIZONTAL ELLIPSIS}"


# --- the boxes ----------------------------------------------------------------------------------------------


def _class(module: ModuleClass, ids: Mapping[tuple[str, str], str], numbering: Numbering) -> str:
    bases = f"({', '.join(module.bases)})" if module.bases else ""
    return (
        f'<div class="box" id="{escape(ids[module.place.file, module.name])}">'
        f'<p class="title">{escape(module.name + bases)}<small>{numbering.words(module.place.line)}</small></p>'
        f"{_members(module.members, ids, numbering)}</div>"
    )


def _members(members: Sequence[Member], ids: Mapping[tuple[str, str], str], numbering: Numbering) -> str:
    if not members:
        return ""
    return f'<ul class="members">{"".join(_member(member, ids, numbering) for member in members)}</ul>'


def _member(member: Member, ids: Mapping[tuple[str, str], str], numbering: Numbering) -> str:
    what = escape(member.of or member.kind.removeprefix("unregistered "))
    target = ids.get((member.file, member.of))
    if target is not None:
        what = f'<a href="#{escape(target)}">{what}</a>'
    loose = not member.registered and member.place is not None
    stays = f'<span class="stays">{marked(_STAYS)}</span>' if loose else ""
    line = f", {numbering.words(member.place.line)}" if member.place is not None else ""
    return (
        f'<li class="member {tint_of_devices(member.devices).name}{" loose" * loose}">'
        f'<span class="at">{escape(_short(member.text, 26))}</span><span class="name">{escape(member.name)}</span> '
        f'<span class="what">{what}{line}</span>{stays}{_members(member.parts, ids, numbering)}</li>'
    )
