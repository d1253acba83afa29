"""Ways into the guard for training frameworks. Each is loaded, with its framework, when it is asked for."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from devlint_guard.integrations.lightning import LightningGuard
    from devlint_guard.integrations.transformers import TransformersGuard

__all__ = ["LightningGuard", "TransformersGuard"]


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    home = importlib.import_module(f"{__name__}.{name.removesuffix('Guard').lower()}")
    return getattr(home, name)
