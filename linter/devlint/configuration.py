"""Configuration files: finding the one for a folder, reading it and the files that it extends."""

from __future__ import annotations

import os
import posixpath
import re
import sys
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, TypeAlias

from devlint import retired
from devlint.configuration_keys import KEYS, Key, Kind
from devlint.configuration_keys import NAMES as KEY_NAMES
from devlint.diagnostics import Certainty, Severity
from devlint.errors import ConfigError
from devlint.project import display_path, folders_of, is_too_wide, repository_of, territory_of
from devlint.reading import LARGEST_SETTINGS, leads_out, read_file, require_plain
from devlint.settings import Configuration, Settings, did_you_mean

if sys.version_info >= (3, 11):
    import tomllib
else:  # the same parser under its older name
    import tomli as tomllib

OWN_NAMES = (".devlint.toml", "devlint.toml")
"""Files that are all devlint's; their keys stand at the top."""

NAMES = (*OWN_NAMES, "pyproject.toml")
"""Configuration files of a folder; the first that there is holds."""

PROFILE = "profile:"
"""What the name of a configuration begins with that comes with devlint, where else a file is named."""

_PROFILES = Path(__file__).parent / "profiles"

WITH_PATTERNS = ("exclude", "per-file-ignores")
"""Keys with patterns, which are relative to the folder of the file that they stand in."""

MOST_DOTS = 4_000
"""Dots in one line of a configuration; several lines with many dots must have fewer."""

MOST_DEVICES = 1_000_000
"""A larger number is a mistake; Python cannot even print one with thousands of hexadecimal digits."""

LONGEST_CHAIN = 20
"""Files that extend each other one by one."""

Territory: TypeAlias = "Sequence[Path] | None"

_Table: TypeAlias = Mapping[str, object]


class Configurations:
    """Finds the configuration of a folder: the nearest file of `NAMES`, of a `pyproject.toml` its `[tool.devlint]`.

    Args:
        settings: the command line, which may name one file for every folder, or want none to be read.

    Attributes:
        named: the folders that the command line names.

    Raises:
        ConfigError: from `of`, when a file is broken or says something that devlint does not know.
    """

    def __init__(self, settings: Settings) -> None:
        self.named = folders_of(*settings.paths, settings.stdin_filename or "-", *settings.within)
        self._isolated = settings.isolated
        self._found: dict[Path, Configuration | None] = {}
        self._forced: Configuration | None = None
        forced = settings.config
        if forced is not None and not settings.isolated:
            file = profile(str(forced))
            shown = str(forced) if file else display_path(forced)
            self._forced = read_configuration(file or forced, shown, None if file else _territory_of_named(forced))
            if self._forced is None:
                raise ConfigError("has no [tool.devlint] table", path=shown)

    def of(self, folder: Path) -> Configuration:
        """Return what holds for the files directly in `folder`."""
        if self._isolated:
            return Configuration(None, folder)
        return self._forced or self._nearest(folder) or Configuration(None, folder)

    def _nearest(self, folder: Path) -> Configuration | None:
        passed: list[Path] = []
        found: Configuration | None = None
        for above in (folder, *folder.parents):
            if above in self._found:
                found = self._found[above]
                break
            passed.append(above)
            found = self._in(above)
            if found is not None:
                break
        self._found.update(dict.fromkeys(passed, found))
        return found

    def _in(self, folder: Path) -> Configuration | None:
        for name in NAMES:
            file = folder / name
            found = None
            if os.path.lexists(file):
                found = read_configuration(file, display_path(file), territory_of(file, self.named))
            if found is not None:
                return found
        return None


def _territory_of_named(file: Path) -> Territory:
    """Return what the paths in a file that the user has named may lead to.

    The user vouches for a file from elsewhere. One of the repository or folder that is checked may be a stranger's
    all the same: continuous integration names it on each command line.
    """
    folder, here = Path(os.path.abspath(file)).parent, Path.cwd()
    is_here = folder.is_relative_to(here) and not is_too_wide(here)
    return territory_of(file, (here,)) if repository_of(folder) or is_here else None


def profile(name: str) -> Path | None:
    """Return the file of `profile:vllm` or the like; None for a name that is no profile's.

    Raises:
        ConfigError: there is no such profile.
    """
    if not name.startswith(PROFILE):
        return None
    names = [f"{PROFILE}{file.stem}" for file in sorted(_PROFILES.glob("*.toml"))]
    if name not in names:
        raise ConfigError(f'unknown profile "{name}"{did_you_mean(name, names)}; there are {", ".join(names)}')
    return _PROFILES / f"{name.removeprefix(PROFILE)}.toml"


def configuring(paths: Iterable[Path]) -> list[Path]:
    """Return the configuration files in the folders that some paths are in, at any depth."""
    folders = sorted({folder for path in paths for folder in path.parents})
    return [folder / name for folder in folders for name in NAMES if os.path.isfile(folder / name)]


