"""One run from paths to diagnostics: discover, inspect, collect. The phases in order, no more."""

from __future__ import annotations

import os
import shlex
import sys
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from devlint.add_ignores import add_ignores
from devlint.base_revision import BaseRevision
from devlint.baseline import Baseline, Baselines, Entry, compare
from devlint.cache import NoCache
from devlint.chosen_reports import about, new_since, without_doubtful
from devlint.configuration import Configurations
from devlint.decoding import decode, lines_of, read_program
from devlint.diagnostics import Diagnostic, Severity
from devlint.discovery import Discovery, Given, discover, is_excluded, why_alone
from devlint.errors import ConfigError, DevlintError, SourceError
from devlint.importers import does_work
from devlint.inspector import Batch, FileResult, Inspector, Loader, Look, load_tools, seldom_collecting, texts_of
from devlint.project import display_path, root_for
from devlint.records import dataclass
from devlint.report import Outcome, fingerprints
from devlint.retired import remark
from devlint.selection import ALWAYS, Rules, retired_by, select_rules, selectors
from devlint.settings import Configuration, Settings
from devlint.shown_by_calls import once
from devlint.sources import program_of
from devlint.sources.program import Cell, Program

if TYPE_CHECKING:
    from devlint.facts import FileFacts
    from devlint.fixes import Change, Contents, Found, Settled
    from devlint.pool import Progress
    from devlint.project import Project, Source

FEW_FILES = 64
"""Below this, starting processes costs more than it saves."""

MOST_JOBS = 8


@dataclass(frozen=True, slots=True)
class Run:
    """The result of a run.

    Attributes:
        analysed: the files that could be analysed, as shown to the user.
        stale: the entries of baselines that match nothing any more, each with its baseline.
        warnings, notes: remarks for the user, in order.
        tracebacks: of internal errors, for `--verbose`.
        changes: the files that fixes change; they are not written yet.
        settled: the diagnostics whose fixes these changes make.
        kept: for how many files the results of earlier runs still hold.
        script: finds a checked file that can be rehearsed, as shown to the user; "" for none.
    """

    outcome: Outcome
    analysed: tuple[str, ...] = ()
    stale: tuple[tuple[Baseline, Entry], ...] = ()
    warnings: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    tracebacks: tuple[str, ...] = ()
    changes: tuple[Change, ...] = ()
    settled: tuple[Settled, ...] = ()
    kept: int = 0
    script: Callable[[], str] = str

    @property
    def problems(self) -> Sequence[DevlintError]:
        """What could not be analysed; each makes the exit code 2."""
        return self.outcome.problems

    @property
    def unreadable(self) -> int:
        """How many files could not be analysed."""
        failed = {entry.place.file for entry in self.outcome.diagnostics if entry.code in ALWAYS}
        return len(failed) + len(self.problems)

    def exit_code(self, fail_on: Severity, *, exit_zero: bool, fail_on_stale: bool = False) -> int:
        """0: nothing to report; 1: diagnostics as bad as `fail_on`; 2: something could not be analysed.

        `fail_on_stale`: entries of a baseline that match nothing any more count as well.
        """
        if self.unreadable:
            return 2
        severe = [
            entry
            for entry in self.outcome.diagnostics
            if fail_on is Severity.WARNING or entry.severity is Severity.ERROR
        ]
        found = bool(severe) or (fail_on_stale and bool(self.stale))
        return 1 if found and not exit_zero else 0

    def exit_code_of_fixes(self, *, strict: bool) -> int:
        """0, or 1 if files change and that counts; 2: something could not be analysed or written."""
        return 2 if self.unreadable else int(strict and bool(self.changes))


