"""Ways into the guard for training frameworks. Each is loaded, with its framework, when it is asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from devlint_guard.integrations.lightning import LightningGuard
    from devlint_guard.integrations.transformers import TransformersGuard

__all__ = ["LightningGuard", "TransformersGuard"]


def __getattr__(name: str) -> object:
    if name == "LightningGuard":
        from devlint_guard.integrations.lightning import LightningGuard

        return LightningGuard
    if name == "TransformersGuard":
        from devlint_guard.integrations.transformers import TransformersGuard

        return TransformersGuard
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
