"""Whether a value whose device its surroundings choose is on an accelerator when the program is used on one.

That an operation accepts tensors on the CPU only says nothing against it: much code works with data that never
leaves the host. It needs a reason to believe that the value does.
"""

from __future__ import annotations

import re

from devlint.analysis.execution.frame import Frame
from devlint.analysis.index import classes, docstrings
from devlint.domain.device import Either, Variable
from devlint.domain.kinds import ConflictKind, OperandRole, OriginKind
from devlint.domain.place import SELF, AccessPath
from devlint.domain.summary import Operand
from devlint.domain.value import UserClass
from devlint.frontend.ir import Function, Scope
from devlint.torchlib.knowledge import MODULE_STEPS


def is_on_accelerator_in_practice(frame: Frame, side: Operand, role: OperandRole) -> bool:
    """Whether there is such a reason, for an operation that has a role of the CPU (see `Operand`).

    * It was moved to a device that the program chooses, or computed by a module. Who pins what was moved to a device
      that a caller names has a caller that names the CPU. What a part has computed from one argument, and what is
      combined with another one, is where the caller has those.
      One of several things that a module gives may be an array; and where modules are given what is on the CPU, they
      are there.
    * It was taken out of the graph, so it comes out of a computation that is trained: `x.detach().numpy()`. What a
      batch says of its samples, entry by entry, is left where it is when the batch is moved.
    * It is an input of `forward`, which follows the module. A tensor that only says lengths may be handed over on the
      CPU on its own; an element of a batch is moved with the batch, and what is computed from the input of a module is
      where that is.
    """
    place = side.device.place if isinstance(side.device, Variable) else None
    if side.origin is not None and side.origin.kind in (OriginKind.MOVED, OriginKind.MODULE):
        if side.origin.kind is OriginKind.MODULE and frame.has_cpu_inputs:
            return False
        if role is OperandRole.HOST and side.parameter != "self" and place is not None and place.is_element:
            return False  # functions of numpy are most often given arrays
        if side.origin.kind is OriginKind.MODULE and isinstance(side.device, Either):
            return all(one.place.is_fresh or one.root == SELF.name for one in side.device.variables)
        return not (role is OperandRole.CPU and side.parameter == "self" and place is not None)
    if place is None or makes_host_data(frame):
        return False
    if is_out_of_the_graph(side):
        fed = frame.has_cpu_inputs and place.is_fresh
        return not (fed or place.is_nested_entry)
    if frame.owner is None or not classes.is_module(frame.owner):
        return False
    if role is OperandRole.CPU and _goes_into_module(frame, place.whole):
        return True
    if role is OperandRole.HOST:
        return side.certain and frame.scope.name.endswith(".forward")
    return runs_forward(frame) and place.is_of_element


def runs_forward(frame: Frame) -> bool:
    """Whether the executed function is a `forward` or a step of a trainer, or a method that one calls."""
    if frame.owner is None:
        return False
    return takes_inputs(frame.scope, frame.owner) or frame.scope.name.rpartition(".")[2] in classes.reached_in_use(
        frame.owner
    )


def takes_inputs(scope: Scope, owner: UserClass | None) -> bool:
    """Whether a function is one that PyTorch or a trainer calls: its arguments follow the module.

    Those of `backward` of an autograd function are where `forward` was given its own.
    """
    return owner is not None and scope.name.rpartition(".")[2] in (*MODULE_STEPS, "backward")


def _goes_into_module(frame: Frame, place: AccessPath) -> bool:
    """Whether the value at a place, or a part of it, has been given to a module so far."""
    inputs = (requirement for requirement in frame.requirements if requirement.kind is ConflictKind.MODULE_INPUT)
    devices = (side.device for requirement in inputs for side in (requirement.first, requirement.second))
    return any(isinstance(device, Variable) and device.place.whole == place for device in devices)


def is_out_of_the_graph(side: Operand) -> bool:
    """Whether a value is `x.detach()`."""
    return side.name.endswith(".detach()")


LENGTHS = re.compile(r"len|(?<!\S)[\w.]*sizes?(?!\S)")
"""Says of a value by its name that it holds lengths, which stay on the CPU by design."""

_ON_THE_HOST = re.compile(r"collat(e|or)|dataset\.|(^|\.)test_|(^|_)onnx(_|$)", re.IGNORECASE)
"""Makes batches, belongs to a dataset, is exported, or is a test, which is given what stands beside it."""

_DATA = re.compile(
    r"(^|\.)(loaders?|(\w+_)?"
    r"(data(_?(sets?|modules?|loading|utils|prep\w*))?|(train|test|val)sets?|preprocess\w*|augment\w*))(\.|$)"
)
"""A module so named, or in such a package, prepares what a model is given."""

_PICTURE = re.compile(r"(img|image|pic|picture|sample|wav|waveform|clip|frame|video)s?")
"""What a transform is called with, before it is part of a batch."""

