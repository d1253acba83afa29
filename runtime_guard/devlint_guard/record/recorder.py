"""What is kept of a run while something records, and what is asked of it once there is an error."""

from __future__ import annotations

import contextlib
import functools
import threading
from collections.abc import Callable, Iterable, Iterator
from types import CodeType, FrameType
from typing import Any, TypeVar, cast

import torch
from torch import Tensor, nn
from torch._C import DisableTorchFunction
from torch.utils.weak import WeakIdKeyDictionary

from devlint_guard.program.stored import modules_in
from devlint_guard.program.undisturbed import is_of_the_program
from devlint_guard.record import stacks
from devlint_guard.record.stacks import Event, Kind
from devlint_guard.record.storages import PLACES, PLAIN, UNKNOWN, Place, Storages, function_modes, place_of, storage_of

MOST_MOVES = 4
"""So many of the last moves of a module are kept."""

MOST_TIMES = 200
"""So many tensors are noted that one line makes or keeps while all is together."""


class _Thread(threading.local):
    """What a thread is doing.

    Attributes:
        batch: the event of the batch that a loader is making.
        applying: the event of the `Module._apply` that is running.
        is_muted: the guard itself, or a helper of PyTorch, makes tensors.
    """

    batch: Event | None = None
    applying: Event | None = None
    is_muted = False


def flat(values: Iterable[Any]) -> list[Any]:
    """The arguments of an operator, and the elements of lists instead of the lists."""
    return [one for value in values for one in (value if value.__class__ is list else (value,))]


@contextlib.contextmanager
def doing(thread: threading.local, **marks: Any) -> Iterator[None]:
    """While the body runs, the calling thread has other marks."""
    before = {name: getattr(thread, name) for name in marks}
    vars(thread).update(marks)
    try:
        yield
    finally:
        vars(thread).update(before)


Method = TypeVar("Method", bound=Callable[..., None])


def _quietly(method: Method) -> Method:
    """Lets a method look at tensors unseen by the program's function modes and classes; what fails in it is dropped."""

    @functools.wraps(method)
    def noted(self: Recorder, *args: Any) -> None:
        if not self.is_on:
            return
        try:
            if not function_modes() and all(one.__class__ in PLAIN or not isinstance(one, Tensor) for one in args):
                method(self, *args)
            else:
                with DisableTorchFunction():
                    method(self, *args)
        except Exception as problem:
            if is_of_the_program(problem):
                raise

    return cast(Method, noted)


