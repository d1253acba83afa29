"""The modules' part of the page: a tree in the colours of the devices."""

from __future__ import annotations

from collections.abc import Sequence

from devlint_guard.finding import Role
from devlint_guard.report.markup import bytes_of, chip, escape, spread_of, stack
from devlint_guard.report.record import Held, Part


def modules(roots: Sequence[Part]) -> str:
    """A section with the tree of each root; nothing where there is none."""
    if not roots:
        return ""
    trees = "\n".join(_part(root, _home(root), 0) for root in roots)
    return f'<section id="modules">\n<h2>Modules</h2>\n<div class="card tree">\n{trees}\n</div>\n</section>'


def _home(root: Part) -> str:
    """The device that most bytes of a root are on."""
    return next((device for device, _ in spread_of(root.held()).most_common(1)), "")


def _part(part: Part, home: str, depth: int) -> str:
    spread = spread_of(part.held())
    name = f'<b>{escape(part.name)}</b> <span class="soft">{escape(part.kind)}</span>'
    chips = "".join(map(chip, sorted(spread)))
    size = f'{stack(spread, "share")}<span class="size">{bytes_of(sum(spread.values()))}</span>' if spread else ""
    line = f'<span class="node">{name} {chips}</span>{size}'
    tensors = "".join(_held(one, home) for one in part.tensors)
    parts = "\n".join(_part(one, home, depth + 1) for one in part.parts)
    if not tensors and not parts:
        return f'<div class="leaf">{line}</div>'
    # Where something lies elsewhere than its neighbours, that is in sight when the page is opened.
    is_open = " open" if depth == 0 or len(spread) > 1 or _has_strays(part) else ""
    return f"<details{is_open}><summary>{line}</summary>\n{tensors}{parts}</details>"


def _has_strays(part: Part) -> bool:
    """Whether some tensors here do not move with their module."""
    return any(one.role == Role.ATTRIBUTE.value for one in part.held())


def _held(one: Held, home: str) -> str:
    kind = "held away" if one.device != home else "held"
    role = "" if one.role == "parameter" else f'<span class="tag">{escape(one.role)}</span>'
    return (
        f'<div class="{kind}"><span class="node"><code>{escape(one.name)}</code> {chip(one.device)} '
        f'<span class="soft">{escape(one.detail)}</span> {role}</span>'
        f'<span class="size">{bytes_of(one.bytes)}</span></div>'
    )
