"""Streams and events: all work is done at once here, so they only remember their device."""

from __future__ import annotations

import itertools
from typing import Any

import torch

from devlint_guard.rehearsal.machine import check_index, current, index_of, set_current

_numbers = itertools.count(1)


class Event:
    """Stands for `torch.cuda.Event`: everything that was recorded is done."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self.device: torch.device | None = None

    def record(self, stream: Any = None) -> None:
        """Remember the device of the stream."""
        self.device = torch.device("cuda", current() if stream is None else stream.device_index)

    def wait(self, stream: Any = None) -> None:
        """Return at once."""

    def synchronize(self) -> None:
        """Return at once."""

    def query(self) -> bool:
        """Say that the work is done."""
        return True

    def elapsed_time(self, other: Any) -> float:
        """Return a made-up time in milliseconds; it is positive, so that a program may divide by it."""
        return 0.1


class Stream:
    """Stands for `torch.cuda.Stream`."""

    device_type = 1

    def __init__(self, device: Any = None, priority: int = 0, **kwargs: Any) -> None:
        self.device_index = index_of(device)
        check_index(self.device_index)
        self.priority = priority
        self.stream_id = kwargs.get("stream_id", next(_numbers))
        self.cuda_stream = self.stream_id
        self._outer: list[int] = []

    @property
    def device(self) -> torch.device:
        """The device of the stream."""
        return torch.device("cuda", self.device_index)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Stream):
            return NotImplemented
        return (self.device_index, self.stream_id) == (other.device_index, other.stream_id)

    def __hash__(self) -> int:
        return hash((self.device_index, self.stream_id))

    def wait_stream(self, stream: Any) -> None:
        """Return at once."""

    def wait_event(self, event: Any) -> None:
        """Return at once."""

    def record_event(self, event: Event | None = None) -> Event:
        """Return an event that is done."""
        event = Event() if event is None else event
        event.record(self)
        return event

    def synchronize(self) -> None:
        """Return at once."""

    def query(self) -> bool:
        """Say that the work is done."""
        return True

    def is_capturing(self) -> bool:
        """Say that no graph is being captured."""
        return False

    def __enter__(self) -> Stream:
        self._outer.append(current())
        set_current(self.device_index)
        return self

    def __exit__(self, *exc_info: object) -> None:
        set_current(self._outer.pop())


class StreamContext:
    """Stands for `torch.cuda.stream`: makes the stream's device the current one."""

    def __init__(self, stream: Stream | None) -> None:
        self.stream = stream

    def __enter__(self) -> None:
        if self.stream is not None:
            self.stream.__enter__()

    def __exit__(self, *exc_info: object) -> None:
        if self.stream is not None:
            self.stream.__exit__()


def stream_of(device: Any = None) -> Stream:
    """Return the stream of a device that is used where no other was chosen."""
    return Stream(index_of(device), stream_id=0)
