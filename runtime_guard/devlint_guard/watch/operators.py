"""The operator level: a dispatch mode that looks at the devices of each ATen operator's tensors before it runs.

It sees what the call of a module does not show: operators between modules, the backward pass, the optimizer, and what
PyTorch lets through, such as a matrix product with a tensor that has no data. Where PyTorch declares that it will
refuse (`regimes`), the finding comes before the operator has run.

The mode belongs to a thread, as all dispatch modes do. PyTorch carries it into the threads of its autograd engine, but
not into those of `DataParallel` or of a `DataLoader`.
"""

from __future__ import annotations

import ast
import contextlib
import functools
import sys
import threading
from collections.abc import Callable, Sequence
from types import FrameType
from typing import Any, NamedTuple, Protocol

import torch
from torch._C import DisableTorchFunction

from devlint_guard.errors import DevlintWarning, GuardError
from devlint_guard.explain.messages import Message, Trouble
from devlint_guard.explain.operands import Scene, matched
from devlint_guard.finding import Finding
from devlint_guard.findings.mismatch import finding_on
from devlint_guard.program.expressions import Operation, Term
from devlint_guard.program.frames import sites_above, user_frame
from devlint_guard.program.naming import Roots
from devlint_guard.program.stored import tensors_in
from devlint_guard.program.uncompiled import UncompiledMode, uncompiled
from devlint_guard.program.undisturbed import is_of_the_program
from devlint_guard.record.recorder import RECORD, flat
from devlint_guard.record.storages import PLAIN, function_modes
from devlint_guard.watch import scopes
from devlint_guard.watch.all_on_cpu import LONG
from devlint_guard.watch.entry import Value
from devlint_guard.watch.regimes import Regime, regime_of

Overload = Any
"""An overload of `torch.ops`."""


class _Watcher(Protocol):
    """Something that is told of the operators that it wants, once they have run."""

    def wants(self, overload: Overload) -> bool: ...
    def saw(self, call: Call) -> None: ...


class Call(NamedTuple):
    """One call of an operator, which has returned; `thread` is the one that the mode belongs to."""

    overload: Overload
    args: Sequence[Any]
    kwargs: dict[str, Any]
    result: Any
    thread: int


Ended = Callable[[Exception | None], None]
"""Is told how an operator has ended: with an error of PyTorch, or with None."""

Sink = Callable[[Finding], Ended | None]
"""Receives findings."""


class _Plan(NamedTuple):
    """What the schema of an overload says of its tensors.

    Attributes:
        compares: they are to be compared; they are all among its positional arguments.
        compares_nested: they are to be compared, and some of them stand in lists or in keyword arguments.
        makes_tensors: some are new.
    """

    overload: Overload
    regime: Regime
    compares: bool
    compares_nested: bool
    makes_tensors: bool


@functools.cache
def _plan_of(overload: Overload) -> _Plan:
    arguments, results = overload._schema.arguments, overload._schema.returns
    tensors = [kind for kind in (str(argument.type) for argument in arguments) if "Tensor" in kind]
    regime = regime_of(name_of(overload)) if overload.namespace == "aten" else Regime.OWN
    is_nested = any("List" in kind for kind in tensors) or any(argument.is_out for argument in arguments)
    is_compared = regime is not Regime.OWN
    makes_tensors = any(one.alias_info is None and "Tensor" in str(one.type) for one in results)
    return _Plan(
        overload, regime, is_compared and len(tensors) > 1 and not is_nested, is_compared and is_nested, makes_tensors
    )


def name_of(overload: Overload) -> str:
    """`add.Tensor`; `mm` for an overload without a name of its own."""
    base = overload._schema.name.partition("::")[2]
    return f"{base}.{overload._schema.overload_name}".rstrip(".")


_Known = tuple[Callable[..., Any], "_Plan | None", "_Watcher | None", Overload]
"""What runs an operator, its plan if there is anything to do, who wants to be told of it, and the operator itself."""


