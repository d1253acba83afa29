"""Looks at what the user's functions are given and give back, while a guard records.

Each of the first calls of a function is looked at, then those whose number is a power of two: what changes late is
seen late, but it is seen, and a function that is called a million times costs as much as one called fifty times.
"""

from __future__ import annotations

import ast
import hashlib
import linecache
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from types import CodeType, FrameType
from typing import Any, Final

import torch
from torch import Tensor, nn

from devlint_guard import calls
from devlint_guard.frames import is_installed, shown_path
from devlint_guard.observed import Called, Observed, Seen
from devlint_guard.stored import dictionary_of, registered_in
from devlint_guard.undisturbed import Undisturbed

EACH: Final = 32
"""So many calls of a function are looked at one by one."""

LONGEST: Final = 32
"""Of a container with more elements than this only the kind is told."""

DEEPEST: Final = 3
"""Of so many attributes in a row the last is an object of which nothing more is told."""

MOST: Final = 8
"""A place that has had so many sizes has any."""

_MODULE_TABLES: Final = ("_parameters", "_buffers", "_modules")


@dataclass(slots=True)
class _Place:
    """A `Seen` that grows."""

    kinds: set[str] = field(default_factory=set)
    devices: set[str] = field(default_factory=set)
    sizes: set[int] = field(default_factory=set)

    def note(self, kind: str, devices: Iterable[str] = (), size: int | None = None) -> None:
        self.kinds.add(kind)
        self.devices.update(devices)
        if size is not None and len(self.sizes) < MOST:
            self.sizes.add(size)

    def seen(self) -> Seen:
        return Seen(tuple(sorted(self.kinds)), tuple(sorted(self.devices)), tuple(sorted(self.sizes)))


_Places = dict[str, _Place]


class _Function:
    """One function as it was called so far."""

    def __init__(self, code: CodeType) -> None:
        self.code = code
        self.calls = 0
        self.entry: _Places = {}
        self.exit: _Places = {}
        count = code.co_argcount + code.co_kwonlyargcount
        is_method = code.co_varnames[:1] == ("self",) and count > 0
        self.parameters = code.co_varnames[is_method:count]
        self.variables = code.co_varnames[count:]
        self.is_method = is_method
        self.names = code.co_names

    @property
    def is_looked_at(self) -> bool:
        return self.calls <= EACH or not self.calls & (self.calls - 1)


class Observer:
    """Remembers what the functions of the user's source files were called with. Holds none of it alive."""

    def __init__(self) -> None:
        self._functions: dict[int, _Function] = {}
        self._texts: dict[str, str] = {}
        self._problem = ""

    def begin(self) -> None:
        """Begins to look; where something else is in the way, that is the problem of the `Observed`."""
        self._problem = calls.listen(self)

    def end(self) -> None:
        """Looks no more."""
        calls.stop(self)

    # --- told of calls ---

    def listens_to(self, file: str) -> bool:
        """Whether it is a source file of the user's; keeps the text that runs."""
        if file.startswith("<") or is_installed(file):
            return False
        if file not in self._texts:
            self._texts[file] = "".join(linecache.getlines(file))
        return True

    def started(self, frame: FrameType) -> None:
        """Looks at arguments, and at the attributes that the function names."""
        code = frame.f_code
        function = self._functions.get(id(code))
        if function is None:
            function = self._functions[id(code)] = _Function(code)
        function.calls += 1
        if function.is_looked_at:
            held = frame.f_locals
            given = [(name, held[name]) for name in function.parameters if name in held]
            if function.is_method:
                given += ((f"self.{name}", value) for name, value in _attributes(held.get("self"), function.names))
            _look(function.entry, given, function.names)

    def returned(self, frame: FrameType, value: object) -> None:
        """Looks at variables and results."""
        function = self._functions.get(id(frame.f_code))
        if function is not None and function.is_looked_at:
            held = frame.f_locals
            _look(
                function.exit,
                [("return", value), *((name, held[name]) for name in function.variables if name in held)],
                function.names,
            )

    # --- the result ---

    def observed(self, rank: int | None) -> Observed:
        """The observations so far."""
        definitions = {file: _definitions(text) for file, text in self._texts.items()}
        found = []
        for function in list(self._functions.values()):
            code = function.code
            definition = definitions[code.co_filename].get((code.co_name, code.co_firstlineno))
            if definition is not None:
                found.append(self._called(function, *definition))
        found.sort(key=lambda called: (called.file, called.line, called.function))
        return Observed(rank, self._problem, tuple(found))

    def _called(self, function: _Function, path: str, node: _Definition) -> Called:
        file = function.code.co_filename
        read_only = {"return", *_only_read(node)}

        def is_told(path: str) -> bool:
            """Whether a place at the exit held its value all along; attributes may have been exchanged since."""
            name, dot, _ = path.partition(".")
            return not dot or name.partition("[")[0] in read_only

        return Called(
            shown_path(file),
            path,
            node.lineno,
            digest_of(self._texts[file], node),
            function.calls,
            {path: place.seen() for path, place in sorted(function.entry.items())},
            {path: place.seen() for path, place in sorted(function.exit.items()) if is_told(path)},
        )


