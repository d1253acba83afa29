"""Source files: decoding them, naming them, finding them by import. The only reader of source files."""

from __future__ import annotations

import hashlib
import os
import re
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path

from devlint.decoding import decode, read_bytes
from devlint.errors import SourceError
from devlint.reading import LARGEST_SETTINGS, leads_out, read_file
from devlint.reads import TEXT, Part, Reads
from devlint.records import dataclass
from devlint.sources import program_of
from devlint.sources.program import Cell
from devlint.traces import Asked, Said, Trace, TracedPart

_ROOT_MARKERS = ("pyproject.toml", ".git", "setup.py")
_INIT = "__init__.py"

_INSTALLED = (".dist-info", ".egg-info")
_TEST_FOLDERS = frozenset({"test", "tests", "testing"})

_METADATA = {
    "pyproject.toml": ("[project]", "[tool.poetry]", "[tool.flit.metadata]"),
    "setup.cfg": ("[metadata]", "[options]"),
}
"""The tables that name a distribution, by the file that they are in."""


@dataclass(frozen=True, slots=True)
class Source:
    """One decoded source file.

    Attributes:
        display: the path as shown to the user: relative to the working directory, with `/`.
        path: where it is; absolute.
        text: without a byte order mark, every line end as `\\n`.
        module: the dotted name it is imported by; None when no import statement can name it.
        original: the same lines as their author sees them, of a notebook or Markdown text.
        cells: of a notebook.
        digest: a name for the bytes that it was decoded from.
    """

    display: str
    path: Path
    text: str
    module: str | None
    original: str = ""
    cells: tuple[Cell, ...] = ()
    digest: str = ""

    @property
    def is_package(self) -> bool:
        """Whether relative imports in it start at `module` itself rather than at its parent."""
        return self.path.name == _INIT

    @property
    def is_script(self) -> bool:
        """Whether it is run as a program, which finds the files of its own folder, whatever package that is."""
        return self.text.startswith(_MAIN) or f"\n{_MAIN}" in self.text


_MAIN = "if __name__ =="


@dataclass(frozen=True, slots=True)
class _Resolution:
    """The file that one module name led to, its content if it can be read, and the paths that were tried before."""

    path: Path | None
    source: Source | None
    absent: tuple[Path, ...]


@dataclass(frozen=True, slots=True)
class _Package:
    """The package of a folder: the folder that its imports start from, and the names that lead to it from there.

    `root` is where the outermost package stands, or `folder` itself; names begin at a source root in that case.
    """

    folder: Path
    root: Path
    names: tuple[str, ...]

    @property
    def present(self) -> Iterator[Path]:
        """The files whose presence makes the folder a part of that package."""
        folder = self.folder
        while folder != self.root:
            yield folder / _INIT
            folder = folder.parent

    @property
    def absent(self) -> Iterator[Path]:
        """The file whose absence ends the package."""
        if self.root.parent != self.root:
            yield self.root / _INIT


def digest(data: bytes) -> str:
    """Return a name for a content."""
    return hashlib.blake2b(data, digest_size=16).hexdigest()


def display_path(path: Path) -> str:
    """Return `path` relative to the working directory with `/`, or absolute when no relative path exists."""
    try:
        return os.path.relpath(path).replace(os.sep, "/")
    except ValueError:  # on Windows, another drive
        return path.as_posix()


def root_for(path: Path, named: Iterable[Path] = ()) -> Path:
    """Return the project of a file: the nearest folder with a `pyproject.toml`, `.git` or `setup.py`.

    Without any, it is the outermost folder that is named and has the file, or else the file's own folder.

    Args:
        path: a file or a folder; absolute.
        named: as `folders_of` returns them.
    """
    start = path if os.path.isdir(path) else path.parent
    for folder in (start, *start.parents):
        if is_marked(folder):
            return folder
    around = (folder for folder in named if start.is_relative_to(folder))
    return min(around, key=lambda one: len(one.parts), default=_whole_package(start))


def folders_of(*paths: str | Path) -> tuple[Path, ...]:
    """Return the folders that some paths name: of a file its own, of a part of a package the whole package; not `-`."""
    absolute = (Path(os.path.abspath(path)) for path in paths if str(path) != "-")
    return tuple(dict.fromkeys(_whole_package(path if os.path.isdir(path) else path.parent) for path in absolute))


