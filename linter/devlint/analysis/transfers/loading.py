"""Data that enters the program: loaders, datasets, checkpoints.

A DataLoader's batches are containers of tensors on the CPU whose shape only the dataset knows.
"""

from __future__ import annotations

from collections.abc import Iterator

from devlint.analysis.index import classes
from devlint.analysis.interpreter import calls, data_loading
from devlint.analysis.libraries.transfer_tables import CONSTRUCTORS, FUNCTIONS, LibraryCall, register
from devlint.analysis.values.arguments import Arguments, ArgumentValue, constant
from devlint.analysis.values.containers import elements_of
from devlint.analysis.values.operands import resolve
from devlint.domain.device import (
    CPU,
    UNKNOWN_DEVICE,
    UNREACHED,
    Concrete,
    Device,
    Unreached,
    Variable,
    in_words,
    join,
)
from devlint.domain.environment import Environment
from devlint.domain.heap import DictObject, Instance, LibraryObject, ListObject
from devlint.domain.kinds import OriginKind
from devlint.domain.value import (
    NUMBER,
    UNKNOWN,
    Closure,
    Constant,
    Host,
    Reference,
    Tensor,
    TupleValue,
    UserClass,
    Value,
)
from devlint.facts import PinnedDeviceTensor, UnmappedLoad
from devlint.torchlib.knowledge import LOADER, TENSOR_DATASET


def loader(site: LibraryCall) -> Value:
    """`DataLoader(dataset, …)`: its batches are on the CPU, unless the dataset or `collate_fn` moves them."""
    dataset = site.value(0, "dataset") or UNKNOWN
    own = site.arguments.keyword("collate_fn")
    default = own is None or own.value == Constant(None)
    rows = _rows(site, dataset) if default else []
    device = _stacked(site, dataset, rows) if default else UNKNOWN_DEVICE
    _note_pinning(site, dataset, rows, own)
    where = "the CPU" if device == CPU else in_words(device)
    # If rows may be apart, a loop that moves a part of a batch says nothing of the other parts.
    kind = OriginKind.UNKNOWN if rows and device == UNKNOWN_DEVICE else OriginKind.LOADER
    origin = site.frame.origin(f"batches of this DataLoader are on {where}", site.span, kind)
    parts = [("dataset", dataset)]
    for position, name in ((2, "shuffle"), (3, "sampler"), (12, "generator")):
        parts.append((name, site.value(position, name) or Constant(None) if site.arguments.exact else UNKNOWN))
    return site.allocate(LOADER, LibraryObject(LOADER, device, origin, tuple(parts)))


def _rows(site: LibraryCall, dataset: Value) -> list[Value]:
    """Return the parts of what a dataset of the program yields: of a tuple, list or dict its elements."""
    held = site.held(dataset)
    if not isinstance(held, Instance) or not isinstance(dataset, Reference):
        return []
    env = site.env.copy()
    for name, key in (("__getitem__", (ArgumentValue(NUMBER, site.span),)), ("__iter__", ())):
        method = classes.find(held.cls, name)
        if method is None or not isinstance(method[0], Closure):
            continue
        given = Arguments((ArgumentValue(dataset, site.span), *key), ())
        made = calls.invoke_closure(site.frame, env, method[0], method[1], given, site.span)
        if made is not None and name == "__iter__":
            made = elements_of(site.frame, env, made).each
        return [UNKNOWN] if made is None else list(_parts(env, made))
    return []


def _stacked(site: LibraryCall, dataset: Value, rows: list[Value]) -> Device:
    """Where the default `collate_fn` stacks rows: tensors where they are, numbers and arrays on the CPU (torch 2.13).

    Rows from elsewhere count as rows on the CPU, unless the code of the dataset names a device.
    """
    device: Device = UNREACHED
    for part in rows:
        device = join(device, part.device if isinstance(part, Tensor) else CPU)
    held = site.held(dataset)
    if isinstance(held, Instance) and not all(isinstance(part, (Tensor, Constant, Host)) for part in rows):
        own = (item for item in held.cls.lineage if isinstance(item, UserClass))
        code = [method for item in own for method in item.attributes.values() if isinstance(method, Closure)]
        contents = [site.frame.program.contents(method.globals.file, method.function) for method in code]
        if any("cuda" in one.called or any("device" in name for name in one.named) for one in contents):
            return UNKNOWN_DEVICE
    return CPU if isinstance(device, Unreached) else device


def random_sampler(site: LibraryCall) -> Value:
    """`RandomSampler(data, …)`: remembers its generator for the loader that uses it."""
    generator = site.value(3, "generator") or Constant(None)
    made = LibraryObject(data_loading.RANDOM_SAMPLER, UNREACHED, None, (("generator", generator),))
    return site.allocate(site.name, made)


