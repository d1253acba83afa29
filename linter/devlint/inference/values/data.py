"""The data that executions exchange: participants, requirements, questions, summaries, findings."""

from __future__ import annotations

from typing import Any, Final, NamedTuple, TypeAlias

from devlint.inference.values.terms import NONE, POSITIVE, Value

ALL_DIMENSIONS: Final = ""
"""The participant must agree, whatever its rank."""
ON_CPU: Final = "cpu"
"""A 0-dim tensor on the CPU need not agree."""
ANYWHERE: Final = "any"
"""A 0-dim tensor need not agree."""
FOLLOWS: Final = "follows"
"""As ON_CPU; and behind a participant on an accelerator, no 0-dim tensor need agree."""
ONE_ELEMENT: Final = "one element"
"""A tensor of one element need not agree, whatever its rank."""

TENSOR: Final = "tensor"
MODULE: Final = "module"
INDEX: Final = "index"
HOST: Final = "host"
"""Python or numpy, which reads the memory of a tensor."""


class Participant(NamedTuple):
    """An operand of a requirement, which must share a device with the others.

    Attributes:
        role: TENSOR, MODULE, INDEX or HOST.
        device, rank, source: its device, its number of dimensions, and the origin of its device.
        exemption: the tensors that need not agree.
        subject: the value itself.
        kept: the class of a module, an attribute, and how the module keeps it there (see `requirements.causes`), as a
            tuple; or NONE.
        place: where the operation names it; None if it is no operand in the text.
    """

    role: str
    device: Value
    rank: Value = POSITIVE
    source: Value = NONE
    exemption: str = ALL_DIMENSIONS
    subject: Value = NONE
    kept: Value = NONE
    place: Place | None = None


class Place(NamedTuple):
    """A stretch of the text of a file: lines from 1, columns from 0 in bytes of UTF-8; 0, 0 for an unknown end."""

    path: str
    line: int
    column: int
    end_line: int = 0
    end_column: int = 0


class Requirement(NamedTuple):
    """A demand of an operation on its participants.

    Attributes:
        kind: SHARE, READ_INDEX, ON_HOST, TAKES_CPU, DISCARDED, KEPT, WRAPPED, SENT, DRAWN, or one of ON_MACHINE.
        operation: its name in the text.
        participants: at least one.
        conditions: terms that hold when the operation is executed.
        place: of the operation.
        body: the name of the body that contains it.
        is_beside_caller: whether the caller decides the device of one participant, and another one is on the CPU.
        chain: the calls that lead there, from the outermost; at most LONGEST_CHAIN.
    """

    kind: str
    operation: str
    participants: tuple[Participant, ...]
    conditions: tuple[Value, ...]
    place: Place
    body: str
    is_beside_caller: bool = False
    chain: tuple[Place, ...] = ()


SHARE: Final = "share"
"""All participants are on one device."""
READ_INDEX: Final = "index"
"""An index is on the CPU or on the device of the tensor that it indexes."""
ON_HOST: Final = "host"
"""The first participant is in the memory that Python and numpy read."""
TAKES_CPU: Final = "cpu"
"""The first participant is on the CPU, which the operation asks for."""
KEPT: Final = "kept"
"""The state of an optimizer is on the device of its parameters."""
WRAPPED: Final = "wrapped"
"""A module and the devices of its wrapper fit: see `libraries.parallel`."""
SENT: Final = "sent"
"""A tensor is on a device from which the process group sends."""
DRAWN: Final = "drawn"
"""A random generator is on a device of the same type as the numbers that it draws."""
MAKES_ON_CPU: Final = "makes on cpu"
"""The device that is given to a constructor of CPU tensors is the CPU."""
DISCARDED: Final = "discarded"
"""The participant is a tensor, and the result of its move is lost."""
EXISTS: Final = "exists"
"""The machine has the device that an operation names."""
NAMED: Final = "named"
"""A text or number names a device, which the machine need not have."""
LOADED: Final = "loaded"
"""The machine has the device from which the tensors of a file were saved."""
SET_IN_TIME: Final = "set in time"
"""CUDA has not started, so that a change of CUDA_VISIBLE_DEVICES has an effect."""
VISIBLE: Final = "visible"
"""CUDA_VISIBLE_DEVICES does not hide the device that an operation names."""
ON_MACHINE: Final = frozenset({EXISTS, NAMED, LOADED, SET_IN_TIME, VISIBLE})
"""Requirements on the machine and the process. Their participants: the named device; the moved value, or a device that
the program of a load knows; the text of CUDA_VISIBLE_DEVICES."""

LONGEST_CHAIN: Final = 8
MOST_CONDITIONS: Final = 5


class Finding(NamedTuple):
    """A requirement that is manifest, and the two participants that break it.

    Attributes:
        is_of_world: whether they differ only for some choices of the user or machine.
        entry: the kind of the last caller: PROGRAM, OF_MODULE, OF_METHOD or OF_FUNCTION.
        is_wanted: whether the project asks for such a use: always true for a program.
    """

    requirement: Requirement
    one: Participant
    two: Participant
    is_of_world: bool = False
    entry: str = "program"
    is_wanted: bool = True


PROGRAM: Final = "program"
OF_MODULE: Final = "client of a module"
"""The client calls `forward`, or a step of a trainer."""
OF_METHOD: Final = "client of a method"
"""The client calls another public method of a module."""
OF_FUNCTION: Final = "client of a function"


class Question(NamedTuple):
    """A question of an execution about a symbol or term, for its caller.

    Attributes:
        kind: TRUTH (does the test hold), CODE (which code does the call reach) or LENGTH (how many elements; of a
            dictionary, its keys).
        term: the subject of the question.
    """

    kind: str
    term: Value


TRUTH: Final = "truth"
CODE: Final = "code"
LENGTH: Final = "length"

Answer: TypeAlias = "bool | int | Code | tuple[Value, ...] | None"
"""None: the caller does not know."""


class Code(NamedTuple):
    """The code of a callee.

    Attributes:
        kind: "function", "bound", "class", "instance", "library", "library instance", "method" or "tensor".
        what: the `Body` or `ClassCode`, or the name of the class or function of a library.
        is_own: whether the callee is an attribute of the object that it is bound to.
    """

    kind: str
    what: Any
    is_own: bool = False
