"""Objects that the heap holds, and code: functions, classes, methods, libraries, files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, final

from devlint.inference.values.terms import NONE, Value

if TYPE_CHECKING:
    from devlint.inference.values.code import Body, ClassCode, FileCode


@final
class Site(Value):
    """The place that makes an object: an expression in a body, reached by calls.

    Attributes:
        body: the name of the body.
        span: of the expression, as in `ir.Span`.
        part: distinguishes the objects that one expression makes.
        call: the place of the call of the body, as a site; NONE for the body that is executed itself.
    """

    __slots__ = ("body", "call", "part", "span")

    def __init__(self, body: str, span: tuple[int, int, int, int], part: str, call: Value) -> None:
        super().__init__(1, False)
        self.body = body
        self.span = span
        self.part = part
        self.call = call

    def _shown(self) -> str:
        return f"{self.body}:{':'.join(map(str, self.span))}{self.part} < {self.call.text}"


_sites: Final[dict[tuple[str, tuple[int, int, int, int], str, Value], Site]] = {}


def site(body: str, span: tuple[int, int, int, int], part: str = "", call: Value = NONE) -> Site:
    """Return a place at which objects are made."""
    key = (body, span, part, call)
    found = _sites.get(key)
    if found is None:
        found = _sites[key] = Site(body, span, part, call)
    return found


MOST_CALLS: Final = 6
"""How many calls a site remembers."""


def through(where: Value, call: Value) -> Value:
    """Return a site of a body that was called from another site; one that remembers too many calls stays."""
    inner, calls = where, 0
    while isinstance(inner, Site):
        inner, calls = inner.call, calls + 1
    return _through(where, call) if calls <= MOST_CALLS else where


def _through(where: Value, call: Value) -> Value:
    if not isinstance(where, Site):
        return call
    return site(where.body, where.span, where.part, _through(where.call, call))


@final
class Instance(Value):
    """An object that was made at a site, and whose fields the heap holds.

    Attributes:
        kind: OBJECT, MODULE, LIBRARY, LIST, SET, DICT or ENVIRONMENT.
        of: its class: a `ClassValue`, a `Library`, or NONE.
    """

    __slots__ = ("kind", "of", "site")

    def __init__(self, where: Site, kind: str, of: Value) -> None:
        super().__init__(1, False)
        self.site = where
        self.kind = kind
        self.of = of

    def _shown(self) -> str:
        return f"{self.kind} {self.of.text} @ {self.site.text}"


OBJECT: Final = "object"
"""Of a class of the project."""
MODULE: Final = "module"
"""Of a class of modules of a library, such as `torch.nn.Linear`."""
LIBRARY: Final = "library"
"""Of another class of a library."""
LIST: Final = "list"
SET: Final = "set"
DICT: Final = "dict"
ENVIRONMENT: Final = "environment"
"""The variables of a function that functions inside it use."""

_instances: Final[dict[tuple[Site, str, Value], Instance]] = {}


def instance(where: Site, kind: str, of: Value = NONE) -> Instance:
    """Return the object of a site."""
    found = _instances.get((where, kind, of))
    if found is None:
        found = _instances[where, kind, of] = Instance(where, kind, of)
    return found


@final
class Function(Value):
    """A function of the project with the variables of the functions around it."""

    __slots__ = ("body", "environment")

    def __init__(self, body: Body, environment: Value) -> None:
        super().__init__(1, environment.is_fixed)
        self.body = body
        self.environment = environment

    def _shown(self) -> str:
        return f"function {self.body.name} {self.environment.text}"


_functions: Final[dict[tuple[Body, Value], Function]] = {}


def function(body: Body, environment: Value = NONE) -> Function:
    """Return a function of the project."""
    found = _functions.get((body, environment))
    if found is None:
        found = _functions[body, environment] = Function(body, environment)
    return found


@final
class ClassValue(Value):
    """A class of the project."""

    __slots__ = ("code",)

    def __init__(self, code: ClassCode) -> None:
        super().__init__()
        self.code = code

    def _shown(self) -> str:
        return f"class {self.code.name}"


_classes: Final[dict[ClassCode, ClassValue]] = {}


def class_value(code: ClassCode) -> ClassValue:
    """Return a class of the project."""
    found = _classes.get(code)
    if found is None:
        found = _classes[code] = ClassValue(code)
    return found


@final
class Bound(Value):
    """A function of the project with its first argument."""

    __slots__ = ("function", "receiver")

    def __init__(self, called: Value, receiver: Value) -> None:
        super().__init__(1, called.is_fixed and receiver.is_fixed)
        self.function = called
        self.receiver = receiver

    def _shown(self) -> str:
        return f"{self.function.text} of {self.receiver.text}"


_bound: Final[dict[tuple[Value, Value], Bound]] = {}


def bound(called: Value, receiver: Value) -> Bound:
    """Return a bound method."""
    found = _bound.get((called, receiver))
    if found is None:
        found = _bound[called, receiver] = Bound(called, receiver)
    return found


@final
class Wrapped(Value):
    """A function in a class that a decorator of Python has wrapped.

    Attributes:
        kind: "property", "staticmethod", "classmethod", or "setter" for the decorator of a property's setter.
        function: the wrapped function; for a property, the getter.
        setter: the function that writes a property, or NONE.
    """

    __slots__ = ("function", "kind", "setter")

    def __init__(self, kind: str, wrapped: Value, setter: Value) -> None:
        super().__init__(1, wrapped.is_fixed and setter.is_fixed)
        self.kind = kind
        self.function = wrapped
        self.setter = setter

    def _shown(self) -> str:
        return f"{self.kind} {self.function.text} {self.setter.text}"


_wrapped: Final[dict[tuple[str, Value, Value], Wrapped]] = {}


def wrapped(kind: str, inner: Value, setter: Value = NONE) -> Wrapped:
    """Return a property or method of a class."""
    found = _wrapped.get((kind, inner, setter))
    if found is None:
        found = _wrapped[kind, inner, setter] = Wrapped(kind, inner, setter)
    return found


@final
class Super(Value):
    """`super()` in a method of `owner`, for `receiver`."""

    __slots__ = ("owner", "receiver")

    def __init__(self, owner: ClassCode, receiver: Value) -> None:
        super().__init__(1, receiver.is_fixed)
        self.owner = owner
        self.receiver = receiver

    def _shown(self) -> str:
        return f"super {self.owner.name} {self.receiver.text}"


_supers: Final[dict[tuple[ClassCode, Value], Super]] = {}


def super_of(owner: ClassCode, receiver: Value) -> Super:
    """Return the value of `super()`."""
    found = _supers.get((owner, receiver))
    if found is None:
        found = _supers[owner, receiver] = Super(owner, receiver)
    return found


@final
class Library(Value):
    """A module, class, function or constant of a library, or a builtin one, by its canonical name."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        super().__init__()
        self.name = name

    def _shown(self) -> str:
        return f"library {self.name}"


