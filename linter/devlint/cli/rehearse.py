"""`devlint rehearse`: programs on pretended GPUs; needs torch, as `devlint run` does."""

from __future__ import annotations

import click

from devlint.cli.run import torch_problem


@click.command(context_settings={"allow_interspersed_args": False})
@click.option("--devices", type=click.IntRange(min=0), default=1, show_default=True, help="How many GPUs to pretend.")
@click.option("--steps", type=click.IntRange(min=1), metavar="K", help="End the program after K optimizer steps.")
@click.option("--device-type", default="cuda", show_default=True, help="The type of the devices; only cuda so far.")
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

    A device mistake on the executed path raises the error of PyTorch on such a machine. Exit code: 0 the script ran
    and all of it was judged, 1 a device error, 2 wrong usage, 3 the script ran but some of it was not judged, 4 the
    script failed for another reason.
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
