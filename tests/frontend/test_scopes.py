"""Names, flags and spans of scopes, which the printed instructions leave out."""

from __future__ import annotations

import sys

import pytest
from devlint.frontend import ir
from devlint.frontend.lower import lower


def _function(source: str) -> ir.Function:
    made = [i for i in lower(source, "case.py").body if isinstance(i, ir.MakeFunction)]
    return made[-1].function


def _class(source: str) -> ir.Class:
    made = [i for i in lower(source, "case.py").body if isinstance(i, ir.MakeClass)]
    return made[-1].body


def test_every_binding_makes_a_local_name() -> None:
    function = _function(
        "def f(a, /, b, *c, d, **e):\n"
        "    import g.h, i as j\n"
        "    from k import l as m, n\n"
        "    for o, (p, *q) in a: pass\n"
        "    with a as r: pass\n"
        "    try: pass\n"
        "    except E as s: pass\n"
        "    (t := 1)\n"
        "    def u(): v = 1\n"
        "    class w: x = 1\n"
        "    y: int = 1\n"
        "    z: int\n"
        "    aa.bb = cc[dd] = 1\n"
        "    ee += 1\n"
        "    del ff\n"
        "    match a:\n"
        "        case [gg, *hh, {'k': ii, **jj}] as kk: pass\n"
    )
    expected = "a b c d e g j m n o p q r s t u w y ee ff gg hh ii jj kk"
    assert function.local_names == set(expected.split())


def test_global_and_nonlocal_names_are_not_local() -> None:
    function = _function("def f(a):\n    global b\n    nonlocal c\n    b = c = a = 1\n")
    assert function.local_names == {"a"}
    assert function.store_counts == {"a": 2}
    assert function.global_names == {"b"}
    assert function.nonlocal_names == {"c"}


def test_global_at_the_level_of_a_file_changes_nothing() -> None:
    assert lower("global a\na = 1\n", "case.py").local_names == {"a"}


def test_stores_are_counted_as_written() -> None:
    file = lower("for a in b:\n    a = c\n    a += 1\nd = 1\ndel d, e\n", "case.py")
    assert file.store_counts == {"a": 3, "d": 1, "e": 0}


def test_comprehension_variables_do_not_leak() -> None:
    file = lower("x = [x for x in y]\n", "case.py")
    assert file.store_counts == {"x": 1, "x@1:4": 1}


def test_scopes_are_named_by_their_path() -> None:
    body = _class("class Net:\n    def forward(self):\n        return lambda: 1\n")
    forward = next(i.function for i in body.body if isinstance(i, ir.MakeFunction))
    inner = next(i.function for i in forward.body if isinstance(i, ir.MakeFunction))
    assert (body.name, forward.name, inner.name) == ("Net", "Net.forward", "Net.forward.<lambda>")


def test_stores_on_the_first_parameter() -> None:
    body = _class(
        "class C:\n"
        "    def a(self, other):\n"
        "        self.a = other.b = 1\n"
        "        self.c, (self.d, *self.e) = f\n"
        "        for self.g in h: self.i += 1\n"
        "        self.j[0] = self.k.l = 1\n"
        "        del self.m\n"
        "    def b(this):\n"
        "        def inner(): this.x = 1\n"
        "        def hidden(this): this.y = 1\n"
        "    @property\n"
        "    def p(self): return self.q\n"
        "    @p.setter\n"
        "    def p(self, value): self.q = value\n"
        "    @staticmethod\n"
        "    def s(a): a.b = 1\n"
    )
    assert body.self_stores == {
        "a": {"a", "c", "d", "e", "g", "i"},
        "b": {"x"},
        "p": {"q"},
        "s": frozenset(),
    }


@pytest.mark.parametrize(
    ("source", "generator", "stub"),
    [
        ("def f(): return 1", False, False),
        ("def f(): yield 1", True, False),
        ("def f(): x = yield from y", True, False),
        ("def f():\n  def g(): yield 1", False, False),
        ("def f(): return lambda: (yield)", False, False),
        ("async def f(): await x", False, False),
        ("def f(): ...", False, True),
        ("def f(): 'doc'", False, True),
        ("def f():\n  'doc'\n  pass", False, True),
        ("def f(): raise NotImplementedError", False, True),
        ("def f(): raise NotImplementedError('f')", False, True),
        ("def f(): raise ValueError", False, False),
        ("def f(): 3", False, False),
    ],
)
def test_flags(source: str, generator: bool, stub: bool) -> None:
    function = _function(source)
    assert (function.is_generator, function.is_stub) == (generator, stub)


def test_parts_of_an_augmented_assignment_have_the_span_of_the_statement() -> None:
    for source in ("x += y", "a.x += y", "a[x] += y"):
        *_, binary, stored = lower(source, "case.py").body
        assert binary.span == stored.span == (1, 0, 1, len(source))


def test_a_subscript_store_has_the_span_of_the_statement() -> None:
    assert lower("a, b[0] = c", "case.py").body[-1].span == (1, 0, 1, 11)


def test_columns_count_bytes() -> None:
    load = lower("'é' + x", "case.py").body[1]
    assert isinstance(load, ir.Load)
    assert load.span == (1, 7, 1, 8)


def test_a_file_spans_its_lines() -> None:
    assert lower("", "case.py").span == (1, 0, 1, 0)
    assert lower("a\nbé\n", "case.py").span == (1, 0, 2, 3)
    assert lower("a\r\nb", "case.py").span == (1, 0, 2, 1)


@pytest.mark.skipif(sys.version_info < (3, 12), reason="syntax of Python 3.12")
def test_type_parameters() -> None:
    file = lower("type A[T] = list[T]\ndef f[T: int, *U, **V](x: T): return T\nclass C[T]: pass\n", "case.py")
    assert file.local_names == {"A", "f", "C"}
    assert _function("def f[T: int, *U, **V](x: T): return T\n").local_names == {"T", "U", "V", "x"}


@pytest.mark.skipif(sys.version_info < (3, 11), reason="syntax of Python 3.11")
def test_an_unpacked_index_is_a_tuple() -> None:
    *_, index, _ = lower("x[*i, 0]", "case.py").body
    assert isinstance(index, ir.Build)
    assert (index.kind, [item.unpack for item in index.items]) == ("tuple", [True, False])


@pytest.mark.skipif(sys.version_info < (3, 11), reason="syntax of Python 3.11")
def test_exception_groups() -> None:
    (attempt,) = lower("try: a\nexcept* E as e: b\n", "case.py").body
    assert isinstance(attempt, ir.Try)
    assert attempt.handlers[0].name == "e"


@pytest.mark.skipif(sys.version_info < (3, 14), reason="syntax of Python 3.14")
def test_template_strings() -> None:
    kinds = [type(i) for i in lower("t'{a!r:{b}} c'", "case.py").body]
    assert kinds == [ir.Load, ir.Load, ir.Format, ir.Anything]
