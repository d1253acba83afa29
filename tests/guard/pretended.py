"""Runs programs on pretended CUDA devices and reads what `explain` makes of the error that ends them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from devlint_guard.finding import Finding

from tests.judge import Judge, Verdict

REPOSITORY = Path(__file__).resolve().parents[2]

_MARK = "explained: "

_DRIVER = '''
import importlib.util, json, linecache, sys, types
from pathlib import Path

from devlint_guard.explain import explain

JUDGE = {judge!r}


def without_the_judge(traceback):
    """The frames of a traceback that PyTorch and the program have; the pretended devices are no part of them."""
    frames = []
    while traceback is not None:
        frames.append((traceback.tb_frame, traceback.tb_lasti, traceback.tb_lineno))
        traceback = traceback.tb_next
    kept = None
    for frame, instruction, line in reversed(frames):
        file = frame.f_code.co_filename
        if frame.f_globals is not globals() and not file.startswith(JUDGE):
            kept = types.TracebackType(kept, frame, instruction, line)
    return kept


file, text, call = {file!r}, {text!r}, {call!r}
if file is None:
    file = str(Path("program.py").resolve())
    Path(file).write_text(text, encoding="utf-8")
linecache.cache[file] = (len(text), None, text.splitlines(True), file)
program = types.ModuleType("__main__" if call is None else "program")
program.__file__ = file
sys.modules[program.__name__] = program
try:
    exec(compile(text, file, "exec", dont_inherit=True), program.__dict__)
    if call is not None:
        getattr(program, call)()
except BaseException as error:
    one = error
    while one is not None:
        one.__traceback__ = without_the_judge(one.__traceback__)
        one = one.__cause__ or one.__context__
    finding = explain(error)
    print({mark!r} + json.dumps(None if finding is None else finding.to_json()), flush=True)
    raise
'''


@dataclass(frozen=True, slots=True)
class Explained:
    """How a program ended, and what `explain` said of it.

    Attributes:
        verdict: with the text of the exception.
        finding: None where the program ended well, or with an error that is not explained.
    """

    verdict: Verdict
    finding: Finding | None


def explained(
    judge: Judge, text: str, *, file: Path | None = None, call: str | None = None, devices: int = 4
) -> Explained:
    """Runs a program.

    Args:
        judge: runs it.
        text: its source.
        file: where it stands; None: in a file `program.py` of its own.
        call: a function to call once the text was executed.
        devices: how many CUDA devices there are.
    """
    driver = _DRIVER.format(
        judge=str(REPOSITORY / "tests" / "judge"),
        file=None if file is None else str(file.resolve()),
        text=text,
        call=call,
        mark=_MARK,
    )
    paths = [] if file is None else [file.resolve().parent]
    verdict = judge.run(driver, devices=devices, paths=paths)
    said = [line.removeprefix(_MARK) for line in verdict.stdout.splitlines() if line.startswith(_MARK)]
    data = json.loads(said[-1]) if said else None
    return Explained(verdict, None if data is None else Finding.from_json(data))
