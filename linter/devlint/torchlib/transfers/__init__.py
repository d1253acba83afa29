"""Transfer functions: what a device signature cannot say. Each file says why its functions are needed."""

from __future__ import annotations

from devlint.torchlib.transfers import (
    availability,
    collectives,
    containers,
    indices,
    loading,
    optimizers,
    parallel,
    python,
    tensors,
)

FUNCTIONS = (
    availability.FUNCTIONS
    | collectives.FUNCTIONS
    | loading.FUNCTIONS
    | parallel.FUNCTIONS
    | python.FUNCTIONS
    | tensors.FUNCTIONS
)
"""By qualified name."""

TENSOR_METHODS = tensors.METHODS | indices.METHODS
"""By method name."""

CLASSES = containers.CLASSES | loading.CLASSES | parallel.CLASSES | availability.CLASSES | optimizers.CLASSES
"""Constructors, by qualified class name."""

OPTIMIZER_METHODS = optimizers.METHODS
"""Methods of optimizers, by name."""

MODULE_CALLS = parallel.CALLS
"""Calls of a library module, by qualified class name."""
