"""No failure of the code that explains an error reaches the program: each function of it is made to fail.

The functions are not listed but observed: those of the guard that run, in any of the programs below, while the guard
explains an error or foretells one. Each of them then raises whenever it is called, and the program must end with its
own error, in its own words.

`python -m tests.guard.faults [--all | --write]` prints what went wrong. It needs a process of its own: a guard whose
end fails leaves parts of itself behind.
"""

from __future__ import annotations

import ast
import functools
import gc
import inspect
import json
import sys
import tempfile
import types
import warnings
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import cast

from devlint_guard import errors, session
from devlint_guard.explain.messages import read
from devlint_guard.findings.explanation import _add_note, annotate, explain, explained_before
from devlint_guard.program import undisturbed
from devlint_guard.session import Guard
from devlint_guard.watch import interpose
from devlint_guard.watch import operators as operators_file
from devlint_guard.watch.active import _Listener, responsible

from tests.guard.fault_programs import PROGRAMS

HOME = str(Path(session.__file__).parent)

COVERAGE = Path(__file__).with_name("fault_coverage.json")
"""By the name of each function that explains, a program in which it runs; `--write` writes it."""

_RECORDS = "records while the program runs"

NEVER_WHILE_EXPLAINING = {
    "watch.entry._classes": "runs once, when the guard is imported",
    "watch.entry._owns": "runs once, when the guard is imported",
    "program.quoting.encodable": "writes a report",
    "program.quoting.printable_lines": "writes a report",
    "findings.explanation.forget_note": "makes room for another explanation",
    "program.naming.ByVariable.__init__": "begins with a guard",
    "program.naming.ByVariable.__len__": "begins with a guard",
    "program.naming.ByVariable.__getitem__": "names modules for a report",
    "program.replacements": "replaces functions of torch",
    "record.factories": _RECORDS,
    "record.installed": _RECORDS,
    "requirement": "runs before the guard is on",
    "record.moves": _RECORDS,
    "record.stores": _RECORDS,
    "record.stacks.Event.__init__": _RECORDS,
    "record.recorder.Recorder.__init__": _RECORDS,
    "record.recorder.Recorder.apart": _RECORDS,
    "record.recorder.Recorder.applied": _RECORDS,
    "record.recorder.Recorder.computed": _RECORDS,
    "record.recorder.Recorder.created": _RECORDS,
    "record.recorder.Recorder.forget": _RECORDS,
    "record.recorder.Recorder.inherited": _RECORDS,
    "record.recorder.Recorder.is_listening": _RECORDS,
    "record.recorder.Recorder.is_loop": _RECORDS,
    "record.recorder.Recorder.kept": _RECORDS,
    "record.recorder.Recorder.latest": _RECORDS,
    "record.recorder.Recorder.moved": _RECORDS,
    "record.recorder.Recorder.stored": _RECORDS,
    "record.recorder._quietly": _RECORDS,
    "record.recorder.doing": _RECORDS,
    "record.recorder.flat": _RECORDS,
    "record.stacks.can_read": _RECORDS,
    "record.stacks.forget": _RECORDS,
    "record.stacks.stack": _RECORDS,
    "record.recorder.Recorder.put_there": _RECORDS,
    "record.storages.Place": _RECORDS,
    "record.storages.Storages.__init__": _RECORDS,
    "record.storages.Storages._sweep": _RECORDS,
    "record.storages.Storages.change": _RECORDS,
    "record.storages.Storages.forget": _RECORDS,
    "record.storages.Storages.put": _RECORDS,
    "record.storages.Storages.put_storage": _RECORDS,
    "record.storages.storage_of": _RECORDS,
    "report.ranks._joined": "joins reports",
    "report.ranks.gathered": "joins reports",
    "report.ranks.merge": "joins reports",
    "report.ranks.path_of_rank": "writes a report",
    "report.record": "is a part of a report",
    "report.json": "writes and reads a report",
    "report.text.coloured": "prints a note that is complete",
    "report.text.render_all": "writes a report",
    "report.text.wants_colour": "prints a note that is complete",
    "program.stored.has_parameters": "tells which calls are steps",
}
"""Functions, and modules, that are imported by those that explain and run at other times, with the reason."""

DOORS = {
    undisturbed.protected.__code__,
    operators_file.OperatorMode._mixed.__code__,
    _Listener.entered.__code__,
    _Listener.failed.__code__,
    session._Watching.refused.__code__,
}
"""Below these the guard explains."""

