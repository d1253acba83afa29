"""One file from source text to diagnostics, inside one process; whatever goes wrong stays with that file."""

from __future__ import annotations

import ast
import gc
import os
import platform
import re
import traceback
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cache, cached_property, partial
from itertools import groupby
from pathlib import Path
from textwrap import shorten
from types import MappingProxyType
from typing import TYPE_CHECKING, Protocol, TypeAlias

from devlint import inferred, one_cause
from devlint.audit import mentions_suppressions, silence, silence_only
from devlint.decoding import lines_of
from devlint.diagnostics import Certainty, Diagnostic, Place, RuleText, Severity, Silenced
from devlint.discovery import members_of
from devlint.errors import DevlintError, LimitError, SourceError
from devlint.project import Project, Source, display_path
from devlint.records import dataclass
from devlint.registry import rule_of
from devlint.selection import Rules, Selection, select_rules, selectors
from devlint.settings import Configuration, Settings
from devlint.shown_by_calls import at_its_call, once
from devlint.sources.program import Cell
from devlint.traces import Trace

if TYPE_CHECKING:
    from devlint.facts import Anchored, FileFacts
    from devlint.frontend.pieces import Trees
    from devlint.inference import Inference

_MATTERS = re.compile(r"torch|\.detach\(\)|[\"']cuda")
"""What a file that has to do with devices contains: it names torch or CUDA, or takes a tensor out of its graph."""

_USES_TORCH = re.compile(r"\bnn\.[A-Z]|\bF\.[a-z]\w*\(|\.(?:cuda|backward)\(|\.to\((?:self\.|args\.)?device\b")
"""What a file does that has torch from another one, by `from common import *`."""


def matters(text: str) -> bool:
    """Return whether a file may have to do with devices; this decides without parsing it."""
    return _MATTERS.search(text) is not None or ("import *" in text and _USES_TORCH.search(text) is not None)


_THRESHOLDS = (100_000, 10, 50)
"""How many objects more there are before the collector looks: at the new ones, …, at all."""


@contextmanager
def seldom_collecting() -> Iterator[None]:
    """Let the collector look seldom: what an analysis makes stays, or is freed as soon as nothing refers to it."""
    before = gc.get_threshold()
    gc.set_threshold(*_THRESHOLDS)
    try:
        yield
    finally:
        gc.set_threshold(*before)


class Analysis(Protocol):
    """Finds the facts of source files, and keeps its results of one file for the next."""

    def facts(self, source: Source, *, occurrences: bool = False) -> FileFacts:
        """Return the facts of a file, with occurrences on request; raises SyntaxError for text that is no Python."""

    def prepare(self, after: Source) -> None:
        """Read the text that a file is about to get; raises SyntaxError for text that is no Python."""

    def change(self, before: Source, after: Source) -> bool:
        """Drop what rests on a file that has got another text, after `prepare`; False if all may rest on it."""


@dataclass(frozen=True, slots=True)
class Tools:
    """The tools that a run applies to files."""

    rules: Rules
    analysis: Callable[[Project, Configuration], Analysis]
    check: Callable[[Source, FileFacts, Rules], list[Diagnostic]]


Loader: TypeAlias = Callable[[], Tools]
"""Loads the tools; a function of a module, so that another process can be told to call it."""


def load_tools() -> Tools:
    """Load the installed rules and devlint's own analysis.

    Raises:
        RuleError: a rule package does not keep its contract.
    """
    from devlint.registry import load_rules

    return tools(tuple(rule.declaration() for rule in load_rules()))


def tools(rules: Rules) -> Tools:
    """Return devlint's own analysis and these rules; a rule is loaded when it has to look at a file."""
    from devlint.analysis import Analyser

    def analysis(project: Project, configuration: Configuration) -> Analysis:
        return Analyser(project, devices=configuration.devices, signatures=configuration.signatures)

    @cache
    def trees() -> Trees:
        from devlint.frontend.pieces import Trees

        return Trees()

    def check(source: Source, facts: FileFacts, busy: Rules) -> list[Diagnostic]:
        from devlint.frontend.concrete import check

        return check(source.text, source.display, facts, [rule_of(rule) for rule in busy], trees(), source.cells)

    return Tools(rules, analysis, check)


