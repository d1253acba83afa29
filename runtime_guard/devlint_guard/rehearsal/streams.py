"""Streams and events: all work is done at once here, so they remember their device, and which stream is current."""

from __future__ import annotations

import itertools
import threading
from typing import Any

import torch

from devlint_guard.rehearsal.machine import MACHINE, check_index, current, index_of, numbered, set_current

_numbers = itertools.count(1)


class _Current(threading.local):
    """The streams that the calling thread has chosen, by the index of their device."""

    def __init__(self) -> None:
        self.streams: dict[int, Stream] = {}


_CURRENT = _Current()


class _Work:
    """What can be waited for: everything is done."""

    def _at_once(self, *other: Any) -> None:
        pass

    wait = wait_stream = wait_event = synchronize = _at_once

    def query(self) -> bool:
        """Say that the work is done."""
        return True


class Event(_Work):
    """Stands for `torch.Event`, `torch.cuda.Event` and its like."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self.device: torch.device | None = None

    def record(self, stream: Any = None) -> None:
        """Remember the device of the stream."""
        self.device = numbered(current() if stream is None else stream.device_index)

    def elapsed_time(self, other: Any) -> float:
        """Return a made-up time in milliseconds; it is positive, so that a program may divide by it."""
        return 0.1


class Stream(_Work):
    """Stands for `torch.Stream`, `torch.cuda.Stream` and its like."""

    def __init__(self, device: Any = None, priority: int = 0, **kwargs: Any) -> None:
        self.device_index = index_of(device)
        check_index(self.device_index)
        self.priority = priority
        self.stream_id = self.cuda_stream = kwargs.get("stream_id", next(_numbers))
        self._outer: list[tuple[int, Stream]] = []

    @property
    def device_type(self) -> int:
        """The number of the type of its device."""
        return MACHINE.kind.number

    @property
    def device(self) -> torch.device:
        """The device of the stream."""
        return numbered(self.device_index)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Stream):
            return NotImplemented
        return (self.device_index, self.stream_id) == (other.device_index, other.stream_id)

    def __hash__(self) -> int:
        return hash((self.device_index, self.stream_id))

    def record_event(self, event: Event | None = None) -> Event:
        """Return an event that is done."""
        event = Event() if event is None else event
        event.record(self)
        return event

    def is_capturing(self) -> bool:
        """Say that no graph is being captured."""
        return False

    def __enter__(self) -> Stream:
        self._outer.append((current(), current_stream(self.device_index)))
        set_stream(self)
        return self

    def __exit__(self, *exc_info: object) -> None:
        index, before = self._outer.pop()
        set_stream(before)
        set_current(index)


def default_stream(device: Any = None) -> Stream:
    """Return the stream of a device that is used where no other was chosen."""
    return Stream(index_of(device), stream_id=0)


def current_stream(device: Any = None) -> Stream:
    """Return the stream that the calling thread uses on a device."""
    return _CURRENT.streams.get(index_of(device)) or default_stream(device)


def set_stream(stream: Stream | None) -> None:
    """Make a stream the current one of its device, and the device the current one."""
    if stream is not None:
        set_current(stream.device_index)
        _CURRENT.streams[stream.device_index] = stream


def forget() -> None:
    """Make the default streams the current ones of the calling thread."""
    _CURRENT.streams.clear()
