"""The meaning of claims in one run: what symbols and terms stand for, which devices and ranks a claim allows."""

from __future__ import annotations

import builtins
import enum
import sys
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

import torch
from devlint.inference.state.where import PROCESS_STATE
from devlint.inference.values.folding import ARITHMETIC, AUGMENTED, COMPARISONS, TEXT_METHOD
from devlint.inference.values.objects import ClassValue, Library
from devlint.inference.values.tensors import Alternatives, Device, Row, Tensor, Tuple
from devlint.inference.values.terms import (
    CLOSURE,
    DEVICE,
    GLOBAL,
    MACHINE,
    NO_DEVICE,
    PARAMETER,
    POSITIVE,
    PROCESS,
    RANK,
    SOURCE,
    Constant,
    Root,
    Symbol,
    Term,
    Value,
)
from devlint.inference.worlds.choices import COUNT

from tests.facts.observe import MISSING, Seen, attribute, device_name, is_plain, seen

NOWHERE: Final = "no device"
"""Among the devices that a claim allows: the value is no tensor."""

ABOVE_ZERO: Final = frozenset(range(1, 20))
"""The ranks that POSITIVE allows."""

_SUBSCRIPTED: Final = frozenset({"builtins", "collections", "torch.nn.modules.container"})
"""Modules whose classes read an element without code of the program."""

Globals = Mapping[str, Mapping[str, Any]]
"""The variables of each file, by the name of the module in the inference."""


