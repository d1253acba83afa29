"""`python -m tests.guard.rehearsal.hardware`: programs on a real GPU and in a rehearsal.

The machine with the GPU needs nothing but torch, and the machine that compares needs no GPU. So there are three steps:

    python -m tests.guard.rehearsal.hardware write PROGRAMS            # the programs of `cases`
    python -m tests.guard.rehearsal.hardware run PROGRAMS VERDICTS     # on the machine with the GPU
    python -m tests.guard.rehearsal.hardware compare PROGRAMS VERDICTS

Each program runs on a machine with one GPU, and on one without if its comments ask for it. `write --random N` writes N
generated programs of the differential tests instead.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import json
import os
import re
import sys
import threading
from collections.abc import Iterator
from dataclasses import replace
from multiprocessing.pool import ThreadPool
from pathlib import Path
from typing import Any, Final

from tests.judge import Judge, JudgeError, Verdict

_REPOSITORY: Final = Path(__file__).resolve().parents[3]
_PROCESSES: Final = 14

_SECOND_GPU: Final = re.compile(r"cuda:[1-9]")

_ASK_NVML: Final = "PYTORCH_NVML_BASED_CUDA_CHECK"
"""A variable of PyTorch: whether `is_available` asks NVML instead of the driver."""

Row = dict[str, Any]
"""A program, or the verdict on one, as it stands in a line of JSON."""


def write(programs: Path, count: int | None) -> None:
    """Write the programs, each once for a machine with a GPU, and once for one without if a source has it so.

    Args:
        programs: the file.
        count: write the first generated programs that name no second GPU, so many, instead of those of the sources.
    """
    from tests.differential.definitions import generate
    from tests.guard.rehearsal.cases import SOURCES

    rows: dict[tuple[object, ...], Row] = {}
    for source, cases in SOURCES.items() if count is None else ():
        for case in cases():
            row = {
                "code": case.code,
                "file": None if case.file is None else case.file.relative_to(_REPOSITORY).as_posix(),
                "call": case.call,
                "devices": min(case.devices, 1),
                "paths": [path.relative_to(_REPOSITORY).as_posix() for path in case.paths],
            }
            if not row["devices"] and "CUDA_VISIBLE_DEVICES" in case.text:
                continue  # it would find the GPU that is hidden from it
            key = (row["code"], row["file"], row["call"], row["devices"])
            rows.setdefault(key, {"id": f"{source}/{case.id}", **row})
    generated = (generate(0, number) for number in itertools.count())
    chosen = (one for one in generated if _SECOND_GPU.search(one.text) is None)
    for one in itertools.islice(chosen, count or 0):
        shared: Row = {"file": None, "call": None, "devices": 1, "paths": []}
        rows[one.name,] = {"id": f"random/{one.name}", "code": one.text, **shared}
    with_gpu_first = sorted(rows.values(), key=lambda row: -row["devices"])
    programs.write_text("".join(json.dumps(row) + "\n" for row in with_gpu_first), encoding="utf-8")


def run(programs: Path, verdicts: Path) -> None:
    """Run the programs that have no verdict yet on this machine, and add their verdicts."""
    known = {row["id"] for row in _rows(verdicts)} if verdicts.exists() else set()
    os.environ[_ASK_NVML] = "1"  # a process that has asked for GPUs in another way cannot fork
    here = threading.local()

    def judged(row: Row) -> str:
        if not hasattr(here, "judge"):
            here.judge = judges.enter_context(Judge())
        return json.dumps({"id": row["id"], "verdict": _verdict(here.judge, row, is_real=True).to_json()})

    pending = [row for row in _rows(programs) if row["id"] not in known]
    with contextlib.ExitStack() as judges, ThreadPool(_PROCESSES) as pool:
        for line in pool.imap_unordered(judged, pending):
            with verdicts.open("a", encoding="utf-8") as file:
                file.write(line + "\n")


def _verdict(judge: Judge, row: Row, *, is_real: bool) -> Verdict:
    """Run a program on the devices of this machine, or on pretended ones."""
    real = {"CUDA_VISIBLE_DEVICES": "0" if row["devices"] else "", _ASK_NVML: "0"}
    try:
        verdict = judge.run(
            row["code"],
            file=None if row["file"] is None else _REPOSITORY / row["file"],
            call=row["call"],
            devices=row["devices"],
            variant="cpuonly" if is_real else "cuda",  # which pretends nothing
            paths=[_REPOSITORY / path for path in row["paths"]],
            env=real if is_real else {},
            timeout=120,
        )
    except JudgeError as error:
        return Verdict("crash", message=f"no verdict: {error}")
    return replace(verdict, stdout="")


def compare(programs: Path, verdicts: Path) -> None:
    """Print the programs on which a rehearsal disagrees with the GPU, and how often it agrees."""
    from tests.guard.rehearsal.cases import Said

    found = {row["id"]: Verdict.from_json(row["verdict"]) for row in _rows(verdicts)}
    real = {name: Said.of(one) for name, one in found.items() if one.exception != "ModuleNotFoundError"}
    print(f"{len(found) - len(real)} programs need a library that the machine with the GPU lacks")
    compared = placed = worded = 0
    with Judge() as judge:
        for row in _rows(programs):
            said = real.get(row["id"])
            if said is None:
                continue
            rehearsed = Said.of(_verdict(judge, row, is_real=False))
            compared, placed, worded = compared + 1, placed + (rehearsed[:2] == said[:2]), worded + (rehearsed == said)
            if rehearsed != said:
                print(f"{row['id']} on {row['devices']}\n  GPU: {said}\n  rehearsal: {rehearsed}", flush=True)
    print(f"verdict and line: {placed} of {compared}; class and text too: {worded} of {compared}")


def _rows(file: Path) -> Iterator[Row]:
    with file.open(encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def main() -> int:
    """Run the step that the command line names."""
    parser = argparse.ArgumentParser(prog="python -m tests.guard.rehearsal.hardware", description=main.__doc__)
    parser.add_argument("step", choices=["write", "run", "compare"])
    parser.add_argument("programs", type=Path)
    parser.add_argument("verdicts", type=Path, nargs="?")
    parser.add_argument("--random", type=int, metavar="N", help="write N generated programs")
    options = parser.parse_args()
    if options.step == "write":
        write(options.programs, options.random)
    else:
        {"run": run, "compare": compare}[options.step](options.programs, options.verdicts)
    return 0


if __name__ == "__main__":
    sys.exit(main())
