"""A guard: switches the layers on and off, and raises, warns about or records their findings."""

from __future__ import annotations

import contextlib
import functools
import inspect
import os
import sys
import threading
import time
import warnings
import weakref
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any, Literal, TypeVar, get_args, overload

import torch
from torch.nn import Module
from torch.optim import Optimizer

from devlint_guard.allow import Allowances, reason_here
from devlint_guard.errors import KINDS, DeviceMismatchError, DevlintWarning, GuardError, GuardUsageError
from devlint_guard.finding import Finding, Place, Role
from devlint_guard.findings.explanation import annotate, explained_before
from devlint_guard.program.frames import sites_above, user_frame
from devlint_guard.program.naming import ByVariable, Roots, by_class, modules_on, roots_on
from devlint_guard.program.stored import has_parameters, modules_in
from devlint_guard.program.undisturbed import Undisturbed
from devlint_guard.report.files import write
from devlint_guard.report.ranks import path_of_rank, processes, ranks
from devlint_guard.report.record import Allowed, Part, Record
from devlint_guard.report.text import render
from devlint_guard.watch import active
from devlint_guard.watch.active import Entry
from devlint_guard.watch.audit import audit, audit_called, state_elsewhere
from devlint_guard.watch.entry import Mismatch, compared_tensors, has_data
from devlint_guard.watch.layers import Layers
from devlint_guard.watch.ledger import Ledger
from devlint_guard.watch.operators import Ended
from devlint_guard.watch.sentences import finding_of, with_ties
from devlint_guard.watch.snapshot import end_of, machine, program, tree_of
from devlint_guard.watch.steps import Steps

Mode = Literal["raise", "warn", "record"]
Level = Literal["module", "adaptive", "deep"]

Key = tuple[str, str, str, Place | None]
"""What makes two findings one: `Finding.key`."""

FIRST_STEPS = 3
"""In so many of the first steps modules are looked through when they are first called, and the state of optimizers."""

Function = TypeVar("Function", bound=Callable[..., Any])


