"""The catalogue: all device signatures, ours and the user's, found by qualified name.

A stub file is read, and cut into pieces by line, the first time that somebody asks for a name of its module; a
piece is parsed the first time that somebody asks for its name. So start-up does not pay for libraries that a
program does not import, nor for thousands of signatures that it does not use.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Generic, TypeVar

from devlint.errors import CatalogueError
from devlint.torchlib.signature import (
    ClassEntry,
    Signature,
    StubText,
    Terms,
    parse_markers,
    parse_signature,
    parse_terms,
)
from devlint.torchlib.stubfile import Body, read_stub, split

STUBS = Path(__file__).parent / "stubs"
ALIASES = STUBS / "aliases.txt"

Piece = TypeVar("Piece")
Parsed = TypeVar("Parsed")


class Catalogue:
    """Signatures by qualified name. Names may be given in any spelling that `aliases.txt` knows."""

    def __init__(self, files: Mapping[str, Sequence[Path]], given: Mapping[str, Body], aliases: Aliases) -> None:
        self._files = files
        self._given = given
        self._aliases = aliases
        self._bodies: dict[str, Body | None] = {}
        self._functions: dict[str, tuple[Signature, ...] | None] = {}
        self._classes: dict[str, ClassEntry | None] = {}
        self._values: dict[str, Terms | None] = {}
        self._methods: dict[tuple[str, str], tuple[Signature, ...] | None] = {}

    def canonical(self, name: str) -> str:
        """The name the catalogue has for `name`: `torch.nn.modules.linear.Linear` is `torch.nn.Linear`.

        An alias stands for every name below it; a name without alias is its own.
        """
        return self._aliases.canonical(name)

    def is_given(self, name: str) -> bool:
        """Whether the user has given a signature for a function or class of that name."""
        namespace, last = _parent(name)
        body = self._given.get(namespace)
        return body is not None and (last in body.functions or last in body.classes)

    def function(self, name: str) -> tuple[Signature, ...] | None:
        """The forms of a function, or of a method named with its class; None if there is no signature.

        Raises:
            CatalogueError: the stub has an error.
        """
        name = self.canonical(name)
        if name not in self._functions:
            self._functions[name] = self._find_function(name)
        return self._functions[name]

    def class_(self, name: str) -> ClassEntry | None:
        """The entry of a class, or None.

        Raises:
            CatalogueError: the stub has an error.
        """
        name = self.canonical(name)
        if name not in self._classes:
            self._classes[name] = self._find_class(name)
        return self._classes[name]

    def method(self, class_name: str, name: str) -> tuple[Signature, ...] | None:
        """The forms of a method of a class or of the first base that has it; None if there is no signature.

        Raises:
            CatalogueError: the stub has an error.
        """
        key = (class_name, name)
        if key not in self._methods:
            owner = next((entry for entry in self.lineage(class_name) if name in entry.methods), None)
            self._methods[key] = None if owner is None else owner.methods[name]
        return self._methods[key]

    def attribute(self, class_name: str, name: str) -> Terms | None:
        """The type of an attribute of a class or of the first base that has it; D, R are those of `self`.

        Raises:
            CatalogueError: the stub has an error.
        """
        for entry in self.lineage(class_name):
            if name in entry.attributes:
                return entry.attributes[name]
        return None

    def lineage(self, class_name: str) -> Iterator[ClassEntry]:
        """The class and its known bases, nearest first."""
        waiting, seen = [class_name], set()
        while waiting:
            entry = self.class_(waiting.pop(0))
            if entry is not None and entry.name not in seen:
                seen.add(entry.name)
                yield entry
                waiting.extend(entry.bases)

    def value(self, name: str) -> Terms | None:
        """The type of a name that is neither function nor class, such as `torch.float32`; None if unknown.

        Raises:
            CatalogueError: the stub has an error.
        """
        name = self.canonical(name)
        if name not in self._values:
            namespace, last = _parent(name)
            body = self._body(namespace)
            piece = None if body is None else body.values.get(last)
            self._values[name] = None if piece is None else _annotation(piece)
        return self._values[name]

    def names_in(self, namespace: str) -> list[str]:
        """The names of functions, classes and values of one module, sorted."""
        body = self._body(namespace)
        return [] if body is None else sorted({*body.functions, *body.classes, *body.values})

    def names(self) -> Iterator[str]:
        """All names in canonical spelling, sorted within a file, members after their class."""
        for namespace in dict.fromkeys((*self._files, *self._given)):
            for name in self.names_in(namespace):
                yield f"{namespace}.{name}"
                entry = self.class_(f"{namespace}.{name}")
                if entry is not None:
                    yield from (f"{entry.name}.{member}" for member in sorted({*entry.methods, *entry.attributes}))

    def check(self, namespace: str) -> None:
        """Parse everything in one namespace.

        Raises:
            CatalogueError: the first error found.
        """
        body = self._body(namespace) or Body()
        for name in body.functions:
            self.function(f"{namespace}.{name}")
        for name in body.values:
            self.value(f"{namespace}.{name}")
        for name in body.classes:
            entry = self.class_(f"{namespace}.{name}")
            if entry is not None:
                dict(entry.methods)
                dict(entry.attributes)

    def _body(self, namespace: str) -> Body | None:
        """The declarations for one module: ours, with the user's in place of those of the same name."""
        if namespace not in self._bodies:
            given = self._given.get(namespace)
            body = None if given is None and namespace not in self._files else Body()
            if body is not None:
                for path in self._files.get(namespace, ()):
                    body.override(read_stub(path))
                if given is not None:
                    body.override(given)
            self._bodies[namespace] = body
        return self._bodies[namespace]

    def _find_function(self, name: str) -> tuple[Signature, ...] | None:
        namespace, last = _parent(name)
        body = self._body(namespace)
        if body is not None and last in body.functions:
            return tuple(map(parse_signature, body.functions[last]))
        return self.method(namespace, last) if self._piece_of_class(namespace) else None

    def _find_class(self, name: str) -> ClassEntry | None:
        piece = self._piece_of_class(name)
        if piece is None:
            return None
        namespace, last = _parent(name)
        header, inside = piece.text.split("\n", 1) if "\n" in piece.text else (piece.text, "")
        decorators = ""
        first = piece.line
        while header.startswith("@"):
            decorators += header + "\n"
            header, inside = inside.split("\n", 1) if "\n" in inside else (inside, "")
            first += 1
        start = header if header.rstrip().endswith("...") else header + " ..."
        source = StubText(decorators + start, piece.path, piece.line)
        node = source.parse()[0]
        if not isinstance(node, ast.ClassDef):
            raise source.error("expected a class", node)
        body = split(StubText(inside, piece.path, first + 1), indent=4)
        if body.classes:
            raise source.error(f"{last}: a class inside a class", node)
        return ClassEntry(
            name,
            tuple(self._base(namespace, base) for base in node.bases),
            _Lazy(body.functions, lambda pieces: tuple(map(parse_signature, pieces))),
            parse_markers(node.decorator_list, source),
            _Lazy(body.values, _annotation),
        )

    def _piece_of_class(self, name: str) -> StubText | None:
        namespace, last = _parent(name)
        body = self._body(namespace)
        return None if body is None else body.classes.get(last)

    def _base(self, namespace: str, node: ast.expr) -> str:
        name = ast.unparse(node)
        if self._piece_of_class(f"{namespace}.{name}") is not None:
            return f"{namespace}.{name}"
        return self.canonical(name)


