"""What a generated program has at one point: its names by kind, and the devices it may speak of."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Literal

Kind = Literal[
    "scalar", "vector", "matrix", "index", "mask", "matrices", "pair", "named", "record", "function", "module", "worker"
]
"""Tensors of rank 0, shape (3,) and (3, 3), an index and a mask for three rows; a list, a tuple of two and a dict of
matrices (its keys are "a" and "b"); an object with a matrix `image` and an index `label`; a function, a module and an
object with a method `run` that each map a matrix to a matrix."""

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
    """A function that statements may call.

    Attributes:
        takes: what it must be given, in order; "device" is an expression that names one.
        options: keyword arguments it may be given besides, each with the kind of its value.
        returns: what it gives; "matrices" of a generator function are there for iterating only.
    """

    name: str
    takes: tuple[Kind | Literal["device"], ...]
    returns: Kind
    options: tuple[tuple[str, Kind | Literal["device"]], ...] = ()


@dataclass(frozen=True, slots=True)
class Class:
    """A class that statements may make objects of: a module or a worker."""

    name: str
    takes: tuple[Kind | Literal["device"], ...] = ()


@dataclass(slots=True)
class Scope:
    """One function body or the program itself.

    Attributes:
        home: the device that most tensors are on, so that many programs hold.
        records: the class of records of this program, if it has one.
        devices: further expressions that name a device here.
        names: the names that can be used, by kind.
        count: how many names were made.
        depth: how many blocks deep.
        opaque: whether these statements stand behind a condition that nobody knows before the program runs.
    """

    dice: random.Random
    home: str
    functions: list[Function]
    modules: list[Class]
    workers: list[Class]
    records: str | None = None
    devices: list[str] = field(default_factory=list)
    names: dict[Kind, list[str]] = field(default_factory=dict)
    count: int = 0
    depth: int = 0
    opaque: bool = False

    def new(self, kind: Kind) -> str:
        """A name that is not in use yet; it counts as defined."""
        self.count += 1
        name = f"{PREFIXES.get(kind, kind[0])}{self.count}"
        self.names.setdefault(kind, []).append(name)
        return name

    def pick(self, *kinds: Kind) -> str | None:
        """A name of one of the kinds."""
        found = [name for kind in kinds for name in self.names.get(kind, [])]
        return self.dice.choice(found) if found else None

    def variable(self, *kinds: Kind) -> str | None:
        """A name of one of the kinds that may be bound anew: no attribute and no constant."""
        known = [name for kind in kinds for name in self.names.get(kind, [])]
        found = [name for name in known if name.isidentifier() and not name.isupper()]
        return self.dice.choice(found) if found else None

    @contextmanager
    def block(self) -> Iterator[None]:
        """A block that may not be entered: what it binds is not used afterwards."""
        before = {kind: list(names) for kind, names in self.names.items()}
        self.depth += 1
        yield
        self.depth -= 1
        self.names = before

    def device(self) -> str:
        """An expression for a device: most often where everything else is."""
        if self.dice.random() < HOME:
            return self.dice.choice([self.home, self.home, *self.devices])
        return self.dice.choice(DEVICES)

    def chance(self, probability: float) -> bool:
        """Throws the dice."""
        return self.dice.random() < probability


HOME = 0.95
"""How often a device is the one that everything is on."""

PREFIXES: dict[Kind, str] = {
    "matrices": "several", "named": "by_name", "mask": "keep", "module": "net", "record": "batch"
}  # fmt: skip
