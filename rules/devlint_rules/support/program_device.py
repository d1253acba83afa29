"""The device that a program chooses: the names that hold it at a place, and whether something else decides there."""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst
from devlint.diagnostics import Place
from devlint.syntax import Syntax

from devlint_rules.support.moves.device_text import device_argument, is_addressable, root_of
from devlint_rules.support.scopes import Surroundings

_CHOICE = re.compile(
    r"(use|no|with|enable|disable|force|on)_?(cuda|gpu|cpu)s?|(cuda|gpu)_?(ids?|idx|index|num|number)s?|gpus?|n_?gpus?"
    r"|num_gpus|(.*_)?device(_ids?|s)?|local_rank",
    re.IGNORECASE,
)
"""The names of options by which users choose a device."""

_SETTINGS = re.compile(
    r"(self\.)?_?(args?|opts?|options?|configs?|cfg|conf|hparams|params|flags|settings)", re.IGNORECASE
)
_PLAIN_TYPES = frozenset(
    {"int", "float", "str", "bool", "Path", "Namespace", "argparse.Namespace", "dict", "DataLoader"}
)


def devices_in_reach(place: Place, syntax: Syntax, surroundings: Surroundings) -> list[str]:
    """Return the expressions that hold a device at a place: the file moves to them, or creates on them, elsewhere.

    A parameter called `device` is one of them. A name with several bindings may be another device there.
    """
    found: set[str] = set()
    around = syntax.class_at(place)
    for text, where in syntax.derive(_used_as_devices):
        if text in found:
            continue
        root = root_of(text)
        if root == "self":
            visible = around is not None and syntax.class_at(where) is around
        elif surroundings.together(where, place) and surroundings.binds(root, place):
            visible = surroundings.bindings(root, place) <= 1
        else:
            visible = surroundings.is_global(root) and surroundings.bindings(root) == 1
        if visible and surroundings.knows(text, place):
            found.add(text)
    return sorted(found)


def asks_for_device(text: str, syntax: Syntax) -> bool:
    """Whether a name is given a device that a test has chosen: `… if torch.cuda.is_available() else …`."""
    return any("is_available" in syntax.code(store.value) for store in syntax.stores(text))


def _used_as_devices(syntax: Syntax) -> list[tuple[str, Place]]:
    """The texts of devices that calls are given, and where; and parameters that are called `device`."""
    found = []
    for call in syntax.within(syntax.module, cst.Call):
        argument = device_argument(call)
        text = "" if argument is None else syntax.code(argument)
        if argument is not None and is_addressable(text) and not isinstance(argument, cst.Subscript):
            by_keyword = any(one.value is argument and one.keyword is not None for one in call.args)
            if by_keyword or re.search("device|cuda|gpu|dev$", text, re.IGNORECASE):
                found.append((text, syntax.place(argument)))
    for parameter in syntax.within(syntax.module, cst.Param):
        if parameter.name.value == "device":
            function = syntax.around(parameter, cst.FunctionDef)
            if function is not None and parameter.default is None:
                found.append(("device", syntax.place(function.body)))
    return found


def has_option(syntax: Syntax) -> bool:
    """Whether a file has, or reads, an option by which its users choose the device."""
    return syntax.derive(_has_option)


def _has_option(syntax: Syntax) -> bool:
    for call in syntax.within(syntax.module, cst.Call):
        if isinstance(call.func, cst.Attribute) and call.func.attr.value == "add_argument":
            names = [arg.value.evaluated_value for arg in call.args if isinstance(arg.value, cst.SimpleString)]
            plain = [name.lstrip("-").replace("-", "_") for name in names if isinstance(name, str)]
            if any(_CHOICE.fullmatch(name) or name in ("cpu", "cuda") for name in plain):
                return True
    for attribute in syntax.within(syntax.module, cst.Attribute):
        name = attribute.attr.value
        # The owner's text comes last: in a chain of calls it is as long as the chain.
        if (name in ("cpu", "cuda") or _CHOICE.fullmatch(name)) and _SETTINGS.fullmatch(syntax.code(attribute.value)):
            return True
    for text in syntax.within(syntax.module, cst.SimpleString):
        parent = next(syntax.parents(text))
        key = text.evaluated_value
        if isinstance(parent, cst.Index) and isinstance(key, str) and _CHOICE.fullmatch(key):
            return True
    return False


def operands_decide(node: cst.CSTNode, syntax: Syntax) -> bool:
    """Whether the functions around a node are given tensors or modules, beside which a value has to be."""
    functions = [parent for parent in syntax.parents(node) if isinstance(parent, cst.FunctionDef)]
    for function in functions:
        if any(_may_hold_device(parameter, syntax) for parameter in _parameters(function)):
            return True
    cls = syntax.around(node, cst.ClassDef)
    if cls is None or not functions:
        return False
    constructors = [one for one in _methods(cls) if one.name.value == "__init__"]
    if functions[-1].name.value != "__init__" and any(
        syntax.code(base.value).rpartition(".")[2].endswith("Module") for base in cls.bases
    ):
        return True
    return any(
        _may_hold_device(parameter, syntax) for constructor in constructors for parameter in _parameters(constructor)
    )


def _methods(cls: cst.ClassDef) -> Iterator[cst.FunctionDef]:
    return (statement for statement in cls.body.body if isinstance(statement, cst.FunctionDef))


def _parameters(function: cst.FunctionDef) -> list[cst.Param]:
    given = function.params
    return [*given.posonly_params, *given.params, *given.kwonly_params]


def _may_hold_device(parameter: cst.Param, syntax: Syntax) -> bool:
    if parameter.name.value in ("self", "cls"):
        return False
    if parameter.annotation is not None and syntax.code(parameter.annotation.annotation) in _PLAIN_TYPES:
        return False
    return not isinstance(parameter.default, (cst.Integer, cst.Float, cst.SimpleString)) and not (
        isinstance(parameter.default, cst.Name) and parameter.default.value in ("True", "False")
    )
