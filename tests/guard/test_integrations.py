"""The callbacks, in training with the real packages."""

from __future__ import annotations

import importlib.util
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from devlint_guard.errors import GuardUsageError  # noqa: E402
from torch import Tensor, nn  # noqa: E402

from tests.conftest import cannot_run  # noqa: E402

CALL = nn.Module.__call__


@pytest.fixture(autouse=True)
def no_default_device(monkeypatch: pytest.MonkeyPatch) -> None:
    """Before torch 2.7, `get_default_device` fails where another test has called `set_default_device(None)`."""
    monkeypatch.delattr(torch._GLOBAL_DEVICE_CONTEXT, "device_context", raising=False)


def needed(name: str) -> Any:
    """A package; the calling test is skipped without it, unless this is CI."""
    if importlib.util.find_spec(name) is None:
        cannot_run(f"{name} is not installed")
    return importlib.import_module(name)


def test_the_ways_in_are_named_without_loading_any_framework() -> None:
    program = "import sys, devlint_guard.integrations; print({'lightning', 'transformers'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, encoding="utf-8", check=True)
    assert done.stdout == "set()\n"


# --- Lightning ----------------------------------------------------------------------------------------------


def network(kind: type) -> Any:
    """A LightningModule that keeps a mask on the device that its attribute `place` names."""

    class Network(kind):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Linear(4, 2)
            self.place = "cpu"

        def training_step(self, batch: Tensor, index: int) -> Tensor:
            place = self.place if index == 1 else "cpu"
            return self.layer(batch.to(place)).sum()  # type: ignore[no-any-return]

        def predict_step(self, batch: Tensor, index: int) -> Tensor:
            return self.layer(batch.to(self.place))  # type: ignore[no-any-return]

        def configure_optimizers(self) -> Any:
            return torch.optim.SGD(self.parameters(), lr=0.1)

    return Network()


def trainer(package: Any, callback: Any, folder: Path) -> Any:
    quiet = {"logger": False, "enable_checkpointing": False, "enable_progress_bar": False, "barebones": False}
    return package.Trainer(
        accelerator="cpu",
        max_epochs=1,
        callbacks=[callback],
        default_root_dir=folder,
        enable_model_summary=False,
        **quiet,
    )


@pytest.fixture
def lightning() -> Any:
    return needed("lightning.pytorch")


BATCHES = torch.utils.data.DataLoader(torch.ones(2, 4))


def test_lightning_trains_as_without_the_callback(lightning: Any, tmp_path: Path) -> None:
    from devlint_guard.integrations import LightningGuard

    callback, module = LightningGuard(), network(lightning.LightningModule)
    assert isinstance(pickle.loads(pickle.dumps(callback)), LightningGuard)
    run = trainer(lightning, callback, tmp_path)
    run.fit(module, BATCHES)
    run.predict(module, BATCHES)
    assert callback.findings == []
    assert nn.Module.__call__ is CALL


def test_lightning_stops_at_a_mismatch_and_leaves_nothing_behind(lightning: Any, tmp_path: Path) -> None:
    from devlint_guard.integrations import LightningGuard

    callback, module = LightningGuard(), network(lightning.LightningModule)
    module.place = "meta"
    with pytest.raises(RuntimeError) as caught:
        trainer(lightning, callback, tmp_path).fit(module, BATCHES)
    assert "devlint: DEV602" in caught.value.__notes__[0]
    (finding,) = callback.findings
    assert finding.module.endswith(".layer")
    assert finding.step == 1
    assert finding.place is not None
    assert finding.place.function.endswith("Network.training_step")
    assert nn.Module.__call__ is CALL


def test_lightning_records_in_prediction(lightning: Any, tmp_path: Path) -> None:
    from devlint_guard.integrations import LightningGuard

    callback, module = LightningGuard(mode="record", level="module"), network(lightning.LightningModule)
    module.place = "meta"
    with pytest.raises(RuntimeError, match="not on the expected device"):
        trainer(lightning, callback, tmp_path).predict(module, BATCHES)
    assert {finding.code for finding in callback.findings} == {"DEV602"}
    assert nn.Module.__call__ is CALL


def test_options_are_checked_at_once(lightning: Any) -> None:
    from devlint_guard.integrations import LightningGuard

    with pytest.raises(GuardUsageError):
        LightningGuard(mode="rise")


# --- transformers -------------------------------------------------------------------------------------------


class Rows:
    def __len__(self) -> int:
        return 4

    def __getitem__(self, index: int) -> dict[str, Tensor]:
        ids = torch.arange(6) + index
        return {"input_ids": ids, "labels": ids}


def language(transformers: Any, callback: Any, folder: Path) -> Any:
    config = transformers.GPT2Config(vocab_size=32, n_positions=8, n_embd=8, n_layer=1, n_head=2)
    network = transformers.GPT2LMHeadModel(config)
    arguments = transformers.TrainingArguments(
        output_dir=str(folder), use_cpu=True, max_steps=2, report_to=[], save_strategy="no", disable_tqdm=True
    )
    return transformers.Trainer(network, arguments, train_dataset=Rows(), callbacks=[callback])


@pytest.fixture
def transformers() -> Any:
    needed("accelerate")
    return needed("transformers")


def test_transformers_trains_as_without_the_callback(transformers: Any, tmp_path: Path) -> None:
    from devlint_guard.integrations import TransformersGuard

    callback = TransformersGuard()
    run = language(transformers, callback, tmp_path)
    run.train()
    assert callback.findings == []
    assert nn.Module.__call__ is CALL


def test_transformers_stops_at_a_mismatch(transformers: Any, tmp_path: Path) -> None:
    from devlint_guard.integrations import TransformersGuard

    callback = TransformersGuard(level="module")
    run = language(transformers, callback, tmp_path)

    class Fault(transformers.TrainerCallback):  # type: ignore[misc]
        def on_step_begin(self, *_: Any, model: Any, **__: Any) -> None:
            model.transformer.h[0].ln_2.to("meta")

    run.add_callback(Fault)
    try:
        with pytest.raises(RuntimeError) as caught:
            run.train()
        assert "devlint: DEV602" in caught.value.__notes__[0]
        assert [one.module for one in callback.findings] == ["GPT2LMHeadModel.transformer.h.0.ln_2"]
        assert nn.Module.__call__ is not CALL
    finally:
        callback.end()
    assert nn.Module.__call__ is CALL
