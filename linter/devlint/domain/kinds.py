"""The kinds of events and conflicts, as rules see them too."""

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
    UNKNOWN_OPERAND = "unknown-operand"
    """A value whose device is unknown, and one on the CPU."""
    ESCAPING_CPU_TENSOR = "escaping-cpu-tensor"
    """The same, where the operand that the CPU tensor meets is not seen."""
    RESULT = "result"
    """The result of a function: one that follows something, which comes first, and one on the CPU."""
