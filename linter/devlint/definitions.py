"""The parts of a file, with digests that tell which of them an edit has changed; and the imports of a file.

The analysis of one file rests on some parts of other files, and seldom on all of them. A file is divided into

* the *code* of each definition: an outermost function, or the methods of an outermost class;
* the *bindings*: for each name, the statements of the top level that do no more than to bind it;
* the *outside*: everything else that is executed when the file is imported, such as calls.

Comments and empty lines between statements belong to none of them.

`x = 1`, `from lib import y` and `class Net(nn.Module)` only bind names: `lib` is executed when `y` is first read. A
statement of the outside is executed with what the statements before it have bound, so the digest of a binding also
tells how many statements of the outside come before it. Two bindings may change places.
"""

from __future__ import annotations

import ast
import builtins
import hashlib
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence, Set
from itertools import chain
from typing import NamedTuple

OUTSIDE = ""
"""The name of the outside."""

NAMES = "*"
"""The name of the part that tells which names the statements bind that do no more than that."""

_CODE = "()"

_CONSTANT = (
    *(ast.Constant, ast.Tuple, ast.List, ast.Set, ast.Dict, ast.expr_context),
    *(ast.UnaryOp, ast.unaryop, ast.BinOp, ast.operator),
)

_FOREIGN = frozenset({"torch", "numpy", "typing"})

Imports = frozenset[tuple[str, int, str]]
"""The imports of a file: the module as it is written, the number of dots before it, and the member; "" for none."""


def is_foreign(module: str) -> bool:
    """Return whether a module is never looked for in the project."""
    return module.partition(".")[0] in _FOREIGN


def is_of_library(module: str) -> bool:
    """Return whether a module is not one of the project, by its name alone, and chooses no default device."""
    return is_foreign(module) or module.partition(".")[0] in sys.stdlib_module_names


def code_of(name: str) -> str:
    """Return the name of the part with the code of a definition; the name of its binding is the name that it binds."""
    return name + _CODE


def parts_of(tree: ast.Module, text: str) -> Mapping[str, str]:
    """Return a digest of each part of a file, by the name of the part.

    Definitions of the same name, such as those in two branches of a test, count as one.

    Args:
        tree: the syntax tree of the file.
        text: its source text.
    """
    lines = text.split("\n")
    literal = {line for first, last in _statements(tree.body) for line in range(first, last + 1)}
    readable = _readable(tree.body)
    code: dict[str, list[str]] = defaultdict(list)
    bindings: dict[str, list[str]] = defaultdict(list)
    outside: list[str] = []
    bound: Counter[str] = Counter()
    executed = 0
    for statement in tree.body:
        content: list[str] = []
        line = _first_line(statement)
        for name, function in _functions([statement]):
            content += _code(lines, line, function.lineno, literal)
            content.append(_defined(function))
            line = (function.end_lineno or function.lineno) + 1
            code[name] += lines[function.lineno - 1 : line - 1]
        content += _code(lines, line, (statement.end_lineno or statement.lineno) + 1, literal)
        names = _only_binds(statement, readable)
        if not names:
            executed += 1
            outside += content
            continue
        # The value depends on the outside before the statement, and on the bindings before it of names that it reads.
        read = [(name, bound[name]) for name in sorted(_names_read(statement))]
        for name in names:
            bindings[name] += [f"{executed} {read}", *content]
        bound.update(names)
    outside += sorted(rebound_in(tree, text))
    contents = {OUTSIDE: outside, NAMES: sorted(bindings), **bindings}
    contents |= {code_of(name): content for name, content in code.items()}
    return {name: _digest(content) for name, content in contents.items()}


def rebound_in(tree: ast.Module, text: str) -> frozenset[str]:
    """Return the names of a file that its functions may bind anew, by `global`."""
    nodes = _everywhere(tree) if "global" in text else ()
    return frozenset(name for node in nodes if isinstance(node, ast.Global) for name in node.names)


def imports_of(tree: ast.Module) -> Imports:
    """Return the imports of a file, also those in its functions."""
    found: set[tuple[str, int, str]] = set()
    for node in _everywhere(tree):
        if isinstance(node, ast.Import):
            found.update((alias.name, 0, "") for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            found.update((node.module or "", node.level, alias.name) for alias in node.names)
    return frozenset(found)


def _everywhere(tree: ast.Module) -> Iterator[ast.AST]:
    """Yield the statements of a file, also those in functions."""
    pending: list[Sequence[ast.AST]] = [tree.body]
    while pending:
        for node in pending.pop():
            yield node
            pending.extend(blocks(node))


# --- statements that only bind names ------------------------------------------------------------------------


class _Readable(NamedTuple):
    """The names of a file that can be read without an effect: reading one carries out no import, and executes nothing.

    Attributes:
        names: all of them.
        libraries: those of libraries, so that their attributes can be read, too.
    """

    names: Set[str]
    libraries: Set[str]


def _readable(body: Sequence[ast.stmt]) -> _Readable:
    own = set(dir(builtins))
    for statement in body:
        match statement:
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name) | ast.Assign(targets=[ast.Name(id=name)]):
                own.add(name)
    libraries: set[str] = set()
    others: set[str] = set()
    for node, _ in _outermost(body):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            (libraries if _is_of_libraries(node) else others).update(_imported(node))
    if "*" in others:
        return _Readable(frozenset(), frozenset())
    return _Readable((own | libraries) - others, libraries - others)


def _is_of_libraries(node: ast.Import | ast.ImportFrom) -> bool:
    if isinstance(node, ast.Import):
        return all(map(is_of_library, (alias.name for alias in node.names)))
    return node.level == 0 and is_of_library(node.module or "")


