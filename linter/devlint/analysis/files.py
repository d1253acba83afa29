"""The files of a program: it lowers and executes each file once, and drops the files that an edit affects."""

from __future__ import annotations

import gc
import re
from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Collection, Mapping, Set
from dataclasses import field

from devlint.analysis.index.loaded_file import LoadedFile
from devlint.analysis.names import Names
from devlint.analysis.shape.self_object import SelfObject
from devlint.analysis.summary.roots import Calls
from devlint.domain.heap import Object
from devlint.domain.value import ObjectId, UserClass, Value
from devlint.frontend import ir
from devlint.frontend.lower import lower
from devlint.importers import BESIDE, Importers, absolute_names, imported_names
from devlint.project import Project, Source
from devlint.reads import Part
from devlint.records import dataclass
from devlint.torchlib.catalogue import Catalogue

MOST_LINES = 150_000
"""The loaded files have at most so many lines, in about 300 MB."""

_TORCH = re.compile("torch")


@dataclass(slots=True, eq=False)
class Concluded:
    """Conclusions about the functions and classes of one file.

    Attributes:
        calls: of each function, by the arguments of the calls but for their constants.
        generic: the instances that methods are analysed for; None while one is being made.
        classes: the objects that stand for classes.
        moved_later: see `Program.moved_later`.
        captured: see `Program.note_captured`.
        leads_to: the files that it imports; None if nobody has asked.
    """

    calls: dict[object, Calls] = field(default_factory=dict)
    generic: dict[tuple[UserClass, bool], SelfObject | None] = field(default_factory=dict)
    classes: dict[ir.Class, UserClass] = field(default_factory=dict)
    moved_later: dict[ir.Scope, Set[ir.Span]] = field(default_factory=dict)
    captured: dict[ir.Function, Mapping[ObjectId, Object]] = field(default_factory=dict)
    leads_to: Set[str] | None = None


class Files(Names, ABC):
    """The loaded files, with the conclusions about each of them.

    Args:
        project: finds and reads files.
        catalogue: the signatures of libraries.
        too_long: the files that take too long to analyse: imports of them are not followed.

    Attributes:
        concluded: by file.
        importers: answers questions about the project.
    """

    def __init__(self, project: Project, catalogue: Catalogue, too_long: Collection[str]) -> None:
        super().__init__(project, catalogue, too_long)
        self.concluded: dict[str, Concluded] = defaultdict(Concluded)
        self.importers = Importers(project)
        self._sources: dict[str, Source] = {}
        """Of the files that have been loaded."""
        self._most_lines = 0
        self._lowered: dict[str, tuple[str, ir.File]] = {}
        """The instructions of files that are not executed yet, by file, with the digests of their texts."""

    @property
    def lines(self) -> int:
        """How many lines the loaded files have."""
        return sum(len(loaded.lines) for loaded in self._files.values() if loaded is not None)

    def make_room(self) -> None:
        """Drop all loaded files if they have too many lines.

        No file may be in use. `load` executes a dropped file again.
        """
        lines = self.lines
        # Twice what the first file needs, since the next may need as much.
        self._most_lines = self._most_lines or (max(MOST_LINES, 2 * lines) if lines else 0)
        if lines > self._most_lines:
            for file in tuple(self._files):
                self.unload(file)
            gc.collect()  # files refer to each other in circles

    def load(self, source: Source) -> LoadedFile:
        """Execute a file the first time it is asked for.

        Raises:
            SyntaxError: it is not Python.
            LimitError: it takes too long; the program cannot be used any more.
        """
        known = self._files.get(source.display)
        if known is not None:
            return known
        self._sources[source.display] = source
        with self.project.reads.computing(Part(source.display)):
            return self._load(source)

    @abstractmethod
    def _load(self, source: Source) -> LoadedFile:
        """Execute a file."""

    def source_of(self, file: str) -> Source | None:
        """Return the source of a file that has been loaded."""
        return self._sources.get(file)

    def lowered(self, source: Source) -> ir.File:
        """Return the instructions of a file that is about to be executed.

        Raises:
            SyntaxError: it is not Python.
        """
        known, scope = self._lowered.pop(source.display, ("", None))
        if scope is None or known != source.digest:
            scope = lower(source.text, source.display)
        self.project.imports(source, lambda _: absolute_names(source, scope.imports))
        return scope

    def is_said_in_program(self, source: Source, setter: str) -> bool:
        """Whether a file, or another one of the program that it runs in, names a function that chooses a default.

        A library is written for programs that leave the default as it is.
        """
        if self.project.says(source, re.compile(setter)):
            return True
        if self.project.is_of_library(source) or not self.project.says(source, _TORCH):
            return False
        return bool(self.importers.ask(source, BESIDE, setter))

    def show_names(self, file: str, names: Mapping[str, Value]) -> None:
        """Let the functions of a file see what its names hold when a statement of the file calls something.

        A summary may rest on an earlier value of a name, so a change drops the summaries of the file.
        """
        loaded = self._files.get(file)
        held = {} if loaded is None else {name: names[name] for name in loaded.read_inside if name in names}
        if loaded is not None and any(loaded.globals.names.get(name) != value for name, value in held.items()):
            loaded.globals.names.update(held)
            self.concluded[file].calls.clear()

    def forget_conclusions(self, file: str) -> None:
        """Drop the conclusions about a file, made while its names were not complete."""
        concluded = self.concluded[file]
        concluded.calls.clear()
        concluded.generic.clear()

    # --- edits ----------------------------------------------------------------------------------------------

    def prepare(self, after: Source) -> None:
        """Lower the text that a file is about to get.

        Raises:
            SyntaxError: it is not Python.
        """
        self._lowered[after.display] = after.digest, lower(after.text, after.display)

    def change(self, before: Source, after: Source) -> bool:
        """Drop a file that has got another text, and the files that import it, directly or through others.

        No other file has executed anything of it. The summaries of the functions that it calls stay. If one of them
        contains a class or function of the dropped file, no later call passes this object, so no call gets the summary.

        Returns:
            Whether the questions that the other files have asked have the same answers as before.
        """
        _, scope = self._lowered[after.display]
        same_imports = {*self.project.imports(before, imported_names)} == absolute_names(after, scope.imports)
        dropped = self._importing(after.display)
        for file in dropped:
            self.drop(file)
        return self.importers.change(before, after, same_imports=same_imports, dropped=dropped)

    @abstractmethod
    def drop(self, file: str) -> None:
        """Drop a file, the facts about the file, and the calls in the file."""

    def unload(self, file: str) -> None:
        """Drop a loaded file and the conclusions about the file."""
        super().unload(file)
        self.concluded.pop(file, None)

    def _importing(self, file: str) -> set[str]:
        """A file, and the loaded ones that import it, directly or through others."""
        found, new = {file}, {file}
        while new:
            new = {each for each, loaded in self._files.items() if loaded and new & self._leads_to(loaded)} - found
            found |= new
        return found

    def _leads_to(self, loaded: LoadedFile) -> Set[str]:
        """The files that a file imports, by its text."""
        concluded = self.concluded[loaded.source.display]
        if concluded.leads_to is None:
            concluded.leads_to = self.project.leads_to(loaded.source)
        return concluded.leads_to
