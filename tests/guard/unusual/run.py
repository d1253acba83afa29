"""Runs each unusual program with and without a guard: `python -m tests.guard.unusual.run [--short] [PART OF A NAME…]`.

Whatever the level, a program prints, raises, warns and ends as it does without a guard. The full length runs each
program at each level; it takes some minutes. The short one runs a sample of them, each at one level. Each run is a copy
of a process that has imported torch and nothing else.
"""

from __future__ import annotations

import atexit
import contextlib
import itertools
import os
import re
import shutil
import signal
import sys
import tempfile
import threading
import time
import traceback
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import Final, NamedTuple, get_args

import torch
import torch._dynamo  # what optimizers import at their first step; once here, not in each copy
from devlint_guard.launcher import INTERRUPTED, launch
from devlint_guard.session import Level

from tests.copies import HUGE_PAGES

FOLDER: Final = Path(__file__).parent
LEVELS: Final[tuple[str, ...]] = get_args(Level)
SECONDS: Final = 120
"""A program that takes longer is ended, and fails."""


class Outcome(NamedTuple):
    """How a program ends: what it writes, and the exit status of its process; negative for a signal."""

    status: int
    stdout: str
    stderr: str


# --- the programs -------------------------------------------------------------------------------------------


def programs() -> dict[str, str]:
    """All programs by name: the parts of the files beside this one, and nestings of scopes."""
    found: dict[str, str] = {}
    for file in sorted(FOLDER.glob("*.py")):
        head, *parts = re.split(r"(?m)^# --- ", file.read_text(encoding="utf-8"))
        if head.startswith("# mypy: ignore-errors"):
            for part in parts:
                name, _, text = part.partition("\n")
                found[f"{file.stem}:{name.strip()}"] = f"{head}\n{text}"
    found.update(_nestings())
    return found


SCOPES: Final = {
    "grad": "torch.enable_grad()",
    "none": "torch.no_grad()",
    "set": "torch.set_grad_enabled(False)",
    "inference": "torch.inference_mode()",
    "normal": "torch.inference_mode(False)",
}


def _nestings() -> Iterator[tuple[str, str]]:
    """Every two of the scopes in each other, with steps outside, between and inside; every three, deeper and fewer."""
    head = (FOLDER / "scopes.py").read_text(encoding="utf-8").partition("# --- ")[0]
    for outer, inner in itertools.product(SCOPES, repeat=2):
        yield f"nesting:{outer}_{inner}_with", f"{head}\n{_nested((outer, inner), 2)}{_tried()}print(infer(2))\n"
        yield f"nesting:{outer}_{inner}_decorated", f"{head}\n{_decorated((outer, inner))}{_tried()}"
    deep = itertools.product(("none", "inference", "normal", "set"), repeat=3)
    for number, (outer, middle, inner) in enumerate(deep):
        text = _nested((outer, middle, inner), number % 3 + 1)
        yield f"nesting:{outer}_{middle}_{inner}", f"{head}\n{text}{_tried()}print(infer(2))\n"


def _tried(indent: str = "") -> str:
    """Training where it may be refused."""
    lines = ("try:", "    print(train(2))", "except RuntimeError as error:", "    print(error)")
    return "".join(f"{indent}{line}\n" for line in lines)


def _nested(scopes: Sequence[str], steps: int) -> str:
    text = f"print(infer({steps - 1}))\n" if steps > 1 else ""
    for depth, scope in enumerate(scopes):
        indent = "    " * depth
        text += f"{indent}with {SCOPES[scope]}:\n{indent}    print(infer({steps}))\n"
    for depth in range(len(scopes), 0, -1):
        text += _tried("    " * depth) + f"{'    ' * depth}print(infer({steps}))\n"
    return text


def _decorated(scopes: Sequence[str]) -> str:
    outer, inner = scopes
    return f"""\
@{SCOPES[inner]}
def inside():
    return infer(3)
@{SCOPES[outer]}
def outside():
    return [infer(), inside(), infer()]
for _ in range(4):
    print(outside())
    print(infer())
"""


# --- one run ------------------------------------------------------------------------------------------------


def outcome(text: str, level: str | None) -> Outcome:
    """Runs a program in a copy of this process, which must not have started threads: they do not outlive a fork.

    Args:
        text: the program.
        level: of the guard; None for none.
    """
    folder = Path(tempfile.gettempdir()) / f"devlint-unusual-{os.getpid()}"  # one path for all: programs print it
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    try:
        (folder / "program.py").write_text(text, encoding="utf-8")
        sys.stdout.flush()
        child = os.fork()
        if child == 0:
            _run(folder, level)
        status = _wait(child)
        written = ((folder / name).read_text(encoding="utf-8", errors="replace") for name in ("stdout", "stderr"))
        return Outcome(os.waitstatus_to_exitcode(status), *map(_without_libraries, written))
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _wait(child: int) -> int:
    """The status of a process, which is killed where it takes too long: its signals belong to the program."""
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return status
        time.sleep(0.005)
    os.kill(child, signal.SIGKILL)
    return os.waitpid(child, 0)[1]


