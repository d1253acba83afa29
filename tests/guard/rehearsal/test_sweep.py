"""PyTorch's own samples of its operators and modules end in a rehearsal as the frozen answers say."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

from devlint_guard.rehearsal import available  # noqa: E402

from tests.guard.rehearsal.sweep import release, sweep, unexpected  # noqa: E402

pytestmark = [
    pytest.mark.skipif(bool(available()), reason=available()),
    pytest.mark.skipif(
        torch.__version__.partition("+")[0] != release(), reason=f"the answers are for the samples of torch {release()}"
    ),
]

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
def test_calls_end_as_frozen(what: str, names: list[str]) -> None:
    found = list(sweep(what, names))
    assert {one.subject for one in found} >= set(names)
    assert any("d" in one.kinds for one in found)
    assert unexpected(what, found) == []
