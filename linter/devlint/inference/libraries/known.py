"""All that registers itself in the table, imported once."""

from __future__ import annotations

from devlint.inference.libraries import (
    containers,
    generators,
    loading,
    metrics,
    modules,
    optimizers,
    parallel,
    process_groups,
    python,
    tensors,
    trainers,
)

TOPICS = (
    containers,
    generators,
    loading,
    metrics,
    modules,
    optimizers,
    parallel,
    process_groups,
    python,
    tensors,
    trainers,
)
