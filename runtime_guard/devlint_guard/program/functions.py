"""Functions of the user's, running or not, in which expressions stand: their source, and the values of their names."""

from __future__ import annotations

import ast
import contextlib
import importlib.util
import itertools
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import CodeType, FunctionType, ModuleType

from devlint_guard.finding import Place
from devlint_guard.program import frames
from devlint_guard.program.bindings import Binding, IsTarget, definition_of, own_nodes, reaching, targets_of
from devlint_guard.program.expressions import Reader
from devlint_guard.program.frames import Site, is_user_code, place_in_code, source_of, source_of_file, span_of
from devlint_guard.program.stored import UNKNOWN


@dataclass(frozen=True, slots=True)
class Scope:
    """A function, or the top of a file, that an expression stands in.

    Attributes:
        source: of its file.
        code: its code.
        names: its variables if it still runs, otherwise the known ones.
        more_names: the variables of its file, if they are known.
        site: the frame, where it still runs.
    """

    source: frames.Source
    code: CodeType
    names: Mapping[str, object] = field(default_factory=dict)
    more_names: Mapping[str, object] = field(default_factory=dict)
    site: Site | None = None

    @classmethod
    def at(cls, site: Site) -> Scope | None:
        """The scope of a frame, for a comprehension that of the function around it; None where it has no source."""
        source = source_of(site)
        if source is None:
            return None
        names, frame = site.frame.f_locals, site.frame
        while frame.f_code.co_name in _COMPREHENSIONS and frame.f_back is not None:
            outer = frame.f_back
            if outer.f_code.co_filename != frame.f_code.co_filename:
                break  # a generator expression that a function elsewhere goes through
            frame, names = outer, {**outer.f_locals, **names}
        site = site if frame is site.frame else Site(frame, frame.f_lasti, frame.f_lineno)
        return cls(source, frame.f_code, names, frame.f_globals, site)

    @classmethod
    def of(cls, function: FunctionType, owner: object = UNKNOWN) -> Scope | None:
        """The scope of a function of the user's that may not run any more; a method is one of `owner`."""
        code = function.__code__
        source = source_of_file(code.co_filename) if is_user_code(code, function.__module__) else None
        if source is None:
            return None
        known = {} if owner is UNKNOWN or not code.co_argcount else {code.co_varnames[0]: owner}
        return cls(source, code, known, function.__globals__)

    @property
    def reader(self) -> Reader:
        """What reads its expressions."""
        return Reader(self.source, self.names, self.more_names)

    @property
    def is_module(self) -> bool:
        """Whether it is the top of a file."""
        return self.code.co_name == "<module>"

    @property
    def parameters(self) -> tuple[str, ...]:
        """The names of the parameters, without those for the rest of the arguments."""
        return self.code.co_varnames[: self.code.co_argcount + self.code.co_kwonlyargcount]

    @property
    def definition(self) -> ast.AST:
        """The node of the function, or of the whole file. A comprehension has that of the function around it.

        It is a bare `pass` where the source has changed, or for a lambda.
        """
        if self.code.co_name in _COMPREHENSIONS:
            line = (self.code.co_firstlineno, 0)
            around = list(frames.nodes_around(self.source.tree, line, line))
            functions = [one for one in around if isinstance(one, (ast.FunctionDef, ast.AsyncFunctionDef))]
            return functions[-1] if functions else self.source.tree
        return self.source.tree if self.is_module else definition_of(self.source.tree, self.code) or ast.Pass()

    def place(self, node: ast.expr | ast.stmt) -> Place:
        """Where a node of it stands."""
        return place_in_code(self.code, node)

    def reaching(self, is_target: IsTarget, use: ast.AST | None) -> Sequence[Binding | None]:
        """The bindings that may be the last one when a node is reached, see `bindings.reaching`."""
        return reaching(self.definition, is_target, use)

    def is_settled(self, node: ast.expr) -> bool:
        """Whether the names in an expression have the values that they had when it was computed."""
        names = {one.id for one in ast.walk(node) if isinstance(one, ast.Name)}
        later = (one for one in own_nodes(self.definition) if span_of(one)[1][0] >= node.lineno)
        targets = [target for one in later if isinstance(one, ast.stmt) for target, _, _ in targets_of(one)]
        return not any(isinstance(target, ast.Name) and target.id in names for target in targets)


_COMPREHENSIONS = frozenset({"<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>"})


def argument_of(call: ast.Call, code: CodeType, name: str) -> ast.expr | None:
    """What a call shows for a parameter of the function with this code."""
    named = {one.arg: one.value for one in call.keywords}
    plain = itertools.takewhile(lambda one: not isinstance(one, ast.Starred), call.args)
    # The first parameter of a method is given by the object or the class.
    is_method = code.co_argcount > 0 and (code.co_varnames[0] in ("self", "cls") or code.co_name == "__init__")
    placed = dict(zip(code.co_varnames[is_method : code.co_argcount], plain, strict=False))
    return named.get(name, placed.get(name))


# --- the tops of files and the bodies of classes ---


def top_of(owner: Scope | ModuleType | None) -> Scope | None:
    """The top of the file that a function is in, or that a module was imported from."""
    if isinstance(owner, Scope):
        return Scope(owner.source, _code_of_file(owner.code.co_filename), owner.more_names, owner.more_names)
    file = getattr(owner, "__file__", None)
    if owner is None or not isinstance(file, str) or not is_user_code(code := _code_of_file(file), owner.__name__):
        return None
    source = source_of_file(file)
    return None if source is None else Scope(source, code, vars(owner), vars(owner))


def _code_of_file(file: str) -> CodeType:
    return compile("", file, "exec")


def imported(top: Scope, name: str) -> tuple[Scope, str] | None:
    """The top of the file that a variable is imported from, and its name there."""
    for node in ast.walk(top.source.tree):
        for one in node.names if isinstance(node, ast.ImportFrom) else ():
            if (one.asname or one.name) == name and isinstance(node, ast.ImportFrom):
                package, module = str(top.more_names.get("__package__") or ""), f"{'.' * node.level}{node.module or ''}"
                with contextlib.suppress(ImportError):  # the file does not know its package
                    there = top_of(sys.modules.get(importlib.util.resolve_name(module, package)))
                    return None if there is None else (there, one.name)
    return None


def class_scope(kind: type) -> tuple[Scope, ast.ClassDef] | None:
    """The body of a class of the user's, with the file that it is in."""
    top = top_of(sys.modules.get(kind.__module__))
    for node in ast.walk(top.source.tree) if top is not None else ():
        if isinstance(node, ast.ClassDef) and node.name == kind.__name__ and top is not None:
            return replace(top, names=dict(vars(kind))), node
    return None
