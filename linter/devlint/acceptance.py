"""Changing baselines: recording the current reports, and removing entries that match nothing."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from devlint import engine
from devlint.baseline import Baseline, Baselines, entries_of, with_names_of_now
from devlint.configuration import OWN_NAMES, Configurations
from devlint.errors import DevlintError
from devlint.inspector import Loader, load_tools
from devlint.project import display_path
from devlint.records import dataclass
from devlint.settings import Configuration, Settings


@dataclass(frozen=True, slots=True)
class Change:
    """A baseline as it is now, and by how many entries it differs from before.

    Attributes:
        switch: the line that makes `devlint check` use the baseline, with the file for that line; None if the
            configuration names the baseline already.
    """

    baseline: Baseline
    added: int
    removed: int
    switch: str | None = None


@dataclass(frozen=True, slots=True)
class Acceptance:
    """What happened to each baseline, and the files that could not be analysed."""

    changes: tuple[Change, ...]
    problems: Sequence[DevlintError]
    unreadable: int


def accept(settings: Settings, *, prune: bool, load: Loader = load_tools) -> Acceptance:
    """Write the baselines of the files that the settings name.

    What a run over these files does not judge, because it is about another file or a rule that is off, stays.

    Args:
        settings: the command line.
        prune: accept nothing new.
        load: loads rules and analysis.

    Raises:
        DevlintError: nothing can be analysed, or a baseline cannot be read or written.
    """
    settings = replace(settings, accepting=True)
    run = engine.run(settings, load=load)
    configurations = Configurations(settings)
    baselines = Baselines(settings, configurations, display_path)
    reported = (one.place.file for one in run.outcome.diagnostics)  # some cells of a notebook may be broken
    held = {file: baselines.of(file) for file in dict.fromkeys((*run.analysed, *reported))}
    stale = {(baseline.path, entry) for baseline, entry in run.stale}
    changes: list[Change] = []
    for baseline in dict.fromkeys(baseline for baseline in held.values() if baseline is not None):
        own = [] if prune else [one for one in run.outcome.diagnostics if held.get(one.place.file) is baseline]
        new = set(entries_of(run.outcome, baseline, own).values())
        kept = {entry for entry in baseline.entries if (baseline.path, entry) not in stale}
        changed = baseline.of(new | with_names_of_now(kept, baseline, run.outcome))
        first = next(file for file, one in held.items() if one is baseline)
        switch = _switch(baseline, configurations.of(Path(os.path.abspath(first)).parent))
        changes.append(Change(changed, len(new), len(baseline.entries) - len(kept), switch))
        if changed != baseline or not (prune or baseline.path.exists()):
            changed.write()
    return Acceptance(tuple(changes), run.problems, run.unreadable)


def _switch(baseline: Baseline, configuration: Configuration) -> str | None:
    """Return the line that a configuration lacks, with its place; None if it names the baseline."""
    if configuration.baseline == baseline.path:
        return None
    file = configuration.file or "pyproject.toml"
    folder = Path(os.path.abspath(file)).parent
    try:
        name = Path(os.path.relpath(baseline.path, folder)).as_posix()
    except ValueError:  # on Windows, another drive
        name = baseline.path.as_posix()
    table = "" if Path(file).name in OWN_NAMES else "in [tool.devlint] "
    return f"`baseline = {json.dumps(name, ensure_ascii=False)}` {table}of {file}"
