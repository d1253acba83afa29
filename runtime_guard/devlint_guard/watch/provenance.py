"""Where tensors were created and moved, remembered while the program runs.

Moves are seen by `Tensor.to`, `cuda` and `cpu` and by `Module._apply`, which stands behind `Module.to` and its like;
they are replaced while provenance is on. Where tensors are created is seen by an `OperatorMode` that has the provenance
among its watchers: factories such as `torch.zeros` must not be replaced, since TorchScript and `with torch.device(...)`
know them by identity.

An entry is found by the identity of its tensor and ends with it, by a weak reference. Parameters are never referred to,
and a reference is given up before PyTorch exchanges the contents of two tensors, which it refuses to do while there is
one.
"""

from __future__ import annotations

import functools
import sys
import threading
import weakref
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from devlint_guard.finding import Step
from devlint_guard.program.callers import Caller, caller_of
from devlint_guard.program.stored import modules_in, table_of
from devlint_guard.program.undisturbed import Undisturbed
from devlint_guard.watch.operators import Call, Overload, name_of

KEPT = 6
"""How many steps are kept of a tensor that goes back and forth."""


class _Event(NamedTuple):
    """One thing that happened to a tensor; `before` is None when it was created."""

    before: torch.device | None
    after: torch.device
    by: str
    caller: Caller | None

    @property
    def step(self) -> Step:
        if self.before is None:
            what = f"created on {'the CPU' if self.after.type == 'cpu' else self.after}"
        else:
            what = f"moved from {self.before} to {self.after}"
        return Step(f"{what} by {self.by}", None if self.caller is None else self.caller.place)


class _Move(NamedTuple):
    """What the last call of `Module.to`, or its like, has moved: tensors by identity, and where from and to."""

    module: weakref.ref[nn.Module]
    devices: dict[int, tuple[torch.device, torch.device]]
    by: str
    caller: Caller | None


@functools.cache
def _is_factory(overload: Overload) -> bool:
    schema = overload._schema
    if overload.namespace != "aten" or [str(result.type) for result in schema.returns] != ["Tensor"]:
        return False
    base = name_of(overload).partition(".")[0]
    if schema.returns[0].alias_info is not None:
        return base == "lift_fresh"
    is_like = base.endswith("_like") or base.startswith("new_")
    return is_like or not any("Tensor" in str(argument.type) for argument in schema.arguments)


