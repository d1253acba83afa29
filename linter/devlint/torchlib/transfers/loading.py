"""Data that enters the program: loaders, datasets, checkpoints.

A DataLoader's batches are containers of tensors on the CPU whose shape only the dataset knows.
"""

from __future__ import annotations

from collections.abc import Callable

from devlint.analysis import calls, feeding
from devlint.analysis.arguments import Arguments, Given, constant
from devlint.analysis.site import Site
from devlint.domain.device import CPU, UNKNOWN_DEVICE, UNREACHED, Concrete
from devlint.domain.heap import Dictionary, LibraryObject, Sequence
from devlint.domain.value import UNKNOWN, Closure, Constant, Tensor, Tuple, Value
from devlint.facts import PinnedDeviceTensor, UnmappedLoad

LOADER = "torch.utils.data.DataLoader"
TENSOR_DATASET = "torch.utils.data.TensorDataset"


def loader(site: Site) -> Value:
    """`DataLoader(dataset, …)`: its batches are on the CPU, unless the dataset or `collate_fn` moves them."""
    dataset = site.value(0, "dataset") or UNKNOWN
    own = site.arguments.keyword("collate_fn")
    device = CPU if own is None or own.value == Constant(None) else UNKNOWN_DEVICE
    _note_pinning(site, dataset, own)
    origin = site.frame.origin("batches of this DataLoader are on the CPU", site.span, "loader")
    parts = [("dataset", dataset)]
    for position, name in ((2, "shuffle"), (3, "sampler"), (12, "generator")):
        parts.append((name, site.value(position, name) or Constant(None) if site.arguments.exact else UNKNOWN))
    return site.allocate(LOADER, LibraryObject(LOADER, device, origin, tuple(parts)))


def random_sampler(site: Site) -> Value:
    """`RandomSampler(data, …)`: remembers its generator for the loader that uses it."""
    generator = site.value(3, "generator") or Constant(None)
    made = LibraryObject(feeding.RANDOM_SAMPLER, UNREACHED, None, (("generator", generator),))
    return site.allocate(site.name, made)


def random_split(site: Site) -> Value:
    """`random_split(dataset, lengths, generator)`: draws an order on the default device."""
    frame, env, span = site.frame, site.env, site.span
    given, first = site.arguments.get(2, "generator"), site.arguments.first()
    if site.arguments.exact and first is not None:
        if given is None or given.value == Constant(None):
            generator = feeding.own_generator(frame, "random_split", frame.file, span)
        else:
            generator = feeding.generator_side(frame, env, given.value, frame.file, given.span)
        feeding.draw(frame, env, site.name, span, first.span, generator)
    return UNKNOWN


def _note_pinning(site: Site, dataset: Value, collate: Given | None) -> None:
    """With `pin_memory` a loader pins what it yields, which must be on the CPU."""
    if constant(site.arguments.keyword("pin_memory")) is not True:
        return
    held = site.held(dataset)
    given: list[Value] = []
    name = ""
    if isinstance(held, LibraryObject) and held.cls == TENSOR_DATASET:
        given = [part for _, part in held.parts]
        name = "the dataset"
    if collate is not None and isinstance(collate.value, Closure):
        made = calls.invoke(site.frame, site.env, collate, Arguments((Given(UNKNOWN, collate.span),), ()), site.span)
        given = [] if made is None else _parts(site, made)
        name = f"`{site.frame.text(collate.span)}`"
    for value in given:
        if isinstance(value, Tensor) and isinstance(value.device, Concrete) and value.device.type == "cuda":
            message = "cannot pin 'torch.cuda.FloatTensor' only dense CPU tensors can be pinned"
            site.record(PinnedDeviceTensor(name, value.device, message, site.steps(value.origin)))
            return


def _parts(site: Site, value: Value) -> list[Value]:
    if isinstance(value, Tuple):
        return list(value.items)
    held = site.held(value)
    if isinstance(held, Sequence) and held.items is not None:
        return list(held.items)
    if isinstance(held, Dictionary):
        return [part for _, part in held.items]
    return [value]


def tensor_dataset(site: Site) -> Value:
    """`TensorDataset(x, y)`: yields rows of its tensors."""
    parts = tuple((str(i), given.value) for i, given in enumerate(site.arguments.positional))
    return site.allocate(site.name, LibraryObject(TENSOR_DATASET, CPU, None, parts))


def load(site: Site) -> Value:
    """`torch.load(f, map_location=d)`: a checkpoint may hold anything; using `map_location` is using a device.

    Without one it is read to where it was written from, which a check for CUDA makes sure of as far as it can.
    """
    return _load(site, 1)


def load_url(site: Site) -> Value:
    """`torch.hub.load_state_dict_from_url(url, model_dir, map_location)`: as `torch.load`."""
    return _load(site, 2)


def _load(site: Site, position: int) -> Value:
    given = site.arguments.get(position, "map_location")
    if given is None:
        if site.arguments.exact and not site.env.checked:
            site.frame.record(site.span, UnmappedLoad(site.name))
    elif isinstance(given.value, Constant) and isinstance(given.value.value, str):
        site.device(given)
    return UNKNOWN


Transfer = Callable[[Site], Value | None]

FUNCTIONS: dict[str, Transfer] = {
    "torch.load": load,
    "torch.hub.load_state_dict_from_url": load_url,
    "torch.utils.data.random_split": random_split,
}

CLASSES: dict[str, Transfer] = {
    LOADER: loader,
    TENSOR_DATASET: tensor_dataset,
    feeding.RANDOM_SAMPLER: random_sampler,
}
