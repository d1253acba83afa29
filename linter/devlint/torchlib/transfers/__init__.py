"""Transfer functions: what a device signature cannot say. Each file says why its functions are needed."""

from __future__ import annotations

from devlint.torchlib.transfers import (
    availability,
    collectives,
    companions,
    containers,
    indices,
    loading,
    optimizers,
    parallel,
    python,
    tensors,
    wrappers,
)

FUNCTIONS = (
    availability.FUNCTIONS
    | collectives.FUNCTIONS
    | loading.FUNCTIONS
    | parallel.FUNCTIONS
    | python.FUNCTIONS
    | tensors.FUNCTIONS
    | wrappers.FUNCTIONS
)
"""By qualified name."""

TENSOR_METHODS = tensors.METHODS | indices.METHODS
"""By method name."""

CLASSES = (
    availability.CLASSES
    | companions.CLASSES
    | containers.CLASSES
    | loading.CLASSES
    | optimizers.CLASSES
    | parallel.CLASSES
)
"""Constructors, by qualified class name."""

OPTIMIZER_METHODS = optimizers.METHODS
"""Methods of optimizers, by name."""

MODULE_CALLS = parallel.CALLS | companions.CALLS
"""Calls of a library module, by qualified class name."""

OBJECT_METHODS = companions.METHODS
"""Methods of other objects of a library, by qualified name."""
