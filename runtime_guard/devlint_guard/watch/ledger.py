"""The transfer ledger: which lines of the user's code copy between host and device, or make the host wait for one.

It counts what PyTorch's dispatcher shows: copies, and operators that need a result on the host to go on. The copies
inside a kernel are known from PyTorch's sources: an index on the CPU goes to the device of the indexed tensor
(TensorAdvancedIndexing.cpp, make_info), and `torch.tensor(..., device=...)` sends a tensor that it creates on the CPU.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from types import CodeType, FrameType
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch._C import DisableTorchFunction
from torch.multiprocessing.reductions import StorageWeakRef

from devlint_guard.program.frames import line_in_code, source_line, user_frame
from devlint_guard.program.replacements import Replacements
from devlint_guard.program.undisturbed import Undisturbed
from devlint_guard.report.record import Direction, InSteps, Transfer, added
from devlint_guard.watch.operators import Call, Overload, name_of
from devlint_guard.watch.steps import Steps

_COPIES = frozenset({"_to_copy", "copy_", "copy", "_foreach_copy_", "lift_fresh"})
_INDEXING = frozenset({"index.Tensor", "index_put", "index_put_", "_index_put_impl_"})

# Operators whose CUDA kernels bring a number or a size to the host: Nonzero.cu, Unique.cu, CUDAScalar.cu,
# ReduceOps.cpp (equal), Repeat.cpp, SummaryOps.cu (bincount), BatchLinearAlgebra (_linalg_check_errors).
_WAITING = {
    "_local_scalar_dense": "item()",
    "nonzero": "nonzero",
    "masked_select": "masked_select",
    "_unique2": "unique",
    "unique_dim": "unique",
    "unique_consecutive": "unique",
    "equal": "equal",
    "repeat_interleave.Tensor": "repeat_interleave",
    "bincount": "bincount",
    "_linalg_check_errors": "linalg",
}


_SHOWN = 1000
"""PyTorch prints a part of a tensor that has more elements."""


class _Entry(NamedTuple):
    """One transfer, as `Transfer` tells it; `copied` is what is copied, and where it goes."""

    direction: Direction
    by: str
    size: int
    waits: bool
    implicit: bool
    copied: tuple[Tensor, torch.device] | None = None


class _Sum:
    """The transfers of one line in one way so far.

    Attributes:
        same: the largest number of copies of one tensor.
    """

    __slots__ = ("_copies", "_in_step", "bytes", "count", "first", "last", "most", "same", "steps", "waits")

    def __init__(self, step: int) -> None:
        self.count = self.bytes = self.waits = self.same = self.steps = self.most = self._in_step = 0
        self.first, self.last = step, -1
        self._copies: dict[_Content, tuple[StorageWeakRef, int]] = {}

    def add(self, entry: _Entry, step: int) -> None:
        """Adds a transfer of the step that is running."""
        self.count += 1
        self.bytes += entry.size
        self.waits += entry.waits
        if step != self.last:
            self.steps, self.last, self._in_step = self.steps + 1, step, 0
        self._in_step += 1
        self.most = max(self.most, self._in_step)
        if entry.copied is not None:
            self._note_copy(*entry.copied)

    def _note_copy(self, source: Tensor, target: torch.device) -> None:
        if source.layout is not torch.strided or not torch._C._has_storage(source):
            return
        if len(self._copies) >= _REMEMBERED:
            self._copies = {key: known for key, known in self._copies.items() if not known[0].expired()}  # type: ignore[no-untyped-call]
        storage = StorageWeakRef(source.untyped_storage())  # type: ignore[no-untyped-call]
        version = 0 if source.is_inference() else source._version
        elements = (source.storage_offset(), tuple(source.shape), source.stride(), source.dtype)
        content = (storage.cdata, *elements, version, target)
        # A reference to a storage keeps its address from being given to another one.
        kept, count = self._copies.get(content, (storage, 0))
        if len(self._copies) < _REMEMBERED or count:
            self._copies[content] = (kept, count + 1)
        self.same = max(self.same, count + 1)


_Content = tuple[Any, ...]
"""Equal for copies of the same elements to one device, while nothing has written to them."""

_REMEMBERED = 256
"""So many tensors that a line has copied are compared with what it copies next."""


class Ledger:
    """Adds up transfers and synchronisations: a watcher of an `OperatorMode`.

    Args:
        steps: tells which step is running.
    """

    def __init__(self, steps: Steps) -> None:
        self._steps = steps
        self._sums: dict[tuple[CodeType | None, int, Direction, str, bool], _Sum] = {}
        self._lock = threading.Lock()

    def follow_prints(self) -> None:
        """Counts tensors that are printed: PyTorch brings them to the CPU with all dispatch modes switched off."""
        if not _counting:
            _prints.around(torch._tensor_str, "_str", _printed)  # `repr` calls it by its name in that module
        _counting.append(self)

    def leave_prints(self) -> None:
        """Ends that."""
        if self in _counting:
            _counting.remove(self)
        if not _counting:
            _prints.undo()

    def printed(self, tensor: Tensor) -> None:
        """A tensor is about to be printed."""
        size = min(tensor.numel(), _SHOWN) * tensor.element_size()
        self._add(
            user_frame(sys._getframe(), threading.get_ident()), _Entry(Direction.TO_HOST, "print", size, True, True)
        )

    def _add(self, frame: FrameType | None, entry: _Entry) -> None:
        code, line = (None, 0) if frame is None else (frame.f_code, frame.f_lineno)
        key = (code, line, entry.direction, entry.by, entry.implicit)
        with self._lock:
            known = self._sums.get(key)
            if known is None:
                known = self._sums[key] = _Sum(self._steps.number)
            known.add(entry, self._steps.number)

    @property
    def transfers(self) -> tuple[Transfer, ...]:
        """The totals, see `added`."""
        with self._lock:
            found = [
                Transfer(
                    None if code is None else line_in_code(code, line),
                    "" if code is None else source_line(code.co_filename, line).strip(),
                    direction,
                    by,
                    known.count,
                    known.bytes,
                    known.waits,
                    implicit,
                    known.same,
                    InSteps(known.first, known.last, known.steps, known.most) if self._steps.are_known else None,
                )
                for (code, line, direction, by, implicit), known in self._sums.items()
            ]
        return added(found)

    # --- as a watcher of operators ---

    def wants(self, overload: Overload) -> bool:
        """Copies, indexing and operators that wait."""
        name = name_of(overload)
        is_known = name.partition(".")[0] in _COPIES or name in _INDEXING or name in _WAITING
        return overload.namespace == "aten" and is_known

    def saw(self, call: Call) -> None:
        """One of them has run."""
        found = list(_entries(call))
        frame = user_frame(sys._getframe(), call.thread) if found else None
        for entry in found:
            self._add(frame, entry)


_counting: list[Ledger] = []
_prints = Replacements(is_shared=True)


def _printed(original: Callable[..., str], tensor: Tensor, *args: Any, **kwargs: Any) -> str:
    with Undisturbed(None), DisableTorchFunction():
        for ledger in _counting if _is_on_device(tensor) else ():
            ledger.printed(tensor)
    return original(tensor, *args, **kwargs)


def _entries(call: Call) -> Iterator[_Entry]:
    name = name_of(call.overload)
    base = name.partition(".")[0]
    if base in _COPIES:
        yield from _copies(base, call)
    elif name in _INDEXING:
        yield from _indexing(call)
    elif _is_on_device(call.args[0]):
        # A scalar has to travel, too, but what counts is that the host waits for it.
        yield _Entry(Direction.NONE, _WAITING[name], 0, True, False)


def _copies(base: str, call: Call) -> Iterator[_Entry]:
    args, result = call.args, call.result
    need_not_wait = any(args[2:3]) or bool(call.kwargs.get("non_blocking"))
    if base == "lift_fresh":
        if _is_on_device(result):
            yield _Entry(Direction.TO_DEVICE, "torch.tensor", _size(result), True, False)
    elif base == "_foreach_copy_":
        for target, source in zip(args[0], args[1], strict=False):
            yield from _copy("copy", source, target, need_not_wait, implicit=False)
    elif base == "_to_copy":
        yield from _copy("copy", args[0], result, need_not_wait, implicit=False)
    else:
        yield from _copy("copy_", args[1], args[0], need_not_wait, implicit=True)


def _copy(by: str, source: Tensor, target: Tensor, need_not_wait: bool, *, implicit: bool) -> Iterator[_Entry]:
    """One copy, if it goes from one device to another. The host waits unless its memory is pinned and it need not."""
    direction = _direction(source, target)
    if direction is None or _size(target) == 0:
        return
    host = source if direction is Direction.TO_DEVICE else target
    is_free = direction is Direction.PEER or (need_not_wait and host.is_pinned())
    yield _Entry(direction, by, _size(target), not is_free, implicit, (source, target.device))


def _indexing(call: Call) -> Iterator[_Entry]:
    target, indices = call.args[0], call.args[1]
    if not isinstance(target, Tensor) or not _is_on_device(target):
        return
    given = [index for index in indices if isinstance(index, Tensor)]
    for index, size in _sizes_sent(given):
        yield _Entry(Direction.TO_DEVICE, "index", size, True, True, (index, target.device))
    if any(_is_mask(index) and _is_on_device(index) for index in given):
        yield _Entry(Direction.NONE, "mask", 0, True, True)


def _sizes_sent(indices: Sequence[Tensor]) -> Iterator[tuple[Tensor, int]]:
    """Each index that has to be sent with its bytes: masks become positions, then all are given one shape.

    How many positions a mask on the device has, only the device knows; it is taken to have no more than the others.
    """
    shapes: list[tuple[int, ...]] = []
    sent: list[tuple[Tensor, int]] = []
    for index in indices:
        positions = index.dim() if _is_mask(index) else 1
        if index.device.type == "cpu":
            sent += [(index, 8 if _is_mask(index) else index.element_size())] * positions
            shapes.append((int(index.count_nonzero()),) if _is_mask(index) else tuple(index.shape))
        elif not _is_mask(index):
            shapes.append(tuple(index.shape))
    shape: torch.Size = torch.broadcast_shapes(*shapes)  # type: ignore[no-untyped-call]
    for index, width in sent:
        yield index, width * shape.numel()


def _is_mask(tensor: Tensor) -> bool:
    return tensor.dtype in (torch.bool, torch.uint8)


def _direction(source: Tensor, target: Tensor) -> Direction | None:
    if source.device == target.device or "meta" in (source.device.type, target.device.type):
        return None
    if source.device.type == "cpu":
        return Direction.TO_DEVICE
    return Direction.TO_HOST if target.device.type == "cpu" else Direction.PEER


def _is_on_device(value: object) -> bool:
    return isinstance(value, Tensor) and value.device.type not in ("cpu", "meta")


def _size(tensor: Tensor) -> int:
    return tensor.numel() * tensor.element_size()
