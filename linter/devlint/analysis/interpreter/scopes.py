"""Names: loading and storing them, and the definitions and imports that bind them."""

from __future__ import annotations

import builtins
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace

from devlint.analysis.execution.frame import Frame, InferredKinds
from devlint.analysis.interpreter import calls, closures, program_calls, statements
from devlint.analysis.values import show
from devlint.analysis.values.arguments import Arguments, ArgumentValue
from devlint.domain.device import Concrete
from devlint.domain.environment import Environment
from devlint.domain.given import plain_named
from devlint.domain.heap import LibraryObject
from devlint.domain.kinds import Spelling
from devlint.domain.place import named
from devlint.domain.value import (
    UNKNOWN,
    Closure,
    Constant,
    Field,
    Imported,
    Library,
    Method,
    Predicate,
    Reference,
    UserClass,
    Value,
)
from devlint.facts import UncheckedDevice
from devlint.frontend import ir
from devlint.torchlib.knowledge import AUTOCAST, FIELD, KEEPING_DECORATORS, MODULE, MODULE_BASES

BUILTINS = frozenset(dir(builtins))

_CHECKING = re.compile(r"cuda|gpu|accelerator|skip", re.IGNORECASE)
"""A decorator with such a word decides by the machine whether its function runs at all."""

_ACCESSORS = ("getter", "setter", "deleter")
"""Decorators that a property has for the other functions of its name."""

DESCRIPTORS = {
    "builtins.property": "property",
    "functools.cached_property": "property",
    "torch.distributions.utils.lazy_property": "property",
    "builtins.staticmethod": "staticmethod",
    "builtins.classmethod": "classmethod",
}


def transfer_load(frame: Frame, instruction: ir.Load, env: Environment) -> Environment:
    """Reads a name from the scope it belongs to."""
    frame.hold(instruction.target, lookup(frame, env, instruction.name), instruction.span, named(instruction.name))
    return env


def lookup(frame: Frame, env: Environment, name: str) -> Value:
    """What a name is: local, of an enclosing function, of the file, built in."""
    if name == "TYPE_CHECKING":
        return Predicate(known=False)  # what stands behind it is not executed
    if isinstance(frame.scope, ir.File):
        frame.program.note_name(frame.globals, name)
    value = env.names.get(name)
    if isinstance(value, Imported):
        # The name goes on holding the import: paths on which it was used and others must not differ by that.
        return frame.program.import_member(value)
    if value is not None:
        return value
    if name not in frame.scope.global_names:
        if name in frame.scope.local_names and not isinstance(frame.scope, ir.Class):
            return UNKNOWN
        value = frame.enclosing.get(name)
        if value is not None:
            return frame.program.import_member(value) if isinstance(value, Imported) else value
    value = frame.program.binding(frame.globals, name)
    if value is not None:
        return value
    return Library(f"builtins.{name}") if name in BUILTINS else UNKNOWN


def transfer_store(frame: Frame, instruction: ir.Store, env: Environment) -> Environment:
    """Binds a name."""
    name = instruction.name
    value = frame.kept(instruction.source)
    if isinstance(frame.scope, ir.File) and name not in frame.scope.rebound:
        frame.globals.names[name] = value
    if name not in frame.scope.nonlocal_names:
        env.names[name] = value
        show.note(frame, env, name, value, instruction.span)
    return env


def transfer_delete(frame: Frame, instruction: ir.Delete, env: Environment) -> Environment:
    """`del name`."""
    env.names.pop(instruction.name, None)
    return env


def transfer_make_function(frame: Frame, instruction: ir.MakeFunction, env: Environment) -> Environment:
    """A function definition: a closure over the names around it."""
    function = instruction.function
    defaults = plain_named((name, frame.registers[register]) for name, register in instruction.defaults)
    enclosing: tuple[tuple[str, Value], ...] = ()
    if isinstance(frame.scope, ir.Function):
        enclosing = closures.closed_over(frame, function, {**frame.enclosing, **_captured(frame, env)})
    elif isinstance(frame.scope, ir.Class):
        enclosing = tuple(frame.enclosing.items())
    plain = Closure(function, defaults, frame.globals, enclosing)
    if env.checked or any(_CHECKING.search(frame.text(frame.spans[one])) for one in instruction.decorators):
        plain = _checked(plain)  # there is no such function where there is no accelerator, or it does not run
    frame.made.add(function)
    if frame.recording and enclosing:
        frame.captured[function] = closures.objects_read(env, enclosing)
    value: Value = plain
    for register in reversed(instruction.decorators):
        value = decorate(frame, env, value, frame.registers[register], frame.spans[register])
    if isinstance(value, Closure) and value.function is function:
        plain = value
    frame.methods.append(plain)
    frame.program.found(frame, plain)
    frame.set(instruction.target, value, instruction.span)
    return env


