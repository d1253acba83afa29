"""Holds the signatures against PyTorch: the same calls, predicted and made in a rehearsal.

A rehearsal runs PyTorch's kernels, and compares devices by PyTorch's own table of operators and its source. A call of
which it could not judge a part says nothing about a signature.

python -m tests.torchlib.comparison             every operator and module that PyTorch has samples of
python -m tests.torchlib.comparison add nn.Linear
python -m tests.torchlib.comparison --every 5 add nn.Linear      one in five of these and of a sample
"""

from __future__ import annotations

import argparse
import json
import os
import select
import signal
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import torch
from devlint.torchlib.catalogue import Catalogue, load
from devlint.torchlib.signature import Signature
from devlint_guard.rehearsal import rehearse

from tests.torchlib.evaluation import predict, wrong_claims
from tests.torchlib.placements import Outcome, Placement, attempt, placements, put, rebuild
from tests.torchlib.samples import Call, calls, chosen, modules, operators, samples

DEVICES = 4

SILENT = "says less on purpose: what decides is no part of the notation"
CORNER = "happens to pass, or lands elsewhere, with 0-dim tensors on two GPUs"

KNOWN: Mapping[tuple[str, str], str] = {
    ("no-form", "torch.Tensor.normal_"): "the sample belongs to torch.normal; the method takes numbers",
    ("false-alarm", "torch.diff"): "n=0 returns a copy before it looks at prepend",
    ("false-alarm", "torch.Tensor.diff"): "n=0 returns a copy before it looks at prepend",
    ("miss", "torch.nn.functional.linear"): SILENT,  # whether a 0-dim CPU bias passes depends on the kernel
    ("miss", "torch._unsafe_masked_index"): SILENT,  # indices may be on the CPU
    ("miss", "torch.index_put"): SILENT,  # values of leading ones may be anywhere
    ("miss", "torch.Tensor.index_put"): SILENT,
    ("miss", "torch.Tensor.index_put_"): SILENT,
    ("miss", "torch.nn.functional.l1_loss"): SILENT,  # a 0-dim CPU operand passes if both are 0-dim
    ("miss", "torch.nn.L1Loss"): SILENT,
    ("miss", "torch.nn.functional.multi_head_attention_forward"): SILENT,  # a causal mask may be dropped
    ("miss", "torch.linalg.pinv"): SILENT,  # tolerances as tensors
    ("miss", "torch.nn.BCELoss"): SILENT,  # a 0-dim weight
    ("miss", "torch.nn.BCEWithLogitsLoss"): SILENT,
    ("false-alarm", "torch.Tensor.where"): CORNER,
    ("miss", "torch.Tensor.where"): CORNER,
    ("claim", "torch.Tensor.where"): CORNER,
    ("claim", "torch.nn.functional.cosine_embedding_loss"): CORNER,
    ("claim", "torch.nn.HingeEmbeddingLoss"): CORNER,
}
"""Disagreements, by kind and name, that we accept, and why. None of them refuses what real programs do."""

SECONDS = 90
"""After this an operator's process is given up."""


@dataclass(frozen=True, slots=True)
class Disagreement:
    """One call that a signature says something else of than PyTorch.

    Args:
        name: the function, method or module.
        kind: `false-alarm` (refused by us, accepted by PyTorch), `miss` (the other way round), `claim` (the
            result is not where or what we say), `no-form` (no form of the signature takes the arguments).
    """

    name: str
    kind: str
    placement: str
    detail: str


@dataclass(frozen=True, slots=True)
class Report:
    """What came of one operator: names that were compared, names without signature, and disagreements."""

    subject: str
    compared: tuple[str, ...]
    absent: tuple[str, ...]
    disagreements: tuple[Disagreement, ...]
    failure: str = ""


