"""Nothing of torch's public surface is without a signature, and the table of operators agrees with what they say."""

from __future__ import annotations

import functools
from collections.abc import Mapping

import pytest
from devlint.torchlib.catalogue import Catalogue, load
from devlint.torchlib.signature import ListTerm, Parameter, ScalarTerm, Signature, TensorTerm, Terms

torch = pytest.importorskip("torch")

from tests.torchlib.coverage import NAMESPACES, coverage, modules_without, operators_without, unnamed  # noqa: E402
from tests.torchlib.schemas import ELEMENTWISE, STRICT, schemas  # noqa: E402

LEAST = 2500
"""How many names the namespaces have at least; fewer means that the walk has lost some."""

OTHERWISE: Mapping[str, str] = {
    "torch.nn.functional.linear": "is composed where the bias is 0-dim",
    "torch.Tensor.index": "gets its indices from `x[…]`, which is a transfer function",
    "torch.addcdiv": "the loop is strict about the quotient",
    "torch.Tensor.addcdiv": "the loop is strict about the quotient",
    "torch.binomial": "goes on to a strict kernel",
    "torch.clamp": "takes 0-dim bounds as numbers; as tensors they are promoted on one device",
    "torch.Tensor.clamp": "takes 0-dim bounds as numbers; as tensors they are promoted on one device",
    "torch.clamp_max": "promotes its bound on one device",
    "torch.Tensor.clamp_max": "promotes its bound on one device",
    "torch.clamp_min": "promotes its bound on one device",
    "torch.Tensor.clamp_min": "promotes its bound on one device",
    "torch.binary_cross_entropy_with_logits": "is composed of several loops",
    "torch.nn.functional.binary_cross_entropy": "has kernels of its own that are strict",
    "torch.nn.functional.mse_loss": "broadcasts first, which leaves no 0-dim operand",
    "torch.nn.functional.smooth_l1_loss": "broadcasts first, which leaves no 0-dim operand",
}
"""Where the samples of PyTorch show something else than its table says."""

NAMES = {"linalg_": "torch.linalg.", "special_": "torch.special.", "fft_": "torch.fft.", "": "torch."}
"""Where an operator of the table is found, by the beginning of its name."""


@functools.cache
def catalogue() -> Catalogue:
    return load()


@functools.cache
def missing() -> dict[str, tuple[str, ...]]:
    return {each.namespace: each.missing for each in coverage(catalogue())}


of_the_release = pytest.mark.skipif(
    not torch.__version__.startswith("2.13."), reason="the stubs have the names of torch 2.13"
)


@of_the_release
@pytest.mark.parametrize("namespace", NAMESPACES)
def test_every_public_name_has_a_signature(namespace: str) -> None:
    assert missing()[namespace] == ()


def test_the_walk_finds_the_public_surface() -> None:
    found = list(coverage(catalogue()))
    assert sum(len(each.public) for each in found) >= LEAST
    assert all(each.public for each in found)


@of_the_release
def test_every_operator_and_module_that_torch_has_samples_of_has_a_signature() -> None:
    without = operators_without(catalogue())
    assert sorted(set(without) - set(unnamed(without))) == []
    assert modules_without(catalogue()) == []


def test_a_name_without_signature_is_missed() -> None:
    empty = Catalogue({}, {}, catalogue()._aliases)
    assert "add" in next(iter(coverage(empty))).missing
    assert "addmm" in operators_without(empty)
    assert "torch.nn.Linear" in modules_without(empty)


def test_signatures_are_as_strict_as_the_table_of_operators_says() -> None:
    checked, wrong = 0, []
    for name, overloads in schemas().items():
        plain = [each for each in overloads if "out" not in each.overload and len(each.tensors()) > 1]
        regimes = {each.regime for each in plain}
        if len(regimes) != 1 or name.startswith("_"):
            continue
        (regime,) = regimes
        for qualified in _qualified(name):
            signatures = catalogue().function(qualified) or ()
            if not signatures or any("transfer" in signature.markers for signature in signatures):
                continue
            checked += 1
            spared = {p.name for signature in signatures for p in _operands(signature) if _is_spared(p.terms)}
            strict = regime == STRICT and not name.endswith("_copy")
            if (strict and spared) or (regime == ELEMENTWISE and not name.endswith("_") and not spared):
                wrong.append(f"{qualified} is {regime}, the signature spares {sorted(spared)}")
    assert sorted(line for line in wrong if line.split()[0] not in OTHERWISE) == []
    assert checked > 500
    assert {line.split()[0] for line in wrong} == set(OTHERWISE), "an exception is not needed"


def _qualified(name: str) -> list[str]:
    beginning = next(part for part in NAMES if name.startswith(part))
    return [NAMES[beginning] + name.removeprefix(beginning), f"torch.Tensor.{name}", f"torch.nn.functional.{name}"]


def _operands(signature: Signature) -> list[Parameter]:
    """The parameters that are tensors, of a form that takes several."""
    tensors = [p for p in signature.parameters if any(isinstance(t, (TensorTerm, ListTerm)) for t in p.terms)]
    found = [parameter for parameter in tensors if parameter.name != "out"]
    return found if len(found) > 1 else []


def _is_spared(terms: Terms) -> bool:
    return any(isinstance(t, ScalarTerm) or (isinstance(t, TensorTerm) and t.device == "any") for t in terms)
