"""`devlint run` and `devlint merge-reports`: programs with the runtime guard around them; they alone need torch."""

from __future__ import annotations

import shlex
from pathlib import Path

import click


def as_program(context: click.Context, _parameter: click.Parameter, script: str) -> str:
    """Return the script that a command is to run.

    Raises:
        click.UsageError: it is a notebook, which Python would read as a program.
    """
    if script.endswith(".ipynb") and not context.params.get("module"):
        export = f"jupyter nbconvert --to script {shlex.quote(script)}"
        raise click.UsageError(f"{script} is a notebook: export it first, with `{export}`")
    return script


@click.command(context_settings={"allow_interspersed_args": False})
@click.option(
    "--guard-mode",
    type=click.Choice(("raise", "warn", "record", "off")),
    help="`raise` an error (default), `warn`, `record` the findings, or `off`.",
)
@click.option(
    "--guard-level",
    type=click.Choice(("module", "adaptive", "deep")),
    help="How much the guard checks.  [default: adaptive]",
)
@click.option("--guard-report", metavar="PATH", help="Write a report to this file: .json, .html, or else text.")
@click.option("-m", "--module", is_flag=True, help="SCRIPT is the name of a module, as with `python -m`.")
@click.argument("script", callback=as_program)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED, metavar="[ARGUMENT]…")
def run(
    guard_mode: str | None,
    guard_level: str | None,
    guard_report: str | None,
    module: bool,
    script: str,
    arguments: tuple[str, ...],
) -> int:
    """Run a script with the runtime guard. Arguments after SCRIPT belong to the script.

    Without an accelerator, a script usually has all its tensors on the CPU, and the guard finds nothing: use `devlint
    rehearse` instead.

    The environment variable `DEVLINT_GUARD=MODE[,OPTION=VALUE…]` sets the options that are not given. The
    command exits with the exit code of the script. With `--guard-mode record`, it exits with 1 if the script succeeds
    but the guard has findings. If a signal stops the script, the command ends with this signal too.
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
@click.option(
    "--output", required=True, type=click.Path(path_type=Path), help="Write to this file: .json, .html, or text."
)
def merge_reports(reports: tuple[Path, ...], output: Path) -> int:
    """Merge the reports of one job.

    Each process of a job writes a JSON report, such as report.rank0.json."""
    try:
        from devlint_guard.errors import GuardUsageError
        from devlint_guard.report.files import write
        from devlint_guard.report.json import read
        from devlint_guard.report.ranks import merge
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
