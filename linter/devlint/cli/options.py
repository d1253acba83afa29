"""Options of all analysing commands, collected into one `Settings`."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

Command = Callable[..., int]


def _list(ctx: click.Context, option: click.Parameter, value: str | None) -> tuple[str, ...] | None:
    return None if value is None else tuple(entry.strip() for entry in value.split(",") if entry.strip())


def _rules(ctx: click.Context, option: click.Parameter, value: str | None) -> tuple[str, ...] | None:
    """Split a list of rules; one without any would turn devlint off, as an empty variable of a job does."""
    found = _list(ctx, option, value)
    if found == () and option.name == "select":
        raise click.UsageError("--select names no rule; remove the option to select the default rules")
    return found


def complete_rules(ctx: click.Context, option: click.Parameter, incomplete: str) -> list[str]:
    """Complete the last of several codes or names of rules, with commas between."""
    from devlint.registry import load_rules

    before, comma, last = incomplete.rpartition(",")
    names = [name for rule in load_rules() for name in (rule.code, rule.name)]
    return [f"{before}{comma}{name}" for name in names if name.startswith(last)]


def _rules_option(name: str, text: str) -> Callable[[Command], Command]:
    return click.option(name, callback=_rules, shell_complete=complete_rules, metavar="RULES", help=text)


def _patterns_option(name: str, text: str) -> Callable[[Command], Command]:
    return click.option(name, callback=_list, metavar="PATTERNS", help=text)


_PATH = click.Path(path_type=Path)

_SETTINGS = (
    click.argument("paths", nargs=-1, metavar="[PATH]…"),
    _rules_option(
        "--select", "Turn on only these rules: codes, prefixes (DEV1) or names, separated by commas, or ALL."
    ),
    _rules_option("--ignore", "Turn off these rules."),
    _rules_option("--extend-select", "Turn on these rules too."),
    click.option(
        "--min-certainty",
        type=click.Choice(["certain", "on-accelerator", "possible"]),
        help="Hide less certain reports. `certain`: fails on every path; `on-accelerator`: fails on an accelerator; "
        "`possible`: fails for some callers.  [default: on-accelerator]",
    ),
    click.option("--config", type=_PATH, help="Use this TOML file or profile for every source file."),
    click.option("--isolated", is_flag=True, help="Read no configuration file."),
    _patterns_option(
        "--exclude",
        "Skip matching files below the checked folders, instead of the configured patterns; separated by commas.",
    ),
    _patterns_option("--extend-exclude", "Skip files that match these patterns too."),
    click.option(
        "--force-exclude", is_flag=True, help="Apply the exclude patterns to files named on the command line too."
    ),
    click.option("--include-markdown", is_flag=True, help="Check the Python in Markdown files of folders too."),
    click.option(
        "--jobs",
        type=click.IntRange(1),
        help="Number of processes.  [default: depends on the number of files and cores]",
    ),
    click.option("--engine", type=click.Choice(["analysis", "inference"]), default="analysis", hidden=True),
)


def takes_settings(command: Command) -> Command:
    """Give a command the paths and the options that all analysing commands have; it gets them as `settings`."""

    def with_settings(
        *,
        paths: tuple[str, ...],
        select: tuple[str, ...] | None,
        ignore: tuple[str, ...] | None,
        extend_select: tuple[str, ...] | None,
        min_certainty: str | None,
        config: Path | None,
        isolated: bool,
        exclude: tuple[str, ...] | None,
        extend_exclude: tuple[str, ...] | None,
        force_exclude: bool,
        include_markdown: bool,
        jobs: int | None,
        engine: str,
        **others: Any,
    ) -> int:
        from devlint.diagnostics import Certainty
        from devlint.settings import Settings

        settings = Settings(
            paths=paths or (".",),
            select=select,
            ignore=ignore or (),
            extend_select=extend_select or (),
            min_certainty=None if min_certainty is None else Certainty(min_certainty),
            config=config,
            isolated=isolated,
            exclude=exclude,
            extend_exclude=extend_exclude or (),
            force_exclude=force_exclude,
            include_markdown=include_markdown,
            jobs=jobs,
            engine=engine,
        )
        return command(settings=settings, **others)

    wrapped: Command = functools.update_wrapper(with_settings, command)
    for option in reversed(_SETTINGS):
        wrapped = option(wrapped)
    return wrapped
