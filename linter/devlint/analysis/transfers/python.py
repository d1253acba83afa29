"""The few functions of Python itself that tensors and modules pass through."""

from __future__ import annotations

from dataclasses import replace

from devlint.analysis.index.classes import is_open
from devlint.analysis.interpreter import attributes, calls, iteration
from devlint.analysis.libraries import library_calls
from devlint.analysis.libraries.builtin_methods import updated
from devlint.analysis.libraries.transfer_tables import FUNCTIONS, LibraryCall, register
from devlint.analysis.values import objects
from devlint.analysis.values.arguments import Arguments, ArgumentValue
from devlint.analysis.values.containers import items_of
from devlint.analysis.values.modules import is_module, is_module_class
from devlint.analysis.values.narrowing import NOTHING, is_instance, truth
from devlint.domain.device import UNREACHED, Concrete, Variable
from devlint.domain.environment import Environment
from devlint.domain.heap import LARGEST_DISPLAY, DictObject, Instance, LibraryObject, ListObject, summary
from devlint.domain.kinds import TensorRole
from devlint.domain.value import (
    NUMBER,
    TEXT,
    UNKNOWN,
    Constant,
    DeviceType,
    DeviceValue,
    Field,
    Library,
    Opaque,
    PartialCall,
    Predicate,
    Reference,
    Replace,
    Tensor,
    TupleValue,
    UserClass,
    Value,
    is_count,
    is_host,
)
from devlint.torchlib.knowledge import FIELD, MODULE, TENSOR


def number(site: LibraryCall) -> Value:
    """`int(x)`, `len(x)` and the like; of a constant, the constant."""
    return NUMBER


def text(site: LibraryCall) -> Value:
    """`str(x)`: of a constant or a device, its text."""
    value = site.value(0, "object")
    if isinstance(value, Constant) and isinstance(value.value, (str, int)):
        return Constant(str(value.value), value.checked, value.origin)
    if isinstance(value, DeviceValue) and isinstance(value.device, Concrete):
        return Constant(str(value.device), value.checked, value.origin)
    if isinstance(value, DeviceValue) and isinstance(value.device, Variable):
        return DeviceType(value.device, value.checked, is_longer=True)
    return value if isinstance(value, DeviceType) else TEXT


def execute_text(site: LibraryCall) -> Value:
    """`exec(text)`: it may give any name of a file another value, as programs do with their settings."""
    of_a_file = not site.frame.scope.name
    if of_a_file and len(site.arguments.positional) == 1:
        for name, value in site.env.names.items():
            if isinstance(value, (Constant, DeviceValue)):
                site.env.names[name] = UNKNOWN
    return Constant(None)


def extreme(site: LibraryCall) -> Value:
    """`min(a, b)`, `max(a, b)`: a number if all of them are."""
    values = [given.value for given in site.arguments.positional]
    return NUMBER if len(values) > 1 and all(map(is_host, values)) else UNKNOWN


def length(site: LibraryCall) -> Value:
    """`len(x)`."""
    value = site.value(0, "obj")
    for given in site.arguments.positional:
        site.frame.prove_dimensions(site.env, given.value, given.place)
    if isinstance(value, TupleValue):
        return Constant(len(value.items))
    held = site.held(value)
    if isinstance(held, ListObject) and held.items is not None:
        return Constant(len(held.items))
    if isinstance(value, Opaque):
        site.frame.note_unanswered(value)
    return NUMBER


def make_list(site: LibraryCall) -> Value:
    """`list(xs)`, `sorted(xs)`, `reversed(xs)`: a list of the same elements."""
    given = site.arguments.first()
    if given is None:
        return site.allocate("list", ListObject(()))
    items = items_of(site.frame, site.env, given.value)
    if items is not None and site.name in ("builtins.list", "builtins.reversed"):
        return site.allocate("list", ListObject(items if site.name == "builtins.list" else items[::-1]))
    each = _each(site, given.value)
    held = site.held(given.value)
    first = held.first if isinstance(held, ListObject) and site.name == "builtins.list" else None
    owner = held.owner if isinstance(held, ListObject) else None
    return site.allocate("list", ListObject(None, each, first=first, owner=owner))


