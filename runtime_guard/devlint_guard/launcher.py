"""Runs a program with a guard around it, as Python would run it: the engine of `devlint run`.

The guard begins before the program's first line and ends after its last; what the program does at exit runs without it.
"""

from __future__ import annotations

import builtins
import contextlib
import importlib.util
import os
import shlex
import signal
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path
from types import CodeType, ModuleType, TracebackType
from typing import Any, Final

from devlint_guard import hooks
from devlint_guard.errors import GuardUsageError
from devlint_guard.options import chosen
from devlint_guard.record import stores
from devlint_guard.report.files import write
from devlint_guard.report.ranks import gathered
from devlint_guard.report.record import Record
from devlint_guard.report.summary import counted, unseen
from devlint_guard.report.text import render_all, wants_colour
from devlint_guard.session import Guard

INTERRUPTED: Final = -signal.SIGINT
"""Stands for the end of a program that the user has interrupted: Python ends such a process by the signal itself."""


def launch(target: str, arguments: Sequence[str], *, as_module: bool = False, **options: Any) -> int:
    """Runs a program to its end and returns its exit code, or `INTERRUPTED`.

    In mode `record` a program that ends well has the exit code 1 if the guard has found something, else 0. In a job of
    several processes the first of them then joins the reports of all.

    Args:
        target: a script, a folder or archive with a `__main__.py`, or the dotted name of a module.
        arguments: what the program finds in `sys.argv[1:]`.
        as_module: whether `target` is the name of a module, as in `python -m`.
        options: those of `Guard`; `DEVLINT_GUARD` decides about each None; `mode` may be `off`.

    Raises:
        GuardUsageError: there is no such program, or an option has a value that it cannot have.
    """
    settings = chosen(options)
    guard = None if settings is None else Guard(**settings)
    settings = settings or {}
    if guard is not None:
        hooks.explain_threads()  # for good: threads may run on after the program's last line
    code = _run(prepare(target, arguments, as_module), guard)
    command = [*(["-m"] if as_module else []), target, *arguments]
    return code if guard is None or code else _tell(guard, settings.get("report"), command)


# --- the program --------------------------------------------------------------------------------------------


def prepare(target: str, arguments: Sequence[str], as_module: bool) -> ModuleSpec:
    """Return the specification of a program, and make `sys.argv` and `sys.path` what Python would make them.

    Raises:
        GuardUsageError: there is no such program.
    """
    path = Path(target)
    if sys.version_info < (3, 11) or not sys.flags.safe_path:  # where Python would put it, instead of devlint's folder
        sys.path[:1] = [os.getcwd() if as_module else os.path.realpath(path if _holds_main(path) else path.parent)]
    sys.argv = [target, *arguments]
    return _module(target) if as_module else _script(path)


def run_prepared(spec: ModuleSpec, watch: contextlib.AbstractContextManager[object] | None = None) -> None:
    """Execute a program as `__main__`, with a guard or the like around it if there is one; its exceptions go on."""
    main = _as_main(spec)
    room: dict[str, Any] = {}
    exec(_PROBE, room)
    # The program stands on frames of its launcher, which take nothing from the depth that its own calls may have.
    sys.setrecursionlimit(2 * sys.getrecursionlimit() - 1 - room["deepest"])
    with contextlib.nullcontext() if watch is None else watch:
        exec(spec.loader.get_code(spec.name), main.__dict__)  # type: ignore[union-attr]


def _holds_main(path: Path) -> bool:
    return path.is_dir() or path.suffix in {".zip", ".pyz"}


def _script(path: Path) -> ModuleSpec:
    if _holds_main(path):
        found = PathFinder.find_spec("__main__", [str(path.resolve())])
        if found is None:
            raise GuardUsageError(f"{path} holds no __main__.py")
        return found
    if not path.is_file():
        raise GuardUsageError(f"there is no script {path}")
    file = os.path.abspath(path)
    found = importlib.util.spec_from_file_location("__main__", file, loader=_ScriptLoader("__main__", file))
    assert found is not None
    return found


def _module(name: str) -> ModuleSpec:
    try:
        found = importlib.util.find_spec(name)
        if found is not None and found.submodule_search_locations is not None:
            found = importlib.util.find_spec(f"{name}.__main__")
    except (ImportError, ValueError) as error:
        raise GuardUsageError(f"there is no module {name} to run: {error}") from None
    if found is None or not hasattr(found.loader, "get_code"):
        raise GuardUsageError(f"there is no module {name} to run")
    sys.argv[0] = found.origin or name
    return found


def _run(spec: ModuleSpec, guard: Guard | None) -> int:
    try:
        run_prepared(spec, guard)
    except SystemExit as error:
        return status_of(error)
    except BaseException as error:
        error.__traceback__ = _without_launcher(error.__traceback__)
        hooks.show(error)
        return INTERRUPTED if isinstance(error, KeyboardInterrupt) else 1
    return 0


class _ScriptLoader(SourceFileLoader):
    """Of a script alone; Python keeps no compiled code of those, and gives them no `__spec__`."""

    def get_code(self, fullname: str) -> CodeType:
        return stores.compiled(self.get_data(self.path), self.path)


def _as_main(spec: ModuleSpec) -> ModuleType:
    """A new `__main__`, as pickle, `multiprocessing` and the program expect it."""
    main = importlib.util.module_from_spec(spec)
    if isinstance(spec.loader, _ScriptLoader):
        main.__spec__, main.__package__ = None, None
    main.__name__ = "__main__"
    main.__dict__["__builtins__"] = builtins  # the module; `exec` would give it the dictionary
    if sys.version_info < (3, 14):
        main.__annotations__ = {}
    sys.modules["__main__"] = main
    return main


_PROBE: Final = compile(
    """\
def deeper(n):
    try:
        return deeper(n + 1)
    except RecursionError:
        return n
deepest = deeper(1)
""",
    "<devlint>",
    "exec",
)
"""How deep calls can nest in a program that is executed where this is."""


def status_of(error: SystemExit) -> int:
    """Return the exit code that Python makes of `SystemExit`; print an argument that is no code."""
    if error.code is None:
        return 0
    if isinstance(error.code, int):
        return error.code & 0xFF if os.name == "posix" else error.code
    print(error.code, file=sys.stderr)
    return 1


def _without_launcher(traceback: TracebackType | None) -> TracebackType | None:
    while traceback is not None and traceback.tb_frame.f_code.co_filename in (__file__, stores.__file__):
        traceback = traceback.tb_next
    return traceback


# --- the end ------------------------------------------------------------------------------------------------


def _tell(guard: Guard, report: str | None, command: Sequence[str]) -> int:
    """Prints the findings and joins the reports of several processes; returns the exit code."""
    own = guard.record()
    lacking = unseen(own, shlex.join(["devlint", "rehearse", *command]))
    if lacking and own.ranks in ((), (0,)):  # silence would look like a result
        print(f"devlint: {lacking[0].lower()}{lacking[1:]}", file=sys.stderr)
    if report is None and guard.mode != "record":
        return 0
    with gathered(own) as told:
        if told is not None and report is not None and told is not own:
            write(told, Path(report))
        if told is not None and guard.mode == "record":
            _print(told)
    return 1 if own.findings and guard.mode == "record" else 0


def _print(record: Record) -> None:
    if record.findings:
        text = render_all(record.findings, colour=wants_colour(sys.stderr))
        print(f"{text}\n\ndevlint: {counted(len(record.findings), 'finding')}", file=sys.stderr)
