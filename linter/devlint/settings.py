"""What the user asked for: the command line as `Settings`, a `[tool.devlint]` table as `Configuration`."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import TypeAlias, TypeVar

from pathspec import GitIgnoreSpec

from devlint.diagnostics import Severity
from devlint.errors import ConfigError

if sys.version_info >= (3, 11):
    import tomllib
else:  # the same parser under its older name
    import tomli as tomllib

_T = TypeVar("_T")
_Table: TypeAlias = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Settings:
    """The command line of one run.

    Attributes:
        paths: files and folders as the user wrote them; `-` is standard input.
        select, ignore, extend_select: rule selectors (`DEV1`, `DEV101`, a rule name, `ALL`); None: not given.
        config: the configuration file to use for every source file, or None to look for the nearest one.
        isolated: no configuration file is read at all.
        jobs: number of processes; None: as many as the run is worth.
        stdin_filename: the path that standard input stands for.
        baseline: the baseline for every file, or None for that of its configuration.
        accepting: baselines are about to be written; see `Baselines`.
        force_exclude: paths named on the command line are excluded like those found in folders.
        fix: make the fixes that diagnostics offer, in memory; who asks for the run writes the files.
        unsafe_fixes: make unsafe ones too.
        include_markdown: folders stand for the Markdown texts in them too.
    """

    paths: tuple[str, ...]
    select: tuple[str, ...] | None = None
    ignore: tuple[str, ...] = ()
    extend_select: tuple[str, ...] = ()
    config: Path | None = None
    isolated: bool = False
    jobs: int | None = None
    stdin_filename: str | None = None
    force_exclude: bool = False
    fix: bool = False
    unsafe_fixes: bool = False
    include_markdown: bool = False
    baseline: Path | None = None
    accepting: bool = False


@dataclass(frozen=True, slots=True)
class Configuration:
    """One `[tool.devlint]` table; an empty one where there is none.

    Attributes:
        file: the file it was read from, as shown to the user; None for the defaults.
        root: the folder that patterns and paths in it are relative to.
        select: None means the rules that are on by default, which are those that are not opt-in.
        per_file_ignores: pairs of (pattern, selectors).
        src: source roots for import resolution, absolute.
        severity: pairs of (selector, severity).
        signatures: `.pyi` files in the signature notation, absolute.
        baseline: the file of what is accepted for now, absolute; it need not exist.
        devices: how many CUDA devices to assume; None: any number.
    """

    file: str | None
    root: Path
    select: tuple[str, ...] | None = None
    ignore: tuple[str, ...] = ()
    extend_select: tuple[str, ...] = ()
    per_file_ignores: tuple[tuple[str, tuple[str, ...]], ...] = ()
    exclude: tuple[str, ...] = ()
    src: tuple[Path, ...] = ()
    severity: tuple[tuple[str, Severity], ...] = ()
    signatures: tuple[Path, ...] = ()
    devices: int | None = None
    baseline: Path | None = None


def pattern_spec(patterns: Sequence[str], key: str, configuration: Configuration) -> GitIgnoreSpec:
    """Compile patterns in the notation of `.gitignore`.

    Raises:
        ConfigError: a pattern is none.
    """
    try:
        return GitIgnoreSpec.from_lines(patterns)
    except ValueError as error:
        raise ConfigError(f"{key}: {error}", path=configuration.file) from error


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Return `; did you mean "…"?` when a known word is close, else an empty string."""
    close = get_close_matches(word.lower(), {entry.lower(): entry for entry in known}, n=1, cutoff=0.6)
    if not close:
        return ""
    original = next(entry for entry in known if entry.lower() == close[0])
    return f'; did you mean "{original}"?'


class Configurations:
    """Finds the configuration of a folder: the nearest `pyproject.toml` that has a `[tool.devlint]` table.

    Args:
        forced: use this file for every folder.
        isolated: read no file at all.
        display: how to show a path to the user.

    Raises:
        ConfigError: from `of`, when a file is broken or says something that devlint does not know.
    """

    def __init__(self, forced: Path | None, *, isolated: bool, display: Callable[[Path], str]) -> None:
        self._isolated = isolated
        self._display = display
        self._found: dict[Path, Configuration | None] = {}
        self._forced: Configuration | None = None
        if forced is not None and not isolated:
            self._forced = read_configuration(forced, display(forced))
            if self._forced is None:
                raise ConfigError("has no [tool.devlint] table", path=display(forced))

    def of(self, folder: Path) -> Configuration:
        """Return what holds for the files directly in `folder`."""
        if self._isolated:
            return Configuration(None, folder)
        return self._forced or self._nearest(folder) or Configuration(None, folder)

    def _nearest(self, folder: Path) -> Configuration | None:
        if folder not in self._found:
            file = folder / "pyproject.toml"
            here = read_configuration(file, self._display(file)) if os.path.isfile(file) else None
            if here is None and folder.parent != folder:
                here = self._nearest(folder.parent)
            self._found[folder] = here
        return self._found[folder]