def make_tuple(site: LibraryCall) -> Value:
    """`tuple(xs)`."""
    given = site.arguments.first()
    if given is None:
        return TupleValue(())
    items = items_of(site.frame, site.env, given.value)
    if items is not None:
        return TupleValue(items)
    return site.allocate("tuple", ListObject(None, _each(site, given.value)))


def make_dict(site: LibraryCall) -> Value:
    """`dict(a=x)`, `dict(other, a=x)`, `dict(pairs)`."""
    return site.allocate("dict", updated(site, DictObject(())))


def make_range(site: LibraryCall) -> Value:
    """`range(n)`: the numbers themselves when they are few and known."""
    bounds = [given.value for given in site.arguments.positional]
    if bounds and all(isinstance(bound, Constant) and isinstance(bound.value, int) for bound in bounds):
        given = [bound.value for bound in bounds if isinstance(bound, Constant) and isinstance(bound.value, int)]
        counts = len(given) < 3 or (len(given) == 3 and given[2] != 0)
        numbers = range(*given) if counts else range(0)
        if not numbers[LARGEST_DISPLAY:]:  # `len` refuses a range of more than 2**63 numbers
            items = tuple(Constant(index, True) for index in numbers)
            return site.allocate("range", ListObject(items, NUMBER))
    if bounds and is_count(bounds[-1]):
        first = bounds[0] if len(bounds) == 2 else Constant(0, True)
        return site.allocate("range", ListObject(None, NUMBER, first=first))
    return site.allocate("range", ListObject(None, NUMBER))


def enumerate_(site: LibraryCall) -> Value:
    """`enumerate(xs)`: pairs of a number and an element."""
    given = site.arguments.first()
    items = None if given is None else items_of(site.frame, site.env, given.value)
    start = site.constant(1, "start") if len(site.arguments.all()) > 1 else 0
    if items is not None and type(start) is int:
        pairs = tuple(TupleValue((Constant(place, True), item)) for place, item in enumerate(items, start))
        return site.allocate("enumerate", ListObject(pairs))
    each = _each(site, UNKNOWN if given is None else given.value)
    return site.allocate("enumerate", ListObject(None, TupleValue((NUMBER, each))))


def zip_(site: LibraryCall) -> Value:
    """`zip(xs, ys)`: tuples of elements."""
    known = [items_of(site.frame, site.env, given.value) for given in site.arguments.positional]
    listed = [items for items in known if items is not None]
    if listed and len(listed) == len(known):
        return site.allocate("zip", ListObject(tuple(map(TupleValue, zip(*listed, strict=False)))))
    each = tuple(_each(site, given.value) for given in site.arguments.positional)
    return site.allocate("zip", ListObject(None, TupleValue(each)))


def _each(site: LibraryCall, value: Value) -> Value:
    inner = iteration.iterate(site.frame, site.env, value, site.span)
    return inner.each if inner.few is None else summary(ListObject(inner.few))


def map_(site: LibraryCall) -> Value:
    """`map(f, xs)`: what `f` makes of the elements, when somebody iterates over it."""
    if len(site.arguments.positional) < 2:
        return UNKNOWN
    made = site.allocate("map", ListObject(None))

    def fill(env: Environment) -> None:
        env.heap[made.object] = _mapped(replace(site, env=env))

    site.frame.lazy[made.object] = fill
    return made


def _mapped(site: LibraryCall) -> ListObject:
    function, *given = site.arguments.positional
    if len(given) == 1 and (few := iteration.iterate(site.frame, site.env, given[0].value, site.span).few) is not None:
        return ListObject(tuple(_applied(site, function, (replace(given[0], value=item),)) for item in few))
    each = tuple(replace(item, value=_each(site, item.value)) for item in given)
    return ListObject(None, _applied(site, function, each))


def _applied(site: LibraryCall, function: ArgumentValue, arguments: tuple[ArgumentValue, ...]) -> Value:
    result = calls.invoke(site.frame, site.env, function, Arguments(arguments, ()), site.span)
    return UNKNOWN if result is None else result


def has_attribute(site: LibraryCall) -> Value:
    """`hasattr(x, "device")`: where it is true, the object is more than its class says; of a tensor it is known."""
    given, name = site.arguments.first(), site.constant(1, "name")
    if given is not None and isinstance(given.value, Tensor) and isinstance(name, str):
        known = library_calls.is_method(site.frame, name) or site.frame.program.catalogue.attribute(TENSOR, name)
        return Predicate(known=True) if known else NOTHING
    if given is None or given.place is None:
        return UNKNOWN
    return Predicate(holds=(Replace(given.place, given.value, UNKNOWN),))


