"""What outlives one execution: the files of the program, what they bind, summaries and recorded facts.

A file is executed twice from top to bottom: first to know what its names hold at the end, which is what its
functions will see, then with recording. After that every function and method of it is executed for an entry
of which only the declaration is known, and once more if that has shown what its parameters are used as.
Other files are executed when an import asks for them, and report nothing.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from dataclasses import replace

from devlint.analysis.demand.callers import ByPlace, CallSite, Followed
from devlint.analysis.demand.listening import Listener, Roles
from devlint.analysis.demand.recorder import Recorder
from devlint.analysis.execution.budget import Budget
from devlint.analysis.execution.frame import Frame, InferredKinds
from devlint.analysis.execution.questions import Asker
from devlint.analysis.execution.steps import Steps
from devlint.analysis.files import Files
from devlint.analysis.findings import (
    client,
    device_not_forwarded,
    unregistered_members,
)
from devlint.analysis.index import classes, imports, later_moves
from devlint.analysis.index.free_names import read_inside
from devlint.analysis.index.loaded_file import LoadedFile
from devlint.analysis.interpreter import bodies
from devlint.analysis.interpreter.data_loading import LOADER_FOR_A_DEVICE
from devlint.analysis.interpreter.statements import execute
from devlint.analysis.shape import attribute_stores, self_object
from devlint.analysis.summary.outcome import summary_of
from devlint.analysis.summary.roots import Calls, Making, Root
from devlint.analysis.summary.substitution import handed_in, with_questions, without_passed
from devlint.analysis.values import modules
from devlint.domain.body import Body
from devlint.domain.device import CPU, UNKNOWN_DEVICE, Device
from devlint.domain.environment import Environment
from devlint.domain.given import plain_named
from devlint.domain.heap import Heap, Object
from devlint.domain.summary import Entry, Summary
from devlint.domain.value import (
    UNKNOWN,
    Closure,
    DeviceValue,
    Globals,
    ObjectId,
    Reference,
    UserClass,
    Value,
    is_same_everywhere,
)
from devlint.errors import SourceError
from devlint.frontend import ir
from devlint.project import Project, Source
from devlint.reads import REPORTS, Part
from devlint.torchlib.catalogue import Catalogue
from devlint.torchlib.signature import DeviceTerm

_CHOSEN = re.compile(r"(\w*(to|try|use|on)_)?(cuda|gpu|gpus)")
"""Who calls a function of such a name has chosen CUDA: `move_to_cuda`, `cuda`, `gpu`."""


_TORCH = re.compile("torch")

RECURSION_PASSES = 4
"""How often a recursive function is executed before its result is given up."""


class Program(Files):
    """See the module's text.

    Args:
        project: finds and reads files.
        catalogue: what is known of libraries.
        devices: how many CUDA devices to assume; None: as many as the program asks for.
        too_long: the files that take too long to analyse: imports of them are not followed.

    Attributes:
        steps: counts what is executed.
    """

    def __init__(
        self,
        project: Project,
        catalogue: Catalogue,
        devices: int | None,
        *,
        too_long: Collection[str] = (),
    ) -> None:
        super().__init__(project, catalogue, too_long)
        self.devices = devices
        self.recorder = Recorder(self.place, Roles(project, self.importers, self.source_of))
        self.steps = Steps()
        self._listener = Listener(self.recorder, self.importers, self.source_of, self._look)
        self.observing = False
        self.subjects: set[str] = set()
        """What has chosen a path on which something is a stray, anywhere so far."""
        self._root = Root()
        self._analysed: set[ir.Function] = set()
        self._incomplete: list[LoadedFile] = []

    # --- files ----------------------------------------------------------------------------------------------

    def _load(self, source: Source) -> LoadedFile:
        scope = self.lowered(source)
        self.project.note_parts(source, scope.parts)
        # A function that binds a name anew may run before a reader of the name, or after it.
        names: dict[str, Value] = dict.fromkeys(scope.rebound, UNKNOWN)
        loaded = LoadedFile(source, scope, Globals(source.display, source.module, names), source.text.split("\n"))
        loaded.read_inside = read_inside(scope)
        loaded.imports_default = imports.choose_default(self.project, source, scope.body)
        loaded.other_type = self.is_said_in_program(source, imports.SETS_TYPE)
        loaded.other_default = (
            loaded.imports_default
            or loaded.other_type
            or self.project.says(source, LOADER_FOR_A_DEVICE)
            or self.is_said_in_program(source, imports.SETS_DEVICE)
        )
        self._files[source.display] = loaded
        self._loading.append(loaded)
        with self._as_root(), self.steps.of(source.display):
            self._run_file(loaded, recording=False)
        self._loading.pop()
        self._incomplete.append(loaded)
        if not self._loading:
            while self._incomplete:
                self.forget_conclusions(self._incomplete.pop().source.display)
        return loaded

    @contextmanager
    def _as_root(self) -> Iterator[None]:
        """Count what is done meanwhile for itself; see `roots`."""
        before, self._root = self._root, Root()
        try:
            yield
        finally:
            self._root = before

    def _run_file(self, loaded: LoadedFile, *, recording: bool) -> None:
        loaded.functions.clear()
        loaded.classes.clear()
        frame = Frame(self, loaded.scope, loaded.globals, {}, None, "", recording, InferredKinds())
        default = UNKNOWN_DEVICE if loaded.imports_default else CPU
        after = execute(frame, loaded.scope.body, Environment(default=default))
        if after is not None:
            device_not_forwarded.note_unforwarded(frame, after)
            loaded.globals.names.update({**after.names, **dict.fromkeys(loaded.scope.rebound, UNKNOWN)})
            loaded.default, loaded.checked = after.default, after.checked
            loaded.process = after.process
            loaded.default_device_callees |= frame.default_device_callees
            loaded.heap = self._seen_by_functions(frame, loaded, after)

    def _seen_by_functions(self, frame: Frame, loaded: LoadedFile, after: Environment) -> Heap:
        """The objects of a file as its functions find them: a module that some function may move is anywhere."""
        for name, value in after.names.items():
            on_cpu = modules.is_module(frame, after, value) and modules.module_device(frame, after, value)[0] == CPU
            if on_cpu and isinstance(value, Reference):
                handed_on = rf"^\s.*(\b{name}\s*\.\s*(to|cuda|xpu|mps|apply)\s*\(|[(,=*]\s*{name}\s*[,)])"
                if self.project.says(loaded.source, re.compile(handed_on, re.MULTILINE)):
                    modules.place_object(frame, after, value, UNKNOWN_DEVICE, None)
        return after.heap

    def drop(self, file: str) -> None:
        """Drop a file, the facts about the file, and the calls in the file."""
        self.unload(file)
        self.recorder.drop(file)

    def report(self, source: Source, *, observing: bool = False) -> None:
        """Records the facts of a file, of its body and of all functions in it; `observing`: also each value.

        With those of the functions that it calls and inside which values meet: what they tell is not told of the call.
        """
        with self.project.reads.computing(Part(source.display, REPORTS)):
            self.make_room()
            with self.steps.of(source.display):
                self._record(source, observing=observing)
                for file in sorted(self.recorder.called_files(source.display)):
                    called = self.source_of(file)
                    if called is not None:
                        self._record(called, observing=False)
            self._listener.listen(source.display)

    def _look(self, source: Source) -> bool:
        """Execute a file that may hold calls, and record its facts; the result says whether that was possible."""
        if source.display in self._too_long:
            return False
        try:
            self.make_room()
            with self.steps.of(source.display):
                self._record(self.project.source(source.path), observing=False)
        except (SyntaxError, SourceError):
            return False
        return True

    def _record(self, source: Source, *, observing: bool) -> None:
        part = Part(source.display, REPORTS)
        self.project.reads.note(part)
        if source.display in self.recorder.files and not observing:
            return
        loaded = self.load(source)
        self.recorder.files.add(source.display)
        self.observing = observing
        with self._as_root(), self.project.reads.computing(part):
            while not self._report(loaded):
                self.recorder.forget(source.display)

    def _report(self, loaded: LoadedFile) -> bool:
        """Whether the default devices that functions were taken to be called with were those of their calls."""
        self._analysed.clear()
        self._run_file(loaded, recording=True)
        taken = True
        index = 0
        # Functions inside functions are found while those are analysed.
        while index < len(loaded.functions) or loaded.classes:
            while loaded.classes:
                cls, methods = loaded.classes.pop(0)
                self._find_methods(loaded, cls, methods)
                self._note_members(loaded, cls)
            if index < len(loaded.functions):
                closure, owner = loaded.functions[index]
                index += 1
                found = self._analyse(loaded, closure, owner) - loaded.default_device_callees
                taken = taken and self._analysed.isdisjoint(found)
                loaded.default_device_callees |= found
        return taken

    def _find_methods(self, loaded: LoadedFile, cls: UserClass, methods: Sequence[Closure]) -> None:
        for value in (*cls.attributes.values(), *methods):
            if isinstance(value, Closure):
                loaded.functions.append((value, cls))

    def _note_members(self, loaded: LoadedFile, cls: UserClass) -> None:
        outside = self._outside(loaded)
        frame = replace(outside, recording=True)
        generic = self.generic(outside, cls)
        if generic is not None:
            unregistered_members.note_members(frame, cls, generic.heap, generic.value.object)

    def _analyse(self, loaded: LoadedFile, closure: Closure, owner: UserClass | None) -> set[ir.Function]:
        """Executes a function for an entry of which only the declaration is known, and records its facts.

        The functions that are called meanwhile where another device is the default are the result.
        """
        function = closure.function
        if function in self._analysed:
            return set()
        self._analysed.add(function)
        proofs = InferredKinds()
        functions = len(loaded.functions)
        for last in (False, True):
            self.recorder.attempt()
            frame = self._outside(loaded)
            names, env, site = self._entry(frame, loaded, closure, owner)
            chosen = _CHOSEN.fullmatch(function.name.rpartition(".")[2]) is not None
            env.process = loaded.process
            env.checked = env.checked or loaded.checked or "checked" in closure.decorated or chosen
            frame.budget.running.add(function)
            if client.takes_inputs(function, owner):
                self.recorder.demand.note_input(Body.of(closure.globals.file, function))
            outcome = bodies.run(frame, closure, owner, names, env, site=site, recording=True, proofs=proofs)
            if outcome.env is not None:
                device_not_forwarded.note_unforwarded(outcome.frame, outcome.env)
            finished = last or proofs.count == 0
            self.recorder.settle(keep=finished)
            if finished:
                return frame.default_device_callees
            # What was recorded, and which functions were found, did not yet know what has been proved.
            del loaded.functions[functions:]
            loaded.classes.clear()
        raise AssertionError("the last attempt is always kept")

    def _outside(self, loaded: LoadedFile) -> Frame:
        return Frame(self, loaded.scope, loaded.globals, {}, None, "", False, InferredKinds())

    def _asking(self, asker: Asker) -> Frame:
        """Return a frame for executions that an execution has asked for: with its depth and its budget."""
        frame = Frame(self, asker.scope, asker.globals, {}, None, "", False, InferredKinds(), asker.depth)
        frame.budget, frame.default_device_callees = asker.budget, asker.default_device_callees
        return frame

    def _entry(
        self, frame: Frame, loaded: LoadedFile, closure: Closure, owner: UserClass | None
    ) -> tuple[dict[str, Value], Environment, str]:
        bound: dict[str, Value] = {}
        default = (
            UNKNOWN_DEVICE if closure.function in loaded.default_device_callees else self.default_of(closure.globals)
        )
        env = Environment(default=default, heap=self._heap_of(closure.globals))
        env.heap.update(self.concluded[loaded.globals.file].captured.get(closure.function, {}))
        parameters = closure.function.parameters
        has_self = owner is not None and bool(parameters) and "staticmethod" not in closure.decorated
        site = ""
        if has_self and owner is not None:
            if "classmethod" in closure.decorated:
                bound[parameters[0].name] = owner
            elif closure.function.name.endswith((".__init__", ".__new__")):
                reference, heap = self._fresh(owner)
                bound[parameters[0].name] = reference
                env.heap.update(heap)
            else:
                generic = self.generic(frame, owner, closure.function.name.rpartition(".")[2])
                if generic is not None:
                    bound[parameters[0].name], env.checked = generic.value, generic.checked
                    env.heap.update(generic.heap)
        names = bodies.parameter_values(frame, closure, owner, bound, has_self)
        return names, env, site

    def _fresh(self, cls: UserClass) -> tuple[Reference, Heap]:
        """An instance before its `__init__` has run."""
        identity = ObjectId.generic(cls.globals.file, cls.name)
        return Reference(identity), Heap({identity: classes.blank(cls, self.default_of(cls.globals))})

    def generic(self, frame: Frame, cls: UserClass, method: str = "") -> self_object.SelfObject | None:
        """The instance that a method is analysed for; None while it is being made.

        A caller may have moved it, unless the method is a private part of `__init__`.
        """
        key = (cls, not (method.startswith("_") and classes.is_part_of(cls, method, "__init__")))
        known = self.concluded[cls.globals.file].generic
        with self.project.reads.computing(Part.code(cls.globals.file, cls.name)):
            if key not in known:
                self.note_looked_at(cls)
                known[key] = None
                # Not a part of the execution that happens to ask first: all others get the same.
                outside = replace(self._asking(frame), budget=Budget(), depth=0)
                made = known[key] = self_object.generic(outside, cls, moved=key[1])
                if key[1]:
                    # Meanwhile other methods find what they store themselves unknown.
                    known[key] = attribute_stores.complete(outside, cls, made)
        return known[key]

    def default_of(self, globals_: Globals) -> Device:
        """Where a function of a file creates tensors: unknown if the file is not written for the CPU by default."""
        loaded = self._files.get(globals_.file)
        if loaded is None:
            return CPU
        return UNKNOWN_DEVICE if loaded.other_default else CPU

    def may_choose_type(self, globals_: Globals) -> bool:
        """Whether the program that a file runs in may choose the type of tensors by default."""
        loaded = self._files.get(globals_.file)
        return loaded is not None and loaded.other_type

    def _heap_of(self, globals_: Globals) -> Heap:
        """The objects that the names of a file refer to."""
        loaded = self._files.get(globals_.file)
        return Heap() if loaded is None else loaded.heap.above()

    # --- summaries ------------------------------------------------------------------------------------------

    def summarise(
        self,
        asker: Asker,
        closure: Closure,
        owner: UserClass | None,
        entry: Entry,
        env: Environment,
        cls: UserClass | None = None,
    ) -> Summary | None:
        """The summary of a function for an entry; None while it is being made, or where that would go too deep."""
        function = closure.function
        self.note_looked_at(closure)
        if closure.enclosing:
            around = ((name, value if is_same_everywhere(value) else UNKNOWN) for name, value in closure.enclosing)
            closure = replace(closure, enclosing=plain_named(around))
        # A call inside one file knows the default; to another file it may have changed it meanwhile.
        same_file = closure.globals is asker.globals
        default = env.default if same_file or env.default != CPU else self.default_of(closure.globals)
        without, passed = without_passed(closure, entry)
        stories = tuple(value.origin for _, value in without if isinstance(value, DeviceValue))
        arguments = (function, without, stories, default, env.current, cls, closure.enclosing)
        try:
            of_file = self.concluded[closure.globals.file].calls
            calls = of_file.get(arguments)
            if calls is None:
                calls = of_file[arguments] = Calls(function)
            known = self._root.recall(calls, passed, asker.depth)
        except TypeError:  # a constant that cannot be hashed
            return None
        if known is not None:
            return known
        making = self._root.admit(calls, passed, asker.depth)
        if making is None:
            return None
        start = Environment(default=default, current=env.current, heap=self._heap_of(closure.globals))
        with self.executing(closure):
            return self._make(making, asker, closure, owner, entry, start, cls)

    def _make(
        self,
        making: Making,
        asker: Asker,
        closure: Closure,
        owner: UserClass | None,
        entry: Entry,
        start: Environment,
        cls: UserClass | None,
    ) -> Summary | None:
        """Make a summary that is admitted; None if the class of the first parameter is not known yet."""
        root, function = self._root, closure.function
        frame = self._asking(asker)
        bound = handed_in(with_questions(entry, making.passed, making.questions, start.heap), start.heap)
        if cls is not None and function.parameters:
            generic = self.generic(frame, cls)
            if generic is None:
                root.doubt()
                return None
            bound[function.parameters[0].name] = generic.value
            start.heap.update(generic.heap)
        names = bodies.parameter_values(frame, closure, owner, bound, cls is not None)
        outside = replace(frame, budget=Budget())
        root.begin(making)
        # A recursive call is first taken not to return, then to return what the others do, until that is stable.
        for _ in range(RECURSION_PASSES):
            outcome = bodies.run(outside, closure, owner, dict(names), start, site="")
            latest = summary_of(outcome, start)
            if making.questions.needs_object or latest.needs_object:
                return root.end(making, Summary(None, needs_object=True))
            if latest.returns == making.summary.returns or not making.is_recursive:
                return root.end(making, latest)
            making.summary = latest
            root.forget_provisional(making)
        return root.end(making, replace(making.summary, returns=UNKNOWN))

    def note_call(self, asker: Asker, env: Environment, closure: Closure, given: ByPlace, call: CallSite) -> None:
        """Notes a call of a function that a recorded execution comes to, for facts that rest on who calls it."""
        called, body = Body.of(closure.globals.file, closure.function), Body.of(asker.globals.file, asker.scope)
        self.recorder.note_call(called, env.checked, body, call.root)
        for place, found in given.items():
            self.recorder.note_argument(called, place, found, call)

    def note_followed(self, closure: Closure, call: Followed, root: str) -> None:
        """Notes how a recorded call of a function was followed."""
        self.recorder.note_followed(Body.of(closure.globals.file, closure.function), call, root)

    def takes_device(self, name: str) -> bool:
        """Whether a library function can be told where to create its result."""
        signatures = self.catalogue.function(name) or ()
        return any(
            isinstance(term, DeviceTerm)
            for form in signatures
            for parameter in form.parameters
            for term in parameter.terms
        )

    # --- definitions ----------------------------------------------------------------------------------------

    def found(self, asker: Asker, value: Value) -> None:
        """Notes a function definition that was executed; methods are noted with their class."""
        if isinstance(value, Closure) and not isinstance(asker.scope, ir.Class):
            function, file = value.function, asker.globals.file
            self.recorder.demand.note_definition(function, asker.scope, file, internal=function.is_private)
            loaded = self._files.get(asker.globals.file)
            if loaded is not None and (asker.recording or isinstance(asker.scope, ir.File)):
                loaded.functions.append((value, None))

    def as_before(self, body: ir.Class, cls: UserClass) -> UserClass:
        """The object that stands for a class; other files have imported it, and classes are compared by identity."""
        of_file = self.concluded[cls.globals.file].classes
        known = of_file.get(body)
        if known is None or (known.bases, known.attributes, known.dynamic) != (cls.bases, cls.attributes, cls.dynamic):
            known = of_file[body] = cls
        return known

    def heirs(self, cls: UserClass) -> Iterator[UserClass]:
        """Yield the classes of the same file that inherit from a class."""
        for other in tuple(self.names_in(cls.globals).values()):
            if isinstance(other, UserClass) and other.globals is cls.globals and cls in other.lineage:
                self.note_looked_at(other)
                yield other

    def found_class(self, asker: Asker, cls: UserClass, methods: Sequence[Closure]) -> None:
        """Notes a class definition that was executed, with all functions of its body."""
        is_closed = classes.has_plain_bases(cls)
        for method in methods:
            internal = is_closed and method.function.is_private
            self.recorder.demand.note_definition(method.function, asker.scope, asker.globals.file, internal=internal)
        loaded = self._files.get(asker.globals.file)
        if loaded is not None and (asker.recording or isinstance(asker.scope, ir.File)):
            loaded.classes.append((cls, methods))

    def moved_later(self, scope: ir.Scope, globals_: Globals) -> Set[ir.Span]:
        """The calls in a body of a file whose results or arguments the body moves afterwards."""
        known = self.concluded[globals_.file].moved_later
        if scope not in known:

            def moves_arguments(name: str) -> bool:
                called = self.binding(globals_, name) if name else None
                if not isinstance(called, Closure):
                    return False
                self.note_looked_at(called)
                return later_moves.moves_something(called.function)

            known[scope] = later_moves.calls_before_moves(scope.body, moves_arguments)
        return known[scope]

    def note_captured(self, file: str, function: ir.Function, objects: Mapping[ObjectId, Object]) -> None:
        """Notes the objects that an inner function of a file finds around it, whenever it is called."""
        self.concluded[file].captured[function] = objects
