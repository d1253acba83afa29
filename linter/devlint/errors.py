"""The errors devlint raises on purpose; everything else is a bug and becomes an `internal-error` diagnostic."""

from __future__ import annotations


class DevlintError(Exception):
    """Base of all errors that a user can cause and mend.

    Args:
        message: the mistake, without the place.
        path: the file it is wrong in, as the user wrote it; None when no file is involved.
        line: 1-based line in that file, or None.
    """

    def __init__(self, message: str, *, path: str | None = None, line: int | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.path = path
        self.line = line

    def __str__(self) -> str:
        if self.path is None:
            return self.message
        place = self.path if self.line is None else f"{self.path}:{self.line}"
        return f"{place}: {self.message}"


class ConfigError(DevlintError):
    """A configuration file or a command line option cannot be obeyed."""


class SourceError(DevlintError):
    """A source file cannot be read or decoded."""


class CatalogueError(DevlintError):
    """A device signature, ours or the user's, cannot be understood."""


class RuleError(DevlintError):
    """A rule package does not keep the contract of `devlint.rule`."""


class LimitError(DevlintError):
    """A source file takes longer to analyse than any file that people write."""


class OutputError(DevlintError):
    """A file that devlint was asked to write cannot be written."""


class RehearsalError(DevlintError):
    """A program cannot be rehearsed."""
