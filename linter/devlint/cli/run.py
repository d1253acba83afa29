"""`devlint run` and `devlint merge-reports`: programs with the runtime guard around them; they alone need torch."""

from __future__ import annotations

from pathlib import Path

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
    with `--guard-mode record`, 1 also where the guard has found something. A program that is interrupted ends by the
    signal, as under Python.
    """
    try:
        from devlint_guard.errors import GuardUsageError
        from devlint_guard.launcher import launch
    except ImportError as error:
        raise torch_problem(error) from None
    try:
        return launch(script, arguments, as_module=module, mode=guard_mode, level=guard_level, report=guard_report)
    except GuardUsageError as error:
        raise click.ClickException(str(error)) from None


@click.command("merge-reports")
@click.argument("reports", nargs=-1, required=True, type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--output", required=True, type=click.Path(path_type=Path), help="Write it there: .json, .html, or text.")
def merge_reports(reports: tuple[Path, ...], output: Path) -> int:
    """Join the JSON reports that the processes of one job have written, such as report.rank0.json, into one."""
    try:
        from devlint_guard.errors import GuardUsageError
        from devlint_guard.ranks import merge
        from devlint_guard.report.files import write
        from devlint_guard.report.json import read
    except ImportError as error:
        raise torch_problem(error) from None
    try:
        write(merge([read(path.read_text(encoding="utf-8")) for path in reports]), output)
    except (GuardUsageError, OSError, UnicodeDecodeError) as error:
        raise click.ClickException(str(error)) from None
    return 0


def torch_problem(error: ImportError) -> Exception:
    """Return a usage error for a torch that is missing or too old, and any other error as it is."""
    return click.ClickException(str(error)) if error.name == "torch" else error