BOUNDARY = {
    *DOORS,
    *(
        one.__code__
        for one in vars(undisturbed).values()
        if isinstance(one, types.FunctionType) and one.__module__ == undisturbed.__name__
    ),
    *(one.__code__ for one in vars(undisturbed.Undisturbed).values() if isinstance(one, types.FunctionType)),
    operators_file.OperatorMode._tell.__code__,
    explain.__code__,
    annotate.__code__,
    _add_note.__code__,
    responsible.__code__,
    session.Guard.exit.__code__,
    explained_before.__code__,
    interpose._failed.__code__,
    session.Guard.__exit__.__code__,
    errors.DeviceMismatchError.__init__.__code__,
}
"""They hold errors back, tell of them, or lead there; `DeviceMismatchError` is what the guard has to say."""

WAYS: dict[str, Callable[[], Guard] | None] = {
    "explain": None,
    "raise": Guard,
    "record": lambda: Guard(mode="record", level="deep"),
}

SAMPLE = ("attribute", "weight_on_another", "input")
STRIDE = 9
"""In each run a part of the functions fails in one way, in the long run each of them in all ways."""

READ = cast(types.FunctionType, read)

Case = tuple[str, str]
"""A program and a way to its explanation."""


def end_of(file: Path, make: Callable[[], Guard] | None) -> tuple[BaseException, list[str]]:
    """How a program ends, with the first lines of the notes and warnings that it ends with."""
    names: dict[str, object] = {"__name__": "__main__", "__file__": str(file)}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            if make is None:
                exec(compiled(file), names)
            else:
                with make():
                    exec(compiled(file), names)
        except Exception as error:
            if make is None:
                explain(error)
                annotate(error)
            notes = [str(note) for note in getattr(error, "__notes__", ())]
            return error, [*notes, *(str(one.message) for one in caught)]
    raise AssertionError(f"{file.name} has to fail")


@functools.cache
def compiled(file: Path) -> types.CodeType:
    return compile(file.read_text(encoding="utf-8"), str(file), "exec")


def write_programs(folder: Path) -> dict[str, Path]:
    """Write the programs into a folder; return their files by their names."""
    for name, text in PROGRAMS.items():
        (folder / f"{name}.py").write_text(text, encoding="utf-8")
    return {name: folder / f"{name}.py" for name in PROGRAMS}


@contextmanager
def observed(found: set[types.CodeType]) -> Iterator[None]:
    """Collects the functions of the guard that run below a door."""

    def profile(frame: types.FrameType, event: str, _: object) -> None:
        code = frame.f_code
        if event == "call" and code not in found and code.co_filename.startswith(HOME):
            outer = frame.f_back
            while outer is not None and outer.f_code not in DOORS:
                outer = outer.f_back
            if outer is not None:
                found.add(code)

    sys.setprofile(profile)
    try:
        yield
    finally:
        sys.setprofile(None)


def explaining() -> dict[str, types.CodeType]:
    """The functions and methods of the modules that explain an error, by name; none that another one defines."""
    waiting, found = ["findings.explanation", "watch.sentences"], dict[str, types.CodeType]()
    seen: set[str] = set()
    while waiting:
        module = waiting.pop()
        file = Path(HOME, *module.split(".")).with_suffix(".py")
        if module in seen or not file.exists():
            continue
        seen.add(module)
        text = file.read_text(encoding="utf-8")
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "devlint_guard":
                inside = (node.module or "").split(".")[1:]
                waiting += [".".join(inside), *(".".join([*inside, one.name]) for one in node.names)]
        found |= _functions_in(compile(text, str(file), "exec"), module)
    return found


def _functions_in(code: types.CodeType, path: str) -> dict[str, types.CodeType]:
    found: dict[str, types.CodeType] = {}
    for one in code.co_consts:
        if isinstance(one, types.CodeType) and not one.co_name.startswith("<"):
            name = f"{path}.{one.co_name}"
            found |= {name: one} if one.co_flags & inspect.CO_OPTIMIZED else _functions_in(one, name)
    return found


def not_covered(covered: Collection[str]) -> list[str]:
    """The faults of a set of functions that programs run, a line for each function."""
    known = explaining()
    outside = {_site(code) for code in BOUNDARY}
    excused = {
        name
        for name, code in known.items()
        if _site(code) in outside or any(name == one or name.startswith(f"{one}.") for one in NEVER_WHILE_EXPLAINING)
    }
    return [
        *(f"{name} runs in no program of `fault_programs`" for name in sorted(known.keys() - excused - set(covered))),
        *(f"{name} runs in a program, and is said not to" for name in sorted(excused & set(covered))),
        *(f"{name} is no function that explains" for name in sorted(set(covered) - known.keys())),
    ]


def _site(code: types.CodeType) -> tuple[str, int, str]:
    return code.co_filename, code.co_firstlineno, code.co_name


def _programs_by_function(found: Mapping[types.CodeType, Sequence[Case]]) -> dict[str, list[str]]:
    """The programs in which each function that explains runs."""
    programs = {_site(code): [name for name, _ in cases] for code, cases in found.items()}
    named = ((name, programs.get(_site(code), [])) for name, code in sorted(explaining().items()))
    return {name: ran for name, ran in named if ran}


