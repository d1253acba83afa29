"""From annotation expressions to `ir.Annotation`."""

from __future__ import annotations

import ast
from functools import lru_cache

from devlint.frontend import ir

# Typing forms that say something about a type without changing which values it has.
_TRANSPARENT = frozenset({"Annotated", "Final", "NotRequired", "ReadOnly", "Required"})
# Containers whose first parameter is the type of what iteration gives.
_ITERABLES = frozenset(
    {
        "AbstractSet",
        "AsyncGenerator",
        "AsyncIterable",
        "AsyncIterator",
        "Collection",
        "Deque",
        "FrozenSet",
        "Generator",
        "Iterable",
        "Iterator",
        "List",
        "MutableSequence",
        "MutableSet",
        "Reversible",
        "Sequence",
        "Set",
        "deque",
        "frozenset",
        "list",
        "set",
    }
)
# Containers whose second parameter is the type of their values.
_MAPPINGS = frozenset(
    {
        "DefaultDict",
        "Dict",
        "Mapping",
        "MutableMapping",
        "OrderedDict",
        "defaultdict",
        "dict",
    }
)


def annotation_of(node: ast.expr | None) -> ir.Annotation | None:
    """What an annotation says, or None if there is none or its form is not one that names types."""
    if node is None:
        return None
    kind = type(node)
    if kind is ast.Name or kind is ast.Attribute:
        name = _dotted(node)
        return None if name is None else ir.Annotation((name,))
    if isinstance(node, ast.Constant):
        if node.value is None:
            return ir.Annotation(("None",))
        return _quoted(node.value) if isinstance(node.value, str) else None
    if isinstance(node, ast.Subscript):
        return _subscripted(node)
    if isinstance(node, ast.BinOp) and type(node.op) is ast.BitOr:
        return _union([node.left, node.right])
    return None


@lru_cache(maxsize=4096)
def _quoted(text: str) -> ir.Annotation | None:
    try:
        expression = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return None
    return annotation_of(expression)


def _subscripted(node: ast.Subscript) -> ir.Annotation | None:
    name = _dotted(node.value)
    if name is None:
        return None
    form = name.rpartition(".")[2]
    index = node.slice
    parameters = index.elts if isinstance(index, ast.Tuple) else [index]
    if form == "Union":
        return _union(parameters)
    if form == "Optional":
        inner = annotation_of(index)
        return None if inner is None else _join([inner, ir.Annotation(("None",))])
    if form in _TRANSPARENT:
        return annotation_of(parameters[0]) if parameters else None
    return ir.Annotation((name,), _element(form, parameters))


def _element(form: str, parameters: list[ast.expr]) -> ir.Annotation | None:
    if form in _ITERABLES and parameters:
        return annotation_of(parameters[0])
    if form in _MAPPINGS and len(parameters) == 2:
        return annotation_of(parameters[1])
    if form in ("tuple", "Tuple") and parameters:
        last = parameters[-1]
        if isinstance(last, ast.Constant) and last.value is Ellipsis:
            return annotation_of(parameters[0])
        alternatives = {annotation_of(parameter) for parameter in parameters}
        return alternatives.pop() if len(alternatives) == 1 else None
    return None


def _union(nodes: list[ast.expr]) -> ir.Annotation | None:
    parts: list[ir.Annotation] = []
    for node in nodes:
        part = annotation_of(node)
        if part is None:
            return None
        parts.append(part)
    return _join(parts) if parts else None


def _join(parts: list[ir.Annotation]) -> ir.Annotation:
    """All alternatives together; their element is that of the only alternative that has one."""
    names = tuple(dict.fromkeys(name for part in parts for name in part.names))
    elements = {part.element for part in parts if part.element is not None}
    return ir.Annotation(names, elements.pop() if len(elements) == 1 else None)


def _dotted(node: ast.expr) -> str | None:
    """`a.b.c` as written, or None for anything but names and attributes."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return None
    parts.append(node.id)
    return ".".join(reversed(parts))