class Recorder:
    """The events of a run. One process has one, `RECORD`.

    Attributes:
        is_on: something records.
        copies: of a storage that was moved, the event of the move: its result is another storage.
        keeps: where an attribute, an element or a list of any object was given the storage last.
        default: the last change of the default device.
        nones: the stores that were given None at a time.
        refused: the operands of the last operator that was refused.
        resting: what is called once tensors can be on several devices: modes that have stepped aside until then.
        has_meta: some have no data.
    """

    def __init__(self) -> None:
        self.is_on = False
        self.copies, self.keeps = Storages[Event](), Storages[Event]()
        self.default: Event | None = None
        self.refused: list[Tensor] = []
        self.nones: set[tuple[CodeType, int]] = set()
        self.resting: list[Callable[[], object]] = []
        self.has_meta = False
        self.thread = _Thread()
        self._times: dict[tuple[int, int], int] = {}
        self._stores: Any = WeakIdKeyDictionary()
        self._applied: Any = WeakIdKeyDictionary()

    def forget(self) -> None:
        """Drops everything that was noted."""
        PLACES.forget()
        self.copies.forget()
        self.keeps.forget()
        self._stores.clear()
        self._applied.clear()
        self._times.clear()
        self.refused.clear()
        self.nones.clear()
        self.default = None
        stacks.forget()

    @property
    def is_listening(self) -> bool:
        """Whether what this thread does now is noted."""
        return self.is_on and not self.thread.is_muted and not torch.compiler.is_compiling()

    def apart(self, device: torch.device | None = None) -> None:
        """Tensors can be on several devices from now on, one of them a device."""
        self.has_meta = self.has_meta or (device is not None and device.type == "meta")
        for call in self.resting.copy():
            call()

    def is_loop(self, frame: FrameType) -> bool:
        """Whether the running line of a frame has run very often while all is together: what it does is not noted."""
        if not self.resting:
            return False
        line = id(frame.f_code), frame.f_lasti  # to hash the code itself takes as long as a small operator
        times = self._times.get(line, 0)
        if times < MOST_TIMES:
            self._times[line] = times + 1
        return times >= MOST_TIMES

    # --- noted while the program runs ---

    @_quietly
    def created(self, result: Any, by: str, source: Callable[[], Event | None] | None = None) -> None:
        """A factory has made a tensor.

        Args:
            result: the tensor.
            by: the factory, `torch.zeros`.
            source: finds the event of the tensor whose device it took.
        """
        if not isinstance(result, Tensor) or not self.is_listening:
            return
        batch = self.thread.batch
        if batch is not None:
            self.put_there(result, Place(None, batch))
            return
        device = result.device
        told = None if source is None else source()
        event = Event(Kind.CREATED, by, stacks.stack(), after=device, source=told)
        self.put_there(result, Place(None, event))
        if device.type != "cpu":
            self.apart(device)

    @_quietly
    def computed(self, result: Any, operands: Iterable[Any]) -> None:
        """An operator has run: its result is where the operand is that was put there last."""
        self.inherited(result, self.latest(operands))

    def latest(self, operands: Iterable[Any]) -> Place:
        """The place of the operand that was put there last, or of the batch that a loader is making."""
        latest = UNKNOWN
        if self.thread.batch is not None:
            return Place(None, self.thread.batch)
        for one in flat(operands):
            place = place_of(one) if isinstance(one, Tensor) else latest
            if place.origin is not None and place.number > latest.number:
                latest = place if place.origin.after in (None, one.device) else latest
        return latest

    def inherited(self, result: Any, place: Place) -> None:
        """The results of an operator are where they are because of the event of an operand."""
        if place.origin is not None:
            for one in result if result.__class__ in (tuple, list) else (result,):
                if isinstance(one, Tensor):
                    self.put_there(one, place)

    def put_there(self, tensor: Tensor, place: Place) -> None:
        """The event of a place has put a tensor where it is; its label stays."""
        storage = storage_of(tensor)
        if storage is not None:
            entry = PLACES.entries.get(storage._cdata)
            label = None if entry is None else entry[1].label
            PLACES.put_storage(storage, place if place.label == label else Place(label, place.origin))

    @_quietly
    def moved(self, source: Tensor, result: Tensor, by: str) -> None:
        """A tensor was to be on a device: it was copied there, or was there before."""
        if not self.is_listening:
            return
        event, before, after = self.thread.applying, source.device, result.device
        if event is None:
            event = Event(Kind.MOVED, by, stacks.stack(), before=before, after=after, source=place_of(source).origin)
            if before != after:
                self.copies.put(source, event)
        elif before == after:
            return
        event.before, event.after = before, after
        self.put_there(result, Place(None, event))
        if before != after:
            self.apart(after)

    @_quietly
    def applied(self, module: nn.Module, event: Event) -> None:
        """A module was moved, with all that are registered in it."""
        if event.after is None:
            return
        for one in modules_in(module):
            moves = self._applied.setdefault(one, [])
            moves.append(event)
            del moves[:-MOST_MOVES]
        if event.after.type != "cpu" or event.before not in (None, event.after):
            self.apart(event.after)

    @_quietly
    def stored(self, owner: nn.Module, name: str, value: object) -> None:
        """A module has registered a tensor or a module, or keeps one in an attribute."""
        if self.is_listening:
            self._stores.setdefault(owner, {})[name] = Event(Kind.STORED, name, stacks.stack())

    @_quietly
    def kept(self, values: list[Tensor]) -> None:
        """An attribute, an element or a list was given tensors."""
        if values and self.is_listening:
            event = Event(Kind.STORED, "", stacks.stack())
            for one in values:
                self.keeps.put(one, event)

    # --- asked for once there is an error ---

    def of(self, tensor: Tensor) -> Event | None:
        """The last event that decided where a tensor is; for one without memory of its own, that of its base."""
        found = place_of(tensor).origin
        base = tensor._base if found is None and tensor._is_view() else None
        return found if base is None else place_of(base).origin

    def store_of(self, owner: nn.Module, name: str) -> Event | None:
        """Where a module was given what it has under a name."""
        return self._stores.get(owner, {}).get(name)  # type: ignore[no-any-return]

    def moves_of(self, owner: nn.Module) -> list[Event]:
        """The last moves of a module, the oldest first."""
        return list(self._applied.get(owner, ()))

    def keep_of(self, tensor: Tensor) -> Event | None:
        """Where the program kept a tensor in an object, after the event that decided its device."""
        found, event = self.keeps.of(tensor), self.of(tensor)
        return found if found is not None and (event is None or found.number > event.number) else None


RECORD = Recorder()
