"""The level of a finding: how much its entry says about the executions that fail."""

from __future__ import annotations

from typing import Final

from devlint.diagnostics import Certainty
from devlint.inference.entries.clients import is_of_input
from devlint.inference.values.data import LOADED, OF_METHOD, OF_MODULE, ON_HOST, PROGRAM, TAKES_CPU, Finding
from devlint.inference.values.terms import NO_DEVICE

CERTAIN: Final = "certain"
"""A program raises on each path that gets to the operation, whatever the machine."""
ON_ACCELERATOR: Final = "on-accelerator"
"""A program raises on a machine with an accelerator, for some choice of its options."""
LIKELY: Final = "likely"
"""A module of a library raises if its user moves it to an accelerator."""
POSSIBLE: Final = "possible"
"""Another client gets there, whose use the project does not show."""

LEVELS: Final = (CERTAIN, ON_ACCELERATOR, LIKELY, POSSIBLE)

CERTAINTIES: Final = {CERTAIN: Certainty.CERTAIN, ON_ACCELERATOR: Certainty.ON_ACCELERATOR}
"""All other levels are only shown on demand: nobody has measured that half of their reports on new code are true."""


def level_of(finding: Finding) -> str:
    """Return the level of a finding, one of LEVELS."""
    if finding.requirement.kind == LOADED and finding.requirement.participants[1].device is NO_DEVICE:
        return POSSIBLE
    if finding.entry == PROGRAM:
        return ON_ACCELERATOR if finding.is_of_world else CERTAIN
    is_of_client = [is_of_input(each.subject) for each in (finding.one, finding.two)]
    is_contract = finding.requirement.kind in (ON_HOST, TAKES_CPU) and any(is_of_client)
    is_likely = finding.entry == OF_MODULE or (finding.entry == OF_METHOD and not any(is_of_client))
    return LIKELY if finding.is_wanted and is_likely and not is_contract else POSSIBLE


def certainty_of(finding: Finding) -> Certainty:
    """Return the certainty of the report of a finding."""
    return CERTAINTIES.get(level_of(finding), Certainty.POSSIBLE)
