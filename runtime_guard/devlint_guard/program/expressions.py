"""What the values in a failing expression are, read from its frame without running any code of the program.

Names, attributes and constant subscripts are looked up; `__getattr__`, properties and calls are not run. Of a call,
only the device of its result may be known: `torch.zeros(2)` is on the default device, `x.float()` where `x` is.
"""

from __future__ import annotations

import ast
import functools
import inspect
import types
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

import torch
from torch import nn

from devlint_guard.program.accelerator import default_device
from devlint_guard.program.frames import Site, Source, node_at, source_of
from devlint_guard.program.stored import UNKNOWN, attribute, devices_of, dictionary_of, element, tensors_in, tensors_of


@dataclass(frozen=True, slots=True)
class Term:
    """One of the values that an operation takes.

    Attributes:
        text: as the source has it, with the way into a container: `features[2]`.
        node: where it stands; several terms of one container share theirs.
        device: where it is; of a module that is split, each device, joined by ` and `.
        value: the tensor, module or generator; None where only its device is known.
        share: of a container whose tensors are apart, how many are here: `2 of 3`.
        factory: it creates a tensor and names no device.
    """

    text: str
    node: ast.expr
    device: str
    value: torch.Tensor | nn.Module | torch.Generator | None = None
    share: str = ""
    factory: bool = False


@dataclass(frozen=True, slots=True)
class Argument:
    """What an operation is given: its source, its keyword in a call or "", its value or UNKNOWN."""

    text: str
    node: ast.expr
    keyword: str
    value: object


@dataclass(frozen=True, slots=True)
class Operation:
    """The operation that a frame is at.

    Attributes:
        text: what a message calls it: `+`, `torch.cat`, `net`, `[…]`.
        node: the expression.
        terms: the values it takes whose device is known.
        open_terms: those whose device is not; they may be no tensors at all.
        arguments: of a call, all that it is given.
    """

    text: str
    node: ast.AST
    terms: tuple[Term, ...]
    open_terms: tuple[Argument, ...]
    arguments: tuple[Argument, ...] = ()

    @property
    def devices(self) -> set[str]:
        """The devices of the terms."""
        return {device for term in self.terms for device in term.device.split(" and ")}


NO_OPERATION: Final = Operation("", ast.Module([], []), (), ())
"""That of a frame whose source cannot be had, or of no frame at all."""


def operation_at(site: Site) -> Operation | None:
    """The operation that a frame is at; None where its source cannot be had.

    Where only the statement is known (CPython 3.10), the operation in it whose terms are apart.
    """
    reader, node = Reader.at(site), node_at(site)
    if reader is None or node is None:
        return None
    if isinstance(node, ast.stmt) and not isinstance(node, (ast.Expr, ast.AugAssign)):
        return part_at(site, node) or reader.operation(node)
    return reader.operation(node)


def part_at(site: Site, node: ast.AST) -> Operation | None:
    """The first operation in a node whose terms are apart; None where all are together."""
    reader = Reader.at(site)
    found = () if reader is None else (reader.operation(part) for part in _operations(node))
    return next((operation for operation in found if len(operation.devices) > 1), None)


def _operations(whole: ast.AST) -> list[ast.expr]:
    """The operations in a node in the order of their evaluation, operands before what takes them."""
    kinds = (ast.Call, ast.BinOp, ast.Compare, ast.Subscript)
    found = [node for node in ast.walk(whole) if isinstance(node, kinds)]
    return sorted(found, key=lambda node: (node.end_lineno or 0, node.end_col_offset or 0, -node.col_offset))


