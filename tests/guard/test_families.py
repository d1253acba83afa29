"""Public model families under the guard: nothing is found in them, and a fault that is put into one is named."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")

from tests.conftest import cannot_run, sampled
from tests.guard import families
from tests.judge import Judge

Said = dict[str, dict[str, Any]]


FEW = tuple(families.FAMILIES)[::3]
"""The families that are tried each time, all along the list; the others by `pytest -m long`."""

each_family = pytest.mark.parametrize("name", sampled(families.FAMILIES, 3))


def _say(judge: Judge, file: Path, names: Iterable[str]) -> Said:
    """Return what the guard says of each family, from one process with a pretended CUDA device."""
    if importlib.util.find_spec("transformers") is None:
        cannot_run("transformers is not installed")
    verdict = judge.run(
        file=Path(families.__file__),
        devices=1,
        argv=[str(file), *names],
        timeout=400,
        env={"HF_HUB_OFFLINE": "1", "PYTHONWARNINGS": "ignore", "TRANSFORMERS_VERBOSITY": "error"},
    )
    assert verdict.outcome == "ok", verdict
    said: Said = json.loads(file.read_text())
    return said


@pytest.fixture(scope="module")
def of_few(judge: Judge, tmp_path_factory: pytest.TempPathFactory) -> Said:
    return _say(judge, tmp_path_factory.mktemp("families") / "said.json", FEW)


@pytest.fixture(scope="module")
def of_others(judge: Judge, tmp_path_factory: pytest.TempPathFactory) -> Said:
    others = [name for name in families.FAMILIES if name not in FEW]
    return _say(judge, tmp_path_factory.mktemp("families") / "said.json", others)


@pytest.fixture
def said(request: pytest.FixtureRequest, name: str) -> Said:
    """What the guard says of the family of a test, and of those that are tried with it."""
    found: Said = request.getfixturevalue("of_few" if name in FEW else "of_others")
    return found


def test_there_are_twenty_of_them() -> None:
    assert len(families.FAMILIES) >= 20


@each_family
def test_a_step_and_inference_as_without_a_guard(said: Said, name: str) -> None:
    assert said[name].get("failed") is None
    assert said[name]["findings"] == []
    assert said[name]["same"]


@each_family
def test_an_input_that_was_not_moved_is_named(said: Said, name: str) -> None:
    _, finding = said[name]["input"]
    blamed = finding["operands"][0]
    assert (finding["code"], blamed["device"]) == ("DEV102", "cpu"), finding
    assert blamed["name"].startswith("given[") or blamed["name"] == "input"
    assert finding["module"].startswith("model.")
    assert finding["place"]["function"] == "used"


@each_family
def test_what_was_left_behind_is_named(said: Said, name: str) -> None:
    path, finding = said[name]["left"]
    blamed = finding["operands"][0]
    assert blamed["device"] == "cpu", finding
    module, _, _ = path.rpartition(".")
    assert finding["module"] == module or blamed["qualified"] in (path, module), finding
    # of a module that is called, the detail says which of its tensors is meant
    assert blamed["qualified"] in (path, module) or blamed["detail"].startswith(path.removeprefix("model."))
