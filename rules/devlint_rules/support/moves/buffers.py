"""A plain attribute of a module as a buffer: the edits of its store, for the rules that report it there or at a use."""

from __future__ import annotations

import libcst as cst
from devlint.diagnostics import Edit, Place
from devlint.syntax import Syntax

from devlint_rules.support.class_usage import assigned, initialised_before, stored_once, stores_in

ADVICE = 'register `self.{name}` as a buffer, so that it moves with the module: `self.register_buffer("{name}", …)`'

_OF_TENSORS_ONLY = frozenset(
    "bool clone contiguous cpu cuda detach double expand float half int long permute to unsqueeze".split()
)
"""Methods of tensors that numpy's arrays do not have."""


def as_buffer(place: Place, syntax: Syntax) -> tuple[Edit, ...]:
    """Return the edits that make a store a call of `register_buffer`; nothing where that could raise."""
    target = syntax.at(place, cst.Attribute)
    cls = None if target is None else syntax.around(target, cst.ClassDef)
    if target is None or cls is None or not isinstance(target.value, cst.Name):
        return ()
    if not stored_once(syntax, cls, target.attr.value):
        target = _first_of_several(target, cls, syntax)
    return () if target is None else _registered(target, syntax)


def _first_of_several(target: cst.Attribute, cls: cst.ClassDef, syntax: Syntax) -> cst.Attribute | None:
    """The first store of an attribute that `__init__` then computes from itself; a buffer takes the other tensors."""
    stores = stores_in(syntax, cls, target.attr.value)
    function = syntax.around(target, cst.FunctionDef)
    first, *others = stores
    if function is None or any(syntax.around(store, cst.FunctionDef) is not function for store in stores):
        return None
    line = syntax.around(first, cst.SimpleStatementLine)
    if line is None or next(syntax.parents(line)) is not function.body:
        return None
    code = syntax.code(first)
    for other in others:
        match assigned(syntax, other):
            case cst.Call(func=cst.Attribute(value=value, attr=cst.Name(value=method))):
                if syntax.code(value) != code or method not in _OF_TENSORS_ONLY:
                    return None
            case _:
                return None
    return first


def _registered(target: cst.Attribute, syntax: Syntax) -> tuple[Edit, ...]:
    value = assigned(syntax, target)
    function = syntax.around(target, cst.FunctionDef)
    if value is None or function is None or not initialised_before(syntax, function, target):
        return ()
    parent = next(syntax.parents(target))
    declared = parent.annotation.annotation if isinstance(parent, cst.AnnAssign) else None
    begin = (
        syntax.before(target, "") if declared is None else syntax.behind(declared, f"\n{syntax.indentation(target)}")
    )
    end = syntax.place(value)
    until = Place(end.file, begin.place.line, begin.place.column, end.line, end.column)
    owner, name = syntax.code(target.value), target.attr.value
    return (
        Edit(until, f'{begin.text}{owner}.register_buffer("{name}", '),
        syntax.behind(value, ", persistent=False)"),
    )