def load(extra: Sequence[Path] = ()) -> Catalogue:
    """The catalogue of our stubs, overridden by the user's.

    Args:
        extra: stub files, or folders of them. A file's name is the module it describes, with the folders that
            lead to it: `signatures/mylib/ops.pyi` in the folder `signatures` describes `mylib.ops`.

    Raises:
        CatalogueError: a file cannot be read, or a signature of the user's cannot be understood.
    """
    if not extra:
        return _ours()
    given: dict[str, Body] = {}
    for root in extra:
        for path in sorted(root.rglob("*.pyi")) if root.is_dir() else [root]:
            namespace = _namespace(path.relative_to(root) if root.is_dir() else Path(path.name))
            given.setdefault(namespace, Body()).override(read_stub(path))
    catalogue = Catalogue(_files(), given, Aliases(read_aliases(ALIASES)))
    for namespace in given:
        catalogue.check(namespace)
    return catalogue


@cache
def _ours() -> Catalogue:
    """Return the catalogue of our stubs, which is the same for all analyses of a process: they only ask it."""
    return Catalogue(_files(), {}, Aliases(read_aliases(ALIASES)))


def _files() -> Mapping[str, Sequence[Path]]:
    """Return our stub files by namespace."""
    files: dict[str, list[Path]] = {}
    for path in sorted(STUBS.rglob("*.pyi")):
        files.setdefault(_namespace(path.relative_to(STUBS)), []).append(path)
    return files


