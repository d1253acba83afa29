"""Where a fix may put a new line, and under which names a program knows a module there."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from devlint.diagnostics import Edit, Place
from devlint.fixes.names import Names
from devlint.sources.notebook import cell_at
from devlint.syntax import Syntax

_CONDITIONAL = (cst.IfExp, cst.BooleanOperation, cst.Lambda, cst.BaseComp, cst.NamedExpr)
"""Expressions that evaluate a part of themselves later, more than once, or not at all."""

_IMPORTS = (cst.Import, cst.ImportFrom)


def statement_before(node: cst.CSTNode, text: str, syntax: Syntax) -> Edit | None:
    """Put a statement on a line of its own before the statement that evaluates a node.

    None where the new statement would be executed under other conditions than the node is evaluated, or
    where the statement does not begin its line.
    """
    inner = node
    for parent in syntax.parents(node):
        if isinstance(parent, _CONDITIONAL) or _is_chain(parent):
            return None
        if isinstance(parent, cst.SimpleStatementLine) and parent.body[0] is not inner:
            return None
        if isinstance(inner, cst.BaseStatement):
            if not isinstance(parent, (cst.IndentedBlock, cst.Module)) or not _begins(inner, node, syntax):
                return None
            return syntax.before(inner, f"{text}\n{syntax.indentation(inner)}")
        inner = parent
    return None


def named(module: str, place: Place, syntax: Syntax) -> tuple[str, tuple[Edit, ...]] | None:
    """Return how a file names an importable module at a place, and the edits that first make it known, if need be.

    None where the name has no sure value there, or where there is no place for an import. A file that imports the
    package below its top level may do without it, and gets no import at the top.
    """
    names = syntax.derive(Names)
    imports = [(line, one) for line in syntax.module.body for one in _imports(line)]
    known = [
        local + module.removeprefix(whole)
        for _, one in imports
        for whole, local in known_by(one)
        if f"{module}.".startswith(f"{whole}.")
    ]
    known = [name for name in known if names.has_value(name.partition(".")[0], place)]
    if known:
        return min(known, key=lambda name: name.count(".")), ()
    parent, dot, last = module.rpartition(".")
    first = next((line for line, one in imports if not _loads("__future__", one)), None)
    at_top = [one for _, one in imports]
    is_below = any(one not in at_top for one in all_imports(syntax) if _loads(module.partition(".")[0], one))
    if first is None or any(names.occurrences(last)) or is_below:
        return None
    edit = syntax.before(first, f"from {parent} import {last}\n" if dot else f"import {module}\n")
    return (last, (edit,)) if edit.place < place else None


def variable(name: str, value: str, of: str, imports: tuple[Edit, ...], first: Place, syntax: Syntax) -> Edit | None:
    """Return the edit that gives a new variable of the whole file its value, behind the imports; None without a place.

    It stands in the cell of a notebook that uses the variable first.

    Args:
        name: taken by nothing in the file.
        value: source text that reads a module.
        of: the name of that module, which has a value at `first`.
        imports: edits that make it known.
        first: where the file uses the variable first.
        syntax: of the file.
    """
    lines = [(line, syntax.place_of(line)) for line in syntax.module.body]
    known = [edit.place for edit in imports] or [
        place
        for line, place in lines
        for one in _imports(line)
        if any(of.partition(".")[0] == local for _, local in known_by(one))
    ]
    cell = cell_at(syntax.cells, first.line)
    if any(syntax.derive(Names).occurrences(name)) or not known or (syntax.cells and cell is None):
        return None
    begin, end = known[0].line, first.line
    if cell is not None:
        begin, end = max(begin, cell.first), cell.first + cell.lines - 1
    last: cst.SimpleStatementLine | None = None
    for line, place in lines:
        if not begin <= place.line <= end:
            continue
        heads = line.body[0] if isinstance(line, cst.SimpleStatementLine) else line
        is_skipped = isinstance(heads, (*_IMPORTS, cst.Expr)) or (cell is not None and isinstance(heads, cst.Pass))
        if is_skipped and place.end_line < first.line:
            assert isinstance(line, cst.SimpleStatementLine)
            last = line if isinstance(heads, _IMPORTS) else last
        elif cell is not None:
            decorators = line.decorators if isinstance(line, (cst.FunctionDef, cst.ClassDef)) else ()
            return syntax.before(next(iter(decorators), line), f"{name} = {value}\n")
        else:
            break
    if cell is not None or last is None or last.trailing_whitespace.comment is not None:
        return None
    return syntax.behind(last.body[-1], f"\n\n{name} = {value}")


def _imports(line: cst.CSTNode) -> list[cst.Import | cst.ImportFrom]:
    parts = line.body if isinstance(line, cst.SimpleStatementLine) else ()
    return [part for part in parts if isinstance(part, _IMPORTS)]


def _is_chain(node: cst.CSTNode) -> bool:
    """Whether a node is a comparison such as `a < b < c`, which may end early."""
    return isinstance(node, cst.Comparison) and len(node.comparisons) > 1


def _begins(statement: cst.BaseStatement, node: cst.CSTNode, syntax: Syntax) -> bool:
    """Whether a statement evaluates a node once and first of all."""
    match statement:
        case cst.SimpleStatementLine():
            return True
        case cst.For(iter=header) | cst.If(test=header):
            return header is node or header in syntax.parents(node)
        case _:
            return False


def all_imports(syntax: Syntax) -> list[cst.Import | cst.ImportFrom]:
    """Return the imports of a file, wherever they stand."""
    return [*syntax.within(syntax.module, cst.Import), *syntax.within(syntax.module, cst.ImportFrom)]


def imported(statement: cst.Import | cst.ImportFrom) -> dict[cst.ImportAlias, str]:
    """Return what an import loads with its full names; what a package imports from itself is none of others."""
    if isinstance(statement, cst.Import):
        return {alias: _dotted(alias.name) for alias in statement.names}
    if statement.relative or statement.module is None or isinstance(statement.names, cst.ImportStar):
        return {}
    return {alias: f"{_dotted(statement.module)}.{_dotted(alias.name)}" for alias in statement.names}


def known_by(statement: cst.Import | cst.ImportFrom) -> Iterator[tuple[str, str]]:
    """Yield the full name of each object that an import binds, and the text that reads this object in the file."""
    for alias, whole in imported(statement).items():
        if alias.asname is not None:
            yield whole, _dotted(alias.asname.name)
        elif isinstance(statement, cst.ImportFrom):
            yield whole, _dotted(alias.name)
        else:
            root = whole.partition(".")[0]
            yield from dict.fromkeys([(root, root), (whole, whole)])


def _loads(package: str, statement: cst.Import | cst.ImportFrom) -> bool:
    return any(whole.partition(".")[0] == package for whole in imported(statement).values())


def _dotted(node: cst.CSTNode) -> str:
    return cst.Module([]).code_for_node(node)
