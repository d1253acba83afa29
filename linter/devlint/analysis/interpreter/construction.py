"""Making objects of the program's own classes."""

from __future__ import annotations

from dataclasses import replace

from devlint.analysis.execution.frame import Frame
from devlint.analysis.findings import device_not_forwarded
from devlint.analysis.index import classes
from devlint.analysis.interpreter import program_calls
from devlint.analysis.libraries import library_calls, transfer_tables
from devlint.analysis.values.arguments import Arguments, ArgumentValue
from devlint.analysis.values.modules import is_module
from devlint.domain.environment import Environment
from devlint.domain.heap import INHERITED, Instance
from devlint.domain.kinds import OriginKind
from devlint.domain.value import (
    UNKNOWN,
    Closure,
    Reference,
    UserClass,
    Value,
)
from devlint.frontend.ir import Span


def construct(frame: Frame, env: Environment, cls: UserClass, arguments: Arguments, span: Span) -> Value | None:
    """`Class(arguments)`."""
    frame.program.note_looked_at(cls)
    origin = frame.origin(
        f"created by `{cls.name}(…)`", span, OriginKind.MODULE if classes.is_module(cls) else OriginKind.CREATED
    )
    init, owner = classes.find(cls, "__init__") or (None, cls)
    if isinstance(init, Closure):
        summarised = program_calls.construct(frame, env, cls, init, owner, arguments, span)
        if summarised is not None:
            new = env.heap[summarised.object]
            assert isinstance(new, Instance)
            env.heap[summarised.object] = replace(new, origin=origin)
            given = arguments.behind(ArgumentValue(summarised, span))
            device_not_forwarded.note_construction(frame, cls, init, given, summarised.object, span)
            return summarised
    identity = frame.new_object(span, cls.name)
    env.heap[identity] = classes.blank(cls, env.default, origin)
    made = Reference(identity)
    if not isinstance(init, Closure):
        env.heap[identity] = _filled(env.heap[identity], classes.fields(cls), arguments)
        inherit(frame, env, made, None, arguments, span)
        return made
    result = program_calls.call(frame, env, init, owner, arguments.behind(ArgumentValue(made, span)), span)
    if result is None:
        return None
    held = env.heap.get(identity)
    if result is UNKNOWN and isinstance(held, Instance):
        env.heap[identity] = replace(held, attributes=_overwritten(held), open=True)
    device_not_forwarded.note_construction(
        frame, cls, init, arguments.behind(ArgumentValue(made, span)), identity, span
    )
    return made


def inherit(
    frame: Frame, env: Environment, made: Reference, after: UserClass | None, arguments: Arguments, span: Span
) -> None:
    """Execute `super().__init__(arguments)` of a new module where that is the constructor of a library's class.

    `after`: the class whose method says so, if one does.
    """
    held = env.heap.get(made.object)
    base = classes.torch_base(held.cls, after) if isinstance(held, Instance) else None
    if base is None or not isinstance(held, Instance):
        return
    if base not in transfer_tables.CONSTRUCTORS and frame.program.catalogue.class_(base) is None:
        return
    part = library_calls.construct(frame, env, base, arguments, span)
    if part is not None and is_module(frame, env, part):
        env.heap[made.object] = classes.seen_whole(held, base).put(INHERITED, part, registered=True)


def _overwritten(held: Instance) -> tuple[tuple[str, Value], ...]:
    """The attributes of an object whose constructor nobody can follow: what the class says of them is not the last."""
    every = [item for item in held.cls.lineage if isinstance(item, UserClass)]
    of_class = {name for item in every for name, value in item.attributes.items() if not isinstance(value, Closure)}
    unclear = {name for name in of_class if held.get(name) is None and classes.stores(held.cls, name)}
    return (*held.attributes, *((name, UNKNOWN) for name in sorted(unclear)))


def _filled(held: object, fields: tuple[str, ...], arguments: Arguments) -> Instance:
    assert isinstance(held, Instance)
    every = arguments.exact and arguments.loose is None and arguments.spread is None
    given = dict(zip(fields, arguments.positional, strict=False)) | dict(arguments.keywords)
    for name in fields:
        default, _ = (every and classes.find(held.cls, name)) or (UNKNOWN, None)
        value = given[name].value if name in given else default
        held = held.put(name, value, registered=False)
    return held
