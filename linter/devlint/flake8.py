"""devlint as a plugin of flake8, which asks file by file; on where `enable-extensions = DEV` says so."""

from __future__ import annotations

import argparse
import ast
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Protocol

from devlint import __version__, engine
from devlint.cache import load_tools, user_cache
from devlint.quoting import printable
from devlint.settings import Settings
from devlint.shown_by_calls import at_its_call

_STDIN = ("-", "stdin")


class Options(Protocol):
    """What takes the options of a plugin: flake8's `OptionManager`."""

    def add_option(self, name: str, **how: object) -> None:
        """Add an option, as `argparse` describes one."""


class Plugin:
    """What flake8 makes of each file.

    Args:
        tree: unused; flake8 tells by it that the plugin looks at whole files.
        filename: as flake8 shows it.
        lines: the content, which for standard input is nowhere else.
    """

    name = "devlint"
    version = __version__
    off_by_default = True
    _engine = "analysis"

    @staticmethod
    def add_options(options: Options) -> None:
        """Add the hidden option for the analysis that finds errors."""
        choices, hidden = ["analysis", "inference"], argparse.SUPPRESS
        options.add_option("--devlint-engine", choices=choices, default="analysis", parse_from_config=True, help=hidden)

    @classmethod
    def parse_options(cls, options: argparse.Namespace) -> None:
        """Take the options of a run of flake8."""
        cls._engine = options.devlint_engine

    def __init__(self, tree: ast.AST, filename: str, lines: Sequence[str]) -> None:
        self._filename = filename
        self._lines = lines

    def run(self) -> Iterator[tuple[int, int, str, type[Plugin]]]:
        """Yield line, column from 0, text that begins with the code, and the plugin."""
        stdin = "".join(self._lines).encode() if self._filename in _STDIN else None
        paths = (self._filename,) if stdin is None else ("-",)
        settings = Settings(paths, jobs=1, within=(Path.cwd(),), engine=self._engine)
        found = engine.run(settings, stdin=stdin, load=load_tools, cache=user_cache(settings))
        for one in found.outcome.diagnostics:
            if one.calls and one.calls[0].file != one.place.file:
                one = at_its_call(one)  # flake8 takes reports on this file only
            yield one.place.line, one.place.column - 1, f"{one.code} {printable(one.message)}", type(self)
        for problem in found.problems:
            yield problem.line or 1, 0, f"DEV901 {printable(problem.message)}", type(self)