class Guard(contextlib.ContextDecorator):
    """Asserts, while it is active, that what meets is on one device. A context manager and a decorator.

    It may be entered again while it is active, and by several threads.

    Args:
        modules: those that paths begin with, and that are looked through on entry; other modules are watched too, and
            looked through when the program first calls them, in the first steps.
        mode: what becomes of findings; each error of PyTorch about devices is one too, and keeps its class and text.
            `raise` what PyTorch lets pass as an error, `warn` of each finding once, or `record` it.
        level: `module` looks at the calls of modules, `deep` at each operator too, `adaptive` at those of some steps;
            behind the first ones it looks, in training, at modules that it knows in each eleventh step.
        first_steps: how many steps `adaptive` begins with. A step ends with `optimizer.step()`, and outside of training
            with the call of a module.
        every: `adaptive` also looks at each step whose number this divides.
        expect: the device that all tensors of `modules` are to be on: `cuda`, `cuda:1`.
        allow: accepted codes, names, and patterns of module paths such as `*.rotary_emb`; a dictionary has the reason
            of each, which reports show.
        ledger: count copies between devices and synchronisations, by source line.
        report: the file to write a report to at the end: `.json`, `.html`, or else text; in a job of several processes
            each writes one of its own, `report.rank0.json`.
        strict: modules with a `forward` of their own have to be given everything on their device too.

    Raises:
        GuardUsageError: an option has a value that it cannot have.
    """

    def __init__(
        self,
        *modules: Module,
        mode: Mode = "raise",
        level: Level = "adaptive",
        first_steps: int = 3,
        every: int = 0,
        expect: str | torch.device | None = None,
        allow: Iterable[str] | Mapping[str, str] = (),
        ledger: bool = False,
        report: str | os.PathLike[str] | None = None,
        strict: bool = False,
    ) -> None:
        _demand(mode in get_args(Mode), f"mode={mode!r}: one of {', '.join(get_args(Mode))}")
        _demand(level in get_args(Level), f"level={level!r}: one of {', '.join(get_args(Level))}")
        _demand(first_steps >= 0 and every >= 0, f"first_steps={first_steps}, every={every}: not less than 0")
        _demand(all(isinstance(one, Module) for one in modules), "pass modules by position and options by name")
        _demand(not isinstance(allow, str), f"allow={allow!r}: a list of strings")
        allowed = dict(allow) if isinstance(allow, Mapping) else list(allow)
        self.mode: Mode = mode
        self.level: Level = level
        self._roots = by_class(modules)
        self._report = None if report is None else path_of_rank(Path(report))
        self._config: dict[str, object] = {
            "mode": mode,
            "level": level,
            "first_steps": first_steps,
            "every": every,
            "expect": None if expect is None else str(expect),
            "allow": allowed,
            "ledger": ledger,
            "strict": strict,
        }
        steps = Steps(0 if level == "module" else first_steps, 0 if level == "module" else every)
        self._found = _Found(mode, Allowances(allowed), steps)
        self.watching = _Watching(level, strict, _device(expect), Ledger(steps) if ledger else None, self._found)
        self._lock = threading.Lock()
        self._entries = 0
        self._is_audited = False
        self._began = self._seconds = 0.0
        self._end: str | None = None
        self._trees: tuple[Part, ...] = ()

    @property
    def findings(self) -> list[Finding]:
        """The findings so far, each once, in the order of their first time."""
        return list(self._found.findings.values())

    @property
    def suspects(self) -> list[Finding]:
        """What may become a mismatch: what the modules showed on entry, and what stood around calls that failed."""
        return list(self._found.suspects.values())

    def record(self, roots: Roots | None = None) -> Record:
        """The record so far, for a report.

        Args:
            roots: the modules to show; None for those that it was made with. Where there are none, those that the
                program has called are shown.
        """
        ledger = self.watching.layers.ledger
        called = (module for module in self.watching.called.values() if has_parameters(module))
        known = (self._roots if roots is None else roots) or by_class(called)
        return Record(
            **machine(),
            program=None if self._end is None else program(self._seconds, self._end),
            config=self._config,
            steps=self._found.steps.number,
            ranks=ranks(),
            processes=processes(),
            findings=tuple(self.findings),
            suspects=tuple(self.suspects),
            allowed=tuple(self._found.allowed.values()),
            transfers=() if ledger is None else ledger.transfers,
            roots=tuple(tree_of(name, module) for name, module in known.items()) or self._trees,
        )

    # --- in use ---

    def __enter__(self) -> Guard:
        self.enter(self._roots)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.exit(error)

    def enter(self, roots: Roots) -> None:
        """Becomes active, with other modules than it was made with.

        Raises:
            DeviceMismatchError: in mode `raise`, where the modules themselves show a mismatch.
        """
        if not self._is_audited:
            self._is_audited = True
            with Undisturbed(self.watching.step_back):
                if any(audit(roots, self.watching.expect)):
                    self._found.take(*audit(ByVariable(roots), self.watching.expect))
        modules = tuple(roots.values())
        roots = ByVariable(roots)
        active.add(Entry(self.watching, threading.get_ident(), modules, roots))
        with self._lock:
            self._entries += 1
            if self._entries == 1:
                self._began = time.perf_counter()
                if not self.watching.has_stepped_back:
                    self.watching.layers.begin(roots)

    def exit(self, error: BaseException | None = None) -> None:
        """Ends the latest entry; explains the error with which it ends."""
        roots: Roots = self._roots
        watching = self.watching
        with watching.layers.remembered():
            with self._lock, Undisturbed(watching.step_back):
                self._entries -= 1
                if self._entries == 0:
                    self._seconds += time.perf_counter() - self._began
                    self._end = end_of(error)
                    watching.layers.end()
            with Undisturbed(watching.step_back):
                roots = active.remove(watching).roots
            with Undisturbed(watching.step_back):
                if error is not None and not isinstance(error, GuardError):
                    finding = annotate(error, roots) or explained_before(error, roots)
                    if finding is not None and not self._found.has_any_at(finding.place):
                        self._found.keep([finding])
            with Undisturbed(watching.step_back):
                if self._report is not None:
                    record = self.record(roots)
                    self._trees = record.roots
                    try:
                        write(record, self._report)
                    except OSError as problem:  # how the program has ended matters more
                        warnings.warn(f"no report: {problem}", DevlintWarning, stacklevel=2)
            if self._entries == 0:
                watching.called.clear()
                watching.known.clear()


