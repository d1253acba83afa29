"""Derives signatures: what PyTorch tolerates for each argument of an operator, written in the notation.

python -m tests.torchlib.derive addcmul logaddexp     one line for each, to start a signature from
python -m tests.torchlib.derive                       how many operators and modules have a signature
"""

from __future__ import annotations

import inspect
import os
import sys
from collections import defaultdict
from collections.abc import Mapping, Sequence

import torch
from devlint.torchlib.catalogue import load

from tests.judge.pretended import install, set_machine
from tests.torchlib.comparison import DEVICES
from tests.torchlib.placements import Place, attempt, placements, put, tensors
from tests.torchlib.samples import Call, calls, modules, operators, samples

Tolerances = Mapping[tuple[str, bool], set[bool]]
"""For a relocation and whether the tensor is 0-dim there: whether PyTorch accepted it, in all samples."""


def derive(call: Call, name: str, limit: int) -> str:
    """The signature line of one function or method."""
    seen: dict[Place, dict[tuple[str, bool], set[bool]]] = defaultdict(lambda: defaultdict(set))
    ranks: list[tuple[list[int], list[int]]] = []
    listed = False
    for sample in samples(name, limit):
        packed = [list(sample.arguments), sample.keywords]
        for placement in placements(packed):
            arguments, keywords = put(packed, placement)
            found = dict(tensors([arguments, keywords]))
            outcome = attempt(call.run, *arguments, **keywords)
            if placement.moved is None:
                if outcome.kind != "ok":
                    break
                for place in found:
                    seen[_parameter(place)].setdefault(("", False), set())
                results = [tensor.dim() for _, tensor in tensors(outcome.result)]
                listed |= not isinstance(outcome.result, torch.Tensor)
                ranks.append(([tensor.dim() for tensor in found.values()], results))
            elif outcome.kind != "other-error":
                scalar = found[placement.moved].dim() == 0
                where = "cpu" if placement.to == "scalar" else placement.to
                seen[_parameter(placement.moved)][where, scalar].add(outcome.kind == "ok")
    names = _parameter_names(call)
    written = [
        f"{_name(place, names)}: {_type(place, tolerated)}" for place, tolerated in sorted(seen.items(), key=str)
    ]
    result = "list[Tensor[D]]" if listed else f"Tensor[D{_rank(ranks)}]"
    return f"def {call.name.rpartition('.')[2]}({', '.join(written)}) -> {result}: ..."


def _parameter(place: Place) -> Place:
    """The parameter a tensor came in by; tensors of one list share it."""
    return (*place[:2], "each") if len(place) > 2 else place


def _parameter_names(call: Call) -> list[str]:
    """Names from our own signature if there is one, else from what torch tells of its functions."""
    known = load().function(call.name)
    if known is not None:
        return [parameter.name for parameter in known[0].parameters]
    stand_in = torch.overrides.get_testing_overrides().get(call.run)
    return [] if stand_in is None else list(inspect.signature(stand_in).parameters)


def _name(place: Place, names: Sequence[str]) -> str:
    part, key = place[0], place[1]
    if part == 1 or not isinstance(key, int):
        return str(key)
    return names[key] if key < len(names) else f"argument{key}"


def _type(place: Place, tolerated: Tolerances) -> str:
    """The term for what was tolerated: `Tensor[D]` unless every sample allowed more."""

    def accepted(to: str, scalar: bool) -> bool:
        return tolerated.get((to, scalar)) == {True}

    if accepted("cpu", False) and accepted("cuda:1", False):
        text = "Tensor[any]"
    elif accepted("cpu", True) and accepted("cuda:1", True):
        text = "Tensor[D] | Scalar[any]"
    elif accepted("cpu", True):
        text = "Tensor[D] | Scalar[cpu]"
    else:
        text = "Tensor[D]"
    return f"list[{text}]" if place[-1] == "each" else text


def _rank(ranks: Sequence[tuple[list[int], list[int]]]) -> str:
    """A rank that held in every sample, if the samples differ enough to show it."""
    varied = len({tuple(given) for given, _ in ranks}) > 1
    if not varied or any(not given or len(result) != 1 for given, result in ranks):
        return ""
    if all(result[0] == 0 for _, result in ranks):
        return ", 0"
    if all(result[0] == max(given) for given, result in ranks):
        return ", broadcast"
    return ""


def coverage() -> str:
    """How many of PyTorch's operators and modules the catalogue describes."""
    catalogue = load()
    described = [n for n in operators() if any(catalogue.function(call.name) is not None for call in calls(n))]
    public = [n for n in operators() if not any(part.startswith("_") for part in n.split(".")) or n.startswith("__")]
    private = len(operators()) - len(public)
    known = [n for n in modules() if catalogue.method(n, "forward") is not None]
    return (
        f"{len(described)} of {len(operators())} operators ({100 * len(described) / len(operators()):.1f} %; "
        f"{private} of all are private), {len(known)} of {len(modules())} modules"
    )


def main(names: Sequence[str]) -> int:
    """Prints signature lines of the operators named, or the coverage."""
    if not names:
        print(coverage())
        return 0
    operators()
    install(DEVICES)
    set_machine(DEVICES)
    for name in names:
        for call in calls(name):
            print(f"# {call.name}")
            print(derive(call, name, limit=int(os.environ.get("SAMPLES", "8"))))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
