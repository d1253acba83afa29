"""A lowered program does what Python does: same results, same order of evaluation."""

from __future__ import annotations

import types
import warnings
from collections.abc import Callable
from typing import Any

import pytest
from devlint.frontend.lower import lower
from hypothesis import HealthCheck, given, reject, settings
from hypothesis import strategies as st

from tests.frontend.execution import execute
from tests.frontend.structure import validate

_Outcome = tuple[list[object], dict[str, Any], str]


class _Manager:
    """A context manager that logs, and swallows the errors it is told to."""

    def __init__(self, log: Callable[[object], object], swallow: tuple[type[BaseException], ...] = ()) -> None:
        self.log = log
        self.swallow = swallow

    def __enter__(self) -> str:
        return str(self.log("enter"))

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> bool:
        self.log("exit")
        return kind is not None and issubclass(kind, self.swallow)


def _outcome(run: Callable[[dict[str, Any]], dict[str, Any]]) -> _Outcome:
    """What a program logs by calling `t`, the plain values it leaves, and the error it ends with."""
    log: list[object] = []

    def t(value: object) -> object:
        log.append(value)
        return value

    given_names = {"t": t, "Manager": _Manager, "Box": types.SimpleNamespace}
    names = dict(given_names)
    error = ""
    try:
        names = run(names)
    except Exception as caught:
        error = type(caught).__name__
    left = {
        name: value
        for name, value in names.items()
        if name not in given_names and name != "__builtins__" and "@" not in name and not callable(value)
    }
    return log, left, error


def _compiled(source: str) -> types.CodeType:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SyntaxWarning)
        return compile(source, "program.py", "exec")


def _agree(source: str, code: types.CodeType) -> None:
    file = lower(source, "program.py")
    validate(file, source)

    def run_python(names: dict[str, Any]) -> dict[str, Any]:
        exec(code, names)
        return names

    assert _outcome(lambda names: execute(file, names)) == _outcome(run_python)


@pytest.mark.parametrize(
    "source",
    [
        "x = 1\ny = [x + z for x in range(3) for z in range(x) if x != z]\nw = x",
        "x = [[x for x in range(x)] for x in range(4)]",
        "x = [f() for f in [lambda: i for i in range(3)]]",
        "x = [f(1) for f in [lambda x, i=i: (i, x) for i in range(3)]]",
        "x = [(lambda: [(i := 5), i])() for i in range(2)]",
        "x = [i for i in range(6) if t(i) > 1 if t(-i) < -3]",
        "x = [last := y for y in range(3)]",
        "x = {k: {v for v in range(k)} for k, *_ in [(1, 2), (3,)]}",
        "x = [5]\ni = 0\ni, x[i] = 0, 7\nx[t(0)] += t(2)\nx[0:0] = [1]",
        "b = Box()\nb.v = 1\ndef f():\n    t('once')\n    return b\nf().v += 3\nx = b.v",
        "a, (b, *c), *d = 1, 'pqr', 2, 3\n*e, f = d\n[g] = [h] = [c]",
        "x = t(1) < t(2) < t(2) < t(3)\ny = t(1) < t(5) >= t(5) != t(4)",
        "x = t(0) or t('') or t(3) or t(4)\ny = t(1) and (t(0) or t(2)) and not t(3)",
        "def f(a, b=t(1), *c, d=t(2), **e): return [a, b, c, d, e]\nx = f(1, *[2, 3], d=4, **{'g': 5})\ny = f(0)",
        "def d(n):\n    t(n)\n    return lambda f: (t((n, 'applied')), f)[1]\n@d(1)\n@d(2)\ndef f(): return 3\nx = f()",
        "def f():\n"
        "    n = 0\n"
        "    def g():\n"
        "        nonlocal n\n"
        "        n += 1\n"
        "        return n\n"
        "    return g() + g()\n"
        "x = f()",
        "def f():\n    global x\n    x = 2\nx = 1\nf()\ny = x",
        "def f():\n    try:\n        return t(1)\n    finally:\n        t(2)\nx = f()",
        "try:\n    {}[1]\nexcept (ValueError, KeyError):\n    x = 1\nelse:\n    x = 2\nfinally:\n    y = 3",
        "try:\n    x = 0\nexcept KeyError:\n    x = 1\nelse:\n    x = 2",
        "for i in range(5):\n    if i == 1: continue\n    if i == 3: break\n    t(i)\nelse:\n    t('else')",
        "i = 0\nwhile t(i) < 3:\n    i += 1\n    if i == 2: continue\nelse:\n    t('else')",
        "with Manager(t) as a, Manager(t, (KeyError,)) as b:\n    t(a + b)\n    {}[0]\nx = 1",
        "x = 0\nif t(0): x = 1\nelif t(0): x = 2\nelif t(1): x = 3\nelif t(2): x = 4\nelse: x = 5",
        "x = f'{1}a{t(2)!s}{3}' 'b'\ny = [*'ab', 1]\nz = {**{1: 2}, 3: 4}",
        "x = list(range(9))[1:7:2] + [(1, 2)[-1]]\ny = {(1, 2): 3}[1, 2]\ndel x[0], y",
        "x = y = 0\ndel x\ntry:\n    x\nexcept NameError:\n    y = 1",
        "assert t(1), t(2)\nassert True\ntry:\n    assert t(0), t(3)\nexcept Exception:\n    x = 1",
        "x = (y := t(3)) + y if (z := t(1)) else t(0)",
        "for s in [1, 'a', None, True, 2.5, [0], 'z']:\n"
        "    match s:\n"
        "        case True: t(('true', s))\n"
        "        case 1 | 'a': t(('or', s))\n"
        "        case None: t(('none', s))\n"
        "        case float() as v: t(('float', v))\n"
        "        case v if t(v) == 'z': t(('z', v))\n"
        "        case _: t(('rest', s))\n",
    ],
)
def test_program(source: str) -> None:
    _agree(source, _compiled(source))