def texts_of(rules: Rules, codes: Collection[str]) -> dict[str, RuleText]:
    """Return the texts of the rules with these codes, by code."""
    return {rule.code: rule_of(rule).text() for rule in rules if rule.code in codes}


@dataclass(frozen=True, slots=True)
class Batch:
    """Files of one project under one configuration; `alone` tells users why callers stay unknown, or ""."""

    root: Path
    configuration: Configuration
    files: tuple[Path, ...]
    alone: str = ""

    def project(self) -> Project:
        """Return the project, before it reads a file."""
        walk = partial(members_of, self.root, self.configuration)
        return Project(self.root, self.configuration.src, tuple if self.alone else walk)

    def of(self, files: Sequence[Path]) -> Batch:
        """Return the batch with other files."""
        return replace(self, files=tuple(files))

    def without(self, files: Collection[Path]) -> Batch:
        """Return the batch without some of its files."""
        return self.of([path for path in self.files if path not in files])

    def split(self, size: int) -> Iterator[Batch]:
        """Yield batches of at most `size` files."""
        for start in range(0, len(self.files), size):
            yield self.of(self.files[start : start + size])


@dataclass(frozen=True, slots=True)
class FileResult:
    """What came of one file.

    Attributes:
        problem: why it could not be read; then there are no diagnostics.
        elsewhere: diagnostics in other files, which calls in this one show.
        silenced: what a comment keeps from being reported, here or elsewhere.
        used: the comments of other files that silence something which calls in this one show.
        idle: the comments of this file that silence nothing, but may silence what calls in other files show.
        texts: the other files in which calls in this one show something; the result rests on their texts as a whole.
        retired: the codes of the retired rules that its comments name.
        traceback: of an internal error, or "".
        traces: the files that were read for it, unless an earlier result of this process has them.
        digest: a name for the content that the diagnostics are about; empty if this run has not checked the file.
    """

    display: str
    diagnostics: tuple[Diagnostic, ...] = ()
    problem: SourceError | None = None
    elsewhere: tuple[Diagnostic, ...] = ()
    silenced: tuple[Silenced, ...] = ()
    used: tuple[Place, ...] = ()
    idle: tuple[Place, ...] = ()
    texts: tuple[str, ...] = ()
    retired: tuple[str, ...] = ()
    traceback: str = ""
    traces: tuple[Trace, ...] = ()
    digest: str = ""

    @property
    def has_fixes(self) -> bool:
        """Whether a diagnostic comes with a fix."""
        return any(entry.fix is not None for entry in (*self.diagnostics, *self.elsewhere))

    @property
    def is_final(self) -> bool:
        """Whether the same content would always have this result; a failure may have had other reasons."""
        return self.problem is None and not any(entry.code == "DEV903" for entry in self.diagnostics)


@dataclass(frozen=True, slots=True)
class Look:
    """One file as people look at it.

    Attributes:
        result: what came of it.
        source: None if it could not be read.
        facts: its facts, with each value at each place; empty for a file that could not be analysed.
    """

    result: FileResult
    source: Source | None
    facts: FileFacts


