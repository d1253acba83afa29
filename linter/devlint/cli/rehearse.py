"""`devlint rehearse`: programs on simulated GPUs; needs torch, as `devlint run` does."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from devlint.cli.run import as_program, torch_problem
from devlint.cli.terminal import put

if TYPE_CHECKING:
    from devlint.proving import Proof, Rehearsed

_MOST_LISTED = 20


@click.command(context_settings={"allow_interspersed_args": False})
@click.option(
    "--devices", type=click.IntRange(min=0), default=1, show_default=True, help="The number of simulated GPUs."
)
@click.option("--steps", type=click.IntRange(min=1), metavar="K", help="End the program after K optimizer steps.")
@click.option(
    "--limit-batches", type=click.IntRange(min=1), metavar="N", help="Let each DataLoader give N batches an epoch."
)
@click.option(
    "--device-type",
    type=click.Choice(["cuda", "mps", "xpu"]),
    default="cuda",
    show_default=True,
    help="The type of the simulated GPUs. A machine has at most one of the type mps.",
)
@click.option("--report", metavar="FILE", help="Write a report to this file: .json, .html, or else text.")
@click.option(
    "--check-fixes", is_flag=True, help="Rehearse the script with the fixes of `devlint --fix`; change no file."
)
@click.option("--unsafe-fixes", is_flag=True, help="With --check-fixes: try the unsafe fixes too.")
@click.option("--no-try", is_flag=True, help="Propose a change without running the script again to try it.")
@click.option("-m", "--module", is_flag=True, help="SCRIPT is the name of a module, as with `python -m`.")
@click.argument("script", callback=as_program, default="")
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED, metavar="[ARGUMENT]…")
def rehearse(
    devices: int,
    steps: int | None,
    limit_batches: int | None,
    device_type: str,
    report: str | None,
    check_fixes: bool,
    unsafe_fixes: bool,
    no_try: bool,
    module: bool,
    script: str,
    arguments: tuple[str, ...],
) -> int:
    """Run a script as if this machine had GPUs. Arguments after SCRIPT belong to the script. Without SCRIPT, list the
    commands that rehearse the files here that can run.

    A device mistake in the executed code raises the error that PyTorch raises on a machine with GPUs. Exit code: 0 if
    the script ran and devlint checked every operation, 1 after a device error, 2 after wrong usage, 3 if devlint
    could not check some operations or stopped at one that it cannot run, 4 if the script failed for another reason.

    After a device error, devlint proposes a change of the script only if the script runs on with it: it runs the
    script again, with the change in memory.

    With --check-fixes, these codes are about the script with the fixes: 0 if the run also confirmed every fix, 1 if it
    refuted one, 3 if it neither confirmed nor refuted one.
    """
    if unsafe_fixes and not check_fixes:
        raise click.UsageError("--unsafe-fixes goes with --check-fixes")
    if not script:
        return _list_programs()
    given = arguments[1:] if arguments[:1] == ("--",) else arguments
    try:
        from devlint_guard.errors import GuardUsageError
        from devlint_guard.rehearsal.launch import launch
        from devlint_guard.rehearsal.machine import Program
    except ImportError as error:
        raise torch_problem(error) from None
    program = (script, given, module, devices, device_type, steps, limit_batches)
    if check_fixes:
        from devlint.proving import Rehearsed

        return _check_fixes(Rehearsed(*program), report, unsafe=unsafe_fixes)
    try:
        return launch(Program(*program), report=report, tries=not no_try)
    except GuardUsageError as error:
        raise click.UsageError(str(error)) from None


def _list_programs() -> int:
    """Print commands that rehearse what can run here; return the exit code of wrong usage."""
    from devlint.engine import to_rehearse
    from devlint.settings import Settings

    commands = to_rehearse(Settings(paths=(".",)))
    if not commands:
        raise click.UsageError("name a SCRIPT: no file here that uses torch does anything when it runs")
    more = len(commands) - _MOST_LISTED
    lines = [*commands[: _MOST_LISTED - 1], f"… and {more} more", commands[-1]] if more > 0 else commands
    put("devlint: name a script. These commands rehearse what can run here:\n", err=True)
    put("".join(f"  {line}\n" for line in lines), err=True)
    return 2


def _check_fixes(program: Rehearsed, report: str | None, *, unsafe: bool) -> int:
    """Try the fixes, and print the verdicts; return the exit code."""
    from devlint.errors import RehearsalError
    from devlint.proving import prove, to_json
    from devlint.settings import Settings
    from devlint.writing import replace_file

    if report is not None and Path(report).suffix.lower() in (".html", ".htm"):
        raise click.UsageError("with --check-fixes, the report is JSON")
    try:
        proof = prove(
            program, Settings(paths=(), unsafe_fixes=unsafe), lambda text: put(f"devlint: {text}\n", err=True)
        )
    except RehearsalError as error:
        raise click.UsageError(str(error)) from None
    _tell(proof)
    if report is not None:
        replace_file(Path(report), (json.dumps(to_json(program, proof), indent=2) + "\n").encode())
    return proof.exit_code


def _tell(proof: Proof) -> None:
    from devlint.proving import Verdict

    if not proof.after.is_good:
        put(proof.after.output, err=True)
    for one in proof.fixes:
        codes = ", ".join(each.diagnostic.code for each in one.settled)
        put(f"{one.settled[0].place.file}:{one.line}: {codes} {one.verdict.value}: {one.change}\n    {one.reason}\n")
    runs = [("without fixes", proof.before)]
    if proof.fixes:
        runs.append(("with them", proof.after))
    for name, run in runs:
        put(f"devlint: {name}: {run.ending}{f': {run.error}' if run.error else ''}\n", err=True)
    for line in proof.after.not_judged:
        put(f"  not checked: {line}\n", err=True)
    counts = [(kind, sum(one.verdict is kind for one in proof.fixes)) for kind in Verdict]
    told = ", ".join(f"{count} {kind.value}" for kind, count in counts)
    put(f"devlint: {told if proof.fixes else 'there are no fixes to try'}; no file was changed\n", err=True)
