"""What modules register and objects keep, as it is while something records.

Stores in attributes, elements and lists of any object are seen in files that are read while stores are followed: each
of them is compiled with a call around the stored value, at the same place in the source.

    self.state[p]["rate"] = rate.float()      self.state[p]["rate"] = __devlint_kept__(rate.float())
"""

from __future__ import annotations

import ast
import builtins
import functools
import itertools
import sys
from collections.abc import Callable
from importlib.machinery import SourceFileLoader
from types import CodeType
from typing import Any

from torch import Tensor, nn

from devlint_guard.program.frames import is_installed
from devlint_guard.program.replacements import Replacements
from devlint_guard.record.recorder import RECORD

_KEPT = "__devlint_kept__"


def install(replaced: Replacements) -> None:
    """Replaces what registers tensors and modules."""
    replaced.put(nn.Module, "__setattr__", _storing(nn.Module.__setattr__))
    for name in ("register_buffer", "register_parameter", "add_module"):
        replaced.put(nn.Module, name, _storing(getattr(nn.Module, name)))


def _storing(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def store(self: nn.Module, name: str, *args: Any, **kwargs: Any) -> Any:
        result = original(self, name, *args, **kwargs)
        if RECORD.is_on:
            value = args[0] if args else next(iter(kwargs.values()), None)
            if isinstance(value, (Tensor, nn.Module)):
                RECORD.stored(self, name, value)
        return result

    return store


def follow(replaced: Replacements) -> None:
    """Lets the user's files that are read from now on tell what they store."""
    setattr(builtins, _KEPT, _kept)  # for good: what was compiled so may run on
    replaced.around(SourceFileLoader, "get_code", _code_of)


def _code_of(get_code: Callable[..., Any], self: SourceFileLoader, fullname: str) -> CodeType | None:
    if type(self).get_code is not SourceFileLoader.get_code or is_installed(self.path):
        return get_code(self, fullname)  # type: ignore[no-any-return]
    return compiled(self.get_data(self.path), self.path)


def compiled(data: bytes, path: str) -> CodeType:
    """The code of a file; with calls around the stored values, while stores are followed.

    Raises:
        SyntaxError, ValueError: the text is no Python.
    """
    if hasattr(builtins, _KEPT) and RECORD.is_on:
        try:
            return compile(_Stores().visit(ast.parse(data, path)), path, "exec", dont_inherit=True)
        except (SyntaxError, ValueError, RecursionError):
            pass
    return compile(data, path, "exec", dont_inherit=True)


def _kept(value: Any) -> Any:
    if RECORD.is_on and not RECORD.is_loop(sys._getframe(1)):
        if isinstance(value, Tensor):
            RECORD.kept([value])
        elif value is None:
            frame = sys._getframe(1)
            RECORD.nones.add((frame.f_code, frame.f_lasti))
        elif value.__class__ in (list, tuple, dict):
            parts = value.values() if value.__class__ is dict else value
            RECORD.kept([one for one in itertools.islice(parts, _MOST) if isinstance(one, Tensor)])
    return value


_MOST = 64
"""So many elements of a container are looked at."""


class _Stores(ast.NodeTransformer):
    """Puts a call around each value that an attribute, an element or a list is given."""

    def visit_Assign(self, node: ast.Assign) -> ast.AST:
        self.generic_visit(node)
        if any(isinstance(one, (ast.Attribute, ast.Subscript)) for one in node.targets):
            node.value = _around(node.value)
        return node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        match node:
            case ast.Call(func=ast.Attribute(attr="append" | "appendleft" | "add"), args=[given], keywords=[]):
                node.args = [_around(given)]
            case ast.Call(func=ast.Attribute(attr="setdefault"), args=[key, given], keywords=[]):
                node.args = [key, _around(given)]
        return node


def _around(value: ast.expr) -> ast.expr:
    if isinstance(value, (ast.Constant, ast.Lambda, ast.JoinedStr, ast.Starred)):
        return value
    name = ast.copy_location(ast.Name(_KEPT, ast.Load()), value)
    return ast.copy_location(ast.Call(name, [value], []), value)
