"""The comparison of claims with runs: what passes, and every way in which a run can contradict."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest
from devlint.diagnostics import Certainty, Diagnostic, Place, Severity

from tests import agreement
from tests.agreement import Execute
from tests.expectations import Program, parse

PATH = Path("some.py")


@dataclass(frozen=True)
class Shown:
    """A run without PyTorch."""

    outcome: str = "ok"
    stack: tuple[int, ...] = ()
    message: str | None = None
    revealed: tuple[tuple[int, str], ...] = ()


CONTENT = Shown()


def raised(*stack: int) -> Shown:
    return Shown("device-error", stack, "RuntimeError: two devices")


def on(**machines: Shown) -> Execute:
    """Machines by name: `d0` has no devices, `d4` four."""

    def execute(program: Program, devices: int) -> Shown:
        return machines[f"d{devices}"]

    return execute


def body(*lines: str, name: str = "bad_x") -> str:
    return "\n".join([f"def {name}():", *(f"    {line}" for line in lines), ""])


HERE = body("f()", "g()  # error: [a]")
LATER = body("f()  # error: [a] later", "g()", "h()")
NEVER = body("f()  # error: [a] never")
BOTH = body("f()  # error: [a] later", "g()", "h()  # error: [b]", "i()  # error: [b]")
ELSEWHERE = body("f()  # error: [a] on 0 devices", "g()")
MISSED = body("# Limit: x", "f()  # missed: [a]", name="fn_x")
WRONG = body("# Limit: x", "f()  # error: [a] wrong", name="fp_x")
FINE = body("f()", name="ok_x")
NO_DEVICE = body("f()  # error: [module-has-no-device-attribute]")
ATTRIBUTE = Shown("other-error", (2,), "AttributeError: 'Linear' object has no attribute 'device'")


@pytest.mark.parametrize(
    ("source", "execute"),
    [
        (HERE, on(d4=raised(9, 3))),
        (HERE, on(d4=raised(3, 9))),
        (LATER, on(d4=raised(3))),
        (LATER, on(d4=raised(4, 20))),
        (NEVER, on(d4=CONTENT)),
        (BOTH, on(d4=raised(4))),
        (BOTH, on(d4=raised(3))),
        (ELSEWHERE, on(d4=CONTENT, d0=raised(2))),
        (MISSED, on(d4=raised(3))),
        (WRONG, on(d4=CONTENT)),
        (FINE, on(d4=CONTENT)),
        (NO_DEVICE, on(d4=ATTRIBUTE)),
    ],
)
def test_agreement(source: str, execute: Execute) -> None:
    fixture = parse(source, PATH)
    assert agreement.disagreements(fixture, fixture.programs[0], execute) == []


@pytest.mark.parametrize(
    ("source", "execute", "message"),
    [
        (HERE, on(d4=CONTENT), "expected to raise for line 3: ok"),
        (HERE, on(d4=raised(2)), "line 2: PyTorch was expected to raise at line 3"),
        (HERE, on(d4=Shown("other-error", (3,), "NameError: x")), "other-error: NameError: x"),
        (HERE, on(d4=Shown("crash")), "crash"),
        (LATER, on(d4=CONTENT), "expected to raise for line 2"),
        (LATER, on(d4=raised(2)), "expected to raise after line 2"),
        (LATER, on(d4=raised(20)), "expected to raise after line 2"),
        (NEVER, on(d4=raised(2)), "expected to be content"),
        (BOTH, on(d4=raised(5)), "expected to raise at line 4"),
        (ELSEWHERE, on(d4=CONTENT, d0=CONTENT), "on 0 devices: PyTorch was expected to raise for line 2"),
        (ELSEWHERE, on(d4=CONTENT, d0=raised(3)), "on 0 devices: line 3: "),
        (ELSEWHERE, on(d4=raised(2), d0=raised(2)), "expected to be content"),
        (MISSED, on(d4=CONTENT), "expected to raise for line 3"),
        (WRONG, on(d4=raised(3)), "expected to be content"),
        (FINE, on(d4=raised(2)), "expected to be content"),
        (FINE, on(d4=Shown("other-error", (2,), "ValueError")), "expected to be content"),
        (NO_DEVICE, on(d4=Shown("other-error", (2,), "AttributeError: 'x'")), "expected to raise"),
    ],
)
def test_disagreement(source: str, execute: Execute, message: str) -> None:
    fixture = parse(source, PATH)
    found = agreement.disagreements(fixture, fixture.programs[0], execute)
    assert len(found) == 1
    assert message in found[0]


SHARED = "def helper():\n    f()  # error: [a]\ndef bad_x():\n    helper()\ndef ok_x():\n    pass\n"


def test_claims_outside_the_programs() -> None:
    fixture = parse(SHARED, PATH)
    bad, ok = fixture.programs
    assert agreement.disagreements(fixture, bad, on(d4=raised(4, 2))) == []
    assert "is content" in agreement.disagreements(fixture, bad, on(d4=CONTENT))[0]
    assert "expected to be content" in agreement.disagreements(fixture, bad, on(d4=raised(4)))[0]
    assert "expected to be content" in agreement.disagreements(fixture, ok, on(d4=raised(4, 2)))[0]
    assert agreement.uncovered_claims(fixture, on(d4=raised(4, 2))) == []
    assert agreement.uncovered_claims(fixture, on(d4=CONTENT)) == ["some.py:2: no program raises here"]


SHARED_LATER = "class A:\n    f()  # error: [a] later\n    g()\ndef bad_x():\n    A()\ndef ok_x():\n    pass\n"


def test_claims_outside_the_programs_that_come_true_later() -> None:
    fixture = parse(SHARED_LATER, PATH)
    bad, _ = fixture.programs
    assert agreement.disagreements(fixture, bad, on(d4=raised(5, 3))) == []
    assert "expected to be content" in agreement.disagreements(fixture, bad, on(d4=raised(5)))[0]
    assert "expected to be content" in agreement.disagreements(fixture, bad, on(d4=raised(5, 2)))[0]
    assert agreement.uncovered_claims(fixture, on(d4=raised(5, 3))) == []
    assert agreement.uncovered_claims(fixture, on(d4=raised(5, 2))) == ["some.py:2: no program raises because of it"]


REVEALS = body(
    "r(x)  # revealed: cuda:0",
    "r(y)  # revealed: unknown",
    "r(z)  # revealed: [cpu, unknown]",
    "r(w)  # revealed: device of w",
    "r(v)  # revealed: cuda",
    name="ok_x",
)


@pytest.mark.parametrize(
    ("revealed", "message"),
    [
        (((2, "cuda:0"), (3, "cpu"), (4, "[cpu, meta]"), (5, "cpu")), None),
        (((2, "cuda:0"), (2, "cuda:0")), None),
        (((6, "cuda:3"), (6, "cuda")), None),
        (((6, "cpu"),), "line 6: revealed cuda, but the run shows cpu"),
        ((), None),
        (((2, "cuda:0"), (2, "cuda:1")), "line 2: revealed cuda:0, but the run shows cuda:1"),
        (((7, "cpu"),), "line 7: the run reveals cpu, and no comment says so"),
    ],
)
def test_reveals(revealed: tuple[tuple[int, str], ...], message: str | None) -> None:
    fixture = parse(REVEALS, PATH)
    found = agreement.disagreements(fixture, fixture.programs[0], on(d4=Shown(revealed=revealed)))
    assert found == ([] if message is None else [message])


def test_reveals_are_looked_for_on_smaller_machines() -> None:
    fixture = parse(body("r(x)  # revealed: cpu", name="ok_x"), PATH)
    shown = Shown(revealed=((2, "cpu"),))
    other = Shown(revealed=((2, "meta"),))
    assert agreement.unreached_reveals(fixture, on(d4=shown)) == []
    assert agreement.unreached_reveals(fixture, on(d4=CONTENT, d0=shown)) == []
    assert agreement.unreached_reveals(fixture, on(d4=CONTENT, d0=CONTENT, d1=shown)) == []
    assert "show meta" in agreement.unreached_reveals(fixture, on(d4=CONTENT, d0=other))[0]
    assert agreement.unreached_reveals(fixture, on(d4=CONTENT, d0=CONTENT, d1=CONTENT)) == [
        "some.py:2: no run reaches this line"
    ]


def diagnostic(line: int, rule: str = "a", message: str = "cuda:0 and cpu", column: int = 1) -> Diagnostic:
    place = Place("some.py", line, column, line, column + 1)
    return Diagnostic("DEV101", rule, Severity.ERROR, Certainty.CERTAIN, message, place)


ANNOUNCED = body('f()  # error: [a] "cuda:0"', "g()  # error: [b] never")


@pytest.mark.parametrize(
    ("reported", "surprises"),
    [
        ([diagnostic(2), diagnostic(3, "b")], []),
        ([diagnostic(2), diagnostic(2, column=9), diagnostic(3, "b")], []),
        ([diagnostic(2)], ["line 3: [b] is not reported"]),
        (
            [diagnostic(2, message="cuda:1"), diagnostic(3, "b")],
            ["line 2: [a] cuda:1: no comment says so", 'line 2: [a] "cuda:0" is not reported'],
        ),
        (
            [diagnostic(2), diagnostic(3, "b"), diagnostic(3)],
            ["line 3: [a] cuda:0 and cpu: no comment says so"],
        ),
        (
            [diagnostic(2), diagnostic(3, "b"), diagnostic(3, "b")],
            ["line 3: [b] cuda:0 and cpu: said more than once"] * 2,
        ),
    ],
)
def test_diagnostics_against_comments(reported: list[Diagnostic], surprises: list[str]) -> None:
    assert agreement.surprises(parse(ANNOUNCED, PATH), reported) == surprises
