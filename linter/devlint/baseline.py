"""Baselines: files of fingerprints, whose diagnostics are accepted for now and not reported."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import fields, replace
from pathlib import Path

from devlint.configuration import Configurations
from devlint.diagnostics import Diagnostic, Silenced, Silencer
from devlint.errors import ConfigError
from devlint.project import territory_of
from devlint.reading import leads_out, read_file
from devlint.records import dataclass
from devlint.report import Outcome, fingerprints, of_text
from devlint.selection import ALWAYS
from devlint.settings import Settings
from devlint.writing import change_file, create_file

VERSION = 1
"""Rises with the form of the file, or of the fingerprints in it."""

DEFAULT_NAME = "devlint-baseline.json"
"""Where a baseline goes that nobody has named."""


@dataclass(frozen=True, slots=True, order=True)
class Entry:
    """One accepted diagnostic.

    Attributes:
        file: relative to the folder of the baseline, with `/`.
        message: for people; only the fingerprint counts.
    """

    file: str
    code: str
    rule: str
    fingerprint: str
    message: str


@dataclass(frozen=True, slots=True)
class Baseline:
    """The content of one baseline file.

    Attributes:
        path: where it is; absolute.
        read: the bytes of the file; None if there was none.
    """

    path: Path
    entries: tuple[Entry, ...] = ()
    read: bytes | None = None

    def name_of(self, display: str) -> str:
        """Return what the baseline calls a file that is shown to the user as `display`."""
        path = os.path.abspath(display)
        try:
            return Path(os.path.relpath(path, self.path.parent)).as_posix()
        except ValueError:  # on Windows, another drive
            return Path(path).as_posix()

    def file_of(self, entry: Entry) -> Path:
        """Return the file that an entry is about."""
        return Path(os.path.normpath(self.path.parent / entry.file))

    def of(self, entries: Iterable[Entry]) -> Baseline:
        """Return the baseline with other entries, sorted."""
        return replace(self, entries=tuple(sorted(set(entries))))

    def text(self) -> str:
        """Return the content of the file: sorted, one line for each field, so that changes are easy to review."""
        entries = [
            {
                "file": entry.file,
                "code": entry.code,
                "rule": entry.rule,
                "fingerprint": entry.fingerprint,
                "message": entry.message,
            }
            for entry in sorted(self.entries)
        ]
        return json.dumps({"version": VERSION, "entries": entries}, indent=2, ensure_ascii=True) + "\n"

    def write(self) -> None:
        """Write the file, whole or not at all.

        Raises:
            OutputError: it cannot be written, or has changed since it was read.
        """
        target, data = self.path.resolve(), self.text().encode()
        if self.read is None:
            create_file(target, data)
        else:
            change_file(target, self.read, data)


def read_baseline(path: Path, display: str) -> Baseline:
    """Read a baseline file.

    Raises:
        ConfigError: it cannot be read, or is no baseline.
    """
    try:
        data = read_file(path)
        document = json.loads(data)
    except FileNotFoundError as error:
        raise ConfigError("does not exist; `devlint baseline` writes it", path=display) from error
    except OSError as error:
        raise ConfigError(f"cannot be read: {error.strerror or error}", path=display) from error
    except json.JSONDecodeError as error:
        raise ConfigError(f"is no baseline: {error.msg}", path=display, line=error.lineno) from error
    except RecursionError as error:
        raise ConfigError("is no baseline: nested too deeply", path=display) from error
    except ValueError as error:  # no UTF-8, or a number with more digits than Python reads
        raise ConfigError("is no baseline", path=display) from error
    if not isinstance(document, dict) or not isinstance(document.get("entries"), list):
        raise ConfigError("is no baseline", path=display)
    version = document.get("version")
    if version != VERSION:
        shown = version if isinstance(version, int) else "another kind"
        raise ConfigError(f"is of version {shown}, this devlint reads {VERSION}", path=display)
    return Baseline(path, read=data).of(_entry(entry, display) for entry in document["entries"])


def _entry(data: object, display: str) -> Entry:
    names = [field.name for field in fields(Entry)]
    if not isinstance(data, dict) or sorted(data) != sorted(names):
        raise ConfigError(f"is no baseline: an entry has {', '.join(names)}", path=display)
    if not all(isinstance(value, str) for value in data.values()):
        raise ConfigError("is no baseline: an entry holds text", path=display)
    return Entry(**data)


class Baselines:
    """The baselines of a run, by the file that is checked: `--baseline`, else that of the nearest configuration.

    Where baselines are about to be written, one that does not exist is empty, and one that nobody has named has
    the default name in the working directory.
    """

    def __init__(self, settings: Settings, configurations: Configurations, display: Callable[[Path], str]) -> None:
        self._settings = settings
        self._configurations = configurations
        self._display = display
        self._read: dict[Path, Baseline] = {}
        self._paths: dict[str, Path | None] = {}

    def of(self, file: str) -> Baseline | None:
        """Return the baseline that holds for a file, given as it is shown to the user.

        Raises:
            ConfigError: it cannot be read.
        """
        folder = os.path.dirname(file)
        if folder not in self._paths:
            self._paths[folder] = self._path_for(Path(os.path.abspath(folder)))
        path = self._paths[folder]
        if path is None:
            return None
        if path not in self._read:
            absent = self._settings.accepting and not path.exists()
            self._read[path] = Baseline(path) if absent else read_baseline(path, self._display(path))
        return self._read[path]

    def _path_for(self, folder: Path) -> Path | None:
        if self._settings.baseline is not None:
            return Path(os.path.abspath(self._settings.baseline))
        configured = self._configurations.of(folder).baseline
        if configured is None and self._settings.accepting:
            default = Path.cwd() / DEFAULT_NAME
            if leads_out(default, territory_of(default)):
                raise ConfigError("is a link that leads out of the project", path=self._display(default))
            return default
        return configured


def entries_of(outcome: Outcome, baseline: Baseline, diagnostics: Iterable[Diagnostic]) -> dict[Diagnostic, Entry]:
    """Return the entries that a baseline would have for some diagnostics of a run.

    That a file could not be analysed is accepted by no baseline.
    """
    named = fingerprints(outcome, file_name=baseline.name_of)
    return {
        one: Entry(baseline.name_of(one.place.file), one.code, one.rule, named[one], one.message)
        for one in diagnostics
        if one.code not in ALWAYS
    }


def _former_names(outcome: Outcome, baseline: Baseline, diagnostics: Iterable[Diagnostic]) -> dict[str, Diagnostic]:
    """Return the fingerprints that a baseline may have for a diagnostic by the calls that show it.

    Such a baseline was written by a version that reported a conflict inside another file at the first call of a file.
    """
    found: dict[str, Diagnostic] = {}
    for one in diagnostics:
        for call in reversed(one.calls):
            line = outcome.line(call.source, call.line) or ""
            found[of_text(one.code, baseline.name_of(call.file), "".join(line.split()), "0")] = one
    return found


def with_names_of_now(entries: Iterable[Entry], baseline: Baseline, outcome: Outcome) -> set[Entry]:
    """Return the entries of a baseline, those that name a diagnostic by a call with its name of now."""
    accepted = [one.diagnostic for one in outcome.silenced if one.by is Silencer.BASELINE]
    names, former = entries_of(outcome, baseline, accepted), _former_names(outcome, baseline, accepted)
    current = {entry.fingerprint for entry in names.values()}
    return {
        entry if entry.fingerprint in current or entry.fingerprint not in former else names[former[entry.fingerprint]]
        for entry in entries
    }


@dataclass(frozen=True, slots=True)
class Compared:
    """A run held against its baselines.

    Attributes:
        outcome: the run; the diagnostics in baselines are among the silenced ones.
        unmatched: the entries that no diagnostic of the run has, each with its baseline.
    """

    outcome: Outcome
    unmatched: tuple[tuple[Baseline, Entry], ...]


def compare(outcome: Outcome, files: Sequence[str], baselines: Baselines) -> Compared:
    """Hold a run against the baselines of the files that it looked at.

    Raises:
        ConfigError: a baseline cannot be read.
    """
    held = {file: baselines.of(file) for file in files}
    known: dict[Diagnostic, Silenced] = {}
    unmatched: list[tuple[Baseline, Entry]] = []
    for baseline in dict.fromkeys(baseline for baseline in held.values() if baseline is not None):
        own = [one for one in outcome.diagnostics if held.get(one.place.file) is baseline]
        accepted = {entry.fingerprint for entry in baseline.entries}
        entries = entries_of(outcome, baseline, own)
        former = _former_names(outcome, baseline, own)
        found = {entry.fingerprint for entry in entries.values()} | former.keys()
        matched = [one for one, entry in entries.items() if entry.fingerprint in accepted]
        matched += [one for name, one in former.items() if name in accepted]
        known.update((one, Silenced(one, Silencer.BASELINE, "in the baseline")) for one in matched)
        unmatched += [(baseline, entry) for entry in baseline.entries if entry.fingerprint not in found]
    silenced = sorted((*outcome.silenced, *known.values()), key=lambda one: one.diagnostic.sort_key)
    outcome = replace(
        outcome,
        diagnostics=tuple(one for one in outcome.diagnostics if one not in known),
        silenced=tuple(silenced),
        has_baseline=any(baseline is not None for baseline in held.values()),
    )
    return Compared(outcome, tuple(unmatched))