def _captured(frame: Frame, env: Environment) -> dict[str, Value]:
    """The names a nested function sees; one that is bound more than once may have changed until it is called."""
    counts = frame.scope.store_counts
    return {name: value if counts.get(name, 0) <= 1 else UNKNOWN for name, value in env.names.items()}


def decorate(frame: Frame, env: Environment, value: Value, decorator: Value, span: ir.Span) -> Value:
    """A function after a decorator; one that is not known may return anything."""
    if not isinstance(value, Closure):
        return UNKNOWN
    if isinstance(decorator, Closure):
        if decorator.function not in frame.made and program_calls.hands_back(frame, env, decorator, span):
            return value
        made = calls.invoke_closure(frame, env, decorator, None, Arguments((ArgumentValue(value, span),), ()), span)
        if not isinstance(made, Closure):
            return replace(value, decorated=value.decorated | {"opaque"})
        return value if _stands_for(made) else made
    if isinstance(decorator, Method) and isinstance(decorator.receiver, Closure) and decorator.name in _ACCESSORS:
        return decorator.receiver  # `@x.setter`: the name still means the property
    _note_autocast(frame, env, decorator, span)
    marks = set(value.decorated)
    if isinstance(decorator, Library) and decorator.name in DESCRIPTORS:
        marks.add(DESCRIPTORS[decorator.name])
    elif not _keeps(frame, decorator, span):
        marks.add("opaque")
    elif _decorator_name(frame, span) == "functools.wraps":
        marks.add("wraps")
    return replace(value, decorated=frozenset(marks))


def _stands_for(wrapper: Closure) -> bool:
    """Whether a wrapper says that it is the function it wraps, and takes whatever that takes."""
    kinds = {parameter.kind for parameter in wrapper.function.parameters}
    return "wraps" in wrapper.decorated and {"args", "kwargs"} <= kinds


def _note_autocast(frame: Frame, env: Environment, decorator: Value, span: ir.Span) -> None:
    """Records `@torch.autocast("cuda")`: the type of device is settled where the function is defined."""
    held = env.heap.get(decorator.object) if isinstance(decorator, Reference) else None
    if not isinstance(held, LibraryObject) or held.cls != AUTOCAST or env.checked or frame.program.devices:
        return
    if held.part("device_type") in (Constant("cuda"), Constant("cuda", True)):
        frame.record(span, UncheckedDevice(Concrete("cuda"), Spelling.AUTOCAST, frame.text(span), None))


def _keeps(frame: Frame, decorator: Value, span: ir.Span) -> bool:
    if isinstance(decorator, Library):
        return decorator.name in KEEPING_DECORATORS
    return _decorator_name(frame, span) in KEEPING_DECORATORS


def _decorator_name(frame: Frame, span: ir.Span) -> str:
    return frame.program.qualified(frame.globals, frame.text(span).partition("(")[0])