_NAMES = st.sampled_from(["a", "b", "c"])
_LEAVES = st.one_of(_NAMES, st.integers(0, 3).map(str), st.integers(0, 9).map("t({})".format))


def _larger(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    operators = st.sampled_from(["+", "-", "*", "<", "==", "in", "and", "or", "and not"])
    return st.one_of(
        st.tuples(inner, operators, inner).map("({0[0]} {0[1]} {0[2]})".format),
        st.tuples(inner, inner, inner).map("({0[0]} < {0[1]} <= {0[2]})".format),
        st.tuples(inner, inner, inner).map("({0[0]} if {0[1]} else {0[2]})".format),
        st.tuples(inner, inner).map("({0[0]}, *[{0[1]}])".format),
        st.tuples(inner, inner).map("t(({0[0]}, {0[1]}))[0]".format),
        st.tuples(_NAMES, inner).map("({0[0]} := {0[1]})".format),
        st.tuples(_NAMES, inner, inner).map("(lambda {0[0]}={0[1]}: {0[2]})()".format),
        st.tuples(inner, _NAMES, inner).map("len([{0[0]} for {0[1]} in range(2) if {0[2]}])".format),
        st.tuples(inner, _NAMES, _NAMES).map(
            "[f() for f in [lambda: {0[0]} for {0[1]} in (7, 8) for {0[2]} in (9,)]]".format
        ),
        inner.map("-{0}".format),
        inner.map("f'{{{0}}}!'".format),
    )


_EXPRESSIONS = st.recursive(_LEAVES, _larger, max_leaves=8)


def _indented(text: str) -> str:
    return "\n".join(f"    {line}" for line in text.splitlines())


def _compound(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    body = st.lists(inner, min_size=1, max_size=3).map("\n".join).map(_indented)
    return st.one_of(
        st.tuples(_EXPRESSIONS, body, _EXPRESSIONS, body, body).map(
            "if {0[0]}:\n{0[1]}\nelif {0[2]}:\n{0[3]}\nelse:\n{0[4]}".format
        ),
        st.tuples(_NAMES, body, body, _EXPRESSIONS).map(
            "for {0[0]} in (1, 2):\n{0[1]}\n    if {0[3]}: break\n    continue\nelse:\n{0[2]}".format
        ),
        st.tuples(body, body, body, body).map(
            "try:\n{0[0]}\nexcept TypeError:\n{0[1]}\nelse:\n{0[2]}\nfinally:\n{0[3]}".format
        ),
        st.tuples(_NAMES, body, _EXPRESSIONS).map(
            "def f({0[0]}=1):\n    a = b = c = 2\n{0[1]}\n    return {0[2]}\nt(f())".format
        ),
        st.tuples(_NAMES, body).map("with Manager(t, (TypeError,)) as {0[0]}:\n{0[1]}".format),
    )


_SIMPLE = st.one_of(
    st.tuples(_NAMES, _EXPRESSIONS).map("{0[0]} = {0[1]}".format),
    st.tuples(_NAMES, _NAMES, _EXPRESSIONS).map("{0[0]}, *{0[1]} = 1, {0[2]}".format),
    st.tuples(_NAMES, _EXPRESSIONS).map("{0[0]} += {0[1]}".format),
    _EXPRESSIONS.map("t({0})".format),
)
_PROGRAMS = st.lists(st.recursive(_SIMPLE, _compound, max_leaves=6), min_size=1, max_size=4).map(
    lambda statements: "a = b = c = 1\n" + "\n".join(statements) + "\n"
)


def _agree_if_legal(source: str) -> None:
    try:
        code = _compiled(source)
    except SyntaxError:
        reject()
    _agree(source, code)


@settings(max_examples=40, suppress_health_check=[HealthCheck.filter_too_much])
@given(_PROGRAMS)
def test_any_program(source: str) -> None:
    _agree_if_legal(source)


@pytest.mark.long
@settings(max_examples=500)
@given(_PROGRAMS)
def test_many_programs(source: str) -> None:
    _agree_if_legal(source)