def _imported(node: ast.Import | ast.ImportFrom) -> list[str]:
    """Return the names that an import binds."""
    if isinstance(node, ast.Import):
        return [alias.asname or alias.name.partition(".")[0] for alias in node.names]
    return [alias.asname or alias.name for alias in node.names]


def _only_binds(statement: ast.stmt, readable: _Readable) -> list[str]:
    """Return the names that a statement binds if it does nothing else; an empty list for all others."""
    match statement:
        case ast.Import():
            return _imported(statement) if _is_of_libraries(statement) else []
        case ast.ImportFrom():
            names = _imported(statement)
            return [] if "*" in names else names
        case ast.FunctionDef(decorator_list=[]) | ast.AsyncFunctionDef(decorator_list=[]):
            return [statement.name] if all(_only_reads(one, readable) for one in _defaults(statement)) else []
        case ast.ClassDef(decorator_list=[], keywords=[]):
            quiet = (_is_text(one) or isinstance(one, ast.Pass) or _only_binds(one, readable) for one in statement.body)
            bases = (_only_reads(one, readable) for one in statement.bases)
            return [statement.name] if all(bases) and all(quiet) else []
        case ast.Assign(targets=[ast.Name(id=name)], value=value) if _is_constant(value):
            return [name]
        case ast.AnnAssign(target=ast.Name(id=name), value=value) if value is None or _is_constant(value):
            return [name]
        case _:
            return []


def _is_text(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def _only_reads(value: ast.expr, readable: _Readable) -> bool:
    """Whether an expression is a constant, a name, or an attribute of a library."""
    if isinstance(value, ast.Attribute):
        while isinstance(value, ast.Attribute):
            value = value.value
        return isinstance(value, ast.Name) and value.id in readable.libraries
    return value.id in readable.names if isinstance(value, ast.Name) else _is_constant(value)


def _is_constant(value: ast.expr) -> bool:
    """Whether an expression is made of literals alone."""
    return all(isinstance(node, _CONSTANT) for node in ast.walk(value))


def _names_read(statement: ast.stmt) -> set[str]:
    """Return the names that are read to execute a statement that only binds names."""
    read: list[ast.expr] = []
    for node, _ in _outermost([statement]):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            read += _defaults(node)
        elif isinstance(node, ast.ClassDef):
            read += node.bases
    return {one.id for value in read for one in ast.walk(value) if isinstance(one, ast.Name)}


# --- texts of statements ------------------------------------------------------------------------------------


def _functions(body: Sequence[ast.AST]) -> Iterator[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef]]:
    """Yield the functions that are in no other function, in order, with the definition that each belongs to."""
    for node, owner in _outermost(body):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield owner or node.name, node


def _statements(body: Sequence[ast.AST]) -> Iterator[tuple[int, int]]:
    """Yield the first and last lines of simple statements outside of functions, and of the headers of the others."""
    for node, _ in _outermost(body):
        for decorator in getattr(node, "decorator_list", ()):
            yield decorator.lineno, decorator.end_lineno
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            continue
        first = _line(node)
        begins = [_line(block[0]) for block in blocks(node)]
        yield first, max(first, min(begins) - 1) if begins else getattr(node, "end_lineno", first)


def _outermost(body: Sequence[ast.AST]) -> Iterator[tuple[ast.AST, str]]:
    """Yield the statements outside of functions, in order, each with the outermost class around it; "" without one."""
    pending = [(iter(body), "")]
    while pending:
        nodes, owner = pending[-1]
        node = next(nodes, None)
        if node is None:
            pending.pop()
            continue
        yield node, owner
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            inside = owner or (node.name if isinstance(node, ast.ClassDef) else "")
            pending.append((chain.from_iterable(blocks(node)), inside))


def _first_line(statement: ast.stmt) -> int:
    decorators: list[ast.expr] = getattr(statement, "decorator_list", [])
    return min([statement.lineno, *(one.lineno for one in decorators)])


def _line(node: ast.AST) -> int:
    line: int = node.pattern.lineno if isinstance(node, ast.match_case) else getattr(node, "lineno", 1)
    return line


def blocks(node: ast.AST) -> Iterator[Sequence[ast.AST]]:
    """Yield the blocks of statements in a statement; handlers and cases are statements of a block of their own."""
    for name in ("body", "handlers", "cases", "orelse", "finalbody"):
        block = getattr(node, name, None)
        if isinstance(block, list) and block:
            yield block


def _code(lines: Sequence[str], first: int, end: int, literal: set[int]) -> Iterator[str]:
    """Yield the lines from `first` to before `end`, without comments and empty lines between statements."""
    for number in range(first, end):
        line = lines[number - 1]
        if number in literal or not (line.isspace() or not line or line.lstrip().startswith("#")):
            yield line


def _defined(function: ast.FunctionDef | ast.AsyncFunctionDef) -> str:
    """Return what the definition of a function does when it is executed: it computes defaults and binds a name."""
    computed = [ast.dump(one) for one in _defaults(function) if not isinstance(one, ast.Constant)]
    return " ".join([type(function).__name__, " " * function.col_offset, function.name, *computed])


def _defaults(function: ast.FunctionDef | ast.AsyncFunctionDef) -> list[ast.expr]:
    return [one for one in (*function.args.defaults, *function.args.kw_defaults) if one is not None]


def _digest(lines: Sequence[str]) -> str:
    text = "\n".join(lines)
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=12).hexdigest()
