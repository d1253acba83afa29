"""What signatures say of a call with real arguments: the reference reading of the notation.

`predict` takes the signatures of a function and concrete arguments (genuine tensors) and answers which form
fits, whether its arguments agree, and which devices and ranks the result has. It is written for clarity; the
interpreter's own reading of signatures works on abstract values.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from devlint.torchlib.signature import (
    ALTERNATIVE_NAMES,
    ArrayTerm,
    DeviceTerm,
    GeneratorTerm,
    InstanceTerm,
    ListTerm,
    LiteralTerm,
    ModuleTerm,
    NoneTerm,
    NumberTerm,
    ObjectTerm,
    Parameter,
    Rank,
    ScalarTerm,
    SelfTerm,
    Signature,
    SizeTerm,
    TensorTerm,
    Term,
    Terms,
    TupleTerm,
)
from torch.nn.parameter import is_lazy

ON_CPU = frozenset({"cpu", "host"})


@dataclass(slots=True)
class Constraints:
    """What the arguments of a call say about the variables of a signature."""

    devices: dict[str, list[torch.device]] = field(default_factory=dict)
    exempt: dict[str, list[torch.device]] = field(default_factory=dict)
    ranks: dict[str, set[int]] = field(default_factory=dict)
    seen: dict[str, list[torch.device]] = field(default_factory=dict)
    dimensions: list[int] = field(default_factory=list)
    named: Mapping[str, object] = field(default_factory=dict)
    generators: list[tuple[str, str]] = field(default_factory=list)
    broken: bool = False

    def device(self, name: str) -> torch.device | None:
        """The device a variable stands for, or None if nothing decides it."""
        if name in ON_CPU:
            return torch.device("cpu")
        found = self.devices.get(name) or self.exempt.get(name) or []
        return next((device for device in found if device.type != "cpu"), next(iter(found), None))

    def rank(self, rank: Rank) -> int | str | None:
        """The number a rank stands for, or `positive`, or None if nothing decides it."""
        if rank is None or isinstance(rank, int) or rank == "positive":
            return rank
        if rank == "broadcast":
            return max(self.dimensions, default=None)
        if rank in ("reduced", "squeezed", "product", "loss", "equation"):
            return self._computed(rank)
        name, *change = rank.split()
        known = self.ranks.get(name, set())
        return next(iter(known)) + int("".join(change) or 0) if len(known) == 1 else None

    def _computed(self, word: str) -> int | str | None:
        """The rank that a word gives for these arguments."""
        first, second = (*self.dimensions, None, None)[:2]
        dim, equation = self.named.get("dim"), self.named.get("equation")
        if isinstance(dim, bool):
            return None  # `std(True)`: not the dimension, but whether to divide by one less
        dims = dim if isinstance(dim, (tuple, list)) else (dim,)
        if dims in ((None,), (), []):
            dims = tuple(range(first or 0))
        match word:
            case "product" if first and second:
                return max(first, second) - (min(first, second) == 1)
            case "loss" if self.named.get("reduce") is None and self.named.get("size_average") is None:
                return max(self.dimensions, default=0) if self.named.get("reduction") == "none" else 0
            case "equation" if isinstance(equation, str) and "->" in equation and "." not in equation:
                return len(equation.split("->")[1].strip())
            case "reduced" if first is not None and not self.named.get("keepdim"):
                return max(first - len(dims), 0)
            case "reduced" if first:
                return "positive"
            case "squeezed" if first is not None and first > len(dims):
                return "positive"
            case _:
                return None


@dataclass(frozen=True, slots=True)
class Prediction:
    """The form that fits a call, whether its arguments agree, and what they decided."""

    signature: Signature
    agrees: bool
    constraints: Constraints
    receiver: object


def predict(
    signatures: Sequence[Signature], arguments: Sequence[object], keywords: Mapping[str, object]
) -> Prediction | None:
    """What the first form that fits says of the call; None if no form fits."""
    for signature in signatures:
        bound = bind(signature, arguments, keywords)
        if bound is None or not all(_fits(terms, value) for terms, value in bound):
            continue
        names = [parameter.name for parameter in signature.parameters if parameter.kind not in ("args", "kwargs")]
        constraints = Constraints(named=dict(zip(names, arguments, strict=False)) | dict(keywords))
        for terms, value in bound:
            _constrain(terms, value, constraints)
        _defaults(signature, [terms for terms, _ in bound], constraints)
        agrees = not constraints.broken and all(len(set(d)) == 1 for d in constraints.devices.values())
        for variable, kind in constraints.generators:
            device = constraints.device(variable)
            agrees &= device is None or device.type == kind
        return Prediction(signature, agrees, constraints, arguments[0] if arguments else None)
    return None


def bind(
    signature: Signature, arguments: Sequence[object], keywords: Mapping[str, object]
) -> list[tuple[Terms, object]] | None:
    """The arguments beside the types of their parameters; None if they do not fit in number or name."""
    bound: list[tuple[Terms, object]] = []
    left, names = list(arguments), dict(keywords)
    for parameter in signature.parameters:
        if parameter.kind == "args":
            given = names.pop(parameter.name, None)
            values = list(given) if isinstance(given, (list, tuple)) else left
            if isinstance(parameter.terms[0], SizeTerm):
                bound.append((parameter.terms, values))
            else:
                bound.extend((parameter.terms, value) for value in values)
            left = []
        elif parameter.kind == "kwargs":
            names.clear()
        elif left and parameter.kind != "keyword":
            bound.append((parameter.terms, left.pop(0)))
        else:
            name = _spelling(parameter, signature, names)
            if name is not None:
                bound.append((parameter.terms, names.pop(name)))
            elif parameter.default is None:
                return None
    return None if left or names else bound


def _spelling(parameter: Parameter, signature: Signature, names: Mapping[str, object]) -> str | None:
    declared = {other.name for other in signature.parameters}
    spellings = [n for n in ALTERNATIVE_NAMES.get(parameter.name, ()) if n not in declared]
    return next((name for name in [parameter.name, *spellings] if name in names), None)


def _fits(terms: Terms, value: object) -> bool:
    return any(_fits_term(term, value) for term in terms)


def _fits_term(term: Term, value: object) -> bool:
    match term:
        case TensorTerm(_, rank):
            return isinstance(value, torch.Tensor) and (not isinstance(rank, int) or value.dim() == rank)
        case ScalarTerm():
            return isinstance(value, torch.Tensor) and value.dim() == 0
        case ListTerm(element):
            return isinstance(value, (list, tuple)) and all(_fits(element, item) for item in value)
        case TupleTerm(items):
            if not isinstance(value, (list, tuple)) or len(value) != len(items):
                return False
            return all(_fits(item, part) for item, part in zip(items, value, strict=True))
        case DeviceTerm():
            return value is None or isinstance(value, (str, int, torch.device))
        case SizeTerm():
            return _lengths(value) is not None
        case ModuleTerm():
            return isinstance(value, torch.nn.Module)
        case GeneratorTerm():
            return isinstance(value, torch.Generator)
        case InstanceTerm(cls):
            return _is_instance(value, cls)
        case NumberTerm():
            return _is_host(value)
        case LiteralTerm(wanted):
            return value is wanted
        case ArrayTerm():
            return isinstance(value, np.ndarray)
        case ObjectTerm() | SelfTerm():
            return True
        case NoneTerm():
            return value is None


def _is_instance(value: object, cls: str) -> bool:
    """Whether a class of the value has that full name, or is exported under it."""
    module, _, last = cls.rpartition(".")
    return any(c.__name__ == last and c.__module__.startswith(module.split(".")[0]) for c in type(value).__mro__)


def _is_host(value: object) -> bool:
    if isinstance(value, (list, tuple)):
        return all(item is None or _is_host(item) for item in value)
    return value is not None and not isinstance(value, (torch.Tensor, torch.nn.Module, np.ndarray, torch.Generator))


def _lengths(value: object) -> int | None:
    """The rank of a shape given as arguments or as one sequence."""
    if not isinstance(value, (list, tuple)):
        return None
    if len(value) == 1 and isinstance(value[0], (list, tuple)):
        value = value[0]
    return len(value) if not any(isinstance(item, (list, tuple, str)) for item in value) else None


def _constrain(terms: Terms, value: object, into: Constraints) -> None:
    if isinstance(value, torch.Tensor):
        _constrain_tensor(terms, value, into)
        return
    term = next(term for term in terms if _fits_term(term, value))
    if isinstance(term, ListTerm) and isinstance(value, (list, tuple)):
        for item in value:
            _constrain(term.element, item, into)
    elif isinstance(term, TupleTerm) and isinstance(value, (list, tuple)):
        for item, part in zip(term.items, value, strict=True):
            _constrain(item, part, into)
    elif isinstance(term, DeviceTerm) and value is not None:
        into.devices.setdefault(term.variable, []).append(_device(value))
    elif isinstance(term, SizeTerm):
        length = _lengths(value)
        if length is not None:
            into.ranks.setdefault(term.rank, set()).add(length)
    elif isinstance(term, ArrayTerm) and term.rank is not None and isinstance(value, np.ndarray):
        into.ranks.setdefault(term.rank, set()).add(value.ndim)
    elif isinstance(term, GeneratorTerm) and isinstance(value, torch.Generator):
        into.generators.append((term.device, value.device.type))
    elif isinstance(term, ModuleTerm) and isinstance(value, torch.nn.Module):
        state = [*value.parameters(), *value.buffers()]
        devices = [tensor.device for tensor in state if is_lazy(tensor) or tensor.dim() > 0]
        into.devices.setdefault(term.device, []).extend(devices)


def _device(value: object) -> torch.device:
    """The device a value names; `cuda` is the current one, which is the first in all our calls."""
    device = torch.device(value)  # type: ignore[call-overload]
    return torch.device(device.type, 0) if device.type == "cuda" and device.index is None else device


def _constrain_tensor(terms: Terms, value: torch.Tensor, into: Constraints) -> None:
    tensors = [term for term in terms if isinstance(term, TensorTerm)]
    scalars = [term for term in terms if isinstance(term, ScalarTerm)]
    for term in tensors:
        seen = into.seen.setdefault(term.device, [])
        exempt = value.dim() == 0 and any(_is_exempt(s.device, value.device, seen) for s in scalars)
        seen.append(value.device)
        if term.device in ON_CPU:
            into.broken |= value.device.type != "cpu" and not exempt
        elif term.device != "any":
            store = into.exempt if exempt else into.devices
            store.setdefault(term.device, []).append(value.device)
            into.dimensions.append(value.dim())
        if isinstance(term.rank, str):
            into.ranks.setdefault(term.rank, set()).add(value.dim())


def _is_exempt(exemption: str, device: torch.device, before: Sequence[torch.device]) -> bool:
    """Whether a 0-dim tensor is exempt, given where those before it are that name the same variable."""
    if exemption == "follows":
        return device.type == "cpu" or any(other.type != "cpu" for other in before)
    return exemption == "any" or device.type == "cpu"


def _defaults(signature: Signature, given: list[Terms], into: Constraints) -> None:
    """Let device parameters without a constraint take the device that their default names."""
    for parameter in signature.parameters:
        for term in parameter.terms:
            if isinstance(term, DeviceTerm) and term.variable not in into.devices:
                if parameter.default in ("CPU", "DEFAULT"):
                    into.devices[term.variable] = [torch.device("cpu")]
                elif parameter.default is not None and into.device(parameter.default) is not None:
                    device = into.device(parameter.default)
                    into.devices[term.variable] = [] if device is None else [device]


def wrong_claims(prediction: Prediction, result: object) -> Iterator[str]:
    """Every claim of the signature about the result that the actual result contradicts."""
    yield from _claims(prediction.signature.returns, result, prediction)


def _claims(terms: Terms, result: object, prediction: Prediction) -> Iterator[str]:
    found: list[list[str]] = []
    for term in terms:
        claims = list(_claims_term(term, result, prediction))
        if not claims:
            return
        found.append(claims)
    yield from found[0]


def _claims_term(term: Term, result: object, prediction: Prediction) -> Iterator[str]:
    constraints = prediction.constraints
    match term:
        case ObjectTerm():
            return
        case SelfTerm():
            if isinstance(result, torch.Tensor) and isinstance(prediction.receiver, torch.Tensor):
                if result.device != prediction.receiver.device:
                    yield f"returned on {result.device}, not on the receiver's device"
            elif result is not prediction.receiver:
                yield "did not return the receiver"
        case TensorTerm(device, rank):
            if not isinstance(result, torch.Tensor):
                yield f"returned {type(result).__name__}, not a tensor"
                return
            expected = constraints.device(device) if device != "any" else None
            if expected is not None and result.device != expected:
                yield f"returned on {result.device}, not on {expected}"
            known = constraints.rank(rank)
            if (known == "positive" and result.dim() == 0) or (isinstance(known, int) and result.dim() != known):
                yield f"returned rank {result.dim()}, not {known}"
        case ListTerm(element):
            if not isinstance(result, (list, tuple)):
                yield f"returned {type(result).__name__}, not a list or tuple"
                return
            for item in result:
                yield from _claims(element, item, prediction)
        case TupleTerm(items, names):
            if not isinstance(result, tuple) or len(result) != len(items):
                yield f"returned {type(result).__name__}, not a tuple of {len(items)}"
                return
            for position, (item, part) in enumerate(zip(items, result, strict=True)):
                if names and getattr(result, names[position], None) is not part:
                    yield f"element {position} is not called {names[position]}"
                yield from _claims(item, part, prediction)
        case NumberTerm() | SizeTerm():
            if not _is_host(result):
                yield f"returned {type(result).__name__}, not a host value"
        case ArrayTerm(rank):
            if not isinstance(result, np.ndarray):
                yield f"returned {type(result).__name__}, not an array"
            elif rank is not None and constraints.rank(rank) not in (None, result.ndim):
                yield f"returned an array of rank {result.ndim}, not {constraints.rank(rank)}"
        case NoneTerm():
            if result is not None:
                yield f"returned {type(result).__name__}, not None"
        case ModuleTerm():
            if not isinstance(result, torch.nn.Module):
                yield f"returned {type(result).__name__}, not a module"
        case InstanceTerm(cls):
            if not _is_instance(result, cls):
                yield f"returned {type(result).__name__}, not {cls}"
        case DeviceTerm(variable):
            if result is not None and result != constraints.device(variable):
                yield f"returned device {result}, not {constraints.device(variable)}"
        case ScalarTerm():
            yield "a scalar is no result"