class Meaning:
    """What the symbols of a body stand for in one execution.

    Args:
        names: the variables of the body when it began.
        files: the variables of the files.
        devices: the number of accelerators of the machine.
    """

    def __init__(self, names: Mapping[str, Any], files: Globals, devices: int) -> None:
        self._names = names
        self._files = files
        self._devices = devices
        self._default = frozenset({device_name(torch.get_default_device())})
        self._known: dict[Value, Any] = {}
        self._seen: dict[Value, Seen] = {}
        self._turns: dict[Value, list[Seen]] = {}

    def begin(self, values: Iterable[Value]) -> None:
        """Evaluate values before the body changes what they stand for."""
        for each in values:
            if not _is_late(each):
                self.thing(each)
                if isinstance(each, (Root, Symbol)):
                    self.seen(each)

    def bind(self, symbol: Value, found: Seen) -> None:
        """Let a symbol for the result of unknown code stand for a value, from now on."""
        self._known[symbol], self._seen[symbol] = found.thing, found
        self._turns.setdefault(symbol, []).append(found)

    def forget(self, symbol: Value) -> None:
        """Let a symbol stand for an unknown value."""
        self._known[symbol] = MISSING
        self._seen.pop(symbol, None)
        self._turns.pop(symbol, None)

    def seen(self, value: Value) -> Seen | None:
        """Return what a symbol stood for at the beginning; None if that is not known."""
        found = self._seen.get(value)
        if found is not None:
            return found
        thing = self.thing(value)
        if thing is MISSING:
            return None
        found = seen(thing)
        if not _is_late(value):
            self._seen[value] = found
        return found

    def thing(self, value: Value) -> Any:
        """Return the value of a symbol or term, or MISSING."""
        if value in self._known:
            return self._known[value]
        try:
            found = self._evaluated(value)
        except Exception:  # code of the program, such as `__eq__`
            found = MISSING
        if not _is_late(value):
            self._known[value] = found
        return found

    def truth(self, value: Value) -> bool | None:
        """Return whether a test holds; None if that is not known."""
        found = self.thing(value)
        if isinstance(found, (torch.Tensor, torch.nn.Module)) or found is MISSING:
            return None
        try:
            return bool(found)
        except Exception:
            return None

    def _evaluated(self, value: Value) -> Any:
        if isinstance(value, Constant):
            return value.value
        if isinstance(value, Root):
            return self._of_root(value)
        if isinstance(value, Symbol):
            return self._of_symbol(value)
        if isinstance(value, Device):
            return torch.device(value.name)
        if isinstance(value, Library):
            return library(value.name)
        if isinstance(value, ClassValue):
            return self._files[value.code.file.module].get(value.code.scope.name, MISSING)
        if isinstance(value, Tuple):
            items = tuple([self.thing(each) for each in value.items])
            return MISSING if any(each is MISSING for each in items) else items
        return self._of_term(value) if isinstance(value, Term) else MISSING

    def _of_root(self, value: Root) -> Any:
        if value.kind == PARAMETER:
            return self._names.get(value.name.lstrip("*"), MISSING)
        if value.kind == GLOBAL and isinstance(value.place, Constant):
            return self._files.get(str(value.place.value), {}).get(value.name, MISSING)
        return self._devices if value is COUNT else MISSING

    def _of_symbol(self, value: Symbol) -> Any:
        field, parent = value.field, value.parent
        if isinstance(parent, Root) and parent.kind == CLOSURE:
            return self._names.get(field.name, MISSING)
        owner = self.thing(parent)
        if owner is MISSING:
            return MISSING
        if field.kind == ".":
            return attribute(owner, field.name)
        if field.key is not None and type(owner).__module__ in _SUBSCRIPTED:
            key = self.thing(field.key)
            return MISSING if key is MISSING else owner[key]
        return MISSING

    def _of_term(self, value: Term) -> Any:
        name, parts = value.operator, value.arguments
        if name == "not":
            found = self.truth(parts[0])
            return MISSING if found is None else not found
        if name in ("and", "or"):
            return self._of_logic(name, parts)
        if name == "ite":
            known = self.truth(parts[0])
            return MISSING if known is None else self.thing(parts[1] if known else parts[2])
        if name == "is_of_type":
            where = self.devices(parts[0])
            kinds = {each.partition(":")[0] for each in where or ()}
            return MISSING if len(kinds) != 1 or NOWHERE in kinds else self.thing(parts[1]) in kinds
        if name == "device_type":
            where = self.devices(parts[0])
            return next(iter(where)).partition(":")[0] if where is not None and len(where) == 1 else MISSING
        things = [self.thing(each) for each in parts]
        if any(each is MISSING for each in things):
            return MISSING
        function = _OPERATIONS.get(name)
        if function is not None:
            return function(*things)
        if name.startswith(TEXT_METHOD):
            return getattr(things[0], name.removeprefix(TEXT_METHOD))(*things[1:])
        return _computed(name, things)

    def _of_logic(self, name: str, parts: tuple[Value, ...]) -> Any:
        for each in parts[:-1]:
            known = self.truth(each)
            if known is None:
                return MISSING
            if known is (name == "or"):
                return self.thing(each)
        return self.thing(parts[-1])

    # --- one of several -----------------------------------------------------------------------------------------

    def chosen(self, value: Value) -> list[Value]:
        """Return the alternatives of a value that this run allows."""
        if isinstance(value, Alternatives):
            return [found for each in value.options for found in self.chosen(each)]
        if isinstance(value, Term) and value.operator == "ite":
            known = self.truth(value.arguments[0])
            parts = value.arguments[1:] if known is None else [value.arguments[1 if known else 2]]
            return [found for each in parts for found in self.chosen(each)]
        if isinstance(value, Term) and value.operator in ("and", "or"):
            found: list[Value] = []
            for each in value.arguments[:-1]:
                known = self.truth(each)
                if known is None or known is (value.operator == "or"):
                    found += self.chosen(each)
                if known is (value.operator == "or"):
                    return found
            return found + self.chosen(value.arguments[-1])
        return [value]

    # --- devices ------------------------------------------------------------------------------------------------

    def devices(self, value: Value) -> frozenset[str] | None:
        """Return the devices that a claim allows, or None for all; NOWHERE among them for a value that is no tensor."""
        whole: frozenset[str] = frozenset()
        for each in self.chosen(value):
            found = self._one_device(each)
            if found is None:
                return None
            whole |= found
        return whole

    def _one_device(self, value: Value) -> frozenset[str] | None:
        if isinstance(value, Device):
            if value.name == "cuda":  # the current one
                return frozenset([f"cuda:{number}" for number in range(max(self._devices, 1))])
            return frozenset({value.name}) if value.name != "accelerator" else None
        if value is NO_DEVICE:
            return frozenset({NOWHERE})
        if isinstance(value, Symbol) and value.field is DEVICE:
            return self._default if value.parent is PROCESS_STATE else self._place(value.parent)
        if not isinstance(value, Term):
            return None
        name, parts = value.operator, value.arguments
        if name == "device_of":
            return self._place(parts[0])
        if name == "meet":
            return self._met(parts)
        if name in ("denoted", "target", "scope"):
            return self.named(parts[0], parts[1])
        return None

    def _place(self, value: Value) -> frozenset[str] | None:
        whole: frozenset[str] = frozenset()
        for each in self._turns.get(value, (self.seen(value),)):
            found = self._place_of(each)
            if found is None:
                return None
            whole |= found
        return whole

    def _place_of(self, found: Seen | None) -> frozenset[str] | None:
        if found is None or found.kind == "object":
            return None
        if found.kind == "module" and found.devices is not None:
            return found.devices if len(found.devices) == 1 else None
        return found.devices if found.kind == "tensor" else frozenset({NOWHERE})

    def _met(self, parts: tuple[Value, ...]) -> frozenset[str] | None:
        whole: frozenset[str] = frozenset()
        for where, rank in zip(parts[::2], parts[1::2], strict=True):
            found, ranks = self.devices(where), self.ranks(rank)
            if found is None or ranks is None:
                return None
            if found != {NOWHERE} and ranks != {0}:
                whole |= found
        return (whole if len(whole) == 1 else None) if whole else self._met_scalars(parts[::2])

    def _met_scalars(self, parts: tuple[Value, ...]) -> frozenset[str] | None:
        """Return the device of the result if no operand has a dimension: that of each of them is possible."""
        found = [self.devices(each) for each in parts]
        known = [each for each in found if each is not None and each != {NOWHERE}]
        return frozenset({NOWHERE}).union(*known) - ({NOWHERE} if known else set()) if None not in found else None

    def named(self, value: Value, default: Value) -> frozenset[str] | None:
        """Return the devices that a device, a text, a number or a tensor may name; `default` is that of None."""
        whole: frozenset[str] = frozenset()
        for each in self.chosen(value):
            thing = self.thing(each)
            if isinstance(thing, (torch.device, torch.Tensor)):
                found = seen(thing).devices
            elif isinstance(thing, str):
                found = frozenset({device_name(torch.device(thing))})
            elif type(thing) is int:
                found = frozenset({f"cuda:{thing}"})
            else:
                is_none = thing is None or isinstance(thing, torch.dtype)
                found = self.devices(default) if is_none else self.devices(each) if thing is MISSING else None
            if found is None:
                return None
            whole |= found
        return whole

    # --- ranks --------------------------------------------------------------------------------------------------

    def ranks(self, value: Value) -> frozenset[int] | None:
        """Return the ranks that a claim allows, or None for all."""
        whole: frozenset[int] = frozenset()
        for each in self.chosen(value):
            found = self._one_rank(each)
            if found is None:
                return None
            whole |= found
        return whole

    def _one_rank(self, value: Value) -> frozenset[int] | None:
        if isinstance(value, Constant) and type(value.value) is int:
            return frozenset({value.value})
        if value is POSITIVE:
            return ABOVE_ZERO
        if isinstance(value, Symbol) and value.field is RANK:
            return self._rank_of(value.parent)
        if not isinstance(value, Term):
            return None
        if value.operator == "rank_of":
            return self._rank_of(value.arguments[0])
        parts = [self.ranks(each) for each in value.arguments]
        if value.operator == "some":
            return ABOVE_ZERO
        if None in parts or value.operator not in _RANKS:
            return None
        function = _RANKS[value.operator]
        whole: set[int] = set(parts[0] or ())
        for each in parts[1:]:
            whole = {function(a, b) for a in whole for b in each or ()}
        return frozenset(whole)

    def _rank_of(self, value: Value) -> frozenset[int] | None:
        turns = self._turns.get(value, (self.seen(value),))
        if any(each is None or each.kind not in ("tensor", "array", "number") for each in turns):
            return None
        return frozenset([each.rank or 0 for each in turns if each is not None])


