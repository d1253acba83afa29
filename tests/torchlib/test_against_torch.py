"""Signatures against PyTorch: a seeded part of its samples, all operators with own rules, and defaults."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import sampled
from tests.copies import HUGE_PAGES
from tests.judge import require_judge

REPOSITORY = Path(__file__).resolve().parents[2]

SPECIAL = """
    __getitem__ addcmul addcdiv as_strided_scatter atleast_1d atleast_2d atleast_3d broadcast_tensors clamp
    diagonal_scatter diff dist expand_as fill histogram index_fill index_put lerp linspace logical_and
    linalg.matrix_rank masked_fill masked_scatter meshgrid narrow nn.functional.batch_norm
    nn.functional.binary_cross_entropy_with_logits nn.functional.ctc_loss nn.functional.gaussian_nll_loss
    nn.functional.l1_loss nn.functional.linear nn.functional.soft_margin_loss reshape_as resize_as_
    searchsorted _segment_reduce select_scatter slice_scatter tensor_split to view_as where
"""
"""Operators that are neither strict nor elementwise throughout."""


def compare(*arguments: str, samples: int) -> subprocess.CompletedProcess[str]:
    """Runs the comparison in a process of its own."""
    paths = os.pathsep.join([str(REPOSITORY / "linter"), str(REPOSITORY)])
    return subprocess.run(
        [sys.executable, "-W", "ignore", "-m", "tests.torchlib.comparison", *arguments],
        cwd=REPOSITORY,
        env={**os.environ, **HUGE_PAGES, "PYTHONPATH": paths, "SAMPLES": str(samples)},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("every", sampled([10, 1], 2))
def test_a_sample_of_operators_and_modules_agrees_with_torch(every: int) -> None:
    require_judge()
    done = compare("--every", str(every), *SPECIAL.split(), samples=4)
    unexpected = [line for line in done.stdout.splitlines() if not line.startswith(("known, ", "absent: "))]
    assert done.returncode == 0, "\n".join([*unexpected, done.stderr[-2000:]])
    compared = int(unexpected[-1].split(" of ")[0])
    assert compared >= 90 / every, unexpected[-1]


def test_a_prediction_tells_conflicts_exemptions_and_wrong_claims() -> None:
    import torch
    from devlint.torchlib.signature import StubText, parse_signature

    from tests.torchlib.evaluation import predict, wrong_claims

    signature = parse_signature(StubText("def f(a: Tensor[D], b: Tensor[D] | Scalar[cpu]) -> Tensor[D, 0]: ..."))
    here, meta = torch.ones(2), torch.ones(2, device="meta")
    agreeing, conflicting = predict([signature], [here, here], {}), predict([signature], [here, meta], {})
    exempt = predict([signature], [meta, torch.tensor(1.0)], {})
    assert agreeing is not None
    assert conflicting is not None
    assert exempt is not None
    assert (agreeing.agrees, conflicting.agrees, exempt.agrees) == (True, False, True)
    assert list(wrong_claims(agreeing, torch.tensor(1.0))) == []
    assert list(wrong_claims(agreeing, torch.ones(1))) == ["returned rank 1, not 0"]
    assert list(wrong_claims(exempt, torch.tensor(1.0))) == ["returned on cpu, not on meta"]
    assert predict([signature], [here], {}) is None
    assert predict([signature], [here, 1.0], {}) is None


ARGUMENTS = {
    "size": (2, 3),
    "shape": (2, 3),
    "n": 3,
    "start": 0,
    "end": 5,
    "steps": 3,
    "window_length": 4,
    "M": 4,
    "low": 0,
    "high": 3,
    "fill_value": 1.0,
    "s": 1.0,
    "row": 2,
    "col": 2,
    "mean": 0.0,
    "std": 1.0,
    "stride": (3, 1),
    "physical_layout": (0, 1),
}
"""An argument for each required parameter of a factory, by name."""


def test_factories_follow_the_default_device_as_their_signatures_say() -> None:
    import torch
    from devlint.torchlib.catalogue import load
    from devlint.torchlib.signature import DeviceTerm, Signature, TensorTerm

    from tests.torchlib.test_catalogue import resolve

    def default(signature: Signature) -> str | None:
        devices = [p for p in signature.parameters if isinstance(p.terms[0], DeviceTerm)]
        return devices[0].default if devices else None

    catalogue = load()
    checked = set()
    for name in catalogue.names():
        if not name.startswith(("torch.", "torch.fft.", "torch.signal.")) or ".nn." in name or ".cuda." in name:
            continue
        for signature in catalogue.function(name) or ():
            needed = [p for p in signature.parameters if p.default is None]
            known = all(p.name in ARGUMENTS for p in needed if p.kind != "kwargs")
            makes = isinstance(signature.returns[0], TensorTerm) and default(signature) in ("DEFAULT", "CPU")
            if not known or not makes or not needed or "transfer" in signature.markers:
                continue
            arguments: list[object] = []
            for parameter in needed:
                given = ARGUMENTS[parameter.name]
                arguments.extend(given if parameter.kind == "args" and isinstance(given, tuple) else [given])
            with torch.device("meta"):
                result = resolve(name)(*arguments)  # type: ignore[operator]
            assert result.device.type == ("meta" if default(signature) == "DEFAULT" else "cpu"), name
            assert result.dim() == 2 if "size" in {p.name for p in needed} else True, name
            checked.add(name)
    assert len(checked) > 30, sorted(checked)
