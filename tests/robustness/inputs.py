"""Inputs that nobody would write, from a seed: programs, torn texts, comments, notebooks, configurations.

Programs are fixtures taken apart and put together anew, so that they are full of what the analysis looks at. Each
input follows from its seed alone and can be made again without those before it.
"""

from __future__ import annotations

import ast
import copy
import functools
import json
import random
import re
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from tests.conftest import REPOSITORY

LONGEST = 25
"""Statements that a program begins with."""


@functools.cache
def sources() -> tuple[str, ...]:
    """The texts of all fixtures that Python can parse, in the order of their paths."""
    texts = []
    for path in sorted((REPOSITORY / "fixtures").rglob("*.py")):
        text = path.read_bytes().decode("utf-8", "replace").replace("\r\n", "\n")
        try:
            ast.parse(text)
        except (SyntaxError, ValueError, RecursionError):
            continue
        texts.append(text)
    return tuple(texts)


@functools.cache
def _parts() -> tuple[tuple[ast.stmt, ...], tuple[ast.expr, ...]]:
    """Statements and expressions that are read, of all fixtures."""
    statements: list[ast.stmt] = []
    expressions: list[ast.expr] = []
    for text in sources():
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.stmt):
                statements.append(node)
            elif isinstance(node, ast.expr) and isinstance(getattr(node, "ctx", ast.Load()), ast.Load):
                expressions.append(node)
    return tuple(statements), tuple(expressions)


# --- programs -----------------------------------------------------------------------------------------------


def program(rng: random.Random) -> bytes:
    """A program that Python can parse, mostly; some of its names have no meaning."""
    statements, _ = _parts()
    tree = ast.parse("import torch\nfrom torch import nn\nimport torch.nn.functional as F\n")
    tree.body += [copy.deepcopy(rng.choice(statements)) for _ in range(rng.randint(1, LONGEST))]
    for _ in range(rng.randint(0, 12)):
        rng.choice(_CHANGES)(tree, rng)
    return ast.unparse(ast.fix_missing_locations(tree)).encode("utf-8", "replace")


def _bodies(tree: ast.Module) -> list[list[ast.stmt]]:
    found = []
    for node in ast.walk(tree):
        for field in ("body", "orelse", "finalbody"):
            body = getattr(node, field, None)
            if isinstance(body, list) and body:
                found.append(body)
    return found


def _splice(tree: ast.Module, rng: random.Random) -> None:
    body = rng.choice(_bodies(tree))
    body.insert(rng.randint(0, len(body)), copy.deepcopy(rng.choice(_parts()[0])))


def _drop(tree: ast.Module, rng: random.Random) -> None:
    body = rng.choice(_bodies(tree))
    if len(body) > 1:
        del body[rng.randrange(len(body))]


def _repeat(tree: ast.Module, rng: random.Random) -> None:
    body = rng.choice(_bodies(tree))
    body.append(copy.deepcopy(rng.choice(body)))


_FRAMES = (
    "if c:\n pass",
    "if torch.cuda.is_available():\n pass\nelse:\n pass",
    "for i in range(3):\n pass",
    "while c:\n pass",
    "with torch.device('cuda'):\n pass",
    "try:\n pass\nexcept (RuntimeError, ValueError) as error:\n raise\nfinally:\n pass",
    "def f(self, x, *args, device=None, **kwargs):\n pass",
    "async def g(x):\n async for y in x:\n  pass",
    "class C(nn.Module):\n pass",
    "match x:\n case {'a': [torch.Tensor(), *rest], **more} if rest:\n  pass\n case _:\n  pass",
    "@torch.no_grad()\n@property\ndef h(self):\n pass",
    "lambda: (yield)",
)


def _wrap(tree: ast.Module, rng: random.Random) -> None:
    body = rng.choice(_bodies(tree))
    start = rng.randrange(len(body))
    end = rng.randint(start + 1, len(body))
    frame = ast.parse(rng.choice(_FRAMES))
    inner = [one for one in _bodies(frame) if len(one) == 1 and isinstance(one[0], ast.Pass)]
    for place in inner:
        place[:] = copy.deepcopy(body[start:end])
    body[start:end] = frame.body


