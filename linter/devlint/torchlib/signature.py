"""Device signatures: their data classes, the parser of the notation described in README.md, and the printer.

A signature says which arguments of a function must share a device and where the result lives. Stub files hold
signatures of libraries, summaries of user code are printed in the same notation.

Worked example: `def addmv(input: Tensor[D] | Scalar[cpu], mat: Tensor[D, 2]) -> Tensor[D, 1]: ...` parses to
a `Signature` with two `Parameter`s. `Tensor[D, 2]` is `TensorTerm("D", 2)`, the union is a tuple of two
terms, and printing the signature gives the same line again.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import TypeAlias

from devlint.errors import CatalogueError
from devlint.records import dataclass

Rank: TypeAlias = "int | str | None"
"""A number, the name of a rank variable (or a word such as `broadcast`, or `R + 1`), or None if it is unknown."""

MARKERS = frozenset({"in_place", "moves", "transfer", "stateless"})
"""The decorators a stub may use, besides `overload`."""

EXEMPTIONS = ("cpu", "any", "follows")
"""Which 0-dim tensors a `Scalar` exempts; see README.md."""

ALTERNATIVE_NAMES: Mapping[str, tuple[str, ...]] = {
    "dim": ("axis",),
    "keepdim": ("keepdims",),
    "input": ("x", "a", "x1"),
    "other": ("x2",),
}
"""What torch's argument parser takes in place of a parameter name (numpy's spelling)."""


@dataclass(frozen=True, slots=True)
class TensorTerm:
    """`Tensor[D, R]`, or `Index[D, R]` for one that says what to take of the others on D.

    The device is a variable, or a fixed device such as `cpu`, or `any`.
    """

    device: str
    rank: Rank = None
    word: str = "Tensor"

    def __str__(self) -> str:
        return f"{self.word}[{self.device}]" if self.rank is None else f"{self.word}[{self.device}, {self.rank}]"


@dataclass(frozen=True, slots=True)
class ScalarTerm:
    """`Scalar[cpu]`, `Scalar[any]` and their like: a 0-dim tensor that need not agree on the device."""

    device: str

    def __str__(self) -> str:
        return f"Scalar[{self.device}]"


@dataclass(frozen=True, slots=True)
class ListTerm:
    """`list[T]`: a list or tuple of any length."""

    element: Terms

    def __str__(self) -> str:
        return f"list[{format_terms(self.element)}]"


@dataclass(frozen=True, slots=True)
class TupleTerm:
    """`tuple[T, U]`, or with names of the elements `tuple[values: T, indices: U]`."""

    items: tuple[Terms, ...]
    names: tuple[str, ...] = ()

    def __str__(self) -> str:
        items = [format_terms(item) for item in self.items]
        if self.names:
            items = [f"{name}: {item}" for name, item in zip(self.names, items, strict=True)]
        return f"tuple[{', '.join(items) or '()'}]"


@dataclass(frozen=True, slots=True)
class DeviceTerm:
    """`Device[D]`: something that names the device D."""

    variable: str

    def __str__(self) -> str:
        return f"Device[{self.variable}]"


@dataclass(frozen=True, slots=True)
class SizeTerm:
    """`Size[R]`: a shape whose length is the rank R."""

    rank: str

    def __str__(self) -> str:
        return f"Size[{self.rank}]"


@dataclass(frozen=True, slots=True)
class ModuleTerm:
    """`Module[D]`: a module whose parameters are on D."""

    device: str

    def __str__(self) -> str:
        return f"Module[{self.device}]"


@dataclass(frozen=True, slots=True)
class GeneratorTerm:
    """`Generator[D]`: a random number generator for devices of the type that D has."""

    device: str

    def __str__(self) -> str:
        return f"Generator[{self.device}]"


@dataclass(frozen=True, slots=True)
class InstanceTerm:
    """`transformers.BatchEncoding[D]`: an instance of that class of a library; its contents are on D."""

    cls: str
    device: str

    def __str__(self) -> str:
        return f"{self.cls}[{self.device}]"


@dataclass(frozen=True, slots=True)
class NumberTerm:
    """`Number`: a Python number, string, dtype or other host value; never a tensor."""

    def __str__(self) -> str:
        return "Number"


@dataclass(frozen=True, slots=True)
class LiteralTerm:
    """`Literal[True]` or `Literal[False]`: exactly this constant."""

    value: bool

    def __str__(self) -> str:
        return f"Literal[{self.value}]"


@dataclass(frozen=True, slots=True)
class ArrayTerm:
    """`Array[R]`: a numpy array, its rank called R; or just `Array`."""

    rank: str | None = None

    def __str__(self) -> str:
        return "Array" if self.rank is None else f"Array[{self.rank}]"


@dataclass(frozen=True, slots=True)
class ObjectTerm:
    """`object`: anything; as a result, unknown."""

    def __str__(self) -> str:
        return "object"


@dataclass(frozen=True, slots=True)
class NoneTerm:
    """`None`."""

    def __str__(self) -> str:
        return "None"


@dataclass(frozen=True, slots=True)
class SelfTerm:
    """`Self`: the receiver."""

    def __str__(self) -> str:
        return "Self"


Term: TypeAlias = (
    "TensorTerm | ScalarTerm | ListTerm | TupleTerm | DeviceTerm | SizeTerm | ModuleTerm | InstanceTerm"
    " | GeneratorTerm | NumberTerm | LiteralTerm | ArrayTerm | ObjectTerm | NoneTerm | SelfTerm"
)
Terms: TypeAlias = "tuple[Term, ...]"
"""The alternatives of a union type, in the order written."""

_WORDS: Mapping[str, Term] = {
    "Number": NumberTerm(),
    "Array": ArrayTerm(),
    "Self": SelfTerm(),
    "object": ObjectTerm(),
}


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter.

    Args:
        name: as the function declares it.
        kind: "positional", "normal", "keyword", "args" or "kwargs".
        terms: its arguments.
        default: None if an argument is required; else the source text of the default.
    """

    name: str
    kind: str
    terms: Terms
    default: str | None

    def __str__(self) -> str:
        stars = {"args": "*", "kwargs": "**"}.get(self.kind, "")
        default = "" if self.default is None else f" = {self.default}"
        return f"{stars}{self.name}: {format_terms(self.terms)}{default}"


