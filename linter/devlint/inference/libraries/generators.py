"""Random generators: each draws numbers on devices of its own type."""

from __future__ import annotations

from devlint.frontend import ir
from devlint.inference.libraries.table import CallSite, handles
from devlint.inference.requirements.make import require
from devlint.inference.state.frame import Frame
from devlint.inference.state.where import default_device, device_of
from devlint.inference.values.data import DRAWN, Participant
from devlint.inference.values.devices import by_type, denoted, is_of_type
from devlint.inference.values.folding import fold
from devlint.inference.values.tensors import CPU, Alternatives, Tuple, tensor
from devlint.inference.values.terms import NO_DEVICE, NONE, POSITIVE, Value, constant


def draw(frame: Frame, operation: str, where: Value, generator: Value, span: ir.Span) -> None:
    """Record that a generator draws numbers on a device; None stands for a generator that fits everywhere."""
    is_optional = isinstance(generator, Alternatives) and NONE in generator.options
    own = NO_DEVICE if generator is NONE or is_optional else device_of(frame, generator)
    both = [Participant("numbers", by_type(where)), Participant("generator", by_type(own), subject=generator)]
    require(frame, operation, both, span, DRAWN)


def draw_order(frame: Frame, operation: str, generator: Value, span: ir.Span) -> None:
    """Record that a generator draws the order of a data set, on the default device; None stands for one on the CPU."""
    if generator is NONE:
        numbers = Participant("numbers", by_type(default_device(frame)))
        require(frame, operation, [numbers, Participant("generator", CPU)], span, DRAWN)
    else:
        draw(frame, operation, default_device(frame), generator, span)


@handles("diffusers.randn_tensor")
def randn_tensor(call: CallSite) -> Value:
    """Return random numbers on a device: a generator on the CPU draws there, and the numbers are moved."""
    frame, generator, shape = call.frame, call.given(1, "generator") or NONE, call.argument(0, "shape")
    where = denoted(call.given(2, "device") or NONE, CPU)
    drawn_on = fold("ite", is_of_type(device_of(frame, generator), "cpu"), CPU, where)
    draw(frame, "randn_tensor", drawn_on, generator, call.span)
    rank = constant(len(shape.items)) if isinstance(shape, Tuple) else POSITIVE
    return tensor(where, rank, NONE, frame.source())
