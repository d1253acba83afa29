"""Where the values of one function come from and what becomes of them: no more than its text says.

What becomes of a value is told by its uses: those in which PyTorch compares no devices are listed here, and in
every other one the value may meet another. `test_flow.py` has PyTorch say so of each kind.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple, TypeAlias

FACTORIES = frozenset(
    """
    arange as_tensor asarray empty empty_like eye from_numpy full full_like linspace logspace normal ones ones_like rand
    rand_like randint randint_like randn randn_like randperm scalar_tensor tensor tril_indices triu_indices zeros
    zeros_like
    """.split()
)
"""Functions of torch that make a tensor and take a `device`."""

ALONE = frozenset(
    """
    abs all any bfloat16 bool byte ceil clone contiguous cos cpu cumsum detach diag diag_embed diagonal double exp
    expand exponential_ flatten flip float floor half int log long mean neg nonzero norm normal_ permute prod random_
    relu repeat reshape roll round rsqrt short sigmoid sign sin softmax sqrt squeeze squeeze_ std sum t tan tanh to
    to_dense transpose tril triu unflatten uniform_ unique unsqueeze unsqueeze_ var view zero_
    """.split()
)
"""Methods, and functions of torch, that take one tensor and numbers: their result is where the tensor is.

`to` may move it as well, and then it is not where it was forgotten.
"""

_ASKS = frozenset(
    """
    dim element_size get_device is_complex is_contiguous is_floating_point item ndimension nelement numel size storage
    storage_offset stride tolist
    """.split()
)
"""Methods that say something of a tensor, or give its numbers to Python."""

_WITH_NUMBERS = frozenset({"add", "clamp", "clamp_", "clip", "div", "fill_", "mul", "mul_", "pow", "sub"})
"""Methods that may take another tensor; given numbers alone, they take none."""

_ASKED = frozenset({"shape", "ndim", "dtype", "device", "is_cuda", "requires_grad", "layout"})
_VIEWS = frozenset({"T", "mT", "H", "mH", "data", "real", "imag"})
_PYTHON = frozenset({"len", "isinstance", "id", "type", "repr", "print", "int", "float", "bool"})
"""Functions of Python that compare no devices."""

_NUMBERS = frozenset({"int", "float", "bool"})

Function: TypeAlias = "ast.FunctionDef | ast.AsyncFunctionDef"


class _Store(NamedTuple):
    """A name is given a value: by `place`, a statement or `:=`."""

    place: ast.stmt | ast.NamedExpr
    value: ast.expr


class Flow:
    """Where the values of one function come from and go, by the names it gives them."""

    def __init__(self, function: Function) -> None:
        self._function = function
        self._parents = {child: node for node in ast.walk(function) for child in ast.iter_child_nodes(node)}
        self._indices: dict[ast.AST, tuple[ast.AST, str, int]] = {}
        self._loads: dict[str, list[ast.Name]] = {}
        self._stored: dict[str, list[_Store]] = {}
        self._lists = _collecting(function)
        for node in ast.walk(function):
            for name, field in ast.iter_fields(node):
                if isinstance(field, list):
                    self._indices.update((item, (node, name, i)) for i, item in enumerate(field) if _is_statement(item))
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
                self._loads.setdefault(node.id, []).append(node)
            if isinstance(node, (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.NamedExpr)) and node.value is not None:
                for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                    for name, value in _bound(target, node.value):
                        self._stored.setdefault(name, []).append(_Store(node, value))

    def why_not_of_factory(self, call: ast.Call) -> str:
        """Why the function may not show that a tensor is made on the CPU; empty if nothing says so."""
        keeps = _is_like(call) or (_takes_over(call) and self._is_given_tensor(call.args[0]))
        if keeps and not self._is_made(call.args[0], frozenset()):
            return ", like one from elsewhere"
        return self._why_not(call) or (", of a number" if self._is_of_number(call) else "")

    def why_not_of_move(self, call: ast.Call) -> str:
        """Why it may not show that something is not moved: it has neither made it nor brought it to the CPU."""
        assert isinstance(call.func, ast.Attribute)
        if not self._is_made(call.func.value, frozenset()):
            return ", from elsewhere"
        made = call.func.value
        number = isinstance(made, ast.Call) and is_factory(made.func) and self._is_of_number(made)
        return self._why_not(call) or (", of a number" if number else "")

    def _why_not(self, call: ast.Call) -> str:
        becomes = set(self._becomes(call, frozenset()))
        if "met" in becomes:
            return ""
        return ", an index" if "an index" in becomes else ", handed on"

    # --- where from -----------------------------------------------------------------------------------------

    def _is_made(self, value: ast.expr, seen: frozenset[ast.AST]) -> bool:
        for node in ast.walk(value):
            made = isinstance(node, ast.Call) and _makes_on_cpu(node) and not _is_like(node)
            if made or (isinstance(node, ast.Call) and _brings_to_cpu(node.func)):
                return True
            if isinstance(node, ast.Name):
                for store in self._stored.get(node.id, ()):
                    new = store.place not in seen and self._reaches(node.id, store, node)
                    if new and self._is_made(store.value, seen | {store.place}):
                        return True
        return False

    def _is_of_number(self, call: ast.Call) -> bool:
        """Whether a factory makes a tensor without dimensions: of a number as its data, or of `()` as its shape."""
        if not isinstance(call.func, ast.Attribute) or call.func.attr == "scalar_tensor":
            return True
        match call.args[:1]:
            case [ast.Tuple(elts=[])]:
                return True
            case [data]:
                return call.func.attr in ("tensor", "as_tensor", "asarray") and self._is_number(data)
            case _:
                return False

    def _is_number(self, value: ast.expr) -> bool:
        """Whether a value is certainly a Python number."""
        match value:
            case ast.Constant(value=int() | float()):
                return True
            case ast.UnaryOp(operand=operand):
                return self._is_number(operand)
            case ast.BinOp(left=left, right=right):
                return self._is_number(left) and self._is_number(right)
            case ast.Call(func=ast.Name(id="float" | "int" | "bool" | "len")):
                return True
            case ast.Call(func=ast.Attribute(attr="item" | "numel" | "dim"), args=[]):
                return True
            case ast.Call(func=ast.Attribute(attr="size"), args=[_]) | ast.Subscript(value=ast.Attribute(attr="shape")):
                return isinstance(value, ast.Call) or self._is_part_number(value.slice)
            case ast.Attribute(value=ast.Name(), attr="eps" | "tiny" | "min" | "max"):
                return True  # of what `torch.finfo` gives
            case ast.Attribute(value=ast.Name(id="math")) | ast.Call(func=ast.Attribute(value=ast.Name(id="math"))):
                return True
            case ast.Name(id=name):
                stores = [one for one in self._stored.get(name, ()) if self._reaches(name, one, value)]
                if stores:
                    return all(_end(one.place) < _start(value) and self._is_number(one.value) for one in stores)
                return self._is_declared_number(name) or any(_counts(node, name) for node in self._around(value))
            case _:
                return False

    def _is_part_number(self, key: ast.expr) -> bool:
        """Whether what stands in the brackets behind a shape selects one of its numbers."""
        return not isinstance(key, ast.Slice) and self._is_number(key)

    def _is_declared_number(self, name: str) -> bool:
        arguments = self._function.args
        positional = [*arguments.posonlyargs, *arguments.args]
        defaults = dict(zip([one.arg for one in reversed(positional)], reversed(arguments.defaults), strict=False))
        named = zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
        defaults |= {one.arg: default for one, default in named if default is not None}
        declared = self._declared(name)
        return declared in _NUMBERS or (not declared and name in defaults and self._is_number(defaults[name]))

    def _is_given_tensor(self, value: ast.expr) -> bool:
        """Whether a value is a parameter that is declared to be a tensor."""
        declared = self._declared(value.id) if isinstance(value, ast.Name) else ""
        inner = declared.removeprefix("Optional[").removesuffix("]").removesuffix(" | None")
        return inner.removeprefix("torch.") == "Tensor"

    def _declared(self, name: str) -> str:
        """The annotation of a parameter as it is written, empty if there is none."""
        arguments = self._function.args
        for argument in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs):
            if argument.arg == name and argument.annotation is not None:
                return ast.unparse(argument.annotation)
        return ""

    # --- where to -------------------------------------------------------------------------------------------

    def _becomes(self, value: ast.AST, seen: frozenset[ast.AST]) -> Iterator[str]:
        """The ends of a value: "handed on", by `return` or in an object, "an index" of others, or else "met".

        What only asks for a shape is no end.
        """
        parent = self._parents.get(value)
        match parent:
            case ast.Return() | ast.Yield():
                yield "handed on"
            case ast.Expr():
                pass
            case ast.Subscript(slice=chosen) if chosen is value:
                yield "an index"
            case ast.Tuple() if self._is_key(parent):
                yield "an index"
            case ast.Tuple(ctx=ast.Load()) | ast.List(ctx=ast.Load()) | ast.Dict() | ast.IfExp() if (
                not isinstance(parent, ast.IfExp) or parent.test is not value
            ):
                yield from self._becomes(parent, seen)
            case ast.ListComp(elt=each) | ast.SetComp(elt=each) | ast.DictComp(value=each) if each is value:
                yield from self._becomes(parent, seen)
            case ast.Assign() | ast.AnnAssign() | ast.NamedExpr():
                yield from self._becomes_stored(parent, value, seen)
            case ast.Attribute(attr=name):
                yield from self._becomes_of_attribute(parent, name, seen)
            case ast.Subscript(ctx=ast.Load()) if self._is_part(parent.slice) or self._is_same(value, parent.slice):
                yield from self._becomes(parent, seen)
            case ast.Subscript(ctx=ast.Store()):
                pass
            case ast.UnaryOp():
                yield from self._becomes(parent, seen)
            case ast.Compare(ops=[ast.Is() | ast.IsNot()]):
                pass
            case ast.BinOp(left=left, right=right) | ast.Compare(left=left, comparators=[right]):
                other = right if left is value else left
                alone = self._is_number(other) or self._is_same(value, other)
                yield from self._becomes(parent, seen) if alone else ("met",)
            case ast.Call():
                yield from self._becomes_of_argument(parent, value, seen)
            case ast.keyword() if isinstance(call := self._parents.get(parent), ast.Call):
                yield "handed on" if _keeps(call) else "met"
            case _:
                yield "met"

    def _becomes_stored(
        self, store: ast.Assign | ast.AnnAssign | ast.NamedExpr, value: ast.AST, seen: frozenset[ast.AST]
    ) -> Iterator[str]:
        if store in seen:
            return
        seen |= {store}
        for target in store.targets if isinstance(store, ast.Assign) else [store.target]:
            match target:
                case ast.Attribute():
                    yield "handed on"
                    for load in self._read_later(target):
                        yield from self._becomes(load, seen)
                case ast.Subscript(slice=key):
                    yield "met" if _is_mask(key) else "handed on"
                case ast.Name(id=name) if name in self._lists and isinstance(value, ast.List):
                    yield from self._becomes_collected(name, value, seen)
                case ast.Name(id=name):
                    yield from self._becomes_loaded(name, store, seen)
                case ast.Tuple() if isinstance(value, ast.Tuple):
                    for name, _ in _bound(target, value):
                        yield from self._becomes_loaded(name, store, seen)
                case _:
                    yield "met"
        if isinstance(store, ast.NamedExpr):
            yield from self._becomes(store, seen)

    def _becomes_loaded(
        self, name: str, store: ast.Assign | ast.AnnAssign | ast.NamedExpr, seen: frozenset[ast.AST]
    ) -> Iterator[str]:
        assert store.value is not None
        for load in self._loads.get(name, ()):
            if self._reaches(name, _Store(store, store.value), load):
                yield from self._becomes(load, seen)

    def _becomes_of_attribute(self, attribute: ast.expr, name: str, seen: frozenset[ast.AST]) -> Iterator[str]:
        call = self._parents.get(attribute)
        if isinstance(call, ast.Call) and call.func is attribute:
            if _places(call, name):
                return
            numbers = name in _WITH_NUMBERS and all(map(self._is_number, _given(call)))
            if numbers or (name in ALONE and all(map(self._is_no_tensor, _given(call)))):
                yield from self._becomes(call, seen)
            elif name not in _ASKS:
                yield "met"
        elif name in _VIEWS:
            yield from self._becomes(attribute, seen)
        elif name not in _ASKED:
            yield "met"

    def _becomes_of_argument(self, call: ast.Call, value: ast.AST, seen: frozenset[ast.AST]) -> Iterator[str]:
        others = [argument for argument in _given(call) if argument is not value]
        match call.func:
            case ast.Name(id=name) if name in _PYTHON:
                return
            case ast.Attribute(attr="copy_") if call.args[:1] == [value]:
                yield "handed on"  # from any device
            case ast.Attribute(value=ast.Name(id=name), attr="append") if name in self._lists:
                yield from self._becomes_collected(name, call, seen)
            case _ if _keeps(call):
                yield "handed on"
            case _ if isinstance(value, ast.List) and _puts_together(call, value) and self._is_same(value, value):
                yield from self._becomes(call, seen)
            case ast.Attribute(value=ast.Name(id="torch"), attr=name) if name in ALONE or name.endswith("_like"):
                alone = all(self._is_no_tensor(other) for other in others) and call.args[:1] == [value]
                yield from self._becomes(call, seen) if alone else ("met",)
            case ast.Attribute(attr="Parameter") | ast.Name(id="Parameter"):
                yield from self._becomes(call, seen)
            case _:
                yield "met"

    def _becomes_collected(self, name: str, put: ast.AST, seen: frozenset[ast.AST]) -> Iterator[str]:
        """What becomes of what a list is given that begins empty: the same as of the list.

        What puts its elements together has them meet, unless they all come from one place.
        """
        if put in seen:
            return
        seen |= {put}
        alone = self._lists[name]
        for load in self._loads.get(name, ()):
            parent = self._parents.get(load)
            match parent:
                case ast.Attribute(attr="append"):
                    pass
                case ast.Call() if alone and _puts_together(parent, load):
                    yield from self._becomes(parent, seen)
                case ast.Subscript(slice=key) if not self._is_part(key):
                    yield "met"
                case _:
                    yield from self._becomes(load, seen)

    def _read_later(self, stored: ast.Attribute) -> Iterator[ast.Attribute]:
        """Where the function reads, behind its assignment, an attribute that it has assigned."""
        for node in ast.walk(self._function):
            match node:
                case ast.Attribute(attr=stored.attr, ctx=ast.Load()) if _start(node) > _start(stored):
                    if ast.unparse(node) == ast.unparse(stored):
                        yield node

    def _is_key(self, parts: ast.Tuple) -> bool:
        """Whether a tuple is what stands in the brackets of a subscript."""
        around = self._parents.get(parts)
        return isinstance(around, ast.Subscript) and around.slice is parts

    def _is_no_tensor(self, argument: ast.expr) -> bool:
        """Whether an argument of what takes one tensor alone is none, as far as it could be one: no `out=`."""
        parent = self._parents.get(argument)
        return not (isinstance(parent, ast.keyword) and parent.arg in ("out", None))

    def _is_part(self, key: ast.expr) -> bool:
        """Whether a subscript selects a part by numbers and slices, and by no tensor."""
        parts = key.elts if isinstance(key, ast.Tuple) else [key]
        return all(isinstance(part, (ast.Slice, ast.Constant)) or self._is_number(part) for part in parts)

    def _is_same(self, value: ast.AST, other: ast.expr) -> bool:
        """Whether the other operand is made of the same variable, and of nothing else but numbers."""
        found = self._made_of(value) | self._made_of(other)
        return len(found) == 1 and "" not in found

    def _made_of(self, value: ast.AST) -> frozenset[str]:
        """The variables that a value is computed from; of what may meet another one, "" is one of them."""
        match value:
            case ast.expr() if self._is_number(value):
                return frozenset()
            case ast.Slice():
                return frozenset()
            case ast.Name(id=name):
                stores = [one for one in self._stored.get(name, ()) if self._reaches(name, one, value)]
                if len(stores) == 1 and _end(stores[0].place) < _start(value):
                    found = self._made_of(stores[0].value)
                    if "" not in found and len(found) == 1:
                        return found
                return frozenset((name,))
            case ast.Subscript(value=whole, slice=key):
                return self._made_of(whole) | self._made_of(key)
            case ast.Tuple(elts=parts) | ast.List(elts=parts):
                return frozenset[str]().union(*map(self._made_of, parts))
            case ast.UnaryOp(operand=operand):
                return self._made_of(operand)
            case ast.BinOp(left=left, right=right) | ast.Compare(left=left, comparators=[right]):
                return self._made_of(left) | self._made_of(right)
            case ast.Call(func=ast.Attribute(value=ast.Name(id="torch"), attr=name), args=[one, *_]) if name in ALONE:
                return self._made_of(one) if self._takes_numbers(value, 1) else frozenset(("",))
            case ast.Call(func=ast.Attribute(value=of, attr=name)) if name in ALONE:
                return self._made_of(of) if self._takes_numbers(value, 0) else frozenset(("",))
            case _:
                return frozenset(("",))

    def _takes_numbers(self, call: ast.Call, first: int) -> bool:
        """Whether all arguments of a call are numbers, but for the first so many."""
        return all(map(self._is_number, [*call.args[first:], *(keyword.value for keyword in call.keywords)]))

    # --- which loads a store reaches --------------------------------------------------------------------------

    def _reaches(self, name: str, store: _Store, load: ast.Name) -> bool:
        """Whether a load may find what a store has left: another one behind it, or no way there, may exclude that."""
        around = list(self._around(load))
        if any(isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)) for node in around):
            return True  # whenever that is called
        loops = [node for node in around if isinstance(node, (ast.For, ast.AsyncFor, ast.While))]
        shared = [loop for loop in loops if loop in set(self._around(store.place))]
        behind = _start(load) >= _end(store.place)
        if not behind and not shared:
            return False
        for other in self._stored.get(name, ()):
            if other.place is store.place or not isinstance(other.place, (ast.Assign, ast.AnnAssign)):
                continue
            if not self._comes_before(other.place, [load, *around]):
                continue
            later = _start(other.place) > _start(store.place)
            again = not behind and shared[0] in set(self._around(other.place))
            if later or again:
                return False
        return True

    def _around(self, node: ast.AST) -> Iterator[ast.AST]:
        """What a node is in, from the inside, without the function itself."""
        parent = self._parents.get(node)
        while parent is not None and parent is not self._function:
            yield parent
            parent = self._parents.get(parent)

    def _comes_before(self, statement: ast.stmt, path: list[ast.AST]) -> bool:
        """Whether a statement has been executed whenever control comes to the end of a path: it is before one on it."""
        block, field, index = self._indices[statement]
        places = (self._indices[node] for node in path if node in self._indices)
        return any(place[0] is block and place[1] == field and place[2] > index for place in places)


def _collecting(function: Function) -> dict[str, bool]:
    """The names that only ever hold a new list, and whether all that it holds is put there by one call."""
    stores: dict[str, list[ast.AST]] = {}
    puts: dict[str, int] = {}
    for node in ast.walk(function):
        match node:
            case (
                ast.Assign(targets=[ast.Name(id=name)], value=made)
                | ast.AnnAssign(target=ast.Name(id=name), value=made)
            ):
                stores.setdefault(name, []).append(made or node)
            case ast.Attribute(value=ast.Name(id=name), attr="append" | "extend" | "insert"):
                puts[name] = puts.get(name, 0) + (1 if node.attr == "append" else 2)
            case ast.Subscript(value=ast.Name(id=name), ctx=ast.Store()):
                puts[name] = puts.get(name, 0) + 2
    bound = [node.id for node in ast.walk(function) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)]
    return {
        name: puts.get(name) == 1 and not any(one.elts for one in made if isinstance(one, ast.List))
        for name, made in stores.items()
        if bound.count(name) == len(made) and all(isinstance(one, ast.List) for one in made)
    }


def _is_statement(node: object) -> bool:
    return isinstance(node, ast.stmt)


def _start(node: ast.expr | ast.stmt) -> tuple[int, int]:
    return node.lineno, node.col_offset


def _end(node: ast.expr | ast.stmt) -> tuple[int, int]:
    assert node.end_lineno is not None
    assert node.end_col_offset is not None
    return node.end_lineno, node.end_col_offset


def _bound(target: ast.expr, value: ast.expr) -> Iterator[tuple[str, ast.expr]]:
    """The names that an assignment binds, each with its part of the value as far as that is written out."""
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and _is_pairwise(target, value):
        for inner, item in zip(target.elts, value.elts, strict=True):
            yield from _bound(inner, item)
        return
    for node in ast.walk(target):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id, value


def _is_pairwise(target: ast.Tuple, value: ast.Tuple) -> bool:
    starred = any(isinstance(item, ast.Starred) for item in (*target.elts, *value.elts))
    return not starred and len(target.elts) == len(value.elts)


def _is_mask(key: ast.expr) -> bool:
    """Whether what is assigned through a subscript goes to the elements that a comparison selects."""
    return isinstance(key, ast.Compare) or (isinstance(key, ast.UnaryOp) and isinstance(key.op, ast.Invert))


def _counts(node: ast.AST, name: str) -> bool:
    """Whether a name is a number in a statement: `for name in range(…)`, `if isinstance(name, float)`."""
    match node:
        case ast.For(target=ast.Tuple(elts=[ast.Name(id=counter), _]), iter=ast.Call(func=ast.Name(id="enumerate"))):
            return counter == name
        case ast.For(target=ast.Name(id=counter), iter=ast.Call(func=ast.Name(id="range"))):
            return counter == name
        case ast.If(test=ast.Call(func=ast.Name(id="isinstance"), args=[ast.Name(id=tested), kinds]), orelse=[]):
            classes = kinds.elts if isinstance(kinds, ast.Tuple) else [kinds]
            return tested == name and all(isinstance(one, ast.Name) and one.id in _NUMBERS for one in classes)
        case _:
            return False


def _given(call: ast.Call) -> list[ast.expr]:
    return [*call.args, *(keyword.value for keyword in call.keywords)]


def _keeps(call: ast.Call) -> bool:
    """Whether a call only keeps what it is given in an object."""
    match call.func:
        case ast.Attribute(attr="register_buffer" | "register_parameter") | ast.Name(id="setattr"):
            return True
        case ast.Attribute(value=ast.Attribute(value=ast.Name(id="self")), attr="append"):
            return True
        case _:
            return False


def _puts_together(call: ast.Call, value: ast.AST) -> bool:
    """Whether a call puts the elements of a list together: `torch.cat(rows)`."""
    match call.func:
        case ast.Attribute(value=ast.Name(id="torch"), attr="cat" | "stack"):
            return call.args[:1] == [value]
        case _:
            return False


def is_factory(function: ast.expr) -> bool:
    """Whether what is called is a function of torch that makes a tensor."""
    match function:
        case ast.Attribute(value=ast.Name(id="torch"), attr=name):
            return name in FACTORIES
        case _:
            return False


def _is_like(call: ast.Call) -> bool:
    """Whether a factory makes its tensor where another one is, if it is not told."""
    return isinstance(call.func, ast.Attribute) and call.func.attr.endswith("_like") and bool(call.args)


def _takes_over(call: ast.Call) -> bool:
    """Whether what is called leaves a tensor that it is given where that is."""
    return isinstance(call.func, ast.Attribute) and call.func.attr in ("as_tensor", "asarray") and bool(call.args)


def _makes_on_cpu(call: ast.Call) -> bool:
    """Whether a call makes a tensor and does not say where."""
    return is_factory(call.func) and all(keyword.arg != "device" for keyword in call.keywords)


def _places(call: ast.Call, name: str) -> bool:
    """Whether a method puts a tensor somewhere, wherever it was: `x.to(y.device)`, `x.cuda()`."""
    where = [*call.args[:1], *(keyword.value for keyword in call.keywords if keyword.arg == "device")]
    named = any(isinstance(one, ast.Attribute) and one.attr == "device" for one in where)
    return name == "cuda" or (name == "to" and named)


def _brings_to_cpu(function: ast.expr) -> bool:
    """Whether what is called gives a tensor on the CPU whatever it is given."""
    match function:
        case ast.Attribute(attr="cpu") | ast.Attribute(value=ast.Name(id="torch"), attr="load"):
            return True
        case _:
            return False
