"""The recorder: tensors tell where they were created, moved and kept, and PyTorch goes on as before."""

from __future__ import annotations

import copy
import gc
import pickle
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from devlint_guard.finding import Finding  # noqa: E402
from devlint_guard.record import installed, stores  # noqa: E402
from devlint_guard.record.recorder import RECORD  # noqa: E402
from devlint_guard.record.stacks import Event, Kind  # noqa: E402
from devlint_guard.record.storages import PLACES  # noqa: E402
from devlint_guard.watch.operators import OperatorMode  # noqa: E402
from torch import Tensor, nn  # noqa: E402
from torch.utils.data import DataLoader  # noqa: E402


@pytest.fixture(autouse=True)
def nothing_is_left() -> Iterator[None]:
    installed.let_go()  # another test may have asked for an explanation
    before = _replaceable()
    yield
    assert _replaceable() == before


def _replaceable() -> list[object]:
    own = [vars(Tensor).get(name) for name in ("to", "cuda", "cpu", "new_zeros")]
    return [*own, nn.Module._apply, nn.Module.__setattr__, nn.Module.register_buffer, torch.zeros, torch.load]


@pytest.fixture
def recording() -> Iterator[None]:
    with installed.recording():
        yield


def noted(tensor: Tensor) -> tuple[str, str, str]:
    """What happened last to a tensor, what did it, and in which function."""
    event = RECORD.of(tensor)
    assert event is not None
    return event.kind.name, event.by, event.stack[0].place.function


def test_creations_and_moves_are_told_with_their_function(recording: None) -> None:
    full = torch.full((2,), 1.0)
    literal = torch.tensor([1.0, 2.0])
    name = "test_creations_and_moves_are_told_with_their_function"
    assert noted(full) == ("CREATED", "torch.full", name)
    assert noted(torch.zeros_like(full)) == ("CREATED", "torch.zeros_like", name)
    assert noted(full.new_zeros(2)) == ("CREATED", "Tensor.new_zeros", name)
    assert RECORD.of(literal[:1]) is RECORD.of(nn.Parameter(literal)) is RECORD.of(literal.data) is RECORD.of(literal)
    assert noted(full.to("meta")) == ("MOVED", "Tensor.to", name)
    assert noted(full) == ("CREATED", "torch.full", name)
    assert noted(full.to(torch.float64)) == ("CREATED", "torch.full", name)


def test_a_result_is_where_its_latest_operand_was_put(recording: None) -> None:
    with OperatorMode(print):
        first = torch.ones(2)
        second = torch.zeros(2)
        third = torch.ones(2) + torch.ones(2)
        assert noted(first + second)[1] == "torch.zeros"
        assert noted(torch.cat([third, second]))[1] == noted(third)[1] == "torch.ones"


def test_the_device_of_another_tensor_is_its_source(recording: None) -> None:
    x, beside, other = _beside()
    assert beside.root is RECORD.of(x)
    assert other.root is other


def _beside() -> tuple[Tensor, Event, Event]:
    """Has no `assert`, for which pytest puts in calls of `locals`."""
    x = torch.ones(2, device="meta")
    made = torch.zeros(2, device=x.device), torch.zeros(2, device="meta")
    first, second = (event for one in made if (event := RECORD.of(one)) is not None)
    return x, first, second


def test_stores_in_modules_come_before_or_after_its_moves(recording: None) -> None:
    module = Holder().to("meta")
    module.register_buffer("late", torch.ones(2))
    module.inner = nn.Linear(2, 2)
    (moved,) = RECORD.moves_of(module)
    stored = {name: RECORD.store_of(module, name) for name in ("inner", "buffer", "plain", "late", "other")}
    assert [name for name, one in stored.items() if one is not None and one.number > moved.number] == ["inner", "late"]
    assert stored["other"] is None
    assert str(moved.after) == "meta"


def test_a_module_without_tensors_has_moved_too(recording: None) -> None:
    for move, device in ((nn.Sequential().to("meta"), "meta"), (nn.Sequential().cpu(), "cpu")):
        assert [str(one.after) for one in RECORD.moves_of(move)] == [device]
    assert RECORD.moves_of(nn.Sequential().double()) == []


KEEPS = """
class Box: pass
def keep(x):
    box = Box()
    box.one, box.many = x + 0, []
    box.many.append(x + 1)
    box.table = {"a": x + 2}
    box.table["b"] = x + 3
    box.table.setdefault("c", x + 4)
    nothing = None
    box.nothing = nothing
    local = x + 5
    return [box.one, *box.many, *box.table.values(), local]
"""


def test_what_objects_keep_is_told_with_its_line(recording: None) -> None:
    names: dict[str, Callable[[Tensor], list[Tensor]]] = {"__name__": "__main__"}  # type: ignore[dict-item]
    exec(stores.compiled(KEEPS.encode(), "<ipython-input-keeps>"), names)
    kept = [RECORD.keep_of(one) for one in names["keep"](torch.ones(2))]
    lines = [None if one is None else one.stack[0].line for one in kept]
    assert lines == [None, 6, 7, 8, 9, None]  # of two targets, the value is a tuple of both
    assert len(RECORD.nones) == 1


def test_batches_and_checkpoints_are_of_the_line_that_asks(recording: None, tmp_path: Path) -> None:
    data: Any = [torch.ones(2), torch.zeros(2)]
    batches = iter(DataLoader(data, batch_size=2))
    for kind, value in ((Kind.BATCH, next(batches)), (Kind.LOADED, _saved(tmp_path / "a.pt"))):
        event = RECORD.of(value)
        assert event is not None
        assert event.kind is kind


