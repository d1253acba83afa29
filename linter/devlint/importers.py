"""Which files of a project may name something that another file of it defines: by their text and their imports."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Collection, Iterable, Iterator
from functools import cached_property
from pathlib import Path

from devlint.definitions import Imports, imports_of
from devlint.errors import SourceError
from devlint.project import Project, Source
from devlint.sources.program import parsed
from devlint.traces import Asked

NAMING = "naming"
"""Which files may name what a file defines?"""

BESIDE = "beside"
"""Which files have a word, and are imported together with a file?"""

_SPACES = str.maketrans(dict.fromkeys(".,;()\\#", " "))

READING = "reading"
"""Which files read a name, or an attribute of that name?"""

PLACING = "placing"
"""Which files that run together with a file may put something on an accelerator? All of them, if nobody knows which
files run together."""

_PLACES = re.compile(r"cuda|gpu|device|accelerat|fabric|lightning|trainer|distributed|\.to\(|mps|xpu", re.IGNORECASE)
"""Whatever puts something on an accelerator, or lets a library do so, has one of these in its text."""

_FINDS_BY_NAME = ("import_module", "__import__", "instantiate", "exec")
_FINDS = re.compile(rf"\b({'|'.join(_FINDS_BY_NAME)})\(")
"""Calls with which a program may import files that no import statement names."""

ENTRY = "entry"
"""Is there a file that people run? The first one is the answer."""


class Importers:
    """Searches the members of a project; a member is parsed only where its text makes an import likely.

    Args:
        project: the files.
    """

    def __init__(self, project: Project) -> None:
        self._project = project
        self._imports: dict[str, tuple[Source, ...]] = {}
        self._import_words: dict[str, frozenset[str]] = {}
        self._importing: dict[str, tuple[Source, ...]] = {}
        self._words: dict[str, tuple[Source, ...]] = {}
        self._read: dict[str, frozenset[str]] = {}
        self._answers: dict[tuple[str, str, str], tuple[Source, ...]] = {}

    def ask(self, source: Source, question: str, word: str) -> tuple[Source, ...]:
        """Answer a question about a file, and note that its analysis rests on the answer."""
        found = self.answer(source, question, word)
        names = tuple(sorted(self._project.name_of(one.path) for one in found))
        self._project.note_asked(source, Asked(question, word, names))
        return found

    def still_holds(self, source: Source, asked: Asked) -> bool:
        """Whether a question about a file has the answer that it had."""
        found = self.answer(source, asked.question, asked.word)
        return asked.found == tuple(sorted(self._project.name_of(one.path) for one in found))

    def answer(self, source: Source, question: str, word: str) -> tuple[Source, ...]:
        """Answer a question about a file, once; the files are in the order of their paths."""
        key = (source.display, question, word)
        if key not in self._answers:
            self._answers[key] = self._answer(source, question, word)
        return self._answers[key]

    def change(self, before: Source, after: Source, *, same_imports: bool, dropped: Collection[str]) -> bool:
        """Take over another text of a file.

        Args:
            before, after: the file.
            same_imports: whether both texts import the same.
            dropped: the files that will ask their questions again.

        Returns:
            Whether the questions about all other files have the answers that they had.
        """
        words = {word for _, _, word in self._answers if word}
        questions = {question for _, question, _ in self._answers}
        alike = (
            same_imports
            and all(contains(before.text, word) == contains(after.text, word) for word in ("import *", *words))
            and before.is_script == after.is_script
            and (("_first_entry" not in vars(self) and PLACING not in questions) or is_entry(before) == is_entry(after))
            and (PLACING not in questions or _places_alike(before.text, after.text))
            and (READING not in questions or words.isdisjoint({*_names_read(before)} ^ {*_names_read(after)}))
        )

        def changed(found: tuple[Source, ...]) -> tuple[Source, ...]:
            return tuple(after if one.display == after.display else one for one in found)

        answers = {key: changed(found) for key, found in self._answers.items() if key[0] not in dropped}
        importing = {key: changed(found) for key, found in self._importing.items()}
        self._imports = {key: changed(found) for key, found in self._imports.items()}
        self._import_words.pop(after.display, None)
        self._read.pop(after.display, None)
        self._words.clear()
        vars(self).pop("_first_entry", None)
        if alike:
            self._answers, self._importing = answers, importing
            return True
        self._imports.pop(after.display, None)
        self._answers, self._importing = {}, {}
        return all(self.answer(self._asked_about(key[0]), *key[1:]) == found for key, found in answers.items())

    def _asked_about(self, display: str) -> Source:
        return self._project.source(Path(display))

    def _answer(self, source: Source, question: str, word: str) -> tuple[Source, ...]:
        if question == NAMING:
            found = self._naming(source, word)
        elif question == BESIDE:
            found = self._beside(source, word)
        elif question == READING:
            found = [one for one in self._saying(word) if word in self._names_read(one)]
        elif question == PLACING:
            found = self._placing(source)
        elif question == ENTRY:
            found = self._entry(source)
        else:
            raise ValueError(f"there is no question {question!r}")
        return tuple(sorted(found, key=lambda one: one.display))

    def _entry(self, source: Source) -> list[Source]:
        """The first member that people run; none if the file is not a member, such as standard input."""
        return self._first_entry if source.path in self._members else []

    @cached_property
    def _members(self) -> frozenset[Path]:
        return frozenset(self._project.members)

    @cached_property
    def _first_entry(self) -> list[Source]:
        every = (one for one in map(self._peek, self._project.members) if one and not self._project.is_test(one.path))
        return next(([one] for one in every if is_entry(one)), [])

    def _naming(self, source: Source, name: str) -> list[Source]:
        """The members that contain a name and import a file, directly or from a file that imports it.

        A file that hands the name on to its own importers contains it as well, or imports everything, or is a package.
        """
        found = []
        seen = {source.display}
        pending = [source]
        while pending:
            for one in self._importers(pending.pop()):
                if one.display in seen:
                    continue
                seen.add(one.display)
                if contains(one.text, name):
                    found.append(one)
                elif not (one.is_package or "import *" in one.text):
                    continue
                pending.append(one)
        return found

    def _beside(self, source: Source, word: str) -> list[Source]:
        """The members that contain a word and run in one program with a file: something imports both of them."""
        saying = [
            one for one in self._saying(word) if one.display != source.display and not self._project.is_test(one.path)
        ]
        together = {one.display for one in self._group(source)} if saying else set()
        return [one for one in saying if one.display in together]

    def _placing(self, source: Source) -> list[Source]:
        """The members that may put something on an accelerator, of those that run together with a file.

        An entry is among these, or else nobody knows which members run the file.
        """
        group = self._group(source)
        finding = any(_FINDS.search(one.text) for word in _FINDS_BY_NAME for one in self._saying(word))
        if finding or not any(map(is_entry, group)):
            return group
        return [one for one in group if _PLACES.search(one.text)]

    def _names_read(self, source: Source) -> frozenset[str]:
        """The names and attributes that a file reads; of a file that calls `getattr`, each text may be an attribute."""
        known = self._read.get(source.display)
        if known is None:
            known = self._read[source.display] = frozenset(_names_read(source))
        return known

    def _group(self, source: Source) -> list[Source]:
        """The files that a file imports or that import it, directly or through others, and all that those import."""
        return [*_closure(_closure([source], self._importers), self._imported_by)]

    def reaches(self, path: Path, wanted: Collection[str]) -> bool:
        """Return whether a file imports one of some files, directly or through others.

        Args:
            path: the file; absolute.
            wanted: the files, as they are shown to the user.
        """
        source = self._peek(path)
        first = () if source is None else self._imported_by(source)
        return any(one.display in wanted for one in _closure(first, self._imported_by))

    def _importers(self, source: Source) -> tuple[Source, ...]:
        """The members that import a file."""
        known = self._importing.get(source.display)
        if known is None:
            last = (source.module or source.path.stem).rpartition(".")[2]
            likely = [
                one for one in self._saying(last) if one.display != source.display and last in self._words_of(one)
            ]
            known = tuple(one for one in likely if source in self._imported_by(one))
            self._importing[source.display] = known
        return known

    def _saying(self, word: str) -> tuple[Source, ...]:
        """The members that contain a word."""
        if word not in self._words:
            wanted = word.encode()
            likely = (path for path in self._project.members if wanted in self._project.raw(path))
            self._words[word] = tuple(one for one in map(self._peek, likely) if one and contains(one.text, word))
        return self._words[word]

    def _peek(self, path: Path) -> Source | None:
        try:
            return self._project.peek(path)
        except SourceError:
            return None

    def _words_of(self, source: Source) -> frozenset[str]:
        """The words of the import statements of a file, and a few more."""
        known = self._import_words.get(source.display)
        if known is None:
            known = self._import_words[source.display] = frozenset(words_of_imports(source.text))
        return known

    def _imported_by(self, source: Source) -> tuple[Source, ...]:
        """The files of the project that a file imports, anywhere in it."""
        known = self._imports.get(source.display)
        if known is None:
            found = (self._project.find(name, source) for name in self._project.imports(source, imported_names))
            known = tuple({one.display: one for one in found if one is not None}.values())
            self._imports[source.display] = known
        return known


def _closure(start: Iterable[Source], after: Callable[[Source], Iterable[Source]]) -> Iterator[Source]:
    """Yield some files, and those that come after them, directly or through others, each once."""
    seen: set[str] = set()
    pending = [*start]
    while pending:
        one = pending.pop()
        if one.display not in seen:
            seen.add(one.display)
            yield one
            pending += after(one)


def contains(text: str, name: str) -> bool:
    """Return whether a text has a name as a whole word."""
    start = text.find(name)
    while start >= 0:
        end = start + len(name)
        if not (_continues(text[start - 1 : start]) or _continues(text[end : end + 1])):
            return True
        start = text.find(name, end)
    return False


def _continues(character: str) -> bool:
    return character.isalnum() or character == "_"


def _places_alike(before: str, after: str) -> bool:
    """Whether two texts give the same answer to the question `PLACING`."""
    return all((one.search(before) is None) == (one.search(after) is None) for one in (_PLACES, _FINDS))


def _names_read(source: Source) -> Iterator[str]:
    tree = parsed(source.text)
    if tree is None:
        return
    by_text = contains(source.text, "getattr") or contains(source.text, "methodcaller")
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name, ctx=ast.Load()) | ast.Attribute(attr=name, ctx=ast.Load()) | ast.alias(name=name):
                yield name
            case ast.Constant(value=str() as text) if by_text:
                yield text
            case _:
                pass


def words_of_imports(text: str) -> Iterator[str]:
    """Yield the words of the lines that begin an import, and of those that continue one."""
    continues = False
    for line in text.split("\n"):
        if continues or line.lstrip().startswith(("import ", "from ")):
            yield from line.translate(_SPACES).split()
            opens = "(" in line or (continues and not line.rstrip().endswith("\\"))
            continues = line.rstrip().endswith("\\") or (opens and ")" not in line)


def imported_names(source: Source) -> set[str]:
    """Return the absolute names of the modules that a file may import."""
    tree = parsed(source.text)
    return set() if tree is None else absolute_names(source, imports_of(tree))


def absolute_names(source: Source, imports: Imports) -> set[str]:
    """Return the absolute names of the modules that some imports of a file may lead to; a member may be a module."""
    names: set[str] = set()
    for module, level, member in imports:
        base = absolute_name(source, module, level)
        if base is not None:
            names.update((base, f"{base}.{member}".strip(".")) if member else (base,))
    return {name for name in names if name}


def is_entry(source: Source) -> bool:
    """Return whether people run a file.

    It is a notebook, asks for its own name, has a loop or a `with` at its top level, or calls its own function there.
    """
    if source.is_script or source.cells:
        return True
    tree = parsed(source.text)
    body = [] if tree is None else tree.body
    own = {item.name for item in body if isinstance(item, ast.FunctionDef)}
    return any(isinstance(item, (ast.For, ast.While, ast.With)) or _calls(item, own) for item in body)


def _calls(item: ast.stmt, names: Collection[str]) -> bool:
    """Whether a statement is a call of a function with one of some names."""
    call = item.value if isinstance(item, ast.Expr) else None
    return isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id in names


def does_work(source: Source) -> bool:
    """Return whether people run a file: it is an entry, or its top level calls or uses what the file has made.

    `print(net(x))` and `y = net(x)` do work after `net = Net()`; `torch.manual_seed(0)` and `net = Net()` do not.
    """
    if is_entry(source):
        return True
    tree = parsed(source.text)
    makers, made = set[str](), set[str]()
    for item in [] if tree is None else tree.body:
        if isinstance(item, (ast.FunctionDef, ast.ClassDef)):
            makers.add(item.name)
        elif isinstance(item, (ast.Import, ast.ImportFrom)) and "torch" in ast.unparse(item):
            makers.update(one.asname or one.name.partition(".")[0] for one in item.names)
        elif isinstance(item, (ast.Expr, ast.Assign, ast.AnnAssign, ast.AugAssign)):
            calls = [one for one in ast.walk(item) if isinstance(one, ast.Call)]
            inner = [one for one in calls if one is not item.value]
            is_used = isinstance(item, ast.Expr) and (made & _names(item) or makers & set().union(*map(_names, inner)))
            if is_used or any(isinstance(one.func, ast.Name) and one.func.id in made for one in calls):
                return True
            if calls and (makers | made) & _names(item):
                made |= _names(item) - makers
    return False


def _names(node: ast.AST) -> set[str]:
    return {one.id for one in ast.walk(node) if isinstance(one, ast.Name)}


def absolute_name(source: Source, module: str, level: int) -> str | None:
    """Return the absolute name of a module that a file imports, None if the dots lead out of its package."""
    if level == 0:
        return module
    if source.module is None:
        return None
    parts = source.module.split(".")
    drop = level - 1 if source.is_package else level
    if drop > len(parts):
        return None
    base = parts[: len(parts) - drop]
    return ".".join([*base, module] if module else base)