def named_tuple(site: LibraryCall) -> Value:
    """`namedtuple("Batch", "x y")`: a class with those fields."""
    names = site.value(1, "field_names")
    held = site.held(names)
    listed = names.items if isinstance(names, TupleValue) else held.items if isinstance(held, ListObject) else None
    if isinstance(names, Constant) and isinstance(names.value, str):
        fields = tuple(names.value.replace(",", " ").split())
    elif listed is not None:
        fields = tuple(item.value for item in listed if isinstance(item, Constant) and isinstance(item.value, str))
    else:
        return UNKNOWN
    declared = tuple(map(Field, fields))
    return UserClass(str(site.constant(0, "typename")), (), {}, site.frame.globals, {}, False, declared, is_record=True)


def describe_field(site: LibraryCall) -> Value:
    """`dataclasses.field(…)`: a description of one field; a class definition reads it."""
    parts = tuple((name, given.value) for name, given in site.arguments.keywords)
    return site.allocate("field", LibraryObject(FIELD, UNREACHED, parts=parts))


def next_(site: LibraryCall) -> Value:
    """`next(iter(xs))`: one element."""
    given = site.arguments.first()
    if given is None:
        return UNKNOWN
    held = site.held(given.value)
    if isinstance(held, ListObject) and held.owner is not None and held.first is not None:
        return held.first  # of the parameters of a module
    return _each(site, given.value)


def filter_(site: LibraryCall) -> Value:
    """`filter(f, xs)`: some of the elements."""
    given = site.arguments.positional
    if len(given) != 2:
        return UNKNOWN
    held = site.held(given[1].value)
    owner = held.owner if isinstance(held, ListObject) else None
    return site.allocate("filter", ListObject(None, _each(site, given[1].value), owner=owner))


def same(site: LibraryCall) -> Value:
    """`iter(xs)`, `tqdm(xs)`: iterates over the same things."""
    given = site.arguments.first()
    return UNKNOWN if given is None else given.value


def copy(site: LibraryCall) -> Value:
    """`copy.copy(x)`: a tensor is where the original is; of an object's copy nothing is known."""
    given = site.arguments.first()
    return UNKNOWN if given is None or isinstance(given.value, Reference) else given.value


def deepcopy(site: LibraryCall) -> Value:
    """`copy.deepcopy(x)`: a tensor is where the original is, a module has parts of its own that are."""
    given = site.arguments.first()
    if given is None or not is_module(site.frame, site.env, given.value):
        return copy(site)
    return objects.copied(site.frame, site.env, given.value, site.span, {})


def isinstance_(site: LibraryCall) -> Value:
    """`isinstance(x, classes)`."""
    if len(site.arguments.positional) != 2:
        return UNKNOWN
    subject, wanted = site.arguments.positional
    classes = wanted.value.items if isinstance(wanted.value, TupleValue) else (wanted.value,)
    if isinstance(subject.value, Reference) and set(classes) <= {Library("numpy.ndarray")}:
        held = site.held(subject.value)
        hidden = held is None or (isinstance(held, Instance) and (held.open or is_open(held.cls)))
        return UNKNOWN if hidden else Predicate(known=False)
    return is_instance(subject.value, tuple(dict.fromkeys(_as_module(site, cls) for cls in classes)), subject.place)


def _as_module(site: LibraryCall, cls: Value) -> Value:
    """A class of modules as `nn.Module`: what is one of it moves as one."""
    return Library(MODULE) if isinstance(cls, Library) and is_module_class(site.frame, cls.name) else cls


def cast(site: LibraryCall) -> Value:
    """`typing.cast(Type, x)`: `x` itself."""
    return site.value(1, "val") or UNKNOWN


def is_tensor(site: LibraryCall) -> Value:
    """`torch.is_tensor(x)`."""
    given = site.arguments.first()
    if given is None:
        return UNKNOWN
    return is_instance(given.value, (Library("torch.Tensor"),), given.place)


def truth_value(site: LibraryCall) -> Value:
    """`bool(x)`: the same test."""
    given = site.arguments.first()
    if given is None:
        return Constant(False)
    return truth(given.value, site.env, site.frame.program.devices)


