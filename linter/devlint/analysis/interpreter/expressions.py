"""Transfer functions for instructions that compute values."""

from __future__ import annotations

from dataclasses import replace

from devlint.analysis.execution.frame import Frame, is_computed
from devlint.analysis.findings import host_waits
from devlint.analysis.interpreter import attributes, calls, iteration, joins, loop_statements, scopes, statements
from devlint.analysis.interpreter.statements import TRANSFERS, branch, evaluate
from devlint.analysis.libraries import library_calls
from devlint.analysis.values import containers, objects, visible_devices
from devlint.analysis.values.arguments import Arguments, ArgumentValue
from devlint.analysis.values.devices import CUDA_FORMATS, note_literal, numbered
from devlint.analysis.values.narrowing import apply_constraints, both, compare, either, negate, truth
from devlint.domain.device import UNKNOWN_DEVICE
from devlint.domain.environment import Environment, join
from devlint.domain.heap import ListObject, summary
from devlint.domain.place import UNNAMED
from devlint.domain.size import LARGEST_VALUE, is_wide
from devlint.domain.value import (
    ARRAY,
    COUNT,
    NUMBER,
    TEXT,
    UNKNOWN,
    Constant,
    DeviceType,
    DeviceValue,
    Host,
    Kind,
    Library,
    Method,
    Opaque,
    Predicate,
    Reference,
    Tensor,
    TupleValue,
    Value,
    chosen,
    is_array,
    is_count,
    is_host,
    is_number,
    together,
)
from devlint.domain.value import join as join_values
from devlint.frontend import ir
from devlint.torchlib.signature import NumberTerm

METHODS = {
    "+": "add", "-": "sub", "*": "mul", "/": "truediv", "//": "floordiv", "%": "mod", "**": "pow", "@": "matmul",
    "&": "and", "|": "or", "^": "xor", "<<": "lshift", ">>": "rshift",
}  # fmt: skip
"""The methods of Python's binary operators."""

SHORT = 30
"""An expression of at most so many characters names its own value."""

COMPARISONS = {"<": "lt", "<=": "le", ">": "gt", ">=": "ge", "==": "eq", "!=": "ne"}


def transfer_const(frame: Frame, instruction: ir.Const, env: Environment) -> Environment:
    """A literal."""
    frame.set(instruction.target, note_literal(frame, env, instruction.value, instruction.span), instruction.span)
    return env


def transfer_anything(frame: Frame, instruction: ir.Anything, env: Environment) -> Environment:
    """Something of which nothing is known."""
    frame.set(instruction.target, UNKNOWN, instruction.span)
    return env


def transfer_attribute(frame: Frame, instruction: ir.Attribute, env: Environment) -> Environment:
    """`base.name`."""
    base, place = frame.registers[instruction.base], frame.places[instruction.base]
    value = attributes.load(frame, env, base, instruction.name, instruction.span, place)
    frame.owners[instruction.target] = (base, instruction.name, place)
    value = frame.with_identity(value, lambda: f"{place or UNNAMED}.{instruction.name}", instruction.span)
    frame.set(instruction.target, value, instruction.span)
    return env


def transfer_store_attribute(frame: Frame, instruction: ir.StoreAttribute, env: Environment) -> Environment:
    """`base.name = source`."""
    base = frame.registers[instruction.base]
    value, place = frame.kept(instruction.source), frame.places[instruction.base]
    attributes.store(frame, env, base, instruction.name, value, place, instruction.span)
    if instruction.name == "data" and instruction.base in frame.owners:
        # `layer.weight.data = value`: the parameter itself is elsewhere from now on.
        owner, name, _ = frame.owners[instruction.base]
        there = value if isinstance(value, Tensor) else Tensor(UNKNOWN_DEVICE, None)
        attributes.store(frame, env, owner, name, there, None, instruction.span)
    return env


