"""Trainers of lightning: they move a module and call its steps, with batches that they have moved there as well.

The order is that of lightning 2.6: `setup` runs when `self.device` already names the target, but before the parameters
move, so the module moves again behind it. The trainer brings the module back at the end, but older versions do not.
"""

from __future__ import annotations

from typing import Final

from devlint.inference.libraries.python import AVAILABLE
from devlint.inference.libraries.table import CallSite, handles
from devlint.inference.state.frame import Arguments, Frame
from devlint.inference.state.moves import move, moved
from devlint.inference.values.devices import denoted
from devlint.inference.values.joins import either, join_all
from devlint.inference.values.objects import (
    DICT,
    LIBRARY,
    LIST,
    ClassValue,
    Function,
    Instance,
    bound,
    instance,
    library,
)
from devlint.inference.values.tensors import CPU, Alternatives, Row, Tensor, Tuple, device, pack, row
from devlint.inference.values.terms import (
    ABSENT,
    DEVICE,
    NONE,
    NUMBER,
    UNKNOWN,
    Constant,
    Value,
    constant,
    is_symbolic,
)

TRAINER: Final = "lightning.Trainer"
ACCELERATORS: Final = {"gpu": device("cuda:0"), "cuda": device("cuda:0"), "cpu": CPU}
FIT: Final = ("train_dataloaders", "train_dataloader", "training_step")
VALIDATE: Final = ("val_dataloaders", "val_dataloader", "validation_step")
STAGES: Final = {
    "validate": ("dataloaders", *VALIDATE[1:]),
    "test": ("dataloaders", "test_dataloader", "test_step"),
    "predict": ("dataloaders", "predict_dataloader", "predict_step"),
}
"""Of a stage: the argument with its loader, the method that makes one, and its step."""
TURNS: Final = (constant(0), constant(1), NUMBER)
"""The numbers of the batches for which a step is called."""


@handles(TRAINER)
def trainer(call: CallSite) -> Value:
    """Return a trainer; without another choice, it works on one accelerator if there is one."""
    where, several = call.option("accelerator"), call.option("devices")
    place: Value = UNKNOWN
    if isinstance(where, Constant) and isinstance(where.value, str):
        place = ACCELERATORS.get(where.value, UNKNOWN)
    if where is None or (isinstance(where, Constant) and where.value in ("auto", None)):
        place = either(AVAILABLE, ACCELERATORS["gpu"], CPU)
    if several is not None and not (isinstance(several, Constant) and several.value in (1, "auto", "1")):
        place = UNKNOWN  # perhaps it names another one than the first
    made = call.frame.make(LIBRARY, call.span, library(TRAINER))
    call.frame.heap.put(made, DEVICE, place)
    return made


@handles(*[f"{TRAINER}:{name}" for name in ("fit", *STAGES)])
def run(call: CallSite) -> Value:
    """Move a module, and call its steps and hooks in the order of the trainer."""
    frame, model = call.frame, call.argument(0, "model")
    where = frame.heap.get(call.receiver, DEVICE) or UNKNOWN
    move(frame, model, where, frame.source())
    if where is not UNKNOWN and isinstance(model, Instance) and isinstance(model.of, ClassValue):
        _hook(call, model, "setup", constant(call.name))
        move(frame, model, where, frame.source())
        if call.name == "fit":
            for name in ("on_fit_start", "on_train_start", "on_train_epoch_start"):
                _hook(call, model, name)
            _steps(call, model, where, 1, FIT)
            _steps(call, model, where, 2, VALIDATE)
            for name in ("on_validation_epoch_end", "on_train_epoch_end", "on_train_end"):
                _hook(call, model, name)
        else:
            _steps(call, model, where, 1, STAGES[call.name])
            _hook(call, model, f"on_{'validation' if call.name == 'validate' else call.name}_epoch_end")
    move(frame, model, UNKNOWN, NONE)
    return UNKNOWN if call.name != "fit" else NONE


@handles("lightning.LightningModule:load_from_checkpoint")
def load_from_checkpoint(call: CallSite) -> Value:
    """Return a module of a class, where the call asks for it; the checkpoint may give other arguments as well."""
    frame, named = call.frame, dict(call.arguments.named)
    where = named.pop("map_location", call.given(1, ""))
    made = frame.engine.call(frame, call.receiver, Arguments([], named, None, row(UNKNOWN)), call.span)
    move(frame, made, UNKNOWN if where is None else denoted(where, UNKNOWN), frame.source())
    return made


def _steps(call: CallSite, model: Instance, where: Value, position: int, stage: tuple[str, ...]) -> None:
    """Call a step of a module for the batches of a loader, as far as the loader is known."""
    frame = call.frame
    keyword, makes, step = stage
    loader = call.given(position, keyword)
    first = call.given(1, "datamodule")
    is_data = isinstance(first, Instance) and isinstance(first.of, ClassValue)
    data = first if is_data and first is not None else call.option("datamodule") or model
    loader = None if loader is data else loader
    if loader is None or loader is NONE:
        if data is not model:
            _hook(call, data, "setup", constant(call.name))
        loader = _hook(call, data, makes)
    if loader is None:
        return
    batch = frame.engine.iterated(frame, loader, call.span)
    batch = there(frame, frame.unknown("batch", call.span) if batch is UNKNOWN else batch, where, call)
    for turn in TURNS:
        _hook(call, model, step, batch, turn, NUMBER)


def _hook(call: CallSite, owner: Value, name: str, *given: Value) -> Value | None:
    """Call a method of an object, if its class has it, with as many arguments as it takes; None if it has not."""
    frame = call.frame
    found = owner.of.code.lookup(name) if isinstance(owner, Instance) and isinstance(owner.of, ClassValue) else None
    if not isinstance(found, Function) or found.body.function is None or found.body.function.is_stub:
        return None
    taken = [each.kind for each in found.body.function.parameters[1:]]
    several = len(given) if "args" in taken else len(taken)
    before = frame.state.fork()
    value = frame.engine.call(frame, bound(found, owner), Arguments(list(given[:several]), {}), call.span)
    if not frame.is_live:
        frame.state = before
    return value


def there(frame: Frame, value: Value, where: Value, call: CallSite) -> Value:
    """Return a batch that was moved: its tensors, in tuples, lists and dictionaries, and objects with a method `to`."""
    if isinstance(value, Tensor) or is_symbolic(value):
        return moved(frame, value, where, frame.source())
    if isinstance(value, Tuple):
        return pack(*[there(frame, each, where, call) for each in value.items])
    if isinstance(value, Row):
        entries = [(key, each if each is ABSENT else there(frame, each, where, call)) for key, each in value.entries]
        return row(value.base, tuple(entries))
    if isinstance(value, Alternatives):
        return join_all([there(frame, each, where, call) for each in value.options])
    if isinstance(value, Instance) and value.kind in (LIST, DICT):
        made = instance(frame.site(call.span, f"moved {value.text}"), value.kind, value.of)
        for field, held in dict(frame.heap.fields(value)).items():
            frame.heap.put(made, field, there(frame, held, where, call))
        return made
    if isinstance(value, Instance) and isinstance(value.of, ClassValue):
        found = _hook(call, value, "to", where)
        return value if found is None else found
    return value
