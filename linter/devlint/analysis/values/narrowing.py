"""What a branch condition proves on each side.

Tests are values: `torch.cuda.is_available()` evaluates to a `Predicate` that proves an accelerator where it is true,
and may be stored, negated or combined before an `if` asks for it. This file makes such tests from comparisons
and truth values, and applies their proofs to an environment.
"""

from __future__ import annotations

import re
from dataclasses import replace

from devlint.domain.device import CPU, DEVICE_TYPES, Concrete, Device, Variable, differ
from devlint.domain.environment import Environment, under_assumptions
from devlint.domain.heap import DictObject, ListObject
from devlint.domain.kinds import OriginKind
from devlint.domain.place import AccessPath
from devlint.domain.process import UNKNOWN_NUMBER
from devlint.domain.value import (
    NUMBER,
    PROCESSES,
    UNKNOWN,
    Assume,
    Closure,
    Constant,
    Constraint,
    DeviceType,
    DeviceValue,
    Host,
    Kind,
    Library,
    MaybeNone,
    Method,
    Opaque,
    Predicate,
    Present,
    Reference,
    Replace,
    Tensor,
    TupleValue,
    Unknown,
    UserClass,
    Value,
    Visible,
    is_array,
    is_count,
)
from devlint.torchlib.knowledge import MODULE, MOVES, SAYS_AVAILABLE, TENSOR, TENSOR_NAMES

NOTHING = Predicate()

_CHOICE = re.compile(r"cuda|gpu|accelerator|nccl", re.IGNORECASE)
"""A setting with such a name, tested for truth, is how programs let their user say that there is a GPU."""

_REFUSAL = re.compile(r"(no|not|without|disable|force_cpu|cpu)(_|(?=cuda|gpu))", re.IGNORECASE)
"""Begins a setting that says the opposite."""

_WITHOUT = re.compile(r"((use|force|only|(\w+_)?(to|on))_)?cpu(_only)?", re.IGNORECASE)
"""A setting that asks for the CPU."""

_READS = re.compile(r"(?:[\w.]+\.get\(|getattr\([\w.]+, *)[\"'](\w+)[\"']")
"""Reads a setting by its name."""

_NONE = frozenset({"", "cpu", "none", "no", "off", "false", "never"})
"""What such a setting holds where there shall be none."""

_ACCELERATORS = ("cuda", "gpu", "nccl", "torch.cuda.")
"""How texts begin that name a CUDA device, its kind, or the backend that only such devices have."""

MOST_PROOFS = 32
"""How many proofs a test keeps; further operands of a long `and` prove nothing."""

_NAMED = re.compile("|".join(DEVICE_TYPES))


def apply_constraints(env: Environment, proofs: tuple[Constraint, ...]) -> Environment | None:
    """The environment in which the proofs hold, None if they cannot."""
    for proof in proofs:
        match proof:
            case Present(present=True):
                env.checked = True
            case Present(present=False):
                env.fallback = True
            case Visible(devices=devices):
                visible = env.process.visible
                if visible is not None and UNKNOWN_NUMBER < visible < devices:
                    return None
            case Assume(variable=variable, device=device):
                known = env.assumptions.get(variable)
                if known is not None and differ(known, device):
                    return None
                env.assumptions[variable] = device
                if device == CPU:
                    env.on_host = True
            case Replace(place=place, seen=seen, by=by):
                if env.names.get(place.name) == seen:
                    env.names[place.name] = by
    return env


def widen_back(env: Environment, proofs: tuple[Constraint, ...], changed: set[AccessPath]) -> None:
    """Takes back what only the branch had narrowed, before it joins the other one.

    What two devices were found to be equal is kept in the values themselves. So is what a name was narrowed to if
    it is among the `changed`, those to which the other side has given a new value.
    """
    for proof in proofs:
        if isinstance(proof, Replace) and env.names.get(proof.place.name) == proof.by and proof.place not in changed:
            env.names[proof.place.name] = proof.seen
    if env.assumptions:
        for name, value in env.names.items():
            env.names[name] = under_assumptions(env, value)


