"""Where the source assigned a value: told where one assignment can be meant, and only there."""

from __future__ import annotations

from collections.abc import Callable

import pytest

torch = pytest.importorskip("torch")

from devlint_guard.explain import operands  # noqa: E402
from devlint_guard.findings.explanation import explain  # noqa: E402
from devlint_guard.record import installed  # noqa: E402
from torch import Tensor, nn  # noqa: E402

HERE = torch.ones(2)
META = torch.ones(2, device="meta")


class Once(nn.Module):
    """Assigns an attribute in one place."""

    def __init__(self) -> None:
        super().__init__()
        self.table = torch.zeros(2)

    def add(self, x: Tensor) -> object:
        return x + self.table


class Twice(Once):
    """Assigns it in two."""

    def again(self) -> None:
        self.table = torch.ones(2)


def _local() -> None:
    first = torch.zeros(2)
    first = torch.ones(2)
    META.add(first)


def _later() -> None:
    _ = META + HERE
    HERE_TOO = torch.ones(2)  # noqa: F841, N806


def _loop() -> None:
    for one, _ in [(torch.ones(2), 1)]:
        META.add(one)


def _result() -> None:
    table = torch.ones(2)
    META.add(table * 2)


def _argument(x: Tensor) -> None:
    META.add(x)


def _passing() -> None:
    mask = torch.zeros(2)
    _argument(mask)


@pytest.mark.parametrize(("call", "name", "steps"), [
    (lambda: Once().add(META), "self.table", ["comes from `torch.zeros(2)`"]),
    (lambda: Twice().add(META), "self.table", []),
    (_local, "first", ["comes from `torch.ones(2)`"]),
    (_later, "HERE", ["comes from `torch.ones(2)`"]),
    (_loop, "one", ["is taken from `[(torch.ones(2), 1)]`"]),
    (_result, "table * 2", ["comes from `torch.ones(2)`"]),
    (_passing, "x", ["comes from `torch.zeros(2)`", "is passed as `mask`"]),
])  # fmt: skip
def test_steps(call: Callable[[], object], name: str, steps: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    installed.let_go()  # another explanation may have begun a record: without one, the source tells the way
    # What the tensor without data meets is to blame here, so that there is a history to look at.
    monkeypatch.setattr(operands, "_rank", lambda met, usual, deliberate: (met.operand.device == "cpu",))
    with pytest.raises(RuntimeError) as caught:
        call()
    finding = explain(caught.value)
    assert finding is not None
    assert finding.operands[0].name == name
    assert [step.message for step in finding.operands[0].history] == steps