def run(
    settings: Settings,
    *,
    stdin: bytes | None = None,
    load: Loader = load_tools,
    cache: NoCache | None = None,
    progress: Progress | None = None,
    left: Sequence[Settled] = (),
) -> Run:
    """Analyse what the settings name.

    Args:
        settings: the command line.
        stdin: the content of standard input, wanted if one of the paths is `-`.
        load: loads rules and analysis, once per process.
        cache: results of earlier runs; None: there are none.
        progress: told how many files are done, and of how many, while they are inspected for the first time.
        left: the fixes of an earlier run that are not made.

    Raises:
        DevlintError: nothing can be analysed, because a setting, a configuration file, a signature or a rule
            package is wrong.
    """
    start = time.perf_counter()
    base = None if settings.diff_base is None else BaseRevision(settings.diff_base)
    configurations = Configurations(settings)
    found, contents = _discover(settings, configurations, stdin)
    batches = _batches(found.files, configurations, settings)
    found.notes.extend(dict.fromkeys(note for batch in batches for note in batch.configuration.notes))
    named = frozenset(found.files) if settings.whole_project else None
    if named is not None:
        batches = _with_members(batches, configurations, settings)
    found.notes.extend(_notes(batches))
    rests_on_all = settings.engine == "inference"  # callers in any file decide about a result
    cache = NoCache() if cache is None or contents or rests_on_all else cache
    known = [_usable(cache.recall(batch), settings) for batch in batches]
    rest = [batch.without(results) for batch, results in zip(batches, known, strict=True)]
    here = Path.cwd()
    worker = Inspector(settings, load)
    for batch in rest or [Batch(here, configurations.of(here), ())]:
        if batch.files or not batches:
            worker.prepare(batch)
    wishes = [batch.configuration for batch in batches] or [configurations.of(here)]
    retired = retired_by_settings(settings, wishes, load)
    results = _inspect(settings, load, rest, contents, worker, progress)
    cache.keep(rest, results)
    results = sorted(chain(results, *(one.values() for one in known)), key=lambda result: result.display)
    results = without_doubtful(results, batches)
    if named is not None:
        shown = {display_path(path) for path in named}
        results = [one if one.display in shown else replace(one, problem=None, traceback="") for one in results]
    baselines = Baselines(settings, configurations, display_path)

    def reported(
        results: Sequence[FileResult], contents: Contents, refuses: Callable[[Diagnostic], bool] = lambda one: False
    ) -> tuple[Run, Run]:
        """Return the run for its reader, and with the places that edits are made at.

        A diagnostic with a refused fix has none: the next run would refuse it too.
        """
        collected, cells = _collect(found, results, contents, load, start)
        mentioned = retired.union(*(one.retired for one in results))
        collected = replace(collected, kept=sum(map(len, known)), script=lambda: next(_scripts(batches), ""))
        run = _compared(collected, baselines, worker, batches, mentioned)
        left = tuple(replace(one, fix=None) if refuses(one) else one for one in run.outcome.diagnostics)
        run = replace(run, outcome=replace(run.outcome, diagnostics=left))
        kept = run.outcome.diagnostics
        if named is not None:
            kept = about(kept, named, batches)
        if base is not None:
            names = fingerprints(run.outcome)
            kept = new_since(base, {one: names[one] for one in kept}, batches, contents, Inspector(settings, load))
        run = replace(run, outcome=replace(run.outcome, diagnostics=kept))
        return _in_cells(run, cells), run

    run, placed = reported(results, contents)
    if settings.add_ignore is not None:
        changes, problems = add_ignores(placed.outcome.diagnostics, settings.add_ignore)
        outcome = replace(run.outcome, problems=(*run.problems, *problems), fixed=sum(one.settled for one in changes))
        return replace(run, outcome=outcome, changes=changes)
    if not settings.fix:
        return run
    from devlint.fixes import Repair

    def look(contents: Contents) -> Found:
        nonlocal results
        inspected = _inspect(settings, load, batches, contents)
        results = sorted(without_doubtful(inspected, batches), key=lambda result: result.display)
        return _found(results, reported(results, contents)[1])

    repair = Repair(look, unsafe=settings.unsafe_fixes, given=contents, left=left, writes=not settings.diff)
    repair.run(_found(results, placed))
    found.warnings.extend(repair.warnings)
    run, _ = reported(results, repair.contents, repair.refuses)
    problems = (*run.problems, *repair.unwritable.values())
    outcome = replace(run.outcome, fixed=len(repair.settled), problems=problems)
    return replace(run, outcome=outcome, changes=repair.changes, settled=repair.settled)


def _usable(recalled: Mapping[Path, FileResult], settings: Settings) -> dict[Path, FileResult]:
    """Return the results of earlier runs without those that `--fix` would act on: it checks these files anew."""
    if not settings.fix:
        return dict(recalled)
    fixed = {one.place.file for result in recalled.values() for one in result.elsewhere if one.fix is not None}
    return {path: result for path, result in recalled.items() if not (result.has_fixes or result.display in fixed)}


def to_rehearse(settings: Settings) -> list[str]:
    """Return commands that rehearse the files of the settings that people run: scripts, then tests.

    Raises:
        DevlintError: a configuration file is wrong.
    """
    configurations = Configurations(settings)
    batches = _batches(found_by(settings).files, configurations, settings)
    commands = [f"devlint rehearse {shlex.quote(script)}" for script in _scripts(batches)]
    has_tests = any(_with_torch(batches, lambda project, path: project.is_test(path)))
    return [*commands, *(["pytest --devlint-rehearse=2"] if has_tests else [])]


