"""What a recorded run has seen of the functions of a program."""

from __future__ import annotations

from collections.abc import Callable

from devlint.frontend.ir import Function, Span
from devlint.observed import Called, View


class Sight:
    """What one view has of the functions of a program.

    Args:
        view: what the run has recorded.
        source: gives the text of a span of a file; the recording of a function whose text has changed is not used.
    """

    def __init__(self, view: View, source: Callable[[str, Span], str]) -> None:
        self._view = view
        self._source = source
        self._known: dict[Function, Called | None] = {}

    def of(self, file: str, function: Function) -> Called | None:
        """Return what was seen of a function of a file; None if nothing was."""
        if function not in self._known:
            self._known[function] = self._view.of(file, function.name, self._source(file, function.span))
        return self._known[function]
