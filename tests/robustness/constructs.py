"""Programs that have as much of one construct as one asks for: to see how the work grows with it.

Each ends with a conflict, which must be reported however much there is before it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

MOST = 2.6
"""How much more work twice as much of a construct may be; in proportion it would be 2."""

HEAD = "import torch\nfrom torch import nn\n"
CONFLICT = "torch.zeros(3, device='cuda') + torch.zeros(3)"
TAIL = f"\ndef conflict():\n    return {CONFLICT}\n"


@dataclass(frozen=True, slots=True)
class Construct:
    """A construct.

    Attributes:
        make: the text of a file with so much of it.
        size: how much of it there is in the smallest file of a measurement.
        name: what the file is called.
        reports: the conflict at its end is reported.
        most: how much more work twice as much of it may be. It is more where the text grows with the square, as it does
            where each line is indented further than the one before it; and for loops in loops, for each pass of a loop
            repeats all loops in it (Python limits their number, to 20 statements or 200 brackets); and for modules in
            modules, for each of them is asked for the devices of all modules in it.
    """

    make: Callable[[int], str]
    size: int = 250
    name: str = "a.py"
    reports: bool = True
    most: float = MOST


def _file(body: Callable[[int], str]) -> Callable[[int], str]:
    """A file with a body at its top level."""
    return lambda count: f"{HEAD}x = torch.zeros(3)\n{body(count)}\n{TAIL}"


def _function(body: Callable[[int], str]) -> Callable[[int], str]:
    """A file with one function; its body is indented once."""

    def make(count: int) -> str:
        inner = "".join(f"    {line}\n" for line in body(count).split("\n"))
        return f"{HEAD}def f(x, y, flag, *more, **named):\n{inner}    return {CONFLICT}\n{TAIL}"

    return make


def _lines(template: str) -> Callable[[int], str]:
    """The template once for each number `N`, with the numbers before and behind as `P` and `S`."""
    return lambda count: "\n".join(
        template.replace("{N}", str(number)).replace("{P}", str(max(number - 1, 0))).replace("{S}", str(number + 1))
        for number in range(count)
    )


def _joined(start: str, template: str, between: str, end: str = "") -> Callable[[int], str]:
    """One statement with the template once for each number."""
    return lambda count: start + between.join(template.replace("{N}", str(at)) for at in range(count)) + end


def _nested(opening: str, innermost: str = "y = x + 1", closing: str = "") -> Callable[[int], str]:
    """A statement inside itself."""

    def make(count: int) -> str:
        lines = [" " * at + line for at in range(count) for line in opening.replace("{N}", str(at)).split("\n")]
        lines.append(" " * count + innermost)
        if closing:
            lines += [" " * at + closing.replace("{N}", str(at)) for at in reversed(range(count))]
        return "\n".join(lines)

    return make


def _repeated(first: str, line: str) -> Callable[[int], str]:
    return lambda count: "\n".join([first, *[line] * count])


def _notebook(cells: Callable[[int], list[tuple[str, str]]]) -> Callable[[int], str]:
    def make(count: int) -> str:
        written = [("code", HEAD), *cells(count), ("code", TAIL)]
        document = {
            "cells": [
                {"cell_type": kind, "metadata": {}, "source": source, "outputs": [], "execution_count": None}
                if kind == "code"
                else {"cell_type": kind, "metadata": {}, "source": source}
                for kind, source in written
            ],
            "metadata": {},
            "nbformat": 4,
            "nbformat_minor": 5,
        }
        return json.dumps(document)

    return make


def _markdown(middle: Callable[[int], str]) -> Callable[[int], str]:
    return lambda count: f"# Text\n\n```python\n{HEAD}```\n\n{middle(count)}\n\n```python\n{TAIL}```\n"


_PROGRAMS: Mapping[str, Construct] = MappingProxyType(
    {
        # Values that hold values.
        "list that holds itself twice": Construct(_file(_repeated("", "x = [x, x]")), 10),
        "tuple that holds itself twice": Construct(_file(_repeated("", "x = (x, x)")), 10),
        "dict that holds itself twice": Construct(_file(_repeated("", "x = {'a': x, 'b': x}")), 10),
        "set and starred": Construct(_file(_repeated("", "x = [*x, *x]")), 10),
        "lists of the lists before": Construct(_file(lambda n: "x0 = x\n" + _lines("x{S} = [x{N}, x{N}]")(n)), 10),
        "list added to itself": Construct(_file(_repeated("x = [x]", "x = x + x")), 10),
        "list in a list": Construct(_file(_repeated("", "x = [x]"))),
        "tuple added to itself": Construct(_file(_repeated("x = (x,)", "x = x + x")), 10),
        "module of modules": Construct(
            _file(lambda n: _repeated("net = nn.Linear(3, 3)", "net = nn.Sequential(net, net)")(n) + "\nnet(x)"), 8
        ),
        "module in a module": Construct(
            _file(lambda n: _repeated("net = nn.Linear(3, 3)", "net = nn.Sequential(net)")(n) + "\nnet(x)\nnet.cuda()"),
            most=3.2,
        ),
        "module of a class": Construct(
            lambda n: (
                f"{HEAD}class M(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
                "        net = nn.Linear(3, 3)\n"
                + "        net = nn.Sequential(net, net)\n"
                * n
                + "        self.net = net\n"
                f"    def forward(self, x):\n        return self.net(x)\n{TAIL}"
            ),
            8,
        ),
        "partial of partials": Construct(
            _file(lambda n: "from functools import partial\n" + _repeated("p = print", "p = partial(p, p)")(n)), 10
        ),
        "deep copies": Construct(
            _file(lambda n: "import copy\n" + _repeated("x = [x]", "x = [copy.deepcopy(x), x]")(n)), 8
        ),
        "objects that hold objects": Construct(
            _file(lambda n: "class A: pass\n" + _repeated("", "a = A()\na.x, a.y = x, x\nx = a")(n)), 10
        ),
        "methods of methods": Construct(_function(lambda n: "x = x" + ".a" * n)),
        "text added to itself": Construct(_file(_repeated("s = 'ab'", "s = s + s")), 10),
        "text formatted into itself": Construct(_file(_repeated("s = 'ab'", "s = f'{s}{s}'")), 10),
        "text formatted by itself": Construct(
            _file(_repeated("s = '%s'", "s = s % (s + s)\nt = '{0}{0}'.format(s)")), 10
        ),
        "number times itself": Construct(_file(_repeated("s = 7", "s = s * s")), 10),
        "test and itself": Construct(_file(_repeated("t = torch.cuda.is_available()", "t = t and t\nu = t or t")), 10),
        "call of itself": Construct(
            _file(lambda n: "def g(a, b): return a\n" + _repeated("", "x = g((x, x), [x, x])")(n)), 10
        ),
        # Loops.
        "nested for": Construct(_function(_nested("for i{N} in x:", "x = x + 1")), 5, most=4.6),
        "nested while": Construct(_function(_nested("while x.a{N} > 0:", "x = x + 1")), 5, most=4.6),
        "nested for over few": Construct(_function(_nested("for i{N} in (1, 2, 3, 4):", "x = x + i0")), 5, most=4.6),
        "nested for over a list": Construct(_function(_nested("for i{N} in [x, y, flag]:", "x = [i0]")), 5, most=4.6),
        "nested for that changes names": Construct(
            _function(_nested("for i{N} in range(x):\n a{N} = flag", "a0 = y", " a{N} = a0")), 5, most=4.6
        ),
        "nested loops and try": Construct(
            _function(_nested("for i{N} in x:\n x = x or y\n try: x = x.a\n except E: break", "x = 1")), 5, most=4.6
        ),
        "comprehension in a comprehension": Construct(
            _function(lambda n: "z = " + "[" * n + "x" + "".join(f" for i{at} in x]" for at in range(n))), 5, most=4.6
        ),
        "comprehension of many loops": Construct(_function(_joined("z = [x ", "for i{N} in x", " ", "]")), 5, most=4.6),
        "comprehension of many conditions": Construct(_function(_joined("z = [x for i in x ", "if i > {N}", " ", "]"))),
        "many comprehensions": Construct(_function(_lines("z{N} = [a + {N} for a in x if a]"))),
        "many loops": Construct(_function(_lines("for i{N} in x:\n    x = x + i{N}"))),
        # Statements.
        "assignments": Construct(_function(_lines("a{N} = x + {N}"))),
        "assignments of a file": Construct(_file(_lines("a{N} = torch.zeros({N})"))),
        "chained assignment": Construct(_function(_joined("", "a{N} = ", "", "x"))),
        "augmented assignments": Construct(_function(_lines("x += {N}"))),
        "annotated assignments": Construct(_file(_lines("a{N}: int = {N}"))),
        "unpacking": Construct(_function(_joined("", "a{N}", ", ", " = x"))),
        "deletions": Construct(_function(_lines("a{N} = x\ndel a{N}"))),
        "if": Construct(_function(_lines("if flag.a{N}:\n    a{N} = x"))),
        "if and else": Construct(_function(_lines("if flag == {N}:\n    x = y\nelse:\n    x = flag"))),
        "elif": Construct(_function(_joined("if flag:\n    pass\n", "elif flag == {N}:\n    x = {N}", "\n"))),
        "nested if": Construct(_function(_nested("if flag.a{N}:\n a{N} = x", "x = y")), 12, most=4.6),
        "nested if and else": Construct(_function(_nested("if flag.a{N}:\n a{N} = x\nelse:", "x = y")), 12, most=4.6),
        "match": Construct(_function(_joined("match x:\n    ", "case {N}:\n        y = x", "\n    "))),
        "match of classes": Construct(
            _function(_joined("match x:\n    ", "case A{N}(a=[b, *c], d={'e': f}) if b:\n        y = f", "\n    "))
        ),
        "match of alternatives": Construct(_function(_joined("match x:\n    case ", "{N}", " | ", ":\n        y = x"))),
        "many matches": Construct(_function(_lines("match x:\n    case [a, *b]:\n        y = a"))),
        "try": Construct(_function(_lines("try:\n    a{N} = x.b()\nexcept E:\n    a{N} = y"))),
        "handlers": Construct(_function(_joined("try:\n    x = y\n", "except E{N} as e:\n    x = e", "\n"))),
        "nested try": Construct(
            _function(_nested("try:\n x = x + 1\nexcept E{N}:\n x = y\nfinally:", "x = y")), 12, most=4.6
        ),
        "with": Construct(_function(_lines("with x.a{N} as b{N}:\n    y = b{N}"))),
        "with items": Construct(_function(_joined("with ", "x as a{N}", ", ", ":\n    y = a0")), 40),
        "nested with": Construct(_function(_nested("with torch.device('cpu'), x as a{N}:")), 12, most=4.6),
        "asserts and raises": Construct(_function(_lines("assert x.a{N}, 'text'\nif y: raise E({N})"))),
        "returns": Construct(_function(_lines("if flag == {N}: return x[{N}]"))),
        "yields": Construct(_function(_lines("yield x + {N}"))),
        "global names": Construct(
            lambda n: (
                HEAD
                + "".join(f"g{at} = {at}\n" for at in range(n))
                + "def f():\n    global "
                + ", ".join(f"g{at}" for at in range(n))
                + "\n"
                + "".join(f"    g{at} = 1\n" for at in range(n))
                + TAIL
            )
        ),
        "imports": Construct(_file(_lines("import a{N}.b.c as d{N}\nfrom e{N} import f{N}"))),
        "import of many names": Construct(_file(_joined("from a import (", "b{N}", ", ", ")"))),
        "import of a long path": Construct(_file(_joined("import ", "a{N}", "."))),
        "import from a long path": Construct(_file(_joined("from ", "a{N}", ".", " import b"))),
        # Definitions.
        "functions": Construct(_file(_lines("def f{N}(a, b=1):\n    return a + b"))),
        "functions that call": Construct(_file(_lines("def f{S}(a):\n    return f{N}(a) + f{N}(a + 1)"))),
        "functions that call with constants": Construct(
            _file(_lines("def f{S}(a, k):\n    return f{N}(a, k + 1) + f{N}(a, k + 2)"))
        ),
        "nested functions": Construct(_file(_nested("def f{N}(a{N}):", "return a0", "pass")), 12, most=4.6),
        "nested lambdas": Construct(_file(_joined("h = ", "lambda a{N}: ", "", "x")), 40),
        "parameters": Construct(_file(_joined("def f(", "a{N}=None", ", ", "):\n    return a0"))),
        "annotated parameters": Construct(
            _file(_joined("def f(", "a{N}: torch.Tensor", ", ", "):\n    return a0 + a1"))
        ),
        "decorators": Construct(_file(_joined("", "@dec{N}\n", "", "def f(): pass"))),
        "decorators of the file": Construct(
            _file(
                lambda n: "def dec(g):\n    def h(*a): return g(*a)\n    return h\n" + "@dec\n" * n + "def f(): pass"
            ),
            10,
        ),
        "classes": Construct(
            _file(_lines("class C{N}(nn.Module):\n    def forward(self, x):\n        return x + self.w"))
        ),
        "classes that inherit": Construct(
            _file(lambda n: "class C0: pass\n" + _lines("class C{S}(C{N}):\n    def f(self): return super().f()")(n)),
            25,
        ),
        "nested classes": Construct(_file(_nested("class C{N}:", "a = 1")), 12, most=4.6),
        "methods": Construct(
            _file(
                lambda n: (
                    "class C:\n"
                    + "".join(f"    def f{at}(self, x):\n        return x + self.a{at}\n" for at in range(n))
                )
            )
        ),
        "methods that call": Construct(
            _file(
                lambda n: (
                    "class C:\n"
                    + "".join(
                        f"    def f{at + 1}(self, x):\n        return self.f{at}(x) + self.f{at}(x)\n"
                        for at in range(n)
                    )
                )
            ),
            60,
        ),
        "attributes of self": Construct(
            _file(
                lambda n: (
                    "class C(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
                    + "".join(f"        self.a{at} = torch.zeros({at})\n" for at in range(n))
                    + "    def forward(self, x):\n        return x + self.a0\n"
                )
            )
        ),
        "modules of self": Construct(
            _file(
                lambda n: (
                    "class C(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
                    + "".join(f"        self.a{at} = nn.Linear({at}, 3)\n" for at in range(n))
                    + "    def forward(self, x):\n"
                    + "".join(f"        x = self.a{at}(x)\n" for at in range(n))
                    + "        return x\n"
                )
            )
        ),
        "layers of a list": Construct(
            _file(_joined("net = nn.Sequential(", "nn.Linear(3, {N})", ", ", ").cuda()\nnet(x)"))
        ),
        "list of modules": Construct(
            _file(
                lambda n: (
                    "layers = []\n" + _lines("layers.append(nn.Linear(3, {N}))")(n) + "\nnet = nn.Sequential(*layers)"
                )
            )
        ),
        # Expressions.
        "calls": Construct(_function(lambda n: "y = x" + ".relu()" * n), 60),
        "calls with arguments": Construct(_function(lambda n: "y = x" + ".add(y, alpha=1)" * n), 60),
        "operands": Construct(_function(_joined("y = ", "x", " + "))),
        "operands on lines": Construct(_function(_joined("y = (", "x", "\n    * ", ")"))),
        "powers": Construct(_function(_joined("y = ", "x", " ** ")), 60),
        "comparisons": Construct(_function(_joined("y = ", "x", " < ")), 60),
        "and": Construct(_function(_joined("y = ", "x.a{N}", " and "))),
        "or": Construct(_function(_joined("y = ", "x", " or "))),
        "and of tests": Construct(_function(_joined("if ", "x.a{N} is not None", " and ", ":\n    y = x"))),
        "not": Construct(_function(lambda n: "y = " + "not " * n + "x"), 60),
        "signs": Construct(_function(lambda n: "y = " + "-" * n + "x"), 60),
        "conditional": Construct(_function(_joined("y = ", "x if flag == {N} else ", "", "x")), 40),
        "brackets": Construct(_function(lambda n: "y = " + "(" * n + "x" + ")" * n), 25),
        "list display": Construct(_function(_joined("y = [", "x", ", ", "]"))),
        "tuple display": Construct(_function(_joined("y = (", "x + {N}", ", ", ")"))),
        "dict display": Construct(_function(_joined("y = {", "'a{N}': x", ", ", "}"))),
        "nested display": Construct(_function(lambda n: "y = " + "[" * n + "x" + "]" * n), 25),
        "subscripts": Construct(_function(lambda n: "y = x" + "[0]" * n), 60),
        "slices": Construct(_function(_joined("y = x[", "1:2:3", ", ", "]"))),
        "stores by key": Construct(_function(lambda n: "y = {}\n" + _lines("y['a{N}'] = x")(n))),
        "stores by attribute": Construct(_function(_lines("x.a{N} = y"))),
        "attributes": Construct(_function(lambda n: "y = x" + ".a" * n), 60),
        "arguments": Construct(_function(_joined("y = x(", "y", ", ", ")"))),
        "keyword arguments": Construct(_function(_joined("y = x(", "a{N}=y", ", ", ")"))),
        "calls in calls": Construct(_function(lambda n: "y = " + "x(" * n + "y" + ")" * n), 25),
        "walrus": Construct(_function(_lines("y = (a{N} := x) + a{N}"))),
        "await": Construct(_file(lambda n: "async def f(x):\n" + "".join(f"    y{at} = await x\n" for at in range(n)))),
        "moves": Construct(_function(_lines("x = x.to('cuda')\nx = x.cpu()"))),
        # Literals.
        "text pieces": Construct(_function(_joined("y = (", "'a{N}'", "\n    ", ")"))),
        "text of pieces with fields": Construct(_function(_joined("y = (", "f'a{x}'", "\n    ", ")"))),
        "long text": Construct(_file(lambda n: "s = '" + "a" * (100 * n) + "'\nt = s + s")),
        "long documentation": Construct(_function(lambda n: "'''" + "Args: x: a tensor. " * n + "'''")),
        "format fields": Construct(_function(_joined("y = f'", "{x}-{N}", "", "'"))),
        "long number": Construct(_file(lambda n: "s = 0x" + "f" * (100 * n) + "\nx[s]\nt = {s: f'{s}'}")),
        "digits": Construct(_file(lambda n: "s = " + "9" * n + "\nx[s]\nt = torch.zeros(s)"), 1_000),
        "numbers": Construct(_file(_joined("s = [", "{N}", ", ", "]"))),
        "device strings": Construct(_function(_lines("a{N} = x.to('cuda:{N}')"))),
        # Comments and lines.
        "comments": Construct(_file(_lines("a = 1  # a comment that says something"))),
        "suppressions": Construct(_file(_lines("a = x + x  # devlint: ignore[DEV101] since it is so"))),
        "suppressions in one comment": Construct(_file(lambda n: "a = 1  " + "# devlint: ignore[DEV101] " * n)),
        "suppression of many rules": Construct(_file(_joined("a = 1  # devlint: ignore[", "DEV{N}", ", ", "]"))),
        "suppressions of a file": Construct(_file(_lines("# devlint: ignore-file[DEV30{N}]"))),
        "noqa": Construct(_file(_lines("a = 1  # noqa: DEV101"))),
        "noqa in one comment": Construct(_file(lambda n: "a = 1  #" + " noqa:" * n + " DEV101")),
        "noqa of many codes": Construct(_file(_joined("a = 1  # noqa: ", "DEV{N}", ", "))),
        "noqa with blanks": Construct(_file(lambda n: "a = 1  # noqa: DEV101" + " " * (20 * n) + "!")),
        "noqa without an end": Construct(_file(lambda n: "a = 1  # noqa: " + "A1 ," * n + "!\n" + "#" * n)),
        "suppression without an end": Construct(_file(lambda n: "a = 1  " + "# devlint: ignore[" * n)),
        "reports": Construct(_file(_lines(f"a{{N}} = {CONFLICT}")), 60),
        "reports that are silenced": Construct(_file(_lines(f"a{{N}} = {CONFLICT}  # devlint: ignore[DEV101]")), 60),
        "reports on one line": Construct(_file(lambda n: f"a = {CONFLICT}; " * n + "b = 1"), 60),
        "blank lines": Construct(_file(lambda n: "\n" * (20 * n))),
        "form feeds": Construct(_file(lambda n: "\f\n" * n)),
        "continued lines": Construct(_function(lambda n: "y = x" + " \\\n    + x" * n)),
        "a long line": Construct(_function(lambda n: "y = x; " * n)),
        "blanks": Construct(_file(lambda n: "a = 1" + " " * (100 * n) + "\nb = 2" + "\t" * (100 * n))),
    }
)

_DOCUMENTS: Mapping[str, Construct] = MappingProxyType(
    {
        "cells": Construct(_notebook(lambda n: [("code", f"a{at} = {at}\n") for at in range(n)]), 250, "a.ipynb"),
        "cells of text": Construct(_notebook(lambda n: [("markdown", "text")] * n), 250, "a.ipynb"),
        "cells with magics": Construct(_notebook(lambda n: [("code", "%time x = 1\n!ls\n")] * n), 250, "a.ipynb"),
        "a cell with magics": Construct(
            _notebook(lambda n: [("code", "%time x = 1\n!ls\ny = !ls\nx?\n" * n)]), 250, "a.ipynb"
        ),
        "a cell of blanks": Construct(
            _notebook(lambda n: [("code", "!ls\n" + " " * (20 * n) + "x\n")]), 250, "a.ipynb", reports=False
        ),
        "a cell of words": Construct(
            _notebook(lambda n: [("code", "!ls\n" + "a " * (20 * n) + "\n")]), 250, "a.ipynb", reports=False
        ),
        "a cell of names": Construct(
            _notebook(lambda n: [("code", "!ls\n" + "a, " * (20 * n) + "b = c\n")]), 250, "a.ipynb"
        ),
        "a cell of marks": Construct(
            _notebook(lambda n: [("code", "!ls\n" + "?" * (20 * n) + "a?b\n")]), 250, "a.ipynb", reports=False
        ),
        "a cell of quotes": Construct(
            _notebook(lambda n: [("code", "!ls\nx = 'a" + "\\'" * (20 * n) + "'\n")]), 250, "a.ipynb"
        ),
        "a cell of shell lines": Construct(
            _notebook(lambda n: [("code", "pip install a\ncd b\n" * n)]), 250, "a.ipynb"
        ),
        "fences": Construct(_markdown(lambda n: "```python\na = 1\n```\n\ntext\n\n" * n), 250, "a.md"),
        "fences of other languages": Construct(_markdown(lambda n: "```sh\nls\n```\n" * n), 250, "a.md"),
        "fences that are no Python": Construct(_markdown(lambda n: "```python\na = (\n```\n" * n), 250, "a.md"),
        "a fence that does not end": Construct(
            _markdown(lambda n: "```sh\n" + "~~~ text\n" * n), 250, "a.md", reports=False
        ),
        "a fence of many marks": Construct(
            _markdown(lambda n: "`" * (100 * n) + "python\n" + "`" * (100 * n)), 250, "a.md"
        ),
        "marks before a fence": Construct(_markdown(lambda n: ("`" * 99 + " ") * n + "\n"), 250, "a.md"),
        "blanks before a fence": Construct(
            _markdown(lambda n: " " * (100 * n) + "``\n" + "```" + " " * (100 * n) + "`\n"), 250, "a.md"
        ),
        "an indented fence": Construct(
            _markdown(lambda n: "- text\n\n  ```python\n" + "  a = 1\n" * n + "  ```\n"), 250, "a.md"
        ),
        "text": Construct(_markdown(lambda n: "word `code` word\n" * n), 250, "a.md"),
    }
)

CONSTRUCTS: Mapping[str, Construct] = MappingProxyType({**_PROGRAMS, **_DOCUMENTS})
