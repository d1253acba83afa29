"""The order of all steps: files, then the bodies that they define, each executed for every caller."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from typing import Final, final

from devlint.frontend import ir
from devlint.inference.calls.apply import call_function
from devlint.inference.calls.attributes import read, write
from devlint.inference.calls.evaluation import evaluate
from devlint.inference.calls.items import iterated
from devlint.inference.calls.substitution import Substitution
from devlint.inference.calls.target import call_value
from devlint.inference.entries import callers, clients
from devlint.inference.execute.expressions import operate
from devlint.inference.execute.statements import block
from devlint.inference.files import DONE, NEW, RUNNING, Files, Loaded
from devlint.inference.requirements.machines import settle
from devlint.inference.requirements.propagate import hand_on
from devlint.inference.state.frame import (
    NOBODY,
    SOME_TEST,
    Arguments,
    Engine,
    Frame,
    Oracle,
    Recorder,
    is_mark,
)
from devlint.inference.state.heap import Heap, parts
from devlint.inference.state.summary import Summary
from devlint.inference.state.where import FIRST_DEVICE, PROCESS_STATE, current_device
from devlint.inference.stubs import Stubs
from devlint.inference.summaries.cases import Summaries
from devlint.inference.text.captured import captured
from devlint.inference.text.members import read_of_self
from devlint.inference.text.unread import unread_results
from devlint.inference.values.code import Body, ClassCode, FileCode
from devlint.inference.values.data import CODE as CODE_OF
from devlint.inference.values.data import DISCARDED, Answer, Code, Finding, Place, Question
from devlint.inference.values.joins import join
from devlint.inference.values.objects import (
    MODULE,
    ClassValue,
    FileValue,
    Function,
    Instance,
    Library,
    file_value,
    function,
)
from devlint.inference.values.tensors import CPU, device
from devlint.inference.values.terms import (
    BACKEND,
    DEVICE,
    ENVIRONMENT_OF,
    GLOBAL,
    NO_DEVICE,
    UNKNOWN,
    Constant,
    Root,
    Symbol,
    Value,
    constant,
    root,
)
from devlint.project import Project, Source
from devlint.torchlib.catalogue import Catalogue


@final
class OfObjects(Oracle):
    """Tells a body the objects and closures of its file, not its flags and tables, which may be others at a call."""

    __slots__ = ("_puts_in",)

    def __init__(self, puts_in: Substitution) -> None:
        self._puts_in = puts_in

    def answer(self, question: Question) -> Answer:
        """See `Oracle`."""
        answer = self._puts_in.answer(question) if question.kind == CODE_OF else None
        if not isinstance(answer, Code):
            return None
        is_closure = isinstance(answer.what, Body) and bool(answer.what.around)
        is_object = answer.kind == "object" or (isinstance(answer.what, tuple) and answer.what[0] == MODULE)
        return answer if is_closure or is_object or _is_captured(question.term) else None


def _is_settled(heap: Heap, value: Function) -> bool:
    """Whether a closure uses code and literals alone, and never binds them anew."""
    function, fields = value.body.function, heap.fields(value.environment)
    held = [each for each in fields.values() if not (isinstance(each, CODE) and each.is_fixed)]
    return function is not None and not function.nonlocal_names and bool(fields) and not held


def _is_captured(value: Value) -> bool:
    """Whether a symbol is a variable that a closure uses."""
    while isinstance(value, Symbol):
        if value.field is ENVIRONMENT_OF:
            return True
        value = value.parent
    return False


RECURSION_LIMIT: Final = 20_000
CODE: Final = (Function, ClassValue, Library, FileValue, Constant)
"""The kinds of values that a global may have directly, without a symbol."""


class Solver(Engine):
    """The analysis of one project.

    Args:
        project: finds and reads its files.
        catalogue: the signatures of libraries.
        recorder: keeps what the executions claim; None for an analysis that only reports.

    Attributes:
        summaries: of the bodies that files define.
    """

    def __init__(self, project: Project, catalogue: Catalogue, recorder: Recorder | None = None) -> None:
        super().__init__(Stubs(catalogue), recorder)
        self._files = Files(project)
        self._by_module: dict[str, Loaded] = {}
        self.summaries = Summaries(self)
        self._bodies: dict[ir.Function, Body] = {}
        self._tops: dict[FileCode, Body] = {}
        self._classes: dict[tuple[ir.Class, tuple[Value, ...]], ClassCode] = {}
        self._defaults: dict[tuple[Body, str], Value] = {}
        self._own: dict[Body, dict[Finding, None] | None] = {}
        self._asked: set[tuple[FileCode, str]] = set()
        self._revealed: dict[Place, tuple[Oracle, Body, Value, Value]] = {}
        self._of_entry: Oracle = NOBODY

    def check(self, sources: Iterable[Source]) -> list[Finding]:
        """Return the findings of some files, each executed as a program, and of the bodies that the files define."""
        before = sys.getrecursionlimit()
        sys.setrecursionlimit(max(before, RECURSION_LIMIT))
        try:
            return self._check(sources)
        finally:
            sys.setrecursionlimit(before)

    def frame_of(self, source: Source) -> Frame | None:
        """Return the execution of a file that was checked."""
        loaded = self._files.load(source)
        return None if loaded is None else loaded.frame

    def revealed(self) -> Iterator[tuple[Place, Value, Value]]:
        """Yield the place of each call of `reveal_device`, the device of its argument, and the current CUDA device."""
        for place, (_, body, where, current) in self._revealed.items():
            yield place, self.in_new_process(body, where), current

    @property
    def current(self) -> Value:
        """The current CUDA device, if no code of the project changes it."""
        return device("cuda") if self.changes_current else FIRST_DEVICE

    def in_new_process(self, body: Body, value: Value) -> Value:
        """Return a value of a body that no code of the project calls, as it is after all files were executed."""
        return Substitution(self._entry(body.file, self._default), {}, body.scope.span).value(value)

    def _check(self, sources: Iterable[Source]) -> list[Finding]:
        for source in sources:
            loaded = self._files.load(source)
            if loaded is not None:
                self._run(loaded)
        while len(self._bodies) > len(self._own):
            for body in list(self._bodies.values())[len(self._own) :]:
                self._own[body] = None
                self.summaries.summary(body, NOBODY)
        found: dict[Finding, None] = {}
        for loaded in self._files.all():
            if loaded.frame is not None:
                found.update(loaded.frame.findings)
        bodies = list(self._bodies.values())
        called = self.demand.called()
        tests = [each for each in bodies if callers.is_test(each) and each not in called]
        for body in [*tests, *self.demand.commands]:
            found.update(self._of_its_own(body))
        called = self.demand.called()
        for body in bodies:
            found.update(self.summaries.of(body).findings)
            if body not in called or (callers.is_of_object(body) and self._discards(body)):
                found.update(self._of_its_own(body))
        return list(found)

    def of_clients(self) -> list[Finding]:
        """Return the findings of clients, which use the classes of modules and the functions of all checked files."""
        demand = self.demand
        made = demand.made_by_programs()
        found: list[Finding] = []
        demand.is_paused = True
        for code in self._classes.values():
            if code.is_module:
                is_left = code in made and code not in demand.moved
                is_wanted = code.file.is_of_library and demand.moves_something and not is_left
                found += clients.of_module(self._entry(code.file, self._default), code, is_wanted)
        for body in self._bodies.values():
            if clients.is_public(body) and not body.file.is_test:
                found += clients.of_function(self._entry(body.file, self._default), body)
        demand.is_paused = False
        return found

    def _discards(self, body: Body) -> bool:
        """Whether a body discards a move of something that may be a tensor."""
        generic = self.summaries.of(body).generic
        return generic is not None and any(each.kind == DISCARDED for each in generic.requirements)

    def _of_its_own(self, body: Body) -> dict[Finding, None]:
        """Return the findings of a body that no code of the project calls, after all files have set their globals.

        The default device is the one of a new process, unless some code of the project changes it.
        """
        known = self._own.get(body)
        if known is not None:
            return known
        frame = self._entry(body.file, self._default)
        is_own = body.owner is not None and body.scope.name.rpartition(".")[2] in read_of_self(body.owner.scope)
        frame.path = (SOME_TEST,) if is_own else body.conditions  # other methods may test before they call it
        if body in self.demand.commands:
            callers.run_command(frame, body)
        elif callers.is_test(body) or callers.is_of_object(body):
            callers.run(frame, body)
        else:
            puts_in = Substitution(frame, {}, body.scope.span)
            self._of_entry = OfObjects(puts_in)
            for requirement in self.summaries.summary(body, self._of_entry).requirements:
                needed = puts_in.requirement(requirement)
                if needed is not None:
                    hand_on(frame, needed, None)
        settle(frame)
        self._own[body] = frame.findings
        return frame.findings

    @property
    def _default(self) -> Value:
        """The default device of an entry that is executed after all files."""
        return UNKNOWN if self.changes_default else CPU

    def _entry(self, file: FileCode, default: Value) -> Frame:
        """Return the frame of an entry that is executed after all files."""
        body = self._tops.get(file)
        if body is None:
            unread = unread_results(file.scope)
            body = self._tops[file] = Body(file, file.scope, None, None, frozenset(), frozenset(), unread)
        frame = Frame(self, body, NOBODY, Heap())
        frame.heap.put(PROCESS_STATE, DEVICE, default)
        frame.heap.put(PROCESS_STATE, BACKEND, NO_DEVICE)
        return frame

    # --- files ------------------------------------------------------------------------------------------------

    def _run(self, loaded: Loaded) -> None:
        """Execute a file once; the result does not depend on the file that imports it first."""
        if loaded.progress != NEW:
            return
        loaded.progress = RUNNING
        self._by_module[loaded.code.module] = loaded
        loaded.frame = self._entry(loaded.code, CPU)
        before = self.summaries.apart()
        block(loaded.frame, loaded.code.scope.body)
        settle(loaded.frame)
        self.summaries.back(before)
        loaded.progress = DONE

    def _name(self, loaded: Loaded, name: str) -> Value:
        """Return the value of a name of a file; while the file is running, also a later definition."""
        self._run(loaded)
        found = loaded.names.get(name)
        if found is None and loaded.progress == RUNNING:
            found = self._early(loaded, name)
        return UNKNOWN if found is None else found

    def _early(self, loaded: Loaded, name: str) -> Value | None:
        """Return a definition that a running file has not come to yet."""
        found = loaded.definition(name)
        if loaded.frame is None or found is None:
            return None
        if isinstance(found, ir.ImportFrom):
            return self._imported_early(loaded, loaded.frame, found)
        return function(self.body_of(loaded.frame, found.function))

    def _imported_early(self, loaded: Loaded, frame: Frame, found: ir.ImportFrom) -> Value | None:
        """Return the value of a later import of a running file; None if two imports lead to each other."""
        asked = (loaded.code, found.name)
        if asked in self._asked:
            return None
        self._asked.add(asked)
        value = self.imported(frame, loaded.code, found.module, found.member, found.level)
        self._asked.discard(asked)
        return value

    def global_of(self, frame: Frame, file: FileCode, name: str) -> Value:
        """See `Engine`."""
        loaded = self._by_module[file.module]
        if name not in file.scope.local_names:
            return self._from_stars(frame, loaded, name)
        if frame.body.function is None and frame.body.file is file:
            return self._early(loaded, name) or UNKNOWN
        return self._seen_from_outside(frame, loaded, name)

    def _seen_from_outside(self, frame: Frame, loaded: Loaded, name: str) -> Value:
        """Return a global for a body: its value if it is code or a constant that is bound once, else `global_value`."""
        if loaded.code.is_stored_once(name):
            value = self._name(loaded, name)
            if (isinstance(value, CODE) and value.is_fixed) or value is UNKNOWN:
                return value
            if isinstance(value, Function) and _is_settled(loaded.heap, value):
                self._adopt(frame, loaded, value)
                return value
        return self.global_value(frame, root(GLOBAL, name, constant(loaded.code.module)))

    def global_value(self, frame: Frame, symbol: Root) -> Value:
        """See `Engine`."""
        module = symbol.place
        loaded = self._by_module.get(str(module.value)) if isinstance(module, Constant) else None
        if loaded is None or frame.body.function is not None:
            return symbol
        if loaded.frame is frame:
            return frame.state.names.get(symbol.name, UNKNOWN)
        if symbol.name in loaded.code.scope.rebound:
            return UNKNOWN
        value = self._name(loaded, symbol.name)
        self._adopt(frame, loaded, value)
        return value

    def _adopt(self, frame: Frame, loaded: Loaded, value: Value) -> None:
        """Copy the fields of all objects of another file that a value reaches."""
        waiting, seen = [value], set()
        while waiting:
            each = waiting.pop()
            if each in seen:
                continue
            seen.add(each)
            if isinstance(each, Instance):
                is_known = bool(frame.heap.fields(each))
                for field, held in loaded.heap.fields(each).items():
                    if not is_known:
                        frame.heap.put(each, field, held)
                    waiting.append(held)
            else:
                waiting.extend(parts(each))

    def _from_stars(self, frame: Frame, loaded: Loaded, name: str) -> Value:
        """Return the value of a name that `from module import *` binds."""
        if name.startswith("_"):
            return UNKNOWN
        for each in reversed(loaded.stars):
            module = _absolute(loaded.code, each.module, each.level)
            target = self._files.find(module, loaded.source)
            if target is not None and name in target.code.scope.local_names:
                self._run(target)
                return self._seen_from_outside(frame, target, name)
            if target is not None and (target.code, name) not in self._asked:
                self._asked.add((target.code, name))
                found = self._from_stars(frame, target, name)
                self._asked.discard((target.code, name))
                if found is not UNKNOWN:
                    return found
            full = f"{module}.{name}"
            if target is None and (self.stubs.function(full) or self.stubs.class_(full) is not None):
                return self.stubs.named(full)
        return UNKNOWN

    def set_global(self, frame: Frame, name: str, value: Value) -> None:
        """See `Engine`."""
        return

    def imported(self, frame: Frame, file: FileCode, module: str, member: str, level: int) -> Value:
        """See `Engine`."""
        importer = self._by_module[file.module]
        name = _absolute(file, module, level)
        target = self._files.find(name, importer.source) if name else None
        if not member:
            return self.stubs.named(name) if target is None else self._module(target)
        if target is not None and target.code is not file and member in target.code.scope.local_names:
            self._run(target)
            return self._seen_from_outside(frame, target, member)
        inner = self._files.find(f"{name}.{member}", importer.source) if name else None
        if inner is not None:
            return self._module(inner)
        return self._from_stars(frame, target, member) if target is not None else self.stubs.named(f"{name}.{member}")

    def _module(self, loaded: Loaded) -> Value:
        self._run(loaded)
        return file_value(loaded.code)

    def member(self, frame: Frame, file: FileCode, name: str) -> Value:
        """See `Engine`."""
        loaded = self._by_module[file.module]
        if name in file.scope.local_names:
            return self._seen_from_outside(frame, loaded, name)
        inner = self._files.find(f"{file.module}.{name}", loaded.source)
        return self._module(inner) if inner is not None else self._from_stars(frame, loaded, name)

    # --- code -------------------------------------------------------------------------------------------------

    def body_of(self, frame: Frame, function: ir.Function) -> Body:
        """See `Engine`."""
        found = self._bodies.get(function)
        if found is None:
            outer = frame.body
            owner = frame.namespaces[-1][0] if frame.namespaces else None
            around = outer.around | outer.scope.local_names if outer.function is not None else frozenset[str]()
            around -= outer.scope.global_names
            is_inner = outer.function is not None and owner is None
            found = Body(
                outer.file,
                function,
                function,
                owner or outer.owner,
                around,
                captured(function, around),
                unread_results(function),
                outer.conditions if is_inner else (*outer.conditions, *_tests(frame)),
            )
            self._bodies[function] = found
        return found

    def class_of(self, frame: Frame, scope: ir.Class, bases: tuple[Value, ...]) -> ClassCode:
        """See `Engine`."""
        found = self._classes.get((scope, bases))
        if found is None:
            codes = tuple([each.code for each in bases if isinstance(each, ClassValue)])
            libraries = tuple([each.name for each in bases if isinstance(each, Library)])
            is_open = len(codes) + len(libraries) < len(bases)
            is_module = any(map(self.stubs.is_module_class, libraries))
            found = ClassCode(frame.body.file, scope, codes, libraries, is_open, is_module)
            self._classes[scope, bases] = found
        return found

    def default(self, body: Body, name: str) -> Value:
        """See `Engine`."""
        return self._defaults.get((body, name), UNKNOWN)

    def set_default(self, body: Body, name: str, value: Value) -> None:
        """See `Engine`."""
        self._defaults[body, name] = (
            value if (body, name) not in self._defaults else join(self._defaults[body, name], value)
        )

    # --- calls ------------------------------------------------------------------------------------------------

    def call(self, frame: Frame, callee: Value, arguments: Arguments, span: ir.Span) -> Value:
        """See `Engine`."""
        return call_value(frame, callee, arguments, span) if frame.is_live else UNKNOWN

    def call_function(self, frame: Frame, called: Function, arguments: Arguments, span: ir.Span) -> Value:
        """See `Engine`."""
        return call_function(frame, called, arguments, span)

    def read(self, frame: Frame, owner: Value, name: str, span: ir.Span) -> Value:
        """See `Engine`."""
        return read(frame, owner, name, span)

    def write(self, frame: Frame, owner: Value, name: str, value: Value, span: ir.Span) -> None:
        """See `Engine`."""
        write(frame, owner, name, value, span)

    def iterated(self, frame: Frame, value: Value, span: ir.Span) -> Value:
        """See `Engine`."""
        return iterated(frame, value, span)

    def operate(self, frame: Frame, sign: str, left: Value, right: Value, span: ir.Span) -> Value:
        """See `Engine`."""
        return operate(frame, sign, left, right, span)

    def evaluate(self, frame: Frame, name: str, arguments: tuple[Value, ...], span: ir.Span) -> Value:
        """See `Engine`."""
        return evaluate(frame, name, arguments, span)

    def reveal(self, frame: Frame, where: Value, span: ir.Span) -> None:
        """See `Engine`."""
        place = frame.place(span)
        if frame.oracle is NOBODY or frame.oracle is self._of_entry:
            known = self._revealed.get(place)
            if known is not None and known[0] is frame.oracle:
                where = join(where, known[2])
            self._revealed[place] = frame.oracle, frame.body, where, current_device(frame)

    def summary(self, body: Body, oracle: Oracle) -> Summary:
        """See `Engine`."""
        return self.summaries.summary(body, oracle)


def _tests(frame: Frame) -> Iterator[Value]:
    """Yield the tests under which a frame defines a function."""
    for each in frame.every_test():
        if each is SOME_TEST or not is_mark(each):
            yield each if each.is_fixed else SOME_TEST


def _absolute(file: FileCode, module: str, level: int) -> str:
    """Return the absolute name of a module that an import names."""
    if not level:
        return module
    package = file.package.split(".") if file.package else []
    kept = package[: len(package) - (level - 1)]
    return ".".join([*kept, *([module] if module else [])])
