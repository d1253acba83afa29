"""The files of a project: each is executed once, as the program that it may be, and leaves values in its names."""

from __future__ import annotations

from pathlib import Path
from typing import Final, final

from devlint.frontend import ir
from devlint.frontend.lower import lower
from devlint.inference.state.frame import Frame
from devlint.inference.state.heap import Heap
from devlint.inference.text.captured import instructions
from devlint.inference.values.code import FileCode
from devlint.inference.values.terms import Value
from devlint.project import Project, Source

NEW: Final = "new"
RUNNING: Final = "running"
DONE: Final = "done"


@final
class Loaded:
    """A file and the result of its execution.

    Attributes:
        code: its instructions.
        source: the origin of the text.
        progress: NEW, RUNNING or DONE.
        frame: the execution; None before it begins.
        stars: its instructions `from module import *`.
    """

    __slots__ = ("_definitions", "code", "frame", "progress", "source", "stars")

    def __init__(self, code: FileCode, source: Source) -> None:
        self.code = code
        self.source = source
        self.progress = NEW
        self.frame: Frame | None = None
        everything = instructions(code.scope.body)
        self.stars = [each for each in everything if isinstance(each, ir.ImportFrom) and each.member == "*"]
        self._definitions: dict[str, ir.Instruction] | None = None

    @property
    def names(self) -> dict[str, Value]:
        """The current values of its names."""
        return {} if self.frame is None else self.frame.state.names

    @property
    def heap(self) -> Heap:
        """The current fields of its objects."""
        return Heap() if self.frame is None else self.frame.heap

    def definition(self, name: str) -> ir.MakeFunction | ir.ImportFrom | None:
        """Return the instruction that defines a name, for a file that has not come to it yet."""
        if self._definitions is None:
            self._definitions = {}
            for each in self.code.scope.body:
                if isinstance(each, ir.MakeFunction) and not each.decorators:
                    self._definitions[each.function.name] = each
                elif isinstance(each, ir.ImportFrom) and each.member != "*":
                    self._definitions[each.name] = each
        found = self._definitions.get(name)
        return found if isinstance(found, (ir.MakeFunction, ir.ImportFrom)) else None


@final
class Files:
    """Finds and reads the files of a project; a file that is no Python is as one that is not there."""

    def __init__(self, project: Project) -> None:
        self._project = project
        self._by_path: dict[str, Loaded | None] = {}
        self._distributions: dict[Path, bool] = {}

    def load(self, source: Source) -> Loaded | None:
        """Return a file."""
        path = str(source.path)
        if path not in self._by_path:
            self._by_path[path] = self._loaded(source)
        return self._by_path[path]

    def _loaded(self, source: Source) -> Loaded | None:
        try:
            scope = lower(source.text, source.display)
        except SyntaxError:
            return None
        module = source.module or source.display
        package = module if source.is_package else module.rpartition(".")[0]
        is_test, is_of_library = self._project.is_test(source.path), self._is_of_distribution(source.path.parent)
        return Loaded(FileCode(module, source.display, package, scope, is_test, is_of_library), source)

    def _is_of_distribution(self, folder: Path) -> bool:
        """Whether a folder of the project, or one above it, says how it is built and installed."""
        if folder not in self._distributions:
            above = folder.parent if folder != self._project.root else folder
            is_inside = above != folder and self._project.root in folder.parents
            found = Project(folder).is_distribution or (is_inside and self._is_of_distribution(above))
            self._distributions[folder] = found
        return self._distributions[folder]

    def find(self, module: str, importer: Source) -> Loaded | None:
        """Return the file that an import of a module leads to."""
        source = self._project.find(module, importer)
        return None if source is None else self.load(source)

    def all(self) -> list[Loaded]:
        """Return the files that have been loaded, in that order."""
        return [each for each in self._by_path.values() if each is not None]
