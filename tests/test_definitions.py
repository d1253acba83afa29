"""An edit of a file changes the digest of the edited definition, and no other digest."""

from __future__ import annotations

import ast

import pytest
from devlint.definitions import OUTSIDE, definitions_of

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
'''


def digests(text: str) -> dict[str, str]:
    return dict(definitions_of(ast.parse(text), text))


def changed(before: str, after: str) -> set[str]:
    """Return the definitions with another digest after an edit; `outside` stands for the code in none of them."""
    assert before in TEXT
    old, new = digests(TEXT), digests(TEXT.replace(before, after, 1))
    return {name or "outside" for name in old.keys() | new.keys() if old.get(name) != new.get(name)}


def test_the_outermost_functions_and_classes_are_named() -> None:
    assert set(digests(TEXT)) == {OUTSIDE, "first", "Net", "second"}


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ("# a remark\n", "# another\n\n# remark\n", set()),
        ('"""A module."""\n', '# a remark\n"""A module."""\n', set()),
        ("    # inside\n", "    # inside, too\n", {"first"}),
        ('    """Text."""\n', '    """Other text."""\n', {"first"}),
        ("    return x\n\n\nclass", "    y = 1\n    return x\n\n\nclass", {"first"}),
        ("more=3", "more=4", {"first"}),
        ("more=3", "more=3, other=None", {"first"}),
        ("size=len(SIZES)", "size=len(TIMES)", {"first", "outside"}),
        ("def first(", "def last(", {"first", "last", "outside"}),
        ("@torch.no_grad()\n", "", {"outside"}),
        ("        return x\n\n    def reset", "        return x + 1\n\n    def reset", {"Net"}),
        ("self.x = 1", "self.x = 2", {"Net"}),
        ('kind = "net"', 'kind = "other"', {"outside"}),
        ("(torch.nn.Module)", "", {"outside"}),
        ("            return x\n        return inner", "            return x + 1\n        return inner", {"second"}),
        ("else:\n    def second(x):\n        return x", "else:\n    def second(x):\n        return -x", {"second"}),
        ("if SIZES:", "if not SIZES:", {"outside"}),
        ("    # two\n", "    # three\n", {"outside"}),  # such a line may stand in a text
        ("lambda x: x", "lambda x: -x", {"outside"}),
        ("import torch\n", "import torch\n\n\ndef more():\n    pass\n", {"more", "outside"}),
    ],
)
def test_an_edit_changes_what_it_is_in(before: str, after: str, expected: set[str]) -> None:
    assert changed(before, after) == expected


def test_a_moved_definition_is_the_same() -> None:
    old, new = digests(TEXT), digests("# a remark\n\n\n" + TEXT)
    assert old == new


def test_a_line_of_a_text_is_no_comment() -> None:
    first, second = (f'x = """\n# {word}\n"""\n' for word in ("one", "two"))
    assert digests(first) != digests(second)
