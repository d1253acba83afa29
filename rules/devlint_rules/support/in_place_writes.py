"""The values that an operation writes to, and the names that must stay the object that they are.

A copy in front of such a value would be written to in its place, and be lost: no advice puts one there.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst
from devlint.diagnostics import Place
from devlint.syntax import Syntax

from devlint_rules.support.scopes import Surroundings

_IN_PLACE = re.compile(r"_?[a-z]\w*[a-z0-9]_")
"""The names of methods and functions that change a tensor, by PyTorch's convention: `add_`, `xavier_uniform_`."""

_OF_ITSELF = frozenset({"grad", "requires_grad", "requires_grad_", "retain_grad", "numpy"})
"""Attributes that a copy elsewhere does not share: those of a leaf of the graph, and the memory of the host."""

_COPIES = frozenset({"clone", "cpu", "cuda", "to"})
"""Methods with a new tensor as result: a later write to the result does not change the receiver."""

_FROM_THE_HOST = re.compile(r"(np|numpy|plt)\.|(.*\.)?(pack_padded_sequence|pack)$")
"""Functions that take their tensors from the CPU only."""


def changes_in_place(name: str) -> bool:
    """Whether a method or function of that name changes a tensor."""
    return _IN_PLACE.fullmatch(name) is not None


def written_at(place: Place, syntax: Syntax) -> Iterator[cst.BaseExpression]:
    """The expressions whose values the operation at a place writes to."""
    change = syntax.at(place, cst.AugAssign)
    if change is not None:
        yield change.target
    store = syntax.at(place, cst.Assign)
    for target in () if store is None else store.targets:
        if isinstance(target.target, cst.Subscript):
            yield target.target
    call = syntax.at(place, cst.Call)
    if call is not None:
        yield from _written_by(call)


def _written_by(call: cst.Call) -> Iterator[cst.BaseExpression]:
    """The receiver of `x.add_(y)`, the first argument of `nn.init.zeros_(x)`, `out=`, the input of `inplace=True`."""
    name = call.func.attr if isinstance(call.func, cst.Attribute) else call.func
    if isinstance(name, cst.Name) and changes_in_place(name.value):
        if isinstance(call.func, cst.Attribute):
            yield call.func.value
        yield from (argument.value for argument in call.args[:1] if not _is_method(call))
    for argument in call.args:
        match argument:
            case cst.Arg(keyword=cst.Name(value="out")):
                yield argument.value
            case cst.Arg(keyword=cst.Name(value="inplace"), value=cst.Name(value="True")):
                yield call.args[0].value


def _is_method(call: cst.Call) -> bool:
    """Whether a call of `a.b_(…)` is that of a tensor's method: modules such as `torch.nn.init` are named like one."""
    owner = call.func.value if isinstance(call.func, cst.Attribute) else None
    while isinstance(owner, cst.Attribute):
        if owner.attr.value in ("init", "functional"):
            return False
        owner = owner.value
    return owner is not None and not (isinstance(owner, cst.Name) and owner.value in ("torch", "init", "F"))


def stays_itself(name: str, place: Place, syntax: Syntax, surroundings: Surroundings) -> bool:
    """Whether the scope of a place writes to the value of a name, reads what only a leaf has, or needs it on the CPU.

    Such a name must not become a copy: later writes would not reach the holders of the original, and lengths that the
    program has brought to the CPU would leave it again.
    """
    for node in syntax.names(name):
        if surroundings.together(syntax.place(node), place) and _needs_itself(node, syntax):
            return True
    stores = (store.value for store in syntax.stores(name) if surroundings.together(syntax.place(store), place))
    return any(_is_leaf(value) for value in stores)


def _is_leaf(value: cst.BaseExpression) -> bool:
    """Whether a call creates a leaf of the graph: an optimizer takes no copy of it."""
    arguments = value.args if isinstance(value, cst.Call) else ()
    return any(
        one.keyword is not None
        and one.keyword.value == "requires_grad"
        and isinstance(one.value, cst.Name)
        and one.value.value == "True"
        for one in arguments
    )


def _needs_itself(name: cst.Name, syntax: Syntax) -> bool:
    inner: cst.CSTNode = name
    for parent in syntax.parents(name):
        match parent:
            case cst.Attribute(value=value, attr=cst.Name(value=attribute)) if value is inner:
                if attribute in _COPIES:
                    return False
                if attribute in _OF_ITSELF or changes_in_place(attribute):
                    return True
            case cst.Subscript(value=value) if value is inner:
                pass
            case cst.Call(func=function) if function is inner:
                pass
            case cst.AugAssign(target=target):
                return target is inner
            case cst.AssignTarget() | cst.Del():
                return inner is not name
            case cst.Arg(keyword=keyword):
                call = syntax.around(parent, cst.Call)
                if call is not None and inner is name and _FROM_THE_HOST.match(syntax.code(call.func)):
                    return True
                return keyword is not None and keyword.value == "out"
            case _:
                return False
        inner = parent
    return False


def is_written(value: Place, place: Place, syntax: Syntax) -> bool:
    """Whether a value that stands in the operation at a place is one that it writes to, or a part of its text.

    A value that is read as well as written, such as `x` in `torch.add(x, y, out=x)`, is one value.
    """
    node = syntax.value_at(value)
    text = None if node is None else syntax.code(node)
    return any(
        syntax.place(written).holds(value) or syntax.code(written) == text for written in written_at(place, syntax)
    )
