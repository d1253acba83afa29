"""The command line: options to `Settings`, the engine's run to a report and an exit code; nothing else."""

from __future__ import annotations

import io
import os
import sys
import traceback
from collections.abc import Callable, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

import click

from devlint import __version__
from devlint.errors import DevlintError, SourceError

if TYPE_CHECKING:
    from devlint.engine import Run

_F = TypeVar("_F", bound=Callable[..., object])
_FORMATS = ("full", "concise", "json")


class _Group(click.Group):
    """Takes `devlint PATH…` for `devlint check PATH…`; reports every user error alike, with exit code 2."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if args and args[0] not in (*self.commands, "--help", "-h", "--version"):
            self._require_sensible(args[0])
            args = ["check", *args]
        return super().parse_args(ctx, args)

    def _require_sensible(self, word: str) -> None:
        close = get_close_matches(word, self.commands, n=1, cutoff=0.75)
        if close and not Path(word).exists():
            raise click.UsageError(f"no path and no command {word!r}; did you mean `devlint {close[0]}`?")

    def main(self, args: Sequence[str] | None = None, *rest: Any, **extra: Any) -> NoReturn:
        """Run the command line and exit."""
        extra["standalone_mode"] = False
        for stream in (sys.stdout, sys.stderr):
            if isinstance(stream, io.TextIOWrapper):
                stream.reconfigure(errors="backslashreplace")
        try:
            code = super().main(args, *rest, **extra)
        except click.exceptions.NoArgsIsHelpError as error:
            click.echo(error.format_message(), err=True)
            code = 2
        except click.ClickException as error:
            _say("error", error.format_message())
            code = 2
        except DevlintError as error:
            _say("error", str(error))
            code = 2
        except click.Abort:
            code = 130
        except BrokenPipeError:  # the reader of our output, such as head, has had enough
            sys.stdout = open(os.devnull, "w")  # noqa: SIM115
            code = 1
        except Exception as error:
            traceback.print_exc()
            _say("error", f"devlint failed, this is a bug: {type(error).__name__}: {error}")
            code = 2
        sys.exit(code if isinstance(code, int) else 0)


def _say(kind: str, message: str) -> None:
    click.echo(f"{kind}: {message}", err=True)


def _codes(ctx: click.Context, option: click.Parameter, value: str | None) -> tuple[str, ...] | None:
    return None if value is None else tuple(code.strip() for code in value.split(",") if code.strip())


def _selection_options(command: _F) -> _F:
    for name, text in (
        ("--extend-select", "Turn on these rules too."),
        ("--ignore", "Turn off these rules."),
        ("--select", "Turn on these rules only: DEV1, DEV101, a rule name, ALL; comma between."),
    ):
        command = click.option(name, callback=_codes, metavar="RULES", help=text)(command)
    return command


@click.group(cls=_Group, no_args_is_help=True, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="devlint", message="%(prog)s %(version)s")
def devlint() -> None:
    """Prove device mismatches in PyTorch programs before they run.

    `devlint PATH…` is `devlint check PATH…`. Exit code: 0 nothing to report, 1 diagnostics reported, 2 wrong
    usage or configuration, or a file that could not be analysed.
    """


@devlint.command()
@click.argument("paths", nargs=-1, metavar="[PATH]…")
@_selection_options
@click.option("--output-format", type=click.Choice(_FORMATS), default="full", show_default=True)
@click.option("--config", type=click.Path(path_type=Path), help="Use this TOML file for every source file.")
@click.option("--isolated", is_flag=True, help="Read no configuration file.")
@click.option("--no-cache", is_flag=True, help="Accepted for compatibility: nothing is cached so far.")
@click.option("--jobs", type=click.IntRange(1), help="Number of processes.  [default: by files and cores]")
@click.option("--stdin-filename", metavar="PATH", help="What `-` stands for.")
@click.option("--force-exclude", is_flag=True, help="Exclude paths named here too, if excludes match them.")
@click.option("--fail-on", type=click.Choice(("error", "warning")), default="warning", show_default=True)
@click.option("--exit-zero", is_flag=True, help="Exit with 0 even if diagnostics are reported.")
@click.option("--color", type=click.Choice(("auto", "always", "never")), default="auto", show_default=True)
@click.option("-q", "--quiet", is_flag=True, help="Print diagnostics and errors only.")
@click.option("-v", "--verbose", is_flag=True, help="Print tracebacks of internal errors, and timing.")
def check(
    paths: tuple[str, ...],
    select: tuple[str, ...] | None,
    ignore: tuple[str, ...] | None,
    extend_select: tuple[str, ...] | None,
    output_format: str,
    config: Path | None,
    isolated: bool,
    no_cache: bool,
    jobs: int | None,
    stdin_filename: str | None,
    force_exclude: bool,
    fail_on: str,
    exit_zero: bool,
    color: str,
    quiet: bool,
    verbose: bool,
) -> int:
    """Check files and folders; `-` is standard input; `devlint check` alone checks the current folder."""
    from devlint import engine, report
    from devlint.diagnostics import Severity
    from devlint.settings import Settings

    settings = Settings(
        paths=paths or (".",),
        select=select,
        ignore=ignore or (),
        extend_select=extend_select or (),
        config=config,
        isolated=isolated,
        jobs=jobs,
        stdin_filename=stdin_filename,
        force_exclude=force_exclude,
    )
    stdin = sys.stdin.buffer.read() if "-" in paths else None
    run = engine.run(settings, stdin=stdin)
    colour = report.wants_colour(color, terminal=sys.stdout.isatty(), environ=os.environ)
    text = report.FORMATS[output_format](run.outcome, report.Palette(colour))
    click.echo(text, nl=False, color=colour)
    _remarks(run, quiet=quiet, verbose=verbose)
    if output_format in report.TEXT_FORMATS and not quiet:
        click.echo(report.summary(run.outcome, run.unreadable), err=True)
    return run.exit_code(Severity(fail_on), exit_zero=exit_zero)


def _remarks(run: Run, *, quiet: bool, verbose: bool) -> None:
    """Print to standard error what is no diagnostic."""
    if not quiet:
        for note in run.notes:
            _say("note", note)
        for warning in run.warnings:
            _say("warning", warning)
    for problem in run.problems:
        _say("error", str(problem))
    if verbose:
        for text in run.tracebacks:
            click.echo(text, err=True, nl=False)
        _say("note", f"{run.outcome.seconds:.2f} seconds")


@devlint.command()
@click.argument("rule")
def explain(rule: str) -> None:
    """Print the documentation of a rule, given its code or name."""
    from devlint.explain import explain as text_of
    from devlint.registry import load_rules

    click.echo(text_of(rule, load_rules()), nl=False)


@devlint.command()
@click.option("--output-format", type=click.Choice(("full", "json")), default="full", show_default=True)
def rules(output_format: str) -> None:
    """List all rules."""
    from devlint.explain import list_rules
    from devlint.registry import load_rules

    click.echo(list_rules(load_rules(), output_format), nl=False)


@devlint.command()
@click.argument("place", metavar="FILE[:LINE]")
@click.option("--config", type=click.Path(path_type=Path), help="Use this TOML file.")
@click.option("--isolated", is_flag=True, help="Read no configuration file.")
def facts(place: str, config: Path | None, isolated: bool) -> int:
    """Print what devlint knows of each name at each line of a file, and the facts that rules see."""
    from devlint.engine import facts_of
    from devlint.explain import describe_facts
    from devlint.settings import Settings

    file, colon, line = place.rpartition(":")
    if not (colon and line.isdecimal()) or Path(place).exists():
        file, line = place, ""
    try:
        display, found = facts_of(Path(file), Settings((file,), config=config, isolated=isolated))
    except SyntaxError as error:
        raise SourceError(error.msg, path=file, line=error.lineno) from error
    click.echo(describe_facts(found, display, int(line) if line else None), nl=False)
    return 0


def main() -> NoReturn:
    """Run the command line; the console script calls this."""
    devlint.main(prog_name="devlint")
