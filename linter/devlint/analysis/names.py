"""What names stand for, in the program's files and in libraries."""

from __future__ import annotations

import builtins
from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Collection, Mapping

from devlint.analysis.index.loaded_file import LoadedFile
from devlint.analysis.index.texts import FileTexts
from devlint.analysis.libraries.transfer_tables import CONSTRUCTORS
from devlint.definitions import NAMES, is_foreign
from devlint.domain.value import UNKNOWN, Globals, Imported, Library, SourceFile, UserClass, Value
from devlint.importers import absolute_name
from devlint.project import Project, Source
from devlint.reads import Part
from devlint.torchlib.catalogue import Catalogue
from devlint.torchlib.knowledge import TENSOR, USUAL_NAMES

_BUILTINS = frozenset(dir(builtins))


class Names(FileTexts, ABC):
    """Resolves names; an import is carried out when its name is first used.

    Args:
        project: finds and reads files.
        catalogue: what is known of libraries.
        too_long: the files that take too long to analyse: imports of them are not followed.
    """

    def __init__(self, project: Project, catalogue: Catalogue, too_long: Collection[str]) -> None:
        super().__init__(project)
        self.catalogue = catalogue
        self._too_long = too_long
        self._imported: dict[str, dict[Imported, Value]] = defaultdict(dict)
        """By the file with the import."""
        self._loading: list[LoadedFile] = []
        self._note_name = project.reads.note_name
        self._all_of: dict[str, set[str]] = {}
        """The files from which a file imports all names: each name of the file rests on the same name of these."""

    def unload(self, file: str) -> None:
        """Drop a loaded file and the conclusions about the file."""
        super().unload(file)
        self._imported.pop(file, None)
        self._all_of.pop(file, None)

    @abstractmethod
    def load(self, source: Source) -> LoadedFile:
        """Execute a file the first time it is asked for."""

    def import_module(self, globals_: Globals, name: str) -> Value:
        """What `import name` binds."""
        loaded = self._module(name, globals_)
        return Library(self.catalogue.canonical(name)) if loaded is None else SourceFile(loaded.globals)

    def binding(self, globals_: Globals, name: str) -> Value | None:
        """What a file binds to a name, with an import that is first used now carried out."""
        self.note_name(globals_, name)
        value = globals_.names.get(name)
        if isinstance(value, Imported):
            globals_.names[name] = UNKNOWN  # imports that lead in a circle bind nothing
            with self.project.reads.computing(Part(globals_.file, name)):
                found = self.import_member(value)
            # A file that is not executed to its end may bind the name later.
            globals_.names[name] = value if found == UNKNOWN and self._loading else found
            value = found
        return value

    def note_name(self, globals_: Globals, name: str) -> None:
        """Note that the execution rests on the value of a name of a file, or on the absence of the name."""
        self._note_name(globals_.file, name)
        if globals_.file in self._all_of:
            with self.project.reads.computing(Part(globals_.file, name)):
                for file in self._copied(globals_.file):
                    self._note_name(file, name)

    def names_in(self, globals_: Globals) -> Mapping[str, Value]:
        """Return everything that a file binds."""
        for name in (NAMES, *globals_.names):
            self.note_name(globals_, name)
        return globals_.names

    def _copied(self, file: str) -> set[str]:
        """The files from which a file imports all names, directly or through others."""
        found: set[str] = set()
        pending = [file]
        while pending:
            new = self._all_of.get(pending.pop(), set()) - found
            found |= new
            pending += new
        return found

    def member(self, globals_: Globals, name: str) -> Value:
        """An attribute of a source file: what it binds, or a file of the package of that name.

        A signature that the user has given for it goes before what the file says. Any other signature says what the
        file leaves open: a package may bind its names only when they are used, as transformers does.
        """
        given = f"{globals_.module}.{name}"
        if globals_.module is not None and self.catalogue.is_given(given):
            return self.library_value(given)
        value = self.binding(globals_, name)
        if value is not None:
            return value
        if globals_.module is None:
            return UNKNOWN
        loaded = self._module(given, globals_)
        if loaded is not None:
            return SourceFile(loaded.globals)
        is_described = self.catalogue.function(given) is not None or self.is_library_class(given)
        return self.library_value(given) if is_described else UNKNOWN

    def import_member(self, wanted: Imported) -> Value:
        """What `from module import member` binds; once it is known, it stays so."""
        imported = self._imported[wanted.globals.file]
        known = imported.get(wanted)
        part = Part.import_of(wanted.globals.file, wanted.level, wanted.module, wanted.member)
        if known is not None:
            self.project.reads.note(part)
            return known
        with self.project.reads.computing(part):
            known = self._import_member(wanted)
        if known != UNKNOWN:
            imported[wanted] = known
        return known

    def _import_member(self, wanted: Imported) -> Value:
        base = self._absolute(wanted.globals, wanted.module, wanted.level)
        if base is None:
            return UNKNOWN
        loaded = self._module(base, wanted.globals)
        if loaded is None:
            return self.library_value(f"{base}.{wanted.member}" if base else wanted.member)
        if loaded.globals is wanted.globals:
            # `from . import file` in a package's own __init__.
            other = self._module(f"{base}.{wanted.member}", wanted.globals)
            return UNKNOWN if other is None else SourceFile(other.globals)
        return self.member(loaded.globals, wanted.member)

    def import_all(self, globals_: Globals, module: str, level: int) -> dict[str, Value]:
        """What `from module import *` binds; one that cannot be followed may bring torch by its usual names."""
        base = self._absolute(globals_, module, level)
        loaded = None if base is None else self._module(base, globals_)
        if loaded is None:
            namespace = "" if base is None else self.catalogue.canonical(base)
            known = self.catalogue.names_in(namespace)
            if not known:
                for name in USUAL_NAMES:
                    self.note_name(globals_, name)
                return {name: Library(usual) for name, usual in USUAL_NAMES.items() if name not in globals_.names}
            return {name: Library(f"{namespace}.{name}") for name in known}
        self._all_of.setdefault(globals_.file, set()).add(loaded.globals.file)
        return {name: value for name, value in loaded.globals.names.items() if not name.startswith("_")}

    def _absolute(self, globals_: Globals, module: str, level: int) -> str | None:
        loaded = self._files.get(globals_.file)
        return None if loaded is None else absolute_name(loaded.source, module, level)

    def _module(self, name: str, importer: Globals) -> LoadedFile | None:
        """The project's file for a module name; one with a syntax error is as good as none."""
        if is_foreign(name):
            return None
        known = self._files.get(importer.file)
        source = self.project.find(name, None if known is None else known.source)
        if source is None:
            return None
        self.project.reads.note(Part(source.display))
        if source.display in self._too_long:
            return None
        try:
            return self.load(source)
        except SyntaxError:
            return None

    def library_value(self, name: str) -> Value:
        """What a dotted name of a library stands for."""
        return Library(self.catalogue.canonical(name))

    def is_library_class(self, name: str) -> bool:
        """Whether a library name is a class."""
        return name in CONSTRUCTORS or self.catalogue.class_(name) is not None

    def qualified(self, globals_: Globals, dotted: str) -> str:
        """A dotted name of the source as the qualified name it stands for."""
        first, _, rest = dotted.partition(".")
        value = self.binding(globals_, first)
        if value is None:
            if dotted in ("Tensor", TENSOR):
                return TENSOR  # imported for type checkers only
            return f"builtins.{dotted}" if first in _BUILTINS and first != "None" else dotted
        if isinstance(value, Library):
            return self.catalogue.canonical(f"{value.name}.{rest}" if rest else value.name)
        if isinstance(value, UserClass) and not rest:
            return f"{value.globals.file}:{value.name}"
        return dotted
