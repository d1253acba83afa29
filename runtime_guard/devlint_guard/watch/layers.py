"""What a guard looks at besides the calls of modules, and in which steps: events, operators, the ledger."""

from __future__ import annotations

import threading
from collections.abc import Callable

from torch.optim import Optimizer

from devlint_guard.program.naming import Roots
from devlint_guard.record import installed
from devlint_guard.watch import scopes, unseen
from devlint_guard.watch.ledger import Ledger
from devlint_guard.watch.operators import OperatorMode, Sink
from devlint_guard.watch.optimizers import mixes_nothing
from devlint_guard.watch.steps import Steps

_lock = threading.RLock()
_modes: dict[int, OperatorMode] = {}
"""The mode that is on in each thread: guards within a guard share that of the outermost."""


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
        self._records = False

    def begin(self, roots: Roots) -> None:
        """Switches on the layers for the present step."""
        with _lock:
            self._thread = threading.get_ident()
            scopes.follow()
            if self.ledger is not None:
                self.ledger.follow_prints()
            installed.begin()
            self._records = True
            watchers = [] if self.ledger is None else [self.ledger]
            self._mode = OperatorMode(self._sink, roots=roots, watchers=watchers, failed=self._failed)
            self.step()

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
            if thread in _modes:
                return True
            if self._mode.install():
                _modes[thread] = self._mode
                unseen.install()
                return True
            return False

    def optimizer_steps(self, optimizer: Optimizer) -> None:
        """Looks away until `step` is called, where the operators of an optimizer have nothing to show."""
        thread = threading.get_ident()
        mode = _modes.get(thread)
        if mode is None or mode is not self._mode or self.ledger is not None:
            return
        if mode.is_innermost and scopes.are_known() and mixes_nothing(optimizer):
            with _lock:
                self._take_out(mode, thread)

    @property
    def _is_needed(self) -> bool:
        return self.ledger is not None or self._steps is None or self._steps.are_looked_at

    def end(self) -> None:
        """Switches everything off."""
        with _lock:
            if self.ledger is not None:
                self.ledger.leave_prints()
            if self._mode is not None and self._thread is not None:
                if not self._take_out(self._mode, self._thread):
                    _forget(self._thread)
                scopes.leave()
            if self._records:
                installed.end()
            self._mode, self._thread, self._records = None, None, False

    def _take_out(self, mode: OperatorMode, thread: int) -> bool:
        if _modes.get(thread) is not mode:
            return True
        is_out = mode.uninstall()
        if is_out:
            _forget(thread)
        return is_out


def _forget(thread: int) -> None:
    del _modes[thread]
    if not _modes:
        unseen.uninstall()