class _Found:
    """What a guard has found, each once, and what becomes of it."""

    def __init__(self, mode: Mode, allowances: Allowances, steps: Steps) -> None:
        self.steps = steps
        self.findings: dict[Key, Finding] = {}
        self.suspects: dict[Key, Finding] = {}
        self.allowed: dict[tuple[Key, str], Allowed] = {}
        self._mode = mode
        self._allowances = allowances
        self._lock = threading.Lock()

    def tells(self, finding: Finding) -> bool:
        """Whether something is to be told when it has been found again."""
        where = (finding.code, finding.module, finding.place)
        known = ((one.code, one.module, one.place) for one in list(self.findings.values()))
        return self._mode == "raise" or where not in known

    def has_any_at(self, place: Place | None) -> bool:
        """Whether what PyTorch refuses on a line has been foretold there, under whatever code."""
        places = [one.place for one in list(self.findings.values()) if one.place is not None]
        return place is not None and (place.file, place.line) in ((one.file, one.line) for one in places)

    def take(self, *findings: Finding) -> None:
        """Takes what a layer has found and PyTorch lets pass: keeps all of it, then raises or warns.

        Raises:
            DeviceMismatchError: in mode `raise`.
        """
        kept = self.keep(findings)
        for finding in kept if self._mode == "raise" else ():
            raise KINDS.get(finding.code, DeviceMismatchError)(finding, render(finding))
        self._warn_of(kept)

    def take_refused(self, finding: Finding) -> None:
        """Takes what PyTorch has refused, and raises nothing."""
        with contextlib.suppress(DevlintWarning):  # where warnings are errors, that of the program comes first
            self._warn_of(self.keep([finding]))

    def keep(self, findings: Iterable[Finding]) -> list[Finding]:
        """Keeps findings; returns those that are neither allowed nor suspects, as they are kept."""
        told = [one for one in findings if not self._is_allowed(one)]
        kept = [self.note(one, self.suspects if one.suspect else self.findings) for one in told]
        return [one for one in kept if not one.suspect]

    def note(self, finding: Finding, among: dict[Key, Finding]) -> Finding:
        with self._lock:
            known = among.get(finding.key)
            if known is None:
                kept = replace(finding, step=self.steps.number if self.steps.are_known else None, ranks=ranks())
            else:
                kept = replace(known, count=known.count + 1)
            among[finding.key] = kept
            return kept

    def _is_allowed(self, finding: Finding) -> bool:
        here = reason_here(finding.code)
        reason = self._allowances.reason_for(finding) if here is None else here
        if reason is None:
            return False
        if not finding.suspect:
            with self._lock:
                known = self.allowed.get((finding.key, reason))
                count = 1 if known is None else known.finding.count + 1
                self.allowed[finding.key, reason] = Allowed(replace(finding, count=count), reason)
        return True

    def _warn_of(self, kept: Iterable[Finding]) -> None:
        """Warns of each finding once, at the user's line."""
        for finding in kept if self._mode == "warn" else ():
            if finding.count == 1:
                place = finding.place or Place("<devlint>", 1)
                warnings.warn_explicit(render(finding), DevlintWarning, place.file, place.line, registry={})


