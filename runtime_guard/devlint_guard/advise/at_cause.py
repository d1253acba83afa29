"""Changes at the recorded cause of an error, the best first.

A line that is changed may have ended long ago. So a device is named there only by an expression that had the wanted
device when the line ran first (`Entry.devices`), or of a function that still runs.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import torch

from devlint_guard.advise import edits
from devlint_guard.advise.device_expressions import devices_at
from devlint_guard.advise.edits import advised, behind, followed_by, merged, preceded_by, replaced, with_keyword
from devlint_guard.advise.left_behind import name_of_torch_nn, register_as_buffer
from devlint_guard.explain.cause import Cause, device_given
from devlint_guard.finding import Advice, Changes, Step
from devlint_guard.program.bindings import definition_of, own_nodes
from devlint_guard.program.expressions import FACTORIES
from devlint_guard.program.frames import Site
from devlint_guard.program.functions import Scope
from devlint_guard.program.stored import dictionary_of, tensors_in
from devlint_guard.record.recorder import RECORD
from devlint_guard.record.stacks import Entry, Event, Kind

_BESIDE = 2
"""So many expressions for the device are tried at one place."""


@dataclass(frozen=True, slots=True)
class _Line:
    """A line that is to be changed.

    Attributes:
        scope: its function, without values.
        sites: the frames of the error.
        wanted: the device to name there.
        step: what happened on it.
    """

    entry: Entry
    scope: Scope
    sites: Sequence[Site]
    wanted: str
    step: Step

    def devices(self, *but: str) -> list[str]:
        """The expressions for the device, the best first: as noted when it ran, or of its function that still runs."""
        found = [text for text, device in self.entry.devices.items() if device == self.wanted]
        scope, node = None if self.site is None else Scope.at(self.site), self.entry.node
        if not found and scope is not None and node is not None:
            found = list(devices_at(scope, node, self.wanted))
        return [text for text in found if text not in but][:_BESIDE]

    @property
    def site(self) -> Site | None:
        """Its frame, if it still runs."""
        return next((one for one in self.sites if one.frame.f_code is self.entry.code), None)

    def moved(self, text: str, node: ast.expr, *but: str) -> Iterator[Advice]:
        """An expression of it is moved."""
        for device in self.devices(*but):
            yield from self.advice(text, self.followed(node, device))

    def followed(self, node: ast.expr, device: str) -> Changes:
        """An expression of it, on a device."""
        match node:
            case ast.Call(func=ast.Name(id="Parameter") | ast.Attribute(attr="Parameter"), args=[given, *_]):
                return self.followed(given, device)  # what a move returns is no parameter
            case ast.Call(keywords=given) if _name(node) in FACTORIES and all(one.arg != "generator" for one in given):
                return with_keyword(self.scope, node, "device", device)
        if (self.entry.code, self.entry.instruction) in RECORD.nones:
            held = self.scope.source.of(node)
            return replaced(self.scope, node, f"None if {held} is None else {held}.to({device})")
        return followed_by(self.scope, node, f".to({device})")

    def advice(self, text: str, changes: Changes) -> Iterator[Advice]:
        """What to do, if it can be carried out."""
        return advised(text, changes, self.step)


def _name(call: ast.Call) -> str:
    return str(getattr(call.func, "attr", getattr(call.func, "id", "")))


def _lines(cause: Cause, sites: Sequence[Site], *entries: Entry) -> Iterator[_Line]:
    """Recorded lines, if their source is there."""
    for entry in entries:
        if entry.source is not None:
            yield _Line(entry, Scope(entry.source, entry.code), sites, cause.wanted, cause.steps[0])


def advice_at(cause: Cause, sites: Sequence[Site]) -> Iterator[Advice]:
    """The changes at a cause.

    Args:
        cause: it.
        sites: the frames of the error.
    """
    event, keep = cause.event, () if cause.keep is None else cause.keep.stack
    if cause.store is not None:
        for one in _lines(cause, sites, cause.store[0].stack[0]):
            yield from _at_store(one, "move it where it is put in: its module has moved before")
        return
    yield from _registered(cause, sites)
    for one in _lines(cause, sites, *keep, *event.stack):
        yield from _unused_device(one)
    # The constructor of the module that has the tensor runs before the module is moved.
    is_of_constructor = cause.chain and not cause.was_left and event.stack[0].code.co_name == "__init__"
    for one in _lines(cause, sites, cause.made):
        if event.kind is Kind.MODULE:
            yield from _at_module_move(one, event)
        elif event.kind is Kind.MOVED:
            yield from _other_device(one)
        elif event.kind is Kind.BATCH:
            yield from _at_batch(one)
        elif one.entry.call is not None and event.kind is Kind.CREATED and not is_of_constructor:
            yield from one.moved(_made_there(cause), one.entry.call)
    for one in _lines(cause, sites, *keep[:1]):
        yield from _at_store(one, "move it where it is kept")
    for one in _lines(cause, sites, cause.made):
        call = one.entry.call if event.kind is Kind.LOADED else None
        located = [with_keyword(one.scope, call, "map_location", device) for device in one.devices()] if call else []
        for changes in located:
            yield from one.advice("load it to where it is used", changes)


def advice_at_last(cause: Cause, sites: Sequence[Site]) -> Iterator[Advice]:
    """The creation on the device by its name, for want of an expression that names it."""
    for one in _lines(cause, sites, cause.made):
        if cause.event.kind is Kind.CREATED and one.entry.call is not None:
            yield from one.advice(_made_there(cause), one.followed(one.entry.call, f'"{cause.wanted}"'))


def _made_there(cause: Cause) -> str:
    return "move the module to where its input is" if cause.was_left else "create it on the device where it is used"


def _registered(cause: Cause, sites: Sequence[Site]) -> Iterator[Advice]:
    """A tensor that a module has in a plain attribute is registered, if its constructor was the last to assign it.

    It becomes a buffer, or a parameter if it is to be trained: the copy of a buffer that a move makes is none that an
    optimizer could change.
    """
    owner, name, is_registered = cause.chain[-1] if cause.chain else (None, "", True)
    store = None if is_registered or owner is None else RECORD.store_of(owner, name)
    for line in _lines(cause, sites, *(() if store is None else store.stack[:1])):
        is_made = line.entry.code.co_name == "__init__"
        match line.entry.statement:
            case ast.Assign(targets=[ast.Attribute(value=ast.Name(id=own))], value=value) as statement if is_made:
                tensor, text = dictionary_of(owner).get(name), line.scope.source.of(value)
                is_trained = isinstance(tensor, torch.Tensor) and tensor.requires_grad and tensor.is_leaf
                make = vars(type(owner)).get("__init__")
                torch_nn = name_of_torch_nn(getattr(make, "__globals__", {})) if is_trained else ""
                told = register_as_buffer(name, own)
                put = f'{own}.register_buffer("{name}", {text}, persistent=False)'
                if torch_nn:
                    told = "make it a parameter, so that it moves with the module"
                    put = f"{own}.{name} = {torch_nn}.Parameter({text})"
                yield from line.advice(told, replaced(line.scope, statement, put))


def _at_store(line: _Line, text: str) -> Iterator[Advice]:
    """A tensor that an object is given is moved at that place."""
    match line.entry.statement:
        case ast.Assign(value=value, targets=[kept, *_]) | ast.AnnAssign(value=ast.expr() as value, target=kept):
            yield from line.moved(text, value, f"{line.scope.source.of(kept)}.device")
        case ast.Expr(value=ast.Call(args=[*_, value])) if not isinstance(value, ast.Starred):
            yield from line.moved(text, value)


# --- moves --------------------------------------------------------------------------------------------------


def _at_module_move(line: _Line, event: Event) -> Iterator[Advice]:
    """The last move of a module: a copy moves instead, or it moves to another device, or back."""
    scope, call = line.scope, line.entry.call
    if call is None or not isinstance(call.func, ast.Attribute):
        return
    around = {id(child): one for one in ast.walk(scope.source.tree) for child in ast.iter_child_nodes(one)}
    parent, receiver = around.get(id(call)), scope.source.of(call.func.value)
    read = around.get(id(parent)) if isinstance(parent, ast.Attribute) and parent.attr == "state_dict" else None
    if isinstance(read, ast.Call) and str(event.after) == "cpu":
        copied = f"{{key: one.cpu() for key, one in {receiver}.state_dict().items()}}"
        text = "copy the tensors: `.cpu()` of a module moves the module itself"
        yield from line.advice(text, replaced(scope, read, copied))
    imports, copied_first = (
        edits.imported_too(scope, "copy"),
        replaced(scope, call.func.value, f"copy.deepcopy({receiver})"),
    )
    if not isinstance(parent, (ast.Expr, ast.Assign, ast.Return)) and imports is not None and copied_first:
        changes = merged([*imports, *copied_first])
        yield from line.advice("move a copy: the method moves the module itself", changes)
    yield from _other_device(line)
    given = device_given(call)
    if given is None or not _is_constant(given):
        yield from _moved_back(line, event, receiver)


def _moved_back(line: _Line, event: Event, receiver: str) -> Iterator[Advice]:
    """Behind the statement, in the innermost function that knows the device, the module moves back."""
    for number, entry in enumerate(event.stack):
        source, statement, call = entry.source, entry.statement, entry.call
        held = receiver if number == 0 else ""
        if not held and source is not None and call is not None and call.args:
            held = source.of(call.args[0]) if isinstance(call.args[0], (ast.Name, ast.Attribute)) else ""
        if source is None or statement is None or not held or isinstance(statement, ast.Return):
            continue
        there = replace(line, entry=entry, scope=Scope(source, entry.code))
        names = [text for text in there.devices() if not text.startswith(f"{held}.")]
        if names:
            yield from there.advice("move it back", behind(there.scope, statement, f"{held}.to({names[0]})"))
            return


def _is_constant(node: ast.expr) -> bool:
    """Whether a device is written out, or chosen with the CPU as one choice: then it is meant."""
    match node:
        case ast.Constant() | ast.Call(args=[ast.Constant(), *_]):
            return True
    return any(isinstance(one, ast.Constant) and one.value == "cpu" for one in ast.walk(node))


def _other_device(line: _Line) -> Iterator[Advice]:
    """The move goes to where the value is needed, unless its device is meant."""
    call = line.entry.call
    given = None if call is None else device_given(call)
    match call:
        case ast.Call(func=ast.Attribute(value=receiver, attr="to")) if given is not None and not _is_constant(given):
            own = f"{line.scope.source.of(receiver)}."
            for device in line.devices(line.scope.source.of(given)):
                if not device.startswith(own):
                    changes = replaced(line.scope, given, device)
                    yield from line.advice("move it to the device of the other value", changes)


# --- batches ------------------------------------------------------------------------------------------------


def _at_batch(line: _Line) -> Iterator[Advice]:
    """The whole batch moves where the loop gets it."""
    statement, devices = line.entry.statement, line.devices()
    match statement:
        case ast.For(target=target) | ast.Assign(targets=[target]) if line.site is not None and devices:
            values, read = line.site.frame.f_locals, _read(line.scope)
            names = [one.id for one in ast.walk(target) if isinstance(one, ast.Name) and one.id in read]
            told = [(name, _batch_on(name, values.get(name), devices[0], line.wanted)) for name in names]
            lines = "\n".join(f"{name} = {text}" for name, text in told if text)
            first = statement.body[0] if isinstance(statement, ast.For) else None
            moved = preceded_by(line.scope, first, lines) if first else behind(line.scope, statement, lines)
            yield from line.advice("move the batch where the loop gets it", moved if lines else ())


def _read(scope: Scope) -> set[str]:
    """The variables that a function reads."""
    return {one.id for one in ast.walk(scope.definition) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Load)}


def _batch_on(name: str, value: object, device: str, wanted: str) -> str:
    """The source that moves a batch, or a part of one; empty if it is on the device already, or cannot move."""
    each = f'one.to({device}) if hasattr(one, "to") else one for'
    if isinstance(value, torch.Tensor):
        return f"{name}.to({device})" if str(value.device) != wanted else ""
    if type(value) is dict:
        return f"{{key: {each} key, one in {name}.items()}}"
    if type(value) in (list, tuple) and any(True for _ in tensors_in(value)):
        return f"[{each} one in {name}]"
    return f"{name}.to({device})" if callable(getattr(type(value), "to", None)) else ""


# --- a parameter `device` that nothing reads ----------------------------------------------------------------


def _unused_device(line: _Line) -> Iterator[Advice]:
    """A function that made or kept the value was given a device that it does not use: it moves what it returns."""
    scope, code = line.scope, line.entry.code
    definition = definition_of(scope.source.tree, code)
    if definition is None or scope.is_module:
        return
    read = _read(scope)
    unused = next((one for one in scope.parameters if "device" in one and one not in read), None)
    returned = [one.value for one in own_nodes(definition) if isinstance(one, ast.Return) and one.value is not None]
    if unused is None or len(returned) != 1:
        return
    told = f"is returned by `{code.co_name}`, which does not use its parameter `{unused}`"
    step = Step(told, scope.place(returned[0]))
    changes = _returned_on(scope, definition, returned[0], unused)
    yield from advised(f"use `{unused}`: the caller gave it, and nothing reads it", changes, step)


def _returned_on(scope: Scope, definition: ast.AST, value: ast.expr, device: str) -> Changes:
    """The changes that move what a function returns."""
    is_dict = isinstance(value, ast.Dict) or any(
        isinstance(one, ast.Assign)
        and isinstance(one.value, (ast.Dict, ast.DictComp))
        and any(isinstance(target, ast.Name) and target.id == getattr(value, "id", "") for target in one.targets)
        for one in own_nodes(definition)
    )
    if is_dict:
        each = f'one.to({device}) if hasattr(one, "to") else one'
        return replaced(scope, value, f"{{key: {each} for key, one in {scope.source.of(value)}.items()}}")
    parts = value.elts if isinstance(value, ast.Tuple) else [value]
    return merged([change for one in parts for change in followed_by(scope, one, f".to({device})")])
