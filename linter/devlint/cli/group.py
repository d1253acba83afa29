"""The group of all commands: a path needs no command, and every error of a user is one line and exit code 2."""

from __future__ import annotations

import errno
import io
import os
import signal
import sys
import traceback
from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any, NoReturn

import click

from devlint.cli.terminal import put, say
from devlint.errors import DevlintError

_CANNOT_WRITE = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EPIPE)
"""How writing to standard output fails for reasons that are not ours."""


class Commands(click.Group):
    """Takes `devlint PATH…` for `devlint check PATH…`; reports every user error alike, with exit code 2."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Put `check` before arguments that name no command."""
        if args and args[0] not in (*self.commands, "--help", "-h", "--version"):
            self._require_sensible(args[0])
            args = ["check", *args]
        return super().parse_args(ctx, args)

    def _require_sensible(self, word: str) -> None:
        known = [name for name, command in self.commands.items() if not command.hidden]
        close = get_close_matches(word, known, n=1, cutoff=0.75)
        if close and not word.startswith("-") and not Path(word).exists():
            raise click.UsageError(f"no path and no command {word!r}; did you mean `devlint {close[0]}`?")

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command, if there is a folder to run it in."""
        try:
            os.getcwd()
        except OSError as error:
            raise click.ClickException(f"the working folder cannot be used: {error.strerror}") from error
        return super().invoke(ctx)

    def main(self, args: Sequence[str] | None = None, *rest: Any, **extra: Any) -> NoReturn:
        """Run the command line and exit."""
        extra["standalone_mode"] = False
        given = sys.argv[1:] if args is None else args
        is_program = list(given[:1]) == ["run"]  # which finds its streams as Python has made them
        for stream in () if is_program else (sys.stdout, sys.stderr):
            if isinstance(stream, io.TextIOWrapper):
                stream.reconfigure(errors="backslashreplace")
        try:
            code = super().main(args, *rest, **extra)
        except click.exceptions.NoArgsIsHelpError as error:
            put(f"{error.format_message()}\n", err=True)
            code = 2
        except click.ClickException as error:
            say("error", error.format_message())
            code = 2
        except DevlintError as error:
            say("error", str(error))
            code = 2
        except click.Abort:
            code = 130
        except Exception as error:
            code = _unexpected(error)
        if code == -signal.SIGINT:
            _interrupted()
        sys.exit(code if isinstance(code, int) else 0)


def _interrupted() -> NoReturn:
    """End as Python ends a program that was interrupted: by the signal, behind everything that is done at exit."""
    sys.excepthook = lambda *error: None  # its traceback is printed
    raise KeyboardInterrupt


def _unexpected(error: Exception) -> int:
    """Tell of an error that no part of devlint has foreseen; return the exit code."""
    if isinstance(error, OSError) and error.filename is None and error.errno in _CANNOT_WRITE:
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115  (Python must not try it again at its end)
        if isinstance(error, BrokenPipeError):  # the reader, such as `head`, has had enough
            return 1
        say("error", f"standard output: {error.strerror}")
        return 2
    put("".join(traceback.format_exception(error)), err=True)
    say("error", f"devlint failed, this is a bug: {type(error).__name__}: {error}")
    return 2
