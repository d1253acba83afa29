"""Threads and forks: dispatch modes belong to threads, and labels to processes."""

from __future__ import annotations

import os
import threading
from typing import Any

import torch
from torch import Tensor

from devlint_guard.program.replacements import Replacements
from devlint_guard.rehearsal import words
from devlint_guard.rehearsal.aside import ASIDE
from devlint_guard.rehearsal.dispatch import MARKS, RehearsalMode
from devlint_guard.rehearsal.labels import ANYWHERE, label
from devlint_guard.rehearsal.machine import MACHINE, after_fork_in_child

_is_registered = False


def install(replaced: Replacements) -> None:
    """Take threads and forked processes that begin from now on along."""
    global _is_registered
    if not _is_registered and hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=_after_fork)
        _is_registered = True
    _install_threads(replaced)
    _install_backward(replaced)


def _after_fork() -> None:
    if MACHINE.devices:
        after_fork_in_child()


def _install_threads(replaced: Replacements) -> None:
    bootstrap: Any = threading.Thread._bootstrap_inner  # type: ignore[attr-defined]

    def bootstrap_in_mode(self: threading.Thread) -> None:
        with RehearsalMode():  # type: ignore[no-untyped-call]
            bootstrap(self)

    replaced.put(threading.Thread, "_bootstrap_inner", bootstrap_in_mode)


def _check_gradients(outputs: Any = (), gradients: Any = ()) -> None:
    """Follow engine.cpp, validate_outputs: a gradient is where the tensor is that it belongs to."""
    for index, (output, gradient) in enumerate(zip(outputs, gradients or (), strict=False)):
        if isinstance(output, Tensor) and isinstance(gradient, Tensor):
            wanted, found = label(output), label(gradient)
            if wanted != found and gradient.dim() and ANYWHERE not in (wanted, found):
                words.refuse(f"invalid gradient at index {index} - expected device {wanted} but got {found}")


def _install_backward(replaced: Replacements) -> None:
    """Let functions that the program gives to autograd be the program's, wherever `backward` was called."""
    autograd: Any = torch.autograd
    for module in (autograd, autograd.graph):
        if hasattr(module, "_engine_run_backward"):
            original = module._engine_run_backward

            def engine(*args: Any, _original: Any = original, **kwargs: Any) -> Any:
                ASIDE.wake()  # PyTorch puts back afterwards what modes it has found
                _check_gradients(*args[:2])
                before, MARKS.is_marked = MARKS.is_marked, False
                try:
                    return _original(*args, **kwargs)
                finally:
                    MARKS.is_marked = before

            replaced.put(module, "_engine_run_backward", engine)