class Provenance:
    """Remembers what happens to tensors. One at a time is to be installed."""

    def __init__(self) -> None:
        # References that are gone take their entries with them by a `pop` that runs no Python code: an error that a
        # handler of a signal raised in such a function would be lost. `pop` takes the reference for its default.
        self._histories: dict[int, tuple[weakref.ref[Tensor], tuple[_Event, ...]]] = {}
        self._moves: dict[int, _Move] = {}
        self._replaced: list[tuple[Any, str, Any, bool]] = []
        self._is_on = False
        self._applying = threading.local()
        self._thread = threading.get_ident()

    def install(self) -> None:
        """Sees moves from now on, in all threads."""
        self._is_on = True
        self._thread = threading.get_ident()
        for name in ("to", "cuda", "cpu"):
            self._replace(Tensor, name, self._moving)
        self._replace(nn.Module, "_apply", self._moving_modules)
        self._replace(torch.utils, "swap_tensors", self._swapping)

    def uninstall(self) -> None:
        """Takes out what `install` put in. Where another library has wrapped it since, it stays, to do nothing."""
        self._is_on = False
        for owner, name, ours, is_own in reversed(self._replaced):
            if vars(owner).get(name) is not ours:
                continue
            if is_own:
                setattr(owner, name, ours.__wrapped__)
            else:
                delattr(owner, name)
        self._replaced.clear()

    def history_of(self, tensor: Tensor) -> tuple[Step, ...]:
        """Return the known moves of a tensor, oldest first; for a view, those of its base."""
        events = self._events_of(tensor) or self._moved_with_module(tensor)
        if not events and tensor._is_view() and tensor._base is not None:
            events = self._events_of(tensor._base)
        return tuple(event.step for event in events)

    # --- as a watcher of operators ---

    def wants(self, overload: Overload) -> bool:
        """Factories: they return a new tensor, and take none, or one to be like it."""
        return _is_factory(overload)

    def saw(self, call: Call) -> None:
        """A factory has run."""
        if isinstance(call.result, Tensor):
            base = name_of(call.overload).partition(".")[0]
            # torch.tensor makes its tensor unseen, and lifts it.
            by = "torch.tensor" if base == "lift_fresh" else f"torch.{base}"
            by = "torch.load" if base == "empty" and call.is_below(torch.load.__code__) else by
            self._remember(call.result, (_Event(None, call.result.device, by, call.caller()),))

    # --- what is replaced ---

    def _replace(self, owner: Any, name: str, make: Callable[[Any], Any]) -> None:
        original = getattr(owner, name)
        ours = functools.wraps(original)(make(original))
        self._replaced.append((owner, name, ours, name in vars(owner)))
        setattr(owner, name, ours)

    def _moving(self, original: Any) -> Any:
        def move(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
            result: Tensor = original(self, *args, **kwargs)
            if result is not self and result.device != self.device:
                moved(self, result, name)
            return result

        moved, name = self._moved, f"Tensor.{original.__name__}"
        return move

    def _moved(self, source: Tensor, result: Tensor, by: str) -> None:
        if not self._is_on or torch.compiler.is_compiling() or getattr(self._applying, "is_on", False):
            return
        with Undisturbed(None):  # it would be worth knowing, no more
            event = _Event(source.device, result.device, by, caller_of(sys._getframe(1), self._thread))
            earlier = self._events_of(source) or self._moved_with_module(source)
            self._remember(result, (*earlier, event)[-KEPT:])

    def _moving_modules(self, original: Any) -> Any:
        def _apply(self: nn.Module, *args: Any, **kwargs: Any) -> nn.Module:
            return provenance._apply(original, self, *args, **kwargs)

        provenance = self
        return _apply

    def _apply(self, original: Any, module: nn.Module, *args: Any, **kwargs: Any) -> nn.Module:
        """Notes the outermost call; the calls for the modules inside are part of it."""
        if not self._is_on or getattr(self._applying, "is_on", False):
            result: nn.Module = original(module, *args, **kwargs)
            return result
        before = {key: tensor.device for key, tensor in _tensors(module)}
        self._applying.is_on = True
        try:
            result = original(module, *args, **kwargs)
        finally:
            self._applying.is_on = False
        after = [(before.get(key, tensor.device), tensor) for key, tensor in _tensors(module)]
        devices = {id(tensor): (old, tensor.device) for old, tensor in after if old != tensor.device}
        if devices:
            caller = caller_of(sys._getframe(1), self._thread)
            key = id(module)
            by = f"its module, {type(module).__name__}"
            self._moves[key] = _Move(weakref.ref(module, functools.partial(self._moves.pop, key)), devices, by, caller)
        return result

    def _swapping(self, original: Any) -> Any:
        def swap_tensors(t1: Tensor, t2: Tensor) -> None:
            forget(id(t1), None)
            forget(id(t2), None)
            original(t1, t2)

        forget = self._histories.pop
        return swap_tensors

    # --- the memory ---

    def _remember(self, tensor: Tensor, events: tuple[_Event, ...]) -> None:
        if tensor.__class__ is not Tensor:
            return
        key = id(tensor)
        self._histories[key] = (weakref.ref(tensor, functools.partial(self._histories.pop, key)), events)

    def _events_of(self, tensor: Tensor) -> tuple[_Event, ...]:
        entry = self._histories.get(id(tensor))
        return () if entry is None else entry[1]

    def _moved_with_module(self, tensor: Tensor) -> tuple[_Event, ...]:
        """The move of a parameter or buffer that a module has taken with it."""
        for move in reversed(list(self._moves.values())):
            old, new = move.devices.get(id(tensor), (None, None))
            module = move.module()
            if old is None or new != tensor.device or module is None:
                continue
            # An identity may be another tensor's by now: only what the module still holds was moved.
            if any(one is tensor for _, one in _tensors(module)):
                return (_Event(old, new, move.by, move.caller),)
        return ()


def _tensors(module: nn.Module) -> Iterator[tuple[tuple[int, str], Tensor]]:
    """The parameters and buffers of a module and of those inside, by holder and name."""
    for inner in modules_in(module):
        for table in ("_parameters", "_buffers"):
            for name, tensor in table_of(inner, table):
                if tensor is not None:
                    yield (id(inner), name), tensor
