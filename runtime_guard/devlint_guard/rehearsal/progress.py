"""How far a program runs: the steps of its optimizers, shown on a terminal, and `--limit-batches` for its loaders."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any, Final

from torch.optim.optimizer import register_optimizer_step_post_hook
from torch.utils.data import DataLoader

from devlint_guard.program.replacements import Replacements, around
from devlint_guard.rehearsal.distributed import leave_together
from devlint_guard.rehearsal.machine import MACHINE

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


class _First:
    """The first indices of a sampler; its workers load nothing behind them."""

    def __init__(self, sampler: Any, most: int) -> None:
        self._sampler = sampler
        self._most = most

    def __iter__(self) -> Iterator[Any]:
        return islice(self._sampler, self._most)

    def __len__(self) -> int:
        return min(len(self._sampler), self._most)


def install(replaced: Replacements) -> None:
    """Replace what each loader takes its indices from, and its length."""
    owner: Any = DataLoader
    replaced.put(owner, "_index_sampler", property(around(owner._index_sampler.fget, _indices)))
    replaced.around(owner, "__len__", _length)


def _indices(whole: Callable[..., Any], self: DataLoader[Any]) -> Any:
    return whole(self) if MACHINE.batches is None else _First(whole(self), MACHINE.batches)


def _length(whole: Callable[..., int], self: DataLoader[Any]) -> int:
    return whole(self) if MACHINE.batches is None else min(whole(self), MACHINE.batches)
