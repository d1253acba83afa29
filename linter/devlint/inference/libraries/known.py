"""All that registers itself in the table, imported once."""

from __future__ import annotations

from devlint.inference.libraries import (
    containers,
    loading,
    machines,
    modules,
    optimizers,
    parallel,
    python,
    tensors,
    trainers,
)

TOPICS = (containers, loading, machines, modules, optimizers, parallel, python, tensors, trainers)