def _run(folder: Path, level: str | None) -> None:
    """Is the program, to the end of the process."""
    try:
        os.chdir(folder)
        for stream, name in enumerate(("stdout", "stderr"), start=1):
            os.dup2(os.open(name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), stream)
        sys.stdin = open(os.devnull, encoding="utf-8")  # noqa: SIM115
        sys.stdout, sys.stderr = (os.fdopen(stream, "w", encoding="utf-8") for stream in (1, 2))
        sys.excepthook = _show
        warnings.resetwarnings()
        status = launch("program.py", ["an", "argument"], mode="off" if level is None else "raise", level=level)
    except BaseException:
        traceback.print_exc()
        status = 70
    with contextlib.suppress(BaseException):
        threading._shutdown()  # type: ignore[attr-defined]
        atexit._run_exitfuncs()
        sys.stdout.flush()
        sys.stderr.flush()
    if status == INTERRUPTED:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGINT)
    os._exit(status)


def _show(kind: type[BaseException], error: BaseException, tb: TracebackType | None) -> None:
    """Prints an error with the frames of the program alone."""
    one: BaseException | None = error
    while one is not None:
        for frame in traceback.extract_tb(one.__traceback__):
            if "devlint-unusual" in frame.filename:
                print(f"  line {frame.lineno} in {frame.name}: {frame.line}", file=sys.stderr)
        print(f"{type(one).__module__}.{type(one).__name__}: {one} {getattr(one, '__notes__', '')}", file=sys.stderr)
        one = one.__cause__ or (None if one.__suppress_context__ else one.__context__)


_LIBRARY: Final = re.compile(r"(?m)^\S*/(?:site-packages/torch|devlint_guard)/\S+?:\d+: (.*)\n  .*$")
_WITHOUT_A_GPU: Final = re.compile(r"(?m)^devlint: the guard saw nothing on a GPU, .*\n")
"""What the command adds at the end of a run on such a machine."""

_CHANGING: Final = re.compile(r"0x[0-9a-f]{6,}|\d{4}-\d\d-\d\d \d\d:\d\d:\d\d \d+:\d+")
"""Addresses, and the time and process in a line of the profiler."""


def _without_libraries(text: str) -> str:
    """A warning at a line of torch may as well be at one of the guard, which stands in its place."""
    return _CHANGING.sub("…", _LIBRARY.sub(r"a library: \1", _WITHOUT_A_GPU.sub("", text)))


# --- all of them --------------------------------------------------------------------------------------------


def differences(name: str, text: str, levels: Sequence[str]) -> list[str]:
    """What a program does otherwise with a guard, in words; at which levels."""
    alone, *others = (outcome(text, level) for level in (None, *levels))
    found = [f"{name}: fails by itself: {alone.stderr}"] if alone.status in (70, -signal.SIGKILL) else []
    for level, guarded in zip(levels, others, strict=True):
        for what, expected, got in zip(Outcome._fields, alone, guarded, strict=True):
            if expected != got:
                found.append(f"{name} at level {level}: {what}\n--- alone\n{expected}\n--- guarded\n{got}")
    return found


STRIDE: Final = 11
"""The short run takes each program whose number this divides."""

ALWAYS: Final = (
    "scopes:a_sampler_decorated_with_inference_mode",
    "scopes:inference_mode_false_inside_of_inference_mode",
    "scopes:inference_mode_inside_of_inference_mode",
    "scopes:a_function_mode_across_steps",
    "modules:parameters_takes_an_argument",
    "modules:how_deep_modules_nest",
    "modules:call_is_pickled",
    "tensors:a_subclass_made_of_a_list",
    "processes:interrupted",
)
"""And these, which have failed once."""


def main(arguments: Sequence[str]) -> int:
    """Runs the programs whose names hold one of the parts; prints the differences, and returns 1 if there are any."""
    torch.set_num_threads(1)
    for name in HUGE_PAGES:  # which are not for what a program starts
        os.environ.pop(name, None)
    is_short = "--short" in arguments
    parts = [one for one in arguments if one != "--short"]
    runs = 0
    found: list[str] = []
    for number, (name, text) in enumerate(programs().items()):
        if (is_short and number % STRIDE and name not in ALWAYS) or (parts and not any(part in name for part in parts)):
            continue
        levels = [LEVELS[(1 + number // STRIDE) % len(LEVELS)]] if is_short and name not in ALWAYS else LEVELS[1:2]
        new = differences(name, text, levels if is_short else LEVELS)
        print("".join(f"{difference}\n" for difference in new), end="", flush=True)
        found += new
        runs += 1
    usage = os.times()
    seconds = usage.user + usage.system + usage.children_user + usage.children_system
    print(f"{runs} programs: {len(found)} differences, {seconds:.0f} s of CPU")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
