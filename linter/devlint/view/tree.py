"""How modules and devices relate, as a tree in the terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from devlint.inspector import Look
from devlint.module_classes import Member, ModuleClass
from devlint.quoting import printable
from devlint.report.palette import Palette
from devlint.view.journeys import Journey, journeys
from devlint.view.numbering import Numbering

_STAYS = "not registered, no move reaches it"


def render(looks: Sequence[Look], palette: Palette) -> str:
    """Return the modules of each file that has any: classes with their attributes, then names and their moves."""
    return "\n".join(filter(None, (_file(look, palette) for look in looks)))


def _file(look: Look, palette: Palette) -> str:
    travels = journeys(look)
    if not (look.facts.modules or travels) or look.source is None:
        return ""
    rows = [palette.strong(printable(look.source.display))]
    for module in look.facts.modules:
        rows.extend(_class(module, Numbering(look.source), palette))
    rows.extend(_journey(journey, palette) for journey in travels)
    return "\n".join(rows) + "\n"


def _class(module: ModuleClass, numbering: Numbering, palette: Palette) -> Iterator[str]:
    bases = f"({', '.join(module.bases)})" if module.bases else ""
    yield f"  {palette.note('class')} {palette.strong(module.name)}{bases}  {numbering.words(module.place.line)}"
    yield from _members(module.members, "  ", palette)


def _members(members: Sequence[Member], indent: str, palette: Palette) -> Iterator[str]:
    for number, member in enumerate(members, start=1):
        last = number == len(members)
        what = member.of or member.kind.removeprefix("unregistered ")
        remark = "" if member.registered else f"  {palette.warning(_STAYS)}" * (member.place is not None)
        held = printable(f"{member.name}: {what} on {member.text}")
        yield f"{indent}{'└─' if last else '├─'} {held}{remark}"
        yield from _members(member.parts, indent + ("   " if last else "│  "), palette)


def _journey(journey: Journey, palette: Palette) -> str:
    stops = " → ".join(f"{stop.text} ({stop.where})" for stop in journey.stops)
    where = f" in {journey.scope}" if journey.scope else ""
    went = printable(f"{journey.of or 'module'}{where}: {stops}")
    return f"  {palette.strong(printable(journey.name))}: {went}"
