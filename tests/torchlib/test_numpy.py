"""numpy functions that the stubs say need a tensor on the CPU: each refuses a CUDA tensor, in each of its places."""

from __future__ import annotations

import json
from collections.abc import Iterator

from devlint.torchlib.catalogue import load
from devlint.torchlib.signature import ListTerm, Parameter, TensorTerm

from tests.judge import Judge
from tests.judge.kinds import kind_of

HOST = TensorTerm("host")
TENSOR = "torch.tensor([[2.0, 1.0], [1.0, 3.0]])"
VECTOR = "torch.tensor([1.0, 2.0])"

VECTORS = frozenset({"numpy.interp", "numpy.random.choice", "numpy.trapezoid"})
INTEGERS = frozenset({"numpy.bincount"})
NUMBERS = frozenset({"numpy.arange"})
"""Functions that take one dimension, whole numbers in one dimension, and tensors without dimensions."""

OTHERS = {"numpy.full.shape": "(2, 2)", "shape": "(-1,)", "q": "0.5", "file": "'/dev/null'", "fname": "'/dev/null'"}
"""The arguments of parameters that take no tensor and no 0, by the name of the parameter, perhaps with its function."""

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
            value = OTHERS.get(f"{name}.{parameter.name}") or OTHERS.get(parameter.name, "0")
        arguments.append(value if HOST in parameter.terms or not _is_host(parameter) else f"[{value}]")
    return f"{name}({', '.join(arguments)}{MORE.get(name, '')})"


def _tensor(name: str) -> str:
    """What a function takes."""
    if name in INTEGERS:
        return f"{VECTOR}.long()"
    return VECTOR if name in VECTORS else f"{VECTOR}.sum()" if name in NUMBERS else TENSOR


PROGRAM = """\
import json
import numpy, torch
raised = {{}}
for number, (made, call) in enumerate({calls}):
    for move in ("", ".cuda()"):
        t = eval(made)
        names = {{"numpy": numpy, "t": t, "c": eval("t" + move)}}
        try:
            eval(call, names)
        except Exception as error:
            raised.setdefault((move, type(error).__qualname__, str(error)), []).append(number)
print("raised:" + json.dumps([[*key, numbers] for key, numbers in raised.items()]))
"""
"""Makes each call with a tensor on the CPU and with one on a CUDA device, and prints what is raised by which."""


def test_a_cuda_tensor_is_refused_and_a_cpu_tensor_taken_in_each_place(judge: Judge) -> None:
    places = list(_places())
    made = [_tensor(name) for name, _ in places]
    calls = list(zip(made, [_call(name, place) for name, place in places], strict=True))
    verdict = judge.run(PROGRAM.format(calls=calls))
    assert verdict.outcome == "ok", verdict.message
    refused = set()
    for move, exception, message, numbers in json.loads(verdict.stdout.rpartition("raised:")[2]):
        where = [(*places[number], calls[number][1]) for number in numbers]
        assert move == ".cuda()", (where, message)
        assert kind_of(exception, message) is not None, (where, message)
        refused.update(numbers)
    assert len(places) > 150
    assert [place for number, place in enumerate(places) if number not in refused] == []


def test_numbers_and_arrays_are_taken_by_all(judge: Judge) -> None:
    """The functions that only look at a tensor, or call its methods, are none of those."""
    looked_at = "numpy.shape(c), numpy.ndim(c), numpy.squeeze(c), numpy.nonzero(c), numpy.array_equal(c, c)"
    verdict = judge.run(f"import numpy, torch\nc = torch.ones(2, 2).cuda()\n{looked_at}")
    assert verdict.outcome == "ok"
