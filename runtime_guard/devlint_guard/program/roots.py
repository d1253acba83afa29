"""The modules that paths begin with, by the names that the user's code has for them."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping

from torch.nn import Module

from devlint_guard.program.frames import sites_above
from devlint_guard.program.naming import Roots


class ByVariable(Mapping[str, Module]):
    """Modules by the variables of the running code that hold them, the outermost first, or by the names given.

    Variables are read only for a report: up to CPython 3.12, a frame keeps the values that its variables had at the
    reading.
    """

    def __init__(self, roots: Roots) -> None:
        self._roots = roots

    def __getitem__(self, name: str) -> Module:
        return self._named()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._named())

    def __len__(self) -> int:
        return len(self._roots)

    def _named(self) -> dict[str, Module]:
        variables: dict[int, str] = {}
        for site in sites_above(sys._getframe()) if self._roots else ():
            if site.is_user:
                for name, value in {**site.frame.f_globals, **site.frame.f_locals}.items():
                    if isinstance(value, Module) and name != "self":
                        variables.setdefault(id(value), name)
        return {variables.get(id(root), name): root for name, root in self._roots.items()}
