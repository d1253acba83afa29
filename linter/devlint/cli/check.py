"""`devlint check`: analyse, report, and set the exit code."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from devlint import retired
from devlint.cli.options import takes_settings
from devlint.cli.progress import Progress
from devlint.cli.terminal import put, put_bytes, put_document, say
from devlint.errors import DevlintError
from devlint.quoting import printable
from devlint.records import dataclass

if TYPE_CHECKING:
    from devlint.engine import Run
    from devlint.report import Outcome, Palette
    from devlint.settings import Settings

_FORMATS = ("full", "concise", "json", "jsonl", "sarif", "github", "gitlab", "junit")
_WITH_STATISTICS = ("full", "concise", "json")
_WITH_SUMMARY = ("full", "concise", "github")
"""The formats that people read on a terminal or in the log of a job."""


@click.command()
@takes_settings
@click.option("--stdin-filename", metavar="PATH", help="The file that `-` stands for.")
@click.option("--fix", is_flag=True, help="Make the safe fixes, and report the rest.")
@click.option("--unsafe-fixes", is_flag=True, help="With --fix: make the unsafe fixes too.")
@click.option("--fix-only", is_flag=True, help="Make the fixes, and print no report.")
@click.option("--diff", is_flag=True, help="Print the changes of --fix, and write nothing.")
@click.option("--exit-non-zero-on-fix", is_flag=True, help="Exit with 1 if a fix was made.")
@click.option("--diff-base", metavar="REF", help="Report only what devlint did not report at this commit.")
@click.option("--whole-project", is_flag=True, help="Also report what the paths may break in files that import them.")
@click.option("--add-ignore", metavar="REASON", help="Silence each report by a comment with this reason.")
@click.option("--show-files", is_flag=True, help="List the files that would be checked, and check none.")
@click.option("--show-settings", is_flag=True, help="Print the settings for these files, and check none.")
@click.option("--watch", is_flag=True, help="Check again after each change of a file, until Ctrl-C.")
@click.option("--no-cache", is_flag=True, help="Neither read nor write the cache.")
@click.option("--baseline", type=click.Path(path_type=Path), help="Do not report the entries of this baseline.")
@click.option("--observed", multiple=True, hidden=True)
@click.option("--fail-on-stale", is_flag=True, help="Exit with 1 if an entry of the baseline matches nothing.")
@click.option(
    "--output-format", type=click.Choice(_FORMATS), default="full", show_default=True, help="The format of the report."
)
@click.option("--output-file", type=click.Path(path_type=Path), help="Write the report to this file.")
@click.option("--statistics", is_flag=True, help="Print the number of reports per rule instead of the reports.")
@click.option(
    "--color",
    type=click.Choice(("auto", "always", "never")),
    default="auto",
    show_default=True,
    help="When to colour the report; `auto`: on a terminal.",
)
@click.option(
    "--fail-on",
    type=click.Choice(("error", "warning")),
    default="warning",
    show_default=True,
    help="The lowest severity that makes the exit code 1.",
)
@click.option("--exit-zero", is_flag=True, help="Exit with 0 even if there are reports.")
@click.option("-q", "--quiet", is_flag=True, help="Print reports and errors only.")
@click.option("-v", "--verbose", is_flag=True, help="Also print timing, and tracebacks of internal errors.")
def check(
    settings: Settings,
    stdin_filename: str | None,
    fix: bool,
    unsafe_fixes: bool,
    baseline: Path | None,
    diff_base: str | None,
    whole_project: bool,
    add_ignore: str | None,
    show_files: bool,
    show_settings: bool,
    watch: bool,
    **wishes: Any,
) -> int:
    """Check files and folders. `-` is standard input; without a path, the command checks the current folder."""
    wanted = _Wishes(**wishes)
    settings = replace(
        settings,
        stdin_filename=stdin_filename,
        fix=fix or wanted.fix_only or wanted.diff,
        diff=wanted.diff,
        unsafe_fixes=unsafe_fixes,
        baseline=baseline,
        diff_base=diff_base,
        whole_project=whole_project,
        add_ignore=None if add_ignore is None else _reason(add_ignore),
    )
    if show_files or show_settings:
        return _show_files(settings) if show_files else _show_settings(settings)
    _require_one_purpose(settings, watch=watch)
    if not watch:
        return _once(settings, wanted)
    if "-" in settings.paths:
        raise click.UsageError("--watch needs files, not standard input")
    return _again_and_again(settings, wanted)


def _reason(text: str) -> str:
    """Check the reason of `--add-ignore`: it has to be what a comment can say on one line."""
    reason = text.strip()
    if not reason or "#" in reason or not reason.isprintable():
        raise click.UsageError("--add-ignore needs a reason: words on one line, without `#`")
    return reason


def _require_one_purpose(settings: Settings, *, watch: bool) -> None:
    """Refuse options that contradict each other."""
    if settings.add_ignore is not None:
        if settings.fix:
            raise click.UsageError("--add-ignore cannot be combined with fixes")
        if watch:
            raise click.UsageError("--add-ignore cannot be combined with --watch")
        if "-" in settings.paths:
            raise click.UsageError("--add-ignore needs files, not standard input")
    if settings.diff_base is not None and settings.fix:
        # A fix is kept if it brings no new report; nobody would see one that the commit has too.
        raise click.UsageError("--diff-base cannot be combined with fixes")
    if settings.whole_project and (settings.fix or "-" in settings.paths):
        # In a file that nobody has named, nobody would see a report that a fix brings.
        raise click.UsageError("--whole-project cannot be combined with fixes or standard input")


def _show_files(settings: Settings) -> int:
    """Print the files of a run; return the exit code."""
    from devlint import engine
    from devlint.project import display_path

    found = engine.found_by(settings)
    put("".join(f"{printable(display_path(path))}\n" for path in found.files))
    for text in (*found.notes, *found.warnings):
        say("note", text)
    for problem in found.problems:
        say("error", str(problem))
    return 2 if found.problems else 0


def _show_settings(settings: Settings) -> int:
    """Print what holds for the files of a run, once for each configuration; return the exit code."""
    from devlint import engine
    from devlint.explain import describe_settings

    found = engine.effective(settings)
    put("\n".join(describe_settings(one.configuration, one.root, len(one.files), rules) for one, rules in found))
    note = retired.remark(engine.retired_by_settings(settings, (one.configuration for one, _ in found)))
    if note:
        say("note", note)
    return 0


@dataclass(frozen=True, slots=True)
class _Wishes:
    """The options that change the output and not the reports; see their help."""

    fix_only: bool
    diff: bool
    exit_non_zero_on_fix: bool
    no_cache: bool
    observed: tuple[str, ...]
    fail_on_stale: bool
    output_format: str
    output_file: Path | None
    statistics: bool
    color: str
    fail_on: str
    exit_zero: bool
    quiet: bool
    verbose: bool


def _once(settings: Settings, wanted: _Wishes) -> int:
    """Run, report, and return the exit code."""
    from devlint import engine, report
    from devlint.cache import load_tools, remarks_on_rules, user_cache
    from devlint.diagnostics import Severity

    render = _renderer(wanted.output_format, statistics=wanted.statistics)
    stdin = sys.stdin.buffer.read() if "-" in settings.paths else None
    progress = Progress(sys.stderr)
    try:
        start = partial(engine.run, settings, stdin=stdin, progress=None if wanted.quiet else progress)
        run = start() if wanted.no_cache else start(load=load_tools, cache=user_cache(settings))
    finally:
        progress.clear()
    given = [retired.note("--observed")] if wanted.observed else []
    run = replace(run, notes=(*run.notes, *remarks_on_rules(), *given))
    if wanted.diff:
        from devlint import fixes

        put_bytes(fixes.unified_diff(run.changes))
    elif settings.fix or settings.add_ignore is not None:
        run = _write(run, stdin)
    _remarks(run, quiet=wanted.quiet, verbose=wanted.verbose)
    if settings.add_ignore is not None:
        if not wanted.quiet:
            put(f"Silenced {run.outcome.fixed}.\n", err=True)
        return run.exit_code_of_fixes(strict=False)
    if wanted.diff or wanted.fix_only:
        if not wanted.quiet:
            put(f"{'Would fix' if wanted.diff else 'Fixed'} {run.outcome.fixed}.\n", err=True)
        return run.exit_code_of_fixes(strict=wanted.diff or wanted.exit_non_zero_on_fix)
    colour = report.wants_colour(wanted.color, terminal=sys.stdout.isatty(), environ=os.environ)
    shown = render(run.outcome, report.Palette(colour and wanted.output_file is None))
    for_people = wanted.output_format in report.TEXT_FORMATS
    _put(
        shown, wanted.output_file, colour and for_people, err=settings.fix and stdin is not None, for_people=for_people
    )
    if wanted.output_format in _WITH_SUMMARY and not wanted.quiet:
        put(f"{report.summary(run.outcome, run.unreadable)}\n", err=True)
        script = "" if run.outcome.diagnostics else run.script()
        if script:
            put(f"A rehearsal checks the code that it runs: `devlint rehearse {shlex.quote(script)}`\n", err=True)
        hint = report.fixes_hint(run.outcome, unsafe=settings.unsafe_fixes)
        if hint and not settings.whole_project:  # which cannot be combined with fixes
            put(f"{hint}\n", err=True)
    code = run.exit_code(Severity(wanted.fail_on), exit_zero=wanted.exit_zero, fail_on_stale=wanted.fail_on_stale)
    return max(code, run.exit_code_of_fixes(strict=wanted.exit_non_zero_on_fix))


def _again_and_again(settings: Settings, wanted: _Wishes) -> int:
    """Run now and whenever a file has changed; Ctrl-C is the way to end it, and no failure."""
    from devlint import engine
    from devlint.configuration import configuring
    from devlint.project import display_path
    from devlint.watching import changes

    known: list[Path] = []

    def files() -> list[Path]:
        with suppress(DevlintError):  # which the run has told already
            known[:] = engine.found_by(settings).files
        return [*known, *configuring([*known, Path.cwd() / "here"])]

    try:
        for changed in changes(files):
            if changed:
                others = f" and {len(changed) - 1} more" if len(changed) > 1 else ""
                say("note", f"{display_path(changed[0])}{others} changed")
            try:
                _once(settings, wanted)
            except DevlintError as error:
                say("error", str(error))
            say("note", "waiting for changes, Ctrl-C ends")
    except KeyboardInterrupt:
        return 0
    return 0


def _write(run: Run, stdin: bytes | None) -> Run:
    """Write the changed files; of standard input, print the fixed text."""
    from devlint import fixes

    if stdin is not None:
        (fixed,) = [change.after for change in run.changes] or [stdin]
        put_bytes(fixed)
        return run
    failed = fixes.write(run.changes)
    count = run.outcome.fixed - sum(change.settled for change in failed)
    outcome = replace(run.outcome, fixed=count, problems=(*run.problems, *failed.values()))
    return replace(run, outcome=outcome)


def _renderer(output_format: str, *, statistics: bool) -> Callable[[Outcome, Palette], str]:
    from devlint import report

    if not statistics:
        return report.FORMATS[output_format]
    if output_format not in _WITH_STATISTICS:
        raise click.UsageError(f"--statistics goes with the formats {', '.join(_WITH_STATISTICS)}")
    from devlint.report.statistics import render

    return lambda outcome, palette: render(outcome, output_format)


def _put(text: str, file: Path | None, colour: bool, *, err: bool, for_people: bool) -> None:
    from devlint.quoting import printable_log
    from devlint.writing import replace_file

    if file is not None:
        replace_file(file, (printable_log(text) if for_people else text).encode())
    elif for_people:
        put(text, colour=colour, err=err)
    else:
        put_document(text, err=err)


def _remarks(run: Run, *, quiet: bool, verbose: bool) -> None:
    """Print notes, warnings and errors of a run to standard error."""
    from devlint.project import display_path

    if not quiet:
        for note in run.notes:
            say("note", note)
        for warning in run.warnings:
            say("warning", warning)
        if run.stale:
            places = ", ".join(dict.fromkeys(display_path(baseline.path) for baseline, _ in run.stale))
            many = "1 entry matches" if len(run.stale) == 1 else f"{len(run.stale)} entries match"
            say("note", f"{places}: {many} nothing any more; `devlint baseline --prune` removes such entries")
    for problem in run.problems:
        say("error", str(problem))
    if verbose:
        for text in run.tracebacks:
            put(text, err=True)
        files = run.outcome.files
        say("note", f"{run.outcome.seconds:.2f} seconds, {files - run.kept} of {files} files analysed again")