def no_return(site: LibraryCall) -> None:
    """`sys.exit()`, `pytest.skip()` and their like: control does not come back."""


def partial(site: LibraryCall) -> Value:
    """`functools.partial(f, *args, **kwargs)`."""
    given = site.arguments.positional
    if not given or not site.arguments.exact:
        return UNKNOWN
    keywords = tuple((key, value.value) for key, value in site.arguments.keywords)
    return PartialCall(given[0].value, tuple(item.value for item in given[1:]), keywords)


def sum_(site: LibraryCall) -> Value:
    """`sum(xs)`: adding tensors, beginning with 0."""
    given = site.arguments.first()
    if given is None or len(site.arguments.all()) > 1:
        return UNKNOWN
    items = items_of(site.frame, site.env, given.value)
    if not items:
        each = _each(site, given.value)
        return replace(each, role=TensorRole.PLAIN) if isinstance(each, Tensor) else UNKNOWN
    total: Value = NUMBER
    for item in items:
        total = _added(site, replace(given, value=total), replace(given, value=item))
    return total


def _added(site: LibraryCall, total: ArgumentValue, item: ArgumentValue) -> Value:
    for one, other, method in ((total, item, "__add__"), (item, total, "__radd__")):
        if isinstance(one.value, Tensor):
            arguments = Arguments((other,), ())
            result = library_calls.call_tensor_method(site.frame, site.env, one, method, arguments, site.span, "sum")
            return UNKNOWN if result is None else result
    return UNKNOWN


def getattr_(site: LibraryCall) -> Value:
    """`getattr(x, "name")`."""
    given, name = site.arguments.first(), site.constant(1, "name")
    if given is None or not isinstance(name, str) or len(site.arguments.positional) != 2:
        return UNKNOWN
    return attributes.load(site.frame, site.env, given.value, name, site.span, given.place)


def vars_(site: LibraryCall) -> Value:
    """`vars(x)`: what an object of the program holds, by name."""
    given = site.arguments.first()
    return UNKNOWN if given is None else attributes.load(site.frame, site.env, given.value, "__dict__", site.span, None)


def setattr_(site: LibraryCall) -> Value:
    """`setattr(x, "name", value)`; under a name that is not known, any attribute may have changed."""
    given, name, value = site.arguments.first(), site.constant(1, "name"), site.value(2, "value")
    if given is not None and isinstance(name, str) and value is not None:
        attributes.store(site.frame, site.env, given.value, name, value, given.place, site.span)
    elif given is not None:
        objects.escape(site.env, given.value)
    return Constant(None)


register(
    FUNCTIONS,
    {
        **{f"builtins.{name}": number for name in ("int", "float", "abs", "round", "hash", "id", "ord")},
        **{f"builtins.{name}": text for name in ("str",)},
        **{f"builtins.{name}": make_list for name in ("list", "sorted", "reversed", "set")},
        "builtins.exec": execute_text,
        "builtins.min": extreme,
        "builtins.max": extreme,
        "builtins.len": length,
        "builtins.tuple": make_tuple,
        "builtins.dict": make_dict,
        "builtins.range": make_range,
        "builtins.enumerate": enumerate_,
        "builtins.zip": zip_,
        "builtins.next": next_,
        "builtins.map": map_,
        "builtins.hasattr": has_attribute,
        "collections.namedtuple": named_tuple,
        "dataclasses.field": describe_field,
        "builtins.filter": filter_,
        "builtins.iter": same,
        "builtins.bool": truth_value,
        "builtins.isinstance": isinstance_,
        "builtins.sum": sum_,
        "builtins.getattr": getattr_,
        "builtins.setattr": setattr_,
        "builtins.vars": vars_,
        "torch.is_tensor": is_tensor,
        "typing.cast": cast,
        "tqdm.tqdm": same,
        "tqdm.auto.tqdm": same,
        "copy.deepcopy": deepcopy,
        "copy.copy": copy,
        "functools.partial": partial,
        **dict.fromkeys(("sys.exit", "builtins.exit", "builtins.quit", "os._exit", "os.abort"), no_return),
        **dict.fromkeys(("pytest.skip", "pytest.fail", "pytest.xfail", "pytest.exit"), no_return),
    },
)