def _exchange(tree: ast.Module, rng: random.Random) -> None:
    """Puts another expression in the place of one that is read."""
    places = [
        (node, field, index)
        for node in ast.walk(tree)
        for field, value in ast.iter_fields(node)
        for index, one in enumerate(value if isinstance(value, list) else [value])
        if isinstance(one, ast.expr)
        and isinstance(getattr(one, "ctx", ast.Load()), ast.Load)
        and not isinstance(node, (ast.JoinedStr, ast.FormattedValue, ast.pattern, ast.Delete))
        and field not in ("target", "targets", "optional_vars")
    ]
    if places:
        node, field, index = rng.choice(places)
        new = copy.deepcopy(rng.choice(_parts()[1]))
        value = getattr(node, field)
        if isinstance(value, list):
            value[index] = new
        else:
            setattr(node, field, new)


def _rename(tree: ast.Module, rng: random.Random) -> None:
    """Makes one name of two."""
    names = sorted({node.id for node in ast.walk(tree) if isinstance(node, ast.Name)})
    if names:
        old, new = rng.choice(names), rng.choice([*names, "self", "torch", "x", "device"])
        for node in ast.walk(tree):
            if isinstance(node, ast.Name) and node.id == old:
                node.id = new


_CHANGES: tuple[Callable[[ast.Module, random.Random], None], ...] = (
    _splice,
    _drop,
    _repeat,
    _wrap,
    _exchange,
    _exchange,
    _rename,
)


# --- texts --------------------------------------------------------------------------------------------------

_TOKEN = re.compile(r"\w+|\s+|[^\w\s]")
_ODD = (
    "\0", "\f", "\ufeff", "\u2028", "\x1b[0m", "é", "\t", "\\\n", "\r", '"""', "'", "(" * 40, "[" * 120, "{", ")",
    "#", ":=", "->", "**", "lambda:", "yield", "await", "return", "f'{x!r:{w}}'", "\\N{DASH}", "0x", "1_000", "1e999j",
    "...", ";", "match", "case", "type", "\n\n", "    ", "\n  \t", "del x", "global x", "nonlocal x", "# type: ignore",
)  # fmt: skip


def text(rng: random.Random) -> bytes:
    """A fixture with tokens lost, doubled, exchanged and put in, in one of several encodings."""
    tokens = _TOKEN.findall(rng.choice(sources())) or ["pass"]
    for _ in range(rng.randint(1, 8)):
        at = rng.randrange(len(tokens))
        match rng.randrange(4):
            case 0:
                del tokens[at : at + rng.randint(1, 5)]
            case 1:
                tokens[at:at] = tokens[at : at + rng.randint(1, 9)]
            case 2:
                tokens[at] = rng.choice(tokens)
            case _:
                tokens.insert(at, rng.choice(_ODD))
        tokens = tokens or ["pass"]
    made = "".join(tokens)
    end = rng.choice(["\n", "\n", "\n", "\r\n", "\r"])
    encoding = rng.choice(["utf-8", "utf-8", "utf-8", "utf-8-sig", "latin-1", "utf-16"])
    declared = rng.choice(["", "", f"# -*- coding: {encoding} -*-\n", "# coding: nonsense\n"])
    return (declared + made).replace("\n", end).encode(encoding, "replace")


_COMMENT = (
    "#", "noqa", "devlint", ":", "ignore", "ignore-file", "[", "]", "DEV101", "DEV1", "dev101", "mixed-device-operands",
    ",", "reason", "because", " ", "--", "ALL", "DEV", "é", "\t", "type: ignore", "E501", "file", "next",
)  # fmt: skip


def comments(rng: random.Random) -> bytes:
    """A fixture with odd comments behind its lines."""
    lines = rng.choice(sources()).split("\n")
    for _ in range(rng.randint(1, 12)):
        at = rng.randrange(len(lines))
        begun = rng.choice(["# noqa", "# devlint: ignore", "# devlint: ignore-file", "#"])
        lines[at] += "  " + begun + "".join(rng.choices(_COMMENT, k=rng.randint(0, 10)))
    return "\n".join(lines).encode("utf-8", "replace")


# --- documents ----------------------------------------------------------------------------------------------

_MAGICS = ("%matplotlib inline", "!pip install torch", "%%time", "%%bash\nls", "x = !ls", "%cd ..", "?torch", "torch??",
           "%%writefile a.py", "files = %sx ls", "%timeit x + y", "await f()", "%%capture out")  # fmt: skip


