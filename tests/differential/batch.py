"""Runs many programs in one process of the judge, which would otherwise spend most of its time on starting them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import groupby

from tests.differential.program import Program
from tests.judge import Judge, Verdict
from tests.judge.kinds import kind_of

MARK = "reached:"
"""Begins the lines of a verdict's output that say which stretches of the program were executed: four numbers each."""

_DRIVER = """
import contextlib, io, json, sys, torch

def run(number, text):
    file = f"<program {{number}}>"
    reached, positions = set(), {{}}
    def trace(frame, event, argument):
        if frame.f_code.co_filename == file:
            frame.f_trace_opcodes = True
            if event == "opcode":
                code = frame.f_code
                if code not in positions:
                    positions[code] = list(code.co_positions())
                line, end_line, column, end_column = positions[code][frame.f_lasti // 2]
                if column is not None:
                    reached.add((line, column + 1, end_line, end_column + 1))
            return trace
    error = None
    with contextlib.redirect_stdout(io.StringIO()):
        sys.settrace(trace)
        try:
            exec(compile(text, file, "exec"), {{"__name__": "__main__"}})
        except BaseException as raised:
            error = raised
        sys.settrace(None)
    torch.manual_seed(0)
    torch.set_default_device(None)
    torch.cuda.set_device(0)
    torch.set_grad_enabled(True)
    stack, exception = [], ""
    if error is not None:
        kind = type(error)
        exception = kind.__qualname__ if kind.__module__ == "builtins" else kind.__module__ + "." + kind.__qualname__
        step = error.__traceback__
        while step is not None:
            if step.tb_frame.f_code.co_filename == file:
                stack.append(step.tb_lineno)
            step = step.tb_next
    return [sorted(reached), stack, exception, str(error)]

raise RuntimeError(json.dumps([run(number, text) for number, text in enumerate({texts!r})]))
"""


def run_all(judge: Judge, programs: Sequence[Program]) -> list[Verdict]:
    """The verdicts on programs, in their order; what a program leaves behind is put back for the next."""
    verdicts: dict[int, Verdict] = {}
    by_devices = sorted(range(len(programs)), key=lambda position: programs[position].devices)
    for devices, positions in groupby(by_devices, key=lambda position: programs[position].devices):
        chosen = list(positions)
        found = run_texts(judge, [programs[position].text for position in chosen], devices)
        verdicts.update(zip(chosen, found, strict=True))
    return [verdicts[position] for position in range(len(programs))]


def run_texts(judge: Judge, texts: Sequence[str], devices: int) -> list[Verdict]:
    """The verdicts on texts, for a machine with so many devices."""
    answer = judge.run(_DRIVER.format(texts=list(texts)), devices=devices, timeout=60 + len(texts))
    try:
        results = json.loads(answer.message or "")
    except json.JSONDecodeError:
        if len(texts) == 1:
            return [answer]  # it does not end, or takes the process with it
        half = len(texts) // 2
        return [*run_texts(judge, texts[:half], devices), *run_texts(judge, texts[half:], devices)]
    return [_verdict(*result) for result in results]


def _verdict(reached: list[list[int]], stack: list[int], exception: str, message: str) -> Verdict:
    output = "\n".join(" ".join(map(str, [MARK, *each])) for each in reached)
    if not exception:
        return Verdict("ok", stdout=output)
    kind = kind_of(exception, message)
    return Verdict(
        "other-error" if kind is None else "device-error",
        line=stack[-1] if stack else None,
        stack=tuple(stack),
        kind=kind,
        exception=exception,
        message=message,
        stdout=output,
    )
