"""The public names of devlint's runtime half; importing it changes nothing in torch."""

from __future__ import annotations

from devlint_guard.explain import explain
from devlint_guard.reveal import reveal_device

__all__ = ["explain", "reveal_device"]
