"""What a mismatch on entry of a module means in the user's program: its code, whom to move, and what to change."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from types import FrameType

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
from devlint_guard.watch.entry import Mismatch, Value, compared_tensors, devices_by_size, has_data


def ties_among(values: Iterable[Value], roots: Roots) -> Iterator[str]:
    """The advice that goes with parameters of several names."""
    for value in values:
        names = names_of_parameter(value.tensor, roots)
        if len(names) > 1:
            shared = f"`{names[0]}` and `{names[1]}` are one parameter, which goes where either module is moved"
            yield f"{shared}: move them together"


def with_ties(finding: Finding, module: Module, roots: Roots) -> Finding:
    """A finding with what to know where its module is astray: a parameter that it shares may have been moved there."""
    own = compared_tensors(module)
    is_blamed = any(one.blamed and one.role is Role.MODULE for one in finding.operands)
    is_split = len({value.tensor.device for value in own}) > 1
    return replace(finding, help=(*finding.help, *ties_among(own if is_blamed or is_split else (), roots)))


def finding_of(mismatch: Mismatch, frame: FrameType | None, roots: Roots) -> Finding:
    """What a mismatch means in the user's program, where a frame calls the module."""
    scene = Scene.of(sites_above(frame), roots)
    entry = _Entry(mismatch, scene)
    return replace(
        with_ties(entry.finding(), mismatch.module, scene.roots),
        place=scene.place,
        module=entry.path,
        module_class=type(mismatch.module).__name__,
        suspect=not mismatch.certain,
    )


class _Entry:
    """The entry of a module.

    Attributes:
        path: of the module, `net.encoder.0`; its class if no root holds it.
        name: what a message calls it.
        usual: the device of most parameters of the outer module; empty without an outer module.
        terms: the values on the user's line.
    """

    def __init__(self, mismatch: Mismatch, scene: Scene) -> None:
        self.module, self.own, self.given = mismatch.module, mismatch.own, mismatch.given
        self.scene = scene
        self.terms = scene.operation.terms
        kind = type(mismatch.module).__name__
        paths = ((module_path(mismatch.module, {name: root}), root) for name, root in scene.roots.items())
        self.path, root = next(((path, root) for path, root in paths if path), (kind, mismatch.module))
        self.name = f"`{self.path}` ({kind})"
        devices = [] if root is mismatch.module else devices_by_size(registered_in(root))
        self.usual = next(iter(devices), "")

    def finding(self) -> Finding:
        """What to say of it, in the words in which PyTorch's own error would be explained."""
        is_whole = all(has_data(value.tensor) for value in (*self.own, *self.given))
        has_no_data = bool(self.own) and not any(has_data(value.tensor) for value in self.own)
        # In a network that is on meta as a whole, the input of a module that has data may be astray.
        if not is_whole and (self.usual != "meta" or has_no_data):
            return self._without_data()
        own_devices = _devices(self.own)
        if len(own_devices) > 1:
            return self._split(self.usual if self.usual in own_devices else own_devices[0])
        met = self._met()
        devices = tuple(dict.fromkeys(one.operand.device for one in met))
        return finding_on(self.scene, met, Message(Trouble.APART, devices))

    def _met(self) -> list[Met]:
        """The module and the first argument that is elsewhere, or two arguments of a module without tensors."""
        if self.own:
            device = _devices(self.own)[0]
            term = self._caller_term()
            node = None if term is None else term.node
            module = Met(self._module(device, term), self.module, self.own[0].tensor, node=node)
            return [module, self._argument(_first(self.given, device, elsewhere=True))]
        device = _devices(self.given)[0]
        return [self._argument(_first(self.given, device)), self._argument(_first(self.given, device, elsewhere=True))]

    def _argument(self, value: Value) -> Met:
        term = self._term(value.tensor)
        if term is not None:
            return Met(operand(self.scene, term), value.tensor, node=term.node)
        # The only expression of the call that is on the device; its value is gone, or was passed on as a part.
        terms = self.terms if self._caller_term() else ()
        made = [
            term for term in terms if term.device == str(value.tensor.device) and not isinstance(term.value, Module)
        ]
        if len(made) == 1:
            return Met(operand(self.scene, made[0]), value.tensor, None, made[0].factory, made[0].node)
        return Met(self._described(value), value.tensor)

    def _caller_term(self) -> Term | None:
        """What the user's line calls: the module, or one that calls it."""
        modules = ((term, modules_in(term.value)) for term in self.terms if isinstance(term.value, Module))
        return next((term for term, inner in modules if any(one is self.module for one in inner)), None)

    def _term(self, value: object) -> Term | None:
        """Where a value stands on the user's line."""
        return next((term for term in self.terms if term.value is value), None)

    def _without_data(self) -> Finding:
        empty = next(value for value in (*self.own, *self.given) if not has_data(value.tensor))
        full = next(value for value in (*self.given, *self.own) if has_data(value.tensor))
        blamed, other = self._operand(empty), self._operand(full)
        message = f"`{blamed.name}` is on meta, without data, and meets `{other.name}` on {other.device} in {self.name}"
        if empty in self.own and self.usual == "meta":
            remedy = (
                f"give the whole network data: load its weights, or `to_empty(device={_quoted(other)})`; "
                f"for shapes alone, create `{other.name}` on meta"
            )
        elif empty in self.own:
            remedy = f"load it (is its key missing in the checkpoint?), or `to_empty(device={_quoted(other)})`"
        else:
            remedy = f"create `{blamed.name}` with data, on {other.device}"
        return Finding("DEV602", message, operands=(replace(blamed, blamed=True), other), help=(remedy,))

    def _split(self, right: str) -> Finding:
        blamed = self._operand(_first(self.own, right, elsewhere=True))
        other = self._operand(_first(self.own, right))
        message = f"{self.name} is split: `{blamed.name}` is on {blamed.device} and `{other.name}` on {other.device}"
        remedy = f"move the module after all of its tensors are set: `{self.path}.to({_quoted(other)})`"
        return Finding("DEV601", message, operands=(replace(blamed, blamed=True), other), help=(remedy,))

    # --- operands ---

    def _operand(self, value: Value) -> Operand:
        return replace(self._described(value), history=history_of(value.tensor))

    def _described(self, value: Value) -> Operand:
        if any(value is one for one in self.own):
            path, role = f"{self.path}.{value.name}", role_in(self.module, value.name)
            return Operand(path, role, str(value.tensor.device), describe(value.tensor), path)
        term = self._term(value.tensor)
        if term is not None:
            return operand(self.scene, term)
        return replace(found_operand(self.scene, value.tensor, value.name), role=Role.ARGUMENT)

    def _module(self, device: str, term: Term | None) -> Operand:
        more = len(self.own) - 1
        rest = f" and {more} more {'tensor' if more == 1 else 'tensors'}" if more else ""
        detail = f"{self.own[0].name}: {describe(self.own[0].tensor)}{rest}"
        if term is not None:
            return Operand(term.text, Role.MODULE, device, detail, self.path, operand(self.scene, term).place)
        return Operand(self.path, Role.MODULE, device, detail, self.path)


def _devices(values: Sequence[Value]) -> list[str]:
    return devices_by_size([value.tensor for value in values])


def _first(values: Sequence[Value], device: str, *, elsewhere: bool = False) -> Value:
    """The first of some tensors that is on a device, or elsewhere."""
    return next(value for value in values if (str(value.tensor.device) != device) is elsewhere)


def _quoted(operand: Operand) -> str:
    return f'"{operand.device}"'
