"""The callback for the `Trainer` of transformers."""

from __future__ import annotations

from typing import Any

from transformers import TrainerCallback

from devlint_guard.integrations.running import RunningGuard


class TransformersGuard(RunningGuard, TrainerCallback):
    """Guards training: `Trainer(…, callbacks=[TransformersGuard()])`.

    A trainer tells its callbacks of no errors. After one, the guard stays active until the next training ends, or
    until `end()`; PyTorch's errors inside of modules are explained all the same.
    """

    def on_train_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """The model is on its device."""
        self.end()
        self.begin(kwargs["model"])

    def on_train_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Training ends without an error."""
        self.end()
