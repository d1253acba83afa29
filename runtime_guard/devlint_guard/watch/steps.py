"""Steps of a guard: when one ends, and in which of them the operators are looked at."""

from __future__ import annotations

import torch
from torch.nn import Module

from devlint_guard.program.stored import dictionary_of, has_parameters

ACCUMULATED = 32
"""Calls in training after which a step has ended even though no optimizer has stepped."""

SPACING = 11
"""In training, modules that are known need be looked at only in the steps whose number this divides.

A prime, so that programs which step several optimizers in turn are seen in each of their phases.
"""


class Steps:
    """Counts steps from 0.

    A step ends when an optimizer steps. Outside of training it ends with the call of a module that has parameters.

    Args:
        first: how many steps at the beginning are looked at.
        every: each step that this divides is looked at too; 0 for none.

    Attributes:
        number: of the step that is running, from 0.
        are_known: whether anything has been seen that tells.
    """

    def __init__(self, first: int, every: int) -> None:
        self.number = 0
        self.are_known = False
        self._first = first
        self._every = every
        self._calls = 0

    @property
    def are_looked_at(self) -> bool:
        """Whether the operators of the step that is running are to be looked at."""
        return self.number < self._first or (self._every > 0 and self.number % self._every == 0)

    @property
    def are_over(self) -> bool:
        """Whether none of the steps to come is looked at."""
        return self.number >= self._first and self._every == 0

    def optimizer_stepped(self) -> None:
        """An optimizer has stepped."""
        self.are_known = True
        self.number += 1
        self._calls = 0

    def module_called(self, module: Module) -> None:
        """A module, which no other one has called, is about to be called."""
        if not has_parameters(module):
            return
        if self._calls >= (ACCUMULATED if dictionary_of(module).get("training") and torch.is_grad_enabled() else 1):
            self.number += 1
            self._calls = 0
        self._calls += 1
        self.are_known = True
