"""The steps of a program's optimizers: they are counted, shown on a terminal, and end the program after the last."""

from __future__ import annotations

import os
import re
import sys
from typing import Any, Final

from torch.optim.optimizer import register_optimizer_step_post_hook

from devlint_guard.program.replacements import Replacements
from devlint_guard.rehearsal.distributed import leave_together

_LOSS: Final = re.compile(r"loss\W{1,4}(?:tensor\()?([-+]?\d[\d.]*(?:e[-+]?\d+)?|nan|inf)", re.IGNORECASE)


class StepsDone(BaseException):
    """Ends a program after the number of steps that were asked for; no handler for errors catches it."""


class Steps:
    """A context that counts steps, and shows them wherever the program has not begun a line of its own.

    Args:
        most: after how many steps the program ends; None for its own end.
        shown: show the steps, if standard error is a terminal.

    Attributes:
        taken: the number of steps.
    """

    def __init__(self, most: int | None, *, shown: bool) -> None:
        self.taken = 0
        self._most = most
        self._process = os.getpid() if shown else 0
        self._begun: dict[Any, bool] = {}
        self._loss = self._text = ""
        self._replaced = Replacements()
        self._stream: Any = None

    def __enter__(self) -> Steps:
        if self._process and sys.stderr.isatty():
            self._stream, self._write = sys.stderr, sys.stderr.write
            for stream in {sys.stdout, sys.stderr}:
                self._replaced.put(stream, "write", self._observed(stream))
        self._hook = register_optimizer_step_post_hook(self._stepped)
        return self

    def __exit__(self, *error: object) -> None:
        self._hook.remove()
        self._show("")
        self._replaced.undo()

    def _stepped(self, *optimizer: object) -> None:
        self.taken += 1
        is_own = self._process == os.getpid()
        if is_own and self._stream and not any(self._begun.values()):
            self._show(f"devlint: step {self.taken}{f' of {self._most}' if self._most else ''}{self._loss}")
        if self._most is not None and self.taken >= self._most:
            leave_together()
            # A forked process ends without an error; its parent sees no step of it.
            raise StepsDone if is_own else SystemExit(0)

    def _observed(self, stream: Any) -> Any:
        """Return the function that writes to a stream, and first removes what is shown."""
        write, is_terminal = stream.write, stream.isatty()
        line = ""

        def observed(text: str) -> Any:
            nonlocal line
            line = (line + text)[-500:]  # of a long line, the end is enough
            for found in _LOSS.finditer(line):
                self._loss = f", loss {found[1]}"
            line = line.rpartition("\n")[2]
            if is_terminal:
                self._show("")
                self._begun[stream] = bool(line)
            return write(text)

        return observed

    def _show(self, text: str) -> None:
        if text != self._text:
            self._write(f"\r{text}\x1b[K")
            self._stream.flush()
            self._text = text
