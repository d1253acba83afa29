"""Finds the files of a run: walks folders, honours excludes and `.gitignore`, names paths that it cannot take."""

from __future__ import annotations

import errno
import itertools
import os
from collections.abc import Collection, Iterator, Sequence
from dataclasses import field
from pathlib import Path
from typing import Protocol, TypeAlias

from devlint.configuration import Configurations
from devlint.errors import DevlintError, SourceError
from devlint.patterns import Patterns
from devlint.project import bounds_of, display_path, is_marked, is_too_wide, root_for
from devlint.reading import LARGEST_SETTINGS, leads_out, read_file
from devlint.records import dataclass
from devlint.settings import Configuration, did_you_mean, patterns_of
from devlint.sources import MARKDOWN, NOTEBOOK

DEFAULT_EXCLUDE = frozenset(
    {
        ".direnv",
        ".eggs",
        ".git",
        ".hg",
        ".ipynb_checkpoints",
        ".mypy_cache",
        ".nox",
        ".pytest_cache",
        ".ruff_cache",
        ".svn",
        ".tox",
        ".venv",
        "__pycache__",
        "__pypackages__",
        "_build",
        "build",
        "dist",
        "node_modules",
        "site-packages",
        "venv",
    }
)
"""Names of folders that are passed over unless a pattern of the user's says otherwise; also `*.egg-info`."""

_Layer: TypeAlias = tuple[str, Patterns]
"""What the paths begin with that some patterns are about, with `/` at the end, and the patterns."""


@dataclass(slots=True)
class Discovery:
    """What a search found.

    Attributes:
        files: absolute paths, sorted by what the user sees, each file once.
        problems: paths that the user named and that cannot be analysed.
        warnings: things met on the way that were passed over.
        notes: remarks that need no action.
    """

    files: list[Path] = field(default_factory=list)
    problems: list[DevlintError] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def discover(
    paths: Sequence[str],
    configurations: Configurations,
    *,
    force_exclude: bool = False,
    include_markdown: bool = False,
    given: Given | None = None,
) -> Discovery:
    """Find the Python files and notebooks that `paths` stand for, and Markdown texts if they are asked for.

    A path that the user names wins over excludes and `.gitignore`, unless `force_exclude`. Symbolic links to
    folders are not followed while walking, so no loop is possible; a file reached twice is listed once. Links to files
    outside of the project are followed only if the user names them.

    Args:
        paths: as the user wrote them.
        configurations: with patterns to exclude.
        force_exclude: excludes hold for named paths too.
        include_markdown: find Markdown texts too.
        given: patterns of the command line.

    Raises:
        ConfigError: a pattern is none.
    """
    return _Search(configurations, force_exclude, include_markdown, given).run(paths)


def members_of(root: Path, configuration: Configuration) -> Sequence[Path]:
    """Find all files of a project under one configuration, whose excludes say what belongs to it."""
    return _Search(_Same(root, configuration), force_exclude=False).run((str(root),)).files


MOST_UNCHECKED = 2_000
"""A folder that nothing marks as a project is none if it has more files than this which nobody wants to be checked."""


def why_alone(root: Path, configuration: Configuration, checked: Collection[Path]) -> str:
    """Return a note for the user if a folder is no project, so that no other file of it counts; else ""."""
    if is_marked(root):
        return ""
    why = "it is your home folder or has all files; check the folder of the program"
    if not is_too_wide(root):
        walk = _Search(_Same(root, configuration), force_exclude=False).walk(root)
        others = (path for path in walk if path not in checked)
        if next(itertools.islice(others, MOST_UNCHECKED, None), None) is None:
            return ""
        why = f"it has over {MOST_UNCHECKED:,} files that are not checked; check all of it, or add a `pyproject.toml`"
    what = "devlint does not know who calls the functions in it: nothing marks the folder as a project, and"
    return f"{display_path(root)}: {what} {why}"


class _Configured(Protocol):
    """What says which configuration holds in a folder."""

    @property
    def named(self) -> Sequence[Path]:
        """The folders that decide where projects begin which nothing marks."""

    def of(self, folder: Path) -> Configuration:
        """Return the configuration of the files in a folder."""


class _Same:
    """One configuration for every folder below another one."""

    def __init__(self, root: Path, configuration: Configuration) -> None:
        self.named = (root,)
        self._configuration = configuration

    def of(self, folder: Path) -> Configuration:
        """Return the configuration."""
        return self._configuration


def is_excluded(path: Path, configurations: Configurations, given: Given | None = None) -> bool:
    """Whether a walk would pass over a path, which need not exist.

    It starts at the folder of the configuration file, or else at the working directory or the project.

    Raises:
        ConfigError: a pattern is none.
    """
    search = _Search(configurations, force_exclude=True, given=given)
    return search.is_excluded(Path(os.path.abspath(path)))