def random_split(site: LibraryCall) -> Value:
    """`random_split(dataset, lengths, generator)`: draws an order on the default device."""
    frame, env, span = site.frame, site.env, site.span
    given, first = site.arguments.get(2, "generator"), site.arguments.first()
    if site.arguments.exact and first is not None:
        if given is None or given.value == Constant(None):
            generator = data_loading.own_generator(frame, "random_split", frame.file, span)
        else:
            generator = data_loading.generator_side(frame, env, given.value, frame.file, given.span)
        data_loading.draw(frame, env, site.name, span, first.span, generator)
    whole = UNKNOWN if first is None else first.value
    return site.allocate("split", ListObject(None, whole)) if isinstance(whole, Reference) else UNKNOWN


def subset(site: LibraryCall) -> Value:
    """`Subset(dataset, indices)`: yields what the dataset yields."""
    return site.value(0, "dataset") or UNKNOWN


def _note_pinning(site: LibraryCall, dataset: Value, rows: list[Value], collate: ArgumentValue | None) -> None:
    """With `pin_memory` a loader pins what it yields, which must be on the CPU."""
    if constant(site.arguments.keyword("pin_memory")) is not True:
        return
    held = site.held(dataset)
    given = rows
    name = "the dataset"
    if isinstance(held, LibraryObject) and held.cls == TENSOR_DATASET:
        given = [part for _, part in held.parts]
    if collate is not None and isinstance(collate.value, Closure):
        made = calls.invoke(
            site.frame, site.env, collate, Arguments((ArgumentValue(UNKNOWN, collate.span),), ()), site.span
        )
        given = [] if made is None else list(_parts(site.env, made))
        name = f"`{site.frame.text(collate.span)}`"
    for value in given:
        if isinstance(value, Tensor) and _is_placed(resolve(site.env, value.device)):
            message = "cannot pin 'torch.cuda.FloatTensor' only dense CPU tensors can be pinned"
            site.record(PinnedDeviceTensor(name, value.device, message, site.steps(value.origin)))
            return


def _is_placed(device: Device) -> bool:
    """Whether a device is a GPU, or the one that code names for its tensors: `self.device`."""
    if isinstance(device, Variable):
        return "device" in device.owner.lower()
    return isinstance(device, Concrete) and device.type == "cuda"


def _parts(env: Environment, value: Value) -> Iterator[Value]:
    """Yield the elements of a tuple, list or dict, also of those inside it; anything else is its only part."""
    pending, seen = [value], set()
    while pending:
        part = pending.pop(0)
        held = env.heap.get(part.object) if isinstance(part, Reference) else None
        if isinstance(part, TupleValue):
            pending.extend(part.items)
        elif isinstance(part, Reference) and isinstance(held, (ListObject, DictObject)):
            if part.object in seen:
                continue
            seen.add(part.object)
            if isinstance(held, ListObject):
                pending.extend(held.items if held.items is not None else (held.rest,))
            else:
                pending.extend(stored for _, stored in held.items)
                pending.extend(() if held.complete else (held.rest,))
        else:
            yield part


def tensor_dataset(site: LibraryCall) -> Value:
    """`TensorDataset(x, y)`: yields rows of its tensors."""
    parts = tuple((str(i), given.value) for i, given in enumerate(site.arguments.positional))
    return site.allocate(site.name, LibraryObject(TENSOR_DATASET, CPU, None, parts))


def load(site: LibraryCall) -> Value:
    """`torch.load(f, map_location=d)`: a checkpoint may hold anything; using `map_location` is using a device.

    Without one it is read to where it was written from, which a check for CUDA makes sure of as far as it can.
    """
    return _load(site, 1)


def load_url(site: LibraryCall) -> Value:
    """`torch.hub.load_state_dict_from_url(url, model_dir, map_location)`: as `torch.load`."""
    return _load(site, 2)


def _load(site: LibraryCall, position: int) -> Value:
    given = site.arguments.get(position, "map_location")
    if given is None:
        if site.arguments.exact and not site.env.checked:
            site.frame.record(site.span, UnmappedLoad(site.name))
    elif isinstance(given.value, Constant) and isinstance(given.value.value, str):
        site.device(given)
    return UNKNOWN


register(
    FUNCTIONS,
    {
        "torch.load": load,
        "torch.hub.load_state_dict_from_url": load_url,
        "torch.utils.data.random_split": random_split,
    },
)

register(
    CONSTRUCTORS,
    {
        LOADER: loader,
        TENSOR_DATASET: tensor_dataset,
        "torch.utils.data.Subset": subset,
        data_loading.RANDOM_SAMPLER: random_sampler,
    },
)
