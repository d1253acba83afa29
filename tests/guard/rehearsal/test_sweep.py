"""PyTorch's own samples of its operators and modules end alike under PyTorch's checks and under a rehearsal."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")

from tests.guard.rehearsal.sweep import compare, unexpected
from tests.judge import require_pretended

require_pretended()

OPERATORS = ["add", "addr", "index_put", "linalg.lstsq", "nn.functional.ctc_loss", "polar", "where"]
MODULES = ["nn.CTCLoss", "nn.GRU", "nn.Linear"]


@pytest.mark.parametrize(
    ("what", "names"),
    [
        ("operators", OPERATORS),
        ("modules", MODULES),
        pytest.param("operators", [], marks=pytest.mark.long),
        pytest.param("modules", [], marks=pytest.mark.long),
    ],
)
def test_calls_end_alike(what: str, names: list[str]) -> None:
    found = compare(what, names)
    assert {one.subject for one in found} >= set(names)
    assert any(one.pytorch.kind == "device-error" for one in found)
    assert unexpected(what, found, is_all=not names) == []
