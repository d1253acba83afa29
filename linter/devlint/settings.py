"""What the user asked for: the command line as `Settings`, a configuration file as `Configuration`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from pathlib import Path

from devlint.diagnostics import Certainty, Severity
from devlint.errors import ConfigError
from devlint.patterns import Patterns
from devlint.records import dataclass


@dataclass(frozen=True, slots=True)
class Settings:
    """The command line of one run.

    Attributes:
        paths: files and folders as the user wrote them; `-` is standard input.
        select, ignore, extend_select: rule selectors (`DEV1`, `DEV101`, a rule name, `ALL`); None: not given.
        config: the configuration file to use for every source file, or None to look for the nearest one.
        isolated: no configuration file is read at all.
        jobs: number of processes; None: as many as the run is worth.
        stdin_filename: the path that standard input stands for.
        baseline: the baseline for every file, or None for that of its configuration.
        accepting: baselines are about to be written; see `Baselines`.
        exclude: patterns in place of those of the configurations, relative to the working folder; None: not given.
        extend_exclude: patterns besides those of the configurations, relative to the working folder.
        force_exclude: paths named on the command line are excluded like those found in folders.
        fix: make the fixes of diagnostics, in memory; the caller of the run writes the files.
        diff: the fixes are only shown, so that files need not be writable.
        unsafe_fixes: make unsafe ones too.
        min_certainty: report nothing less certain; None: as the configuration says.
        include_markdown: folders stand for the Markdown texts in them too.
        diff_base: report only what devlint does not report at this commit; None: report everything.
        whole_project: look at all files of the projects that the paths belong to; report also on the files that import
            the paths, and with notes in the paths.
        add_ignore: the reason of comments that silence each report, in memory; None: add none.
        within: folders that are opened and not checked, as of an editor; they decide as named ones about projects.
        engine: which analysis finds errors, "analysis" or "inference".
        in_editor: an editor has set the selectors, so errors call them as an editor does.
    """

    paths: tuple[str, ...]
    select: tuple[str, ...] | None = None
    ignore: tuple[str, ...] = ()
    extend_select: tuple[str, ...] = ()
    config: Path | None = None
    isolated: bool = False
    jobs: int | None = None
    stdin_filename: str | None = None
    exclude: tuple[str, ...] | None = None
    extend_exclude: tuple[str, ...] = ()
    force_exclude: bool = False
    fix: bool = False
    diff: bool = False
    unsafe_fixes: bool = False
    include_markdown: bool = False
    baseline: Path | None = None
    accepting: bool = False
    min_certainty: Certainty | None = None
    diff_base: str | None = None
    whole_project: bool = False
    add_ignore: str | None = None
    within: tuple[Path, ...] = ()
    engine: str = "analysis"
    in_editor: bool = False


@dataclass(frozen=True, slots=True)
class Configuration:
    """One configuration file, with the keys of the files that it extends; an empty one if there is no file.

    Attributes:
        file: the file it was read from, as shown to the user; None for the defaults.
        root: the folder that patterns and paths in it are relative to.
        select: None means the rules that are on by default, which are those that are not opt-in.
        per_file_ignores: pairs of (pattern, selectors).
        src: source roots for import resolution, absolute.
        severity: pairs of (selector, severity).
        signatures: `.pyi` files in the signature notation, absolute.
        notes: remarks on keys for the user.
        inherited: the folders that keys from other files are relative to, by key, where that is not `root`.
        baseline: the file of the baseline, absolute; it need not exist.
        devices: how many CUDA devices to assume; None: any number.
        min_certainty: report nothing less certain; None: `on-accelerator`.
    """

    file: str | None
    root: Path
    select: tuple[str, ...] | None = None
    ignore: tuple[str, ...] = ()
    extend_select: tuple[str, ...] = ()
    per_file_ignores: tuple[tuple[str, tuple[str, ...]], ...] = ()
    exclude: tuple[str, ...] = ()
    src: tuple[Path, ...] = ()
    severity: tuple[tuple[str, Severity], ...] = ()
    signatures: tuple[Path, ...] = ()
    devices: int | None = None
    min_certainty: Certainty | None = None
    baseline: Path | None = None
    inherited: tuple[tuple[str, Path], ...] = ()
    notes: tuple[str, ...] = ()

    def folder_of(self, key: str) -> Path:
        """Return the folder that the patterns of a key are relative to."""
        return dict(self.inherited).get(key, self.root)


def patterns_of(lines: Sequence[str], key: str, configuration: Configuration) -> Patterns:
    """Compile patterns in the notation of `.gitignore`.

    Raises:
        ConfigError: a pattern is none.
    """
    try:
        return Patterns(lines)
    except ValueError as error:
        raise ConfigError(f"{key}: {error}", path=configuration.file) from error


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Return `; did you mean "…"?` when a known word is close, else an empty string."""
    close = get_close_matches(word.lower(), {entry.lower(): entry for entry in known}, n=1, cutoff=0.6)
    if not close:
        return ""
    original = next(entry for entry in known if entry.lower() == close[0])
    return f'; did you mean "{original}"?'
