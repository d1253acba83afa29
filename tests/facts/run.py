"""One run of a program, in a process of its own: analysed, instrumented, executed and compared."""

from __future__ import annotations

import builtins
import contextlib
import importlib.machinery
import os
import pickle
import runpy
import shutil
import signal
import sys
import tempfile
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import torch
from devlint.inference.execute.claims import Claims
from devlint.inference.solve import Solver
from devlint.inference.values.data import Requirement
from devlint.project import Project
from devlint.torchlib import catalogue
from devlint_guard.record import stores
from devlint_guard.rehearsal import rehearse

from tests.conftest import REPOSITORY
from tests.facts.compare import Body, Result, Run
from tests.facts.instrument import ENTER, TELL, Place, instrumented

_T = TypeVar("_T")


class Program(NamedTuple):
    """What to run.

    Attributes:
        root: the folder of the project, or its only file.
        main: the file in the folder, or the name of a module such as `pytest`.
        arguments: of the program.
        calls: functions of the file, to be called one after the other; none: the file is the program.
        devices: the number of accelerators of the machine; None for a plain run.
    """

    root: Path
    main: str
    arguments: Sequence[str] = ()
    calls: Sequence[str] = ()
    devices: int | None = 2


class Told(NamedTuple):
    """The places of a program's expressions, with paths in its root, and the result of the run."""

    places: list[Place]
    result: Result


def prepare() -> None:
    """Load what all runs need, and hide this repository from programs, which may have a package `tests` themselves."""
    torch.set_num_threads(1)
    sys.path[:] = [each for each in sys.path if Path(each or ".").resolve() != REPOSITORY]
    with rehearse():
        torch.ones(1).cuda()


def compared(program: Program, seconds: int = 60) -> Told | str:
    """Analyse a program, run it and compare; a text that says why there is no result."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder).resolve() / program.root.name
        if program.root.is_file():
            root.parent.mkdir(exist_ok=True)
            shutil.copy(program.root, root)
        else:
            shutil.copytree(program.root, root, ignore=shutil.ignore_patterns(".git", "__pycache__"))
        return _forked(lambda: _compared(program, root), Path(folder), seconds)


def _forked(work: Callable[[], _T], folder: Path, seconds: int) -> _T | str:
    """Return what a function returns in a process of its own; a text that says why there is no result."""
    answer = folder / "answer"
    child = os.fork()
    if not child:
        os.setsid()
        signal.signal(signal.SIGPROF, signal.default_int_handler)  # what a program has shown until then counts
        signal.setitimer(signal.ITIMER_PROF, seconds, 5)
        signal.alarm(20 * seconds)
        with open(folder / "output", "wb") as output:
            os.dup2(output.fileno(), 1)
            os.dup2(output.fileno(), 2)
        try:
            answer.write_bytes(pickle.dumps(work()))
        except BaseException as error:
            answer.write_bytes(pickle.dumps(f"{type(error).__name__}: {error}"))
        os._exit(0)
    _, status = os.waitpid(child, 0)
    with contextlib.suppress(OSError):
        os.killpg(child, signal.SIGKILL)
    if not answer.exists():
        return f"ended with the status {os.waitstatus_to_exitcode(status)}"
    found: _T | str = pickle.loads(answer.read_bytes())
    return found


def _compared(program: Program, root: Path) -> Told:
    files = [root] if root.is_file() else sorted(root.rglob("*.py"))
    bodies, modules = _claimed(root, files)
    places: list[Place] = []
    trees = {str(file): tree for file in files if (tree := _read(file, places)) is not None}

    def compiled(data: bytes, path: str) -> Any:
        return compile(trees.get(str(path), data), path, "exec", dont_inherit=True)

    vars(stores)["compiled"] = compiled  # reads the program's files in a rehearsal
    importlib.machinery.SourceFileLoader.source_to_code = staticmethod(compiled)  # type: ignore[assignment,method-assign]
    sys.dont_write_bytecode, sys.pycache_prefix = True, str(root.parent / "compiled")
    own = {name: sys.modules.pop(name) for name in list(sys.modules) if name.partition(".")[0] == "tests"}
    run = Run(places, bodies, modules, program.devices or 0)
    vars(builtins)[TELL], vars(builtins)[ENTER] = run.fact, run.enter
    result = run.end(_executed(program, root, trees))
    signal.setitimer(signal.ITIMER_PROF, 0)
    sys.modules.update(own)
    base = f"{root.parent if root.is_file() else root}{os.sep}"
    for found in (result.conflicts, result.misses):
        for place in list(found):
            found[place.removeprefix(base)] = found.pop(place)
    return Told([each._replace(path=each.path.removeprefix(base)) for each in places], result)


def _claimed(root: Path, files: list[Path]) -> tuple[dict[tuple[str, int, int], Body], dict[str, str]]:
    """Return the claims of each body by its place, and the name of each file's module in the inference."""
    project = Project(root.parent if root.is_file() else root)
    claims = Claims()
    solver = Solver(project, catalogue.load(), claims)
    sources = [project.source(file) for file in files]
    solver.check(sources)
    bodies, modules = {}, {}
    for body, of_body in claims.of_bodies().items():
        path, span = os.path.abspath(body.file.path), body.scope.span
        modules[path] = body.file.module
        if body.function is None:
            frame = solver.frame_of(project.source(Path(path)))
            requirements = [] if frame is None else [each.requirement for each in frame.findings]
            bodies[path, 0, 0] = Body(of_body, list(map(_absolute, requirements)))
        else:
            cases = solver.summaries.of(body)
            requirements = [each.requirement for each in cases.findings]
            requirements += cases.generic.requirements if cases.generic is not None else ()
            bodies[path, span.line, span.column] = Body(of_body, list(map(_absolute, requirements)))
    return bodies, modules


def _absolute(requirement: Requirement) -> Requirement:
    place = requirement.place
    return requirement._replace(place=place._replace(path=os.path.abspath(place.path)))


def _read(file: Path, places: list[Place]) -> Any:
    """Return a file with calls around its expressions; None for one that is no Python."""
    try:
        return instrumented(file.read_bytes(), str(file), places)
    except (SyntaxError, ValueError):
        return None


def _executed(program: Program, root: Path, trees: Mapping[str, Any]) -> BaseException | None:
    """Execute a program, and return the exception that ends it."""
    main = root if root.is_file() else root / program.main
    is_module = not main.is_file()
    os.chdir(root if is_module else main.parent)
    sys.path[:0] = [os.getcwd(), str(root)]  # as if the project were installed
    sys.argv = [str(main), *program.arguments]
    torch.manual_seed(0)
    with _machine(program):
        if is_module:
            return _raised(lambda: runpy.run_module(program.main, run_name="__main__", alter_sys=True))
        made = types.ModuleType("program" if program.calls else "__main__")
        made.__file__ = str(main)
        sys.modules[made.__name__] = made
        code = compile(trees[str(main)], str(main), "exec", dont_inherit=True)
        ends = [_raised(lambda: exec(code, made.__dict__))]
        ends += [_raised(getattr(made, name, None)) for name in program.calls]
    return next((each for each in ends if each is not None), None)


def _raised(function: Callable[[], object] | None) -> BaseException | None:
    """Call a function, and return the exception that ends it."""
    try:
        if function is not None:
            function()
    except SystemExit as error:
        return error if error.code else None
    except BaseException as error:
        return error
    return None


@contextlib.contextmanager
def _machine(program: Program) -> Iterator[None]:
    with contextlib.nullcontext() if program.devices is None else rehearse(program.devices, from_beginning=True):
        yield
