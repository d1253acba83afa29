"""`python -m tests.guard.rehearsal.sweep operators|modules [NAME…]`: PyTorch's own samples under both.

Each operator is called with all its tensors together, then with one tensor after the other elsewhere; each module is
called as in `tests.guard.module_sweep`. A process for PyTorch's own checks on pretended devices and one for a rehearsal
write the outcome of each call: the error's class and first line, or the devices of the results. The command prints how
many agree, and the others unless `sweep_differences.jsonl` has a reason for their operator or module.
"""

from __future__ import annotations

import argparse
import contextlib
import copy
import functools
import itertools
import json
import os
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final, NamedTuple

import torch

from tests.conftest import REPOSITORY
from tests.guard.module_sweep import variants
from tests.judge.kinds import kind_of
from tests.torchlib.placements import placements, put, tensors
from tests.torchlib.samples import calls, modules, operators, samples

_DEVICES: Final = 4
_SIDES: Final = ("pytorch", "rehearsal")
_NOT_JUDGED: Final = "not judged"
_DIFFERENCES: Final = Path(__file__).with_name("sweep_differences.jsonl")


class Outcome(NamedTuple):
    """The outcome of a call.

    Attributes:
        kind: `ok`, `device-error`, `other-error` or `not judged`.
        text: the class and the first line of an error; the devices of the results otherwise.
    """

    kind: str
    text: str


def outcome(run: Callable[[], object], unjudged: Callable[[], bool]) -> Outcome:
    """Call a function, and return the outcome.

    Args:
        run: the call.
        unjudged: whether a part of the call was not judged.
    """
    torch.manual_seed(1)
    try:
        result = run()
    except Exception as error:
        kind = type(error)
        name = kind.__name__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__name__}"
        is_device_error = kind_of(name, str(error)) is not None
        text = f"{name}: {error}".partition("\n")[0]
        return Outcome("device-error" if is_device_error else "other-error", text)
    devices = " ".join(str(tensor.device) for _, tensor in tensors(result))
    return Outcome(_NOT_JUDGED if unjudged() else "ok", devices)


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
            for label, device, args, kwargs in variants(list(given.args), given.kwargs):
                placed = copy.deepcopy(module).to(device)
                yield f"{info.name}: {mode} {number} ({label})", functools.partial(placed, *args, **kwargs)


WHAT: Final = {"operators": operator_calls, "modules": module_calls}


def sweep(what: str, side: str, names: list[str], limit: int) -> Iterator[tuple[str, Outcome]]:
    """Yield the outcome of each call on one side: PyTorch's own checks, or a rehearsal."""
    operators()
    modules()
    torch.set_num_threads(1)
    with contextlib.ExitStack() as kept:
        unjudged: Callable[[], bool] = bool
        if side == "pytorch":
            from tests.judge.pretended import install

            install(_DEVICES)
        else:
            from devlint_guard.rehearsal import rehearse
            from devlint_guard.rehearsal.unjudged import UNJUDGED

            kept.enter_context(rehearse(_DEVICES))

            def unjudged() -> bool:
                found = bool(UNJUDGED.places)
                UNJUDGED.forget()
                return found

        for name, run in WHAT[what](names, limit):
            unjudged()
            yield name, outcome(run, unjudged)


def _in_process(what: str, side: str, names: list[str], limit: int) -> dict[str, Outcome]:
    command = [
        sys.executable,
        "-m",
        "tests.guard.rehearsal.sweep",
        what,
        *names,
        "--side",
        side,
        "--samples",
        str(limit),
    ]
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY / "runtime_guard")}
    ended = subprocess.run(command, capture_output=True, text=True, check=False, cwd=REPOSITORY, env=environment)
    if ended.returncode:
        raise RuntimeError(f"the sweep of {side} ended with {ended.returncode}:\n{ended.stderr[-4000:]}")
    rows = [json.loads(line) for line in ended.stdout.splitlines() if line.startswith('["')]
    return {name: Outcome(*said) for name, said in rows}


class Compared(NamedTuple):
    """One call, and its outcome on each side."""

    name: str
    pytorch: Outcome
    rehearsal: Outcome

    @property
    def subject(self) -> str:
        """The name of the operator or module."""
        return self.name.partition(":")[0]


def compare(what: str, names: list[str], limit: int = 2) -> list[Compared]:
    """Run the calls on both sides, in two processes."""
    pytorch, rehearsal = (_in_process(what, side, names, limit) for side in _SIDES)
    assert pytorch.keys() == rehearsal.keys()
    return [Compared(name, said, rehearsal[name]) for name, said in pytorch.items()]


def unexpected(what: str, found: list[Compared], *, is_all: bool) -> list[str]:
    """Return a sentence for each difference that has no reason, and for each reason without a difference.

    Args:
        what: `operators` or `modules`.
        found: the calls.
        is_all: whether these are all calls, so that each reason must have a difference.
    """
    rows = map(json.loads, _DIFFERENCES.read_text(encoding="utf-8").splitlines())
    reasons = {row["subject"]: row["why"] for row in rows if row["sweep"] == what}
    different = [one for one in found if one.pytorch != one.rehearsal]
    said = [
        f"{one.name}\n  PyTorch:   {one.pytorch.kind}: {one.pytorch.text}\n"
        f"  rehearsal: {one.rehearsal.kind}: {one.rehearsal.text}"
        for one in different
        if one.subject not in reasons
    ]
    without = sorted(reasons.keys() - {one.subject for one in different}) if is_all else []
    return said + [f"{subject} has a reason and no difference" for subject in without]


def figures(found: list[Compared]) -> str:
    """Return how often the two sides agree."""
    verdicts = sum(one.pytorch.kind == one.rehearsal.kind for one in found)
    texts = sum(one.pytorch == one.rehearsal for one in found)
    alarms = sum(one.pytorch.kind == "ok" and one.rehearsal.kind.endswith("error") for one in found)
    subjects = len({one.subject for one in found})
    return (
        f"{len(found)} calls of {subjects}: {verdicts} have the same verdict ({verdicts / len(found):.1%}), "
        f"{texts} the same class, text and devices too ({texts / len(found):.1%}), {alarms} right calls fail"
    )


def main() -> int:
    """Return 1 if a difference has no reason, or a reason no difference."""
    parser = argparse.ArgumentParser(prog="python -m tests.guard.rehearsal.sweep", description=main.__doc__)
    parser.add_argument("what", choices=WHAT)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--samples", type=int, default=2, help="take so many samples of each (default: 2)")
    parser.add_argument("--side", choices=_SIDES, help="run one side alone, and print its outcomes as JSON")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    if options.side:
        for row in sweep(options.what, options.side, options.names, options.samples):
            print(json.dumps(row), flush=True)
        return 0
    found = compare(options.what, options.names, options.samples)
    wrong = unexpected(options.what, found, is_all=not options.names)
    print(f"{options.what}: {figures(found)}")
    print("\n".join(wrong))
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
