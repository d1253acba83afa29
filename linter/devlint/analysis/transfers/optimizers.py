"""Optimizers: their state follows nothing.

Most optimizers make tensors for each parameter in their first step (Adagrad in its constructor), on the device of the
parameter. Moving the module later moves parameters and gradients, and the next step mixes the two devices.
`load_state_dict` brings the state to where the parameters are at that moment. Which optimizers keep a state was
found by running them (torch 2.13).
"""

from __future__ import annotations

from dataclasses import replace

from devlint.analysis.findings import unregistered_tensor
from devlint.analysis.libraries.transfer_tables import CONSTRUCTORS, OPTIMIZER_METHODS, LibraryCall, register
from devlint.analysis.values import modules
from devlint.analysis.values.containers import items_of
from devlint.domain.device import (
    CPU,
    UNKNOWN_DEVICE,
    UNREACHED,
    Device,
    Unreached,
    differ,
    is_symbolic,
    join,
)
from devlint.domain.heap import DictObject, ListObject, Optimizer
from devlint.domain.kinds import OriginKind
from devlint.domain.provenance import Origin
from devlint.domain.value import UNKNOWN, Constant, ObjectId, Reference, Value

KEEPING = frozenset(
    f"torch.optim.{name}"
    for name in ("ASGD Adadelta Adafactor Adagrad Adam AdamW Adamax Muon NAdam RAdam RMSprop Rprop SparseAdam").split()
)
"""Those that keep tensors from step to step; SGD does with momentum."""

SGD = "torch.optim.SGD"
AT_ONCE = "torch.optim.Adagrad"


def optimizer(site: LibraryCall) -> Value:
    """`Adam(net.parameters())`."""
    modules = _owners(site, site.value(0, "params"))
    made = Optimizer(site.name, modules if _keeps(site) else None, UNREACHED)
    if site.name == AT_ONCE:
        made = _with_state(site, made, f"the state of `{AT_ONCE}` is made here")
    return site.allocate("optimizer", made)


def _keeps(site: LibraryCall) -> bool:
    momentum = site.value(2, "momentum")
    by_momentum = site.name == SGD and momentum not in (None, Constant(None), Constant(0), Constant(0.0))
    return site.name in KEEPING or by_momentum


def _owners(site: LibraryCall, params: Value | None) -> tuple[Value, ...] | None:
    """The modules whose parameters are given, one by one or in groups; None if some of them are not known."""
    held = site.held(params)
    if isinstance(held, ListObject) and held.owner is not None:
        return (held.owner,)
    found: list[Value] = []
    for group in items_of(site.frame, site.env, params if params is not None else UNKNOWN) or (UNKNOWN,):
        inner = site.held(group)
        owners = _owners(site, inner.get("params")) if isinstance(inner, DictObject) else None
        if owners is None:
            return None
        found.extend(owners)
    return tuple(found)


def _parameters(site: LibraryCall, held: Optimizer) -> tuple[Device, Origin | None]:
    """Where the parameters are now, and why."""
    device: Device = UNREACHED
    origin: Origin | None = None
    for module in held.modules or ():
        found, why = modules.module_device(site.frame, site.env, module)
        device, origin = join(device, found), origin or why
    return (UNKNOWN_DEVICE, None) if held.modules is None else (device, origin)


def _with_state(site: LibraryCall, held: Optimizer, what: str) -> Optimizer:
    """The optimizer with a state where its parameters are now."""
    device, _ = _parameters(site, held)
    return replace(held, state=device, origin=site.frame.origin(what, site.span, OriginKind.CREATED))


def _receiver(site: LibraryCall) -> tuple[ObjectId, Optimizer]:
    assert site.receiver is not None
    assert isinstance(site.receiver.value, Reference)
    identity = site.receiver.value.object
    held = site.env.heap[identity]
    assert isinstance(held, Optimizer)
    return identity, held


def step(site: LibraryCall) -> Value:
    """`optimizer.step()`: makes the state if there is none yet, else needs it where the parameters are."""
    identity, held = _receiver(site)
    if isinstance(held.state, Unreached):
        site.env.heap[identity] = _with_state(site, held, "the optimizer creates its state in its first step")
        return UNKNOWN
    now, why = _parameters(site, held)
    apart = differ(held.state, now) or (held.state == CPU and is_symbolic(now))
    if apart and not site.env.fallback:
        assert site.receiver is not None
        unregistered_tensor.note_stale(site.frame, site.frame.text(site.receiver.span), held, now, why, site.span)
        if site.frame.recording:  # told once; until then the next turn of a loop has to find it as it is
            site.env.heap[identity] = replace(held, state=UNKNOWN_DEVICE)
    return UNKNOWN


def load_state(site: LibraryCall) -> Value:
    """`optimizer.load_state_dict(state)`: the state comes to where the parameters are now."""
    identity, held = _receiver(site)
    site.env.heap[identity] = _with_state(
        site, held, "the state goes to the device that the parameters have at this line"
    )
    return Constant(None)


def keep(site: LibraryCall) -> Value:
    """Methods that neither make nor move any state."""
    return UNKNOWN


register(CONSTRUCTORS, dict.fromkeys((*sorted(KEEPING), SGD), optimizer))

register(
    OPTIMIZER_METHODS,
    {
        "step": step,
        "load_state_dict": load_state,
        "zero_grad": keep,
        "state_dict": keep,
    },
)
