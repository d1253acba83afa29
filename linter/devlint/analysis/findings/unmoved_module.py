"""Modules that nothing here moves, and whose inputs are put on a device that was chosen here.

A class or function that chooses a device itself, and calls a module with what it has put there, needs the module there
as well. Where it was given the module, or has loaded it, and never moves it, only somebody else can have done so.
"""

from __future__ import annotations

import re

from devlint.analysis.execution.frame import Frame
from devlint.analysis.index import classes
from devlint.analysis.values import modules, operands
from devlint.analysis.values.arguments import Arguments, ArgumentValue
from devlint.domain.device import UNKNOWN_DEVICE, Device
from devlint.domain.environment import Environment
from devlint.domain.heap import Instance
from devlint.domain.provenance import Origin
from devlint.domain.value import Closure, DeviceValue, Kind, Opaque, Reference, Tensor, UserClass
from devlint.facts import UnmovedModule
from devlint.frontend.ir import Function, Span
from devlint.records import dataclass
from devlint.torchlib.knowledge import CALLED_MODULE

_LOADING = re.compile(r"\bfrom_pretrained\(|\bload\w*\(")
"""What reads a module from somewhere leaves it on the CPU unless it is told otherwise."""

_PLACE = r"to|cuda|cpu|half|device\w*|parameters|named_parameters|state_dict|load_state_dict"
"""What a module has that moves it or says where it is."""

_HEAD = re.compile(r"\bdef \w+\((?:[^()]|\([^()]*\))*\)")
"""The head of a function."""

_MOVES_ITSELF = re.compile(r"\bself\.(to|cuda|_apply)\(")


def note_call(frame: Frame, env: Environment, function: ArgumentValue, arguments: Arguments, span: Span) -> None:
    """Notes that a module which is not moved here is called with what is on a device that was chosen here."""
    if not frame.recording or env.fallback or not isinstance(frame.scope, Function):
        return
    name = frame.text(function.span)
    if not _is_module(frame, env, function, name):
        return
    for given in arguments.all():
        device, event = _choice(frame, env, given)
        if not operands.is_accelerator(device) or event is None or not event.checked:
            continue
        around = _surroundings(frame, name)
        if around is not None and around.holds(event.steps()[0]) and not around.may_move(name.rpartition(".")[2]):
            trace = tuple(operands.step(frame, one) for one in event.steps())
            frame.record(span, UnmovedModule(name, frame.text(given.span), device, trace))
            return


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What could move a module: a function, or a class and its bases.

    Attributes:
        places: where they are defined.
        text: theirs, without the heads of functions.
        parameters: what these functions are given.
    """

    places: tuple[tuple[str, Span], ...]
    text: str
    parameters: frozenset[str]

    def holds(self, event: Origin) -> bool:
        """Whether something has happened here."""
        return any(event.file == file and span.line <= event.span.line <= span.end_line for file, span in self.places)

    def may_move(self, name: str) -> bool:
        """Whether something here moves a module, asks where it is, hands it on to others or makes it otherwise."""
        if _MOVES_ITSELF.search(self.text):
            return True
        names = {name}
        for value in re.findall(rf"\bself\.{name}\s*(?::[^=\n]+)?=(?!=)\s*(.+)", self.text):
            plain = re.match(r"(\w+)\s*(#|$)", value)
            if plain is not None and plain[1] in self.parameters:
                names.add(plain[1])
            elif not _LOADING.search(value) or "device" in value:
                return True
        each = "|".join(sorted(names))
        asked = rf"\b({each})(\.module)?\.({_PLACE})\b"
        handed = rf"[(\[,=]\s*(self\.)?({each})\s*[,)\]]"
        return re.search(f"{asked}|{handed}", self.text) is not None


def _is_module(frame: Frame, env: Environment, function: ArgumentValue, name: str) -> bool:
    """Whether what is called is a module, by all that is known of it or by its name, of which no place is known."""
    value = function.value
    if not re.fullmatch(r"(self\.)?\w+", name):
        return False
    if isinstance(value, Opaque) and value.path.source == name:
        return frame.kind(value) is Kind.MODULE or CALLED_MODULE.search(name) is not None
    if isinstance(value, Reference) and name.startswith("self.") and modules.is_module(frame, env, value):
        device, _ = modules.module_device(frame, env, value)
        return not operands.is_accelerator(device)
    return False


def _surroundings(frame: Frame, name: str) -> Surroundings | None:
    """What could move what is called so; None where that is not all known."""
    assert isinstance(frame.scope, Function)
    owner = frame.owner
    if "." not in name:
        places, functions = [(frame.file, frame.scope.span)], [frame.scope]
        if all(one.name != name for one in frame.scope.parameters):
            return None
    elif owner is None or (classes.is_open(owner) and not classes.is_module(owner)):
        return None
    else:
        every = [item for item in owner.lineage if isinstance(item, UserClass)]
        places = [(cls.globals.file, cls.span) for cls in every if cls.span is not None]
        functions = [one.function for cls in every for one in cls.attributes.values() if isinstance(one, Closure)]
    text = "\n".join(frame.program.source(file, span) for file, span in places)
    given = frozenset(one.name for function in functions for one in function.parameters)
    return Surroundings(tuple(places), _HEAD.sub("", text), given)


def _choice(frame: Frame, env: Environment, given: ArgumentValue) -> tuple[Device, Origin | None]:
    """Where an argument is, with why; if nothing is known of it, where what made it was told to put something."""
    value, name = given.value, frame.text(given.span)
    if isinstance(value, (Tensor, Opaque)) and operands.is_accelerator(value.device):
        return value.device, value.origin
    made = rf"^\s*(?:\w+,\s*)*{name}(?:,\s*\w+)*\s*=\s*\w.*[(,=]\s*((?:self\.)?\w*device)\s*[,)]"
    source = frame.program.source(frame.file, frame.scope.span)
    found = re.search(made, source, re.MULTILINE) if name.isidentifier() else None
    if found is None:
        return UNKNOWN_DEVICE, None
    owner, dot, attribute = found[1].rpartition(".")
    target = env.names.get(owner if dot else attribute)
    if dot:
        held = env.heap.get(target.object) if isinstance(target, Reference) else None
        target = held.get(attribute) if isinstance(held, Instance) else None
    return (target.device, target.origin) if isinstance(target, DeviceValue) else (UNKNOWN_DEVICE, None)
