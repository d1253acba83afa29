"""Finding the calls that decide the doubts about a file: the other files that have to be analysed for them."""

from __future__ import annotations

from collections.abc import Callable

from devlint.analysis.demand.recorder import Recorder
from devlint.domain.body import Body
from devlint.importers import ENTRY, NAMING, PLACING, READING, Importers
from devlint.project import Project, Source


class Listener:
    """Looks at the files that may call a function, once a fact about that function is doubted.

    A project without doubtful facts is not looked through.

    Args:
        recorder: the facts, with the doubts.
        importers: answers which files may name a function.
        source_of: the source of a file that is known.
        look: executes a file and records its facts; the result says whether that was possible.
    """

    def __init__(
        self,
        recorder: Recorder,
        importers: Importers,
        source_of: Callable[[str], Source | None],
        look: Callable[[Source], bool],
    ) -> None:
        self._recorder = recorder
        self._importers = importers
        self._source_of = source_of
        self._look = look

    def listen(self, file: str) -> None:
        """Look at files until the calls of each function are known that decide a doubt about a file.

        A call in one file may lead to the callers of the function around it.
        """
        demand = self._recorder.demand
        heard: set[Body] = set()
        while asked := self._recorder.questions(file) - heard:
            for function in sorted(asked):
                # Each file whose reports rest on the callers looks at them, though another one may have been the first.
                demand.note_callers(function, self._hear(function))
            heard |= asked

    def _hear(self, function: Body) -> list[str]:
        """Look at the other files that may call a function; its own has been looked at."""
        own = self._source_of(function.file)
        if own is None or self._recorder.demand.is_nested(function):
            return []
        files = {one.display: one for name in _called_as(function) for one in self._importers.ask(own, NAMING, name)}
        return [display for display, one in sorted(files.items()) if self._look(one)]


class Roles:
    """What the files of a project are there for.

    Args:
        project: finds files.
        importers: answers whether people run one of them.
        source_of: the source of a file that is known.
    """

    def __init__(self, project: Project, importers: Importers, source_of: Callable[[str], Source | None]) -> None:
        self._project = project
        self._importers = importers
        self._source_of = source_of

    def is_of_library(self, file: str) -> bool:
        """Whether the functions of a file are there for callers outside of the project.

        They are in a package that is installed, and where nobody runs a file of the project.
        """
        source = self._source_of(file)
        if source is None:
            return False
        return self._project.is_of_library(source) or not self._importers.ask(source, ENTRY, "")

    def is_read(self, file: str, name: str) -> bool:
        """Whether something in the project reads a name that a file defines, or an attribute of that name."""
        source = self._source_of(file)
        return source is None or bool(self._importers.ask(source, READING, name))

    def is_on_host(self, file: str) -> bool:
        """Whether a file belongs to a program that people run, and that puts nothing on an accelerator."""
        source = self._source_of(file)
        if source is None or self.is_of_library(file):
            return False
        return not self._importers.ask(source, PLACING, "")

    def is_test(self, file: str) -> bool:
        """Whether a file is there to test others."""
        source = self._source_of(file)
        return source is not None and self._project.is_test(source.path)


def _called_as(function: Body) -> tuple[str, ...]:
    """The names that lead to the calls of a function: for `__init__` that of the class, for a lambda none.

    For a `forward`, they are the name of the class too: the file that creates a module calls it most often.
    """
    *owners, name = function.name.split(".")
    of_class = owners[-1:]
    if name == "forward":
        names = (name, *of_class)
    else:
        names = tuple(of_class) if name.startswith("__") and name.endswith("__") else (name,)
    return tuple(one for one in names if one.isidentifier())