def _whole_package(folder: Path) -> Path:
    parts = folder.relative_to(_outermost(folder)).parts
    return folder if not parts else _outermost(folder) / parts[0]


def is_marked(folder: Path) -> bool:
    """Whether something in a folder says that a project begins there."""
    return any(os.path.exists(folder / marker) for marker in _ROOT_MARKERS)


def bounds_of(path: Path, named: Iterable[Path] = ()) -> tuple[Path, ...]:
    """Return the folders that a link of a project may lead to: the repository, or else the project.

    A folder that a link leads to has both bounds: those of the link and its own. Only the user can name such a file,
    since no walk follows a link to a folder. No named folder counts that is too wide.
    """
    narrow = [one for one in named if not is_too_wide(one)]
    return tuple(dict.fromkeys(repository_of(one) or root_for(one, narrow) for one in _both_folders_of(path)))


def territory_of(path: Path, named: Iterable[Path] = ()) -> tuple[Path, ...]:
    """Return the folders that the paths in a configuration may lead to: its bounds, and often a named folder.

    Outside of a repository, the named folders that the file is in are some of them, unless they are too wide.
    """
    alone = [folder for folder in _both_folders_of(path) if repository_of(folder) is None]
    around = (one for one in named if not is_too_wide(one) and any(folder.is_relative_to(one) for folder in alone))
    return (*bounds_of(path, named), *around)


def _both_folders_of(path: Path) -> tuple[Path, Path]:
    """The folder of a file by its name, and after all links."""
    folder = os.path.dirname(os.path.abspath(path))
    return Path(folder), Path(os.path.realpath(folder))


def repository_of(folder: Path) -> Path | None:
    """Return the nearest folder with `.git`, at or above a folder; None if there is none."""
    return next((above for above in (folder, *folder.parents) if os.path.exists(above / ".git")), None)


def is_too_wide(folder: Path) -> bool:
    """Whether a folder is the user's home, or all there is: no project, whoever names it."""
    return folder.parent == folder or str(folder) == os.path.expanduser("~")


def _outermost(folder: Path) -> Path:
    while os.path.isfile(folder / _INIT) and folder.parent != folder:
        folder = folder.parent
    return folder


