"""The pieces of a file make the tree that LibCST makes of the whole file, and outlive an edit."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping
from itertools import islice

import libcst as cst
import pytest
from devlint.frontend import pieces
from devlint.frontend.flattening import Stretch
from devlint.frontend.pieces import Tree, Trees
from libcst.metadata import MetadataWrapper, PositionProvider

from tests.conftest import REPOSITORY
from tests.rules.test_concrete import SOURCES

FIXTURES = sorted(path for path in (REPOSITORY / "fixtures").rglob("*.py") if path.parent.name != "malformed")

SHOWN = (cst.BaseExpression, cst.BaseSmallStatement, cst.BaseCompoundStatement, cst.Arg, cst.Param, cst.Comment)
"""The nodes that rules look at; white space may belong to another node in a piece."""

ODD = {
    "comments around statements": "# 1\n\n  # 2\na = 1  # 3\n# 4\n\n@f\n# 5\ndef g(): pass\n  # 6\n\n# 7\n",
    "a comment at the end of a block": "def f():\n    pass\n    # one\n\ndef g():\n    pass\n    # two\n\n# three\n",
    "a statement that goes on in an empty line": "a = 1 \\\n\nb = 2\n",
    "blocks with several indentations": "if a:\n  b\nif c:\n\td\nif e:\n    f\n",
    "equal statements": "f(x)\nf(x)\nif a:\n    f(x)\nf(x)\n",
    "statements that share lines": "a = 1; b = 2; c = (\n  3); d = 4\ne = 5\n",
    "no statement": "# nothing\n",
    "nothing": "",
    "one statement without an end": "a",
}


def nodes(tree: Tree) -> Counter[tuple[str, Stretch]]:
    """The nodes of a tree by class and stretch."""
    numbers = range(len(tree.pieces))
    every = (found for number in numbers for found in tree.nodes_of(number))
    return Counter((type(node).__name__, stretch) for node, stretch in every if isinstance(node, SHOWN))


def nodes_of_libcst(text: str) -> Counter[tuple[str, Stretch]]:
    """The same of the file as LibCST parses it."""
    found: Mapping[cst.CSTNode, object] = MetadataWrapper(cst.parse_module(text), True).resolve(PositionProvider)
    every: Counter[tuple[str, Stretch]] = Counter()
    for node, range_ in found.items():
        assert isinstance(range_, cst.metadata.CodeRange)
        if isinstance(node, SHOWN):
            start, end = range_.start, range_.end
            every[type(node).__name__, (start.line, start.column, end.line, end.column)] += 1
    return every


WITHOUT_FORM_FEEDS = {name: text for name, text in {**SOURCES, **ODD}.items() if "\f" not in text}
"""LibCST counts no columns for a form feed, so its stretches are others."""


@pytest.mark.parametrize("text", WITHOUT_FORM_FEEDS.values(), ids=WITHOUT_FORM_FEEDS)
def test_a_tree_is_that_of_the_whole_file(text: str) -> None:
    tree = Tree(text)
    assert tree.module.code == cst.parse_module(text).code
    assert nodes(tree) == nodes_of_libcst(text)


def test_a_fixture_has_the_tree_of_the_whole_file() -> None:
    compared = 0
    for path in FIXTURES[::6]:
        text = path.read_text("utf-8-sig")
        tree = Tree(text)
        assert tree.module.code == text, path
        assert nodes(tree) == nodes_of_libcst(text), path
        compared += len(tree.pieces)
    assert compared > 500


def test_parents_lead_to_the_module() -> None:
    tree = Tree("def f(x):\n    return x + 1\n\ny = f(2)\n")
    (addition,) = tree.within(tree.module, cst.BinaryOperation)
    assert [type(node) for node in tree.parents(addition)] == [
        cst.Return,
        cst.SimpleStatementLine,
        cst.IndentedBlock,
        cst.FunctionDef,
        cst.Module,
    ]
    *_, module = tree.parents(tree.module.body[1])
    assert module is tree.module
    (function,) = tree.within(tree.module, cst.FunctionDef)
    assert {name.value for name in tree.within(function, cst.Name)} == {"f", "x"}


def test_equal_statements_have_nodes_of_their_own() -> None:
    tree = Tree(ODD["equal statements"])
    calls = [*tree.within(tree.module, cst.Call)]
    assert len(set(calls)) == 4
    assert sorted(tree.stretch(call)[0] for call in calls) == [1, 2, 4, 5]


def test_an_edit_parses_one_statement_anew() -> None:
    before = Tree("import torch\n\ndef f(x):\n    return x\n\ny = f(1)\n")
    after = Tree("import torch\n\ndef f(x):\n    y = x\n    return y\n\ny = f(1)\n", before)

    assert [new is old for new, old in zip(after.pieces, before.pieces, strict=True)] == [True, False, True]
    (call,) = after.within(after.module, cst.Call)
    assert after.stretch(call) == (7, 4, 7, 8)


def test_a_statement_above_the_first_comment_leaves_no_node_behind() -> None:
    text = "# one\nf(x)\n"
    before = Tree(text)
    assert nodes(before) == nodes_of_libcst(text)
    for after in (f"import torch\n{text}", f"{text}{text}"):
        tree = Tree(after, before)
        assert tree.module.code == after
        assert nodes(tree) == nodes_of_libcst(after)
        assert nodes(Tree(text, tree)) == nodes_of_libcst(text)


def test_trees_after_edits_are_those_of_the_texts() -> None:
    dice = random.Random(7)
    paths = [path for path in FIXTURES if path.stat().st_size > 2_000]
    for path in islice(dice.sample(paths, len(paths)), 12):
        lines = path.read_text("utf-8-sig").splitlines(keepends=True)
        tree: Tree | None = None
        for _ in range(6):
            at = dice.randrange(len(lines))
            lines[at:at] = dice.choice([["\n"], ["# a comment\n"], [lines[0]]]) if dice.random() < 0.5 else []
            if dice.random() < 0.5 and lines[at].strip():
                lines[at] = lines[at].replace(" = ", " =  ").rstrip("\n") + "  # edited\n"
            text = "".join(lines)
            try:
                expected = Tree(text)
            except (SyntaxError, cst.ParserSyntaxError):
                continue
            tree = Tree(text, tree)
            assert nodes(tree) == nodes(expected), path


def test_the_trees_of_the_latest_files_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pieces, "_MOST_TEXT", 20)
    trees = Trees()
    first = trees.of("a = 1\n", "a.py")
    assert trees.of("a = 1\n", "a.py") is first
    second = trees.of("b = 2\nc = 3\n", "b.py")
    assert trees.of("a = 1\n", "a.py") is first
    trees.of("d = 4\n", "d.py")

    assert trees.of("b = 2\nc = 3\n", "b.py") is not second
