"""The callback for the `Trainer` of transformers."""

from __future__ import annotations

from typing import Any

from transformers import TrainerCallback

from devlint_guard.finding import Finding
from devlint_guard.integrations.running import RunningGuard


class TransformersGuard(TrainerCallback):
    """Guards training: `Trainer(…, callbacks=[TransformersGuard()])`.

    A trainer tells its callbacks of no errors. After one, the guard stays active until the next training ends, or
    until `end()`; PyTorch's errors inside of modules are explained all the same.

    Args:
        options: those of `Guard`.

    Raises:
        GuardUsageError: an option has a value that it cannot have.
    """

    def __init__(self, **options: Any) -> None:
        self._running = RunningGuard(options)

    @property
    def findings(self) -> list[Finding]:
        """The findings so far."""
        return self._running.findings

    def on_train_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """The model is on its device."""
        self._running.end()
        self._running.begin(kwargs["model"])

    def on_train_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Training ends without an error."""
        self._running.end()

    def end(self) -> None:
        """Stops guarding, after a training that has failed."""
        self._running.end()