def transfer_delete_attribute(frame: Frame, instruction: ir.DeleteAttribute, env: Environment) -> Environment:
    """`del base.name`."""
    base = frame.registers[instruction.base]
    attributes.store(frame, env, base, instruction.name, UNKNOWN, None, instruction.span)
    return env


def _given(frame: Frame, register: ir.Register) -> ArgumentValue:
    return ArgumentValue(frame.registers[register], frame.spans[register], frame.places[register])


def _operand(frame: Frame, register: ir.Register) -> ArgumentValue:
    """What an operator is given: of what a library names without a call, such as `math.pi`, that is a number.

    No operator takes a method: what nothing has stored, another class has.
    """
    given = _given(frame, register)
    if isinstance(given.value, Method):
        return replace(given, value=UNKNOWN)
    if isinstance(given.value, Library):
        terms = frame.program.catalogue.value(given.value.name)
        if terms is not None and all(isinstance(term, NumberTerm) for term in terms):
            return replace(given, value=NUMBER)
    return given


def transfer_subscript(frame: Frame, instruction: ir.Subscript, env: Environment) -> Environment:
    """`base[index]`; who asks for a number of a shape has something with dimensions."""
    if isinstance(frame.registers[instruction.index], Constant):
        frame.prove_shape(env, instruction.base)
    base, key = _given(frame, instruction.base), _given(frame, instruction.index)
    if isinstance(base.value, Opaque) and frame.kind(base.value) is not Kind.TENSOR:
        frame.note_unanswered(base.value)
    value = iteration.get_item(frame, env, base, key, instruction.span)
    frame.set(instruction.target, frame.with_identity(value, "element", instruction.span), instruction.span)
    return env


def transfer_store_subscript(frame: Frame, instruction: ir.StoreSubscript, env: Environment) -> Environment:
    """`base[index] = source`."""
    base, key = _given(frame, instruction.base), _given(frame, instruction.index)
    source = _given(frame, instruction.source)
    iteration.set_item(frame, env, base, key, source, instruction.span)
    return env


def transfer_delete_subscript(frame: Frame, instruction: ir.DeleteSubscript, env: Environment) -> Environment:
    """`del base[index]`: which elements are left is not followed."""
    if frame.registers[instruction.base] == visible_devices.VARIABLES:
        visible_devices.store(frame, env, frame.registers[instruction.index], None, instruction.span)
    objects.escape(env, frame.registers[instruction.base])
    return env


def transfer_slice(frame: Frame, instruction: ir.Slice, env: Environment) -> Environment:
    """`lower:upper:step`."""
    parts = [_bound(frame, part) for part in (instruction.lower, instruction.upper, instruction.step)]
    known = [part for part in parts if not isinstance(part, str)]
    bounds = (known[0], known[1], known[2]) if len(known) == len(parts) else None
    frame.set(instruction.target, replace(containers.SLICE, bounds=bounds), instruction.span)
    return env


def _bound(frame: Frame, part: ir.Register | None) -> int | str | None:
    value = None if part is None else frame.registers[part]
    if value is None or value == Constant(None):
        return None
    return value.value if isinstance(value, Constant) and type(value.value) is int else "unknown"


def transfer_binary(frame: Frame, instruction: ir.Binary, env: Environment) -> Environment:
    """`left operator right` and `left operator= right`."""
    left, right = _operand(frame, instruction.left), _operand(frame, instruction.right)
    value = binary(frame, env, instruction.operator, left, right, instruction.in_place, instruction.span)
    if value == UNKNOWN:
        text = frame.text(instruction.span)
        value = frame.fresh_symbol(f"({text})" if len(text) <= SHORT else UNNAMED, instruction.span)
    place = frame.places[instruction.left]
    frame.set(instruction.target, value, instruction.span, place if instruction.in_place else None)
    return env


