"""Functions of the guard that `torch.compile` is to leave alone when it meets them in eager code.

PyTorch's own way is `torch._dynamo.disable`, which costs each call as much again and imports torch._dynamo. A mark on
the code does the same at no cost.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from torch.utils._python_dispatch import TorchDispatchMode

Function = TypeVar("Function", bound=Callable[..., Any])

_mark: Callable[[Any], None] | None
try:
    from torch._C._dynamo.eval_frame import _FrameAction, _FrameExecStrategy, set_code_exec_strategy

    def _mark(code: Any) -> None:
        set_code_exec_strategy(code, _FrameExecStrategy(_FrameAction.SKIP, _FrameAction.SKIP))

except ImportError:  # older versions of torch
    _mark = None

CAN_MARK = _mark is not None
"""Whether this version of PyTorch knows such marks."""


def uncompiled(function: Function) -> Function:
    """Marks a function: it runs uncompiled, together with its callees."""
    if _mark is not None:
        _mark(function.__code__)
    return function


class UncompiledMode(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """A dispatch mode beside which compiled functions stay compiled: it sees what their code dispatches."""

    supports_higher_order_operators = True

    @classmethod
    def ignore_compile_internals(cls) -> bool:
        """Leave compiled functions alone."""
        return True

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return not CAN_MARK
