"""`devlint run`: a program with the runtime guard around it. The only command that needs torch."""

from __future__ import annotations

import click


@click.command(context_settings={"allow_interspersed_args": False})
@click.option("--guard-mode", type=click.Choice(("raise", "warn", "record", "off")), help="What becomes of findings.")
@click.option("--guard-level", type=click.Choice(("module", "adaptive", "deep")), help="How closely to look.")
@click.option("--guard-report", metavar="PATH", help="Write a report there: .json, .html, or else text.")
@click.option("-m", "--module", is_flag=True, help="SCRIPT is the name of a module, as of `python -m`.")
@click.argument("script")
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED, metavar="[ARGUMENT]…")
def run(
    guard_mode: str | None,
    guard_level: str | None,
    guard_report: str | None,
    module: bool,
    script: str,
    arguments: tuple[str, ...],
) -> int:
    """Run a script with the runtime guard; what follows SCRIPT is the script's.

    `DEVLINT_GUARD=MODE[,OPTION=VALUE…]` in the environment says what no option does. The exit code is the script's;
    with `--guard-mode record`, 1 also where the guard has found something.
    """
    try:
        from devlint_guard.errors import GuardUsageError
        from devlint_guard.launcher import launch
    except ModuleNotFoundError as error:
        if error.name != "torch":
            raise
        raise click.ClickException("devlint run needs torch: pip install 'devlint[guard]'") from None
    try:
        return launch(script, arguments, as_module=module, mode=guard_mode, level=guard_level, report=guard_report)
    except GuardUsageError as error:
        raise click.ClickException(str(error)) from None
