"""`python -m tests.guard.rehearsal.sweep operators|modules [NAME…]`: PyTorch's own samples in a rehearsal.

Each operator is called with all its tensors together, then with one tensor after the other elsewhere; each module is
called with all arguments elsewhere than itself, then with one after the other elsewhere. The outcomes are compared with
frozen ones. The head of `sweep_answers.jsonl` says when they were made, by which releases and by which command. Each
further line has the name of an operator or module, a letter for the kind of each outcome, and a digest of their texts:
the class and first line of an error, the devices of results. There is no digest where the text depends on the build of
torch.

The command prints how many agree, and the others. Another release of torch has other samples.
"""

from __future__ import annotations

import argparse
import copy
import functools
import hashlib
import itertools
import json
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

import torch
from devlint_guard.rehearsal import rehearse
from devlint_guard.rehearsal.unjudged import UNJUDGED

from tests.judge.kinds import kind_of
from tests.torchlib.placements import placements, put, tensors
from tests.torchlib.samples import calls, modules, operators, samples

_DEVICES: Final = 4
_SAMPLES: Final = 2
_LETTERS: Final = {"ok": "o", "device-error": "d", "other-error": "x", "not judged": "n"}
_ANSWERS: Final = Path(__file__).with_name("sweep_answers.jsonl")


class Outcome(NamedTuple):
    """The outcome of a call.

    Attributes:
        kind: `ok`, `device-error`, `other-error` or `not judged`.
        text: the class and the first line of an error; the devices of the results otherwise.
    """

    kind: str
    text: str


def outcome(run: Callable[[], object]) -> Outcome:
    """Call a function in a rehearsal, and return the outcome."""
    torch.manual_seed(1)
    UNJUDGED.forget()
    try:
        result = run()
    except Exception as error:
        kind = type(error)
        name = kind.__name__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__name__}"
        is_device_error = kind_of(name, str(error)) is not None
        text = f"{name}: {error}".partition("\n")[0]
        return Outcome("device-error" if is_device_error else "other-error", text)
    devices = " ".join(str(tensor.device) for _, tensor in tensors(result))
    return Outcome("not judged" if UNJUDGED.places else "ok", devices)


def operator_calls(names: list[str], limit: int) -> Iterator[tuple[str, Callable[[], object]]]:
    """Yield the calls of operators, each with a name of its own."""
    for name in names or sorted(operators()):
        chosen = [call for position, call in enumerate(calls(name)) if position == 0 or call.in_place]
        for call, (number, sample) in itertools.product(chosen, enumerate(samples(name, limit))):
            packed = [list(sample.arguments), sample.keywords]
            for placement in placements(packed):
                arguments, keywords = put(packed, placement)
                written = call.name.removeprefix("torch.")
                yield f"{name}: {written} {number} ({placement})", functools.partial(call.run, *arguments, **keywords)


def _moved(value: Any, device: str) -> Any:
    if isinstance(value, torch.Tensor):
        return value.detach().to(device)
    if isinstance(value, (list, tuple)):
        return type(value)(_moved(one, device) for one in value)
    return value


def _variants(args: list[Any], kwargs: dict[str, Any]) -> Iterator[tuple[str, str, list[Any], dict[str, Any]]]:
    """Where the module is to be, and its arguments: all elsewhere than the module, then each alone."""
    yield "all", "cuda", args, kwargs
    yield "module", "cpu", _moved(args, "cuda"), {key: _moved(value, "cuda") for key, value in kwargs.items()}
    for key in [*range(len(args)), *kwargs]:
        there = [one if index == key else _moved(one, "cuda") for index, one in enumerate(args)]
        named = {name: one if name == key else _moved(one, "cuda") for name, one in kwargs.items()}
        yield str(key), "cuda", there, named


def module_calls(names: list[str], limit: int) -> Iterator[tuple[str, Callable[[], object]]]:
    """Yield the calls of modules, each with a name of its own."""
    for info, training in itertools.product(modules().values(), (True, False)):
        if names and info.name not in names:
            continue
        listed = info.module_inputs_func(
            info, device="cpu", dtype=torch.float32, requires_grad=False, training=training
        )
        for number, sample in enumerate(itertools.islice(listed, limit)):
            made, given = sample.constructor_input, sample.forward_input
            if given is None:
                continue
            try:
                module = info.module_cls(*made.args, **made.kwargs).train(training)
                copy.deepcopy(module)(*copy.deepcopy(given.args), **copy.deepcopy(given.kwargs))
            except Exception:  # not with these arguments on this build
                continue
            mode = "training" if training else "evaluation"
            for label, device, args, kwargs in _variants(list(given.args), given.kwargs):
                placed = copy.deepcopy(module).to(device)
                yield f"{info.name}: {mode} {number} ({label})", functools.partial(placed, *args, **kwargs)


WHAT: Final = {"operators": operator_calls, "modules": module_calls}


class Swept(NamedTuple):
    """The calls of an operator or a module, and their outcomes."""

    subject: str
    calls: list[str]
    outcomes: list[Outcome]

    @property
    def kinds(self) -> str:
        """A letter for the kind of each outcome."""
        return "".join(_LETTERS[one.kind] for one in self.outcomes)

    @property
    def texts(self) -> str:
        """A digest of the texts of the outcomes."""
        return hashlib.sha256("\n".join(one.text for one in self.outcomes).encode()).hexdigest()[:12]


def sweep(what: str, names: list[str]) -> Iterator[Swept]:
    """Rehearse the calls of operators or modules, of all of them unless some are named."""
    operators()
    modules()
    with rehearse(_DEVICES):
        found = WHAT[what](names, _SAMPLES)
        for subject, group in itertools.groupby(found, key=lambda one: one[0].partition(":")[0]):
            said = {name: outcome(run) for name, run in group}
            yield Swept(subject, list(said), list(said.values()))


def release() -> str:
    """Return the release of torch whose answers are frozen."""
    return str(json.loads(_ANSWERS.read_text(encoding="utf-8").partition("\n")[0])["torch"])


def unexpected(what: str, found: list[Swept]) -> list[str]:
    """Return a text for each operator or module with other outcomes than the frozen ones."""
    rows = map(json.loads, _ANSWERS.read_text(encoding="utf-8").splitlines()[1:])
    answers = {subject: (kinds, texts) for kind, subject, kinds, texts in rows if kind == what}
    wrong = []
    for one in found:
        kinds, texts = answers.get(one.subject, ("", None))
        if one.kinds != kinds or texts not in (None, one.texts):
            lines = (f"  {name}: {said.kind}: {said.text}" for name, said in zip(one.calls, one.outcomes, strict=True))
            wrong.append("\n".join([f"{one.subject}: {kinds or 'no answer'}, and now {one.kinds}", *lines]))
    return wrong


def main() -> int:
    """Return 1 if an outcome is not the frozen one."""
    parser = argparse.ArgumentParser(prog="python -m tests.guard.rehearsal.sweep", description=main.__doc__)
    parser.add_argument("what", choices=WHAT)
    parser.add_argument("names", nargs="*", metavar="NAME")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    found = list(sweep(options.what, options.names))
    wrong = unexpected(options.what, found)
    print("\n".join([*wrong, f"{len(found) - len(wrong)} of {len(found)} {options.what} agree"]))
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