def changed_by(env: Environment, proofs: tuple[Constraint, ...], others: tuple[Constraint, ...]) -> set[AccessPath]:
    """The places tested by a branch, or by the other one, that hold neither what they held nor what it proved."""
    places = {proof.place: proof.seen for proof in proofs + others if isinstance(proof, Replace)}
    narrowed = {proof.place: proof.by for proof in proofs if isinstance(proof, Replace)}
    return {
        place
        for place, seen in places.items()
        if (held := env.names.get(place.name)) != seen and (place not in narrowed or held != narrowed[place])
    }


def truth(value: Value, env: Environment, devices: int | None, text: str = "", *, optional: bool = False) -> Predicate:
    """The value as a test: what `if value:` proves; a value that is `optional` may be None instead.

    `text` is how the program writes it.
    """
    if optional:
        return Predicate(truth(value, env, devices, text).holds)
    match value:
        case Predicate() if value != NOTHING:
            return value
        case Constant():
            setting = choice(_name_of(text)) if value == Constant(True) and devices is None else NOTHING
            return decided(value.is_true, value, devices=devices) if setting == NOTHING else setting
        case Host(kind="count"):
            return Predicate((Present(True), *_least(">", value, 0)), (Present(False),))
        case TupleValue():
            return Predicate(known=bool(value.items))
        case Reference():
            held = env.heap.get(value.object)
            if isinstance(held, ListObject) and held.items is not None:
                return decided(bool(held.items), value, devices=devices)
            if isinstance(held, DictObject) and held.complete:
                return decided(bool(held.items), value, devices=devices)
            return NOTHING
        case Opaque():
            of_path = choice(value.path.last)
            return of_path if of_path != NOTHING else choice(_name_of(text))
        case Method(name=name):
            return choice(name)  # a method is always true: who tests `args.cuda` has no tensor there
        case Library(name=name) if name in SAYS_AVAILABLE:
            return present(devices)
        case Closure() | UserClass() | Library() | DeviceValue():
            return Predicate(known=True)
        case Host(kind="number") | Unknown() | Predicate():
            return choice(_name_of(text))
        case _:
            return NOTHING


def _name_of(text: str) -> str:
    """What a setting is called, as the program reads it: `args.cuda`, `options.get("cuda", True)`; else nothing.

    A function that is asked is a setting as well: `self.use_gpu()`; `x.cpu()` asks nothing.
    """
    asked = text.removesuffix("()")
    if asked.replace(".", "").isidentifier():
        name = asked.rsplit(".", 1)[-1]
        return "" if asked != text and name in MOVES else name
    read = _READS.match(text)
    return "" if read is None else read[1]


def choice(name: str) -> Predicate:
    """What a setting proves by being true: the user's word counts like a check, and without it there is no GPU."""
    if _WITHOUT.fullmatch(name):
        return Predicate((Present(False),), (Present(True),))
    if not _CHOICE.search(name):
        return Predicate(holds=(Present(True),)) if "device" in name.lower() else NOTHING
    test = Predicate((Present(True),), (Present(False),))
    return negate(test) if _REFUSAL.match(name.lstrip("?_")) else test


def present(devices: int | None) -> Predicate:
    """The outcome of asking whether there is an accelerator, on a machine with so many (None: enough)."""
    known = None if devices is None else devices > 0
    return Predicate((Present(True),), (Present(False),), known)


def decided(outcome: bool, *values: Value, devices: int | None) -> Predicate:
    """A test whose outcome is certain; if a check has chosen one of the values, it is so on an accelerator alone."""
    return _settled(Predicate(known=outcome), *values, devices=devices)