def _saved(file: Path) -> Tensor:
    torch.save({"a": torch.ones(2)}, file)
    return torch.load(file)["a"]  # type: ignore[no-any-return]


def test_default_devices_are_told(recording: None) -> None:
    with torch.device("meta"):
        pass
    assert RECORD.default is not None
    assert str(RECORD.default.after) == "meta"


def test_a_copy_that_nobody_reads_is_known(recording: None) -> None:
    x = torch.ones(2)
    x.to("meta")
    copy = RECORD.copies.of(x)
    assert copy is not None
    assert (str(copy.after), copy.source) == ("meta", RECORD.of(x))


def test_findings_of_operators_tell_it(recording: None) -> None:
    found: list[Finding] = []
    with OperatorMode(found.append):
        x = torch.ones(2, 2)
        y = torch.ones(2, 2).to("meta")
        x @ y
    histories = {operand.name: [step.message for step in operand.history] for operand in found[0].operands}
    assert [len(one) for one in histories.values()] == [1, 1]
    assert histories["x"][0].startswith("is created on the CPU by `")
    assert histories["y"][0].startswith("is moved from the CPU to meta by `")


class Holder(nn.Module):
    """Has a parameter, a buffer and a tensor that does not move."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.Linear(2, 2)
        self.register_buffer("buffer", torch.ones(2))
        self.plain = torch.ones(2)


def test_what_a_module_takes_along_is_told(recording: None) -> None:
    module = Holder()
    module.to("meta")
    expected = ("MODULE", "Holder", "test_what_a_module_takes_along_is_told")
    assert noted(module.inner.weight) == noted(module.get_buffer("buffer")) == expected
    assert noted(module.plain)[:2] == ("CREATED", "torch.ones")
    module.inner.weight = nn.Parameter(torch.ones(2, 2))
    assert noted(module.inner.weight)[:2] == ("CREATED", "torch.ones")


def test_entries_end_with_their_tensors(recording: None) -> None:
    kept = torch.ones(2).to("meta")
    for _ in range(3):
        for _ in range(4_096):
            torch.ones(2)
        module = Holder().to("meta")
        del module
    gc.collect()
    assert len(PLACES.entries) <= 4_096
    assert not RECORD._applied
    assert not RECORD._stores
    assert RECORD.of(kept) is not None


def test_no_parameter_is_referred_to(recording: None) -> None:
    module = Holder().to("meta")
    with OperatorMode(print):
        nn.Parameter(torch.ones(2)).to("meta")
        module.to("meta")
    module.plain = torch.ones(2)
    assert [name for name, one in module.named_parameters() if weakref.getweakrefs(one)] == []


def test_contents_of_tensors_can_be_exchanged(recording: None) -> None:
    """PyTorch refuses that for tensors with weak references."""
    torch.__future__.set_swap_module_params_on_conversion(True)
    try:
        module = Holder()
        module.to(torch.float64)
        module.to("meta")
        assert module.inner.weight.is_meta
    finally:
        torch.__future__.set_swap_module_params_on_conversion(False)
    one, other = torch.ones(2).to("meta"), torch.ones(3).to("meta")
    torch.utils.swap_tensors(one, other)
    assert one.shape == (3,)
    assert noted(one) == noted(other)


def test_pytorch_goes_on_as_before(recording: None) -> None:
    module = Holder()
    x = torch.ones(1, 2)
    plain = module.inner(x)
    assert torch.equal(copy.deepcopy(module).inner(x), plain)
    assert torch.equal(pickle.loads(pickle.dumps(module)).inner(x), plain)
    assert torch.jit.script(module.inner)(x).equal(plain)
    assert torch.fx.symbolic_trace(module.inner)(x).equal(plain)
    assert torch.export.export(module.inner, (x,)).module()(x).equal(plain)
    with torch.device("meta"):
        assert torch.ones(2).is_meta

    @torch.jit.script  # type: ignore[untyped-decorator]
    def scripted(y: Tensor) -> Tensor:
        return y.to(torch.float64).cpu()

    assert scripted(x).dtype == torch.float64


def test_compiled_functions_stay_compiled() -> None:
    frames = []

    def backend(graph: Callable[..., object], inputs: list[Tensor]) -> object:
        frames.append(graph)
        return graph

    def compute(x: Tensor) -> Tensor:
        return x.to(torch.float64).cpu().to(x.device) + 1

    torch._dynamo.reset()
    compiled = torch.compile(compute, backend=backend, fullgraph=True)
    x = torch.ones(3)
    results = []
    for is_on in (True, False, True):
        if is_on:
            with installed.recording():
                results.append(compiled(x))
        else:
            results.append(compiled(x))
    assert len(frames) == 1
    assert all(torch.equal(results[0], other) for other in results)


def test_a_function_wrapped_by_others_stays_and_does_nothing() -> None:
    original = nn.Module._apply
    with installed.recording():
        ours = nn.Module._apply

        def wrapper(self: nn.Module, *args: object, **kwargs: object) -> object:
            return ours(self, *args, **kwargs)  # type: ignore[no-untyped-call]

        nn.Module._apply = wrapper  # type: ignore[method-assign]
    try:
        module = Holder().to("meta")
        assert module.inner.weight.is_meta
        assert RECORD.of(module.inner.weight) is None
    finally:
        nn.Module._apply = original  # type: ignore[method-assign]


def test_it_records_until_the_last_user_ends() -> None:
    with installed.recording():
        with installed.recording():
            x = torch.ones(2)
        assert noted(x)[1] == "torch.ones"
    assert RECORD.of(x) is None
