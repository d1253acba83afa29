"""Results of operations on values that need no heap: tests, comparisons, arithmetic, texts.

`fold` computes the result if it can; else it makes a term. A term that is folded again with the values of a caller
equals the operation on these values.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, Final

from devlint.inference.values import devices, ranks
from devlint.inference.values.joins import earlier, either, join_all, under
from devlint.inference.values.objects import (
    Bound,
    ClassValue,
    FileValue,
    Function,
    Instance,
    Library,
    Method,
    Super,
    Wrapped,
)
from devlint.inference.values.tensors import (
    ACCELERATOR,
    Alternatives,
    Array,
    Device,
    Tensor,
    Tuple,
    as_test,
    options,
    pack,
)
from devlint.inference.values.terms import (
    ABSENT,
    BOTTOM,
    FALSE,
    INPUT,
    NONE,
    NUMBER,
    REPLACED,
    TRUE,
    UNKNOWN,
    Constant,
    Root,
    Symbol,
    Term,
    Value,
    asked,
    constant,
    is_symbolic,
    term,
)

ARITHMETIC: Final[dict[str, Callable[[Any, Any], Any]]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "//": operator.floordiv,
    "%": operator.mod,
    "&": operator.and_,
    "|": operator.or_,
    "^": operator.xor,
    "<<": operator.lshift,
    ">>": operator.rshift,
    "**": operator.pow,
}
COMPARISONS: Final[dict[str, Callable[[Any, Any], Any]]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
}
TEXT_METHODS: Final = frozenset(
    "startswith endswith lower upper strip lstrip rstrip replace removeprefix split".split()
)
OF_THE_HEAP: Final = frozenset(
    """
    device_of rank_of device_of_data len item element attribute get has to isinstance hasattr has_device type collated
    scattered looped joined
    """.split()
)
"""Operations of terms that need a heap: `fold` keeps their terms."""
TEXT_METHOD: Final = "text "
"""The prefix of the operation of a string method."""
TEXTS: Final = frozenset({"format", "device_type", "type_name", *(TEXT_METHOD + name for name in TEXT_METHODS)})
"""Operations on texts, or that give them."""
AUGMENTED: Final = {f"{sign}=": sign for sign in (*ARITHMETIC, "@")}
"""The operator of an augmented assignment, by its sign."""
OF_PARTS: Final[dict[str, Callable[..., Value]]] = {
    "started": devices.started,
    "type_name": devices.type_name,
    "device_type": devices.device_type,
    "is_of_type": devices.is_of_type,
    "by_type": devices.by_type,
    "sent_from": devices.sent_from,
}
"""Operations on devices that are computed for each of several devices."""
LARGEST: Final = 1 << 40
"""Numbers above it, and longer texts than `LONGEST`, are not computed."""
LONGEST: Final = 200

CODE: Final = (Function, ClassValue, Library, Bound, FileValue, Method, Super, Wrapped)


def truth(value: Value) -> bool | None:
    """Return whether a value is true, without a heap; None if that is unknown."""
    if isinstance(value, Constant):
        return bool(value.value)
    if isinstance(value, (*CODE, Device)):
        return True
    if isinstance(value, Tuple):
        return bool(value.items)
    if isinstance(value, Alternatives):
        found = {truth(each) for each in value.options if each is not ABSENT}
        return found.pop() if len(found) == 1 else None
    if isinstance(value, Term) and value.operator == "ite":
        then, orelse = truth(value.arguments[1]), truth(value.arguments[2])
        return then if then is orelse else None
    return None


def is_answerable(value: Value) -> bool:
    """Whether a caller may know something of a term: whether it is made of a symbol that a caller replaces.

    It knows nothing of a comparison with an unknown result, and of several values if it knows nothing of one of them.
    """
    if value.is_answerable is None:
        value.is_answerable = _is_answerable(value)
    return value.is_answerable


def _is_answerable(value: Value) -> bool:
    if isinstance(value, Root):
        return value.kind in REPLACED
    if isinstance(value, Symbol):
        return is_answerable(value.root)
    if isinstance(value, Term) and value.operator not in COMPARISONS:
        return any(map(is_answerable, value.arguments))
    parts = value.arguments if isinstance(value, Term) else value.options if isinstance(value, Alternatives) else ()
    open_ones = [each for each in parts if is_symbolic(each) or isinstance(each, Alternatives)]
    return bool(open_ones) and all(map(is_answerable, open_ones))


def is_text(value: Value) -> bool:
    """Whether a term stands for the result of an operation on texts."""
    return isinstance(value, Term) and value.operator in TEXTS


def asks_device(test: Value) -> bool:
    """Whether a test asks for the type of a device."""
    return isinstance(test, Term) and (
        test.operator in ("is_of_type", "device_type", "type_name") or any(map(asks_device, test.arguments))
    )


def fold(name: str, *arguments: Value) -> Value:
    """Return the result of an operation, or a term that stands for it.

    Args:
        name: "not", "and", "or", "ite", "is", an operator of Python, "neg", "format", "text <method>", or a term of
            `devices` or `ranks`.
        arguments: the operands.
    """
    first = arguments[0]
    if name == "not":
        return _negated(first)
    if name in ("and", "or"):
        return _logic(name, arguments)
    if name == "ite":
        return _chosen(first, arguments[1], arguments[2])
    if name == "is":
        return _identity(first, arguments[1])
    if name == "denoted":
        return devices.denoted(first, arguments[1])
    if name == "target":
        return devices.target(first, arguments[1])
    if name in OF_PARTS:
        return _spread(name, arguments) or OF_PARTS[name](*arguments)
    if name == "asked":
        return asked(first) if isinstance(first, Tensor) or is_symbolic(first) else NUMBER
    if name == "scope":
        return devices.scope(first, arguments[1])
    if name == "contains":
        return _contains(first, arguments[1])
    if name == "meet":
        return devices.meet(list(arguments[::2]), list(arguments[1::2]))
    if name in ranks.OPERATIONS:
        return ranks.OPERATIONS[name](*arguments)
    if name == "earlier":
        return earlier(first, arguments[1])
    if name == "format":
        return _formatted(arguments)
    if name == "neg":
        return _spread(name, arguments) or _computed(operator.neg, name, arguments)
    if name.startswith(TEXT_METHOD):
        return _spread(name, arguments) or _text(name, arguments)
    if name in COMPARISONS:
        return _spread(name, arguments) or _compared(name, first, arguments[1])
    return _spread(name, arguments) or _arithmetic(name, first, arguments[1])


def _spread(name: str, arguments: tuple[Value, ...]) -> Value | None:
    """Return the result by the parts of an argument that is one of several, or of several that one test chooses.

    Return None if no argument is, or if there are two with different tests and a term can stand for the result.
    """
    several = [each for each in arguments if is_several(each)]
    if not several:
        return None
    test = several[0].arguments[0] if isinstance(several[0], Term) else NONE
    if all(isinstance(each, Term) and each.arguments[0] is test for each in several):
        then, orelse = ([under(test, each, branch) for each in arguments] for branch in (1, 2))
        return either(test, fold(name, *then), fold(name, *orelse))
    if len(several) > 1:
        is_term = name in ARITHMETIC and not any(isinstance(each, Alternatives) for each in several)
        return NUMBER if name in COMPARISONS else None if is_term else UNKNOWN
    return join_all(
        [fold(name, *[part if each is several[0] else each for each in arguments]) for part in options(several[0])]
    )


def is_several(value: Value) -> bool:
    """Whether a value is one of several: alternatives, or the conditional value of a test."""
    return isinstance(value, Alternatives) or (isinstance(value, Term) and value.operator == "ite")


def _negated(value: Value) -> Value:
    known, value = truth(value), as_test(value)
    if known is not None:
        return constant(not known)
    if isinstance(value, Term) and value.operator == "not" and _is_test(value.arguments[0]):
        return value.arguments[0]
    if isinstance(value, Alternatives):
        return join_all([_negated(each) for each in value.options])
    return term("not", value) if is_symbolic(value) else NUMBER


def _is_test(value: Value) -> bool:
    """Whether the value of a term is certainly True or False."""
    return isinstance(value, Term) and (
        value.operator in ("not", "is", "isinstance", "has", "contains", "is_of_type", "hasattr")
        or value.operator in COMPARISONS
    )


def _logic(name: str, operands: tuple[Value, ...]) -> Value:
    stops = name == "or"
    kept: list[Value] = []
    for number, each in enumerate(operands):
        known = truth(each)
        if known is stops or number == len(operands) - 1:
            kept.append(each)
            break
        if known is None:
            kept.append(each)
    if len(kept) == 1:
        return kept[0]
    if any(not is_symbolic(each) for each in kept[:-1]):
        return join_all(kept)
    return term(name, *dict.fromkeys(kept)) if len(dict.fromkeys(kept)) > 1 else kept[0]


def _chosen(test: Value, then: Value, orelse: Value) -> Value:
    known = truth(test)
    if known is not None:
        return then if known else orelse
    return either(test, then, orelse)


def _identity(one: Value, two: Value) -> Value:
    """Return whether two values are one object; certain only about None, constants and code."""
    spread = _spread("is", (one, two))
    if spread is not None:
        return spread
    if one is two and isinstance(one, (Constant, *CODE)):
        return TRUE
    if NONE in (one, two):
        other = two if one is NONE else one
        if (isinstance(other, Root) and other.kind == INPUT) or (isinstance(other, Term) and other.operator == "to"):
            return FALSE
        return term("is", other, NONE) if is_symbolic(other) else NUMBER if other is UNKNOWN else FALSE
    if is_symbolic(one) or is_symbolic(two):
        if one is two:
            return TRUE
        return term("is", one, two) if UNKNOWN not in (one, two) else NUMBER
    is_decided = isinstance(one, (Constant, *CODE)) and isinstance(two, (Constant, *CODE))
    return FALSE if is_decided else NUMBER


def _formatted(parts: tuple[Value, ...]) -> Value:
    """Return the text of an f-string, as a constant or as a term that each place makes alike."""
    texts: list[Value] = []
    for each in parts:
        if isinstance(each, Device) and each is not ACCELERATOR:
            each = constant(each.name)
        if not (isinstance(each, Constant) or is_symbolic(each)):
            return NUMBER
        if isinstance(each, Constant) and texts and isinstance(texts[-1], Constant):
            each = constant(f"{texts.pop().value}{each.value}")  # type: ignore[attr-defined]
        elif isinstance(each, Constant):
            each = constant(str(each.value))
        texts.append(each)
    if not texts:
        return constant("")
    if len(texts) == 1 and isinstance(texts[0], Constant):
        return texts[0] if len(str(texts[0].value)) <= LONGEST else NUMBER
    made = term("format", *texts)
    return NUMBER if made is UNKNOWN else made


def _contains(owner: Value, part: Value) -> Value:
    """Return whether a text has another one in it."""
    if isinstance(owner, Constant) and isinstance(part, Constant):
        return constant(str(part.value) in str(owner.value))
    spread = _spread("contains", (owner, part))
    if spread is not None:
        return spread
    made = term("contains", owner, part) if is_symbolic(owner) or is_symbolic(part) else UNKNOWN
    return NUMBER if made is UNKNOWN else made


def _text(name: str, arguments: tuple[Value, ...]) -> Value:
    method = name.removeprefix(TEXT_METHOD)
    if method not in TEXT_METHODS:
        return NUMBER
    values = [each.value for each in arguments if isinstance(each, Constant)]
    if len(values) < len(arguments):
        made = term(name, *arguments) if all(isinstance(x, Constant) or is_symbolic(x) for x in arguments) else NUMBER
        return NUMBER if made is UNKNOWN else made
    if not isinstance(values[0], str):
        return UNKNOWN
    try:
        found = getattr(values[0], method)(*values[1:])
    except (TypeError, ValueError):
        return BOTTOM
    return pack(*map(constant, found)) if isinstance(found, list) else constant(found)


def _compared(name: str, one: Value, two: Value) -> Value:
    if isinstance(one, (Tensor, Array)) or isinstance(two, (Tensor, Array)):
        return UNKNOWN
    if isinstance(one, Device) or isinstance(two, Device):
        return _same_device(name, one, two)
    if isinstance(one, Constant) and isinstance(two, Constant):
        return _computed(COMPARISONS[name], name, (one, two))
    if name in ("==", "!=") and one is two and isinstance(one, (*CODE, Instance)):
        return constant(name == "==")
    if name in ("==", "!=") and isinstance(one, (*CODE, Constant)) and isinstance(two, (*CODE, Constant)):
        return constant(name == "!=")
    return _kept(name, one, two)


def _same_device(name: str, one: Value, two: Value) -> Value:
    """Return whether a device equals another, or a text, which PyTorch takes as a device."""
    if name not in ("==", "!="):
        return NUMBER
    if not isinstance(one, Device):
        return _same_device(name, two, one)
    if isinstance(two, Constant) and isinstance(two.value, str):
        two = devices.parse(two.value)
    if is_symbolic(two):
        return term(name, one, two) if term(name, one, two) is not UNKNOWN else NUMBER
    if not isinstance(two, Device):
        return NUMBER
    found = devices.are_equal(one, two)
    return found if name == "==" else _negated(found)


def _arithmetic(name: str, one: Value, two: Value) -> Value:
    if name in AUGMENTED and not is_symbolic(one):
        return fold(AUGMENTED[name], one, two)
    if isinstance(one, Constant) and isinstance(two, Constant):
        return _computed(ARITHMETIC[name], name, (one, two)) if name in ARITHMETIC else UNKNOWN
    if name == "+" and isinstance(one, Tuple) and isinstance(two, Tuple):
        return pack(*one.items, *two.items)
    if isinstance(one, Constant) and isinstance(one.value, str):
        if name == "%":
            return percent(one.value, two.items if isinstance(two, Tuple) else (two,))
        if name == "+" and is_symbolic(two):
            return _formatted((one, two))
    if name == "+" and isinstance(two, Constant) and isinstance(two.value, str) and is_symbolic(one):
        return _formatted((one, two))
    return _kept(name, one, two)


def _kept(name: str, one: Value, two: Value) -> Value:
    """Return the term of an operation that cannot be computed; NUMBER or UNKNOWN if there is no such term."""
    if (is_symbolic(one) or is_symbolic(two)) and _stays(one) and _stays(two):
        return term(name, one, two)
    if name in COMPARISONS:
        return NUMBER if UNKNOWN not in (one, two) else UNKNOWN
    return NUMBER if _is_number(one) and _is_number(two) else UNKNOWN


def _stays(value: Value) -> bool:
    return is_symbolic(value) or isinstance(value, (Constant, Library, Tuple, Device)) or value is NUMBER


def _is_number(value: Value) -> bool:
    return value is NUMBER or (isinstance(value, Constant) and value is not NONE)


def percent(template: str, values: tuple[Value, ...]) -> Value:
    """Return `template % values`: the same term as of an f-string."""
    return filled(template.replace("%s", "%d"), "%d", values)


def filled(template: str, mark: str, values: tuple[Value, ...]) -> Value:
    """Return a template with values in the places of a mark; some text, if it has other places."""
    pieces = template.split(mark)
    if len(pieces) != len(values) + 1 or any(sign in piece for piece in pieces for sign in "{}%"):
        return NUMBER
    parts: list[Value] = [constant(pieces[0])] if pieces[0] else []
    for value, piece in zip(values, pieces[1:], strict=True):
        parts.append(value)
        if piece:
            parts.append(constant(piece))
    return _formatted(tuple(parts)) if parts else constant("")


def _computed(function: Callable[..., Any], name: str, arguments: tuple[Value, ...]) -> Value:
    """Return the result of Python for constants; BOTTOM if Python raises."""
    values = [each.value for each in arguments if isinstance(each, Constant)]
    if len(values) < len(arguments):
        return term(name, *arguments) if all(is_symbolic(each) for each in arguments) else NUMBER
    if name in ("*", "**", "<<") and not all(
        isinstance(each, (bool, int, float)) and abs(each) < 1000 for each in values
    ):
        return NUMBER
    try:
        found = function(*values)
    except (TypeError, ValueError, ArithmeticError):
        return BOTTOM
    is_long = len(found) > LONGEST if isinstance(found, (str, bytes)) else abs(found) > LARGEST
    if is_long:
        return NUMBER
    return constant(found) if isinstance(found, (bool, int, float, complex, str, bytes)) else UNKNOWN
