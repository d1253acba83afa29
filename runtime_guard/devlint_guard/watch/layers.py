"""What a guard looks at besides the calls of modules, and in which steps: events, operators, the ledger."""

from __future__ import annotations

import contextlib
import functools
import itertools
import threading
from collections.abc import Callable, Iterator

from torch.optim import Optimizer

from devlint_guard.program.naming import Roots
from devlint_guard.record import installed
from devlint_guard.record.recorder import RECORD
from devlint_guard.watch import scopes, unseen
from devlint_guard.watch.all_on_cpu import are_all_on_cpu, at_next_line
from devlint_guard.watch.audit import mixes_nothing
from devlint_guard.watch.ledger import Ledger
from devlint_guard.watch.operators import OperatorMode, Sink
from devlint_guard.watch.steps import Steps

_lock = threading.RLock()
_modes: dict[int, OperatorMode] = {}
"""The mode that is on in each thread: guards within a guard share that of the outermost."""
_begun = itertools.count()
"""The number of guards that have begun: only the first looks for all tensors, since that takes a while."""


class Layers:
    """Those of one guard, switched on in the thread that enters it first.

    Args:
        steps: tells which of them are looked at; None for all.
        ledger: adds up transfers in every step; None for no ledger.
        sink: is given what the operators show.
        failed: receives the errors of the guard.
    """

    def __init__(
        self,
        steps: Steps | None,
        *,
        ledger: Ledger | None,
        sink: Sink,
        failed: Callable[[Exception], None],
    ) -> None:
        self.ledger = ledger
        self._steps = steps
        self._sink = sink
        self._failed = failed
        self._mode: OperatorMode | None = None
        self._thread: int | None = None
        self._is_whole = ledger is not None or steps is None
        self._is_aside = self._was_apart = False

    def begin(self, roots: Roots) -> None:
        """Switches on the layers for the present step."""
        with _lock:
            self._thread = threading.get_ident()
            scopes.follow()
            if self.ledger is not None:
                self.ledger.follow_prints()
            installed.begin()
            stays = self._is_whole or not installed.notes_factories()
            self._was_apart = stays or next(_begun) > 0 or not are_all_on_cpu()
            if not self._was_apart:
                self._rest()
            calm = None if stays else functools.partial(at_next_line, self._step_aside)
            self._mode = OperatorMode(self._sink, roots=roots, watcher=self.ledger, failed=self._failed, calm=calm)
            self.step()

    def wake(self) -> None:
        """Looks at operators again, in the steps that are looked at; is called again where a mode cannot be moved."""
        self._was_apart, self._is_aside = True, False
        if self.step() and self.wake in RECORD.resting:
            RECORD.resting.remove(self.wake)

    def module_called(self) -> None:
        """A module with parameters is about to be called: they may be on a device, if something is."""
        if self._was_apart:
            self.wake()

    def _step_aside(self) -> None:
        """Looks at no operator until tensors can be apart, or a module with parameters is called.

        PyTorch refuses all that would meet on two devices until then, unless something has no data.
        """
        if installed.notes_factories() and not RECORD.has_meta and self.wake not in RECORD.resting:
            self._rest()
            self.step()

    def _rest(self) -> None:
        self._is_aside = True
        RECORD.resting.append(self.wake)

    def step(self) -> bool:
        """Switches the operators on or off, as the step that is running needs; returns whether they are as it needs.

        Does nothing in another thread than that which began. Waits where a mode cannot be moved.
        """
        if self._mode is None or self._thread is None:
            return True
        is_on = _modes.get(self._thread) is self._mode
        if self._is_needed is is_on:
            if is_on:
                self._mode.resume()
            return True
        thread = threading.get_ident()
        if thread != self._thread:
            return False
        with _lock:
            if is_on:
                return self._take_out(self._mode, thread)
            if thread not in _modes:
                if not self._mode.install():
                    return False
                _modes[thread] = self._mode
                unseen.install()
            return True

    def optimizer_steps(self, optimizer: Optimizer) -> None:
        """Looks away until `step` is called, where the operators of an optimizer have nothing to show."""
        thread = threading.get_ident()
        mode = _modes.get(thread)
        if mode is None or mode is not self._mode or self.ledger is not None:
            return
        if scopes.stack()[-1:] == [mode] and scopes.are_known() and mixes_nothing(optimizer):
            with _lock:
                self._take_out(mode, thread)

    @property
    def _is_needed(self) -> bool:
        return self._is_whole or (self._steps is not None and self._steps.are_looked_at and not self._is_aside)

    def end(self) -> None:
        """Switches everything off."""
        with _lock:
            if self.ledger is not None:
                self.ledger.leave_prints()
            if self._mode is not None and self._thread is not None:
                if not self._take_out(self._mode, self._thread):
                    _forget(self._thread)
                scopes.leave()
                self._mode = None
                self.wake()
                installed.end()
            self._thread = None

    @contextlib.contextmanager
    def remembered(self) -> Iterator[None]:
        """While the body runs, what was recorded is kept, although everything is switched off in it."""
        if self._mode is None:
            yield
            return
        installed.begin()
        try:
            yield
        finally:
            installed.end()

    def _take_out(self, mode: OperatorMode, thread: int) -> bool:
        if _modes.get(thread) is mode:
            if not mode.uninstall():
                return False
            _forget(thread)
        return True


def _forget(thread: int) -> None:
    del _modes[thread]
    if not _modes:
        unseen.uninstall()