def read_configuration(
    file: Path, display: str, territory: Territory = None, *, extended_by: tuple[Path, ...] = ()
) -> Configuration | None:
    """Read a configuration file and those that it extends; None when it has no table for devlint.

    A key that is set in a file replaces that of the file that it extends, as a whole.

    Args:
        file: a file of `NAMES`, or another one: with a `[tool.devlint]` table, or with the keys at its top.
        display: how to show it to the user.
        territory: the folders that the file and the paths in it have to be in, after all links; None: anywhere.
        extended_by: the files that lead to this one by `extend`.

    Raises:
        ConfigError: a file cannot be read, is no TOML, or says something unknown; or it extends itself.
    """
    if territory is not None and leads_out(file, territory):
        raise ConfigError("is a link that leads out of the project", path=display)
    try:
        text = read_file(file, LARGEST_SETTINGS).decode("utf-8-sig")
        _require_short_keys(text, display)
        document = tomllib.loads(text)
    except OSError as error:
        raise ConfigError(f"cannot be read: {error.strerror or error}", path=display) from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"is not UTF-8: {error.reason} at byte {error.start}", path=display) from error
    except tomllib.TOMLDecodeError as error:
        line = re.search(r"at line (\d+)", str(error))
        raise ConfigError(f"is not valid TOML: {error}", path=display, line=int(line[1]) if line else None) from error
    except RecursionError as error:
        raise ConfigError("is not valid TOML: nested too deeply", path=display) from error
    except ValueError as error:  # a number with more digits than Python reads
        raise ConfigError("is not valid TOML: a number is too long", path=display) from error
    reader = _Reader(document, text, file, display, territory)
    if reader.is_empty:
        return None
    own = reader.configuration()
    extended = reader.extended()
    if extended is None:
        return own
    path, shown = extended
    if path in (*extended_by, file.absolute()):
        raise reader.error("extend", f'extend: "{shown}" extends itself')
    if len(extended_by) >= LONGEST_CHAIN:
        raise reader.error("extend", f"extend: more than {LONGEST_CHAIN} files extend each other")
    within = None if shown.startswith(PROFILE) else territory
    base = read_configuration(path, shown, within, extended_by=(*extended_by, file.absolute()))
    if base is None:
        raise reader.error("extend", f'extend: "{shown}" has no [tool.devlint] table')
    return _combined(own, base, reader.keys)


def _require_short_keys(text: str, display: str) -> None:
    """Refuse a text that would keep the parser busy: its time for a key grows with the square of the dots in the key.

    Raises:
        ConfigError: there are too many dots in a line, or in many lines.
    """
    dots = [line.count(".") for line in text.split("\n")]
    if sum(count**2 for count in dots) > MOST_DOTS**2:
        raise ConfigError("has lines with too many dots", path=display, line=dots.index(max(dots)) + 1)


def _combined(own: Configuration, base: Configuration, keys: Collection[str]) -> Configuration:
    """Return a configuration with the keys that it sets itself, and all others from the one that it extends."""
    known = {field.name for field in fields(Configuration)}
    taken = {key.field: getattr(base, key.field) for key in KEYS if key.field in known and key.name not in keys}
    folders = {key: base.folder_of(key) for key in WITH_PATTERNS if key not in keys}
    return replace(own, **taken, inherited=tuple(folders.items()), notes=(*own.notes, *base.notes))


