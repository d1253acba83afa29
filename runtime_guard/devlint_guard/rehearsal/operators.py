"""The dispatch mode of a rehearsal: it compares labels before an operator runs, and labels what the operator makes.

A mode sees operators below autograd and below the composite functions of PyTorch's C++ code. Such a function may make a
helper tensor with the options of its arguments, and these say "cpu" here. So a factory counts as the program's own only
while one of the program's calls is marked (`calls`); every other factory makes a tensor with the label `ANYWHERE`.
"""

from __future__ import annotations

import contextlib
import functools
import threading
from collections.abc import Sequence
from types import FunctionType
from typing import Any

import torch
from torch import Tensor
from torch._subclasses.fake_tensor import FakeTensor
from torch.nn import Parameter

from devlint_guard.program.uncompiled import UncompiledMode, uncompiled
from devlint_guard.record import recorder
from devlint_guard.record.recorder import RECORD, flat
from devlint_guard.record.stacks import Event
from devlint_guard.record.storages import PLACES, UNKNOWN, Place
from devlint_guard.rehearsal import checks, generators, labels
from devlint_guard.rehearsal.aside import ASIDE
from devlint_guard.rehearsal.labels import ANYWHERE, CPU, put
from devlint_guard.rehearsal.machine import MACHINE, resolve
from devlint_guard.rehearsal.plans import Operand, Plan, Results
from devlint_guard.rehearsal.unjudged import UNJUDGED

_C: Any = torch._C
_address = _C._storage_address
_other_modes = _C._len_torch_dispatch_stack
_mode_of, _FAKE, _PROXY = _C._get_dispatch_mode, _C._TorchDispatchModeKey.FAKE, _C._TorchDispatchModeKey.PROXY
_entry_of = PLACES.entries.get
_put_place = PLACES.put_storage
_storage_of = _C.TensorBase.untyped_storage
_doing = RECORD.thread
_plans: dict[int, Plan] = {}
_plan_of = _plans.get
_NOTHING_NEW, _ONE_TENSOR = Results.NOTHING_NEW, Results.ONE_TENSOR

# The class of a buffer is only asked in `isinstance`: each buffer is a plain tensor or a parameter.
_PLAIN = frozenset({Tensor, Parameter, getattr(torch.nn, "Buffer", Parameter)})

_WITHOUT_MEMORY = frozenset({*_PLAIN, torch.nn.UninitializedParameter, torch.nn.UninitializedBuffer})


class _Kinds(dict[type, bool]):
    """For each class of arguments, whether its instances are tensors without a dispatch of their own."""

    def __missing__(self, kind: type) -> bool:
        found = self[kind] = issubclass(kind, Tensor) and kind.__torch_dispatch__ is Tensor.__torch_dispatch__
        return found


_HAS_LABEL = _Kinds()

# They read their tensors as numbers (RangeFactories.cpp).
_BOUNDED = frozenset({"linspace", "logspace"})


_NUMBERS = {bool: torch.bool, int: torch.int64, float: torch.float64, complex: torch.complex128}


class Marks(threading.local):
    """What a thread is doing.

    Attributes:
        is_marked: it is inside a call that the program has made of a factory or of a move.
        home: the device of the helper tensors that a function of PyTorch makes, if that is known.
        is_interpreted: it runs TorchScript, whose code names no device for a factory on the CPU.
        refused: the exception with which the last operator was refused.
    """

    is_marked = False
    home: torch.device | None = None
    is_interpreted = False
    refused: Exception | None = None


MARKS = Marks()
doing = functools.partial(recorder.doing, MARKS)


def marked() -> contextlib.AbstractContextManager[None]:
    """While the body runs, factories and moves are the program's own."""
    return doing(is_marked=True)


