"""What the text of a class does with an attribute of its objects: for fixes that change how it is kept."""

from __future__ import annotations

import libcst as cst
from devlint.syntax import Syntax

MODULE_ATTRIBUTES = frozenset(
    """
    add_module apply bfloat16 buffers call_super_init children clear compile cpu cuda double dump_patches eval
    extra_repr float forward get_buffer get_extra_state get_parameter get_submodule half ipu items keys
    load_state_dict modules mtia named_buffers named_children named_modules named_parameters parameters pop
    register_backward_hook register_buffer register_forward_hook register_forward_pre_hook
    register_full_backward_hook register_full_backward_pre_hook register_load_state_dict_post_hook
    register_load_state_dict_pre_hook register_module register_parameter register_state_dict_post_hook
    register_state_dict_pre_hook requires_grad_ set_extra_state set_submodule share_memory state_dict to to_empty
    train training type update values xpu zero_grad
    """.split()
)
"""Names that a module has, which `ModuleDict` refuses as keys. Source: `dir(torch.nn.ModuleDict())`, torch 2.13."""


def assigned(syntax: Syntax, target: cst.BaseExpression) -> cst.BaseExpression | None:
    """The value that a statement gives to this one target; None for any other use of the target."""
    parents = syntax.parents(target)
    parent = next(parents)
    if isinstance(parent, cst.AnnAssign):
        return parent.value if parent.target is target else None
    assignment = next(parents, None)
    if isinstance(parent, cst.AssignTarget) and isinstance(assignment, cst.Assign) and len(assignment.targets) == 1:
        return assignment.value
    return None


def stored_once(syntax: Syntax, cls: cst.ClassDef, name: str) -> bool:
    """Whether the text of a class gives the attribute a value in one place, and names it nowhere else as text."""
    stores = 0
    for attribute in _attributes(syntax, cls, name):
        stores += _stores(syntax, attribute)
    for statement in cls.body.body:
        parts = statement.body if isinstance(statement, cst.SimpleStatementLine) else ()
        for part in parts:
            if isinstance(part, cst.Assign):
                stores += any(_is_name(target.target, name) for target in part.targets)
            elif isinstance(part, cst.AnnAssign) and part.value is not None:
                stores += _is_name(part.target, name)
        if isinstance(statement, (cst.FunctionDef, cst.ClassDef)):
            stores += statement.name.value == name
    named = any(string.evaluated_value == name for string in syntax.within(cls, cst.SimpleString))
    return stores == 1 and not named


def initialised_before(syntax: Syntax, function: cst.FunctionDef, node: cst.CSTNode) -> bool:
    """Whether the function has called the `__init__` of a base class before it comes to a node."""
    return any(
        isinstance(call.func, cst.Attribute)
        and call.func.attr.value == "__init__"
        and syntax.place(call) < syntax.before(node, "").place
        for call in syntax.within(function, cst.Call)
    )


def derives_from_module(syntax: Syntax, cls: cst.ClassDef) -> bool:
    """Whether `nn.Module`, or the one of Lightning, is the only base of a class."""
    bases = [syntax.code(base.value) for base in cls.bases]
    return len(bases) == 1 and (
        bases[0] in ("nn.Module", "torch.nn.Module", "Module") or bases[0].endswith("LightningModule")
    )


def stores_in(syntax: Syntax, cls: cst.ClassDef, name: str) -> list[cst.Attribute]:
    """Return the places of a class where an attribute gets a value, in order."""
    stores = [attribute for attribute in _attributes(syntax, cls, name) if _stores(syntax, attribute)]
    return sorted(stores, key=syntax.place)


def literal_keys(value: cst.BaseExpression) -> tuple[str, ...] | None:
    """The keys of a display, none for a list; None where they are not all text as it is written."""
    if isinstance(value, (cst.List, cst.Tuple, cst.ListComp)):
        return ()
    if not isinstance(value, cst.Dict):
        return None
    keys = [element.key for element in value.elements if isinstance(element, cst.DictElement)]
    texts = [key.evaluated_value for key in keys if isinstance(key, cst.SimpleString)]
    if len(texts) != len(value.elements):
        return None
    return tuple(text for text in texts if isinstance(text, str))


def _attributes(syntax: Syntax, cls: cst.ClassDef, name: str) -> list[cst.Attribute]:
    return [attribute for attribute in syntax.within(cls, cst.Attribute) if attribute.attr.value == name]


def _stores(syntax: Syntax, attribute: cst.Attribute) -> bool:
    """Whether a value is stored in an attribute itself, or it is deleted."""
    return syntax.is_target(attribute) and not isinstance(
        next(syntax.parents(attribute)), (cst.Subscript, cst.Attribute)
    )


def _is_name(node: cst.CSTNode, name: str) -> bool:
    return isinstance(node, cst.Name) and node.value == name
