"""Frames of a running program: which are the user's, and which piece of source each of them is at."""

from __future__ import annotations

import ast
import functools
import linecache
import re
import site
import sys
import sysconfig
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import torch

from devlint_guard.finding import Place


@dataclass(frozen=True, slots=True)
class Site:
    """Where one frame is: at the instruction that raised, or that is calling.

    Attributes:
        instruction: its offset in the byte code, which CPython 3.11 and newer can tell the columns of.
        line: of the source, from 1.
    """

    frame: FrameType
    instruction: int
    line: int

    @property
    def file(self) -> str:
        """The name of the source file, as its code has it."""
        return self.frame.f_code.co_filename

    @property
    def is_user(self) -> bool:
        """Whether this is the user's own code."""
        return is_user_code(self.frame.f_code, self.frame.f_globals.get("__name__"))


def sites_of(error: BaseException) -> list[Site]:
    """The frames that an exception went through, outermost first, after those that called them and still run."""
    traceback = error.__traceback__
    running = sites_above(sys._getframe())
    at = next((index for index, site in enumerate(running) if traceback and site.frame is traceback.tb_frame), 0)
    found = running[:at]
    while traceback is not None:
        found.append(Site(traceback.tb_frame, traceback.tb_lasti, traceback.tb_lineno))
        traceback = traceback.tb_next
    return found


def whole_path(errors: Sequence[BaseException]) -> list[Site]:
    """The frames of an error that others were raised in answer to: the traceback of each begins where the last caught.

    Args:
        errors: the innermost first.
    """
    path: list[Site] = []
    for error in reversed(errors):
        sites = sites_of(error)
        caught = [index for index, one in enumerate(path) if sites and one.frame is sites[0].frame]
        path = path[: caught[0]] + sites if caught else path + sites
    return path


def sites_above(frame: FrameType | None) -> list[Site]:
    """A running frame and those that called it, outermost first."""
    found = []
    while frame is not None:
        found.append(Site(frame, frame.f_lasti, frame.f_lineno))
        frame = frame.f_back
    return found[::-1]


def user_site(sites: list[Site]) -> Site | None:
    """The innermost frame of the user's own code; None where there is none."""
    return next((site for site in reversed(sites) if site.is_user), None)


# --- whose code it is ---------------------------------------------------------------------------------------


def is_user_code(code: CodeType, name: object = None) -> bool:
    """Whether code is the user's: not of torch, an installed package, the standard library or the guard.

    Args:
        code: the code of a frame.
        name: `__name__` of its globals; code without a file is the user's if it was typed in, `__main__`.
    """
    file = code.co_filename
    if file.startswith("<"):
        return file.startswith("<ipython-input") or (name == "__main__" and not file.startswith("<frozen"))
    return not is_installed(file)


@functools.lru_cache(maxsize=4096)
def is_installed(file: str) -> bool:
    """Whether a source file is of torch, an installed package, the standard library or the guard."""
    path = _resolved(file)
    return any(path.is_relative_to(folder) for folder in _installed_folders())


@functools.cache
def _installed_folders() -> tuple[Path, ...]:
    """Folders that hold nobody's own code.

    The folder of the standard library holds a virtual environment's packages too, but never a project.
    """
    paths = {key: path for key, path in sysconfig.get_paths().items() if key in _SCHEME}
    names = {*paths.values(), *site.getsitepackages(), site.getusersitepackages()}
    own = [Path(torch.__file__).parent, Path(__file__).parents[1]]
    return tuple(sorted({_resolved(name) for name in names} | {_resolved(str(folder)) for folder in own}))


_SCHEME = frozenset({"stdlib", "platstdlib", "purelib", "platlib"})


def _resolved(file: str) -> Path:
    try:
        return Path(file).resolve()
    except (OSError, RuntimeError, ValueError):
        return Path(file)


# --- the user's line that is running ------------------------------------------------------------------------


def user_frame(frame: FrameType | None, thread: int | None = None) -> FrameType | None:
    """The innermost frame of the user's own code, from a running frame outwards.

    Args:
        frame: where to start.
        thread: the one that waits for this one where this one runs none of the user's code. PyTorch computes gradients
            on accelerators in threads of its own, for the calls of that thread.
    """
    while frame is not None and not is_user_code(frame.f_code, frame.f_globals.get("__name__")):
        frame = frame.f_back
    if frame is None and thread not in (None, threading.get_ident()):
        return user_frame(sys._current_frames().get(thread or 0))
    return frame


# --- frames that an error carries as text -------------------------------------------------------------------