@dataclass(frozen=True, slots=True)
class Signature:
    """One overload of a function: its arguments, its result, its effects."""

    name: str
    parameters: tuple[Parameter, ...]
    returns: Terms
    markers: frozenset[str] = frozenset()

    def __str__(self) -> str:
        lines = [f"@{marker}" for marker in sorted(self.markers)]
        written: list[str] = []
        previous = "positional"
        for parameter in self.parameters:
            if previous == "positional" and parameter.kind != "positional" and written:
                written.append("/")
            if parameter.kind == "keyword" and previous not in ("keyword", "args"):
                written.append("*")
            written.append(str(parameter))
            previous = parameter.kind
        if previous == "positional" and written:
            written.append("/")
        lines.append(f"def {self.name}({', '.join(written)}) -> {format_terms(self.returns)}: ...")
        return "\n".join(lines)


@dataclass(frozen=True, slots=True)
class ClassEntry:
    """A class: its canonical name, its bases (canonical too), and what stands in its body."""

    name: str
    bases: tuple[str, ...]
    methods: Mapping[str, tuple[Signature, ...]]
    markers: frozenset[str]
    attributes: Mapping[str, Terms]


def format_terms(terms: Terms) -> str:
    """The union type `terms` in the notation of the stubs."""
    return " | ".join(map(str, terms))


@dataclass(frozen=True, slots=True)
class StubText:
    """A piece of a stub file, and where it stands.

    Args:
        text: the piece, starting at column 0.
        path: the file, for error messages.
        line: the line of the file at which the piece starts, counted from 1.
    """

    text: str
    path: str | None = None
    line: int = 1

    def parse(self) -> list[ast.stmt]:
        """The statements of the piece.

        Raises:
            CatalogueError: it is not Python.
        """
        try:
            return ast.parse(self.text).body
        except SyntaxError as error:
            raise CatalogueError(error.msg, path=self.path, line=self.line + (error.lineno or 1) - 1) from None
        except (RecursionError, MemoryError):
            raise CatalogueError("nested too deeply", path=self.path, line=self.line) from None
        except ValueError:  # a NUL character
            raise CatalogueError("is not Python", path=self.path, line=self.line) from None

    def error(self, message: str, node: ast.AST) -> CatalogueError:
        """An error that points at `node` of this piece."""
        line = node.lineno if isinstance(node, (ast.stmt, ast.expr, ast.arg)) else 1
        return CatalogueError(message, path=self.path, line=self.line + line - 1)


def parse_signature(source: StubText) -> Signature:
    """The one function that `source` declares.

    Raises:
        CatalogueError: it declares something else, or its types cannot be understood.
    """
    statements = source.parse()
    if len(statements) != 1 or not isinstance(statements[0], ast.FunctionDef):
        where = statements[0] if statements else ast.Pass(lineno=1, col_offset=0)
        raise source.error("expected one function declaration", where)
    node = statements[0]
    markers = parse_markers(node.decorator_list, source)
    returns: Terms = (ObjectTerm(),) if node.returns is None else _terms(node.returns, source)
    return Signature(node.name, _parameters(node.args, source), returns, markers)


def parse_markers(decorators: list[ast.expr], source: StubText) -> frozenset[str]:
    """The markers among the decorators; `overload` is none.

    Raises:
        CatalogueError: a decorator is not known.
    """
    names = set()
    for decorator in decorators:
        name = decorator.id if isinstance(decorator, ast.Name) else ast.unparse(decorator)
        if name not in MARKERS and name != "overload":
            raise source.error(f"unknown marker @{name}", decorator)
        names.add(name)
    return frozenset(names - {"overload"})