class _Watching:
    """What the layers that all guards share tell to one of them, most of all `active`.

    Attributes:
        strict: whether suspects are findings.
        has_stepped_back: whether it is to be told of nothing any more.
        called: the modules that were looked through when they were called, by identity.
        known: modules, by identity, that need not be looked at in each step once it looks at no optimizers.
    """

    def __init__(
        self, level: Level, strict: bool, expect: torch.device | None, ledger: Ledger | None, found: _Found
    ) -> None:
        self.strict = strict
        self.expect = expect
        self.steps = found.steps
        self.has_stepped_back = False
        self.called: weakref.WeakValueDictionary[int, Module] = weakref.WeakValueDictionary()
        self.known: dict[int, weakref.ref[Module]] = {}
        self._level = level
        self._found = found
        self._is_counting = self.counts_calls
        self._repeats: dict[tuple[Any, ...], Finding] = {}
        self._of_optimizer: tuple[Finding, ...] = ()
        steps = None if level == "deep" else self.steps
        self.layers = Layers(steps, ledger=ledger, sink=self._saw, failed=self.step_back)

    def step_back(self, error: Exception) -> None:
        """What fails in a guard is no business of the program."""
        self.stop(f"this is a bug of devlint: {type(error).__name__}: {error}")

    def stop(self, reason: str) -> None:
        """Sees nothing from now on, and warns of that once, unless without a reason; it still explains how it ends."""
        if self.has_stepped_back:
            return
        self.has_stepped_back = True
        self.layers.end()
        active.refresh()
        if not reason:
            return
        caller = None
        with contextlib.suppress(Exception):  # what has failed may be what finds the user's line
            caller = user_frame(sys._getframe())
        file, line = ("<devlint>", 1) if caller is None else (caller.f_code.co_filename, caller.f_lineno)
        text = f"the guard stops looking, {reason}"
        with contextlib.suppress(DevlintWarning):  # where warnings are errors, the program goes on all the same
            warnings.warn_explicit(text, DevlintWarning, file, line, registry={})

    @property
    def counts_calls(self) -> bool:
        """Whether modules that no other one calls are looked through, or their calls end steps that matter."""
        return self.steps.number < FIRST_STEPS or (self._level == "adaptive" and not self.steps.are_over)

    @property
    def looks_at_optimizers(self) -> bool:
        """Whether the state of optimizers is looked at, or their operators may be passed over."""
        return self._is_counting or self._level == "deep"

    # --- modules ---

    def mismatched(self, mismatch: Mismatch, frame: FrameType, roots: Roots) -> None:
        """A module was called with what does not go together, and PyTorch has let it pass."""
        key = _repeat_key(mismatch, frame)
        finding = self._repeats.get(key)
        if finding is None:
            finding = self._repeats[key] = replace(finding_of(mismatch, frame, roots), suspect=False)
        self._found.take(finding)

    def failed(self, error: Exception, module: Module, roots: Roots) -> bool:
        """The call of a module has raised; returns whether that was about devices, and is told for the first time."""
        improve = functools.partial(self._improved, None, module, roots)
        return not isinstance(error, GuardError) and annotate(error, roots, improve) is not None

    def refused(self, error: Exception, mismatch: Mismatch, frame: FrameType, roots: Roots) -> None:
        """PyTorch has refused what does not go together in a module; a finding, even if the program handles it."""
        foretold = finding_of(mismatch, frame, roots)
        if self._explain(error, roots, foretold, mismatch.module):
            self._found.note(foretold, self._found.suspects)

    def suspected(self, mismatch: Mismatch, frame: FrameType, roots: Roots) -> None:
        """What may be the reason why a call has failed."""
        self._found.note(finding_of(mismatch, frame, roots), self._found.suspects)

    def module_called(self, module: Module, frame: FrameType) -> None:
        """Looks a module through that is called for the first time, and counts the calls that end steps."""
        if has_parameters(module):
            self.layers.module_called()
        if self.called.get(id(module)) is not module and self.steps.number < FIRST_STEPS:
            self.called[id(module)] = module
            entry = active.responsible(module)
            if entry is not None and entry.receiver is self and not entry.owns(module):
                # What does not go together in a module is told of when PyTorch was asked to combine it.
                audited = audit_called(module, frame, self.expect)
                self._found.take(*(replace(one, suspect=one.suspect or one.code != "DEV603") for one in audited))
        self.steps.module_called(module)
        self._stepped()

    # --- operators ---

    def _saw(self, finding: Finding) -> Ended | None:
        """The operators show something, perhaps in a module of another guard.

        Returns what takes it once PyTorch has let the operator pass; None if the module level tells of it.
        """
        called = modules_on(sites_above(sys._getframe()))
        if called and any(called[-1] is one for one in active.awaited_modules()):
            return None
        entry = active.responsible(called[-1] if called else None)
        receiver = self if entry is None else entry.receiver
        assert isinstance(receiver, _Watching)
        return functools.partial(receiver._ended, finding, {} if entry is None else entry.roots)

    def _ended(self, finding: Finding, roots: Roots, error: Exception | None) -> None:
        """An operator has ended that the operators level has shown something of."""
        with Undisturbed(self.step_back):
            if error is None:
                if self._found.tells(finding):
                    self._found.take(finding)
            elif user_frame(sys._getframe()) is not None:
                # In a thread of the autograd engine the error has yet to reach the frames that explain it.
                self._explain(error, roots, finding)

    # --- errors ---

    def _explain(self, error: Exception, roots: Roots, foretold: Finding, module: Module | None = None) -> bool:
        """Explains an error that was foretold, and keeps that; returns whether it has. The error goes on its way."""
        if isinstance(error, GuardError):
            return False
        finding = annotate(error, roots, functools.partial(self._improved, foretold, module, roots))
        if finding is not None:
            self._found.take_refused(finding)
        return finding is not None

    def _improved(self, foretold: Finding | None, module: Module | None, roots: Roots, finding: Finding) -> Finding:
        """The explanation of an error, or what was foretold or suspected, where only that names the value to move."""
        if not _names_a_value(finding):
            suspects = (one for one in list(self._found.suspects.values()) if one.module == finding.module != "")
            for known in (*filter(None, [foretold]), *suspects):
                if _names_a_value(known):
                    return replace(
                        known, place=finding.place, pytorch=finding.pytorch, ranks=finding.ranks, suspect=False
                    )
        named = {**roots_on(sites_above(sys._getframe())), **roots}
        return finding if module is None else with_ties(finding, module, named)

    # --- steps ---

    def optimizer_steps(self, optimizer: Optimizer, is_alone: bool, roots: Roots) -> None:
        """Looks at the state of an optimizer in the first steps; it is alone if it is given no closure to call."""
        if self.steps.number < FIRST_STEPS:
            self._of_optimizer = tuple(state_elsewhere(optimizer, sys._getframe(1), roots))
        if is_alone:
            self.layers.optimizer_steps(optimizer)

    def optimizer_stepped(self) -> None:
        """PyTorch has let pass what was found before the step."""
        found, self._of_optimizer = self._of_optimizer, ()
        self._found.take(*found)
        self.steps.optimizer_stepped()
        self._stepped()

    def _stepped(self) -> None:
        settled = self.layers.step()
        if settled and self._is_counting and not self.counts_calls:
            self._is_counting = False
            if self._level == "adaptive":
                self._get_to_know()
            active.refresh()

    def _get_to_know(self) -> None:
        """Notes the modules seen so far, for as long as they live, but for those without data.

        For the others, PyTorch itself refuses a tensor on another device if it has data.
        """
        for module in (one for called in self.called.values() for one in modules_in(called)):
            if all(has_data(value.tensor) for value in compared_tensors(module)):
                # `pop` takes the reference that is gone for its default.
                self.known[id(module)] = weakref.ref(module, functools.partial(self.known.pop, id(module)))


