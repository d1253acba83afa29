"""The callback for Lightning, under either of its names: `lightning` or `pytorch_lightning`."""

from __future__ import annotations

import importlib
import sys
from typing import TYPE_CHECKING, Any

from devlint_guard.integrations.running import RunningGuard

if TYPE_CHECKING:
    from lightning.pytorch import Callback, LightningModule, Trainer
else:

    def _callbacks() -> Any:
        """The callbacks of the package that the program uses already, else of the one that is installed."""
        if "pytorch_lightning" not in sys.modules or "lightning.pytorch" in sys.modules:
            try:
                return importlib.import_module("lightning.pytorch.callbacks")
            except ModuleNotFoundError:
                pass
        return importlib.import_module("pytorch_lightning.callbacks")

    Callback = _callbacks().Callback


class LightningGuard(RunningGuard, Callback):
    """Guards what a trainer does, from when the module is on its device: `Trainer(callbacks=[LightningGuard()])`."""

    def on_fit_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """The module is where the strategy has put it."""
        self.begin(pl_module)

    on_validation_start = on_test_start = on_predict_start = on_fit_start

    def on_exception(self, trainer: Trainer, pl_module: LightningModule, exception: BaseException) -> None:
        """An error ends the run: it is explained."""
        self.end(exception)

    def teardown(self, trainer: Trainer, pl_module: LightningModule, stage: str) -> None:
        """The run ends."""
        self.end()
