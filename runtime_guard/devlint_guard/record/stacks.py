"""The user's lines that are running, cheap to note; made into places and source text once there is a report."""

from __future__ import annotations

import ast
import enum
import itertools
import sys
from collections.abc import Mapping
from types import CodeType, FrameType
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from devlint_guard.finding import Place
from devlint_guard.program import frames
from devlint_guard.program.expressions import as_device, numbered
from devlint_guard.program.frames import place_in_code, smallest_around, source_of_file, span_at, statement_at
from devlint_guard.program.stored import device_of_part, dictionary_of, registered_in, table_of

DEEPEST, DEEPEST_OF_ALL = 3, 12
"""So many of the user's frames are noted with an event, and with the constructors among them so many."""

MOST_FIELDS = 50
"""So many attributes of an object are looked through for devices."""


class Entry(NamedTuple):
    """A line of the user's that is running: the instruction, from which its expression follows, and the line."""

    code: CodeType
    instruction: int
    line: int

    @property
    def source(self) -> frames.Source | None:
        """The source of its file; None where there is none."""
        return source_of_file(self.code.co_filename)

    @property
    def node(self) -> ast.expr | ast.stmt | None:
        """The expression or statement that the instruction was compiled from; None before CPython 3.11."""
        source, span = self.source, span_at(self.code, self.instruction)
        return None if source is None or span is None else smallest_around(source.tree, *span)

    @property
    def call(self) -> ast.Call | None:
        """The call that the instruction makes."""
        node: Any = self.node
        while isinstance(node, (ast.Expr, ast.Assign, ast.AnnAssign, ast.Return, ast.Await)):
            node = node.value
        return node if isinstance(node, ast.Call) else None

    @property
    def statement(self) -> ast.stmt | None:
        """The innermost statement on the line."""
        source = self.source
        return None if source is None else statement_at(source.tree, self.line)

    @property
    def text(self) -> str:
        """The source of the expression, or of a statement without others in it; shortened."""
        node, source = self.node or self.statement, self.source
        return "" if node is None or source is None or hasattr(node, "body") else shortened(source.of(node))

    @property
    def place(self) -> Place:
        """As reports show it."""
        node = self.node
        return frames.line_in_code(self.code, self.line) if node is None else place_in_code(self.code, node)

    @property
    def devices(self) -> dict[str, str]:
        """The expressions that named a device when the line ran first, each with the device, the best first."""
        return _devices.get((id(self.code), self.instruction), {})


Stack = tuple[Entry, ...]
"""The innermost first."""

# Both are keyed by the id of a code object, since its hash takes as long as a small operator. `_user` keeps each code
# object alive, so that no other one gets its id.
_user: dict[int, tuple[bool, CodeType]] = {}
_devices: dict[tuple[int, int], dict[str, str]] = {}


def forget() -> None:
    """Drops all notes of lines."""
    _user.clear()
    _devices.clear()


def stack() -> Stack:
    """The innermost of the user's frames that are running."""
    found: list[Entry] = []
    left = DEEPEST
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        code = frame.f_code
        known = _user.get(id(code))
        if known is None:
            known = _user[id(code)] = frames.is_user_code(code, frame.f_globals.get("__name__")), code
        if known[0]:
            if (id(code), frame.f_lasti) not in _devices and can_read(frame):
                devices = {key: one for key, one in frame.f_globals.items() if isinstance(one, (str, torch.device))}
                _devices[id(code), frame.f_lasti] = devices_in({**devices, **frame.f_locals})
            found.append(Entry(code, frame.f_lasti, frame.f_lineno))
            left -= code.co_name != "__init__"
            if not left or len(found) == DEEPEST_OF_ALL:
                break
        frame = frame.f_back
    return tuple(found)


def can_read(frame: FrameType) -> bool:
    """Whether the variables of a running frame can be read without an effect on the program.

    Before CPython 3.13, a frame that was asked for its variables keeps them alive, and changes what `locals()` has
    returned before: only a rehearsal asks, and no function that calls `locals`.
    """
    return sys.version_info >= (3, 13) or (reads_variables and "locals" not in frame.f_code.co_names)


