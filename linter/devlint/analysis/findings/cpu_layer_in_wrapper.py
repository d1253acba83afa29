"""Layers that a module builds on the CPU for the results of a module that it was given.

Whoever hands over a module may have placed it: a model that is to be trained, most often, around which a loss is made.
Then its results are there, and the layers are not, unless the whole is moved as well.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import TypeAlias

from devlint.analysis.execution.frame import Frame
from devlint.analysis.findings import unregistered_tensor
from devlint.analysis.index import classes
from devlint.analysis.values import modules
from devlint.domain.device import Variable
from devlint.domain.environment import Environment
from devlint.domain.heap import Heap, Instance
from devlint.domain.value import Closure, ObjectId, Reference, UserClass
from devlint.facts import LayerBesideGiven
from devlint.frontend import ir


def note(frame: Frame, cls: UserClass, heap: Heap, identity: ObjectId) -> None:
    """Notes the layers that an instance has after its `__init__` and that its `forward` gives such results."""
    held, init, forward = heap.get(identity), cls.attributes.get("__init__"), cls.attributes.get("forward")
    if not isinstance(held, Instance) or not isinstance(init, Closure) or not isinstance(forward, Closure):
        return
    contents = frame.program.contents(init.globals.file, init.function)
    if not classes.is_module(cls) or contents.moves or {"device", "_apply"} & contents.named:
        return
    env = Environment(heap=heap)
    places = dict(held.places)
    given = dict(_given(frame, cls, init))
    for name, value in held.attributes:
        file, span = places.get(name, ("", init.function.span))
        if name not in held.registered or file != frame.file or not isinstance(value, Reference):
            continue
        if unregistered_tensor.holder(env, value).criterion:
            continue  # what a loss inside a loss holds are weights that the caller has made
        device, made = modules.module_device(frame, env, value)
        if not isinstance(device, Variable) or made is None or not _within(init.function.span, span):
            continue
        for attribute, parameter in given.items():
            meets = _feeds(forward.function.body, attribute, name)
            if meets is not None:
                place = frame.program.place(frame.file, meets)
                frame.record(span, LayerBesideGiven(f"self.{name}", f"self.{attribute}", parameter, place))
                break


def _given(frame: Frame, cls: UserClass, init: Closure) -> Iterator[tuple[str, str]]:
    """The attributes that keep a parameter of `__init__` which may be a module with a place, each with its name.

    A loss is made for a model that exists; other modules are for objects that tell where they are.
    """
    loads = {item.target: item.name for item in init.function.body if isinstance(item, ir.Load)}
    parameters = {one.name: one for one in init.function.parameters}
    for item in init.function.body:
        if isinstance(item, ir.StoreAttribute) and loads.get(item.source) in parameters:
            parameter = parameters[loads[item.source]]
            declared = () if parameter.annotation is None else parameter.annotation.names
            kinds = [frame.program.binding(init.globals, name) for name in declared]
            tells = any(isinstance(one, UserClass) and classes.find(one, "device") is not None for one in kinds)
            if tells or classes.is_criterion(cls):
                yield item.name, parameter.name


def _within(whole: ir.Span, span: ir.Span) -> bool:
    return whole.line <= span.line <= whole.end_line


def _feeds(body: ir.Block, source: str, taker: str) -> ir.Span | None:
    """Where `self.taker(…)` is called with what comes from a result of `self.source(…)`, in whatever order; or None."""
    every = tuple(_parts(body))
    methods = {item.target: item for item in every if isinstance(item, ir.Attribute)}
    names = {item.target: item.name for item in every if isinstance(item, ir.Load)}
    flows: dict[_Node, set[_Node]] = defaultdict(set)
    reached: set[_Node] = set()
    takers = []
    for item in every:
        for start, end in _flows(item):
            flows[start].add(end)
        method = methods.get(item.function) if isinstance(item, ir.Call) else None
        if not isinstance(item, ir.Call) or method is None:
            continue
        owner = names.get(method.base)
        if owner != "self":
            for given in item.arguments if owner is not None else ():
                flows[given.register].add(owner or "")  # `results.append(x)`
        elif method.name == source:
            reached.add(item.target)
        elif method.name == taker:
            takers.append(item)
    pending = list(reached)
    while pending:
        new = flows[pending.pop()] - reached
        reached |= new
        pending.extend(new)
    return min((one.span for one in takers if any(given.register in reached for given in one.arguments)), default=None)


_Node: TypeAlias = ir.Register | str
"""What holds a value: a register or a name."""


def _parts(block: object) -> Iterator[object]:
    """The instructions of a block and of those inside of it, with what they are made of."""
    pending = [block]
    while pending:
        item = pending.pop()
        if isinstance(item, tuple) and not isinstance(item, ir.Span):
            yield item
            pending.extend(item)


def _flows(item: object) -> Iterator[tuple[_Node, _Node]]:
    """From where to where an instruction passes a value, or what is made of it."""
    match item:
        case ir.Load(target=target, name=name):
            yield name, target
        case ir.Store(name=name, source=source):
            yield source, name
        case ir.Attribute(target=target, base=source) | ir.Subscript(target=target, base=source):
            yield source, target
        case ir.Unary(target=target, operand=source) | ir.Await(target=target, source=source):
            yield source, target
        case ir.Binary(target=target, left=left, right=right):
            yield from ((left, target), (right, target))
        case ir.Call(target=target, function=function, arguments=arguments):
            yield from ((source, target) for source in (function, *(one.register for one in arguments)))
        case ir.Build(target=target, items=items):
            yield from ((one.register, target) for one in items)
        case ir.BuildMapping(target=target, items=pairs):
            yield from ((value, target) for _, value in pairs)
        case ir.Logic(target=target, operands=operands):
            yield from ((one.register, target) for one in operands)
        case ir.Conditional(target=target, then=then, orelse=orelse):
            yield from ((then.register, target), (orelse.register, target))
        case ir.Append(container=target, source=source):
            yield source, target
        case ir.Unpack(targets=targets, source=source):
            yield from ((source, target) for target in targets)
        case ir.For(iterable=source, element=target):
            yield source, target
        case _:
            pass