def compare_operator(catalogue: Catalogue, name: str, limit: int) -> Report:
    """Compares every way of calling an operator over some of its samples."""
    compared, absent = [], []
    found: dict[tuple[str, str], Disagreement] = {}
    chosen = list(samples(name, limit))
    for call in calls(name):
        signatures = catalogue.function(call.name)
        if signatures is None:
            absent.append(call.name)
        elif any("transfer" in signature.markers for signature in signatures):
            continue
        else:
            compared.append(call.name)
            for sample in chosen:
                for disagreement in _compare(signatures, call, [list(sample.arguments), sample.keywords]):
                    found.setdefault((disagreement.name, disagreement.kind), disagreement)
    return Report(name, tuple(compared), tuple(absent), tuple(found.values()))


def _compare(signatures: Sequence[Signature], call: Call, packed: list[Any]) -> Iterator[Disagreement]:
    plain = put_on_cpu(packed)
    if attempt(call.run, *plain[0], **plain[1]).kind != "ok":
        return
    for placement in placements(packed):
        arguments, keywords = put(packed, placement)
        prediction = predict(signatures, arguments, keywords)
        if prediction is None:
            yield Disagreement(call.name, "no-form", str(placement), describe(arguments, keywords))
            continue
        outcome = attempt(call.run, *arguments, **keywords)
        yield from judge(call.name, placement, prediction.agrees, outcome, wrong_claims, prediction)


def judge(
    name: str,
    placement: Placement,
    agrees: bool,
    outcome: Outcome,
    claims: Callable[..., Iterable[str]],
    *made: Any,
) -> Iterator[Disagreement]:
    """The disagreements between one prediction and one outcome."""
    if outcome.kind == "device-error" and agrees:
        yield Disagreement(name, "miss", str(placement), outcome.message)
    elif outcome.kind == "ok" and not agrees:
        yield Disagreement(name, "false-alarm", str(placement), "PyTorch accepts it")
    elif outcome.kind == "ok":
        for claim in claims(*made, outcome.result):
            yield Disagreement(name, "claim", str(placement), claim)


def put_on_cpu(packed: list[Any]) -> list[Any]:
    """A copy of the arguments, all on the CPU."""
    copied: list[Any] = rebuild(packed, lambda _, tensor: tensor.detach().clone())
    return copied


def describe(arguments: Sequence[object], keywords: dict[str, object]) -> str:
    """The types of the arguments, short enough for a message."""
    written = [type(value).__name__ for value in arguments]
    return ", ".join([*written, *(f"{name}={type(value).__name__}" for name, value in keywords.items())])


def compare_module(catalogue: Catalogue, name: str, limit: int) -> Report:
    """Compares construction and call of a module over some of its samples."""
    described = modules()[name]
    entry, forward = catalogue.class_(name), catalogue.method(name, "forward")
    if entry is None or forward is None:
        return Report(name, (), (name,), ())
    found: dict[str, Disagreement] = {}
    kinds = catalogue.method(name, "__init__") or ()
    for training in (True, False):
        inputs = described.module_inputs_func(
            described, device="cpu", dtype=torch.float32, requires_grad=False, training=training
        )
        for sample in list(inputs)[:limit]:
            if sample.forward_input is not None:
                stateless = "stateless" in entry.markers
                for disagreement in _compare_module(name, kinds, stateless, forward, described, sample, training):
                    found.setdefault(disagreement.kind, disagreement)
    return Report(name, (name,), (), tuple(found.values()))


def _compare_module(
    name: str,
    kinds: Sequence[Signature],
    stateless: bool,
    forward: Sequence[Signature],
    described: Any,
    sample: Any,
    training: bool,
) -> Iterator[Disagreement]:
    made = sample.constructor_input

    def build(device: str) -> torch.nn.Module:
        torch.manual_seed(0)
        module: torch.nn.Module = described.module_cls(*made.args, **made.kwargs)
        return module.train(training).to(device)

    built = predict(kinds, (build("cpu"), *made.args), made.kwargs)
    if built is None:
        yield Disagreement(name, "no-form", "__init__", describe(made.args, made.kwargs))
        return
    if str(built.signature.returns[0]) == "object":
        return
    if stateless and str(built.signature.returns[0]) != "Module[E]" and _has_state(build("cpu")):
        yield Disagreement(name, "claim", "__init__", "has parameters or buffers")
    packed = [list(sample.forward_input.args), sample.forward_input.kwargs]
    plain = put_on_cpu(packed)
    if attempt(build("cpu"), *plain[0], **plain[1]).kind != "ok":
        return
    for home in ("cuda:0", "cpu", "cuda:1"):
        for placement in placements(packed):
            arguments, keywords = put(packed, placement)
            module = build(home)
            where = Placement(placement.moved, f"{placement.to}, module on {home}")
            prediction = predict(forward, (module, *arguments), keywords)
            if prediction is None:
                yield Disagreement(name, "no-form", str(where), describe(arguments, keywords))
                return
            outcome = attempt(module, *arguments, **keywords)
            yield from judge(name, where, prediction.agrees, outcome, wrong_claims, prediction)