class Given:
    """The patterns of the command line, relative to the working folder; elsewhere, to the root of the file system.

    Args:
        exclude: in place of the patterns of the configurations; None: besides them.
        extend_exclude: in any case besides them.

    Raises:
        ConfigError: a pattern is none.
    """

    def __init__(self, exclude: Sequence[str] | None, extend_exclude: Sequence[str]) -> None:
        self.replaces = exclude is not None
        nowhere = Configuration(None, Path.cwd())
        named = (("--exclude", exclude or ()), ("--extend-exclude", extend_exclude))
        self._patterns = [patterns_of(patterns, option, nowhere) for option, patterns in named if patterns]

    def layers(self, folder: Path) -> list[_Layer]:
        """Return the patterns with the folder that they are relative to."""
        base = Path.cwd() if folder.is_relative_to(Path.cwd()) else Path(folder.anchor)
        return [_layer(base, patterns) for patterns in self._patterns]


class _Search:
    def __init__(
        self,
        configurations: _Configured,
        force_exclude: bool,
        include_markdown: bool = False,
        given: Given | None = None,
    ) -> None:
        self._configurations = configurations
        self._given = given or Given(None, ())
        self._suffixes = (".py", NOTEBOOK, *(MARKDOWN if include_markdown else ()))
        self._force_exclude = force_exclude
        self._found = Discovery()
        self._candidates: list[tuple[bool, str, str]] = []
        """Whether it is a symbolic link, as shown to the user, where it is."""
        self._ignore_files: dict[Path, Patterns | None] = {}
        self._excludes: dict[Configuration, Patterns] = {}
        self._real_folders: dict[str, str] = {}

    def run(self, paths: Sequence[str]) -> Discovery:
        for name in paths:
            self._named(name)
        first_by_target: dict[str, tuple[str, str]] = {}
        for is_link, shown, path in sorted(self._candidates):
            first_by_target.setdefault(self._target(path, is_link), (shown, path))
        self._found.files = [Path(path) for _, path in sorted(first_by_target.values())]
        return self._found

    def walk(self, top: Path) -> Iterator[Path]:
        """Yield the files below a folder, but for links, as they are found."""
        return (Path(path) for is_link, _, path in self._walk(top) if not is_link)

    def _target(self, path: str, is_link: bool) -> str:
        """Return the path without symbolic links; those on the way to a folder are looked for once."""
        if is_link:
            return os.path.realpath(path)
        folder, name = os.path.split(path)
        if folder not in self._real_folders:
            self._real_folders[folder] = os.path.realpath(folder)
        return os.path.join(self._real_folders[folder], name)

    def _named(self, name: str) -> None:
        path = Path(os.path.abspath(name))
        shown = display_path(path)
        if not os.path.exists(path):
            reason = "no such file or folder" + _spelled_alike(path)
            if path.is_symlink():
                reason = "broken symbolic link"
            self._found.problems.append(SourceError(reason, path=shown))
        elif self._force_exclude and self.is_excluded(path):
            self._found.notes.append(f"{shown}: excluded")
        elif os.path.isdir(path):
            before = len(self._candidates)
            self._candidates.extend(self._walk(path))
            if len(self._candidates) == before:
                self._found.notes.append(f"{shown}: no Python files")
        elif path.suffix == ".pyi":
            self._found.notes.append(f"{shown}: skipped, stubs hold no code")
        else:
            if path.suffix not in ("", ".py", ".pyw", NOTEBOOK, *MARKDOWN):
                self._found.notes.append(f"{shown}: read as Python")
            self._candidates.append((path.is_symlink(), shown, str(path)))

    def _walk(self, top: Path) -> Iterator[tuple[bool, str, str]]:
        """Yield the files below a folder. Patterns that exclude the folder itself do not count below it."""
        name = _posix(str(top)) + "/"
        outer = [layer for layer in self._outer_layers(top) if not _covers(layer, name)]
        excluded_top = any(_covers(layer, name) for layer in self._exclude_layers(top))
        pending: list[tuple[Path, list[_Layer]]] = [(top, outer)]
        while pending:
            folder, layers = pending.pop()
            try:
                entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
            except OSError as error:
                shown = display_path(folder)
                self._found.problems.append(SourceError(f"cannot be read: {error.strerror}", path=shown))
                continue
            layers = layers + self._ignore_layers([folder])
            layers_of_all = layers if excluded_top else [*layers, *self._exclude_layers(folder)]
            shown_folder = display_path(folder)
            before = "" if shown_folder == "." else f"{shown_folder.rstrip('/')}/"
            for entry in entries:
                name, is_link = entry.name, entry.is_symlink()
                is_folder = os.path.isdir(entry.path) if is_link else entry.is_dir()
                if not is_folder and (not name.endswith(self._suffixes) or name in self._suffixes):
                    continue
                if _passes_over(_posix(entry.path), is_folder, layers_of_all):
                    continue
                if is_folder:
                    if not is_link:
                        pending.append((Path(entry.path), layers))
                elif is_link and os.path.isfile(entry.path) and self._leads_out(entry.path, top):
                    self._found.warnings.append(f"{before}{name}: skipped, it leads out of the project")
                elif os.path.isfile(entry.path) if is_link else entry.is_file():
                    yield is_link, before + name, entry.path
                elif is_link:
                    self._found.warnings.append(f"{before}{name}: skipped, broken symbolic link")

    def _leads_out(self, link: str, top: Path) -> bool:
        """Whether a link leads to a file of somebody else, which no report should quote."""
        return leads_out(Path(link), (top, *bounds_of(Path(link), self._configurations.named)))

    def is_excluded(self, path: Path) -> bool:
        """See the function of this name."""
        configuration = self._configurations.of(path if os.path.isdir(path) else path.parent)
        named = self._configurations.named
        tops = [configuration.root] if configuration.file is not None else [Path.cwd(), root_for(path, named)]
        top = next((top for top in tops if path.is_relative_to(top)), path.parent)
        parts, step = path.relative_to(top).parts, top
        layers = self._outer_layers(step)
        for part in parts:
            layers = layers + self._ignore_layers([step])
            own = self._exclude_layers(step)
            step = step / part
            if _passes_over(step.as_posix(), step != path or os.path.isdir(step), [*layers, *own]):
                return True
        return False

    def _exclude_layers(self, folder: Path) -> list[_Layer]:
        configured = [] if self._given.replaces else self._configured_layers(folder)
        return [*configured, *self._given.layers(folder)]

    def _configured_layers(self, folder: Path) -> list[_Layer]:
        configuration = self._configurations.of(folder)
        if not configuration.exclude:
            return []
        if configuration not in self._excludes:
            self._excludes[configuration] = patterns_of(configuration.exclude, "exclude", configuration)
        return [_layer(configuration.folder_of("exclude"), self._excludes[configuration])]

    def _outer_layers(self, top: Path) -> list[_Layer]:
        """Return the `.gitignore` files of the repository above `top`, outermost first."""
        above: list[Path] = []
        for folder in (top, *top.parents):
            if folder != top:
                above.append(folder)
            if os.path.exists(folder / ".git"):
                return self._ignore_layers(reversed(above))
        return []

    def _ignore_layers(self, folders: Sequence[Path] | Iterator[Path]) -> list[_Layer]:
        layers: list[_Layer] = []
        for folder in folders:
            if folder not in self._ignore_files:
                self._ignore_files[folder] = self._read_ignore_file(folder / ".gitignore")
            spec = self._ignore_files[folder]
            if spec is not None:
                layers.append(_layer(folder, spec))
        return layers

    def _read_ignore_file(self, file: Path) -> Patterns | None:
        try:
            if os.path.islink(file):
                raise OSError(errno.ELOOP, "it is a symbolic link")  # git does not follow it either
            text = read_file(file, LARGEST_SETTINGS).decode("utf-8", "surrogateescape").removeprefix("\ufeff")
        except FileNotFoundError:
            return None
        except OSError as error:
            self._found.warnings.append(f"{display_path(file)}: not honoured, {error.strerror or error}")
            return None
        try:
            return Patterns(line.removesuffix("\r") for line in text.split("\n"))
        except ValueError:
            self._found.warnings.append(f"{display_path(file)}: not honoured, it has a pattern that is none")
            return None