def _scripts(batches: Iterable[Batch]) -> Iterator[str]:
    """Yield the files that name torch and that people run, the least nested first, and first those that ask for a name.

    People import the files of a package, and run others.
    """

    def is_apart(project: Project, path: Path) -> bool:
        return not (path.name == "setup.py" or path.with_name("__init__.py").exists() or project.is_test(path))

    found = sorted(_with_torch(batches, is_apart), key=lambda one: (not one.is_script, len(one.path.parts), one.path))
    yield from (source.display for source in found if does_work(source))


def _with_torch(batches: Iterable[Batch], wanted: Callable[[Project, Path], bool]) -> Iterator[Source]:
    for batch in batches:
        project = batch.project()
        for path in batch.files:
            with suppress(SourceError):
                if path.suffix == ".py" and wanted(project, path) and "torch" in (source := project.peek(path)).text:
                    yield source


def retired_by_settings(
    settings: Settings, configurations: Iterable[Configuration], load: Loader = load_tools
) -> set[str]:
    """Return the codes of the retired rules that a command line or a configuration names."""
    every = {selector for one in configurations for selector in selectors(settings, one)}
    named = [selector for selector in every if retired_by(selector, ())]
    rules = load().rules if named else ()
    return {code for selector in named for code in retired_by(selector, rules)}


def _compared(
    collected: Run, baselines: Baselines, worker: Inspector, batches: Sequence[Batch], retired: Collection[str]
) -> Run:
    """Hold a run against its baselines, and note the retired rules that these, or something else, name.

    An entry is stale if its file is gone, or was analysed with its rule on and does not have it any more.
    """
    reported = (one.place.file for one in collected.outcome.diagnostics)
    compared = compare(collected.outcome, [*dict.fromkeys((*collected.analysed, *reported))], baselines)
    analysed = frozenset(collected.analysed)
    owners = {path: batch for batch in batches for path in batch.files} if compared.unmatched else {}

    def is_stale(baseline: Baseline, entry: Entry) -> bool:
        path = baseline.file_of(entry)
        if not os.path.exists(path):
            return True
        if display_path(path) not in analysed or path not in owners:
            return False
        return any(rule.code == entry.code for rule in worker.rules_for(owners[path], path))

    stale = tuple((baseline, entry) for baseline, entry in compared.unmatched if is_stale(baseline, entry))
    note = remark({*retired, *(entry.code for _, entry in compared.unmatched)})
    notes = (*collected.notes, note) if note else collected.notes
    return replace(collected, outcome=compared.outcome, stale=stale, notes=notes)


def _found(results: Iterable[FileResult], run: Run) -> Found:
    """Return what the run reports, by file."""
    from devlint.fixes import Checked

    reported: dict[str, list[Diagnostic]] = {}
    for diagnostic in run.outcome.diagnostics:
        reported.setdefault(diagnostic.place.file, []).append(diagnostic)
    return {one.display: Checked(tuple(reported.get(one.display, ())), one.digest) for one in results}


def found_by(settings: Settings) -> Discovery:
    """Return the files that a run would look at, and the paths that it could not take.

    Raises:
        DevlintError: a configuration file is wrong.
    """
    configurations = Configurations(settings)
    return _discover(settings, configurations, None)[0]


def effective(settings: Settings) -> list[tuple[Batch, Rules]]:
    """Return the files of a run by project and configuration, with the rules that are on before `per-file-ignores`.

    Raises:
        DevlintError: a configuration file is wrong, or a selector names no rule.
    """
    configurations = Configurations(settings)
    found = _discover(settings, configurations, None)[0]
    here = Path.cwd()
    batches = _batches(found.files, configurations, settings) or [Batch(here, configurations.of(here), ())]
    rules = load_tools().rules
    return [(batch, select_rules(settings, batch.configuration, rules).enabled) for batch in batches]


