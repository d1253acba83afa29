"""Lowering of expressions, except for those that open a scope or a loop (see comprehensions, definitions)."""

from __future__ import annotations

import ast

from devlint.frontend import ir
from devlint.frontend.scopes import ScopeBuilder, ValueTable, span_of

BINARY_OPERATORS: dict[type[ast.operator], str] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.MatMult: "@",
    ast.Div: "/",
    ast.FloorDiv: "//",
    ast.Mod: "%",
    ast.Pow: "**",
    ast.LShift: "<<",
    ast.RShift: ">>",
    ast.BitOr: "|",
    ast.BitXor: "^",
    ast.BitAnd: "&",
}
_UNARY_OPERATORS: dict[type[ast.unaryop], str] = {
    ast.USub: "-",
    ast.UAdd: "+",
    ast.Invert: "~",
    ast.Not: "not",
}
_COMPARISONS: dict[type[ast.cmpop], str] = {
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.Is: "is",
    ast.IsNot: "is not",
    ast.In: "in",
    ast.NotIn: "not in",
}
# The conversion code that `ast` gives to a replacement field written without one, and to `!s`.
_PLAIN_CONVERSIONS = (-1, ord("s"))


def _constant(scope: ScopeBuilder, node: ast.Constant) -> ir.Register:
    register = scope.register()
    scope.out.append(ir.Const(register, node.value, span_of(node)))
    return register


def _name(scope: ScopeBuilder, node: ast.Name) -> ir.Register:
    name = node.id
    if scope.renames:
        name = scope.renames.get(name, name)
    register = scope.registers
    scope.registers = register + 1
    scope.out.append(ir.Load(register, name, span_of(node)))
    return register


def _attribute(scope: ScopeBuilder, node: ast.Attribute) -> ir.Register:
    value = node.value
    base = scope.values[type(value)](scope, value)
    register = scope.registers
    scope.registers = register + 1
    scope.out.append(ir.Attribute(register, base, node.attr, span_of(node)))
    return register


def _subscript(scope: ScopeBuilder, node: ast.Subscript) -> ir.Register:
    base = scope.value(node.value)
    index = scope.value(node.slice)
    register = scope.register()
    scope.out.append(ir.Subscript(register, base, index, span_of(node)))
    return register


def _slice(scope: ScopeBuilder, node: ast.Slice) -> ir.Register:
    lower = None if node.lower is None else scope.value(node.lower)
    upper = None if node.upper is None else scope.value(node.upper)
    step = None if node.step is None else scope.value(node.step)
    register = scope.register()
    scope.out.append(ir.Slice(register, lower, upper, step, span_of(node)))
    return register


def arguments(scope: ScopeBuilder, positional: list[ast.expr], keywords: list[ast.keyword]) -> tuple[ir.Argument, ...]:
    """Lowers the arguments of a call, or the bases and keywords of a class, in the order of evaluation."""
    values = scope.values
    found: list[ir.Argument] = []
    for node in positional:
        if type(node) is ast.Starred:
            found.append(ir.Argument(scope.value(node.value), None, True, span_of(node)))
        else:
            found.append(ir.Argument(values[type(node)](scope, node), None, False, span_of(node)))
    for keyword in keywords:
        value = keyword.value
        register = values[type(value)](scope, value)
        name = keyword.arg
        found.append(ir.Argument(register, name or "", name is None, span_of(keyword)))
    return tuple(found)


def call(scope: ScopeBuilder, node: ast.Call, discarded: bool = False) -> ir.Register:
    """Lowers a call; `discarded` when nothing uses its result."""
    callee = node.func
    function = scope.values[type(callee)](scope, callee)
    given = arguments(scope, node.args, node.keywords)
    register = scope.registers
    scope.registers = register + 1
    scope.out.append(ir.Call(register, function, given, discarded, span_of(node)))
    return register


def _binary(scope: ScopeBuilder, node: ast.BinOp) -> ir.Register:
    # `a + b + c + …` leans left and can be thousands long: walked without recursion.
    chain = [node]
    left = node.left
    while type(left) is ast.BinOp:
        chain.append(left)
        left = left.left
    register = scope.value(left)
    for link in reversed(chain):
        right = scope.value(link.right)
        target = scope.register()
        operator = BINARY_OPERATORS[type(link.op)]
        scope.out.append(ir.Binary(target, operator, register, right, False, span_of(link)))
        register = target
    return register


def _unary(scope: ScopeBuilder, node: ast.UnaryOp) -> ir.Register:
    operand = scope.value(node.operand)
    register = scope.register()
    scope.out.append(ir.Unary(register, _UNARY_OPERATORS[type(node.op)], operand, span_of(node)))
    return register


