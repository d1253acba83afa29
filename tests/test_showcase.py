"""The showcase: every device error that devlint reports in it is real, one repair after the other."""

from __future__ import annotations

from pathlib import Path

from devlint import engine
from devlint.settings import Settings

from tests.conftest import REPOSITORY
from tests.judge import Judge

SHOWCASE = REPOSITORY / "fixtures" / "showcase" / "train.py"

REPAIRS = (
    ("torch.arange(tokens.size(1))", "torch.arange(tokens.size(1), device=tokens.device)"),
    ("F.cross_entropy(logits, labels,", "F.cross_entropy(logits, labels.to(device),"),
    ("            tokens.to(device)\n", "            tokens = tokens.to(device)\n"),
    ("device_ids=[1, 0]", "device_ids=[0, 1]"),
)
"""In the order in which PyTorch complains on four devices."""

PORTABLE = (('"cuda:1"', "device"), (", device_ids=[0, 1]", ""))
"""What a machine with a single device, or none, wants besides."""


def test_every_repair_is_needed(judge: Judge) -> None:
    text = SHOWCASE.read_text(encoding="utf-8")
    for broken, mended in REPAIRS:
        assert judge.run(text, devices=4).outcome == "device-error", broken
        assert text.count(broken) == 1
        text = text.replace(broken, mended)
    assert judge.run(text, devices=4).outcome == "ok"
    assert judge.run(text, devices=1).kind == "ordinal"
    assert judge.run(text, devices=0).kind == "no-cuda"
    for fixed, portable in PORTABLE:
        assert text.count(fixed) == 1
        text = text.replace(fixed, portable)
    assert [judge.run(text, devices=count).outcome for count in (0, 1, 4)] == ["ok", "ok", "ok"]


def test_the_repaired_showcase_is_clean(tmp_path: Path) -> None:
    text = SHOWCASE.read_text(encoding="utf-8")
    for broken, mended in (*REPAIRS, *PORTABLE):
        text = text.replace(broken, mended)
    file = tmp_path / "train.py"
    file.write_text(text, encoding="utf-8")
    run = engine.run(Settings((str(file),), isolated=True))
    assert [diagnostic.message for diagnostic in run.outcome.diagnostics] == []


def test_every_kind_of_mistake_is_reported() -> None:
    run = engine.run(Settings((str(SHOWCASE),), isolated=True))
    assert {diagnostic.code for diagnostic in run.outcome.diagnostics} == {
        "DEV101",
        "DEV102",
        "DEV103",
        "DEV203",
        "DEV302",
        "DEV401",
    }
