"""The device of a module by a parameter that it has under a name: modules have no attribute `device`."""

from __future__ import annotations

import ast
import re

import libcst as cst
from devlint.diagnostics import Place
from devlint.facts import Meeting
from devlint.syntax import Syntax

from devlint_rules.support.class_usage import derives_from_module, stored_once
from devlint_rules.support.moves.device_text import device_attribute, is_addressable, is_read, parsed
from devlint_rules.support.qualified_names import Named
from devlint_rules.support.scopes import Surroundings

PARAMETERS = {
    **dict.fromkeys("Linear Bilinear Conv1d Conv2d Conv3d Embedding EmbeddingBag PReLU".split(), ".weight"),
    **dict.fromkeys("ConvTranspose1d ConvTranspose2d ConvTranspose3d".split(), ".weight"),
    **dict.fromkeys("RNN LSTM GRU".split(), ".weight_ih_l0"),
    **dict.fromkeys("RNNCell LSTMCell GRUCell".split(), ".weight_ih"),
    "MultiheadAttention": ".out_proj.weight",
}
"""A parameter that every layer of a class of `torch.nn` has."""

_MODULE = re.compile(r"torch\.nn\.(?:modules\.\w+\.)?(?!Parameter|Buffer|UninitializedParameter)([A-Z]\w*)")

_ITSELF = frozenset("to cuda cpu eval train half float double bfloat16 requires_grad_ apply".split())
"""Methods of modules that return the module."""


def device_of(text: str, side: Meeting, at: Place, syntax: Syntax, surroundings: Surroundings) -> str | None:
    """Return source text for the device of a name or attribute; None where it may be a module without known parts.

    Args:
        text: it, at the place `at`.
        side: the value whose device is that of `text`.
        at, syntax, surroundings: the place and its file.
    """
    if _made(text, at, syntax, surroundings) is not None or _is_module_by_use(text, side, syntax):
        return module_device(text, at, syntax, surroundings)
    return device_attribute(text)


def module_device(text: str, at: Place, syntax: Syntax, surroundings: Surroundings) -> str | None:
    """Return source text for the device of a module: `net.fc.weight.device`; None if no parameter has a known name."""
    made, cls = _made(text, at, syntax, surroundings), syntax.class_at(at) if text == "self" else None
    if made is None and cls is None:
        return f"{text}.device" if is_read(f"{text}.device", syntax) else None
    found = _of_class(cls, syntax) if cls is not None else None if made is None else _of_call(made, syntax)
    return None if found is None else f"{text}{found.removesuffix('.device')}.device"


def input_device(call: str, at: Place, syntax: Syntax, surroundings: Surroundings) -> str | None:
    """Return source text for the device of what a layer is called with: `x.device` of `self.fc(x)`, or None."""
    match parsed(call):
        case ast.Call(func=function, args=[ast.Name(id=name), *_]):
            made = _made(ast.unparse(function), at, syntax, surroundings)
            is_layer = made is not None and _parameter_of_layer(made, syntax) is not None
            return f"{name}.device" if is_layer and surroundings.knows(name, at) else None
    return None


def _made(text: str, at: Place, syntax: Syntax, surroundings: Surroundings) -> cst.Call | None:
    """The call that creates the module which a name or attribute always holds."""
    if not is_addressable(text) or "[" in text:
        return None
    owner, dot, name = text.rpartition(".")
    if dot:
        made = None if owner == "self" else _made(owner, at, syntax, surroundings)
        cls = syntax.class_at(at) if owner == "self" else None if made is None else _class_of(made, syntax)
        stores = [] if cls is None else _stores_in(cls, name, syntax)
    else:
        is_local = surroundings.binds(name, at)
        stores = syntax.stores(name)
        if is_local:
            stores = [one for one in stores if surroundings.together(syntax.place(one.value), at)]
        if len(stores) != surroundings.bindings(name, at if is_local else None):
            return None
        stores = [one for one in stores if not _is_itself(one.value, name)]
    value = stores[0].value if len(stores) == 1 and len(stores[0].targets) == 1 else None
    call = None if value is None else _itself(value)
    return call if call is not None and _is_module(call, syntax) else None


def _itself(value: cst.BaseExpression) -> cst.Call | None:
    """The call that creates a module, without those that return it: `Net()` of `Net().to(device)`."""
    match value:
        case cst.Call(func=cst.Attribute(value=cst.Call() as inner, attr=cst.Name(value=method))) if method in _ITSELF:
            return _itself(inner)
        case cst.Call():
            return value
    return None


def _is_itself(value: cst.BaseExpression, name: str) -> bool:
    match value:
        case cst.Call(func=cst.Attribute(value=cst.Name(value=own), attr=cst.Name(value=method))):
            return own == name and method in _ITSELF
    return False


