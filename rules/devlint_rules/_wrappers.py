"""Calls that wrap a module to run it on several devices: their arguments, and the move that comes before."""

from __future__ import annotations

import libcst as cst
from devlint.diagnostics import Fix, Safety
from devlint.syntax import Syntax

from devlint_rules._wording import quoted


def module_moved(wrapper: cst.Call, device: str, syntax: Syntax) -> Fix | None:
    """Return the fix that moves the module, the first argument, before it is wrapped."""
    first = wrapper.args[0] if wrapper.args else None
    if first is None or first.star or (first.keyword is not None and first.keyword.value != "module"):
        return None
    what = f"move the module before it is wrapped: {quoted(f'{syntax.code(first.value)}.to({device})')}"
    return Fix(Safety.UNSAFE, what, syntax.attribute(first.value, f".to({device})"))


def device_ids(call: cst.Call) -> cst.BaseExpression | None:
    """Return the argument `device_ids` of a wrapper, the second one."""
    for argument in call.args:
        if argument.keyword is not None and argument.keyword.value == "device_ids":
            return argument.value
    plain = [argument for argument in call.args if argument.keyword is None and not argument.star]
    return plain[1].value if len(plain) > 1 else None