class _Workplace:
    """A project under one configuration: its files, its analysis, its rules.

    Rules and analysis are there once something asks for them, so that a run which needs neither is quick.
    """

    def __init__(self, settings: Settings, batch: Batch, load: Loader) -> None:
        self._settings = settings
        self._load = load
        self.configuration = batch.configuration
        self.project = batch.project()
        self.observing = False
        self.latest: FileFacts | None = None

    def open(self) -> None:
        """Load rules and analysis.

        Raises:
            DevlintError: a rule package or a signature file is wrong, or a selector names no rule.
        """
        _ = self.selection, self.analysis

    @cached_property
    def analysis(self) -> Analysis:
        return self._load().analysis(self.project, self.configuration)

    @cached_property
    def inference(self) -> Inference:
        from devlint.inference import Inference

        configuration = self.configuration
        return Inference(self.project, configuration.signatures, configuration.devices, watches=self.observing)

    @cached_property
    def selection(self) -> Selection:
        return select_rules(self._settings, self.configuration, self._load().rules)

    @property
    def least(self) -> Certainty:
        """The least certainty of a reported error."""
        return self._settings.min_certainty or self.configuration.min_certainty or Certainty.ON_ACCELERATOR

    def reports(self, diagnostic: Diagnostic) -> bool:
        """Whether a diagnostic is certain enough."""
        return diagnostic.certainty.is_at_least(self.least)

    def graded(self, found: Iterable[Diagnostic]) -> Iterator[Diagnostic]:
        """Yield the diagnostics that are certain enough, with the severity that the configuration asks for."""
        return (self.selection.graded(one) for one in found if self.reports(one))

    def graded_silenced(self, found: Iterable[Silenced]) -> Iterator[Silenced]:
        """Yield silenced diagnostics as `graded` does."""
        for one in found:
            if self.reports(one.diagnostic):
                yield replace(one, diagnostic=self.selection.graded(one.diagnostic))

    def change(self, path: Path, data: bytes) -> bool:
        """See `Inspector.change`."""
        before = self.project.known(path)
        if before is None:
            if self.project.is_missed(path):
                return False
            self.project.put(path, data)
            return True
        after = self.project.decoded(path, data)
        if after == before:
            return True
        analysis = self.analysis if "analysis" in vars(self) else None
        if analysis is not None:
            analysis.prepare(after)
        self.project.change(after)
        self.forget_inference()
        return analysis is None or analysis.change(before, after)

    def forget_inference(self) -> None:
        """Let the inference begin anew: a text has changed, or its values are to be kept."""
        vars(self).pop("inference", None)

    def facts(self, source: Source) -> FileFacts:
        """Return the facts of a file, and keep them until the next file."""
        by_inference = self._settings.engine == "inference"
        find = partial(inferred.facts, self.inference) if by_inference else self.analysis.facts
        self.latest = find(source, occurrences=self.observing)
        return self.latest


