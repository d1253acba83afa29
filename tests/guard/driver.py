"""Run by the judge as a program: executes another one and prints what the guard makes of the error that ends it.

Arguments: the file of the program or "", its text, a function to call or "", and the way to the explanation: `explain`
reads the error, `run` and `record` have a guard around the program, as `devlint run` has in those modes, and `plain`
leaves the program alone.
"""

from __future__ import annotations

import contextlib
import json
import linecache
import re
import sys
import types
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType

import torch
from devlint_guard.errors import DeviceMismatchError
from devlint_guard.finding import Finding
from devlint_guard.findings.explanation import explain
from devlint_guard.program import frames
from devlint_guard.record.stores import compiled
from devlint_guard.report.json import encoded
from devlint_guard.session import Guard

MARK = "explained: "

Found = tuple[list[torch.nn.Module], dict[str, object]]
"""The modules whose calls an error went through, and the variables of the program's own frames."""


def main(file: str, text: str, call: str, way: str = "explain") -> None:
    """Executes the program; raises what it raises."""
    if not file:
        file = str(Path("program.py").resolve())
        Path(file).write_text(text, encoding="utf-8")
    linecache.cache[file] = (len(text), None, text.splitlines(True), file)
    program = types.ModuleType("program" if call else "__main__")
    program.__file__ = file
    sys.modules[program.__name__] = program
    sys.argv = [file]
    _hide()
    guard = Guard(mode="record" if way == "record" else "raise") if way in ("run", "record") else None
    try:
        with guard or contextlib.nullcontext():
            exec(compiled(text.encode(), file), program.__dict__)
            if call:
                getattr(program, call)()
    except BaseException as error:
        _report(error, file, way, guard.findings[-1] if guard is not None and guard.findings else None)
        raise


def _hide() -> None:
    """This file is no code of the user's."""
    original = frames.is_installed
    frames.is_installed = lambda file: file == __file__ or original(file)  # type: ignore[assignment]


def _report(error: BaseException, file: str, way: str, found_by_guard: Finding | None) -> None:
    found: Found = ([], {})
    one: BaseException | None = error
    while one is not None:
        one.__traceback__ = _without_driver(one.__traceback__)
        _collect(one.__traceback__, file, found)
        one = one.__cause__ or one.__context__
    modules, names = found
    finding = found_by_guard
    if finding is None and way != "plain":
        finding = error.finding if isinstance(error, DeviceMismatchError) else explain(error)
    path = None
    if modules and finding is not None:
        # A module that no variable holds is called by the name of its class.
        classes = {type(module).__name__: module for module in modules[::-1]}
        path = bool(finding.module) and _leads_to(finding.module, {**names, **classes}, modules[-1])
    notes = list(getattr(error, "__notes__", ()))
    said = {"finding": None if finding is None else encoded(finding), "path": path, "notes": notes}
    print(MARK + json.dumps(said), flush=True)


def _without_driver(traceback: TracebackType | None) -> TracebackType | None:
    """The frames of a traceback that PyTorch and the program have."""
    frames = []
    while traceback is not None:
        frames.append((traceback.tb_frame, traceback.tb_lasti, traceback.tb_lineno))
        traceback = traceback.tb_next
    kept = None
    for frame, instruction, line in reversed(frames):
        if frame.f_globals is not globals():
            kept = TracebackType(kept, frame, instruction, line)
    return kept


def _collect(traceback: TracebackType | None, file: str, found: Found) -> None:
    modules, names = found
    while traceback is not None:
        frame, traceback = traceback.tb_frame, traceback.tb_next
        own = frame.f_locals.get("self")
        if frame.f_code.co_filename == file or not frames.is_installed(frame.f_code.co_filename):
            for key, value in {**frame.f_globals, **frame.f_locals}.items():
                names.setdefault(key, value)
            if isinstance(own, torch.nn.Module):
                names[type(own).__name__] = own
        if frame.f_code.co_name in ("forward", "_call_impl") and isinstance(own, torch.nn.Module):
            modules.append(own)


def _leads_to(path: str, names: Mapping[str, object], module: torch.nn.Module) -> bool:
    """Whether a path leads from a variable of the program, or from the outermost module, to a module."""
    (first, _), *rest = _parts(path)
    value = names.get(first)
    for name, key in rest:
        if value is None:
            return False
        if key:
            value = value[eval(key)]  # type: ignore[index]
        elif isinstance(value, torch.nn.Module) and name in value._modules:
            value = value._modules[name]
        else:
            value = getattr(value, name, None)
    return value is module


def _parts(path: str) -> Sequence[tuple[str, str]]:
    """The names of a path and the keys in brackets, one of the two each."""
    return re.findall(r"[.]?([^.[]+)|[[]([^]]+)[]]", path)


if __name__ == "__main__":
    main(*sys.argv[1:])
