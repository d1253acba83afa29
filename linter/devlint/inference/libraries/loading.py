"""Data sets and loaders: their items and batches."""

from __future__ import annotations

from typing import Final

from devlint.frontend import ir
from devlint.inference.libraries.table import CallSite, handles
from devlint.inference.requirements.make import draw, participant, pin, require
from devlint.inference.state.containers import content, elements, fill, one_element, side_by_side
from devlint.inference.state.frame import Arguments, Frame
from devlint.inference.state.where import default_device, device_of, source_of, stored
from devlint.inference.values.data import DRAWN, Participant
from devlint.inference.values.folding import fold
from devlint.inference.values.joins import either, join_all
from devlint.inference.values.objects import (
    DICT,
    LIBRARY,
    LIST,
    ClassValue,
    Function,
    Instance,
    Library,
    bound,
    library,
)
from devlint.inference.values.ranks import more, some
from devlint.inference.values.tensors import CPU, Alternatives, Array, Source, Tensor, Tuple, pack, row, tensor
from devlint.inference.values.terms import (
    ABSENT,
    COLLATES,
    DATA,
    DRAWS_WITH,
    ELEMENT,
    ITEM,
    MAPPING,
    NONE,
    NUMBER,
    PINS,
    POSITIVE,
    TRUE,
    UNKNOWN,
    Constant,
    Root,
    Symbol,
    Term,
    Value,
    constant,
    is_symbolic,
    symbol,
    term,
)

LOADER: Final = "torch.utils.data.DataLoader"
TENSORS: Final = "torch.utils.data.TensorDataset"
SAMPLER: Final = "torch.utils.data.RandomSampler"
PARTS: Final = ("torch.utils.data.Subset", "torch.utils.data.ConcatDataset")


@handles(LOADER, TENSORS, *PARTS)
def data_set(call: CallSite) -> Value:
    """Return a data set or a loader, with the source of its items."""
    frame = call.frame
    made = frame.make(LIBRARY, call.span, library(call.name))
    data = pack(*call.arguments.positional) if call.name == TENSORS else call.argument(0, "dataset")
    frame.heap.put(made, DATA, UNKNOWN if call.arguments.spread is not None else data)
    collates = call.given(6, "collate_fn")
    if collates is not None:
        frame.heap.put(made, COLLATES, collates)
    if call.name == LOADER:
        frame.heap.put(made, DRAWS_WITH, _generator(call))
        frame.heap.put(made, PINS, frame.source() if call.given(7, "pin_memory") is TRUE else NONE)
    return made


def _generator(call: CallSite) -> Value:
    """Return the generator of a loader: its own, that of its sampler, or NONE; UNKNOWN if it draws nothing."""
    own, sampler = call.given(12, "generator") or NONE, call.given(3, "sampler") or NONE
    if own is not NONE:
        return own
    if sampler is not NONE:
        return call.frame.heap.get(sampler, DRAWS_WITH) or UNKNOWN
    return NONE if call.given(2, "shuffle") is TRUE else UNKNOWN


@handles(SAMPLER)
def sampler(call: CallSite) -> Value:
    """Return a sampler, with its generator."""
    made = call.frame.make(LIBRARY, call.span, library(call.name))
    call.frame.heap.put(made, DRAWS_WITH, call.given(3, "generator") or NONE)
    return made


def draw_order(frame: Frame, operation: str, generator: Value, span: ir.Span) -> None:
    """Record that a generator draws the order of a data set, on the default device; None stands for one on the CPU."""
    if generator is NONE:
        both = [Participant("numbers", fold("by_type", default_device(frame))), Participant("generator", CPU)]
        require(frame, operation, both, span, DRAWN)
    else:
        draw(frame, operation, default_device(frame), generator, span)


@handles("torch.utils.data.random_split")
def random_split(call: CallSite) -> Value:
    """Return parts of a data set."""
    draw_order(call.frame, "random_split", call.given(2, "generator") or NONE, call.span)
    made = call.frame.make(LIST, call.span)
    call.frame.heap.put(made, ELEMENT, call.argument(0, "dataset"))
    return made


@handles(f"{LOADER}:__iter__")
def batches(call: CallSite) -> Value:
    """Return the batches of a loader: it draws their order, and perhaps pins their memory."""
    frame = call.frame
    made, found = frame.make(LIST, call.span), batch(frame, call.receiver, call.span)
    generator, pins = stored(frame, call.receiver, DRAWS_WITH), stored(frame, call.receiver, PINS)
    if generator is not UNKNOWN:
        draw_order(frame, "DataLoader", generator, call.span)
    if isinstance(pins, Source):
        for each in _tensors(frame, found):
            pin(frame, "pin_memory", each.device, pins.place)
    frame.heap.put(made, ELEMENT, found)
    return made