def _settled(test: Predicate, *values: Value, devices: int | None) -> Predicate:
    """The test; if its outcome is certain and a check has chosen one of the values, as one for an accelerator."""
    if test.known is None or not any(map(is_chosen, values)):
        return test
    return present(devices) if test.known else negate(present(devices))


def is_chosen(value: Value) -> bool:
    """Whether a check has chosen a value, or the type of a device; where a tensor is, nobody has chosen."""
    match value:
        case DeviceValue(checked=checked, origin=origin):
            return checked and origin is not None and origin.kind is OriginKind.UNKNOWN
        case Constant(checked=checked) | DeviceType(checked=checked) | Reference(checked=checked):
            return checked
        case _:
            return False


def negate(test: Predicate) -> Predicate:
    """`not test`."""
    return Predicate(test.fails, test.holds, None if test.known is None else not test.known)


def both(first: Predicate, second: Predicate) -> Predicate:
    """`first and second`: true proves both, false proves only what both would prove by failing."""
    known = False if False in (first.known, second.known) else True if first.known and second.known else None
    common = tuple(proof for proof in first.fails if proof in second.fails)
    # `available and flag`: where it is false for want of the flag, the accelerator is there all the same;
    # still, that side is the one on which the program does without it.
    if not common:
        common = tuple(p for p in first.fails + second.fails if isinstance(p, Present) and not p.present)
    return Predicate((first.holds + second.holds)[:MOST_PROOFS], common[:MOST_PROOFS], known)


def either(first: Predicate, second: Predicate) -> Predicate:
    """`first or second`."""
    return negate(both(negate(first), negate(second)))


def compare(
    operator: str, left: Value, right: Value, place: AccessPath | None, devices: int | None, text: str = ""
) -> Predicate:
    """The test `left operator right`; `place` is where `left` was loaded from, `text` how a number is written."""
    match operator:
        case "is" | "is not":
            if isinstance(right, Constant) and right.is_none:
                test = _is_none(left, place, devices)
                return negate(test) if operator == "is not" else test
            if isinstance(left, Predicate) and isinstance(right, Constant):
                return _answers(left, right, same=operator == "is")
            if isinstance(right, Constant) and isinstance(left, Constant):
                same = left.value is right.value
                return decided(same if operator == "is" else not same, left, right, devices=devices)
            return NOTHING
        case _ if isinstance(left, MaybeNone):
            return compare(operator, left.present, right, None, devices)
        case "==" | "!=" if isinstance(left, Predicate) and isinstance(right, Constant):
            return _answers(left, right, same=operator == "==")
        case "==" | "!=":
            test = _equal(left, right, place, devices, text)
            return negate(test) if operator == "!=" else test
        case "<" | "<=" | ">" | ">=":
            return _order(operator, left, right, devices, text)
        case "in" | "not in":
            test = _contained(left, right, devices)
            return negate(test) if operator == "not in" else test
        case _:
            return NOTHING


def _answers(question: Predicate, answer: Constant, *, same: bool) -> Predicate:
    """`torch.cuda.is_available() == False`."""
    if answer.value is True or answer.value is False:
        return question if answer.value is same else negate(question)
    return NOTHING


def _is_none(value: Value, place: AccessPath | None, devices: int | None) -> Predicate:
    match value:
        case Library(name=name) if name in SAYS_AVAILABLE:
            return negate(present(devices))
        case Constant():
            return Predicate(known=value.is_none)
        case Opaque(kind=Kind.MOVABLE):
            return decided(False, value, devices=devices)
        case Opaque():
            return Predicate(
                () if place is None else (Replace(place, value, Constant(None)),), _given(place or value.path)
            )
        case MaybeNone() if place is not None:
            given = (Replace(place, value, value.present), *_given(place))
            return Predicate((Replace(place, value, Constant(None)),), given)
        case Host() | DeviceValue() | Tensor() | TupleValue() | Reference() | Library() | Closure() | UserClass():
            return decided(False, value, devices=devices)
        case _:
            return NOTHING