class Project:
    """The source files of one project, read on demand and once.

    Args:
        root: the project's folder.
        src: further folders that imports start from; they come before `root` and `root/src`.
        walk: finds all files of the project, called once and only if they are asked for.

    Attributes:
        import_roots: the folders that imports start from, as far as they exist.
        reads: which parts of its files the results rest on.
    """

    def __init__(self, root: Path, src: Sequence[Path] = (), walk: Callable[[], Sequence[Path]] = tuple) -> None:
        self._walk = walk
        self.root = Path(os.path.abspath(root))
        candidates = [*(path.absolute() for path in src), self.root / "src", self.root]
        self.import_roots = tuple(dict.fromkeys(path for path in candidates if os.path.isdir(path)))
        self.reads = Reads()
        self._inside = os.path.join(self.root, "")
        self._sources: dict[Path, Source] = {}
        self._peeked: dict[Path, Source] = {}
        self._raw: dict[Path, bytes] = {}
        self._digests: dict[Path, str] = {}
        self._modules: dict[tuple[str, tuple[Path, ...]], _Resolution] = {}
        self._sought: dict[Path, set[tuple[str, tuple[Path, ...]]]] = {}
        self._asked: dict[Path, set[Asked]] = {}
        self._said: dict[Path, dict[re.Pattern[str], bool]] = {}
        self._parts: dict[Path, Mapping[str, str]] = {}
        self._imports: dict[Path, tuple[str, tuple[str, ...]]] = {}
        self._told: dict[Path, int] = {}
        self._packages: dict[str, _Package] = {}
        self._absent: frozenset[Path] = frozenset()
        self._gone: frozenset[Path] = frozenset()

    @cached_property
    def members(self) -> tuple[Path, ...]:
        """All files of the project, whether anything imports them or not; absolute."""
        now = [path for path in self._walk() if path not in self._absent]
        return (*now, *sorted(self._gone.difference(now)))

    @cached_property
    def _territory(self) -> tuple[Path, ...]:
        """The folders in which an import may end, after all links: the source roots, and the repository or project."""
        return (*self.import_roots, repository_of(self.root) or self.root)

    @cached_property
    def is_distribution(self) -> bool:
        """Whether the project is built and installed, by the files in its folder that say how, or that say it is."""
        try:
            names = os.listdir(self.root)
        except OSError:
            return False
        if "setup.py" in names or any(name.endswith(_INSTALLED) for name in names):
            return True
        return any(self._has_table(name, tables) for name, tables in _METADATA.items() if name in names)

    def _has_table(self, name: str, tables: Collection[str]) -> bool:
        """Whether a file in the project's folder has one of some tables."""
        try:
            text = read_file(self.root / name, LARGEST_SETTINGS).decode("utf-8", "replace")
        except OSError:
            return False
        return any(line.strip() in tables for line in text.split("\n"))

    def is_of_library(self, source: Source) -> bool:
        """Return whether a file is part of a package that others install, whose functions they may call."""
        package = self._package(str(source.path.parent))
        return self.is_distribution and package.root != package.folder and not source.is_script

    def is_test(self, path: Path) -> bool:
        """Return whether pytest collects a file or takes fixtures from it, or a folder of tests has it."""
        *folders, name = self.name_of(path).split("/")
        is_collected = name.startswith("test_") or name.endswith("_test.py") or name == "conftest.py"
        return is_collected or not _TEST_FOLDERS.isdisjoint(folders)

    def name_of(self, path: Path | str) -> str:
        """Return the name of a file in this project: its absolute path as seen from the root, with `/`."""
        text = str(path)
        if text.startswith(self._inside):
            return text[len(self._inside) :].replace(os.sep, "/")
        try:
            return os.path.relpath(text, self.root).replace(os.sep, "/")
        except ValueError:  # on Windows, another drive
            return text

    def path_of(self, name: str) -> str:
        """Return the absolute path of the file with a name, see `name_of`."""
        return os.path.normpath(os.path.join(self.root, name))

    def source(self, path: Path) -> Source:
        """Read and decode a file.

        Raises:
            SourceError: it cannot be read or decoded.
        """
        path = Path(os.path.abspath(path))
        if path not in self._sources:
            if path in self._absent:
                raise SourceError("cannot be read as it was", path=display_path(path))
            return self.put(path, read_bytes(path, display_path(path)))
        return self._sources[path]

    def put(self, path: Path, data: bytes) -> Source:
        """Let `data` stand for the content of `path`, which need not exist, and return it decoded.

        Raises:
            SourceError: it cannot be decoded.
        """
        path = Path(os.path.abspath(path))
        self._digests[path] = digest(data)
        source = self.decoded(path, data)
        if self._sources.get(path) != source:
            self._sources[path] = source
            self._said.pop(path, None)
            self._parts.pop(path, None)
        return self._sources[path]

    def known(self, path: Path) -> Source | None:
        """Return a file that has been looked at; None for one that has not."""
        found = self._sources.get(path) or self._peeked.get(path)
        return self.decoded(path, self._raw[path]) if found is None and path in self._raw else found

    def is_missed(self, path: Path) -> bool:
        """Whether a file that is not on the disk was looked for, or would begin a package."""
        if os.path.isfile(path):
            return False
        return path.name == _INIT or any(path in one.absent for one in self._modules.values())

    def decoded(self, path: Path, data: bytes) -> Source:
        """Return a file with a content; nothing of it is kept.

        Raises:
            SourceError: it cannot be decoded.
        """
        display = display_path(path)
        program = program_of(decode(data, display), display)
        name = self.module_name(path)
        return Source(display, path, program.text, name, program.original, program.cells, digest(data))

    def change(self, after: Source) -> None:
        """Replace the text of a known file, and drop everything that was noted about the file."""
        path = after.path
        self._sources[path], self._digests[path] = after, after.digest
        self._said.pop(path, None)
        self._parts.pop(path, None)
        self._sought.pop(path, None)
        self._asked.pop(path, None)
        self._told.pop(path, None)
        self.reads.drop(after.display)
        for key, one in self._modules.items():
            if one.path == path:
                self._modules[key] = replace(one, source=after)

    def go_back(self, past: Mapping[Path, bytes | None]) -> None:
        """Let files be as they were, before any file of the project is looked at.

        Args:
            past: contents by absolute path. A file with the content None was not there; a content that is no text
                counts as None. A file that is gone is a member again.
        """
        absent = {path for path, data in past.items() if data is None}
        for path, data in past.items():
            if data is not None:
                try:
                    self.put(path, data)
                except SourceError:
                    absent.add(path)
        self._absent = frozenset(absent)
        self._gone = frozenset(path for path in past.keys() - absent if not os.path.exists(path))

    def raw(self, path: Path) -> bytes:
        """Return the bytes of a file, empty if it cannot be read; those of a given content are its text."""
        if path in self._sources:
            return self._sources[path].text.encode("utf-8", "surrogatepass")
        if path not in self._raw:
            try:
                self._raw[path] = read_bytes(path, display_path(path))
            except SourceError:
                self._raw[path] = b""
        return self._raw[path]

    def peek(self, path: Path) -> Source:
        """Return a file without a trace, since no analysis rests on its whole content; see `Asked`.

        Raises:
            SourceError: it cannot be read or decoded.
        """
        known = self._sources.get(path) or self._peeked.get(path)
        if known is None:
            known = self._peeked[path] = self.decoded(path, read_bytes(path, display_path(path)))
        return known

    def module_name(self, path: Path | str) -> str | None:
        """Return the dotted name of a file: from its outermost package, or else the innermost source root."""
        folder, name = os.path.split(path)
        stem = os.path.splitext(name)[0]
        parts = (*self._package(folder).names, stem)
        if stem == "__init__" and len(parts) > 1:
            parts = parts[:-1]
        return ".".join(parts) if all(part.isidentifier() for part in parts) else None

    def _package(self, folder: str) -> _Package:
        """Look up the package that a folder is a part of, once."""
        if folder not in self._packages:
            absolute = Path(os.path.abspath(folder))
            root = base = _outermost(absolute)
            if root == absolute:
                above = [one for one in self.import_roots if absolute.is_relative_to(one)]
                base = max(above, key=lambda one: len(one.parts), default=root)
            self._packages[folder] = _Package(absolute, root, absolute.relative_to(base).parts)
        return self._packages[folder]

    def find(self, module: str, importer: Source | None = None) -> Source | None:
        """Resolve a dotted module name to a file of this project; None for everything installed elsewhere.

        Args:
            module: the absolute name, `pkg.sub`; the result is `pkg/sub.py` or `pkg/sub/__init__.py`.
            importer: the file with the import; its own import root is looked at before the project's, and last the
                folder of a script, which finds its neighbours there unless the standard library has that name.

        A file that cannot be read or decoded counts as not found.
        """
        key, found = self._resolved(module, importer)
        if importer is not None:
            self._sought.setdefault(importer.path, set()).add(key)
        if found.path is not None and found.source is None:
            self.reads.note(Part(display_path(found.path)))
        return found.source

    def leads_to(self, source: Source) -> set[str]:
        """Return the files that the imports of a file lead to, as they are shown to the user; its imports are known."""
        _, names = self._imports[source.path]
        found = (self._resolved(name, source)[1].source for name in names)
        return {one.display for one in found if one is not None}

    def _resolved(self, module: str, importer: Source | None) -> tuple[tuple[str, tuple[Path, ...]], _Resolution]:
        """Resolve a dotted module name once; with the key that it has in `_modules`."""
        roots = self.import_roots
        if importer is not None:
            roots = (self._package(str(importer.path.parent)).root, *roots)
            if importer.is_script and module.partition(".")[0] not in sys.stdlib_module_names:
                roots = (*roots, importer.path.parent)
        roots = tuple(dict.fromkeys(roots))
        key = (module, roots)
        if key not in self._modules:
            self._modules[key] = _Resolution(None, None, ())
            self._modules[key] = self._resolve(module, roots)
        return key, self._modules[key]

    def note_asked(self, source: Source, asked: Asked) -> None:
        """Note that the analysis of a file rests on the answer to a question, and on the files that are the answer."""
        self._asked.setdefault(source.path, set()).add(asked)

    def says(self, source: Source, pattern: re.Pattern[str]) -> bool:
        """Return whether a pattern occurs in the text of a file, and note that its analysis rests on that."""
        self.reads.note(Part(source.display, TEXT))
        answers = self._said.setdefault(source.path, {})
        if pattern not in answers:
            answers[pattern] = pattern.search(source.text) is not None
        return answers[pattern]

    def imports(self, source: Source, read: Callable[[Source], Iterable[str]]) -> tuple[str, ...]:
        """Return the names of the modules that a file may import, read once for each text."""
        known = self._imports.get(source.path)
        if known is None or known[0] != source.digest:
            known = self._imports[source.path] = source.digest, tuple(sorted(read(source)))
        return known[1]

    def know_imports(self, trace: Trace) -> None:
        """Take over what an earlier run has read in a file."""
        if trace.imports is not None:
            self._imports[Path(self.path_of(trace.path))] = trace.digest, trace.imports

    def note_parts(self, source: Source, digests: Mapping[str, str]) -> None:
        """Note the parts of a file, see `parts_of`."""
        self._parts[source.path] = digests

    def traces(self) -> tuple[Trace, ...]:
        """Return the traces that were added since the last call."""
        known = {path: self._noted(path) for path in self._digests}
        fresh = [path for path, count in known.items() if self._told.get(path) != count]
        self._told.update((path, known[path]) for path in fresh)
        return tuple(self._trace(path) for path in fresh)

    def _noted(self, path: Path) -> int:
        """How much has been noted about a file."""
        source = self._sources.get(path)
        reads = 0 if source is None else self.reads.count(source.display)
        noted = (self._sought.get(path, ()), self._asked.get(path, ()), self._said.get(path, ()))
        return sum(map(len, noted)) + reads + (path in self._imports)

    def _trace(self, path: Path) -> Trace:
        resolutions = [self._modules[key] for key in self._sought.get(path, ())]
        package = self._package(str(path.parent))
        asked = sorted(self._asked.get(path, ()), key=lambda one: (one.question, one.word, one.found))
        said = (Said(pattern.pattern, pattern.flags, found) for pattern, found in self._said.get(path, {}).items())
        found = [one.path for one in resolutions if one.path is not None]
        absent = (*package.absent, *(tried for one in resolutions for tried in one.absent))
        name, module, imports = self.name_of(path), self.module_name(path), self._imports.get(path)
        return Trace(
            name,
            self._digests[path],
            module,
            self._names(found),
            self._names(package.present),
            self._names(absent),
            tuple(asked),
            tuple(sorted(said, key=lambda one: (one.pattern, one.flags))),
            tuple(part.text for part in self._traced_parts(path)),
            imports[1] if imports is not None and imports[0] == self._digests[path] else None,
        )

    def _traced_parts(self, path: Path) -> Iterator[TracedPart]:
        source, digests, own = self._sources.get(path), self._parts.get(path), self.name_of(path)
        if source is None or digests is None:
            return
        reads = self.reads.of(source.display)
        for name in sorted(reads.keys() | digests.keys()):
            read: dict[str, list[str]] = {}
            for part in reads.get(name, ()):
                read.setdefault(part.file, []).append(part.name)
            files = ((self.name_of(os.path.abspath(file)), names) for file, names in read.items())
            yield TracedPart.of(own, name, digests.get(name, ""), files)

    def _names(self, paths: Iterable[Path]) -> tuple[str, ...]:
        return tuple(sorted(set(map(self.name_of, paths))))

    def _resolve(self, module: str, roots: tuple[Path, ...]) -> _Resolution:
        tried: list[Path] = []
        for root in roots:
            path = self._locate(root, module.split("."), tried)
            if path is not None:
                try:
                    return _Resolution(path, self.source(path), tuple(tried))
                except SourceError:
                    self._digests.setdefault(path, "")
                    return _Resolution(path, None, tuple(tried))
        return _Resolution(None, None, tuple(tried))

    def _locate(self, root: Path, parts: Sequence[str], tried: list[Path]) -> Path | None:
        """Find a module below one root, a package before a file of the same name, as Python does.

        Paths that do not exist are added to `tried`. One that leads out of the project and its source roots is none.
        """
        if not all(parts):
            return None
        folder = root.joinpath(*parts)
        for path in (folder / _INIT, folder.with_name(folder.name + ".py")):
            if not (path in self._sources or (path not in self._absent and os.path.isfile(path))):
                tried.append(path)
            elif not leads_out(path, self._territory):
                return path
        return None
