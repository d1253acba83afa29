"""`python -m tests.guard.rehearsal.agreement`: judged programs under the rehearsal, compared with PyTorch's verdicts.

`tests/semantics/cases.jsonl` holds what PyTorch did with each program on pretended devices. A rehearsal agrees if it
has the same verdict, and for an error the same line and the same first line of text. `differences.jsonl` names the
programs where it does not, each with the reason.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import sys
import traceback
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from tests.judge.kinds import kind_of

_HERE: Final = Path(__file__).parent
_CASES: Final = _HERE.parents[1] / "semantics/cases.jsonl"

NOT_COMPARED: Final = ("cpuonly.", "nodriver.", "ddp.", "coll.")
"""Programs for other builds of torch, and for the judge's process groups without peers."""


class Case(NamedTuple):
    """One judged program; the message is the first line of PyTorch's text behind the class of the exception."""

    id: str
    devices: int
    verdict: str
    line: int | None
    message: str
    code: str


class Difference(NamedTuple):
    """What a rehearsal says where PyTorch says something else."""

    case: Case
    verdict: str
    line: int | None
    message: str


def read_cases() -> list[Case]:
    """Return all programs that can be compared."""
    found = []
    for row in map(json.loads, _CASES.read_text(encoding="utf-8").splitlines()):
        message = (row["message"] or "").partition("\n")[0]
        case = Case(row["id"], row["devices"], row["verdict"], row["line"], message, row["code"])
        if not case.id.startswith(NOT_COMPARED):
            found.append(case)
    return found


def read_differences() -> dict[str, str]:
    """Return the reasons of the known differences, by the program's id."""
    rows = map(json.loads, (_HERE / "differences.jsonl").read_text(encoding="utf-8").splitlines())
    return {row["id"]: row["why"] for row in rows}


def compare(cases: Sequence[Case]) -> Iterator[Difference]:
    """Yield where a rehearsal differs; each program runs in a copy of this process, which should do nothing else."""
    for case in cases:
        reader, writer = os.pipe()
        child = os.fork()
        if not child:
            os.close(reader)
            with os.fdopen(writer, "w") as sink:
                json.dump(_verdict(case), sink)
            os._exit(0)
        os.close(writer)
        with os.fdopen(reader) as source:
            text = source.read()
        os.waitpid(child, 0)
        verdict, line, message = json.loads(text) if text else ("crash", None, "")
        if (verdict, line, message) != (case.verdict, case.line, case.message):
            yield Difference(case, verdict, line, message)


def _verdict(case: Case) -> tuple[str, int | None, str]:
    from devlint_guard.rehearsal import rehearse

    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()), rehearse(case.devices):
        try:
            exec(compile(case.code, "<prog>", "exec", dont_inherit=True), {"__name__": "__main__"})
        except SystemExit as error:
            return ("other-error", None, "") if error.code else ("ok", None, "")
        except BaseException as error:
            lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == "<prog>"]
            # The error of another process or thread carries its own traceback, as text.
            inner = [int(one) for one in re.findall(r'File "<prog>", line (\d+)', str(error))]
            kind = type(error)
            name = (
                kind.__qualname__
                if kind.__module__ in ("builtins", "__main__")
                else f"{kind.__module__}.{kind.__qualname__}"
            )
            verdict = "other-error" if kind_of(name, str(error)) is None else "device-error"
            return verdict, next(reversed(inner or lines), None), f"{name}: {error}".partition("\n")[0]
    return "ok", None, ""


def main(arguments: Sequence[str]) -> int:
    """Return 1 if a difference is not known, or a known one is none any more; `--every N` takes every Nth program."""
    import torch  # noqa: F401  (loaded once, for all copies)

    sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]
    every = int(arguments[1]) if arguments[:1] == ["--every"] else 1
    cases = read_cases()[::every]
    reasons = read_differences()
    known = {one.id: reasons[one.id] for one in cases if one.id in reasons}
    found = list(compare(cases))
    for one in found:
        mark = known.get(one.case.id, "NOT KNOWN")
        print(f"{one.case.id}: {mark}\n  PyTorch:   {one.case.verdict} {one.case.line} {one.case.message}")
        print(f"  rehearsal: {one.verdict} {one.line} {one.message}")
    agree = len(cases) - len([one for one in found if (one.verdict, one.line) != (one.case.verdict, one.case.line)])
    alarms = [one for one in found if one.case.verdict == "ok"]
    print(f"{agree} of {len(cases)} programs have the same verdict and line ({agree / len(cases):.1%})")
    print(f"{len(cases) - len(found)} have the same text too ({1 - len(found) / len(cases):.1%})")
    print(f"{len(alarms)} right programs fail")
    ids = {one.case.id for one in found}
    print(f"{len(ids - known.keys())} differences are not known, {len(known.keys() - ids)} known ones are gone")
    return int(ids != known.keys())


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
