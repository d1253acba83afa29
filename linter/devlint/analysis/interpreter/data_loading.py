"""What `torch.utils.data` does on its own between a data set and a loop over its batches: it draws random numbers.

torch 2.13: iterating over a DataLoader draws a seed with the generator that it was given, and with `shuffle=True` (or a
RandomSampler) an order with that generator or one of its own, which is on the CPU. `random_split` draws an order too.
All of them draw on the default device.
"""

from __future__ import annotations

import re

from devlint.analysis.execution.frame import Frame
from devlint.analysis.findings import conflicts
from devlint.analysis.values import operands
from devlint.analysis.values.devices import default_device
from devlint.domain.device import CPU, UNKNOWN_DEVICE, Device
from devlint.domain.environment import Environment
from devlint.domain.heap import LibraryObject
from devlint.domain.kinds import OperandRole, OriginKind
from devlint.domain.provenance import Origin
from devlint.domain.summary import Operand
from devlint.domain.value import SOME_DIMENSIONS, UNKNOWN, Constant, Opaque, Reference, Value
from devlint.frontend.ir import Span

NONE = Constant(None)
RANDOM_SAMPLER = "torch.utils.data.RandomSampler"

LOADER_FOR_A_DEVICE = re.compile(
    r"\bDataLoader\((?:[^()]|\([^()]*\))*\bgenerator\s*=\s*torch\.Generator\(\s*(device\s*=\s*)?[A-Za-z_]"
)
"""Code that makes a loader a generator for a device of its caller: it counts on that being the default."""


def generator_side(frame: Frame, env: Environment, value: Value, file: str, span: Span) -> Operand:
    """A generator that is handed over at a place, as a side."""
    held = env.heap.get(value.object) if isinstance(value, Reference) else value
    device: Device = UNKNOWN_DEVICE
    origin: Origin | None = None
    if isinstance(held, (LibraryObject, Opaque)):
        device, origin = operands.resolve(env, held.device), held.origin
    name = frame.program.text(file, span) if origin is None else frame.program.text(origin.file, origin.span)
    return _as_generator(name, device, span, origin, file)


def own_generator(frame: Frame, operation: str, file: str, span: Span) -> Operand:
    """The generator that is used when none is handed over; the place is where one could be."""
    origin = Origin(f"without `generator=`, `{operation}` uses a CPU generator", file, span, OriginKind.CREATED)
    return _as_generator("torch.Generator()", CPU, span, origin, file)


def _as_generator(name: str, device: Device, span: Span, origin: Origin | None, file: str) -> Operand:
    role = OperandRole.GENERATOR
    return Operand(name, device, SOME_DIMENSIONS, span, origin, parameter="generator", role=role, file=file)


def draw(frame: Frame, env: Environment, operation: str, span: Span, drawn: Span, generator: Operand) -> None:
    """Draws numbers on the default device; `drawn`: where the report says so."""
    if env.fallback:
        return
    device = default_device(env)
    origin = frame.origin(f"random numbers are drawn on {device}, the default device", span, OriginKind.CREATED)
    numbers = Operand(frame.text(drawn), device, SOME_DIMENSIONS, drawn, origin, file=frame.file)
    conflicts.find(frame, env, operation, span, (numbers, generator))


def note_iteration(frame: Frame, env: Environment, loader: LibraryObject, span: Span, iterable: Span) -> None:
    """Iterates over a DataLoader that stands at `iterable`."""
    if loader.origin is None or operands.is_accelerator(loader.device):
        return  # whoever prepared it to move its batches may have seen to its generators too
    file, made = loader.origin.file, loader.origin.span
    operation = "DataLoader"
    generator = loader.part("generator")
    if generator not in (UNKNOWN, NONE):
        draw(frame, env, operation, span, iterable, generator_side(frame, env, generator, file, made))
    elif generator == NONE and _shuffles(env, loader):
        draw(frame, env, operation, span, iterable, own_generator(frame, "DataLoader", file, made))


def _shuffles(env: Environment, loader: LibraryObject) -> bool:
    """Whether the order is drawn with a generator that the sampler makes for itself."""
    if loader.part("shuffle") == Constant(True):
        return True
    sampler = loader.part("sampler")
    held = env.heap.get(sampler.object) if isinstance(sampler, Reference) else None
    return isinstance(held, LibraryObject) and held.cls == RANDOM_SAMPLER and held.part("generator") == NONE