@overload
def guarded(function: Function, /) -> Function: ...


@overload
def guarded(function: None = None, /, **options: Any) -> Callable[[Function], Function]: ...


def guarded(function: Callable[..., Any] | None = None, /, **options: Any) -> Any:
    """Decorates a function: each call is guarded, and paths begin with the modules that it is called with.

    Args:
        function: it; left out where there are options, `@guarded(mode="warn")`.
        options: those of `Guard`.

    Raises:
        GuardUsageError: an option has a value that it cannot have.
    """
    if function is None:
        return functools.partial(guarded, **options)
    guard = Guard(**options)
    signature = inspect.signature(function)

    @functools.wraps(function)
    def guarded_function(*args: Any, **kwargs: Any) -> Any:
        try:
            given = signature.bind(*args, **kwargs).arguments
        except TypeError:  # Python itself says it better
            given = {}
        guard.enter({name: value for name, value in given.items() if isinstance(value, Module)})
        with contextlib.ExitStack() as ends:
            ends.push(guard)
            return function(*args, **kwargs)

    return guarded_function


def _names_a_value(finding: Finding) -> bool:
    """Whether the value to blame has a name of the program's and is on one device: it is no module that is split."""
    blamed = next((one for one in finding.operands if one.blamed), None)
    return blamed is not None and bool(blamed.name) and blamed.role is not Role.UNKNOWN and " and " not in blamed.device


# --- options ------------------------------------------------------------------------------------------------


def _demand(condition: bool, problem: str) -> None:
    if not condition:
        raise GuardUsageError(problem)


def _device(text: str | torch.device | None) -> torch.device | None:
    try:
        return None if text is None else torch.device(text)
    except RuntimeError as error:
        raise GuardUsageError(f"expect={text!r}: {error}") from None


def _repeat_key(mismatch: Mismatch, frame: FrameType) -> tuple[Any, ...]:
    """Equal for one mismatch, seen again: what a report would say is not worked out twice."""
    devices = tuple((name, tensor.device) for name, tensor, _ in (*mismatch.own, *mismatch.given))
    caller = user_frame(frame)
    place = None if caller is None else (caller.f_code, caller.f_lasti)
    return id(mismatch.module), devices, place