def _stores_in(cls: cst.ClassDef, name: str, syntax: Syntax) -> list[cst.Assign]:
    """The only assignment to an attribute in a class and its bases of the file; nothing if there are others."""
    found: list[cst.Assign] = []
    for one in _with_bases(cls, syntax):
        stores = [store for store in syntax.stores(f"self.{name}") if syntax.around(store, cst.ClassDef) is one]
        if stores and not stored_once(syntax, one, name):
            return []
        found += stores
    return found


def _with_bases(cls: cst.ClassDef, syntax: Syntax) -> list[cst.ClassDef]:
    names = [base.value.value for base in cls.bases if isinstance(base.value, cst.Name)]
    bases = [one for one in syntax.within(syntax.module, cst.ClassDef) if one.name.value in names and one is not cls]
    return [
        cls,
        *(deeper for one in bases if syntax.place(one) < syntax.place(cls) for deeper in _with_bases(one, syntax)),
    ]


def _is_module(call: cst.Call, syntax: Syntax) -> bool:
    return _MODULE.match(syntax.derive(Named).meaning(call.func)) is not None or _class_of(call, syntax) is not None


def _is_module_by_use(text: str, side: Meeting, syntax: Syntax) -> bool:
    """Whether the file calls what has a name, or the trace of a value begins with a part of a module that is no tensor.

    A part is a tensor where a function of torch has created it, or the class registers it.
    """
    if any(syntax.code(call.func) == text for call in syntax.within(syntax.module, cst.Call)):
        return True
    parts = [step for step in side.trace if step.what.startswith(f"`{text}` is part of the module")]
    calls = [syntax.at(step.place, cst.Call) for step in parts]
    named = syntax.derive(Named)
    made = [named.meaning(call.func) for call in calls if call is not None]
    is_tensor = any(one.startswith("torch.") and not _MODULE.match(one) for one in made)
    return bool(parts) and not is_tensor and not _is_registered(text.rpartition(".")[2], syntax)


def _is_registered(name: str, syntax: Syntax) -> bool:
    """Whether the file registers a buffer or parameter of that name."""
    return any(
        isinstance(call.func, cst.Attribute)
        and call.func.attr.value in ("register_buffer", "register_parameter")
        and isinstance(call.args[0].value, cst.SimpleString)
        and call.args[0].value.evaluated_value == name
        for call in syntax.within(syntax.module, cst.Call)
        if call.args
    ) or any(
        isinstance(store.value, cst.Call)
        and syntax.derive(Named).meaning(store.value.func) in ("torch.nn.Parameter", "torch.nn.Buffer")
        for store in syntax.stores(f"self.{name}")
    )


def _class_of(call: cst.Call, syntax: Syntax) -> cst.ClassDef | None:
    """The class of modules in the file that a call makes an object of."""
    name = call.func.value if isinstance(call.func, cst.Name) else ""
    found = [cls for cls in syntax.within(syntax.module, cst.ClassDef) if cls.name.value == name]
    is_module = len(found) == 1 and any(derives_from_module(syntax, one) for one in _with_bases(found[0], syntax))
    return found[0] if is_module else None


def _parameter_of_layer(call: cst.Call, syntax: Syntax) -> str | None:
    found = _MODULE.fullmatch(syntax.derive(Named).meaning(call.func))
    return None if found is None else PARAMETERS.get(found[1])


def _of_call(call: cst.Call, syntax: Syntax) -> str | None:
    """What leads from the module that a call creates to a parameter of it: `.weight`, `[0].weight`, `.fc.weight`."""
    found = _parameter_of_layer(call, syntax)
    if found is not None:
        return found
    cls = _class_of(call, syntax)
    if cls is not None:
        return _of_class(cls, syntax)
    if syntax.derive(Named).meaning(call.func) != "torch.nn.Sequential" or any(
        one.star or one.keyword is not None for one in call.args
    ):
        return None
    parts = [_of_call(one.value, syntax) if isinstance(one.value, cst.Call) else None for one in call.args]
    return next((f"[{number}]{part}" for number, part in enumerate(parts) if part is not None), None)


def _of_class(cls: cst.ClassDef, syntax: Syntax) -> str | None:
    """The first part with a parameter that `__init__` gives every object of a class, or `.device` if it defines one."""
    methods = [one for base in _with_bases(cls, syntax) for one in base.body.body if isinstance(one, cst.FunctionDef)]
    if any(one.name.value == "device" for one in methods):
        return ".device"
    for line in (line for one in methods if one.name.value == "__init__" for line in one.body.body):
        match line:
            case cst.SimpleStatementLine(
                body=[
                    cst.Assign(
                        targets=[cst.AssignTarget(target=cst.Attribute(value=cst.Name(value="self"), attr=name))],
                        value=cst.Call() as value,
                    )
                ]
            ) if len(_stores_in(cls, name.value, syntax)) == 1:
                is_parameter = syntax.derive(Named).meaning(value.func) == "torch.nn.Parameter"
                call = None if is_parameter else _itself(value)
                found = "" if is_parameter else None if call is None else _of_call(call, syntax)
                if found is not None:
                    return f".{name.value}{found}"
    return None
