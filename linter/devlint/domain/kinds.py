"""The kinds of events, conflicts and operands; rules see some of them too."""

from __future__ import annotations

import enum


class OriginKind(enum.Enum):
    """How a value came to have its device."""

    CREATED = "created"
    """A factory put it there."""
    MOVED = "moved"
    PARAMETER = "parameter"
    """It is, or follows, a parameter of the function."""
    MODULE = "module"
    """It is, or is computed by, a module with parameters there."""
    ATTRIBUTE = "attribute"
    """It is a plain attribute of a module."""
    LOADER = "loader"
    """It is a batch of a DataLoader, or a part of one."""
    HOST = "host"
    """It is made from data of the host, such as a numpy array or the output of a tokenizer."""
    OBJECT = "object"
    """It is inside an object that is neither a tensor nor a module."""
    UNKNOWN = "unknown"


class ConflictKind(enum.Enum):
    """Which two values are on different devices."""

    OPERANDS = "operands"
    """Two values with known devices."""
    MODULE_INPUT = "module-input"
    """A module with parameters, which comes first, and its input."""
    CPU_MEETS_SYMBOLIC = "cpu-meets-symbolic"
    """A value that follows an input, a module or a chosen device, which comes first, and one on the CPU."""
    CRITERION_STATE = "criterion-state"
    """The state of a loss or metric on the CPU, and its input."""
    INDEX = "index"
    """A tensor, which comes first, and what selects from it or is assigned through an index."""
    GENERATOR = "generator"
    """The tensor that is filled, and the generator its random numbers are drawn from."""
    HOST = "host"
    """A tensor whose memory Python reads, and the CPU."""
    CPU_ARGUMENT = "cpu-argument"
    """A tensor that the operation wants on the CPU, and the CPU."""


class TensorRole(enum.Enum):
    """The part of a tensor in the module that holds it."""

    PLAIN = "plain"
    PARAMETER = "parameter"
    """It is registered as a parameter, or about to be."""
    BUFFER = "buffer"


class OperandRole(enum.Enum):
    """The part of a value in an operation."""

    OPERAND = "operand"
    INDEX = "index"
    """It selects from the other operand, or is assigned through an index."""
    GENERATOR = "generator"
    """The operation draws its random numbers from it."""
    HOST = "host"
    """The operation itself, which reads the memory of the other operand from Python."""
    CPU = "cpu"
    """The operation itself, which wants the other operand on the CPU for another reason."""


class Exemption(enum.Enum):
    """Which tensors an operation takes from another device as this operand."""

    NONE = ""
    CPU = "cpu"
    """A 0-dim tensor on the CPU."""
    ANY = "any"
    """A 0-dim tensor from anywhere."""
    FOLLOWS = "follows"
    """As `ANY`, unless this is the first operand with a device."""
    DECIDES = "decides"
    """A 0-dim tensor whose device is known."""
    SUBSCRIPT = "subscript"
    """Any tensor on the CPU, and a 0-dim tensor from anywhere."""


class Spelling(enum.Enum):
    """How a program writes a device."""

    STRING = "string"
    """As a literal."""
    METHOD = "method"
    """As `.cuda()`."""
    INDEX = "index"
    """As an integer literal."""
    IDS = "ids"
    """In the list of DataParallel."""
    CALL = "call"
    """As a call of a function that needs CUDA."""
    AUTOCAST = "autocast"
    """As the decorator."""
    COMPUTED = "computed"
    """As the result of a computation."""


class VisibilityProblem(enum.Enum):
    """How CUDA_VISIBLE_DEVICES and the use of CUDA disagree."""

    LATE = "late"
    """CUDA has started, and does not read the variable any more."""
    BEYOND = "beyond"
    """The program uses a device that the variable hides."""


class ParallelProblem(enum.Enum):
    """How the module, the ids and the output device of a parallel wrapper disagree."""

    MODULE_ELSEWHERE = "module-elsewhere"
    """The module is not on the first id."""
    DUPLICATE = "duplicate"
    EMPTY = "empty"
    NOT_CUDA = "not-cuda"
    BEYOND = "beyond"
    """An id is beyond the devices that exist."""
    NOT_A_LIST = "not-a-list"
    SEVERAL = "several"
    """There are several ids where one is allowed."""
    RESULT_ON_CPU = "result-on-cpu"
    """A replica returns a CPU tensor."""
    MODULE_ON_CPU = "module-on-cpu"
    SEVERAL_DEVICES = "several-devices"
    """The module is on several devices, and there are ids."""
    OUTPUT_WITHOUT_IDS = "output-without-ids"
    SEVERAL_TYPES = "several-types"
    """The module is on devices of several types."""