def binary(
    frame: Frame,
    env: Environment,
    operator: str,
    left: ArgumentValue,
    right: ArgumentValue,
    in_place: bool,
    span: ir.Span,
) -> Value:
    """The result of a binary operator: a tensor's method where one side is a tensor, else Python's own."""
    name = METHODS.get(operator)
    if not (is_host(left.value) or is_host(right.value)):
        for side in (left.value, right.value):
            if isinstance(side, Opaque) and is_computed(side):
                frame.infer_kind(side, Kind.TENSOR)  # and no container: what it is combined with is no number
    left, right = _as_stray(frame, left), _as_stray(frame, right)
    for one, other, prefix in ((left, right, ""), (right, left, "r")):
        if name is None or not _is_tensor(frame, one.value):
            continue
        if is_array(other.value):
            if not prefix:
                library_calls.read_by_numpy(frame, env, f"{operator}=" if in_place else operator, one, span)
            return UNKNOWN
        if isinstance(other.value, (Constant, Host, Tensor, Opaque)) or other.value == UNKNOWN:
            shown = f"{operator}=" if in_place else operator
            method = f"__i{name}__" if in_place and not prefix else f"__{prefix}{name}__"
            result = library_calls.call_tensor_method(frame, env, one, method, Arguments((other,), ()), span, shown)
            return UNKNOWN if result is None else result
    return _on_the_host(frame, env, operator, left.value, right.value, in_place, span)


def _as_stray(frame: Frame, given: ArgumentValue) -> ArgumentValue:
    """An operand as a tensor if on some path it was created as one: who computes with it has one on the others, too."""
    value = given.value
    if isinstance(value, Opaque) and value.stray is not None and frame.kind(value) is not Kind.ARRAY:
        return replace(given, value=frame.tensor(value))
    return given


def _is_tensor(frame: Frame, value: Value) -> bool:
    if isinstance(value, Opaque):
        return frame.kind(value) is Kind.TENSOR
    return isinstance(value, Tensor)


def _is_elementwise(frame: Frame, value: Value) -> bool:
    """Whether operators with numbers give, element by element, something that lives where the value does."""
    return isinstance(value, Opaque) and frame.kind(value) in (Kind.ARRAY, Kind.MOVABLE)


def _on_the_host(
    frame: Frame, env: Environment, operator: str, left: Value, right: Value, in_place: bool, span: ir.Span
) -> Value:
    if isinstance(left, Constant) and isinstance(right, Constant):
        return _fold(operator, left, right)
    if (is_count(left) or is_count(right)) and is_number(left) and is_number(right):
        return _counted(operator, left, right)
    if isinstance(left, Constant) and left.is_text:
        named = operator == "%" and left.value in CUDA_FORMATS
        return numbered(right.items[0] if isinstance(right, TupleValue) and right.items else right) if named else TEXT
    if any(isinstance(side, Host) and side.kind == "array" for side in (left, right)):
        return ARRAY
    for one, other in ((left, right), (right, left)):
        if _is_elementwise(frame, one) and (is_host(other) or other == one):
            return one
    if isinstance(left, TupleValue) and isinstance(right, TupleValue) and operator == "+":
        return TupleValue(left.items + right.items)
    if isinstance(left, Reference):
        return _on_lists(frame, env, operator, left, right, in_place, span)
    if is_host(left) and is_host(right):
        return left if left == right else NUMBER
    return UNKNOWN


def _counted(operator: str, left: Value, right: Value) -> Value:
    """Arithmetic with a number of devices; what is added to it or taken from it is kept."""
    if isinstance(right, Host) and operator == "+":
        left, right = right, left
    excess = left.excess if isinstance(left, Host) else None
    step = right.value if isinstance(right, Constant) else None
    if excess is not None and type(step) is int and operator in ("+", "-"):
        return Host("count", excess=excess + step if operator == "+" else excess - step)
    return COUNT if operator in "+-*//%" else NUMBER


