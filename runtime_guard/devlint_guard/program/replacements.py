"""Attributes of torch that stand replaced while something records or rehearses, so that each can be put back."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any, Final

import torch

_ABSENT: Final = object()


class Replacements:
    """Replaced attributes, in the order in which they were replaced.

    Args:
        is_shared: what another library has wrapped since stays, and leads to ours.
    """

    def __init__(self, *, is_shared: bool = False) -> None:
        self._undone: list[tuple[Any, str, Any, Any]] = []
        self._listed: list[int] = []
        self._is_shared = is_shared

    def put(self, owner: Any, name: str, value: Any) -> None:
        """Replace an attribute that a module, a class or an object has.

        Raises:
            AttributeError: the owner has no such attribute, so that this release of torch is not understood.
        """
        getattr(owner, name)
        self.add(owner, name, value)

    def add(self, owner: Any, name: str, value: Any) -> None:
        """Set an attribute, whether it is there or not."""
        before = vars(owner).get(name, _ABSENT) if hasattr(owner, "__dict__") else getattr(owner, name, _ABSENT)
        self._undone.append((owner, name, before, value))
        setattr(owner, name, value)

    def put_function(self, owner: Any, name: str, function: Callable[..., Any]) -> None:
        """Replace a function of a module, in the table of TorchScript too, which knows functions by identity."""
        known = _builtins().get(id(getattr(owner, name)))
        self.put(owner, name, function)
        if known is not None:
            _builtins()[id(function)] = known
            self._listed.append(id(function))

    def around(self, owner: Any, name: str, function: Callable[..., Any]) -> None:
        """Replace a function or a method by one that is given the original, and then the arguments of the call."""
        self.put_function(owner, name, around(getattr(owner, name), function))

    def __len__(self) -> int:
        """How many attributes are replaced now."""
        return len(self._undone)

    def undo(self) -> None:
        """Restore the originals, the latest first."""
        rules = sys.modules.get("torch._dynamo.trace_rules") if self._undone else None
        while self._listed:  # another function may have the identity of one that is gone
            _builtins().pop(self._listed.pop(), None)
        while self._undone:
            owner, name, before, ours = self._undone.pop()
            if self._is_shared and vars(owner).get(name) is not ours:
                continue
            if before is _ABSENT:
                delattr(owner, name)
            else:
                setattr(owner, name, before)
        if rules is not None:  # Dynamo may have filled its table while ours were in place
            rules.get_torch_obj_rule_map.cache_clear()


def _builtins() -> dict[int, str]:
    return torch.jit._builtins._get_builtin_table()  # type: ignore[no-any-return, no-untyped-call]


def around(original: Callable[..., Any], function: Callable[..., Any]) -> Callable[..., Any]:
    """Return what stands for a function, and gives it and the arguments of a call to another one."""

    @functools.wraps(original)
    def called(*args: Any, **kwargs: Any) -> Any:
        return function(original, *args, **kwargs)

    return called