class Reader:
    """Reads the expressions of one frame."""

    def __init__(self, source: Source, names: Mapping[str, object], more_names: Mapping[str, object]) -> None:
        self._source = source
        self._locals = names
        self._globals = more_names

    @classmethod
    def at(cls, site: Site) -> Reader | None:
        """The reader of a frame; None where its source cannot be had."""
        source = source_of(site)
        return None if source is None else cls(source, site.frame.f_locals, site.frame.f_globals)

    # --- the operation ---

    def operation(self, node: ast.AST) -> Operation:
        """An operation with its operands."""
        while isinstance(node, (ast.Expr, ast.Await, ast.NamedExpr)) or (
            isinstance(node, (ast.Return, ast.Assign, ast.AnnAssign)) and node.value is not None and not _stored(node)
        ):
            assert node.value is not None
            node = node.value
        terms: list[Term] = []
        unknown: list[Argument] = []
        for part in self._taken(node):
            found = self.terms(part)
            terms += found
            if not found and self.value(part) is UNKNOWN:
                unknown.append(self._argument(part))
        arguments = [*map(self._argument, node.args)] if isinstance(node, ast.Call) else []
        arguments += [self._argument(one.value, one.arg) for one in getattr(node, "keywords", ())]
        return Operation(self._name(node), node, tuple(terms), tuple(unknown), tuple(arguments))

    def _argument(self, node: ast.expr, keyword: str | None = "") -> Argument:
        return Argument(self._source.of(node), node, keyword or "", self.value(node))

    def _taken(self, node: ast.AST) -> Iterator[ast.expr]:
        """The expressions whose values an operation takes."""
        match node:
            case ast.Call():
                if isinstance(self.value(node.func), (nn.Module, functools.partial)):
                    yield node.func
                elif isinstance(node.func, ast.Attribute):
                    yield node.func.value
                elif not isinstance(node.func, ast.Name):
                    yield node.func
                for argument in node.args:
                    yield argument.value if isinstance(argument, ast.Starred) else argument
                yield from (keyword.value for keyword in node.keywords)
            case ast.BinOp():
                yield from (node.left, node.right)
            case ast.Compare():
                yield from (node.left, *node.comparators)
            case ast.Subscript() | ast.Attribute():
                statements = (one for one in ast.walk(self._source.tree) if isinstance(one, ast.Assign))
                assigned = [one.value for one in statements if isinstance(node.ctx, ast.Store) and node in one.targets]
                yield node.value
                if assigned:
                    # Indices of what is assigned to may be anywhere.
                    yield assigned[0]
                elif isinstance(node, ast.Subscript):
                    yield from node.slice.elts if isinstance(node.slice, ast.Tuple) else (node.slice,)
            case ast.AugAssign():
                yield from (node.target, node.value)
            case ast.Assign() | ast.AnnAssign():
                for target in _stored(node):
                    yield from self._taken(target)
            case ast.expr():
                yield from (child for child in ast.walk(node) if isinstance(child, (ast.Name, ast.Attribute)))

    def _name(self, node: ast.AST) -> str:
        match node:
            case ast.Call():
                return self._callee_name(node.func)
            case ast.BinOp():
                return _symbol(node.op)
            case ast.AugAssign():
                return _symbol(node.op) + "="
            case ast.Compare():
                return _symbol(node.ops[0])
            case ast.Subscript():
                return "[…] =" if isinstance(node.ctx, ast.Store) else "[…]"
            case ast.expr():
                return self._source.of(node)
        return ""

    def _callee_name(self, func: ast.expr) -> str:
        """The called function: a public function of torch by its full name, a method of a tensor by its short one."""
        value = self.value(func)
        if isinstance(func, ast.Attribute) and value is UNKNOWN:
            return func.attr
        if isinstance(value, (types.FunctionType, types.BuiltinFunctionType, type)):
            home, name = getattr(value, "__module__", None) or "", value.__name__
            if home.partition(".")[0] == "torch" and not home.startswith("torch._"):
                return f"{home}.{name}"
        return self._source.of(func)

    # --- terms ---

    def terms(self, node: ast.expr) -> list[Term]:
        """The tensors, modules and generators that an expression stands for, one for each device of a container."""
        if isinstance(node, (ast.List, ast.Tuple, ast.Set, ast.Dict)):
            parts = node.values if isinstance(node, ast.Dict) else node.elts
            return [term for part in parts for term in self.terms(part)]
        if isinstance(node, (ast.ListComp, ast.GeneratorExp, ast.Lambda)):
            return []
        text, value = self._source.of(node), self.value(node)
        if isinstance(value, (torch.Tensor, torch.Generator)):
            return [Term(text, node, str(value.device), value)]
        if isinstance(value, nn.Module):
            devices = devices_of(value) or list(dict.fromkeys(str(one.device) for _, one in tensors_of(value)))
            return [Term(text, node, " and ".join(devices), value)] if devices else []
        if value is not UNKNOWN:
            return _grouped(text, node, list(tensors_in(value)) or list(tensors_of(value)))
        device = numbered(self.device(node))
        if device is None:
            return []
        return [Term(text, node, str(device), factory=self._is_factory(node))]

    # --- values ---

    def value(self, node: ast.AST) -> object:
        """What an expression stands for, UNKNOWN where that would run code."""
        match node:
            case ast.Constant():
                return node.value
            case ast.Name():
                found = self._globals.get("__builtins__")  # a module in the file that is run, a dictionary in others
                builtins = found if isinstance(found, dict) else dictionary_of(found)
                tables = (self._locals, self._globals, builtins)
                return next((names[node.id] for names in tables if node.id in names), UNKNOWN)
            case ast.Attribute():
                owner = self.value(node.value)
                return UNKNOWN if owner is UNKNOWN else attribute(owner, node.attr)
            case ast.Subscript():
                owner, key = self.value(node.value), self.value(node.slice)
                return UNKNOWN if owner is UNKNOWN or key is UNKNOWN else element(owner, key)
            case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() as number)):
                return -number
            case ast.NamedExpr():
                return self.value(node.value)
            case ast.Call(args=[named], keywords=[]) if self.value(node.func) is torch.device:
                return as_device(self.value(named)) or UNKNOWN
        return UNKNOWN

    # --- devices of what has no value any more ---

    def device(self, node: ast.expr) -> torch.device | None:
        """Where the result of an expression is; None where that is not known, or it is no tensor."""
        value = self.value(node)
        if isinstance(value, torch.Tensor):
            return value.device
        if value is not UNKNOWN:
            return None
        match node:
            case ast.Call():
                return self._device_of_call(node)
            case ast.BinOp():
                return _common(self.device(node.left), self.device(node.right))
            case ast.UnaryOp(operand=inner) | ast.Compare(left=inner) | ast.Subscript(value=inner):
                return self.device(inner)
            case ast.NamedExpr(value=inner):
                return self.device(inner)
            case ast.Attribute(value=inner, attr=name) if name in _SAME_DEVICE_ATTRIBUTES:
                return self.device(inner)
        return None

    def _device_of_call(self, node: ast.Call) -> torch.device | None:
        keywords = {keyword.arg: keyword.value for keyword in node.keywords}
        if "device" in keywords:
            return as_device(self.value(keywords["device"]))
        function = self.value(node.func)
        if isinstance(function, type) and function.__module__ in _MODULES_WITH_TENSORS:
            return default_device()
        if getattr(function, "__module__", None) == "torch.cuda" and function.__name__.endswith("Tensor"):  # type: ignore[attr-defined]
            return torch.device("cuda")
        if function is torch.load:
            located = keywords.get("map_location", node.args[1] if len(node.args) > 1 else None)
            return None if located is None else as_device(self.value(located))
        if function is torch.Generator:
            return as_device(self.value(node.args[0])) if node.args else torch.device("cpu")
        if isinstance(function, nn.Module):
            if isinstance(function, nn.DataParallel) and function.device_ids:
                return torch.device("cuda", function.output_device)  # it gathers its results there
            devices = devices_of(function)
            return torch.device(devices[0]) if len(devices) == 1 else None
        is_method = function is UNKNOWN or isinstance(function, types.MethodDescriptorType | types.BuiltinMethodType)
        if is_method and (found := self._device_of_method(node)) is not None:
            return found
        if self._is_factory(node):
            name = str(getattr(function, "__name__", ""))
            made: torch.Tensor | None = getattr(torch, name)() if name.endswith("Tensor") else None
            return default_device() if made is None else made.device
        if function is torch.from_numpy:
            return torch.device("cpu")
        if is_torch_function(function) or any(function is one for one in (torch.autograd.Variable, nn.Parameter)):
            return next(filter(None, map(self.device, node.args)), None)
        return None

    def _device_of_method(self, node: ast.Call) -> torch.device | None:
        if not isinstance(node.func, ast.Attribute):
            return None
        receiver = self.device(node.func.value)
        if receiver is None or node.func.attr in _NO_TENSOR:
            return None
        if node.func.attr == "cpu":
            return torch.device("cpu")
        if node.func.attr in ("to", "cuda") and node.args:
            target = self.value(node.args[0])
            if isinstance(target, torch.Tensor):
                return target.device
            return receiver if isinstance(target, torch.dtype) else as_device(target)
        return torch.device("cuda") if node.func.attr == "cuda" else receiver

    def creates(self, node: ast.Call) -> bool:
        """Whether a call creates a tensor."""
        function = self.value(node.func)
        return bool(_factory(function)) or _is_torchs(function, "from_numpy")

    def _is_factory(self, node: ast.expr) -> bool:
        """Whether a call creates a tensor from no other, with no device given."""
        if not isinstance(node, ast.Call) or any(keyword.arg == "device" for keyword in node.keywords):
            return False
        is_told = any(self.device(argument) is not None for argument in node.args)
        return bool(_factory(self.value(node.func))) and not is_told


