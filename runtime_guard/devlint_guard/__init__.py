"""The public names of devlint's runtime half; importing it changes nothing in torch."""

from __future__ import annotations

from devlint_guard.allow import allow
from devlint_guard.explain import explain, install_excepthook
from devlint_guard.options import from_env
from devlint_guard.reveal import reveal_device
from devlint_guard.session import Guard, guarded

guard = Guard

__all__ = ["Guard", "allow", "explain", "from_env", "guard", "guarded", "install_excepthook", "reveal_device"]