def _discover(settings: Settings, configurations: Configurations, stdin: bytes | None) -> tuple[Discovery, Contents]:
    """Find the files; standard input counts as the file that it stands for."""
    if "-" not in settings.paths:
        if settings.stdin_filename is not None:
            raise ConfigError("--stdin-filename is for the path `-`, which is not among the paths")
        return _named(settings, configurations), {}
    if settings.paths != ("-",):
        raise ConfigError("`-` (standard input) cannot be combined with other paths")
    path = Path(os.path.abspath(settings.stdin_filename or "<stdin>"))
    if settings.force_exclude and is_excluded(path, configurations, _given(settings)):
        return Discovery(notes=[f"{display_path(path)}: excluded"]), {}
    return Discovery(files=[path]), {path: stdin or b""}


def _named(settings: Settings, configurations: Configurations) -> Discovery:
    return discover(
        settings.paths,
        configurations,
        force_exclude=settings.force_exclude,
        include_markdown=settings.include_markdown,
        given=_given(settings),
    )


def _given(settings: Settings) -> Given:
    return Given(settings.exclude, settings.extend_exclude)


def _batches(files: Iterable[Path], configurations: Configurations, settings: Settings) -> list[Batch]:
    """Group files by project and configuration, so that each group shares one analysis."""
    groups: dict[tuple[Path, Configuration], list[Path]] = {}
    by_folder: dict[str, list[Path]] = {}
    files = dict.fromkeys(files)
    for path in files:
        folder = os.path.dirname(path)
        if folder not in by_folder:
            root = root_for(path, configurations.named)
            configuration = configurations.of(path.parent)
            if configuration.file is None:
                configuration = Configuration(None, root)
            by_folder[folder] = groups.setdefault((root, configuration), [])
        by_folder[folder].append(path)
    return [Batch(*key, tuple(members), why_alone(*key, files.keys())) for key, members in groups.items()]


def _with_members(batches: Sequence[Batch], configurations: Configurations, settings: Settings) -> list[Batch]:
    """Return the batches with all files of their projects."""
    files = {path: None for batch in batches for path in batch.files}
    for batch in batches:
        files.update(dict.fromkeys(batch.project().members))
    return _batches(files, configurations, settings)


def _notes(batches: Iterable[Batch]) -> Iterable[str]:
    return dict.fromkeys(batch.alone for batch in batches if batch.alone)


def facts_of(path: Path, settings: Settings, *, load: Loader = load_tools) -> tuple[Source, FileFacts]:
    """Return one file and what the analysis finds in it.

    Raises:
        DevlintError: the file cannot be read, or a setting is wrong.
        SyntaxError: the file is no Python.
    """
    path = Path(os.path.abspath(path))
    return Inspector(settings, load).facts(batch_of(path, settings), path)


@dataclass(frozen=True, slots=True)
class Looks:
    """What there is to look at, by file, and what could not be read."""

    files: tuple[Look, ...]
    problems: tuple[DevlintError, ...]
    notes: tuple[str, ...]

    @property
    def worth_seeing(self) -> tuple[Look, ...]:
        """The files in which anything was found; all that could be read, if nothing was found in any."""
        readable = tuple(look for look in self.files if look.source is not None)
        return tuple(look for look in readable if look.facts.occurrences or look.result.diagnostics) or readable


def look(settings: Settings) -> Looks:
    """Analyse the files of the settings in this process, and keep the occurrences of each value.

    Raises:
        DevlintError: as for `run`.
    """
    configurations = Configurations(settings)
    found = _named(settings, configurations)
    worker = Inspector(settings, load_tools)
    seen: list[Look] = []
    batches = _batches(found.files, configurations, settings)
    for batch in batches:
        seen.extend(worker.look(batch, path) for path in batch.files)
    seen.sort(key=lambda look: look.result.display)
    problems = [*found.problems, *(look.result.problem for look in seen if look.result.problem is not None)]
    return Looks(tuple(seen), tuple(problems), (*found.notes, *_notes(batches)))


def batch_of(path: Path, settings: Settings) -> Batch:
    """Return one file, given by its absolute path, with its project and the configuration that holds for it.

    Raises:
        ConfigError: a configuration file is wrong.
    """
    configurations = Configurations(settings)
    (batch,) = _batches([path], configurations, settings)
    return batch


def _jobs(wanted: int | None, files: int) -> int:
    if wanted is not None:
        return max(1, min(wanted, files))
    if files < FEW_FILES:
        return 1
    available = len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1
    return max(1, min(available, MOST_JOBS))