_CARRIED = re.compile(
    r'^ *File "(?P<file>[^"]+)", line (?P<line>\d+), in (?P<function>.+)\n'
    r"(?P<indent> *)(?P<source>\S.*)\n(?:(?P<before> *)(?P<carets>[~^]+) *$)?",
    re.MULTILINE,
)


@dataclass(frozen=True, slots=True)
class Carried:
    """The user's line in an error from a worker process, a replica or a compiler.

    Attributes:
        file: as its code has it.
        text: the expression that failed, or the line; empty where the traceback shows none.
    """

    place: Place
    file: str
    text: str


def carried_in(text: str) -> Carried | None:
    """The innermost line of the user's own code in a traceback that a message holds; None without one."""
    found = None
    for match in _CARRIED.finditer(text):
        file = match["file"]
        if file.startswith("<frozen") or is_installed(file):
            continue
        line, source, start = int(match["line"]), match["source"].rstrip(), 0
        if match["carets"]:
            start = len(match["before"]) - len(match["indent"])
            source = source[start : start + len(match["carets"])]
        whole = linecache.getline(file, line)
        if match["source"].strip() != whole.strip():
            source = ""
        column = whole.find(source, len(whole) - len(whole.lstrip()) + start) + 1 if source else 0
        end = column + len(source) if column else 0
        found = Carried(Place(shown_path(file), line, column, line, end, match["function"].strip()), file, source)
    return found


def place_in(carried: Carried, source: Source, node: ast.expr) -> Place:
    """Where a node near a carried line stands."""
    return _place(carried.place.file, source.text.splitlines(keepends=True), node, carried.place.function)


def node_carried(carried: Carried) -> tuple[Source, ast.AST] | None:
    """The source of the file and the expression that failed in it."""
    source, place = source_of_file(carried.file), carried.place
    for node in ast.walk(source.tree) if source is not None and carried.text else ():
        if source is not None and isinstance(node, ast.expr) and node.lineno == place.line:
            found = place_in(carried, source, node)
            if (found.column, found.end_column) == (place.column, place.end_column):
                return source, node
    return None


# --- the source ---------------------------------------------------------------------------------------------


def source_line(file: str, line: int) -> str:
    """One line of a source file as reports show it; empty where there is none. Cells of notebooks have lines too."""
    known = file in linecache.cache or file.startswith("<")
    return "" if "\0" in file else linecache.getline(file if known else str(_resolved(file)), line).rstrip()


@dataclass(frozen=True, slots=True)
class Source:
    """The text of a file and its syntax tree."""

    text: str
    tree: ast.Module

    def line(self, number: int) -> str:
        """A line, from 1."""
        return self.text.split("\n")[number - 1]

    def of(self, node: ast.AST) -> str:
        """The text of a node, on one line."""
        if not isinstance(node, (ast.expr, ast.stmt)) or node.end_lineno is None:
            return " ".join(ast.unparse(node).split())
        lines = [line.encode() for line in self.text.split("\n")[node.lineno - 1 : node.end_lineno]]
        lines[-1] = lines[-1][: node.end_col_offset]
        lines[0] = lines[0][node.col_offset :]
        return " ".join(b" ".join(lines).decode(errors="replace").split())


def source_of(site: Site) -> Source | None:
    """The source of a frame; None where there is none, or where it is no Python."""
    return source_of_file(site.file, site.frame.f_globals)


def source_of_file(file: str, names: dict[str, Any] | None = None) -> Source | None:
    """The source of a file that some code was compiled from, whose variables may be known; None as for `source_of`."""
    lines = linecache.getlines(file, names)
    return _parse("".join(lines)) if lines else None


@functools.lru_cache(maxsize=32)
def _parse(text: str) -> Source | None:
    try:
        return Source(text, ast.parse(text))
    except (SyntaxError, ValueError, RecursionError):
        return None


def node_at(site: Site) -> ast.AST | None:
    """What the frame is at: the failing sub-expression, or on CPython 3.10 the whole statement."""
    if (source := source_of(site)) is None:
        return None
    span = span_at(site.frame.f_code, site.instruction)
    if span is None:
        return statement_at(source.tree, site.line)
    found = smallest_around(source.tree, *span)
    return _head(found, span[0][0]) if isinstance(found, ast.stmt) else found


def smallest_around(tree: ast.AST, start: Position, end: Position) -> ast.expr | ast.stmt | None:
    """The smallest node that spans a stretch: of those of one length the outermost, the others are parts of it."""

    def length(node: ast.AST) -> tuple[int, int]:
        (line, column), (end_line, end_column) = span_of(node)
        return end_line - line, end_column if end_line > line else end_column - column

    return min(nodes_around(tree, start, end), key=length, default=None)


