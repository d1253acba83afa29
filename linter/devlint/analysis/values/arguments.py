"""The arguments of a call, and their binding to the parameters of a library's signature."""

from __future__ import annotations

from dataclasses import replace

from devlint.analysis.execution.frame import Frame
from devlint.analysis.values.containers import elements_of, items_of
from devlint.domain.environment import Environment
from devlint.domain.heap import DictObject, LibraryObject, Object
from devlint.domain.place import AccessPath
from devlint.domain.value import UNKNOWN, Constant, Reference, Tensor, Value
from devlint.frontend.ir import Argument, Span
from devlint.records import dataclass
from devlint.torchlib.signature import ALTERNATIVE_NAMES, DeviceTerm, Signature, TensorTerm


@dataclass(frozen=True, slots=True)
class ArgumentValue:
    """An argument as the caller wrote it."""

    value: Value
    span: Span
    place: AccessPath | None = None


@dataclass(frozen=True, slots=True)
class Arguments:
    """The arguments of one call.

    Attributes:
        exact: False when some of them could not be counted (`*args`).
        each: one value for all of those, if they are tensors or objects of one kind.
        aligned: no positional ones stand behind those.
        spread: one tensor for all that come by `**batch` from an object of a library.
        loose: what any keyword may be given by `**options`, of which nothing is known.
    """

    positional: tuple[ArgumentValue, ...]
    keywords: tuple[tuple[str, ArgumentValue], ...]
    exact: bool = True
    each: ArgumentValue | None = None
    spread: ArgumentValue | None = None
    loose: ArgumentValue | None = None
    aligned: bool = True

    def keyword(self, name: str) -> ArgumentValue | None:
        """The keyword argument of that name; `**options` may name a device."""
        for key, given in self.keywords:
            if key == name:
                return given
        return self.loose if name == "device" else None

    def get(self, position: int, name: str) -> ArgumentValue | None:
        """The argument at that position or of that name."""
        if position < len(self.positional):
            return self.positional[position]
        return self.keyword(name)

    def first(self) -> ArgumentValue | None:
        """The first positional argument."""
        return self.positional[0] if self.positional else None

    def all(self) -> tuple[ArgumentValue, ...]:
        """Every argument, in the order written."""
        return self.positional + tuple(given for _, given in self.keywords)

    def behind(self, receiver: ArgumentValue) -> Arguments:
        """The same call with a receiver as its first argument."""
        return replace(self, positional=(receiver, *self.positional))


def collect(frame: Frame, env: Environment, written: tuple[Argument, ...]) -> Arguments:
    """The arguments of a call instruction, with `*` and `**` taken apart where that is possible."""
    positional: list[ArgumentValue] = []
    keywords: list[tuple[str, ArgumentValue]] = []
    exact, counted, aligned = True, True, True
    each: ArgumentValue | None = None
    spread: ArgumentValue | None = None
    loose: ArgumentValue | None = None
    for argument in written:
        value = frame.registers[argument.register]
        given = ArgumentValue(value, frame.spans[argument.register], frame.places[argument.register])
        if not argument.unpack:
            if argument.keyword is None:
                aligned = aligned and counted
                positional.append(given)
            else:
                keywords.append((argument.keyword, given))
        elif argument.keyword is None:
            items = items_of(frame, env, value)
            aligned = aligned and (counted or not items)
            exact, counted = exact and items is not None, counted and items is not None
            positional.extend(ArgumentValue(item, argument.span) for item in items or ())
            one = elements_of(frame, env, value).each if items is None else UNKNOWN
            each = ArgumentValue(one, argument.span) if isinstance(one, (Tensor, Reference)) else each
        else:
            held = env.heap.get(value.object) if isinstance(value, Reference) else None
            if isinstance(held, DictObject) and held.complete:
                keywords.extend(
                    (key, ArgumentValue(item, argument.span)) for key, item in held.items if isinstance(key, str)
                )
            else:
                exact = False
                spread = _spread(frame, held, argument.span)
                loose = ArgumentValue(UNKNOWN, argument.span)
    return Arguments(tuple(positional), tuple(keywords), exact, each, spread, loose, aligned)


def _spread(frame: Frame, held: Object | None, span: Span) -> ArgumentValue | None:
    """A tensor for those that an object of a library holds by names, if it holds them on one device."""
    if not isinstance(held, LibraryObject):
        return None
    signatures = frame.program.catalogue.method(held.cls, "__getitem__")
    terms = signatures[0].returns if signatures else ()
    if len(terms) != 1 or not isinstance(terms[0], TensorTerm):
        return None
    return ArgumentValue(Tensor(held.device, None, origin=held.origin), span)


BoundArguments = dict[str, tuple[ArgumentValue, ...]]
"""Arguments by parameter name; several for `*args`, none for a parameter left to its default."""


def bind_to_signature(signature: Signature, arguments: Arguments) -> BoundArguments | None:
    """The arguments by parameter, None if this signature cannot be called so."""
    bound: BoundArguments = {}
    rest = list(arguments.positional)
    keywords = dict(arguments.keywords)
    spread = arguments.spread
    each = arguments.each if arguments.each is not None and isinstance(arguments.each.value, Tensor) else None
    loose = False
    for parameter in signature.parameters:
        name = parameter.name
        if parameter.kind == "args":
            # A shape may also be given by name: `torch.zeros(size=(2, 3))`.
            uncounted = () if each is None else (each,)
            bound[name] = (keywords.pop(name),) if not rest and name in keywords else (*rest, *uncounted)
            rest = []
        elif parameter.kind == "kwargs":
            bound[name] = tuple(keywords.values())
            keywords = {}
            loose = True
        elif parameter.kind != "keyword" and rest:
            bound[name] = (rest.pop(0),)
        else:
            spelled = name if name in keywords else _other_name(name, keywords)
            if spelled is not None and parameter.kind != "positional":
                bound[name] = (keywords.pop(spelled),)
            elif parameter.default is None and arguments.exact:
                return None
            elif parameter.default is None and parameter.kind != "keyword" and each is not None:
                bound[name] = (each,)
            elif spread is not None and any(isinstance(term, TensorTerm) for term in parameter.terms):
                bound[name] = (spread,)  # whatever their names: they are all where this one is
                spread = None
            elif arguments.loose is not None and any(isinstance(term, DeviceTerm) for term in parameter.terms):
                bound[name] = (arguments.loose,)
    if rest or (keywords and not loose):
        return None
    return bound


def _other_name(name: str, keywords: dict[str, ArgumentValue]) -> str | None:
    for other in ALTERNATIVE_NAMES.get(name, ()):
        if other in keywords:
            return other
    return None


def constant(given: ArgumentValue | None) -> object:
    """The constant an argument is, or None."""
    return given.value.value if given is not None and isinstance(given.value, Constant) else None
