"""The inference and the fixtures: what it reports, by code and line, beside what the comments say.

`differences.txt` lists every line on which the two differ, and `reveals.txt` those with another device than the comment
reveals; `pytest --accept` rewrites both. A line may only go.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from devlint.diagnostics import Certainty
from devlint.inference.solve import Solver
from devlint.inference.verdict.codes import causes_of, code_of, place_of
from devlint.inference.verdict.levels import certainty_of
from devlint.inference.verdict.words import device_text
from devlint.project import Project
from devlint.registry import load_rules
from devlint.torchlib import catalogue

from tests.conftest import REPOSITORY, Expect
from tests.expectations import Kind, read

FIXTURES = REPOSITORY / "fixtures"
FOLDERS = (
    "mixed_device_operands",
    "input_not_on_module_device",
    "cpu_tensor_in_device_code",
    "index_on_other_device",
    "host_access_of_device_tensor",
    "discarded_move",
    "unregistered_tensor_attribute",
    "unregistered_submodules",
    "device_argument_ignored",
    "optimizer_state_before_move",
    "data_parallel_device_ids",
    "distributed_device_ids",
    "collective_on_backend_without_device",
    "generator_on_other_device",
    "device_tensor_for_cpu_argument",
    "pin_device_tensor",
    "loss_or_metric_state_not_moved",
)
"""The folders of the rules that the inference knows."""

OF_MACHINES = (
    "unguarded_cuda",
    "unguarded_cuda_index",
    "invalid_device_string",
    "module_has_no_device_attribute",
    "load_without_map_location",
    "visible_devices_conflict",
)
"""The folders of its rules about machines. Most other fixtures name devices without a test, so these rules count here
alone, and here no other rule counts."""

MERGED = {"DEV306": "DEV303", "DEV402": "DEV401", "DEV505": "DEV107"}
"""The codes of old rules that the inference reports as parts of others."""

OPT_IN = "DEV304"
"""A rule whose reports count at each level, since its folder selects it."""

BESIDE = Path(__file__).parent / "differences.txt"
SHOWN = Path(__file__).parent / "reveals.txt"


def differences(file: Path, codes: dict[str, str]) -> Iterator[str]:
    """Yield the lines of a fixture on which the inference differs from the comments."""
    fixture = read(file)
    project = Project(file.parent)
    source = project.source(file)
    solver = Solver(project, catalogue.load())
    is_of_machines = file.parent.name in OF_MACHINES
    own = {codes[name.replace("_", "-")] for name in ((file.parent.name,) if is_of_machines else OF_MACHINES)}
    told = [one for one in solver.check([source]) if one.requirement.place.path == source.display]
    wanted = [one for one in told if (code_of(one) in own) is is_of_machines]
    found = [one for one in wanted if certainty_of(one) is not Certainty.POSSIBLE or code_of(one) == OPT_IN]
    reported = {(place_of(one).line, code_of(one)) for one in found}
    reported |= {
        (each.line, code_of(one)) for one in found for each in one.requirement.chain if each.path == source.display
    }
    reported |= {
        (place.line, code) for one in found for code, place, _ in causes_of(one) if place.path == source.display
    }
    at_operation = {(place_of(one).line, code_of(one)) for one in found}
    missed = [claim for program in fixture.programs for claim in program.missed]
    claims = [
        claim
        for claim in (*fixture.errors_of("inference"), *missed)
        if claim.rule in rules_of(file) and not claim.wrong
    ]
    claimed = {(claim.line, codes[claim.rule]) for claim in claims}
    for line, code in sorted(claimed - reported):
        yield f"{line} {code} is not reported"
    lines = {line for line, _ in claimed}
    right = [program for program in fixture.programs if program.kind is Kind.OK]
    for line, code in sorted(at_operation):
        if line not in lines and any(program.line <= line <= program.end_line for program in right):
            yield f"{line} {code} is reported in a right program"


def rules_of(file: Path) -> tuple[str, ...]:
    """Return the rules that a file speaks of: that of its folder, or all that the inference knows."""
    folder, inner = file.relative_to(FIXTURES).parts[:2]
    return (inner.replace("_", "-"),) if folder == "rules" else tuple([each.replace("_", "-") for each in FOLDERS])


def shown(file: Path) -> Iterator[str]:
    """Yield the devices that a comment reveals and the inference does not show."""
    project = Project(file.parent)
    source = project.source(file)
    solver = Solver(project, catalogue.load())
    solver.check([source])
    revealed = [told for told in solver.revealed() if told[0].path == source.display]
    found = {place.line: device_text(where, current) for place, where, current in revealed}
    for claim in read(file).revealed:
        text = found.get(claim.line, "nothing")
        if text != claim.text:
            yield f"{claim.line} shows {text}, not {claim.text}"


@pytest.fixture(scope="module")
def codes() -> dict[str, str]:
    """The codes that the inference reports for the rules, by name."""
    return {rule.name: MERGED.get(rule.code, rule.code) for rule in load_rules()}


def test_the_differences_are_known(codes: dict[str, str], expect: Expect) -> None:
    lines = []
    for folder in (*[FIXTURES / "rules" / name for name in (*FOLDERS, *OF_MACHINES)], FIXTURES / "libraries"):
        for file in sorted(folder.rglob("*.py")):
            name = file.relative_to(folder.parent).as_posix()
            lines += [f"{name}:{told}" for told in differences(file, codes)]
    expect(BESIDE, "\n".join([*lines, ""]))


def test_the_devices_that_it_reveals(expect: Expect) -> None:
    lines = []
    for file in sorted(FIXTURES.rglob("*.py")):
        if "# revealed:" in file.read_text("utf-8", "replace"):
            lines += [f"{file.relative_to(FIXTURES).as_posix()}:{told}" for told in shown(file)]
    expect(SHOWN, "\n".join([*lines, ""]))