def _product(one: int, two: int) -> int:
    return 0 if max(one, two) < 2 else max(one, two) - (min(one, two) < 2)


_RANKS: Final[dict[str, Callable[[int, int], int]]] = {
    "highest": max,
    "more": lambda rank, added: max(rank + added, 0),
    "product": _product,
}

_OPERATIONS: Final[dict[str, Callable[..., Any]]] = {
    "is": lambda one, two: _value_of(one) is _value_of(two),
    "isinstance": isinstance,
    "len": len,
    "format": lambda *texts: "".join(map(str, texts)),
    "contains": lambda owner, part: part in owner,
    "has": lambda owner, key: key in owner,
    "get": lambda owner, key, default: owner.get(key, default),
    "type": type,
    "neg": lambda one: -one if type(one) in (int, float) else MISSING,
    "hasattr": lambda owner, name: MISSING if isinstance(owner, torch.nn.Module) else hasattr(owner, name),
    "item": lambda owner, key: owner[key] if isinstance(owner, (list, tuple, dict)) else MISSING,
}


def _value_of(thing: Any) -> Any:
    """Return the value of a member of an enumeration, which is the member for the inference."""
    return thing.value if isinstance(thing, enum.Enum) else thing


def _computed(name: str, things: list[Any]) -> Any:
    """Return the result of an operator; of tensors, arrays and objects of the program it has none."""
    is_device = any(isinstance(each, torch.device) for each in things)
    if not all(is_plain(each) or (is_device and isinstance(each, torch.device)) for each in things):
        return MISSING
    function = COMPARISONS.get(name) or ARITHMETIC.get(AUGMENTED.get(name, name))
    return MISSING if function is None else function(*things)