class _Reader:
    """Checks one table key by key; a complaint names the file, the line if it can be told, and the key.

    Raises:
        ConfigError: the file has something else where the table should be.
    """

    def __init__(self, document: _Table, text: str, file: Path, display: str, territory: Territory) -> None:
        self._own_file = file.name in OWN_NAMES or (file.name != "pyproject.toml" and "tool" not in document)
        self._lines = text.split("\n")
        self._display = display
        self._root = file.parent.absolute()
        self._territory = territory
        tool = document.get("tool")
        table = document if self._own_file else tool.get("devlint") if isinstance(tool, dict) else None
        if table is not None and not isinstance(table, dict):
            raise ConfigError(f"tool.devlint: a table is wanted, this is {_kind(table)}", path=display)
        for name in tool if isinstance(tool, dict) and table is None else ():
            if re.sub("[-_]", "", name.lower()) == "devlint":
                raise ConfigError(f'unknown table "tool.{name}"; did you mean "tool.devlint"?', path=display)
        self.is_empty = table is None
        self._table: _Table = table or {}

    @property
    def keys(self) -> Collection[str]:
        """The keys that are set."""
        return self._table.keys()

    def extended(self) -> tuple[Path, str] | None:
        """Return the file that this one extends and how to show it to the user, None if it extends none."""
        if "extend" not in self._table:
            return None
        name = self._string("extend", self._table["extend"])
        try:
            shipped = profile(name)
        except ConfigError as error:
            raise self.error("extend", f"extend: {error.message}") from None
        if shipped is not None:
            return shipped, name
        path = Path(os.path.normpath(self._file("extend", name)))
        return path, posixpath.normpath(posixpath.join(posixpath.dirname(self._display), name))

    def configuration(self) -> Configuration:
        """Return what the table says, without the file that it extends."""
        for name in self._table:
            if name not in (*KEY_NAMES, *retired.KEYS):
                raise self.error(name, f'unknown key "{name}"{did_you_mean(name, KEY_NAMES)}')
        given = [key for key in KEYS if key.name in self._table and key.name != "extend"]
        values: dict[str, Any] = {key.field: self._value(key) for key in given}
        notes = tuple(str(self.error(name, retired.note(name))) for name in self._table if name in retired.KEYS)
        return Configuration(file=self._display, root=self._root, notes=notes, **values)

    def _value(self, key: Key) -> object:
        readers: dict[Kind, Callable[[str, object], object]] = {
            Kind.FILE: self._path,
            Kind.FILES: self._files,
            Kind.FOLDERS: self._paths,
            Kind.RULES: self._strings,
            Kind.PATTERNS: self._strings,
            Kind.RULES_BY_PATTERN: self._selectors_by_pattern,
            Kind.SEVERITY_BY_RULE: self._severities,
            Kind.COUNT: self._count,
            Kind.CERTAINTY: self._certainty,
        }
        return readers[key.kind](key.name, self._table[key.name])

    def _paths(self, key: str, value: object) -> tuple[Path, ...]:
        return tuple(self._existing(key, name) for name in self._strings(key, value))

    def _files(self, key: str, value: object) -> tuple[Path, ...]:
        return tuple(self._file(key, name) for name in self._strings(key, value))

    def _string(self, key: str, value: object) -> str:
        if not isinstance(value, str):
            raise self._wrong_type(key, "a path", value)
        return value

    def _path(self, key: str, value: object) -> Path:
        return Path(os.path.normpath(self._inside(key, self._string(key, value))))

    def error(self, key: str, message: str) -> ConfigError:
        table = "" if self._own_file else "tool.devlint"
        return ConfigError(message, path=self._display, line=_line_of(key, self._lines, table))

    def _wrong_type(self, key: str, wanted: str, value: object) -> ConfigError:
        return self.error(key.partition(".")[0], f"{key}: {wanted} is wanted, this is {_kind(value)}")

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
            chosen = self._choice(f"{key}.{selector}", level, ["error", "warning"], '"error" or "warning"')
            pairs.append((selector, Severity(chosen)))
        return tuple(pairs)

    def _count(self, key: str, value: object) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= MOST_DEVICES:
            raise self._wrong_type(key, "a number of devices, 0 or more,", value)
        return value

    def _certainty(self, key: str, value: object) -> Certainty:
        levels = [level.value for level in Certainty]
        listed = ", ".join(f'"{level}"' for level in levels)
        return Certainty(self._choice(key, value, levels, f"one of {listed}"))

    def _choice(self, key: str, value: object, known: Sequence[str], wanted: str) -> str:
        if not isinstance(value, str):
            raise self._wrong_type(key, wanted, value)
        if value not in known:
            message = f'{key}: {wanted} is wanted, this is "{value}"{did_you_mean(value, known)}'
            raise self.error(key.partition(".")[0], message)
        return value

    def _inside(self, key: str, name: str) -> Path:
        """Return a path that the file names, which may not lead out of the project."""
        path = self._root / name
        if "\0" in name:
            raise self.error(key, f"{key}: a path has no NUL character")
        if self._territory is not None and leads_out(path, self._territory):
            raise self.error(key, f'{key}: "{name}" leads out of the project')
        return path

    def _existing(self, key: str, name: str) -> Path:
        path = self._inside(key, name)
        if not os.path.exists(path):
            raise self.error(key, f'{key}: "{name}" does not exist in {self._root}')
        return path

    def _file(self, key: str, name: str) -> Path:
        path = self._existing(key, name)
        try:
            require_plain(path, LARGEST_SETTINGS)
        except OSError as error:
            raise self.error(key, f'{key}: "{name}" cannot be read: {error.strerror or error}') from error
        return path


def _kind(value: object) -> str:
    names = {bool: "a boolean", int: "a number", float: "a number", str: "a string", dict: "a table"}
    if isinstance(value, list):
        return "a list" if all(isinstance(entry, str) for entry in value) else "a list with other things"
    if isinstance(value, int) and not isinstance(value, bool):
        return f"the number {value}" if abs(value) <= MOST_DEVICES else "a huge number"
    return names.get(type(value), "a date or time")


def _line_of(key: str, lines: list[str], table: str) -> int | None:
    """Find the line that sets `key` in or below a table, "" for the file; None when it is written in another way."""
    prefix = re.escape(f"{table}.") if table else ""
    setting = re.compile(rf"""\s*["']?{re.escape(key)}["']?\s*[=.]""")
    header = re.compile(rf"""\s*\[\s*{prefix}["']?{re.escape(key)}["']?\s*\]""")
    opening = re.compile(rf"\s*\[\s*{re.escape(table)}\s*[.\]]")
    inside = not table
    for number, line in enumerate(lines, start=1):
        if header.match(line) or (inside and setting.match(line)):
            return number
        if re.match(r"\s*\[", line):
            inside = bool(table) and opening.match(line) is not None
    return None
