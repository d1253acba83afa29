"""What a place of a generated program can use: names by kind, and the dice."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import Literal

Kind = Literal["scalar", "vector", "matrix", "index", "mask", "matrices", "named", "module"]
"""Tensors of rank 0, shape (3,) and (3, 3), an index and a mask for three rows, a list and a dict of matrices (its keys
are "a" and "b"), and a module that maps a matrix to a matrix."""

SHAPES: dict[Kind, str] = {"scalar": "()", "vector": "3", "matrix": "3, 3"}

DEVICES = (
    "'cpu'",
    "'cuda'",
    "'cuda:0'",
    "'cuda:1'",
    "torch.device('cuda')",
    "torch.device('cuda', 1)",
    "torch.device('cpu')",
)


@dataclass(frozen=True, slots=True)
class Function:
    """A function that statements may call."""

    name: str
    takes: tuple[Kind | Literal["device"], ...]
    returns: Kind


@dataclass(slots=True)
class Scope:
    """One function body or the program itself.

    Attributes:
        home: the device that most tensors are on, so that many programs hold.
        devices: further expressions that name a device here.
        names: the names that can be used, by kind.
        count: how many names were made.
        depth: how many blocks deep.
    """

    dice: random.Random
    home: str
    functions: list[Function]
    classes: list[str]
    devices: list[str] = field(default_factory=list)
    names: dict[Kind, list[str]] = field(default_factory=dict)
    count: int = 0
    depth: int = 0

    def new(self, kind: Kind) -> str:
        """A name that is not in use yet; it counts as defined."""
        self.count += 1
        name = f"{kind[0]}{self.count}"
        self.names.setdefault(kind, []).append(name)
        return name

    def pick(self, *kinds: Kind) -> str | None:
        """A name of one of the kinds."""
        found = [name for kind in kinds for name in self.names.get(kind, [])]
        return self.dice.choice(found) if found else None

    def kept(self) -> dict[Kind, list[str]]:
        """A copy of the names, to come back to after a block that may not be entered."""
        return {kind: list(names) for kind, names in self.names.items()}

    def device(self) -> str:
        """An expression for a device: most often where everything else is."""
        if self.dice.random() < 0.65:
            return self.dice.choice([self.home, *self.devices])
        return self.dice.choice(DEVICES)

    def chance(self, probability: float) -> bool:
        """Throws the dice."""
        return self.dice.random() < probability