class Inspector:
    """Inspects files under one command line.

    Args:
        settings: the command line.
        load: loads the tools, once and only if a file needs them.
    """

    def __init__(self, settings: Settings, load: Loader) -> None:
        self._settings = settings
        self._load = cache(load)
        self._workplaces: dict[Batch, _Workplace] = {}

    def prepare(self, batch: Batch) -> None:
        """Find out whether the batch's configuration can be obeyed.

        Raises:
            ConfigError: a selector names no rule.
            CatalogueError: a signature file cannot be understood.
            RuleError: a rule package does not keep its contract.
        """
        place = self._workplace(batch)
        if selectors(self._settings, batch.configuration):
            _ = place.selection
        if batch.configuration.signatures:
            _ = place.analysis

    def change(self, batch: Batch, path: Path, data: bytes) -> bool:
        """Let `data` stand for the content of a file that may have been looked at, and keep what does not rest on it.

        Returns:
            Whether that was possible; if not, this inspector cannot be used any more.

        Raises:
            SourceError: the content cannot be decoded.
            SyntaxError: it is not Python. After an error, the file has the content that it had before.
        """
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return self._workplace(batch).change(path, data)

    def project(self, batch: Batch) -> Project:
        """Return the project of a batch."""
        return self._workplace(batch).project

    def facts(self, batch: Batch, path: Path) -> tuple[Source, FileFacts]:
        """Return a file and its facts.

        Raises:
            SourceError: it cannot be read or decoded.
            SyntaxError: it is no Python.
        """
        place = self._workplace(batch)
        source = place.project.source(path)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return source, place.facts(source)

    def rules_for(self, batch: Batch, path: Path) -> Rules:
        """Return the rules that are on for one of the batch's files."""
        return self._workplace(batch).selection.rules_for(path)

    def inspect(self, batch: Batch, contents: Mapping[Path, bytes] = MappingProxyType({})) -> list[FileResult]:
        """Inspect every file of the batch.

        Args:
            batch: the files.
            contents: what stands for the content of files of the project, by absolute path.
        """
        place = self._workplace(batch)
        for path, data in contents.items():
            place.project.put(path, data)
        with warnings.catch_warnings(), seldom_collecting():
            warnings.simplefilter("ignore")  # Python's own remarks about the code it parses
            return [replace(self._inspect(place, path), traces=place.project.traces()) for path in batch.files]

    def look(self, batch: Batch, path: Path) -> Look:
        """Inspect one file of the batch, and return its result with its source and facts.

        What calls in the file show in other files is reported at these calls.
        """
        from devlint.facts import FileFacts

        place = self._workplace(batch)
        if not place.observing:
            place.forget_inference()
        place.observing, place.latest = True, None
        (result,) = self.inspect(batch.of((path,)))
        at_calls = map(at_its_call, once(result.elsewhere))
        shown = tuple(sorted((*once(result.diagnostics), *at_calls), key=lambda one: one.sort_key))
        result = replace(result, diagnostics=shown)
        try:
            source = place.project.source(path)
        except SourceError:
            return Look(result, None, FileFacts())
        return Look(result, source, place.latest or FileFacts())

    def _workplace(self, batch: Batch) -> _Workplace:
        key = batch.of(())
        if key not in self._workplaces:
            self._workplaces[key] = _Workplace(self._settings, batch, self._load)
        return self._workplaces[key]

    def _inspect(self, place: _Workplace, path: Path) -> FileResult:
        """Inspect one file.

        Raises:
            DevlintError: rules or signatures cannot be loaded; nothing that is wrong with the file.
        """
        display = display_path(path)
        try:
            source = place.project.source(path)
        except SourceError as error:
            return FileResult(display, problem=error)
        result = self._inspect_program(place, source)
        broken = [one for cell in source.cells for one in _errors_in_cell(display, cell)]
        return replace(result, diagnostics=(*result.diagnostics, *broken)) if broken else result

    def _inspect_program(self, place: _Workplace, source: Source) -> FileResult:
        """Inspect what a file holds, without the broken cells of a notebook."""
        display = source.display
        if not (matters(source.text) or mentions_suppressions(source.text) or place.configuration.signatures):
            return FileResult(display, tuple(_syntax_errors(display, source.text)))
        place.open()
        phase = "analysis"
        try:
            if self._settings.engine == "inference":
                rules = {rule.code: rule for rule in place.selection.rules_for(source.path)}
                broken_there = place.inference.broken(source, rules, place.least)
                told = [rule_of(rules[one.code]).told(one) for one in broken_there]
                if place.observing:
                    place.facts(source)
                return self._settled(place, source, told, FileResult(display, digest=source.digest))
            facts = place.facts(source)
            phase = "rules"
            found = self._check(place, source, facts, place.selection.rules_for(source.path))
            result = FileResult(display, digest=source.digest)
            for file, group in groupby(facts.elsewhere, key=lambda item: item.place.file):
                result = self._with_elsewhere(place, result, file, tuple(group))
            phase = "suppressions"
            found = [*found, *result.diagnostics]
            if not found and not mentions_suppressions(source.text):
                return result
            return self._settled(place, source, found, result)
        except Exception as error:
            broken = tuple(_syntax_errors(display, source.text)) if phase == "analysis" else ()
            if broken:
                return FileResult(display, broken)
            failure = internal_error(len(lines_of(source.text)), display, phase, error)
            return FileResult(display, (failure,), traceback=traceback.format_exc())

    def _settled(
        self, place: _Workplace, source: Source, found: Sequence[Diagnostic], result: FileResult
    ) -> FileResult:
        """Return the result of a file with the diagnostics of its rules."""
        enabled = place.selection.rules_for(source.path)
        kept, silenced, idle, retired = silence(source.text, source.display, found, enabled, self._load().rules)
        quiet = tuple(place.graded_silenced(silenced))
        return replace(
            result,
            diagnostics=tuple(one_cause.once(tuple(place.graded(kept)), quiet)),
            silenced=(*result.silenced, *quiet),
            idle=tuple(idle),
            retired=tuple(sorted(retired)),
        )

    def _with_elsewhere(
        self, place: _Workplace, result: FileResult, file: str, facts: tuple[Anchored, ...]
    ) -> FileResult:
        """Return the result with the conflicts that calls show in another file, as that file reports them.

        A file that is not checked, such as an excluded one, reports nothing: the report stands at the call.
        """
        from devlint.facts import FileFacts

        path = Path(os.path.abspath(file))
        source = place.project.source(path)
        result = replace(result, texts=(*result.texts, file))
        rules = tuple(rule for rule in place.selection.rules_for(path) if rule.wants and not rule.mentions)
        found = self._check(place, source, FileFacts(facts), rules)
        if path in place.project.members:
            kept, silenced, used = silence_only(source.text, source.display, found, self._load().rules)
            quiet = tuple(place.graded_silenced(silenced))
            return replace(
                result,
                elsewhere=(*result.elsewhere, *one_cause.once(tuple(place.graded(kept)), quiet)),
                silenced=(*result.silenced, *quiet),
                used=(*result.used, *used),
            )
        at_calls = [at_its_call(one) for one in found]
        return replace(result, diagnostics=(*result.diagnostics, *at_calls))

    def _check(self, place: _Workplace, source: Source, facts: FileFacts, rules: Rules) -> list[Diagnostic]:
        """Let the rules look that the file concerns; only then is it parsed with LibCST."""
        # A comment also silences an error that is not reported, so that its level may change.
        least = Certainty.POSSIBLE if mentions_suppressions(source.text) else place.least
        busy = tuple(rule for rule in rules if rule.concerns(source.text, facts, least))
        found = self._load().check(source, facts, busy) if busy else []
        if not any(one.fix for one in found):
            return found
        from devlint.fixes.closed import without_closed

        return without_closed(found, source.text)


