"""With a recording, the linter finds bugs on paths that a run does not take: a sample of those in `untaken/`."""

from __future__ import annotations

import pytest

from tests.guard.untaken_paths import outcome, programs
from tests.judge import Judge

ONLY_RECORDED = ("s_plugin_loss", "v_wrapped_dataset", "w_sampler_result")


@pytest.mark.parametrize("name", ONLY_RECORDED)
def test_a_bug_is_found_with_a_recording_alone(judge: Judge, name: str) -> None:
    (program,) = (one for one in programs() if one.stem == name)
    found = outcome(judge, program)
    assert (found.without, found.recorded, found.false) == (False, True, ())


@pytest.mark.long
def test_three_in_four_bugs_are_found(judge: Judge) -> None:
    found = [outcome(judge, program) for program in programs(1)]
    assert sum(one.recorded for one in found) >= 0.75 * len(found)
