"""Making objects of the program's own classes."""

from __future__ import annotations

from dataclasses import replace

from devlint.analysis.execution.frame import Frame
from devlint.analysis.findings import device_not_forwarded
from devlint.analysis.index import classes
from devlint.analysis.interpreter import program_calls
from devlint.analysis.libraries import library_calls, transfer_tables
from devlint.analysis.libraries.transfer_tables import LibraryCall
from devlint.analysis.values.arguments import Arguments, ArgumentValue
from devlint.analysis.values.modules import is_module
from devlint.domain.environment import Environment
from devlint.domain.heap import INHERITED, Instance
from devlint.domain.kinds import OriginKind
from devlint.domain.value import (
    UNKNOWN,
    Closure,
    Field,
    Library,
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
        completed = _fill(frame, env, made, cls, arguments, span)
        inherit(frame, env, made, None, arguments, span)
        return made if completed else None
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


def _fill(frame: Frame, env: Environment, made: Reference, cls: UserClass, arguments: Arguments, span: Span) -> bool:
    """Execute the constructor that a class has without writing one; the result says whether it returns."""
    fields = classes.fields(cls)
    every = arguments.exact and arguments.loose is None and arguments.spread is None
    taken = (field.name for field in fields if field.is_given)
    given = dict(zip(taken, arguments.positional, strict=False)) | dict(arguments.keywords)
    passed: list[ArgumentValue] = []
    for field in fields:
        value = given[field.name].value if field.name in given else UNKNOWN
        if every and field.name not in given:
            value = _default(frame, env, cls, field, span)
        if field.annotation is not None and field.annotation.names[0].endswith("InitVar"):
            passed.append(ArgumentValue(value, span))
            continue
        held = env.heap[made.object]
        assert isinstance(held, Instance)
        env.heap[made.object] = held.put(field.name, value, registered=False)
    found = _after_init(cls) if any(isinstance(one, UserClass) and one.is_record for one in cls.lineage) else None
    if found is None:
        return True
    after, owner = found
    result = program_calls.call(frame, env, after, owner, Arguments((ArgumentValue(made, span), *passed), ()), span)
    return result is not None


def _after_init(cls: UserClass) -> tuple[Closure, UserClass] | None:
    """What the constructor of a dataclass calls at its end."""
    for name in ("__post_init__", "__attrs_post_init__"):
        found, owner = classes.find(cls, name) or (None, cls)
        if isinstance(found, Closure):
            return found, owner
    return None


def _default(frame: Frame, env: Environment, cls: UserClass, field: Field, span: Span) -> Value:
    """The default value of a field; a factory makes a new one each time."""
    nothing = Arguments((), ())
    result: Value | None = None
    match field.factory:
        case None:
            result, _ = classes.find(cls, field.name) or (UNKNOWN, None)
        case Closure() as function:
            result = program_calls.call(frame, env, function, None, nothing, span)
        case UserClass() as inner:
            result = construct(frame, env, inner, nothing, span)
        case Library(name=name) if name in transfer_tables.FUNCTIONS:
            result = transfer_tables.FUNCTIONS[name](LibraryCall(frame, env, name, nothing, span))
    return UNKNOWN if result is None else result
