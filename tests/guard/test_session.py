"""Guards: what becomes of findings in each mode, what is allowed, and that nothing is left behind."""

from __future__ import annotations

import contextlib
import gc
import threading
import weakref
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from devlint_guard import DeviceMismatchError, allow, explain, guard, guarded  # noqa: E402
from devlint_guard.errors import (  # noqa: E402
    DevlintWarning,
    GuardUsageError,
    MetaTensorError,
    UnexpectedDeviceError,
)
from devlint_guard.record import installed  # noqa: E402
from devlint_guard.report.text import render  # noqa: E402
from torch import Tensor, nn  # noqa: E402
from torch.optim import optimizer as optimizers  # noqa: E402
from torch.utils._python_dispatch import _get_current_dispatch_mode_stack, is_in_torch_dispatch_mode  # noqa: E402

CALL = nn.Module.__call__


class Network(nn.Module):
    """Keeps one of its modules in a plain list."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(4, 4)
        self.rest = [nn.Linear(4, 4)]

    def forward(self, x: Tensor) -> object:
        return self.rest[0](self.first(x))


@pytest.fixture
def network() -> Network:
    return Network()


@pytest.fixture(autouse=True)
def nothing_is_left() -> Any:
    installed.let_go()  # `explain` records until the process ends
    hooks = (optimizers._global_optimizer_pre_hooks, optimizers._global_optimizer_post_hooks)
    assert nn.Module.__call__ is CALL
    before = [dict(one) for one in hooks]
    functions = [torch.ctc_loss, Tensor.to, Tensor.cpu, Tensor.cuda, nn.Module._apply, torch.utils.swap_tensors]
    yield
    installed.let_go()
    assert nn.Module.__call__ is CALL
    assert [torch.ctc_loss, Tensor.to, Tensor.cpu, Tensor.cuda, nn.Module._apply, torch.utils.swap_tensors] == functions
    assert _get_current_dispatch_mode_stack() == []
    assert [dict(one) for one in hooks] == before


def here() -> Any:
    return torch.ones(2, 4)


def elsewhere() -> Any:
    return torch.ones(2, 4, device="meta")


# --- modes --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["raise", "warn", "record"])
def test_pytorchs_own_error_comes_first_and_is_explained(
    network: Network, mode: Any, recwarn: pytest.WarningsRecorder
) -> None:
    with pytest.raises(RuntimeError) as plain:
        network(elsewhere())
    with pytest.raises(RuntimeError) as caught, guard(network, mode=mode) as active:
        network(elsewhere())
    assert (type(caught.value), str(caught.value)) == (type(plain.value), str(plain.value))
    (finding,) = active.findings
    assert caught.value.__notes__ == [render(replace(finding, step=None))]
    explained = explain(plain.value, {"network": network})
    assert explained is not None
    assert (finding.code, finding.message, finding.help) == (explained.code, explained.message, explained.help)
    assert (finding.code, finding.module, finding.module_class) == ("DEV602", "network.first", "Linear")
    assert [(one.name, one.device, one.blamed) for one in finding.operands] == [
        ("x", "meta", True),
        ("self.first", "cpu", False),
    ]
    assert len([one for one in recwarn if one.category is DevlintWarning]) == (mode == "warn")
    assert finding.place is not None
    assert (finding.place.file, finding.place.function) == ("tests/guard/test_session.py", "Network.forward")


def test_what_pytorch_computes_from_memory_that_nothing_has_written_is_raised() -> None:
    convolution = nn.Conv2d(1, 1, 1, device="meta")
    with pytest.raises(MetaTensorError) as caught, guard(convolution) as active:
        convolution(torch.ones(1, 1, 2, 2))
    assert active.findings == [caught.value.finding]
    assert caught.value.finding.operands[0].name == "convolution.weight"


def test_a_warning_is_given_once_and_counts(network: Network) -> None:
    def call() -> None:
        for _ in range(3):
            with pytest.raises(RuntimeError):
                network.first(elsewhere())

    with guard(network.first, mode="warn") as active, pytest.warns(DevlintWarning, match="DEV602") as warned:
        call()
    assert [Path(one.filename).name for one in warned] == ["test_session.py"]
    assert [one.count for one in active.findings] == [3]


def test_recording_disturbs_nothing() -> None:
    conv = nn.Conv2d(1, 1, 1, device="meta")
    with guard(conv, mode="record") as active:
        # PyTorch lets this pass, and returns memory that nothing has written to
        result = conv(torch.ones(1, 1, 2, 2))
    assert result.device.type == "cpu"
    assert [(one.code, one.operands[0].name) for one in active.findings] == [("DEV602", "conv.weight")]


def test_what_runs_without_a_guard_runs_the_same_with_one(network: Network) -> None:
    expected = network(here())
    with guard(network, mode="warn") as active:
        assert torch.equal(network(here()), expected)
    assert (active.findings, active.suspects) == ([], [])


# --- what is found ------------------------------------------------------------------------------------------


def test_keyword_arguments_count() -> None:
    with guard(mode="record") as active, pytest.raises(RuntimeError):
        nn.Linear(4, 4)(input=elsewhere())
    assert [one.code for one in active.findings] == ["DEV602"]


def test_tensors_in_tuples_count() -> None:
    lstm = nn.LSTM(4, 4)
    hidden = (torch.zeros(1, 4), torch.zeros(1, 4, device="meta"))
    with pytest.raises(RuntimeError), guard() as active:
        lstm(here(), hidden)
    assert active.findings[0].operands[0].name == "hidden[1]"


def test_a_module_in_a_plain_list_is_blamed_not_its_input(network: Network) -> None:
    network.to("meta")
    with pytest.raises(RuntimeError), guard(network) as active:
        network(elsewhere())
    (finding,) = active.findings
    assert (finding.code, finding.module, finding.operands[0].name) == ("DEV202", "network.rest[0]", "self.rest[0]")
    assert "nn.ModuleList" in finding.help[0]


def test_a_network_without_data_wants_data_and_not_an_input_without(network: Network) -> None:
    network.rest[0] = nn.Linear(4, 4, device="meta")
    network.to("meta")
    with pytest.raises(RuntimeError), guard(network) as active:
        network(here())
    (finding,) = active.findings
    assert (finding.code, finding.operands[0].name) == ("DEV602", "self.first")
    assert finding.help[0].startswith("`self.first` has no data")
    (suspect,) = (one for one in active.suspects if one.operands[0].name == "network.first.weight")
    assert suspect.help == (
        'give the whole network data: load its weights, or `to_empty(device="cpu")`; '
        "for shapes alone, create `x` on meta",
    )


def test_what_pytorch_refuses_where_it_was_foretold_is_one_finding() -> None:
    linear = nn.Linear(4, 4, device="meta")
    active = guard(linear, mode="record")
    with pytest.raises(RuntimeError), active:
        linear(here())
    assert [one.count for one in active.findings] == [1]


def test_what_is_allowed_may_have_a_reason() -> None:
    active = guard(nn.Linear(4, 4, device="meta"), mode="record", allow={"DEV602": "shapes only"})
    with pytest.raises(RuntimeError), active:
        nn.Linear(4, 4)(elsewhere())
    assert active.record().config["allow"] == {"DEV602": "shapes only"}


def test_a_module_that_may_move_its_input_is_left_alone() -> None:
    class Moves(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = nn.Parameter(torch.ones(4, device="meta"))

        def forward(self, x: Tensor) -> Tensor:
            return x.to(self.weight.device) * self.weight

    with guard(Moves()) as active:
        Moves()(here())
    assert active.findings == []
    with pytest.raises(MetaTensorError), guard(strict=True):
        Moves()(here())


def test_a_hook_may_move_the_input() -> None:
    linear = nn.Linear(4, 4, device="meta")
    linear.register_forward_pre_hook(lambda module, args: (args[0].to("meta"),))
    with guard(linear) as active:
        linear(here())
    assert active.findings == []


def test_an_exchanged_forward_may_move_the_input(monkeypatch: pytest.MonkeyPatch) -> None:
    linear = nn.Linear(4, 4, device="meta")
    plain = nn.Linear.forward
    monkeypatch.setattr(nn.Linear, "forward", lambda self, x: plain(self, x.to(self.weight.device)))
    with guard(linear) as active:
        linear(here())
    assert active.findings == []


def test_what_fails_without_being_strict_is_explained_and_suspected() -> None:
    class Scales(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = nn.Parameter(torch.ones(4))

        def forward(self, x: Tensor) -> Tensor:
            return x * self.weight

    scales = Scales()
    with pytest.raises(RuntimeError) as caught, guard(scales, level="module") as active:
        scales(elsewhere())
    assert type(caught.value) is RuntimeError
    notes = "".join(caught.value.__notes__)
    assert notes.count("devlint: DEV") == 1
    assert "Scales.forward" in notes
    assert [one.suspect for one in active.suspects] == [True]
    assert [one.module for one in active.findings] == ["scales"]


def test_an_error_that_the_program_handles_is_no_finding() -> None:
    with guard(mode="record", level="module") as active, contextlib.suppress(RuntimeError):
        here() + elsewhere()
    assert active.findings == []


def test_operators_between_modules_are_looked_at_in_the_first_steps(network: Network) -> None:
    with guard(network, first_steps=1) as active, torch.no_grad():
        with pytest.raises(MetaTensorError):
            torch.mm(torch.ones(2, 2), torch.ones(2, 2, device="meta"))  # PyTorch lets this pass
        for _ in range(2):
            network(here())
        torch.mm(torch.ones(2, 2), torch.ones(2, 2, device="meta"))
    assert [one.code for one in active.findings] == ["DEV602"]


def test_each_operator_is_looked_at_in_the_deepest_level() -> None:
    linear = nn.Linear(4, 4)
    optimizer = torch.optim.SGD(linear.parameters())
    with guard(linear, level="deep", mode="record") as active:
        for step in range(5):
            if step == 4:
                linear.weight.grad = torch.ones(4, 4)
                torch.mm(torch.ones(2, 2), torch.ones(2, 2, device="meta"))
            optimizer.step()
    assert [one.step for one in active.findings] == [4]


def product(device: str = "cpu") -> nn.Module:
    """A module that PyTorch runs without a word where its input has no data, or its weight."""
    return nn.Linear(4, 4, bias=False, device=device)


def trained(module: nn.Module, steps: int) -> Callable[[], None]:
    """Trains a module, and returns what trains it once more."""
    optimizer = torch.optim.SGD([nn.Parameter(torch.ones(1))])

    def step() -> None:
        module(here())
        optimizer.step()

    for _ in range(steps):
        step()
    return step


def test_what_changes_in_training_is_seen_within_eleven_steps() -> None:
    linear = product()
    with guard(linear, mode="record") as active:
        step = trained(linear, 6)
        linear.to("meta")
        for _ in range(11):
            step()
    assert [(one.code, one.step, one.count) for one in active.findings] == [("DEV602", 11, 1)]


def test_each_call_is_looked_at_by_the_module_level_and_in_evaluation() -> None:
    linear = product()
    with guard(linear, mode="record", level="module") as active:
        trained(linear, 6)
        linear(elsewhere())
    assert [one.step for one in active.findings] == [6]
    with guard(linear, mode="record") as active:
        trained(linear, 6)
        linear.eval()(elsewhere())
    assert [one.step for one in active.findings] == [6]


def test_modules_that_are_called_late_or_have_no_data_are_looked_at_in_each_step() -> None:
    linear, empty = product(), product(device="meta")
    network = nn.ModuleList([linear, empty])
    network.forward = linear.forward
    with guard(network, mode="record") as active:
        step = trained(network, 6)
        empty(here())
        step()
        product()(elsewhere())
    assert [one.step for one in active.findings] == [6, 7]


def test_a_module_in_the_place_of_one_that_is_gone_is_none_that_is_known() -> None:
    dropped = product()
    with guard(mode="record") as active:
        trained(dropped, 6)
        known = dict(active.watching.known)
        assert id(dropped) in known
        del dropped
        gc.collect()
        assert active.watching.known == {}
    assert all(reference() is None for reference in known.values())


def test_what_one_guard_knows_another_looks_at() -> None:
    linear = product()
    with guard(linear, mode="record"):
        trained(linear, 6)
        with guard(linear, mode="record") as inner:
            trained(linear, 6)
            linear(elsewhere())
    assert [one.step for one in inner.findings] == [6]


def test_findings_tell_how_a_tensor_came_to_be_where_it_is() -> None:
    linear = nn.Linear(4, 4)
    x = torch.ones(2, 4)
    with guard(linear) as active:
        moved = x.to("meta")
        with pytest.raises(RuntimeError):
            linear(moved)
    assert [step.message for step in active.findings[0].operands[0].history] != []


# --- on entry -----------------------------------------------------------------------------------------------


def test_a_split_module_is_found_on_entry() -> None:
    norm = nn.BatchNorm1d(4)
    norm.running_mean = torch.zeros(4, device="meta")
    network = nn.Sequential(nn.Linear(4, 4), norm)
    with pytest.raises(MetaTensorError) as caught:
        guard(network).__enter__()
    assert caught.value.finding.operands[0].name == "network.1.running_mean"


def test_suspects_on_entry_disturb_nothing(network: Network) -> None:
    network.table = elsewhere()
    network.rest[0].to("meta")
    with guard(network) as active:
        pass
    assert [(one.code, one.operands[0].name) for one in active.suspects] == [
        ("DEV201", "network.table"),
        ("DEV202", "network.rest[0].weight"),
    ]


def test_an_expected_device(network: Network) -> None:
    with guard(network, expect="cpu"):
        pass
    with pytest.raises(UnexpectedDeviceError, match="cuda"), guard(network, expect="cuda"):
        pass


def test_registered_tensors_in_attributes_are_no_suspects() -> None:
    lstm = nn.LSTM(4, 4)  # keeps its parameters in a plain list too
    with guard(lstm) as active:
        pass
    assert active.suspects == []


def test_state_of_an_optimizer_that_was_left_behind() -> None:
    linear = nn.Linear(4, 4)
    optimizer = torch.optim.Adam(linear.parameters())
    linear(here()).sum().backward()
    optimizer.step()
    optimizer.state[linear.weight]["exp_avg"] = torch.zeros(4, 4, device="meta")
    with pytest.raises(RuntimeError), guard(linear) as active:
        optimizer.step()
    assert [one.operands[0].name for one in active.findings] == ["'exp_avg' of linear.weight"]


# --- what is allowed ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("entry", ["DEV602", "DEV6", "meta-tensor-in-computation", "*.first.0"])
def test_an_option_allows_codes_names_and_paths(network: Network, entry: str) -> None:
    network.first = nn.Sequential(nn.Conv2d(1, 1, 1, device="meta"), nn.Flatten(), nn.LazyLinear(4))  # type: ignore[assignment]
    with guard(network, allow=[entry]) as active:
        network(torch.ones(1, 1, 2, 2))
    assert active.findings == []


def test_allowed_for_a_stretch_of_code(network: Network) -> None:
    x, weight = torch.ones(2, 2), torch.ones(2, 2, device="meta")
    with guard(network) as active:
        with allow("DEV602", reason="a test"):
            x @ weight
        with pytest.raises(MetaTensorError):
            x @ weight
    assert len(active.findings) == 1


def test_allowed_in_a_function_and_in_no_other_thread() -> None:
    convolution = nn.Conv2d(1, 1, 1, device="meta")
    raised: list[type | None] = []

    def call() -> None:
        try:
            convolution(torch.ones(1, 1, 2, 2))
        except RuntimeError as error:
            raised.append(type(error))
        else:
            raised.append(None)

    @allow("meta-tensor-in-computation")
    def allowed() -> None:
        call()
        thread = threading.Thread(target=call)
        thread.start()
        thread.join()

    with guard(convolution):
        allowed()
        allowed()
    assert raised == [None, MetaTensorError] * 2


@pytest.mark.parametrize(
    "options",
    [
        {"mode": "print"},
        {"level": "deepest"},
        {"first_steps": -1},
        {"expect": "gpu"},
        {"allow": ["DEV999"]},
        {"allow": "DEV101"},
    ],
)
def test_options_that_cannot_be(options: dict[str, Any]) -> None:
    with pytest.raises(GuardUsageError):
        guard(**options)


def test_no_code_of_the_guard() -> None:
    with pytest.raises(GuardUsageError, match="DEV999"):
        allow("DEV999")


# --- in use -------------------------------------------------------------------------------------------------


def test_as_a_decorator(network: Network) -> None:
    @guard(network)
    def step() -> object:
        return network(elsewhere())

    for _ in range(2):
        with pytest.raises(RuntimeError) as caught:
            step()
        assert "network.first" in caught.value.__notes__[0]


def test_a_guarded_function_names_paths_by_its_arguments() -> None:
    @guarded
    def step(model: nn.Module, x: Tensor) -> object:
        return model(x)

    with pytest.raises(RuntimeError) as caught:
        step(Network(), elsewhere())
    assert "model.first (Linear)" in caught.value.__notes__[0]


def test_a_guarded_function_with_options() -> None:
    @guarded(mode="record")
    def step(module: nn.Module, x: Tensor) -> object:
        return module(x)

    with pytest.raises(RuntimeError) as caught:
        step(nn.Linear(4, 4), elsewhere())
    assert type(caught.value) is RuntimeError


def test_entered_again(network: Network) -> None:
    active = guard(network)
    with active:
        with active:
            pass
        with pytest.raises(RuntimeError) as caught:
            network(elsewhere())
        assert len(caught.value.__notes__) == 1


def test_the_innermost_guard_that_was_given_the_module_decides(network: Network) -> None:
    other = nn.Conv2d(1, 1, 1, device="meta")
    network.first = nn.Sequential(nn.Conv2d(1, 1, 1, device="meta"), nn.Flatten(), nn.LazyLinear(4))  # type: ignore[assignment]
    with guard(network, mode="record") as outer, guard(other) as inner:
        network(torch.ones(1, 1, 2, 2))
        with pytest.raises(DeviceMismatchError):
            other(torch.ones(1, 1, 2, 2))
    assert [one.module for one in outer.findings] == ["network.first.0"]
    assert [one.module for one in inner.findings] == ["other"]


def test_guards_of_several_threads() -> None:
    ready = threading.Barrier(2)
    found: dict[str, list[str]] = {}

    def run(mode: Any) -> None:
        if mode == "raise":
            ready.wait()  # for the other one to begin
        with guard(mode=mode) as active:
            for _ in range(2):
                with pytest.raises(RuntimeError):
                    nn.Linear(4, 4)(elsewhere())
                ready.wait()
        if mode == "record":
            ready.wait()
        found[mode] = [one.code for one in active.findings]

    threads = [threading.Thread(target=run, args=(mode,)) for mode in ("record", "raise")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {"record": ["DEV602"], "raise": ["DEV602"]}
    assert not is_in_torch_dispatch_mode()  # of all threads, or Dynamo would compile nothing in old releases


def test_a_report_is_written(network: Network, tmp_path: Path) -> None:
    report = tmp_path / "report.txt"
    with guard(network.first, mode="record", report=report), pytest.raises(RuntimeError):
        network.first(elsewhere())
    assert "DEV602" in report.read_text()


# --- what is left -------------------------------------------------------------------------------------------


def _unguarded() -> None:
    pass


def _failing() -> None:
    raise KeyError("of the program")


@pytest.mark.parametrize("body", [_unguarded, _failing])
def test_nothing_is_left_on_modules_and_parameters(network: Network, body: Callable[[], None]) -> None:
    before = {name: dict(module.__dict__) for name, module in network.named_modules()}
    with contextlib.suppress(KeyError), guard(network), guard():
        network(here())
        body()
    assert {name: dict(module.__dict__) for name, module in network.named_modules()} == before
    assert [ref for one in network.parameters() for ref in weakref.getweakrefs(one)] == []


def test_nothing_holds_the_modules_afterwards() -> None:
    network = Network()
    gone = weakref.ref(network)
    with guard(network) as active:
        network(here())
    del network, active
    gc.collect()
    assert gone() is None


def test_a_wrapper_that_another_library_has_put_on_top_stays(network: Network) -> None:
    calls = []
    with guard(network):
        ours = nn.Module.__call__

        def theirs(self: nn.Module, *args: Any) -> Any:
            calls.append(self)
            return ours(self, *args)

        nn.Module.__call__ = theirs  # type: ignore[method-assign]
    try:
        assert nn.Module.__call__ is theirs
        with pytest.raises(RuntimeError) as caught:
            network(elsewhere())
        assert type(caught.value) is RuntimeError
        with guard(network), pytest.raises(RuntimeError) as caught:
            network(elsewhere())
        assert len(caught.value.__notes__) == 1
        assert nn.Module.__call__ is theirs
    finally:
        nn.Module.__call__ = CALL  # type: ignore[method-assign]
    assert calls


def test_what_another_library_has_put_below_is_called(network: Network, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []

    def theirs(self: nn.Module, *args: Any) -> Any:
        calls.append(type(self))
        return CALL(self, *args)

    monkeypatch.setattr(nn.Module, "__call__", theirs)
    with guard(network):
        network(here())
    assert calls == [Network, nn.Linear, nn.Linear]
    monkeypatch.undo()
