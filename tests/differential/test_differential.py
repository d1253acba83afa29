"""devlint must not contradict PyTorch on random programs, and this comparison must notice it when it does."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace

import pytest
from devlint.diagnostics import Certainty, Diagnostic, Place, Severity

from tests.differential import comparison
from tests.differential.__main__ import comparisons, distinct, figures
from tests.differential.comparison import Comparer, Findings
from tests.differential.definitions import generate
from tests.differential.mutations import changes
from tests.differential.program import Definition, Program, Statement
from tests.differential.shrink import shrunken
from tests.judge import Judge

pytestmark = pytest.mark.skipif(
    sys.version_info < (3, 11), reason="earlier Pythons do not say where an instruction stands"
)

PROGRAMS = 50
"""So many are compared, counting what is left of a program once its failing statements are replaced."""

FEWEST_FOUND = 0.95
"""At least this part of the programs that PyTorch refuses must be reported on the right line."""


@pytest.fixture
def comparer(judge: Judge) -> Comparer:
    return Comparer(judge)


def test_random_programs(comparer: Comparer) -> None:
    compared = [found for found, _ in zip(comparisons(comparer, 20), range(PROGRAMS), strict=False)]
    refused = [each for each in compared if each.outcome == "device-error"]
    wrong = [each for done in compared for each in done.disagreements if each.what != "miss"]
    listed = "\n\n".join(str(each) for each in distinct([shrunken(each, comparer) for each in wrong]))

    assert not wrong, f"{listed}\n\n{figures(compared)}"
    assert sum(each.outcome == "ok" for each in compared) > PROGRAMS / 5, figures(compared)
    assert len(refused) > PROGRAMS / 4, figures(compared)
    assert sum(each.found for each in refused) > FEWEST_FOUND * len(refused), figures(compared)


def test_programs_are_reproducible_and_shrink_to_programs() -> None:
    program = generate(3, 4)

    assert program == generate(3, 4)
    assert program.text != generate(3, 5).text
    assert all(len(smaller.text) < len(program.text) for smaller in program.smaller())
    for smaller in program.smaller():
        compile(smaller.text, "program", "exec")


def test_mutants_lack_one_thing() -> None:
    buffer = Statement("self.register_buffer('scale', torch.ones(3, device='cuda'))")
    program = replace(PLANTED, definitions=(), main=(Statement("x = x.to('cuda')"), buffer))

    assert {line for changed in program.rewritten(changes) for line in changed.text.splitlines()[1:]} == {
        "x = x.to('cuda')",
        "x.to('cuda')",
        "x = x",
        "self.register_buffer('scale', torch.ones(3, device='cuda'))",
        "self.scale = torch.ones(3, device='cuda')",
        "self.register_buffer('scale', torch.ones(3))",
    }


def claim(line: int, code: str = "DEV101", certainty: Certainty = Certainty.CERTAIN) -> Diagnostic:
    place = Place("program.py", line, 1, line, 9)
    return Diagnostic(code, "rule", Severity.ERROR, certainty, "two devices", place)


def finding(planted: list[Diagnostic]) -> Callable[[str, int], Findings]:
    return lambda text, devices: Findings(tuple(each.place for each in planted), lambda: planted)


FUNCTION = Statement("def follow(x):", (Statement("return x + torch.ones(3)"),))
PLANTED = Program(
    "planted",
    4,
    (Definition(FUNCTION, "follow(torch.ones(3, device='cuda'))"),),
    (
        Statement("x = torch.ones(3)"),
        Statement("x.to('cpu')"),
        Statement("if len(sys.argv) > 9:", (Statement("x + x"),)),
        Statement("y = x.cuda()"),
        Statement("y + x", instead="y + y"),
    ),
)
"""Line 3 keeps an on-accelerator promise, 5 moves nothing, 7 is never reached, 9 is refused."""


@pytest.mark.parametrize(
    ("planted", "expected"),
    [
        ([claim(9)], []),
        ([], ["miss mixed, elementwise"]),
        ([claim(4), claim(9)], ["false-alarm DEV101"]),
        ([claim(7), claim(9)], []),
        ([claim(3, certainty=Certainty.ON_ACCELERATOR), claim(9)], []),
        ([claim(4, certainty=Certainty.ON_ACCELERATOR), claim(9)], ["false-alarm DEV101"]),
    ],
)
def test_what_counts_as_disagreement(
    planted: list[Diagnostic], expected: list[str], comparer: Comparer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(comparison, "find", finding(planted))
    found = comparer.compare(PLANTED)

    assert found.outcome == "device-error"
    assert [f"{each.what} {each.about}" for each in found.disagreements] == expected


def test_what_a_turn_does_not_come_to_is_judged_without_what_ends_it(
    comparer: Comparer, monkeypatch: pytest.MonkeyPatch
) -> None:
    body = (Statement("x + torch.ones(3)"), Statement("torch.ones(3) + x"), Statement("x + x"))
    loop = Statement("for x in (torch.ones(3), torch.ones(3, device='cuda')):", body)
    program = replace(PLANTED, definitions=(), main=(loop,))
    for planted, wrong in (((3, 4), []), ((3, 4, 5), [5])):
        monkeypatch.setattr(comparison, "find", finding([claim(line) for line in planted]))
        assert [each.line for each in comparer.compare(program).disagreements] == wrong


def test_a_move_to_where_the_tensor_is_moves_nothing(comparer: Comparer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(comparison, "find", finding([claim(5, "DEV203")]))
    repaired = PLANTED.repaired([9])
    assert repaired is not None

    found = comparer.compare(repaired)

    assert (found.outcome, [each.about for each in found.disagreements]) == ("ok", ["DEV203"])


def test_a_failure_of_devlint_is_a_disagreement(comparer: Comparer, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(text: str, devices: int) -> Findings:
        raise KeyError(text)

    monkeypatch.setattr(comparison, "find", fail)

    assert [(each.what, each.about) for each in comparer.compare(PLANTED).disagreements] == [("crash", "KeyError")]


def test_shrinking_keeps_what_the_disagreement_needs(comparer: Comparer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(comparison, "find", finding([]))
    (miss,) = comparer.compare(PLANTED).disagreements

    small = shrunken(miss, comparer)

    assert small.program.text.splitlines()[1:] == ["x = torch.ones(3)", "y = x.cuda()", "y + x"]
    assert small.line == 4
