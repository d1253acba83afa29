"""What optimizers combine: their operators are looked at only where the step could show something."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from devlint_guard import guard  # noqa: E402
from torch import Tensor, nn  # noqa: E402
from torch.overrides import TorchFunctionMode  # noqa: E402
from torch.utils._python_dispatch import TorchDispatchMode, _get_current_dispatch_mode_stack  # noqa: E402

Step = Callable[[], object]


class Depths(TorchFunctionMode):
    """How many dispatch modes are on in each call of PyTorch."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: set[int] = set()

    def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.seen.add(len(_get_current_dispatch_mode_stack()))
        return function(*args, **(kwargs or {}))


class Nothing(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Hands on."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return func(*args, **(kwargs or {}))


def is_looked_at(step: Step) -> bool:
    """Whether some mode is on in all that a step does."""
    with Depths() as found:
        step()
    return 0 not in found.seen


@pytest.fixture
def linear() -> nn.Linear:
    linear = nn.Linear(4, 4)
    linear(torch.ones(2, 4)).sum().backward()
    return linear


def test_nobody_looks_at_a_step_that_mixes_nothing(linear: nn.Linear) -> None:
    optimizer = torch.optim.AdamW(linear.parameters())
    with guard(linear, level="deep"):
        assert is_looked_at(optimizer.step)  # makes the state
        assert not is_looked_at(optimizer.step)
        assert is_looked_at(lambda: linear(torch.ones(2, 4)))


def test_the_results_are_the_same(linear: nn.Linear) -> None:
    def trained() -> list[Tensor]:
        torch.manual_seed(0)
        network = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
        optimizer = torch.optim.Adam(network.parameters(), amsgrad=True)
        for _ in range(4):
            optimizer.zero_grad()
            network(torch.ones(3, 4)).sum().backward()
            optimizer.step()
        return [one.detach() for one in network.parameters()]

    expected = trained()
    with guard(level="deep"):
        found = trained()
    assert all(torch.equal(*pair) for pair in zip(found, expected, strict=True))


class Own(torch.optim.AdamW):  # type: ignore[name-defined, misc]
    """Somebody's own optimizer."""


def _with_a_closure(optimizer: Any) -> Step:
    return lambda: optimizer.step(lambda: torch.ones(()))


def _with_a_hook(optimizer: Any) -> Step:
    optimizer.register_step_post_hook(lambda *_: torch.ones(()))
    return optimizer.step  # type: ignore[no-any-return]


def _with_a_tensor_among_the_options(optimizer: Any) -> Step:
    optimizer.param_groups[0]["lr"] = torch.tensor(0.1)
    return optimizer.step  # type: ignore[no-any-return]


def _with_new_parameters(optimizer: Any) -> Step:
    parameter = nn.Parameter(torch.ones(2))
    parameter.grad = torch.ones(2)
    optimizer.add_param_group({"params": [parameter]})
    return optimizer.step  # type: ignore[no-any-return]


@pytest.mark.parametrize(
    "change", [_with_a_closure, _with_a_hook, _with_a_tensor_among_the_options, _with_new_parameters]
)
def test_what_a_step_combines_is_not_known(linear: nn.Linear, change: Callable[[Any], Step]) -> None:
    optimizer = torch.optim.AdamW(linear.parameters(), foreach=False)
    with guard(linear, level="deep"):
        optimizer.step()
        assert not is_looked_at(optimizer.step)
        assert is_looked_at(change(optimizer))


def test_an_optimizer_of_the_users_and_what_the_ledger_counts_are_looked_at(linear: nn.Linear) -> None:
    for kind, ledger in ((Own, False), (torch.optim.AdamW, True)):
        optimizer = kind(linear.parameters())
        with guard(linear, level="deep", ledger=ledger):
            optimizer.step()
            assert is_looked_at(optimizer.step)


def test_modes_keep_their_order(linear: nn.Linear) -> None:
    optimizer = torch.optim.AdamW(linear.parameters())
    with guard(linear, level="deep"):
        optimizer.step()
        with Nothing():  # type: ignore[no-untyped-call]
            before = _get_current_dispatch_mode_stack()
            assert is_looked_at(optimizer.step)
            assert _get_current_dispatch_mode_stack() == before


def test_state_that_moves_later_is_found(linear: nn.Linear) -> None:
    optimizer = torch.optim.AdamW(linear.parameters())
    with guard(linear, level="deep"):
        for _ in range(4):
            optimizer.step()
        optimizer.state[linear.weight]["exp_avg"] = torch.zeros(4, 4, device="meta")
        with pytest.raises(RuntimeError) as caught:
            optimizer.step()
    assert "devlint: DEV602" in caught.value.__notes__[0]


def test_a_step_that_fails_ends_nothing(linear: nn.Linear) -> None:
    optimizer = torch.optim.AdamW(linear.parameters())
    with guard(linear, level="deep"):
        optimizer.step()
        state = optimizer.state[linear.weight]
        state["exp_avg"] = torch.zeros(3)  # of another size
        with contextlib.suppress(RuntimeError):
            optimizer.step()
        state["exp_avg"] = torch.zeros(4, 4)
        optimizer.step()
        assert is_looked_at(lambda: linear(torch.ones(2, 4)))
    assert _get_current_dispatch_mode_stack() == []
