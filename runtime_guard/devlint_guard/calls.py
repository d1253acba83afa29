"""Calls of Python functions while a program runs, as Python itself tells of them: each start and each return.

`sys.monitoring` (CPython 3.12) tells of the functions that somebody listens to, in all threads, and of no other at no
cost. Before that there is `sys.setprofile`, which tells of every call, in the thread that begins to listen and in those
that start afterwards. Both may have another owner: an active profiler stays, and a later one stays too. Generators and
coroutines, which start and return many times, are passed over, as are functions without a name.
"""

from __future__ import annotations

import inspect
import sys
import threading
from types import CodeType, FrameType
from typing import Any, Final, Protocol


class Listener(Protocol):
    """Is told of calls, in the thread that makes them, while the called function waits. It must not raise."""

    def listens_to(self, file: str) -> bool:
        """Whether functions of a source file matter; asked once for each."""

    def started(self, frame: FrameType) -> None:
        """A function begins: its arguments are its locals."""

    def returned(self, frame: FrameType, value: object) -> None:
        """A function ends with a value; where it has raised, Python before 3.12 tells of None."""


_SUSPENDS: Final = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR

_TOOLS: Final = (4, 3)
"""Numbers of tools for `sys.monitoring` that are nobody's by convention."""

_lock = threading.RLock()
_listeners: tuple[Listener, ...] = ()
_files: dict[str, bool] = {}
_tool: int | None = None


def listen(listener: Listener) -> str:
    """Begins to tell of calls; returns why that is not possible, or an empty string."""
    global _listeners
    with _lock:
        before, _listeners = _listeners, (*_listeners, listener)
        _files.clear()
        problem = "" if before else _begin()
        if problem:
            _listeners = before
        return problem


def stop(listener: Listener) -> None:
    """Tells a listener of nothing any more; with the last one, everything is as it was."""
    global _listeners
    with _lock:
        if any(one is listener for one in _listeners):
            _listeners = tuple(one for one in _listeners if one is not listener)
            if not _listeners:
                _end()


def _matters(code: CodeType) -> bool:
    file = code.co_filename
    known = _files.get(file)
    if known is None:
        wanted = [one.listens_to(file) for one in _listeners]
        known = _files[file] = any(wanted)
    return known and not code.co_flags & _SUSPENDS and not code.co_name.startswith("<")


if sys.version_info >= (3, 12):
    _EVENTS: Final = sys.monitoring.events

    def _begin() -> str:
        global _tool
        free = [tool for tool in _TOOLS if sys.monitoring.get_tool(tool) is None]
        if not free:
            return "other tools have the numbers 3 and 4 of sys.monitoring"
        _tool = free[0]
        sys.monitoring.use_tool_id(_tool, "devlint")
        sys.monitoring.register_callback(_tool, _EVENTS.PY_START, _on_start)
        sys.monitoring.register_callback(_tool, _EVENTS.PY_RETURN, _on_return)
        sys.monitoring.set_events(_tool, _EVENTS.PY_START | _EVENTS.PY_RETURN)
        return ""

    def _end() -> None:
        global _tool
        if _tool is not None:
            sys.monitoring.set_events(_tool, 0)
            sys.monitoring.register_callback(_tool, _EVENTS.PY_START, None)
            sys.monitoring.register_callback(_tool, _EVENTS.PY_RETURN, None)
            sys.monitoring.free_tool_id(_tool)
            # What was disabled would stay so for whoever has the number next.
            sys.monitoring.restart_events()
            _tool = None

    def _on_start(code: CodeType, instruction: int) -> Any:
        if not _matters(code):
            return sys.monitoring.DISABLE
        for listener in _listeners:
            listener.started(sys._getframe(1))
        return None

    def _on_return(code: CodeType, instruction: int, value: object) -> Any:
        if not _matters(code):
            return sys.monitoring.DISABLE
        for listener in _listeners:
            listener.returned(sys._getframe(1), value)
        return None

else:

    def _begin() -> str:
        if sys.getprofile() is not None or threading.getprofile() is not None:
            return "another profiler is on"
        threading.setprofile(_on_event)
        sys.setprofile(_on_event)
        return ""

    def _end() -> None:
        if threading.getprofile() is _on_event:
            threading.setprofile(None)
        if sys.getprofile() is _on_event:
            sys.setprofile(None)

    def _on_event(frame: FrameType, event: str, value: object) -> None:
        if event == "call":
            if _matters(frame.f_code):
                for listener in _listeners:
                    listener.started(frame)
        elif event == "return":
            if _matters(frame.f_code):
                for listener in _listeners:
                    listener.returned(frame, value)
            elif not _listeners:  # in a thread that has outlived the last of them
                sys.setprofile(None)
