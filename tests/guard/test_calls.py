"""Listening to calls of Python functions, by whichever door the running Python has.

The file is loaded by itself: it needs no torch, which may not exist for the Python that runs.
"""

from __future__ import annotations

import importlib.util
import sys
import threading
from pathlib import Path
from types import FrameType, ModuleType
from typing import Any

import pytest


def _loaded(name: str) -> ModuleType:
    file = Path(__file__).resolve().parents[2] / "runtime_guard" / "devlint_guard" / f"{name}.py"
    spec = importlib.util.spec_from_file_location(f"{name}_by_itself", file)
    assert spec is not None
    assert spec.loader is not None
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    return loaded


calls: Any = _loaded("calls")

EVENTS = list[tuple[str, str, object]]


class Listener:
    """Writes down the calls of functions in this file."""

    def __init__(self) -> None:
        self.events: EVENTS = []

    def listens_to(self, file: str) -> bool:
        return file == __file__

    def started(self, frame: FrameType) -> None:
        self.events.append(("started", frame.f_code.co_name, frame.f_locals.get("x")))

    def returned(self, frame: FrameType, value: object) -> None:
        self.events.append(("returned", frame.f_code.co_name, value))


def outer(x: int) -> list[int]:
    y = x + 1
    return inner(y)


def inner(x: int) -> list[int]:
    return sorted([x for _ in range(2)], key=lambda one: one)


def several(x: int) -> list[int]:
    return [x for x in generated(x)]  # noqa: C416


def generated(x: int):  # type: ignore[no-untyped-def]
    yield x


CALL_OF_OUTER: EVENTS = [
    ("started", "outer", 1),
    ("started", "inner", 2),
    ("returned", "inner", [2, 2]),
    ("returned", "outer", [2, 2]),
]


def test_each_start_and_each_return_of_a_named_function_is_told() -> None:
    listener = Listener()
    assert calls.listen(listener) == ""
    outer(1)
    several(3)
    calls.stop(listener)
    outer(1)
    assert listener.events == [*CALL_OF_OUTER, ("started", "several", 3), ("returned", "several", [3])]


def test_threads_that_start_later_are_listened_to() -> None:
    listener = Listener()
    calls.listen(listener)
    thread = threading.Thread(target=outer, args=(1,))
    thread.start()
    thread.join()
    calls.stop(listener)
    assert listener.events == CALL_OF_OUTER


def test_several_listen_each_as_long_as_it_wants() -> None:
    first, second = Listener(), Listener()
    calls.listen(first)
    calls.listen(second)
    calls.stop(first)
    outer(1)
    calls.stop(second)
    assert (first.events, second.events) == ([], CALL_OF_OUTER)


def test_everything_is_left_as_it_was() -> None:
    listener = Listener()
    calls.listen(listener)
    calls.stop(listener)
    calls.stop(listener)
    assert sys.getprofile() is None
    assert threading.getprofile() is None
    if sys.version_info >= (3, 12):
        assert [sys.monitoring.get_tool(tool) for tool in (3, 4)] == [None, None]


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="there a profiler is in nobody's way")
def test_a_profiler_that_is_there_stays() -> None:
    def profiler(frame: FrameType, event: str, value: object) -> None: ...

    listener = Listener()
    sys.setprofile(profiler)
    try:
        problem = calls.listen(listener)
        outer(1)
        calls.stop(listener)
        assert sys.getprofile() is profiler
    finally:
        sys.setprofile(None)
    assert (problem, listener.events) == ("another profiler is on", [])


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="there a profiler is in nobody's way")
def test_a_profiler_that_comes_stays() -> None:
    def profiler(frame: FrameType, event: str, value: object) -> None: ...

    listener = Listener()
    calls.listen(listener)
    sys.setprofile(profiler)
    try:
        calls.stop(listener)
        assert sys.getprofile() is profiler
    finally:
        sys.setprofile(None)