_libraries: Final[dict[str, Library]] = {}


def library(name: str) -> Library:
    """Return the value of a canonical name of a library."""
    found = _libraries.get(name)
    if found is None:
        found = _libraries[name] = Library(name)
    return found


@final
class Method(Value):
    """A method of a library or of Python; `of` names its class and is empty while the class is unknown."""

    __slots__ = ("name", "of", "receiver")

    def __init__(self, receiver: Value, of: str, name: str) -> None:
        super().__init__(1, receiver.is_fixed)
        self.receiver = receiver
        self.of = of
        self.name = name

    def _shown(self) -> str:
        return f"{self.receiver.text}.{self.of}.{self.name}"


_methods: Final[dict[tuple[Value, str, str], Method]] = {}


def method(receiver: Value, of: str, name: str) -> Method:
    """Return a method of a value."""
    found = _methods.get((receiver, of, name))
    if found is None:
        found = _methods[receiver, of, name] = Method(receiver, of, name)
    return found


@final
class FileValue(Value):
    """A file of the project, as a module of Python."""

    __slots__ = ("file",)

    def __init__(self, file: FileCode) -> None:
        super().__init__()
        self.file = file

    def _shown(self) -> str:
        return f"file {self.file.module}"


_files: Final[dict[FileCode, FileValue]] = {}


def file_value(file: FileCode) -> FileValue:
    """Return a file of the project."""
    found = _files.get(file)
    if found is None:
        found = _files[file] = FileValue(file)
    return found
