"""The module level together with other features of PyTorch: no false alarm, the same results, nothing in the way."""

from __future__ import annotations

import copy
import io
import pickle
import warnings
import weakref
from collections.abc import Iterator
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from devlint_guard import guard  # noqa: E402
from devlint_guard.errors import DeviceMismatchError  # noqa: E402
from torch import Tensor, nn  # noqa: E402
from torch.nn.utils import parametrizations, rnn  # noqa: E402
from torch.utils.checkpoint import checkpoint  # noqa: E402

from tests.guard.agreement import agree, same  # noqa: E402


class Network(nn.Module):
    """Some of everything, with keyword arguments and a tuple."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(4, 8)
        self.norm = nn.BatchNorm1d(8)
        self.act = nn.ReLU()
        self.last = nn.Linear(8, 2)

    def forward(self, x: Tensor) -> Tensor:
        x = self.act(self.norm(self.first(x)))
        output: Tensor = self.last(x)
        return output


@pytest.fixture
def network() -> Network:
    torch.manual_seed(0)
    return Network().eval()


@pytest.fixture
def x() -> Any:
    return torch.arange(12.0).reshape(3, 4)


@pytest.fixture
def guarded(network: Network) -> Iterator[Network]:
    """A module in a process where a guard is active, one that holds modules with code of their own to the rules too."""
    with guard(network, strict=True) as active:
        yield network
    assert active.findings == []


def stepped(network: nn.Module, x: Tensor, loss: nn.Module | None = None) -> list[Tensor]:
    """The parameters after two steps of training."""
    network = copy.deepcopy(network).train()
    optimizer = torch.optim.AdamW(network.parameters())
    for _ in range(2):
        optimizer.zero_grad()
        output = network(x)
        target = torch.zeros(len(output), dtype=torch.long)
        (loss or nn.CrossEntropyLoss())(output, target).backward()
        optimizer.step()
    return [one.detach() for one in network.parameters()]


def test_training(network: Network, x: Tensor) -> None:
    agree(lambda: stepped(network, x), network)


# --- copies and files ---------------------------------------------------------------------------------------


def test_pickle(guarded: Network, x: Tensor) -> None:
    assert same(pickle.loads(pickle.dumps(guarded))(x), guarded(x))


def test_deepcopy(guarded: Network, x: Tensor) -> None:
    assert same(copy.deepcopy(guarded)(x), guarded(x))


def test_save(guarded: Network, x: Tensor) -> None:
    file = io.BytesIO()
    torch.save(guarded, file)
    file.seek(0)
    assert same(torch.load(file, weights_only=False)(x), guarded(x))


# --- other ways to run a module -----------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")
def test_torchscript(network: Network, x: Tensor) -> None:
    expected = network(x)
    with guard(network, strict=True) as active:
        scripted, traced = torch.jit.script(network), torch.jit.trace(network, (x,))
        file = io.BytesIO()
        torch.jit.save(scripted, file)
        file.seek(0)
        results = [scripted(x), traced(x), torch.jit.load(file)(x)]
    assert all(same(result, expected) for result in [*results, scripted(x), traced(x)])
    assert active.findings == []


@pytest.mark.parametrize("strict", [False, True])
def test_export(guarded: Network, x: Tensor, strict: bool) -> None:
    program = torch.export.export(guarded, (x,), strict=strict)
    assert same(program.module()(x), guarded(x))


def test_fx(guarded: Network, x: Tensor) -> None:
    call = nn.Module.__call__
    graph = torch.fx.symbolic_trace(guarded)
    assert nn.Module.__call__ is call
    assert same(graph(x), guarded(x))


def test_functional_transforms(network: Network, x: Tensor) -> None:
    parameters = {name: one.detach() for name, one in network.named_parameters()}

    def loss(values: Any, row: Tensor) -> Tensor:
        output: Tensor = torch.func.functional_call(network, values, (row[None],))
        return output.sum()

    agree(lambda: torch.func.vmap(torch.func.grad(loss), in_dims=(None, 0))(parameters, x), network)


def test_parameters_of_another_device_for_one_call(network: Network, x: Tensor) -> None:
    values = {name: one.detach() for name, one in network.state_dict().items()}
    network.to("meta")
    agree(lambda: torch.func.functional_call(network, values, (x,)))


def test_lazy_modules(x: Tensor) -> None:
    def run() -> object:
        lazy = nn.Sequential(nn.LazyLinear(3), nn.LazyBatchNorm1d())
        return lazy(x), lazy(x)

    agree(run)


@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_parametrizations(x: Tensor) -> None:
    spectral = parametrizations.spectral_norm(nn.Linear(4, 4)).eval()
    agree(lambda: spectral(x), spectral)
    weight = nn.utils.weight_norm(nn.Linear(4, 4))
    agree(lambda: weight(x), weight)


def test_autocast(network: Network, x: Tensor) -> None:
    def run() -> object:
        with torch.autocast("cpu", torch.bfloat16):
            return network(x)

    agree(run, network)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_dynamic_quantisation(network: Network, x: Tensor) -> None:
    if "fbgemm" not in torch.backends.quantized.supported_engines:
        pytest.skip("this build of torch has no engine for quantised operators")
    quantised = torch.ao.quantization.quantize_dynamic(network, {nn.Linear})
    agree(lambda: quantised(x), quantised)


@pytest.mark.parametrize("reentrant", [False, True])
def test_checkpoint(network: Network, x: Tensor, reentrant: bool) -> None:
    class Checkpointed(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = network

        def forward(self, x: Tensor) -> object:
            return checkpoint(self.inner, x.requires_grad_(), use_reentrant=reentrant)

    agree(lambda: stepped(Checkpointed(), x))


# --- meta ---------------------------------------------------------------------------------------------------


def test_modules_are_built_and_run_on_meta(x: Tensor) -> None:
    def run() -> object:
        with torch.device("meta"):
            return Network()(torch.ones(3, 4))

    result = agree(run)
    assert result.device.type == "meta"


def test_modules_are_filled_after_they_were_built_on_meta(network: Network, x: Tensor) -> None:
    values = network.state_dict()

    def run() -> object:
        with torch.device("meta"):
            empty = Network().eval()
        empty.load_state_dict(values, assign=True)
        return empty(x)

    agree(run)


def test_factories_are_the_ones_that_a_default_device_knows(guarded: Network) -> None:
    with torch.device("meta"):
        assert torch.zeros(2).device.type == "meta"
    torch.jit.script(_makes_zeros)


def _makes_zeros(x: Tensor) -> Tensor:
    zeros: Tensor = torch.zeros(2)
    return zeros + x


# --- what is on the CPU by contract -------------------------------------------------------------------------


def test_packed_sequences(x: Tensor) -> None:
    lstm = nn.LSTM(4, 3)
    packed = rnn.pack_padded_sequence(torch.ones(3, 2, 4), torch.tensor([3, 1]))
    agree(lambda: lstm(packed)[0].data, lstm)


def test_a_number_as_a_tensor_goes_with_every_device() -> None:
    with guard(mode="raise") as active:
        loss = nn.MSELoss()(torch.ones((), device="meta"), torch.tensor(1.0))
    assert loss.device.type == "meta"
    assert active.findings == []


# --- what is done to parameters -----------------------------------------------------------------------------


def test_parameters_are_exchanged_on_conversion(network: Network, x: Tensor) -> None:
    torch.__future__.set_swap_module_params_on_conversion(True)
    try:
        with guard(network) as active:
            network(x)
            network.to(torch.float64)
            result = network(x.double())
    finally:
        torch.__future__.set_swap_module_params_on_conversion(False)
    assert result.dtype is torch.float64
    assert active.findings == []
    assert [ref for one in network.parameters() for ref in weakref.getweakrefs(one)] == []


def test_modules_move_between_calls(network: Network, x: Tensor) -> None:
    expected, values = network(x), network.state_dict()
    with guard(network) as active:
        network.to("meta")
        assert network(x.to("meta")).is_meta
        network.to_empty(device="cpu").load_state_dict(values)
        assert same(network(x), expected)
    assert active.findings == []


def test_parts_on_different_devices_with_moves_between_them(x: Tensor) -> None:
    class Parts(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.second = nn.Linear(4, 4), nn.Linear(4, 4, device="meta")

        def forward(self, x: Tensor) -> object:
            return self.second(self.first(x).to("meta"))

    parts = Parts()
    agree(lambda: parts(x), parts)
    parts.first, parts.second = parts.second, parts.first
    with pytest.raises(RuntimeError), guard(parts) as active:
        parts(x)
    assert [one.module for one in active.findings] == ["parts.first"]


def test_a_subclass_that_decides_for_itself_is_left_alone(x: Tensor) -> None:
    class Anywhere(Tensor):
        pass

    linear = nn.Linear(4, 4, device="meta")
    with guard(linear) as active, pytest.raises(RuntimeError) as caught:
        nn.functional.linear(linear(x.as_subclass(Anywhere)), torch.ones(4, 4)).item()
    assert not isinstance(caught.value, DeviceMismatchError)
    assert active.findings == []


# --- in the way of nobody -----------------------------------------------------------------------------------


def test_no_warning_of_any_kind(network: Network, x: Tensor) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        agree(lambda: stepped(network, x), network)


def test_hooks_are_called_as_ever(network: Network, x: Tensor) -> None:
    def run() -> object:
        seen: list[object] = []
        handles = [
            network.first.register_forward_pre_hook(lambda module, args: seen.append("before")),
            network.first.register_forward_hook(lambda module, args, output: seen.append(output)),
            network.first.register_full_backward_hook(lambda module, given, taken: seen.append(taken)),
        ]
        network(x).sum().backward()
        for handle in handles:
            handle.remove()
        return seen

    agree(run, network)


def test_a_dispatch_mode_sees_the_same_operators(network: Network, x: Tensor) -> None:
    from torch.utils._python_dispatch import TorchDispatchMode

    class Names(TorchDispatchMode):  # type: ignore[no-untyped-call]
        def __init__(self) -> None:
            super().__init__()  # type: ignore[no-untyped-call]
            self.seen: list[str] = []

        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            self.seen.append(str(func))
            return func(*args, **(kwargs or {}))

    def run() -> object:
        with Names() as names:
            network(x)
        return names.seen

    agree(run, network, level="module")


def test_errors_of_the_program_are_its_own(network: Network, x: Tensor) -> None:
    with pytest.raises(RuntimeError) as without:
        network(x[:, :2])
    with guard(network), pytest.raises(RuntimeError) as caught:
        network(x[:, :2])
    assert str(caught.value) == str(without.value)
    assert not hasattr(caught.value, "__notes__")