def nodes_around(tree: ast.AST, start: Position, end: Position) -> Iterator[ast.expr | ast.stmt]:
    """The nodes that span a stretch. Files may be long: a node that lies elsewhere is passed over as a whole."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, (ast.expr, ast.stmt)):
            begins, ends = span_of(node)
            if end[0] < first_line(node) or ends[0] < start[0]:
                continue
            if begins <= start and end <= ends:
                yield node
        yield from nodes_around(node, start, end)


def first_line(node: ast.expr | ast.stmt) -> int:
    """The line where a node begins; decorators come before the line that a definition has by itself."""
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    return min([node.lineno, *(one.lineno for one in decorators)])


def _head(statement: ast.stmt, line: int) -> ast.AST:
    """Of a statement that holds others, the expression in its head."""
    if isinstance(statement, (ast.For, ast.AsyncFor)):
        return statement.iter
    if isinstance(statement, (ast.With, ast.AsyncWith)):
        on_line = [item.context_expr for item in statement.items if item.context_expr.lineno <= line]
        return (on_line or [statement.items[0].context_expr])[-1]
    return statement.test if isinstance(statement, (ast.If, ast.While, ast.Assert)) else statement


def text_of(site: Site, node: ast.AST) -> str:
    """The source of a node, on one line."""
    source = source_of(site)
    return ast.unparse(node) if source is None else source.of(node)


Position = tuple[int, int]
"""A line from 1 and a column in bytes of UTF-8 from 0, as the compiler counts them."""


def span_at(code: CodeType, instruction: int) -> tuple[Position, Position] | None:
    """The stretch of source that an instruction was compiled from; None before CPython 3.11."""
    positions = getattr(code, "co_positions", None)
    if positions is None or instruction < 0:
        return None
    line, end_line, column, end_column = next(islice(positions(), instruction // 2, None), (None,) * 4)
    if line is None or end_line is None or column is None or end_column is None:
        return None
    return (line, column), (end_line, end_column)


def span_of(node: ast.AST) -> tuple[Position, Position]:
    """Where a node begins and ends; at no line if it has no place."""
    line, column = getattr(node, "lineno", 0), getattr(node, "col_offset", 0)
    return (line, column), (getattr(node, "end_lineno", None) or line, getattr(node, "end_col_offset", None) or column)


def statement_at(tree: ast.Module, line: int) -> ast.stmt | None:
    """The innermost statement that spans a line."""
    statements = (node for node in ast.walk(tree) if isinstance(node, ast.stmt))
    around = [node for node in statements if node.lineno <= line <= (node.end_lineno or node.lineno)]
    return max(around, key=lambda node: (node.lineno, -(node.end_lineno or 0)), default=None)


def place_of(site: Site, node: ast.AST | None = None) -> Place:
    """Where a frame is, or where a node of its source stands."""
    if isinstance(node, (ast.expr, ast.stmt)):
        return place_in_code(site.frame.f_code, node, site.frame.f_globals)
    return line_in_code(site.frame.f_code, site.line)


def line_in_code(code: CodeType, line: int) -> Place:
    """Where a line of some code is, if no more is known."""
    return Place(shown_path(code.co_filename), line, 0, line, 0, _function(code))


def place_in_code(code: CodeType, node: ast.expr | ast.stmt, names: dict[str, Any] | None = None) -> Place:
    """Where a node of the source of some code stands, whose variables may be known."""
    return _place(shown_path(code.co_filename), linecache.getlines(code.co_filename, names), node, _function(code))


def _place(file: str, lines: list[str], node: ast.expr | ast.stmt, function: str) -> Place:
    end_line = node.end_lineno or node.lineno
    start = _characters(lines, node.lineno, node.col_offset)
    end = _characters(lines, end_line, node.end_col_offset or 0)
    return Place(file, node.lineno, start, end_line, end, function)


def _characters(lines: list[str], line: int, column: int) -> int:
    """A column in code points from 1."""
    text = lines[line - 1] if line <= len(lines) else ""
    return len(text.encode()[:column].decode(errors="ignore")) + 1


def _function(code: CodeType) -> str:
    return str(getattr(code, "co_qualname", code.co_name)).rpartition("<locals>.")[2]


def shown_path(file: str) -> str:
    """A file as reports show it: relative to the working directory where it lies below it."""
    path = _resolved(file)
    if file.startswith("<") or not path.is_relative_to(Path.cwd()):
        return file
    return path.relative_to(Path.cwd()).as_posix()