class RehearsalMode(UncompiledMode):  # type: ignore[no-untyped-call]
    """See the module's text."""

    @classmethod
    def ignore_compile_internals(cls) -> bool:
        """Let functions that are compiled run as eager code: compiled code has devices in it."""
        return False

    @uncompiled
    def __torch_dispatch__(
        self, func: Any, types: Sequence[type], args: Sequence[Any] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        if types and not _PLAIN.issuperset(types):
            return _run_for_subclass(func, types, args, kwargs or {})
        if _other_modes() and _mode_of(_FAKE) is not None:
            return func(*args, **(kwargs or {}))
        plan = _plan_of(id(func))
        if plan is None:
            if not isinstance(func, torch._ops.OpOverload):
                return _run_of_functions(func, args, kwargs or {})
            plan = _plans[id(func)] = Plan(func)
        if not plan.is_plain:
            return _run_any(plan, args, kwargs or {})
        found = None
        try:
            for value in flat(args) if plan.takes_lists else args:
                if _HAS_LABEL[value.__class__]:
                    entry = _entry_of(_address(value))
                    place = UNKNOWN if entry is None else entry[1]
                    if place is not found:
                        if found is None:
                            found = place
                        elif place.label is not found.label and place.label != found.label:
                            return _run_any(plan, args, kwargs or {})
                        elif place.number > found.number:
                            found = place
        except NotImplementedError:  # a tensor without a storage
            return _run_any(plan, args, kwargs or {})
        if found is None:
            found = UNKNOWN
            if plan.takes_tensors:
                args = _as_tensors(plan, args)
        result = plan.run(*args, **kwargs) if kwargs else plan.run(*args)
        batch, target = _doing.batch, found.label
        if batch is not None:
            batch.source, found = found.origin or batch.source, Place(target, batch)
        if target is None:
            ASIDE.count()
            if plan.results is not _NOTHING_NEW:
                RECORD.inherited(result, found)
            return result
        MACHINE.operators += 1
        ASIDE.calm = 0
        if plan.results is _ONE_TENSOR:
            try:
                storage = _storage_of(result)
            except (RuntimeError, NotImplementedError):
                put(result, target)
                return result
            _put_place(storage, found)
        elif plan.results is not _NOTHING_NEW:
            _label_results(plan, result, target, found.origin)
        return result


def _is_faked(types: Sequence[type]) -> bool:
    """Whether an operator computes shapes alone: PyTorch's fake tensors have devices, and compare them themselves."""
    return _mode_of(_FAKE) is not None or any(issubclass(kind, FakeTensor) for kind in types)


def _as_tensors(plan: Plan, args: Sequence[Any]) -> list[Any]:
    """Return arguments with tensors for numbers: a mode is given a number for a tensor that TorchScript made of it."""
    made = list(args)
    for position, (parameter, value) in enumerate(zip(plan.parameters, args, strict=False)):
        if parameter.kind == "Tensor" and type(value) in _NUMBERS:
            made[position] = torch.scalar_tensor(value, dtype=_NUMBERS[type(value)])
    return made


def _run_any(plan: Plan, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """Run an operator whose tensors may be on several devices, or that is told a device or a generator."""
    if plan.is_always_composed:
        return _compose(plan, plan.composition, args, kwargs)
    with _C.DisableTorchFunction():
        operands = plan.operands(args, kwargs)
        if plan.python_kernels:
            return _compose(plan, _python_kernel(plan, operands), args, kwargs)
        if checks.is_composed(plan, operands):
            return _compose(plan, plan.composition, args, kwargs)
        try:
            target = checks.judge(plan, operands, args) if operands else None
        except Exception as error:
            MARKS.refused, RECORD.refused = error, [one.tensor for one in operands]
            raise
        if target is not None and target != ANYWHERE:
            for one in operands:
                if one.device == ANYWHERE:  # a helper tensor is where the tensors are that it meets
                    put(one.tensor, target)
        if plan.is_missing_on_cpu and target is not None and target.type == MACHINE.name:
            UNJUDGED.stop(f"`{plan.name}`, which has no kernel for the CPU")
        if plan.takes_device:
            kwargs = dict(kwargs)
            target = _device_for(plan, kwargs, target)
            if target is None:
                return plan.run(*args, **kwargs)
        if plan.generator is not None:
            generators.check((*args, *kwargs.values()), target, plan.base)
        if plan.is_random and target is not None and target.type == MACHINE.name:
            result = _draw(plan, args, kwargs, target)
        else:
            result = plan.run(*args, **kwargs)
        own = [one.tensor for one in operands if one.device == target]
        if target is not None and target != CPU:
            MACHINE.operators += 1
            ASIDE.calm = ASIDE.calm if target == ANYWHERE else 0
            _label_results(plan, result, target, RECORD.latest(own).origin, operands)
        else:
            ASIDE.count()
            if plan.results is not _NOTHING_NEW:
                RECORD.computed(result, own)
        return result


def _draw(plan: Plan, args: Sequence[Any], kwargs: dict[str, Any], device: torch.device) -> Any:
    """Run an operator that draws numbers on a device."""
    position, own = plan.generator, generators.DEFAULTS.of(device.index)
    if position is None:
        with generators.drawing_on(device):
            return plan.run(*args, **kwargs)
    if position < len(args):
        args = [*args[:position], args[position] or own, *args[position + 1 :]]
    elif kwargs.get("generator") is None:
        kwargs = {**kwargs, "generator": own}
    return plan.run(*args, **kwargs)


def _python_kernel(plan: Plan, operands: Sequence[Operand]) -> Any:
    """Return the key of the kernel for the first tensor that is not on the CPU, as PyTorch's dispatcher takes it."""
    kinds = {one.device.type for one in operands}
    kind = MACHINE.name if MACHINE.name in kinds else "cpu"
    if kind not in plan.python_kernels:
        UNJUDGED.note(f"{plan.name} takes tensors on {kind}, for which it has no kernel in Python")
        kind = next(iter(plan.python_kernels))
    return plan.python_kernels[kind]


def _run_of_functions(func: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """Run an operator that takes functions, such as `torch.cond`, so that what these call is judged."""
    kernel = getattr(func, "py_kernels", {}).get(_C.DispatchKey.CompositeExplicitAutograd)
    if kernel is None or "_get_current_dispatch_mode" in kernel.__code__.co_names:  # it refuses to run in a mode
        return func(*(_judging(one) if isinstance(one, FunctionType) else one for one in args), **kwargs)
    return _judging(kernel)(*args, **kwargs)


def _judging(function: Any) -> Any:
    def called(*args: Any, **kwargs: Any) -> Any:
        with _C._EnableTorchFunction(), RehearsalMode():  # type: ignore[no-untyped-call]
            return function(*args, **kwargs)

    return called


def _compose(plan: Plan, key: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """Run the kernel that makes an operator of others, each of which is judged by itself."""
    return _judging(plan.overload._op_dk)(key, *args, **kwargs)


def _device_for(plan: Plan, kwargs: dict[str, Any], own: torch.device | None) -> torch.device | None:
    """Return the device for the result of a factory or a copy; None for a device of another type.

    The arguments are changed so that the operator works on the CPU. A tensor that it takes is on `own`.
    """
    wanted = kwargs.get("device")
    if plan.base in _BOUNDED:
        own = None
    if kwargs.get("pin_memory"):
        kwargs["pin_memory"] = False
    if wanted is None and own is not None:
        return own
    if wanted is None and MARKS.is_interpreted:
        return CPU
    kind = "cpu" if wanted is None else torch.device(wanted).type
    if kind not in MACHINE.types:
        return None
    if kind == MACHINE.name:
        if _mode_of(_PROXY) is not None:
            UNJUDGED.stop("`make_fx` with a simulated GPU, unless its tensors are fake")
        kwargs["device"] = CPU
        return resolve(wanted)
    # PyTorch's own helpers are never random, so that a factory with a generator is the program's.
    if MARKS.is_marked or (own is None and kwargs.get("generator") is not None):
        return CPU
    if own is None:
        return ANYWHERE if MARKS.home is None else MARKS.home
    return own


def _label_results(
    plan: Plan, result: Any, target: torch.device, origin: Event | None, operands: Sequence[Operand] = ()
) -> None:
    # A view of a sparse tensor has indices of its own, so that it is new here.
    has_views = all(_C._has_storage(one.tensor) for one in operands)
    if plan.results is _NOTHING_NEW and has_views:
        return
    makes_new = plan.makes_new if has_views else [True] * len(plan.makes_new)
    values = result if isinstance(result, (tuple, list)) and len(makes_new) > 1 else (result,)
    for value, is_new in zip(values[:1] if plan.is_packing else values, makes_new, strict=False):
        if not is_new:
            continue
        if isinstance(value, Tensor):
            put(value, target, origin)
        elif isinstance(value, (list, tuple)):
            for each, one in enumerate(value):
                if isinstance(one, Tensor):
                    is_apart = plan.base.startswith("_foreach") and operands
                    put(one, operands[each].device if is_apart else target, origin)


class _Watching(RehearsalMode):
    """Judges what a class with a dispatch of its own makes an operator of, and remembers whether there was anything."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.has_seen = False

    @uncompiled
    def __torch_dispatch__(
        self, func: Any, types: Sequence[type], args: Sequence[Any] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        if types and not _WITHOUT_MEMORY.issuperset(types) and not _is_faked(types):
            return NotImplemented  # the class decides, and what it calls comes here
        self.has_seen = True
        return super().__torch_dispatch__(func, types, args, kwargs)


def _run_for_subclass(func: Any, types: Sequence[type], args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """Run an operator with tensors of a class that has a dispatch of its own.

    If the class calls the kernel and no other operator, nobody has compared devices. The results are labelled all the
    same, so that they do not count as tensors on the CPU. A wrapper has no memory that a kernel could read.
    """
    if _WITHOUT_MEMORY.issuperset(types) or _is_faked(types):
        return func(*args, **kwargs)
    with _Watching() as watching:
        result = func(*args, **kwargs)
    makes_tensors = any(one.alias_info is None and "Tensor" in str(one.type) for one in func._schema.returns)
    if watching.has_seen or not makes_tensors or not labels.devices - {CPU}:
        return result
    plan = Plan(func)
    operands = plan.operands(args, kwargs)
    if not any(one.tensor in labels.wrappers for one in operands):
        names = ", ".join(sorted({kind.__name__ for kind in types}))
        UNJUDGED.note(f"{plan.name} takes tensors of the class {names}")
        devices = {one.device for one in operands}
        if len(devices) == 1:
            _label_results(plan, result, devices.pop(), None, operands)
    return result