class OperatorMode(UncompiledMode):
    """Reports tensors that do not go together.

    Args:
        sink: receives each finding before the operator runs, and may return what is to be told how the operator has
            ended; an exception from it stops the operator.
        roots: modules that paths start from, by name.
        watcher: is told of the operators that it wants, once they have run.
        failed: receives an error of the guard at an operator, which then runs unchecked; None to raise it.
        calm: is called after so many operators in turn with tensors on the CPU alone that the mode may step aside.
    """

    is_moved = True

    def __init__(
        self,
        sink: Sink,
        *,
        roots: Roots | None = None,
        watcher: _Watcher | None = None,
        failed: Callable[[Exception], None] | None = None,
        calm: Callable[[], object] | None = None,
    ) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._sink = sink
        self._roots: Roots = roots or {}
        self._watcher = watcher
        self._failed = failed
        self._calm = calm
        self._calm_operators = 0
        self._is_on = True
        # By identity, since an overload computes its hash in Python; the overload is kept, and so is its identity.
        self._known: dict[int, _Known] = {}
        self._thread = threading.get_ident()

    def install(self) -> bool:
        """Looks at the operators that this thread calls from now on; returns whether that is possible here."""
        scopes.follow()
        if scopes.are_known():
            with scopes.lock:
                self.__enter__()
                scopes.moved[self] = None
            return True
        scopes.leave()
        return False

    def uninstall(self) -> bool:
        """Looks at nothing from now on, and takes the mode out of the stack, also from below modes entered later.

        Returns whether it is out: only the thread that it is in can take it out, and only where PyTorch does not put it
        back. Elsewhere it stays, to do nothing.
        """
        if threading.get_ident() == self._thread and scopes.are_known():
            if self in scopes.stack():
                scopes.take_out(self)
                scopes.leave()
                return True
            if not self._is_running:
                scopes.leave()
                return True
        self._is_on = False
        self._known = {}
        return False

    def resume(self) -> None:
        """Looks at operators again, where `uninstall` has left the mode in the stack."""
        if not self._is_on:
            self._is_on = True
            self._known = {}

    @property
    def _is_running(self) -> bool:
        """Whether it runs an operator, which has called Python: PyTorch puts it back into the stack afterwards."""
        frame: FrameType | None = sys._getframe()
        while frame is not None:
            if frame.f_code is OperatorMode.__torch_dispatch__.__code__ and frame.f_locals.get("self") is self:
                return True
            frame = frame.f_back
        return False

    def __enter__(self) -> OperatorMode:
        self._thread = threading.get_ident()
        self._is_on = True
        super().__enter__()  # type: ignore[no-untyped-call]
        return self

    @uncompiled
    def __torch_dispatch__(
        self, func: Overload, types: Sequence[type], args: Sequence[Any] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        try:
            run, plan, watcher, _ = self._known[id(func)]
        except KeyError:
            run, plan, watcher, _ = self._learn(func)
        if self._calm is not None:
            self._count(args)
        if plan is not None and not types:
            ended = None
            if plan.compares and not function_modes():
                device = None
                for value in args:
                    if value.__class__ in PLAIN:
                        if device is None:
                            device = value.device
                        elif value.device != device:
                            ended = self._mixed(plan, args, {})
                            break
            elif plan.compares or plan.compares_nested:
                ended = self._compare_unseen(plan, args, kwargs or {})
            if ended is not None:
                return self._run_mixed(plan, watcher, args, kwargs or {}, ended)
            if watcher is not None:
                return self._run_watched(plan, watcher, args, kwargs or {})
            if plan.makes_tensors:
                result = run(*args, **kwargs) if kwargs else run(*args)
                RECORD.computed(result, args)
                return result
        return run(*args, **kwargs) if kwargs else run(*args)

    def _count(self, args: Sequence[Any]) -> None:
        """Counts the operators in turn whose first tensor is on the CPU."""
        first = next((one for one in args if one.__class__ in PLAIN), None)
        if first is not None and (function_modes() or not first.is_cpu):
            self._calm_operators = 0
            return
        self._calm_operators += 1
        if self._calm_operators > LONG and self._calm is not None:
            self._calm_operators = 0
            self._calm()

    def _learn(self, overload: Overload) -> _Known:
        if not self._is_on or type(overload) is not torch._ops.OpOverload:
            return overload, None, None, overload
        plan = _plan_of(overload)
        watcher = self._watcher if self._watcher is not None and self._watcher.wants(overload) else None
        has_plan = watcher is not None or plan.makes_tensors or plan.compares or plan.compares_nested
        # `_op` is what an overload calls, without a frame of its own.
        known = getattr(overload, "_op", overload), plan if has_plan else None, watcher, overload
        self._known[id(overload)] = known
        return known

    def _run_watched(self, plan: _Plan, watcher: _Watcher, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        result = plan.overload(*args, **kwargs)
        if plan.makes_tensors:
            RECORD.computed(result, args)
        try:
            with DisableTorchFunction():
                watcher.saw(Call(plan.overload, args, kwargs, result, self._thread))
        except Exception as error:
            self._tell(error)
        return result

    def _run_mixed(
        self, plan: _Plan, watcher: _Watcher | None, args: Sequence[Any], kwargs: dict[str, Any], ended: Ended
    ) -> Any:
        try:
            if watcher is not None:
                result = self._run_watched(plan, watcher, args, kwargs)
            else:
                result = plan.overload(*args, **kwargs)
        except Exception as error:
            with DisableTorchFunction():
                RECORD.refused = [one.tensor for one in values_of(plan.overload, args, kwargs)]
                ended(error)
            raise
        with DisableTorchFunction():
            ended(None)
        return result

    def _tell(self, error: Exception) -> None:
        if self._failed is None or is_of_the_program(error):
            raise error
        if not isinstance(error, RecursionError):
            with contextlib.suppress(Exception):
                self._failed(error)

    def _compare_unseen(self, plan: _Plan, args: Sequence[Any], kwargs: dict[str, Any]) -> Ended | None:
        """Compares also in lists, and where reading a device may be a call that a function mode would see."""
        with DisableTorchFunction():
            devices = {one.device for one in flat((*args, *kwargs.values())) if one.__class__ in PLAIN}
        return self._mixed(plan, args, kwargs) if len(devices) > 1 else None

    def _mixed(self, plan: _Plan, args: Sequence[Any], kwargs: dict[str, Any]) -> Ended | None:
        """Tensors on several devices meet, which may be legal."""
        try:
            with DisableTorchFunction():
                pair, name = apart(plan.regime, values_of(plan.overload, args, kwargs)), name_of(plan.overload)
                if pair is None:
                    return None
                finding = finding_of(plan.regime, name, pair, sys._getframe(), self._thread, self._roots)
                return self._sink(finding)
        except (GuardError, DevlintWarning):
            raise
        except Exception as error:
            self._tell(error)
            return None


def values_of(overload: Overload, args: Sequence[Any], kwargs: dict[str, Any]) -> list[Value]:
    """The tensors that an operator's kernel compares, in its order: output tensors by keyword come first.

    Other keyword arguments are left out, as torchgen leaves them out of the check.
    """
    outputs: list[Value] = []
    inputs: list[Value] = []
    for position, argument in enumerate(overload._schema.arguments):
        if argument.kwarg_only and not argument.is_out:
            continue
        value = args[position] if position < len(args) else kwargs.get(argument.name)
        is_written = argument.alias_info is not None and argument.alias_info.is_write
        found = outputs if argument.is_out else inputs
        found += [Value(name, tensor, is_written) for name, tensor in tensors_in(value, argument.name)]
    return outputs + inputs


def apart(regime: Regime, values: Sequence[Value]) -> tuple[Value, Value] | None:
    """The first two of an operator's tensors that break its rule; None where PyTorch lets all of them meet.

    The first of them is not where it has to be, the second says where that is.
    """
    first = next(iter(values), None)
    if first is not None and regime is Regime.ELEMENTWISE:
        first = next((value for value in values if value.tensor.device.type != "cpu"), first)
    for value in values:
        if first is None or value.tensor.device == first.tensor.device:
            continue
        is_on_cpu = value.tensor.device.type == "cpu"
        if regime is Regime.ELEMENTWISE and is_on_cpu and value.tensor.dim() == 0 and not value.is_written:
            continue
        if regime is not Regime.INDEX or not is_on_cpu:
            return value, first
    return None


def finding_of(
    regime: Regime, operator: str, pair: tuple[Value, Value], frame: FrameType, thread: int, roots: Roots
) -> Finding:
    """What such a pair means in the user's program, where a frame called the operator; `thread` as for `user_frame`."""
    start = frame if user_frame(frame) is not None else user_frame(None, thread)
    scene = Scene.of(sites_above(start or frame), roots)
    # The tensor that is selected from comes before its indices.
    ordered = pair[::-1] if regime is Regime.INDEX else pair
    terms = tuple(Term(one.name, ast.Name(one.name), str(one.tensor.device), one.tensor) for one in ordered)
    met = matched(scene, Operation(operator, terms[0].node, terms, ()), scene.operation.terms)
    devices = tuple(term.device for term in terms)
    trouble = Trouble.INDEX if regime is Regime.INDEX else Trouble.APART
    return scene.placed(finding_on(scene, met, Message(trouble, devices)))
