"""The frozen answers: what PyTorch said of the programs of `cases`, to judge rehearsals by.

The head of `answers.jsonl` says when they were made, by which releases and by which command. Each further line is the
answer on one program: its key and, unless the program ran through, the verdict, the line, the class of the exception
and a digest of the first line of its text. Where the machine that was pretended differed from a real GPU, the answer is
that of the GPU.

A key stands for the text that a program runs, without comments, and for its machine. It does not change with the other
programs of a file: of a file belong to a program what it names, what that names, and the statements that define
nothing. A line is counted within that text.
"""

from __future__ import annotations

import ast
import hashlib
import io
import json
import tokenize
from functools import cache
from pathlib import Path
from typing import Final

import torch

from tests.guard.rehearsal.cases import Case, Said

_FILE: Final = Path(__file__).with_name("answers.jsonl")
_DIGITS: Final = 12


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:_DIGITS]


@cache
def _read() -> tuple[dict[str, str], dict[str, Said]]:
    """Return the head of the file, and the answers by key."""
    head, *rows = map(json.loads, _FILE.read_text(encoding="utf-8").splitlines())
    return head, {key: Said(*said) if said else Said("ok") for key, *said in rows}


def answer(key: str) -> Said | None:
    """Return the answer on a program."""
    return _read()[1].get(key)


def has_text() -> bool:
    """Whether the installed torch is of the release that wrote the texts."""
    return torch.__version__.partition("+")[0] == _read()[0]["torch"]


def asked(case: Case, said: Said) -> tuple[str, Said]:
    """Return the key of a program, and what was said of it in the form of an answer."""
    own = lines_of(case)
    beside = sorted(_digest("\n".join(text for _, text in _whole(file))) for file in _beside(case))
    key = _digest(json.dumps([[text for _, text in own], beside, case.devices]))
    place = next((place for place, (line, _) in enumerate(own, start=1) if line == said.line), None)
    return key, said._replace(line=place, text=_digest(said.text) if said.text else None)


def lines_of(case: Case) -> list[tuple[int, str]]:
    """Return the lines that a program runs, each with its number."""
    lines = _lines(case.text)
    if case.call is None:
        return lines
    spans = [_span(node) for node in _needed(_parsed(case.text).body, case.call)]
    return [(line, text) for line, text in lines if any(first <= line <= last for first, last in spans)]


def _span(node: ast.stmt) -> tuple[int, int]:
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    return min([node.lineno, *(one.lineno for one in decorators)]), node.end_lineno or node.lineno


_parsed = cache(ast.parse)


def _whole(file: Path) -> list[tuple[int, str]]:
    return _lines(file.read_text(encoding="utf-8"))


@cache
def _lines(text: str) -> list[tuple[int, str]]:
    lines = text.splitlines()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            line, column = token.start
            lines[line - 1] = lines[line - 1][:column]
    return [(number, line.rstrip()) for number, line in enumerate(lines, start=1) if line.strip()]


def _needed(body: list[ast.stmt], call: str) -> list[ast.stmt]:
    """Return the statements of a file that the call of a function needs."""
    names = {call}
    found: list[ast.stmt] = []
    waiting = [node for node in body if not _is_docstring(node)]
    while True:
        taken = [node for node in waiting if (defined := _defined(node)) is None or defined & names]
        if not taken:
            return found
        found += taken
        waiting = [node for node in waiting if node not in taken]
        names |= {one.id for node in taken for one in ast.walk(node) if isinstance(one, ast.Name)}


def _is_docstring(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _defined(node: ast.stmt) -> set[str] | None:
    """Return the names that a statement does nothing but define, None for one that does more."""
    match node:
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
            return {node.name}
        case ast.Import() | ast.ImportFrom():
            return {(alias.asname or alias.name).partition(".")[0] for alias in node.names}
        case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
            return {name}
        case _:
            return None


def _beside(case: Case) -> list[Path]:
    """Return the other files of a program that has a folder of its own."""
    is_alone = case.file is None or not {"projects", "questions"} & {*case.file.parts}
    return [] if is_alone or case.file is None else [one for one in case.file.parent.rglob("*.py") if one != case.file]
