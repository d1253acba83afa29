"""One execution of a body: its state, its questions with their answers, and its outcome."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final, final

from devlint.inference.state.demand import Demand
from devlint.inference.state.heap import Heap
from devlint.inference.state.summary import Summary
from devlint.inference.stubs import Stubs
from devlint.inference.values.code import Body, ClassCode, FileCode
from devlint.inference.values.data import Answer, Finding, Place, Question, Requirement
from devlint.inference.values.folding import fold, truth
from devlint.inference.values.joins import either
from devlint.inference.values.objects import Function, Instance, Site, instance, site
from devlint.inference.values.tensors import Alternatives, Source, as_test, source
from devlint.inference.values.terms import (
    BOTTOM,
    CLOSURE,
    MARK,
    NONE,
    UNKNOWN,
    UNKNOWN_RESULT,
    Root,
    Value,
    is_symbolic,
    root,
)

if TYPE_CHECKING:
    from devlint.frontend import ir

MOST_QUESTIONS: Final = 120
"""How much one execution may ask."""

MOST_REQUIREMENTS: Final = 160
"""How many requirements one execution keeps for its callers."""

MOST_PASSED: Final = 12
"""How many tests behind branches that have left a state remembers: the last ones."""

LARGEST_CONDITION: Final = 12
"""How large a test may be that a requirement remembers."""

SOME_TEST: Final = root(MARK, "some test")
"""A test that is too large, or that no term stands for."""
IN_LOOP: Final = root(MARK, "in a loop")
"""Of an operation that a loop executes any number of times."""


@final
class State:
    """The state at a point of a body.

    Attributes:
        names: the local variables.
        heap: the fields of objects.
        is_live: whether the point is reached.
        passed: tests that hold here because the paths on which they fail have left the body.
    """

    __slots__ = ("heap", "is_live", "names", "passed")

    def __init__(self, names: dict[str, Value], heap: Heap, is_live: bool, passed: tuple[Value, ...]) -> None:
        self.names = names
        self.heap = heap
        self.is_live = is_live
        self.passed = passed

    def fork(self) -> State:
        """Return a state that is the same and can change for itself."""
        return State(dict(self.names), self.heap.fork(), self.is_live, self.passed)

    def joined(self, other: State, test: Value = NONE) -> State:
        """Return the join of two states; `test` holds on the path of this one, NONE if there is no such test."""
        if not self.is_live or not other.is_live:
            return other if not self.is_live else self
        names: dict[str, Value] = {}
        for name in dict.fromkeys((*self.names, *other.names)):
            one, two = self.names.get(name), other.names.get(name)
            names[name] = two if one is None else one if two is None else either(test, one, two)  # type: ignore[assignment]
        passed = tuple([each for each in self.passed if each in other.passed])
        return State(names, self.heap.joined(other.heap, test), True, passed)

    def same_as(self, other: State) -> bool:
        """Whether two states hold the same."""
        return self.is_live == other.is_live and self.names == other.names and self.heap.same_as(other.heap)


@final
class Loop:
    """The states at the `break` and `continue` statements of a loop.

    Attributes:
        repeats: whether its body is executed for any number of turns, and not element by element.
    """

    __slots__ = ("breaks", "continues", "repeats")

    def __init__(self, repeats: bool) -> None:
        self.repeats = repeats
        self.breaks: list[State] = []
        self.continues: list[State] = []


@final
class Exit:
    """A `return`: its value, its state, and the tests of the branches around it; None inside of a loop."""

    __slots__ = ("path", "state", "value")

    def __init__(self, value: Value, state: State, path: tuple[Value, ...] | None) -> None:
        self.value = value
        self.state = state
        self.path = path


class Oracle:
    """The caller of an execution, which answers its questions."""

    def answer(self, question: Question) -> Answer:
        """Answer a question about a term; None if the answer is unknown."""
        raise NotImplementedError

    def own_answer(self, question: Question) -> Answer:
        """Answer a question with the values of the caller alone, without a question to its own caller."""
        return self.answer(question)


@final
class Nobody(Oracle):
    """An oracle without answers: the outcome holds for every caller."""

    def answer(self, question: Question) -> Answer:
        """See `Engine`."""
        return None


NOBODY: Final = Nobody()

FROZEN: Final = Nobody()
"""The oracle of an execution as it was at a call: its questions are no questions of the body any more."""

ENCLOSING: Final = root(CLOSURE, "")
"""The symbol of the variables of the functions around a body."""


@final
class Arguments:
    """The arguments of a call.

    Attributes:
        positional, named: as written, with the elements of each `*` and `**` of known length.
        spread: the value of a `*` of unknown length behind the positional ones; UNKNOWN for several; else None.
        row: the value of a `**` of unknown content; else None.
    """

    __slots__ = ("named", "positional", "row", "spread")

    def __init__(
        self,
        positional: list[Value],
        named: dict[str, Value],
        spread: Value | None = None,
        row: Value | None = None,
    ) -> None:
        self.positional = positional
        self.named = named
        self.spread = spread
        self.row = row

    def behind(self, first: Value) -> Arguments:
        """Return the arguments with another one before them."""
        return Arguments([first, *self.positional], self.named, self.spread, self.row)

    def at(self, position: int, name: str) -> Value | None:
        """Return the argument for a parameter, if there is one."""
        return self.positional[position] if position < len(self.positional) else self.named.get(name)

    def values(self) -> list[Value]:
        """Return all arguments, with `spread` and `row`."""
        more = [each for each in (self.spread, self.row) if each is not None]
        return [*self.positional, *self.named.values(), *more]


class Recorder:
    """Sees the executions; an analysis has none, unless its claims are compared with runs."""

    __slots__ = ()

    def saw(self, frame: Frame, instruction: ir.Instruction) -> None:
        """Note the state of a frame behind an instruction."""
        raise NotImplementedError


class Engine:
    """The functions that a part needs from the parts above it.

    Attributes:
        stubs: the signatures of libraries.
        recorder: sees each instruction; None for no recorder.
        changes_default, changes_type: whether some code of the project changes the default device or tensor type.
        changes_current: whether some code of the project changes the current CUDA device.
        demand: what the project's own code calls, makes, moves and hands over.
        options: the defaults of the options of each parser by name; UNKNOWN for an option that is added twice.
        devices: how many CUDA devices the machine has; None: any number.
        applying: the summaries that are being applied, each with the frame of its caller.
    """

    def __init__(self, stubs: Stubs, recorder: Recorder | None = None) -> None:
        self.stubs = stubs
        self.recorder = recorder
        self.changes_default = False
        self.changes_type = False
        self.changes_current = False
        self.demand = Demand()
        self.options: dict[Value, dict[str, Value]] = {}
        self.devices: int | None = None
        self.applying: list[tuple[Frame, Body]] = []

    def call(self, frame: Frame, callee: Value, arguments: Arguments, span: ir.Span) -> Value:
        """Execute a call and return its result."""
        raise NotImplementedError

    def call_function(self, frame: Frame, called: Function, arguments: Arguments, span: ir.Span) -> Value:
        """Call a function of the project: apply its effects and return its result."""
        raise NotImplementedError

    def read(self, frame: Frame, owner: Value, name: str, span: ir.Span) -> Value:
        """Return an attribute."""
        raise NotImplementedError

    def write(self, frame: Frame, owner: Value, name: str, value: Value, span: ir.Span) -> None:
        """Store an attribute."""
        raise NotImplementedError

    def iterated(self, frame: Frame, value: Value, span: ir.Span) -> Value:
        """Return the join of all elements that an iteration over the value yields."""
        raise NotImplementedError

    def operate(self, frame: Frame, sign: str, left: Value, right: Value, span: ir.Span) -> Value:
        """Return the result of an operator."""
        raise NotImplementedError

    def evaluate(self, frame: Frame, name: str, arguments: tuple[Value, ...], span: ir.Span) -> Value:
        """Return the result of the operation of a term."""
        raise NotImplementedError

    def reveal(self, frame: Frame, where: Value, span: ir.Span) -> None:
        """Record a device for a call of `reveal_device`."""
        raise NotImplementedError

    def summary(self, body: Body, oracle: Oracle) -> Summary:
        """Return the outcome of a body for a caller, the oracle, that answers questions about its symbols."""
        raise NotImplementedError

    def global_of(self, frame: Frame, file: FileCode, name: str) -> Value:
        """Return a global of a file: code or a constant that is bound once, else a symbol or its value."""
        raise NotImplementedError

    def global_value(self, frame: Frame, symbol: Root) -> Value:
        """Return the value of a global in the frame of a file; the frame of a function keeps the symbol."""
        raise NotImplementedError

    def set_global(self, frame: Frame, name: str, value: Value) -> None:
        """Store a global of the frame's file."""
        raise NotImplementedError

    def imported(self, frame: Frame, file: FileCode, module: str, member: str, level: int) -> Value:
        """Return the value that an import of a file binds; an empty member means the module itself."""
        raise NotImplementedError

    def member(self, frame: Frame, file: FileCode, name: str) -> Value:
        """Return an attribute of a file as a module."""
        raise NotImplementedError

    def body_of(self, frame: Frame, function: ir.Function) -> Body:
        """Return the body of a function that a frame defines."""
        raise NotImplementedError

    def class_of(self, frame: Frame, scope: ir.Class, bases: tuple[Value, ...]) -> ClassCode:
        """Return the class that a frame defines."""
        raise NotImplementedError

    def default(self, body: Body, name: str) -> Value:
        """Return the default of a parameter."""
        raise NotImplementedError

    def set_default(self, body: Body, name: str, value: Value) -> None:
        """Record the default of a parameter."""
        raise NotImplementedError