def notebook(rng: random.Random) -> bytes:
    """A notebook of pieces of fixtures, of which some values are lost or others than they should be."""
    cells: list[Any] = []
    for _ in range(rng.randint(0, 6)):
        code = rng.choice(sources()).split("\n")
        start = rng.randrange(len(code))
        lines = [line + "\n" for line in code[start : start + rng.randint(0, 20)]]
        if rng.random() < 0.5:
            lines.insert(rng.randint(0, len(lines)), rng.choice(_MAGICS) + "\n")
        kind = rng.choice(["code", "code", "code", "markdown", "raw"])
        source = lines if rng.random() < 0.5 else "".join(lines)
        cells.append({"cell_type": kind, "metadata": {}, "source": source, "outputs": [], "execution_count": None})
    document: Any = {
        "cells": cells,
        "metadata": {"kernelspec": {"language": "python"}},
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    for _ in range(rng.randint(0, 2)):
        _spoil(document, rng)
    made = json.dumps(document, indent=rng.choice([None, 1, 2]), ensure_ascii=rng.random() < 0.5)
    if rng.random() < 0.1:
        made = made[: rng.randrange(len(made))]
    return made.encode("utf-8", "replace")


_VALUES: tuple[Any, ...] = (
    None,
    True,
    0,
    -1,
    1e308,
    "",
    "DEV1",
    "é\0",
    [],
    {},
    [[]],
    [1],
    {"a": 1},
    ["*", 3],
    "cuda:0",
)


def _spoil(document: Any, rng: random.Random) -> None:
    """Replaces or removes one value at any depth."""
    places: list[tuple[Any, Any]] = []
    pending = [document]
    while pending:
        one = pending.pop()
        keys = list(one) if isinstance(one, dict) else range(len(one)) if isinstance(one, list) else ()
        for key in keys:
            places.append((one, key))
            pending.append(one[key])
    if places:
        holder, key = rng.choice(places)
        if rng.random() < 0.3:
            del holder[key]
        else:
            holder[key] = copy.deepcopy(rng.choice(_VALUES))


_KEYS = ("select", "ignore", "extend-select", "per-file-ignores", "exclude", "src", "severity", "signatures", "devices",
         "baseline", "extend", "selct", "Select", "require-reasons")  # fmt: skip
_WORDS = (
    "DEV",
    "DEV1",
    "DEV101",
    "ALL",
    "DEV9999",
    "*.py",
    "[",
    "!a",
    "**/x",
    "/",
    "..",
    "",
    "error",
    "warning",
    "é",
    "a\tb",
)


def configuration(rng: random.Random) -> bytes:
    """A `devlint.toml` with keys and values of any kind."""

    def value(depth: int) -> str:
        match rng.randrange(8 if depth else 5):
            case 0:
                return rng.choice(["0", "-3", "10_000", "1.5", "nan", "true", "1979-05-27", "0xff"])
            case 1 | 2 | 3 | 4:
                return json.dumps(rng.choice(_WORDS))
            case 5 | 6:
                return f"[{', '.join(value(depth - 1) for _ in range(rng.randint(0, 4)))}]"
            case _:
                pairs = (f"{json.dumps(rng.choice(_WORDS))} = {value(depth - 1)}" for _ in range(rng.randint(0, 3)))
                return f"{{{', '.join(pairs)}}}"

    lines = [f"{rng.choice(_KEYS)} = {value(2)}" for _ in range(rng.randint(0, 5))]
    if rng.random() < 0.2:
        lines.insert(rng.randint(0, len(lines)), rng.choice(["[tool.devlint]", "[", "]]", "= 3", '"""', "a.b = 1"]))
    made = "\n".join(lines).encode()
    if rng.random() < 0.1:
        at = rng.randint(0, len(made))
        made = made[:at] + rng.choice([b"\xff", b"\x00", b"\r", b"\xef\xbb\xbf"]) + made[at:]
    return made


KINDS: Mapping[str, Callable[[random.Random], bytes]] = MappingProxyType(
    {
        "program": program,
        "text": text,
        "comments": comments,
        "notebook": notebook,
        "configuration": configuration,
    }
)


def make(kind: str, seed: int, number: int) -> bytes:
    """The input of that number."""
    return KINDS[kind](random.Random(f"{kind} {seed} {number}"))
