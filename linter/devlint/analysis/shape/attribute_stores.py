"""What methods other than `__init__` store in the attributes of their object.

Which of them has run when a method reads the attribute is not known, so it holds the join of all that they store, and
of what `__init__` left there. Where one of them stores something that is only known where it runs, such as what
follows one of its parameters, the attribute is a thing of its own of which nothing is known.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from devlint.analysis.execution.budget import Budget
from devlint.analysis.execution.frame import Frame, Stored
from devlint.analysis.index import classes
from devlint.analysis.interpreter import bodies
from devlint.analysis.interpreter.attributes import stores_by_name
from devlint.analysis.shape import self_object
from devlint.analysis.values import modules
from devlint.domain.device import UNKNOWN_DEVICE, Concrete, Variable, is_symbolic
from devlint.domain.environment import Environment
from devlint.domain.heap import DictObject, Instance, ListObject, Object, held_by
from devlint.domain.place import SELF
from devlint.domain.value import (
    UNKNOWN,
    Closure,
    Constant,
    Constraint,
    DeviceValue,
    Host,
    MaybeNone,
    ObjectId,
    Predicate,
    Present,
    Reference,
    Tensor,
    UserClass,
    Value,
    join,
    maybe_none,
)

DEEPEST = 24
"""How many classes may wait for each other's methods; of those below nothing more is learned."""


def complete(frame: Frame, cls: UserClass, generic: self_object.SelfObject) -> self_object.SelfObject:
    """An instance as `__init__` leaves it, with what is known of the attributes that other methods store."""
    generic = _filled_later(frame, cls, generic)
    held = generic.heap[generic.value.object]
    assert isinstance(held, Instance)
    wanted = classes.other_stores(cls, besides="__init__") - held.registered
    if not wanted or classes.moves_itself(cls) or frame.depth > DEEPEST or stores_by_name(frame, cls):
        return generic
    found: dict[str, list[Stored]] = {}
    lost = {name for name in wanted if frame.program.is_stored_outside(cls.globals, name)}
    objects: dict[ObjectId, Object] = {}
    for closure, owner, names in _storing(cls):
        heap = _run(frame, closure, owner, generic, found)
        lost |= names - found.keys()
        objects |= heap
    env = Environment(heap=generic.heap.above())
    env.heap.update(objects)
    later = {}
    for name in sorted(wanted & found.keys() - lost):
        stored = found[name]
        registered = any(one.registered for one in stored)
        values = [generic.initial[name]] if name in generic.initial else []
        values += [_elsewhere(frame, env, one.value) for one in stored]
        if registered:
            values = [_placed(value, Variable(SELF.attribute(name))) for value in values]
        value = values[0]
        for other in values[1:]:
            value = UNKNOWN if UNKNOWN in (value, other) else join(value, other)
        if value != UNKNOWN:
            later[name] = Stored(value, registered)
    return self_object.with_later(frame, generic, later, objects)


def _filled_later(frame: Frame, cls: UserClass, generic: self_object.SelfObject) -> self_object.SelfObject:
    """An instance in whose lists and dicts is unknown what its file puts in the place of what was there before."""
    held = generic.heap[generic.value.object]
    assert isinstance(held, Instance)
    unknown: dict[ObjectId, Object] = {}
    for name, value in held.attributes:
        if not isinstance(value, Reference):
            continue
        whole = generic.heap.get(value.object)
        if not isinstance(whole, (ListObject, DictObject)) or whole.module is not None:
            continue
        holds_tensors = any(isinstance(item, Tensor) for item in held_by(whole))
        if holds_tensors and frame.program.is_stored_by_place(cls.globals, name):
            unknown[value.object] = (
                ListObject(None) if isinstance(whole, ListObject) else DictObject((), complete=False)
            )
    if not unknown:
        return generic
    heap = generic.heap.above()
    heap.update(unknown)
    return replace(generic, heap=heap)


def _storing(cls: UserClass) -> Iterator[tuple[Closure, UserClass, frozenset[str]]]:
    """The methods of a class and its bases that store attributes, apart from `__init__` and its parts."""
    for item in cls.lineage:
        if isinstance(item, UserClass):
            for name, stores in item.self_stores.items():
                method = item.attributes.get(name)
                if not stores or name == "__init__" or not isinstance(method, Closure):
                    continue
                if not classes.is_part_of(cls, name, "__init__"):
                    yield method, item, stores


def _run(
    frame: Frame, closure: Closure, owner: UserClass, generic: self_object.SelfObject, found: dict[str, list[Stored]]
) -> dict[ObjectId, Object]:
    """Executes a method for what it stores, which is added to `found`; the result are the objects that it makes."""
    parameters = closure.function.parameters
    if not parameters or "staticmethod" in closure.decorated:
        return {}
    outside = replace(frame, budget=Budget(running={closure.function}), recording=False)
    env = Environment(default=frame.program.default_of(closure.globals), heap=generic.heap)
    env.checked = generic.checked or "checked" in closure.decorated
    bound: dict[str, Value] = {parameters[0].name: generic.value}
    names = bodies.parameter_values(outside, closure, owner, bound, True)
    outcome = bodies.run(outside, closure, owner, names, env, site=f"{generic.value.object.site}>")
    for identity, name, stored in outcome.frame.stores:
        if identity == generic.value.object:
            found.setdefault(name, []).append(stored)
    if outcome.env is None:
        return {}
    return {key: value for key, value in outcome.env.heap.changed() if key not in generic.heap}


def _elsewhere(frame: Frame, env: Environment, value: Value) -> Value:
    """What one method stores, as another one finds it; Unknown where only the first can tell."""
    match value:
        case Tensor() if is_symbolic(value.device):
            return replace(value, device=UNKNOWN_DEVICE, stray=None)
        case Tensor():
            return replace(value, stray=None)
        case MaybeNone():
            return maybe_none(_elsewhere(frame, env, value.present))
        case Constant(is_none=True) | Host() | DeviceValue(device=Concrete()):
            return value
        case Predicate():
            return Predicate(_of_accelerators(value.holds), _of_accelerators(value.fails))
        case Reference() if value.object in env.heap and modules.is_module(frame, env, value):
            return value
        case _:
            return UNKNOWN


def _of_accelerators(proofs: tuple[Constraint, ...]) -> tuple[Constraint, ...]:
    """What a test proves wherever it is asked."""
    return tuple(proof for proof in proofs if isinstance(proof, Present))


def _placed(value: Value, device: Variable) -> Value:
    """A registered part is where the module is, wherever a method has made it."""
    match value:
        case Tensor():
            return replace(value, device=device)
        case MaybeNone():
            return MaybeNone(_placed(value.present, device))
        case _:
            return value