def _compare(scope: ScopeBuilder, node: ast.Compare) -> ir.Register:
    """A comparison; `a < b < c` nests to the right, so that each operand is evaluated once and in reach."""
    span = span_of(node)
    left = scope.value(node.left)
    right = scope.value(node.comparators[0])
    if len(node.ops) == 1:
        register = scope.register()
        scope.out.append(ir.Compare(register, _COMPARISONS[type(node.ops[0])], left, right, span))
        return register
    pending: list[tuple[list[ir.Instruction], ir.Register, ir.Operand]] = []
    for position in range(1, len(node.ops)):
        target = scope.register()
        first = scope.register()
        comparison = ir.Compare(first, _COMPARISONS[type(node.ops[position - 1])], left, right, span)
        pending.append((scope.begin(), target, ir.Operand((comparison,), first)))
        left, right = right, scope.value(node.comparators[position])
    last = scope.register()
    scope.out.append(ir.Compare(last, _COMPARISONS[type(node.ops[-1])], left, right, span))
    for outer, target, operand in reversed(pending):
        rest = ir.Operand(scope.end(outer), last)
        scope.out.append(ir.Logic(target, "and", (operand, rest), span))
        last = target
    return last


def _logic(scope: ScopeBuilder, node: ast.BoolOp) -> ir.Register:
    register = scope.register()
    operator = "and" if type(node.op) is ast.And else "or"
    operands = tuple([scope.operand(value) for value in node.values])
    scope.out.append(ir.Logic(register, operator, operands, span_of(node)))
    return register


def _conditional(scope: ScopeBuilder, node: ast.IfExp) -> ir.Register:
    test = scope.value(node.test)
    register = scope.register()
    then = scope.operand(node.body)
    orelse = scope.operand(node.orelse)
    scope.out.append(ir.Conditional(register, test, then, orelse, span_of(node)))
    return register


def _field(scope: ScopeBuilder, node: ast.FormattedValue) -> ir.Register:
    """A replacement field: its value, or Anything where a conversion or a format changes the text."""
    register = scope.value(node.value)
    if node.format_spec is None and node.conversion in _PLAIN_CONVERSIONS:
        return register
    if node.format_spec is not None:
        scope.value(node.format_spec)
    return scope.anything(span_of(node))


def _format(scope: ScopeBuilder, node: ast.JoinedStr) -> ir.Register:
    parts: list[str | ir.Register] = []
    for part in node.values:
        if type(part) is ast.Constant:
            # Python 3.12 leaves empty pieces behind format specifications.
            if part.value:
                parts.append(str(part.value))
        else:
            parts.append(scope.value(part))
    register = scope.register()
    scope.out.append(ir.Format(register, tuple(parts), span_of(node)))
    return register


def _template(scope: ScopeBuilder, node: ast.JoinedStr) -> ir.Register:
    """A t-string: its interpolations are evaluated, its result is unknown."""
    for part in node.values:
        if type(part) is not ast.Constant:
            scope.value(part)
    return scope.anything(span_of(node))


def _interpolation(scope: ScopeBuilder, node: ast.FormattedValue) -> ir.Register:
    register = scope.value(node.value)
    if node.format_spec is not None:
        scope.value(node.format_spec)
    return register


def _display(scope: ScopeBuilder, node: ast.Tuple | ast.List | ast.Set) -> ir.Register:
    items: list[ir.Item] = []
    for element in node.elts:
        if type(element) is ast.Starred:
            items.append(ir.Item(scope.value(element.value), True))
        else:
            items.append(ir.Item(scope.value(element), False))
    register = scope.register()
    scope.out.append(ir.Build(register, type(node).__name__.lower(), tuple(items), span_of(node)))
    return register


def _mapping(scope: ScopeBuilder, node: ast.Dict) -> ir.Register:
    items: list[tuple[ir.Register | None, ir.Register]] = []
    for key, value in zip(node.keys, node.values, strict=True):
        key_register = None if key is None else scope.value(key)
        items.append((key_register, scope.value(value)))
    register = scope.register()
    scope.out.append(ir.BuildMapping(register, tuple(items), span_of(node)))
    return register


def _named(scope: ScopeBuilder, node: ast.NamedExpr) -> ir.Register:
    source = scope.value(node.value)
    scope.store_name(node.target.id, source, span_of(node.target))
    return source


def _await(scope: ScopeBuilder, node: ast.Await) -> ir.Register:
    source = scope.value(node.value)
    register = scope.register()
    scope.out.append(ir.Await(register, source, span_of(node)))
    return register


def _yield(scope: ScopeBuilder, node: ast.Yield | ast.YieldFrom) -> ir.Register:
    scope.has_yield = True
    source = None if node.value is None else scope.value(node.value)
    register = scope.register()
    scope.out.append(ir.Yield(register, source, type(node) is ast.YieldFrom, span_of(node)))
    return register


VALUES: ValueTable = {
    ast.Constant: _constant,
    ast.Name: _name,
    ast.Attribute: _attribute,
    ast.Subscript: _subscript,
    ast.Slice: _slice,
    ast.Call: call,
    ast.BinOp: _binary,
    ast.UnaryOp: _unary,
    ast.Compare: _compare,
    ast.BoolOp: _logic,
    ast.IfExp: _conditional,
    ast.JoinedStr: _format,
    ast.FormattedValue: _field,
    ast.Tuple: _display,
    ast.List: _display,
    ast.Set: _display,
    ast.Dict: _mapping,
    ast.NamedExpr: _named,
    ast.Await: _await,
    ast.Yield: _yield,
    ast.YieldFrom: _yield,
}
# Template strings exist since Python 3.14.
for _node_name, _function in (("TemplateStr", _template), ("Interpolation", _interpolation)):
    if hasattr(ast, _node_name):
        VALUES[getattr(ast, _node_name)] = _function