def _tensors(frame: Frame, value: Value) -> list[Tensor]:
    """Return the tensors in a batch."""
    if isinstance(value, Tensor):
        return [value]
    found = elements(frame, value) if isinstance(value, (Tuple, Instance)) else None
    if isinstance(value, Instance) and value.kind == DICT:
        found = tuple([each for _, each in content(frame, value).entries])
    return [each for inner in found or () for each in _tensors(frame, inner)]


@handles(*[f"{name}:__getitem__" for name in (TENSORS, *PARTS)])
def item(call: CallSite) -> Value:
    """Return an item of a data set."""
    return item_of(call.frame, call.receiver, call.span)


def batch(frame: Frame, loader: Value, span: ir.Span) -> Value:
    """Return a batch of a loader: collated items of its data set."""
    data = frame.heap.get(loader, DATA)
    if data is None:
        return UNKNOWN
    found = item_of(frame, data, span)
    collates = frame.heap.get(loader, COLLATES)
    if collates is None or collates is NONE:
        return collated(frame, found, span)
    several = frame.make(LIST, span, NONE, "batch")
    frame.heap.put(several, ELEMENT, found)
    return frame.engine.call(frame, collates, Arguments([several], {}), span)


def item_of(frame: Frame, data: Value, span: ir.Span) -> Value:
    """Return any item of a data set."""
    if isinstance(data, Alternatives):
        return join_all([item_of(frame, each, span) for each in data.options])
    if isinstance(data, (Root, Symbol)):
        return symbol(data, ITEM)
    if not isinstance(data, Instance):
        return one_element(frame, data)
    inner = frame.heap.get(data, DATA)
    if inner is not None:
        is_tensors = isinstance(data.of, Library) and data.of.name == TENSORS
        if is_tensors and isinstance(inner, Tuple):
            return pack(
                *[
                    one_element(frame, each) if isinstance(each, Tensor) else _row_of(frame, each)
                    for each in inner.items
                ]
            )
        return item_of(frame, inner, span) if not is_tensors else UNKNOWN
    if isinstance(data.of, ClassValue):
        found = data.of.code.lookup("__getitem__")
        if isinstance(found, Function):
            return frame.engine.call(frame, bound(found, data), Arguments([NUMBER], {}), span)
        return frame.engine.iterated(frame, data, span)
    if isinstance(data.of, Library) and data.of.name.startswith("torchvision.datasets."):
        return pack(tensor(CPU, POSITIVE, NONE, frame.source()), NUMBER)
    return one_element(frame, data)


def _row_of(frame: Frame, value: Value) -> Value:
    return tensor(device_of(frame, value), UNKNOWN, NONE, source_of(frame, value)) if is_symbolic(value) else UNKNOWN


def collated(frame: Frame, value: Value, span: ir.Span, part: str = "collated") -> Value:
    """Return the result of `default_collate`: numbers and arrays become tensors on the CPU."""
    if isinstance(value, Tensor):
        return tensor(value.device, some(more(value.rank, constant(1))), NONE, value.source)
    if value is NUMBER or isinstance(value, Array) or _is_number(value):
        return tensor(CPU, POSITIVE, NONE, frame.source())
    if isinstance(value, Tuple):
        return pack(*[collated(frame, each, span, f"{part}.{number}") for number, each in enumerate(value.items)])
    if isinstance(value, Alternatives):
        return join_all([collated(frame, each, span, part) for each in value.options])
    if isinstance(value, Instance) and value.kind == LIST:
        made = frame.make(LIST, span, NONE, part)
        found = elements(frame, value)
        each = (one_element(frame, value),) if found is None else found
        fill(
            frame,
            made,
            [collated(frame, one, span, f"{part}.{number}") for number, one in enumerate(each)],
            found is not None,
        )
        return made
    if isinstance(value, Instance) and value.kind == DICT:
        made = frame.make(DICT, span, NONE, part)
        whole = content(frame, value)
        entries = [
            (key, each if each is ABSENT else collated(frame, each, span, f"{part}.{key.text}"))
            for key, each in whole.entries
        ]
        frame.heap.put(made, MAPPING, row(whole.base, tuple(entries)))
        return made
    if isinstance(value, Term) and value.operator == "ite":
        test, then, orelse = value.arguments
        return either(test, collated(frame, then, span, part), collated(frame, orelse, span, part))
    return term("collated", value) if is_symbolic(value) else UNKNOWN


def _is_number(value: Value) -> bool:
    return isinstance(value, Constant) and isinstance(value.value, (bool, int, float))


@handles("torch.utils.data.default_collate", "torch.utils.data.dataloader.default_collate")
def default_collate(call: CallSite) -> Value:
    """Put items together."""
    frame, items = call.frame, call.argument(0, "batch")
    held = [participant(frame, each) for each in side_by_side(frame, items) if isinstance(each, Tensor)]
    require(frame, call.name, held, call.span)
    return collated(frame, one_element(frame, items), call.span)
