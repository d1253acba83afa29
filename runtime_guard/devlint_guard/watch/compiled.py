"""Where the program runs compiled code, for releases of torch in which no guard can look on beside it.

All of them hand a frame to Dynamo by one function, which is called whenever compiled code begins or ends.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from torch._C._dynamo import eval_frame

_set: Callable[[Any], Any] = eval_frame.set_eval_frame


def tell(begins: Callable[[], object]) -> Callable[[], None]:
    """Calls a function once, before compiled code next runs in any thread; returns what ends that."""

    def told(callback: Any) -> Any:
        if callable(callback):  # with None and False, Dynamo compiles nothing
            end()
            begins()
        return _set(callback)

    def end() -> None:
        _put(told, _set)

    _put(_set, told)
    return end


def _put(before: object, after: object) -> None:
    for module in (eval_frame, sys.modules.get("torch._dynamo.eval_frame")):
        for name in [name for name, value in vars(module).items() if value is before] if module else ():
            setattr(module, name, after)