def parse_terms(node: ast.expr, source: StubText) -> Terms:
    """The type written in `node`.

    Raises:
        CatalogueError: it is no type of the notation.
    """
    return _terms(node, source)


def _parameters(arguments: ast.arguments, source: StubText) -> tuple[Parameter, ...]:
    plain = [(arg, "positional") for arg in arguments.posonlyargs] + [(arg, "normal") for arg in arguments.args]
    required = len(plain) - len(arguments.defaults)
    found = [
        _parameter(arg, kind, arguments.defaults[index - required] if index >= required else None, source)
        for index, (arg, kind) in enumerate(plain)
    ]
    if arguments.vararg is not None:
        found.append(_parameter(arguments.vararg, "args", None, source))
    for arg, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
        found.append(_parameter(arg, "keyword", default, source))
    if arguments.kwarg is not None:
        found.append(_parameter(arguments.kwarg, "kwargs", None, source))
    return tuple(found)


def _parameter(arg: ast.arg, kind: str, default: ast.expr | None, source: StubText) -> Parameter:
    terms: Terms = (ObjectTerm(),) if arg.annotation is None else _terms(arg.annotation, source)
    return Parameter(arg.arg, kind, terms, None if default is None else _default(default))


def _default(node: ast.expr) -> str:
    if isinstance(node, ast.Constant) and node.value is ...:
        return "..."
    return ast.unparse(node)


def _terms(node: ast.expr, source: StubText) -> Terms:
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
        return _terms(node.left, source) + _terms(node.right, source)
    return (_term(node, source),)


def _term(node: ast.expr, source: StubText) -> Term:
    if isinstance(node, ast.Constant) and node.value is None:
        return NoneTerm()
    if isinstance(node, ast.Name) and node.id in _WORDS:
        return _WORDS[node.id]
    if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name):
        inside = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        found = _subscripted(node.value.id, inside, source)
        if found is not None:
            return found
    if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Attribute):
        return InstanceTerm(ast.unparse(node.value), _variable(node.slice, source))
    raise source.error(f"not a type of the notation: {ast.unparse(node)}", node)


def _subscripted(word: str, inside: list[ast.expr], source: StubText) -> Term | None:
    if word == "tuple":
        return _tuple(inside, source)
    if word in ("Tensor", "Index") and len(inside) == 2:
        return TensorTerm(_variable(inside[0], source), _rank(inside[1], source), word)
    if len(inside) != 1:
        return None
    if word == "list":
        return ListTerm(_terms(inside[0], source))
    if word == "Literal":
        return LiteralTerm(_truth(inside[0], source))
    variable = _variable(inside[0], source)
    if word == "Scalar":
        if variable not in EXEMPTIONS:
            raise source.error(f"a scalar is one of {', '.join(EXEMPTIONS)}, not {variable}", inside[0])
        return ScalarTerm(variable)
    if word in ("Tensor", "Index"):
        return TensorTerm(variable, word=word)
    if word == "Generator":
        return GeneratorTerm(variable)
    if word == "Device":
        return DeviceTerm(variable)
    if word == "Array":
        return ArrayTerm(variable)
    if word == "Size":
        return SizeTerm(variable)
    return ModuleTerm(variable) if word == "Module" else None


def _tuple(inside: list[ast.expr], source: StubText) -> TupleTerm:
    items: list[Terms] = []
    names: list[str] = []
    for item in inside:
        if isinstance(item, ast.Slice) and item.lower is not None and item.upper is not None:
            names.append(_variable(item.lower, source))
            items.append(_terms(item.upper, source))
        elif isinstance(item, ast.Slice) or names:
            raise source.error("either all elements of a tuple have names or none", item)
        else:
            items.append(_terms(item, source))
    if names and len(names) != len(items):
        raise source.error("either all elements of a tuple have names or none", inside[0])
    return TupleTerm(tuple(items), tuple(names))


def _variable(node: ast.expr, source: StubText) -> str:
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Slice) or not isinstance(node, ast.Constant):
        raise source.error("expected the name of a device or rank", node)
    raise source.error(f"expected the name of a device or rank, not {ast.unparse(node)}", node)


def _truth(node: ast.expr, source: StubText) -> bool:
    if isinstance(node, ast.Constant) and isinstance(node.value, bool):
        return node.value
    raise source.error(f"a literal is True or False, not {ast.unparse(node)}", node)


def _rank(node: ast.expr, source: StubText) -> Rank:
    if isinstance(node, ast.Constant) and type(node.value) is int:
        return node.value
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Sub)) and isinstance(node.left, ast.Name):
        if not isinstance(node.right, ast.Constant) or type(node.right.value) is not int:
            raise source.error("only a number is added to a rank or taken from it", node.right)
        return ast.unparse(node)
    return _variable(node, source)
