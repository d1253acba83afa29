"""An edit of a file changes the digests of the edited parts, and no other digest."""

from __future__ import annotations

import ast

import pytest
from devlint.definitions import NAMES, OUTSIDE, imports_of, parts_of

TEXT = '''\
"""A module."""
import torch

# a remark
SIZES = [
    1,  # one
    # two
]


@torch.no_grad()
def first(x, size=len(SIZES), more=3):
    """Text."""
    # inside
    return x


class Net(torch.nn.Module):
    kind = "net"

    def forward(self, x):
        return x

    def reset(self): self.x = 1


if SIZES:
    def second(x):
        def inner():
            return x
        return inner
else:
    def second(x):
        return x


match SIZES:
    case []:
        third = lambda x: x


def plain(x, size=3):
    return x


class Layer(torch.nn.Module):
    scale = 2

    def forward(self, x, kind=Net):
        return x


LIMIT = {"a": [1, -2]}
from other import helper
'''


def digests(text: str) -> dict[str, str]:
    return dict(parts_of(ast.parse(text), text))


def changed(before: str, after: str) -> set[str]:
    """Return the parts with another digest after an edit; the outside is "outside"."""
    assert before in TEXT
    old, new = digests(TEXT), digests(TEXT.replace(before, after, 1))
    return {name or "outside" for name in old.keys() | new.keys() if old.get(name) != new.get(name)}


def test_the_parts_are_definitions_bindings_and_the_outside() -> None:
    definitions = {"first()", "Net()", "second()", "plain()", "Layer()"}
    bindings = {"torch", "SIZES", "Net", "plain", "Layer", "LIMIT", "helper"}
    assert set(digests(TEXT)) == {OUTSIDE, NAMES} | definitions | bindings


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ("# a remark\n", "# another\n\n# remark\n", set()),
        ('"""A module."""\n', '# a remark\n"""A module."""\n', set()),
        ("    # inside\n", "    # inside, too\n", {"first()"}),
        ('    """Text."""\n', '    """Other text."""\n', {"first()"}),
        ("    return x\n\n\nclass", "    y = 1\n    return x\n\n\nclass", {"first()"}),
        ("more=3", "more=4", {"first()"}),
        ("more=3", "more=3, other=None", {"first()"}),
        ("size=len(SIZES)", "size=len(TIMES)", {"first()", "outside"}),
        ("def first(", "def last(", {"first()", "last()", "outside"}),
        ("@torch.no_grad()\n", "", {"outside"}),
        ("        return x\n\n    def reset", "        return x + 1\n\n    def reset", {"Net()"}),
        ("self.x = 1", "self.x = 2", {"Net()"}),
        ('kind = "net"', 'kind = "other"', {"Net"}),
        ("(torch.nn.Module)", "", {"Net"}),
        ("            return x\n        return inner", "            return x + 1\n        return inner", {"second()"}),
        ("else:\n    def second(x):\n        return x", "else:\n    def second(x):\n        return -x", {"second()"}),
        ("if SIZES:", "if not SIZES:", {"outside"}),
        ("    # two\n", "    # three\n", {"SIZES"}),  # such a line may stand in a text
        ("lambda x: x", "lambda x: -x", {"outside"}),
    ],
)
def test_an_edit_changes_what_it_is_in(before: str, after: str, expected: set[str]) -> None:
    assert changed(before, after) == expected


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ("def plain(", "def more():\n    pass\n\n\ndef plain(", {NAMES, "more", "more()"}),
        ("def plain(", "def other(", {NAMES, "plain", "plain()", "other", "other()"}),
        ("LIMIT = ", "MORE = 3\nLIMIT = ", {NAMES, "MORE"}),
        ("[1, -2]", "[1, -3]", {"LIMIT"}),
        ("import helper", "import helper as other", {NAMES, "helper", "other"}),
        ("from other", "import math\nfrom other", {NAMES, "math"}),
        ("scale = 2", "scale = 3", {"Layer"}),
        ("kind=Net", "kind=plain", {"Layer", "Layer()"}),
        # These do more than to bind a name.
        ("LIMIT = ", "MORE = len(LIMIT)\nLIMIT = ", {"outside", "LIMIT", "helper"}),
        ("[1, -2]", "[1, SIZES]", {NAMES, "LIMIT", "outside", "helper"}),
        (
            "from other import helper",
            "from other import *",
            {NAMES, "Net", "Layer", "helper", "LIMIT", "plain", "outside"},
        ),
        ("from other", "import other\nfrom other", {"outside", "helper"}),
        ("scale = 2", "scale = len(SIZES)", {NAMES, "Layer", "outside", "LIMIT", "helper"}),
        ("kind=Net", "kind=helper", {NAMES, "Layer", "Layer()", "outside", "LIMIT", "helper"}),
        ("def plain(", "@decorated\ndef plain(", {NAMES, "plain", "outside", "Layer", "LIMIT", "helper"}),
    ],
)
def test_a_binding_is_a_part_if_its_statement_has_no_effect(before: str, after: str, expected: set[str]) -> None:
    assert changed(before, after) == expected


def test_the_place_of_a_binding_between_statements_of_the_outside_counts() -> None:
    first, second = digests("x = 1\nprint(x)\nx = 2\n"), digests("x = 1\nx = 2\nprint(x)\n")
    assert {name for name in first if first[name] != second[name]} == {"x"}


def test_a_name_that_a_function_may_bind_anew_is_one_of_the_outside() -> None:
    first, second = (digests(f"x = 1\n\ndef f():\n    {word} x\n    x = 2\n") for word in ("global", "del"))
    assert {name for name in first if first[name] != second[name]} == {OUTSIDE, "f()"}


def test_what_a_class_finds_bound_counts() -> None:
    base, derived = "class Base:\n    pass\n", "class Net(Base):\n    pass\n"
    first, second = digests(base + derived), digests(derived + base)
    assert {name for name in first if first[name] != second[name]} == {"Net"}


def test_imports_are_found_in_functions_too() -> None:
    text = "import a.b as c\n\ndef f():\n    if c:\n        from ..d import e\n"
    assert imports_of(ast.parse(text)) == {("a.b", 0, ""), ("d", 2, "e")}


def test_a_moved_definition_is_the_same() -> None:
    old, new = digests(TEXT), digests("# a remark\n\n\n" + TEXT)
    assert old == new


def test_a_line_of_a_text_is_no_comment() -> None:
    first, second = (f'x = """\n# {word}\n"""\n' for word in ("one", "two"))
    assert digests(first) != digests(second)