_BEHIND_THE_MOVE = "on_after_batch_transfer"
"""The method of a data module of lightning that is given batches which have been moved."""

_STARTS = re.compile(r"\.(_*(reset|init|initialize)_*(parameters|weights?)|__init__)$")
"""A method that gives a module its first values, before anything has moved it."""


def builds(frame: Frame, side: Operand) -> bool:
    """Whether a module is being made, by its constructor or by what only that calls, of which a value is a part.

    So is what the constructor is given: all of it is on the CPU, until the module is moved as a whole.
    """
    if frame.owner is None or not classes.is_module(frame.owner):
        return False
    if side.origin is None or side.origin.kind not in (OriginKind.PARAMETER, OriginKind.MODULE):
        return False
    name = frame.scope.name.rpartition(".")[2]
    return _STARTS.search(frame.scope.name) is not None or (
        (is_private(frame) or classes.is_read_only_in(frame.owner, name, "__init__"))
        and name in classes.reached_from(frame.owner, "__init__")
        and name not in classes.reached_in_use(frame.owner)
    )


def may_be_given_on_the_host(frame: Frame, side: Operand, other: Operand) -> bool:
    """Whether a caller may well hand over on the CPU what a function has meet a value that is there.

    * The function, which is no `forward`, has itself put the other value there on purpose: it works on the host.
    * The function makes batches, or the parts of batches, before anything is moved; the function is a test; or its
      documentation speaks of tensors on the CPU.
    * It is an entry of a batch that a private helper without `self` prepares: a batch is moved as a whole, and later.
    """
    if side.origin is None or side.origin.kind is not OriginKind.PARAMETER or frame.scope.name.endswith(".forward"):
        return False
    if makes_host_data(frame):
        return True
    event = other.origin
    if event is not None and (
        event.kind is OriginKind.MOVED or (event.kind is OriginKind.CREATED and event.because is not None)
    ):
        return True
    parameters = getattr(frame.scope, "parameters", ())
    alone = is_private(frame) and not (parameters and parameters[0].name == "self")
    return alone and isinstance(side.device, Variable) and side.device.place.is_of_entry


def is_test(frame: Frame) -> bool:
    """Whether the executed code stands in a test file: its values come from the code beside it."""
    return frame.program.is_test(frame.file)


def is_called_by_name(frame: Frame) -> bool:
    """Whether only code that reads the name of the executed function can call it.

    Decorators and foreign base classes may hand a function on to others, and PyTorch calls some methods itself. Tools
    call `main` and the functions of tests.
    """
    if frame.is_called_by_name is None:
        frame.is_called_by_name = _is_called_by_name(frame)
    return frame.is_called_by_name


def _is_called_by_name(frame: Frame) -> bool:
    function, owner = frame.scope, frame.owner
    if not isinstance(function, Function) or function.is_wrapped or takes_inputs(function, owner):
        return False
    around, _, name = function.name.rpartition(".")
    if not name.isidentifier() or (name.startswith("__") and name.endswith("__")) or name == "main" or is_test(frame):
        return False
    return not around if owner is None else around == owner.name and classes.has_plain_bases(owner)


def are_calls_seen(frame: Frame) -> bool:
    """Whether only calls that the analysis may see lead to the executed function: by its name, or of its module."""
    owner = frame.owner
    is_forward = owner is not None and frame.scope.name == f"{owner.name}.forward" and classes.has_plain_bases(owner)
    return (is_forward and not is_test(frame)) or is_called_by_name(frame)


def is_private(frame: Frame) -> bool:
    """Whether the executed code is a function that only its own class or file uses."""
    return isinstance(frame.scope, Function) and frame.scope.is_private


def makes_host_data(frame: Frame) -> bool:
    """Whether the executed function works on the host, by its name or that of its module, or its documentation."""
    if frame.scope.name.endswith(_BEHIND_THE_MOVE):
        return False
    of_data = frame.globals.module is not None and _DATA.search(frame.globals.module) is not None
    on_the_host = of_data or _is_transform(frame) or _ON_THE_HOST.search(frame.scope.name) is not None
    return on_the_host or _is_about_host_data(frame)


def _is_transform(frame: Frame) -> bool:
    """Whether an object that is no module is called with a picture or a sound: a dataset does."""
    if frame.owner is None or classes.is_module(frame.owner) or not frame.scope.name.endswith(".__call__"):
        return False
    names = [parameter.name for parameter in getattr(frame.scope, "parameters", ())]
    return len(names) > 1 and _PICTURE.fullmatch(names[1]) is not None


def _is_about_host_data(frame: Frame) -> bool:
    """Whether the documentation of the executed function speaks of tensors on the CPU, which its caller then has."""
    return isinstance(frame.scope, Function) and docstrings.is_about_host_data(frame.scope.documentation)
