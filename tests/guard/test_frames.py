"""Frames: whose code it is, and which expression a frame is at; also in notebooks and without columns."""

from __future__ import annotations

import ast
import linecache
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType

import pytest

torch = pytest.importorskip("torch")

from devlint_guard.findings.explanation import explain  # noqa: E402
from devlint_guard.program import frames  # noqa: E402
from devlint_guard.program.expressions import Operation, Reader, operation_at  # noqa: E402
from devlint_guard.program.frames import Site, node_at, sites_of, source_of, text_of, user_site  # noqa: E402
from devlint_guard.program.stored import UNKNOWN  # noqa: E402
from torch import nn  # noqa: E402

COLUMNS = sys.version_info >= (3, 11)

META = torch.ones(2, device="meta")
HERE = torch.ones(2)


def _error(call: Callable[[], object]) -> BaseException:
    try:
        call()
    except Exception as error:
        return error
    raise AssertionError("it was to fail")


def _operation(call: Callable[[], object]) -> Operation:
    site = user_site(sites_of(_error(call)))
    assert site is not None
    operation = operation_at(site)
    assert operation is not None
    return operation


def test_the_innermost_frame_of_the_users_own() -> None:
    class Pair(nn.Module):
        def forward(self) -> object:
            return nn.functional.mse_loss(META, HERE)

    site = user_site(sites_of(_error(Pair())))
    assert site is not None
    assert site.frame.f_code.co_name == "forward"
    assert Path(site.file) == Path(__file__)


@pytest.mark.parametrize(("file", "name", "users"), [
    (__file__, "tests", True),
    (torch.__file__, "torch", False),
    (ast.__file__, "ast", False),
    (pytest.__file__, "pytest", False),
    (frames.__file__, "devlint_guard.program.frames", False),
    ("<frozen importlib._bootstrap>", "importlib._bootstrap", False),
    ("<string>", "dataclasses", False),
    ("<stdin>", "__main__", True),
    ("<ipython-input-3-abc>", "__main__", True),
])  # fmt: skip
def test_whose_code_it_is(file: str, name: str, users: bool) -> None:
    assert frames.is_user_code(compile("pass", file, "exec"), name) is users


@pytest.mark.skipif(not COLUMNS, reason="CPython 3.10 knows no columns")
def test_the_failing_part_of_a_line() -> None:
    operation = _operation(lambda: (HERE * 2) + (HERE + (META * 3)))
    assert [term.text for term in operation.terms] == ["HERE", "META * 3"]


def test_without_columns_the_part_of_the_statement_that_is_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frames, "span_at", lambda code, instruction: None)

    def fails() -> object:
        return torch.cat([HERE, HERE]).sum() + torch.nn.functional.mse_loss(META, HERE)

    operation = _operation(fails)
    assert [term.text for term in operation.terms] == ["META", "HERE"]


def test_a_cell_of_a_notebook() -> None:
    name, cell = "<ipython-input-7-0123456789ab>", "def half(é, y):\n    return é * 0.5 + y\n"
    linecache.cache[name] = (len(cell), None, cell.splitlines(True), name)
    names: dict[str, Callable[..., object]] = {}
    exec(compile(cell, name, "exec"), names)
    finding = explain(_error(lambda: names["half"](META, HERE)))
    assert finding is not None
    assert finding.place is not None
    assert (finding.place.file, finding.place.line, finding.place.function) == (name, 2, "half")
    if COLUMNS:
        assert [(one.name, one.place and one.place.column) for one in finding.operands] == [("é * 0.5", 12), ("y", 22)]


def test_an_assignment_by_index_and_a_loop() -> None:
    def assigns() -> None:
        cells = torch.ones(4)
        three = torch.ones(3)
        cells[torch.tensor([0, 1])] = three

    def loops() -> None:
        for _ in HERE + META:
            pass

    assert [term.text for term in _operation(assigns).terms] == ["cells", "three"]
    assert {term.text for term in _operation(loops).terms} == {"HERE", "META"}


def test_source_that_is_no_python_is_no_obstacle() -> None:
    name, cell = "<ipython-input-8-0123456789ab>", "def half(x, y):\n    return x + y\n"
    names: dict[str, Callable[..., object]] = {}
    exec(compile(cell, name, "exec"), names)
    linecache.cache[name] = (3, None, ["%magic\n", "?\n"], name)
    finding = explain(_error(lambda: names["half"](META, HERE)))
    assert finding is not None
    assert finding.place is not None
    assert finding.place.line == 2


class Hostile:
    """Has attributes that must not be asked for."""

    def __init__(self) -> None:
        self.kept = HERE

    def __getattr__(self, name: str) -> object:
        raise AssertionError(f"__getattr__ was called for {name}")

    def __getitem__(self, key: object) -> object:
        raise AssertionError(f"__getitem__ was called for {key}")

    @property
    def computed(self) -> object:
        raise AssertionError("a property was called")


class Holder(nn.Module):
    """Holds a tensor in each of the ways that there are."""

    constant = torch.zeros(1)

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(1))
        self.register_buffer("table", torch.ones(1))
        self.plain = torch.ones(1)
        self.layers = nn.ModuleList([nn.Linear(1, 1), nn.Linear(1, 1)])
        self.named = nn.ModuleDict({"a": nn.Linear(1, 1)})
        self.kept = {"x": [torch.ones(1), torch.ones(2)]}


def _value(text: str, **names: object) -> object:
    frame: FrameType = sys._getframe()
    source = source_of(Site(frame, frame.f_lasti, frame.f_lineno))
    assert source is not None
    return Reader(source, names, {"__builtins__": __builtins__}).value(ast.parse(text, mode="eval").body)


@pytest.mark.parametrize(
    "text", ["hostile.computed", "hostile.missing", "hostile[0]", "hostile.kept()", "unknown", "f(1)"]
)
def test_no_code_of_the_program_is_run(text: str) -> None:
    assert _value(text, hostile=Hostile()) is UNKNOWN


def test_what_is_stored_is_read() -> None:
    holder = Holder()
    reads = {
        "h.weight": holder.weight,
        "h.table": holder.table,
        "h.plain": holder.plain,
        "h.constant": Holder.constant,
        "h.layers[1].weight": holder.layers[1].weight,
        "h.layers[-1].weight": holder.layers[1].weight,
        "h.named['a'].bias": holder.named["a"].bias,
        "h.kept['x'][1]": holder.kept["x"][1],
        "hostile.kept": HERE,
    }
    for text, wanted in reads.items():
        assert _value(text, h=holder, hostile=Hostile()) is wanted, text


def test_text_and_node_of_a_site_without_source() -> None:
    code = compile("import sys\nframe = sys._getframe()", "<no source>", "exec")
    names: dict[str, FrameType] = {}
    exec(code, names)
    site = Site(names["frame"], -1, 2)
    assert node_at(site) is None
    assert text_of(site, ast.parse("a  +b", mode="eval").body) == "a + b"
