"""Provenance: tensors tell where they were created and moved, and PyTorch goes on as before."""

from __future__ import annotations

import contextlib
import copy
import gc
import pickle
import weakref
from collections.abc import Callable, Iterator

import pytest

torch = pytest.importorskip("torch")

from devlint_guard.finding import Finding, Step  # noqa: E402
from devlint_guard.watch.operators import OperatorMode  # noqa: E402
from devlint_guard.watch.provenance import KEPT, Provenance  # noqa: E402
from torch import Tensor, nn  # noqa: E402


@pytest.fixture(autouse=True)
def nothing_is_left() -> Iterator[None]:
    before = _replaceable()
    yield
    assert _replaceable() == before


def _replaceable() -> list[object]:
    own = [vars(Tensor).get(name) for name in ("to", "cuda", "cpu")]
    return [*own, nn.Module._apply, torch.utils.swap_tensors]


@pytest.fixture
def provenance() -> Iterator[Provenance]:
    with installed() as provenance:
        yield provenance


@contextlib.contextmanager
def installed() -> Iterator[Provenance]:
    provenance = Provenance()
    provenance.install()
    try:
        yield provenance
    finally:
        provenance.uninstall()


def told(steps: tuple[Step, ...]) -> list[tuple[str, str]]:
    """What each step says, and the function that it happened in."""
    return [(step.message, "" if step.place is None else step.place.function) for step in steps]


def test_moves_are_told_in_order(provenance: Provenance) -> None:
    x = torch.ones(2)
    y = x.to("meta")
    assert told(provenance.history_of(y)) == [("moved from cpu to meta by Tensor.to", "test_moves_are_told_in_order")]
    assert provenance.history_of(x) == ()


def test_what_moves_nothing_is_no_step(provenance: Provenance) -> None:
    x = torch.ones(2)
    assert provenance.history_of(x.to("cpu")) == ()
    assert provenance.history_of(x.to(torch.float64)) == ()
    assert provenance.history_of(x.cpu()) == ()


def test_creation_is_told_where_operators_are_watched(provenance: Provenance) -> None:
    with OperatorMode(watchers=[provenance]):
        full = torch.full((2,), 1.0)
        literal = torch.tensor([1.0, 2.0])
        like = torch.zeros_like(full)
        moved = full.to("meta")
        part = literal[:1]
    name = "test_creation_is_told_where_operators_are_watched"
    assert told(provenance.history_of(full)) == [("created on the CPU by torch.full", name)]
    assert told(provenance.history_of(literal)) == [("created on the CPU by torch.tensor", name)]
    assert told(provenance.history_of(like)) == [("created on the CPU by torch.zeros_like", name)]
    assert told(provenance.history_of(part)) == told(provenance.history_of(literal))
    assert told(provenance.history_of(moved)) == [
        ("created on the CPU by torch.full", name),
        ("moved from cpu to meta by Tensor.to", name),
    ]


def test_findings_of_operators_tell_it(provenance: Provenance) -> None:
    found: list[Finding] = []
    with OperatorMode(found.append, watchers=[provenance], history=provenance.history_of):
        x = torch.ones(2, 2)
        y = torch.ones(2, 2).to("meta")
        x @ y
    histories = {operand.name: [step.message for step in operand.history] for operand in found[0].operands}
    assert histories == {
        "x": ["created on the CPU by torch.ones"],
        "y": ["created on the CPU by torch.ones", "moved from cpu to meta by Tensor.to"],
    }


class Holder(nn.Module):
    """Has a parameter, a buffer and a tensor that does not move."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.Linear(2, 2)
        self.register_buffer("buffer", torch.ones(2))
        self.plain = torch.ones(2)


def test_what_a_module_takes_along_is_told(provenance: Provenance) -> None:
    module = Holder()
    module.to("meta")
    expected = [("moved from cpu to meta by its module, Holder", "test_what_a_module_takes_along_is_told")]
    assert told(provenance.history_of(module.inner.weight)) == expected
    assert told(provenance.history_of(module.get_buffer("buffer"))) == expected
    assert provenance.history_of(module.plain) == ()
    module.inner.weight = nn.Parameter(torch.ones(2, 2))
    assert provenance.history_of(module.inner.weight) == ()


def test_a_tensor_that_goes_back_and_forth_keeps_its_last_steps(provenance: Provenance) -> None:
    x = torch.ones(2, device="meta")
    for _ in range(KEPT):
        x = torch.empty_like(x, device="cpu").to("meta")
    for _ in range(3 * KEPT):
        x = x.to("cpu") if x.is_cpu else x.to("meta")
    assert len(provenance.history_of(x)) <= KEPT


def test_entries_end_with_their_tensors(provenance: Provenance) -> None:
    kept = torch.ones(2).to("meta")
    for _ in range(50):
        torch.ones(2).to("meta")
    module = Holder().to("meta")
    del module
    gc.collect()
    assert len(provenance._histories) == 1
    assert provenance._moves == {}
    assert provenance.history_of(kept) != ()


def test_no_parameter_is_referred_to(provenance: Provenance) -> None:
    module = Holder().to("meta")
    with OperatorMode(watchers=[provenance]):
        nn.Parameter(torch.ones(2)).to("meta")
        module.to("meta")
    assert [name for name, one in module.named_parameters() if weakref.getweakrefs(one)] == []


def test_contents_of_tensors_can_be_exchanged(provenance: Provenance) -> None:
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
    assert provenance.history_of(one) == ()


def test_pytorch_goes_on_as_before(provenance: Provenance) -> None:
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
            with installed():
                results.append(compiled(x))
        else:
            results.append(compiled(x))
    assert len(frames) == 1
    assert all(torch.equal(results[0], other) for other in results)


def test_a_function_wrapped_by_others_stays_and_does_nothing() -> None:
    original = nn.Module._apply
    provenance = Provenance()
    provenance.install()
    ours = nn.Module._apply

    def wrapper(self: nn.Module, *args: object, **kwargs: object) -> object:
        return ours(self, *args, **kwargs)  # type: ignore[no-untyped-call]

    nn.Module._apply = wrapper  # type: ignore[method-assign]
    try:
        provenance.uninstall()
        module = Holder().to("meta")
        assert module.inner.weight.is_meta
        assert provenance.history_of(module.inner.weight) == ()
    finally:
        nn.Module._apply = original  # type: ignore[method-assign]
