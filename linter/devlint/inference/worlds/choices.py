"""The choices that values depend on, and the worlds that decide them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice, product
from typing import Final, final

from devlint.inference.values.folding import COMPARISONS, OF_THE_HEAP, fold, is_text, truth
from devlint.inference.values.tensors import ACCELERATOR, Alternatives, Tensor, Tuple, alternatives, pack, tensor
from devlint.inference.values.terms import (
    DEVICE,
    FALSE,
    INPUT,
    MACHINE,
    NUMBER,
    OPTION,
    POSITIVE,
    RANK,
    TRUE,
    UNKNOWN,
    Constant,
    Root,
    Symbol,
    Term,
    Value,
    constant,
    is_symbolic,
    root,
    root_of,
)

FREE: Final = frozenset({MACHINE, OPTION, INPUT})
"""The kinds of roots that are choices."""

MOST_CHOICES: Final = 6
MOST_WORLDS: Final = 48

COUNT: Final = root(MACHINE, "accelerators")
"""How many accelerators the machine has."""
ACCELERATORS: Final = (constant(8), constant(1))
"""The numbers of accelerators of the machines on which a program is judged."""

OTHER: Final = constant("<another value>")
"""A value of an option that no test of the project names."""


def is_free(value: Value) -> bool:
    """Whether choices are the only unknown parts of a value."""
    if isinstance(value, Term):
        return all(is_free(each) or not is_symbolic(each) for each in value.arguments)
    top = root_of(value)
    return top is not None and top.kind in FREE


def speaks_of_choices(value: Value) -> bool:
    """Whether a choice is a part of a value."""
    if isinstance(value, Term):
        return any(map(speaks_of_choices, value.arguments))
    if isinstance(value, Alternatives):
        return any(map(speaks_of_choices, value.options))
    top = root_of(value)
    return top is not None and top.kind in FREE


@final
class World:
    """One way to make all choices.

    Args:
        chosen: values by choice.
    """

    __slots__ = ("_chosen",)

    def __init__(self, chosen: dict[Value, Value]) -> None:
        self._chosen = chosen

    def put(self, value: Value) -> Value:
        """Return a value in this world; only choices are replaced."""
        found = self._chosen.get(value)
        if found is not None:
            return found
        if isinstance(value, Term):
            return self._of_term(value)
        if isinstance(value, Symbol):
            return self._of_symbol(value)
        if isinstance(value, Alternatives):
            held = dict.fromkeys([self.put(each) for each in value.options])
            return alternatives(tuple(held)) if len(held) > 1 else next(iter(held))
        if isinstance(value, Tensor):
            return tensor(self.put(value.device), self.put(value.rank), value.owner, value.source)
        if isinstance(value, Tuple):
            return pack(*[self.put(each) for each in value.items])
        return value

    def _of_symbol(self, value: Symbol) -> Value:
        if value.root.kind != INPUT:
            return value
        return ACCELERATOR if value.field is DEVICE else POSITIVE if value.field is RANK else value

    def _of_term(self, value: Term) -> Value:
        name, arguments = value.operator, value.arguments
        if name in ("denoted", "target"):
            named = self.put(arguments[0])
            if _is_of_user(arguments[0]) and not isinstance(named, Constant):
                return ACCELERATOR
            if isinstance(named, Constant) and (named is OTHER or type(named.value) is bool):
                return ACCELERATOR
            return fold(name, named, self.put(arguments[1]))
        if name == "ite":
            known = self.truth(arguments[0])
            return UNKNOWN if known is None else self.put(arguments[1 if known else 2])
        if name in ("not", "and", "or") or name in COMPARISONS:
            known = self.truth(value)
            return NUMBER if known is None else constant(known)
        return UNKNOWN if name in OF_THE_HEAP else fold(name, *[self.put(each) for each in arguments])

    def truth(self, test: Value) -> bool | None:
        """Return whether a test holds in this world; None if that is unknown."""
        found = self._chosen.get(test)
        if found is not None:
            return found is OTHER or truth(found)
        if isinstance(test, Term):
            name, arguments = test.operator, test.arguments
            if name == "not":
                known = self.truth(arguments[0])
                return None if known is None else not known
            if name in ("and", "or"):
                held = [self.truth(each) for each in arguments]
                if (name == "or") in held:
                    return name == "or"
                return None if None in held else name == "and"
            if name in COMPARISONS or name == "is":
                return truth(fold(name, *[self.put(each) for each in arguments]))
        return truth(self.put(test)) if isinstance(test, Term) else truth(test)


def _is_of_user(value: Value) -> bool:
    """Whether a user names a device here, as a whole or as a part of a text."""
    if is_text(value):
        return speaks_of_choices(value)
    top = root_of(value)
    return top is not None and top.kind in (OPTION, INPUT)


def worlds(values: Sequence[Value], conditions: Sequence[Value]) -> Iterator[tuple[World, Sequence[Value]]]:
    """Yield each world for the choices of some values, with the conditions to judge in it.

    A condition with other choices only is left out: some value of these choices meets it. If there are more than
    MOST_CHOICES choices, yield nothing; stop after MOST_WORLDS worlds.
    """
    choices: dict[Value, tuple[Value, ...]] = {}
    for each in values:
        _collect(each, choices)
    asked: list[Value] = []
    for each in reversed(conditions):
        alone: dict[Value, tuple[Value, ...]] = {}
        _collect_test(each, alone)
        if not alone or (any(choice in choices for choice in alone) and len({**choices, **alone}) <= MOST_CHOICES):
            _collect_test(each, choices)
            asked.append(each)
    for each in values:
        _collect_options(each, choices)
    if len(choices) > MOST_CHOICES:
        return
    for chosen in islice(product(*choices.values()), MOST_WORLDS):
        yield World(dict(zip(choices, chosen, strict=True))), asked


def _collect(value: Value, choices: dict[Value, tuple[Value, ...]]) -> None:
    """Add the choices on which a device or rank rests."""
    if isinstance(value, Term):
        if value.operator == "ite":
            _collect_test(value.arguments[0], choices)
            _collect(value.arguments[1], choices)
            _collect(value.arguments[2], choices)
            return
        tests = value.arguments[:-1] if value.operator in ("and", "or") else ()
        for each in tests:
            _collect_test(each, choices)
        for each in value.arguments:
            _collect(each, choices)
    elif isinstance(value, Alternatives):
        for each in value.options:
            _collect(each, choices)
    elif isinstance(value, Root) and value.kind == MACHINE:
        choices.setdefault(value, ACCELERATORS)


def _collect_options(value: Value, choices: dict[Value, tuple[Value, ...]]) -> None:
    """Add the options with a default that name a device, as far as there may be more choices."""
    if isinstance(value, (Term, Alternatives)):
        for each in value.arguments if isinstance(value, Term) else value.options:
            _collect_options(each, choices)
    elif len(choices) < MOST_CHOICES and len(_usual(value)) > 1:
        choices.setdefault(value, _usual(value))


def _usual(value: Value) -> tuple[Value, ...]:
    """Return values of an option: its default, unless it is a truth value, and another one."""
    default = value.field.key if isinstance(value, Symbol) and value.field.kind == "." else None
    is_choice = isinstance(default, Constant) and type(default.value) in (str, int)
    return (OTHER, default) if is_choice and default is not None else (OTHER,)


def _collect_test(test: Value, choices: dict[Value, tuple[Value, ...]]) -> None:
    """Add the choices on which a test rests."""
    if isinstance(test, Term) and test.operator in ("not", "and", "or", "ite"):
        for each in test.arguments:
            _collect_test(each, choices)
    elif isinstance(test, Term) and is_about_machine(test):
        _collect(test, choices)
    elif isinstance(test, Term) and test.operator in ("==", "!=") and isinstance(test.arguments[1], Constant):
        asked, named = test.arguments
        if is_free(asked):
            known = choices.get(asked, _usual(asked))
            if named not in known:
                choices[asked] = (*known, named)
    elif is_free(test) and not isinstance(test, Constant):
        choices.setdefault(test, (TRUE, FALSE))


def is_about_machine(value: Value) -> bool:
    """Whether a term speaks of the machine alone."""
    if isinstance(value, Term):
        return all(is_about_machine(each) or not is_symbolic(each) for each in value.arguments)
    top = root_of(value)
    return top is not None and top.kind == MACHINE
