"""Classes of modules and their members, for people to look at; no rule asks for them."""

from __future__ import annotations

from devlint.diagnostics import Place
from devlint.domain.device import Device
from devlint.records import dataclass


@dataclass(frozen=True, slots=True)
class Member:
    """An attribute of a module, or a part of one, as the constructor leaves it.

    Attributes:
        name: of the attribute; of a part its index or key, "*" where one stands for all.
        kind: as for `Occurrence`; begins with "unregistered " where no move of the module reaches it.
        of: its class, if it is a module.
        file: where that class is, "" for one of a library.
        text, devices: as for `Occurrence`.
        place: where it is stored; None for a part.
        parts: what a container of a library holds.
    """

    name: str
    kind: str
    of: str
    file: str
    text: str
    devices: tuple[Device, ...]
    place: Place | None
    parts: tuple[Member, ...] = ()

    @property
    def registered(self) -> bool:
        """Whether it moves with the module."""
        return not self.kind.startswith("unregistered ")


@dataclass(frozen=True, slots=True)
class ModuleClass:
    """A class of modules: its name, its definition, its bases as people call them, its attributes with devices."""

    name: str
    place: Place
    bases: tuple[str, ...]
    members: tuple[Member, ...]