@final
class Frame:
    """One execution of a body.

    Attributes:
        engine: the parts above.
        body: the executed body.
        oracle: the caller that answers its questions.
        call: the call that is executed in place, as a site; NONE for an execution of its own.
        state: the current state.
        registers: the results of instructions.
        answers: the questions in the order of the execution, with their answers.
        kinds: symbols that operations prove to be tensors.
        requirements: the requirements that the body hands to its callers.
        findings: the broken requirements.
        exits: its returns.
        loops: the loops around the current instruction, innermost last.
        path: the tests of the branches around the current instruction.
        around: holds the variables of the functions around the body.
        environment: holds the variables that functions inside use; NONE if there are none.
        namespaces: of the class bodies that are executed, with their classes.
        yielded: the join of all values that a generator yields.
        in_handler: how many handlers of exceptions are executed.
        is_endless: whether it rests on a recursion without a result yet.
        span: of the instruction that is executed.
    """

    __slots__ = (
        "answers",
        "around",
        "body",
        "call",
        "engine",
        "environment",
        "exits",
        "findings",
        "in_handler",
        "is_endless",
        "kinds",
        "loops",
        "namespaces",
        "oracle",
        "path",
        "registers",
        "requirements",
        "span",
        "state",
        "yielded",
    )

    def __init__(self, engine: Engine, body: Body, oracle: Oracle, heap: Heap, call: Value = NONE) -> None:
        self.engine = engine
        self.body = body
        self.oracle = oracle
        self.call = call
        self.state = State({}, heap, True, ())
        self.registers: list[Value] = [UNKNOWN] * (body.scope.registers + 1)
        self.answers: dict[Question, Answer] = {}
        self.kinds: dict[Value, None] = {}
        self.requirements: dict[Requirement, Requirement] = {}
        self.findings: dict[Finding, None] = {}
        self.exits: list[Exit] = []
        self.loops: list[Loop] = []
        self.path: tuple[Value, ...] = ()
        self.around: Value = ENCLOSING
        self.environment: Value = NONE
        self.namespaces: list[tuple[ClassCode, dict[str, Value]]] = []
        self.yielded: Value = BOTTOM
        self.in_handler = 0
        self.is_endless = False
        self.span: ir.Span = body.scope.span

    @property
    def heap(self) -> Heap:
        """The current fields of objects."""
        return self.state.heap

    @property
    def is_live(self) -> bool:
        """Whether this point is reached."""
        return self.state.is_live

    @property
    def repeats(self) -> bool:
        """Whether this point is reached any number of times."""
        return any(loop.repeats for loop in self.loops)

    def frozen(self, values: Iterable[Value]) -> Frame:
        """Return this execution as it is now, with what some values lead to; it asks nothing any more."""
        other = Frame(self.engine, self.body, FROZEN, self.heap.part(values), self.call)
        other.state.passed = self.state.passed
        other.answers, other.kinds = self.answers, dict(self.kinds)
        other.path, other.in_handler, other.around = self.path, self.in_handler, self.around
        return other

    def demand(self, requirement: Requirement, same: Requirement | None = None) -> None:
        """Keep a requirement for the callers: of those that differ in the way to the operation alone, the first.

        Args:
            requirement: of an operation.
            same: the key under which only the first requirement is kept; None: requirements with other ways share it.
        """
        if len(self.requirements) < MOST_REQUIREMENTS:
            self.requirements.setdefault(same or requirement._replace(chain=()), requirement)

    def leave(self) -> None:
        """Leave the block: the following instructions are not reached."""
        self.state = State({}, self.state.heap, False, ())

    def site(self, span: ir.Span, part: str = "") -> Site:
        """Return the site of an object that an instruction makes."""
        return site(self.body.name, (span.line, span.column, span.end_line, span.end_column), part, self.call)

    def make(self, kind: str, span: ir.Span, of: Value = NONE, part: str = "") -> Instance:
        """Return a new object; the one that its site made before is forgotten."""
        made = instance(self.site(span, part), kind, of)
        self.heap.forget(made)
        return made

    def place(self, span: ir.Span) -> Place:
        """Return the place of an instruction."""
        return Place(self.body.file.path, *span)

    def source(self) -> Source:
        """Return the current place as the source of a device."""
        return source(self.place(self.span))

    def unknown(self, what: str, span: ir.Span) -> Value:
        """Return an unknown value with an identity, so that two uses of it agree."""
        return root(UNKNOWN_RESULT, what, self.site(span))

    def ask(self, question: Question) -> Answer:
        """Ask the caller a question about a term; None if the answer is unknown."""
        if question in self.answers:
            return self.answers[question]
        if self.oracle is FROZEN or len(self.answers) >= MOST_QUESTIONS:
            return None
        answer = self.oracle.answer(question)
        self.answers[question] = answer
        return answer

    def truth(self, value: Value) -> bool | None:
        """Return whether a test holds, as far as this execution knows."""
        return truth(value)

    def under(self, test: Value) -> tuple[Value, ...]:
        """Enter a path behind a test, and return the path to go back to."""
        before = self.path
        test = as_test(test)
        if truth(test) is None:
            is_kept = (is_symbolic(test) or isinstance(test, Alternatives)) and test.nodes <= LARGEST_CONDITION
            self.path = (*before, test if is_kept else SOME_TEST)
        return before

    def opposite(self, test: Value) -> Value:
        """Return a test that holds if another does not."""
        return fold("not", test)

    def conditions(self) -> tuple[Value, ...]:
        """Return the tests that hold here, as far as they are known."""
        return tuple([each for each in self.every_test() if not is_mark(each)])

    def every_test(self) -> tuple[Value, ...]:
        """Return the tests and the marks that hold here."""
        return tuple(dict.fromkeys((*self.state.passed, *self.path)))


def is_mark(condition: Value) -> bool:
    """Whether a condition is no test that a world decides."""
    return isinstance(condition, Root) and condition.kind == MARK