def _given(place: AccessPath) -> tuple[Constraint, ...]:
    """What is proven by a setting that is not None: `args.gpu`, the process group `self._nccl_group`."""
    return (Present(True),) if _names_choice(place.last) else ()


def _equal(left: Value, right: Value, place: AccessPath | None, devices: int | None, text: str) -> Predicate:
    for one, other in ((left, right), (right, left)):
        if isinstance(one, DeviceType):
            return _settled(_type_is(one, other), one, other, devices=devices)
    for one, other in ((left, right), (right, left)):
        if isinstance(one, DeviceValue):
            return _settled(_device_is(one, other), one, other, devices=devices)
    if is_count(left) or is_count(right) or left == PROCESSES:
        return _order("==", left, right, devices)
    if isinstance(left, Constant) and isinstance(right, Constant):
        return decided(left.value == right.value, left, right, devices=devices)
    if isinstance(right, Constant) and right.value == -1 and _is_number_of_gpu(left, text):
        return Predicate(fails=(Present(True),))
    names_one = names_accelerator(right) or names_accelerator(left)
    evidence = (Present(True),) if names_one or _says_how(left, right, text) else ()
    if isinstance(left, Opaque) and isinstance(right, Constant) and place is not None:
        return Predicate(holds=(Replace(place, left, right), *evidence))
    return Predicate(holds=evidence)


def names_accelerator(value: Value) -> bool:
    """Whether a value is a text that stands for CUDA: who compares a setting with it asks whether it was chosen."""
    if isinstance(value, Library):
        return value.name == "torch.distributed.Backend.NCCL"
    return isinstance(value, Constant) and value.is_text and str(value.value).startswith(_ACCELERATORS)


def _is_choice(value: Value) -> bool:
    """Whether a value is a setting that says whether there is a GPU, or how it is used: `use_cuda`."""
    return isinstance(value, Opaque) and _names_choice(value.path.last)


def _names_choice(name: str) -> bool:
    return _CHOICE.search(name) is not None and _REFUSAL.match(name.lstrip("?_")) is None


def _is_number_of_gpu(value: Value, text: str) -> bool:
    """Whether a value is a setting that counts GPUs, or is the number of one: it is compared to ask for one.

    So does the length of a list of them: `len(opt.gpu_ids) > 0`.
    """
    text = text.removeprefix("len(").removesuffix(")")
    name = text.rsplit(".", 1)[-1]
    named = _names_choice(name) or "device" in name.lower()
    read = isinstance(value, (Opaque, Method)) or value in (NUMBER, UNKNOWN)
    return named and read and text.replace(".", "").isidentifier()


def _says_how(setting: Value, held: Value, text: str) -> bool:
    """Whether a setting that holds such a text or number says how the GPU is used: `use_cuda == "all"`, `ngpu == 1`.

    `text` is how it is written where the program compares it with a number.
    """
    said = held.value if isinstance(held, Constant) else None
    if isinstance(said, str):
        return said.lower() not in _NONE and _is_choice(setting)
    return type(said) is int and said > 0 and (_is_choice(setting) or _is_number_of_gpu(setting, text))


