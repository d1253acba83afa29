"""numpy functions that the stubs say need a tensor on the CPU: each refuses a CUDA tensor, in each of its places."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from devlint.torchlib.catalogue import load
from devlint.torchlib.signature import ListTerm, Parameter, TensorTerm

from tests.judge import Judge, require_judge

HOST = TensorTerm("host")
TENSOR = "torch.tensor([[2.0, 1.0], [1.0, 3.0]])"
VECTOR = "torch.tensor([1.0, 2.0])"

VECTORS = frozenset({"numpy.interp", "numpy.random.choice", "numpy.trapezoid"})
INTEGERS = frozenset({"numpy.bincount"})
"""Functions that take one dimension, and whole numbers in one dimension."""

OTHERS = {"shape": "(-1,)", "q": "0.5", "file": "'/dev/null'", "fname": "'/dev/null'"}
"""What is handed over for parameters that take no tensor, where 0 will not do."""

MORE = {"numpy.clip": ", 0, 1", "numpy.testing.assert_array_less": " + 1"}
"""What else a call needs."""


def _is_host(parameter: Parameter) -> bool:
    return HOST in parameter.terms or ListTerm((HOST,)) in parameter.terms


def _places() -> Iterator[tuple[str, str]]:
    catalogue = load()
    for name in sorted(name for name in catalogue.names() if name.startswith("numpy.")):
        for form in catalogue.function(name) or ():
            yield from ((name, parameter.name) for parameter in form.parameters if _is_host(parameter))


def _call(name: str, place: str) -> str:
    """A call with the tensor `c` in one place, and `t` in all others."""
    (form,) = (form for form in load().function(name) or () if any(map(_is_host, form.parameters)))
    arguments = []
    for parameter in form.parameters:
        if parameter.kind in ("args", "kwargs"):
            continue
        value = "c" if parameter.name == place else "t"
        if not _is_host(parameter):
            value = OTHERS.get(parameter.name, "0")
        arguments.append(value if HOST in parameter.terms or not _is_host(parameter) else f"[{value}]")
    return f"{name}({', '.join(arguments)}{MORE.get(name, '')})"


@pytest.mark.parametrize(("name", "place"), list(_places()))
def test_a_cuda_tensor_is_refused_and_a_cpu_tensor_taken(judge: Judge, name: str, place: str) -> None:
    require_judge()
    made = VECTOR if name in VECTORS else f"{VECTOR}.long()" if name in INTEGERS else TENSOR
    program = f"import numpy, torch\nt = {made}\nc = t{{move}}\n{_call(name, place)}"
    assert judge.run(program.format(move="")).outcome == "ok"
    verdict = judge.run(program.format(move=".cuda()"))
    assert (verdict.outcome, verdict.line) == ("device-error", 4)


def test_numbers_and_arrays_are_taken_by_all(judge: Judge) -> None:
    """The functions that only look at a tensor, or call its methods, are none of those."""
    require_judge()
    looked_at = "numpy.shape(c), numpy.ndim(c), numpy.squeeze(c), numpy.nonzero(c), numpy.array_equal(c, c)"
    verdict = judge.run(f"import numpy, torch\nc = torch.ones(2, 2).cuda()\n{looked_at}")
    assert verdict.outcome == "ok"
