"""Streams and events of pretended devices: all work is done at once, so they only remember their device."""

from __future__ import annotations

from typing import Any

import torch

from tests.judge.pretended.machine import current_device, device_index, set_current_device


class Event:
    """Takes the place of torch.cuda.Event."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        pass

    def record(self, stream: Any = None) -> None:
        pass

    def wait(self, stream: Any = None) -> None:
        pass

    def synchronize(self) -> None:
        pass

    def query(self) -> bool:
        return True

    def elapsed_time(self, other: Any) -> float:
        return 0.1


class Stream:
    """Takes the place of torch.cuda.Stream."""

    device_type = 1
    stream_id = 0
    cuda_stream = 0

    def __init__(self, device: Any = None, *args: Any, **kwargs: Any) -> None:
        if isinstance(device, torch.device):
            device = device.index
        self.device_index = current_device() if device is None else int(device)
        self._outer_device = self.device_index

    @property
    def device(self) -> torch.device:
        return torch.device("cuda", self.device_index)

    def wait_stream(self, stream: Any) -> None:
        pass

    def wait_event(self, event: Any) -> None:
        pass

    def record_event(self, event: Event | None = None) -> Event:
        return event or Event()

    def synchronize(self) -> None:
        pass

    def query(self) -> bool:
        return True

    def is_capturing(self) -> bool:
        return False

    def __enter__(self) -> Stream:
        self._outer_device = current_device()
        set_current_device(self.device_index)
        return self

    def __exit__(self, *exc_info: object) -> None:
        set_current_device(self._outer_device)


class GeneralStream(Stream):
    """Takes the place of torch.Stream, whose instances torch.compile treats in a special way."""


class StreamContext:
    """Takes the place of torch.cuda.stream: makes the stream's device current."""

    def __init__(self, stream: Stream | None) -> None:
        self.stream = stream
        self._outer_device = 0

    def __enter__(self) -> None:
        self._outer_device = current_device()
        if self.stream is not None:
            set_current_device(self.stream.device_index)

    def __exit__(self, *exc_info: object) -> None:
        set_current_device(self._outer_device)


def stream_of(device: Any = None) -> Stream:
    """The one stream of a device, as torch.cuda.current_stream and default_stream return it."""
    return Stream(device_index(device))


class NoContext:
    """Takes the place of nvtx.range: a context and a decorator that change nothing."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        pass

    def __enter__(self) -> NoContext:
        return self

    def __exit__(self, *exc_info: object) -> None:
        pass

    def __call__(self, function: Any) -> Any:
        return function
