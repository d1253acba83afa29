"""Process groups: the backend of the group decides which tensors it sends.

The device of the tensors that the group sends is a property of the process: "cuda" for nccl, none for a backend that
sends from any device, or for no group.
"""

from __future__ import annotations

from typing import Final

from devlint.inference.libraries.signatures import prove
from devlint.inference.libraries.table import CallSite, handles
from devlint.inference.requirements.make import participant, require
from devlint.inference.state.containers import side_by_side
from devlint.inference.state.where import PROCESS_STATE, stored
from devlint.inference.values.data import SENT, Participant
from devlint.inference.values.folding import fold
from devlint.inference.values.objects import LIST, Instance
from devlint.inference.values.tensors import Tuple
from devlint.inference.values.terms import BACKEND, NO_DEVICE, NONE, UNKNOWN, Value

PACKAGE: Final = "torch.distributed"
COLLECTIVES: Final = """
    all_gather all_gather_into_tensor all_reduce all_to_all all_to_all_single broadcast gather irecv isend recv reduce
    reduce_scatter reduce_scatter_tensor scatter send
    """.split()
OUTPUTS: Final = ("output", "output_tensor", "output_tensor_list")
"""The parameters of the collectives that have no parameter `tensor`."""


@handles(f"{PACKAGE}.init_process_group")
def init_process_group(call: CallSite) -> Value:
    """Make the group of the process; which backends a group without a name has, depends on the release of PyTorch."""
    call.frame.heap.put(PROCESS_STATE, BACKEND, fold("sent_from", call.argument(0, "backend")))
    return NONE


@handles(f"{PACKAGE}.destroy_process_group")
def destroy_process_group(call: CallSite) -> Value:
    """Forget the group."""
    call.frame.heap.put(PROCESS_STATE, BACKEND, NO_DEVICE)
    return NONE


def require_sent(call: CallSite, value: Value) -> None:
    """Record that the group of the process sends a tensor or a module."""
    frame = call.frame
    backend = Participant("backend", stored(frame, PROCESS_STATE, BACKEND))
    require(frame, call.name.rpartition(".")[2], [participant(frame, value), backend], call.span, SENT)


@handles(*[f"{PACKAGE}.{name}" for name in COLLECTIVES])
def collective(call: CallSite) -> Value:
    """Send a tensor with the group of the process; another group has a backend of its own."""
    forms = call.frame.engine.stubs.function(call.name)
    names = [each.name for each in forms[0].parameters] if forms else []
    sent = next((each for each in ("tensor", *OUTPUTS) if each in names), None)
    if sent is not None:
        own = call.given(names.index("group"), "group")
        value = call.argument(names.index(sent), sent)
        is_list = isinstance(value, Tuple) or (isinstance(value, Instance) and value.kind == LIST)
        for each in side_by_side(call.frame, value) if is_list else (value,):
            if own is None or own is NONE:
                prove(call.frame, each)
                require_sent(call, each)
    return UNKNOWN