class Aliases:
    """Other names of things. An alias stands for every name below it; the longest one wins.

    Args:
        names: canonical names by alias. `*` in an alias stands for any part of a name between two dots; such
            an alias is looked at where no other fits.
    """

    def __init__(self, names: Mapping[str, str]) -> None:
        self._exact = {name: target for name, target in names.items() if "*" not in name}
        self._patterns: dict[str, list[tuple[str, str]]] = {}
        for name, target in names.items():
            if "*" in name:
                self._patterns.setdefault(name.partition(".")[0], []).append((name, target))
        self._known: dict[str, str] = {}

    def canonical(self, name: str) -> str:
        """The canonical name; what an alias leads to may have an alias itself."""
        if name not in self._known:
            found = self._replaced(name)
            self._known[name] = name if found is None else self.canonical(found)
        return self._known[name]

    def _replaced(self, name: str) -> str | None:
        end = len(name)
        while end > 0:
            replacement = self._exact.get(name[:end])
            if replacement is not None:
                return None if replacement == name[:end] else replacement + name[end:]
            end = name.rfind(".", 0, end)
        for alias, target in self._patterns.get(name.partition(".")[0], ()):
            match = _pattern(alias).match(name)
            if match is not None and match[0] != target:
                return target + name[match.end() :]
        return None


@cache
def _pattern(alias: str) -> re.Pattern[str]:
    """What finds an alias with `*` at the beginning of a name."""
    return re.compile(re.escape(alias).replace(r"\*", r"[^.]*") + r"(?=\.|$)")


def read_aliases(path: Path) -> dict[str, str]:
    """The other names of things, from lines `name = canonical name`.

    Raises:
        CatalogueError: a line is something else.
    """
    aliases: dict[str, str] = {}
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        name, equals, target = (part.strip() for part in line.partition("="))
        if not equals or not name or not target:
            raise CatalogueError(f"expected `name = canonical name`: {line}", path=str(path), line=number)
        aliases[name] = target
    return aliases


class _Lazy(Mapping[str, Parsed], Generic[Piece, Parsed]):
    """A mapping whose values are parsed when they are first asked for."""

    def __init__(self, pieces: Mapping[str, Piece], parse: Callable[[Piece], Parsed]) -> None:
        self._pieces = pieces
        self._parse = parse
        self._parsed: dict[str, Parsed] = {}

    def __getitem__(self, name: str) -> Parsed:
        if name not in self._parsed:
            self._parsed[name] = self._parse(self._pieces[name])
        return self._parsed[name]

    def __contains__(self, name: object) -> bool:
        return name in self._pieces

    def __iter__(self) -> Iterator[str]:
        return iter(self._pieces)

    def __len__(self) -> int:
        return len(self._pieces)


def _annotation(piece: StubText) -> Terms:
    node = piece.parse()[0]
    if not isinstance(node, ast.AnnAssign):
        raise piece.error("expected `name: type`", node)
    return parse_terms(node.annotation, piece)


def _parent(name: str) -> tuple[str, str]:
    parent, _, last = name.rpartition(".")
    return parent, last


def _namespace(path: Path) -> str:
    """The dotted name that a stub file describes; a private file describes its folder."""
    parts = list(path.with_suffix("").parts)
    if parts[-1].startswith("_"):
        parts.pop()
    return ".".join(parts)