def _spelled_alike(path: Path) -> str:
    """Return a hint at what stands beside a path that does not exist and is called much like it."""
    try:
        return did_you_mean(path.name, os.listdir(path.parent))
    except OSError:
        return ""


def _layer(folder: Path, patterns: Patterns) -> _Layer:
    return folder.as_posix().rstrip("/") + "/", patterns


def _posix(path: str) -> str:
    return path if os.sep == "/" else path.replace(os.sep, "/")


def _passes_over(path: str, folder: bool, layers: Sequence[_Layer]) -> bool:
    """Decide by the user's patterns, the last layer, then `.gitignore` (inner before outer), then the defaults."""
    verdict = _verdict(layers, f"{path}/" if folder else path)
    if verdict is not None:
        return verdict
    name = path.rpartition("/")[2]
    return folder and (name in DEFAULT_EXCLUDE or name.endswith(".egg-info"))


def _verdict(layers: Sequence[_Layer], name: str) -> bool | None:
    """Ask the layers from the last to the first: True excluded, False re-included, None not mentioned."""
    for above, patterns in reversed(layers):
        if not name.startswith(above) or name == above:
            continue
        verdict = patterns.verdict(name.removeprefix(above))
        if verdict is not None:
            return verdict
    return None


def _covers(layer: _Layer, name: str) -> bool:
    """Whether a layer excludes a path or a folder that it is in."""
    above, patterns = layer
    return name.startswith(above) and name != above and patterns.covers(name.removeprefix(above))
