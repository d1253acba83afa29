"""What a mismatch on entry of a module means in the user's program: its code, whom to move, and what to change."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from types import FrameType
from typing import NamedTuple

from torch.nn import Module

from devlint_guard.explain.cause import history_of
from devlint_guard.explain.messages import Message, Trouble
from devlint_guard.explain.operands import Met, Scene, describe, found_operand, operand
from devlint_guard.finding import Finding, Operand, Role
from devlint_guard.findings.mismatch import finding_on
from devlint_guard.program.expressions import Term
from devlint_guard.program.frames import sites_above
from devlint_guard.program.naming import Roots, module_path, names_of_parameter, role_in
from devlint_guard.program.stored import modules_in, registered_in
from devlint_guard.watch.entry import Mismatch, Value, devices_by_size, has_data


def tied(names: Sequence[str]) -> Iterator[str]:
    """The advice that goes with a parameter of several names."""
    if len(names) > 1:
        shared = f"`{names[0]}` and `{names[1]}` are one parameter, which goes where either module is moved"
        yield f"{shared}: move them together"


class Verdict(NamedTuple):
    """The parameter or input apart from the rest.

    Attributes:
        blamed: the one to move first.
        other: one that it meets, on the device where it ought to be.
    """

    code: str
    message: str
    blamed: Operand
    other: Operand
    help: str


def finding_of(mismatch: Mismatch, frame: FrameType | None, roots: Roots) -> Finding:
    """The finding that reports a mismatch.

    Args:
        mismatch: it.
        frame: the one that calls the module.
        roots: the modules that paths begin with; others are looked for in the frames.
    """
    entry = _Entry.of(mismatch, Scene.of(sites_above(frame), roots))
    found = entry.finding()
    return replace(
        found,
        place=entry.scene.place,
        module=entry.path,
        module_class=type(mismatch.module).__name__,
        suspect=not mismatch.certain,
    )


@dataclass(frozen=True, slots=True)
class _Entry:
    """The entry of a module.

    Attributes:
        path: of the module, `net.encoder.0`; its class if no root holds it.
        usual: the device of most parameters of the outer module; empty without an outer module.
    """

    mismatch: Mismatch
    scene: Scene
    path: str
    usual: str

    @classmethod
    def of(cls, mismatch: Mismatch, scene: Scene) -> _Entry:
        for name, root in scene.roots.items():
            path = module_path(mismatch.module, {name: root})
            if path:
                is_whole = root is mismatch.module
                devices = [] if is_whole else devices_by_size(registered_in(root))
                return cls(mismatch, scene, path, next(iter(devices), ""))
        return cls(mismatch, scene, type(mismatch.module).__name__, "")

    @property
    def name(self) -> str:
        """What a message calls the module."""
        return f"`{self.path}` ({type(self.mismatch.module).__name__})"

    def finding(self) -> Finding:
        """What to say of it, in the words in which PyTorch's own error would be explained."""
        if self.mismatch.without_data and (self.usual != "meta" or self._has_no_data):
            return self._told(self._without_data())
        if len(self.mismatch.own_devices) > 1:
            return self._told(self._split())
        met = self._met()
        devices = tuple(dict.fromkeys(one.operand.device for one in met))
        found = finding_on(self.scene, met, Message(Trouble.APART, devices))
        return replace(found, help=(*found.help, *self._ties(found.operands[0], found.code)))

    def _told(self, verdict: Verdict) -> Finding:
        return Finding(
            verdict.code,
            verdict.message,
            operands=(replace(verdict.blamed, blamed=True), verdict.other),
            help=(verdict.help, *self._ties(verdict.blamed, verdict.code)),
        )

    def _met(self) -> list[Met]:
        """The module and the first argument that is elsewhere, or two arguments of a module without tensors."""
        if self.mismatch.own:
            device = self.mismatch.own_devices[0]
            term = self._caller_term()
            node = None if term is None else term.node
            module = Met(self._module(device), self.mismatch.module, self.mismatch.own[0].tensor, node=node)
            return [module, self._given(_first(self.mismatch.given, device, elsewhere=True))]
        device = devices_by_size([value.tensor for value in self.mismatch.given])[0]
        given = self.mismatch.given
        return [self._given(_first(given, device)), self._given(_first(given, device, elsewhere=True))]

    def _given(self, value: Value) -> Met:
        term = self._term(value.tensor)
        if term is not None:
            return Met(operand(self.scene, term), value.tensor, node=term.node)
        made = self._only_argument_on(str(value.tensor.device))
        if made is not None:
            return Met(operand(self.scene, made), value.tensor, None, made.factory, made.node)
        return Met(self._described(value), value.tensor)

    def _caller_term(self) -> Term | None:
        """What the user's line calls: the module, or one that calls it."""
        terms = self.scene.operation.terms if self.scene.operation else ()
        for term in terms:
            if isinstance(term.value, Module) and any(one is self.mismatch.module for one in modules_in(term.value)):
                return term
        return None

    def _term(self, value: object) -> Term | None:
        """Where a value stands on the user's line."""
        terms = self.scene.operation.terms if self.scene.operation else ()
        return next((term for term in terms if term.value is value), None)

    def _only_argument_on(self, device: str) -> Term | None:
        """The only expression of the call whose value is gone, or was passed on as a part, and that is on a device."""
        terms = self.scene.operation.terms if self.scene.operation and self._caller_term() else ()
        found = [term for term in terms if term.device == device and not term.callee]
        return found[0] if len(found) == 1 else None

    @property
    def _has_no_data(self) -> bool:
        """Whether the module is on meta; in a network that is there as a whole, its input may be astray."""
        return bool(self.mismatch.own) and not any(has_data(value.tensor) for value in self.mismatch.own)

    def _without_data(self) -> Verdict:
        own, given = self.mismatch.own, self.mismatch.given
        empty = next(value for value in (*own, *given) if not has_data(value.tensor))
        full = next(value for value in (*given, *own) if has_data(value.tensor))
        blamed, other = self._operand(empty), self._operand(full)
        message = f"`{blamed.name}` is on meta, without data, and meets `{other.name}` on {other.device} in {self.name}"
        if empty in own and self.usual == "meta":
            remedy = (
                f"give the whole network data: load its weights, or `to_empty(device={_quoted(other)})`; "
                f"for shapes alone, create `{other.name}` on meta"
            )
        elif empty in own:
            remedy = f"load it (is its key missing in the checkpoint?), or `to_empty(device={_quoted(other)})`"
        else:
            remedy = f"create `{blamed.name}` with data, on {other.device}"
        return Verdict("DEV602", message, blamed, other, remedy)

    def _split(self) -> Verdict:
        devices = self.mismatch.own_devices
        right = self.usual if self.usual in devices else devices[0]
        blamed = self._operand(_first(self.mismatch.own, right, elsewhere=True))
        other = self._operand(_first(self.mismatch.own, right))
        message = f"{self.name} is split: `{blamed.name}` is on {blamed.device} and `{other.name}` on {other.device}"
        remedy = f"move the module after all of its tensors are set: `{self.path}.to({_quoted(other)})`"
        return Verdict("DEV601", message, blamed, other, remedy)

    def _ties(self, blamed: Operand, code: str) -> Iterator[str]:
        """What to know where the module is astray: a parameter that it shares may have been moved with another one."""
        if blamed.role is Role.MODULE or code == "DEV601":
            for value in self.mismatch.own:
                yield from tied(names_of_parameter(value.tensor, self.scene.roots))

    # --- operands ---

    def _operand(self, value: Value) -> Operand:
        return replace(self._described(value), history=history_of(value.tensor))

    def _described(self, value: Value) -> Operand:
        if any(value is one for one in self.mismatch.own):
            path = f"{self.path}.{value.name}"
            role = role_in(self.mismatch.module, value.name)
            return Operand(path, role, str(value.tensor.device), describe(value.tensor), path)
        for term in self.scene.operation.terms if self.scene.operation else ():
            if term.value is value.tensor:
                return operand(self.scene, term)
        return replace(found_operand(self.scene, value.tensor, value.name), role=Role.ARGUMENT)

    def _module(self, device: str) -> Operand:
        own = self.mismatch.own
        detail = f"{own[0].name}: {describe(own[0].tensor)}" + _and_more(len(own) - 1)
        term = self._caller_term()
        if term is not None:
            return Operand(term.text, Role.MODULE, device, detail, self.path, operand(self.scene, term).place)
        return Operand(self.path, Role.MODULE, device, detail, self.path)


def _first(values: Sequence[Value], device: str, *, elsewhere: bool = False) -> Value:
    """The first of some tensors that is on a device, or elsewhere."""
    return next(value for value in values if (str(value.tensor.device) != device) is elsewhere)


def _and_more(count: int) -> str:
    """Say that a module has further tensors; nothing for none."""
    return f" and {count} more {'tensor' if count == 1 else 'tensors'}" if count else ""


def _quoted(operand: Operand) -> str:
    return f'"{operand.device}"'
