"""What the guard raises and warns with."""

from __future__ import annotations

from devlint_guard.finding import Finding


class GuardError(Exception):
    """The root of the guard's errors."""


class GuardUsageError(GuardError, ValueError):
    """An option, an environment variable or a report file says something that the guard cannot follow."""


class DeviceMismatchError(GuardError, RuntimeError):
    """A finding in mode `raise`. A `RuntimeError`, so that code that expects PyTorch's own error goes on working.

    Attributes:
        finding: the mismatch.
    """

    def __init__(self, finding: Finding, text: str) -> None:
        super().__init__(text)
        self.finding = finding


class SplitModuleError(DeviceMismatchError):
    """The tensors of one module are on different devices (DEV601)."""


class MetaTensorError(DeviceMismatchError):
    """A tensor without data reaches a computation that PyTorch may carry out on uninitialised memory (DEV602)."""


class UnexpectedDeviceError(DeviceMismatchError):
    """Something is not on the device that the guard was told to expect (DEV603)."""


class DevlintWarning(UserWarning):
    """A finding in mode `warn`."""


KINDS: dict[str, type[DeviceMismatchError]] = {
    "DEV601": SplitModuleError,
    "DEV602": MetaTensorError,
    "DEV603": UnexpectedDeviceError,
}
"""The error of a code; `DeviceMismatchError` for any other."""
