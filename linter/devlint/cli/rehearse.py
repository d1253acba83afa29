"""`devlint rehearse`: programs on simulated GPUs; needs torch, as `devlint run` does."""

from __future__ import annotations

import click

from devlint.cli.run import torch_problem


@click.command(context_settings={"allow_interspersed_args": False})
@click.option(
    "--devices", type=click.IntRange(min=0), default=1, show_default=True, help="The number of simulated GPUs."
)
@click.option("--steps", type=click.IntRange(min=1), metavar="K", help="End the program after K optimizer steps.")
@click.option(
    "--device-type", default="cuda", show_default=True, help="The type of the simulated devices; so far only cuda."
)
@click.option("--report", metavar="FILE", help="Write the result to this file, as JSON.")
@click.option("-m", "--module", is_flag=True, help="SCRIPT is the name of a module, as with `python -m`.")
@click.argument("script")
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED, metavar="[ARGUMENT]…")
def rehearse(
    devices: int,
    steps: int | None,
    device_type: str,
    report: str | None,
    module: bool,
    script: str,
    arguments: tuple[str, ...],
) -> int:
    """Run a script as if this machine had GPUs. Arguments after SCRIPT belong to the script.

    A device mistake in the executed code raises the error that PyTorch raises on a machine with GPUs. Exit code: 0 if
    the script ran and devlint checked every operation, 1 after a device error, 2 after wrong usage, 3 if the script ran
    but devlint could not check some operations, 4 if the script failed for another reason.
    """
    if device_type != "cuda":
        raise click.UsageError(f"devices of the type {device_type} cannot be rehearsed, only those of the type cuda")
    try:
        from devlint_guard.errors import GuardUsageError
        from devlint_guard.rehearsal.launch import launch
    except ImportError as error:
        raise torch_problem(error) from None
    given = arguments[1:] if arguments[:1] == ("--",) else arguments
    try:
        return launch(script, given, as_module=module, devices=devices, steps=steps, report=report)
    except GuardUsageError as error:
        raise click.UsageError(str(error)) from None