def digest_of(text: str, node: ast.stmt) -> str:
    """A name for a stretch of a source text: of a function, from `def` to its end."""
    lines = [line.encode() for line in text.split("\n")[node.lineno - 1 : node.end_lineno]]
    lines[-1] = lines[-1][: node.end_col_offset]
    lines[0] = lines[0][node.col_offset :]
    return hashlib.blake2b(b"\n".join(lines), digest_size=16).hexdigest()


# --- values -------------------------------------------------------------------------------------------------


def _look(places: _Places, values: Iterable[tuple[str, object]], names: tuple[str, ...]) -> None:
    if torch.compiler.is_compiling():
        return
    for path, value in values:
        # The program must not notice, whatever its objects do when they are looked at.
        with Undisturbed(None):
            _note(places, path, value, names)


def _note(places: _Places, path: str, value: object, names: tuple[str, ...]) -> None:
    place = places.get(path)
    if place is None:
        place = places[path] = _Place()
    if isinstance(value, Tensor):
        place.note("tensor", (str(value.device),), value.dim())
    elif isinstance(value, nn.Module):
        place.note("module", {str(one.device) for one in registered_in(value)})
    elif value is None:
        place.note("none")
    elif isinstance(value, torch.device):
        place.note("device", (str(value),))
    elif isinstance(value, str):
        device = _named(value)
        place.note("other" if device is None else "device", () if device is None else (device,))
    elif type(value) in (dict, list, tuple) and "[" not in path:
        _note_container(places, place, path, value, names)
    else:
        place.note("other")
        if path.count(".") < DEEPEST:
            # What a function says of a result stands where it is called, under names that it need not know.
            known = tuple(dictionary_of(value)) if path == "return" else names
            for name, stored in _attributes(value, known[:LONGEST] if path == "return" else known):
                _note(places, f"{path}.{name}", stored, names)


def _note_container(places: _Places, place: _Place, path: str, value: Any, names: tuple[str, ...]) -> None:
    place.note(type(value).__name__, size=None if type(value) is dict else len(value))
    if len(value) <= LONGEST:
        for key, item in value.items() if type(value) is dict else enumerate(value):
            if type(key) in (int, str):
                _note(places, f"{path}[{key!r}]", item, names)


def _named(text: str) -> str | None:
    """The device that a string names, None if it names none."""
    if len(text) > len("privateuseone:99") or not text[:1].isalpha():
        return None
    try:
        return str(torch.device(text))
    except RuntimeError:
        return None


def _attributes(owner: object, names: tuple[str, ...]) -> Iterator[tuple[str, object]]:
    """The attributes of those names that an object holds itself."""
    own: Mapping[str, Any] = dictionary_of(owner)
    tables = [own, *(own.get(table, {}) for table in _MODULE_TABLES)] if isinstance(owner, nn.Module) else [own]
    for name in names:
        for table in tables:
            if name in table:
                yield name, table[name]
                break


# --- the source ---------------------------------------------------------------------------------------------

_Definition = ast.FunctionDef | ast.AsyncFunctionDef


def _only_read(node: _Definition) -> set[str]:
    """The variables of a function of which it does nothing but read attributes, which are no methods."""
    used: set[str] = set()
    pending: list[ast.AST] = [node]
    while pending:
        inner = pending.pop()
        match inner:
            case ast.Call(func=ast.Attribute(value=ast.Name(id=name))):
                used.add(name)
            case ast.Attribute(value=ast.Name(), ctx=ast.Load()):
                continue
            case ast.Name(id=name, ctx=ast.Load()):
                used.add(name)
        pending += ast.iter_child_nodes(inner)
    names = {inner.id for inner in ast.walk(node) if isinstance(inner, ast.Name)}
    return names - used


def _definitions(text: str) -> dict[tuple[str, int], tuple[str, _Definition]]:
    """The functions of a source file with their dotted paths, by name and by the line that their code begins with."""
    found: dict[tuple[str, int], tuple[str, _Definition]] = {}
    try:
        pending: list[tuple[str, ast.AST]] = [("", ast.parse(text))]
    except (SyntaxError, ValueError, RecursionError):
        return found
    while pending:
        above, node = pending.pop()
        for child in ast.iter_child_nodes(node):
            path = above
            if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                path = f"{above}.{child.name}" if above else child.name
            if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef)):
                first = min([child.lineno, *(one.lineno for one in child.decorator_list)])
                found[child.name, first] = (path, child)
            pending.append((path, child))
    return found
