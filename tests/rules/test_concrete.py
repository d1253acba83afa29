"""Facts reach their nodes: the places of Python's `ast` and those of LibCST's nodes must agree."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

import libcst as cst
import pytest
from devlint.diagnostics import Place
from devlint.errors import RuleError
from devlint.facts import Anchored, FileFacts, InvalidDevice, Reveal
from devlint.frontend.concrete import check
from devlint.frontend.flattening import MAX_DEPTH, flatten
from devlint.rule import OperationRule, Rule

FILE = "src/a.py"


class Echo(OperationRule):
    """Reports every fact it is shown."""

    code = "TST001"
    wants = (Reveal,)

    def operation(self, node: cst.CSTNode) -> None:
        for fact in self.facts_of(node, Reveal):
            self.report(node, fact.text)


class OnlyCalls(Rule):
    """Looks at calls and at nothing else."""

    code = "TST002"
    wants = (Reveal,)

    def visit_Call(self, node: cst.Call) -> None:  # noqa: N802
        for fact in self.facts_of(node, Reveal):
            self.report(node, fact.text)


def _operations(source: str) -> Iterator[Anchored]:
    """A fact for every expression and small statement that something can happen in."""
    lines = source.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    for node in _executed(ast.parse(source)):
        if isinstance(node, (ast.expr, ast.Expr, ast.Assign, ast.AugAssign, ast.AnnAssign, ast.For)):
            assert node.end_lineno is not None
            assert node.end_col_offset is not None
            start = len(lines[node.lineno - 1].encode()[: node.col_offset].decode())
            end = len(lines[node.end_lineno - 1].encode()[: node.end_col_offset].decode())
            place = Place(FILE, node.lineno, start + 1, node.end_lineno, end + 1)
            yield Anchored(place, Reveal(type(node).__name__))


def _executed(tree: ast.AST) -> Iterator[ast.AST]:
    """All nodes but those that are no operations of their own.

    These are the slice and the tuple between the brackets of a subscript, a generator that is an argument and
    may have no brackets of its own, and the pieces of an f-string around its expressions, of which each
    version of Python says something else.
    """
    for node in ast.walk(tree):
        for child in ast.iter_child_nodes(node):
            bare_index = isinstance(child, ast.Slice) or (
                isinstance(node, ast.Subscript) and isinstance(child, ast.Tuple)
            )
            argument = isinstance(node, ast.Call) and isinstance(child, ast.GeneratorExp)
            text = isinstance(node, ast.JoinedStr) and isinstance(child, ast.Constant)
            field = isinstance(child, ast.FormattedValue)
            layout = isinstance(node, ast.FormattedValue) and isinstance(child, ast.JoinedStr)
            if not (bare_index or argument or text or field or layout):
                yield child


SOURCES = {
    "binary operators": "c = (a) + (b)\nd = (a + b)\n((a + b)).foo\na * b @ c ** -d\n",
    "calls": "f((x))\n(f)(x)\n(f(x))\nf(x)(y).z[0](*a, k=b, **c)\n",
    "comparisons": "a < b\n(a < b) == c\nx = (a is not b)\na < b < c\na not in b\n",
    "subscripts": "x[0]\n(x)[0:1, ...]\nx[(0)]\ny = (x[0])\nx[a + b, f(c)]\n",
    "attributes": "(x).y\n(x.y)\n((x).y).z()\n(\n x\n .y\n .z()\n)\n",
    "augmented assignments": "x += y\nx[0] += (y)\n(x) += (y)\n(x.y) //= y\n",
    "assignments": "x = y\nx = (y)\n(x) = y\nx[0] = (y)\na[0] = b[1] = v\n(x)[0] = (x.y) = 3\n(a, b) = (c)\n",
    "annotated assignments": "x: int = (3)\nx[0]: int = 3\nx.y: 'Tensor' = z\n",
    "strings": "f('a')\nf('a' 'b')\nf(('a'\n  'b'))\nf(r'a' u'b', b'c')\nf('''a\nb''')\n",
    "f-strings": "f(f'{x + y} {z!r:>{w}}')\nf('a' f'{x.cuda()}')\nf(f\"é{x.cuda()}\")\n",
    "f-strings over several lines": 'f(f"""a\n {x.cuda()}\n  {y.to(z)}""")\n',
    "decorators": "@a.b(c)\n@d\ndef f(x=y.cuda()):\n    pass\n@a\nclass C(B.c()):\n    pass\n",
    "generator arguments": "f(x + y for x in y)\nf((x for x in y))\nz = (x for x in y)\n",
    "comprehensions": "[f(x) for x in y if g(x)]\n{x: y() for x in z}\n{x for x in f(y)}\n",
    "lambdas": "f(lambda x: x + 1)\n(lambda: y())\n(lambda x=f(): x)(1)\n",
    "conditional expressions": "x if a() else b[0]\n(y := f(x))\n",
    "several lines": "x = f(\n  a,\n  b + \\\n   c,\n)\ny = [\n  a.b(),\n]\n",
    "tabs": "if a:\n\tx = a + b\n\tif b:\n\t\ty = f(\ta )\n",
    "names and text beyond ASCII": "é = 'ü' + f(ж, '日本') + g('🙂', x[0])\n",
    "form feeds": "a = 1\n\x0cb = c + d\nif x:\n\x0c    y = a + b\nf('''\n\x0c''', x + y)\n",
    "CRLF line ends": "a = 1\r\nb = (c\r\n  + d)\r\n",
    "CR line ends": "a = 1\rb = c + d\r",
    "mixed line ends and form feeds": "a = 1\r\n\x0cb = c + d\r\x0ce = f(g)\n",
    "backslash continuation": "a = b + \\\n   c\nx = \\\n  f(y)\n",
    "semicolons": "a = b; c + d; f(x);\nif x: a = f(x); g(y);\n",
    "tuples": "x = (1, f(2))\ny = 1, 2\nz = ( ( \n 1, 2 # c\n ) )\nfor a, b in ( c, d ): pass\n",
    "loops": "for x in y:\n    pass\nelse:\n    z\nwhile f(x):\n    g()\n",
    "with": "with a as b, c() as d:\n    pass\n",
    "try": "try:\n    a()\nexcept E() as e:\n    b()\nelse:\n    c()\nfinally:\n    d()\n",
    "statements": "assert a(), b\nraise A(b) from c\ndel x[0], y.z\nprint(*x)\n[*a, b]\n{**d}\n",
    "unary operators": "-x\n-(x)\nnot x()\n(not x)\n~x\n",
    "numbers": "x.to(0)\nf(-1)\nf(1j, 0x10, 1_000)\n",
    "coroutines": "async def f():\n    await g(x)\n    async for a in y: h(a)\n    [b async for b in y]\n",
    "no newline at the end": "x = a + b",
    "comments": "x = (  # one\n  a  # two\n  + b\n)  # three\n",
}


@pytest.mark.parametrize("source", SOURCES.values(), ids=SOURCES)
def test_every_operation_is_shown_with_its_facts(source: str) -> None:
    anchored = tuple(_operations(source))
    reported = check(source, FILE, FileFacts(anchored), [Echo])

    assert len(anchored) > 1
    assert {(found.place, found.message) for found in reported} == {
        (fact.place, fact.fact.text) for fact in anchored if isinstance(fact.fact, Reveal)
    }


def _fact(line: int, column: int, end_column: int) -> Anchored:
    return Anchored(Place(FILE, line, column, line, end_column), Reveal("cpu"))


def test_diagnostics_come_sorted_and_each_once() -> None:
    source = "f(x)\ng(y); h(z)\n"
    facts = FileFacts((_fact(2, 7, 11), _fact(2, 1, 5), _fact(1, 1, 5)))

    reported = check(source, FILE, facts, [Echo])
    assert [(found.place.line, found.place.column) for found in reported] == [(1, 1), (2, 1), (2, 7)]


def test_two_facts_of_one_node_are_both_reported() -> None:
    place = Place(FILE, 1, 1, 1, 5)
    facts = FileFacts((Anchored(place, Reveal("cpu")), Anchored(place, Reveal("cuda:0"))))

    assert [found.message for found in check("f(x)\n", FILE, facts, [Echo])] == ["cpu", "cuda:0"]


def test_fact_without_a_node_is_an_error() -> None:
    with pytest.raises(RuleError, match=r"echo was not shown the fact Reveal at columns 2 to 5") as caught:
        check("f(x)\n", FILE, FileFacts((_fact(1, 2, 5),)), [Echo])
    assert (caught.value.path, caught.value.line) == (FILE, 1)


def test_fact_at_a_node_that_its_rule_does_not_visit_is_an_error() -> None:
    with pytest.raises(RuleError, match="only-calls was not shown"):
        check("a + b\n", FILE, FileFacts((_fact(1, 1, 6),)), [OnlyCalls])
    assert len(check("a(b)\n", FILE, FileFacts((_fact(1, 1, 5),)), [OnlyCalls])) == 1


def test_facts_that_no_rule_wants_are_no_reason_to_parse() -> None:
    unwanted = FileFacts((Anchored(Place(FILE, 1, 1, 1, 2), InvalidDevice("gpu", "no")),))

    assert check("this is ( no Python", FILE, unwanted, [Echo]) == []
    assert check("this is ( no Python", FILE, FileFacts(), [Echo]) == []


def test_text_that_is_no_python_is_an_error() -> None:
    with pytest.raises(RuleError, match="Python cannot parse"):
        check("f(x\n", FILE, FileFacts((_fact(1, 1, 4),)), [Echo])


def test_text_that_only_libcst_refuses_is_an_error() -> None:
    source = "f(x)\n(y): int\n"
    ast.parse(source)
    with pytest.raises(RuleError, match="LibCST cannot parse"):
        check(source, FILE, FileFacts((_fact(1, 1, 5),)), [Echo])


DEEP: dict[str, Callable[[int], str]] = {
    "brackets": lambda depth: "(" * depth + "a" + ")" * depth,
    "lists": lambda depth: "[" * depth + "]" * depth,
    "subscripts": lambda depth: "a[" * depth + "0" + "]" * depth,
    "sums": lambda depth: "+".join("a" * depth),
    "powers": lambda depth: "**".join("a" * depth),
    "calls": lambda depth: "x" + ".f()" * depth,
    "negations": lambda depth: "not " * depth + "a",
    "branches": lambda depth: "if a: pass\n" + "elif b: pass\n" * depth,
    "conditions": lambda depth: "a if b else " * depth + "c",
    "operators of truth": lambda depth: " and ".join("a" * depth),
    "pieces of text": lambda depth: "(" + "\n'é'" * depth + ")",
    "pieces with fields": lambda depth: "(" + "\nf'{a}'" * depth + ")",
    "loops in one": lambda depth: "[a" + " for a in b" * depth + "]",
    "imports": lambda depth: "import " + ".".join("a" * depth),
    "imports from": lambda depth: "from " + ".".join("a" * depth) + " import (b,\n c); d",
    "targets": lambda depth: "x" + ".a" * depth + " = 1; del x" + "[0]" * depth,
    "patterns": lambda depth: "match x:\n case " + ".".join("a" * depth) + ": pass",
    "branches on one line": lambda depth: "if a: pass\n" + "elif b: c; d;  # no\n" * depth,
    "lines": lambda depth: "é = (x" + "\n .f(\n )" * depth + "\n)",
    "continued lines": lambda depth: "y = x" + " \\\n + x" * depth,
}
"""Code that LibCST nests, however flat it looks."""


@pytest.mark.parametrize("kind", DEEP)
def test_deep_nesting_is_analysed(kind: str) -> None:
    source = f"{DEEP[kind](MAX_DEPTH // 5)}\nf(x)\n"
    line = source.count("\n")

    assert len(check(source, FILE, FileFacts((_fact(line, 1, 5),)), [Echo])) == 1


@pytest.mark.parametrize("kind", DEEP)
def test_absurd_nesting_does_not_end_the_process(kind: str) -> None:
    source = f"{DEEP[kind](3000)}\nf(x)\n"
    line = source.count("\n")
    facts = FileFacts((_fact(line, 1, 5),))

    try:
        ast.parse(source)
    except (SyntaxError, RecursionError, MemoryError):
        with pytest.raises(RuleError):
            check(source, FILE, facts, [Echo])
    else:
        assert [found.place.line for found in check(source, FILE, facts, [Echo])] == [line]


@pytest.mark.parametrize("kind", DEEP)
def test_what_is_cut_keeps_the_lines_and_columns_of_all_else(kind: str) -> None:
    source = f"{DEEP[kind](MAX_DEPTH // 5)}\nf(x)\n"
    flat = flatten(source, 40, 20)

    assert (flat.text == source) is (kind == "brackets")  # of which Python takes fewer than LibCST
    assert [len(line) for line in flat.text.split("\n")] == [len(line) for line in source.split("\n")]
    assert {(new, old) for new, old in zip(flat.text, source, strict=True) if new != old and new not in "(_) "} == set()
    ast.parse(flat.text)