def _inspect(
    settings: Settings,
    load: Loader,
    batches: Sequence[Batch],
    contents: Contents,
    worker: Inspector | None = None,
    progress: Progress | None = None,
) -> list[FileResult]:
    """Inspect all files, with the content given where there is one.

    Args:
        worker: an inspector that has seen none of the files.
    """
    total = sum(len(batch.files) for batch in batches)
    progress = progress or (lambda done, total: None)
    jobs = _jobs(settings.jobs, total)
    if jobs > 1 and "-" not in settings.paths:
        from devlint.pool import in_processes

        return in_processes(settings, load, batches, jobs, contents, progress)
    worker = worker or Inspector(settings, load)
    results: list[FileResult] = []
    with seldom_collecting():
        for batch in batches:
            for number, part in enumerate(batch.split(1)):
                results += worker.inspect(part, {} if number else contents)  # a batch is one project, which keeps them
                progress(len(results), total)
    return results


def _collect(
    found: Discovery,
    results: Sequence[FileResult],
    contents: Contents,
    load: Loader,
    start: float,
) -> tuple[Run, Mapping[str, Sequence[Cell]]]:
    """Return the run with places in whole programs, and the cells of those that are notebooks."""
    checked = {result.display for result in results}
    own = (one for result in results for one in result.diagnostics)
    elsewhere = (one for result in results for one in result.elsewhere)
    shown = once((*own, *(one if one.place.file in checked else replace(one, fix=None) for one in elsewhere)))
    diagnostics = sorted(shown, key=lambda diagnostic: diagnostic.sort_key)
    problems = [*found.problems, *(result.problem for result in results if result.problem is not None)]
    problems.sort(key=lambda problem: (problem.path or "", problem.line or 0, problem.message))
    if not (found.files or found.problems or found.notes):
        found.notes.append("no Python files")
    silenced = sorted(
        {one for result in results for one in result.silenced}, key=lambda one: (one.diagnostic.sort_key, one.reason)
    )
    everything = [*diagnostics, *(one.diagnostic for one in silenced)]
    codes = {diagnostic.code for diagnostic in everything}
    failed = {entry.place.file for entry in diagnostics if entry.code in ALWAYS}
    programs = _programs(everything, contents)
    outcome = Outcome(
        tuple(diagnostics),
        len(results),
        lines=_lines(programs),
        rows={f"{file}:cell {cell.number}": cell.rows for file, one in programs.items() for cell in one.cells},
        problems=tuple(problems),
        silenced=tuple(silenced),
        rule_texts=lambda: texts_of(load().rules, codes),
        seconds=time.perf_counter() - start,
    )
    run = Run(
        outcome,
        analysed=tuple(one.display for one in results if one.problem is None and one.display not in failed),
        warnings=tuple(found.warnings),
        notes=tuple(found.notes),
        tracebacks=tuple(result.traceback for result in results if result.traceback),
    )
    return run, {file: program.cells for file, program in programs.items() if program.cells}


def _in_cells(run: Run, cells: Mapping[str, Sequence[Cell]]) -> Run:
    """Return a run with the places in notebooks in terms of their cells."""
    if not cells:
        return run
    from devlint.sources.places import in_cells

    def placed(diagnostic: Diagnostic) -> Diagnostic:
        return in_cells(diagnostic, lambda file: cells.get(file, ()))

    diagnostics = sorted(map(placed, run.outcome.diagnostics), key=lambda one: one.sort_key)
    silenced = [replace(one, diagnostic=placed(one.diagnostic)) for one in run.outcome.silenced]
    silenced.sort(key=lambda one: one.diagnostic.sort_key)
    return replace(run, outcome=replace(run.outcome, diagnostics=tuple(diagnostics), silenced=tuple(silenced)))


def _programs(diagnostics: Iterable[Diagnostic], contents: Contents) -> dict[str, Program]:
    """Read the files that diagnostics speak of; one that cannot be read is left out."""
    files = {place.file for diagnostic in diagnostics for place in diagnostic.story()}
    read = {file: _program(file, contents) for file in sorted(files)}
    return {file: program for file, program in read.items() if program is not None}


def _program(file: str, contents: Contents) -> Program | None:
    path = Path(os.path.abspath(file))
    try:
        return program_of(decode(contents[path], file), file) if path in contents else read_program(path, file)
    except SourceError:
        return None


def _lines(programs: Mapping[str, Program]) -> dict[str, tuple[str, ...]]:
    """Return the lines of files and of the cells of notebooks, as places name them."""
    lines: dict[str, tuple[str, ...]] = {}
    for file, program in programs.items():
        whole = lines_of(program.original)
        lines[file] = whole
        for cell in program.cells:
            lines[f"{file}:cell {cell.number}"] = whole[cell.first - 1 : cell.first - 1 + cell.lines]
    return lines
