"""The public names of devlint's runtime half; importing it changes nothing in torch."""

from __future__ import annotations

from devlint_guard.requirement import require_torch

require_torch()

from devlint_guard.allow import allow  # noqa: E402
from devlint_guard.errors import (  # noqa: E402
    DeviceMismatchError,
    DevlintWarning,
    GuardError,
    GuardUsageError,
    MetaTensorError,
    SplitModuleError,
    UnexpectedDeviceError,
)
from devlint_guard.findings.explanation import explain  # noqa: E402
from devlint_guard.hooks import install_excepthook  # noqa: E402
from devlint_guard.options import from_env  # noqa: E402
from devlint_guard.reveal import reveal_device  # noqa: E402
from devlint_guard.session import Guard, guarded  # noqa: E402

guard = Guard

__all__ = [
    "DeviceMismatchError",
    "DevlintWarning",
    "Guard",
    "GuardError",
    "GuardUsageError",
    "MetaTensorError",
    "SplitModuleError",
    "UnexpectedDeviceError",
    "allow",
    "explain",
    "from_env",
    "guard",
    "guarded",
    "install_excepthook",
    "reveal_device",
]
