"""The tables of transfer functions for calls of libraries; the files of `transfers/` fill them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

from devlint.analysis.library_call import LibraryCall
from devlint.domain.value import Value

Transfer: TypeAlias = Callable[[LibraryCall], Value | None]
"""Takes a call and gives its result, None if the call does not return."""

FUNCTIONS: dict[str, Transfer] = {}
"""Functions, by qualified name."""

CONSTRUCTORS: dict[str, Transfer] = {}
"""Constructors, by qualified name of the class."""

MODULE_CALLS: dict[str, Transfer] = {}
"""Calls of a library's module, by qualified name of its class."""

TENSOR_METHODS: dict[str, Transfer] = {}
"""Methods of tensors, by name."""

OPTIMIZER_METHODS: dict[str, Transfer] = {}
"""Methods of optimizers, by name."""

OBJECT_METHODS: dict[str, Transfer] = {}
"""Methods of other objects of a library, by qualified name."""


def register(table: dict[str, Transfer], transfers: Mapping[str, Transfer]) -> None:
    """Add transfer functions to a table.

    Raises:
        ValueError: a name is in the table already.
    """
    known = table.keys() & transfers.keys()
    if known:
        raise ValueError(f"transfer functions are registered twice: {', '.join(sorted(known))}")
    table.update(transfers)
