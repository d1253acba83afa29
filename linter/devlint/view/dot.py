"""How modules and devices relate, in the language of Graphviz."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from devlint.inspector import Look
from devlint.module_classes import Member, ModuleClass
from devlint.quoting import printable
from devlint.view.journeys import journeys


def render(looks: Sequence[Look]) -> str:
    """Return a directed graph: classes and their attributes, names and the devices they go to."""
    known = {(module.place.file, module.name) for look in looks for module in look.facts.modules}
    rows: list[str] = []
    for look in looks:
        if look.source is None:
            continue
        file = look.source.display
        for module in look.facts.modules:
            rows.extend(_class(file, module, known))
        for journey in journeys(look):
            name = _quoted(f"{file}:{journey.scope}:{journey.name}: {journey.of}")
            rows.append(f"  {name} [label={_quoted(f'{journey.name}: {journey.of}')}, shape=box, style=rounded];")
            if (file, journey.of) in known:
                rows.append(f'  {name} -> {_quoted(f"{file}:{journey.of}")} [label="is a", style=dotted];')
            for stop in journey.stops:
                rows.append(f"  {_device(stop.text)} [label={_quoted(stop.text)}, shape=ellipse];")
                rows.append(f'  {name} -> {_device(stop.text)} [label="{stop.where}"];')
    return "digraph devices {\n  rankdir=LR;\n" + "".join(f"{row}\n" for row in dict.fromkeys(rows)) + "}\n"


def _class(file: str, module: ModuleClass, known: set[tuple[str, str]]) -> Iterator[str]:
    name = f"{file}:{module.name}"
    yield f"  {_quoted(name)} [label={_quoted(f'class {module.name}')}, shape=box];"
    yield from _members(name, module.members, known)


def _members(owner: str, members: Sequence[Member], known: set[tuple[str, str]]) -> Iterator[str]:
    for member in members:
        style = "solid" if member.registered else "dashed"
        target = f"{member.file}:{member.of}"
        if (member.file, member.of) not in known:
            target = f"{owner}.{member.name}"
            what = member.of or member.kind
            yield f"  {_quoted(target)} [label={_quoted(f'{what} on {member.text}')}, shape=plain];"
        yield f"  {_quoted(owner)} -> {_quoted(target)} [label={_quoted(member.name)}, style={style}];"
        yield from _members(target, member.parts, known)


def _device(text: str) -> str:
    return _quoted(f"device {text}")


def _quoted(text: str) -> str:
    """Return a string of DOT, which escapes quotes and nothing else."""
    return json.dumps(printable(text), ensure_ascii=False)
