"""What callbacks of training frameworks share: a guard that begins and ends with the events of a trainer."""

from __future__ import annotations

from typing import Any

from torch.nn import Module

from devlint_guard.finding import Finding
from devlint_guard.program.naming import by_class
from devlint_guard.session import Guard


class RunningGuard:
    """A guard that is made when it first begins, so that a callback can be pickled before that.

    Args:
        options: those of `Guard`.

    Raises:
        GuardUsageError: an option has a value that it cannot have.
    """

    def __init__(self, **options: Any) -> None:
        Guard(**options)
        self._options = options
        self._guard: Guard | None = None
        self._is_active = False

    @property
    def findings(self) -> list[Finding]:
        """The findings so far."""
        return [] if self._guard is None else self._guard.findings

    def begin(self, module: Module) -> None:
        """Guards a module, unless it does already."""
        if not self._is_active:
            if self._guard is None:
                self._guard = Guard(**self._options)
            self._guard.enter(by_class([module]))
            self._is_active = True

    def end(self, error: BaseException | None = None) -> None:
        """Stops, if it guards anything; explains the error with which training ends."""
        if self._is_active and self._guard is not None:
            self._is_active = False
            self._guard.exit(error)