reads_variables = False
"""Switched on by a rehearsal."""


def shortened(text: str) -> str:
    """The beginning of a long piece of source."""
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"


_LONGEST = 60


# --- which expressions name a device ------------------------------------------------------------------------


def devices_in(names: Mapping[str, object]) -> dict[str, str]:
    """The expressions with some variables that name a device, each with the device, the best first."""
    told: dict[str, str] = {}
    tensors: dict[str, str] = {}
    fields: dict[str, str] = {}
    for name, value in names.items():
        if name.startswith("__") or not name.isidentifier() or isinstance(value, type):
            continue
        if isinstance(value, Tensor):
            tensors[f"{name}.device"] = str(value.device)
        elif (device := device_named(value)) is not None:
            told[name] = device
        elif isinstance(value, nn.Module):
            _of_module(name, value, fields)
        elif not isinstance(value, (int, float, str)):
            for key, one in list(dictionary_of(value).items())[:MOST_FIELDS]:
                _of_field(f"{name}.{key}", one, told, fields)
    # In a method, a tensor that is given is where the call is; a device that was noted once may be older.
    return {**tensors, **told, **fields} if "self" in names else {**told, **tensors, **fields}


def _of_field(text: str, value: object, told: dict[str, str], fields: dict[str, str]) -> None:
    if text.rpartition(".")[2].startswith("_"):
        return
    if isinstance(value, Tensor):
        fields[f"{text}.device"] = str(value.device)
    elif isinstance(value, nn.Module):
        _of_module(text, value, fields)
    elif (device := device_named(value)) is not None:
        told[text] = device


def _of_module(text: str, module: nn.Module, found: dict[str, str]) -> None:
    for key, one in (*table_of(module, "_buffers"), *table_of(module, "_parameters")):
        if isinstance(one, Tensor) and key.isidentifier():
            found[f"{text}.{key}.device"] = str(one.device)
    devices = {str(one.device) for one in registered_in(module)}
    if len(devices) == 1 and (part := device_of_part(text, module)):
        found[part] = devices.pop()
    for key, value in list(dictionary_of(module).items())[:MOST_FIELDS]:
        if not isinstance(value, (dict, nn.Module)):
            _of_field(f"{text}.{key}", value, found, found)


def device_named(value: object) -> str | None:
    """The device that a value names, with its number; None for a value that names none."""
    is_text = isinstance(value, str) and value.startswith(("cpu", "cuda", "mps", "xpu")) and len(value) <= _DEVICE
    device = numbered(as_device(value)) if is_text or isinstance(value, torch.device) else None
    return None if device is None else str(device)


_DEVICE = len("cuda:128")


# --- what happened there ------------------------------------------------------------------------------------


class Kind(enum.Enum):
    """What happened."""

    CREATED = "created"
    MOVED = "moved"
    MODULE = "moved with its module"
    LOADED = "loaded"
    BATCH = "given by a loader"
    STORED = "stored"
    DEFAULT = "default device"


_count = itertools.count(1)


class Event:
    """One thing that happened.

    Attributes:
        number: later events have larger ones.
        by: what did it, as a report names it where the source does not: `torch.zeros`.
        before: the device that a move was from.
        after: the device where its tensors are; None where it leaves them where they are.
        stack: the user's frames that were running.
        source: the event of what it took its device from: a tensor that was moved, `x` of `device=x.device`, a part
            of a batch.
    """

    __slots__ = ("after", "before", "by", "kind", "number", "source", "stack")

    def __init__(
        self, kind: Kind, by: str, stack: Stack, *, before: Any = None, after: Any = None, source: Event | None = None
    ) -> None:
        self.number = next(_count)
        self.kind, self.by, self.stack = kind, by, stack
        self.before, self.after, self.source = before, after, source

    @property
    def root(self) -> Event:
        """The event that decided the device: that of `x`, if something was created with `device=x.device`."""
        event = self
        while event.kind is Kind.CREATED and event.source is not None:
            event = event.source
        return event