def _symbol(operator: ast.operator | ast.cmpop) -> str:
    one = ast.Name("x")
    both = ast.BinOp(one, operator, one) if isinstance(operator, ast.operator) else ast.Compare(one, [operator], [one])
    return ast.unparse(both)[2:-2]


def _factory(function: object) -> str:
    """The name of a function of torch that creates a tensor; empty for any other value."""
    name: str = getattr(function, "__name__", "")
    return name if name in FACTORIES and _is_torchs(function, name) else ""


def _is_torchs(function: object, name: str) -> bool:
    """Whether a value is a function of torch, also if it was taken before a recorder or a rehearsal replaced it."""
    original = getattr(torch, name, None)
    return callable(function) and callable(original) and inspect.unwrap(function) is inspect.unwrap(original)


def attached(text: str) -> str:
    """An expression to which a method can be attached: in parentheses where it needs them."""
    try:
        node = ast.parse(text, mode="eval").body
    except SyntaxError:
        return text
    return text if isinstance(node, (ast.Name, ast.Attribute, ast.Subscript, ast.Call)) else f"({text})"


def _stored(node: ast.AST) -> list[ast.expr]:
    """The elements and attributes that a statement assigns."""
    targets = getattr(node, "targets", [getattr(node, "target", None)])
    return [one for one in targets if isinstance(one, (ast.Subscript, ast.Attribute))]