def _checked_coverage(found: Mapping[types.CodeType, Sequence[Case]]) -> list[str]:
    """A line for each function that does not run in the program that the file names."""
    programs, stored = _programs_by_function(found), json.loads(COVERAGE.read_text(encoding="utf-8"))
    wrong = [f"{name} does not run in {one}" for name, one in stored.items() if one not in programs.get(name, ())]
    return [*wrong, *not_covered(programs)]


def write_coverage(files: dict[str, Path]) -> None:
    """Write the first program of each function that explains."""
    _, found = run_all(files, list(files))
    first = {name: ran[0] for name, ran in _programs_by_function(found).items()}
    COVERAGE.write_text(json.dumps(first, indent=1) + "\n", encoding="utf-8")
    print("\n".join(not_covered(first)))


def _broken(kind: str) -> types.CodeType:
    names: dict[str, types.FunctionType] = {}
    exec(f"def broken():\n    raise {kind}('this function fails')\n", names)
    return names["broken"].__code__


@contextmanager
def failing(functions: list[types.FunctionType], kind: str) -> Iterator[None]:
    """Makes functions raise, whenever they are called and whoever calls them."""
    stub = _broken(kind)
    kept = [(function, function.__code__) for function in functions]
    generator = 0x20 | 0x80 | 0x100 | 0x200
    for function, code in kept:
        changes = {"co_code": stub.co_code, "co_consts": stub.co_consts, "co_names": stub.co_names}
        if sys.version_info >= (3, 11):
            changes |= {"co_exceptiontable": stub.co_exceptiontable, "co_linetable": stub.co_linetable}
        size = max(code.co_stacksize, stub.co_stacksize)
        function.__code__ = code.replace(co_flags=code.co_flags & ~generator, co_stacksize=size, **changes)  # type: ignore[arg-type]
    try:
        yield
    finally:
        for function, code in kept:
            function.__code__ = code


def run_all(
    files: dict[str, Path], names: Collection[str]
) -> tuple[dict[Case, tuple[BaseException, list[str]]], dict[types.CodeType, list[Case]]]:
    """How programs end in each way, and the cases in which each function of the guard runs that explains."""
    expected: dict[Case, tuple[BaseException, list[str]]] = {}
    first: dict[types.CodeType, list[Case]] = {}
    for way, make in WAYS.items():
        for name in names:
            found: set[types.CodeType] = set()
            with observed(found):
                expected[name, way] = end_of(files[name], make)
            for code in found - BOUNDARY:
                first.setdefault(code, []).append((name, way))
    return expected, first


def check(files: dict[str, Path], *, everywhere: bool) -> list[str]:
    """Let functions fail one after the other; return a line for each program that did not end with its own error."""
    expected, first = run_all(files, list(files) if everywhere else SAMPLE)
    functions: dict[types.CodeType, list[types.FunctionType]] = {}
    for one in gc.get_objects():
        if type(one) is types.FunctionType and one.__code__ in first and "<locals>" not in one.__qualname__:
            functions.setdefault(one.__code__, []).append(one)
    assert len(functions) > (200 if everywhere else 150), "the programs no longer go through the code that explains"
    wrong = _checked_coverage(first) if everywhere else []
    for number, (code, cases) in enumerate(sorted(first.items(), key=lambda item: str(item[0]))):
        if code not in functions or not (everywhere or number % STRIDE == 0):
            continue  # what is defined inside of another function fails with that
        ways = {way: name for name, way in reversed(cases)}
        for way, name in ways.items():
            own = _own_error(expected[name, "explain"][0])
            with failing(functions[code], ("ZeroDivisionError", "RecursionError")[number % 2]):
                error, lines = end_of(files[name], WAYS[way])
            if isinstance(error, errors.DeviceMismatchError) and not _is_said(lines):
                continue  # foretold, without this function
            if (type(error), error.args) != own:
                wrong.append(f"{code.co_qualname} in {name}, {way}: {type(error).__name__}: {error}")
            elif len([line for line in lines if line.startswith(undisturbed.FAILED)]) > 2 or not lines:
                wrong.append(f"{code.co_qualname} in {name}, {way}: {lines or 'silence'}")
    return wrong


def _own_error(error: BaseException) -> tuple[type[BaseException], tuple[object, ...]]:
    assert not isinstance(error, errors.GuardError)
    return type(error), error.args


def _is_said(lines: list[str]) -> bool:
    return any(line.startswith(undisturbed.FAILED) for line in lines)


def main() -> int:
    """Return 1 if a program has not ended with its own error."""
    with tempfile.TemporaryDirectory() as folder:
        if "--write" in sys.argv:
            write_coverage(write_programs(Path(folder)))
            return 0
        wrong = check(write_programs(Path(folder)), everywhere="--all" in sys.argv)
    print("\n".join(wrong))
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