def transfer_make_class(frame: Frame, instruction: ir.MakeClass, env: Environment) -> Environment | None:
    """A class definition: its body is executed, what it binds are the class's attributes."""
    body = instruction.body
    around = dict(frame.enclosing) | (env.names if isinstance(frame.scope, ir.Function) else {})
    inner = Frame(
        frame.program, body, frame.globals, around, None, frame.site, frame.recording, InferredKinds(), frame.depth
    )
    start = replace(env.copy(), names={})
    after = statements.execute(inner, body.body, start)
    # A class is one in all executions, so its attributes hold no constants of a call.
    attributes: dict[str, Value] = {} if after is None else dict(plain_named(after.names.items()))
    if any(_CHECKING.search(frame.text(frame.spans[register])) for register in instruction.decorators):
        attributes = {
            name: _checked(value) if isinstance(value, Closure) else value for name, value in attributes.items()
        }
        inner.methods[:] = map(_checked, inner.methods)
    written = tuple(frame.registers[base.register] for base in instruction.bases if base.keyword is None)
    bases = written + tuple(inherited for base in written for inherited in _of_library(frame, base))
    if _is_enum(bases):
        attributes = {name: value if isinstance(value, Closure) else UNKNOWN for name, value in attributes.items()}
    marks = [frame.text(frame.spans[register]) for register in instruction.decorators]
    is_record = any("dataclass" in mark or mark.startswith(("attr", "define")) for mark in marks) or any(
        base == Library("typing.NamedTuple") for base in bases
    )
    has_meta = any(base.keyword is not None for base in instruction.bases)
    described = dict(_described(env if after is None else after, attributes))
    attributes.update({name: held.part("default") for name, held in described.items()})
    cls = UserClass(
        body.name,
        bases,
        attributes,
        frame.globals,
        body.self_stores,
        (bool(marks) and not is_record) or has_meta,
        tuple(_field(name, annotation, described.get(name)) for name, annotation in body.fields),
        is_record,
        instruction.span,
    )
    if not around:
        cls = frame.program.as_before(body, cls)
    frame.program.found_class(frame, cls, inner.methods)
    frame.set(instruction.target, cls, instruction.span)
    return env


def _described(env: Environment, attributes: Mapping[str, Value]) -> Iterator[tuple[str, LibraryObject]]:
    """Yield the attributes of a class that `dataclasses.field` describes, with the description."""
    for name, value in attributes.items():
        held = env.heap.get(value.object) if isinstance(value, Reference) else None
        if isinstance(held, LibraryObject) and held.cls == FIELD:
            yield name, held


def _field(name: str, annotation: ir.Annotation | None, described: LibraryObject | None) -> Field:
    if described is None:
        return Field(name, annotation)
    factory = described.part("default_factory")
    is_given = described.part("init") != Constant(False)
    return Field(name, annotation, None if factory == UNKNOWN else factory, is_given)


def _is_enum(bases: tuple[Value, ...]) -> bool:
    """Whether what the body binds becomes members, which are no strings or numbers themselves."""
    every = {item for base in bases for item in (base.lineage if isinstance(base, UserClass) else (base,))}
    return not _ENUMS.isdisjoint(every) and _MIXED_IN.isdisjoint(every)


_ENUMS = frozenset(map(Library, ("enum.Enum", "enum.Flag")))
_MIXED_IN = frozenset(map(Library, ("builtins.str", "builtins.int")))


def _checked(method: Closure) -> Closure:
    return replace(method, decorated=method.decorated | {"checked"})


def _of_library(frame: Frame, base: Value) -> tuple[Value, ...]:
    """What a base class of a library inherits itself: a `LightningModule` is a module."""
    if not isinstance(base, Library) or base.name in MODULE_BASES:
        return ()
    return tuple(Library(entry.name) for entry in frame.program.catalogue.lineage(base.name) if entry.name == MODULE)


def transfer_import(frame: Frame, instruction: ir.Import, env: Environment) -> Environment:
    """`import a.b` binds `a`; `import a.b as c` binds the module itself."""
    name = instruction.module if instruction.whole else instruction.module.partition(".")[0]
    _bind(frame, env, {instruction.name: frame.program.import_module(frame.globals, name)})
    return env


def transfer_import_from(frame: Frame, instruction: ir.ImportFrom, env: Environment) -> Environment:
    """`from a import b`."""
    if instruction.member == "*":
        _bind(frame, env, frame.program.import_all(frame.globals, instruction.module, instruction.level))
        return env
    # The other file is executed when the name is first used: most imports of a large package never are.
    imported = Imported(frame.globals, instruction.module, instruction.member, instruction.level)
    _bind(frame, env, {instruction.name: imported})
    return env


def _bind(frame: Frame, env: Environment, imported: Mapping[str, Value]) -> None:
    """Bind names by an import; at the top level of a file, for the bodies of its classes and functions, too."""
    env.names.update(imported)
    if isinstance(frame.scope, ir.File):
        frame.globals.names.update(imported)