def _has_state(module: torch.nn.Module) -> bool:
    return any(True for _ in module.parameters()) or any(True for _ in module.buffers())


def reports(names: Iterable[str], limit: int) -> Iterator[Report]:
    """Compares operators and modules, each in a process of its own: a kernel may crash."""
    catalogue = load()
    operators(), modules()
    torch.set_num_threads(1)
    for name in names:
        compare = compare_module if name in modules() else compare_operator
        yield _in_child(name, lambda name=name, compare=compare: compare(catalogue, name, limit))  # type: ignore[misc]


def _in_child(name: str, work: Callable[[], Report]) -> Report:
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(read)
        quiet = os.open(os.devnull, os.O_WRONLY)
        os.dup2(quiet, 2)
        warnings.simplefilter("ignore")
        try:
            with rehearse(DEVICES):
                report = work()
        except BaseException as error:
            report = Report(name, (), (), (), f"{type(error).__name__}: {error}"[:300])
        with os.fdopen(write, "wb") as pipe:
            pipe.write(json.dumps(asdict(report)).encode())
        os._exit(0)
    os.close(write)
    data = _read(read, child)
    os.waitpid(child, 0)
    try:
        found = json.loads(data)
    except ValueError:
        return Report(name, (), (), (), "the process crashed or took too long")
    disagreements = tuple(Disagreement(**each) for each in found["disagreements"])
    return Report(name, tuple(found["compared"]), tuple(found["absent"]), disagreements, found["failure"])


def _read(read: int, child: int) -> bytes:
    data, end = b"", time.monotonic() + SECONDS
    with os.fdopen(read, "rb", buffering=0) as pipe:
        while select.select([pipe], [], [], max(0.0, end - time.monotonic()))[0]:
            chunk = pipe.read(65536)
            if not chunk:
                return data
            data += chunk
    os.kill(child, signal.SIGKILL)
    return b""


def main(arguments: Sequence[str]) -> int:
    """Compares what the command line names, or everything, and prints disagreements and coverage."""
    parser = argparse.ArgumentParser(prog="python -m tests.torchlib.comparison")
    parser.add_argument("names", nargs="*")
    parser.add_argument("--every", type=int)
    options = parser.parse_args(arguments)
    names = options.names or [*operators(), *modules()]
    if options.every is not None:
        sample = (*chosen(operators(), 60, seed=2), *chosen(modules(), 15, seed=3))
        names = sorted({*sample, *options.names})[:: options.every]
    wrong = accepted = 0
    found = []
    for report in reports(names, limit=int(os.environ.get("SAMPLES", "6"))):
        found.append(report)
        for disagreement in report.disagreements:
            known = (disagreement.kind, disagreement.name) in KNOWN
            accepted, wrong = accepted + known, wrong + (not known)
            what = f"{disagreement.kind}: {disagreement.name} ({disagreement.placement})"
            print(f"{'known, ' if known else ''}{what}: {disagreement.detail}")
        if report.failure:
            wrong += 1
            print(f"failure: {report.subject}: {report.failure}")
        if report.absent:
            print(f"absent: {', '.join(report.absent)}")
    covered = sum(1 for report in found if report.compared)
    print(f"{covered} of {len(found)} compared, {wrong} unexpected disagreements, {accepted} known")
    return 1 if wrong else 0


if __name__ == "__main__":
    status = main(sys.argv[1:])
    sys.stdout.flush()
    os._exit(status)  # a backend that Python knows nothing of may crash while Python is torn down