def _order(operator: str, left: Value, right: Value, devices: int | None, text: str = "") -> Predicate:
    """A comparison with the number of devices is a check: its side with more devices has an accelerator."""
    if isinstance(left, Constant) and isinstance(right, Constant):
        return _settled(_known_order(operator, left.value, right.value), left, right, devices=devices)
    if is_count(right) and not is_count(left):
        flipped = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "==": "=="}[operator]
        return _order(flipped, right, left, devices)
    if operator in (">", ">=") and isinstance(right, Constant) and _is_number_of_gpu(left, text):
        return Predicate(holds=(Present(True),))
    if left == PROCESSES and right == Constant(1):
        several = Predicate(holds=(Present(True),))
        return several if operator == ">" else negate(several) if operator in ("==", "<=") else NOTHING
    if left == PROCESSES and right == Constant(2) and operator in ("<", ">="):
        return _order(">" if operator == ">=" else "<=", left, Constant(1), devices)
    if is_count(left) and is_count(right):
        return _known_order(operator, _excess(left), _excess(right))
    if not is_count(left):
        return NOTHING
    number = right.value if isinstance(right, Constant) else None
    least = _least(operator, left, number)
    test = Predicate((Present(True), *least), (Present(False),))
    if operator in (">", ">=") and not (operator == ">=" and number == 0):
        return test
    if operator in ("<", "<="):
        return Predicate((Present(False),), (Present(True), *least))
    if operator == "==" and number == 0:
        return negate(test)
    if operator == "==" and number is not None:
        # "exactly so many": there are devices where it holds; where it does not there may be more.
        return Predicate(holds=(Present(True), *least))
    return NOTHING


def _least(operator: str, count: Value, number: object) -> tuple[Constraint, ...]:
    """How many devices there are at least where `count operator number` holds; where it fails, for `<` and `<=`."""
    excess = _excess(count)
    if excess is None or type(number) is not int:
        return ()
    return (Visible(number - excess + (operator in (">", "<="))),)


def _excess(count: Value) -> int | None:
    return count.excess if isinstance(count, Host) else None


def _known_order(operator: str, left: object, right: object) -> Predicate:
    if not isinstance(left, (int, float)) or not isinstance(right, (int, float)):
        return NOTHING
    outcome = {
        "<": left < right,
        "<=": left <= right,
        ">": left > right,
        ">=": left >= right,
        "==": left == right,
    }
    return Predicate(known=outcome[operator])


def _type_is(left: DeviceType, right: Value) -> Predicate:
    """`x.device.type == "cuda"`."""
    if isinstance(right, DeviceType):
        return _same(left.device, right.device)
    if not isinstance(right, Constant) or not isinstance(right.value, str):
        return NOTHING
    if left.is_longer and right.value != "cpu":
        return Predicate(holds=has_part(left, right).holds)
    return on_type(left.device, right.value)


def has_part(whole: DeviceType, part: Value) -> Predicate:
    """`"cuda" in str(x.device)`, `x.type().startswith("torch.cuda")`: the type of a device by a part of its name."""
    text = part.value if isinstance(part, Constant) else None
    named = _NAMED.search(text) if isinstance(text, str) else None
    return NOTHING if named is None else on_type(whole.device, named[0])


def on_type(device: Device, kind: str) -> Predicate:
    """Whether a device is of a type: `x.device.type == kind`, `x.is_cuda`."""
    match device:
        case Concrete():
            return Predicate(known=device.type == kind)
        case Variable():
            here = (Assume(device, Concrete(kind)),)
            away = (Assume(device, CPU),) if kind == "cuda" else ()
            checked = (Present(True),)
            return Predicate(here + checked, away) if kind != "cpu" else Predicate(here, checked)
        case _:
            return Predicate(holds=(Present(True),)) if kind != "cpu" else Predicate(fails=(Present(True),))


def _device_is(left: DeviceValue, right: Value) -> Predicate:
    """`x.device == y.device`; a comparison with text, or a device by its name, asks which one the user chose."""
    named = None
    if isinstance(right, DeviceValue):
        test = _same(left.device, right.device)
        if test != NOTHING or not isinstance(right.device, Concrete):
            return test
        named = right.device.type
    elif isinstance(right, Constant) and isinstance(right.value, str):
        named = right.value.partition(":")[0]
    if named is None:
        return NOTHING
    return Predicate(fails=(Present(True),)) if named == "cpu" else Predicate(holds=(Present(True),))


def _same(left: Device, right: Device) -> Predicate:
    if differ(left, right):
        return Predicate(known=False)
    for one, other in ((left, right), (right, left)):
        if isinstance(one, Variable) and isinstance(other, (Variable, Concrete)):
            return Predicate(known=True) if one == other else Predicate(holds=(Assume(one, other),))
    return NOTHING