def is_torch_function(function: object) -> bool:
    """Whether a value is a function of torch, or a method of one of its classes."""
    module = getattr(function, "__module__", None)
    if isinstance(function, types.BuiltinFunctionType) and isinstance(function.__self__, type):
        return function.__self__.__module__.partition(".")[0] == "torch"
    known = isinstance(module, str) and module.partition(".")[0] == "torch"
    return known and not isinstance(function, (type, types.ModuleType, nn.Module))


def _common(left: torch.device | None, right: torch.device | None) -> torch.device | None:
    """Where the result of two operands is; the CPU gives way, as its operand must be a number then."""
    if left is None or right is None or left == right:
        return left if right is None else right
    return left if right.type == "cpu" else right


def numbered(device: torch.device | None) -> torch.device | None:
    """`cuda` is the current CUDA device; asked only of a process that uses CUDA already."""
    if device is None or device.type != "cuda" or device.index is not None or not torch.cuda.is_initialized():
        return device
    return torch.device("cuda", torch.cuda.current_device())


def as_device(value: object) -> torch.device | None:
    """The device that a value names, such as `"cuda"`, 1 or a `torch.device`."""
    if isinstance(value, (str, int)) and not isinstance(value, bool):
        try:
            return torch.device(value)
        except RuntimeError:
            return None
    return value if isinstance(value, torch.device) else None


def _grouped(text: str, node: ast.expr, tensors: list[tuple[str, torch.Tensor]]) -> list[Term]:
    """The tensors of a container: one term if they are together, otherwise the first on each device."""
    groups: dict[str, list[tuple[str, torch.Tensor]]] = {}
    for path, tensor in tensors:
        groups.setdefault(str(tensor.device), []).append((path, tensor))
    terms = []
    for device, found in groups.items():
        path, tensor = found[0]
        is_told = len(groups) > 1 or len(tensors) == 1
        share = f"{len(found)} of {len(tensors)}" if len(groups) > 1 else ""
        terms.append(Term(text + (path if is_told else ""), node, device, tensor, share))
    return terms


_SAME_DEVICE_ATTRIBUTES: Final = frozenset("T mT H mH real imag data grad values indices".split())

_MODULES_WITH_TENSORS: Final = frozenset(
    f"torch.nn.modules.{name}" for name in "linear conv batchnorm rnn sparse normalization transformer".split()
)
"""Where the classes stand whose modules have parameters."""

_NO_TENSOR: Final = frozenset("item tolist numpy size dim numel get_device element_size stride data_ptr".split())
"""Methods of tensors that return none."""

FACTORIES: Final = frozenset(
    "arange empty eye full linspace logspace ones rand randint randn randperm scalar_tensor tensor as_tensor asarray"
    " tril_indices triu_indices zeros bartlett_window blackman_window hamming_window hann_window kaiser_window Tensor"
    " FloatTensor LongTensor DoubleTensor IntTensor BoolTensor HalfTensor".split()
)
"""Functions of torch that create a tensor, all but the old constructors on the default device."""
