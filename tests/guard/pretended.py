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
import json, linecache, re, sys, types
from pathlib import Path

import torch

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


def modules_on(traceback):
    """The modules whose calls a traceback goes through, and the variables of the program's own frames."""
    modules, names = [], {{}}
    while traceback is not None:
        frame, traceback = traceback.tb_frame, traceback.tb_next
        if frame.f_code.co_filename == file:
            names.update({{key: value for key, value in frame.f_globals.items() if key not in names}})
            names.update({{key: value for key, value in frame.f_locals.items() if key not in names}})
        own = frame.f_locals.get("self")
        if frame.f_code.co_name in ("forward", "_call_impl") and isinstance(own, torch.nn.Module):
            modules.append(own)
    return modules, names


def leads_to(path, names, module):
    """Whether a path of a finding leads from a variable of the program, or from the outermost module, to a module."""
    parts = re.findall(r"[.]?([^.[]+)|[[]([^]]+)[]]", path)
    value, rest = names.get(parts[0][0]), parts[1:]
    for name, key in rest:
        if key:
            value = value[eval(key)]
        elif isinstance(value, torch.nn.Module) and name in value._modules:
            value = value._modules[name]
        else:
            value = getattr(value, name)
    return value is module


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
    one, modules, names = error, [], {{}}
    while one is not None:
        one.__traceback__ = without_the_judge(one.__traceback__)
        inner, variables = modules_on(one.__traceback__)
        modules, names = modules + inner, {{**variables, **names}}
        one = one.__cause__ or one.__context__
    # A module that no variable holds is called by the name of its class.
    names = {{**names, **{{type(one).__name__: one for one in modules[::-1]}}}}
    finding = explain(error)
    path = None
    if modules and finding is not None:
        path = bool(finding.module) and leads_to(finding.module, names, modules[-1])
    said = {{"finding": None if finding is None else finding.to_json(), "path": path}}
    print({mark!r} + json.dumps(said), flush=True)
    raise
'''


@dataclass(frozen=True, slots=True)
class Explained:
    """How a program ended, and what `explain` said of it.

    Attributes:
        verdict: with the text of the exception.
        finding: None where the program ended well, or with an error that is not explained.
        path: whether its path leads to the module that was being called; None where none was.
    """

    verdict: Verdict
    finding: Finding | None
    path: bool | None = None


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
    data = json.loads(said[-1]) if said else {"finding": None, "path": None}
    finding = None if data["finding"] is None else Finding.from_json(data["finding"])
    return Explained(verdict, finding, data["path"])
