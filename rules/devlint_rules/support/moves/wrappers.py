"""Calls that wrap a module to run it on several devices: their arguments, and the move that comes before."""

from __future__ import annotations

import libcst as cst
from devlint.diagnostics import Fix, Safety
from devlint.syntax import Syntax

from devlint_rules.support.messages import quoted
from devlint_rules.support.moves.bindings import binding_before, branch_around, is_read_behind
from devlint_rules.support.moves.device_text import ends_in_move, is_addressable
from devlint_rules.support.program_device import devices_in_reach
from devlint_rules.support.scopes import Surroundings


def module_moved(wrapper: cst.Call, device: str, syntax: Syntax, surroundings: Surroundings) -> Fix | None:
    """Return the fix that moves the module, the first argument, before it is wrapped.

    It moves where it is made if the program has one device there: it may also be used without the wrapper. There is
    no fix if it is only wrapped in a branch, and used behind that.
    """
    first = wrapper.args[0] if wrapper.args else None
    if first is None or first.star or (first.keyword is not None and first.keyword.value != "module"):
        return None
    module = first.value
    binding = binding_before(module.value, wrapper, syntax, surroundings) if isinstance(module, cst.Name) else None
    made = None if binding is None else binding.value
    reach = [] if made is None else devices_in_reach(syntax.place(made), syntax, surroundings)
    if isinstance(made, cst.Call) and len(reach) == 1 and not ends_in_move(made):
        move = f".to({reach[0]})"
        line, code = syntax.place(made).line, quoted(syntax.code(made))
        named = f": {quoted(reach[0])} is the program's device" if is_addressable(reach[0]) else ""
        return Fix(Safety.UNSAFE, f"on line {line}, add {quoted(move)} to {code}{named}", syntax.attribute(made, move))
    branch = branch_around(wrapper, binding, syntax)
    if branch is not None and not (
        isinstance(module, cst.Name) and not is_read_behind(module.value, branch, syntax, surroundings)
    ):
        return None
    if ends_in_move(module):
        return None
    what = f"move the module before it is wrapped: {quoted(f'{syntax.code(module)}.to({device})')}"
    return Fix(Safety.UNSAFE, what, syntax.attribute(module, f".to({device})"))


def device_ids(call: cst.Call) -> cst.BaseExpression | None:
    """Return the argument `device_ids` of a wrapper, the second one."""
    for argument in call.args:
        if argument.keyword is not None and argument.keyword.value == "device_ids":
            return argument.value
    plain = [argument for argument in call.args if argument.keyword is None and not argument.star]
    return plain[1].value if len(plain) > 1 else None
