"""The device that a call of `.to`, `.cuda` and their like names."""

from __future__ import annotations

import re

from devlint.analysis.execution.frame import device_of
from devlint.analysis.libraries.transfer_tables import LibraryCall
from devlint.analysis.values import modules
from devlint.analysis.values.arguments import ArgumentValue
from devlint.analysis.values.devices import literal_origin, placed
from devlint.domain.device import (
    CPU,
    DEVICE_TYPES,
    UNKNOWN_DEVICE,
    Concrete,
    Unreached,
)
from devlint.domain.kinds import Spelling
from devlint.domain.value import (
    DTYPE,
    NUMBER,
    UNKNOWN,
    Constant,
    DeviceValue,
    Kind,
    Library,
    Opaque,
    Reference,
    Tensor,
    is_count,
)

_KEYWORDS = frozenset("device dtype non_blocking copy memory_format tensor other".split())
"""What the methods that move take by name, those of tensors and those of modules."""
_LIKE_DEVICE = re.compile(rf"\W*(c?uda|gpu|nvidia|{'|'.join(DEVICE_TYPES)})", re.IGNORECASE)
_DEVICE_NAME = re.compile(r"dev|gpu|cuda|rank", re.IGNORECASE)
_DTYPE_NAME = re.compile(r"type|format|float|half|double|int", re.IGNORECASE)
_IS_DTYPE = re.compile(r"dtype(\(\))?$")
CPU_VALUE = DeviceValue(CPU, True)
"""Where `.cpu()` puts things."""


def target_of(site: LibraryCall, name: str) -> DeviceValue | None:
    """The device that a call of a move method names, None for a dtype or nothing."""
    if name == "cpu":
        return CPU_VALUE
    if any(key not in _KEYWORDS for key, _ in site.arguments.keywords):
        return DeviceValue(UNKNOWN_DEVICE)  # a method of that name, of something else
    first = site.arguments.keyword("device") or site.arguments.first()
    if name != "to" and (first is None or first.value == Constant(None)):
        return own_device(site, name)
    if first is None or is_dtype(site, first) or first.value == Constant(None):
        return None
    value = first.value
    if isinstance(value, Tensor):
        return DeviceValue(value.device, True, value.origin)
    if isinstance(value, Opaque) and site.frame.kind(value) is Kind.TENSOR:
        return DeviceValue(device_of(value), True, value.origin)
    if isinstance(value, Opaque) and name == "cuda":
        return some_cuda(value)
    if isinstance(value, Constant) and isinstance(value.value, str) and not _may_be_device(site, value.value):
        return DeviceValue(UNKNOWN_DEVICE)
    number = value == NUMBER or is_count(value)
    if (isinstance(value, Opaque) or number) and name == "to" and not names_device(site, first):
        return DeviceValue(UNKNOWN_DEVICE)
    literal = isinstance(value, Constant) and type(value.value) in (str, int)
    if isinstance(value, (DeviceValue, Opaque)) or number or literal:
        return site.device(first)
    return DeviceValue(UNKNOWN_DEVICE)


def _may_be_device(site: LibraryCall, text: str) -> bool:
    """Whether `x.to(text)` is a move: of an `x` of which nothing is known, "km" may be a unit, "csr" a format."""
    value = UNKNOWN if site.receiver is None else site.receiver.value
    known = value != UNKNOWN and not isinstance(value, Opaque)
    if known or (isinstance(value, Opaque) and site.frame.kind(value) in (Kind.TENSOR, Kind.MODULE)):
        return True
    return _LIKE_DEVICE.match(text) is not None


def names_device(site: LibraryCall, given: ArgumentValue) -> bool:
    """Whether the first argument of `to` is a device rather than a dtype, by its name."""
    if site.arguments.keyword("device") is given:
        return True
    text = site.frame.text(given.span).rsplit(".", 1)[-1]
    name = given.value.path.last if isinstance(given.value, Opaque) else text
    return _DEVICE_NAME.search(name) is not None


def is_dtype(site: LibraryCall, given: ArgumentValue) -> bool:
    """Whether an argument is a dtype or memory format of torch; a number may be one, or an ordinal, by its name.

    What is unknown is one if nothing else can be called so: `work_dtype`, `self.dtype`, `torch.get_default_dtype()`.
    """
    if given.value == DTYPE:
        return True
    if given.value == NUMBER:
        return _DTYPE_NAME.search(site.frame.text(given.span)) is not None
    if given.value == UNKNOWN or isinstance(given.value, Opaque):
        return _IS_DTYPE.search(site.frame.text(given.span)) is not None
    return isinstance(given.value, Library) and given.value.name.startswith("torch.")


def some_cuda(value: Opaque) -> DeviceValue:
    """The device of `.cuda(value)`: no device of another type is accepted there."""
    return DeviceValue(Concrete("cuda"), True, value.origin, Spelling.COMPUTED)


def own_device(site: LibraryCall, kind: str) -> DeviceValue:
    """The device of `.cuda()`: the current one; the call itself is where it is written."""
    origin = literal_origin(site.frame, site.env, site.span, f"`.{kind}()` is called here")
    found = DeviceValue(Concrete(kind), _holds_nothing(site), origin, Spelling.METHOD)
    return placed(site.frame, site.env, found, site.span)


def _holds_nothing(site: LibraryCall) -> bool:
    """Whether the receiver is a module without parameters and buffers: a move of it asks for no device."""
    value = None if site.receiver is None else site.receiver.value
    if (
        not isinstance(value, Reference)
        or value.object.is_generic
        or not modules.is_module(site.frame, site.env, value)
    ):
        return False
    return isinstance(modules.module_device(site.frame, site.env, value)[0], Unreached)