def library(name: str) -> Any:
    """Return a function, class or constant of a library that the program has imported, or MISSING."""
    if hasattr(builtins, name):
        return getattr(builtins, name)
    module, _, last = name.rpartition(".")
    return getattr(sys.modules.get(module), last, MISSING)


_late: dict[Value, bool] = {}


def _is_late(value: Value) -> bool:
    """Whether a value is made of one that only appears while the body is executed."""
    found = _late.get(value)
    if found is None:
        if isinstance(value, Root):
            found = value.kind not in (PARAMETER, GLOBAL, CLOSURE, MACHINE, PROCESS)
        elif isinstance(value, Symbol):
            is_one_of_many = value.field.kind == "#" and value.field not in (DEVICE, RANK, SOURCE)
            found = is_one_of_many or value.field.name == "()" or _is_late(value.parent)
        else:
            found = any(map(_is_late, parts_of(value)))
        _late[value] = found
    return found


def parts_of(value: Value) -> tuple[Value, ...]:
    """Return the values that a value is made of."""
    if isinstance(value, Term):
        return value.arguments
    if isinstance(value, Symbol):
        return (value.parent,)
    if isinstance(value, Tensor):
        return (value.device, value.rank)
    if isinstance(value, Alternatives):
        return value.options
    if isinstance(value, Tuple):
        return value.items
    if isinstance(value, Row):
        return tuple([each for _, each in value.entries])
    return ()


def is_bound_late(value: Value) -> bool:
    """Whether a value is a symbol for what unknown code returns, or for one of several elements."""
    return isinstance(value, (Root, Symbol)) and _is_late(value) and not any(map(_is_late, parts_of(value)))