def read_configuration(file: Path, display: str) -> Configuration | None:
    """Read the `[tool.devlint]` table of a TOML file; None when it has none.

    Raises:
        ConfigError: the file cannot be read, is no TOML, or the table says something unknown.
    """
    try:
        text = file.read_bytes().decode("utf-8-sig")
        document = tomllib.loads(text)
    except OSError as error:
        raise ConfigError(f"cannot be read: {error.strerror or error}", path=display) from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"is not UTF-8: {error.reason} at byte {error.start}", path=display) from error
    except tomllib.TOMLDecodeError as error:
        line = re.search(r"at line (\d+)", str(error))
        raise ConfigError(f"is not valid TOML: {error}", path=display, line=int(line[1]) if line else None) from error
    tool = document.get("tool")
    table = tool.get("devlint") if isinstance(tool, dict) else None
    if table is None:
        return None
    if not isinstance(table, dict):
        raise ConfigError(f"tool.devlint: a table is wanted, this is {_kind(table)}", path=display)
    return _Reader(table, text, display, file.parent.absolute()).configuration()


class _Reader:
    """Checks one table key by key; a complaint names the file, the line if it can be told, and the key."""

    _KEYS = (
        "select",
        "ignore",
        "extend-select",
        "per-file-ignores",
        "exclude",
        "src",
        "severity",
        "signatures",
        "devices",
        "baseline",
    )

    def __init__(self, table: _Table, text: str, display: str, root: Path) -> None:
        self._table = table
        self._lines = text.split("\n")
        self._display = display
        self._root = root

    def configuration(self) -> Configuration:
        for key in self._table:
            if key not in self._KEYS:
                raise self.error(key, f'unknown key "{key}"{did_you_mean(key, self._KEYS)}')
        return Configuration(
            file=self._display,
            root=self._root,
            select=self._get("select", self._strings, None),
            ignore=self._get("ignore", self._strings, ()),
            extend_select=self._get("extend-select", self._strings, ()),
            per_file_ignores=self._get("per-file-ignores", self._selectors_by_pattern, ()),
            exclude=self._get("exclude", self._strings, ()),
            src=self._get("src", self._paths, ()),
            severity=self._get("severity", self._severities, ()),
            signatures=self._get("signatures", self._paths, ()),
            devices=self._get("devices", self._count, None),
            baseline=self._get("baseline", self._path, None),
        )

    def _paths(self, key: str, value: object) -> tuple[Path, ...]:
        return tuple(self._existing(key, name) for name in self._strings(key, value))

    def _path(self, key: str, value: object) -> Path | None:
        if not isinstance(value, str):
            raise self._wrong_type(key, "a path", value)
        return Path(os.path.normpath(self._root / value))

    def error(self, key: str, message: str) -> ConfigError:
        return ConfigError(message, path=self._display, line=_line_of(key, self._lines))

    def _wrong_type(self, key: str, wanted: str, value: object) -> ConfigError:
        return self.error(key.partition(".")[0], f"{key}: {wanted} is wanted, this is {_kind(value)}")

    def _get(self, key: str, read: Callable[[str, object], _T], default: _T) -> _T:
        return read(key, self._table[key]) if key in self._table else default

    def _strings(self, key: str, value: object) -> tuple[str, ...]:
        if not isinstance(value, list) or not all(isinstance(entry, str) for entry in value):
            raise self._wrong_type(key, "a list of strings", value)
        return tuple(value)

    def _entries(self, key: str, value: object) -> _Table:
        if not isinstance(value, dict):
            raise self._wrong_type(key, "a table", value)
        return value

    def _selectors_by_pattern(self, key: str, value: object) -> tuple[tuple[str, tuple[str, ...]], ...]:
        return tuple(
            (pattern, self._strings(f'{key}."{pattern}"', codes))
            for pattern, codes in self._entries(key, value).items()
        )

    def _severities(self, key: str, value: object) -> tuple[tuple[str, Severity], ...]:
        pairs: list[tuple[str, Severity]] = []
        for selector, level in self._entries(key, value).items():
            if not isinstance(level, str):
                raise self._wrong_type(f"{key}.{selector}", '"error" or "warning"', level)
            if level not in ("error", "warning"):
                hint = did_you_mean(level, ("error", "warning"))
                message = f'{key}.{selector}: "error" or "warning" is wanted, this is "{level}"{hint}'
                raise self.error(key, message)
            pairs.append((selector, Severity(level)))
        return tuple(pairs)

    def _count(self, key: str, value: object) -> int | None:
        if isinstance(value, bool) or not isinstance(value, int) or value < 0:
            raise self._wrong_type(key, "a number of devices, 0 or more,", value)
        return value

    def _existing(self, key: str, name: str) -> Path:
        path = self._root / name
        if not os.path.exists(path):
            raise self.error(key, f'{key}: "{name}" does not exist in {self._root}')
        return path


def _kind(value: object) -> str:
    names = {bool: "a boolean", int: "a number", float: "a number", str: "a string", dict: "a table"}
    if isinstance(value, list):
        return "a list" if all(isinstance(entry, str) for entry in value) else "a list with other things"
    if isinstance(value, int) and not isinstance(value, bool):
        return f"the number {value}"
    return names.get(type(value), "a date or time")


def _line_of(key: str, lines: list[str]) -> int | None:
    """Find the line that sets `key` in or below `[tool.devlint]`; None when it is written in another way."""
    setting = re.compile(rf"""\s*["']?{re.escape(key)}["']?\s*[=.]""")
    header = re.compile(rf"""\s*\[\s*tool\.devlint\.["']?{re.escape(key)}["']?\s*\]""")
    inside = False
    for number, line in enumerate(lines, start=1):
        if header.match(line) or (inside and setting.match(line)):
            return number
        if re.match(r"\s*\[", line):
            inside = re.match(r"\s*\[\s*tool\.devlint\s*[.\]]", line) is not None
    return None
