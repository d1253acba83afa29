"""Process groups and their collectives: a backend takes tensors of some types of devices only.

torch 2.13: `nccl` moves CUDA tensors, and a process group that has no other backend raises for any other tensor. A
process group without a named backend has `nccl` on a machine with CUDA, and `gloo` on another one (`BackendConfig` in
`torch/distributed/distributed_c10d.py`).
"""

from __future__ import annotations

import re
from dataclasses import replace

from devlint.analysis.libraries.transfer_tables import FUNCTIONS, LibraryCall, Transfer, register
from devlint.analysis.values.arguments import ArgumentValue
from devlint.analysis.values.containers import elements_of
from devlint.domain.device import CPU, Device
from devlint.domain.process import UNKNOWN_BACKEND
from devlint.domain.provenance import Origin
from devlint.domain.value import PROCESSES, UNKNOWN, Constant, Predicate, Present, Tensor, Value
from devlint.facts import BackendMismatch

CUDA_ONLY = frozenset({"nccl", "cuda:nccl"})
"""Backends that have nothing for tensors on the CPU."""

_FOR_CUDA = re.compile(r"[\"']nccl[\"']")
_FOR_HOST = re.compile(r"(?<!new_group\()(?<!new_group\(backend=)[\"'](gloo|mpi)[\"']")
"""Text that names a backend which starts on machines with CUDA only, and on others, for more than a group beside."""


def init_process_group(site: LibraryCall) -> Value:
    """`init_process_group(backend)`: what collectives use from now on."""
    given = site.arguments.get(0, "backend")
    backend: str | None = ""
    if given is not None and given.value != Constant(None):
        name = given.value.value if isinstance(given.value, Constant) else None
        backend = name.lower() if isinstance(name, str) else None
    elif not site.arguments.exact:
        backend = None
    if backend is not None and "nccl" in backend and site.frame.program.devices == 0:
        message = "ProcessGroupNCCL is only supported with GPUs, no GPUs found!"
        site.record(BackendMismatch(str(backend), "", None, message, ()))
    site.env.process = replace(site.env.process, backend=UNKNOWN_BACKEND if backend is None else backend)
    for_cuda = backend in CUDA_ONLY or (backend is None and _groups_are_for_cuda(site))
    site.env.checked = site.env.checked or for_cuda
    return Constant(None)


def is_initialized(site: LibraryCall) -> Value:
    """`is_initialized()`: in a file whose groups are for CUDA alone there is no group without it."""
    return Predicate(holds=(Present(True),)) if _groups_are_for_cuda(site) else UNKNOWN


def get_world_size(site: LibraryCall) -> Value:
    """`get_world_size()`: of such a group there is more than one process only beside CUDA."""
    return PROCESSES if _groups_are_for_cuda(site) and not site.arguments.positional else UNKNOWN


def _groups_are_for_cuda(site: LibraryCall) -> bool:
    """Whether the file names no backend but one that starts on machines with CUDA only."""
    says = site.frame.file_says
    return site.frame.program.devices is None and says(_FOR_CUDA) and not says(_FOR_HOST)


def destroy_process_group(site: LibraryCall) -> Value:
    """`destroy_process_group()`: whatever comes next is another group."""
    site.env.process = replace(site.env.process, backend=UNKNOWN_BACKEND)
    return Constant(None)


def collective(position: int, name: str, group: int | None) -> Transfer:
    """A collective whose tensor, or list of tensors, stands at a position; a group of its own has its own backend."""

    def check(site: LibraryCall) -> Value:
        own = site.arguments.keyword("group") if group is None else site.arguments.get(group, "group")
        given = site.arguments.get(position, name)
        if given is not None and (own is None or own.value == Constant(None)):
            for tensor in _tensors(site, given):
                meet(site, site.frame.text(given.span), tensor.device, tensor.origin)
        return UNKNOWN

    return check


def _tensors(site: LibraryCall, given: ArgumentValue) -> list[Tensor]:
    if isinstance(given.value, Tensor):
        return [given.value]
    inner = elements_of(site.frame, site.env, given.value)
    values = (inner.each,) if inner.few is None else inner.few
    return [value for value in values[:1] if isinstance(value, Tensor)]


def meet(site: LibraryCall, name: str, device: Device, origin: Origin | None) -> None:
    """A tensor, or the parameters of a module, meet the backend of the default process group."""
    backend = site.env.process.backend
    takes_cuda_only = backend in CUDA_ONLY or (backend == "" and site.frame.program.devices != 0)
    if device == CPU and takes_cuda_only:
        message = "No backend type associated with device type cpu"
        site.record(BackendMismatch(str(backend), name, device, message, site.steps(origin)))


_TENSOR_FIRST = {
    "all_reduce": 2,
    "broadcast": 2,
    "reduce": 3,
    "gather": 3,
    "scatter": 3,
    "reduce_scatter": 3,
    "reduce_scatter_tensor": 3,
    "all_gather_into_tensor": 2,
    "all_to_all_single": 4,
    "all_to_all": 2,
    "send": 2,
    "recv": 2,
    "isend": 2,
    "irecv": 2,
}
"""Collectives that take the tensor they look at first, with the position of `group`."""

_PARAMETERS = {
    "reduce_scatter": "output",
    "reduce_scatter_tensor": "output",
    "all_gather_into_tensor": "output_tensor",
    "all_to_all_single": "output",
    "all_to_all": "output_tensor_list",
}

register(
    FUNCTIONS,
    {
        "torch.distributed.init_process_group": init_process_group,
        "torch.distributed.is_initialized": is_initialized,
        "torch.distributed.get_world_size": get_world_size,
        "torch.distributed.destroy_process_group": destroy_process_group,
        "torch.distributed.all_gather": collective(1, "tensor", 2),
        **{
            f"torch.distributed.{name}": collective(0, _PARAMETERS.get(name, "tensor"), group)
            for name, group in _TENSOR_FIRST.items()
        },
    },
)