@cache
def inspector(settings: Settings, load: Loader) -> Inspector:
    """Return the inspector of a process that lives for one run; it never sees a file change."""
    return Inspector(settings, load)


def _errors_in_cell(display: str, cell: Cell) -> Iterator[Diagnostic]:
    if cell.broken:
        from devlint.sources.notebook import as_statements

        text = as_statements(cell.broken)
        yield from _syntax_errors(display, text, cell.first if text == cell.broken else cell.first - 1)


def _syntax_errors(display: str, text: str, first: int = 1) -> Iterator[Diagnostic]:
    """Yield the DEV901 of a text that Python cannot parse; nothing for one that it can.

    Args:
        display: the file.
        text: the whole program, or a part of it.
        first: the line of the program that the text begins in.
    """
    message, line, column = "", 1, 1
    if "\0" in text:
        before = text[: text.index("\0")]
        message, line = "a NUL character", before.count("\n") + 1
        column = len(before) - (before.rfind("\n") + 1) + 1
    else:
        try:
            ast.parse(text)
        except SyntaxError as error:
            message = error.msg
            line, column = max(error.lineno or 1, 1), max(error.offset or 1, 1)
        except (RecursionError, MemoryError):
            message = "nested too deeply"
        except ValueError as error:  # text that has no UTF-8 form
            message = str(error)
    if not message:
        return
    lines = text.split("\n")
    line = min(line, len(lines))
    column = min(column, len(lines[line - 1]) + 1)
    line += first - 1
    place = Place(display, line, column, line, column + 1)
    version = ".".join(platform.python_version_tuple()[:2])
    said = f"Python {version} cannot parse this: {message}"
    yield Diagnostic("DEV901", "syntax-error", Severity.ERROR, Certainty.CERTAIN, said, place)


def internal_error(source_lines: int, display: str, phase: str, error: BaseException) -> Diagnostic:
    """Return the DEV903 of a file in which devlint itself failed, at the line that the error names."""
    message, line = _text_of(error), None
    if isinstance(error, LimitError):
        return _failed(display, 1, error.message, "split the file, or exclude it; no file that people write is so long")
    if isinstance(error, DevlintError) and error.path in (None, display):
        message, line = error.message, error.line
    elif isinstance(error, SyntaxError):
        message, line = error.msg, error.lineno
    said = " ".join(message.split())
    what = f"{type(error).__name__}: {said}" if said else type(error).__name__
    line = min(max(line or 1, 1), max(source_lines, 1))
    return _failed(display, line, f"devlint failed on this file, phase {phase}: {what}")


def _text_of(error: BaseException) -> str:
    """Return the message of an error; a library's may hold a whole tree, which fails to be shown or is endless."""
    try:
        return shorten(str(error), 500, placeholder=" …")
    except Exception:
        return ""


def killed(path: Path) -> FileResult:
    """Return the result of a file in which the process that looked at it died."""
    display = display_path(path)
    return FileResult(display, (_failed(display, 1, "the process that looked at this file died"),))


def _failed(
    display: str,
    line: int,
    message: str,
    advice: str = "this is a bug in devlint or in a rule; -v prints the traceback to report with it",
) -> Diagnostic:
    return Diagnostic(
        "DEV903",
        "internal-error",
        Severity.ERROR,
        Certainty.CERTAIN,
        message,
        Place(display, line, 1, line, 1),
        advice=advice,
    )