def _contained(left: Value, right: Value, devices: int | None) -> Predicate:
    """`x in ("cuda", "mps")`: membership in a display of constants; `"cuda" in x`; `use_cuda in ["all", "batch"]`."""
    texts = [side.value for side in (left, right) if isinstance(side, Constant) and isinstance(side.value, str)]
    if len(texts) == 2:
        return decided(texts[0] in texts[1], left, right, devices=devices)
    if isinstance(right, DeviceType):
        return has_part(right, left)
    if _is_choice(left):
        return Predicate(holds=(Present(True),))
    if names_accelerator(left) and not isinstance(right, (Constant, TupleValue)):
        return Predicate(holds=(Present(True),))
    if not isinstance(right, TupleValue) or not all(isinstance(item, Constant) for item in right.items):
        return NOTHING
    held = [item.value for item in right.items if isinstance(item, Constant)]
    if isinstance(left, Constant):
        return decided(left.value in held, left, *right.items, devices=devices)
    if isinstance(left, DeviceType):
        if isinstance(left.device, Concrete):
            return decided(left.device.type in held, left, devices=devices)
        away = on_type(left.device, "cuda").fails if "cuda" in held else ()
        return Predicate((Present(True),), away) if "cpu" not in held else NOTHING
    return NOTHING


def is_instance(value: Value, classes: tuple[Value, ...], place: AccessPath | None) -> Predicate:
    """`isinstance(value, classes)`."""
    names = {cls.name for cls in classes if isinstance(cls, Library)}
    wants_tensor = bool(names & TENSOR_NAMES)
    match value:
        case Tensor():
            if wants_tensor and TENSOR in names:
                return Predicate(known=True)
            return NOTHING if names != _plain(names) or len(names) != len(classes) else Predicate(known=False)
        case Constant() | Host() | DeviceValue() if wants_tensor and len(classes) == 1:
            return Predicate(known=False)
        case Constant() | Host(kind="array" | "number" | "text" | "shape" | "dtype") if names == {"numpy.ndarray"}:
            return Predicate(known=is_array(value)) if len(classes) == 1 else NOTHING
        case Opaque() if place is not None and len(names) == len(classes) and names <= _BUILTIN:
            numbers = names <= _NUMBERS
            return Predicate(holds=(Replace(place, value, NUMBER if numbers else _as_kind(value, Kind.OTHER)),))
        case Opaque() if place is not None and len(classes) == 1:
            if wants_tensor:
                other = value.kind in (Kind.ANY, Kind.TENSOR) and TENSOR in names  # who asks, has reason to
                fails = (Replace(place, value, _as_kind(value, Kind.OTHER)),) if other else ()
                return Predicate((Replace(place, value, _as_kind(value, Kind.TENSOR)),), fails)
            if MODULE in names:
                return Predicate(holds=(Replace(place, value, _as_kind(value, Kind.MODULE)),))
            host = _HOSTS & names
            if host:
                return Predicate(holds=(Replace(place, value, Host(_HOST_KIND[min(host)])),))
            return Predicate(holds=(Replace(place, value, UNKNOWN),))
        case _:
            return NOTHING


def _as_kind(value: Opaque, kind: Kind) -> Opaque:
    return replace(value, kind=kind)


_HOST_KIND = {
    "builtins.int": "number",
    "builtins.float": "number",
    "builtins.bool": "number",
    "builtins.str": "text",
    "numpy.ndarray": "array",
}
_HOSTS = set(_HOST_KIND)
_NUMBERS = {"builtins.int", "builtins.float", "builtins.bool", "builtins.complex"}
_BUILTIN = _NUMBERS | {"builtins.list", "builtins.tuple"}


def _plain(names: set[str]) -> set[str]:
    """Those of the classes that no tensor is an instance of."""
    return {name for name in names if name.startswith(("builtins.", "numpy."))}
