"""Which files a run looks at: walks folders, honours excludes and `.gitignore`, names what it cannot take."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import field
from pathlib import Path
from typing import TypeAlias

from pathspec import GitIgnoreSpec

from devlint.configuration import Configurations
from devlint.errors import DevlintError, SourceError
from devlint.project import display_path, root_for
from devlint.records import dataclass
from devlint.settings import Configuration, did_you_mean, pattern_spec
from devlint.sources import MARKDOWN, NOTEBOOK

DEFAULT_EXCLUDE = (
    "*.egg-info/",
    ".direnv/",
    ".eggs/",
    ".git/",
    ".hg/",
    ".ipynb_checkpoints/",
    ".mypy_cache/",
    ".nox/",
    ".pytest_cache/",
    ".ruff_cache/",
    ".svn/",
    ".tox/",
    ".venv/",
    "__pycache__/",
    "__pypackages__/",
    "_build/",
    "build/",
    "dist/",
    "node_modules/",
    "site-packages/",
    "venv/",
)

_Layer: TypeAlias = tuple[Path, GitIgnoreSpec]
"""Patterns and the folder that they are relative to."""


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
) -> Discovery:
    """Find the Python files and notebooks that `paths` stand for, and Markdown texts if they are asked for.

    A path that the user names wins over excludes and `.gitignore`, unless `force_exclude`. Symbolic links to
    folders are not followed while walking, so no loop is possible; a file reached twice is listed once.

    Raises:
        ConfigError: a pattern in a configuration file is none.
    """
    return _Search(configurations, force_exclude, include_markdown).run(paths)


def is_excluded(path: Path, configurations: Configurations) -> bool:
    """Whether a walk would pass over a path, which need not exist.

    It starts at the folder of the configuration file, or else at the working directory or the project.

    Raises:
        ConfigError: a pattern in a configuration file is none.
    """
    return _Search(configurations, force_exclude=True).is_excluded(Path(os.path.abspath(path)))


class _Search:
    def __init__(self, configurations: Configurations, force_exclude: bool, include_markdown: bool = False) -> None:
        self._configurations = configurations
        self._suffixes = (".py", NOTEBOOK, *(MARKDOWN if include_markdown else ()))
        self._force_exclude = force_exclude
        self._found = Discovery()
        self._candidates: list[Path] = []
        self._ignore_files: dict[Path, GitIgnoreSpec | None] = {}
        self._excludes: dict[Configuration, GitIgnoreSpec] = {}
        self._real_folders: dict[Path, str] = {}
        self._defaults = GitIgnoreSpec.from_lines(DEFAULT_EXCLUDE)

    def run(self, paths: Sequence[str]) -> Discovery:
        for name in paths:
            self._named(name)
        first_by_target: dict[str, Path] = {}
        shown = {path: display_path(path) for path in self._candidates}
        for path in sorted(shown, key=lambda path: (path.is_symlink(), shown[path])):
            first_by_target.setdefault(self._target(path), path)
        self._found.files = sorted(first_by_target.values(), key=shown.__getitem__)
        return self._found

    def _target(self, path: Path) -> str:
        """Return the path without symbolic links; those on the way to a folder are looked for once."""
        if path.is_symlink():
            return os.path.realpath(path)
        folder = path.parent
        if folder not in self._real_folders:
            self._real_folders[folder] = os.path.realpath(folder)
        return os.path.join(self._real_folders[folder], path.name)

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
            self._candidates.append(path)

    def _walk(self, top: Path) -> Iterator[Path]:
        """Yield the files below a folder. Patterns that exclude the folder itself do not count below it."""
        outer = [layer for layer in self._outer_layers(top) if not _verdict([layer], top, folder=True)]
        excluded_top = _verdict([self._exclude_layer(top)], top, folder=True) is True
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
            own = [] if excluded_top else [self._exclude_layer(folder)]
            for entry in entries:
                path = Path(entry.path)
                is_folder = os.path.isdir(path)
                if not is_folder and path.suffix not in self._suffixes:
                    continue
                if self._passes_over(path, is_folder, top, layers, own):
                    continue
                if is_folder:
                    if not entry.is_symlink():
                        pending.append((path, layers))
                elif os.path.isfile(path):
                    yield path
                elif path.is_symlink():
                    self._found.warnings.append(f"{display_path(path)}: skipped, broken symbolic link")

    def _passes_over(
        self, path: Path, folder: bool, top: Path, ignores: Sequence[_Layer], own: Sequence[_Layer]
    ) -> bool:
        """Decide by the user's patterns first, then `.gitignore` (inner before outer), then the defaults."""
        for layers in (own, ignores, [(top, self._defaults)]):
            verdict = _verdict(layers, path, folder=folder)
            if verdict is not None:
                return verdict
        return False

    def is_excluded(self, path: Path) -> bool:
        """See the function of this name."""
        configuration = self._configurations.of(path if os.path.isdir(path) else path.parent)
        tops = [configuration.root] if configuration.file is not None else [Path.cwd(), root_for(path)]
        top = next((top for top in tops if path.is_relative_to(top)), path.parent)
        parts, step = path.relative_to(top).parts, top
        layers = self._outer_layers(step)
        for part in parts:
            layers = layers + self._ignore_layers([step])
            own = [self._exclude_layer(step)]
            step = step / part
            if self._passes_over(step, os.path.isdir(step), top, layers, own):
                return True
        return False

    def _exclude_layer(self, folder: Path) -> _Layer:
        configuration = self._configurations.of(folder)
        if configuration not in self._excludes:
            self._excludes[configuration] = pattern_spec(configuration.exclude, "exclude", configuration)
        return configuration.folder_of("exclude"), self._excludes[configuration]

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
                layers.append((folder, spec))
        return layers

    def _read_ignore_file(self, file: Path) -> GitIgnoreSpec | None:
        try:
            lines = file.read_bytes().decode("utf-8", "surrogateescape").splitlines()
        except OSError:
            return None
        try:
            return GitIgnoreSpec.from_lines(lines)
        except ValueError:
            self._found.warnings.append(f"{display_path(file)}: not honoured, it has a pattern that is none")
            return None


def _spelled_alike(path: Path) -> str:
    """Return a hint at what stands beside a path that does not exist and is called much like it."""
    try:
        return did_you_mean(path.name, os.listdir(path.parent))
    except OSError:
        return ""


def _verdict(layers: Sequence[_Layer], path: Path, *, folder: bool) -> bool | None:
    """Ask the layers from the last to the first: True excluded, False re-included, None not mentioned."""
    name = path.as_posix() + ("/" if folder else "")
    for base, spec in reversed(layers):
        above = base.as_posix().rstrip("/") + "/"
        if not name.startswith(above) or name == above:
            continue
        include = spec.check_file(name.removeprefix(above)).include
        if include is not None:
            return include
    return None