def _fold(operator: str, left: Constant, right: Constant) -> Value:
    """Arithmetic of two literals, as far as it can matter for device strings and ordinals."""
    a, b = left.value, right.value
    checked = left.checked and right.checked
    origin = left.origin or right.origin
    if operator == "+" and isinstance(a, str) and isinstance(b, str):
        return Constant(a + b, checked, origin)
    if operator == "%" and isinstance(a, str):
        if is_wide(a):
            return TEXT
        try:
            return Constant(a % b, checked, origin)
        except (TypeError, ValueError, KeyError):
            return TEXT
    if type(a) is int and type(b) is int:
        if operator == "+":
            return Constant(a + b, checked, origin)
        if operator == "-":
            return Constant(a - b, checked, origin)
        if operator == "*":
            return Constant(a * b, checked, origin)
        if operator in ("//", "%") and b != 0:
            return Constant(a // b if operator == "//" else a % b, checked, origin)
    if isinstance(a, (int, float)) and isinstance(b, (int, float)):
        return NUMBER
    return UNKNOWN


def _on_lists(
    frame: Frame, env: Environment, operator: str, left: Reference, right: Value, in_place: bool, span: ir.Span
) -> Value:
    held = env.heap.get(left.object)
    other = env.heap.get(right.object) if isinstance(right, Reference) else None
    if not isinstance(held, ListObject) or held.module is not None:
        return UNKNOWN
    if operator == "+" and in_place:
        containers.extend(frame, env, left, right)
        return left
    if operator == "+" and isinstance(other, ListObject):
        if held.items is not None and other.items is not None and len(held.items + other.items) <= LARGEST_VALUE:
            return containers.allocate(frame, env, span, "list", replace(held, items=held.items + other.items))
        rest = summary(other) if held.items == () else together(summary(held), summary(other))
        return containers.allocate(frame, env, span, "list", ListObject(None, rest))
    if operator == "*":
        return containers.allocate(frame, env, span, "list", ListObject(None, summary(held)))
    return UNKNOWN


def transfer_unary(frame: Frame, instruction: ir.Unary, env: Environment) -> Environment:
    """`not x`, `-x`, `~x`."""
    operand = _given(frame, instruction.operand)
    value: Value = UNKNOWN
    if instruction.operator == "not":
        optional = frame.optional[instruction.operand]
        value = negate(truth(operand.value, env, frame.program.devices, frame.text(operand.span), optional=optional))
    elif _is_tensor(frame, operand.value):
        name = {"-": "__neg__", "+": "__pos__", "~": "__invert__"}[instruction.operator]
        found = library_calls.call_tensor_method(frame, env, operand, name, Arguments((), ()), instruction.span)
        value = UNKNOWN if found is None else found
    elif isinstance(operand.value, Constant) and type(operand.value.value) is int and instruction.operator == "-":
        value = Constant(-operand.value.value, operand.value.checked, operand.value.origin)
    elif is_host(operand.value):
        value = NUMBER
    frame.set(instruction.target, value, instruction.span)
    return env


def transfer_compare(frame: Frame, instruction: ir.Compare, env: Environment) -> Environment:
    """`left operator right`: a tensor where one side is a tensor, else a test."""
    left, right = _operand(frame, instruction.left), _operand(frame, instruction.right)
    value: Value
    name = COMPARISONS.get(instruction.operator)
    tensors = _is_tensor(frame, left.value) or _is_tensor(frame, right.value)
    if name is not None and tensors and not isinstance(right.value, (DeviceValue, DeviceType)):
        one, other = (left, right) if _is_tensor(frame, left.value) else (right, left)
        found = library_calls.call_tensor_method(
            frame, env, one, f"__{name}__", Arguments((other,), ()), instruction.span, instruction.operator
        )
        value = UNKNOWN if found is None else found
    else:
        kept = frame.kept(instruction.left)
        counted = isinstance(right.value, Constant) and right.value.python_type is int
        text = frame.text(left.span) if counted else ""
        value = compare(instruction.operator, kept, right.value, left.place, frame.program.devices, text)
        if value.known is None:
            frame.note_tested(instruction.left)
            frame.note_tested(instruction.right)
        if name is not None and _is_elementwise(frame, left.value) and right.value != Constant(None):
            value = left.value
        elif value == Predicate() and not (is_host(left.value) or is_host(right.value)) and name is not None:
            value = UNKNOWN
    frame.set(instruction.target, value, instruction.span)
    return env


def transfer_logic(frame: Frame, instruction: ir.Logic, env: Environment) -> Environment | None:
    """`a and b`: the second operand is evaluated only where the first allows it."""
    is_and = instruction.operator == "and"
    devices = frame.program.devices
    first = instruction.operands[0]
    current = evaluate(frame, first, env)
    if current is None:
        return None
    value = frame.registers[first.register]
    test = truth(
        value, current, devices, frame.text(frame.spans[first.register]), optional=frame.optional[first.register]
    )
    for operand in instruction.operands[1:]:
        if test.known is (not is_and):
            break
        narrowed = apply_constraints(current.copy(), test.holds if is_and else test.fails)
        if narrowed is None:
            break
        after = evaluate(frame, operand, narrowed)
        if after is None:
            continue
        right = frame.registers[operand.register]
        other = truth(
            right, after, devices, frame.text(frame.spans[operand.register]), optional=frame.optional[operand.register]
        )
        is_test = isinstance(value, Predicate) or isinstance(right, Predicate)
        decided = test.known is is_and
        test = (both if is_and else either)(test, other)
        if decided:
            value = right
        elif is_test:
            value = test
        else:
            value = joins.either(frame, value, right, instruction.span, str(frame.places[first.register] or UNNAMED))
        # Names that the operand bound or narrowed are known only where it was evaluated.
        always = current.always
        joined = join(current, _without_narrowing(current, after))
        assert joined is not None
        joined.always = always
        current = joined
    frame.set(instruction.target, value if value != Predicate() else test, instruction.span)
    return current


def _without_narrowing(before: Environment, after: Environment) -> Environment:
    """The environment behind an operand, without what was only assumed for it."""
    after.assumptions = dict(before.assumptions)
    after.checked, after.fallback = before.checked, before.fallback
    return after


def transfer_conditional(frame: Frame, instruction: ir.Conditional, env: Environment) -> Environment | None:
    """`then if test else orelse`."""
    results: list[tuple[Value, bool]] = []

    def side(operand: ir.Operand, start: Environment) -> Environment | None:
        after = evaluate(frame, operand, start)
        if after is not None:
            results.append((frame.kept(operand.register), after.fallback))
        return after

    joined = branch(
        frame,
        instruction.test,
        env,
        lambda start: side(instruction.then, start),
        lambda start: side(instruction.orelse, start),
    )
    if joined is None or not results:
        return None
    value = results[0][0]
    if len(results) == 2:
        (first, first_fallback), (second, second_fallback) = results
        if first_fallback == second_fallback:
            sides = ((first, instruction.then.register), (second, instruction.orelse.register))
            loaded = [value for value, register in sides if frame.place_of(register) is not None]
            kept = loaded[0] if len(loaded) == 1 else None
            value = joins.either(frame, first, second, frame.spans[instruction.test], kept=kept)
        else:
            value = chosen(second, first) if first_fallback else chosen(first, second)
        if (first, second) in _EITHER:
            value = _as_said(frame, env, instruction, value, negated=second == Constant(True))
    frame.set(instruction.target, value, instruction.span)
    return joined


_EITHER = ((Constant(True), Constant(False)), (Constant(False), Constant(True)))


def _as_said(frame: Frame, env: Environment, instruction: ir.Conditional, value: Value, *, negated: bool) -> Value:
    """`True if test else False`: the test itself, if it proves anything."""
    register = instruction.test
    text, optional = frame.text(frame.spans[register]), frame.optional[register]
    test = truth(frame.registers[register], env, frame.program.devices, text, optional=optional)
    if test == Predicate():
        return value
    return negate(test) if negated else test


def transfer_format(frame: Frame, instruction: ir.Format, env: Environment) -> Environment:
    """An f-string: a device string if its parts say so, such as `f"cuda:{i}"`."""
    text, known, checked = "", True, True
    for part in instruction.parts:
        if isinstance(part, str):
            text += part
            continue
        value = frame.registers[part]
        host_waits.read(frame, env, value, frame.spans[part], "formatting")
        if isinstance(value, Constant) and isinstance(value.value, (str, int)):
            text += str(value.value)
            checked = checked and value.checked
        else:
            known = False
            text += "\0"
    value = TEXT
    if known:
        value = note_literal(frame, env, text, instruction.span)
        if not any(isinstance(part, str) for part in instruction.parts):
            value = Constant(text, checked)
        elif checked and len(instruction.parts) > 1:
            value = replace(value, checked=True)
    elif text == "cuda:\0":
        # The ordinal comes from elsewhere: some CUDA device, which the program has reason to believe in.
        value = numbered(frame.registers[next(part for part in instruction.parts if not isinstance(part, str))])
    frame.set(instruction.target, value, instruction.span)
    return env


def transfer_append(frame: Frame, instruction: ir.Append, env: Environment) -> Environment:
    """One element of a comprehension."""
    return containers.append(frame, instruction, env)


def transfer_yield(frame: Frame, instruction: ir.Yield, env: Environment) -> Environment:
    """`yield x`: what the generator gives."""
    value: Value = Constant(None)
    if instruction.source is not None:
        value = frame.registers[instruction.source]
        if instruction.delegate:
            inner = iteration.iterate(frame, env, value, instruction.span)
            value = inner.each if inner.few is None else UNKNOWN
    frame.yielded = value if frame.yielded is None else join_values(frame.yielded, value)
    frame.set(instruction.target, UNKNOWN, instruction.span)
    return env


def transfer_await(frame: Frame, instruction: ir.Await, env: Environment) -> Environment:
    """`await x`: what the coroutine returns, which is what its call was taken to return."""
    frame.set(instruction.target, frame.registers[instruction.source], instruction.span)
    return env


TRANSFERS.update(
    {
        ir.Const: transfer_const,
        ir.Anything: transfer_anything,
        ir.Load: scopes.transfer_load,
        ir.Store: scopes.transfer_store,
        ir.Delete: scopes.transfer_delete,
        ir.Attribute: transfer_attribute,
        ir.StoreAttribute: transfer_store_attribute,
        ir.DeleteAttribute: transfer_delete_attribute,
        ir.Subscript: transfer_subscript,
        ir.StoreSubscript: transfer_store_subscript,
        ir.DeleteSubscript: transfer_delete_subscript,
        ir.Slice: transfer_slice,
        ir.Call: calls.transfer_call,
        ir.Binary: transfer_binary,
        ir.Unary: transfer_unary,
        ir.Compare: transfer_compare,
        ir.Logic: transfer_logic,
        ir.Conditional: transfer_conditional,
        ir.Format: transfer_format,
        ir.Build: containers.build,
        ir.BuildMapping: containers.build_mapping,
        ir.Append: transfer_append,
        ir.Unpack: containers.unpack,
        ir.MakeFunction: scopes.transfer_make_function,
        ir.MakeClass: scopes.transfer_make_class,
        ir.Import: scopes.transfer_import,
        ir.ImportFrom: scopes.transfer_import_from,
        ir.Yield: transfer_yield,
        ir.Await: transfer_await,
        ir.If: statements.transfer_if,
        ir.While: loop_statements.transfer_while,
        ir.For: loop_statements.transfer_for,
        ir.Try: statements.transfer_try,
        ir.With: statements.transfer_with,
        ir.Return: statements.transfer_return,
        ir.Raise: statements.transfer_raise,
        ir.Break: statements.transfer_break,
        ir.Continue: statements.transfer_continue,
    }
)
